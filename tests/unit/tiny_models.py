"""Model folders and recipes small enough to be made on the spot."""

from pathlib import Path

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
}
TRIPLETS = [Triplet("the house", "das Haus", "das Häuschen"), Triplet("it goes", "es geht", "es ging .")] * 4


def processor(**text: object) -> TextProcessor:
    config = TextConfig(vocabulary=VocabularyConfig(size=280)).model_copy(update=text)
    return TextProcessor.fit(config, lambda: TRIPLETS)


def folder(name: str = "transference", text: TextProcessor | None = None, **options: object) -> ModelFolder:
    text = text or processor()
    architecture = ARCHITECTURES[name]
    config = load_config(architecture.config_class, {**SIZES[name], **options}, name)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = architecture.build(config, text.vocabularies).eval()
    return ModelFolder(architecture, config, SearchConfig(max_input=40), model, text, {})


def write_triplets(path: Path, names: tuple[str, ...] = ("train", "dev")) -> None:
    for name in names:
        for side in ("src", "mt", "pe"):
            lines = "".join(f"{getattr(triplet, side)}\n" for triplet in TRIPLETS)
            (path / f"{name}.{side}").write_text(lines, encoding="utf-8")
