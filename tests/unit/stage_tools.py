"""A recipe with two stages that train in about a second, and run folders that tests may change."""

import shutil
from pathlib import Path
from typing import Any

import tiny_models
import tomli_w


def write_recipe(folder: Path, **sections: dict[str, Any]) -> Path:
    """Write triplets and a recipe with a generic and a fine-tuning stage on other data; return the recipe's path."""
    tiny_models.write_triplets(folder, ("train", "dev", "real"))
    train = {
        "max_steps": 6, "batch_tokens": 60, "validate_every": 3, "save_every": 2, "log_every": 1,
        "lr": 0.01, "warmup_steps": 2, "keep_best": 2, "save_minutes": 60.0, **sections.pop("train", {}),
    }  # fmt: skip
    search = {"max_ratio": 0.1, "max_extra": 1, **sections.pop("search", {})}  # validation is soon done
    data = {"train": ["train", "real"]}
    values: dict[str, Any] = tiny_models.recipe(data=data, train=train, search=search, **sections)
    values["stage"] = [
        {"name": "generic"},
        {
            "name": "fine-tuning",
            "data": {"train": ["real"]},
            "train": {"max_steps": 4, "schedule": "constant", "lr": 0.001, "warmup_steps": 0},
        },
    ]
    path = folder / "recipe.toml"
    path.write_text(tomli_w.dumps(values), encoding="utf-8")
    return path


def as_made(folder: Path) -> Path:
    """Return `folder` with the files that it had at the first call, at the same path, which its runs have recorded."""
    kept = folder.with_name(f"{folder.name}.kept")
    if kept.exists():
        shutil.rmtree(folder)
        shutil.copytree(kept, folder)
    else:
        shutil.copytree(folder, kept)
    return folder
