"""Options of phrase-based models."""

from typing import Any, Final, Literal, Self

from pydantic import Field, model_validator

from postedit.core.config import Config
from postedit.core.editor import Side
from postedit.text.words import SplitterName, splitter

NAME: Final = "phrase-based"
"""The name of the architecture in recipes and model folders."""


class PhraseConfig(Config):
    """The `[model]` section, without its `name` option."""

    order: int = Field(default=4, ge=2, le=7, description="words of the longest n-grams of the language model")
    least: int = Field(default=1, ge=1, description="n-grams of 3 and more words that occur more rarely are left out")
    join_source: bool = Field(
        default=False, description="look phrases up by words of mt joined with the source words they come from"
    )
    sample: int = Field(default=64, ge=1, description="maximum number of places of a phrase to look at")
    paths: int = Field(
        default=0, ge=0, description="maximum number of search paths that continue from each word; 0: all"
    )
    compact: bool = Field(
        default=False,
        description="store only texts and alignments, and make the index and tables from them when the model is "
        "loaded: a tenth of the size when packed, and seconds to load",
    )
    learn_words_from: int = Field(
        default=200_000,
        ge=1,
        description="probabilities of single words are learnt from this many triplets, evenly spread",
    )


class PhraseTextConfig(Config):
    """How texts are divided into words; the `[text]` section."""

    tokenizer: SplitterName = Field(
        default="none",
        description='"none" for text that is already tokenised, "moses" for raw text, "characters" for raw text in a '
        "script without spaces, whose characters are words",
    )
    src_lang: str | None = Field(default=None, description="code of the source language, for Moses rules")
    tgt_lang: str | None = Field(default=None, description="code of the language of mt and pe, for Moses rules")

    @model_validator(mode="after")
    def _check_languages(self) -> Self:
        if self.tokenizer == "moses" and not (self.src_lang and self.tgt_lang):
            raise ValueError('tokenizer = "moses" needs src_lang and tgt_lang, such as "en" and "de"')
        return self

    def splitter(self, side: Side) -> Any:
        """Return the splitter that divides the texts of a side into words."""
        return splitter(self.tokenizer, self.src_lang if side == "src" else self.tgt_lang)


class PhraseTuneConfig(Config):
    """The `[tune]` section: how feature weights are tuned on the dev set."""

    method: Literal["mira", "mert"] = Field(default="mira", description="the optimiser")
    metric: Literal["ter", "bleu", "ter+bleu"] = Field(
        default="ter+bleu", description='metric to tune the weights for; "ter+bleu" is the mean of TER and 100 - BLEU'
    )
    rounds: int = Field(default=5, ge=1, description="maximum number of searches with new weights")
    outputs: int = Field(default=30, ge=2, description="outputs of each sentence in a round")
    seed: int = Field(default=1, ge=0, description="seed of all random choices")
