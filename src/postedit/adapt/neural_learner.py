"""Neural models that follow a memory, by steps of adapters for each correction or for each segment.

Online learning (`NeuralLearner`): the adapters take steps on each correction, together with a few earlier corrections
against forgetting (replay). A state of the adapters is kept for every few corrections. A correction is undone by
restoring a state before it and learning again what followed: the bits are those of a model that never saw it.

Instance-based adaptation (`NearestAdaptation`; Farajian et al. 2017, "Multi-domain neural machine translation through
unsupervised adaptation", section 3): before a segment is edited, the model takes a few steps on the nearest triplets of
the memory, at a rate that is proportional to their similarity; afterwards its weights are restored.

Both are turned off while they do not help, as measured on the latest corrections of the memory (`JudgedLearner`).
"""

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import torch
from rapidfuzz.distance import Levenshtein
from torch import Tensor

from postedit.adapt.adaptation_config import NearestConfig, OnlineConfig
from postedit.adapt.adapters import Adapters, one_thread
from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import Entry
from postedit.adapt.judged_learner import JudgedLearner
from postedit.adapt.nearest import Near, NearestTriplets
from postedit.adapt.remembering import say_nothing
from postedit.core.editor import Detail, Editor, EditorWrapper, PostEdit, Segment
from postedit.core.errors import ModelFolderError
from postedit.core.search_config import SearchConfig
from postedit.core.types import Batch
from postedit.data.collate import collate
from postedit.editing.loading import load_models
from postedit.editing.post_editor import PostEditor
from postedit.editing.segments import inputs_of
from postedit.text.edits import target_of

_LONGEST: Final = 200
"""Most tokens of src, mt or pe of a correction that is learnt: a step on a longer one would take seconds."""

_ALL_KEPT: Final = 10
"""Number of latest versions that are all kept, because recent corrections are undone most often."""


def load_to_adapt(model: str | Path, device: torch.device | str = "cpu") -> tuple[PostEditor, Editor | None]:
    """Load a single model with its weights as trained, and its first stage, which does not learn (None: it has none).

    The model is not optimised for inference, so that it can learn: it edits more slowly than with `PostEditor.load`.

    Raises:
        ModelFolderError: if the model is not found or damaged, or is a combination.
    """
    loaded = load_models([model], [torch.device(device)], None, "log")
    if loaded.log_linear is not None or len(loaded.model.parts()) != 1:
        raise ModelFolderError(f"{model}: is a combination; only a single model can learn from corrections")
    (part,) = loaded.model.parts()
    first = None if loaded.first_stage is None else PostEditor.of(loaded.first_stage, "float32")
    return PostEditor(part, loaded.processor, loaded.search, None, loaded.sources), first


class TripletBatches:
    """A maker of batches with targets from corrections, in the form that a model reads."""

    def __init__(self, editor: PostEditor) -> None:
        self._editor = editor

    def batch(self, corrections: Sequence[Correction]) -> Batch | None:
        """Return a batch on the model's device, without corrections that are too long to learn; None if all are.

        A correction is too long if one of its texts is, or if the model has no room for its inputs or its output.
        """
        processor, model = self._editor.processor, self._editor.model
        beside = [one.mt for one in corrections]
        src, mt, pe = (
            processor.encode_batch(side, [getattr(one, side) for one in corrections], beside)
            for side in ("src", "mt", "pe")
        )
        targets = [target_of(model.spec.writes, *texts) for texts in zip(mt, pe, strict=True)]
        texts = {"src": src, "mt": mt, "pe": targets}
        sides, longest = inputs_of(model), model.spec.longest or math.inf
        fitting = [
            row
            for row, target in enumerate(targets)
            if max(len(src[row]), len(mt[row]), len(pe[row])) <= _LONGEST
            and max(sum(len(texts[side][row]) for side in sides), len(target)) <= longest
        ]
        if not fitting:
            return None
        rows: dict[str, list[list[int]]] = {side: [texts[side][row] for row in fitting] for side in (*sides, "pe")}
        return collate(rows, sides).to(self._editor.device)


class EditsLeft:
    """A counter of what a post-editor would have to change in an editor's outputs, in tokens of its vocabulary.

    Args:
        editor: editor to judge. It decodes greedily, one segment at a time, and with one thread, so that outputs are
            the same everywhere and do not depend on other corrections.
    """

    def __init__(self, editor: PostEditor) -> None:
        self._editor, self._search = editor, editor.search.model_copy(update={"beam": 1, "n_best": 1})

    @one_thread()
    def output(self, correction: Correction) -> str:
        """Return the output for the segment of a correction; mt itself if it cannot be edited."""
        (found,) = self._editor.edit_segments([Segment(correction.src, correction.mt)], self._search)
        return found.text

    def count(self, correction: Correction, output: str) -> int:
        """Return the edit distance between an output for the segment of a correction and its post-edit."""
        beside = [correction.mt, correction.mt]
        return Levenshtein.distance(*self._editor.processor.encode_batch("pe", [output, correction.pe], beside))


