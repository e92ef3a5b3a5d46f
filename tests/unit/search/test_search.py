"""Search at its edges, on a model whose predictions are written down."""

import math
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from torch import Tensor
from written import SIZE, A, B, C, Table, batch, limits

from postedit.core.errors import DataError, ModelFolderError
from postedit.core.model import Vocabularies, VocabularyInfo, Writes
from postedit.core.special_tokens import BOS, EOS, PAD, SEP, STEP, UNK
from postedit.core.token_spelling import Spelling
from postedit.search import (
    DraftGroup,
    DraftSearch,
    Ensemble,
    Guidance,
    Hypothesis,
    SearchConfig,
    beam_search,
    draft_decode,
    greedy,
)
from postedit.search.automata import AutomatonRows
from postedit.search.beam import _Live
from postedit.search.guidance import NO_GUIDANCE
from postedit.search.lexical_constraints import MissingPhrases, Required
from postedit.search.repetition import NoRepeat
from postedit.search.rules import NextTokens, Rules


def searched(model: Table, kind: str, limit: int, draft: Sequence[int] = ()) -> Hypothesis:
    if kind == "greedy":
        return greedy(model, batch(), limits(limit))[0]
    if kind == "draft":
        return draft_decode(model, batch(), [draft], limits(limit))[0]
    return beam_search(model, batch(), limits(limit), SearchConfig(beam=3))[0][0]


KINDS = ["greedy", "draft", "beam"]
ENDLESS = {A: 0.6, B: 0.3, EOS: 0.1}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limit", [0, 1, 5])
def test_an_output_at_its_limit_ends_with_the_model_s_probability(kind: str, limit: int) -> None:
    found = searched(Table({}, ENDLESS), kind, limit, draft=[A] * 9)
    if kind != "beam":  # a beam may find a shorter one that is better by symbol
        assert found.tokens == (A,) * limit
        assert found.token_scores == pytest.approx([math.log(0.6)] * limit + [math.log(0.1)])
    assert len(found.tokens) <= limit
    assert found.hit_limit == (len(found.tokens) == limit)
    assert len(found.token_scores) == len(found.tokens) + 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [math.nan, 0.0], ids=["not a number", "no probability"])
def test_a_model_without_finite_log_probs_is_refused(kind: str, bad: float) -> None:
    with pytest.raises(ModelFolderError, match="weights are damaged"):
        searched(Table({}, {A: 1.0, EOS: bad} if bad == 0.0 else dict.fromkeys(range(SIZE), bad)), kind, 4)


def test_a_damaged_model_is_refused_under_guidance_too() -> None:
    table = Table({(): {A: 0.6, B: 0.4}, (A,): dict.fromkeys(range(SIZE), math.nan)})
    guidance = Guidance(guards=(NoRepeat.of(2, (torch.full((1, 1), PAD),), SIZE),))
    with pytest.raises(ModelFolderError, match="weights are damaged"):
        greedy(table, batch(), limits(4), guidance)
    with pytest.raises(ModelFolderError, match="weights are damaged"):
        beam_search(table, batch(), limits(4), SearchConfig(beam=3), guidance)


def test_padding_and_the_start_are_never_written() -> None:
    model = Table({(): {PAD: 0.5, BOS: 0.3, A: 0.2}})
    assert [searched(model, kind, 3).tokens for kind in KINDS] == [(A,)] * 3


