"""Laws 3, 4 and 5: a state is a value, and remembers the tokens of each row and nothing else."""

import random
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import (
    DTYPES,
    SUBJECTS_BY_DTYPE,
    Sentence,
    alone,
    assert_close,
    batch_of,
    build,
    random_prefix,
    random_sentences,
    slow_unless_representative,
    tried,
)
from torch import Tensor

from postedit.core.model import Seq2Seq, State
from postedit.core.special_tokens import PAD
from postedit.nn.inference import prepare_for_inference
from postedit.nn.int8 import Int8Linear

INT8 = ("transformer/both", "transference", "dual-transformer")
"""Transformers whose caches are tried in int8 as well; the caches are the same in all others."""

seeds = st.integers(0, 2**32)


@pytest.fixture(scope="module", params=[*SUBJECTS_BY_DTYPE, *slow_unless_representative(INT8)])
def model(request: pytest.FixtureRequest) -> Seq2Seq:
    """Return the tiny models in the precisions that they are tried in, some also in int8, without gradients."""
    name, _, dtype = request.param.rpartition("-")
    if request.param not in INT8:
        return build(name, DTYPES[dtype]).requires_grad_(False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Int8Linear, "min_weights", 1)
        return prepare_for_inference(build(request.param, torch.float32).requires_grad_(False), "int8")


@tried(4)
@given(seed=seeds, chunks=st.lists(st.integers(1, 4), min_size=1, max_size=6))
def test_law_3_decoding_in_chunks_equals_decoding_at_once(model: Seq2Seq, seed: int, chunks: list[int]) -> None:
    rng = random.Random(seed)
    batch = batch_of(random_sentences(rng, model, count=3))
    tokens = torch.tensor([random_prefix(rng, model, sum(chunks)) for _ in range(3)])
    whole, _ = model.decode(tokens, model.encode(batch))
    state = model.encode(batch)
    pieces = []
    for chunk in tokens.split(chunks, 1):
        output, state = model.decode(chunk, state)
        pieces.append(output)
    assert_close(torch.cat([piece.log_probs for piece in pieces], 1), whole.log_probs)
    for key, weights in whole.attention.items():
        assert_close(torch.cat([piece.attention[key] for piece in pieces], 1), weights)
    for name, values in whole.aux.items():
        assert_close(torch.cat([piece.aux[name] for piece in pieces], 1), values)


@tried(4)
@given(seed=seeds, rows=st.lists(st.integers(0, 3), min_size=1, max_size=7), before=st.integers(0, 3))
def test_law_4_select_commutes_with_decode(model: Seq2Seq, seed: int, rows: list[int], before: int) -> None:
    rng = random.Random(seed)
    tokens = torch.tensor([random_prefix(rng, model, before + 4) for _ in range(4)])
    state = model.encode(batch_of(random_sentences(rng, model, count=4)))
    if before:
        _, state = model.decode(tokens[:, :before], state)
    index = torch.tensor(rows)
    output, after = model.decode(tokens[:, before : before + 2], state)
    selected, selected_after = model.decode(tokens[index, before : before + 2], state.select(index))
    assert_close(selected.log_probs, output.log_probs[index])
    for key, weights in output.attention.items():
        assert_close(selected.attention[key], weights[index])
    last, _ = model.decode(tokens[index, before + 2 :], after.select(index))
    selected_last, _ = model.decode(tokens[index, before + 2 :], selected_after)
    assert_close(selected_last.log_probs, last.log_probs)


@tried(4)
@given(seed=seeds, keep=st.lists(st.integers(0, 4), min_size=3, max_size=3), before=st.integers(0, 2))
def test_law_5_rollback_equals_never_having_decoded(model: Seq2Seq, seed: int, keep: list[int], before: int) -> None:
    rng = random.Random(seed)
    sentences = random_sentences(rng, model, count=3)
    prefixes = [random_prefix(rng, model, before + 4) for _ in sentences]
    state = model.encode(batch_of(sentences))
    if before:
        _, state = model.decode(torch.tensor([prefix[:before] for prefix in prefixes]), state)
    _, state = model.decode(torch.tensor([prefix[before:] for prefix in prefixes]), state)
    state = state.rollback(torch.tensor(keep))
    rest = torch.tensor([random_prefix(rng, model, 3) for _ in sentences])
    output, _ = model.decode(rest, state)
    for row, sentence in enumerate(sentences):
        history = prefixes[row][: before + keep[row]]
        assert_close(output.log_probs[row], alone(model, sentence, [*history, *rest[row].tolist()])[len(history) :])


@tried(4)
@given(seed=seeds, read=st.tuples(st.integers(0, 3), st.integers(0, 3)))
def test_law_5_joining_states_leaves_their_rows_unchanged(model: Seq2Seq, seed: int, read: tuple[int, int]) -> None:
    rng = random.Random(seed)
    joined, expected, tokens = None, [], torch.tensor([random_prefix(rng, model, 2) for _ in range(4)])
    for part, count in enumerate(read):
        state = model.encode(batch_of(random_sentences(rng, model, count=2)))
        if count:
            _, state = model.decode(torch.tensor([random_prefix(rng, model, count) for _ in range(2)]), state)
        expected.append(model.decode(tokens[2 * part : 2 * part + 2], state)[0])
        joined = state if joined is None else joined.join(state)
    assert joined is not None
    output, _ = model.decode(tokens, joined)
    assert_close(output.log_probs, torch.cat([part.log_probs for part in expected]))
    for key, weights in output.attention.items():
        for part, rows in zip(expected, weights.split(2)):
            width = part.attention[key].size(2)
            assert_close(rows[..., :width], part.attention[key])
            assert not rows[..., width:].any()


