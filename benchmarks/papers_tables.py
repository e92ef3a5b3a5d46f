"""Write the tables of the papers, with the figures of our runs, where they exist, beside the published ones.

    python benchmarks/papers_tables.py RUNS DATA [--out FILE] [--beam N]      (make papers-tables RUNS=... TEXTS=...)

`papers_tables.toml` maps systems to runs: RUNS/TASK/NAME, as made by `postedit train NAME.toml --set
data.dir=DATA/TASK --out RUNS/TASK/NAME`. Outputs are kept in RUNS/TASK/NAME/outputs, so that a second call decodes only
with new or changed models. Each of our columns is on the text (dev or test) of the published column before it.
"""

import argparse
import json
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from papers_runs import System, differences, missing_runs, system_of
from rich.console import Console

from postedit.core.files import atomic_write
from postedit.data.lines import read_lines
from postedit.evaluate import analyses
from postedit.evaluate.summarisation import ORDERS, lead, rouge_by_text, rouge_signature, summary_scores
from postedit.evaluate.table import Column, Table, TableRow, percentage, to_markdown
from postedit.evaluate.ter import ter_signature
from postedit.evaluate.test_set import EvaluatedSystem, TestSet, evaluate_systems
from postedit.explain import focus
from postedit.jobs.explanation import explain
from postedit.model_files import content_fingerprint

HERE = Path(__file__).resolve().parent
Values = Sequence[float | None]


@dataclass(frozen=True)
class Text:
    """One of our test sets; `mt` is None for tasks without mt."""

    name: str
    task: str
    src: Path
    mt: Path | None
    pe: Path
    tokenize: Any

    @property
    def label(self) -> str:
        """The task and the part, for the headings of columns."""
        return f"{self.task} {self.pe.name.removesuffix(self.pe.suffix) if self.mt else self.pe.name}"


@dataclass(frozen=True)
class Subject:
    """A system on a text: `systems` ends with what is measured, after the unedited MT where there is mt."""

    text: Text
    test: TestSet
    systems: Sequence[EvaluatedSystem]
    system: System | None
    beam: int | None


@dataclass(frozen=True)
class Measure:
    """Columns of a table, and the function that computes their values."""

    columns: tuple[Column, ...]
    values: Callable[[Subject], Values]


def main() -> None:
    options = parse()
    described = tomllib.loads((HERE / "papers_tables.toml").read_text(encoding="utf-8"))
    texts = {name: text_of(name, entry, options.data) for name, entry in described["sets"].items()}
    tables = [table_of(entry, texts, options) for entry in described["table"]]
    tasks = {name: text.task for name, text in texts.items()}
    differ = differences(described["table"], tasks, options.runs)
    missing = missing_runs(described["table"], tasks, options.runs, options.data)
    with atomic_write(options.out) as file:
        file.write("\n".join([introduction(), to_markdown(tables), differ, missing]))
    for text in texts.values():
        if not text.pe.exists():
            print(f"{text.pe} does not exist: the columns of {text.label} stay empty")
    filled = sum(bool(row.labels[1]) for table in tables for row in table.rows)
    print(f"{options.out}: {len(tables)} tables; rows with a run of {options.runs}: {filled}")
    if missing:
        print("How to make the runs that are missing stands at its end")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("runs", type=Path, help="folder of runs: RUNS/TASK/NAME")
    parser.add_argument("data", type=Path, help="folder of texts: DATA/TASK/dev.src ...")
    parser.add_argument("--out", type=Path, default=Path("papers-tables.md"))
    parser.add_argument("--beam", type=int, default=None, help="width of the beam; default: that of the recipe")
    return parser.parse_args()


def text_of(name: str, entry: dict[str, str], data: Path) -> Text:
    folder = data / entry["task"]
    if part := entry.get("text"):
        sides = folder / f"{part}.src", folder / f"{part}.mt", folder / f"{part}.pe"
    else:
        sides = folder / entry["src"], None, folder / entry["pe"]
    return Text(name, entry["task"], *sides, entry.get("tokenize", "none"))


