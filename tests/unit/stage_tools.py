"""A recipe in two stages that take a second, and what a run leaves behind."""

import json
from pathlib import Path
from typing import Any

import tiny_models
import tomli_w


def write_recipe(folder: Path, **sections: dict[str, Any]) -> Path:
    """Write triplets and a recipe of a generic stage and a fine-tuning one on other data; return its path."""
    tiny_models.write_triplets(folder, ("train", "dev", "real"))
    base: dict[str, Any] = {
        "model": {"name": "transference", **tiny_models.SIZES["transference"]},
        "text": {"vocabulary": {"size": 280}},
        "data": {"train": ["train", "real"], "dev": "dev"},
        "train": {
            "max_steps": 6, "batch_tokens": 60, "validate_every": 3, "save_every": 2, "log_every": 1,
            "lr": 0.01, "warmup_steps": 2, "keep_best": 2, "save_minutes": 60.0,
        },
    }  # fmt: skip
    values: dict[str, Any] = {name: {**base.get(name, {}), **sections.get(name, {})} for name in base}
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


def remains(folder: Path) -> dict[str, object]:
    """Return all weights and states, and the logs, but for the clock."""
    files: dict[str, object] = {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.safetensors")
    }
    for log in folder.rglob("log.jsonl"):
        lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        files[str(log.relative_to(folder))] = [
            {key: value for key, value in line.items() if "second" not in key} for line in lines
        ]
    return files
