from io import StringIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.unit.explain.sentences import sentence

from postedit.cli.tables import console, differences_text, print_explanation, word_differences

words = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=8)
BEFORE, AFTER = ["the", "cat", "sat"], ["the", "dog", "sat", "down"]


@given(words, words)
def test_the_script_holds_both_versions(before: list[str], after: list[str]) -> None:
    script = word_differences(before, after)
    assert [word for run in script if run.op != "insert" for word in run.words] == before
    assert [word for run in script if run.op != "delete" for word in run.words] == after


@given(words)
def test_equal_sentences_have_no_difference(before: list[str]) -> None:
    assert all(run.op == "equal" for run in word_differences(before, before))


def test_marks_make_it_legible_without_colour() -> None:
    script = word_differences(BEFORE, AFTER)
    assert differences_text(script, marks=True).plain == "the [-cat-] {+dog+} sat {+down+}"
    assert differences_text(script).plain == "the cat dog sat down"


def test_changes_have_their_colours() -> None:
    text = differences_text(word_differences(BEFORE, AFTER))
    styles = {text.plain[span.start : span.end]: str(span.style) for span in text.spans if span.style}
    assert styles == {"cat": "red strike", "dog": "bold green", "down": "bold green"}


def test_square_brackets_are_text_not_markup() -> None:
    assert differences_text(word_differences(["[red]x[/red]"], [])).plain == "[red]x[/red]"


def test_a_console_shows_brackets_in_file_names(capsys: pytest.CaptureFixture[str]) -> None:
    console().print("Wrote out[a]/[/b]")
    assert capsys.readouterr().out == "Wrote out[a]/[/b]\n"


def test_an_explanation_names_the_words_that_stand_out() -> None:
    losses = np.zeros((4, 3))
    losses[1] = [0.0, 2.0, 0.0]
    strong, weak = sentence(losses=losses), sentence(losses=losses / 10)
    for explained, cited in ((strong, ", src: 'red' (100 %, 2.0 nats)"), (weak, "")):
        out = StringIO()
        print_explanation(explained, Console(file=out, width=200))
        assert f"replace 'blaue' -> 'rote': confidence 50 %{cited}\n" in out.getvalue()


def test_a_closed_stream_takes_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(f"sys.{name}", None)
        console(stderr=name == "stderr").print("nobody reads this")
