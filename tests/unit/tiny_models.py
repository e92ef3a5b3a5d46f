"""Model folders and recipes that are small enough to be made in each test."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import tomli_w
import torch

from postedit.core.config import load_config
from postedit.core.search_config import SearchConfig
from postedit.data.triplets import Triplet
from postedit.folder import ModelFolder
from postedit.models import ARCHITECTURES
from postedit.text.config import TextConfig, VocabularyConfig
from postedit.text.processor import TextProcessor

SIZES: dict[str, dict[str, object]] = {
    "transference": {"layers_src": 1, "layers_mt": 1, "layers_pe": 1, "dim": 8, "heads": 2, "feed_forward": 8},
    "transformer": {"layers_encoder": 1, "layers_pe": 1, "dim": 8, "heads": 2, "feed_forward": 8},
    "m-cgru": {"embedding": 4, "hidden": 4, "attention": 4},
    "shared-attention": {"embedding": 4, "hidden": 4},
    "m-cgru-hard": {"embedding": 4, "hidden": 4, "attention": 4},
    "edit-operations": {"embedding": 4, "hidden": 4},
}
# Models with random weights hardly ever write EOS, so mt would be chosen instead of every output.
SEARCH = SearchConfig(max_input=40, mt_candidate=False)
TRIPLETS = [Triplet("the house", "das Haus", "das Häuschen"), Triplet("it goes", "es geht", "es ging .")] * 4


def processor(**text: object) -> TextProcessor:
    config = TextConfig(vocabulary=VocabularyConfig(size=280)).model_copy(update=text)
    return TextProcessor.fit(config, lambda: TRIPLETS)


def folder(name: str = "transference", text: TextProcessor | None = None, **options: object) -> ModelFolder:
    text = text or processor()
    architecture = ARCHITECTURES[name]
    config = load_config(architecture.config_class, {**SIZES.get(name, {}), **options}, name)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = architecture.build(config, text.vocabularies).eval()
    return ModelFolder(architecture, config, SEARCH, model, text, {})


def nonsense(name: str, text: TextProcessor | None = None, **search: float) -> ModelFolder:
    """Return a model whose large random weights make it write a few tokens of nonsense."""
    made = folder(name, text)
    generator = torch.Generator().manual_seed(1)
    for parameter in made.model.parameters():
        parameter.data.normal_(std=0.7, generator=generator)
    return replace(made, search=SEARCH.with_options(**{"max_ratio": 0.1, "max_extra": 1, **search}))


def recipe(name: str = "transference", **sections: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the values of a recipe for a tiny model; `sections` add to its sections or override their options."""
    base: dict[str, dict[str, Any]] = {
        "model": {"name": name, **SIZES.get(name, {})},
        "text": {"vocabulary": {"size": 280}},
        "data": {"train": ["train"], "dev": "dev"},
        "train": {"max_steps": 2, "validate_every": 2, "batch_tokens": 200},
    }
    return {section: {**base.get(section, {}), **sections.get(section, {})} for section in base | sections}


def write_recipe(path: Path, name: str = "transference", **sections: dict[str, Any]) -> Path:
    path.write_text(tomli_w.dumps(recipe(name, **sections)), encoding="utf-8")
    return path


def write_triplets(path: Path, names: tuple[str, ...] = ("train", "dev")) -> None:
    for name in names:
        for side in ("src", "mt", "pe"):
            lines = "".join(f"{getattr(triplet, side)}\n" for triplet in TRIPLETS)
            (path / f"{name}.{side}").write_text(lines, encoding="utf-8")
