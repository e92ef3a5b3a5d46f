"""Triplets from parallel text and a model of errors: mt is drawn from a model that turns post-edits back into mt.

Such a model is trained as any other, on real triplets with mt and pe exchanged. What it finds most probable is near pe
itself; drawn at random, its outputs have errors like those of the real mt. The idea is that of noised and sampled
back-translation (Xie et al. 2018 for the correction of grammar, Edunov et al. 2018 for translation).
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self

import torch
from pydantic import Field

from postedit.core.errors import DataError, PosteditError
from postedit.search import Sampling
from postedit.synthesis.chunk import Chunk, Stage, StageSpec
from postedit.synthesis.parallel import ParallelConfig
from postedit.synthesis.translated import BLANK, with_triplets

if TYPE_CHECKING:
    from postedit.editing.post_editor import PostEditor

TOO_LONG: Final = "too long for the model"
NO_TEXT: Final = "drawn with broken characters"

_BROKEN: Final = ("\0", "\ufffd")
"""What pieces of single bytes leave that were drawn at random and are no text together."""


class ErrorsConfig(ParallelConfig):
    """The `[synth]` section with `kind = "errors"`: triplets from parallel text and a model of errors."""

    kind: Literal["errors"] = Field("errors", description="which way to make triplets")
    model: str = Field(
        description="model that reads src and pe and writes mt, trained on triplets with mt and pe exchanged: a "
        "folder, relative to the current one, or hub id"
    )
    temperature: float = Field(1.0, ge=0.01, le=100, description="above 1 more errors are drawn, below 1 fewer")
    top_k: int = Field(20, ge=0, description="only so many of the likeliest pieces are drawn from; 0: from all")
    device: Literal["cpu", "cuda"] = Field("cpu", description="where the model runs")
    seed: int = Field(1, ge=0, lt=2**63, description="another seed draws other errors, and keeps other triplets")
    chunk_lines: int = Field(
        1000, ge=1, description="lines that are drawn together; what an interruption costs at most. With another size "
        "other errors are drawn"
    )  # fmt: skip
    work: ClassVar[str] = "drawing of errors"
    left_out: ClassVar[Sequence[str]] = (BLANK, TOO_LONG, NO_TEXT)
    later: ClassVar[Sequence[str]] = ("real", "mismatch")

    def resolve(self, base: Path) -> tuple[Self, list[str]]:
        """Return this section with the paths of inputs made absolute, and what is wrong with files and device."""
        resolved, problems = super().resolve(base)
        if self.device == "cuda" and not torch.cuda.is_available():
            problems.append("synth.device: is cuda, but PyTorch finds no GPU here; write cpu")
        return resolved, problems

    def stage(self) -> StageSpec:
        """Return what makes the stage that draws mt."""
        return ErrorsSpec(self.model, Sampling(temperature=self.temperature, top_k=self.top_k), self.seed, self.device)

    def said(self) -> dict[str, Any]:
        """Return what determines the triplets; the model counts by its content.

        Raises:
            DataError: if the model cannot be had, is damaged, or does not read what it would have to change.
        """
        return {**super().said(), "model": list(_open(self.model, self.device).identity().models)}


def _open(model: str, device: str) -> "PostEditor":
    from postedit.editing.post_editor import PostEditor

    try:
        editor = PostEditor.load(model, device=device)
    except PosteditError as error:
        raise DataError(f"synth.model: {error}") from None
    if not isinstance(editor, PostEditor) or "mt" not in editor.abilities.inputs:
        raise DataError(
            f"synth.model: {model} reads src alone, so it translates, and makes no errors in pe; take "
            'kind = "forward", or a model that was trained on triplets with mt and pe exchanged'
        )
    return editor


@dataclass(frozen=True, slots=True)
class ErrorsSpec:
    """Makes the stage that draws an mt of each pe."""

    model: str
    sampling: Sampling
    seed: int
    device: str

    def build(self) -> Stage:
        """Return the stage, its model loaded.

        Raises:
            DataError: if the model cannot be had, is damaged, or does not read what it would have to change.
        """
        return _Errors(_open(self.model, self.device), self.sampling, self.seed)


@dataclass(frozen=True, slots=True)
class _Errors:
    editor: "PostEditor"
    sampling: Sampling
    seed: int

    def __call__(self, chunk: Chunk) -> Chunk:
        src, pe = chunk.lines("src"), chunk.lines("pe")
        device = self.editor.device
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            torch.manual_seed(self._seed(chunk.first_line))
            drawn = self.editor.draw(src, pe, self.sampling)
        if any(one.skipped == "no memory" for one in drawn):
            raise DataError("a single line does not fit into memory; leave out the longest ones, or take more memory")
        too_long = [one.skipped == "too long" for one in drawn]
        mt = [" ".join(one.text.splitlines()) for one in drawn]
        broken = [any(sign in new and sign not in old for sign in _BROKEN) for new, old in zip(mt, pe, strict=True)]
        kept = [number for number in range(len(mt)) if not (too_long[number] or broken[number])]
        texts = {"src": src, "mt": mt, "pe": pe}
        made = with_triplets(chunk, {side: [lines[number] for number in kept] for side, lines in texts.items()})
        return replace(made, counts={**made.counts, TOO_LONG: sum(too_long), NO_TEXT: sum(broken)})

    def _seed(self, first_line: int) -> int:
        """Return a seed of the chunk's own, so that what is drawn for it does not depend on chunks before."""
        digest = hashlib.blake2b(f"{self.seed} {first_line}".encode(), digest_size=7).digest()
        return int.from_bytes(digest, "big")