def introduction() -> str:
    return (
        "# Tables of the papers\n\nPublished figures, and beside them those of the runs that exist here; a dash stands "
        "for what was not run. What a run differs in from the recipe of the paper stands behind the tables. "
        f"Ours: TER {ter_signature()}, BLEU on tokens as they stand; texts without mt are raw "
        f"and scored with norm:yes and tok:13a. ROUGE {rouge_signature(stem=True)}, L of summaries.\n"
    )


def table_of(entry: dict[str, Any], texts: dict[str, Text], options: argparse.Namespace) -> Table:
    """Return a table in which our figures follow the published ones on the corresponding text."""
    measure = MEASURES[entry["measure"]]
    groups = [(group.get("published", []), texts.get(group.get("set", ""))) for group in entry["columns"]]
    columns = []
    for published, text in groups:
        columns += [Column(f"{name} (published)", decimals(entry["measure"])) for name in published]
        columns += [Column(f"{one.name} (ours), {text.label}", one.decimals) for one in measure.columns if text]
    rows = []
    for row in entry["rows"]:
        known = iter(row["published"])
        values: list[float | None] = []
        run = ""
        for published, text in groups:
            values += [next(known, None) for _ in published]
            if text:
                name, found = figures(row, text, measure, options)
                run, values = run or name, [*values, *found]
        rows.append(TableRow((row["system"], run), tuple(values)))
    return Table(entry["title"], ("system", "run of ours"), tuple(columns), tuple(rows), entry.get("note", ""))


def decimals(measure: str) -> int:
    return {"changes": 0, "saved": 0, "focus": 0, "novelty": 1}.get(measure, 2)


def figures(row: dict[str, Any], text: Text, measure: Measure, options: argparse.Namespace) -> tuple[str, Values]:
    """Return the name of the run for a row, or "" without one, and its figures on the text; None for those missing."""
    nothing = [None] * len(measure.columns)
    if not text.pe.exists():
        return "", nothing
    test = test_set(text)
    if row.get("nothing"):
        return "", measure.values(Subject(text, test, evaluate_systems(test, {})[:1], None, options.beam))
    if (outputs := outputs_without_model(row, test)) is not None:
        systems = evaluate_systems(test, {"outputs": outputs})[-1:]
        return "", measure.values(Subject(text, test, systems, None, options.beam))
    for name in row.get("runs", ()):
        system = system_of(options.runs / text.task / name, row)
        if system is not None:
            systems = evaluate_systems(test, {name: outputs_of(system, text, options.beam)})
            return name, measure.values(Subject(text, test, systems, system, options.beam))
    return "", nothing


def outputs_without_model(row: dict[str, Any], test: TestSet) -> list[str] | None:
    """Return the first sentences of the sources, or the references, if a row is for these; None for other rows."""
    if count := row.get("lead"):
        return [lead(source, count) for source in test.src or ()]
    return list(test.pe) if row.get("reference") else None


@cache
def test_set(text: Text) -> TestSet:
    mt = list(read_lines(text.mt)) if text.mt else None
    return TestSet(list(read_lines(text.pe)), mt, list(read_lines(text.src)), tokenize=text.tokenize)


def outputs_of(system: System, text: Text, beam: int | None) -> list[str]:
    """Return the outputs of a system on a text, from the file that keeps them if it exists."""
    kept = kept_file(system, text, beam, ".hyp")
    if not kept.exists():
        announce(system, "decoding", text)
        test, editor = test_set(text), system.load()
        # Models that write summaries have one input, mt: the text that they read.
        mt = test.src if test.mt is None and editor.abilities.needs_mt else test.mt
        edited = editor.edit(test.src or (), mt, beam=beam)
        with atomic_write(kept) as file:
            file.writelines(f"{one.text}\n" for one in edited)
    return list(read_lines(kept))


