"""Prepare post-edits of product help in several languages for the long run: select by licence, clean, join dev sets.

    python benchmarks/help_data.py DATA WORK [--languages de fr es ja] [--dev-lines 150]
        [--held-lines 0] [--held-documents 0] [--any-licence]

DATA holds a folder `adobe-pe.en-LANG` for each language. For each of them this writes `WORK/LANG.{src,mt,pe}`, cleaned
by `postedit data clean` with `recipes/clean/help.toml`, whose report says what was taken out and why, and
`WORK/LANG.dev.{src,mt,pe}`. `WORK/LANG-raw.{src,mt,pe}` has the cleaned triplets that are most like dev and test: those
whose mt is raw and whose pe is all human. `WORK/dev.{src,mt,pe}` holds evenly spaced lines of all dev sets, to validate
on in training. With `--held-lines N`, the last N cleaned lines of each language, which are the latest corrections, go
to `WORK/LANG.held.{src,mt,pe}` instead: no model is trained on them, so they can teach which edits of models to keep.
`--held-documents N` holds out whole documents instead, drawn by a hash of their paths until they have N lines, of those
whose mt is raw, as that of the dev and test sets is: of the latest German lines, most were revised before.

Repositories without a stated licence are left out, so that weights may be given away; `--any-licence` keeps them.
Triplets with a fault that is peculiar to this data are left out as well, see `fault_of`. How similar mt and pe are says
little: where they are least alike, most post-edits are right, only heavily edited.
"""

import argparse
import hashlib
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from postedit.core.files import atomic_write

SIDES = ("src", "mt", "pe")
RECIPE = Path(__file__).resolve().parents[1] / "recipes" / "clean" / "help.toml"
# Repositories for which no licence is stated in the translation.
UNLICENSED = frozenset({"adobe:campaign-classic", "adobe:media-analytics", "adobe:primetime"})
REPOSITORY_COLUMN = 2
MOST_HUMAN = 20  # per cent of human translation of a file, in the first column, up to which its mt is raw
ALL_HUMAN = 95  # likewise in the second column, from which its pe is all human

