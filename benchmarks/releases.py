"""Pack a model for product help as a release file, with a card and a NOTICE.

    python benchmarks/releases.py MODEL DATA WORK [--languages de es] [--documents de] [--file help-3]
        [--started-from de es ja] [--recipe NAME] [--max-input 100] [--edit-cost COST] [--out releases]

MODEL was trained with NAME, by default `recipes/reference/gpu-help-copycat.toml`, for one language or several. WORK was
made by `benchmarks/help_data.py DATA WORK --held-lines 1500`: lines of repositories with a stated licence, of which the
latest 1,500 of each language, or whole documents for the languages of `--documents` (`--held-documents 1500`), are held
out. On these, the edit cost with the lowest mean TER is chosen, unless `--edit-cost` gives another; the card says so.
Dev, which consists of other whole documents, is scored for the card. `--started-from` names further languages that the
weights learnt before MODEL was trained; NOTICE then also has the licences of their texts.

This writes `OUT/FILE.tar.xz` and its entries, one per language pair, into `src/postedit/releases/catalogue.toml`. FILE
must be new: whoever has fetched a file of that name would keep the older model.
"""

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import torch
from help_data import REPOSITORY_COLUMN, UNLICENSED, read
from release_files import ROOT, Entry, Gain, enter, gain, spaced

from postedit import PostEditor
from postedit.core.checksums import record_folder
from postedit.core.search_config import SearchConfig
from postedit.data.lines import DevTexts
from postedit.folder import ModelFolder
from postedit.releases.archive import pack

