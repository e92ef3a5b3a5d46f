"""Select sentences of a domain by the difference of two cross-entropies (Moore and Lewis 2010)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from postedit.core.errors import DataError, library
from postedit.data.lines import read_lines
from postedit.distributed.chunks import Chunk
from postedit.synthesis.selection.ngrams import estimate_ngrams

NOT_SELECTED: Final = "less like the domain"


class CrossEntropyDifference:
    """The difference of the cross-entropies of a sentence under an in-domain and an out-of-domain model.

    Args:
        inside: ARPA or KenLM file of the in-domain model.
        outside: file of the other model.

    Raises:
        RecipeError: if KenLM is not installed.
        DataError: if a file is no n-gram model.
    """

    def __init__(self, inside: Path, outside: Path) -> None:
        kenlm = library("kenlm", "selecting text of a domain", "roundtrip")
        self._inside, self._outside = (_load_ngrams(kenlm, path) for path in (inside, outside))

    def __call__(self, sentence: str) -> float:
        """Return H_inside - H_outside in bits per word, counting the end of sentence; lower is more in-domain."""
        words = len(sentence.split()) + 1
        difference: float = self._outside.score(sentence) - self._inside.score(sentence)
        return difference / words / float(np.log10(2))


def _load_ngrams(kenlm: Any, path: Path) -> Any:
    try:
        return kenlm.Model(str(path))
    except (OSError, RuntimeError) as error:
        raise DataError(f"{path}: no n-gram model that KenLM can read: {str(error).partition(chr(10))[0]}") from None


def lowest(differences: NDArray[np.float64], share: float) -> NDArray[np.bool_]:
    """Return Bool[lines]: whether each line is among the share of sentences with the lowest differences.

    Args:
        differences: Float64[lines]; infinite for lines that are never selected. Of equal values, the first win.
        share: 0 to 1, of the lines with finite values; rounded, but to one sentence at least, if there is any.
    """
    sentences = int(np.isfinite(differences).sum())
    count = min(sentences, max(1, round(share * sentences)))
    kept = np.zeros(len(differences), np.bool_)
    kept[np.argsort(differences, kind="stable")[:count]] = True
    return kept


@dataclass(frozen=True, slots=True)
class SentenceSelection:
    """A stage that keeps selected lines of the side pe. It needs no n-gram models where it runs.

    Args:
        kept: one bit per line of the text, the first line in the highest bit.
    """

    kept: bytes

    @classmethod
    def of(cls, kept: NDArray[np.bool_]) -> Self:
        """Return the stage that keeps the lines where `kept`, Bool[lines], is true."""
        return cls(np.packbits(kept).tobytes())

    def __call__(self, chunk: Chunk) -> Chunk:
        """Return the selected lines of a chunk."""
        first, last = chunk.first_line, chunk.first_line + chunk.size
        bits = np.unpackbits(np.frombuffer(self.kept, np.uint8)[first // 8 : -(-last // 8)])[first % 8 :]
        kept = [line for line, bit in zip(chunk.lines("pe"), bits) if bit]
        return chunk.with_lines({"pe": kept}, {"kept": len(kept), NOT_SELECTED: chunk.size - len(kept)})


def select_sentences(
    text: Path, total: int, domain: Sequence[str], *, share: float, order: int, models: tuple[Path, Path]
) -> SentenceSelection:
    """Estimate two n-gram models and select the sentences of a text that are most like the domain.

    The out-of-domain model is estimated on a sample of the text as large as the domain. Memory: 8 bytes per line.

    Args:
        text: file of sentences.
        total: its number of lines.
        domain: sentences of the domain.
        share: 0 to 1, the part of the sentences to select.
        order: order of the models.
        models: files that the in-domain and the out-of-domain model are written to.

    Raises:
        DataError: if the text cannot be read.
        RecipeError: if KenLM is not installed.
    """
    step = max(1, total // len(domain))
    sample: Iterable[str] = islice(read_lines(text), 0, None, step)
    for sentences, path in zip((domain, sample), models):
        estimate_ngrams(sentences, order, path)
    difference = CrossEntropyDifference(*models)
    differences = (difference(line) if line.strip() else np.inf for line in read_lines(text))
    return SentenceSelection.of(lowest(np.fromiter(differences, np.float64, total), share))
