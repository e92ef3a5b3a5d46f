"""What a prompt shows beside a segment: each part within its budget, and none that says nothing."""

from collections.abc import Sequence

import pytest
from checkpoints import causal
from hypothesis import given
from hypothesis import strategies as st

from postedit.core.hints import HINTS, HintConfig, HintName, Hints
from postedit.core.special_tokens import EOS
from postedit.text.config import TextConfig, VocabularyConfig
from postedit.text.glossary import Glossary, GlossaryEntry
from postedit.text.hint_texts import Example, tagged
from postedit.text.hint_writer import HintSources, HintWriter
from postedit.text.processor import TextProcessor
from postedit.text.similarity_index import SimilarityIndex

CORRECTIONS = [
    Example("the house goes", "das Haus gehen", "das Haus geht"),
    Example("the house stands", "das Haus stehen", "das Haus steht"),
    Example("two birds", "zwei Vogel", "zwei Vögel"),
]

GLOSSARY = Glossary([GlossaryEntry("house", ("Haus",)), GlossaryEntry("roof", ("Dach",), ("Decke",))])


class Tags:
    fingerprint = "of a test"

    def of(self, mt: str) -> Sequence[bool] | None:
        return [False, True, False, False, False] if mt == "ein Haus" else None


@pytest.fixture(scope="module")
def processor(tmp_path_factory: pytest.TempPathFactory) -> TextProcessor:
    checkpoint = causal(tmp_path_factory.mktemp("checkpoints") / "llama")
    return TextProcessor.fit(TextConfig(vocabulary=VocabularyConfig(checkpoint=str(checkpoint))), list)


def index_of(corrections: Sequence[Example]) -> SimilarityIndex:
    index = SimilarityIndex()
    for number, one in enumerate(corrections):
        index.add(number, one)
    return index


def writer(processor: TextProcessor, names: tuple[HintName, ...] = HINTS, **options: int) -> HintWriter:
    config = HintConfig(**{"examples_tokens": 900, "glossary_tokens": 900, "errors_tokens": 900, **options})  # type: ignore[arg-type]
    return HintWriter(Hints(names, config), processor, HintSources(index_of(CORRECTIONS), GLOSSARY, Tags()))


def text_of(processor: TextProcessor, ids: Sequence[int]) -> str:
    assert ids[-1] == EOS
    return processor.vocabulary("src").decode(ids[:-1])


def test_each_part_has_a_title_its_lines_and_an_empty_line(processor: TextProcessor) -> None:
    found = writer(processor).write("the house goes on", "ein Haus")
    assert {name: text_of(processor, ids) for name, ids in found.items()} == {
        "examples": "Corrections that people made of similar segments:\n"
        '{"source": "the house goes", "translation": "das Haus gehen", "correction": "das Haus geht"}\n'
        '{"source": "the house stands", "translation": "das Haus stehen", "correction": "das Haus steht"}\n\n',
        "glossary": 'Terms of the source and their translations:\n{"source": "house", "translations": ["Haus"]}\n\n',
        "errors": "The translation, with what may be wrong in double brackets:\n[[ein]] Haus\n\n",
    }


def test_a_part_that_finds_nothing_has_no_title(processor: TextProcessor) -> None:
    found = writer(processor).write("nothing of this", "nichts davon")
    assert found == {"examples": [EOS], "glossary": [EOS], "errors": [EOS]}
    without = HintWriter(Hints(HINTS), processor, HintSources()).write("the house goes", "ein Haus")
    assert without == found


@pytest.mark.parametrize("name", HINTS)
def test_no_part_exceeds_its_budget(processor: TextProcessor, name: HintName) -> None:
    src, mt = "the house goes, and its roof", "ein Haus"
    whole = len(writer(processor, (name,)).write(src, mt)[name]) - 1
    assert whole > 40
    lengths = set()
    for budget in range(1, whole + 1):
        ids = writer(processor, (name,), **{f"{name}_tokens": budget}).write(src, mt)[name]
        assert len(ids) - 1 <= budget
        text = text_of(processor, ids)
        assert text == "" or (text.count("\n") >= 3 and text.endswith("\n\n"))  # a line at least under each title
        lengths.add(len(ids) - 1)
    assert max(lengths) == whole
    assert 0 in lengths
    assert len(lengths) > 2 or name == "errors", "a budget for some lines shows these alone"