NAMES: Final = {"de": "German", "fr": "French", "es": "Spanish", "ja": "Japanese"}
EDIT_COSTS: Final = (0.0, 0.25, 0.5, 1.0, 2.0)
LICENCES: Final = {
    "adobe": "MIT, Copyright Adobe",
    "adobe:data-workbench": "Apache 2.0 (English) and MIT (translation), Copyright Adobe",
    "microsoft": "CC BY 4.0 (text) and MIT (code), Copyright Microsoft Corporation",
}
STYLE: Final = {
    "de": "German has forms that include all genders",
    "fr": "French has forms that include all genders",
    "es": "Spanish is that of Spain",
}
OWNERS: Final = {"adobe": "Adobe (github.com/AdobeDocs)", "microsoft": "Microsoft (github.com/MicrosoftDocs)"}
LINKS: Final = {
    "MIT": "https://opensource.org/license/mit",
    "Apache 2.0": "https://www.apache.org/licenses/LICENSE-2.0",
    "CC BY 4.0": "https://creativecommons.org/licenses/by/4.0/",
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
    parser.add_argument("model", type=Path, help="folder of the model")
    parser.add_argument("data", type=Path, help="folder of adobe-pe.en-LANG")
    parser.add_argument("work", type=Path, help="prepared lines: LANG.{src,mt,pe}, LANG.held.*, LANG.dev.*")
    parser.add_argument("--languages", nargs="+", choices=NAMES, default=["de", "es"], help="(default: %(default)s)")
    parser.add_argument("--documents", nargs="*", choices=NAMES, default=["de"], help="held out by whole documents")
    parser.add_argument("--started-from", nargs="*", choices=NAMES, default=[], help="other languages learnt before")
    parser.add_argument("--file", default="help-3", help="name of the release file")
    parser.add_argument("--recipe", default="recipes/reference/gpu-help-copycat.toml", help="what trained the model")
    parser.add_argument("--max-input", type=int, default=100, help="tokens of the longest texts that it edits")
    parser.add_argument("--edit-cost", type=float, choices=EDIT_COSTS, help="(default: what held-out lines choose)")
    parser.add_argument("--out", type=Path, default=ROOT / "releases")
    options = parser.parse_args()
    archive = options.out / f"{options.file}.tar.xz"
    if archive.exists():
        parser.error(f"{archive} exists, and may have been fetched; give --file a new name")
    options.out.mkdir(parents=True, exist_ok=True)
    model = ModelFolder.load(options.model)
    editor = PostEditor.load(options.model)
    editor.search = editor.search.with_options(max_input=options.max_input)
    tried = gains_of(editor, options.work, options.languages)
    best = min(EDIT_COSTS, key=lambda cost: sum(gain.after.ter for gain in tried[cost].values()))
    cost = best if options.edit_cost is None else options.edit_cost
    search, held = editor.search.model_copy(update={"beam": 1, "edit_cost": cost}), tried[cost]
    folder = options.work / "release"
    replace(model, search=search).save(folder, stored=torch.bfloat16)
    editor = PostEditor.load(folder)
    dev = {language: scored(editor, search, options.work / f"{language}.dev", language) for language in held}
    for language, found in dev.items():
        print(f"{language}, dev: {found}", flush=True)
    triplets = {language: len(read(options.work / language)["src"]) for language in dev}
    learnt = [language for language in NAMES if language in {*options.languages, *options.started_from}]
    used = used_repositories(options.data, learnt)
    documents = [language for language in options.languages if language in options.documents]
    why = "which was chosen on held-out lines"
    if cost != best:
        lowest = "; ".join(f"{NAMES[language]} {gain.ter}" for language, gain in tried[best].items())
        why = f"which was given by hand; on the held-out lines, one of {best:g} is better ({lowest})"
    told = card(model, search, why, options.recipe, triplets, held, dev, used, documents, options.started_from)
    (folder / "README.md").write_text(told, encoding="utf-8")
    (folder / "NOTICE").write_text(notice(used, learnt), encoding="utf-8")
    record_folder(folder)
    pack(folder, archive)
    entries = [entry(language, triplets[language], used, found) for language, found in dev.items()]
    enter([f'{one.name}"' for one in entries], [(one, archive) for one in entries])
    print(f"{archive}: {archive.stat().st_size / 1e6:.1f} MB")


def gains_of(editor: PostEditor, work: Path, languages: Sequence[str]) -> dict[float, dict[str, Gain]]:
    """Return the gains of greedy search on the held-out lines, by edit cost and language; print their TER."""
    found = {}
    for cost in EDIT_COSTS:
        search = editor.search.model_copy(update={"beam": 1, "edit_cost": cost})
        gains = {language: scored(editor, search, work / f"{language}.held", language) for language in languages}
        told = "; ".join(f"{name} {one.ter}" for name, one in gains.items())
        print(f"edit cost {cost}, held-out lines: {told}", flush=True)
        found[cost] = gains
    return found


def scored(editor: PostEditor, search: SearchConfig, prefix: Path, language: str) -> Gain:
    """Return the scores of the unedited MT and of the model on the triplets at `prefix`.

    Words are separated by spaces; in Japanese, each character counts as a word.
    """
    texts = read(prefix)
    return gain(editor, DevTexts(texts["src"], texts["mt"], texts["pe"]), search, spaced if language == "ja" else str)


def repositories(info: Path) -> Counter[str]:
    """Return the number of lines of each repository with a stated licence."""
    lines = info.read_text(encoding="utf-8").split("\n")[:-1]
    found = Counter(line.split("\t")[REPOSITORY_COLUMN] for line in lines)
    return Counter({name: count for name, count in found.items() if name not in UNLICENSED})


def used_repositories(data: Path, languages: Sequence[str]) -> Counter[str]:
    """Return the number of lines of each repository with a stated licence, summed over `languages`."""
    return sum((repositories(data / f"adobe-pe.en-{language}/train.info") for language in languages), Counter[str]())


def listed(names: Sequence[str]) -> str:
    """Return names as an enumeration in a sentence: "A, B and C"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def card(
    model: ModelFolder,
    search: SearchConfig,
    why: str,
    recipe: str,
    triplets: Mapping[str, int],
    held: Mapping[str, Gain],
    dev: Mapping[str, Gain],
    used: Counter[str],
    documents: Sequence[str] = (),
    started_from: Sequence[str] = (),
) -> str:
    architecture, pair = model.architecture, f"en-{next(iter(dev))}"
    others = "; likewise for the others" if len(dev) > 1 else ""
    reads = "It reads src and mt" if "src" in model.model.spec.inputs else "It reads mt alone"
    shown = ", and knows its language by it" if len(dev) > 1 else ""
    unread = (
        "\n- It does not read the source, so it cannot see what the translation has left out or got wrong."
        if "src" not in model.model.spec.inputs
        else ""
    )
    start = (
        f" It started from a model that had learnt such texts in {listed([NAMES[one] for one in started_from])}, too."
        if started_from
        else ""
    )
    names = licences(used)
    licence = names[0].lower() if len(names) == 1 else "other"
    latest = "triplets" if len(dev) == 1 else "triplets of each language"
    if documents:
        latest += f", in {listed([NAMES[one] for one in documents])} whole documents of raw MT instead"
    words = "what stands between spaces" if "ja" not in dev else "characters"
    if "ja" in dev and len(dev) > 1:
        words = "characters in Japanese, of what stands between spaces in other languages"
    told = [STYLE[language] for language in dev if language in STYLE]
    style = f" ({', '.join(told)})" if told else ""
    rows = "\n".join(
        f"| {NAMES[language]} | {triplets[language]:,} | {held[language].before.lines:,} | {held[language].ter} "
        f"| {one.before.lines:,} "
        f"| {one.ter} | {one.bleu} | {one.verdict} |"
        for language, one in dev.items()
    )
    return f"""\
---
library_name: postedit
language: [en, {", ".join(dev)}]
license: {licence}
tags: [automatic-post-editing, translation]
---
# Product help, English to {listed([NAMES[language] for language in dev])}

It corrects machine translations of the help pages of software: terms, punctuation and turns of phrase that translators
of such pages have corrected again and again. Raw text in, raw text out. `postedit models fetch {pair}` gets it; then
`postedit edit {pair}`, `PostEditor.load("{pair}")` and `postedit serve {pair}` take it{others}.

Architecture: `{architecture.name}` ({architecture.paper}), {architecture.summary}. {reads}{shown}. It was trained by
`{recipe}`. Greedy search with an edit cost of {search.edit_cost:g}, {why}.

## Data

Triplets of product help: raw output of neural translation, and what translators published later. All are from
repositories with a stated licence; `NOTICE` names them. Cleaned by `recipes/clean/help.toml`.{start}

## Scores

Dev: whole documents that the model has not learnt from; they chose the checkpoint, which flatters it. Held out: the
latest {latest}. TER is of {words}.
Signature of TER: {dev[pair[3:]].after.signatures["TER"]}.

| | triplets learnt | lines held out | TER | lines of dev | TER | BLEU | |
| --- | ---: | ---: | --- | ---: | --- | --- | --- |
{rows}

## Limits

- Nearly all lines are about the products of one company, with its terms and its style{style}. In other texts
  these edits may be wrong: look at what it does to yours (`postedit explain`), have it gated by your own post-edits
  (`postedit gate`), or assess it on them (`postedit assess`).
- Segments of more than {search.max_input} tokens (some {search.max_input // 2} words) stay as they are: it learnt from
  few of that length, and makes long ones worse. Give it sentences, not paragraphs.{unread}
"""


def notice(used: Counter[str], languages: Sequence[str]) -> str:
    names = {name.partition(":")[0] for name in used}
    owners = " and ".join(OWNERS[name] for name in sorted(names))
    rows = "\n".join(
        f"- {name.replace(':', ', ')} ({count:,} lines before cleaning): "
        f"{LICENCES.get(name, LICENCES[name.partition(':')[0]])}"
        for name, count in sorted(used.items())
    )
    links = "\n".join(f"{name}: {LINKS[name]}" for name in licences(used))
    return f"""\
The weights of this model were learnt from texts in {listed(["English", *(NAMES[one] for one in languages)])}, of the
public repositories of product help by {owners}. Lines with faults were left out. The owners do not endorse this model.
The texts have these licences:

{rows}

{links}

{MIT}"""


def licences(used: Counter[str]) -> list[str]:
    """Return the names of the licences of the repositories, in the order of `LINKS`."""
    told = " ".join(LICENCES.get(name, LICENCES[name.partition(":")[0]]) for name in used)
    return [name for name in LINKS if name in told]


def entry(language: str, triplets: int, used: Counter[str], found: Gain) -> Entry:
    return Entry(
        f"help.en-{language}",
        f"product help, English to {NAMES[language]}",
        triplets,
        ", ".join(licences(used)),
        f"{found.before.lines:,} lines of help{', characters' if language == 'ja' else ''}",
        found,
    )


if __name__ == "__main__":
    main()
