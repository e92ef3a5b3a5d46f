"""Evaluate a reference system on a task: choose its search on dev, test a gate there, and write the test output.

    python benchmarks/reference.py MODEL... --data DATA/TASK --work WORK [--outputs benchmarks/outputs]
        [--beams 1 4] [--edit-costs 0 0.25 0.5 1 2] [--metric ter]
        [--trained COMMAND]

1. The models, as one system, edit DATA/TASK/dev with every beam and edit cost; the setting with the best TER is chosen.
2. Each half of dev (odd and even lines) is edited behind a gate made from the other half, so that the gated figures are
   on lines that the gate has not seen (though the search was chosen on all lines).
3. The test set is treated like the best on dev of mt itself, the output without a gate, and the output behind gates; a
   gate for the test set is made from all of dev. OUTPUTS/TASK.pe is the output; OUTPUTS/TASK.json says how it was made.

With `--metric chrf`, for text without spaces between words, settings are chosen by chrF instead of TER, and there are
no gates, since these count words.

All steps use the commands of `postedit`. Existing results in WORK are kept.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from postedit.core.files import atomic_write

SIDES = ("src", "mt", "pe")


def main() -> None:
    options = parse()
    options.work.mkdir(parents=True, exist_ok=True)
    searches = [
        ["--set", f"search.beam={beam}", "--set", f"search.edit_cost={cost}"]
        for beam, cost in product(options.beams, options.edit_costs)
    ]
    plain = [edited(options, search, "dev", f"dev.{number}") for number, search in enumerate(searches)]
    scores = score(options, plain, "searches")
    chosen = min(range(len(searches)), key=lambda number: badness(options, scores[number + 1]))
    compared = [plain[chosen], gated_dev(options, searches[chosen])] if options.metric == "ter" else [plain[chosen]]
    final = score(options, compared, "final")
    report(options, searches, scores, searches[chosen], final)
    if options.outputs:
        write_output(options, searches[chosen], final)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="model folders; several are an ensemble")
    parser.add_argument("--data", type=Path, required=True, help="folder of dev.{src,mt,pe} and test.{src,mt}")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--outputs", type=Path)
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--edit-costs", type=float, nargs="+", default=[0.0, 0.25, 0.5, 1.0, 2.0])
    parser.add_argument("--trained", default="", help="command that trained the models, for the JSON file")
    parser.add_argument("--metric", choices=["ter", "chrf"], default="ter", help="what chooses on dev")
    return parser.parse_args()


def badness(options: argparse.Namespace, system: dict[str, Any]) -> float:
    """Return the TER of a system, or its negated chrF with `--metric chrf`: lower is better."""
    return float(system["ter"] if options.metric == "ter" else -system["chrf"])


def edited(options: argparse.Namespace, search: Sequence[str], part: str, name: str, *more: str | Path) -> Path:
    """Return the path of WORK/NAME.hyp, the system's output for `part` of WORK or of the task; make it if missing."""
    out: Path = options.work / f"{name}.hyp"
    if not out.exists():
        text = options.work / part if (options.work / f"{part}.src").exists() else options.data / part
        files = ["--src", f"{text}.src", "--mt", f"{text}.mt", "--out", out, "--resume"]
        postedit("edit", *options.models, *files, *search, *more)
    return out


