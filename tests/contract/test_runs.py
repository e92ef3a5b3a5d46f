"""Laws 8 and 12 through files: model folders, and training that is killed and resumed."""

import random
from pathlib import Path

import pytest
import tomli_w
import torch
from checkpoints import causal, marian
from killed_run import remains, train_until_killed
from rich.console import Console
from tiny import ARCHITECTURE_NAMES, TINY, batch_of, build, options_of, random_sentences

from postedit.core.config import load_config
from postedit.data.triplets import Triplet
from postedit.editing.post_editor import PostEditor
from postedit.folder import ModelFolder
from postedit.jobs.training import train
from postedit.models import ARCHITECTURES
from postedit.recipe import SearchConfig, load_recipe
from postedit.text.config import TextConfig
from postedit.text.processor import TextProcessor

WORDS = ["ein", "zwei", "drei", "Haus", "Häuser", "geht", "gehen", "nicht", "über", "."]


def triplets(count: int, seed: int) -> list[Triplet]:
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        mt = [rng.choice(WORDS) for _ in range(rng.randint(1, 9))]
        pe = [word if rng.random() > 0.2 else rng.choice(WORDS) for word in mt]
        found.append(Triplet(" ".join(mt).upper(), " ".join(mt), " ".join(pe)))
    return found


@pytest.fixture(scope="module")
def processor() -> TextProcessor:
    return TextProcessor.fit(TextConfig(), lambda: iter(triplets(50, seed=0)))


@pytest.mark.parametrize("name", ARCHITECTURE_NAMES)
def test_law_8_a_model_folder_restores_the_model(name: str, processor: TextProcessor, tmp_path: Path) -> None:
    architecture = ARCHITECTURES[name.partition("/")[0]]
    config = load_config(architecture.config_class, options_of(TINY[name], processor.vocabularies), name)
    model = build(name, torch.float32, sizes=processor.vocabularies).requires_grad_(False)
    ModelFolder(architecture, config, SearchConfig(), model, processor, {}).save(tmp_path / "model")
    loaded = ModelFolder.load(tmp_path / "model")
    loaded.model.requires_grad_(False)  # like model: PyTorch rounds otherwise where weights may need gradients
    assert loaded.architecture is architecture
    assert loaded.config == config
    assert loaded.model.spec == model.spec
    batch = batch_of(random_sentences(random.Random(8), model, count=3))
    assert batch.target is not None
    outputs = [each.decode(batch.target.inputs, each.encode(batch))[0] for each in (model, loaded.model)]
    assert torch.equal(outputs[0].log_probs, outputs[1].log_probs)
    src, mt, _, *_ = zip(*triplets(5, seed=1))
    editor = PostEditor(model, processor, SearchConfig())
    reloaded = PostEditor.load(tmp_path / "model", device="cpu")
    reloaded.model.requires_grad_(False)
    assert reloaded.edit(src, mt, beam=2) == editor.edit(src, mt, beam=2)


def write_recipe(name: str, folder: Path) -> Path:
    """Write triplets and a recipe whose checkpoints and validations fall into the middle of epochs."""
    for part, count in (("train", 60), ("dev", 6)):
        for side in ("src", "mt", "pe"):
            lines = [getattr(triplet, side) for triplet in triplets(count, seed=count)]
            (folder / f"{part}.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    model: dict[str, object] = TINY[name]
    vocabulary: dict[str, object] = {"size": 300}
    if "checkpoint" in model:
        write, sharing = (causal, "joint") if name.partition("/")[0] == "causal" else (marian, "mt-pe")
        checkpoint = str(write(folder / "checkpoint"))
        model, vocabulary = {"checkpoint": checkpoint}, {"checkpoint": checkpoint, "sharing": sharing}
    values = {
        "model": {"name": name.partition("/")[0], **model},
        "text": {"vocabulary": vocabulary},
        "data": {"train": ["train"], "dev": "dev", "max_length": 50},
        "train": {
            "max_steps": 14, "accumulate": 2, "batch_tokens": 60, "lr": 0.01, "warmup_steps": 4,
            "validate_every": 3, "metric": "ter", "save_every": 4, "keep_best": 2, "log_every": 1,
        },
        "search": {"max_ratio": 1.0, "max_extra": 2},
    }  # fmt: skip
    path = folder / "recipe.toml"
    path.write_text(tomli_w.dumps(values), encoding="utf-8")
    return path


@pytest.mark.slow  # tests/unit/train/test_resume.py kills training in the quick tests
@pytest.mark.parametrize("name", [name for name in TINY if name in ARCHITECTURES])
def test_law_12_killed_and_resumed_training_ends_bit_equal(name: str, tmp_path: Path) -> None:
    recipe = write_recipe(name, tmp_path)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    quiet = Console(quiet=True)
    train(load_recipe(recipe), whole, console=quiet)
    # Pass 20 is in the middle of step 10: checkpoints are of steps 4 and 8, the last validation was at step 9.
    train_until_killed(recipe, killed, 20)
    assert sorted(path.name for path in (killed / "checkpoints").iterdir())[-1].endswith("8")
    result = train(load_recipe(recipe), killed, resume=True, console=quiet)
    assert result.training.steps == 14
    assert remains(killed) == remains(whole)
