"""An editor that is no neural network passes through editing, scores, gate and explanation as any other."""

import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from postedit.adapt import load_learning
from postedit.adapt.correction import Correction
from postedit.core.editor import Abilities, Constraints, Detail, Edit, Editor, Identity, PostEdit, Segment
from postedit.core.errors import DataError
from postedit.core.search_config import SearchConfig
from postedit.data.lines import DevTexts
from postedit.data.resumable_file import PartialFile
from postedit.editing.chained_editors import Chain
from postedit.editing.iterated import Iterated
from postedit.editing.post_editor import PostEditor
from postedit.editing.protection import Protected
from postedit.evaluate.scores import score_systems
from postedit.explain.reasons import edit_reasons
from postedit.gate import Gate, Gated
from postedit.gate.calibrate import GateOptions
from postedit.jobs.corrected_files import edit_file
from postedit.jobs.editing import Window, edit_records, edit_window
from postedit.jobs.explanation import explain
from postedit.jobs.gating import judge_lines, make_gate
from postedit.jobs.training import train
from postedit.search import Sampling
from postedit.text.glossary import Glossary

TABLE = {"verknüpfen": "verbinden", "Fehler": "Irrtum"}
"""The first replacement is always right in the texts below, the second always wrong."""

LINES = 300
SRC = ["link the error", "link it", "no error", "nothing"] * (LINES // 4)
MT = ["den Fehler verknüpfen .", "es verknüpfen .", "kein Fehler .", "nichts ."] * (LINES // 4)
PE = ["den Fehler verbinden .", "es verbinden .", "kein Fehler .", "nichts ."] * (LINES // 4)


MEMORY: Any = object()  # which is not looked at


class TableEditor(Editor):
    """Replaces words by a table; how sure it is of a replacement is the share of its letters that stay."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self.table = table

    @property
    def abilities(self) -> Abilities:
        return Abilities()

    def identity(self, search: SearchConfig | None = None) -> Identity:
        return Identity((json.dumps(self.table, sort_keys=True),), (search or self.search).outcome())

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        return [self._edited(segment.mt or "") for segment in segments]

    def _edited(self, mt: str) -> PostEdit:
        text, edits, confidences, end = "", [], [], 0
        for found in re.finditer(r"\S+", mt):
            text += mt[end : found.start()]
            word, end = found[0], found.end()
            new = self.table.get(word, word)
            if new != word:
                edits.append(Edit("replace", found.span(), (len(text), len(text) + len(new))))
                confidences.append(len(set(word) & set(new)) / len(set(word)))
            text += new
        text += mt[end:]
        return PostEdit(text, text != mt, edits=tuple(edits), confidences=tuple(confidences))


@pytest.fixture
def editor() -> TableEditor:
    return TableEditor(TABLE)


def test_it_edits_lines_and_is_scored(editor: TableEditor) -> None:
    edited = edit_window(editor, editor.search, "text", Window(1, SRC, MT))
    assert edited.lines[:4] == ["den Irrtum verbinden .", "es verbinden .", "kein Irrtum .", "nichts ."]
    assert (edited.tally.lines, edited.tally.changed) == (LINES, LINES // 4 * 3)
    unedited, system = score_systems({"table": list(edited.lines)}, PE, MT, "none")
    assert unedited.ter == pytest.approx(100 * 2 / 12)
    assert system.ter == pytest.approx(100 * 2 / 12)


def test_requests_beyond_its_abilities_are_refused(editor: TableEditor) -> None:
    with pytest.raises(DataError, match="cannot score given outputs"):
        editor.score(SRC[:1], MT[:1], PE[:1])
    with pytest.raises(DataError, match="n_best must be 1, not 2"):
        editor.check(SearchConfig(beam=2, n_best=2), with_mt=True)


class _Unsure(TableEditor):
    """Gives no confidences."""

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        return [replace(one, confidences=()) for one in super().edit_segments(segments, search, evidence=evidence)]


def test_an_editor_may_give_no_confidences(editor: TableEditor) -> None:
    unsure = _Unsure(TABLE)
    (chained,) = Chain(unsure, editor).edit(SRC[:1], MT[:1])
    assert (chained.text, chained.confidences) == ("den Irrtum verbinden .", ())
    assert [one["confidence"] for one in edit_records(unsure.edit(SRC[:1], MT[:1])[0])] == [None, None]
    assert Gated(unsure).edit(SRC[:1], MT[:1])[0].changed
    for one in (unsure, Chain(unsure, editor)):
        with pytest.raises(DataError, match="needs edits with confidences"):
            Gated(one, min_confidence=0.5).edit(SRC[:1], MT[:1])
    assert explain(unsure, SRC[:1], MT[:1], PE[:1])[0] is not None
    unsure.search = SearchConfig(banned=("Haus",))
    assert unsure.edit(SRC[:1], MT[:1])[0].changed, "nobody has asked for constraints"


class _Terse(TableEditor):
    """Gives the texts alone, of the first `count` segments."""

    count = 2

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        found = super().edit_segments(segments[: self.count], search, evidence=evidence)
        return [PostEdit(one.text, one.changed) for one in found]


def test_corrections_without_edits_pass_no_bound_of_confidence() -> None:
    with pytest.raises(DataError, match="a correction without its edits"):
        Gated(_Terse(TABLE), min_confidence=0.5).edit(SRC[:1], MT[:1])


def test_an_editor_that_leaves_out_segments_is_named() -> None:
    assert len(_Terse(TABLE).edit(SRC[:2], MT[:2])) == 2
    with pytest.raises(DataError, match=r"_Terse\.edit_segments returned 2 corrections, not 3"):
        _Terse(TABLE).edit(SRC[:3], MT[:3])
    terse = _Terse(TABLE)
    terse.count = 1
    with pytest.raises(DataError, match="returned 1 correction, not 2"):
        terse.edit(SRC[:2], MT[:2])


def test_a_gate_learns_which_of_its_edits_to_keep(editor: TableEditor, tmp_path: Path) -> None:
    console, dev = Console(file=io.StringIO()), DevTexts(SRC, MT, PE)
    judged = judge_lines(editor, editor.search, dev, PartialFile(tmp_path / "judged", {}), console)
    gate, found = make_gate(editor, editor.search, dev, judged, GateOptions("edit", 0.95), {})
    gate.save(str(tmp_path / "gate.json"))
    gated = Gated(editor, Gate.load(tmp_path / "gate.json"))
    outputs = [one.text for one in gated.edit(SRC, MT)]
    assert found.gain >= 0.0
    unedited, system = score_systems({"gated": outputs}, PE, MT, "none")
    assert system.ter <= unedited.ter
    assert [one.text for one in Gated(editor, min_confidence=0.4).edit(SRC[:2], MT[:2])] == [
        "den Fehler verbinden .",
        "es verbinden .",
    ]


def test_it_is_explained_word_by_word(editor: TableEditor) -> None:
    sentence, *_ = explain(editor, SRC[:1], MT[:1], PE[:1])
    assert sentence is not None
    assert sentence.output_words() == ["den", "Irrtum", "verbinden", "."]
    assert [(one.old, one.new) for one in edit_reasons(1, sentence)] == [
        ("Fehler", "Irrtum"),
        ("verknüpfen", "verbinden"),
    ]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda _: Constraints(required=(" ",)), "required must be a tuple of words or phrases, none of them blank"),
        (lambda _: Constraints(banned="xy"), "banned must be a tuple of words or phrases"),
        (lambda _: SearchConfig(edit_cost=1e300), "edit_cost: must be at most 1000000"),
        (lambda _: SearchConfig(length_penalty=1000.0), "length_penalty: must be at most 10"),
        (lambda _: SearchConfig(max_extra=10**20), "max_extra: must be at most 1000000"),
        (lambda _: SearchConfig(no_repeat=10**20), "no_repeat: must be at most 10000"),
        (lambda _: SearchConfig(beam=2, mbr=1e308), "mbr: must be at most 1000000"),
        (lambda _: Sampling(1, temperature=1e-300), "temperature must be between 0.001 and 1000"),
        (lambda _: Sampling(1.5), "count must be a whole number of at least 1"),
        (lambda _: Sampling(top_k="all"), "top_k must be a whole number of at least 0"),
        (lambda editor: Protected(editor, "number"), "kinds of spans must be some of number, unit, .* as a list"),
        (lambda editor: Protected(editor, ["numbers"]), "kinds of spans must be some of number, unit"),
        (lambda editor: Iterated(editor, "2"), "passes must be a whole number of at least 1"),
        (lambda _: Protected("en-de"), "editor must be an Editor, .* not 'en-de'"),
        (lambda editor: Protected(editor, glossary="terms.tsv"), "glossary must be a Glossary, .* not 'terms.tsv'"),
        (lambda editor: Chain(editor, "en-de"), "each editor of a chain must be an Editor, .* not 'en-de'"),
        (lambda editor: Gated(editor, "gate.json"), r"gate must be a Gate, such as Gate.load.*, not .gate.json"),
        (lambda editor: Gated(editor, None, "0.5"), "min_confidence must be a probability"),
        (lambda editor: edit_file("en-de", "a.xliff", "b.xliff"), "editor must be an Editor, .* not 'en-de'"),
        (lambda editor: edit_file(editor, None, "b.xliff"), "path must be a path, .* not None"),
        (
            lambda editor: edit_file(editor, "a.xliff", "b.xliff", config={"notes": True}),
            "config must be a FilesConfig",
        ),
        (lambda _: train("recipe.toml", "run"), "recipe must be a Recipe, such as load_recipe"),
        (lambda _: Glossary.read(None), "path must be a path, .* not None"),
        (lambda _: PostEditor.load(["en-fr"]), "several as further arguments"),
        (lambda _: Correction(None, "b", "c"), "a correction needs src as text, not None"),
        (lambda _: Constraints(prefix=3), "prefix must be text, not 3"),
        (lambda _: Segment(None, "b"), "src must be text, and mt text or None, not None and 'b'"),
        (lambda _: Segment("a", "b", None), "constraints must be Constraints"),
        (lambda editor: editor.edit({"a", "b"}, ["b", "c"]), "src is a list of segments, not {"),
        (lambda editor: editor.edit(["a"]), "segment 1 has no mt"),
        (lambda editor: editor.edit(["a"], ["b"], required=[["c"]]), "takes no constraints"),
        (lambda editor: editor.edit(["a"], ["b"], prefix=["c"]), "takes no constraints"),
        (lambda editor: editor.edit(["a"], ["b"], search=SearchConfig(banned=("c",))), "takes no constraints"),
        (lambda editor: editor.edit(["a"], ["b"], beam=3, n_best=2), "n_best must be 1, not 2"),
        (lambda _: load_learning(None, None), "model must be the name or path of a model, not None"),
        (lambda _: load_learning("none", None), r"memory must be a CorrectionMemory\(PATH\), not None"),
        (lambda _: load_learning("none", "x.db"), r"memory must be a CorrectionMemory\(PATH\), not 'x.db'"),
        (lambda _: load_learning("none", MEMORY, "onlien"), "learn must be auto, online, nearest, examples"),
        (lambda _: load_learning("none", MEMORY, config={}), "config must be a LearningConfig"),
        (lambda _: load_learning("none", MEMORY, project=None), "project and author must be text"),
    ],
)
def test_arguments_that_cannot_be_met_are_named(
    editor: TableEditor, make: Callable[[TableEditor], object], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        make(editor)


WRAPPERS: dict[str, Callable[[Editor], Editor]] = {
    "protection": Protected,
    "gate": lambda inner: Gated(inner, min_confidence=0.5),
    "passes": lambda inner: Iterated(inner, 2),
    "first of a chain": lambda inner: Chain(inner, TableEditor(TABLE)),
    "second of a chain": lambda inner: Chain(TableEditor(TABLE), inner),
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_an_editor_inside_another_is_named(wrapper: str, monkeypatch: pytest.MonkeyPatch) -> None:
    outer = WRAPPERS[wrapper](_Terse(TABLE))
    with pytest.raises(DataError, match=r"_Terse\.edit_segments returned 2 corrections, not 3"):
        outer.edit(SRC[:3], MT[:3])
    monkeypatch.setattr(_Terse, "edit_segments", lambda *_, **__: None)
    with pytest.raises(DataError, match=r"_Terse\.edit_segments must return a list of PostEdit, .* not None"):
        outer.edit(SRC[:1], MT[:1])


@pytest.mark.parametrize("returned", [None, ["text"], iter([])])
def test_an_editor_that_returns_no_list_of_edits_is_named(returned: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Terse, "edit_segments", lambda *_, **__: returned)
    with pytest.raises(DataError, match=r"_Terse\.edit_segments must return a list of PostEdit"):
        _Terse(TABLE).edit(SRC[:1], MT[:1])


def test_a_gate_needs_an_editor() -> None:
    nothing: Any = None
    with pytest.raises(DataError, match="editor must be an Editor"):
        Gated(nothing)


def test_constraints_given_as_lists_are_those_given_as_tuples() -> None:
    lists: Any = {"required": ["das Haus"], "banned": np.array(["x"])}
    assert {Constraints(**lists): 1} == {Constraints(required=("das Haus",), banned=("x",)): 1}
