from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postedit.core.editor import Edit
from postedit.text.edits import Change, apply_edits, changes, divided_edits, edits_between, splice
from postedit.text.words import PlainSplitter, splitter

WORDS = st.lists(st.sampled_from(["a", "b", "c", "dd"]), max_size=7)
ODD = st.text(alphabet="ab.,\"'( \u00a0\u3000\t\r!👨\u200d", max_size=14)


def spliced(mt: str, pe: str) -> tuple[str, tuple[Edit, ...]]:
    plain = PlainSplitter()
    words = plain.spans(mt)
    return splice(mt, words, plain.gaps([word.text for word in words]), plain.words(pe), plain.gaps(plain.words(pe)))


@pytest.mark.slow
@given(mt=WORDS, pe=WORDS)
def test_changes_turn_one_list_into_the_other(mt: list[str], pe: list[str]) -> None:
    result, done = [], 0
    for change in changes(mt, pe):
        kept = mt[done : change.mt[0]]
        result += kept + pe[slice(*change.pe)]
        done = change.mt[1]
    assert result + mt[done:] == pe


@pytest.mark.slow
@given(mt=WORDS, pe=WORDS)
def test_changes_are_never_neighbours(mt: list[str], pe: list[str]) -> None:
    found = changes(mt, pe)
    assert all(left.mt[1] < right.mt[0] and left.pe[1] < right.pe[0] for left, right in pairwise(found))


def test_ops_are_named() -> None:
    assert [Change((0, 0), (0, 1)).op, Change((0, 1), (0, 0)).op, Change((0, 1), (0, 1)).op] == [
        "insert",
        "delete",
        "replace",
    ]


@pytest.mark.parametrize(
    ("mt", "pe", "text", "parts"),
    [
        ("a b c", "a x c", "a x c", [("replace", "b", "x")]),
        (" a  b\tc\r", "a x y c", " a  x y\tc\r", [("replace", "b", "x y")]),
        ("a  b   c\r", "a c", "a  c\r", [("delete", "b   ", "")]),
        ("  a b", "b", "  b", [("delete", "a ", "")]),
        ("a  b\r", "a", "a\r", [("delete", "  b", "")]),
        ("a  b", "a x b", "a  x b", [("insert", "", "x ")]),
        (" a b\r", "x a b y", " x a b y\r", [("insert", "", "x "), ("insert", "", " y")]),
        ("\r", "x y", "x y\r", [("insert", "", "x y")]),
        (" a\r", "", " \r", [("delete", "a", "")]),
        ("a b c d", "c b a d", "c b a d", [("replace", "a", "c"), ("replace", "c", "a")]),
    ],
)
def test_spacing_that_is_not_concerned_stays(mt: str, pe: str, text: str, parts: list[tuple[str, str, str]]) -> None:
    result, edits = spliced(mt, pe)
    assert result == text
    assert [(edit.op, mt[slice(*edit.mt_span)], text[slice(*edit.pe_span)]) for edit in edits] == parts


@given(mt=ODD, pe=ODD)
@settings(max_examples=400)
def test_edits_are_exact_for_divided_text(mt: str, pe: str) -> None:
    text, edits = spliced(mt, pe)
    assert apply_edits(mt, text, edits) == text
    assert PlainSplitter().words(text) == PlainSplitter().words(pe)
    assert (not edits) == (PlainSplitter().words(mt) == PlainSplitter().words(pe))
    spans = [edit.mt_span for edit in edits]
    assert all(left[1] <= right[0] for left, right in pairwise(spans))


@pytest.mark.slow
@given(mt=ODD, pe=ODD)
@settings(max_examples=400)
def test_edits_are_exact_for_moses(mt: str, pe: str) -> None:
    moses = splitter("moses", "de")
    words, new = moses.spans(mt), moses.words(pe)
    assert words is not None
    mt_gaps, pe_gaps = moses.gaps([word.text for word in words]), moses.gaps(new)
    assert mt_gaps is not None
    assert pe_gaps is not None
    text, edits = splice(mt, words, mt_gaps, new, pe_gaps)
    assert apply_edits(mt, text, edits) == text
    assert "".join(text.split()) == "".join("".join(word for word in _raw(mt, words, new)).split())


