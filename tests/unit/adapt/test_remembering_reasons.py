"""Reasons of an editor that follows a memory: the corrections that made an edit, with their texts."""

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import CorrectionMemory, Entry
from postedit.adapt.phrase_learner import PhraseLearner
from postedit.adapt.remembering import Remembering
from postedit.core.edit_reasons import CorrectionReason, reasons_as_json
from postedit.core.editor import PostEdit
from postedit.core.search_config import SearchConfig
from postedit.editing.protection import Protected
from postedit.gate import Gated
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_options import PhraseTextConfig

MADE = datetime(2026, 11, 3, 12, tzinfo=UTC)
OTHERS = ("alpha", "beta", "gamma")
"""Words around the one that is corrected; each stands once in a text."""


def correction(mt: str, pe: str, src: str = "see the page", author: str = "anna") -> Correction:
    return Correction(src, mt, pe, author=author, made=MADE)


THREE = [correction(f"siehe diese Seite {x} .", f"siehe jene Seite {x} .", src=x) for x in "abc"]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[CorrectionMemory]:
    with CorrectionMemory(tmp_path / "memory.db") as opened:
        yield opened


def following(memory: CorrectionMemory) -> Remembering:
    editor = PhraseEditor.empty(PhraseTextConfig())
    return Remembering(editor, PhraseLearner(editor), memory)


def corrections(found: PostEdit) -> list[CorrectionReason]:
    return [one for edit in found.edits for one in edit.reasons if isinstance(one, CorrectionReason)]


def test_corrections_are_counted_and_the_latest_are_named(memory: CorrectionMemory) -> None:
    memory.add([*THREE, correction("siehe diese Seite d .", "siehe jene Seite d .", author="ben")])
    memory.add([correction("siehe diese Seite hier .", "siehe diese Seite hier .")])
    (found,) = following(memory).edit(["see"], ["siehe diese Seite neu ."], evidence=True)
    (reason,) = corrections(found)
    assert found.text == "siehe jene Seite neu ."
    assert (reason.count, reason.left, reason.otherwise, reason.same_segment) == (4, 1, 0, False)
    assert [one.number for one in reason.corrections] == [4, 3, 2]
    last = reason.corrections[0]
    assert (last.mt, last.pe, last.author, last.made) == (
        "siehe diese Seite d .",
        "siehe jene Seite d .",
        "ben",
        MADE,
    )
    assert reasons_as_json([reason])[0]["corrections"][0]["src"] == "see the page"


def test_alternatives_have_reasons_with_texts(memory: CorrectionMemory) -> None:
    memory.add(THREE)
    search = SearchConfig(beam=4, n_best=4, edit_cost=3.0)
    (found,) = following(memory).edit(["see"], ["siehe diese Seite neu ."], search=search, evidence=True)
    (other,) = found.alternatives
    (reason,) = corrections(other)
    assert (found.changed, other.text) == (False, "siehe jene Seite neu .")
    assert [one.author for one in reason.corrections] == ["anna"] * 3


def test_undo_removes_a_reason(memory: CorrectionMemory) -> None:
    numbers = memory.add(THREE)
    editor = following(memory)
    for left in (3, 2, 1):
        (found,) = editor.edit(["see"], ["siehe diese Seite neu ."], evidence=True)
        (reason,) = corrections(found)
        assert (reason.count, [one.number for one in reason.corrections]) == (left, numbers[:left][::-1])
        editor.undo(numbers[left - 1])
    (found,) = editor.edit(["see"], ["siehe diese Seite neu ."], evidence=True)
    assert not found.changed


def test_the_same_segment_again_names_its_corrections(memory: CorrectionMemory) -> None:
    mt, pe = "ein altes Wort und noch ein Wort", "ein neues Wort und noch zwei Wörter"
    memory.add([correction(mt, mt), correction(mt, "ganz anders"), correction(mt, pe), *THREE, correction(mt, pe)])
    memory.add([correction(mt, "etwas ganz anderes", src="another source")])
    (found,) = following(memory).edit(["see the page"], [mt], evidence=True)
    assert found.text == pe
    assert len(found.edits) > 1
    for edit in found.edits:
        (reason,) = edit.reasons
        assert isinstance(reason, CorrectionReason)
        assert (reason.count, reason.left, reason.otherwise, reason.same_segment) == (2, 1, 1, True)
        assert [one.number for one in reason.corrections] == [7, 3]


