import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import postedit
from postedit.cli import main as command
from postedit.core.errors import DataError


def python(code: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=False, **options)


HEAVY = (
    "torch",
    "transformers",
    "pandas",
    "numpy",
    "sacrebleu",
    "pyarrow",
    "tokenizers",
    "sacremoses",
    "rich.progress",
)


def imported(*arguments: str) -> "tuple[list[str], subprocess.CompletedProcess[str]]":
    """Run the command; return which heavy packages were imported, and what it said."""
    code = f"""
import sys
from postedit.cli.main import main
sys.argv = ["postedit", *{arguments}]
try:
    main()
finally:
    print(*(name for name in {HEAVY} if name in sys.modules))
"""
    result = python(code)
    return result.stdout.splitlines()[-1].split(), result


def test_help_imports_nothing_heavy() -> None:
    heavy, result = imported("--help")
    assert heavy == []
    assert all(verb in result.stdout for verb in ("demo", "train", "edit", "score", "average", "models"))


@pytest.mark.parametrize("verb", ["edit", "train", "synth"])
def test_help_of_a_verb_imports_nothing_heavy(verb: str) -> None:
    heavy, result = imported(verb, "--help")
    assert heavy == []
    assert f"postedit {verb} " in result.stdout


def test_a_missing_file_is_reported_before_heavy_imports() -> None:
    heavy, result = imported("edit", "MODEL", "--src", "nowhere", "--mt", "nowhere")
    assert not {"torch", "transformers", "pandas"} & set(heavy)
    assert "nowhere: no such file" in result.stderr


@pytest.mark.parametrize("words", [(), ("data",)], ids=["postedit", "data"])
def test_groups_show_their_help_by_either_name(run: Any, words: "tuple[str, ...]") -> None:
    shown = run(*words, "-h")
    assert shown.exit_code == 0
    assert shown.stdout == run(*words, "--help").stdout


def commands() -> "Iterator[tuple[str, ...]]":
    for verb in command.VERBS:
        loaded = command._load_verb(verb)
        yield from ((verb, name) for name in loaded.commands) if hasattr(loaded, "commands") else [(verb,)]


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_help_shows_brackets_and_names_arguments_in_capitals(run: Any, words: "tuple[str, ...]") -> None:
    found = command._load_verb(words[0])
    found = found.commands[words[1]] if len(words) > 1 else found
    shown = run(*words, "-h").stdout
    assert shown == run(*words, "--help").stdout
    usage = next(line for line in shown.splitlines() if "Usage" in line)
    assert "...}" not in usage
    assert "...]..." not in usage
    assert not re.search(r"\{[a-z]", usage)
    assert "<bool>" not in shown, "a flag takes no value"
    for text in (found.help, *(option.help for option in found.params)):
        written = re.findall(r"\[\w+\]", (text or "").replace("\\", ""))
        assert all(word in shown for word in written), text


