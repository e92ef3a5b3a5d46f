from itertools import islice
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from postedit.data.even_sample import count_lines, spread
from postedit.data.triplets import TripletFiles


@given(st.integers(0, 300), st.integers(1, 100))
def test_as_many_as_wanted_evenly_spread_and_in_order(total: int, wanted: int) -> None:
    chosen = list(spread(range(total), total, wanted))
    assert len(chosen) == min(total, wanted)
    assert chosen == sorted(set(chosen))
    if total > wanted:
        gaps = [after - before for before, after in zip([-1, *chosen], [*chosen, total])]
        assert max(gaps) <= total // wanted + 1


def test_nothing_is_read_ahead() -> None:
    items = iter(range(10**9))
    assert list(islice(spread(items, 10**9, 10**8), 2)) == [9, 19]
    assert next(items) == 20


def test_lines_of_all_sources_are_counted(tmp_path: Path) -> None:
    for name, lines in (("one", 3), ("two", 2)):
        for side in ("src", "mt", "pe"):
            (tmp_path / f"{name}.{side}").write_text("text\n" * lines)
    one, two = TripletFiles.of(tmp_path / "one"), TripletFiles.of(tmp_path / "two")
    assert (count_lines(one), count_lines([one, two])) == (3, 5)
