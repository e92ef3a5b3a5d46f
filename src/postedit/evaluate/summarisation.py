"""Measures of single-source tasks such as summarisation: ROUGE, novel and repeated n-grams (Ive et al. 2019, 5.1)."""

import re
import unicodedata
from array import array
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

import numpy as np

from postedit.evaluate.metrics import Floats
from postedit.evaluate.table import percentage
from postedit.evaluate.ter import words_of
from postedit.text.words import STOPS

if TYPE_CHECKING:
    from rouge_score.rouge_scorer import RougeScorer

ORDERS: Final = (1, 2, 3, 4)
"""Orders of the novel and repeated n-grams."""

ROUGE: Final = ("ROUGE-1", "ROUGE-2", "ROUGE-L", "ROUGE-Lsum")
"""The kinds of ROUGE. L takes the longest common subsequence of whole texts; Lsum, which the official script calls L,
unites, for each sentence of the reference, its longest common subsequences with all sentences of the output."""

_KINDS: Final = ("rouge1", "rouge2", "rougeL", "rougeLsum")
_SENTENCE_END: Final = re.compile(rf"(?<=[.!?{STOPS}])\s+(?!$)|(?<=[。！？])(?![。！？」』”’）])\s*(?!$)")
_SHORTEST_STEMMED: Final = 4  # letters: shorter words are left as they are, as rouge-score does


@dataclass(frozen=True, eq=False, slots=True)
class SummaryScores:
    """Measures of one system. Shares are in per cent, None if there is nothing to count; n-grams are as in `ORDERS`."""

    rouge: tuple[float, ...]  # mean F1 over texts, 0 to 100, in the order of `ROUGE`
    rouge_by_text: Floats  # Float[texts,4], F1 of each text
    novel: tuple[float | None, ...]  # n-grams of the output that its source lacks
    novel_sentences: float | None  # sentences of the output that its source lacks
    repeated: tuple[float | None, ...]  # n-grams that occurred before in the same output
    repeated_sentences: float | None  # sentences that occurred before in the same output


class _Tokenizer:
    """A tokeniser for rouge-score: like its own on English text, but it keeps letters and digits of all scripts."""

    def __init__(self, *, stem: bool) -> None:
        self._stem = None
        if stem:
            from nltk.stem.porter import PorterStemmer  # as in rouge-score

            self._stem = PorterStemmer().stem

    def tokenize(self, text: str) -> list[str]:
        """Return the words of a text: letters with their marks, and digits; in lower case, and stemmed if requested."""
        words = _words_of(text.lower())
        if self._stem is None:
            return words
        return [self._stem(word) if len(word) >= _SHORTEST_STEMMED else word for word in words]


def _words_of(text: str) -> list[str]:
    """Return the words of a text in NFC; combining marks, such as the vowel signs of Hindi, are parts of words."""
    composed = unicodedata.normalize("NFC", text)
    return "".join(one if one.isalnum() or unicodedata.category(one)[0] == "M" else " " for one in composed).split()


def rouge_signature(*, stem: bool = False) -> str:
    """Return the signature of ROUGE, in sacrebleu's format."""
    stemmer = "porter" if stem else "no"
    package = version("rouge_score")
    return f"nrefs:1|case:lower|tok:letters-marks-digits|stem:{stemmer}|mean:texts|version:rouge-score-{package}"


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, which is divided after full stops, question marks and exclamation marks."""
    return [part for part in _SENTENCE_END.split(text.strip()) if part]


def lead(text: str, count: int = 3) -> str:
    """Return the first `count` sentences of a text; LEAD-3, the first three, is a common summarisation baseline."""
    whole = text.strip()
    ends = [found.start() for found in _SENTENCE_END.finditer(whole)]
    return whole if len(ends) < count else whole[: ends[count - 1]]


def rouge_by_text(outputs: Sequence[str], references: Sequence[str], *, stem: bool = False) -> Floats:
    """Return the F1 of each text, Float[texts,4], 0 to 100, in the order of `ROUGE`."""
    scorer = _scorer(stem=stem)
    rows = []
    for output, reference in zip(outputs, references, strict=True):
        found = scorer.score(*("\n".join(sentences(text)) for text in (reference, output)))
        rows.append([100.0 * found[kind].fmeasure for kind in _KINDS])
    return np.array(rows, np.float64).reshape(-1, len(_KINDS))


@lru_cache
def _scorer(*, stem: bool) -> "RougeScorer":
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(list(_KINDS), tokenizer=_Tokenizer(stem=stem))


def summary_scores(
    outputs: Iterable[str],
    sources: Iterable[str],
    references: Iterable[str],
    *,
    normalise: bool = False,
    stem: bool = False,
) -> SummaryScores:
    """Return the measures of one system; texts are read one by one.

    Args:
        outputs: outputs of the system.
        sources: text that the system read for each output.
        references: summaries written by people.
        normalise: whether to separate the words of n-grams by the rules of Tercom; for text that is not tokenised.
        stem: whether ROUGE compares stems of English words, as papers usually let the official script do.
    """
    rouge, counted = array("d"), {order: _Shares() for order in (*ORDERS, 0)}  # 0: sentences
    for output, source, reference in zip(outputs, sources, references, strict=True):
        rouge.extend(rouge_by_text([output], [reference], stem=stem)[0])
        words, originals = words_of([output, source], "13a" if normalise else "none")
        for order in ORDERS:
            counted[order].add(list(_ngrams(words, order)), _ngrams(originals, order))
        counted[0].add(sentences(output), sentences(source))
    found = np.array(rouge).reshape(-1, len(ROUGE))
    return SummaryScores(
        rouge=tuple(map(float, found.mean(0))),
        rouge_by_text=found,
        novel=tuple(counted[order].novel for order in ORDERS),
        novel_sentences=counted[0].novel,
        repeated=tuple(counted[order].repeated for order in ORDERS),
        repeated_sentences=counted[0].repeated,
    )


class _Shares:
    """Shares of the items of outputs that their source lacks, and that occurred before in the same output.

    Ive et al. 2019 (figure 2) count the n-grams with a frequency above 1 instead, which includes first occurrences, per
    sentence. Here n-grams are those of whole texts, and may cross the ends of sentences.
    """

    def __init__(self) -> None:
        self._items = self._novel = self._repeated = 0

    def add(self, output: Sequence[Hashable], source: Iterable[Hashable]) -> None:
        """Count the items of an output and compare them with those of its source."""
        known, seen = set(source), set[Hashable]()
        self._items += len(output)
        self._novel += sum(item not in known for item in output)
        for item in output:
            self._repeated += item in seen
            seen.add(item)

    @property
    def novel(self) -> float | None:
        """The percentage of items that the source lacks; None if there are no items."""
        return percentage(self._novel, self._items)

    @property
    def repeated(self) -> float | None:
        """The percentage of items that occurred before in their output; None if there are no items."""
        return percentage(self._repeated, self._items)


def _ngrams(words: Sequence[str], order: int) -> Iterable[tuple[str, ...]]:
    return zip(*(words[start:] for start in range(order)))
