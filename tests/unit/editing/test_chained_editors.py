"""Chains of editors: what changed from mt to the last text, and how search options reach both editors."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from postedit.core.edit_reasons import TrainingReason
from postedit.core.editor import Abilities, Constraints, Detail, Editor, Identity, PostEdit, Segment, Side
from postedit.core.errors import DataError
from postedit.core.search_config import SearchConfig
from postedit.editing.chained_editors import Chain, Drafted
from postedit.editing.post_editor import TwoStage
from postedit.text.edits import apply_edits, edits_between

REASON = TrainingReason(3, 2, 1, ())


class Replacing(Editor):
    """Replaces a word, with a confidence and perhaps a reason, and records what it is asked."""

    sources = ()

    def __init__(self, old: str, new: str, sure: float = 0.5, **able: object) -> None:
        self.old, self.new, self.sure = old, new, sure
        self.able = Abilities(n_best=True, **able)  # type: ignore[arg-type]
        self.asked: list[tuple[list[Segment], SearchConfig, Detail | None]] = []

    @property
    def abilities(self) -> Abilities:
        return self.able

    def identity(self, search: SearchConfig | None = None) -> Identity:
        return Identity((self.old,), {"edit_cost": (search or self.search).edit_cost})

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        config = search or self.search
        self.asked.append((list(segments), config, evidence))
        return [self._edited(one.mt or "", config.n_best, evidence) for one in segments]

    def _edited(self, mt: str, count: int, evidence: Detail | None) -> PostEdit:
        if not mt:
            return PostEdit("", False, skipped="empty")
        text = mt.replace(self.old, self.new)
        reasons = (REASON,) if evidence and self.able.reasons else ()
        edits = tuple(replace(edit, reasons=reasons) for edit in edits_between(mt, text))
        sure = (self.sure,) * len(edits)
        others = [PostEdit(f"{text} {number}", True, -number) for number in range(1, count)]
        kept = () if text == mt or count == 1 else (PostEdit(mt, False, -9.0),)
        return PostEdit(text, text != mt, 0.0, (), edits, confidences=sure, alternatives=(*others, *kept), reverted=1)


def edited(chain: Chain, mt: str, **options: object) -> PostEdit:
    (found,) = chain.edit(["src"], [mt], **options)  # type: ignore[arg-type]
    return found


def test_edits_of_both_are_edits_of_mt() -> None:
    found = edited(Chain(Replacing("a", "long", 0.5), Replacing("b", "c", 0.25)), "a x b")
    assert (found.text, found.changed, found.reverted) == ("long x c", True, 2)
    assert [one.mt_span for one in found.edits] == [(0, 1), (4, 5)]
    assert apply_edits("a x b", found.text, found.edits) == found.text
    assert found.confidences == (0.5, 0.25)
    assert found.score == pytest.approx(math.log(0.5) + math.log(0.25))
    assert found.token_scores == pytest.approx((math.log(0.5), math.log(0.25)))
    assert found.token_spans == ((0, 1), (1, 2))


def test_an_edit_of_an_edit_is_as_sure_as_the_less_sure_one() -> None:
    found = edited(Chain(Replacing("a", "b", 0.5), Replacing("b", "c", 0.75)), "a x")
    assert (found.text, found.confidences) == ("c x", (0.5,))


def test_what_is_taken_back_is_no_edit() -> None:
    found = edited(Chain(Replacing("a", "b"), Replacing("b", "a")), "a x")
    assert (found.text, found.changed, found.edits, found.score) == ("a x", False, (), 0.0)


def test_an_edit_of_probability_0_has_a_finite_score() -> None:
    assert math.isfinite(edited(Chain(Replacing("a", "b", 0.0), Replacing("x", "y")), "a x").score)


def test_only_a_segment_that_neither_reads_is_skipped() -> None:
    class Silent(Replacing):
        def _edited(self, mt: str, count: int, evidence: Detail | None) -> PostEdit:
            return PostEdit(mt, False, skipped="too long")

    one, silent = Replacing("a", "b"), Silent("", "")
    assert edited(Chain(silent, one), "a x").skipped is None
    assert edited(Chain(silent, one), "a x").text == "b x"
    assert edited(Chain(one, silent), "a x").skipped is None
    assert edited(Chain(one, silent), "a x").text == "b x"
    assert edited(Chain(silent, silent), "a x").skipped == "too long"


def test_reasons_are_those_of_editors_that_have_some() -> None:
    first, second = Replacing("a", "b"), Replacing("x", "y", reasons=True, evidence=True)
    chain = Chain(first, second)
    assert (chain.abilities.evidence, chain.abilities.reasons) == (True, True)
    found = edited(chain, "a - x", evidence="reasons")
    assert [one.reasons for one in found.edits] == [(), (REASON,)]
    assert (first.asked[-1][2], second.asked[-1][2]) == (None, "reasons")
    assert not Chain(first, first).abilities.evidence


def test_abilities_are_those_of_both() -> None:
    first = Replacing("a", "b", needs_mt=False, constraints=True, inputs=("mt",), languages=("en", ""), drafts=True)
    second = Replacing("a", "b", forced_scores=True, tokenises=True, languages=("", "de"))
    found = Chain(first, second).abilities
    assert found == Abilities(needs_mt=False, n_best=True, languages=("en", "de"), tokenises=True)
    assert Chain(first, first).abilities.inputs == ("mt",)
    phrases = Replacing("a", "b", token_search=False)
    assert Chain(first, phrases).abilities.token_search
    assert not Chain(phrases, phrases).abilities.token_search
    single = Replacing("a", "b")
    single.able = replace(single.able, n_best=False)
    assert [Chain(*both).abilities.n_best for both in ((first, single), (single, first))] == [True, False]
    with pytest.raises(DataError, match="one language pair, but one is for de, one for fr"):
        Chain(second, Replacing("a", "b", languages=("en", "fr")))


def test_prices_are_added_and_other_options_are_given_to_both() -> None:
    first, second = Replacing("a", "b"), Replacing("b", "c")
    first.search, second.search = SearchConfig(edit_cost=1.0, max_input=9), SearchConfig(edit_cost=0.25, beam=2)
    chain = Chain(first, second)

    def configs(**changed: object) -> tuple[SearchConfig, SearchConfig]:
        chain.edit(["s"], ["a"], search=chain.search.with_options(**changed))  # type: ignore[call-overload]
        return first.asked[-1][1], second.asked[-1][1]

    assert configs() == (first.search, second.search)
    assert [one.edit_cost for one in configs(edit_cost=1.5)] == [1.5, 0.75]
    assert [one.edit_cost for one in configs(edit_cost=0.0)] == [0.0, 0.0]
    assert [one.max_input for one in configs(max_input=5)] == [5, 5]
    assert [one.beam for one in configs(beam=4)] == [4, 4]
    assert [one.mbr for one in configs(beam=4, mbr=0.6)] == [0.6, 0.0], "the second corrects one output"
    assert chain.identity().settings == {"first.edit_cost": 1.0, "second.edit_cost": 0.25}
    assert chain.identity(chain.search.with_options(edit_cost=2.0)).settings["second.edit_cost"] == 1.25
    assert chain.identity().models == ("a", "b")
    chain.search = chain.search.with_options(edit_cost=3.0)
    chain.edit(["s"], ["a"])
    assert [one.asked[-1][1].edit_cost for one in (first, second)] == [3.0, 2.25]


def test_alternatives_are_outputs_of_the_first_and_mt() -> None:
    first, second = Replacing("a", "b"), Replacing("b", "c")
    found = edited(Chain(first, second), "a", beam=3, n_best=3)
    assert [one.text for one in (found, *found.alternatives)] == ["c", "b", "b 1", "a"]
    assert second.asked[-1][1].n_best == 1
    assert edited(Chain(first, second), "a").alternatives == ()
    found = edited(Chain(first, Replacing("b", "b 1")), "a", beam=3, n_best=3)
    assert [one.text for one in (found, *found.alternatives)] == ["b 1", "b", "b 2", "a"]
    assert not any(one.alternatives for one in found.alternatives)


def test_what_a_chain_cannot_do() -> None:
    chain = Chain(Replacing("a", "b"), Replacing("b", "c"))
    with pytest.raises(DataError, match="max_edits limits the edits of one model"):
        edited(chain, "a", search=SearchConfig(max_edits=1))
    with pytest.raises(DataError, match="edit_cost and max_edits compare outputs with mt"):
        Chain(Replacing("a", "b", needs_mt=False), chain.second).check(SearchConfig(edit_cost=1.0), with_mt=False)
    with pytest.raises(DataError, match="cannot score"):
        chain.score(["s"], ["a"], ["b"])
    with pytest.raises(DataError, match="does not learn"):
        chain.learn("s", "a", "b")


@pytest.mark.parametrize("event", ["hit_limit", "input_cut"])
def test_events_of_either_editor_are_told(event: str) -> None:
    class Limited(Replacing):
        def _edited(self, mt: str, count: int, evidence: Detail | None) -> PostEdit:
            return replace(super()._edited(mt, count, evidence), **{event: True})  # type: ignore[arg-type]

    plain, limited = Replacing("a", "b"), Limited("b", "c")
    assert getattr(edited(Chain(plain, limited), "a"), event)
    assert getattr(edited(Chain(limited, plain), "a"), event)
    assert not getattr(edited(Chain(plain, plain), "a"), event)


@pytest.mark.parametrize("event", ["hit_limit", "input_cut"])
def test_events_of_a_draft_are_told(event: str) -> None:
    class Draft(Replacing):
        def _edited(self, mt: str, count: int, evidence: Detail | None) -> PostEdit:
            return replace(PostEdit("a", True), **{event: True})  # type: ignore[arg-type]

    drafted, given = Drafted(Draft("", ""), Replacing("a", "b")).edit(["src"] * 2, [None, "a"])
    assert [getattr(one, event) for one in (drafted, given)] == [True, False]


def test_both_editors_check_the_options() -> None:
    class Strict(Replacing):
        def check(self, search: SearchConfig, *, with_mt: bool) -> None:
            super().check(search, with_mt=with_mt)
            if search.no_repeat:
                raise DataError("no_repeat is not for this one")

    lenient, strict = Replacing("a", "b", needs_mt=False), Strict("b", "c")
    strict.search = SearchConfig(edit_cost=1.0)  # it always has mt
    for chain in (Chain(lenient, strict), Chain(strict, lenient)):
        chain.check(chain.search, with_mt=chain.first is strict)
        with pytest.raises(DataError, match="no_repeat is not for this one"):
            chain.check(chain.search.with_options(no_repeat=2), with_mt=True)
    assert Chain(strict, lenient).edit([], []) == []


def test_words_are_those_of_the_first_editor() -> None:
    class Letters(Replacing):
        def word_spans(self, side: Side, text: str) -> list[tuple[int, int]] | None:
            return [(0, 1)]

        def words(self, side: Side, text: str) -> list[str]:
            return [*text]

        def seem_swapped(self, src: Sequence[str], mt: Sequence[str]) -> bool:
            return True

    chain = Chain(Letters("a", "b"), Replacing("b", "c"))
    assert (chain.words("mt", "ab"), chain.word_spans("mt", "ab")) == (["a", "b"], [(0, 1)])
    assert chain.seem_swapped(["s"], ["a"])
    assert Chain(Replacing("b", "c"), Letters("a", "b")).seem_swapped(["s"], ["a"])


def test_a_limit_of_the_first_editor_is_its_own() -> None:
    first, second = Replacing("a", "b"), Replacing("b", "c")
    first.search = SearchConfig(max_edits=2)
    assert edited(Chain(first, second), "a").text == "c"
    assert [one.asked[-1][1].max_edits for one in (first, second)] == [2, None]


@pytest.mark.parametrize("cost", [0.0, 0.5])
def test_the_draft_of_a_first_stage_counts_as_mt(cost: float) -> None:
    class Draft(Replacing):
        def _edited(self, mt: str, count: int, evidence: Detail | None) -> PostEdit:
            return PostEdit("a x", True)

    two_stages = TwoStage(Draft("", ""), Replacing("a", "b"))  # type: ignore[arg-type]
    two_stages.search = SearchConfig(edit_cost=cost)
    chain = Chain(two_stages, Replacing("x", "y"))
    assert not chain.abilities.needs_mt
    (found,) = chain.edit(["src"], None)
    assert (found.draft, found.text, found.changed) == ("a x", "b y", True)
    assert apply_edits("a x", found.text, found.edits) == "b y"
    (found,) = Chain(two_stages, Replacing("b", "a")).edit(["src"], None)
    assert (found.text, found.changed, found.edits) == ("a x", False, ())


def test_segments_keep_their_constraints() -> None:
    first, second = Replacing("a", "b", constraints=True), Replacing("b", "c", constraints=True)
    assert Chain(first, second).abilities.constraints
    Chain(first, second).edit(["s"], ["a"], prefix=["b"])
    given = Constraints("b")
    assert [one.asked[-1][0] for one in (first, second)] == [[Segment("s", "a", given)], [Segment("s", "b", given)]]
