"""A phrase-based model: how it is learnt from triplets, and its conversion to arrays for a file."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postedit.phrase.correction_evidence import EVIDENCE
from postedit.phrase.correction_index import NO_CORRECTIONS
from postedit.phrase.decoder import ALL_FEATURES
from postedit.phrase.edit_alignment import EditTable, all_linked, learn_edits, spellings, without_rare
from postedit.phrase.edit_candidates import FEATURES
from postedit.phrase.lexicon import EditLexicon, count_links
from postedit.phrase.ngram_model import NgramModel, learn_ngrams, ngram_table
from postedit.phrase.pair_table import EMPTY, table_of
from postedit.phrase.phrase_options import PhraseConfig
from postedit.phrase.scored_edits import Knowledge
from postedit.phrase.source_alignment import (
    NOT_JOINED,
    JoinedWords,
    Texts,
    TranslationTable,
    all_source_words,
    join_words,
    joined_ids,
    learn_translations,
)
from postedit.phrase.triplet_index import Sorted, TripletIndex, build_index
from postedit.phrase.word_ids import TextsBuilder, WordIds

Floats = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]

START_WEIGHTS: Final[Mapping[str, float]] = {
    "language model": 0.15,
    "edits": -1.0,
    "words changed": -0.1,
    "length": 0.1,
    "phrase": 0.1,
    "phrase in context": 0.1,
    "best phrase": 0.3,
    "seen changed": 0.1,
    "seen changed anywhere": 0.2,
    "context": 0.2,
    "source agrees": 0.2,
}
"""Weights before tuning; those of other features are 0."""

DECISION_WEIGHTS: Final[Mapping[str, float]] = {
    "not corrected": -0.18,
    "not corrected in context": -1.36,
    "corrections": 1.0,
}
"""Weights of the features that corrections set on edits; they assume scores that are log-odds of being right."""

CORRECTION_WEIGHTS: Final[Mapping[str, float]] = {
    "edits": -2.63,
    "phrase": 0.21,
    "best phrase": 0.14,
    "seen changed anywhere": 0.34,
    "phrases": 0.37,
    "corrected": 0.31,
    "corrected in context": 0.56,
    "not corrected": -0.52,
    "not corrected in context": -0.55,
    "doubt": -0.12,
    "beyond doubt": 1.74,
    "lately made": 0.54,
    "like made": 2.46,
}
"""Weights that score the edits proposed by corrections, as log-odds of being right; those of other features are 0.

