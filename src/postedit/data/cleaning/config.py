"""The options of a cleaning recipe."""

from typing import Literal, Self

from pydantic import Field, model_validator

from postedit.core.config import Config
from postedit.core.editor import Side
from postedit.text.words import TokenizerName


class FilterConfig(Config):
    """A filter without options of its own."""

    on: bool = Field(True, description="whether the filter is used.")


class LengthConfig(FilterConfig):
    """Removes triplets with too few or too many words (Pal et al. 2020, section 4.1: 1 and 100)."""

    min: int = Field(1, ge=1, description="minimum number of words, separated by spaces, on each side.")
    max: int = Field(100, ge=1, description="maximum number of words on each side.")

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.min > self.max:
            raise ValueError(f"min is {self.min} and max is {self.max}; no text has a length between them")
        return self


class RatioConfig(FilterConfig):
    """Removes triplets in which one side is many times as long as another: in words and, without spaces, characters."""

    max: float = Field(9.0, ge=1, description="largest ratio of the numbers of words; Moses' limit is 9.")


class CopyConfig(FilterConfig):
    """Removes triplets whose pe is a copy of src, and thus not translated."""

    min_words: int = Field(4, ge=1, description="shorter copies, such as names of products, are kept.")
    similarity: float = Field(
        0.9,
        gt=0,
        le=1,
        description="smallest share of words, in order, that src and pe have in common; 1 removes only exact copies.",
    )


class NumberConfig(FilterConfig):
    """Removes triplets with a number that only one of src and pe has, whatever its separators or the order of dates."""

    min_digits: int = Field(
        2, ge=1, description="numbers with fewer digits are ignored, as they are often written as words."
    )


class LanguageConfig(FilterConfig):
    """Removes triplets with a side that is clearly in another, widespread language."""

    sides: list[Side] = Field(
        ["src", "pe"],
        min_length=1,
        description="the sides to check. The machine translation is not checked by default: pe corrects its language.",
    )
    margin: float = Field(
        10.0,
        ge=0,
        description="a side is removed if another language is likelier by more than this difference in log-probability "
        "(nats); a higher margin removes fewer.",
    )


class DuplicateConfig(FilterConfig):
    """Removes triplets that repeat an earlier one, which is kept."""

    sides: list[Side] = Field(
        ["src", "mt", "pe"],
        min_length=1,
        description='the sides that must be equal; for instance, ["src"] keeps one triplet for each source.',
    )


class CleanConfig(Config):
    """A recipe for cleaning. Filters run in this order; the first one that matches removes the triplet.

    Args:
        src_lang: code of the language of src, such as "en".
        tgt_lang: code of the language of mt and pe.
        length: a side has too few or too many words.
        ratio: one side is many times as long as another.
        copy_of_source: pe is a copy of src.
        placeholders: markup and variables, such as `<b>`, `{0}` and `%s`, that only one of src and pe has.
        urls: hosts of web and e-mail addresses that only one of src and pe has.
        numbers: numbers that only one of src and pe has.
        language: a side is in another language.
        punctuation: normalise punctuation as Moses does.
        tokenizer: "moses" separates words and punctuation, without XML escapes.
        truecase: write the first word of a sentence in its most frequent case, learnt from the triplets kept.
        duplicates: the triplet repeats an earlier one, after normalisation.
        near_duplicates: the triplet repeats an earlier one, except for case, numbers, punctuation and spaces.
    """

    src_lang: str | None = None
    tgt_lang: str | None = None
    length: LengthConfig = LengthConfig()
    ratio: RatioConfig = RatioConfig()
    copy_of_source: CopyConfig = CopyConfig()
    placeholders: FilterConfig = FilterConfig()
    urls: FilterConfig = FilterConfig()
    numbers: NumberConfig = NumberConfig()
    language: LanguageConfig = LanguageConfig()
    punctuation: bool = False
    tokenizer: TokenizerName = "none"
    truecase: bool = False
    duplicates: DuplicateConfig = DuplicateConfig()
    near_duplicates: DuplicateConfig = DuplicateConfig()

    @model_validator(mode="after")
    def _check_languages(self) -> Self:
        users = {
            "language.on": self.language.on,
            "punctuation": self.punctuation,
            'tokenizer = "moses"': self.tokenizer == "moses",
        }
        needed = next((name for name, used in users.items() if used), None)
        if needed and not (self.src_lang and self.tgt_lang):
            raise ValueError(
                f'{needed} needs src_lang and tgt_lang, such as "en" and "de" '
                "(--set src_lang=en --set tgt_lang=de, or --set language.on=false)"
            )
        return self

    def lang(self, side: Side) -> str:
        """Return the language code of `side`; empty if not given."""
        return (self.src_lang if side == "src" else self.tgt_lang) or ""


FilterName = Literal[
    "unusable",
    "length",
    "ratio",
    "copy_of_source",
    "placeholders",
    "urls",
    "numbers",
    "language",
    "duplicates",
    "near_duplicates",
]
"""Filters in the order in which they run. The first, which is always on, removes triplets that cannot be trained on."""
