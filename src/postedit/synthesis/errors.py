"""Triplets from parallel text and a model of errors: mt is drawn from a model that turns post-edits back into mt.

Such a model is trained as any other, on real triplets with mt and pe exchanged. What it would find most probable is
pe as it stands; drawn at random, its outputs have the errors of the real mt, about as often. The idea is that of
back-translation with sampling (Edunov et al. 2018), which correction of grammar took over (Xie et al. 2018).
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import torch
from pydantic import Field

from postedit.core.errors import DataError
from postedit.decode import Sampling
from postedit.synthesis.chunk import Chunk, Stage, StageSpec
from postedit.synthesis.parallel import ParallelConfig
from postedit.synthesis.translated import with_triplets

if TYPE_CHECKING:
    from postedit.editor import PostEditor


class ErrorsConfig(ParallelConfig):
    """The `[synth]` section with `kind = "errors"`: triplets from parallel text and a model of errors."""

    kind: Literal["errors"] = Field("errors", description="which way to make triplets")
    model: str = Field(
        description="folder or hub id of a model that reads src and pe and writes mt: one trained on triplets with "
        "mt and pe exchanged"
    )
    temperature: float = Field(1.0, gt=0, description="above 1 more errors are drawn, below 1 fewer")
    top_k: int = Field(20, ge=0, description="only so many of the likeliest pieces are drawn from; 0: from all")
    device: str = Field("cpu", description="cpu or cuda")
    seed: int = Field(1, ge=0, lt=2**63, description="another seed draws other errors, and keeps other triplets")
    work: ClassVar[str] = "errors"
    later: ClassVar[Sequence[str]] = ("real", "mismatch")

    def stage(self) -> StageSpec:
        """Return what makes the stage that draws mt."""
        return ErrorsSpec(self.model, Sampling(temperature=self.temperature, top_k=self.top_k), self.seed, self.device)


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
            ModelFolderError: if the model cannot be had or is damaged.
            DataError: if the model does not read what it would have to change.
        """
        from postedit.editor import PostEditor

        editor = PostEditor.load(self.model, device=self.device)
        if "mt" not in editor.model.spec.inputs:
            raise DataError(
                f'{self.model}: reads src alone, so it translates, and makes no errors in pe; take kind = "forward", '
                "or a model that was trained on triplets with mt and pe exchanged"
            )
        return _Errors(editor, self.sampling, self.seed)


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
        return with_triplets(chunk, {"src": src, "mt": [one.text for one in drawn], "pe": pe})

    def _seed(self, first_line: int) -> int:
        """Return a seed of the chunk's own: what is drawn depends on neither other chunks nor the process."""
        digest = hashlib.blake2b(f"{self.seed} {first_line}".encode(), digest_size=7).digest()
        return int.from_bytes(digest, "big")
