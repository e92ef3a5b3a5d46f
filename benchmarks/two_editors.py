"""Let a second editor correct the output of a first one: choose edit costs on dev, and write the test output.

    python benchmarks/two_editors.py FIRST SECOND --data DATA/TASK --work WORK [--outputs benchmarks/outputs]
        [--first-costs 0 0.25 0.5] [--second-costs 0 0.25 0.5] [--first-beam 1] [--first-dtype float32]
        [--first-set NAME=VALUE ...] [--protect all] [--characters] [--trained COMMAND]

FIRST and SECOND are model folders; FIRST may be several, separated by commas, which `postedit edit` combines. Both
search greedily, unless `--first-beam` gives the first a wider beam. The edit costs chosen are those with the lowest TER
on DATA/TASK/dev, for both editors together and for each alone. The best on dev of mt itself, each editor alone, and
both makes the output for DATA/TASK/test, OUTPUTS/TASK.pe, which OUTPUTS/TASK.json describes. `--characters` computes
TER and BLEU of characters, without spaces, for text without spaces between words.

All outputs are made by `postedit edit`. Existing results in WORK are kept.
"""

import argparse
import json
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from reference import postedit, read, write
from release_files import spaced

from postedit.core.files import atomic_write
from postedit.evaluate import analyses
from postedit.evaluate.ter import count_edits, edit_rate
from postedit.evaluate.test_set import TestSet, evaluate_systems

NAMES = ("unedited MT", "the first alone", "the second alone", "both")
Costs = tuple[float | None, float | None]
"""Edit costs of the first and the second editor; None if that editor is not used."""


def main() -> None:
    options = parse()
    options.work.mkdir(parents=True, exist_ok=True)
    first, second = ([None, *costs] for costs in (options.first_costs, options.second_costs))
    tried = {costs: edited(options, "dev", costs) for costs in product(first, second)}
    chosen = [best(options, tried, costs) for costs in kinds(tried)]
    systems = compared(options, [tried[costs] for costs in chosen])
    print("| dev | edit costs | TER | BLEU | chrF | changed, better, worse | TER difference to unedited MT, p |")
    print("| --- | --- | ---: | ---: | ---: | --- | --- |")
    for costs, system in zip(chosen, systems, strict=True):
        print_row(costs, system)
    if options.outputs:
        number = min(range(len(systems)), key=lambda one: float(systems[one]["ter"]))
        write_output(options, chosen[number], systems, NAMES[number])


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", help="model folder, or several with commas between")
    parser.add_argument("second", help="model folder")
    parser.add_argument("--data", type=Path, required=True, help="folder of dev.{src,mt,pe} and test.{src,mt}")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--outputs", type=Path)
    parser.add_argument("--first-costs", type=float, nargs="+", default=[0.0, 0.25, 0.5])
    parser.add_argument("--second-costs", type=float, nargs="+", default=[0.0, 0.25, 0.5])
    parser.add_argument("--first-beam", type=int, default=1)
    parser.add_argument("--first-dtype", default="float32", help="type of the weights of the first")
    parser.add_argument("--first-set", action="append", default=[], metavar="NAME=VALUE", help="as --set, for FIRST")
    parser.add_argument("--protect", default="all", help="kinds of spans that both editors keep, as in `postedit edit`")
    parser.add_argument("--characters", action="store_true", help="figures of characters, not of words")
    parser.add_argument("--trained", default="", help="commands that trained the models, for the JSON file")
    return parser.parse_args()


def kinds(tried: Iterable[Costs]) -> list[list[Costs]]:
    """Return the costs tried for each system of `NAMES`, in that order."""
    found: dict[tuple[bool, bool], list[Costs]] = {}
    for costs in tried:
        found.setdefault((costs[0] is not None, costs[1] is not None), []).append(costs)
    return [found[kind] for kind in ((False, False), (True, False), (False, True), (True, True))]


def edited(options: argparse.Namespace, part: str, costs: Costs) -> list[str]:
    """Return the texts of dev or test after the editors that have a cost."""
    src, mt = options.data / f"{part}.src", options.data / f"{part}.mt"
    for number, (model, cost) in enumerate(zip((options.first, options.second), costs, strict=True)):
        if cost is None:
            continue
        dtype = [] if options.first_dtype == "float32" else [options.first_dtype]
        settings = (options.first_beam, options.protect, *dtype, *options.first_set, *costs[: number + 1])
        out = options.work / f"{part}.{'-'.join(map(str, settings))}"
        if not out.exists():
            own = ["--beam", "1"]
            if not number:
                own = ["--beam", str(options.first_beam), "--dtype", options.first_dtype]
                own += [f"--set={one}" for one in options.first_set]
            search = ["--set", f"search.edit_cost={cost}", "--protect", options.protect]
            postedit("edit", *model.split(","), "--src", src, "--mt", mt, "--out", out, *own, *search)
        mt = out
    return read(mt)