def test_a_beam_wider_than_the_search_space_returns_all_outputs() -> None:
    model = Table({(): {A: 0.6, B: 0.4}})
    (found,) = beam_search(model, batch(), limits(3), SearchConfig(beam=50, n_best=50))
    assert [hypothesis.tokens for hypothesis in found] == [(A,), (B,)]
    assert [math.exp(hypothesis.score) for hypothesis in found] == pytest.approx([0.6, 0.4])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 0}, "beam: must be at least 1"),
        ({"beam": 2, "n_best": 3}, r"n_best must be between 1 and beam \(2\)"),
        ({"beam": 2, "n_best": 0}, "n_best: must be at least 1"),
        ({"length_penalty": -0.5}, "length_penalty: must be at least 0"),
        ({"post_edit_penalty": math.nan}, "post_edit_penalty: must be a finite number"),
        ({"edit_cost": -1.0}, "edit_cost: must be at least 0"),
        ({"max_edits": -1}, "max_edits: must be at least 0"),
        ({"no_repeat": -1}, "no_repeat: must be at least 0"),
        ({"banned": [" "]}, "banned"),
        ({"normalisation": "mean"}, "normalisation: must be 'power' or 'wu'"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        SearchConfig(**options)


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        (("steps", "tokens"), "model 1 writes STEPs of hard attention, model 2 writes tokens alone"),
        (("tokens", "steps"), "model 1 writes tokens alone, model 2 writes STEPs of hard attention"),
        (("steps", "operations"), "model 1 writes STEPs of hard attention, model 2 writes edit operations"),
    ],
)
def test_models_that_write_different_things_are_no_ensemble(kinds: tuple[Writes, ...], message: str) -> None:
    members = [Table({}), Table({})]
    for member, kind in zip(members, kinds):
        member.spec = replace(member.spec, writes=kind)
    with pytest.raises(ModelFolderError, match=message):
        Ensemble(members)


INFO = Table({}).spec.vocabularies.target
TEXT = (A, B, B, B, A, B, C)
WRITES_TEXT = {TEXT[:i]: {TEXT[i]: 0.9, EOS: 0.1} for i in range(len(TEXT))}


@pytest.mark.parametrize(
    "draft", [[], list(TEXT), [A, B, A, B, A, B, C], [C] * 40, [A, C, *TEXT[1:]], [PAD, BOS]], ids=str
)
def test_any_draft_gives_the_output_of_greedy_search(draft: list[int]) -> None:
    for limit in (0, 1, 3, 7, 20):
        expected = searched(Table(WRITES_TEXT), "greedy", limit)
        assert searched(Table(WRITES_TEXT), "draft", limit, draft) == expected


def test_a_perfect_draft_takes_one_call_and_one_with_an_edit_a_few() -> None:
    perfect, edited = Table(WRITES_TEXT), Table(WRITES_TEXT)
    searched(perfect, "draft", 20, TEXT)
    assert perfect.calls == [len(TEXT) + 2]  # BOS, the draft and its end
    searched(edited, "draft", 20, [A, C, B, B, A, B, C])
    assert len(edited.calls) < len(TEXT)


def groups(sizes: Sequence[int], drafts: Sequence[Sequence[int]], most: Sequence[int]) -> list[DraftGroup]:
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return [
        DraftGroup(batch(size), drafts[end - size : end], limits(*most[end - size : end]))
        for size, end in zip(sizes, ends, strict=True)
    ]


@pytest.mark.parametrize("rows", [1, 2, 3, 8])
def test_groups_of_any_size_come_back_in_order_whatever_the_rows(rows: int) -> None:
    sizes, most = [2, 1, 3, 1], [20, 3, 0, 20, 1, 20, 5]
    drafts = [TEXT, [], [A, B, C], [C] * 9, list(TEXT[:4]), [B, *TEXT], TEXT]
    found = list(DraftSearch(Table(WRITES_TEXT), rows)(groups(sizes, drafts, most)))
    assert [len(group) for group in found] == sizes
    assert [len(hypothesis.tokens) for group in found for hypothesis in group] == [min(7, limit) for limit in most]
    expected = [searched(Table(WRITES_TEXT), "greedy", limit) for limit in most]
    assert [hypothesis for group in found for hypothesis in group] == expected


def test_a_finished_sentence_gives_its_place_to_the_next() -> None:
    model = Table(WRITES_TEXT)
    # One sentence without a draft takes all of 8 calls; the others fit beside it, one after the other.
    drafts: list[Sequence[int]] = [[], *[TEXT] * 6]
    search = DraftSearch(model, 2, call_cost=100.0)
    list(search(groups([1] * 7, drafts, [20] * 7)))
    assert search.calls == len(model.calls) == len(TEXT) + 1


