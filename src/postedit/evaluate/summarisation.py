"""Measures for single-source tasks such as summarisation: ROUGE, novel and repeated n-grams (Ive et al. 2019, 5.1)."""

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

import numpy as np

from postedit.evaluate.metrics import Floats
from postedit.evaluate.table import percentage
from postedit.evaluate.ter import split_words

ORDERS: Final = (1, 2, 3, 4)
"""Orders of the novel and repeated n-grams."""

ROUGE: Final = ("ROUGE-1", "ROUGE-2", "ROUGE-L", "ROUGE-Lsum")
"""The kinds of ROUGE. L is the longest common subsequence of whole texts; Lsum, the L of the official script, unites
those of each sentence of the reference with all sentences of the output."""

_KINDS: Final = ("rouge1", "rouge2", "rougeL", "rougeLsum")
_WORD: Final = re.compile(r"[^\W_]+")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+(?!$)|(?<=[。！？])(?![。！？」』”’）])\s*(?!$)")
_SHORTEST_STEMMED: Final = 4  # letters: shorter words are left as they are, as rouge-score does


@dataclass(frozen=True, eq=False, slots=True)
class SummaryScores:
    """Measures of one system; shares are in per cent, those of n-grams by `ORDERS`, None where nothing is counted."""

    rouge: tuple[float, ...]  # F1 in the order of `ROUGE`, 0 to 100, the mean over texts
    rouge_by_text: Floats  # Float[texts,4], F1 of each text
    novel: tuple[float | None, ...]  # n-grams of the output that its source lacks
    novel_sentences: float | None  # sentences of the output that its source lacks
    repeated: tuple[float | None, ...]  # n-grams that occurred before in the same output
    repeated_sentences: float | None  # sentences that occurred before in the same output


class _Tokenizer:
    """A tokeniser for rouge-score: as its own on English text, and letters and digits of all scripts."""

    def __init__(self, *, stem: bool) -> None:
        self._stem = None
        if stem:
            from nltk.stem.porter import PorterStemmer  # as in rouge-score

            self._stem = PorterStemmer().stem

    def tokenize(self, text: str) -> list[str]:
        """Return letters and digits, in lower case, stemmed if that is wanted."""
        words = _WORD.findall(text.lower())
        if self._stem is None:
            return words
        return [self._stem(word) if len(word) >= _SHORTEST_STEMMED else word for word in words]


def rouge_signature(*, stem: bool = False) -> str:
    """Return the signature of ROUGE, in the form of sacrebleu."""
    stemmer = "porter" if stem else "no"
    package = version("rouge_score")
    return f"nrefs:1|case:lower|tok:letters-digits|stem:{stemmer}|mean:texts|version:rouge-score-{package}"


def sentences(text: str) -> list[str]:
    """Return the sentences of a text: stretches that end in a full stop, a question mark or an exclamation mark."""
    return [part for part in _SENTENCE_END.split(text.strip()) if part]


def lead(text: str, count: int = 3) -> str:
    """Return the first sentences of a text: LEAD-3, the baseline of summarisation."""
    whole = text.strip()
    ends = [found.start() for found in _SENTENCE_END.finditer(whole)]
    return whole if len(ends) < count else whole[: ends[count - 1]]


def rouge_by_text(outputs: Sequence[str], references: Sequence[str], *, stem: bool = False) -> Floats:
    """Return F1 of each text, Float[texts,4], 0 to 100, in the order of `ROUGE`."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(list(_KINDS), tokenizer=_Tokenizer(stem=stem))
    rows = []
    for output, reference in zip(outputs, references, strict=True):
        found = scorer.score(*("\n".join(sentences(text)) for text in (reference, output)))
        rows.append([100.0 * found[kind].fmeasure for kind in _KINDS])
    return np.array(rows, np.float64).reshape(-1, len(_KINDS))


def summary_scores(
    outputs: Sequence[str],
    sources: Sequence[str],
    references: Sequence[str],
    *,
    normalise: bool = False,
    stem: bool = False,
) -> SummaryScores:
    """Return the measures of one system.

    Args:
        outputs: of the system.
        sources: what it read, text by text.
        references: the summaries by people.
        normalise: separate words by the rules of Tercom, for raw text.
        stem: reduce English words to stems before ROUGE compares them, as the official script does for the papers.
    """
    found = rouge_by_text(outputs, references, stem=stem)
    words, originals = (split_words(texts, normalise=normalise) for texts in (outputs, sources))
    ngrams = {
        order: ([list(_ngrams(text, order)) for text in words], [list(_ngrams(text, order)) for text in originals])
        for order in ORDERS
    }
    whole = [sentences(text) for text in outputs], [sentences(text) for text in sources]
    return SummaryScores(
        rouge=tuple(map(float, found.mean(0))),
        rouge_by_text=found,
        novel=tuple(_share(_novel(*ngrams[order])) for order in ORDERS),
        novel_sentences=_share(_novel(*whole)),
        repeated=tuple(_share(_repeated(ngrams[order][0])) for order in ORDERS),
        repeated_sentences=_share(_repeated(whole[0])),
    )


def _novel(outputs: Iterable[Sequence[Hashable]], sources: Iterable[Sequence[Hashable]]) -> Iterable[bool]:
    """Yield for each item of each output whether its source lacks it."""
    for output, source in zip(outputs, sources, strict=True):
        known = set(source)
        yield from (item not in known for item in output)


def _repeated(outputs: Iterable[Sequence[Hashable]]) -> Iterable[bool]:
    """Yield for each item of each output whether it occurred before."""
    for output in outputs:
        seen = set()
        for item in output:
            yield item in seen
            seen.add(item)


def _ngrams(words: Sequence[str], order: int) -> Iterable[tuple[str, ...]]:
    return zip(*(words[start:] for start in range(order)))


def _share(flags: Iterable[bool]) -> float | None:
    found = list(flags)
    return percentage(sum(found), len(found))
