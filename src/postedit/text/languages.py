"""Tell the language of texts."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

SAMPLE: Final = 100
"""Segments by which languages are told: a second's work, and many more than are needed."""


def ranked_languages(texts: Sequence[str]) -> list[tuple[str, float]]:
    """Return the codes of all languages that are known, with the log-probability that texts are in them (nats).

    The most probable one comes first. The first `SAMPLE` texts count.
    """
    ranked = _identifier().rank(" ".join(texts[:SAMPLE]))
    return [(str(code), float(score)) for code, score in ranked]


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)