@dataclass
class Rows:
    """A state, and, kept apart from it, what each of its rows must remember."""

    model: Seq2Seq
    state: State
    sentences: list[Sentence]
    histories: list[list[int]]
    last: int = 0  # tokens of the last decode: how far a rollback may go

    def decode(self, rng: random.Random, count: int) -> None:
        """Decode `count` tokens a row and compare what the model says with each row decoded afresh, alone."""
        added = [random_prefix(rng, self.model, count) for _ in self.sentences]
        output, self.state = self.model.decode(torch.tensor(added), self.state)
        self.histories = [history + tokens for history, tokens in zip(self.histories, added)]
        self.last = count
        for log_probs, sentence, history in zip(output.log_probs, self.sentences, self.histories):
            assert_close(log_probs, alone(self.model, sentence, history)[-count:])

    @torch.no_grad()
    def decode_uneven(self, rng: random.Random) -> None:
        """Decode other numbers of tokens in other rows, none in some, PAD filling them up, and take PAD back."""
        counts = [rng.randint(0, 4) for _ in self.sentences]
        added = [random_prefix(rng, self.model, count) if count else [] for count in counts]
        width = max(1, *counts)
        tokens = torch.tensor([row + [PAD] * (width - len(row)) for row in added])
        output, state = self.model.decode(tokens, self.state)
        self.state = state.rollback(torch.tensor(counts))
        self.histories = [history + row for history, row in zip(self.histories, added)]
        self.last = 0
        said = output.distribution.at(tokens != PAD).log_probs().squeeze(1).split(counts)
        for log_probs, count, sentence, history in zip(said, counts, self.sentences, self.histories):
            if count:
                assert_close(log_probs, alone(self.model, sentence, history)[-count:])

    def select(self, rng: random.Random) -> None:
        """Expand, reorder and drop rows at random."""
        rows = [rng.randrange(len(self.sentences)) for _ in range(rng.randint(1, 5))]
        self.state = self.state.select(torch.tensor(rows))
        self.sentences = [self.sentences[row] for row in rows]
        self.histories = [self.histories[row] for row in rows]

    def join(self, rng: random.Random) -> None:
        """Add rows of another batch, which have read something or nothing."""
        sentences = random_sentences(rng, self.model, count=2)
        others = Rows(self.model, self.model.encode(batch_of(sentences)), sentences, [[] for _ in sentences])
        if count := rng.randint(0, 3):
            others.decode(rng, count)
            others.rollback(rng)
        self.state = self.state.join(others.state)
        self.sentences = self.sentences + others.sentences
        self.histories = self.histories + others.histories
        self.last = 0

    def rollback(self, rng: random.Random) -> None:
        """Take back some of the tokens of the last decode, other numbers in other rows."""
        keep = [rng.randint(0, self.last) for _ in self.sentences]
        self.state = self.state.rollback(torch.tensor(keep))
        self.histories = [history[: len(history) - self.last + kept] for history, kept in zip(self.histories, keep)]
        self.last = 0


@tried(8)
@given(
    seed=seeds,
    operations=st.lists(st.sampled_from(["step", "chunk", "uneven", "select", "rollback", "join"]), max_size=9),
)
def test_laws_3_to_5_hold_together_in_any_order(model: Seq2Seq, seed: int, operations: list[str]) -> None:
    rng = random.Random(seed)
    sentences = random_sentences(rng, model, count=3)
    rows = Rows(model, model.encode(batch_of(sentences, junk=rng)), sentences, [[] for _ in sentences])
    for operation in operations:
        match operation:
            case "step":
                rows.decode(rng, 1)
            case "chunk":
                rows.decode(rng, rng.randint(2, 4))
            case "uneven":
                rows.decode_uneven(rng)
            case "select":
                rows.select(rng)
            case "rollback":
                rows.rollback(rng)
            case "join":
                rows.join(rng)
    rows.decode(rng, 2)


@pytest.mark.parametrize("count", [1, 3])
def test_states_are_values(model: Seq2Seq, count: int) -> None:
    rng = random.Random(count)
    sentences = random_sentences(rng, model, count=3)
    first, second, third = (torch.tensor([random_prefix(rng, model, count) for _ in sentences]) for _ in range(3))
    _, state = model.decode(first, model.encode(batch_of(sentences)))
    before = said(model, second, state)
    _, after = model.decode(third, state)
    after.rollback(torch.tensor([0, count, 1]))
    state.select(torch.tensor([2, 0]))
    ragged = state.rollback(torch.tensor([0, count, 0]))
    held = said(model, second, ragged)
    model.decode(third, ragged)
    assert torch.equal(said(model, second, state), before), "a decode, select or rollback changed an older state"
    assert torch.equal(said(model, second, ragged), held), "a decode changed the ragged state that it started from"


def test_two_continuations_of_one_state_do_not_interfere(model: Seq2Seq) -> None:
    """Also where there is room left in a cache, as when the longest row of a ragged state was dropped."""
    rng = random.Random(1)
    sentences = random_sentences(rng, model, count=3)
    first, second, third = (torch.tensor([random_prefix(rng, model, 3) for _ in sentences]) for _ in range(3))
    _, state = model.decode(first, model.encode(batch_of(sentences)))
    short = state.rollback(torch.tensor([1, 3, 0])).select(torch.tensor([0, 2]))
    _, future = model.decode(second[:2, 1:2], short)
    before = said(model, first[:2], future)
    model.decode(third[:2, 1:2], short)
    assert torch.equal(said(model, first[:2], future), before)


def said(model: Seq2Seq, tokens: Tensor, state: State) -> Tensor:
    return model.decode(tokens, state)[0].log_probs
