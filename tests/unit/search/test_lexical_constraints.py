"""Words that are banned and required, and beginnings that are given, against all outputs of a small vocabulary."""

import itertools
import re

import pytest
import torch
from guarded import FIRST, after, assert_the_way_to_the_end, outputs, passing

from postedit.core.special_tokens import EOS, STEP, UNK
from postedit.core.token_spelling import Spelling
from postedit.search.automata import Automaton
from postedit.search.lexical_constraints import Banned, BannedPhrases, Beginning, MissingPhrases, NoUnknown, Required

PIECES = [" a", "a", "b", " ab", "ba", " ", "-"]
SPELLING = Spelling([""] * FIRST + PIECES, str.isalpha)
LONGEST = 4
CPU = torch.device("cpu")
OUTPUTS = [*outputs(len(PIECES), LONGEST)]


def text_of(output: tuple[int, ...]) -> str:
    return re.sub(" +", " ", SPELLING.spell(output)).removeprefix(" ")


def has(text: str, phrase: str) -> bool:
    start = "(?<![a-z])" if phrase[0].isalpha() else ""
    end = "(?![a-z])" if phrase[-1].isalpha() else ""
    return re.search(start + re.escape(phrase) + end, text) is not None


PHRASES = [["a b"], ["ab", "ba"], ["a-b", "b"]]
PHRASES += [pytest.param(one, marks=pytest.mark.slow) for one in (["a"], ["ab"], ["-"], ["a a", "aa"], ["ba ab", "-a"])]


@pytest.mark.parametrize("phrases", PHRASES, ids=str)
def test_exactly_the_outputs_without_a_banned_phrase_may_be_written(phrases: list[str]) -> None:
    guard = Banned(SPELLING, phrases).start([BannedPhrases(frozenset(phrases))], SPELLING.size, CPU)
    clean = set[tuple[int, ...]]()
    for output in OUTPUTS:  # each after its beginnings
        if not any(has(text_of(output), phrase) for phrase in phrases) and (not output or output[:-1] in clean):
            clean.add(output)
    assert passing(guard, len(PIECES), LONGEST) == clean


def test_a_token_that_goes_on_after_a_banned_phrase_is_forbidden() -> None:
    spelling = Spelling([""] * FIRST + ["a", "b", "b-"], str.isalpha)
    guard = Banned(spelling, ["ab"]).start([BannedPhrases(frozenset(["ab"]))], spelling.size, CPU)
    assert guard.allowed()[0, FIRST:].tolist() == [True, True, True]
    assert guard.advance(torch.tensor([FIRST])).allowed()[0, FIRST:].tolist() == [True, False, False]


@pytest.mark.parametrize("phrases", PHRASES, ids=str)
def test_an_output_may_end_when_it_has_all_that_is_required(phrases: list[str]) -> None:
    guard = Required(SPELLING, phrases).start([MissingPhrases(frozenset(phrases))], SPELLING.size, CPU)
    complete = {output for output in OUTPUTS if all(has(text_of(output), phrase) for phrase in phrases)}
    assert passing(guard, len(PIECES), LONGEST) == complete


@pytest.mark.slow
@pytest.mark.parametrize("phrases", PHRASES, ids=str)
def test_required_phrases_can_be_written_from_every_state(phrases: list[str]) -> None:
    guard = Required(SPELLING, phrases).start([MissingPhrases(frozenset(phrases))], SPELLING.size, CPU)
    for output in outputs(len(PIECES), 3):
        written = after(guard, output)
        assert written is not None
        assert_the_way_to_the_end(written)
        proposals = set(written.proposals()[0].tolist()) - {EOS}
        assert bool(proposals) == (int(written.to_end()) > 0)


@pytest.mark.parametrize("beginning", ["", " a", " ab a", " ", " a-", " aba", "a"], ids=repr)
def test_exactly_the_outputs_with_the_prefix_may_be_written(beginning: str) -> None:
    guard = Beginning(SPELLING).start([beginning], SPELLING.size, CPU)
    begun = {output for output in OUTPUTS if SPELLING.spell(output).startswith(beginning)}
    assert passing(guard, len(PIECES), LONGEST) == begun
    assert_the_way_to_the_end(guard)


def test_the_ways_to_the_end_of_a_prefix_are_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    next_tokens = Spelling.next_tokens
    monkeypatch.setattr(Spelling, "next_tokens", lambda self, text: asked.append(text) or next_tokens(self, text))
    beginnings = [" ab a-" * 20, "ba" * 30]
    guard = Beginning(SPELLING).start(beginnings, SPELLING.size, CPU)
    written: list[list[int]] = [[], []]
    while (tokens := guard.closing()).ne(EOS).any():
        for row, token in zip(written, tokens.tolist(), strict=True):
            row += [token] if token != EOS else []
        guard = guard.advance(tokens)
    assert [SPELLING.spell(row) for row in written] == beginnings
    assert asked == beginnings


def test_the_unknown_is_never_written() -> None:
    guard = NoUnknown().start([None, None], SPELLING.size, CPU)
    assert (~guard.allowed()).nonzero().tolist() == [[0, UNK], [1, UNK]]


def test_rows_have_their_own_demands_and_steps_pass() -> None:
    machine = Required(SPELLING, ["ab", "ba"])
    states = [MissingPhrases(frozenset(phrases)) for phrases in ([], ["ab"], ["ab", "ba"])]
    guard = machine.start(states, SPELLING.size, CPU).select(torch.tensor([2, 0, 1]))
    assert guard.to_end().tolist() == [3, 0, 1]  # " ab", and then " " and "ba"
    guard = guard.advance(torch.tensor([STEP, STEP, FIRST + PIECES.index(" ab")]))
    assert guard.to_end().tolist() == [3, 0, 0]
    assert guard.allowed()[:, EOS].tolist() == [False, True, True]
    assert guard.allowed()[:, STEP].all()


def test_a_state_is_worked_out_once() -> None:
    class Counting(Automaton[int]):
        asked = 0

        def step(self, state: int, symbol: int) -> int:
            self.asked += 1
            return (state + symbol) % 3

        def permit(self, state: int):
            return NoUnknown().permit(None)

    machine = Counting()
    guard = machine.start([0] * 100, 20, CPU)
    for token in itertools.islice(itertools.cycle([7, 8]), 50):
        guard = guard.advance(torch.full((100,), token))
    assert machine.asked <= 6
