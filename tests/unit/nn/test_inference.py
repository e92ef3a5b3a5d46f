"""Layers made for inference, one by one; tests/contract/test_inference.py has them in every architecture."""

import copy
import multiprocessing
import os
import pickle
import subprocess
import sys

import pytest
import torch
from torch import nn

from postedit.core.errors import DataError
from postedit.core.types import Shortlist
from postedit.nn.heads import LinearFactory, SoftmaxHead
from postedit.nn.inference import PackedLinear, Precision, check_precision, evaluation_mode, prepare_for_inference
from postedit.nn.int8 import Int8Linear


def int8(inputs: int, outputs: int, bias: bool = True) -> tuple[Int8Linear, nn.Linear]:
    torch.manual_seed(inputs)
    layer = nn.Linear(inputs, outputs, bias).requires_grad_(False)
    return Int8Linear(layer.weight, layer.bias), layer


@pytest.mark.parametrize("sizes", [(512, 512), (300, 1000), (64, 4000)])
def test_a_row_in_int8_gives_the_same_bits_in_any_company(sizes: tuple[int, int]) -> None:
    fast, _ = int8(*sizes)
    x = torch.randn(70, sizes[0]) * torch.rand(70, 1) * 100
    whole = fast(x)
    for rows in (1, 2, 3, 5, 8, 16, 17, 31, 32, 33, 64):
        assert torch.equal(fast(x[:rows]), whole[:rows])
    assert torch.equal(fast(x.view(7, 10, -1)).flatten(0, 1), whole)


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_layers_of_pytorch_with_kernels_of_their_own_still_run(precision: Precision) -> None:
    """Architectures of other packages may be made of them; those of postedit are not."""
    width, inner = 256, PackedLinear.min_weights // 256
    model = nn.ModuleDict()
    layer = nn.TransformerEncoderLayer(width, 4, inner, batch_first=True)
    model["encoder"] = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
    model["decoder"] = nn.TransformerDecoderLayer(width, 4, inner, batch_first=True)
    model.eval()
    x, padding = torch.randn(2, 5, width), torch.tensor([[False] * 5, [False] * 3 + [True] * 2])

    def run() -> torch.Tensor:
        memory = model["encoder"](x, src_key_padding_mask=padding)
        output: torch.Tensor = model["decoder"](x, memory, memory_key_padding_mask=padding)
        return output

    with torch.inference_mode():
        expected = run()
        prepare_for_inference(model, precision)
        torch.testing.assert_close(run(), expected, rtol=0.0, atol=1e-5 if precision == "float32" else 0.1)


def test_a_model_is_evaluated_until_the_last_block_that_needs_it_ends() -> None:
    """Threads that edit with one model, which is in training mode, begin and end in any order."""
    model = nn.Sequential(nn.Dropout(), nn.Linear(2, 2).eval())
    first, second = evaluation_mode(model), evaluation_mode(model)
    for block in (first, second):
        block.__enter__()
    first.__exit__(None, None, None)
    assert [part.training for part in model.modules()] == [False] * 3
    second.__exit__(None, None, None)
    assert [part.training for part in model.modules()] == [True, True, False]


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = self.second = nn.Linear(1024, 1024)
        self.small = nn.Linear(8, 8)
        table = nn.Embedding(1024, 1024)
        self.table, self.head = table, SoftmaxHead(1024, 1024, tied=table)


def test_only_large_layers_change_and_shared_weights_stay_shared() -> None:
    model = prepare_for_inference(Twice())
    assert isinstance(model.first, PackedLinear)
    assert model.first is model.second
    assert type(model.small) is nn.Linear
    assert model.head.weight is model.table.weight
    x = torch.randn(1, 2, 1024, generator=torch.Generator().manual_seed(1))
    expected = torch.log_softmax(nn.functional.linear(x, model.table.weight, model.head.bias), -1)
    torch.testing.assert_close(model.head(x).log_probs(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("factory", [None, PackedLinear, Int8Linear])
def test_tokens_that_can_only_be_copied_are_never_generated(factory: LinearFactory | None) -> None:
    head = SoftmaxHead(32, 20, copied=4).requires_grad_(False)
    if factory is not None:
        head.use_linear_layers(factory)
    distribution = head(torch.randn(2, 3, 32))
    whole, listed = distribution.log_probs(), distribution.among(Shortlist(18, torch.tensor([19])))
    for log_probs in (whole, listed):
        assert log_probs[..., :16].isfinite().all()
        assert (log_probs[..., 16:] == -torch.inf).all()


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_prepared_models_can_be_copied_and_sent_to_processes(precision: Precision) -> None:
    model = prepare_for_inference(Twice(), precision)
    x = torch.randn(1, 2, 1024)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.first is other.second
        assert torch.equal(other.first(x), model.first(x))
        assert torch.equal(other.head(x).log_probs(), model.head(x).log_probs())


@pytest.mark.slow
def test_a_process_can_be_spawned_with_a_prepared_model() -> None:
    model = prepare_for_inference(nn.Sequential(SoftmaxHead(1024, 600)))
    process = multiprocessing.get_context("spawn").Process(target=repr, args=(model,))
    process.start()
    process.join()
    assert process.exitcode == 0


def test_double_precision_stays_as_it_is() -> None:
    model = prepare_for_inference(copy.deepcopy(Twice()).double())
    assert type(model.first) is nn.Linear


def test_precisions_that_cannot_be_had() -> None:
    with pytest.raises(DataError, match='dtype "int8" cannot be had on cuda; use one of float32, bf16'):
        check_precision("int8", torch.device("cuda"))
    with pytest.raises(DataError, match='dtype "half" cannot be had on cpu; use one of float32, bf16, int8'):
        check_precision("half", torch.device("cpu"))


@pytest.mark.slow
def test_bf16_is_to_be_had_where_onednn_has_no_layout_for_it() -> None:
    program = """
import torch
from postedit.nn.inference import PackedLinear, Precision, evaluation_mode, prepare_for_inference
PackedLinear.min_weights = 1
layer = prepare_for_inference(torch.nn.Sequential(torch.nn.Linear(8, 8)), "bf16")
print(layer(torch.ones(1, 8, dtype=torch.bfloat16)).dtype)
"""
    settings = os.environ | {"ONEDNN_MAX_CPU_ISA": "AVX2"}
    done = subprocess.run([sys.executable, "-c", program], env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "torch.bfloat16\n"


@pytest.mark.parametrize("precision", ["float32", "bf16", "int8"])
def test_a_prepared_model_is_not_trained(precision: Precision) -> None:
    model = prepare_for_inference(nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)), precision)
    assert not any(parameter.requires_grad for parameter in model.parameters())
