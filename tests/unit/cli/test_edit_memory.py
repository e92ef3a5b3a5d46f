"""`postedit edit --memory`: all segments and processes see the corrections that there were when the work began."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.commands import refused

from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import CorrectionMemory
from postedit.jobs import editing

LINES = 6
FAST = ("--set", "online.rate=0.05", "--set", "chunk_lines=2")
MORE = [Correction("it goes", "es geht", "es ging ."), Correction("the house", "das Haus", "Haus", project="p")]


@pytest.fixture(autouse=True)
def nonsense_is_text() -> None:
    """Keep the check for sound text here, as it is in worker processes."""


@pytest.fixture
def model(tiny_folders: Path) -> Path:
    return tiny_folders / "transference"


@pytest.fixture
def where(tmp_path: Path) -> Path:
    with CorrectionMemory(tmp_path / "memory.db") as memory:
        memory.add([Correction("the house", "das Haus", "das Häuschen", project="p")] * 3)
    return tmp_path / "memory.db"


@pytest.fixture
def edit(run: Any, model: Path, tmp_path: Path) -> Any:
    """Return what edits some lines, and returns the records that are written, or the failure."""
    for side, text in (("src", "the house"), ("mt", "das Haus")):
        (tmp_path / f"x.{side}").write_text("".join(f"{text} {n}\n" for n in range(LINES)))

    def call(*arguments: object, out: str = "out") -> Any:
        lines = ("--src", tmp_path / "x.src", "--mt", tmp_path / "x.mt", "--out", tmp_path / out)
        result = run("edit", model, *lines, "--format", "jsonl", *arguments)
        return result if result.exit_code else (tmp_path / out).read_text()

    return call


def scores(records: str) -> list[float]:
    return [json.loads(line)["score"] for line in records.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("learn", ["online", "nearest"])
def test_corrections_count_in_one_process_and_in_several(edit: Any, where: Path, learn: str) -> None:
    options = ("--learn", learn, "--set", f"{learn}.rate=0.05", "--memory", where)
    alone, several = edit(*options), edit(*options, "--devices", "cpu,cpu", out="several")
    assert alone == several
    assert all(abs(one - other) > 1e-3 for one, other in zip(scores(alone), scores(edit(out="plain")), strict=True))


@pytest.mark.slow
def test_what_is_corrected_meanwhile_does_not_count(edit: Any, where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = edit("--memory", where, *FAST, out="before")
    plain = editing.edit_window

    def corrected(*arguments: Any) -> editing.Edited:
        with CorrectionMemory(where) as memory:
            memory.add(MORE)
        return plain(*arguments)

    monkeypatch.setattr(editing, "edit_window", corrected)
    assert edit("--memory", where, *FAST) == before
    assert edit("--memory", where, *FAST, out="later") != before


def interrupted(edit: Any, where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, windows = editing.edit_window, []

    def once(*arguments: Any) -> editing.Edited:
        windows.append(arguments)
        if len(windows) == 2:
            raise KeyboardInterrupt
        return plain(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(editing, "edit_window", once)
        assert edit("--memory", where, *FAST).exit_code == 130


@pytest.mark.slow
def test_resume_goes_on_with_the_corrections_of_the_beginning(
    edit: Any, where: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = edit("--memory", where, *FAST, out="whole")
    interrupted(edit, where, monkeypatch)
    with CorrectionMemory(where) as memory:
        memory.add(MORE)
        memory.undo(1)
    assert edit("--memory", where, *FAST, "--resume") == whole


def test_resume_refuses_another_memory_or_way_to_learn(
    edit: Any, where: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(edit, where, monkeypatch)
    CorrectionMemory(tmp_path / "other.db").close()
    for options, difference in (
        (("--memory", tmp_path / "other.db", *FAST), "another memory"),
        (("--memory", where, *FAST, "--set", "online.rate=0.1"), "another online.rate"),
        (("--memory", where, "--learn", "nearest", "--set", "chunk_lines=2"), "another learn"),
        (("--set", "chunk_lines=2"), "another learn"),
    ):
        assert f"these lines were made with {difference}" in refused(edit(*options, "--resume"))
    with CorrectionMemory(where) as memory:
        memory.delete("p")
    message = refused(edit("--memory", where, *FAST, "--resume"))
    assert "out.partial: these lines were made with corrections that have been deleted from the memory" in message


@pytest.mark.parametrize("later", [[], MORE * 3], ids=["shorter", "longer"])
def test_resume_refuses_a_backup_that_was_put_back(
    edit: Any, where: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, later: list[Correction]
) -> None:
    shutil.copy(where, tmp_path / "backup.db")
    with CorrectionMemory(where) as memory:
        memory.add(MORE)
    interrupted(edit, where, monkeypatch)
    shutil.copy(tmp_path / "backup.db", where)
    with CorrectionMemory(where) as memory:
        memory.add(later)
    message = refused(edit("--memory", where, *FAST, "--resume"))
    assert "out.partial: these lines were made with corrections that the memory lacks now" in message


@pytest.mark.slow
def test_translation_files_learn_and_resume(
    run: Any, model: Path, where: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    units = "".join(
        f'<trans-unit id="{n}"><source>the house {n}</source><target>das Haus {n}</target></trans-unit>'
        for n in range(LINES)
    )
    path = tmp_path / "a.xlf"
    path.write_text(f'<xliff version="1.2"><file original="a"><body>{units}</body></file></xliff>')

    def edit(*arguments: object, out: str = "out.xlf") -> Any:
        result = run("edit", model, path, "--out", tmp_path / out, "--format", "jsonl", *arguments)
        return result if result.exit_code else scores((tmp_path / f"{out}.jsonl").read_text())

    whole = edit("--memory", where, *FAST, out="whole.xlf")
    assert len(whole) == LINES
    assert whole != edit(out="plain.xlf")
    interrupted(edit, where, monkeypatch)
    with CorrectionMemory(where) as memory:
        memory.add(MORE)
    assert edit("--memory", where, *FAST, "--resume") == whole


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--memory", "memori.db"], 'there is no such memory; the nearest existing path is "memory.db"'),
        (["--memory", "x.src"], "x.src: is a file of another program, not a memory of corrections"),
        (["--memory", "memory.db", "--gate", "x.src"], "leave out one or the other"),
        (["--memory", "memory.db", "--dtype", "int8"], "a model that learns needs float32 weights"),
        (["--memory", "memory.db", "MODEL"], "only one model can learn from corrections, not 2"),
        (["--memory", "memory.db", "--set", "online.rate=0"], "online.rate"),
        (["--learn", "nearest"], "--learn says how a model learns from corrections; give --memory with it"),
        (["--set", "nearest.most=3"], "--set nearest... says how a model learns"),
    ],
)
def test_faults_are_reported_in_a_sentence(
    edit: Any, where: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(where.parent)
    files = set(where.parent.iterdir())
    assert message in refused(edit(*arguments))
    assert set(where.parent.iterdir()) == files


def test_without_a_model_lines_are_edited_by_corrections_alone(run: Any, tmp_path: Path) -> None:
    for side, line in {"src": "see the page", "mt": "siehe diese Seite", "pe": "siehe dieser Seite"}.items():
        (tmp_path / f"corrected.{side}").write_text(f"{line}\n" * 2)
    memory = tmp_path / "corrections.db"
    run("memory", "add", memory, tmp_path / "corrected")
    lines = b"see the page\tsiehe diese Seite\na cat\teine Katze\n"
    assert run("edit", "none", "--memory", memory, stdin=lines).stdout == "siehe dieser Seite\neine Katze\n"
