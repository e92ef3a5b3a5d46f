"""Normalisation of what the filters leave (paper 001, 4.1): punctuation, then words."""

from collections.abc import Callable
from functools import cache
from typing import Literal

from sacremoses import MosesPunctNormalizer

from postedit.data.cleaning.config import CleanConfig
from postedit.text.words import MosesSplitter

StepName = Literal["punctuation", "tokenizer", "truecase"]
"""Steps, in order. The last one is learnt from the corpus and so is done at the end."""

Step = Callable[[str], str]


def steps_of(config: CleanConfig, language: str) -> dict[StepName, Step]:
    """Return the steps that are on and look at one text at a time, for texts of a language."""
    steps: dict[StepName, Step] = {}
    if config.punctuation:
        steps["punctuation"] = _punctuation(language)
    if config.tokenizer == "moses":
        steps["tokenizer"] = _tokenizer(language)
    return steps


@cache
def _punctuation(language: str) -> Step:
    normalise: Step = MosesPunctNormalizer(lang=language).normalize
    return normalise


@cache
def _tokenizer(language: str) -> Step:
    words = MosesSplitter(language).words
    return lambda text: " ".join(words(text))