GARDEN_PATH = {(): {A: 0.6, B: 0.4}, (A,): {A: 0.34, B: 0.33, C: 0.33}, (B,): {C: 0.9, EOS: 0.1}, (B, C): {EOS: 1.0}}


@pytest.mark.parametrize(
    ("draft", "shortlist", "expected"),
    [([B, C], 0, (B, C)), ([B, C], SIZE - 1, (B, C)), ([B], 0, (A, A)), ([A, A], 0, (A, A)), ([], 0, (A, A))],
)
def test_a_draft_that_ranks_higher_is_the_output(draft: list[int], shortlist: int, expected: tuple[int, ...]) -> None:
    table, ranking = Table(GARDEN_PATH, {EOS: 1.0}), SearchConfig(length_penalty=0.0)
    groups = [DraftGroup(batch(), [draft], limits(9))]
    ((greedily,),) = DraftSearch(table, shortlist=shortlist)(groups)
    assert greedily.tokens == (A, A)
    ((found,),) = DraftSearch(table, shortlist=shortlist, ranking=ranking)(groups)
    assert found.tokens == expected
    if found.tokens == (B, C):
        assert found.token_scores == pytest.approx([math.log(0.4), math.log(0.9), 0.0])


@pytest.mark.parametrize("draft", [[], [A], [A, A, B]], ids=str)
def test_a_draft_that_is_stuck_has_not_met_its_limit(draft: list[int]) -> None:
    table = Table({(A,): {A: 1.0}}, {A: 1.0})
    guidance = Guidance(guards=(NoRepeat.of(1, (torch.full((1, 1), PAD),), SIZE),))
    (found,) = draft_decode(table, batch(), [draft], limits(9), guidance)
    assert found == greedy(table, batch(), limits(9), guidance)[0] == Hypothesis((A,), (0.0,), stuck=True)


def test_a_draft_beyond_the_limit_is_not_the_output() -> None:
    table = Table({**GARDEN_PATH, (A,): {A: 0.6, EOS: 0.4}}, {EOS: 1.0})
    ((found,),) = DraftSearch(table, ranking=SearchConfig())([DraftGroup(batch(), [[B, C]], limits(1))])
    assert (found.tokens, found.hit_limit) == ((A,), True)


@pytest.mark.parametrize(("patience", "expected"), [(1.0, (A,)), (2.0, (B,) * 6)])
def test_patience_lets_a_beam_go_on(patience: float, expected: tuple[int, ...]) -> None:
    # Both hypotheses end after one symbol; by symbol, one that goes on is better.
    begins = {(): {A: 0.6, B: 0.4}, (A,): {EOS: 0.9, C: 0.1}, (B,): {EOS: 0.55, B: 0.45}}
    goes_on = {(B,) * length: {B: 1.0} for length in range(2, 6)}
    goes_on |= {(A, *(C,) * length): {C: 1.0} for length in range(1, 9)}
    table = Table({**begins, **goes_on}, {EOS: 1.0})
    asked = SearchConfig(beam=2, patience=patience)
    ((best,),) = beam_search(table, batch(), limits(9), asked)
    assert best.tokens == expected
    _, (beside,) = beam_search(table, batch(2), limits(1, 9), asked)
    assert beside == best, "each sentence has its own limit"


def test_a_beam_goes_on_while_a_hypothesis_may_win_at_its_limit() -> None:
    table = Table({(): {EOS: 0.4, A: 0.35, B: 0.25}}, {EOS: 1.0})  # by token, A and EOS are better than EOS alone
    ((best,),) = beam_search(table, batch(), limits(1), SearchConfig(beam=2, patience=9.0))
    assert best.tokens == (A,)


def test_no_input_gives_no_output() -> None:
    assert list(DraftSearch(Table(WRITES_TEXT))([])) == []