def gated_dev(options: argparse.Namespace, search: Sequence[str]) -> Path:
    """Return the path of WORK/gated.hyp: dev, each half edited behind a gate made from the other half."""
    out: Path = options.work / "gated.hyp"
    if not out.exists():
        halves = []
        for half in (0, 1):
            for side in SIDES:
                lines = read(options.data / f"dev.{side}")
                write(options.work / f"half-{half}.{side}", lines[half::2])
        for half, other in ((0, 1), (1, 0)):
            gate = made_gate(options, search, options.work / f"half-{other}", f"half-{other}")
            halves.append(read(edited(options, search, f"half-{half}", f"half-{half}", "--gate", gate)))
        write(out, [halves[line % 2][line // 2] for line in range(sum(map(len, halves)))])
    return out


def made_gate(options: argparse.Namespace, search: Sequence[str], dev: Path, name: str) -> Path:
    """Return the path of WORK/NAME.gate.json, a gate made from `dev`; make it if missing."""
    gate: Path = options.work / f"{name}.gate.json"
    if not gate.exists():
        texts = [part for side in SIDES for part in (f"--{side}", f"{dev}.{side}")]
        postedit("gate", *options.models, *texts, *search, "--out", gate, "--resume")
    return gate


def opened_gate(options: argparse.Namespace, search: Sequence[str]) -> Path | None:
    """Return the path of a gate made from all of dev; None if the gate is closed."""
    gate = made_gate(options, search, options.data / "dev", "dev")
    return gate if json.loads(gate.read_text(encoding="utf-8"))["threshold"] is not None else None


def score(options: argparse.Namespace, hypotheses: Sequence[Path], name: str) -> list[dict[str, Any]]:
    """Return the dev scores of the unedited MT, then those of each output, with its TER difference to it."""
    written = options.work / f"{name}.json"
    dev = options.data / "dev"
    texts = ["--src", f"{dev}.src", "--mt", f"{dev}.mt", "--pe", f"{dev}.pe"]
    postedit("score", *hypotheses, *texts, "--json", written, quiet=True)
    found: dict[str, Any] = json.loads(written.read_text(encoding="utf-8"))
    rows = next(table["rows"] for table in found["tables"] if table["name"] == "significance of TER")
    names = ("difference", "from", "to", "p, bootstrap")
    unedited = found["systems"][0]["name"]
    against = {row["system"]: {name: row[name] for name in names} for row in rows if row["other"] == unedited}
    return [{**system, "against unedited MT": against.get(system["name"])} for system in found["systems"]]


def report(
    options: argparse.Namespace,
    searches: Sequence[Sequence[str]],
    scores: Sequence[dict[str, Any]],
    chosen: Sequence[str],
    final: Sequence[dict[str, Any]],
) -> None:
    print(f"{' + '.join(options.models)} on dev of {options.data.name}\n")
    print("| search | TER | BLEU | chrF | changed | better | worse | TER difference, p |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for name, one in zip(["unedited MT", *map(" ".join, searches)], scores, strict=True):
        print_row(name, one)
    for gated in final[2:]:
        print_row(f"{' '.join(chosen)}, behind gates of the other half", gated)


def print_row(name: str, system: dict[str, Any]) -> None:
    changes = system["changes"]
    counts = " | ".join(str(changes[kind]) for kind in ("changed", "better", "worse"))
    found = system["against unedited MT"]
    compared = (
        ""
        if found is None
        else (f"{found['difference']:+.2f} [{found['from']:+.2f}, {found['to']:+.2f}], {found['p, bootstrap']:.4f}")
    )
    print(f"| {name} | {system['ter']:.2f} | {system['bleu']:.2f} | {system['chrf']:.2f} | {counts} | {compared} |")


def write_output(options: argparse.Namespace, search: Sequence[str], final: Sequence[dict[str, Any]]) -> None:
    """Write the test output of the variant that is best on dev, and its description."""
    unedited, plain, *gated = (badness(options, system) for system in final)
    gate = opened_gate(options, search) if gated and gated[0] < min(unedited, plain) else None
    if gate is not None:
        how, lines = "behind a gate of all of dev", read(edited(options, search, "test", "test.gated", "--gate", gate))
    elif plain < unedited:
        how, lines = "without a gate", read(edited(options, search, "test", "test.plain"))
    else:
        how, lines = "mt as it is: nothing helped on dev", read(options.data / "test.mt")
    options.outputs.mkdir(parents=True, exist_ok=True)
    name = options.data.name
    write(options.outputs / f"{name}.pe", lines)
    changed = sum(line != mt for line, mt in zip(lines, read(options.data / "test.mt"), strict=True))
    models = ["/".join(Path(model).parts[-2:]) for model in options.models]  # without the folders above
    about = {
        "models": models,
        "trained": options.trained,
        "command": f"postedit edit {' '.join(models)} --src test.src --mt test.mt --out {name}.pe {' '.join(search)}",
        "how": how,
        "lines": len(lines),
        "changed": changed,
    }
    with atomic_write(options.outputs / f"{name}.json") as file:
        json.dump({**about, "dev": [shown(options, system) for system in final]}, file, indent=2)
        file.write("\n")
    print(f"\ntest: {how}; {changed} of {len(lines)} lines changed")


def shown(options: argparse.Namespace, system: dict[str, Any]) -> dict[str, Any]:
    """Return the scores of a system, named without its folder; only chrF with `--metric chrf`."""
    named = {**system, "name": Path(system["name"]).stem}
    return named if options.metric == "ter" else {name: named[name] for name in ("name", "lines", "chrf")}


def postedit(*arguments: str | Path, quiet: bool = False) -> None:
    command = [sys.executable, "-m", "postedit", *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL if quiet else None)


def read(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def write(path: Path, lines: Sequence[str]) -> None:
    with atomic_write(path) as file:
        file.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    main()
