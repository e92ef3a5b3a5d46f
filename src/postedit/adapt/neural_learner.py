"""Neural models that follow a memory: a step of adapters for each correction, and steps for each request.

Online learning (`NeuralLearner`): each correction is a step of the adapters, together with corrections from before it
against forgetting (replay). A state of the adapters is kept for every few corrections, so a correction is undone by
putting the state before it back and learning what follows again: the bits are those of a model that never had it.

Instance-based adaptation (`NearestAdaptation`; Farajian et al. 2017, "Multi-domain neural machine translation through
unsupervised adaptation", section 3): before a segment is edited, the model takes a few steps on the nearest triplets of
the memory, at a rate that grows with their similarity; then its weights are put back.
"""

import random
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from postedit.adapt.adaptation_config import NearestConfig, OnlineConfig
from postedit.adapt.adapters import Adapters
from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import Entry
from postedit.adapt.nearest import Near, NearestTriplets
from postedit.core.editor import Detail, EditorWrapper, PostEdit, Segment
from postedit.core.errors import ModelFolderError
from postedit.core.search_config import SearchConfig
from postedit.core.types import Batch
from postedit.data.collate import collate
from postedit.editing.loading import load_models
from postedit.editing.post_editor import PostEditor
from postedit.editing.segments import inputs_of
from postedit.text.edits import with_steps

_LONGEST: Final = 200
"""Tokens of a side beyond which a correction is not learnt: a step on it would take seconds."""


def load_to_adapt(model: str | Path, device: torch.device | str = "cpu") -> PostEditor:
    """Load one model whose weights stay as they were trained, so that they can learn; it edits more slowly.

    A first stage is left out. See `PostEditor.load`.

    Raises:
        ModelFolderError: if the model is not found or damaged, or is a combination.
    """
    loaded = load_models([model], [torch.device(device)], None, "log")
    if loaded.log_linear is not None or len(loaded.model.parts()) != 1:
        raise ModelFolderError(f"{model}: is a combination; only a single model can learn from corrections")
    (part,) = loaded.model.parts()
    return PostEditor(part, loaded.processor, loaded.search, None, loaded.sources)


class TripletBatches:
    """Makes batches with targets from corrections, as a model reads them."""

    def __init__(self, editor: PostEditor) -> None:
        self._editor = editor

    def batch(self, corrections: Sequence[Correction]) -> Batch | None:
        """Return a batch on the device of the model; None if all corrections are too long."""
        processor, model = self._editor.processor, self._editor.model
        src, mt, pe = (
            processor.encode_batch(side, [getattr(one, side) for one in corrections]) for side in ("src", "mt", "pe")
        )
        fitting = [row for row in range(len(corrections)) if max(len(src[row]), len(mt[row]), len(pe[row])) <= _LONGEST]
        if not fitting:
            return None
        rows = {"src": [src[row] for row in fitting], "mt": [mt[row] for row in fitting]}
        targets = [with_steps(mt[row], pe[row]) if model.spec.writes == "steps" else list(pe[row]) for row in fitting]
        sides = inputs_of(model)
        return collate({**{side: rows[side] for side in sides}, "pe": targets}, sides).to(self._editor.device)


