"""Train the models for product help and pack them as release files, with cards and a NOTICE.

    python benchmarks/releases.py DATA WORK [--out releases] [--languages de fr es ja]

WORK is what `benchmarks/help_data.py DATA WORK --held-lines 1500` made: lines of repositories with a stated licence.
The latest 1,500 lines of a language are not learnt: they tune the weights, and choose the edit cost, that with the
lowest TER. Without a gain there, nothing is released. Dev, whole documents of other lines, is scored for the card
alone. Runs in WORK/runs are kept.

This writes `OUT/help.en-LANG-1.tar.xz`, and the entries of these files into `src/postedit/releases/catalogue.toml`.
"""

import argparse
import hashlib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from help_data import REPOSITORY_COLUMN, UNLICENSED, read

from postedit.core.checksums import record_folder
from postedit.core.files import atomic_write
from postedit.evaluate import analyses
from postedit.evaluate.scores import SystemScores
from postedit.evaluate.test_set import TestSet, evaluate_systems
from postedit.phrase.phrase_folder import PhraseFolder
from postedit.releases.archive import pack

ROOT: Final = Path(__file__).resolve().parents[1]
CATALOGUE: Final = ROOT / "src/postedit/releases/catalogue.toml"
NAMES: Final = {"de": "German", "fr": "French", "es": "Spanish", "ja": "Japanese"}
EDIT_COSTS: Final = (0.0, 0.25, 0.5)
VERSION: Final = 1  # of the release files: another one for another content
LICENCES: Final = {
    "adobe": "MIT, Copyright Adobe",
    "adobe:data-workbench": "Apache 2.0 (English) and MIT (translation), Copyright Adobe",
    "microsoft": "CC BY 4.0 (text) and MIT (code), Copyright Microsoft Corporation",
}
MIT: Final = """\
The MIT License, for the texts under it: Permission is hereby granted, free of charge, to any person obtaining a
copy of this software and associated documentation files (the "Software"), to deal in the Software without
restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense,
and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the
following conditions: The above copyright notice and this permission notice shall be included in all copies or
substantial portions of the Software. THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE
SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of adobe-pe.en-LANG")
    parser.add_argument("work", type=Path, help="prepared lines: LANG.{src,mt,pe}, LANG.held.*, LANG.dev.*")
    parser.add_argument("--out", type=Path, default=ROOT / "releases")
    parser.add_argument("--languages", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--runs", type=Path, help="folder of the runs; WORK/runs if not given")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for language in options.languages:
        run = (options.runs or options.work / "runs") / f"help-{language}"
        train(options.work, language, run)
        found = chosen(PhraseFolder.load(run / "model"), options.work / f"{language}.held", language)
        if found is None:
            print(f"{language}: no gain on the held lines: not released")
            continue
        model, held = found
        dev = scored(model, options.work / f"{language}.dev", language)
        folder = run / "release"
        replace(model, config=model.config.model_copy(update={"compact": True})).save(folder)
        used = repositories(options.data / f"adobe-pe.en-{language}/train.info")
        (folder / "README.md").write_text(card(model, language, held, dev), encoding="utf-8")
        (folder / "NOTICE").write_text(notice(language, used), encoding="utf-8")
        record_folder(folder)
        archive = options.out / f"help.en-{language}-{VERSION}.tar.xz"
        pack(folder, archive)
        enter(language, archive, dev)
        print(f"{archive}: {archive.stat().st_size / 1e6:.1f} MB\n  held: {held}\n  dev: {dev}", flush=True)


def train(work: Path, language: str, run: Path) -> None:
    """Train the model of a language, unless it is there."""
    if (run / "model").exists():
        return
    settings = {
        "data.dir": str(work),
        "data.train": f'["{language}"]',
        "data.dev": f"{language}.held",
        "text.tgt_lang": language,
    }
    if language == "ja":
        settings["text.tokenizer"] = "characters"
    command = [sys.executable, "-m", "postedit", "train", str(ROOT / "recipes/reference/help.toml"), "--out", str(run)]
    subprocess.run([*command, *(part for one in settings.items() for part in ("--set", "=".join(one)))], check=True)


@dataclass(frozen=True, slots=True)
class Gain:
    """Scores before and after, and the sentence that compares them."""

    before: SystemScores
    after: SystemScores
    verdict: str

    def __str__(self) -> str:
        return f"TER {self.ter}, BLEU {self.bleu}; {self.verdict}"

    @property
    def ter(self) -> str:
        """Both TER."""
        return f"{self.before.ter:.2f} to {self.after.ter:.2f}"

    @property
    def bleu(self) -> str:
        """Both BLEU."""
        return f"{self.before.bleu:.2f} to {self.after.bleu:.2f}"


def chosen(model: PhraseFolder, prefix: Path, language: str) -> tuple[PhraseFolder, Gain] | None:
    """Return the model with the edit cost that is best on triplets, and its scores; None if none makes them better."""
    best = None
    for cost in EDIT_COSTS:
        trial = replace(model, search=model.search.model_copy(update={"edit_cost": cost}))
        gain = scored(trial, prefix, language)
        print(f"{language}, edit cost {cost}: {gain}", flush=True)
        if gain.after.ter < (gain.before if best is None else best[1].after).ter:
            best = trial, gain
    return best


def scored(model: PhraseFolder, prefix: Path, language: str) -> Gain:
    """Return the scores of unedited MT and of the model on triplets, words being what stands between spaces.

    Those of Japanese are characters.
    """
    texts = read(prefix)
    outputs = [edit.text for edit in model.editor().edit(texts["src"], texts["mt"])]
    mt, pe, edited = (words(lines, language) for lines in (texts["mt"], texts["pe"], outputs))
    systems = evaluate_systems(TestSet(pe, mt), {"model": edited})
    before, after = (system.scores for system in systems)
    (verdict,) = analyses.verdicts(systems, analyses.ter_differences(systems))
    return Gain(before, after, verdict)


def words(lines: Sequence[str], language: str) -> list[str]:
    return [" ".join(line.replace(" ", "")) for line in lines] if language == "ja" else list(lines)


def repositories(info: Path) -> Counter[str]:
    """Return the lines of each repository with a stated licence."""
    lines = info.read_text(encoding="utf-8").split("\n")[:-1]
    found = Counter(line.split("\t")[REPOSITORY_COLUMN] for line in lines)
    return Counter({name: count for name, count in found.items() if name not in UNLICENSED})


def card(model: PhraseFolder, language: str, held: Gain, dev: Gain) -> str:
    pair, unit = f"en-{language}", "characters" if language == "ja" else "what stands between spaces"
    return f"""\
