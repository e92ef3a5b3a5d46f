"""The features of changes, computed by hand."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from postedit.core.editor import Abilities, Detail, Edit, Editor, Identity, PostEdit, Segment
from postedit.core.evidence import Evidence
from postedit.core.search_config import SearchConfig
from postedit.core.types import AttentionKey
from postedit.gate.edit_features import CorrectionFeatures, judge

MT, TEXT = "aa b c d", "x b yy z d"
EDITS = (Edit("replace", (0, 2), (0, 1)), Edit("replace", (5, 6), (4, 8)))
TOKENS = (-1.0, -0.5, -2.0, -70.0, -0.25, -0.25)  # of x, b, yy, z, d and the end
RESULT = PostEdit(TEXT, True, -74.0, TOKENS, EDITS, token_spans=((0, 1), (2, 4)))
SCORES = {MT: -80.0, TEXT: -74.0, "x b c d": -79.0, "aa b yy z d": -83.0}


class Scorer(Editor):
    """Scores the texts of a table."""

    def __init__(self, scores: Mapping[str, float] | None) -> None:
        self.scores, self.abilities = scores or {}, Abilities(forced_scores=scores is not None)

    abilities = Abilities()

    def identity(self, search: SearchConfig | None = None) -> Identity:
        return Identity(())

    def edit_segments(self, *arguments: object, **options: object) -> list[PostEdit]:
        raise NotImplementedError

    def score_segments(
        self, segments: Sequence[Segment], outputs: Sequence[str], *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        return [PostEdit(text, True, self.scores[text]) for text in outputs]


def judged(result: PostEdit, scores: Mapping[str, float] | None = None) -> CorrectionFeatures:
    (found,) = judge(Scorer(scores), [Segment("s", MT)], [result])
    return found


def test_features_are_those_of_their_descriptions() -> None:
    src = np.tile([1.0, 0.0, 0.0], (6, 1))
    src[[0, 2, 3]] = [0.9, 0.1, 0.0], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]
    attention = {AttentionKey("src", "soft"): src, AttentionKey("mt", "soft"): np.full((6, 5), 0.2)}
    streams = {"src": tuple("rst"), "mt": tuple("abcd.")}
    evidence = Evidence(streams, ("x", "b", "yy", "z", "d", "</s>"), TOKENS, attention)
    found = judged(replace(RESULT, evidence=evidence), SCORES)
    first, second = found.parts
    assert found.whole is not None
    mean, length = -74.0 / 6, math.log(5)
    whole = (math.asinh(6.0), -53.0, -50.0, mean, 3 / 4, math.log(4), (5 - 3) / 8, (0.9 + 0.5 + 0.4) / 3, length)
    assert found.whole.values() == pytest.approx(whole)
    one = (math.asinh(1.0), -1.0, -1.0, mean, 1 / 4, math.log(2), (1 - 2) / 3, 0.9, length)
    assert first.values() == pytest.approx(one)
    other = (math.asinh(-3.0), -52.0, -50.0, mean, 2 / 4, math.log(3), (4 - 1) / 5, (0.5 + 0.4) / 2, length)
    assert second.values() == pytest.approx(other)


@pytest.mark.parametrize(("lost", "gain"), [(TEXT, -50.0), (MT, 50.0)])
def test_impossible_texts_count_as_very_improbable_ones(lost: str, gain: float) -> None:
    found = judged(RESULT, {**SCORES, lost: -math.inf})
    assert found.whole is not None
    assert found.whole.gain == math.asinh(gain)


def test_impossible_outputs_have_finite_features() -> None:
    found = judged(replace(RESULT, score=-math.inf, token_scores=(-math.inf,) * 6))
    assert found.whole is not None
    assert (found.whole.sure, found.whole.least, found.whole.whole) == (-150.0, -50.0, -50.0)


def test_without_the_tokens_of_edits_all_tokens_count() -> None:
    found = judged(replace(RESULT, token_spans=()))
    assert found.whole is not None
    assert (found.whole.sure, found.whole.gain, found.whole.source) == (-54.0, 0.0, 0.0)


def test_without_scores_there_are_features_of_the_words() -> None:
    found = judged(replace(RESULT, score=0.0, token_scores=(), token_spans=()))
    assert found.whole is not None
    assert found.whole.values() == pytest.approx((0, 0, 0, 0, 0.75, math.log(4), 0.25, 0, math.log(5)))