# A source of so many words that stands in pe as a whole is no name that was kept.
SOURCE_WORDS = 3
# Part of a sentence is missing if pe has less than the one share of the characters of mt, and less than the other of
# those that src lets expect; shorter sources are not looked at.
LENGTH_FROM = 30
SHARE_OF_MT = 0.55
SHARE_OF_USUAL = 0.6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--languages", nargs="+", default=["de", "fr", "es", "ja"])
    parser.add_argument("--dev-lines", type=int, default=150, help="lines of each dev set to validate on")
    parser.add_argument("--held-lines", type=int, default=0, help="lines of each language that models do not learn")
    parser.add_argument("--held-documents", type=int, default=0, help="the same, whole documents of raw MT")
    parser.add_argument("--any-licence", action="store_true", help="keep repositories without a stated licence")
    options = parser.parse_args()
    if options.held_lines and options.held_documents:
        parser.error("give --held-lines or --held-documents")
    options.work.mkdir(parents=True, exist_ok=True)
    dev: dict[str, list[str]] = {side: [] for side in SIDES}
    for language in options.languages:
        folder = options.data / f"adobe-pe.en-{language}"
        select(folder, options.work / f"{language}.uncleaned", any_licence=options.any_licence)
        clean(options.work, language)
        if options.held_lines:
            hold(options.work, language, options.held_lines)
        if options.held_documents:
            hold_documents(folder, options.work, language, options.held_documents)
        select_raw(folder, options.work, language)
        for side, lines in read(folder / "dev").items():
            write(options.work / f"{language}.dev.{side}", lines)
            step = max(1, len(lines) // options.dev_lines)
            dev[side] += lines[::step][: options.dev_lines]
    for side, lines in dev.items():
        write(options.work / f"dev.{side}", lines)


def select(folder: Path, out: Path, *, any_licence: bool) -> None:
    """Write the lines of `folder/train` with a licence and without a fault as `out.{src,mt,pe}`; print how many."""
    info = (folder / "train.info").read_text(encoding="utf-8").split("\n")[:-1]
    licensed = [any_licence or line.split("\t")[REPOSITORY_COLUMN] not in UNLICENSED for line in info]
    train = read(folder / "train")
    faults = faults_of(train)
    wanted = [has_licence and not fault for has_licence, fault in zip(licensed, faults, strict=True)]
    for side, lines in train.items():
        write(Path(f"{out}.{side}"), [line for line, want in zip(lines, wanted, strict=True) if want])
    counts = Counter(fault for has_licence, fault in zip(licensed, faults, strict=True) if has_licence and fault)
    print(
        f"{folder.name}: {sum(licensed):,} of {len(info):,} lines are from repositories with a licence; "
        f"taken of these: {', '.join(f'{fault} {count}' for fault, count in counts.items()) or 'none'}",
        flush=True,
    )


def faults_of(triplets: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the fault of each triplet, empty where there is none."""
    growth = sum(map(len, triplets["pe"])) / max(1, sum(map(len, triplets["src"])))
    rows = zip(triplets["src"], triplets["mt"], triplets["pe"], strict=True)
    return [fault_of(src, mt, pe, growth) for src, mt, pe in rows]


def fault_of(src: str, mt: str, pe: str, growth: float) -> str:
    """Return what is wrong with a triplet, empty if nothing is.

    Args:
        src: source.
        mt: machine translation.
        pe: post-edit.
        growth: characters of a post-edit for each of its source, in all of the corpus.
    """
    if "](" in pe and "](" not in src:
        return "link"  # half a Markdown link
    text = src.rstrip(".:!? ")
    if len(text.split()) >= SOURCE_WORDS and text in pe and text not in mt:
        return "source"  # the English text with the translation in brackets
    short = len(pe) < SHARE_OF_MT * len(mt) and len(pe) < SHARE_OF_USUAL * growth * len(src)
    return "part" if short and len(src) >= LENGTH_FROM else ""


def clean(work: Path, language: str) -> None:
    command = [sys.executable, "-m", "postedit", "data", "clean", str(work / f"{language}.uncleaned")]
    command += ["--recipe", str(RECIPE), "--out", str(work / language)]
    command += ["--set", "src_lang=en", "--set", f"tgt_lang={language}"]
    if language == "ja":  # no spaces: a text is one "word", and digits stand where English has words
        command += ["--set", "ratio.on=false", "--set", "numbers.min_digits=3"]
    subprocess.run(command, check=True)


def hold(work: Path, language: str, count: int) -> None:
    """Move the last `count` triplets of `work`/LANG to `work`/LANG.held."""
    triplets = read(work / language)
    if count >= (size := len(triplets["mt"])):
        sys.exit(f"{language}: --held-lines {count} would leave nothing to train on: give less than its {size} lines")
    for side, lines in triplets.items():
        write(work / f"{language}.held.{side}", lines[-count:])
        write(work / f"{language}.{side}", lines[:-count])
    (work / f"{language}.sha256").unlink()  # of the files as they were cleaned


def hold_documents(folder: Path, work: Path, language: str, count: int) -> None:
    """Move at least `count` triplets of `work`/LANG, all that are of some documents, to `work`/LANG.held.

    Other lines of these documents, whose mt was not raw, are left out.
    """
    rows = list(zip(*read(work / language).values(), strict=True))
    places = origins(folder, rows)
    documents = ["".join(place[REPOSITORY_COLUMN : REPOSITORY_COLUMN + 2]) for place in places]
    raw = [int(place[0]) <= MOST_HUMAN for place in places]
    sizes = Counter(document for document, is_raw in zip(documents, raw, strict=True) if is_raw)
    held: set[str] = set()
    for document in sorted(sizes, key=lambda name: hashlib.sha256(name.encode()).hexdigest()):
        if sum(sizes[one] for one in held) >= count:
            break
        held.add(document)
    rows_of = list(zip(rows, documents, raw, strict=True))
    for number, side in enumerate(SIDES):
        write(work / f"{language}.held.{side}", [row[number] for row, of, is_raw in rows_of if of in held and is_raw])
        write(work / f"{language}.{side}", [row[number] for row, of, _ in rows_of if of not in held])
    (work / f"{language}.sha256").unlink()  # of the files as they were cleaned


def select_raw(folder: Path, work: Path, language: str) -> None:
    """Write the triplets of `work`/LANG whose mt is raw and whose pe is all human as `work`/LANG-raw."""
    rows = list(zip(*read(work / language).values(), strict=True))
    wanted = [int(place[0]) <= MOST_HUMAN and int(place[1]) >= ALL_HUMAN for place in origins(folder, rows)]
    for number, side in enumerate(SIDES):
        write(work / f"{language}-raw.{side}", [row[number] for row, want in zip(rows, wanted, strict=True) if want])


def origins(folder: Path, rows: Sequence[tuple[str, ...]]) -> list[list[str]]:
    """Return the columns of `folder/train.info` for each of these triplets of `folder/train`."""
    info = (folder / "train.info").read_text(encoding="utf-8").split("\n")[:-1]
    known = dict(
        zip(zip(*read(folder / "train").values(), strict=True), (line.split("\t") for line in info), strict=True)
    )
    return [known[row] for row in rows]


def read(prefix: Path) -> dict[str, list[str]]:
    return {side: Path(f"{prefix}.{side}").read_text(encoding="utf-8").split("\n")[:-1] for side in SIDES}


def write(path: Path, lines: list[str]) -> None:
    with atomic_write(path) as file:
        file.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    main()
