"""Edit scripts, against all scripts of small texts."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from postedit.evaluate import edit_script
from postedit.evaluate.edit_script import (
    DELETE,
    INSERT,
    KEEP,
    REPLACE,
    ScriptEdit,
    ScriptStep,
    edit_steps,
    shortest_edits,
)

WORDS = st.lists(st.sampled_from("abc"), max_size=4)
EDITS = st.lists(
    st.builds(ScriptEdit, st.sampled_from((REPLACE, INSERT)), st.integers(0, 5), st.sampled_from("abc"))
    | st.builds(ScriptEdit, st.just(DELETE), st.integers(0, 5), st.just("")),
    max_size=5,
)


def scripts(before: list[str], after: list[str], at: int = 0, to: int = 0) -> Iterator[tuple[ScriptEdit, ...]]:
    """Yield the edits of all scripts that keep a word where they can or edit it."""
    if at == len(before) and to == len(after):
        yield ()
    if at < len(before) and to < len(after):
        same = before[at] == after[to]
        for rest in scripts(before, after, at + 1, to + 1):
            yield rest if same else (ScriptEdit(REPLACE, at, after[to]), *rest)
    if at < len(before):
        yield from ((ScriptEdit(DELETE, at, ""), *rest) for rest in scripts(before, after, at + 1, to))
    if to < len(after):
        yield from ((ScriptEdit(INSERT, at, after[to]), *rest) for rest in scripts(before, after, at, to + 1))


@given(WORDS, WORDS, EDITS)
def test_no_shortest_script_has_more_of_the_favoured_edits(
    before: list[str], after: list[str], favoured: list[ScriptEdit]
) -> None:
    found = tuple(shortest_edits(before, after, favoured))
    everything = set(scripts(before, after))
    least = min(map(len, everything))
    assert found in everything
    assert len(found) == least == Levenshtein.distance(before, after)
    overlaps = {sum(edit in favoured for edit in one) for one in everything if len(one) == least}
    assert sum(edit in favoured for edit in found) == max(overlaps)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a b", "b c", [ScriptStep(REPLACE, 0, 0), ScriptStep(REPLACE, 1, 1)]),  # not: delete, keep, insert
        ("a a", "a", [ScriptStep(DELETE, 0, 0), ScriptStep(KEEP, 1, 0)]),
        ("a", "a a", [ScriptStep(INSERT, 0, 0), ScriptStep(KEEP, 0, 1)]),
        ("a b", "c", [ScriptStep(DELETE, 0, 0), ScriptStep(REPLACE, 1, 0)]),
        ("", "", []),
    ],
)
def test_ties_are_broken_from_the_end(before: str, after: str, expected: list[ScriptStep]) -> None:
    assert edit_steps(before.split(), after.split()) == expected


@given(WORDS, WORDS)
def test_scripts_of_long_texts_are_shortest_and_lead_there(before: list[str], after: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edit_script, "_MOST_CELLS", -1)
        steps = edit_steps(before, after)
    assert sum(step.operation != KEEP for step in steps) == Levenshtein.distance(before, after)
    assert [after[step.after] for step in steps if step.operation != DELETE] == after
    read = written = 0
    for step in steps:
        assert step[1:] == (read, written)
        read, written = read + (step.operation != INSERT), written + (step.operation != DELETE)
    assert read == len(before)


def test_favoured_edits_make_no_script_longer() -> None:
    favoured = [ScriptEdit(DELETE, 0, ""), ScriptEdit(REPLACE, 1, "p"), ScriptEdit(INSERT, 2, "y")]
    assert len(shortest_edits(["x", "a"], ["p", "y"], favoured)) == 2


@pytest.mark.parametrize(("word", "position"), [("c", 0), ("z", 1)])
def test_an_edit_is_favoured_for_its_new_word(word: str, position: int) -> None:
    found = shortest_edits(["a", "b"], ["c"], [ScriptEdit(REPLACE, 0, word)])
    assert ScriptEdit(REPLACE, position, "c") in found
