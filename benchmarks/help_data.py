"""Prepare post-edits of product help in several languages for the long run: select by licence, clean, join dev sets.

    python benchmarks/help_data.py DATA WORK [--languages de fr es ja] [--dev-lines 150]
        [--held-lines 0] [--held-documents 0] [--any-licence]

DATA holds a folder `adobe-pe.en-LANG` for each language. For each of them this writes `WORK/LANG.{src,mt,pe}`, cleaned
by `postedit data clean` with `recipes/clean/help.toml`, whose report says what was removed and why, and
`WORK/LANG.dev.{src,mt,pe}`. `WORK/LANG-raw.{src,mt,pe}` has the cleaned triplets that are most like dev and test: those
whose mt is raw MT and whose pe was written entirely by people. `WORK/dev.{src,mt,pe}` holds evenly spaced lines of all
dev sets, for validation in training. With `--held-lines N`, the last N cleaned lines of each language, which are the
latest corrections, go to `WORK/LANG.held.{src,mt,pe}` instead: no model is trained on them, so that they can show which
edits of a model to keep. `--held-documents N` holds out whole documents instead, drawn by a hash of their paths until
they have N lines whose mt is raw, as in the dev and test sets: most of the latest German lines had been revised before.

Repositories without a stated licence are left out, so that the weights may be published; `--any-licence` keeps them.
Triplets with a fault that is peculiar to this data are left out as well; see `fault_of`. The similarity of mt and pe
says little: most post-edits that are least like mt are right, but heavily edited.
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
# Repositories whose translations state no licence.
UNLICENSED = frozenset({"adobe:campaign-classic", "adobe:media-analytics", "adobe:primetime"})
REPOSITORY_COLUMN = 2
MOST_HUMAN = 20  # largest percentage of human translation in a file (first column) at which its mt counts as raw
ALL_HUMAN = 95  # smallest percentage (second column) at which its pe counts as written entirely by people

# A source of at least so many words that occurs whole in pe is left-over English text, not a name.
SOURCE_WORDS = 3
# Part of a sentence is missing if pe has less than SHARE_OF_MT of the characters of mt, and less than SHARE_OF_USUAL of
# those expected from the length of src; sources with fewer than LENGTH_FROM characters are not checked.
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
    """Write the lines of `folder/train` with a licence and without a fault to `out.{src,mt,pe}`; print how many."""
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
    """Return the name of each triplet's fault, empty where there is none."""
    growth = sum(map(len, triplets["pe"])) / max(1, sum(map(len, triplets["src"])))
    rows = zip(triplets["src"], triplets["mt"], triplets["pe"], strict=True)
    return [fault_of(src, mt, pe, growth) for src, mt, pe in rows]


def fault_of(src: str, mt: str, pe: str, growth: float) -> str:
    """Return the name of a triplet's fault ("link", "source" or "part"), empty if it has none.

    Args:
        src: source.
        mt: machine translation.
        pe: post-edit.
        growth: characters of pe per character of src in the whole corpus.
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
    if language == "ja":  # no spaces: a text is one "word"; and Japanese writes digits for English number words
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
    (work / f"{language}.sha256").unlink()  # the checksums of the files before this change


def hold_documents(folder: Path, work: Path, language: str, count: int) -> None:
    """Move the triplets of some documents, at least `count` whose mt is raw, from `work`/LANG to `work`/LANG.held.

    The lines of these documents whose mt is not raw are dropped.
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
    (work / f"{language}.sha256").unlink()  # the checksums of the files before this change


def select_raw(folder: Path, work: Path, language: str) -> None:
    """Write the triplets of `work`/LANG whose mt is raw and whose pe is entirely human to `work`/LANG-raw."""
    rows = list(zip(*read(work / language).values(), strict=True))
    wanted = [int(place[0]) <= MOST_HUMAN and int(place[1]) >= ALL_HUMAN for place in origins(folder, rows)]
    for number, side in enumerate(SIDES):
        write(work / f"{language}-raw.{side}", [row[number] for row, want in zip(rows, wanted, strict=True) if want])


def origins(folder: Path, rows: Sequence[tuple[str, ...]]) -> list[list[str]]:
    """Return the columns of `folder/train.info` for each of `rows`, which are triplets of `folder/train`."""
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
