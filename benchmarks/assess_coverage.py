"""Do the intervals of `postedit assess` cover the true gain, and does it answer "no" where no editor helps?

    python benchmarks/assess_coverage.py run DATA WORK [--part train|dev] [--sets NAME...] [--editors NAME...]
    python benchmarks/assess_coverage.py report WORK

`run` draws 200 resamples of each set (40 each of 100, 200, 300, 400 and 500 triplets), and assesses on each the editors
that are trained, by cross-validation. Editors that are given edit up to 5,000 triplets of the set once; `report` draws
the resamples of their gains. The true gain of a given editor is its gain on these triplets. That of a trained editor is
the mean, over the resamples of a size, of the gain on the rest of the set of the editor trained on the whole resample.
The set is every second triplet of train with `--part train` (the others chose the statistics), and the dev set with
`--part dev`. The given editors are a phrase-based one, which learnt from 5,000 triplets of the other half of train, and
for English-Chinese, with `--part dev`, the model that comes with postedit. The small neural model ("neural") takes far
longer than the others, and is tried only if --editors names it.

Each resample is a line of WORK/PART.SET.jsonl; a run that was stopped resumes after the last one. `report` prints the
tables of RESULTS.md from all files in WORK. The best editor is the one with the largest gain in a resample; its
interval is the one in the recommendation, which is adjusted for the number of editors.
"""

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from postedit import PostEditor
from postedit.adapt.correction import Correction
from postedit.core.editor import Editor
from postedit.data.triplets import TripletFiles, read_triplets
from postedit.editing.protection import Protected
from postedit.evaluate.gain import SentenceGains
from postedit.evaluate.recommendation import Answer, EditorGain, recommendation, simultaneous
from postedit.evaluate.ter import count_edits, edit_rate
from postedit.jobs.cross_validation import Learner, cross_validated, memory_learner, phrase_learner, tried
from postedit.jobs.small_neural_model import neural_learner
from postedit.phrase.phrase_options import PhraseTextConfig

SETS = ("wmt18-smt.en-de", "wmt18-nmt.en-de", "wmt19-nmt.en-ru", "wmt18-nmt.en-lv", "mlqe-pe/en-zh", "mlqe-pe/ro-en")
SIZES = (100, 200, 300, 400, 500)
EACH = 40  # resamples of each size
REST = 600  # most sentences outside the resample that a trained editor is tried on
GIVEN = 5000  # most triplets that a given editor learns, and most sentences that it is tried on
TEXT = PhraseTextConfig()  # all sets are tokenised
LEARNERS: dict[str, Learner] = {
    "phrases": phrase_learner(TEXT),
    "memory": memory_learner(TEXT),
    "neural": neural_learner(TEXT),
}


def triplets(data: Path, name: str, part: str) -> list[Correction]:
    return [Correction(one.src, one.mt, one.pe) for one in read_triplets(TripletFiles.of(data / name / part))]


def packed(found: SentenceGains) -> dict[str, Any]:
    return {name: getattr(found, name).tolist() for name in ("saved", "words", "changed")}


def unpacked(row: dict[str, Any]) -> SentenceGains:
    folds = np.array(row["folds"]) if "folds" in row else None
    return SentenceGains(np.array(row["saved"]), np.array(row["words"]), np.array(row["changed"]), folds)


def given_editors(data: Path, name: str, part: str) -> dict[str, Editor]:
    others = triplets(data, name, "train")[0::2][:GIVEN]
    found = {"given: phrases": LEARNERS["phrases"](others)}
    if part == "dev" and name.endswith("en-zh"):
        found["given: shipped"] = Protected(PostEditor.load())
    return found


def tried_whole(data: Path, name: str, part: str, full: Sequence[Correction]) -> Iterator[dict[str, Any]]:
    """Yield a row for each given editor, with its gain in each sentence of the set."""
    for kind, editor in given_editors(data, name, part).items():
        yield {"kind": kind, "size": 0, "number": 0, **packed(tried(editor, full[:GIVEN], TEXT))}


def assessed(kind: str, name: str, full: Sequence[Correction], size: int, number: int) -> dict[str, Any]:
    """Return what cross-validation finds on a resample, and what an editor trained on all of it gains on the rest."""
    draw = random.Random(f"{name} {size} {number}")
    rows = draw.sample(range(len(full)), size)
    rest = sorted(set(range(len(full))).difference(rows))
    rest = draw.sample(rest, min(REST, len(rest)))
    sample, others = [full[row] for row in rows], [full[row] for row in rest]
    edits = edit_rate(count_edits([one.mt for one in sample], [one.pe for one in sample]))
    found = cross_validated(LEARNERS[kind], sample, TEXT)
    assert found.folds is not None
    return {
        "kind": kind, "size": size, "number": number, "ter": edits, **packed(found), "folds": found.folds.tolist(),
        "true": tried(LEARNERS[kind](sample), others, TEXT).points,
    }  # fmt: skip


def run(data: Path, work: Path, part: str, names: Sequence[str], kinds: Sequence[str]) -> None:
    for name in names:
        path = work / f"{part}.{name.replace('/', '-')}.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        done = {(row["kind"], row["size"], row["number"]) for row in map(json.loads, lines)}
        full = triplets(data, name, part)
        full = full[1::2] if part == "train" else full
        with path.open("a") as file:
            if not lines:
                for row in tried_whole(data, name, part, full):
                    file.write(json.dumps(row) + "\n")
            for number, size, kind in product(range(EACH), SIZES, kinds):
                if (kind, size, number) not in done:
                    file.write(json.dumps(assessed(kind, name, full, size, number)) + "\n")
                    file.flush()
        print(path, flush=True)


