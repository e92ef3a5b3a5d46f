"""What a recipe for cleaning says."""

from typing import Literal, Self

from pydantic import Field, model_validator

from postedit.core.config import Config
from postedit.text.config import Side
from postedit.text.words import TokenizerName


class Switch(Config):
    """A filter without options of its own.

    Args:
        on: whether it is used.
    """

    on: bool = True


class LengthConfig(Switch):
    """Takes texts with too few or too many words (paper 001, 4.1: Moses' limits of 1 and 100).

    Args:
        on: whether it is used.
        min: words, divided by spaces, that each side must have.
        max: words that no side may exceed.
    """

    min: int = Field(1, ge=1)
    max: int = Field(100, ge=1)

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.min > self.max:
            raise ValueError(f"min is {self.min} and max is {self.max}; no text has a length between them")
        return self


class RatioConfig(Switch):
    """Takes triplets with one side many times as long as another.

    Args:
        on: whether it is used.
        max: how many times as many words; Moses' own limit is 9.
    """

    max: float = Field(9.0, ge=1)


class CopyConfig(Switch):
    """Takes triplets whose pe is a copy of src: it was not translated.

    Args:
        on: whether it is used.
        min_words: shorter copies, such as names of products, are left.
        similarity: share of the words, in order, that src and pe have in common; 1 takes only copies of all words.
    """

    min_words: int = Field(4, ge=1)
    similarity: float = Field(0.9, gt=0, le=1)


class NumberConfig(Switch):
    """Takes triplets where src has a number that pe has not, or the other way round; separators do not count.

    Args:
        on: whether it is used.
        min_digits: numbers with fewer digits are not compared, since they are often written as words.
    """

    min_digits: int = Field(2, ge=1)


class LanguageConfig(Switch):
    """Takes triplets with a side that is clearly in another, widespread language.

    Args:
        on: whether it is used.
        sides: what to look at. The language of a machine translation is not right always; that is for pe to correct.
        margin: how much likelier another language must be, as difference of log-probabilities; higher takes fewer.
    """

    sides: list[Side] = Field(default=["src", "pe"], min_length=1)
    margin: float = Field(10.0, ge=0)


class DuplicateConfig(Switch):
    """Takes triplets that come again; the first one stays.

    Args:
        on: whether it is used.
        sides: what must be the same: for instance ["src"] leaves one triplet for each source.
    """

    sides: list[Side] = Field(default=["src", "mt", "pe"], min_length=1)


class CleanConfig(Config):
    """A recipe for cleaning; filters are used in this order, and the first that objects takes the triplet.

    Args:
        src_lang: code of the language of src, such as "en".
        tgt_lang: code of the language of mt and pe.
        length: too few or too many words.
        ratio: one side many times as long as another.
        copy_of_source: pe is src.
        placeholders: markup and variables, such as `<b>`, `{0}` and `%s`, that only one of src and pe has.
        urls: hosts of web and e-mail addresses that only one of src and pe has.
        numbers: numbers that only one of src and pe has.
        language: another language.
        punctuation: normalise punctuation as Moses does.
        tokenizer: "moses" divides words and punctuation, without escapes.
        truecase: write the first word of a sentence in the case it usually has; learnt from what is kept.
        duplicates: the same triplet again, after these steps.
        near_duplicates: the same but for case, numbers, punctuation and spaces.
    """

    src_lang: str | None = None
    tgt_lang: str | None = None
    length: LengthConfig = LengthConfig()
    ratio: RatioConfig = RatioConfig()
    copy_of_source: CopyConfig = CopyConfig()
    placeholders: Switch = Switch()
    urls: Switch = Switch()
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
        needed = [name for name, used in users.items() if used]
        if needed and not (self.src_lang and self.tgt_lang):
            raise ValueError(
                f'{needed[0]} needs src_lang and tgt_lang, such as "en" and "de" '
                "(--set src_lang=en --set tgt_lang=de, or --set language.on=false)"
            )
        return self

    def lang(self, side: Side) -> str:
        """Return the language of `side`, empty if not given."""
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
"""Filters, in the order they are used in. The first takes texts that nothing can be learnt from, and is always on."""
