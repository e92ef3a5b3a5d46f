import copy
from collections.abc import Callable
from itertools import product
from typing import cast

import pytest
import tiny_models
import torch
from torch import nn

from postedit.core.errors import RecipeError
from postedit.core.model import Seq2Seq
from postedit.core.weight_transfer import check_sizes, take_weights
from postedit.data.triplets import Triplet
from postedit.text.config import VocabularyConfig
from postedit.text.processor import TextProcessor


def test_all_tensors_of_a_model_of_the_same_sizes_are_taken() -> None:
    ours, theirs = tiny_models.folder(), tiny_models.folder()
    for parameter in ours.model.parameters():
        torch.nn.init.zeros_(parameter)
    transfer = take_weights(ours.model, ours.processor.tokens, theirs.model, theirs.processor.tokens)
    assert {tensor.taken for tensor in transfer.tensors} == {"all"}
    assert not transfer.unused
    for (name, one), other in zip(ours.model.state_dict().items(), theirs.model.state_dict().values()):
        assert torch.equal(one, other), name


def test_tensors_of_other_shapes_or_names_are_reported() -> None:
    text = tiny_models.processor()
    ours, theirs = (
        tiny_models.folder(text=text, feed_forward=10, layers_pe=2),
        tiny_models.folder(text=text, layers_mt=2),
    )
    before = {name: tensor.clone() for name, tensor in ours.model.state_dict().items()}
    transfer = take_weights(ours.model, text.tokens, theirs.model, text.tokens)
    other = {tensor.detail for tensor in transfer.tensors if 10 in tensor.shape and tensor.taken == "nothing"}
    assert "it is 8 x 8 in the other model" in other or "it is 8 in the other model" in other
    assert any(tensor.detail == "the other model has no tensor of that name" for tensor in transfer.tensors)
    assert transfer.unused
    assert all(".1." in name for name in transfer.unused)
    for tensor in transfer.tensors:
        after = ours.model.state_dict()[tensor.name]
        expected = before if tensor.taken == "nothing" else theirs.model.state_dict()
        assert torch.equal(after, expected[tensor.name])
    assert "not taken: " in str(transfer)
    assert "not used: " in str(transfer)


def test_rows_of_tokens_in_both_vocabularies_are_taken() -> None:
    text = tiny_models.processor()
    other_text = tiny_models.processor(vocabulary=text.config.vocabulary.model_copy(update={"size": 276}))
    ours, theirs = tiny_models.folder(text=text), tiny_models.folder(text=other_text)
    with torch.no_grad():
        for parameter in theirs.model.parameters():
            parameter.normal_()
    before = ours.model.state_dict()["head.bias"].clone()
    transfer = take_weights(ours.model, text.tokens, theirs.model, other_text.tokens)
    by_token = {tensor.name for tensor in transfer.tensors if tensor.taken == "tokens"}
    assert "head.bias" in by_token
    assert all(name.startswith(("embed", "head")) for name in by_token)
    ids = {token: i for i, token in enumerate(other_text.tokens["pe"])}
    for row, token in enumerate(text.tokens["pe"]):
        mine = ours.model.state_dict()["head.bias"][row]
        assert mine == (theirs.model.state_dict()["head.bias"][ids[token]] if token in ids else before[row])
    shared = sum(token in ids for token in text.tokens["pe"])
    assert 260 < shared < len(text.tokens["pe"])
    assert f"{shared:,} of {len(text.tokens['pe']):,} tokens are in both vocabularies" in str(transfer)


def test_operations_keep_their_rows_when_the_vocabulary_changes() -> None:
    """KEEP comes after the tokens, so its tables have one row more than the vocabulary."""
    text = tiny_models.processor()
    other_text = TextProcessor.fit(text.config, lambda: [Triplet("a cat sat", "eine Katze", "die Katze saß da")] * 4)
    tokens, other_tokens = text.tokens["pe"], other_text.tokens["pe"]
    assert len(tokens) == len(other_tokens)
    assert tokens != other_tokens
    ours, theirs = (tiny_models.folder("edit-operations", text=one).model for one in (text, other_text))
    for parameter in theirs.parameters():
        parameter.data.normal_()
    names = ["embed_operations.weight", "head.weight", "head.bias"]
    before = {name: ours.get_parameter(name).detach().clone() for name in names}
    transfer = take_weights(ours, text.tokens, theirs, other_text.tokens)
    assert {*names} <= {tensor.name for tensor in transfer.of("tokens")}
    for name in names:
        after, source = ours.get_parameter(name), theirs.get_parameter(name)
        for row, token in enumerate(tokens):
            expected = source[other_tokens.index(token)] if token in other_tokens else before[name][row]
            assert torch.equal(after[row], expected)
        assert torch.equal(after[-1], source[-1])


