"""Whether a model knows a development set already: it was trained on it, or its weights were chosen by it."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from postedit.core.errors import DataError
from postedit.core.model import Writes
from postedit.data.corpus import write_corpus
from postedit.data.lines import DevTexts
from postedit.data.triplets import Triplet, unusable
from postedit.folder import ModelFolder
from postedit.text.config import SIDES
from postedit.text.processor import TextProcessor


def uses_of(dev: DevTexts, model: Path) -> set[str]:
    """Return what the making of a model, or of one that it started from, had these very triplets for: "train", "dev".

    Its provenance tells, by fingerprints of whole corpora in a model's own vocabularies. So part of a corpus is not
    found, nor one of a model that had other vocabularies, nor where drafts stood in for mt, nor anything without
    provenance.

    Args:
        dev: triplets.
        model: a model folder, or a file of weights of a run.

    Raises:
        ModelFolderError: if there is no model, or it is damaged.
    """
    folder: ModelFolder | None = ModelFolder.load(model)
    uses: set[str] = set()
    while folder is not None:
        for stage in _stages(folder.provenance):
            own = _fingerprint(dev, folder.processor, stage.recipe.data.max_length, folder.model.spec.writes)
            corpora = [item for start in stage.environments for item in start.corpora.items()]
            uses |= {name for name, fingerprint in corpora if fingerprint == own}
        folder = folder.draft
    return uses


class _Data(BaseModel):
    max_length: int


class _Recipe(BaseModel):
    data: _Data


class _Start(BaseModel):
    corpora: dict[str, str] = {}


class _Stage(BaseModel):
    """What provenance says of one training, as far as it is wanted here."""

    recipe: _Recipe
    environments: list[_Start] = []


def _stages(provenance: Any) -> Iterator[_Stage]:
    """Yield what made a model, what made the one it started from, and so on, as far as that is recorded."""
    while provenance:
        try:
            yield _Stage.model_validate(provenance)
        except ValidationError:
            return
        provenance = provenance.get("started_from")


def _fingerprint(dev: DevTexts, processor: TextProcessor, max_length: int, writes: Writes) -> str | None:
    """Return the fingerprint of these triplets as a corpus, or None if there can be none of them."""
    triplets = (Triplet(*texts) for texts in zip(dev.src, dev.mt, dev.pe, strict=True))
    usable = (triplet for triplet in triplets if unusable(triplet, SIDES) is None)
    with tempfile.TemporaryDirectory() as folder:
        try:
            return write_corpus(Path(folder) / "dev.arrow", [usable], processor, max_length, writes=writes).fingerprint
        except DataError:
            return None
