"""Editors of one's own, named `python:MODULE:NAME` on the command line."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.conftest import run as run_command

from postedit.core.editor import Editor, PostEdit, Segment
from postedit.core.errors import DataError, ModelFolderError
from postedit.editing.own_editor import load_own_editor
from postedit.editing.post_editor import PostEditor
from postedit.editing.quality_tags import TagFiles
from postedit.jobs.editor_spec import EditorSpec
from postedit.serve.model_work import EditKind, ProcessSpec, ProjectSettings, Refusal, Work
from postedit.serve.project_editors import ProjectEditors
from postedit.serve.settings import ServedModel

run = run_command

_MODULE = """
from postedit.core.editor import Abilities, Editor, Identity, PostEdit
from postedit.text.edits import edits_between


class Louder(Editor):
    abilities = Abilities()

    def __init__(self, mark="!"):
        self.mark = mark

    def identity(self, search=None):
        return Identity(("louder", self.mark))

    def edit_segments(self, segments, search=None, *, evidence=None):
        texts = [one.mt.replace(".", self.mark) for one in segments]
        return [
            PostEdit(text, text != one.mt, edits=edits_between(one.mt, text))
            for one, text in zip(segments, texts, strict=True)
        ]


class Needy(Louder):
    def __init__(self, mark):
        super().__init__(mark)


class Unfinished(Editor):
    abilities = Abilities()


class Forgetful(Louder):
    def edit_segments(self, segments, search=None, *, evidence=None):
        return super().edit_segments(segments)[1:]


class Exiting(Louder):
    def edit_segments(self, segments, search=None, *, evidence=None):
        raise SystemExit(0)


class Hinting(Louder):
    abilities = Abilities(hints=("glossary", "errors"))


def made():
    return Louder("!!")


def broken():
    raise KeyError("no table")


def ended():
    raise SystemExit


