"""Recipes, training and folders of models that start from a causal language model."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import tiny_models
import torch
import transformers
from checkpoints import CHAT, causal, marian
from rich.console import Console
from tiny import CAUSAL, CAUSAL_HINTS, CAUSAL_PROMPT, batch_of, build, joint, options_of, random_sentences, vocabularies

from postedit.core.config import load_config
from postedit.core.errors import ModelFolderError, RecipeError
from postedit.core.model import Seq2Seq, Vocabularies
from postedit.core.special_tokens import BOS
from postedit.core.types import AttentionKey, LabelLoss
from postedit.editing.post_editor import PostEditor
from postedit.folder import ModelFolder
from postedit.jobs.training import train
from postedit.models.causal import Causal, CausalConfig
from postedit.nn.heads import SoftmaxDistribution
from postedit.nn.slot_attention import SlotCall
from postedit.recipe import load_recipe
from postedit.text.config import GROUPS
from postedit.text.pretrained_vocabulary import checkpoint_vocabularies
from postedit.train.losses import RDropLoss

SMALL_HINTS = {"examples_tokens": 6, "glossary_tokens": 5, "errors_tokens": 4}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return causal(tmp_path_factory.mktemp("checkpoints") / "small", "gemma2", chat=CHAT)


@pytest.fixture(scope="module")
def adapters(tmp_path_factory: pytest.TempPathFactory, checkpoint: Path) -> Path:
    """Return the model folder of adapters that were trained for a few updates."""
    folder = tmp_path_factory.mktemp("adapters")
    recipe = load_recipe(write_recipe(folder, checkpoint, model={"lora_rank": 2}))
    return train(recipe, folder / "run", console=Console(quiet=True)).model


def write_recipe(folder: Path, checkpoint: Path, **sections: Any) -> Path:
    tiny_models.write_triplets(folder)
    changes: dict[str, dict[str, Any]] = {
        "model": {"checkpoint": str(checkpoint)},
        "text": {"vocabulary": {"checkpoint": str(checkpoint)}},
        "data": {"max_length": 40},
        "train": {"max_steps": 3, "warmup_steps": 1, "lr": 0.01},
        "search": {"max_ratio": 1.0, "max_extra": 3},
    }
    changes |= {name: {**changes[name], **section} for name, section in sections.items()}
    return tiny_models.write_recipe(folder / "recipe.toml", "causal", **changes)


@pytest.mark.slow
def test_a_model_with_all_weights_does_without_its_checkpoint(tmp_path: Path) -> None:
    checkpoint = causal(tmp_path / "checkpoint", "qwen3")
    result = train(load_recipe(write_recipe(tmp_path, checkpoint)), tmp_path / "run", console=Console(quiet=True))
    checkpoint.rename(tmp_path / "elsewhere")
    editor = PostEditor.load(result.model, device="cpu")
    assert editor.processor.vocabulary("pe").lossless
    (edit,) = editor.edit(["the house 😀"], ["ein  Haus … 😀"], evidence=True)
    assert edit.evidence is not None
    assert set(edit.evidence.attention) == {AttentionKey("src+mt", "soft")}


@pytest.mark.slow
def test_a_folder_of_adapters_has_nothing_but_adapters(adapters: Path, checkpoint: Path) -> None:
    loaded = ModelFolder.load(adapters)
    assert all("lora_" in name for name in loaded.model.state_dict())
    assert (adapters / "model.safetensors").stat().st_size < (checkpoint / "model.safetensors").stat().st_size / 2
    for path in adapters.rglob("*.json"):
        assert str(checkpoint.parent) not in path.read_text(encoding="utf-8"), path


def test_an_upload_leaves_out_where_the_checkpoint_is(adapters: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uploaded: list[str] = []

    def upload_folder(_: object, *, folder_path: Path, ignore_patterns: list[str], **__: object) -> str:
        files = [path.relative_to(folder_path).as_posix() for path in folder_path.rglob("*") if path.is_file()]
        uploaded.extend(huggingface_hub.utils.filter_repo_objects(files, ignore_patterns=ignore_patterns))
        return "address"

    monkeypatch.setattr("huggingface_hub.HfApi.create_repo", lambda *_, **__: None)
    monkeypatch.setattr("huggingface_hub.HfApi.upload_folder", upload_folder)
    assert (adapters / ".checkpoint").exists()
    PostEditor.load(adapters, device="cpu").push_to_hub("name/model")
    assert "model.safetensors" in uploaded
    assert ".checkpoint" not in uploaded


def test_law_8_a_folder_of_adapters_restores_the_model(adapters: Path, tmp_path: Path) -> None:
    first = PostEditor.load(adapters, device="cpu")
    first.save_pretrained(tmp_path / "copy")
    second = PostEditor.load(tmp_path / "copy", device="cpu")
    src, mt = ["the house", "it goes"], ["ein Haus geht", "zwei Häuser"]
    assert second.edit(src, mt, beam=2, n_best=2) == first.edit(src, mt, beam=2, n_best=2)
    base = ModelFolder.load(adapters).model
    with torch.no_grad():
        for name, parameter in base.named_parameters():
            if "lora_B" in name:
                parameter.zero_()
    without = PostEditor(base.eval(), first.processor, first.search)
    assert without.score(src, mt, mt) != first.score(src, mt, mt), "the adapters have no effect"


def test_adapters_without_their_checkpoint_say_how_to_name_it(adapters: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    PostEditor.load(adapters, device="cpu").save_pretrained(copy)
    noted = copy / ".checkpoint"
    place = noted.read_text(encoding="utf-8")
    noted.write_text("./nowhere\n", encoding="utf-8")
    with pytest.raises(
        ModelFolderError, match=r"has adapters alone; .*write the path of that checkpoint into .*checkpo"
    ):
        PostEditor.load(copy, device="cpu")
    noted.write_text(f"{causal(tmp_path / 'other', 'gemma2', chat=CHAT)}\n", encoding="utf-8")
    with pytest.raises(ModelFolderError, match="has adapters of other weights than those of"):
        PostEditor.load(copy, device="cpu")
    noted.write_text(place, encoding="utf-8")
    PostEditor.load(copy, device="cpu")


@pytest.mark.slow
def test_training_of_adapters_resumes_to_the_bit(adapters: Path, checkpoint: Path, tmp_path: Path) -> None:
    path = write_recipe(tmp_path, checkpoint, model={"lora_rank": 2}, train={"max_steps": 2, "save_every": 1})
    train(load_recipe(path), tmp_path / "run", console=Console(quiet=True))
    path = write_recipe(tmp_path, checkpoint, model={"lora_rank": 2})
    train(load_recipe(path, ["train.save_every=1"]), tmp_path / "run", True, Console(quiet=True))
    whole = train(load_recipe(path, ["train.save_every=1"]), tmp_path / "whole", console=Console(quiet=True))
    models = [PostEditor.load(one, device="cpu").model for one in (tmp_path / "run" / "model", whole.model)]
    weights = [dict(model.named_parameters()) for model in models]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[1])


@pytest.mark.slow
def test_it_is_an_editor_like_any_other(adapters: Path) -> None:
    editor = PostEditor.load(adapters, device="cpu")
    src, mt = ["the house goes", "two house"], ["ein Haus gehen", "zwei 12 Häuser"]
    best = editor.edit(src, mt, beam=3, n_best=3)
    for edit, one in zip(best, mt):
        assert edit.text == one or one in [other.text for other in edit.alternatives]
    forced = editor.score(src, mt, [edit.text for edit in best])
    for edit, scored in zip(best, forced):
        if edit.changed and "\ufffd" not in edit.text:
            continue  # the tokens of a text may be others than those that were written
        assert scored.score == pytest.approx(edit.score, abs=1e-3)
    drafted = editor.edit(src, mt)
    stepped = editor.edit(src, mt, beam=1, required=[[], []])
    assert [edit.text for edit in drafted] == [edit.text for edit in stepped]
    ensemble = PostEditor.load(adapters, adapters, device="cpu")
    assert [edit.text for edit in ensemble.edit(src, mt)] == [edit.text for edit in drafted]
    ((kept,),) = [editor.edit(src[1:], mt[1:], prefix=["zwei 12"])]
    assert kept.text.startswith("zwei 12") or kept.skipped == "impossible"


def gradients(model: Seq2Seq) -> Iterator[torch.Tensor]:
    batch = batch_of(random_sentences(random.Random(1), model, 4))
    model.train()(batch).loss.backward()
    return (parameter.grad for parameter in model.parameters() if parameter.grad is not None)


def test_layers_that_are_computed_again_have_the_same_gradients() -> None:
    one, other = (_with_options("llama", recompute=recompute) for recompute in (False, True))
    pairs = list(zip(gradients(one), gradients(other), strict=True))
    assert pairs
    for first, second in pairs:
        torch.testing.assert_close(first, second, rtol=0, atol=1e-12)


@pytest.mark.parametrize("is_old", [False, True])
def test_layers_are_computed_again_by_either_name(is_old: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    library, name = transformers.PreTrainedModel, "activation_checkpointing_enable"  # gradient_..., before version 5.23
    if is_old:
        enable = getattr(library, name, library.gradient_checkpointing_enable)
        monkeypatch.setattr(library, "gradient_checkpointing_enable", enable)
        monkeypatch.delattr(library, name, raising=False)
    model = _with_options("llama", recompute=True)
    assert any(getattr(one, "gradient_checkpointing", False) for one in model.modules())


@pytest.mark.parametrize("kind", sorted(CAUSAL))
def test_layers_that_are_computed_again_can_read_in_two_calls(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """R-Drop and minimum risk training decode after encoding, in training mode."""
    monkeypatch.setattr("transformers.modeling_layers.logger.warning_once", lambda text: pytest.fail(text))
    found: list[list[torch.Tensor]] = []
    for recompute in (False, True):
        model = _with_options(kind, recompute=recompute)
        batch = batch_of(random_sentences(random.Random(1), model, 4))
        loss = RDropLoss(model.train(), 1.0)(batch).loss
        loss.backward()
        found.append([loss, *(one.grad for one in model.parameters() if one.grad is not None)])
    for first, second in zip(*found, strict=True):
        torch.testing.assert_close(first, second, rtol=0, atol=1e-9)


@pytest.mark.parametrize("pack", [1, 30, 200])
@pytest.mark.parametrize("hints", [False, True])
@pytest.mark.parametrize("kind", sorted(CAUSAL))
def test_rows_of_several_segments_have_the_same_loss_and_gradients(kind: str, hints: bool, pack: int) -> None:
    prompt = {"network": {"settings": CAUSAL[kind], **CAUSAL_HINTS}, "hints": SMALL_HINTS} if hints else {}
    alone, packed = (_with_options(kind, pack=one, **prompt) for one in (0, pack))
    batch = batch_of(random_sentences(random.Random(1), alone, 9), junk=random.Random(2))
    losses: list[LabelLoss] = [model.train()(batch, smoothing=0.1) for model in (alone, packed)]
    for name in ("loss", "nll"):
        torch.testing.assert_close(*(getattr(one, name) for one in losses), rtol=0, atol=1e-10)
    assert losses[0].tokens == losses[1].tokens
    for one in losses:
        one.loss.backward()
    pairs = list(zip(alone.named_parameters(), packed.named_parameters(), strict=True))
    assert any(parameter.grad is not None for (_, parameter), _ in pairs)
    for (name, first), (_, second) in pairs:
        assert first.grad is not None
        assert second.grad is not None
        # Weights are in double precision, but norms of the library compute in single precision whatever they are.
        rounding = 1e-6 * max(1.0, float(first.grad.abs().max()))
        torch.testing.assert_close(first.grad, second.grad, rtol=0, atol=rounding, msg=name)


def test_rows_of_several_segments_are_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[torch.Size] = []
    run = SlotCall.run
    monkeypatch.setattr(
        SlotCall, "run", lambda call, network, rows: (read.append(rows.shape), run(call, network, rows))[1]
    )
    for pack in (0, 60):
        model = _with_options("llama", pack=pack)
        model.train()(batch_of(random_sentences(random.Random(1), model, 12)))
    assert read[0][0] == 12
    assert read[1][0] < 6
    assert read[0][1] < read[1][1] <= 60
    assert read[1].numel() < read[0].numel()


def _with_options(kind: str, **options: Any) -> Causal:
    sizes = joint(vocabularies())
    values = {"checkpoint": "none", "network": {"settings": CAUSAL[kind], **CAUSAL_PROMPT}, **options}
    torch.manual_seed(4)
    return Causal(load_config(CausalConfig, options_of(values, sizes), "test"), sizes).double()


@pytest.mark.parametrize("kind", ["llama", "gemma2"])  # Gemma 2 caps its attention scores, which has a way of its own
def test_dropout_on_attention_is_that_of_training_alone(kind: str) -> None:
    model = _with_options(kind, dropout=0.5)
    batch = batch_of(random_sentences(random.Random(1), model, 4))
    for training in (True, False):
        model.train(training)
        losses = {model(batch).loss.item() for _ in range(3)}
        assert len(losses) == (3 if training else 1)


def test_texts_and_output_share_the_positions_beside_the_prompt() -> None:
    hints = {"network": {"settings": CAUSAL["llama"], **CAUSAL_HINTS}, "hints": SMALL_HINTS}
    assert _with_options("llama").spec.longest == (99 - 5) // 2
    assert _with_options("llama", **hints).spec.longest == (99 - 6 - sum(SMALL_HINTS.values())) // 2


def test_a_base_in_bf16_computes_nearly_the_same(checkpoint: Path) -> None:
    models = []
    info = checkpoint_vocabularies(str(checkpoint), GROUPS["joint"])["joint"].info
    for base in ("fp32", "bf16"):
        options = {"checkpoint": str(checkpoint), "lora_rank": 2, "lora_base": base}
        model = Causal(load_config(CausalConfig, options, "test"), Vocabularies({"src": info, "mt": info}, info))
        model.load_frozen_weights(str(checkpoint))
        models.append(model.eval().requires_grad_(False))
    assert models[1].head.weight.dtype == torch.bfloat16
    batch = batch_of(random_sentences(random.Random(1), models[0], 3))
    tokens = torch.tensor([[BOS, 9, 10]] * 3)
    one, other = (model.decode(tokens, model.encode(batch))[0].log_probs.exp() for model in models)
    torch.testing.assert_close(one, other, rtol=0, atol=0.05)


def test_a_base_in_bf16_is_never_in_single_precision(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network of 9 billion parameters would take 37 GB so."""
    info = checkpoint_vocabularies(str(checkpoint), GROUPS["joint"])["joint"].info
    options = {"checkpoint": str(checkpoint), "lora_rank": 2, "lora_base": "bf16"}
    loaded: list[torch.dtype] = []
    own = transformers.AutoModelForCausalLM

    def note(make: Callable[..., torch.nn.Module]) -> Callable[..., torch.nn.Module]:
        def made(*args: Any, **values: Any) -> torch.nn.Module:
            network = make(*args, **values)
            loaded.extend(parameter.dtype for parameter in network.parameters())
            return network

        return made

    monkeypatch.setattr(own, "from_config", note(own.from_config))
    monkeypatch.setattr(own, "from_pretrained", note(own.from_pretrained))
    model = Causal(load_config(CausalConfig, options, "test"), Vocabularies({"src": info, "mt": info}, info))
    model.load_frozen_weights(str(checkpoint))
    assert set(loaded) == {torch.bfloat16}
    angles = [buffer.dtype for name, buffer in model.network.named_buffers() if "inv_freq" in name]
    assert angles
    assert set(angles) == {torch.float32}


