"""The runs behind the papers' tables: which exist, how they differ from the papers, and how to make others."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from postedit import PostEditor
from postedit.cli.models import count_parameters
from postedit.core.config import read_toml
from postedit.evaluate.table import Column, Table, TableRow, to_markdown
from postedit.phrase.phrase_options import NAME as PHRASE_BASED
from postedit.phrase.phrase_recipe import PhraseRecipe, load_phrase_recipe
from postedit.recipe import Recipe, load_recipe

RECIPES = Path(__file__).resolve().parents[1] / "recipes"
COMBINATION = "combination.toml"
OPERATIONS = 1e14  # floating-point operations per second that the estimate of hours assumes
WITHOUT_EFFECT = ("data.dir", "data.dev", "train.seed", "train.log_every", "train.save_minutes")
"""Prefixes of the options in which runs of one recipe may differ."""


@dataclass(frozen=True)
class System:
    """The models of a system, their weights (None: equal), and the folder that keeps its outputs."""

    models: Sequence[Path]
    weights: Sequence[float] | None
    folder: Path

    def load(self) -> PostEditor:
        """Return the editor that combines the models."""
        return PostEditor.load(*self.models, weights=self.weights)


def system_of(run: Path, row: Mapping[str, Any]) -> System | None:
    """Return the system of a table row from its run folder; None if one of its models is missing."""
    if (run / COMBINATION).exists():
        return System([run / COMBINATION], None, run)
    if "ensemble" in row:
        parts = [models_in(run / part["path"], part.get("count")) for part in row["ensemble"]]
        weights = [1.0 / len(part) for part in parts for _ in part]
        return System([model for part in parts for model in part], weights, run) if all(parts) else None
    members = row.get("members", 1)
    folders = [run] if members == 1 else [run / f"seed-{seed}" for seed in range(1, members + 1)]
    models = [model for folder in folders for model in models_in(folder / "model", None)]
    return System(models, None, folders[0]) if len(models) == members else None


def models_in(path: Path, count: int | None) -> list[Path]:
    """Return the model at `path`, or the `count` best weight files of a run; an empty list if they do not exist."""
    if count is None:
        return [path] if (path / "config.json").exists() else []
    if not (path / "best.json").exists():
        return []
    best = json.loads((path / "best.json").read_text(encoding="utf-8"))["best"][:count]
    return [path / entry["file"] for entry in best] if len(best) == count else []


def recipe_of(row: Mapping[str, Any]) -> str:
    """Return the name of the recipe that makes the first run of a table row."""
    return str(row.get("recipe", row["runs"][0].split("/")[0]))


def rows_by_task(tables: Sequence[Mapping[str, Any]], tasks: Mapping[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each task and table row that has runs; `tasks` maps the test sets to their tasks."""
    for entry in tables:
        for row in entry["rows"]:
            for task in dict.fromkeys(tasks[group["set"]] for group in entry["columns"] if "set" in group):
                if row.get("runs"):
                    yield task, row


def differences(tables: Sequence[Mapping[str, Any]], tasks: Mapping[str, str], runs: Path) -> str:
    """Return Markdown that lists how each run in the tables differs from the recipe of its paper."""
    lines: dict[str, str] = {}
    for task, row in rows_by_task(tables, tasks):
        for name in row["runs"]:
            if system_of(runs / task / name, row) is None:
                continue
            kept = recipe_kept(runs / task / name)
            if kept is not None and f"{task}/{name}" not in lines:
                made = recipe_of(row)
                found = ", ".join(different(options_of(read_toml(kept)), options_of(paper_recipe(row).to_dict())))
                lines[f"{task}/{name}"] = f"- {task}/{name}, from `recipes/{made}.toml`: {found or 'nothing'}"
            break
    heading = "## How the runs of ours differ from the recipes of the papers\n\n"
    text = "\n".join(lines.values()) or "There is no run of ours yet."
    return f"{heading}An option of ours, and in brackets that of the recipe.\n\n{text}\n"


def recipe_kept(run: Path) -> Path | None:
    """Return the recipe file of a run, of its first seed, or of the run that a stage belongs to; None without one."""
    folders = (run, run / "seed-1", run.parent, run.parent.parent)
    return next((folder / "recipe.toml" for folder in folders if (folder / "recipe.toml").exists()), None)


def paper_recipe(row: Mapping[str, Any]) -> Recipe | PhraseRecipe:
    load = load_phrase_recipe if recipe_of(row) == PHRASE_BASED else load_recipe
    return load(RECIPES / f"{recipe_of(row)}.toml", row.get("set", ()), check_data=False)


def options_of(values: Any, name: str = "") -> dict[str, Any]:
    """Return the options of a recipe by their full names; the files of `data.train` are given without their folders."""
    if isinstance(values, dict):
        parts = {f"{name}.{key}" if name else key: value for key, value in values.items()}
        return {option: found for part, value in parts.items() for option, found in options_of(value, part).items()}
    if name.endswith("data.train"):
        return {name: ", ".join(sorted(named(entry) for entry in values))}
    if name == "stage":
        return {option: found for one in values for option, found in options_of(one, f"stage {one['name']}").items()}
    return {name: values}


