import pytest

from postedit.evaluate.wording import differences, wording

RUNNING = ["He came, he saw.", "Is it? Yes, it is!"] * 5
TOKENISED = ["He came , he saw .", "Is it ? Yes , it is !"] * 5


def test_forms() -> None:
    assert wording(RUNNING).form == "running text"
    assert wording(TOKENISED).form == "tokenised"
    assert wording(["no sign of it"] * 9).form is None


def test_another_tokenisation_is_said() -> None:
    (found,) = differences("hyp", RUNNING, "pe", TOKENISED)
    assert "hyp seems to be running text and pe tokenised" in found
    assert differences("hyp", TOKENISED, "pe", TOKENISED) == []


@pytest.mark.parametrize(
    ("line", "said"), [("it &apos;s so", "XML escapes"), ("un@@ done", "subwords"), ("▁so it is", "subwords")]
)
def test_marks_of_other_tools(line: str, said: str) -> None:
    (found,) = differences("hyp", [line] * 10, "pe", ["it is so"] * 10)
    assert said in found


def test_empty_lines() -> None:
    (found,) = differences("hyp", ["a", "", " "], "pe", ["a", "b", "c"])
    assert "2 empty lines" in found
    assert "line 2" in found
    assert differences("hyp", [""], "pe", [""]) == []
