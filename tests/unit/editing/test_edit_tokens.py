"""Edits and their confidence in scripts without spaces, where what stands between spaces may be a whole sentence."""

from collections.abc import Iterable

import pytest

from postedit.core.editor import Edit
from postedit.core.special_tokens import EOS, STEP, UNK
from postedit.editing.edit_tokens import _letters_before, token_spans
from postedit.text.config import TextConfig, VocabularyConfig
from postedit.text.processor import Rendering, TextProcessor
from postedit.text.vocabulary import LimitedVocabulary, Vocabulary

MT = "この設定を保存するには、[OK] をクリックします。"
TRIPLETS = [(MT, MT, MT), ("設定は保存されました。", "設定が保存されました。", "設定は保存されました。")] * 5


@pytest.fixture(scope="module", params=[280, 330], ids=["bytes", "tokens of letters"])
def processor(request: pytest.FixtureRequest) -> TextProcessor:
    from postedit.data.triplets import Triplet

    config = TextConfig(vocabulary=VocabularyConfig(size=request.param))
    return TextProcessor.fit(config, lambda: [Triplet(*texts) for texts in TRIPLETS])


def written(processor: TextProcessor, text: str) -> list[int]:
    """The ids of a model that writes `text`, without EOS, as search returns them."""
    return [number for number in processor.encode_batch("pe", [text])[0] if number != EOS]


@pytest.mark.parametrize(
    ("pe", "edits"),
    [
        ("この設定は保存するには、[OK] をクリックします。", [("replace", "を", "は")]),
        ("この設定を保存するには、[OK] をクリックしました。", [("replace", "す", "した")]),
        ("この設定保存するには、[OK] をクリックします。", [("delete", "を", "")]),
        ("設定を保存するには、[OK] をクリックします", [("delete", "この", ""), ("delete", "。", "")]),
    ],
)
def test_an_edit_has_the_tokens_of_its_letters(
    processor: TextProcessor, pe: str, edits: list[tuple[str, str, str]]
) -> None:
    ids = written(processor, pe)
    found = processor.render(MT, ids)
    assert found.text == pe
    assert [parts(edit, pe) for edit in found.edits] == edits
    for edit, (start, end) in zip(found.edits, token_spans(processor, MT, found, ids), strict=True):
        before, through = (processor.spelt("pe", ids[:place]).rstrip("\ufffd") for place in (start, end))
        assert pe.startswith(before)
        assert len(before) <= edit.pe_span[0] <= edit.pe_span[1] <= len(through)
        one_less = processor.spelt("pe", ids[: end - 1]).rstrip("\ufffd")
        assert start == len(ids) or len(one_less) < max(edit.pe_span[1], edit.pe_span[0] + 1)


def parts(edit: Edit, pe: str) -> tuple[str, str, str]:
    return edit.op, MT[slice(*edit.mt_span)], pe[slice(*edit.pe_span)]


def test_edits_beside_unknown_words_have_tokens(processor: TextProcessor) -> None:
    whole = processor.vocabulary("pe")
    assert isinstance(whole, Vocabulary)
    limited = LimitedVocabulary(whole, range(whole.size))
    other = TextProcessor(processor.config, {"joint": limited}, {})
    ids = [*limited.encode("a b"), UNK]
    found = other.render("a b c d", ids)
    assert found.text == "a b"
    assert token_spans(other, "a b c d", found, ids) == ((len(ids) - 1, len(ids)),)


@pytest.mark.parametrize("copied", [0, 3])
@pytest.mark.parametrize("pe", ["Xylophon das neue Haus", "das alte Xylophon Y Haus neue"])
def test_unknown_words_do_not_shift_the_tokens_of_edits(copied: int, pe: str) -> None:
    """They are spelt by one sign each, and are longer in the output."""
    from postedit.data.triplets import Triplet

    known = Triplet("the old house", "das alte Haus", "das neue Haus")
    vocabulary = VocabularyConfig(size=290, limit=20, sharing="mt-pe", copied=copied)
    limited = TextProcessor.fit(TextConfig(vocabulary=vocabulary), lambda: [known] * 5)
    mt = "Xylophon das alte Haus"
    ids = limited.encode_batch("pe", [pe], [mt])[0][:-1]
    found = limited.render(mt, ids)
    assert "Xylophon" in found.text
    readable = limited.vocabulary("pe").readable(ids)
    spans = dict(
        zip((found.text[slice(*edit.pe_span)].strip() for edit in found.edits), token_spans(limited, mt, found, ids))
    )
    assert [readable[place] for place in range(*spans["neue"])] == ["▁neue"]
    if "Xylophon" in spans:
        assert [readable[place] for place in range(*spans["Xylophon"])] == [one for one in readable if "unk" in one]