class Banned:
    """A constraint that never allows one symbol."""

    def __init__(self, symbol: int, rows: int, written: int = 0) -> None:
        self.symbol, self.rows, self.written = symbol, rows, written

    def allowed(self) -> Tensor:
        allowed = torch.ones(self.rows, SIZE, dtype=torch.bool)
        if self.written == 2:
            allowed[:, self.symbol] = False
        return allowed

    def to_end(self) -> Tensor:
        return torch.zeros(self.rows, dtype=torch.long)

    def closing(self) -> Tensor:
        return torch.full((self.rows,), EOS)

    def advance(self, tokens: Tensor) -> "Banned":
        return Banned(self.symbol, self.rows, self.written + 1)

    def select(self, rows: Tensor) -> "Banned":
        return Banned(self.symbol, len(rows), self.written)


@pytest.mark.parametrize("draft", [[], list(TEXT), [A, B, A, B]], ids=str)
def test_a_constraint_that_depends_on_what_is_written_holds_for_drafts(draft: list[int]) -> None:
    table = Table({**WRITES_TEXT, (A, B): {B: 0.6, C: 0.4}, (A, B, C): {A: 0.9, EOS: 0.1}, (A, B, C, A): {EOS: 1.0}})
    table.constraints = lambda batch: [Banned(B, batch.rows)]  # type: ignore[method-assign]
    (found,) = draft_decode(table, batch(), [draft], limits(20))
    assert found == greedy(table, batch(), limits(20))[0]
    assert found.tokens == (A, B, C, A), "without the constraint its third symbol is B"


@pytest.mark.parametrize("guided", [[False, True, False], [True, False, True]], ids=str)
def test_groups_with_guidance_are_searched_apart_from_others(guided: list[bool]) -> None:
    guard = NoRepeat.of(2, (torch.full((2, 1), PAD),), SIZE)
    guidance = [Guidance(guards=(guard,)) if one else NO_GUIDANCE for one in guided]
    groups = [DraftGroup(batch(2), [[], TEXT[:4]], limits(20, 20), one) for one in guidance]
    found = [[one.tokens for one in group] for group in DraftSearch(Table(WRITES_TEXT), 8)(groups)]
    assert found == [[(A, B, B) if one else TEXT] * 2 for one in guided]


@pytest.mark.parametrize(("alpha", "length", "expected"), [(0.6, 7, 2.0**0.6), (1.0, 1, 1.0), (0.0, 9, 1.0)])
def test_lengths_are_normalised_as_by_wu_et_al(alpha: float, length: int, expected: float) -> None:
    """Wu et al. 2016, equation 14: (5 + |Y|)^alpha / (5 + 1)^alpha."""
    settings = SearchConfig(length_penalty=alpha, normalisation="wu")
    assert settings.normaliser(length) == pytest.approx(expected)
    assert SearchConfig(length_penalty=alpha).normaliser(length) == pytest.approx(length**alpha)


LETTERS = Spelling([""] * A + [" a", " b", " c"], str.isalpha)


def required(*rows: set[str]) -> AutomatonRows[MissingPhrases]:
    goal = Required(LETTERS, set().union(*rows))
    return goal.start([MissingPhrases(frozenset(phrases)) for phrases in rows], SIZE, torch.device("cpu"))


@pytest.mark.parametrize(
    "begins", [{A: 0.5, B: 0.4, C: 0.1}, {A: 0.4, B: 0.3, UNK: 0.1, SEP: 0.1, STEP: 0.09, C: 0.01}], ids=["few", "many"]
)
def test_a_beam_is_shared_by_hypotheses_near_their_goal_and_far_from_it(begins: dict[int, float]) -> None:
    table = Table({(): begins, (C,): {EOS: 1.0}}, {A: 0.5, B: 0.3999, C: 0.0001, EOS: 0.1})
    settings = SearchConfig(beam=2, length_penalty=0.0)
    ((best,),) = beam_search(table, batch(), limits(5), settings, Guidance(goals=(required({"c"}),)))
    assert best.tokens == (C,), "less probable than any beginning without the goal, but not its last resort"


