"""The arrays of a phrase-based model from which all others can be made: texts, alignments, and what EM has learnt."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from postedit.phrase.edit_alignment import EditTable
from postedit.phrase.pair_table import EMPTY, table_of
from postedit.phrase.phrase_model import AlignedTexts, Arrays, PhraseModel, counted
from postedit.phrase.source_alignment import NOT_JOINED, JoinedWords, Texts, TranslationTable
from postedit.phrase.triplet_index import SOURCE
from postedit.phrase.word_ids import WordIds

_TABLES: Final = ("translations", "joined", "edits")
_OTHERS: Final = ("weights", "index.links", "language.order")


def compact_arrays(model: PhraseModel, least: int) -> Arrays:
    """Return the arrays that `expanded_model` needs, by name.

    Args:
        model: the model.
        least: the option of `PhraseConfig`, by which the language model is made again.
    """
    index = model.knowledge.trained
    every = model.to_arrays()
    found = {name: array for name, array in every.items() if name in _OTHERS or name.partition(".")[0] in _TABLES}
    for side, words, starts in (("mt", index.mt.words, index.mt_starts), ("pe", index.pe.words, index.pe_starts)):
        found |= {f"texts.{side}": words, f"texts.{side}_lengths": np.diff(starts).astype(np.int32)}
    found["texts.sources"] = np.ascontiguousarray(index.cells[:, SOURCE])
    found["language.least"] = np.array([least])
    return found


def expanded_model(words: list[str], arrays: Arrays) -> PhraseModel:
    """Return the model with these words and the arrays of `compact_arrays`.

    Raises:
        KeyError: if an array is missing.
    """
    keys, ids = arrays["joined.keys"], arrays["joined.ids"]
    joined = JoinedWords(*table_of(keys, ids)) if keys.size else NOT_JOINED
    asked, pe = (_texts(arrays, side) for side in ("mt", "pe"))
    mt = Texts(_words_of_joined(joined)[asked.words], asked.starts) if keys.size else asked
    translations = TranslationTable(*table_of(arrays["translations.keys"], arrays["translations.probabilities"]))
    known = WordIds(words)
    knowledge = counted(
        AlignedTexts(mt, pe, arrays["index.links"], arrays["texts.sources"]),
        joined,
        translations,
        len(known),
        order=int(arrays["language.order"][0]),
        least=int(arrays["language.least"][0]),
    )
    edits = EditTable(*table_of(arrays["edits.keys"], arrays["edits.probabilities"]))
    return PhraseModel(known, knowledge, joined, edits, arrays["weights"])


def _texts(arrays: Arrays, side: str) -> Texts:
    starts = np.concatenate([[0], np.cumsum(arrays[f"texts.{side}_lengths"], dtype=np.int64)])
    return Texts(arrays[f"texts.{side}"], starts)


def _words_of_joined(joined: JoinedWords) -> NDArray[Any]:
    """Return the word of mt by the id of its joined word, Int32[J]."""
    used = joined.keys != EMPTY
    found = np.empty(int(joined.ids[used].max()) + 1, np.int32)
    found[joined.ids[used]] = joined.keys[used] >> 32
    return found
