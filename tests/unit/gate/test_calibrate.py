"""Gates from made-up dev sets of which all is known: the promise, by many draws, and what a good model keeps."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import starmap

import numpy as np
import pytest

from postedit.core.editor import Abilities, Edit, Editor, Identity, PostEdit, Segment
from postedit.core.search_config import SearchConfig
from postedit.editing.results import unchanged
from postedit.evaluate.ter import count_edits
from postedit.evaluate.tokenisation import Tokenize
from postedit.gate.calibrate import (
    Calibrated,
    Floats,
    Forecasts,
    GateOptions,
    Outcomes,
    _fitted,
    binned,
    calibrate,
    everything,
    expected_calibration_error,
    forecasts,
    is_learnt,
)
from postedit.gate.edit_features import CorrectionFeatures, Features, judge, words_changed
from postedit.gate.gate import Calibrator, Level, Rule
from postedit.text.edits import divided_edits, edits_between

MT = "a b c d e f g h"
PLAIN = Features(0.0, 0.0, 0.0, 0.0, 0.1, 0.7, 0.0, 0.0, 2.2)


def rule_gains(outcomes: Outcomes, rule: Rule) -> list[float]:
    """Return the gain that is counted for each segment behind a gate with this rule."""
    rows, least = range(len(outcomes)), rule.threshold
    assert least is not None
    kept = [tuple(one >= least for one in rule.confidences(outcomes.judged[row])) for row in rows]
    lengths = outcomes.words(rows, kept)
    return np.where(np.array(lengths) <= rule.longest, outcomes.gains(rows, kept), 0.0).tolist()


def line(gain: float, sure: float, outcome: int) -> tuple[str, CorrectionFeatures]:
    """Return pe and a correction of one word, which is right (1), wrong (-1), or neither (0)."""
    pe = {1: "X b c d e f g h", -1: MT, 0: "Y b c d e f g h"}[outcome]
    edit = Edit("replace", (0, 1), (0, 1))
    result = PostEdit("X b c d e f g h", True, -1.0, (-1.0,), (edit,), token_spans=((0, 1),), confidences=(0.5,))
    features = replace(PLAIN, gain=gain, sure=sure)
    return pe, CorrectionFeatures(result, features, (features,))


def still() -> tuple[str, CorrectionFeatures]:
    return MT, CorrectionFeatures(PostEdit(MT, False, -1.0, (-1.0,), ()))


def dev(generator: np.random.Generator, lines: int, sharpness: float, bias: float = 0.0) -> Outcomes:
    """Return outcomes of which `gain` tells more, the larger `sharpness` is; at 0 nothing can be learnt."""
    rows = []
    for changed, gain, sure in zip(generator.random(lines) < 0.6, *generator.normal(size=(2, lines))):
        if changed:
            better = 1.0 / (1.0 + np.exp(-(sharpness * gain + bias)))
            outcome = 1 if generator.random() < better else -1
            rows.append(line(gain, sure, outcome if generator.random() < 0.8 else 0))
        else:
            rows.append(still())
    pe, judged = zip(*rows)
    return Outcomes([MT] * lines, pe, judged)


class Silent(Editor):
    """An editor that cannot score given texts."""

    abilities = Abilities()

    def identity(self, search: SearchConfig | None = None) -> Identity:
        return Identity(())

    def edit_segments(self, *arguments: object, **options: object) -> list[PostEdit]:
        raise NotImplementedError


@pytest.fixture
def generator() -> np.random.Generator:
    return np.random.default_rng(5)


def made(outcomes: Outcomes, **options: object) -> Calibrated:
    return calibrate(outcomes, replace(GateOptions(), **options))


class Drawn(Outcomes):
    """Outcomes without texts: one change in each segment, of `words` words, with features that tell nothing."""

    def __init__(self, gains: Sequence[float], features: Sequence[Sequence[float]], words: int = 1) -> None:
        result = line(0.0, 0.0, 1)[1].result
        super().__init__([], [], [CorrectionFeatures(result, one, (one,)) for one in starmap(Features, features)])
        self.drawn, self.size = np.array(gains), words

    def __len__(self) -> int:
        return len(self.drawn)

    def gains(self, rows: Sequence[int], kept: Sequence[tuple[bool, ...]]) -> Floats:
        return np.where([mask == (True,) for mask in kept], self.drawn[list(rows)], 0.0)

    def words(self, rows: Sequence[int], kept: Sequence[tuple[bool, ...]]) -> list[int]:
        return [self.size * sum(mask) for mask in kept]


@pytest.mark.slow
def test_a_gate_that_does_harm_is_opened_no_more_often_than_promised(generator: np.random.Generator) -> None:
    # Each second change saves an edit. The seldom one that costs 90 makes the model harmful, and is easily missed: a
    # required confidence of 50 % opens about 15 % of these gates.
    worst, lines, draws = 90, 300, 75
    rare = 0.5 * 1.05 / worst
    opened = 0
    for seed in range(draws):
        gains = generator.choice([-worst, 0.0, 1.0], lines, p=[rare, 0.5 - rare, 0.5])
        outcomes = Drawn(gains, generator.normal(size=(lines, len(Features.names()))), worst)
        opened += made(outcomes, levels="sentence", fit_share=0.1, seed=seed).rule.threshold is not None
    assert opened / draws <= 0.05


def test_nor_is_one_that_keeps_all_as_there_was_too_little_to_learn_from(generator: np.random.Generator) -> None:
    worst, lines, draws = 30, 100, 100
    rare = 1.02 / (worst + 1)
    opened = {0.95: 0, 0.5: 0}
    for seed in range(draws):
        gains = generator.choice([-worst, 1.0], lines, p=[rare, 1.0 - rare])
        outcomes = Drawn(gains, generator.normal(size=(lines, len(Features.names()))), worst)
        for confidence in opened:
            found = made(outcomes, levels="sentence", fit_share=0.1, seed=seed, confidence=confidence)
            assert not is_learnt(found.rule)
            opened[confidence] += found.rule.threshold is not None
    assert opened[0.95] / draws <= 0.05 < opened[0.5] / draws


@pytest.mark.parametrize("level", ["sentence", "edit"])
def test_a_model_that_is_nearly_always_right_gets_an_open_gate(generator: np.random.Generator, level: str) -> None:
    found = made(dev(generator, 150, 0.0, bias=6.0), levels=level)
    assert not is_learnt(found.rule), "nearly no change is for the worse"
    assert found.rule.threshold is not None
    assert found.gain == found.ungated > 0.3
    assert 0.6 < found.rule.calibrator(PLAIN) < 0.9  # four fifths of its changes lower TER
    assert found.rule.threshold == found.rule.calibrator(PLAIN)


def test_a_model_that_is_nearly_always_wrong_is_not_even_tested(generator: np.random.Generator) -> None:
    found = made(dev(generator, 150, 0.0, bias=-9.0))
    assert (found.rule.threshold, found.tested, found.evidence) == (None, False, 1.0)
    assert found.rule.calibrator(PLAIN) < 0.1
    assert made(Outcomes([MT] * 20, [MT] * 20, [still()[1]] * 20)).rule.threshold is None, "nothing is changed"


def test_a_gate_does_not_learn_from_the_lines_that_it_is_tested_on(generator: np.random.Generator) -> None:
    lines = 60
    gains = generator.permutation([-1.0, 1.0] * (lines // 2))
    features = generator.normal(size=(lines, len(Features.names())))

    def found(gains: Floats) -> tuple[float, Calibrator]:
        calibrated = made(Drawn(gains, features), levels="sentence")
        return calibrated.ungated, calibrated.rule.calibrator

    ungated, calibrator = found(gains)
    others = [found(np.where(np.arange(lines) == row, -gains, gains)) for row in range(lines)]
    tested = [other != ungated for other, _ in others]
    learnt = [other != calibrator for _, other in others]
    assert sum(tested) == 36
    assert learnt == [not one for one in tested]


def test_gates_are_ranked_on_lines_their_calibrators_did_not_learn_from(
    generator: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    learnt: list[set[int]] = []

    def fitted(outcomes: Outcomes, rows: Sequence[int], level: Level) -> Calibrator:
        learnt.append(set(rows))
        return _fitted(outcomes, rows, level)

    monkeypatch.setattr("postedit.gate.calibrate._fitted", fitted)
    made(dev(generator, 100, 3.0), levels="sentence")
    whole, *others = learnt
    left_out = [whole - rows for rows in others]
    assert [len(rows) for rows in left_out] == [8] * 5
    assert set[int]().union(*left_out) == whole


def test_only_the_longest_corrections_are_not_considered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Drawn, "words", lambda self, rows, kept: [1 + row for row in rows])
    features = np.zeros((20, len(Features.names())))
    assert made(Drawn([0.0] * 2, features), fit_share=1.0).rule.longest == 2
    assert made(Drawn([0.0] * 20, features), fit_share=1.0).rule.longest == 19


def test_a_loss_of_more_words_than_were_changed_counts_as_the_largest(generator: np.random.Generator) -> None:
    gains = generator.permutation([2.0] * 90 + [-5.0] * 10)
    assert made(Drawn(gains, np.zeros((100, len(Features.names()))))).evidence > 1.0


@pytest.mark.parametrize(("confidence", "needed"), [(None, 20.0), (0.5, 2.0), (0.9, 10.0), (0.99, 100.0)])
def test_gates_pass_with_the_confidence_required_until_one_fails(
    generator: np.random.Generator, monkeypatch: pytest.MonkeyPatch, confidence: float | None, needed: float
) -> None:
    outcomes, options = dev(generator, 300, 3.0), {} if confidence is None else {"confidence": confidence}
    asked: list[float] = []

    def scripted(*arguments: object) -> float:
        asked.append([needed * 1.01, needed * 1.02, needed * 0.99, needed * 9.0][len(asked) % 4])
        return asked[-1]

    monkeypatch.setattr("postedit.gate.calibrate.e_value", scripted)
    assert made(outcomes, **options).evidence in asked[:2]
    assert len(asked) == 3, "the third gate fails, so the fourth is not tested"


def test_a_model_that_does_harm_opens_no_gate(generator: np.random.Generator) -> None:
    found = made(dev(generator, 400, 0.0, bias=-1.0))
    assert found.rule.threshold is None
    assert found.gain == 0.0
    assert found.ungated < 0.0


@pytest.mark.parametrize("levels", ["auto", "sentence", "edit"])
def test_of_a_model_that_does_good_and_harm_the_good_is_kept(generator: np.random.Generator, levels: str) -> None:
    outcomes, fresh = dev(generator, 800, 3.0, bias=-0.5), dev(generator, 800, 3.0, bias=-0.5)
    found = made(outcomes, levels=levels)
    rows = list(range(len(fresh)))
    gains = np.array(rule_gains(fresh, found.rule))
    assert found.rule.threshold is not None
    assert found.evidence >= 20.0
    assert gains.mean() > max(0.05, fresh.gains(rows, everything(fresh, rows)).mean())
    assert expected_calibration_error(forecasts(fresh, rows, found.rule)) < 0.1


def test_the_rule_writes_the_texts_whose_gains_were_counted(generator: np.random.Generator) -> None:
    outcomes = dev(generator, 500, 3.0)
    rule = made(outcomes).rule
    texts = [rule(MT, one).text for one in outcomes.judged]
    saved = [0.0 if text == MT else {"X": 1.0, "a": -1.0, "Y": 0.0}[pe[0]] for text, pe in zip(texts, outcomes.pe)]
    assert rule_gains(outcomes, rule) == saved


def test_a_line_that_would_change_too_much_stays(generator: np.random.Generator) -> None:
    outcomes = dev(generator, 500, 3.0)
    rule = replace(made(outcomes).rule, threshold=0.0)
    _, judged = line(1.0, 0.0, 1)
    assert rule(MT, judged).changed
    assert rule(MT, judged).confidences == rule.confidences(judged)
    narrow = replace(rule, longest=0)
    shut = narrow(MT, judged)
    assert shut.text is MT
    assert shut.reverted == 1
    assert any(rule_gains(outcomes, rule))
    assert not any(rule_gains(outcomes, narrow))


@pytest.mark.parametrize("space", [" ", "\u00a0", "\u3000", "\u2009"])
def test_words_changed_are_words_of_ter_so_that_no_line_loses_more(space: str) -> None:
    mt, text = f"a{space}b{space}c d", f"x{space}y{space}z d"
    (lost,) = count_edits([text], [mt])
    assert words_changed(mt, text) == lost.edits == 3


@pytest.mark.parametrize(
    ("tokenize", "mt", "text", "words"),
    [
        ("none", "設定を開く。", "設定を閉じる。", 1),
        ("characters", "設定を開く。", "設定を閉じる。", 3),
        ("characters", "設定 を開く。", "設 定を\u3000閉じる。", 3),
        ("13a", "Open it.", "Open them!", 2),
        ("none", "Open it.", "Open them!", 1),
    ],
)
def test_words_changed_are_counted_in_the_units_of_ter(tokenize: Tokenize, mt: str, text: str, words: int) -> None:
    (lost,) = count_edits([text], [mt], tokenize)
    assert words_changed(mt, text, tokenize) == lost.edits == words


@pytest.mark.parametrize(("tokenize", "opens"), [("characters", True), ("none", False)])
def test_an_edit_in_text_without_spaces_can_gain_alone(tokenize: Tokenize, opens: bool) -> None:
    mt, text, pe = "設定を開くと、画面が出ます。", "設定を閉じると、画面が出ます。", "設定を閉じると、画面が現れます。"
    (edit,) = divided_edits(mt, text, edits_between(mt, text))
    result = PostEdit(text, True, -1.0, (-1.0,), (edit,), token_spans=((0, 1),), confidences=(0.5,))
    (judged,) = judge(Silent(), [Segment("", mt)], [result], tokenize)
    assert judged.whole is not None
    assert judged.whole.words == pytest.approx(np.log1p(3 if opens else 1))
    assert judged.whole.share == pytest.approx(3 / len(mt) if opens else 1.0)
    found = made(Outcomes([mt] * 200, [pe] * 200, [judged] * 200, tokenize), levels="edit")
    assert (found.rule.threshold is not None) == opens
    assert found.rule.tokenize == tokenize
    assert found.ungated == (3.0 if opens else 0.0)
    assert found.rule.longest == (3 if opens else 1)


def test_too_few_changes_teach_nothing(generator: np.random.Generator) -> None:
    for outcomes in (dev(generator, 10, 3.0), Outcomes([], [], []), Outcomes([MT], *zip(still()))):
        found = made(outcomes)
        assert found.rule.threshold is None
        assert not is_learnt(found.rule)


def test_the_same_seed_gives_the_same_gate(generator: np.random.Generator) -> None:
    outcomes = dev(generator, 300, 3.0)
    assert made(outcomes, seed=3).rule == made(outcomes, seed=3).rule


def test_the_calibration_error_is_that_of_its_definition() -> None:
    sure = Forecasts(np.full(10, 0.8), np.array([1.0] * 8 + [0.0] * 2))
    assert expected_calibration_error(sure) == pytest.approx(0.0)
    assert expected_calibration_error(Forecasts(np.full(10, 0.8), np.zeros(10))) == pytest.approx(0.8)
    assert expected_calibration_error(Forecasts(np.zeros(0), np.zeros(0))) == 0.0


def test_bins_have_25_changes_and_more_and_no_ties_between_them() -> None:
    even = np.linspace(0.0, 1.0, 1000)
    for count, sizes in ((0, []), (20, [20]), (60, [30, 30]), (1000, [100] * 10)):
        assert [len(one) for one, _ in binned(Forecasts(even[:count], even[:count]))] == sizes
    tied = Forecasts(np.array([0.5] * 45 + [0.7] * 55), np.array([0.0, 1.0] * 50))
    rows = np.random.default_rng(1).permutation(100)
    mixed = Forecasts(tied.probabilities[rows], tied.better[rows])
    assert [set(one) for one, _ in binned(mixed)] == [{0.5}, {0.7}]
    assert expected_calibration_error(mixed) == pytest.approx(expected_calibration_error(tied))


def test_of_texts_the_model_was_not_asked_about_no_preference_is_known() -> None:
    correction = PostEdit("X b", True, -1.0, (-1.0,), (Edit("replace", (0, 1), (0, 1)),), token_spans=((0, 1),))

    class Scorer(Silent):
        abilities = Abilities(forced_scores=True)

        def score_segments(self, segments: object, outputs: Sequence[str], **options: object) -> list[PostEdit]:
            # The mt as output is too long: its score of 0 is no score.
            return [unchanged("a b", "too long") if text == "a b" else correction for text in outputs]

    (found,) = judge(Scorer(), [Segment("x", "a b")], [correction])
    assert found.whole is not None
    assert found.whole.gain == 0.0


def test_the_gain_of_an_edit_is_that_of_mt_with_this_edit_alone() -> None:
    scores = {"a b": -10.0, "x y": -4.0, "x b": -8.0, "a y": -6.0}
    edits = (Edit("replace", (0, 1), (0, 1)), Edit("replace", (2, 3), (2, 3)))

    class Scorer(Silent):
        abilities = Abilities(forced_scores=True)

        def score_segments(self, segments: object, outputs: Sequence[str], **options: object) -> list[PostEdit]:
            return [PostEdit(text, text != "a b", scores[text], (scores[text],)) for text in outputs]

    correction = PostEdit("x y", True, -4.0, (-2.0, -2.0), edits, token_spans=((0, 1), (1, 2)))
    (found,) = judge(Scorer(), [Segment("x", "a b")], [correction])
    assert found.whole is not None
    gains = [one.gain for one in (found.whole, *found.parts)]
    assert gains == pytest.approx(np.arcsinh([6.0, 2.0, 4.0]).tolist())