class NeuralLearner:
    """Adapters of a neural editor that learn from the entries of a memory; see `remembering.Learner`.

    Args:
        editor: of one model, whose weights are as they were trained (`load_to_adapt`).
        config: how it learns.
    """

    def __init__(self, editor: PostEditor, config: OnlineConfig) -> None:
        self._config, self._batches = config, TripletBatches(editor)
        self._adapters = Adapters(editor.model, config.adapters, config.rank, config.seed)
        self._numbers: list[int] = []  # of all corrections, in order
        self._learnt = 0  # how many of them the adapters have learnt
        self._corrections: dict[int, Correction] = {}
        self._versions: list[dict[str, Tensor]] = []  # the state before each `version_every`-th correction

    def learn_entries(self, entries: Iterable[Entry]) -> None:
        """Take over further entries; ends of corrections that come together are carried out together."""
        undone: set[int] = set()
        for entry in entries:
            if entry.undoes is None:
                self._corrections[entry.number] = entry.correction
                self._numbers.append(entry.number)
            else:
                undone.add(entry.undoes)
        self._catch_up(undone)

    def forget_all(self) -> None:
        """Return to the model as it was trained."""
        self._numbers, self._corrections, self._versions = [], {}, []
        self._learnt = 0
        self._adapters.restore()

    def _catch_up(self, undone: set[int]) -> None:
        """Learn what is new, after a return to the state before the first correction that is undone, if one is."""
        places = [bisect_left(self._numbers, number) for number in undone]
        self._numbers = [number for number in self._numbers if number not in undone]
        for number in undone:
            del self._corrections[number]
        first = min(places, default=self._learnt)
        if first < self._learnt:
            version = first // self._config.version_every
            self._adapters.restore(self._versions[version])
            self._learnt = version * self._config.version_every
            del self._versions[version:]
        for place in range(self._learnt, len(self._numbers)):
            if place % self._config.version_every == 0:
                self._versions.append(self._adapters.state())
            self._learn(place)
        self._learnt = len(self._numbers)

    def _learn(self, place: int) -> None:
        """Take the steps for the correction at a place, with others from before it."""
        rng = random.Random(self._config.seed * 1_000_003 + place)
        others = rng.sample(range(place), min(self._config.replay, place))
        batch = self._batches.batch([self._corrections[self._numbers[row]] for row in (place, *others)])
        for _ in range(self._config.steps if batch is not None else 0):
            assert batch is not None
            self._adapters.step(batch, self._config.rate)


class NearestAdaptation(EditorWrapper[PostEditor]):
    """Lets a model take a few steps on the nearest triplets of a memory before it edits a segment.

    It is an editor and a learner (`remembering.Learner`). After each segment, the weights are the same bits as before.

    Args:
        inner: of one model, whose weights are as they were trained (`load_to_adapt`).
        config: how it adapts.
    """

    def __init__(self, inner: PostEditor, config: NearestConfig) -> None:
        super().__init__(inner)
        self._config, self._batches = config, TripletBatches(inner)
        self._adapters = Adapters(inner.model, "all")
        self._index = NearestTriplets()
        self._corrections: dict[int, Correction] = {}

    def learn_entries(self, entries: Iterable[Entry]) -> None:
        """Add corrections to the index, and remove those that are undone."""
        for entry in entries:
            if entry.undoes is None:
                self._corrections[entry.number] = entry.correction
                self._index.add(entry.number, entry.correction.src, entry.correction.mt)
            else:
                self._index.remove(entry.undoes)
                del self._corrections[entry.undoes]

    def forget_all(self) -> None:
        """Remove all triplets."""
        self._index, self._corrections = NearestTriplets(), {}

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return one correction per segment; those with near triplets are edited one by one."""
        near = [self._index.find(one.src, one.mt or "", self._config.most, self._config.least) for one in segments]
        alone = [segment for segment, found in zip(segments, near, strict=True) if not found]
        others = iter(self.inner.edit_segments(alone, search, evidence=evidence))
        return [
            self._adapted(segment, found, search, evidence) if found else next(others)
            for segment, found in zip(segments, near, strict=True)
        ]

    def _adapted(
        self, segment: Segment, near: Sequence[Near], search: SearchConfig | None, evidence: Detail | None
    ) -> PostEdit:
        batch = self._batches.batch([self._corrections[one.number] for one in near])
        try:
            for _ in range(self._config.steps if batch is not None else 0):
                assert batch is not None
                self._adapters.step(batch, self._config.rate * near[0].similarity)
            (result,) = self.inner.edit_segments([segment], search, evidence=evidence)
        finally:
            self._adapters.restore()
        return result