def kept_file(system: System, text: Text, beam: int | None, ending: str) -> Path:
    """Return the path of the file that keeps a result of a system on a text; its name has a hash of both."""
    parts = [*(content_fingerprint(model) for model in system.models), str(beam), text.src.read_text(encoding="utf-8")]
    parts += [] if system.weights is None else [str(system.weights)]
    if text.mt:
        parts.append(text.mt.read_text(encoding="utf-8"))
    folder = system.folder / "outputs"
    folder.mkdir(exist_ok=True)
    return folder / f"{text.name}-{sha256(' '.join(parts).encode()).hexdigest()[:12]}{ending}"


def announce(system: System, what: str, text: Text) -> None:
    Console(stderr=True).print(f"{', '.join(map(str, system.models))}: {what} {text.src}", soft_wrap=True)


def scores(subject: Subject) -> Values:
    found = subject.systems[-1].scores
    return found.ter, found.bleu


def bleu(subject: Subject) -> Values:
    """Return case-insensitive BLEU, as in Li et al. 2017, section V.A."""
    return analyses.lowercase_bleu(subject.systems[-1:], subject.test).rows[0].values


def faithfulness(subject: Subject) -> Values:
    return analyses.faithfulness(subject.systems).rows[-1].values[:2]


def changes(subject: Subject) -> Values:
    return analyses.faithfulness(subject.systems).rows[-1].values[2:]


def saved(subject: Subject) -> Values:
    shifts, substitutions, insertions, deletions, every = analyses.edits_saved(subject.systems).rows[-1].values
    return insertions, deletions, substitutions, shifts, every


def rouge(subject: Subject) -> Values:
    test = subject.test
    one, two, _, summary_level = rouge_by_text(subject.systems[-1].outputs, test.pe, stem=True).mean(0)
    return float(one), float(two), float(summary_level)


def novelty(subject: Subject) -> Values:
    test = subject.test
    found = summary_scores(subject.systems[-1].outputs, test.src or (), test.pe, normalise=test.tokenize == "13a")
    return *found.novel, found.novel_sentences, *found.repeated, found.repeated_sentences


def led(subject: Subject) -> Values:
    """Return the percentages of decoding steps that are led by src, by mt and by both.

    All are None for models without an attention that src and mt share. As in the paper, which also gives the threshold,
    each subword is a step, and so is the end of a sentence.
    """
    nothing: Values = (None, None, None)
    if subject.system is None:
        return nothing
    kept = kept_file(subject.system, subject.text, subject.beam, ".decoding-focus.json")
    if not kept.exists():
        announce(subject.system, "explaining", subject.text)
        editor = subject.system.load()
        editor.search = editor.search.model_copy(update={"beam": subject.beam or editor.search.beam})
        found = explain(editor, subject.test.src or (), subject.test.mt, detail="attention")
        leads = focus.decoding_leads([one for one in found if one])
        shares = [
            percentage(leads.count(lead), len(leads)) for lead in (focus.Lead.src, focus.Lead.mt, focus.Lead.both)
        ]
        with atomic_write(kept) as file:
            json.dump(shares, file)
    return json.loads(kept.read_text(encoding="utf-8"))


def columns(names: str, places: int = 2) -> tuple[Column, ...]:
    return tuple(Column(name, places) for name in names.split(", "))


COUNTED = [*(f"{order}-grams" for order in ORDERS), "sentences"]

MEASURES = {
    "scores": Measure(columns("TER, BLEU"), scores),
    "bleu": Measure(columns("case-insensitive BLEU"), bleu),
    "faithfulness": Measure(columns("TER to pe, TER to mt"), faithfulness),
    "changes": Measure(columns("modified, improved, deteriorated", 0), changes),
    "saved": Measure(columns("insertions, deletions, substitutions, shifts, all", 0), saved),
    "focus": Measure(columns("src, mt, both", 0), led),
    "rouge": Measure(columns("ROUGE-1, ROUGE-2, ROUGE-L"), rouge),
    "novelty": Measure(
        columns(", ".join(f"{kind} {one}" for kind in ("novel", "repeated") for one in COUNTED), 1), novelty
    ),
}


if __name__ == "__main__":
    main()
