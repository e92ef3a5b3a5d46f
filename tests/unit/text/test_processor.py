from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from postedit.core.checksums import CHECKSUMS
from postedit.core.errors import ModelFolderError
from postedit.core.special_tokens import EOS, STEP
from postedit.text.config import SIDES, TextConfig, VocabularyConfig
from postedit.text.edits import apply_edits
from postedit.text.processor import TextProcessor
from postedit.text.words import PlainSplitter


class Texts(NamedTuple):
    src: str
    mt: str
    pe: str


TRIPLETS = [
    Texts("The house is red.", "Das Haus sind rot.", "Das Haus ist rot."),
    Texts("He sees the house.", "Er sieht die Haus.", "Er sieht das Haus."),
    Texts("Click the button, please!", "Klicken Sie die Taste!", "Klicken Sie bitte auf die Taste!"),
] * 5
PLAIN = TextConfig(vocabulary=VocabularyConfig(size=320))
MOSES = TextConfig(
    tokenizer="moses",
    src_lang="en",
    tgt_lang="de",
    truecase=True,
    vocabulary=VocabularyConfig(sharing="mt-pe", size=320),
)
CONFIGS = {
    "plain": PLAIN,
    "moses": MOSES,
    "separate": PLAIN.model_copy(update={"vocabulary": VocabularyConfig(sharing="separate", size=300)}),
}
PROCESSORS = {name: TextProcessor.fit(config, lambda: TRIPLETS) for name, config in CONFIGS.items()}
ODD = st.text(
    alphabet="Ddas Hu. ,!\"'\u00a0\u3000\t\r\n👨\u200dह्ש@-&;<>x\x01\u0308\u0301\u212b\u1112\u1161", max_size=25
)
DECOMPOSED = "\u00a0Das Ha\u0308us\u3000ist \u212b\u1112\u1161\u11ab.\t"


@pytest.fixture(params=CONFIGS)
def processor(request: pytest.FixtureRequest) -> TextProcessor:
    return PROCESSORS[request.param]


def written(processor: TextProcessor, text: str) -> list[int]:
    """The ids of a model that writes `text`."""
    return processor.encode_batch("pe", [text])[0]


@given(mt=st.one_of(ODD, st.text(max_size=30)), name=st.sampled_from(sorted(CONFIGS)))
@example(mt=DECOMPOSED, name="plain")
@example(mt=DECOMPOSED, name="moses")
@settings(max_examples=300)
def test_the_same_words_give_the_very_string(mt: str, name: str) -> None:
    rendering = PROCESSORS[name].render(mt, written(PROCESSORS[name], mt))
    assert rendering.text is mt
    assert (rendering.changed, rendering.edits) == (False, ())


def test_other_words_that_are_written_alike_give_the_very_string() -> None:
    processor = PROCESSORS["moses"]
    assert processor.words("mt", DECOMPOSED)[0] == "das"
    (ids,) = processor.vocabulary("pe").encode_batch([" ".join(["Das", *processor.words("mt", DECOMPOSED)[1:]])])
    rendering = processor.render(DECOMPOSED, ids)
    assert rendering.text is DECOMPOSED
    assert (rendering.changed, rendering.edits) == (False, ())


LIMITED = TextProcessor.fit(
    TextConfig(vocabulary=VocabularyConfig(sharing="separate", size=320, limit=30)), lambda: TRIPLETS
)


@given(mt=st.one_of(ODD, st.text(max_size=30)))
@settings(max_examples=200)
def test_unknown_words_of_mt_stay_as_they_are(mt: str) -> None:
    rendering = LIMITED.render(mt, written(LIMITED, mt))
    assert rendering.text is mt
    assert (rendering.changed, rendering.edits) == (False, ())


COPYING = TextProcessor.fit(
    TextConfig(vocabulary=VocabularyConfig(sharing="mt-pe", size=320, limit=30, copied=9)), lambda: TRIPLETS
)


@given(mt=st.one_of(ODD, st.text(max_size=30)))
@settings(max_examples=200)
def test_copied_unknown_words_stay_as_they_are(mt: str) -> None:
    rendering = COPYING.render(mt, COPYING.encode_batch("pe", [mt], [mt])[0])
    assert rendering.text is mt
    assert (rendering.changed, rendering.edits) == (False, ())


