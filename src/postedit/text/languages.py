"""Tell the language of texts."""

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any, Final

SAMPLE: Final = 100
"""Segments by which languages are told: a second's work, and many more than are needed."""


def ranked_languages(texts: Sequence[str]) -> list[tuple[str, float]]:
    """Return the codes of all languages that are known, with the log-probability that texts are in them (nats).

    The most probable one comes first. The first `SAMPLE` texts count.
    """
    ranked = language_identifier().rank(" ".join(texts[:SAMPLE]))
    return [(str(code), float(score)) for code, score in ranked]


@cache
def known_languages() -> tuple[str, ...]:
    """Return the codes of all languages that can be told, sorted."""
    return tuple(sorted(map(str, language_identifier().labels)))


def language_identifier(among: Collection[str] = (), *, probabilities: bool = False) -> Any:
    """Return an identifier of py3langid, with its methods `rank` and `classify`, which is loaded once.

    It tells languages apart `among` some of those that are known, all by default. Scores are log-probabilities (nats),
    or with `probabilities` shares of 0 to 1.
    """
    return _identifier(frozenset(among), probabilities)


@cache
def _identifier(among: frozenset[str], probabilities: bool) -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=probabilities)
    if among:
        identifier.set_languages(sorted(among))
    return identifier
