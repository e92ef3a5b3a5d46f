"""`postedit memory`: add, show, undo, export, delete."""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.commands import refused

from postedit.adapt import database
from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import CorrectionMemory

XLIFF = (
    '<xliff version="1.2"><file original="a" source-language="en" target-language="de"><body>'
    '<trans-unit id="u1"><source>the house</source><target>{}</target></trans-unit>'
    '<trans-unit id="u2"><source>it goes</source><target/></trans-unit>'
    "</body></file></xliff>"
)


@pytest.fixture
def where(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    texts = {"src": ["a", "b", "c"], "mt": ["A", " ", "C"], "pe": ["Ä", "B", "C"]}
    for side, lines in texts.items():
        (tmp_path / f"x.{side}").write_text("".join(f"{line}\n" for line in lines))
    return tmp_path / "x"


@pytest.fixture
def filled(run: Any, where: Path, stream: Path) -> Path:
    for project in ("garden", "kitchen"):
        added = run("memory", "add", where, stream, "--project", project, "--author", "anna", "--file", "a.xlf")
        assert added.exit_code == 0, added.output
    return where


def contents(where: Path) -> list[tuple[str, ...]]:
    with CorrectionMemory(where) as memory:
        corrections = [entry.correction for entry in memory.corrections()]
    return [(one.src, one.mt, one.pe, one.project, one.author, one.file, one.unit) for one in corrections]


def test_triplets_are_added_but_for_those_without_mt(run: Any, where: Path, stream: Path) -> None:
    result = run("memory", "add", where, stream, "--project", "garden")
    assert result.stdout == f"{where}: 2 corrections added, numbers 1 to 2\n"
    assert "1 triplet left out: mt is empty" in result.stderr
    assert contents(where) == [("a", "A", "Ä", "garden", "", "", ""), ("c", "C", "C", "garden", "", "", "")]


def test_names_of_columns_that_would_be_learnt_are_told(run: Any, where: Path, tmp_path: Path) -> None:
    table = tmp_path / "x.tsv"
    table.write_text("Source\tTarget\tPost-edit\na\tb\tc\n")
    result = run("memory", "add", where, table)
    assert result.exit_code == 0
    assert "x.tsv: the first line reads like names of columns, and is taken for a triplet" in result.stderr


def test_triplets_are_all_left_out_for_a_reason_that_is_told(run: Any, where: Path, stream: Path) -> None:
    (stream.parent / "x.mt").write_text("\n" * 3)
    result = run("memory", "add", where, stream)
    assert "has no triplet to learn from" in refused(result)
    assert "3 triplets left out: mt is empty" in result.stderr
    assert not where.exists()


def test_who_interrupts_the_addition_is_told_to_look_before_the_next(
    run: Any, where: Path, stream: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(memory: CorrectionMemory, corrections: Iterable[Correction]) -> list[int]:
        add(memory, corrections)
        raise KeyboardInterrupt

    add = CorrectionMemory.add
    monkeypatch.setattr(CorrectionMemory, "add", interrupted)
    result = run("memory", "add", where, stream)
    assert result.exit_code == 130
    assert f"{where}: interrupted while adding; see by `postedit memory show`, with --last 3, whether" in result.stderr
    assert len(contents(where)) == 2


def test_units_of_translation_files_are_added(run: Any, where: Path, tmp_path: Path) -> None:
    for name, target in (("before", "das Haus"), ("after", "das Häuschen")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.xlf").write_text(XLIFF.format(target))
    result = run("memory", "add", where, tmp_path / "after", "--before", tmp_path / "before", "--author", "anna")
    assert result.exit_code == 0, result.output
    assert "1 unit left out: no target" in result.stderr
    path = str(tmp_path / "after/a.xlf")
    assert contents(where) == [("the house", "das Haus", "das Häuschen", "", "anna", path, "a#u1")]


def test_show_counts_by_project_and_lists_the_last(run: Any, filled: Path, tmp_path: Path) -> None:
    run("memory", "undo", filled, 3, "--author", "bert")
    result = run("memory", "show", filled, "--last", 3, "--json", tmp_path / "x.json")
    assert result.exit_code == 0, result.output
    assert f"{filled}: 3 corrections, and 1 undone; edition 1, last entry 5\n" in result.stdout
    assert "undoes 3" in result.stdout
    assert "kept: C" in result.stdout
    assert "A → Ä" in result.stdout
    values = json.loads((tmp_path / "x.json").read_text())
    assert [(one["name"], one["corrections"], one["undone"]) for one in values["projects"]] == [
        ("garden", 2, 0), ("kitchen", 1, 1)
    ]  # fmt: skip
    assert [(one["number"], one["undoes"], one["author"]) for one in values["last entries"]] == [
        (3, None, "anna"), (4, None, "anna"), (5, 3, "bert")
    ]  # fmt: skip


def test_an_empty_memory_is_shown(run: Any, where: Path) -> None:
    CorrectionMemory(where).close()
    assert "0 corrections, and 0 undone; edition 1, last entry 0" in run("memory", "show", where, "--last", 2).stdout


def test_export_leaves_out_what_is_undone_or_of_other_projects(run: Any, filled: Path, tmp_path: Path) -> None:
    assert run("memory", "undo", filled, 1).stdout == f"{filled}: correction 1 undone, by entry 5\n"
    for options, src, mt, pe in (
        ([], "c\na\nc\n", "C\nA\nC\n", "C\nÄ\nC\n"),
        (["--project", "garden"], "c\n", "C\n", "C\n"),
    ):
        result = run("memory", "export", filled, tmp_path / "out", *options)
        assert result.exit_code == 0, result.output
        assert [(tmp_path / f"out.{side}").read_text() for side in ("src", "mt", "pe")] == [src, mt, pe]


def test_deletion_needs_yes(run: Any, filled: Path) -> None:
    run("memory", "undo", filled, 1)
    message = refused(run("memory", "delete", filled, "--project", "garden"))
    assert 'would delete 1 correction of project "garden", and 1 undone, for good; add --yes to do it' in message
    assert len(contents(filled)) == 3
    result = run("memory", "delete", filled, "--project", "garden", "--yes")
    assert result.stdout == f'{filled}: 3 entries of project "garden" deleted\n'
    assert {one[3] for one in contents(filled)} == {"kitchen"}
    assert b"garden" not in filled.read_bytes()


def test_the_deletion_of_one_entry_is_told_in_words(run: Any, where: Path, stream: Path) -> None:
    for side in ("src", "mt", "pe"):
        stream.with_suffix(f".{side}").write_text("a\n")
    assert run("memory", "add", where, stream, "--project", "garden").exit_code == 0
    result = run("memory", "delete", where, "--project", "garden", "--yes")
    assert result.stdout == f'{where}: 1 entry of project "garden" deleted\n'


@contextmanager
def reading(where: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """Read a memory in a transaction, during which what is deleted cannot be overwritten."""
    monkeypatch.setattr(database, "_WAIT_SECONDS", 0.1)
    with closing(sqlite3.connect(where, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM postedit_entries").fetchall()
        yield reader


def test_deletion_that_a_reader_interrupts_can_be_completed(
    run: Any, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = filled.with_name("memory.db-wal")
    arguments = ("memory", "delete", filled, "--project", "garden", "--yes")
    with reading(filled, monkeypatch) as reader:
        for _ in range(2):
            assert "the texts of deleted entries are not overwritten yet" in refused(run(*arguments))
            assert b"garden" in filled.read_bytes()
        reader.execute("COMMIT")
        completed = refused(run(*arguments))
        assert completed.endswith('has no project "garden"; any texts that earlier deletions left are overwritten\n')
        assert b"garden" not in filled.read_bytes() + log.read_bytes()
        assert refused(run(*arguments)).count('has no project "garden"') == 1
    assert {one[3] for one in contents(filled)} == {"kitchen"}


def test_a_reader_that_ends_completes_a_deletion(run: Any, filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("memory", "delete", filled, "--project", "garden", "--yes")
    with reading(filled, monkeypatch):
        assert "not overwritten yet" in refused(run(*arguments))
    assert not any(b"garden" in file.read_bytes() for file in filled.parent.glob("memory.db*"))
    assert 'has no project "garden"' in refused(run(*arguments))


def test_a_misspelt_project_is_told_and_nothing_called_deleted(
    run: Any, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("memory", "delete", filled, "--project", "gardn", "--yes")
    with reading(filled, monkeypatch) as reader:
        before = filled.read_bytes()
        assert refused(run(*arguments)).endswith('has no project "gardn"; did you mean "garden"?\n')
        assert filled.read_bytes() == before
        assert "not overwritten yet" in refused(run("memory", "delete", filled, "--project", "kitchen", "--yes"))
        reader.execute("COMMIT")
        assert 'has no project "gardn"; any texts that earlier deletions left are' in refused(run(*arguments))
    assert {one[3] for one in contents(filled)} == {"garden"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "memori.db"], 'there is no such memory; the nearest existing path is "memory.db"'),
        (["show", "x.src"], "x.src: is a file of another program, not a memory of corrections"),
        (["undo", "none.db", 1], "none.db: there is no such memory"),
        (["undo", "memory.db", 99], "has no correction 99"),
        (["export", "none.db", "out"], "none.db: there is no such memory"),
        (["export", "memory.db", "out", "--project", "gardn"], 'has no project "gardn"; did you mean "garden"?'),
        (["export", "memory.db", "folder/out"], "its folder folder does not exist"),
        (["delete", "memory.db", "--project", "gardn", "--yes"], 'has no project "gardn"; did you mean "garden"?'),
        (["add", "new.db", "none"], "none.src"),
        (["add", "new.db", "x.src,x.pe"], "has no machine translations"),
        (["add", "new.db", "x.src,x.blank,x.pe"], "has no triplet to learn from"),
        (["add", "new.db", "x.src,x.nul,x.pe"], "line 2: a correction has a NUL character in its mt"),
        (["add", "new.db", "x", "--languages", "en:de"], "--before and --languages are for translation files"),
        (["add", "new.db", "a.xlf", "--languages", "en"], 'must be two languages, such as "en:de"'),
        (["add", "new.db", "none.xlf"], "none.xlf: there is no such file"),
    ],
)
def test_faults_are_reported_in_a_sentence_and_make_no_files(
    run: Any, filled: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[object], message: str
) -> None:
    monkeypatch.chdir(filled.parent)
    Path("x.blank").write_text("\n\n\n")
    Path("x.nul").write_text("a\nb\0\nc\n")
    files = set(Path().iterdir())
    assert message in refused(run("memory", *arguments))
    assert set(Path().iterdir()) == files


@pytest.mark.parametrize("prefix", ["", ".", "/", "d/"])
def test_files_are_exported_only_under_a_name(run: Any, filled: Path, prefix: str) -> None:
    result = run("memory", "export", filled, prefix)
    assert result.exit_code == 2
    assert "must be what the names of files begin with" in " ".join(result.stderr.replace("│", " ").split())


def test_a_memory_that_was_cut_short_is_called_damaged(run: Any, filled: Path) -> None:
    os.truncate(filled, 8192)
    assert "is a database that is damaged, or was cut short" in refused(run("memory", "show", filled))
