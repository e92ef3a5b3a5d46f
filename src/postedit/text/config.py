"""The `[text]` section of a recipe."""

from typing import Final, Literal, Self

from pydantic import Field, model_validator

from postedit.core.config import Config
from postedit.core.editor import Side
from postedit.core.special_tokens import SPECIAL_TOKENS
from postedit.core.wording import public_name
from postedit.text.words import TokenizerName

SIDES: tuple[Side, ...] = ("src", "mt", "pe")

Sharing = Literal["joint", "mt-pe", "separate"]

GROUPS: dict[Sharing, dict[str, tuple[Side, ...]]] = {
    "joint": {"joint": ("src", "mt", "pe")},
    "mt-pe": {"src": ("src",), "mt-pe": ("mt", "pe")},
    "separate": {"src": ("src",), "mt": ("mt",), "pe": ("pe",)},
}
"""For each way of sharing, the vocabularies by name and the sides that each one serves."""

TRUECASED: tuple[Side, ...] = ("src", "pe")
"""The sides whose casing is learnt. The casing of pe is used for mt too, because post-edits are better text."""

BYTES: Final = 256
"""Number of byte tokens that every vocabulary learnt here has, one for each byte, so that no text is unknown."""

SMALLEST: Final = len(SPECIAL_TOKENS) + BYTES


class VocabularyConfig(Config):
    """The vocabularies: which sides share one, and their sizes.

    Args:
        sharing: "joint": one for src, mt and pe; "mt-pe": one for mt and pe, another for src; "separate": one for each.
        size: largest number of tokens in each vocabulary.
        sizes: sizes that differ from `size`, by the name of the vocabulary ("src", "mt-pe", "mt", "pe").
        limit: keep only this many tokens, the most frequent ones in the training text; others are unknown (`<unk>`).
            0: all are kept, and no text is unknown.
        copied: number of additional tokens that stand for the unknown tokens of mt, the first one for the first unknown
            token and so on, so that a model that copies can write them (See et al. 2017). For mt and pe.
        checkpoint: folder or hub id of a Hugging Face checkpoint whose vocabulary is used; none is learnt then, and the
            sizes do not apply.
    """

    sharing: Sharing = "joint"
    size: int = Field(default=8000, ge=SMALLEST)
    sizes: dict[str, int] = Field(default_factory=dict)
    limit: int = Field(default=0, ge=0)
    copied: int = Field(default=0, ge=0)
    checkpoint: str | None = None

    @model_validator(mode="after")
    def _check_limit(self) -> Self:
        if 0 < self.limit <= len(SPECIAL_TOKENS):
            raise ValueError(f"limit: {self.limit} tokens leave none for text; give more, or 0 to keep all")
        if self.limit and self.checkpoint is not None:
            raise ValueError("limit: a vocabulary of a checkpoint is used as it is; leave it out")
        if self.copied and not self.limit:
            raise ValueError("copied: without a limit no token is unknown; give one, or leave it out")
        if self.copied and self.sharing == "separate":
            raise ValueError('copied: mt and pe must have one vocabulary; set sharing to "joint" or "mt-pe"')
        return self

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        for name, size in self.sizes.items():
            if name not in GROUPS[self.sharing]:
                allowed = ", ".join(GROUPS[self.sharing])
                raise ValueError(f'sizes: with sharing = "{self.sharing}" the vocabularies are {allowed}, not "{name}"')
            if size < SMALLEST:
                raise ValueError(f"sizes: {name} must be at least {SMALLEST} (the special tokens and all bytes)")
        return self

    def published(self) -> Self:
        """Return the section without the path of a checkpoint folder, of which only the name stays."""
        return self.model_copy(update={"checkpoint": self.checkpoint and public_name(self.checkpoint)})

    def size_of(self, name: str) -> int:
        """Return the number of tokens learnt for the vocabulary called `name`."""
        return self.sizes.get(name, self.size)

    def kept_of(self, name: str) -> int:
        """Return the largest number of tokens that the vocabulary called `name` keeps under `limit`."""
        return min(self.size_of(name), self.limit or self.size_of(name))

    def copied_of(self, name: str) -> int:
        """Return the number of tokens that stand for unknown ones in the vocabulary called `name`."""
        return self.copied if "mt" in GROUPS[self.sharing][name] else 0


class TextConfig(Config):
    """Text processing.

    Args:
        tokenizer: "none" for text that is already tokenised (words are separated by spaces), "moses" for raw text.
        src_lang: code of the source language, for the Moses rules.
        tgt_lang: code of the language of mt and pe, for the Moses rules.
        truecase: write the first word of a sentence in its usual case.
        sample: learn vocabularies and truecasing from at most this many triplets, evenly spread over all, to limit time
            and memory.
        vocabulary: the vocabularies.
        model: model folder whose text processing is used; none is learnt then, and the other options do not apply.
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
        """How often fitting reads the training triplets: once per truecaser, vocabulary and vocabulary limit."""
        vocabularies = GROUPS[self.vocabulary.sharing] if self.vocabulary.checkpoint is None else ()
        counted = len(vocabularies) if self.vocabulary.limit else 0
        return (len(TRUECASED) if self.truecase else 0) + len(vocabularies) + counted

    def published(self) -> Self:
        """Return the section without local paths, to be stored in a model folder."""
        return self.model_copy(update={"vocabulary": self.vocabulary.published(), "model": None})

    def language(self, side: Side) -> str | None:
        """Return the language of `side`."""
        return self.src_lang if side == "src" else self.tgt_lang
