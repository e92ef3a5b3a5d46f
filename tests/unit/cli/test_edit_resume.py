"""`postedit edit` that was interrupted, and continued with --resume."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.commands import EXPECTED, Files, options, refused

from postedit.search import SearchConfig


def interrupted(run: Any, editor: Any, files: Files) -> Path:
    """Run until Ctrl-C in the second chunk of three lines; return the file with what was done."""
    editor.raise_at = {"mt 4": KeyboardInterrupt()}
    result = run(*options(files, "--set", "chunk_lines=3"))
    editor.raise_at = {}
    editor.calls.clear()
    partial = files[2].with_name("x.out.partial")
    assert result.exit_code == 130
    assert result.stderr == (
        f"stopped after 3 of 7 lines, kept in {partial}; the same command with --resume continues after them\n"
    )
    assert not files[2].exists()
    return partial


def test_control_c_keeps_what_is_done_and_resume_goes_on(run: Any, editor: Any, files: Files) -> None:
    partial = interrupted(run, editor, files)
    assert partial.read_text() == "mt 0!\nmt 1!\nmt 2!\n"
    result = run(*options(files, "--resume"))
    assert result.exit_code == 0
    assert result.stderr.startswith("4 lines (without 3 lines of an earlier run), 4 changed, ")
    assert editor.calls == [("mt 3", "mt 4", "mt 5", "mt 6")]
    assert files[2].read_text() == EXPECTED
    assert not partial.exists()


def test_unfinished_lines_are_not_lost_without_resume(run: Any, editor: Any, files: Files) -> None:
    partial = interrupted(run, editor, files)
    before = partial.read_bytes()
    assert "--resume" in refused(run(*options(files)))
    assert partial.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda files, editor: files[0].write_text("other\n" * 7), "another source file"),
        (lambda files, editor: files[1].write_text("other\n" * 7), "another mt file"),
        (lambda files, editor: (editor.sources[0] / "config.json").write_text('{"other": 1}'), "another model"),
        (lambda files, editor: setattr(editor, "search", SearchConfig(beam=9)), "another search.beam"),
    ],
)
def test_resume_refuses_another_job(run: Any, editor: Any, files: Files, change: Any, message: str) -> None:
    partial = interrupted(run, editor, files)
    before = partial.read_bytes()
    change(files, editor)
    assert message in refused(run(*options(files, "--resume")))
    assert partial.read_bytes() == before


@pytest.mark.parametrize(("option", "name"), [("--dtype=int8", "dtype"), ("--min-confidence=0.5", "min_confidence")])
def test_resume_names_options_as_they_are_given(run: Any, editor: Any, files: Files, option: str, name: str) -> None:
    interrupted(run, editor, files)
    assert f"these lines were made with another {name}; repeat" in refused(run(*options(files, option, "--resume")))


def test_a_second_run_is_told_of_the_first_and_not_to_resume(
    run: Any, editor: Any, files: Files, locked: Callable[[Path], int]
) -> None:
    files[2].with_name("x.out.partial").write_text("mt 0!\n")
    process = locked(files[2])
    for more in ((), ("--resume",)):
        assert f"x.out: another process ({process}) is writing to it" in refused(run(*options(files, *more)))


def test_resume_refuses_lines_of_unknown_making(run: Any, editor: Any, files: Files) -> None:
    partial = interrupted(run, editor, files)
    partial.with_name("x.out.partial.json").write_text("{torn")
    assert "missing or damaged" in refused(run(*options(files, "--resume")))


def test_resume_with_nothing_to_go_on_with_starts(run: Any, editor: Any, files: Files) -> None:
    assert run(*options(files, "--resume")).exit_code == 0
    assert files[2].read_text() == EXPECTED