@pytest.mark.parametrize("copied", [0, 3])
@pytest.mark.parametrize("text", ["Xylophon {} Haus", "das {} Xylophon", "Xylophon {} Qy", "das é {} Haus"])
def test_the_tokens_of_an_unknown_word_are_not_those_of_its_neighbour(copied: int, text: str) -> None:
    from postedit.data.triplets import Triplet

    known = Triplet("the old house", "das alte Haus", "das neue Haus")
    vocabulary = VocabularyConfig(size=290, limit=20, sharing="mt-pe", copied=copied)
    limited = TextProcessor.fit(TextConfig(vocabulary=vocabulary), lambda: [known] * 5)
    mt = text.format("alte")
    ids = limited.encode_batch("pe", [text.format("neue")], [mt])[0][:-1]
    (span,) = token_spans(limited, mt, limited.render(mt, ids), ids)
    assert limited.vocabulary("pe").readable(ids)[slice(*span)] == ["▁neue"]


@pytest.mark.parametrize("copied", [0, 6])
@pytest.mark.parametrize("word", ["Xylophon", "é"])
@pytest.mark.parametrize(
    ("pe", "tokens"),
    [
        ("{} ファイルを削除する。 必要", ["削除"]),
        ("{} 削除しました。 必要", ["削除", "し\ufffd", "\ufffdし\ufffd", "\ufffd"]),
    ],
)
def test_unknown_words_do_not_shift_the_tokens_of_letters(copied: int, word: str, pe: str, tokens: list[str]) -> None:
    from postedit.data.triplets import Triplet

    texts = ["ファイルを保存する。", "ファイルを削除する。", "保存する必要があります。", "削除しました。"]
    config = TextConfig(vocabulary=VocabularyConfig(size=300))
    whole = TextProcessor.fit(config, lambda: [Triplet("a", text, text) for text in texts])
    vocabulary = whole.vocabulary("pe")
    assert isinstance(vocabulary, Vocabulary)
    kept = sorted({*range(vocabulary.size)}.difference(vocabulary.encode(word)[1:]))  # the first one is a space
    limited = TextProcessor(config, {"joint": LimitedVocabulary(vocabulary, kept, copied)}, {})
    mt = f"{word} ファイルを保存する。 必要"
    ids = limited.encode_batch("pe", [pe.format(word)], [mt])[0][:-1]
    (span,) = token_spans(limited, mt, limited.render(mt, ids), ids)
    assert limited.vocabulary("pe").readable(ids)[slice(*span)] == tokens


@pytest.mark.parametrize("is_limited", [False, True], ids=["all tokens", "limited"])
def test_letters_are_counted_over_special_and_broken_tokens(processor: TextProcessor, is_limited: bool) -> None:
    whole = processor.vocabulary("pe")
    assert isinstance(whole, Vocabulary)
    vocabulary = LimitedVocabulary(whole, range(whole.size)) if is_limited else whole
    ids = vocabulary.encode(MT)
    mixed = [STEP, *ids[:9], UNK, ids[1], *ids[9:], STEP, ids[2], ids[2]]
    texts = (vocabulary.decode(mixed[:count]).rstrip("\ufffd") for count in range(len(mixed) + 1))
    assert _letters_before(vocabulary, mixed) == [len(text.replace(" ", "")) for text in texts]


def test_long_outputs_are_not_decoded_again_for_each_token(
    processor: TextProcessor, monkeypatch: pytest.MonkeyPatch
) -> None:
    mt, pe = MT * 40, MT.replace("保存", "削除") * 40
    ids = written(processor, pe)
    edits = (Edit("replace", (5, 7), (5, 7)),)
    decoded, decode = [0], Vocabulary.decode

    def counted(self: Vocabulary, ids: Iterable[int]) -> str:
        given = list(ids)
        decoded[0] += len(given)
        return decode(self, given)

    monkeypatch.setattr(Vocabulary, "decode", counted)
    token_spans(processor, mt, Rendering(pe, mt != pe, edits), ids)
    assert decoded[0] < 20 * len(ids)
