"""Recipes, training and folders of models that start from a checkpoint."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import tiny_models
import torch
from checkpoints import KINDS, bart, marian, nllb, t5
from rich.console import Console

from postedit.core.config import load_config
from postedit.core.errors import RecipeError
from postedit.core.model import Vocabularies, VocabularyInfo
from postedit.core.special_tokens import EOS, SEP
from postedit.core.types import Batch, Stream, Target
from postedit.editing.post_editor import PostEditor
from postedit.jobs.training import train
from postedit.models.pretrained import NetworkConfig, Pretrained, PretrainedConfig
from postedit.recipe import load_recipe
from postedit.text.config import GROUPS
from postedit.text.pretrained_vocabulary import checkpoint_vocabularies

# The library warns of what its next versions will lack.
pytestmark = pytest.mark.filterwarnings("error::FutureWarning:transformers")

RECIPES = Path(__file__).resolve().parents[3] / "recipes"


def build(folder: Path, **options: Any) -> Pretrained:
    config = load_config(PretrainedConfig, {"checkpoint": str(folder), **options}, "recipe")
    info = checkpoint_vocabularies(str(folder), GROUPS["mt-pe"])["mt-pe"].info
    model = Pretrained(config, Vocabularies({"src": info, "mt": info}, info))
    model.load_initial_weights()
    return model


def write_recipe(folder: Path, checkpoint: Path, **sections: Any) -> Path:
    tiny_models.write_triplets(folder)
    changes: dict[str, dict[str, Any]] = {
        "model": {"checkpoint": str(checkpoint)},
        "text": {"vocabulary": {"checkpoint": str(checkpoint), "sharing": "mt-pe"}},
        "data": {"max_length": 60},
        "train": {"max_steps": 3, "warmup_steps": 1},
    }
    changes |= {name: {**changes[name], **section} for name, section in sections.items()}
    return tiny_models.write_recipe(folder / "recipe.toml", "pretrained", **changes)


@pytest.fixture(scope="module")
def marian_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return marian(tmp_path_factory.mktemp("checkpoints") / "marian")


def test_the_separator_starts_as_the_end_of_a_text(marian_model: Path) -> None:
    model = build(marian_model)
    table = model.network.get_input_embeddings().weight
    assert torch.equal(table[model.rows[SEP]], table[model.rows[EOS]])


def test_adapters_alone_are_trained_and_start_without_effect(tmp_path: Path) -> None:
    folder = t5(tmp_path / "t5", tie_word_embeddings=False)
    full, adapted = build(folder).eval(), build(folder, lora_rank=2).eval()
    trained = {name for name, parameter in adapted.named_parameters() if parameter.requires_grad}
    assert trained
    assert all("lora_" in name for name in trained)
    ids = torch.tensor([[7, 8, EOS]])
    text = Stream(ids, torch.ones_like(ids, dtype=torch.bool))
    batch = Batch({"src": text, "mt": text})
    tokens = torch.tensor([[1, 9]])
    outputs = [model.decode(tokens, model.encode(batch))[0].log_probs for model in (full, adapted)]
    torch.testing.assert_close(*outputs)


@pytest.mark.parametrize(
    "options", [pytest.param({}, id="whole", marks=pytest.mark.slow), pytest.param({"lora_rank": 2}, id="adapters")]
)
def test_a_recipe_trains_from_a_checkpoint_and_the_model_stands_alone(
    marian_model: Path, tmp_path: Path, options: dict[str, int]
) -> None:
    checkpoint = Path(shutil.copytree(marian_model, tmp_path / "marian"))
    recipe = load_recipe(write_recipe(tmp_path, checkpoint, model=options))
    result = train(recipe, tmp_path / "run", console=Console(quiet=True))
    for path in result.model.rglob("*.json"):
        assert str(tmp_path) not in path.read_text(encoding="utf-8"), path
    assert json.loads((result.model / "config.json").read_text())["model"]["checkpoint"] == "marian"
    checkpoint.rename(tmp_path / "elsewhere")
    editor = PostEditor.load(result.model, device="cpu")
    src, mt = ["the house 😀"], ["ein  Haus … 😀"]
    edit = editor.edit(src, mt, evidence=True)[0]
    assert edit.evidence is not None
    assert {key.stream for key in edit.evidence.attention} == {"src+mt"}
    assert editor.model.spec.longest == 200 - 1
    long = "ein Haus " * 60
    edits = editor.edit(["the house", long, "the house"], ["ein Haus", long, "ein Haus " * 45])
    assert [edit.skipped for edit in edits] == [None, "too long", None], "longer than the network can read"
    assert edits[1].text == long
    assert len(edits[2].token_scores) <= 200


@pytest.mark.slow
def test_training_starts_from_the_weights_of_the_checkpoint(tmp_path: Path) -> None:
    checkpoint = bart(tmp_path / "bart")
    path = write_recipe(tmp_path, checkpoint, train={"lr": 1e-12})
    result = train(load_recipe(path), tmp_path / "run", console=Console(quiet=True))
    trained, started = PostEditor.load(result.model, device="cpu").model.state_dict(), build(checkpoint).state_dict()
    assert trained.keys() == started.keys()
    assert started["bias"][6:].unique().numel() > 50, "the checkpoint has an output bias"
    for name, tensor in started.items():
        torch.testing.assert_close(trained[name], tensor, rtol=0, atol=1e-6, msg=name)


@pytest.mark.parametrize(
    "kind",
    ["marian", "t5", *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS if kind not in ("marian", "t5"))],
)
def test_every_weight_learns_at_every_update(tmp_path: Path, kind: str) -> None:
    codes = {"src_lang": "eng_Latn", "tgt_lang": "deu_Latn"} if kind == "nllb" else {}
    model = build(KINDS[kind](tmp_path / kind), **codes).train()
    ids = torch.tensor([[7, 8, 9, EOS]])
    text, target = (made(ids, torch.ones_like(ids, dtype=torch.bool)) for made in (Stream, Target))
    for _ in range(20):
        model.zero_grad(set_to_none=True)
        model(Batch({"src": text, "mt": text}, target), 0.1).loss.backward()
        without = [name for name, weight in model.named_parameters() if weight.requires_grad and weight.grad is None]
        assert not without, "several processes could not train these together"


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"data": {"max_length": 100}}, r"data\.max_length: texts of 100 tokens .* use 99 at most"),
        (
            {"text": {"vocabulary": {"size": 300}}},
            r"model\.checkpoint: .* but \[text\] has 300.*text\.vocabulary\.checkpoint",
        ),
        ({"model": {"name": "pretrained", "checkpoint": "./none"}}, r"\./none: no such folder"),
        ({"model": {"lora_rank": -1}}, r"model\.lora_rank: must be at least 0"),
        ({"text": {"vocabulary": {"checkpoint": "./none"}}}, r"\./none: no such folder"),
    ],
)
def test_faults_of_a_recipe_are_named(
    marian_model: Path, tmp_path: Path, sections: dict[str, Any], message: str
) -> None:
    path = write_recipe(tmp_path, marian_model, **sections)
    with pytest.raises(RecipeError, match=message):
        load_recipe(path)


def test_another_vocabulary_of_the_same_size_is_refused(tmp_path: Path) -> None:
    one, other = bart(tmp_path / "one"), bart(tmp_path / "other")
    tokenizer = json.loads((other / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary["a"], vocabulary["b"] = vocabulary["b"], vocabulary["a"]
    (other / "tokenizer.json").write_text(json.dumps(tokenizer))
    path = write_recipe(tmp_path, one, text={"vocabulary": {"checkpoint": str(other)}})
    with pytest.raises(RecipeError, match=r"has a vocabulary with other tokens than \[text\]"):
        load_recipe(path)


@pytest.mark.parametrize("damage", ["missing", "truncated"])
def test_weights_that_cannot_be_read_are_found_before_any_work(tmp_path: Path, damage: str) -> None:
    folder = bart(tmp_path / "bart")
    weights = folder / "model.safetensors"
    if damage == "missing":
        weights.rename(folder / "pytorch_model.bin")
    else:
        weights.write_bytes(weights.read_bytes()[:-9])
    message = r"no weights in safetensors files" if damage == "missing" else r"model\.safetensors: truncated or damaged"
    with pytest.raises(RecipeError, match=message):
        load_recipe(write_recipe(tmp_path, folder))


def test_weights_that_do_not_fit_the_settings_are_refused(tmp_path: Path) -> None:
    folder = t5(tmp_path / "t5")
    config = json.loads((folder / "config.json").read_text())
    model = build(folder)
    other = t5(tmp_path / "other", feed_forward_proj="gated-gelu")
    object.__setattr__(model.config, "checkpoint", str(other))
    with pytest.raises(RecipeError, match=r"its weights are not what its settings say: .* is missing"):
        model.load_initial_weights()
    assert config["feed_forward_proj"] == "relu"


SETTINGS: dict[str, dict[str, Any]] = {
    # As the checkpoints' own config.json say.
    "pretrained": {
        "model_type": "marian", "vocab_size": 58101, "d_model": 512, "encoder_layers": 6, "decoder_layers": 6,
        "encoder_attention_heads": 8, "decoder_attention_heads": 8, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048,
        "max_position_embeddings": 512, "pad_token_id": 58100, "eos_token_id": 0, "decoder_start_token_id": 58100,
    },
    "pretrained-lora": {
        "model_type": "m2m_100", "vocab_size": 256206, "d_model": 1024, "encoder_layers": 12, "decoder_layers": 12,
        "encoder_attention_heads": 16, "decoder_attention_heads": 16, "encoder_ffn_dim": 4096,
        "decoder_ffn_dim": 4096, "max_position_embeddings": 1024, "pad_token_id": 1, "eos_token_id": 2,
        "decoder_start_token_id": 2,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", SETTINGS)
def test_the_parameters_that_a_recipe_counts_are_those_of_its_checkpoint(name: str, tmp_path: Path) -> None:
    path = RECIPES / f"{name}.toml"
    checkpoint = nllb(tmp_path / "nllb") if name.endswith("lora") else bart(tmp_path / "bart")
    changed = [f"model.checkpoint={checkpoint}", f"text.vocabulary.checkpoint={checkpoint}"]
    recipe = load_recipe(path, [*changed, "data.max_length=50"], check_data=False)
    settings = SETTINGS[name]
    network = NetworkConfig(
        settings=settings, pad=settings["pad_token_id"], eos=settings["eos_token_id"], unk=3, before_pe=[2]
    )
    assert isinstance(recipe.model, PretrainedConfig)
    info = VocabularyInfo(settings["vocab_size"] + 3, "same")
    config = recipe.model.model_copy(update={"network": network})
    with torch.device("meta"):
        model = Pretrained(config, Vocabularies({"src": info, "mt": info}, info))
    comment = " ".join(path.read_text(encoding="utf-8").replace("#", "").split())
    total = sum(parameter.numel() for parameter in model.parameters())
    trained = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    assert f"has {total:,} parameters" in comment
    if recipe.model.lora_rank:
        assert f"{trained:,} of them trained" in comment
