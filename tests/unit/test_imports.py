"""Commands start fast, and inference loads no code that only training, corpora or reports need."""

import resource
import subprocess
import sys

import pytest
import typer
from typer.core import TyperOption

import postedit
from postedit.cli.main import VERBS, app

USE_A_MODEL = """
import sys
from postedit import PostEditor, shipped
PostEditor.load(str(shipped.MODEL), device="cpu").edit(["the house"], ["房子"])
print(*sys.modules)
"""

EDIT_A_LINE = """
import sys
from postedit import shipped
from postedit.cli.main import app
app(["edit", str(shipped.MODEL)], standalone_mode=False)
print(*sys.modules)
"""

NOT_FOR_INFERENCE = {
    "postedit.train",
    "postedit.data.corpus",
    "pyarrow",
    "matplotlib",
    "tensorboard",
    "accelerate",
    "sacrebleu",
    "transformers",
    "pandas",
    "sacremoses",
    "huggingface_hub",
    "torch._dynamo",
}


def starts_of_python(*arguments: str) -> float:
    """Return the CPU time of a Python process in starts of Python, so that it is the same on slow machines.

    Both times are the best of three, since the first one fills disk caches, and are taken in turn.
    """

    def once(*arguments: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    times = [(once(*arguments), once("-c", "pass")) for _ in range(3)]
    command, start = map(min, zip(*times, strict=True))
    return command / start


def test_help_takes_less_than_20_starts_of_python() -> None:
    assert starts_of_python("-m", "postedit", "--help") < 20  # 300 ms where a start takes 15 ms


def test_importing_postedit_takes_less_than_7_starts_of_python() -> None:
    assert starts_of_python("-c", "import postedit") < 7  # 100 ms where a start takes 15 ms


@pytest.mark.parametrize(
    "code", [pytest.param(USE_A_MODEL, marks=pytest.mark.slow), EDIT_A_LINE], ids=["library", "command"]
)
def test_inference_imports_no_training_corpora_or_plots(code: str) -> None:
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True, input="the house\t房子\n")
    modules = {name for name in done.stdout.split() if name.count(".") < 3}
    assert modules >= {"postedit.editing.post_editor", "torch"}
    assert not modules & NOT_FOR_INFERENCE


def test_completion_offers_the_public_names_before_their_import() -> None:
    assert set(postedit.__all__) <= set(dir(postedit))


def test_edit_shows_at_most_16_options_in_its_help() -> None:
    verb = typer.main.get_group(app).commands["edit"]
    assert sum(isinstance(one, TyperOption) and not one.hidden for one in verb.params) <= 16


def test_each_verb_has_a_summary_and_can_be_imported() -> None:
    commands = typer.main.get_group(app).commands
    assert list(commands) == list(VERBS)
    assert all(command.help for command in commands.values())
    assert all(len(summary) < 70 for summary in VERBS.values())
