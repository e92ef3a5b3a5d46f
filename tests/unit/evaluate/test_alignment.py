import pytest
from hypothesis import given
from hypothesis import strategies as st

from postedit.core.errors import DataError
from postedit.evaluate.alignment import Link, diagonal_alignment, format_alignment, parse_alignment, score_alignments

links = st.frozensets(st.builds(Link, st.integers(0, 30), st.integers(0, 30)), max_size=20)


@given(links)
def test_a_formatted_alignment_parses_to_itself(alignment: frozenset[Link]) -> None:
    assert parse_alignment(format_alignment(alignment), "here") == alignment


@pytest.mark.parametrize("line", ["0-0 1", "a-b", "1--2", "0-0,1-1", "-1-2", "0 - 1"])
def test_other_things_are_refused_by_name(line: str) -> None:
    with pytest.raises(DataError, match=r"gold, line 3: .* is not a link"):
        parse_alignment(line, "gold, line 3")


def test_scores_by_hand() -> None:
    found = [frozenset({Link(0, 0), Link(1, 1)}), frozenset({Link(2, 0)})]
    gold = [frozenset({Link(0, 0), Link(1, 2)}), frozenset({Link(2, 0), Link(3, 1), Link(4, 1)})]
    scores = score_alignments(found, gold)
    assert scores.precision == pytest.approx(2 / 3)
    assert scores.recall == pytest.approx(2 / 5)
    assert scores.aer == pytest.approx(1 - 4 / 8)


@given(links, links)
def test_the_error_rate_is_one_less_f1(found: frozenset[Link], gold: frozenset[Link]) -> None:
    scores = score_alignments([found], [gold])
    both = scores.precision + scores.recall
    f1 = 2 * scores.precision * scores.recall / both if both else 0.0
    if found or gold:
        assert scores.aer == pytest.approx(1 - f1)


def test_nothing_is_no_error() -> None:
    assert score_alignments([frozenset()], [frozenset()]).aer == 0.0


@given(st.integers(0, 20), st.integers(0, 20))
def test_the_diagonal_stays_within_the_texts(source: int, target: int) -> None:
    found = diagonal_alignment(source, target)
    assert len(found) == (target if source else 0)
    assert all(link.source < source and link.target < target for link in found)
    if source == target:
        assert found == frozenset(Link(place, place) for place in range(source))


@given(st.integers(1, 20), st.integers(1, 20))
def test_the_diagonal_is_nearest_to_the_middle_of_each_word(source: int, target: int) -> None:
    for link in diagonal_alignment(source, target):
        middle = (link.target + 0.5) / target
        assert link.source / source <= middle <= (link.source + 1) / source
