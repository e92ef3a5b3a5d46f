"""Layers compiled for training; by a backend that is quick to compile, except where inductor itself is tried."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
from accelerate import Accelerator
from tiny_run import LayeredModel, Scores, log, quiet, tiny_model, train_config, trainer, weights
from torch._dynamo.testing import CompileCounterWithBackend

from postedit.core.errors import RecipeError
from postedit.core.model import Seq2Seq
from postedit.core.types import Batch, Stream, Target
from postedit.train import loop
from postedit.train.optimisers import build_optimizer
from postedit.train.torch_compile import compile_layers, compiled_in_updates, layers_of
from postedit.train.update import Updater, has_finite_gradient

sys.path.insert(0, str(Path(__file__).parent.parent))
import tiny_models

SHAPES = [(4, 5), (6, 7), (3, 9), (9, 3), (5, 5), (2, 12), (12, 2), (7, 6)]


@pytest.fixture(autouse=True)
def _forgotten() -> None:
    torch._dynamo.reset()


@pytest.fixture
def counter() -> CompileCounterWithBackend:
    return CompileCounterWithBackend("aot_eager")


def batch_of(model: Seq2Seq, rows: int, *pieces: int) -> Batch:
    """Return a batch whose inputs and target have so many pieces; one number stands for all."""
    lengths = pieces * (len(model.spec.inputs) + 1) if len(pieces) == 1 else pieces
    texts = [torch.randint(4, 30, (rows, length)) for length in lengths]
    masks = [torch.ones_like(text, dtype=torch.bool) for text in texts]
    streams = {name: Stream(text, mask) for name, text, mask in zip(model.spec.inputs, texts, masks)}
    return Batch(streams, Target(texts[-1], masks[-1]))


def compiled(model: Seq2Seq, backend: CompileCounterWithBackend | str) -> None:
    compile_layers(model, torch.device("cpu"), backend)
    if isinstance(backend, CompileCounterWithBackend):
        backend.clear()  # of what was compiled to see whether anything can be


def trained(
    backend: CompileCounterWithBackend | str | None,
    shapes: Sequence[tuple[int, ...]],
    make: Callable[[], Seq2Seq] = LayeredModel,
) -> Seq2Seq:
    torch.manual_seed(1)
    model = make()
    if backend is not None:
        compiled(model, backend)
    config = train_config({"compile": backend is not None})
    updater = Updater(model.train(), build_optimizer(model, config), config, Accelerator(mixed_precision="no"))
    with compiled_in_updates(config.compile):
        for step, shape in enumerate(shapes, 1):
            updater.update(step, [batch_of(model, *shape)], 0.01)
    assert updater.failure() is None
    return model


@pytest.mark.slow
def test_layers_and_shapes_share_what_is_compiled_and_updates_agree(counter: CompileCounterWithBackend) -> None:
    trained(counter, SHAPES[:1])
    assert 0 < counter.frame_count <= 2  # PyTorch may begin anew when it has seen more of a function
    found, expected = trained(counter, SHAPES), trained(None, SHAPES)
    assert counter.frame_count == 0
    for name, weight in expected.state_dict().items():
        torch.testing.assert_close(found.state_dict()[name], weight, msg=name)


def test_batches_with_a_size_of_1_are_not_compiled_for(counter: CompileCounterWithBackend) -> None:
    trained(counter, [(1, 5), (5, 1), (1, 1)])
    assert counter.frame_count == 0


@pytest.mark.slow
def test_search_and_validation_do_not_use_what_is_compiled(counter: CompileCounterWithBackend) -> None:
    model = trained(counter, SHAPES[:1])
    before = counter.frame_count
    with compiled_in_updates(True), torch.no_grad():  # without gradients everything would be compiled anew
        model(batch_of(model, 3, 4))
        model.eval()(batch_of(model, 3, 5))
    assert counter.frame_count == before
    with torch.no_grad():
        model(batch_of(model, 3, 4))
    assert counter.frame_count > before


@pytest.mark.slow
def test_a_batch_that_failed_is_tried_again_as_it_was_computed(counter: CompileCounterWithBackend) -> None:
    model = LayeredModel()
    compiled(model, counter)
    with compiled_in_updates(True):
        assert has_finite_gradient(model, batch_of(model, 3, 4), train_config({"compile": True}), torch.device("cpu"))
    assert counter.frame_count


def test_a_missing_compiler_is_reported_in_one_sentence() -> None:
    def broken(*_: object) -> None:
        raise OSError("no compiler was found\nand much more")

    with pytest.raises(
        RecipeError, match=r"^train.compile: PyTorch cannot compile for cpu here \(.*\); install a C\+\+ compiler"
    ):
        compile_layers(LayeredModel(), torch.device("cpu"), broken)


def layers_compiled(model: torch.nn.Module, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[torch.nn.Module] = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self, **_: found.append(self))
    compile_layers(model, torch.device("cpu"), "eager")
    return [name for name, module in model.named_modules() if any(module is one for one in found)]


def test_layers_of_transformers_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    names = layers_compiled(tiny_models.folder("transference").model, monkeypatch)
    assert len(names) == 3
    assert all(name.endswith(".layers.0") for name in names)


def test_a_model_without_layers_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RecipeError, match=r"train\.compile: MCGRU has no stack of layers, .* set it to false"):
        layers_compiled(tiny_models.folder("m-cgru").model, monkeypatch)


def test_risk_cannot_be_compiled() -> None:
    with pytest.raises(RecipeError, match=r"compile and risk do not go together"):
        train_config({"compile": True, "risk": {}})


@pytest.mark.parametrize("ema", [pytest.param(0.0, marks=pytest.mark.slow), 0.9])
def test_a_compiled_run_resumes_to_the_same_result(
    tmp_path: Path, corpora: Path, counter: CompileCounterWithBackend, monkeypatch: pytest.MonkeyPatch, ema: float
) -> None:
    monkeypatch.setattr(loop, "compile_layers", lambda model, _: compiled(model, counter))
    options = {"compile": True, "metric": "ter", "ema": ema, "validate_every": 3}

    def run(folder: Path, steps: int, resume: bool = False) -> None:
        torch.manual_seed(7)
        scores = Scores(5, 4, 3, 2, 1)
        changes = {"score_dev": scores, "model": LayeredModel(dropout=0.1), "console": quiet()}
        trainer(folder, corpora, options | {"max_steps": steps}, **changes).run(resume=resume)

    run(tmp_path / "whole", 12)
    assert 0 < counter.frame_count <= 2
    run(tmp_path / "parts", 6)
    torch._dynamo.reset()  # as in another process
    run(tmp_path / "parts", 12, resume=True)
    final = f"step-{12:08}.safetensors"
    assert weights(tmp_path / "parts")[final] == weights(tmp_path / "whole")[final]
    assert [line for line in log(tmp_path / "whole") if "loss" in line]


def test_a_run_without_it_is_not_compiled(tmp_path: Path, corpora: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.nn.Module, "compile", lambda *_, **__: pytest.fail("compiled"))
    trainer(tmp_path, corpora, {"max_steps": 2}, model=tiny_model(), console=quiet()).run()


@pytest.mark.slow
def test_a_compiled_transformer_learns_what_an_uncompiled_one_learns(counter: CompileCounterWithBackend) -> None:
    def make() -> Seq2Seq:
        return tiny_models.folder(layers_src=1, layers_mt=1, layers_pe=2, dropout=0.0).model

    shapes = [(6, 9, 10, 11), (6, 7, 7, 7), (3, 9, 10, 9), (9, 3, 3, 4), (2, 12, 9, 8), (12, 2, 2, 2), (11, 20, 22, 21)]
    assert len(layers_of(trained(counter, shapes[:2], make))) == 4
    assert 0 < counter.frame_count <= 8
    found = trained(counter, shapes, make)
    assert counter.frame_count == 0, "another model has the same kinds of layers"
    for name, weight in trained(None, shapes, make).state_dict().items():
        torch.testing.assert_close(found.state_dict()[name], weight, rtol=1e-4, atol=1e-6, msg=name)


@pytest.mark.slow
def test_inductor_computes_the_same() -> None:
    found, expected = trained("inductor", SHAPES[:3]), trained(None, SHAPES[:3])
    for name, weight in expected.state_dict().items():
        torch.testing.assert_close(found.state_dict()[name], weight, rtol=1e-4, atol=1e-5, msg=name)