---
library_name: postedit
language: [en, {language}]
license: other
tags: [automatic-post-editing, translation]
---
# Product help, English to {NAMES[language]}

It corrects machine translations of the help pages of software: terms, names of buttons and menus, and turns of phrase
that translators of such pages have corrected again and again. Raw text in, raw text out. `postedit edit {pair}`,
`PostEditor.load("{pair}")` and `postedit serve {pair}` take it once it was fetched (`postedit models fetch {pair}`).

A phrase-based model (after Simard et al. 2007): an index of the triplets that it has learnt, which are **in its files
as texts**. It makes an edit if that is worth more than `search.edit_cost = {model.search.edit_cost:g}`.

## Data

{model.provenance["triplets"]:,} triplets of product help: raw output of neural translation, and what translators
published later. All are from repositories with a stated licence; `NOTICE` names them. Cleaned by
`recipes/clean/help.toml`. Made by `benchmarks/releases.py` with `recipes/reference/help.toml`.

## Scores

| | TER | BLEU |
| --- | --- | --- |
| the latest {held.before.lines:,} lines, which tuned its weights | {held.ter} | {held.bleu} |
| **dev, {dev.before.lines:,} lines of other documents** | **{dev.ter}** | {dev.bleu} |

On dev: {dev.verdict}
Words are {unit}. Signature: {dev.after.signatures["TER"]}.

## Limits

- Nearly all lines are about the products of one company, with its terms and its style. In other texts it seldom finds
  anything to correct, and what it finds may be wrong there: look at what it does to yours (`postedit explain`), have it
  gated by your own post-edits (`postedit gate`), or assess it on them (`postedit assess`).
- It corrects what has been corrected before, and nothing else.
"""


def notice(language: str, used: Counter[str]) -> str:
    rows = "\n".join(
        f"- {name.replace(':', ', ')} ({count:,} lines before cleaning): "
        f"{LICENCES.get(name, LICENCES[name.partition(':')[0]])}"
        for name, count in sorted(used.items())
    )
    return f"""\
This model has texts, in English and {NAMES[language]}, of the public repositories of product help by Adobe
(github.com/AdobeDocs) and Microsoft (github.com/MicrosoftDocs). They were divided into words, aligned and indexed;
lines with faults were left out. The owners do not endorse this model. The texts keep their licences:

{rows}

MIT: https://opensource.org/license/mit
Apache 2.0: https://www.apache.org/licenses/LICENSE-2.0
CC BY 4.0: https://creativecommons.org/licenses/by/4.0/

{MIT}"""


def enter(language: str, archive: Path, dev: Gain) -> None:
    """Write the entry of a release file to the catalogue, in place of an older one."""
    name = f"help.en-{language}"
    licences = {"de": "MIT, Apache 2.0, CC BY 4.0", "fr": "MIT, Apache 2.0"}.get(language, "MIT")
    measured = ", characters" if language == "ja" else ""
    content = archive.read_bytes()
    scores = f"unedited = {dev.before.ter:.2f}, ter = {dev.after.ter:.2f}"
    gain = f'dev = "{dev.before.lines:,} lines of help{measured}", {scores}'
    entry = f"""\
[[models]]
name = "{name}"
texts = "product help, English to {NAMES[language]}"
licence = "{licences}"
gain = {{ {gain} }}
file = "{archive.name}"
bytes = {len(content)}
sha256 = "{hashlib.sha256(content).hexdigest()}"
"""
    head, *entries = re.split(r"(?=^\[\[models\]\]$)", CATALOGUE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    kept = [one.rstrip() for one in entries if f'name = "{name}"\n' not in one]
    with atomic_write(CATALOGUE) as file:
        file.write("\n\n".join([head.rstrip(), *kept, entry.rstrip()]) + "\n")


if __name__ == "__main__":
    main()
