"""Measures for single-source tasks such as summarisation: ROUGE, novel and repeated n-grams (Ive et al. 2019, 5.1)."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from statistics import fmean
from typing import Final

from postedit.evaluate.table import percentage
from postedit.evaluate.ter import split_words

ORDERS: Final = (1, 2, 3, 4)
"""Orders of the novel and repeated n-grams."""

_ROUGE: Final = ("rouge1", "rouge2", "rougeL")
_WORD: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class SummaryScores:
    """Measures of one system; those of n-grams are in per cent, for each of `ORDERS`, None if there are no n-grams."""

    rouge: tuple[float, float, float]  # F1 of ROUGE-1, ROUGE-2 and ROUGE-L, 0 to 100, the mean over sentences
    novel: tuple[float | None, ...]  # n-grams of the output that its source lacks
    repeated: tuple[float | None, ...]  # n-grams that occurred before in the same output


class _Tokenizer:
    """A tokeniser for rouge-score: as its own on English text, and letters and digits of all scripts."""

    def tokenize(self, text: str) -> list[str]:
        """Return letters and digits, in lower case."""
        return _WORD.findall(text.lower())


def rouge_signature() -> str:
    """Return the signature of ROUGE, in the form of sacrebleu."""
    return f"nrefs:1|case:lower|tok:letters-digits|stem:no|mean:sentences|version:rouge-score-{version('rouge_score')}"


def summary_scores(
    outputs: Sequence[str], sources: Sequence[str], references: Sequence[str], *, normalise: bool = False
) -> SummaryScores:
    """Return the measures of one system; `normalise` separates words by the rules of Tercom, for raw text."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(list(_ROUGE), tokenizer=_Tokenizer())
    scored = [scorer.score(reference, output) for output, reference in zip(outputs, references, strict=True)]
    one, two, longest = (100.0 * fmean(row[name].fmeasure for row in scored) for name in _ROUGE)
    words, originals = (split_words(texts, normalise=normalise) for texts in (outputs, sources))
    return SummaryScores(
        rouge=(one, two, longest),
        novel=tuple(_share(_novel(words, originals, order)) for order in ORDERS),
        repeated=tuple(_share(_repeated(words, order)) for order in ORDERS),
    )


def _novel(outputs: Iterable[Sequence[str]], sources: Iterable[Sequence[str]], order: int) -> Iterable[bool]:
    for output, source in zip(outputs, sources, strict=True):
        known = set(_ngrams(source, order))
        yield from (ngram not in known for ngram in _ngrams(output, order))


def _repeated(outputs: Iterable[Sequence[str]], order: int) -> Iterable[bool]:
    for output in outputs:
        seen = set()
        for ngram in _ngrams(output, order):
            yield ngram in seen
            seen.add(ngram)


def _ngrams(words: Sequence[str], order: int) -> Iterable[tuple[str, ...]]:
    return zip(*(words[start:] for start in range(order)))


def _share(flags: Iterable[bool]) -> float | None:
    found = list(flags)
    return percentage(sum(found), len(found))