def test_angles_of_positions_stay_in_single_precision() -> None:
    model = build("causal", torch.float32).to(torch.bfloat16)
    buffers = {name: buffer for name, buffer in model.network.named_buffers() if "inv_freq" in name}
    assert buffers
    assert {buffer.dtype for buffer in buffers.values()} == {torch.float32}


def test_the_loss_never_computes_all_logits_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build("causal/llama", torch.float32)
    batch = batch_of(random_sentences(random.Random(1), model, 4))
    monkeypatch.setattr(SoftmaxDistribution, "logits", lambda _: pytest.fail("all logits at once"))
    model.train()(batch).loss.backward()
    assert model.head.weight.grad is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prompt": "Correct {mt}:\n"}, r"a prompt has \{src\} and \{mt\} once each"),
        ({"prompt": "{src} {mt}\n{mt}\n"}, r"a prompt has \{src\} and \{mt\} once each"),
        ({"prompt": "Correct\n{src}\n{mt}", "chat": False}, "text between src and mt, and at its end"),
        ({"prompt": 3}, r"model\.prompt"),
        ({"lora_base": "fp16"}, r"model\.lora_base"),
    ],
)
def test_faults_of_a_recipe_are_named(tmp_path: Path, checkpoint: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        load_recipe(write_recipe(tmp_path, checkpoint, model=options))


def test_a_chat_template_is_needed_where_it_is_asked_for(tmp_path: Path) -> None:
    path = write_recipe(tmp_path, causal(tmp_path / "plain"), model={"chat": True})
    with pytest.raises(RecipeError, match=r"has no chat template; set model\.chat = false"):
        load_recipe(path)


def test_a_translation_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="is a marian, which is not a causal language model"):
        load_recipe(write_recipe(tmp_path, marian(tmp_path / "marian"), text={"vocabulary": {"size": 300}}))