editor = Louder()
table = {"a": "b"}
"""


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a module in the working directory, which is not on the path of imports."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one])
    (tmp_path / "louder_rules.py").write_text(_MODULE)
    (tmp_path / "needs_more.py").write_text("import a_library_that_is_not_here\n")
    (tmp_path / "a_script.py").write_text("import sys\nsys.exit(0)\n")
    (tmp_path / "talking_rules.py").write_text("print('loading')\nfrom louder_rules import editor\n")
    (tmp_path / "rules_folder").mkdir()
    (tmp_path / "rules_folder" / "inner.py").write_text("from louder_rules import editor\n")
    for name in ("louder_rules", "needs_more", "talking_rules", "rules_folder", "rules_folder.inner"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return "python:louder_rules"


@pytest.mark.parametrize(("name", "output"), [("editor", "a !"), ("Louder", "a !"), ("made", "a !!")])
def test_an_editor_a_class_and_a_function_can_be_named(rules: str, name: str, output: str) -> None:
    editor = load_own_editor(f"{rules}:{name}")
    assert isinstance(editor, Editor)
    assert editor.edit(["x"], ["a ."])[0].text == output


def test_a_module_of_a_folder_is_found(rules: str) -> None:
    assert load_own_editor("python:rules_folder.inner:editor").edit(["x"], ["a ."])[0].text == "a !"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("python:louder_rules", "write python:MODULE:NAME, such as python:my_rules:editor"),
        ("python::editor", "write python:MODULE:NAME"),
        ("python:louder_rules.py:editor", "there is no module louder_rules.py in "),
        ("python:louder rules:editor", "write python:MODULE:NAME"),
        ("python:../louder_rules:editor", "write python:MODULE:NAME"),
        ("python:louder_rules:made()", "write python:MODULE:NAME"),
        ("python:quieter_rules:editor", "there is no module quieter_rules in "),
        ("python:rules_folder.outer:editor", "there is no module rules_folder.outer in "),
        ("python:needs_more:editor", "needs_more imports a_library_that_is_not_here, which is not installed"),
        ("python:louder_rules:edito", 'has no edito; did you mean "editor"?'),
        ("python:louder_rules:table", "not {'a': 'b'} (dict)"),
        ("python:time:editor", "time (built into Python) has no editor"),
        ("python:rules_folder:editor", "rules_folder) has no editor"),
        ("python:a_script:editor", "a_script ends the program when it is loaded; put what it does as a script"),
        ("python:louder_rules:ended", "louder_rules ends the program"),
        ("python:louder_rules:Needy", "missing a required argument: 'mark'"),
        ("python:louder_rules:Unfinished", "without edit_segments, identity"),
    ],
)
def test_what_is_wrong_with_a_name_is_said(rules: str, name: str, message: str) -> None:
    with pytest.raises(DataError) as refusal:
        load_own_editor(name)
    assert str(refusal.value).startswith(f"{name}: ")
    assert message in str(refusal.value)


def test_an_error_inside_the_module_is_passed_on(rules: str) -> None:
    with pytest.raises(KeyError, match="no table"):
        load_own_editor(f"{rules}:broken")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"models": ["python:louder_rules:editor", "none"]}, "cannot be part of an ensemble"),
        ({"models": ["none", "python:louder_rules:editor"]}, "cannot be part of an ensemble"),
        ({"models": ["python:louder_rules:editor"], "dtype": "int8"}, "--dtype int8: is for models"),
        ({"models": ["python:louder_rules:editor"], "memory": object()}, "leave out --memory"),
    ],
)
def test_what_only_models_can_do_is_refused(rules: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as refusal:
        EditorSpec(**given).load(None)
    assert message in str(refusal.value)


def test_hints_are_left_to_models(rules: str, tmp_path: Path) -> None:
    spec = EditorSpec([f"{rules}:Hinting"])
    assert spec.load(None).edit(["x"], ["a ."])[0].text == "a !"
    (tmp_path / "tags").write_text("OK OK OK OK OK\n")
    (tmp_path / "mt").write_text("a .\n")
    files = TagFiles(tags=str(tmp_path / "tags"), tagged=str(tmp_path / "mt"))
    with pytest.raises(DataError, match=r"hints\.tags is for models"):
        replace(spec, tags=files).load(None)


def test_a_model_to_load_is_never_imported_as_a_module(rules: str) -> None:
    with pytest.raises(ModelFolderError, match="is an editor of your own, and a model is needed here"):
        PostEditor.load(f"{rules}:editor")
    assert "louder_rules" not in sys.modules


def test_edit_protects_and_describes_the_output(rules: str, run: Any, tmp_path: Path) -> None:
    (tmp_path / "a.src").write_text("Wait .\nVersion 1.2\n")
    (tmp_path / "a.mt").write_text("Warte .\nVersion 1.2\n")
    given = ("--src", tmp_path / "a.src", "--mt", tmp_path / "a.mt", "--out")
    result = run("edit", f"{rules}:editor", *given, tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "out").read_text() == "Warte !\nVersion 1.2\n"
    bare = run("edit", f"{rules}:editor", *given, tmp_path / "bare", "--protect", "none")
    assert bare.exit_code == 0, bare.stderr
    assert (tmp_path / "bare").read_text() == "Warte !\nVersion 1!2\n"


def test_what_a_module_prints_is_not_part_of_the_output(rules: str, run: Any, tmp_path: Path) -> None:
    (tmp_path / "a.src").write_text("Wait .\n")
    (tmp_path / "a.mt").write_text("Warte .\n")
    result = run("edit", "python:talking_rules:editor", "--src", tmp_path / "a.src", "--mt", tmp_path / "a.mt")
    assert (result.exit_code, result.stdout) == (0, "Warte !\n")
    assert result.stderr.startswith("loading\n")


def test_an_editor_that_exits_does_not_end_a_command_with_success(rules: str, run: Any, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("Warte .\n")
    for protect in ("all", "none"):
        given = ("--src", tmp_path / "a", "--mt", tmp_path / "a", "--protect", protect)
        result = run("edit", f"{rules}:Exiting", *given)
        assert (result.exit_code, result.stdout) == (1, "")
        assert "Exiting.edit_segments ended the program" in result.stderr


def test_the_service_edits_with_it_and_it_learns_nothing(rules: str, tmp_path: Path) -> None:
    served = ServedModel.model_validate({"path": f"{rules}:editor"})
    editors = ProjectEditors(ProcessSpec(served, 1, str(tmp_path / "memory.db")))
    assert not editors.facts.learns
    (outcome,) = editors.done(Work(EditKind("rules"), [Segment("Wait .", "Warte .")])).outcomes
    assert isinstance(outcome, PostEdit)
    assert outcome.text == "Warte !"


def test_the_service_gives_no_segment_the_correction_of_another(rules: str) -> None:
    served = ServedModel.model_validate({"path": f"{rules}:Forgetful", "protect": []})
    editors = ProjectEditors(ProcessSpec(served, 1, None))
    kind = EditKind("rules", None, ProjectSettings(protect=()))
    outcomes = editors.done(Work(kind, [Segment("Wait .", "Warte ."), Segment("Go .", "Geh .")])).outcomes
    assert [one.message for one in outcomes if isinstance(one, Refusal)] == [
        "Forgetful.edit_segments returned 0 corrections, not 1"
    ] * 2


def test_no_gate_is_learnt_from_too_few_corrections(rules: str, run: Any, tmp_path: Path) -> None:
    files = []
    for side, text in (("src", "Wait ."), ("mt", "Warte ."), ("pe", "Warte !")):
        (tmp_path / side).write_text(f"{text}\n")
        files += [f"--{side}", tmp_path / side]
    result = run("gate", f"{rules}:Forgetful", *files, "--out", tmp_path / "gate.json", "--protect", "none")
    assert result.exit_code == 1
    assert "Forgetful.edit_segments returned 0 corrections, not 1" in result.stderr
