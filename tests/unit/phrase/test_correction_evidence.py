"""Evidence for edits, worked out by hand and by a slow implementation."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.phrase.small_corpus import TRIPLETS, split

from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import Entry
from postedit.adapt.phrase_learner import PhraseLearner
from postedit.core.search_config import SearchConfig
from postedit.phrase.correction_evidence import EVIDENCE, RECENT, known_phrases
from postedit.phrase.decoder import sentence_of
from postedit.phrase.edit_candidates import DOUBT, new_scratch
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_model import learn
from postedit.phrase.phrase_options import PhraseConfig, PhraseTextConfig
from postedit.phrase.scored_edits import corrected_candidates
from postedit.phrase.source_alignment import single_text
from postedit.phrase.word_ids import BEGIN, END_OF_TEXT

Change = tuple[tuple[int, int], tuple[str, ...]]


def evidence(
    corrections: Sequence[tuple[str, str]], mt: str, undone: Sequence[int] = (), editor: PhraseEditor | None = None
) -> dict[Change, dict[str, float] | None]:
    """Return the evidence for each edit of a text that corrections propose; None for those that are not in doubt."""
    editor = editor or PhraseEditor.empty(PhraseTextConfig())
    learner = PhraseLearner(editor)
    entries = [Entry(number, Correction("s", *one), None) for number, one in enumerate(corrections, start=1)]
    learner.learn_entries(entries)
    learner.learn_entries(Entry(1000 + number, entries[number - 1].correction, number) for number in undone)
    known, words = editor.model.knowledge, editor.model.words
    others: dict[str, int] = {}
    asked = np.array([BEGIN, *words.find(mt.split(), others), END_OF_TEXT], np.int32)
    source = np.array(words.find(["t"], others), np.int32)
    sentence = sentence_of(single_text(asked), editor.model.joined, single_text(source), known.translations, 0)
    phrases = known_phrases(known.corrections.mt, sentence.asked)
    found, rows = corrected_candidates(sentence, known, phrases, np.empty(64, np.int64), new_scratch())
    changes: dict[Change, dict[str, float] | None] = {}
    for (start, end, place, count), features, row in zip(found.spans, found.features, rows, strict=True):
        new = tuple(words.words[word] for word in found.words[place : place + count])
        assert features[DOUBT] or not row.any()
        named = dict(zip(EVIDENCE, row.tolist(), strict=True)) if features[DOUBT] else None
        changes[(int(start) - 1, int(end) - 1), new] = named
    return changes


def same(texts: Sequence[str], mt: str) -> float:
    """Return how likely a text is of the same text as the last of others, slowly; see `likely_same`."""
    recent = {word for text in texts[-RECENT:] for word in text.split()}
    counts = [(word, sum(word in text.split() for text in texts)) for word in mt.split()]
    rarity = [(word, math.log((len(texts) + RECENT) / (count + 0.5))) for word, count in counts]
    share = sum(rare for word, rare in rarity if word in recent) / sum(rare for _, rare in rarity)
    return float(min(1, share / 0.6) ** 4)


def test_evidence_by_hand() -> None:
    corrections = [("ein Haus dort", "das Haus dort"), ("ein Baum", "ein Baum"), ("zwei Wege", "zwei Wege")]
    found = evidence(corrections, "ein Haus hier")[(0, 1), ("das",)]
    ein, haus, hier = math.log(35 / 2.5), math.log(35 / 1.5), math.log(35 / 0.5)  # in two of three, in one, in none
    likely = ((ein + haus) / (ein + haus + hier) / 0.6) ** 4
    assert found == pytest.approx(
        {
            "lately made": math.log(1 + RECENT / 3) * likely,  # it is the last but two
            "like made": 4 / 6,  # "ein", "Haus", beginning and end, of those and "hier" and "dort"
        }
    )


def test_an_insertion_is_found_between_the_words_beside_it() -> None:
    found = evidence([("rot Haus", "rot es Haus"), ("ein Haus", "ein Haus")], "rot Haus hier")[(1, 1), ("es",)]
    assert found == pytest.approx({"lately made": math.log(1 + RECENT / 2), "like made": 4 / 5})


def test_what_was_made_lately_counts_less_in_text_of_other_words() -> None:
    pairs = [(mt, mt) for mt in ("einmal : blieb es", *(f"w{number} ist" for number in range(RECENT)))]
    pairs += [(f"{word} steht : da", f"{word} steht ; da") for word in ("Haus", "Baum", "Weg")]
    change = (3, 4), (";",)
    texts = {word: f"der {word} x : so" for word in ("Haus", "w3", "w2", "w0", "y")}
    lately = {word: (evidence(pairs, text)[change] or {})["lately made"] for word, text in texts.items()}
    assert lately["Haus"] > 2 * lately["w0"] > 2 * lately["y"]  # w0 is known, but not from the last corrections
    assert lately["w3"] > lately["w2"], "the former is from the first of the last corrections"
    undone = pairs.index(("w9 ist", "w9 ist"))
    left = evidence(pairs[:undone] + pairs[undone + 1 :], "der w9 x : so")
    assert evidence(pairs, "der w9 x : so", undone=[undone + 1]) == left
    known = [mt for mt, _ in pairs]
    assert lately == pytest.approx({word: math.log(1 + RECENT) * same(known, text) for word, text in texts.items()})


def test_repetition_is_no_sign_of_another_text() -> None:
    pairs = [(f"die Taste {word} .", f"die Schaltfläche {word} .") for word in ("a", "b", "c")]
    found = evidence([("eine Taste", "eine Taste"), *pairs], "die Taste neu .")[(1, 2), ("Schaltfläche",)]
    assert found is None or found["lately made"] == pytest.approx(math.log(1 + RECENT))


def test_what_was_made_each_time_holds_in_any_text() -> None:
    found = evidence([("a Taste b", "a Knopf b"), ("c Taste d", "c Knopf d")], "v w Taste x y z")[(2, 3), ("Knopf",)]
    assert found == pytest.approx({"lately made": math.log(1 + RECENT), "like made": 3 / 10})


def test_edits_beyond_doubt_need_no_evidence() -> None:
    corrections = [("a ein Haus dort", "a das Haus dort")] * 2
    assert evidence(corrections, "ein Haus dort x") == {((0, 1), ("das",)): None}
    corrections.insert(1, ("a ein Haus dort", "a ein Haus dort"))
    assert evidence(corrections, "ein Haus dort x")[(0, 1), ("das",)] is not None, "there was an exception"


def test_words_joined_with_their_sources_are_compared_without_them() -> None:
    config = PhraseConfig(order=3, join_source=True)
    joined = PhraseEditor(learn(split(TRIPLETS), config), config, PhraseTextConfig(), SearchConfig())
    corrections = [("neu Taste b", "neu Knopf b"), ("c Taste d", "c Knopf d")]
    for mt in ("v Taste x", "c Taste x y"):
        assert evidence(corrections, mt, editor=joined) == evidence(corrections, mt)


WORDS = st.sampled_from("abc")
TEXTS = st.lists(st.lists(st.tuples(WORDS, st.sampled_from(["", "x", "y"])), min_size=1, max_size=4), max_size=8)
"""Words of mt, and what each became; nothing if it stayed."""


def apart(words: Sequence[str]) -> str:
    """Return words with others between them that stay, so that it is clear what each one became."""
    return " | ".join(words)


@given(TEXTS, st.lists(WORDS, min_size=1, max_size=4), st.data())
def test_evidence_is_that_of_a_slow_implementation(
    texts: list[list[tuple[str, str]]], mt: list[str], data: st.DataObject
) -> None:
    pairs = [(apart([old for old, _ in text]), apart([new or old for old, new in text])) for text in texts]
    undone = data.draw(st.sets(st.integers(1, len(pairs)))) if pairs else set()
    left = [text for number, text in enumerate(texts, start=1) if number not in undone]
    for ((start, end), new), found in evidence(pairs, apart(mt), sorted(undone)).items():
        if found is None or end - start != 1 or len(new) != 1:
            continue
        asked, lately, like = apart(mt).split(), 0.0, 0.0
        for age, text in enumerate(left[::-1], start=1):
            if (asked[start], new[0]) in text:
                own, other = ({*words.split(), "<", ">"} for words in (apart(mt), apart([old for old, _ in text])))
                lately = max(lately, math.log(1 + RECENT / age))
                like = max(like, len(own & other) / len(own | other))
        if any(old == asked[start] and became != new[0] for text in left for old, became in text):
            lately *= same([apart([old for old, _ in text]) for text in left], apart(mt))
        assert found == pytest.approx({"lately made": lately, "like made": like})