def test_a_network_that_computes_otherwise_is_refused(tmp_path: Path) -> None:
    """Its settings scale its logits, which the library does after the output layer."""
    folder = causal(tmp_path / "checkpoint", "llama")
    config = json.loads((folder / "config.json").read_text())
    sizes = {name: config[name] for name in ("vocab_size", "hidden_size", "intermediate_size", "num_attention_heads")}
    granite = transformers.GraniteConfig(
        **sizes, num_hidden_layers=1, num_key_value_heads=2, logits_scaling=0.05, pad_token_id=0, eos_token_id=2
    )
    transformers.AutoModelForCausalLM.from_config(granite).save_pretrained(folder)
    recipe = load_recipe(write_recipe(tmp_path, folder))
    with pytest.raises(RecipeError, match="a granite computes its outputs in a way that is not known here"):
        train(recipe, tmp_path / "run", console=Console(quiet=True))


def test_a_network_with_layers_that_keep_no_keys_is_refused(tmp_path: Path) -> None:
    """It computes the same in one call; but of its convolutions, nothing is left for the next call."""
    folder = causal(tmp_path / "checkpoint", "lfm2", layer_types=["conv", "full_attention"])
    with pytest.raises(RecipeError, match=r"a lfm2 .* not known here: 1 of its 2 layers keep keys and values"):
        train(load_recipe(write_recipe(tmp_path, folder)), tmp_path / "run", console=Console(quiet=True))


def test_the_end_of_a_turn_ends_a_text(checkpoint: Path, tmp_path: Path) -> None:
    chatty = load_config(CausalConfig, {"checkpoint": str(checkpoint)}, "test").network
    plain = load_config(CausalConfig, {"checkpoint": str(causal(tmp_path / "plain"))}, "test").network
    assert (chatty.eos, plain.eos) == (4, 2)
    assert {2, 3} <= set(chatty.controls)
    assert {3, 4} <= set(plain.controls)