def named(files: str | Mapping[str, Any]) -> str:
    """Return the name of a source of triplets, with its sampling weight if that is not 1."""
    if isinstance(files, str):
        return Path(files).name
    weight = files.get("weight", 1.0)
    name = Path(files.get("files", files.get("src", ""))).name
    return name if weight == 1.0 else f"{weight:g} x {name}"


def different(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[str]:
    """Yield the options that differ, each with our value and, in brackets, theirs."""
    for option in [*ours, *(option for option in theirs if option not in ours)]:
        one, other = ours.get(option, "unset"), theirs.get(option, "unset")
        if one != other and not option.startswith(WITHOUT_EFFECT):
            yield f"{option} {one} ({other})"


@dataclass(frozen=True)
class Missing:
    """A missing run: the command that makes it, the triplet sources that it lacks, and its cost where known."""

    command: str
    lacks: Sequence[str] = ()
    parameters: int | None = None
    updates: int | None = None
    hours: float | None = None


def missing_runs(tables: Sequence[Mapping[str, Any]], tasks: Mapping[str, str], runs: Path, data: Path) -> str:
    """Return Markdown on how to make the first run of each row where that run is missing, and what it costs.

    The members of a combination come before it. A folder, which holds one run, is made once.
    """
    found: dict[str, Missing] = {}
    for task, row in rows_by_task(tables, tasks):
        for one in [*({"runs": [member]} for member in row.get("combines", ())), row]:
            name = f"{task}/{one['runs'][0].split('/')[0]}"
            if name not in found and system_of(runs / task / one["runs"][0], one) is None:
                found[name] = missing_run(one, data / task, runs / task, one.get("seeds", one.get("members", 1)))
    columns = (Column("parameters, millions", 1), Column("updates, thousands"), Column("hours of a GPU", 1))
    note = (
        "Data that is missing: sources of triplets that the recipe trains on and the folder of the task lacks; the "
        "recipe says what they are, and --set 'data.train=...' takes others instead. "
        "Updates are the most that the recipe allows; training may stop early. Hours are arithmetic, not measured: "
        "6 operations a parameter and token, at 10^14 operations a second, which a data-centre GPU reaches with "
        "Transformers and far from reaches with recurrent models, which take many times as long."
    )
    rows = [
        TableRow((name, ", ".join(one.lacks)), tuple(in_units(one.parameters, one.updates, one.hours)))
        for name, one in found.items()
    ]
    table = to_markdown([Table("Runs that are missing", ("run", "data that is missing"), columns, tuple(rows), note)])
    commands = "\n".join(f"# {name}\n{one.command}" for name, one in found.items())
    return f"{table}\nHow to make them, in the folder of postedit:\n\n```bash\n{commands}\n```\n" if found else ""


def in_units(parameters: int | None, updates: int | None, hours: float | None) -> Iterator[float | None]:
    yield None if parameters is None else parameters / 1e6
    yield None if updates is None else updates / 1e3
    yield hours


def missing_run(row: Mapping[str, Any], data: Path, runs: Path, seeds: int) -> Missing:
    """Return the command and the cost of the first run of a row."""
    if "combines" in row:
        return Missing(tuning_of(row, data, runs))
    made = recipe_of(row)
    given = [f"data.dir={data}", *row.get("set", ())]
    out = runs / row["runs"][0].split("/")[0]
    command = f"postedit train recipes/{made}.toml --out {out}" + "".join(f" --set '{one}'" for one in given)
    if first := row.get("begins_with"):
        command += "".join(f" --set {option}={runs.parent / first}/model" for option in ("text.model", "train.init"))
    command += f" --seeds {seeds}" if seeds > 1 else ""
    recipe = paper_recipe(row)
    if isinstance(recipe, PhraseRecipe):  # takes minutes on one core
        return Missing(command, lacking([recipe], data))
    drafting = [] if recipe.draft is None else [recipe.first_stage()]
    parts = [*drafting, *([stage for _, stage in recipe.stages()] or [recipe])]
    known = [(count_parameters(part), part.train.max_steps, part.train.batch_tokens) for part in parts]
    updates = None if any(steps is None for _, steps, _ in known) else sum(steps for _, steps, _ in known if steps)
    cost = sum(6.0 * size * (steps or 0) * tokens for size, steps, tokens in known) * seeds / OPERATIONS / 3600
    return Missing(command, lacking(parts, data), known[-1][0], updates, cost if updates else None)


def lacking(recipes: Iterable[Recipe | PhraseRecipe], data: Path) -> list[str]:
    """Return the names of the sources of triplets that recipes train on and the folder `data` lacks."""
    sources = {one.name: one.paths for recipe in recipes for one in recipe.data.train}
    return [source for source, paths in sources.items() if not all((data / path).exists() for path in paths)]


def tuning_of(row: Mapping[str, Any], data: Path, runs: Path) -> str:
    """Return a shell command that tunes a combination."""
    out = runs / row["runs"][0] / COMBINATION
    models = " ".join(str(runs / member / "model") for member in row["combines"])
    texts = " ".join(f"--{side} {data / 'dev'}.{side}" for side in ("src", "mt", "pe"))
    return f"mkdir -p {out.parent} && postedit tune {models} {texts} --out {out}"
