from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postedit.core.errors import DataError
from postedit.evaluate.tags import edit_tags, format_tags, parse_tags, score_tags

words = st.lists(st.sampled_from("abc"), max_size=8)
GOLD = Path(__file__).resolve().parents[3].parent / "shared" / "data/mlqe-pe"


def test_tags_by_hand() -> None:
    assert format_tags(edit_tags(["a", "b", "c"], ["x", "a", "c"])) == "OK BAD OK BAD OK OK OK"
    assert format_tags(edit_tags(["a", "b"], ["x", "a", "b", "y"])) == "BAD OK OK OK BAD"
    assert format_tags(edit_tags(["a", "b"], ["a", "c"])) == "OK OK OK BAD OK"
    assert format_tags(edit_tags([], ["a"])) == "BAD"


@given(words, words)
def test_there_is_a_tag_for_each_word_and_gap(mt: list[str], output: list[str]) -> None:
    tags = edit_tags(mt, output)
    assert len(tags) == 2 * len(mt) + 1
    assert any(tags) == (mt != output)
    assert parse_tags(format_tags(tags), len(mt), "here") == tags


def test_bad_gold_is_refused() -> None:
    with pytest.raises(DataError, match='gold, line 2: "GOOD" is not a tag'):
        parse_tags("OK GOOD OK", 1, "gold, line 2")
    with pytest.raises(DataError, match="gold, line 2: has 1 tags for 1 words of mt; there must be 3"):
        parse_tags("OK", 1, "gold, line 2")


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_mcc_is_the_correlation_of_the_tags(pairs: list[tuple[bool, bool]]) -> None:
    found, gold = map(list, zip(*pairs))
    scores = score_tags([found], [gold])
    if len(set(found)) == len(set(gold)) == 2:
        assert scores.mcc == pytest.approx(np.corrcoef(found, gold)[0, 1], abs=1e-9)
    else:
        assert scores.mcc == 0.0


def test_f1_by_hand() -> None:
    scores = score_tags([[True, True, False, False]], [[True, False, True, False]])
    assert (scores.f1_bad, scores.f1_ok, scores.mcc) == (0.5, 0.5, 0.0)
    assert score_tags([[False]], [[False]]).f1_bad == 0.0


def test_words_are_aligned_in_lower_case_and_compared_as_written() -> None:
    assert format_tags(edit_tags(["The", "big", "house"], ["big", "the", "house"])) == "OK BAD OK BAD OK OK OK"
    assert format_tags(edit_tags(["The", "house"], ["the", "house"])) == "OK BAD OK OK OK"


@pytest.mark.skipif(not GOLD.is_dir(), reason="needs the MLQE-PE data")
@pytest.mark.parametrize("pair", ["en-de", "en-zh", "et-en", "ne-en", "ro-en", "ru-en", "si-en"])
def test_tags_from_human_edits_are_those_of_the_task(pair: str) -> None:
    texts = ((GOLD / pair / f"dev.{side}").read_text(encoding="utf-8").splitlines() for side in ("mt", "pe", "tags"))
    rows = [(edit_tags(mt.split(), pe.split()), gold) for mt, pe, gold in zip(*texts, strict=True)]
    assert sum(format_tags(tags) != gold for tags, gold in rows) == (pair == "ru-en")  # one of 1,000
