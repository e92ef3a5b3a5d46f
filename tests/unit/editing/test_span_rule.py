"""The rule of protected spans and terms: what an output breaks, which of two is better, and what could mend one."""

import pytest

from postedit.editing.span_rule import SpanRule
from postedit.text.glossary import Glossary, GlossaryEntry
from postedit.text.protected_spans import Value
from postedit.text.span_patterns import KINDS

TERMS = Glossary([GlossaryEntry("file", ("Datei",), ("Akte",)), GlossaryEntry("list", ("Liste",))])


def rule(src: str, mt: str | None, glossary: Glossary | None = None) -> SpanRule:
    return SpanRule(src, mt, frozenset(KINDS), glossary)


def test_a_name_may_be_invented_only_for_an_accelerator() -> None:
    assert rule("use a_b", "nutze ab").broken("nutze x_y") == [Value("code", "x_y")]
    assert rule("use ab", "nutze a_b").broken("nutze x_y") == [Value("code", "x_y")]
    assert rule("E_xit", "B_eenden").broken("B_een_den")[0] == Value("markup", "accelerator _")


def test_tags_may_not_change_places() -> None:
    pair = rule("<b>a</b>", "<b>x</b>")
    assert pair.broken("</b>x<b>") == [Value("markup", "unpaired </b>"), Value("markup", "unpaired <b>")]
    assert pair.broken("x <b>y</b>") == []


def test_no_term_outweighs_a_broken_span() -> None:
    beside_mt, without = rule("file 5 6", "Blatt 5 6", TERMS), rule("file 5", None, TERMS)
    assert not beside_mt.improves("Datei 5", "Blatt"), "with mt, edits can be reverted instead"
    assert beside_mt.improves("Datei 5 6", "Blatt 5 6")
    assert not without.improves("Datei 5 6 7", "Blatt 5")
    assert without.improves("Datei 5 6", "Blatt 6")
    assert not without.improves("Datei 5", "Datei 5")


@pytest.mark.parametrize(
    ("text", "other", "keeps"),
    [
        ("die Datei da", "die Liste da", False),
        ("das Blatt da", "die Datei da", True),
        ("das Blatt da", "die Datei dort", True),
        ("das Blatt da jetzt", "die Datei da nun", False),
        ("das Blatt von da", "die Datei da", False),
    ],
)
def test_the_rest_is_what_is_not_beside_a_term(text: str, other: str, keeps: bool) -> None:
    assert rule("the file and the list", text, TERMS).keeps_rest(text, other) is keeps


@pytest.mark.parametrize(
    ("src", "text", "required", "banned"),
    [
        pytest.param("%s and %s", "%s", [], [], id="still there once"),
        pytest.param("so %s", "so", ["%s"], [], id="lost"),
        pytest.param("see a5b now", "da", ["a5b"], [], id="within a word of src"),
        pytest.param("red", "rot No5b", [], ["No5b"], id="within a word of the output"),
        pytest.param("<b>a</b>", "<b>x", ["</b>"], [], id="the tag left over is no span to ban"),
        pytest.param("a<b>Save</b>d", "x", ["<b>", "</b>"], [], id="no words of src beside a tag"),
        pytest.param("see", "da<b>", [], ["<b>"], id="no words of the output beside a tag"),
        pytest.param("x%sy", "x", ["%sy"], [], id="its last letter is in a word"),
        pytest.param("a 5件 b", "5", [], [], id="no spaces"),
    ],
)
def test_whole_words_that_mend_spans_are_asked_for(src: str, text: str, required: list[str], banned: list[str]) -> None:
    one = rule(src, None)
    assert one.constraints(text, one.broken(text)) == (required, banned)
    assert one.constraints(text, ()) == ([], [])