class Cell(NamedTuple):
    """A resample: whether its interval covers the true gain, its width, and whether all of it is above 0."""

    covers: bool
    width: float
    helps: bool


def cells_of(rows: Sequence[dict[str, Any]], whole: SentenceGains | None) -> tuple[list[Cell], dict[int, float]]:
    """Return a cell for each resample of an editor, and its true gain by size of the resample."""
    if whole is not None:
        truth = dict.fromkeys(SIZES, whole.points)
    else:
        sizes = [size for size in SIZES if any(row["size"] == size for row in rows)]
        truth = {size: float(np.mean([row["true"] for row in rows if row["size"] == size])) for size in sizes}
    cells = []
    for row in rows:
        _, low, high = unpacked(row).gain()
        cells.append(Cell(low <= truth[row["size"]] <= high, high - low, low > 0.0))
    return cells, truth


def resampled(whole: SentenceGains, seed: str) -> list[dict[str, Any]]:
    """Return resamples, with replacement, of the gains of a given editor in the sentences of the full set."""
    found = []
    for size in SIZES:
        for number in range(EACH):
            rows = random.Random(f"{seed} {size} {number}").choices(range(len(whole.words)), k=size)
            part = SentenceGains(whole.saved[rows], whole.words[rows], whole.changed[rows])
            found.append({"size": size, "number": number, **packed(part)})
    return found


def print_head(*names: str) -> None:
    print(f"| {' | '.join(names)} |\n|---|---|{'---:|' * (len(names) - 2)}")


def report(work: Path) -> None:
    print_head("set", "editor", "resamples", "full set gives", "covered %", "width", "all above 0 %")
    chosen: dict[str, list[Choice]] = {}
    for path in sorted(work.glob("*.jsonl")):
        rows = defaultdict(list)
        for row in map(json.loads, path.read_text().splitlines()):
            rows[row["kind"]].append(row)
        truths: dict[str, dict[int, float]] = {}
        for kind, found in rows.items():
            whole = unpacked(found[0]) if kind.startswith("given") else None
            cells, truth = cells_of(resampled(whole, path.stem) if whole else found, whole)
            truths[kind] = truth
            covers, widths, helps = (np.array([cell[column] for cell in cells]) for column in range(3))
            given = sorted({round(value, 2) for value in truth.values()})
            shown = f"{given[0]:+.2f}" if len(given) == 1 else f"{truth[min(truth)]:+.2f} to {truth[max(truth)]:+.2f}"
            print(
                f"| {path.stem} | {kind} | {len(cells)} | {shown} | {100 * covers.mean():.1f} | {widths.mean():.2f} | "
                f"{100 * helps.mean():.1f} |"
            )
        chosen[path.stem] = choices_of(rows, truths)
    print()
    print_head("set", "editors", "resamples", "yes %", "no %", "interval of the best covers %")
    for name, choices in chosen.items():
        count = max(1, len(choices))
        answers = [one.answer for one in choices]
        shares = [answers.count("yes"), answers.count("no"), sum(one.covers for one in choices)]
        shown = " | ".join(f"{100 * share / count:.1f}" for share in shares)
        print(f"| {name} | {choices[0].editors if choices else 0} | {len(choices)} | {shown} |")


class Choice(NamedTuple):
    """The answer to a resample, without a forecast, and whether the best editor's interval covers its true gain."""

    editors: int
    answer: Answer
    covers: bool


def choices_of(rows: dict[str, list[dict[str, Any]]], truths: dict[str, dict[int, float]]) -> list[Choice]:
    """Return the choice among the trained editors for each resample on which all of them were tried."""
    kinds = [kind for kind in LEARNERS if kind in rows]
    by_resample: dict[tuple[int, int], dict[str, dict[str, Any]]] = defaultdict(dict)
    for kind in kinds:
        for row in rows[kind]:
            by_resample[row["size"], row["number"]][kind] = row
    choices = []
    for (size, _), found in by_resample.items():
        if len(found) == len(kinds):
            gains = [EditorGain(kind, "", unpacked(row)) for kind, row in found.items()]
            best = max(gains, key=lambda one: one.sentences.points)
            _, low, high = best.sentences.gain(simultaneous(len(gains)))
            ter = next(iter(found.values()))["ter"]
            choices.append(
                Choice(len(gains), recommendation(gains, ter).answer, low <= truths[best.name][size] <= high)
            )
    return choices


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    runs, reports = verbs.add_parser("run"), verbs.add_parser("report")
    runs.add_argument("data", type=Path)
    for each in (runs, reports):
        each.add_argument("work", type=Path)
    runs.add_argument("--part", choices=("train", "dev"), default="train")
    runs.add_argument("--sets", nargs="+", default=SETS)
    runs.add_argument("--editors", nargs="+", choices=tuple(LEARNERS), default=("phrases", "memory"))
    given = parser.parse_args()
    if given.verb == "report":
        report(given.work)
        return
    given.work.mkdir(parents=True, exist_ok=True)
    run(given.data, given.work, given.part, given.sets, given.editors)


if __name__ == "__main__":
    main()
