"""Evidence at word level in running text without spaces, where tokens take the place of words."""

from collections.abc import Sequence
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postedit.core.editor import Abilities, Editor, Identity, PostEdit, Segment
from postedit.core.evidence import Evidence
from postedit.core.search_config import SearchConfig
from postedit.explain.explained_sentence import OUTPUT, ExplainedSentence, _divided_like, _in_order, explained_sentence
from postedit.text.edits import changes

SRC = "Click OK to save the setting."
MT = "設定を保存するには、 [OK]をクリックします。"
OUT = "この設定を保存するには、 [OK]をクリックします。"
TOKENS = {
    "src": "▁Click ▁OK ▁to ▁save ▁the ▁set ting . </s>",
    "mt": "▁設定 を保 \ufffd \ufffd するには 、 ▁[ OK ] をクリック します 。 </s>",
    OUTPUT: "▁この 設定 を保 \ufffd \ufffd するには 、 ▁[ OK ] をクリック します 。 </s>",
}


class Spaces(Editor):
    """An editor whose words stand between spaces."""

    abilities = Abilities()

    def identity(self, search: SearchConfig | None = None) -> Identity:
        return Identity(())

    def edit_segments(self, segments: Sequence[Segment], *arguments: object, **options: object) -> list[PostEdit]:
        raise NotImplementedError


def explained(pe: str | None = None, mt: str = MT) -> ExplainedSentence:
    tokens = {name: tuple(text.split(" ")) for name, text in TOKENS.items()}
    output = tokens.pop(OUTPUT)
    evidence = Evidence(tokens, output, (-1.0,) * len(output), {})
    return explained_sentence(Spaces(), {"src": SRC, "mt": mt}, OUT, (), (), evidence, pe)


def test_each_token_of_a_text_without_spaces_is_found_in_it() -> None:
    found = explained()
    assert found.words.streams["src"] == (*SRC.split(), "</s>")
    assert " ".join(found.mt_words()) == "設定 を保 存 するには 、 [ OK ] をクリック します 。"
    for name, text in (("src", SRC), ("mt", MT), (OUTPUT, OUT)):
        spans = found.spans[name]
        assert spans[-1] is None
        assert all(one is not None for one in spans[:-1])
        assert "".join(text[one.start : one.end] for one in spans if one) == text.replace(" ", "")


def test_texts_that_do_not_have_the_tokens_have_no_spans() -> None:
    found = explained(mt="別の文です。")
    assert set(found.spans["mt"]) == {None}
    assert None not in found.spans[OUTPUT][:-1]


def test_a_post_edit_is_divided_as_mt_where_it_keeps_words() -> None:
    found = explained(pe="設定が保存するには、 [OK]をタップします。")
    assert found.pe_words is not None
    (first, second) = changes(found.mt_words(), found.pe_words)
    assert [found.mt_words()[slice(*one.mt)] for one in (first, second)] == [["を保"], ["をクリック"]]


def test_words_in_scripts_with_spaces_are_not_divided() -> None:
    tokens = ("▁the", "▁設定を", "保存する", "</s>")
    evidence = Evidence({"mt": tokens}, tokens, (-1.0,) * 4, {})
    mt = "the 設定を保存する"
    found = explained_sentence(Spaces(), {"mt": mt}, mt, (), (), evidence, "these 設定を保存 する")
    assert found.pe_words == ("these", "設定を", "保存", "する")