def test_a_row_that_wants_less_than_others_may_end_once() -> None:
    guidance = Guidance(goals=(required(set(), {"a", "b"}),))
    scores = torch.tensor([[-9.0, -9.0, -6.0, -1.0, -2.0, -3.0, -4.0, -4.1, -4.2]]).repeat(2, 1)
    best = Rules(limits(9, 9), (), guidance).best(scores, 0, 3)
    written = best.tokens.masked_fill(best.ranked == -math.inf, PAD)
    assert written.tolist() == [[UNK, STEP, SEP, EOS, PAD], [UNK, STEP, SEP, A, B]]


def test_finished_hypotheses_take_no_place_in_the_beam() -> None:
    spread = {(A,): {A: 0.34, B: 0.33, C: 0.33}, (B,): {C: 1.0}}
    table = Table({(): {EOS: 0.4, A: 0.35, B: 0.25}, **spread})
    ((best,),) = beam_search(table, batch(), limits(5), SearchConfig(beam=2, length_penalty=1.0))
    assert best.tokens == (B, C)


def test_a_shortlist_holds_the_first_tokens_and_those_of_the_segment() -> None:
    wants_c = {(): {C: 0.6, B: 0.3, A: 0.1}}
    rest = {EOS: 1.0}
    for draft, expected in (([A], A), ([A, B], B), ([C], C), ([], None)):
        search = DraftSearch(Table(wants_c, rest), 4, shortlist=A)
        group = DraftGroup(batch(2), [draft, [C]], limits(9, 9))  # the second one's symbols are not the first one's
        ((found, other),) = search([group])
        # The stream of mt has As alone, and is in the same vocabulary.
        assert found.tokens == (expected or A,)
        assert other.tokens == (C,)
    (whole,) = DraftSearch(Table(wants_c, rest), 4, shortlist=SIZE)([DraftGroup(batch(), [[A]], limits(9))])
    assert whole[0].tokens == (C,)


def test_a_finished_sentence_has_no_shortlist() -> None:
    group = DraftGroup(batch(5), [[C], *[[B]] * 4], limits(0, 3, 3, 3, 3))
    (found,) = DraftSearch(Table({}, {A: 0.6, B: 0.3, EOS: 0.1}), 5, shortlist=A)([group])
    assert [one.tokens for one in found] == [(), *[(A, A, A)] * 4]


@pytest.mark.parametrize("shortlist", [1, 2, 3, 5])
@pytest.mark.parametrize("draft", [[], [A], [C, B]], ids=str)
def test_a_shortlist_of_few_tokens_has_the_special_ones(shortlist: int, draft: list[int]) -> None:
    class Impatient(Table):
        def log_probs(self, written: tuple[int, ...]) -> list[float]:
            assert len(written) < 9, "the output has no end"
            return super().log_probs(written)

    model = Impatient({}, {C: 0.5, A: 0.3, B: 0.1, EOS: 0.1})
    model.spec = replace(model.spec, vocabularies=Vocabularies({"mt": VocabularyInfo(SIZE, "of mt")}, INFO))
    group = DraftGroup(batch(), [draft], limits(3))
    ((few,),), ((special,),) = (DraftSearch(model, shortlist=most)([group]) for most in (shortlist, A))
    assert few == special
    assert few.tokens == ((C,) * 3 if C in draft else tuple(draft) * 3)


def test_a_continuation_is_at_the_limit_of_its_own_hypothesis() -> None:
    ranked = torch.tensor([[-1.0, -3.0, -5.0, -7.0], [-2.0, -4.0, -6.0, -8.0]])
    best = NextTokens(torch.tensor([[5, 6, 7, 8]] * 2), ranked, ranked, torch.tensor([False, True]))
    rules: Any = SimpleNamespace(best=lambda *_: best, guidance=NO_GUIDANCE)
    live = _Live(cast(Any, None), rules, torch.tensor([0]), torch.zeros(1, 2, dtype=torch.long), torch.zeros(1, 2))
    found = live.candidates(torch.zeros(2, 9), 1)
    assert found.parents.tolist() == [[0, 1, 0, 1]]
    assert found.at_limit.tolist() == [[False, True, False, True]]
