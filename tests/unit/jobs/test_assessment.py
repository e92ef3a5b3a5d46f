"""Assessments of made-up triplets: some with an error that comes back, some whose errors follow no rule."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from postedit import PostEditor
from postedit.adapt.correction import Correction
from postedit.core.editor import Abilities, Detail, Editor, Identity, PostEdit, Segment
from postedit.core.errors import DataError
from postedit.core.search_config import SearchConfig
from postedit.editing.protection import Protected
from postedit.evaluate.gain import SentenceGains
from postedit.evaluate.recommendation import Workload
from postedit.jobs import assessment
from postedit.jobs.assessment import FEWEST, KNOWN, NEURAL, REPEATED, assess, text_config
from postedit.jobs.cross_validation import (
    FOLDS,
    cross_validated,
    memory_learner,
    phrase_learner,
    sentence_gains,
    tried,
)
from postedit.jobs.small_neural_model import neural_learner
from postedit.llm.pacing import BudgetError
from postedit.phrase.phrase_options import PhraseTextConfig
from postedit.releases.catalogue import default_model

TEXT = PhraseTextConfig()
WORDS = [f"w{number}" for number in range(100)]


class Replace(Editor):
    """Replaces one word; learns it from the corrections it is given."""

    abilities = Abilities(needs_mt=True)

    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new

    def identity(self, search: SearchConfig | None = None) -> Identity:
        return Identity(("replace",), {})

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        texts = [(one.mt or "").replace(self.old, self.new) for one in segments]
        return [PostEdit(text, text != one.mt) for text, one in zip(texts, segments, strict=True)]


def triplets(count: int, *, systematic: bool) -> list[Correction]:
    draw = random.Random(count)
    words = [f"w{n}" for n in range(30)]
    found = []
    for number in range(count):
        mt = draw.choices(words, k=8)
        if systematic and number % 2:
            mt[3], pe = "wrong", [*mt[:3], "right", *mt[4:]]
        else:
            pe = [*mt[:5], draw.choice(words), *mt[6:]]
        found.append(Correction(f"s{number} " + " ".join(mt), " ".join(mt), " ".join(pe)))
    return found


def sides(corrections: Sequence[Correction]) -> list[list[str]]:
    return [[getattr(one, side) for one in corrections] for side in ("src", "mt", "pe")]


def test_each_sentence_is_edited_by_an_editor_that_has_not_learnt_it() -> None:
    corrections = triplets(57, systematic=True)
    learnt: list[set[str]] = []

    def learner(others: Sequence[Correction]) -> Editor:
        learnt.append({one.src for one in others})
        return Replace("wrong", "right")

    done: list[int] = []
    found = cross_validated(learner, corrections, TEXT, update=done.append)
    assert len(learnt) == FOLDS
    assert found.folds is not None
    for row, fold in enumerate(found.folds.tolist()):
        assert corrections[row].src not in learnt[fold]
    assert all(len(corrections) - len(one) in (5, 6) for one in learnt)
    assert found.saved.tolist() == [number % 2 for number in range(57)]
    assert done[-1] == 57
    assert found.points == pytest.approx(100 * 28 / (57 * 8))


def test_half_of_the_others_can_be_learnt() -> None:
    sizes: list[int] = []

    def learner(others: Sequence[Correction]) -> Editor:
        sizes.append(len({one.src for one in others}))
        return Replace("x", "x")

    cross_validated(learner, triplets(100, systematic=False), TEXT, share=0.5)
    assert sizes == [45] * FOLDS


def test_gains_are_edits_of_ter_between_words() -> None:
    corrections = [Correction("s", "a b c", "a x c"), Correction("s", "d", "d"), Correction("s", "b b", "b b")]
    found = tried(Replace("b", "x"), corrections, TEXT)
    assert found.saved.tolist() == [1, 0, -2]
    assert found.words.tolist() == [3, 1, 2]
    assert found.changed.tolist() == [True, False, True]
    assert (
        sentence_gains(
            ["猫は寝る"], [Correction("s", "犬は寝る", "猫は寝る")], PhraseTextConfig(tokenizer="characters")
        ).words[0]
        == 4
    )


@pytest.mark.slow
def test_errors_that_come_back_are_worth_learning() -> None:
    work = Workload(least_share=0.1)
    found = assess(*sides(triplets(160, systematic=True)), with_known=False, neural_updates=0, work=work)
    assert found.recommendation.answer == "yes"
    assert found.profile.systematic >= 70
    assert found.profile.frequent[0][:2] == ("wrong", "right")
    assert [one.name for one in found.editors] == ["phrase-based model", "memory of corrections"]
    assert found.not_tried == {NEURAL: "no updates of its weights were asked for"}


@pytest.mark.slow  # that such gains mean no, quick tests of `evaluate.recommendation` show
def test_errors_without_a_rule_are_not() -> None:
    found = assess(*sides(triplets(120, systematic=False)), with_known=False, neural_updates=10)
    assert found.recommendation.answer == "no"
    assert all(one.sentences.gain().low <= 0 for one in found.editors)


@pytest.mark.slow
def test_a_small_neural_model_is_cross_validated_and_not_forecast() -> None:
    found = assess(*sides(triplets(120, systematic=True)), with_known=False, neural_updates=80)
    neural = found.editors[-1]
    assert (neural.name, neural.how, neural.half) == (NEURAL, "cross-validated", None)
    assert neural.sentences.folds is not None
    assert neural.better > 40
    assert not neural.forecasts(found.profile.ter)
    assert not found.not_tried


@pytest.mark.slow
def test_given_editors_are_tried_as_they_are() -> None:
    steps: list[tuple[int, int, str]] = []
    found = assess(
        *sides(triplets(120, systematic=True)), editors={"mine": Replace("wrong", "right")}, with_known=False,
        neural_updates=1, update=lambda *step: steps.append(step),
    )  # fmt: skip
    mine = found.editors[-1]
    assert (mine.name, mine.how, mine.half) == ("mine", "as it is", None)
    assert mine.better == 60
    assert not mine.forecasts(found.profile.ter)
    assert steps[-1] == (480, 480, "mine")
    assert (360, 480, NEURAL) in steps


@pytest.mark.slow
def test_an_editor_that_stops_costs_no_other_result(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopping(Replace):
        def edit_segments(self, segments: Sequence[Segment], *_: Any, **__: Any) -> list[PostEdit]:
            if any(one.src.startswith("s60 ") for one in segments):
                raise BudgetError("the budget of 2 EUR does not suffice")
            return super().edit_segments(segments)

    monkeypatch.setattr(assessment, "LEARNERS", {})
    steps: list[tuple[int, int, str]] = []
    editors = {"dear": Stopping("wrong", "right"), "mine": Replace("wrong", "right")}
    found = assess(
        *sides(triplets(120, systematic=True)), editors=editors, text=TEXT, with_known=False, neural_updates=0,
        update=lambda *step: steps.append(step),
    )  # fmt: skip
    assert [one.name for one in found.editors] == ["mine"]
    assert found.not_tried["dear"] == "the budget of 2 EUR does not suffice"
    assert steps[-1] == (240, 240, "mine")


def test_a_model_that_is_not_fetched_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTEDIT_MODELS", str(tmp_path))
    monkeypatch.setattr(assessment, "LEARNERS", {})
    german = [
        Correction("The cat sleeps on the warm roof", f"Die Katze schläft auf dem Dach {n}", f"Der Kater schläft {n}")
        for n in range(100)
    ]
    found = assess(*sides(german), text=TEXT, neural_updates=0)
    assert not found.editors
    assert "`postedit models fetch en-de` fetches it" in found.not_tried[KNOWN]


@pytest.mark.parametrize(
    ("pe", "tokenizer"),
    [
        ("Ein Satz, der läuft.", "moses"),
        ("Ein Satz , der tokenisiert ist .", "none"),
        ("猫は屋根の上で寝ている。", "characters"),
    ],
)
def test_how_texts_are_divided_is_seen(pe: str, tokenizer: str) -> None:
    assert text_config([Correction("A sentence.", pe, pe)] * 20).tokenizer == tokenizer


def test_corrections_are_listed_as_they_are_written() -> None:
    lines = [f"{chr(0x4E00 + number)}の転送者を表示。" for number in range(100)]
    pe = [line.replace("転送者", "リファラー") for line in lines]
    found = assess(["Show the referrer."] * 100, lines, pe, with_known=False, neural_updates=0)
    assert [(one.old, one.new) for one in found.profile.frequent] == [("転送者", "リファラー")]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            (WORDS[:99], WORDS[:99], WORDS[:99]),
            f"99 triplets are too few to assess: at least {FEWEST} are needed",
        ),
        (
            (["a"] * 200,) * 3,
            "1 different triplet .199 more have the source and machine translation of an earlier one. is too few",
        ),
        ((["a"] * 99, ["a"] * 100, ["a"] * 100), "src has 99, mt has 100, pe has 100"),
        ((["a"] * 100, ["a"] * 100, ["a"] * 99 + [" "]), "a correction needs pe, which is blank"),
        ((None, ["a"], ["a"]), "src is a list of segments, not None"),
        ((["a"], ["a"], "a"), "pe is a list of segments, not a single string"),
    ],
)
def test_what_cannot_be_assessed_is_refused(texts: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        assess(*texts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"editors": {"x": object()}}, "editors: 'x' is not an editor"),
        ({"editors": [Replace("a", "b")]}, "editors must be editors by name"),
        ({"neural_updates": -1}, "neural_updates: must be a whole number, 0 or more .found -1."),
        ({"neural_updates": 1.5}, "neural_updates: must be a whole number, 0 or more .found 1.5."),
    ],
)
def test_options_are_checked_before_any_editor_is_tried(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        assess([], [], [], **options)


def test_of_many_triplets_some_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assessment, "MOST", 110)
    many = [Correction("s", f"{n}", f"{n}") for n in range(250)]
    found = assess(*sides(many), text=TEXT, with_known=False, neural_updates=0)
    assert found.profile.segments == 110
    assert found.left_out == {"at most 110 are assessed, evenly spread over all": 140}
    assert found.recommendation.answer == "no"
    assert "changed nothing" in found.recommendation.reason
    assert [next(one.number for one in editor.forecasts(20.0)) for editor in found.editors] == ["all 250 given"] * 2


def test_triplets_that_come_again_are_not_learnt_by_heart(monkeypatch: pytest.MonkeyPatch) -> None:
    class ByHeart(Replace):
        def edit_segments(self, segments: Sequence[Segment], *_: Any, **__: Any) -> list[PostEdit]:
            texts = [known.get(one.mt or "", one.mt or "") for one in segments]
            return [PostEdit(text, text != one.mt) for text, one in zip(texts, segments, strict=True)]

    def learn(corrections: Sequence[Correction]) -> Editor:
        known.update({one.mt: one.pe for one in corrections})
        return ByHeart("", "")

    known: dict[str, str] = {}
    monkeypatch.setattr(assessment, "LEARNERS", {"by heart": lambda _: lambda learnt: known.clear() or learn(learnt)})
    once = triplets(110, systematic=False)
    found = assess(*sides(once * 3), text=TEXT, with_known=False, neural_updates=0, left_out={"src is empty": 2})
    assert found.left_out == {"src is empty": 2, REPEATED: 220}
    assert found.profile.segments == 110
    assert not found.editors[0].sentences.changed.any()
    assert found.recommendation.answer == "no"


@pytest.mark.slow
def test_the_languages_of_the_shipped_model_are_known() -> None:
    assert PostEditor.load().abilities.languages == default_model().pair


def test_what_is_learnt_is_in_another_order_for_each_fold() -> None:
    corrections, given = triplets(60, systematic=True), []

    def learner(learnt: Sequence[Correction]) -> Editor:
        given.append([corrections.index(one) for one in learnt])
        return Replace("wrong", "right")

    cross_validated(learner, corrections, TEXT, folds=3)
    assert all(rows != sorted(rows) for rows in given)
    assert len({tuple(rows[:5]) for rows in given}) == 3


@pytest.mark.slow
def test_editors_that_are_tried_keep_what_is_protected() -> None:
    for learner in (phrase_learner(TEXT), memory_learner(TEXT), neural_learner(TEXT, 1)):
        assert isinstance(learner(triplets(30, systematic=True)), Protected)


def test_the_model_of_these_languages_keeps_what_is_protected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assessment, "LEARNERS", {})
    monkeypatch.setattr(assessment, "model_of_languages", lambda *_: default_model())
    monkeypatch.setattr(PostEditor, "load", lambda _: Replace("12", "13"))
    asked = [Correction(f"Open 12 files , {word} .", f"Öffne 12 Dateien , {word} .", word) for word in WORDS]
    found = assess(*sides(asked), text=TEXT, neural_updates=0)
    (known,) = found.editors
    assert known.name == KNOWN
    assert not known.sentences.changed.any()
    assert "was trained on these triplets, its gain is too large" in found.notes[-1]


@pytest.mark.slow
def test_forecasts_compare_all_with_half_of_the_triplets(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = []

    def recorded(*arguments: Any, share: float = 1.0, **options: Any) -> SentenceGains:
        shares.append(share)
        return cross_validated(*arguments, share=share, **options)

    monkeypatch.setattr(assessment, "cross_validated", recorded)
    assess(*sides(triplets(FEWEST, systematic=True)), text=TEXT, with_known=False, neural_updates=0)
    assert sorted(shares) == [0.5, 0.5, 1.0, 1.0]


@pytest.mark.parametrize("name", [NEURAL, KNOWN, *assessment.LEARNERS])
def test_names_of_editors_that_are_always_tried_are_refused(name: str) -> None:
    with pytest.raises(DataError, match="is the name of an editor that is always tried"):
        assess(*sides(triplets(120, systematic=True)), editors={name: Replace("wrong", "right")})


class Seen(Replace):
    """Changes nothing, and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__("", "")
        self.asked: list[str] = []
        self.n_best: set[int] = set()

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        self.asked += [one.mt or "" for one in segments]
        self.n_best |= {(search or self.search).n_best}
        return [PostEdit(one.mt or "", False) for one in segments]