def test_a_layer_that_reads_embeddings_has_no_rows_of_tokens() -> None:
    """`readout.embedding` has a row per unit of the readout, of which there may be more than tokens."""
    text = tiny_models.processor()
    other_text = TextProcessor.fit(text.config, lambda: [Triplet("a cat sat", "eine Katze", "die Katze saß da")] * 4)
    sizes = {"embedding": 4, "hidden": 4, "maxout": len(text.tokens["pe"])}
    ours, theirs = (tiny_models.folder("attention-nmt", one, **sizes).model for one in (text, other_text))
    for parameter in theirs.parameters():
        parameter.data.normal_()
    transfer = take_weights(ours, text.tokens, theirs, other_text.tokens)
    assert "readout.embedding.weight" in {tensor.name for tensor in transfer.of("all")}
    name = "readout.embedding.weight"
    assert torch.equal(ours.get_parameter(name), theirs.get_parameter(name))


def test_a_model_of_the_other_direction_keeps_the_rows_of_its_own_tokens() -> None:
    """In `reverse`, which writes mt, what is named after pe has the vocabulary of mt."""
    vocabulary = VocabularyConfig(size=280, sharing="separate")
    text = tiny_models.processor(vocabulary=vocabulary)
    other_text = TextProcessor.fit(text.config, lambda: [Triplet("a cat sat", "eine Katze", "die Katze saß da")] * 4)
    sizes = {"embedding": 4, "hidden": 4, "attention": 4}
    ours, theirs = (tiny_models.folder("symmetric-attention", one, **sizes).model for one in (text, other_text))
    for parameter in theirs.parameters():
        parameter.data.normal_()
    take_weights(ours, text.tokens, theirs, other_text.tokens)
    for name, side in (("reverse.embed_pe", "mt"), ("reverse.head", "mt"), ("reverse.embed_inputs.mt", "pe")):
        after, source = (model.get_parameter(f"{name}.weight") for model in (ours, theirs))
        theirs_of = {token: row for row, token in enumerate(other_text.tokens[side])}
        both = [(row, theirs_of[token]) for row, token in enumerate(text.tokens[side]) if token in theirs_of]
        assert all(torch.equal(after[row], source[place]) for row, place in both), name


def test_a_transfer_without_any_matrix_is_an_error() -> None:
    ours, theirs = tiny_models.folder("m-cgru", embedding=6, hidden=6, attention=6), tiny_models.folder("m-cgru")
    with pytest.raises(RecipeError, match="none of its matrices has the same name and shape") as caught:
        take_weights(ours.model, ours.processor.tokens, theirs.model, theirs.processor.tokens)
    assert "in the other model" in str(caught.value)


def test_check_sizes_agrees_with_take_weights() -> None:
    """For every pair of models; tied weights have several names, and vocabularies may differ in size."""
    models = [
        tiny_models.folder(name, **options)
        for name, options in (
            ("m-cgru", {}),
            ("m-cgru", {"embedding": 6, "hidden": 6, "attention": 6}),
            ("m-cgru", {"share_embeddings": "all", "tie_output": True}),
            ("transference", {}),
            ("transference", {"share_embeddings": "all", "tie_output": True}),
            ("shared-attention", {}),
        )
    ]
    for ours, theirs in product(models, models):
        taking = copy.deepcopy(ours.model)
        assert fits(take_weights, taking, ours.processor.tokens, theirs.model, theirs.processor.tokens) == fits(
            check_sizes, ours.model, theirs.model
        )


def fits(check: Callable[..., object], *arguments: object) -> bool:
    try:
        check(*arguments)
    except RecipeError:
        return False
    return True


@pytest.mark.parametrize("rows", [5, 5000])
def test_vocabularies_of_any_size_fit(rows: int) -> None:
    ours = tiny_models.folder("m-cgru").model
    width = ours.get_parameter("embed_pe.weight").shape[1]

    def other(width: int) -> Seq2Seq:
        model = nn.Module()
        model.embed_pe = nn.Embedding(rows, width)
        return cast(Seq2Seq, model)

    check_sizes(ours, other(width))
    with pytest.raises(RecipeError, match=f"it is {rows} x {width + 1} in the other model"):
        check_sizes(ours, other(width + 1))