@pytest.mark.parametrize(
    ("text", "tokens", "words"),
    [
        ("OK設定（ﾎﾞﾀﾝ）を保存する", "▁ok 設定 ( ボタン ) を保存する", "OK 設定 （ ﾎﾞﾀﾝ ） を保存する"),
        (
            "設定を保存。\u3000次に\u200b進む",
            "▁設定を保存 。 \u3000 次に \u200b 進む",
            "設定を保存 。 \u3000 次に \u200b 進む",
        ),
        ("設定を\u200b保存\x02する", "▁設定を 保存 する", "設定を 保存 する"),
        ("設定を保存します 😀", "▁設定を 保存します <unk>", "設定を 保存します <unk>"),
        ("設定を保存𩸽😀します", "▁設定を保存 <unk> <unk> します", "設定を保存 <unk> <unk> します"),
        ("設定を返します 😀", "▁設定 を\ufffd <unk> \ufffd します ▁ <unk>", "設定 を返 <unk> します ▁ <unk>"),
        ("𩸽の設定を保存", "▁<unk-1> の設定を 保存", "𩸽 の設定を 保存"),
    ],
)
def test_tokens_are_found_in_text_that_a_vocabulary_rewrites(text: str, tokens: str, words: str) -> None:
    spelt = tuple(f"{tokens} </s>".split(" "))
    found = explained_sentence(Spaces(), {"mt": text}, text, (), (), Evidence({"mt": spelt}, spelt, (), {}))
    assert found.words.output == found.words.streams["mt"] == tuple(f"{words} </s>".split(" "))
    unknown = {place for place, word in enumerate(found.words.output) if word == "<unk>"}
    assert {place for place, span in enumerate(found.spans["mt"]) if span is None} == found.special["mt"] > unknown


def test_words_between_spaces_stay_as_the_editor_divides_them() -> None:
    words = Evidence({"mt": ("▁a", "b", "▁c", "</s>")}, ("▁a", "b", "</s>"), (-1.0,) * 3, {})
    found = explained_sentence(Spaces(), {"mt": "ab c"}, "ab", (), (), words, "ab d")
    assert (found.mt_words(), found.output_words(), found.pe_words) == (["ab", "c"], ["ab"], ("ab", "d"))


WORDS = st.lists(st.text("設定を保存abc", min_size=1, max_size=4), max_size=8)


@given(WORDS, st.lists(st.sampled_from(["", " ", "\u3000 "]), min_size=9, max_size=9))
def test_words_are_found_one_after_the_other(words: list[str], spaces: list[str]) -> None:
    text = "".join(space + word for space, word in zip(spaces, [*words, ""]))
    found = _in_order(text, words)
    assert found is not None
    assert [text[start:end] for start, end in found] == words
    assert _in_order(text, [*words, "x"]) is None
    if words:
        assert _in_order(text, words[:-1]) is None


@pytest.mark.parametrize(
    ("text", "words", "found"),
    [
        ("に到着した", ["に\ufffd\ufffd", "した"], [(0, 3), (3, 5)]),
        ("到 着", ["\ufffd\ufffd", "着"], [(0, 1), (2, 3)]),
        ("到着", ["\ufffd"], [(0, 2)]),
        ("到着した", ["\ufffd", "\ufffd", "した"], [(0, 1), (1, 2), (2, 4)]),
        ("½設定", ["1⁄", "2", "設定"], None),  # no word is part of a character
        ("到着", ["到\ufffd", "x"], None),
        ("到", ["到", "\ufffd"], None),
        ("", ["\ufffd"], None),
        ("", [], []),
    ],
)
def test_a_character_of_several_tokens_is_any(text: str, words: list[str], found: object) -> None:
    assert _in_order(text, words) == found


@given(WORDS, WORDS)
def test_a_divided_post_edit_has_its_text_and_its_words(mt: list[str], pe: list[str]) -> None:
    found = _divided_like(mt, pe)
    assert "".join(found) == "".join(pe)
    assert all(found)
    assert set(accumulate(map(len, found))) >= set(accumulate(map(len, pe)))
    assert {word for word in pe if word.isascii()} <= set(found)
    assert _divided_like(mt, mt) == tuple(mt)
    assert _divided_like(mt, ["".join(mt)]) == (tuple(mt) if not "".join(mt).isascii() else ("".join(mt),) * bool(mt))
