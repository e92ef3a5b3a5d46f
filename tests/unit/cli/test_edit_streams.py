"""`postedit edit` reads pipes and standard input once, and writes to streams, links and compressed files."""

import os
import pty
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.unit.llm.conftest import PRICES
from typer.testing import CliRunner

from postedit.cli.input_lines import Pair, file_pairs
from postedit.cli.main import app
from postedit.cli.serve import _create_admin
from postedit.core.errors import DataError
from postedit.data.lines import read_lines
from postedit.data.stored_lines import StoredLines

SRC = "".join(f"source {n}\n" for n in range(5))
MT = "".join(f"mt {n}\n" for n in range(5))
EXPECTED = "".join(f"mt {n}!\n" for n in range(5))


@pytest.fixture
def src(tmp_path: Path) -> Path:
    (tmp_path / "x.src").write_text(SRC)
    return tmp_path / "x.src"


@pytest.fixture
def mt(tmp_path: Path) -> Path:
    (tmp_path / "x.mt").write_text(MT)
    return tmp_path / "x.mt"


def pipe(text: str) -> Path:
    """Return a pipe as the shell's <(...) names it."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as file:
        file.write(text)
    return Path(f"/dev/fd/{reading}")


class TestInput:
    def test_two_pipes(self, run: Any, editor: Any) -> None:
        result = run("edit", "MODEL", "--src", pipe(SRC), "--mt", pipe(MT))
        assert (result.exit_code, result.stdout) == (0, EXPECTED)
        assert "5 lines, 5 changed" in result.stderr

    def test_a_pipe_beside_a_file_into_a_file(self, run: Any, editor: Any, src: Path, tmp_path: Path) -> None:
        result = run("edit", "MODEL", "--src", src, "--mt", pipe(MT), "--out", tmp_path / "out")
        assert result.exit_code == 0
        assert (tmp_path / "out").read_text() == EXPECTED

    def test_a_dash_is_standard_input(self, run: Any, editor: Any, mt: Path) -> None:
        result = run("edit", "MODEL", "--src", "-", "--mt", mt, stdin=SRC.encode())
        assert (result.exit_code, result.stdout) == (0, EXPECTED)

    def test_standard_input_is_read_by_one_option(self, run: Any, editor: Any) -> None:
        result = run("edit", "MODEL", "--src", "-", "--mt", "-", stdin=SRC.encode())
        assert (result.exit_code, editor.loaded) == (1, [])
        assert "- stands for standard input, which only one option can read" in result.stderr

    def test_byte_order_marks_are_dropped_and_crlf_is_warned_of(self, run: Any, editor: Any, tmp_path: Path) -> None:
        (tmp_path / "src").write_bytes(b"\xef\xbb\xbfone\r\n")
        (tmp_path / "mt").write_bytes(b"\xef\xbb\xbfeins\r\n")
        result = run("edit", "MODEL", "--src", tmp_path / "src", "--mt", tmp_path / "mt")
        assert (result.exit_code, result.stdout_bytes) == (0, b"eins\r!\n")
        for side in ("src", "mt"):
            assert f"lines of {side} end in CR LF (Windows line ends)" in result.stderr
        result = run("edit", "MODEL", stdin=b"\xef\xbb\xbfone\teins\n")
        assert (result.exit_code, result.stdout) == (0, "eins!\n")
        assert "CR LF" not in result.stderr

    def test_lone_crs_are_not_taken_for_windows_line_ends(self, run: Any, editor: Any, tmp_path: Path) -> None:
        for side in ("src", "mt"):
            (tmp_path / side).write_bytes(b"a\rb\r")
        result = run("edit", "MODEL", "--src", tmp_path / "src", "--mt", tmp_path / "mt")
        assert result.exit_code == 0
        assert "lines of mt contain CR, which does not end a line; end lines with LF instead" in result.stderr
        assert "CR LF" not in result.stderr

    @pytest.mark.parametrize("shorter", ["--src", "--mt"])
    def test_pipes_of_unequal_length_fail_where_one_ends(self, run: Any, editor: Any, shorter: str) -> None:
        sides = {side: pipe("a\n" if side == shorter else "a\nb\n") for side in ("--src", "--mt")}
        result = run("edit", "MODEL", "--src", sides["--src"], "--mt", sides["--mt"])
        assert (result.exit_code, result.stdout) == (1, "a!\n")
        assert f"{sides[shorter]} ends after line 1 and" in result.stderr

    def test_pipes_cannot_be_resumed(self, run: Any, editor: Any, src: Path, mt: Path, tmp_path: Path) -> None:
        for given in ((pipe(SRC), mt), (src, pipe(MT)), ("-", mt)):
            result = run("edit", "MODEL", "--src", given[0], "--mt", given[1], "--out", tmp_path / "out", "--resume")
            assert (result.exit_code, editor.loaded) == (1, [])
            assert "--resume works only with --src and --out" in result.stderr

    def test_an_interruption_advises_no_resume_of_a_pipe(self, run: Any, editor: Any, mt: Path, tmp_path: Path) -> None:
        editor.raise_at = {"mt 3": KeyboardInterrupt()}
        out = tmp_path / "out"
        result = run("edit", "MODEL", "--src", pipe(SRC), "--mt", mt, "--out", out, "--set", "chunk_lines=2")
        assert result.exit_code == 130
        assert result.stderr == f"stopped after 2 lines, kept in {out}.partial\n"

    def test_input_from_a_terminal_gets_a_hint(self, capsys: pytest.CaptureFixture[str], mt: Path) -> None:
        master, slave = pty.openpty()
        os.write(master, b"one\ntwo\n\x04")
        with os.fdopen(slave, "rb") as terminal, pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.stdin", type("Stdin", (), {"buffer": terminal, "isatty": terminal.isatty}))
            pairs = file_pairs(Path("-"), None)
            assert list(pairs) == [Pair("one", ""), Pair("two", "")]
        os.close(master)
        assert "Reading source lines from this terminal; Ctrl-D ends them" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        "score - --pe -",
        "score - --pe /dev/stdin",
        "score - --pe /dev/fd/0",
        "score hyp --pe pe --src - --mt -",
        "tune MODEL --src - --mt - --pe - --out tuned",
        "chain MODEL MODEL --src - --mt - --pe - --out chained",
        "explain MODEL --src - --mt -",
        "rerank - --features - --weights weights.json --out best",
        "rerank - --pe - --tune weights.json",
    ],
)
def test_no_command_reads_standard_input_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, line.split(), input="a\n")
    assert result.exit_code == 1
    assert "- stands for standard input, which only one option can read" in " ".join(result.stderr.split())


@pytest.mark.parametrize("arguments", [(), ("--src", "-")])
def test_closed_standard_input_is_explained(
    monkeypatch: pytest.MonkeyPatch, editor: Any, mt: Path, capsys: Any, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setattr("sys.stdin", None)  # as Python has it after `<&-`
    given = [*arguments, "--mt", str(mt)] if arguments else []
    monkeypatch.setattr("sys.argv", ["postedit", "edit", "MODEL", *given])
    with pytest.raises(SystemExit) as found:
        app()
    assert found.value.code == 1
    assert "error: standard input is closed" in capsys.readouterr().err


def test_closed_standard_input_is_explained_wherever_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    for read in (StoredLines, lambda path: list(read_lines(path))):
        with pytest.raises(DataError, match="standard input is closed"):
            read(Path("-"))
    with pytest.raises(DataError, match=r"standard input is not a terminal.*\$POSTEDIT_ADMIN_PASSWORD"):
        _create_admin("never-opened.db", "anna")


class TestEmptyInput:
    def test_files_and_standard_input_alike(self, run: Any, editor: Any, tmp_path: Path) -> None:
        (tmp_path / "src").touch()
        (tmp_path / "mt").touch()
        from_files = run("edit", "MODEL", "--src", tmp_path / "src", "--mt", tmp_path / "mt")
        from_pipes = run("edit", "MODEL", "--src", pipe(""), "--mt", pipe(""))
        from_stdin = run("edit", "MODEL", stdin=b"")
        for result in (from_files, from_pipes, from_stdin):
            assert (result.exit_code, result.stdout) == (1, "")
            assert result.stderr.endswith(": is empty\n")


class TestOutput:
    @pytest.mark.parametrize("out", ["-", "/dev/stdout"])
    def test_standard_output_by_name(self, run: Any, editor: Any, src: Path, mt: Path, out: str) -> None:
        result = run("edit", "MODEL", "--src", src, "--mt", mt, "--out", out)
        assert (result.exit_code, result.stdout) == (0, EXPECTED)

    def test_a_device_stays_a_device(self, run: Any, editor: Any, src: Path, mt: Path) -> None:
        assert run("edit", "MODEL", "--src", src, "--mt", mt, "--out", "/dev/null").exit_code == 0
        assert Path("/dev/null").is_char_device()
        assert not list(Path("/dev").glob("null.*"))

    def test_a_fifo(self, run: Any, editor: Any, src: Path, mt: Path, tmp_path: Path) -> None:
        fifo = tmp_path / "fifo"
        os.mkfifo(fifo)
        found: list[str] = []
        reader = threading.Thread(target=lambda: found.append(fifo.read_text()))
        reader.start()
        assert run("edit", "MODEL", "--src", src, "--mt", mt, "--out", fifo).exit_code == 0
        reader.join(timeout=300)
        assert found == [EXPECTED]
        assert fifo.is_fifo()

    @pytest.mark.parametrize("link", [None, os.symlink, os.link])
    def test_an_input_is_never_replaced(
        self, run: Any, editor: Any, src: Path, mt: Path, tmp_path: Path, link: Any
    ) -> None:
        out = mt
        if link is not None:
            out = tmp_path / "out"
            link(mt, out)
        result = run("edit", "MODEL", "--src", src, "--mt", mt, "--out", out)
        assert (result.exit_code, editor.loaded) == (1, [])
        assert f"--out: {out} is one of the files to read; write to another one" in result.stderr
        assert mt.read_text() == MT

    @pytest.mark.parametrize("option", ["--glossary", "--memory"])
    @pytest.mark.parametrize("mark", ["", "#en:de"])
    def test_glossary_and_memory_are_never_replaced(
        self, run: Any, src: Path, mt: Path, tmp_path: Path, option: str, mark: str
    ) -> None:
        named = tmp_path / "named.tsv"
        named.write_text("Haus\tHaus\n")
        given = f"{named}{mark}" if option == "--glossary" else named
        result = run("edit", "none", "--src", src, "--mt", mt, option, given, "--out", named)
        assert result.exit_code == 1
        assert f"--out: {named} is one of the files to read; write to another one" in result.stderr
        assert named.read_text() == "Haus\tHaus\n"

    @pytest.mark.parametrize("inputs", ["lines", "files"])
    def test_a_file_that_an_option_names_is_never_replaced(
        self, run: Any, editor: Any, src: Path, mt: Path, tmp_path: Path, inputs: str
    ) -> None:
        prices = tmp_path / "prices.po"  # a name that a copy may have
        prices.write_text(PRICES)
        (tmp_path / "x.po").write_text("")
        texts = ("--src", src, "--mt", mt) if inputs == "lines" else (tmp_path / "x.po",)
        result = run("edit", "openai:tiny", *texts, "--out", prices, "--set", f"llm.prices={prices}")
        assert (result.exit_code, editor.loaded) == (1, [])
        assert f"--out: {prices} is one of the files to read; write to another one" in result.stderr
        assert prices.read_text() == PRICES
