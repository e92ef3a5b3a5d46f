"""The choice among candidates of several editors, with editors whose outputs and scores are written down."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from postedit.core.edit_reasons import TrainingReason
from postedit.core.editor import Abilities, Constraints, Detail, Edit, Editor, Identity, PostEdit, Segment, Skipped
from postedit.core.errors import DataError
from postedit.core.search_config import SearchConfig
from postedit.editing.pooled import Pooled
from postedit.editing.protection import Protected
from postedit.search.rescoring import LogLinear
from postedit.text.edits import apply_edits, splice
from postedit.text.words import PlainSplitter

MT = "das Haus ist alt"


class Listed(Editor):
    """Proposes the texts of `scores`, best first, and scores these; others have `rest`. It skips texts of `skipped`."""

    def __init__(
        self, scores: Mapping[str, float], rest: float = -9.0, skipped: Mapping[str, Skipped] | None = None
    ) -> None:
        self.scores, self.rest, self.skipped = scores, rest, skipped or {}
        self.asked: list[SearchConfig] = []

    @property
    def abilities(self) -> Abilities:
        return Abilities(n_best=True, forced_scores=True, languages=("en", "de"))

    def identity(self, search: SearchConfig | None = None) -> Identity:
        return Identity((str(sorted(self.scores)),), {"rest": self.rest})

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        assert search is not None
        self.asked.append(search)
        texts = sorted(self.scores, key=lambda text: -self.scores[text])[: search.n_best]
        return [self._found(segment.mt or "", texts) for segment in segments]

    def _found(self, mt: str, texts: Sequence[str]) -> PostEdit:
        if not mt.strip() or not texts:
            return PostEdit(mt, False, skipped="empty")
        best, *others = (correction(mt, text) for text in texts)
        return PostEdit(best.text, best.changed, edits=best.edits, alternatives=tuple(others))

    def score_segments(
        self, segments: Sequence[Segment], outputs: Sequence[str], *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        return [
            PostEdit(output, output != one.mt, self.scores.get(output, self.rest), skipped=self._skips(one, output))
            for one, output in zip(segments, outputs, strict=True)
        ]

    def _skips(self, segment: Segment, output: str) -> Skipped | None:
        return "empty" if not (segment.mt or "").strip() else self.skipped.get(output)


class Rewriter(Listed):
    """Its corrections are one edit, of all of mt."""

    def _found(self, mt: str, texts: Sequence[str]) -> PostEdit:
        found = super()._found(mt, texts)
        return replace(found, edits=(Edit("replace", (0, len(mt)), (0, len(found.text))),))


def correction(mt: str, text: str) -> PostEdit:
    words = PlainSplitter()
    pe = words.words(text)
    gaps = [words.gaps(each) for each in (words.words(mt), pe)]
    written, edits = splice(mt, words.spans(mt) or [], gaps[0] or [], pe, gaps[1] or [])
    assert written == text
    return PostEdit(text, text != mt, edits=edits)


FIRST = {"das Haus ist neu": -1.0, "ein Haus ist alt": -2.0, "das Haus": -4.0}
SECOND = {"ein Haus ist alt": -0.5, "ein Haus ist neu": -1.0}


def pooled(*members: Listed, more: Mapping[str, float] | None = None, **search: Any) -> Pooled:
    weights = {f"model {number}": 1 / len(members) for number in range(1, len(members) + 1)}
    return Pooled(members, members, LogLinear({**weights, **(more or {})}), SearchConfig(**{"beam": 6, **search}))


def texts_of(found: PostEdit) -> list[str]:
    return [one.text for one in (found, *found.alternatives)]


def test_a_combination_of_no_editors_is_refused() -> None:
    with pytest.raises(DataError, match="needs at least one editor"):
        Pooled([], [], LogLinear({}, ()), SearchConfig())
    with pytest.raises(DataError, match="needs at least one editor that proposes"):
        Pooled([], [Listed(FIRST)], LogLinear({"model 1": 1.0}, ()), SearchConfig())
    with pytest.raises(DataError, match="a combination needs at least one editor, and there is none"):
        Pooled([Listed(FIRST)], [], LogLinear({}, ()), SearchConfig())


def test_candidates_of_all_and_mt_are_ranked_by_the_scores_of_all() -> None:
    (found,) = pooled(Listed(FIRST), Listed(SECOND)).edit(["x"], [MT], n_best=4)
    assert texts_of(found) == ["ein Haus ist alt", "das Haus ist neu", "ein Haus ist neu", "das Haus", MT]
    assert [one.score for one in (found, *found.alternatives)] == [-1.25, -5.0, -5.0, -6.5, -9.0]
    assert found.features == {"model 1": -2.0, "model 2": -0.5, "length": 4.0, "post_edit_penalty": 1.0}
    assert [one.changed for one in (found, *found.alternatives)] == [True] * 4 + [False]


@pytest.mark.parametrize("mbr", [0.0, 1.0])
def test_outputs_without_an_end_are_no_candidates(mbr: float) -> None:
    class Endless(Listed):
        def _found(self, mt: str, texts: Sequence[str]) -> PostEdit:
            return replace(super()._found(mt, texts), hit_limit=True)

    editor = pooled(Endless(FIRST))
    (found,) = editor.edit(["x"], [MT], search=SearchConfig(beam=6, n_best=6, mbr=mbr))
    assert set(texts_of(found)) == {"ein Haus ist alt", "das Haus", MT}


def test_by_risk_others_may_confirm_a_less_probable_candidate() -> None:
    scores = {"das Haus ist alt .": -1.0, "ein Haus ist neu": -1.1, "ein Haus ist neu ,": -1.2}
    members = Listed(scores), Listed(scores)
    assert pooled(*members).edit(["x"], [MT])[0].text == "das Haus ist alt ."
    (found,) = pooled(*members).edit(["x"], [MT], search=SearchConfig(beam=6, n_best=4, mbr=1.0))
    assert texts_of(found) == ["ein Haus ist neu", "ein Haus ist neu ,", "das Haus ist alt .", MT]
    assert all(search.mbr == 0.0 for member in members for search in member.asked), "the choice among all is by risk"


def test_an_output_has_the_score_and_features_that_it_gets_when_given() -> None:
    editor = pooled(Listed(FIRST), Listed(SECOND), more={"length": 0.25, "post_edit_penalty": -3.0})
    (found,) = editor.edit(["x"], [MT], n_best=4)
    outputs = [found, *found.alternatives]
    scored = editor.score(["x"] * len(outputs), [MT] * len(outputs), texts_of(found))
    assert [(one.score, one.features) for one in scored] == [(one.score, one.features) for one in outputs]


def test_weights_of_words_choose_too() -> None:
    (found,) = pooled(Listed(FIRST), Listed(SECOND), more={"length": -9.0}).edit(["x"], [MT])
    assert (found.text, found.alternatives) == ("das Haus", ())
    (found,) = pooled(Listed(FIRST), Listed(SECOND), more={"post_edit_penalty": -20.0}).edit(["x"], [MT])
    assert texts_of(found) == ["das Haus"]


def test_words_of_src_are_exempt_if_the_log_linear_model_says_so() -> None:
    one = Listed(SECOND)
    for known, penalty in ((("mt",), 1.0), (("mt", "src"), 0.0)):
        editor = Pooled([one], [one], LogLinear({"model 1": 1.0}, known), SearchConfig(beam=2))
        assert editor.edit(["ein"], [MT])[0].features["post_edit_penalty"] == penalty


def test_proposers_list_together_as_many_outputs_as_the_beam_is_wide() -> None:
    first, second = Listed(FIRST), Listed(SECOND)
    for beam, share in ((5, 2), (2, 1), (1, 1)):
        (found,) = pooled(first, second, beam=beam).edit(["x"], [MT], n_best=beam)
        assert [one.asked[-1].n_best for one in (first, second)] == [share, share]
        assert len(texts_of(found)) <= beam + 1
    assert found.alternatives == ()
    (greedy,) = pooled(first, second, beam=1).edit(["x"], [MT])
    assert greedy.text == "ein Haus ist alt", "the best of each, and mt"


def test_a_member_may_score_without_proposing() -> None:
    judge = Listed({"das Haus": 0.0})
    editor = Pooled([Listed(FIRST)], [judge], LogLinear({"model 1": 1.0}), SearchConfig(beam=4))
    assert editor.edit(["x"], [MT])[0].text == "das Haus"


def test_of_candidates_with_the_same_text_the_first_is_kept() -> None:
    (found,) = pooled(Listed(FIRST), Listed(SECOND)).edit(["x"], [MT], n_best=4)
    assert len(set(texts_of(found))) == len(texts_of(found))
    for one in (found, *found.alternatives):
        assert apply_edits(MT, one.text, one.edits) == one.text
    text = "das Haus ist neu"
    whole = Edit("replace", (0, len(MT)), (0, len(text)))
    for members, edits in (((Listed, Rewriter), correction(MT, text).edits), ((Rewriter, Listed), (whole,))):
        (found,) = pooled(*(member({text: -1.0}) for member in members)).edit(["x"], [MT])
        assert (found.text, found.edits) == (text, edits)


def test_confidences_are_the_probabilities_of_edits_among_the_candidates() -> None:
    scores = {"das Haus ist neu": math.log(0.5), "jenes Haus ist neu": math.log(0.2), MT: math.log(0.3)}
    (found,) = pooled(Listed(scores)).edit(["x"], [MT], n_best=3)
    assert not any(one.alternatives for one in found.alternatives)
    assert found.confidences == pytest.approx((0.7,))
    assert found.alternatives[1].confidences == pytest.approx((0.2, 0.7))
    assert found.alternatives[1].token_scores == pytest.approx((math.log(0.2), math.log(0.7)))
    assert found.alternatives[1].token_spans == ((0, 1), (1, 2))


def test_impossible_outputs_have_finite_scores_and_confidences() -> None:
    scores = {"das Haus ist neu": -1.0, "ein Haus": -math.inf}
    (found,) = pooled(Listed(scores)).edit(["x"], [MT], n_best=3)
    worst = found.alternatives[-1]
    assert worst.text == "ein Haus"
    assert worst.score == -1e4
    assert all(
        0.0 < sure < 1e-200 and math.isfinite(score) for sure, score in zip(worst.confidences, worst.token_scores)
    )


def test_a_segment_that_a_member_cannot_score_stays_as_it_is() -> None:
    unable = Listed(SECOND, skipped={MT: "too long"})
    (found, other) = pooled(Listed(FIRST), unable).edit(["x", "x"], [MT, "Haus"], n_best=4)
    assert (found.text, found.changed, found.skipped, found.alternatives) == (MT, False, "too long", ())
    assert other.skipped is None


def test_a_candidate_that_a_member_cannot_score_is_left_out() -> None:
    unable = Listed(SECOND, skipped={"ein Haus ist alt": "too long"})
    editor = pooled(Listed(FIRST), unable)
    (found,) = editor.edit(["x"], [MT], n_best=4)
    assert "ein Haus ist alt" not in texts_of(found)
    (scored,) = editor.score(["x"], [MT], ["ein Haus ist alt"])
    assert (scored.skipped, scored.text, scored.changed) == ("too long", "ein Haus ist alt", True)


def test_candidates_of_others_serve_where_one_editor_finds_nothing() -> None:
    assert pooled(Listed({}), Listed(SECOND)).edit(["x"], [MT])[0].text == "ein Haus ist alt"


def test_what_one_editor_skips_is_not_skipped_if_others_edit_it() -> None:
    class Unable(Listed):
        def _found(self, mt: str, texts: Sequence[str]) -> PostEdit:
            return PostEdit(mt, False, skipped="no memory")

    (found,) = pooled(Unable({}), Listed({MT: 0.0, **FIRST})).edit(["x"], [MT], n_best=2)
    assert [(one.text, one.skipped) for one in (found, *found.alternatives)] == [(MT, None), ("das Haus ist neu", None)]
    (found,) = pooled(Unable({})).edit(["x"], [MT])
    assert (found.text, found.skipped) == (MT, None), "its members could score mt"


@pytest.mark.parametrize("mt", ["", "  "])
def test_blank_lines_and_no_lines(mt: str) -> None:
    editor = pooled(Listed(FIRST), Listed(SECOND))
    (found,) = editor.edit(["x"], [mt])
    assert (found.text, found.skipped) == (mt, "empty")
    assert editor.edit([], []) == editor.score([], [], []) == []


def test_segments_that_cannot_be_edited_are_refused() -> None:
    editor = pooled(Listed(FIRST), Listed(SECOND))
    with pytest.raises(DataError, match="segment 2 has no mt"):
        editor.edit(["x", "y"], [MT, None])
    with pytest.raises(DataError, match="cut_input is for outputs that need not keep mt"):
        editor.edit(["x"], [MT], search=SearchConfig(beam=6, cut_input=True, mt_candidate=False))
    with pytest.raises(DataError, match="take no constraints"):
        editor.edit_segments([Segment("x", MT, Constraints(prefix="das"))])
    assert not editor.abilities.constraints


def test_a_proposer_that_loses_a_segment_is_named() -> None:
    class Forgetful(Listed):
        def edit_segments(
            self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
        ) -> list[PostEdit]:
            return super().edit_segments(segments, search)[1:]

    with pytest.raises(DataError, match=r"Forgetful.edit_segments returned 1 correction, not 2"):
        pooled(Listed(FIRST), Forgetful(SECOND)).edit(["x", "y"], [MT, MT])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"model 1": 1.0}, "1 weights for 2 models"),
        ({"model 1": 1.0, "model 2": 0.0}, "above 0, not 0.0; leave that model out"),
        ({"model 1": 1.0, "model 2": -1.0}, "above 0"),
    ],
)
def test_each_member_needs_a_weight_above_0(weights: dict[str, float], message: str) -> None:
    members = [Listed(FIRST), Listed(SECOND)]
    with pytest.raises(DataError, match=message):
        Pooled(members, members, LogLinear(weights), SearchConfig())


def test_the_identity_has_all_that_can_change_an_output() -> None:
    first, second = Listed(FIRST), Listed(SECOND)
    plain = pooled(first, second).identity()
    assert plain.models == (str(sorted(FIRST)), str(sorted(SECOND)))
    others = [
        pooled(first, Listed(FIRST | SECOND)),
        pooled(first, second, more={"length": 0.1}),
        pooled(first, second, beam=3),
        pooled(Listed(FIRST, rest=-8.0), second),
        pooled(first, Listed(SECOND, rest=-8.0)),
        Pooled(
            [first, second],
            [first, second],
            LogLinear(pooled(first, second).log_linear.weights, ("src",)),
            SearchConfig(beam=6),
        ),
    ]
    assert all(other.identity() != plain for other in others)
    assert pooled(first, second).identity() == plain


def test_wrappers_take_it_as_any_editor() -> None:
    scores = {"das Haus ist 7 Jahre alt": -0.1}
    editor = Protected(pooled(Listed(scores)))
    assert editor.edit(["the house is 8 years old"], ["das Haus ist 8 Jahre alt"])[0].text == "das Haus ist 8 Jahre alt"
    assert editor.abilities.languages == ("en", "de")


class Reasoned(Listed):
    """Gives a reason with each edit if asked for evidence."""

    @property
    def abilities(self) -> Abilities:
        return replace(super().abilities, evidence=True, reasons=True)

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        found = super().edit_segments(segments, search)
        return [self._reasoned(one) for one in found] if evidence else found

    def _reasoned(self, one: PostEdit) -> PostEdit:
        edits = tuple(replace(edit, reasons=(TrainingReason(2, 1, 0, ()),)) for edit in one.edits)
        return replace(one, edits=edits, alternatives=tuple(map(self._reasoned, one.alternatives)))


def test_reasons_of_a_proposer_are_those_of_the_same_edits() -> None:
    both = {"das Haus ist neu": -1.0, MT: -3.0}
    first, second = Listed({**both, "jenes Haus ist neu": -2.0}), Reasoned(both)
    pooled = Pooled(
        [first, second], [first, second], LogLinear({"model 1": 0.5, "model 2": 0.5}, ()), SearchConfig(beam=8)
    )
    assert pooled.abilities.reasons
    assert not Pooled([first], [first], LogLinear({"model 1": 1.0}, ()), SearchConfig()).abilities.evidence
    (found,) = pooled.edit(["s"], [MT], n_best=3, evidence=True)
    assert found.text == "das Haus ist neu"
    assert [edit.reasons for edit in found.edits] == [(TrainingReason(2, 1, 0, ()),)]
    (other,) = [one for one in found.alternatives if one.text.startswith("jenes")]
    assert not any(edit.reasons for edit in other.edits)
    assert not any(edit.reasons for edit in pooled.edit(["s"], [MT])[0].edits)


def test_each_editor_is_asked_for_what_it_can_do() -> None:
    class Able(Reasoned):
        def __init__(self, scores: Mapping[str, float], **abilities: Any) -> None:
            super().__init__(scores)
            self.able = abilities
            self.details: list[Detail | None] = []

        @property
        def abilities(self) -> Abilities:
            return replace(super().abilities, **self.able)

        def edit_segments(
            self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
        ) -> list[PostEdit]:
            self.details.append(evidence)
            return super().edit_segments(segments, search)

        def check(self, search: SearchConfig, *, with_mt: bool) -> None:
            if search.no_repeat and not self.abilities.token_search:
                raise DataError("no_repeat has no effect")

    first = Able(FIRST, reasons=False, evidence=True, inputs=("mt",))
    second = Able(SECOND, token_search=False, inputs=("src",))
    editor = pooled(first, second)
    able = editor.abilities
    assert (able.inputs, able.token_search, able.evidence, able.reasons) == (("src", "mt"), True, True, True)
    editor.edit(["x"], [MT], evidence=True)
    assert (first.details, second.details) == ([None], ["reasons"])
    with pytest.raises(DataError, match="no_repeat has no effect"):
        editor.edit(["x"], [MT], search=SearchConfig(beam=6, no_repeat=2))
    assert not pooled(second).abilities.token_search


def test_members_score_what_search_options_let_editors_read() -> None:
    class Reading(Listed):
        def score_segments(self, segments: Sequence[Segment], outputs: Sequence[str], **options: Any) -> list[PostEdit]:
            found = super().score_segments(segments, outputs, **options)
            longest = self.search.max_input
            return [
                replace(one, skipped="too long") if len(segment.src.split()) > longest else one
                for segment, one in zip(segments, found, strict=True)
            ]

    members = [Reading(FIRST), Reading(SECOND)]
    for one in members:
        one.search = SearchConfig(beam=4, max_input=2)
    editor = Pooled(members, members, LogLinear({"model 1": 0.5, "model 2": 0.5}), members[0].search)
    (short,) = editor.edit(["the house is old"], [MT])
    (long,) = editor.edit(["the house is old"], [MT], search=SearchConfig(beam=4, max_input=4))
    assert (short.skipped, long.skipped) == ("too long", None)
    assert [one.search.max_input for one in members] == [2, 2]