They were found by `benchmarks/learning_streams.py tune`, and rounded. The weight of "doubt" changes with the memory;
see `PhraseLearner`.
"""


class SplitTriplet(NamedTuple):
    """The words of a triplet."""

    src: list[str]
    mt: list[str]
    pe: list[str]


class AlignedTexts(NamedTuple):
    """All triplets without their sources.

    Args:
        mt: the words of mt, each text with words for its beginning and end.
        pe: the words of pe, likewise.
        links: the place in mt of the counterpart of each word of pe, or UNLINKED, Int32[words of pe].
        sources: the source word of each word of mt, Int32[words of mt].
    """

    mt: Texts
    pe: Texts
    links: NDArray[np.int32]
    sources: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class PhraseModel:
    """The parts of a phrase-based model.

    Args:
        words: all words with their ids.
        knowledge: indexes and tables by which edits are proposed and scored.
        joined: ids of words joined with source words.
        edits: probabilities of changed words, by which later corrections are aligned.
        weights: the weights of the features, in the order of ALL_FEATURES, Float64[1+F].
        corrected: for each source and mt, the texts of pe of its corrections, by number in ascending order.
    """

    words: WordIds
    knowledge: Knowledge
    joined: JoinedWords
    edits: EditTable
    weights: Floats
    corrected: Mapping[tuple[str, str], Mapping[int, str]] = field(default_factory=dict)

    def to_arrays(self) -> Arrays:
        """Return all arrays by name: hash tables without their unused slots, and nothing learnt from corrections."""
        index = self.knowledge.trained
        found: Arrays = {"weights": self.weights}
        for side in ("mt", "pe"):
            found |= {f"index.{side}.{name}": part for name, part in getattr(index, side)._asdict().items()}
        found |= {f"index.{name}": getattr(index, name) for name in ("cells", "mt_starts", "pe_starts", "links")}
        lexicon, translations, language = self.knowledge.lexicon, self.knowledge.translations, self.knowledge.language
        found |= {"lexicon.old": lexicon.old, "lexicon.new": lexicon.new}
        tables = {
            "lexicon": lexicon,
            "translations": translations,
            "language": language,
            "joined": self.joined,
            "edits": self.edits,
        }
        for name, table in tables.items():
            used = np.flatnonzero(table.keys != EMPTY)
            used = used[np.argsort(table.keys[used])]  # sorted, so that a model saved again is the same
            for part in _COLUMNS[name]:
                found[f"{name}.{part}"] = getattr(table, part)[used]
        found["language.order"] = np.array([language.order])
        found["language.unknown"] = np.array([language.unknown])
        return found

    @classmethod
    def of_arrays(cls, words: list[str], arrays: Arrays) -> "PhraseModel":
        """Return the model with these words and the arrays of `to_arrays`.

        Raises:
            KeyError: if an array is missing.
        """
        sides = {side: Sorted(*(arrays[f"index.{side}.{name}"] for name in Sorted._fields)) for side in ("mt", "pe")}
        rest = [arrays[f"index.{name}"] for name in ("cells", "mt_starts", "pe_starts", "links")]
        columns = {name: [arrays[f"{name}.{part}"] for part in parts] for name, parts in _COLUMNS.items()}
        joined = JoinedWords(*table_of(*columns["joined"])) if columns["joined"][0].size else NOT_JOINED
        keys, counts = table_of(*columns["lexicon"])
        lexicon = EditLexicon(keys, counts, arrays["lexicon.old"], arrays["lexicon.new"])
        order, unknown = int(arrays["language.order"][0]), float(arrays["language.unknown"][0])
        keys, logs, backoffs = ngram_table(*columns["language"])
        language = NgramModel(keys, logs, backoffs, order, unknown)
        translations = TranslationTable(*table_of(*columns["translations"]))
        index = TripletIndex(sides["mt"], sides["pe"], *rest)
        knowledge = _without_corrections(
            index,
            lexicon,
            translations,
            language,
        )
        edits = EditTable(*table_of(*columns["edits"]))
        return cls(WordIds(words), knowledge, joined, edits, arrays["weights"])


_COLUMNS: Final = {
    "lexicon": ("keys", "counts"),
    "translations": ("keys", "probabilities"),
    "language": ("keys", "logs", "backoffs"),
    "joined": ("keys", "ids"),
    "edits": ("keys", "probabilities"),
}
"""The columns of the hash tables, by the name of the table."""


def _without_corrections(index: Any, lexicon: Any, translations: Any, language: Any) -> Knowledge:
    return Knowledge(
        index,
        NO_CORRECTIONS.index,
        NO_CORRECTIONS.ranks,
        NO_CORRECTIONS.sources,
        NO_CORRECTIONS.numbers,
        NO_CORRECTIONS.bags,
        NO_CORRECTIONS.bag_starts,
        NO_CORRECTIONS.counts,
        weights_by_corrections(),
        lexicon,
        translations,
        language,
    )


def weights_by_corrections() -> Floats:
    """Return CORRECTION_WEIGHTS in the order of FEATURES and then of EVIDENCE, Float64[F+E]."""
    return np.array([CORRECTION_WEIGHTS.get(name, 0.0) for name in (*FEATURES, *EVIDENCE)])


def weights_of(named: Mapping[str, float]) -> Floats:
    """Return the weights in the order of ALL_FEATURES, Float64[1+F]; those not named are 0."""
    return np.array([named.get(name, 0.0) for name in ALL_FEATURES])


def learn(triplets: Iterable[SplitTriplet], config: PhraseConfig) -> PhraseModel:
    """Return a model learnt from triplets, with weights as before tuning."""
    words = WordIds()
    builders = [TextsBuilder(bounded=False), TextsBuilder(bounded=True), TextsBuilder(bounded=True)]
    for triplet in triplets:
        for builder, side in zip(builders, triplet):
            builder.append(words.add(side))
    src, mt, pe = (builder.texts() for builder in builders)
    del builders
    return learn_texts(words, src, mt, pe, config)


def learn_texts(words: WordIds, src: Texts, mt: Texts, pe: Texts, config: PhraseConfig) -> PhraseModel:
    """Return a model learnt from triplets that are given as word ids; see `learn`."""
    count = len(words)
    some = config.learn_words_from
    translations = learn_translations(_some(src, some), _some(pe, some), count)
    sources = all_source_words(translations, src, mt)
    spelt = spellings(words.words)
    edits = learn_edits(_some(mt, some), _some(pe, some), spelt)
    links = all_linked(edits, spelt, mt, pe)
    joined = join_words(mt.words, sources) if config.join_source else NOT_JOINED
    knowledge = counted(
        AlignedTexts(mt, pe, links, sources), joined, translations, count, order=config.order, least=config.least
    )
    return PhraseModel(words, knowledge, joined, without_rare(edits), weights_of({**START_WEIGHTS, **DECISION_WEIGHTS}))


def counted(
    texts: AlignedTexts, joined: JoinedWords, translations: TranslationTable, words: int, *, order: int, least: int
) -> Knowledge:
    """Return the knowledge that can be counted from aligned texts, without any corrections.

    Args:
        texts: the texts.
        joined: ids of words joined with source words.
        translations: probabilities of words of pe given source words.
        words: a number above all word ids.
        order: see `PhraseConfig`.
        least: see `PhraseConfig`.
    """
    asked = joined_ids(joined, texts.mt.words, texts.sources)
    index = build_index(asked, texts.mt, texts.pe, texts.links, texts.sources, words)
    lexicon = count_links(texts.mt, texts.pe, texts.links, words)
    return _without_corrections(index, lexicon, translations, learn_ngrams(texts.pe, order, least))


def empty_model(order: int) -> PhraseModel:
    """Return a model of no triplets; its language model, of this order, gives every word the same probability."""
    texts = Texts(np.empty(0, np.int32), np.zeros(1, np.int64))
    words, keys, shares = WordIds(), np.empty(0, np.int64), np.empty(0, np.float32)
    index = build_index(texts.words, texts, texts, texts.words, texts.words, len(words))
    grams, logs, backoffs = ngram_table(keys, shares, shares)
    knowledge = _without_corrections(
        index,
        count_links(texts, texts, texts.words, len(words)),
        TranslationTable(*table_of(keys, shares)),
        NgramModel(grams, logs, backoffs, order, 0.0),
    )
    return PhraseModel(words, knowledge, NOT_JOINED, EditTable(*table_of(keys, shares)), weights_of(DECISION_WEIGHTS))


def _some(texts: Texts, most: int) -> Texts:
    """Return at most `most` texts, spread evenly over all."""
    count = texts.starts.size - 1
    if count <= most:
        return texts
    rows = np.arange(most) * count // most
    lengths = np.diff(texts.starts)[rows]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    places = np.repeat(texts.starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
    return Texts(texts.words[places], starts)