def test_copied_unknown_words_may_move() -> None:
    (ids,) = COPYING.encode_batch("pe", ["q Haus w das q"], ["w Haus q"])
    assert COPYING.render("w Haus q", ids).text.replace("\ufffd", "?") == "q Haus w das q"
    assert {*ids} & {*COPYING.encode_batch("mt", ["w Haus q"])[0]} > {2}
    assert COPYING.vocabularies.target.copied == 9
    assert COPYING.vocabularies.streams["src"].copied == 0


def test_a_limit_of_tokens_is_saved(tmp_path: Path) -> None:
    LIMITED.save(tmp_path)
    again = TextProcessor.load(tmp_path)
    assert {side: again.vocabulary(side).size for side in SIDES} == dict.fromkeys(SIDES, 30)
    assert again.vocabularies == LIMITED.vocabularies
    assert written(again, "Das Haus xyz") == written(LIMITED, "Das Haus xyz")


SPACES = "\u00a0\u1680\u2003\u2009\u202f\u205f\u3000\u200b\ufeff"
UNUSUAL = [
    "Das Haus\u0308 cafe\u0301 \u1112\u1161\u11ab \u212b",  # decomposed letters, and one that NFC would replace
    *(f"{space}Das{space}Haus {space} sind{space}" for space in SPACES),
    "\t\tDas  Haus sind\t ",
]


@pytest.mark.parametrize("text", UNUSUAL)
def test_a_model_reads_and_writes_the_characters_that_are_there(text: str) -> None:
    processor = PROCESSORS["plain"]
    words = PlainSplitter().words(text)
    for side in SIDES:
        (ids,) = processor.encode_batch(side, [text])
        assert processor.spelt(side, ids) == " ".join(words)
    rendered = processor.render(text, written(processor, " ".join([*words, "rot"]))).text
    end = len(text.rstrip(" \t"))
    assert rendered == f"{text[:end]} rot{text[end:]}"


@pytest.mark.slow
@given(mt=ODD, pe=ODD, name=st.sampled_from(sorted(CONFIGS)))
@settings(max_examples=400)
def test_edits_always_explain_the_text(mt: str, pe: str, name: str) -> None:
    rendering = PROCESSORS[name].render(mt, written(PROCESSORS[name], pe))
    assert apply_edits(mt, rendering.text, rendering.edits) == rendering.text
    assert rendering.changed == (rendering.text != mt) == bool(rendering.edits)


@pytest.mark.slow
@given(ids=st.lists(st.integers(0, 319), max_size=20), mt=ODD)
@settings(max_examples=200)
def test_rendering_adds_no_line_breaks(ids: list[int], mt: str) -> None:
    text = PROCESSORS["plain"].render(mt, ids).text
    assert text.count("\n") <= mt.count("\n")


def test_words_that_stay_keep_their_characters_and_spacing() -> None:
    processor = PROCESSORS["plain"]
    mt = "  Das  Haus\u00a0👨\u200d👩 sind \u3000 שלום rot.\r"
    rendering = processor.render(mt, written(processor, "Das Haus\u00a0👨\u200d👩 ist \u3000 שלום rot."))
    assert rendering.text == "  Das  Haus\u00a0👨\u200d👩 ist \u3000 שלום rot.\r"
    (edit,) = rendering.edits
    assert (mt[slice(*edit.mt_span)], rendering.text[slice(*edit.pe_span)]) == ("sind", "ist")


def test_moses_keeps_raw_stretches_too() -> None:
    processor = PROCESSORS["moses"]
    mt = "Das  Haus (👨\u200d👩) sind\u00a0rot , ja!\r"
    text = processor.render(mt, written(processor, "Das Haus (👨\u200d👩) ist rot, ja!")).text
    assert text == "Das  Haus (👨\u200d👩) ist\u00a0rot , ja!\r"


def test_symbols_among_the_ids_are_ignored(processor: TextProcessor) -> None:
    ids = written(processor, "Das Haus ist rot.")
    assert ids[-1] == EOS
    with_steps = [i for j in ids[:-1] for i in (STEP, j)]
    assert processor.render("Das Haus sind rot.", with_steps) == processor.render("Das Haus sind rot.", ids)


@pytest.mark.parametrize(
    ("mt", "pe", "text"),
    [
        ("Er sieht das Haus.", "Das Haus sieht er.", "Das Haus sieht er."),  # a word that stays moves to the start
        ("Das Haus sieht er.", "Heute sieht das Haus.", "Heute sieht das Haus."),  # and away from it
        ("das Haus ist rot", "die Taste ist rot", "die Taste ist rot"),  # a label without a capital keeps to that
        ("Haus! das ist rot.", "Haus! die ist rot.", "Haus! Die ist rot."),
        ("Das Haus.", "", ""),
    ],
)
def test_sentences_start_with_a_capital_as_they_did(mt: str, pe: str, text: str) -> None:
    processor = PROCESSORS["moses"]
    assert processor.render(mt, written(processor, pe)).text == text