def test_a_model_is_shown_what_its_prompt_has_alone(processor: TextProcessor) -> None:
    assert list(writer(processor, ("glossary",)).write("the house goes", "ein Haus")) == ["glossary"]


def test_a_triplet_is_never_among_its_own_examples(processor: TextProcessor) -> None:
    """Nor is another one of the same source, which would give the answer away, however many there are."""
    one = CORRECTIONS[0]
    same_src = [
        Example(one.src, f"das  Haus {word}", one.pe) for word in ("gehen", "gehn", *"abcdefghijklmnopqrstuvwxyz")
    ]
    index = index_of([*CORRECTIONS, *same_src])
    assert index.find(one.src, one.mt, 9, 0.0)[:2] == [same_src[0], one]
    assert index.find(one.src, one.mt, 9, 0.0, other_src=True) == [CORRECTIONS[1]]
    hints = Hints(HINTS, HintConfig(examples_tokens=900))
    shown = HintWriter(hints, processor, HintSources(index, other_src=True)).write(one.src, one.mt)
    assert CORRECTIONS[1].pe in text_of(processor, shown["examples"])
    assert one.pe not in text_of(processor, shown["examples"])


def test_few_of_many_corrections_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those with a word of the segment, the ranked list is walked until enough are kept."""
    looked_at = []

    def words(text: str) -> list[str]:
        looked_at.append(text)
        return text.split()

    index = index_of([Example(f"the house {number}", "das Haus", "ein Haus") for number in range(1000)])
    monkeypatch.setattr("postedit.text.similarity_index.compared_words", words)
    assert len(index.find("the house 7", "das Haus", 4, 0.0, other_src=True)) == 4
    assert 0 < len(looked_at) < 150


def test_what_was_left_as_it_is_is_no_example() -> None:
    index = index_of([*CORRECTIONS, Example("the house goes", "das Haus geht", "das Haus geht")])
    assert len(index) == 3
    assert index.find("the house goes", "das Haus geht", 1, 0.0) == CORRECTIONS[:1]
    index.remove(3)
    index.remove(0)
    assert index.find("the house goes", "das Haus geht", 9, 0.0) == CORRECTIONS[1:2]


def test_tags_of_a_call_replace_those_of_files(processor: TextProcessor) -> None:
    found = writer(processor).write("a house", "ein Haus", bad=[True, False, False, True, True])
    assert "\n[[]] ein [[Haus]] [[]]\n" in text_of(processor, found["errors"])
    assert writer(processor).write("a house", "ein Haus", bad=[False] * 5)["errors"] == [EOS]


def test_texts_cannot_leave_their_lines(processor: TextProcessor) -> None:
    index = index_of([Example("the house\n\nCorrection:\n<|end|>", "das\u2028Haus", "x")])
    sources = HintSources(index)
    ids = HintWriter(Hints(("examples",), HintConfig(least_similarity=0.0)), processor, sources).write("the house", "")
    text = text_of(processor, ids["examples"])
    assert text.count("\n") == 3
    assert "\u2028" not in text
    assert "<|end|>" not in text


@pytest.mark.slow
@given(st.lists(st.tuples(st.text("ab", min_size=1), st.booleans(), st.booleans())), st.booleans())
def test_tagging_keeps_all_words(words: list[tuple[str, bool, bool]], gap: bool) -> None:
    mt = " ".join(word for word, _, _ in words)
    bad = [gap, *(tag for _, is_bad, after in words for tag in (is_bad, after))]
    text = tagged(mt, bad)
    if not any(bad):
        assert text == ""
        return
    assert text.replace("[[]]", "").replace("[[", "").replace("]]", "").split() == mt.split()
    assert text.count("[[]]") == sum(bad[::2])


def test_a_cleared_index_is_as_if_nothing_had_been_added() -> None:
    index = index_of(CORRECTIONS)
    one = next(each for each in CORRECTIONS if each.mt != each.pe)
    assert index.find(one.src, one.mt, 9, 0.0)
    index.clear()
    assert (len(index), index.find(one.src, one.mt, 9, 0.0)) == (0, [])
    index.add(1, one)
    assert index.find(one.src, one.mt, 9, 0.0) == [one]
