"""Train every architecture for the same few updates on the same triplets: which of them learn?

    python benchmarks/small_budget.py DATA RUNS [--updates U] [--threads N] [--only NAME ...]

Trains each `recipes/*-small.toml`, shrunk by `benchmarks/small_budget.toml`, in RUNS/NAME, or resumes it, and prints a
table of dev scores (greedy search) beside those of the unedited MT. The budget is far too small to rank architectures,
but it reveals a model that has not learnt to copy most words.
"""

import argparse
import json
import platform
import tomllib
from pathlib import Path
from typing import Any

import torch

from postedit.core.files import atomic_write
from postedit.jobs.training import train
from postedit.recipe import Recipe, load_recipe

HERE = Path(__file__).resolve().parent
COLUMNS = ("recipe", "parameters", "labels", "dev nll", "TER", "BLEU", "chrF")


def main() -> None:
    options = parse()
    torch.set_num_threads(options.threads)
    settings = tomllib.loads((HERE / "small_budget.toml").read_text(encoding="utf-8"))
    paths = sorted((HERE.parent / "recipes").glob("*-small.toml"))
    # Systems with a first stage learn from other data and need more time.
    recipes = {path.stem: path for path in paths if "draft" not in tomllib.loads(path.read_text(encoding="utf-8"))}
    unknown = sorted(set(options.only) - set(recipes))
    if unknown:
        raise SystemExit(f"no such recipe: {', '.join(unknown)} (known: {', '.join(recipes)})")
    for name in options.only or recipes:
        measure(load_recipe(recipes[name], overrides(recipes[name], settings, options)), options.runs / name)
    print_table(options)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("data", type=Path, help="folder with train.{src,mt,pe} and dev.{src,mt,pe}")
    parser.add_argument("runs", type=Path)
    parser.add_argument("--updates", type=int, default=800)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    return parser.parse_args()


def overrides(path: Path, settings: dict[str, Any], options: argparse.Namespace) -> list[str]:
    """Return the overrides that make a recipe small: those for all recipes, for options that it sets, and its own."""
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    sizes = {f"model.{option}": size for option, size in settings["model"].items() if option in values["model"]}
    chosen = {**settings["all"], **sizes, **settings["own"].get(path.stem, {}), "data.dir": str(options.data.resolve())}
    chosen |= {"train.max_steps": options.updates, "train.validate_every": options.updates}
    return [f"{option}={json.dumps(value)}" for option, value in chosen.items()]


def measure(recipe: Recipe, folder: Path) -> None:
    """Train, or resume training, and write the scores to result.json in the run folder, unless that exists."""
    result_path = folder / "result.json"
    if result_path.exists():
        return
    result = train(recipe, folder, resume=(folder / "recipe.toml").exists())
    training, unedited = result.training, result.unedited
    assert unedited is not None
    weights = sum(path.stat().st_size for path in result.model.glob("*.safetensors")) // 4
    row = {
        "recipe": folder.name,
        "parameters": weights,
        "labels": training.target_tokens,
        "scores": dict(training.single.metrics),
        "unedited": {name: getattr(unedited, name) for name in ("ter", "bleu", "chrf")},
    }
    with atomic_write(result_path) as file:
        json.dump(row, file, indent=1)


def print_table(options: argparse.Namespace) -> None:
    rows = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(options.runs.glob("*/result.json"))]
    print(
        f"\n{platform.processor() or platform.machine()}, torch {torch.__version__}, {options.threads} thread(s), ",
        end="",
    )
    print(f"{options.updates:,} updates each, dev scores, greedy search\n")
    print("| " + " | ".join(COLUMNS) + " |")
    print("| --- |" + " ---: |" * (len(COLUMNS) - 1))
    nothing = rows[0]["unedited"]
    print(f"| unedited MT | | | | {nothing['ter']:.2f} | {nothing['bleu']:.2f} | {nothing['chrf']:.2f} |")
    for row in sorted(rows, key=lambda row: row["scores"]["ter"]):
        scores = row["scores"]
        counts = f"{row['parameters']:,} | {row['labels']:,}"
        values = f"{scores['nll']:.3f} | {scores['ter']:.2f} | {scores['bleu']:.2f} | {scores['chrf']:.2f}"
        print(f"| {row['recipe']} | {counts} | {values} |")


if __name__ == "__main__":
    main()