class NeuralLearner(JudgedLearner):
    """A learner that trains adapters of a neural editor on the entries of a memory; see `remembering.Learner`.

    The editor uses the adapters while they help (`JudgedLearner`), and its trained weights otherwise.

    Args:
        editor: editor of a single model with its trained weights (`load_to_adapt`).
        config: how the model learns.
    """

    def __init__(self, editor: PostEditor, config: OnlineConfig) -> None:
        super().__init__(config.watched)
        self._config, self._batches, self._edits = config, TripletBatches(editor), EditsLeft(editor)
        self._adapters = Adapters(editor.model, config.adapters, config.rank, config.seed)
        # Version n is the state after n * `version_every` corrections; of the older versions, only some are kept.
        self._versions: dict[int, dict[str, Tensor]] = {}
        self._outputs: dict[int, str] = {}  # outputs of the trained model, by the number of the correction

    @torch.inference_mode(False)  # in which an application may edit, and so learn what is new in the memory
    def learn_entries(self, entries: Iterable[Entry], progress: Callable[[], None] = say_nothing) -> None:
        """Take over further entries; see `JudgedLearner.learn_entries`."""
        self._adapters.use(True)
        super().learn_entries(entries, progress)
        self._adapters.use(self.helps)
        self._outputs = {number: text for number, text in self._outputs.items() if number in self._corrections}

    def forget_all(self) -> None:
        """Return to the model as it was trained."""
        super().forget_all()
        self._outputs = {}

    def trained_output(self, number: int) -> str:
        """Return the output of the trained model for the segment of a correction that has been learnt."""
        if number not in self._outputs:
            with self._adapters.left_out():
                self._outputs[number] = self._edits.output(self._corrections[number])
        return self._outputs[number]

    def _return_to(self, place: int) -> int:
        last = place // self._config.version_every
        version = max((one for one in self._versions if one <= last), default=0)
        self._adapters.restore(self._versions.get(version))
        self._versions = {one: state for one, state in self._versions.items() if one < version}
        return version * self._config.version_every

    def _judge(self, place: int) -> int:
        correction = self._correction_at(place)
        if self._batches.batch([correction]) is None:
            return 0
        trained, learnt = self.trained_output(self._numbers[place]), self._edits.output(correction)
        return self._edits.count(correction, trained) - self._edits.count(correction, learnt)

    def _learn(self, place: int) -> None:
        """Take the steps for the correction at `place`, together with some earlier ones."""
        latest, after = divmod(place, self._config.version_every)
        if not after:
            self._versions[latest] = self._adapters.state()
            self._versions = {one: state for one, state in self._versions.items() if _is_kept(one, latest)}
        rng = random.Random(self._config.seed * 1_000_003 + place)
        others = rng.sample(range(place), min(self._config.replay, place))
        batch = self._batches.batch([self._correction_at(row) for row in (place, *others)])
        if batch is not None:
            for _ in range(self._config.steps):
                self._adapters.step(batch, self._config.rate)


def _is_kept(version: int, latest: int) -> bool:
    """Return whether a version is kept: all of the latest ones, then every second, fourth, eighth and so on.

    So the number of versions grows logarithmically with that of corrections, and undoing an old correction takes at
    most a fifth more steps than there were after it.
    """
    return version % (1 << ((latest - version) // _ALL_KEPT).bit_length()) == 0


class NearestAdaptation(EditorWrapper[PostEditor], JudgedLearner):
    """An editor whose model, while that helps, takes a few steps on the nearest triplets before it edits a segment.

    It is also a learner (`remembering.Learner`). After each segment, the weights are the same to the bit as before.

    Args:
        inner: editor of a single model with its trained weights (`load_to_adapt`).
        config: how the model adapts.
    """

    def __init__(self, inner: PostEditor, config: NearestConfig) -> None:
        EditorWrapper.__init__(self, inner)
        JudgedLearner.__init__(self, config.watched)
        self._config, self._batches, self._edits = config, TripletBatches(inner), EditsLeft(inner)
        self._adapters = Adapters(inner.model, "all")
        self._index = NearestTriplets()

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return one correction per segment; segments with near triplets are edited one by one."""
        if not self.helps:
            return self.inner.edit_segments(segments, search, evidence=evidence)
        near = [self._near(one.src, one.mt or "") for one in segments]
        alone = [segment for segment, found in zip(segments, near, strict=True) if not found]
        others = iter(self.inner.edit_segments(alone, search, evidence=evidence))
        return [
            self._adapted(segment, found, search, evidence) if found else next(others)
            for segment, found in zip(segments, near, strict=True)
        ]

    def _adapted(
        self, segment: Segment, near: Sequence[Near], search: SearchConfig | None, evidence: Detail | None
    ) -> PostEdit:
        with self._adapted_to(near):
            (result,) = self.inner.edit_segments([segment], search, evidence=evidence)
        return result

    def _near(self, src: str, mt: str) -> list[Near]:
        return self._index.find(src, mt, self._config.most, self._config.least)

    @contextmanager
    def _adapted_to(self, near: Sequence[Near]) -> Iterator[None]:
        """Adapt the model to near triplets within the block, and restore its weights afterwards."""
        try:
            with torch.inference_mode(False):
                batch = self._batches.batch([self._corrections[one.number] for one in near])
                if batch is not None:
                    for _ in range(self._config.steps):
                        self._adapters.step(batch, self._config.rate * near[0].similarity)
            yield
        finally:
            self._adapters.restore()

    def _return_to(self, place: int) -> int:
        for number in self._numbers[place : self._learnt]:
            self._index.remove(number)
        return place

    def _judge(self, place: int) -> int:
        correction = self._correction_at(place)
        near = self._near(correction.src, correction.mt)
        if not near or self._batches.batch([correction]) is None:
            return 0
        trained = self._edits.output(correction)
        with self._adapted_to(near):
            adapted = self._edits.output(correction)
        return self._edits.count(correction, trained) - self._edits.count(correction, adapted)

    def _learn(self, place: int) -> None:
        correction = self._correction_at(place)
        self._index.add(self._numbers[place], correction.src, correction.mt)
