from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postedit.data import duplicates
from postedit.data.duplicates import SortedRows, count_distinct, find_repeats, near_duplicate_key, text_hash


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Press OK.", "press OK !"),
        ("Step 1 of 3", "Step 2 of 4"),
        ("„Größe“ ändern", '"größe" ändern'),
        ("a - b", "a – b"),
        ("कदम 1", "कदम 2"),
        ("can 't", "can't"),
    ],
)
def test_near_texts_share_a_key(one: str, other: str) -> None:
    assert near_duplicate_key(one) == near_duplicate_key(other)


@pytest.mark.parametrize(("one", "other"), [("die Datei", "der Datei"), ("12", "13"), ("…", "!"), ("की", "का")])
def test_other_texts_do_not(one: str, other: str) -> None:
    assert near_duplicate_key(one) != near_duplicate_key(other)


@pytest.mark.slow
@given(st.text())
def test_a_key_keeps_all_letters_and_nothing_that_does_not_count(text: str) -> None:
    key = near_duplicate_key(text)
    letters = "".join(character for character in text.lower() if character.isalpha())
    assert "".join(character for character in key if character.isalpha()) == letters
    assert not letters or not any(character.isspace() or character.isdecimal() for character in key)


def test_fingerprints_are_the_same_everywhere() -> None:
    assert text_hash("größer") == 12554881601103136022  # blake2b, little-endian


rows = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2**64 - 1)), max_size=60)


def fill(folder: Path, blocks: list[list[tuple[int, int]]]) -> SortedRows:
    made = SortedRows(folder, "x")
    for block in blocks:
        made.add(np.array(block, np.uint64).reshape(-1, 2))
    return made


@given(blocks=st.lists(rows, max_size=6))
def test_rows_come_out_sorted_whether_on_disk_or_not(
    blocks: list[list[tuple[int, int]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    expected = sorted(row for block in blocks for row in block)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "_RUN_ROWS", 20)
        patch.setattr(duplicates, "_BLOCK_ROWS", 8)
        folder = tmp_path_factory.mktemp("rows")
        made = fill(folder, blocks)
        found = [block.tolist() for block in made.blocks()]
        assert bool(list(folder.iterdir())) == any(total >= 20 for total in accumulate(len(block) for block in blocks))
        assert [tuple(row) for block in found for row in block] == expected
        assert len({block[0][0] for block in found} | {block[-1][0] for block in found}) >= len(found)
        assert all(left[-1][0] < right[0][0] for left, right in pairwise(found))
        assert count_distinct(made) == len({row[0] for row in expected})


@given(keys=st.lists(st.integers(0, 5), max_size=80))
def test_repeats_are_all_but_the_first_of_each_key(keys: list[int], tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "_RUN_ROWS", 16)
        patch.setattr(duplicates, "_BLOCK_ROWS", 8)
        folder = tmp_path_factory.mktemp("rows")
        places = SortedRows(folder, "places")
        for start in range(0, len(keys), 7):
            block = [(key, start + place) for place, key in enumerate(keys[start : start + 7])]
            places.add(np.array(block, np.uint64))
        found = SortedRows(folder, "found")
        find_repeats(places, found)
        pairs = [tuple(pair) for block in found.blocks() for pair in block.tolist()]
    assert pairs == [(place, keys.index(key)) for place, key in enumerate(keys) if keys.index(key) < place]


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs the list of maps that Linux keeps")
def test_no_file_stays_mapped_while_rows_are_given_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "_RUN_ROWS", 4)
    monkeypatch.setattr(duplicates, "_BLOCK_ROWS", 4)
    made = fill(tmp_path, [[(key, key) for key in range(8)]] * 3)
    blocks = made.blocks()
    held = [next(blocks), next(blocks)]
    assert str(tmp_path) not in Path("/proc/self/maps").read_text()
    assert len(held) == 2