@pytest.mark.parametrize(("language", "text"), [("tr", "İçin için! Işık."), ("de", "Için için! Işık.")])
def test_capitals_that_begin_sentences_follow_the_language(language: str, text: str) -> None:
    triplets = [Texts("a", "bu ev için", "bu ışık için")] * 5
    processor = TextProcessor.fit(MOSES.model_copy(update={"tgt_lang": language}), lambda: triplets)
    assert processor.render("Bu ev.", written(processor, "için için! ışık.")).text == text


def test_model_words_are_truecased(processor: TextProcessor) -> None:
    expected = ["das", "Haus", "."] if processor.config.truecase else ["Das", "Haus."]
    assert processor.words("mt", "Das Haus.") == expected


def test_text_that_moses_rewrites_is_written_anew() -> None:
    processor = PROCESSORS["moses"]
    rendering = processor.render("DOTMULTI  ist rot ...", written(processor, "Das ist rot."))
    assert rendering.text == "Das ist rot."
    assert [(edit.op, edit.mt_span) for edit in rendering.edits] == [("replace", (0, 21))]


def test_vocabularies_are_shared_as_configured() -> None:
    fingerprints = {
        name: [processor.vocabulary(side).fingerprint for side in ("src", "mt", "pe")]
        for name, processor in PROCESSORS.items()
    }
    assert [len(set(found)) for found in (fingerprints["plain"], fingerprints["moses"], fingerprints["separate"])] == [
        1,
        2,
        3,
    ]
    assert fingerprints["moses"][1] == fingerprints["moses"][2]
    vocabularies = PROCESSORS["moses"].vocabularies
    assert [vocabularies.streams[name].fingerprint for name in ("src", "mt")] == fingerprints["moses"][:2]
    assert vocabularies.target.fingerprint == fingerprints["moses"][2]


def test_the_number_of_passes_over_the_text_is_known(processor: TextProcessor) -> None:
    reads: list[int] = []

    def read() -> list[Texts]:
        reads.append(1)
        return TRIPLETS

    TextProcessor.fit(processor.config, read)
    assert len(reads) == processor.config.passes


def test_saved_and_loaded_is_the_same(processor: TextProcessor, tmp_path: Path) -> None:
    processor.save(tmp_path)
    loaded = TextProcessor.load(tmp_path)
    assert loaded.config == processor.config
    assert loaded.vocabularies == processor.vocabularies
    texts = [triplet.mt for triplet in TRIPLETS]
    assert loaded.encode_batch("mt", texts) == processor.encode_batch("mt", texts)


def test_damaged_folders_are_explained(tmp_path: Path) -> None:
    with pytest.raises(ModelFolderError, match=r"text\.json: the text configuration is missing"):
        TextProcessor.load(tmp_path)
    PROCESSORS["moses"].save(tmp_path)
    (tmp_path / CHECKSUMS).unlink()  # as of an earlier version
    PROCESSORS["plain"].vocabulary("src").save(tmp_path / "vocabulary.src.json")
    with pytest.raises(ModelFolderError, match=r"vocabulary\.src\.json: is not the vocabulary of this model"):
        TextProcessor.load(tmp_path)
    (tmp_path / "vocabulary.src.json").unlink()
    with pytest.raises(ModelFolderError, match=r"vocabulary\.src\.json: the vocabulary is missing"):
        TextProcessor.load(tmp_path)
    for content in (
        "",
        "{}",
        '{"config": {"tokeniser": "none"}, "fingerprints": {}}',
        '{"config": 3, "fingerprints": {}}',
        "[]",
    ):
        (tmp_path / "text.json").write_text(content)
        with pytest.raises(ModelFolderError, match=r"text\.json: the text configuration is damaged"):
            TextProcessor.load(tmp_path)


def test_no_character_of_frequent_words_is_lacking_nor_is_the_space() -> None:
    text = "zwei Wörter für das Gerät"
    config = TextConfig(vocabulary=VocabularyConfig(size=400))
    processor = TextProcessor.fit(config, lambda: [Texts(text, text, text)] * 5)
    assert not [character for character in text if processor.lacks(character)]
    assert processor.lacks("😀")