def words(options: argparse.Namespace, lines: Sequence[str]) -> list[str]:
    return list(map(spaced, lines)) if options.characters else list(lines)


def best(options: argparse.Namespace, tried: dict[Costs, list[str]], costs: Sequence[Costs]) -> Costs:
    """Return the costs with the lowest TER on dev."""
    pe = words(options, read(options.data / "dev.pe"))
    return min(costs, key=lambda one: edit_rate(count_edits(words(options, tried[one]), pe)))


def compared(options: argparse.Namespace, outputs: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """Return the dev scores of the unedited MT and of the other outputs, with their TER differences to it."""
    mt, *others = (words(options, lines) for lines in outputs)
    pe = words(options, read(options.data / "dev.pe"))
    systems = evaluate_systems(TestSet(pe, mt), dict(zip(NAMES[1:], others, strict=True)))
    rows = {row.labels: row.values for row in analyses.ter_differences(systems).rows}
    names = ("difference", "from", "to", "p, bootstrap")
    unedited = systems[0].name
    return [
        {
            "name": name,
            "ter": system.scores.ter,
            "bleu": system.scores.bleu,
            "chrf": system.scores.chrf,
            "changes": dict(zip(("changed", "better", "worse"), map(int, system.total.changes), strict=True)),
            "signatures": dict(system.scores.signatures),
            "against unedited MT": dict(zip(names, rows.get((system.name, unedited), ()), strict=False)) or None,
        }
        for name, system in zip(NAMES, systems, strict=True)
    ]


def print_row(costs: Costs, system: dict[str, Any]) -> None:
    shown = ", ".join("-" if cost is None else f"{cost:g}" for cost in costs)
    scores = " | ".join(f"{system[name]:.2f}" for name in ("ter", "bleu", "chrf"))
    counts = ", ".join(str(count) for count in system["changes"].values())
    found = system["against unedited MT"]
    difference = (
        f"{found['difference']:+.2f} [{found['from']:+.2f}, {found['to']:+.2f}], {found['p, bootstrap']:.4f}"
        if found
        else ""
    )
    print(f"| {system['name']} | {shown} | {scores} | {counts} | {difference} |")


def write_output(options: argparse.Namespace, costs: Costs, systems: list[dict[str, Any]], name: str) -> None:
    """Write the test output of the best system, and a JSON file that describes it."""
    task = options.data.name
    lines, mt = edited(options, "test", costs), read(options.data / "test.mt")
    folders = [model.split(",") for model in (options.first, options.second)]
    models = [",".join("/".join(Path(folder).parts[-2:]) for folder in each) for each in folders]  # last two parts
    options.outputs.mkdir(parents=True, exist_ok=True)
    write(options.outputs / f"{task}.pe", lines)
    given = f"--first-costs {spread(options.first_costs)} --second-costs {spread(options.second_costs)}"
    about = {
        "models": models,
        "trained": options.trained,
        "command": f"python benchmarks/two_editors.py {' '.join(models)} --data {task} --work WORK --outputs OUTPUTS "
        f"{given} --first-beam {options.first_beam} --first-dtype {options.first_dtype} "
        f"{''.join(f'--first-set {one} ' for one in options.first_set)}--protect {options.protect}"
        f"{' --characters' if options.characters else ''}",
        "how": f"{name}, edit costs {costs[0]} and {costs[1]}, chosen on dev",
        "lines": len(lines),
        "changed": sum(line != other for line, other in zip(lines, mt, strict=True)),
        "dev": systems,
    }
    with atomic_write(options.outputs / f"{task}.json") as file:
        json.dump(about, file, indent=2)
        file.write("\n")
    print(f"\ntest: {about['how']}; {about['changed']} of {len(lines)} lines changed")


def spread(costs: Sequence[float]) -> str:
    return " ".join(f"{cost:g}" for cost in costs)


if __name__ == "__main__":
    main()
