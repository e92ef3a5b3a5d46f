"""The `[text]` section of a recipe."""

from typing import Literal, Self

from pydantic import Field, model_validator

from postedit.core.config import Config
from postedit.core.transformers_checkpoint import public_name
from postedit.text.vocabulary import SMALLEST
from postedit.text.words import TokenizerName

Side = Literal["src", "mt", "pe"]
SIDES: tuple[Side, ...] = ("src", "mt", "pe")

Sharing = Literal["joint", "mt-pe", "separate"]

GROUPS: dict[Sharing, dict[str, tuple[Side, ...]]] = {
    "joint": {"joint": ("src", "mt", "pe")},
    "mt-pe": {"src": ("src",), "mt-pe": ("mt", "pe")},
    "separate": {"src": ("src",), "mt": ("mt",), "pe": ("pe",)},
}
"""The vocabularies by name, for each way of sharing, and the sides that each one serves."""

TRUECASED: tuple[Side, ...] = ("src", "pe")
"""The sides whose casing is learnt. That of pe serves mt too: post-edits are the better text of the language."""


class VocabularyConfig(Config):
    """Which sides share a vocabulary, and how many pieces each vocabulary has, or whose it is.

    Args:
        sharing: "joint" over src, mt and pe; "mt-pe" with one of its own for src; or "separate".
        size: pieces in each vocabulary, at most.
        sizes: other sizes, by the name of the vocabulary ("src", "mt-pe", "mt", "pe").
        checkpoint: folder or hub id of a Hugging Face checkpoint, whose vocabulary is taken and none is learnt; sizes
            are then those that it has.
    """

    sharing: Sharing = "joint"
    size: int = Field(default=8000, ge=SMALLEST)
    sizes: dict[str, int] = Field(default_factory=dict)
    checkpoint: str | None = None

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        for name, size in self.sizes.items():
            if name not in GROUPS[self.sharing]:
                allowed = ", ".join(GROUPS[self.sharing])
                raise ValueError(f'sizes: with sharing = "{self.sharing}" the vocabularies are {allowed}, not "{name}"')
            if size < SMALLEST:
                raise ValueError(f"sizes: {name} must be at least {SMALLEST} (the reserved symbols and all bytes)")
        return self

    def published(self) -> Self:
        """Return the section with the checkpoint's name alone, if it is a folder."""
        return self.model_copy(update={"checkpoint": self.checkpoint and public_name(self.checkpoint)})

    def size_of(self, name: str) -> int:
        """Return the size of the vocabulary called `name`."""
        return self.sizes.get(name, self.size)


class TextConfig(Config):
    """How text becomes ids.

    Args:
        tokenizer: "none" for text that is already tokenised (words are divided by spaces), "moses" for raw text.
        src_lang: code of the source language, which Moses rules need.
        tgt_lang: code of the language of mt and pe, likewise.
        truecase: write the first word of a sentence in the case it usually has.
        sample: triplets that vocabularies and truecasing are learnt from, evenly spread over all, if there are more;
            it bounds time and memory.
        vocabulary: which sides share a vocabulary, and sizes.
        model: model folder whose text processing is taken, and none is learnt; the other options are then its own.
    """

    tokenizer: TokenizerName = "none"
    src_lang: str | None = None
    tgt_lang: str | None = None
    truecase: bool = False
    sample: int = Field(default=500_000, ge=1)
    vocabulary: VocabularyConfig = VocabularyConfig()
    model: str | None = None

    @model_validator(mode="after")
    def _check_languages(self) -> Self:
        if self.tokenizer == "moses" and not (self.src_lang and self.tgt_lang):
            raise ValueError('tokenizer = "moses" needs src_lang and tgt_lang, such as "en" and "de"')
        return self

    @property
    def passes(self) -> int:
        """How often the training triplets are read to learn from them: once for each truecaser and vocabulary."""
        vocabularies = GROUPS[self.vocabulary.sharing] if self.vocabulary.checkpoint is None else ()
        return (len(TRUECASED) if self.truecase else 0) + len(vocabularies)

    def published(self) -> Self:
        """Return the section without paths."""
        return self.model_copy(update={"vocabulary": self.vocabulary.published(), "model": None})

    def language(self, side: Side) -> str | None:
        """Return the language of `side`."""
        return self.src_lang if side == "src" else self.tgt_lang