@pytest.mark.parametrize(
    ("typed", "completed"), [("ed", ["edit"]), ("models f", ["fetch"]), ("edit --prot", ["--protect"])]
)
def test_shells_complete_verbs_and_options(typed: str, completed: list[str]) -> None:
    words = f"postedit {typed}"
    asked = {"_POSTEDIT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    result = python(
        "import sys; from postedit.cli.main import main; sys.argv = ['postedit']; main()", env={**os.environ, **asked}
    )
    assert result.stdout.split() == completed


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_the_terminal_alone_breaks_the_lines_of_help(words: "tuple[str, ...]") -> None:
    found = command._load_verb(words[0])
    texts = [found.help, found.commands[words[1]].help] if len(words) > 1 else [found.help]
    assert all(text and "\n" not in text.replace("\n\n", "") for text in texts)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["score", "x", "--pe", "x", "--resamples", "0"], "must be at least 100 (found '0')"),
        (["score", "x", "--pe", "x", "--resamples", "many"], "must be a whole number (found 'many')"),
        (["score", "x", "--pe", "x", "--tokenize", "intl"], "'--tokenize': 'intl' is not one of 'none'"),
        (["edit", "--min-confidence", "2"], "must be at most 1 (found '2')"),
        (["edit", "--min-confidence", "x"], "must be a number (found 'x')"),
        (["data", "clean", "x", "--out", "y", "--workers", "0"], "must be at least 1 (found '0')"),
    ],
)
def test_values_of_options_are_refused_in_our_words(run: Any, arguments: "list[str]", said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    shown = " ".join(result.stderr.replace("│", " ").split())
    assert said in shown
    assert "Input should" not in shown


def test_version(run: Any) -> None:
    assert run("--version").stdout == f"postedit {postedit.__version__}\n"


def test_no_verb_shows_the_help(run: Any) -> None:
    assert "Usage" in run().output


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Any:
    def install(error: BaseException) -> None:
        def fail(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr("postedit.evaluate.test_set.evaluate_systems", fail)

    return install


def test_a_user_error_is_one_sentence_on_stderr(run: Any, failing: Any, tmp_path: Any) -> None:
    (tmp_path / "x").write_text("a\n" * 10)  # fewer sentences would be warned about
    failing(DataError("the [sentence] to act on"))
    result = run("score", tmp_path / "x", "--pe", tmp_path / "x")
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", "error: the [sentence] to act on\n")


@pytest.mark.parametrize(("message", "shown"), [((), "interrupted\n"), (("stopped after 3",), "stopped after 3\n")])
def test_control_c_is_one_sentence(run: Any, failing: Any, tmp_path: Any, message: Any, shown: str) -> None:
    (tmp_path / "x").write_text("a\n" * 10)  # fewer sentences would be warned about
    failing(KeyboardInterrupt(*message))
    result = run("score", tmp_path / "x", "--pe", tmp_path / "x")
    assert (result.exit_code, result.stderr) == (command.INTERRUPTED, shown)


@pytest.mark.parametrize(
    "error",
    [
        SystemError("CPUDispatcher(<function f>) returned a result with an exception set"),
        RuntimeError("Error calling __set_name__ on 'cached_property' instance 'f' in 'C'"),
    ],
)
def test_control_c_that_is_wrapped_is_one_sentence(run: Any, failing: Any, tmp_path: Any, error: Exception) -> None:
    (tmp_path / "x").write_text("a\n" * 10)
    error.__cause__ = KeyboardInterrupt()
    failing(error)
    result = run("score", tmp_path / "x", "--pe", tmp_path / "x")
    assert (result.exit_code, result.stderr) == (command.INTERRUPTED, "interrupted\n")


@pytest.mark.parametrize("defect", [ZeroDivisionError("a bug"), SystemError("a bug")])
def test_a_defect_keeps_its_traceback(run: Any, failing: Any, tmp_path: Any, defect: Exception) -> None:
    (tmp_path / "x").write_text("a\n")
    failing(defect)
    assert run("score", tmp_path / "x", "--pe", tmp_path / "x").exception is defect


def test_a_reader_that_stops_early_is_no_error() -> None:
    code = """
import sys
from postedit.cli import main as command
@command.app.command()
def flood() -> None:
    for _ in range(100_000):
        print("line")
sys.argv = ["postedit", "flood"]
command.main()
"""
    script = '"$0" -c "$1" | head -n 1; exit ${PIPESTATUS[0]}'
    result = subprocess.run(
        ["bash", "-c", script, sys.executable, code], text=True, capture_output=True, timeout=180, check=False
    )
    assert (result.returncode, result.stdout, result.stderr) == (1, "line\n", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_impatient_second_interruption_shows_no_traceback(number: signal.Signals) -> None:
    code = f"""
import atexit, os, sys
from postedit.cli import main as command
atexit.register(os.kill, os.getpid(), {number})
@command.app.command()
def work() -> None:
    os.kill(os.getpid(), {number})
sys.argv = ["postedit", "work"]
command.main()
"""
    result = python(code)
    assert (result.returncode, result.stderr) == (-number, "interrupted\n")


def test_a_full_disk_behind_stdout_is_reported() -> None:
    code = """
import sys
from postedit.cli import main as command
@command.app.command()
def say() -> None:
    print("line")
sys.argv = ["postedit", "say"]
command.main()
"""
    with Path("/dev/full").open("w") as full:
        command_line = [sys.executable, "-c", code]
        result = subprocess.run(command_line, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (result.returncode, result.stderr) == (1, "error: the disk is full; free some space and run again\n")


@pytest.mark.parametrize("encoding", ["latin-1", "latin-1:surrogateescape"])  # the second as in the locale C
def test_characters_that_the_encoding_of_stdout_lacks_are_escaped(encoding: str) -> None:
    code = """
import sys
from postedit.cli import main as command
@command.app.command()
def say() -> None:
    print("na\u00efve \u2205")
sys.argv = ["postedit", "say"]
command.main()
"""
    result = python(code, env=os.environ | {"PYTHONIOENCODING": encoding}, encoding="latin-1")
    assert (result.returncode, result.stdout, result.stderr) == (0, "na\u00efve \\u2205\n", "")
