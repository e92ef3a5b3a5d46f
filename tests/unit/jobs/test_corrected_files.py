"""`edit_file`: translation files from Python, as the command edits them."""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from postedit.cli.main import app
from postedit.core.editor import Abilities, Edit, Editor, Identity, PostEdit
from postedit.core.errors import DataError, OutputError
from postedit.editing.iterated import Iterated
from postedit.editing.post_editor import PostEditor
from postedit.editing.protection import Protected
from postedit.files.options import FilesConfig
from postedit.gate import Gated
from postedit.jobs.corrected_files import checked_record, edit_file
from postedit.text.edits import edits_between

HEAD = '<xliff version="1.2"><file original="a" source-language="en" target-language="de"><body>\n'
TARGETS = ("das <g id='1'>Haus</g>", "seit 12 Jahren", "ein <x id='1'/> Wort")


class Replacing(Editor):
    """Replaces some words, and changes a number."""

    abilities = Abilities(languages=("en", "de"))
    with_edits = True

    def identity(self, search: Any = None) -> Identity:
        return Identity(("replacing",))

    def edit_segments(self, segments: Any, search: Any = None, *, evidence: Any = None) -> list[PostEdit]:
        texts = [(one.mt, one.mt.replace("Haus", "Heim").replace("12", "21")) for one in segments]
        return [PostEdit(new, new != mt, edits=edits_between(mt, new) if self.with_edits else ()) for mt, new in texts]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    units = [
        f'<trans-unit id="{number}"><source>for 12 years</source><target>{target}</target></trans-unit>\n'
        for number, target in enumerate(TARGETS)
    ]
    (tmp_path / "a.xlf").write_text(f"{HEAD}{''.join(units)}</body></file></xliff>\n", "utf-8")
    return tmp_path / "a.xlf"


def test_targets_are_corrected_and_protected(path: Path) -> None:
    out, config = path.with_name("b.xlf"), FilesConfig(keep_former=False)
    summary = edit_file(Replacing(), str(path), str(out), config=config)
    assert (summary.files, summary.units, summary.changed, summary.unchanged) == (1, 3, 2, 1)
    assert "das <g id='1'>Heim</g>" in out.read_text()
    assert "seit 21 Jahren" in out.read_text()
    summary = edit_file(Protected(Replacing()), path, out, config=config)
    assert (summary.changed, summary.fallbacks) == (1, {"number": 2})
    assert "1 file, 3 units: 1 changed, 2 left as they are, 1 edit reverted" in summary.lines()
    assert "seit 12 Jahren" in out.read_text()


class Moving(Editor):
    """Moves a number, and writes it with the digits of another script."""

    abilities = Abilities(languages=("en", "de"))

    def identity(self, search: Any = None) -> Identity:
        return Identity(("moving",))

    def edit_segments(self, segments: Any, search: Any = None, *, evidence: Any = None) -> list[PostEdit]:
        edits = (Edit("delete", (0, 2), (0, 0)), Edit("insert", (6, 6), (4, 6)))
        return [
            PostEdit("Haus ٥", True, edits=edits) if one.mt == "5 Haus" else PostEdit(one.mt, False) for one in segments
        ]


@pytest.mark.parametrize("wrap", [lambda editor: editor, partial(Iterated, passes=2), partial(Gated, gate=None)])
def test_half_a_move_breaks_no_span(path: Path, wrap: Callable[[Editor], Editor]) -> None:
    path.write_text(
        f"{HEAD}<trans-unit id='1'><source>house 5</source><target><g id='1'>5</g> <g id='2'>Haus</g></target>"
        "</trans-unit></body></file></xliff>\n"
    )
    summary = edit_file(wrap(Protected(Moving())), path, path.with_name("b.xlf"))
    assert (summary.changed, summary.fallbacks) == (0, {"number": 1})


def test_temporary_files_are_closed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    make = tempfile.TemporaryFile

    def noted(*arguments: Any, **options: Any) -> Any:
        made.append(make(*arguments, **options))
        return made[-1]

    monkeypatch.setattr(tempfile, "TemporaryFile", noted)
    edit_file(Replacing(), path, path.with_name("b.xlf"))
    path.write_text("<xliff", "utf-8")
    with pytest.raises(DataError):
        edit_file(Replacing(), path, path.with_name("c.xlf"))
    assert len(made) >= 2
    assert all(file.closed for file in made)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has this file, to which nothing can be written")
def test_a_full_disk_for_temporary_files_is_explained(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_full = partial(open, "/dev/full", "w+", encoding="utf-8")
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda *_, **__: open_full())
    with pytest.raises(OutputError, match=f"^{tempfile.gettempdir()}: cannot be written: the disk is full"):
        edit_file(Replacing(), path, path.with_name("b.xlf"))