def _raw(mt: str, words, new: list[str]) -> list[str]:
    """Return the new words, those that stay with their raw characters."""
    old = [word.text for word in words]
    result, done = [], 0
    for change in changes(old, new):
        result += [mt[word.start : word.end] for word in words[done : change.mt[0]]] + new[slice(*change.pe)]
        done = change.mt[1]
    return result + [mt[word.start : word.end] for word in words[done:]]


@pytest.mark.parametrize(
    ("mt", "pe", "text"),
    [
        ("Das  Haus, sagt er.", "Das  Tor, sagt er.", "Das  Tor, sagt er."),
        ("Das Haus.", "Das Haus!", "Das Haus!"),
        ("Das Haus .", "Das Tor .", "Das Tor ."),
        ("Das Haus", "Das Haus.", "Das Haus."),
        ("Das Haus !", "Das Haus", "Das Haus"),
        ("Ja ist es.", "Ja, ist es.", "Ja, ist es."),
        ("Ja, ist\u00a0es.", "Ja ist\u00a0es.", "Ja ist\u00a0es."),
        ("Haus (neu).", "Haus.", "Haus."),
        ("Ein Wort mehr.", "Ein Wort.", "Ein Wort."),
    ],
)
def test_moses_spacing_changes_only_where_punctuation_does(mt: str, pe: str, text: str) -> None:
    moses = splitter("moses", "de")
    words, new = moses.spans(mt), moses.words(pe)
    assert words is not None
    mt_gaps, pe_gaps = moses.gaps([word.text for word in words]), moses.gaps(new)
    assert mt_gaps is not None
    assert pe_gaps is not None
    assert splice(mt, words, mt_gaps, new, pe_gaps)[0] == text


@given(st.text("ab \t", max_size=12), st.text("ab \t", max_size=12))
def test_edits_between_two_texts(mt: str, text: str) -> None:
    edits = edits_between(mt, text)
    assert apply_edits(mt, text, edits) == text
    assert (mt == text) == (not edits)


UNSPACED = st.text("日本語です、。ab12 สี่", max_size=14)


@given(UNSPACED, UNSPACED)
def test_divided_edits_are_exact(mt: str, text: str) -> None:
    whole = edits_between(mt, text)
    parts = divided_edits(mt, text, whole)
    assert apply_edits(mt, text, parts) == text
    assert all(left.mt_span[1] < right.mt_span[0] for left, right in pairwise(parts))
    assert len(parts) >= len(whole)


def test_edits_of_running_text_without_spaces_are_divided() -> None:
    mt, text = "設定を保存する(S) old 文書 x", "設定は保存できる(S) new 文章 x"
    parts = divided_edits(mt, text, edits_between(mt, text))
    found = [(edit.op, mt[slice(*edit.mt_span)], text[slice(*edit.pe_span)]) for edit in parts]
    assert found == [
        ("replace", "を", "は"),
        ("replace", "す", "でき"),
        ("replace", "old", "new"),
        ("replace", "文書", "文章"),
    ]


def test_letters_are_not_parted_from_their_signs() -> None:
    mt, text = "สีแดงสด", "สี่แดงสด"
    (edit,) = divided_edits(mt, text, edits_between(mt, text))
    assert (mt[slice(*edit.mt_span)], text[slice(*edit.pe_span)]) == ("สี", "สี่")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("か\u3099", "き\u3099"),
        ("👨\u200d🚀", "👩\u200d🚒"),
        ("🇯🇵", "🇰🇵"),
        ("葛\U000e0100", "葛\U000e0101"),
        ("👍🏽", "👍🏿"),
    ],
    ids=["Kana with its mark", "joined emoji", "flag", "variant of a Han character", "skin tone"],
)
def test_characters_of_several_code_points_stay_whole(old: str, new: str) -> None:
    mt, text = f"設定を保存する{old}です", f"設定を保存する{new}です"
    (edit,) = divided_edits(mt, text, edits_between(mt, text))
    assert (mt[slice(*edit.mt_span)], text[slice(*edit.pe_span)]) == (old, new)


def test_words_in_katakana_stay_whole() -> None:
    mt, text = "このサーバーコンポーネントを選択", "このデータベースを選択"
    (edit,) = divided_edits(mt, text, edits_between(mt, text))
    assert (mt[slice(*edit.mt_span)], text[slice(*edit.pe_span)]) == ("サーバーコンポーネント", "データベース")