def test_triplets_from_all_over_are_assessed_by_the_best_output_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assessment, "MOST", 110)
    monkeypatch.setattr(assessment, "LEARNERS", {})
    seen, once = Seen(), [Correction("s", f"{n}", f"{n}") for n in range(250)]
    seen.search = SearchConfig(beam=3, n_best=3)
    again = [Correction("s", f"{n}", "other") for n in range(250)]
    found = assess(*sides([*once, *again]), editors={"mine": seen}, text=TEXT, with_known=False, neural_updates=0)
    assert (seen.asked[0], seen.asked[-1], len(seen.asked), seen.n_best) == ("0", "247", 110, {1})
    assert found.profile.edits == 0, "of triplets that come again, the first one counts"


@pytest.mark.parametrize("known", [0, 3])
def test_what_answers_that_were_known_cost_is_not_known(monkeypatch: pytest.MonkeyPatch, known: int) -> None:
    figures = {"cost": 0.5, "currency": "EUR", "answers known before": known}
    monkeypatch.setattr(assessment, "LEARNERS", {})
    monkeypatch.setattr(assessment, "llm_of", lambda editor: editor)
    monkeypatch.setattr(assessment, "report", lambda _: figures)
    many = [Correction("s", f"{n}", f"{n}") for n in range(100)]
    found = assess(*sides(many), editors={"llm": Seen()}, text=TEXT, with_known=False, neural_updates=0)
    (one,) = found.editors
    assert (one.cost, one.currency, one.editing_seconds is None) == (None if known else 0.5, "EUR", known > 0)
    assert any("llm were known before" in note for note in found.notes) == (known > 0)