def test_the_copy_is_that_of_the_command(path: Path, tiny_folders: Path) -> None:
    folder = tiny_folders / "transference"
    copies = path.with_name("command.xlf"), path.with_name("python.xlf")
    options = ["--set", "files.check_languages=false", "--set", "files.notes=true"]
    done = CliRunner().invoke(app, ["edit", str(folder), str(path), "--out", str(copies[0]), *options])
    assert done.exit_code == 0, done.output
    config = FilesConfig(check_languages=False, notes=True)
    summary = edit_file(Protected(PostEditor.load(folder)), path, copies[1], config=config)
    assert copies[1].read_bytes() == copies[0].read_bytes()
    assert summary.changed
    assert all(line in done.stderr for line in summary.lines())


class Changed(Replacing):
    """Changes the corrections by a function."""

    def __init__(self, change: Callable[[PostEdit], PostEdit]) -> None:
        self.change = change

    def edit_segments(self, segments: Any, search: Any = None, *, evidence: Any = None) -> list[PostEdit]:
        return [self.change(one) for one in super().edit_segments(segments)]


def test_numbers_of_numpy_are_as_those_of_python(path: Path) -> None:
    def with_numpy(one: PostEdit) -> PostEdit:
        edits = tuple(replace(edit, mt_span=(*np.array(edit.mt_span),)) for edit in one.edits)
        values: dict[str, Any] = {"changed": np.bool_(one.changed), "score": np.float32(-1)}
        return replace(one, edits=edits, confidences=tuple(np.full(len(edits), 0.5, np.float32)), **values)

    copies = [path.with_name(name) for name in ("b.xlf", "c.xlf")]
    for editor, copy in zip((Replacing(), Changed(with_numpy)), copies, strict=True):
        assert edit_file(editor, path, copy).changed == 2
    assert copies[0].read_bytes() == copies[1].read_bytes()
    wrong: Any = {"a"}
    with pytest.raises(DataError, match=r"the editor returned \{'a'\} where a number is expected"):
        edit_file(Changed(lambda one: replace(one, score=wrong)), path, copies[0])


@pytest.mark.parametrize("at", [(0, 1), (900, 900)])
def test_edits_that_do_not_lead_to_the_text_are_told(path: Path, at: tuple[int, int]) -> None:
    editor = Changed(lambda one: replace(one, edits=tuple(replace(edit, mt_span=at) for edit in one.edits)))
    with pytest.raises(
        DataError, match="edits that do not make 'das Heim' of 'das Haus'; find them with `edits_between`"
    ):
        edit_file(editor, path, path.with_name("b.xlf"))


def test_a_copy_in_a_folder_has_the_name_of_the_file(path: Path) -> None:
    (path.parent / "copies").mkdir()
    edit_file(Replacing(), path, path.parent / "copies")
    assert "Heim" in (path.parent / "copies" / "a.xlf").read_text()


def test_what_cannot_be_edited_leaves_no_copy(path: Path) -> None:
    editor, out = Replacing(), path.with_name("b.xlf")
    with pytest.raises(DataError, match="is a folder; give a file of it"):
        edit_file(editor, path.parent, out)
    with pytest.raises(DataError, match="is an input"):
        edit_file(editor, path, path)
    with pytest.raises(DataError, match=r"files\.translate: this editor cannot translate"):
        edit_file(editor, path, out, config=FilesConfig(translate=True))
    search: Any = {"beam": 4}
    with pytest.raises(DataError, match="search must be a SearchConfig"):
        edit_file(editor, path, out, search=search)
    editor.abilities = Abilities(languages=("en", "fr"))
    with pytest.raises(DataError, match="from en to de, and the model from en to fr"):
        edit_file(editor, path, out)
    editor.abilities, editor.with_edits = Abilities(), False
    with pytest.raises(DataError, match="a correction without its edits; find them with `edits_between`"):
        edit_file(editor, path, out)
    with pytest.raises(OutputError):
        edit_file(editor, path, path / "b.xlf")
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": 3},
        {"changed": None},
        {"edits": [{}]},
        {"edits": {}},
        {"reverted": "1"},
        {"skipped": 3},
        {"fallbacks": [3]},
    ],
)
def test_damaged_records_of_unfinished_work_are_refused(wrong: dict[str, Any]) -> None:
    sound = {"text": "a", "changed": False, "edits": [], "reverted": 0, "hit_limit": False, "skipped": None, "score": 1}
    assert checked_record(sound) == sound
    with pytest.raises(ValueError, match=next(iter(wrong))):
        checked_record({**sound, **wrong})
