"""Train phrase-based models for encyclopaedic text, and pack those with a reliable gain as release files.

    python benchmarks/wiki_releases.py DATA WORK [--out releases]

DATA holds the language pairs of MLQE-PE (CC0 1.0), `mlqe-pe/en-zh` and so on. A model learns all of train; its weights
are tuned on lines 1 to 500 of dev. The other 500 are scored, and decide only one thing: a pair gets a release file if
the 95 % interval of the TER difference to the unedited MT is below 0. This prints the table of RESULTS.md and writes
the entries of the catalogue. A phrase-based model contains its triplets; these are in the public domain.
"""

import argparse
from pathlib import Path
from typing import Final

from release_files import ROOT, Entry, Gain, enter, gain
from rich.console import Console

from postedit import PostEditor
from postedit.core.checksums import record_folder
from postedit.data.lines import DevTexts
from postedit.data.triplets import TripletFiles, read_triplets
from postedit.jobs.phrase_training import train_phrases
from postedit.phrase.phrase_recipe import load_phrase_recipe
from postedit.releases.archive import pack
from postedit.text.config import SIDES

RECIPE: Final = ROOT / "recipes/phrase-based.toml"
DOMAIN: Final = "wiki-phrases"
CHOOSING: Final = 500  # lines of dev on which the weights are tuned; the others are scored
VERSION: Final = 1  # version of the release files
NAMES: Final = {
    "en-de": ("English", "German"),
    "en-zh": ("English", "Chinese"),
    "et-en": ("Estonian", "English"),
    "ne-en": ("Nepali", "English"),
    "ro-en": ("Romanian", "English"),
    "ru-en": ("Russian", "English"),
    "si-en": ("Sinhala", "English"),
}
NOTICE: Final = """\
This model holds the texts that it learnt: those of MLQE-PE, the multilingual quality estimation and post-editing
dataset (Fomicheva et al., 2022; https://github.com/sheffieldnlp/mlqe-pe), which its authors gave to the public domain:
CC0 1.0, https://creativecommons.org/publicdomain/zero/1.0/
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of mlqe-pe")
    parser.add_argument("work", type=Path, help="folder for divided dev sets and models")
    parser.add_argument("--out", type=Path, default=ROOT / "releases")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    released = []
    for pair in NAMES:
        folder, triplets, found = trained(pair, options.data / "mlqe-pe" / pair, options.work / pair)
        before, after = found.before, found.after
        print(
            f"| {pair} | {found.ter} | {found.bleu} | {before.chrf:.2f} to {after.chrf:.2f} | {found.verdict} |",
            flush=True,
        )
        if found.worst >= 0.0:
            continue
        (folder / "README.md").write_text(card(pair, triplets, found), encoding="utf-8")
        (folder / "NOTICE").write_text(NOTICE, encoding="utf-8")
        record_folder(folder)
        archive = options.out / f"{DOMAIN}-{pair}-{VERSION}.tar.xz"
        pack(folder, archive)
        texts = f"encyclopaedic text, {' to '.join(NAMES[pair])}"
        released.append(
            (Entry(f"{DOMAIN}.{pair}", texts, triplets, "CC0 1.0", f"MLQE-PE {pair}, 500 lines", found), archive)
        )
    enter([f"{DOMAIN}."], released, first=True)


def trained(pair: str, data: Path, work: Path) -> tuple[Path, int, Gain]:
    """Train a model; return its folder, its number of triplets, and its gain on the lines of dev that tuned nothing."""
    divide(data, work)
    source, target = pair.split("-")
    words = (
        ["tokenizer=characters"] if target == "zh" else ["tokenizer=moses", f"src_lang={source}", f"tgt_lang={target}"]
    )
    changes = [
        f"data.dir={work.resolve()}",
        "model.compact=true",
        "model.sample=256",
        *(f"text.{one}" for one in words),
    ]
    run = train_phrases(load_phrase_recipe(RECIPE, changes), work / "run", False, Console(quiet=True))
    rest = list(read_triplets(TripletFiles.of(work / "rest")))
    texts = DevTexts(*([getattr(one, side) for one in rest] for side in SIDES))
    return run.model, run.triplets, gain(PostEditor.load(run.model), texts)


def divide(data: Path, work: Path) -> None:
    """Write train as it is, and dev in two parts: `dev`, to tune on, and `rest`, to score."""
    work.mkdir(parents=True, exist_ok=True)
    for side in SIDES:
        train, dev = ((data / f"{part}.{side}").read_text(encoding="utf-8") for part in ("train", "dev"))
        lines = dev.split("\n")[:-1]
        for name, text in (
            ("train", train),
            ("dev", "\n".join(lines[:CHOOSING]) + "\n"),
            ("rest", "\n".join(lines[CHOOSING:]) + "\n"),
        ):
            (work / f"{name}.{side}").write_text(text, encoding="utf-8")


def card(pair: str, triplets: int, found: Gain) -> str:
    source, target = NAMES[pair]
    return f"""\
---
library_name: postedit
language: [{", ".join(pair.split("-"))}]
license: cc0-1.0
tags: [automatic-post-editing, translation]
---
# Encyclopaedic text, {source} to {target}

It corrects machine translations of Wikipedia: wrong words and turns of phrase that post-editors corrected again and
again. Raw or tokenised text in, the same out. `postedit models fetch {DOMAIN}.{pair}` gets it; then `postedit edit
{pair}`, `PostEditor.load("{pair}")` and `postedit serve {pair}` take it.

Phrase-based (after Simard et al. 2007): phrases of mt are looked up in all triplets. `recipes/phrase-based.toml`, made
by `benchmarks/wiki_releases.py`.

## Data

{triplets:,} triplets of MLQE-PE train, CC0 1.0 (`NOTICE`). The model holds them.

## Scores

Lines 501 to {CHOOSING + found.before.lines:,} of MLQE-PE dev; lines 1 to {CHOOSING} chose the weights.

| TER | BLEU | |
| --- | --- | --- |
| {found.ter} | {found.bleu} | {found.verdict} |

Signature of TER: {found.after.signatures["TER"]}.

## Limits

The machine translation was that of one system of 2020. Another system makes other errors: look at what the model does
to your texts (`postedit explain`), have it gated by your own post-edits (`postedit gate`), or assess it on them
(`postedit assess`).
"""


if __name__ == "__main__":
    main()