def test_without_evidence_the_memory_is_not_asked(memory: CorrectionMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.add(THREE)
    editor = following(memory)
    asked = editor.edit(["see"], ["siehe diese Seite neu ."], evidence=True)
    monkeypatch.setattr(memory, "by_number", lambda numbers: pytest.fail("asked"))
    (found,) = editor.edit(["see"], ["siehe diese Seite neu ."])
    assert (found.text, found.score, corrections(found)) == (asked[0].text, asked[0].score, [])


@pytest.mark.parametrize("deleted", [("p", "q"), ("p",)])
def test_a_correction_that_has_been_deleted_meanwhile_keeps_its_number(
    memory: CorrectionMemory, deleted: tuple[str, ...]
) -> None:
    memory.add([replace(one, project=project) for one, project in zip(THREE, "ppq", strict=True)])
    editor = following(memory)
    plain = editor.inner.edit_segments

    def delete_and_edit(*arguments: object, **options: object) -> list[PostEdit]:
        for project in deleted:
            memory.delete(project)
        return plain(*arguments, **options)  # type: ignore[arg-type]

    editor.inner.edit_segments = delete_and_edit  # type: ignore[method-assign]
    (found,) = editor.edit(["see"], ["siehe diese Seite neu ."], evidence=True)
    (reason,) = corrections(found)
    last = (3, "", None) if "q" in deleted else (3, THREE[2].mt, MADE)
    assert [(one.number, one.mt, one.made) for one in reason.corrections] == [last, (2, "", None), (1, "", None)]


def test_an_edit_that_is_taken_back_loses_its_reasons(memory: CorrectionMemory) -> None:
    memory.add([correction(f"in 5 Wochen {x} diese .", f"in 6 Wochen {x} jene .", src="in 5 weeks") for x in "abc"])
    segment = ["in 5 weeks"], ["in 5 Wochen neu diese ."]
    editor = following(memory)
    (whole,), (kept,) = (one.edit(*segment, evidence=True) for one in (editor, Protected(editor)))
    assert (whole.text, len(whole.edits)) == ("in 6 Wochen neu jene .", 2)
    assert (kept.text, kept.reverted) == ("in 5 Wochen neu jene .", 1)
    assert [edit.reasons for edit in kept.edits] == [whole.edits[1].reasons]
    (gated,) = Gated(editor, min_confidence=1.0).edit(*segment, evidence=True)
    assert (gated.text, gated.edits) == (segment[1][0], ())


LABELS = st.sampled_from(["alt", "neu", "anders"])
SIDES = st.permutations(OTHERS).flatmap(lambda words: st.integers(0, 3).map(lambda size: words[:size]))


@pytest.mark.slow
@given(st.lists(st.tuples(SIDES, SIDES, LABELS), max_size=12), SIDES, SIDES)
def test_counts_agree_with_all_contexts_compared_one_by_one(
    known: list[tuple[list[str], list[str], str]], left: list[str], right: list[str]
) -> None:
    """Compare with a count over the texts: the widest context of "alt" in which some correction made "neu" of it."""
    editor = PhraseEditor.empty(PhraseTextConfig())
    learner = PhraseLearner(editor)
    known = [*known, ([], [], "neu"), ([], [], "neu")]
    texts = [([f"l{word}" for word in before], [f"r{word}" for word in after], pe) for before, after, pe in known]
    entries = [
        Entry(
            number,
            Correction(f"s{number}", " ".join([*before, "alt", *after]), " ".join([*before, pe, *after])),
            None,
        )
        for number, (before, after, pe) in enumerate(texts, start=1)
    ]
    learner.learn_entries(entries)
    words = [*(f"l{word}" for word in left), "alt", *(f"r{word}" for word in right)]
    (found,) = editor.edit(["other"], [" ".join(words)], evidence=True)
    for reason in corrections(found):
        if len(found.edits) == 1 and found.text.split() == ["neu" if word == "alt" else word for word in words]:
            count, kept, otherwise, numbers = slowly_counted(texts, words)
            assert (reason.count, reason.left, reason.otherwise) == (count, kept, otherwise)
            assert [one.number for one in reason.corrections] == numbers[::-1][:3]


def slowly_counted(known: list[tuple[list[str], list[str], str]], words: list[str]) -> tuple[int, int, int, list[int]]:
    sentence = ["<", *words, ">"]
    at, best = sentence.index("alt"), (0, -math.inf, (0, 0, 0, []))
    for start in range(at + 1):
        for end in range(at + 1, len(sentence) + 1):
            phrase = sentence[start:end]
            outcomes = {"alt": 0, "neu": 0, "anders": 0}
            numbers = []
            for number, (before, after, pe) in enumerate(known, start=1):
                text = ["<", *before, "alt", *after, ">"]
                first = text.index("alt") - (at - start)
                if first >= 0 and text[first : first + len(phrase)] == phrase:
                    outcomes[pe] += 1
                    numbers += [number] if pe == "neu" else []
            made, total = outcomes["neu"], sum(outcomes.values())
            if made and len(phrase) <= 7:
                odds = math.log((made - 0.5) / (total - made + 1.0))
                if (len(phrase), odds) > best[:2]:
                    best = (len(phrase), odds, (made, outcomes["alt"], outcomes["anders"], numbers))
    return best[2]  # type: ignore[return-value]
