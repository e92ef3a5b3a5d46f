"""Options of translators."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, Self

from pydantic import Field, model_validator

from postedit.core.config import Config

_MODELS: Final = ("postedit", "ctranslate2", "huggingface")
_CHECKPOINTS: Final = ("ctranslate2", "huggingface")

_KINDS_OF: Final[Mapping[str, Sequence[str]]] = {
    "model": _MODELS,
    "tokenizer": ("ctranslate2",),
    "command": ("command",),
    "beam": _MODELS,
    "batch": _CHECKPOINTS,
    "src_lang": _CHECKPOINTS,
    "tgt_lang": _CHECKPOINTS,
    "device": _MODELS,
    "max_ratio": _CHECKPOINTS,
    "max_extra": _CHECKPOINTS,
}
"""The kinds of translators that each option affects."""


class TextTranslatorConfig(Config):
    """A translator and its search options."""

    kind: Literal["postedit", "ctranslate2", "huggingface", "command"] = Field(description="type of translator")
    model: str | None = Field(None, description="folder of the model, or its hub id (postedit, huggingface)")
    tokenizer: str | None = Field(
        None, description="ctranslate2: folder or hub id of the Hugging Face tokenizer; the folder of the model if none"
    )
    command: list[str] = Field(
        [],
        description="program and arguments; it is started for each chunk, reads lines from standard input and writes "
        "one line for each",
    )
    beam: int = Field(5, ge=1, description="beam size")
    batch: int = Field(32, ge=1, description="segments of equal length translated together (ctranslate2, huggingface)")
    src_lang: str | None = Field(None, description="code of the source language, for multilingual tokenizers")
    tgt_lang: str | None = Field(None, description="code of the target language, for multilingual tokenizers")
    device: str = Field("cpu", description="cpu or cuda")
    max_ratio: float = Field(
        2.0, gt=0, le=1000, description="a translation has at most max_ratio times the tokens of its source ..."
    )
    max_extra: int = Field(10, ge=1, description="... plus max_extra (ctranslate2, huggingface)")

    @model_validator(mode="after")
    def _check_effects(self) -> Self:
        problems = [
            f'{option}: has no effect with kind = "{self.kind}"; leave it out (only for {", ".join(kinds)})'
            for option, kinds in _KINDS_OF.items()
            if option in self.model_fields_set and self.kind not in kinds
        ]
        if problems:
            raise ValueError("; ".join(problems))
        return self

    @model_validator(mode="after")
    def _check_complete(self) -> Self:
        if self.kind == "command" and not self.command:
            example = '["marian-decoder", "-c", "config.yml"]'
            raise ValueError(f'command: missing; kind = "command" needs it, such as {example}')
        if self.kind != "command" and self.model is None:
            raise ValueError(f'model: missing; kind = "{self.kind}" needs it')
        return self

    def max_tokens(self, source_tokens: int) -> int:
        """Return the largest length of a translation in tokens."""
        return int(source_tokens * self.max_ratio) + self.max_extra
