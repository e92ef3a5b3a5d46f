"""The facade: load a model, correct machine translation with it."""

import logging
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch

from postedit.core.errors import DataError, ModelFolderError
from postedit.core.model import Seq2Seq
from postedit.decode import Ensemble, Hypothesis
from postedit.explain.evidence import Evidence
from postedit.folder import FILES, ModelFolder
from postedit.nn.inference import Precision, check_precision, prepare_for_inference
from postedit.recipe import DecodeConfig
from postedit.search import Segment, SegmentSearch, sides_of
from postedit.text.config import Side
from postedit.text.edits import Edit
from postedit.text.processor import TextProcessor
from postedit.text.swapped import seem_swapped

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PostEdit:
    """The correction of one segment.

    Args:
        text: the corrected translation; the very string mt if nothing changed. Where no mt was given, it counts as
            empty, or as the draft that the model's first stage wrote.
        changed: whether it differs from mt.
        score: natural-log probability of the model's output, its end included; 0 if the model was not asked.
        token_scores: that of each piece, and of the end.
        edits: what changed, in characters of mt and of text.
        hit_limit: the output is as long as it may be, and probably cut off.
        skipped: why the segment is as it was: mt or another text the model reads is blank; or a side has more pieces
            than `decode.max_input`, or all together more than the model can read; or memory did not suffice.
        evidence: attention behind the output, if asked for.
        alternatives: the next best corrections, best first, if asked for.
        draft: what the first stage wrote and this corrects; None if mt was given, or there is no first stage.
    """

    text: str
    changed: bool
    score: float
    token_scores: tuple[float, ...]
    edits: tuple[Edit, ...]
    hit_limit: bool = False
    skipped: Literal["empty", "too long", "no memory"] | None = None
    evidence: Evidence | None = None
    alternatives: tuple["PostEdit", ...] = ()
    draft: str | None = None


class PostEditor:
    """A trained model with its text processing, ready to correct machine translation."""

    def __init__(
        self, model: Seq2Seq, processor: TextProcessor, decode: DecodeConfig, draft: "PostEditor | None" = None
    ) -> None:
        """Put the parts together; `load` is the usual way to get one. `draft` translates src where no mt is given."""
        self.model, self.processor, self.decode, self.draft = model, processor, decode, draft
        self.sources: tuple[Path, ...] = ()

    @classmethod
    def load(
        cls, *models: str | Path, device: torch.device | str | None = None, dtype: Precision = "float32"
    ) -> "PostEditor":
        """Load a model folder, or a model from the Hugging Face hub, or several as an ensemble.

        An ensemble has the search settings of its first member.

        Args:
            models: paths of folders or hub ids ("name/model").
            device: where to run; a GPU if there is one, else the CPU.
            dtype: of weights and sums: "float32"; "bf16"; or "int8", weights of linear layers in eight bits, on a CPU.

        Raises:
            DataError: if there is no such dtype, or not on that device.
            ModelFolderError: if a model cannot be had or is damaged, or the members of an ensemble do not fit.
        """
        if not models:
            raise ModelFolderError("no model given; name a model folder or a hub id")
        place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        check_precision(dtype, place)
        paths = tuple(_find(model) for model in models)
        folders = [ModelFolder.load(path, place) for path in paths]
        editor = cls._together(models, folders)
        editor._prepare(dtype)
        editor.sources = paths
        return editor

    from_pretrained = load

    @classmethod
    def _together(cls, models: Sequence[str | Path], folders: Sequence[ModelFolder]) -> "PostEditor":
        first = folders[0]
        if len(folders) == 1:
            return cls._of(first)
        for name, folder in zip(models, folders):
            # Ensemble compares the vocabularies themselves.
            if _words(folder.processor) != _words(first.processor):
                raise ModelFolderError(
                    f"{name}: divides text into words in another way than {models[0]}; "
                    "train the members of an ensemble with the same [text] section"
                )
        return cls(Ensemble([folder.model for folder in folders]).eval(), first.processor, first.decode)

    def _prepare(self, precision: Precision) -> None:
        prepare_for_inference(self.model, precision)
        if self.draft is not None:
            self.draft._prepare(precision)

    @classmethod
    def _of(cls, folder: ModelFolder) -> "PostEditor":
        draft = None if folder.draft is None else cls._of(folder.draft)
        return cls(folder.model, folder.processor, folder.decode, draft)

    def save_pretrained(self, path: str | Path) -> None:
        """Write the model folder as it was loaded; only a model or an empty folder at `path` is replaced.

        Raises:
            ModelFolderError: for an ensemble, which has none of its own, or if the folder cannot be read any more.
            OutputError: if something else is at `path`, or it cannot be written.
        """
        self._own_folder().save(Path(path).resolve())

    def push_to_hub(self, repository: str, *, private: bool = False) -> str:
        """Upload the model folder to the Hugging Face hub as `repository` ("name/model"); return its address.

        Raises:
            ModelFolderError: for an ensemble, or if the hub refuses or cannot be reached.
            OutputError: if there is no room for a temporary copy.
        """
        from postedit.hub import upload

        folder = self._own_folder()
        with tempfile.TemporaryDirectory() as temporary:
            path = Path(temporary) / "model"
            folder.save(path)
            return upload(path, repository, private=private)

    @property
    def device(self) -> torch.device:
        """Where the model runs."""
        return next(self.model.parameters()).device

    @property
    def needs_mt(self) -> bool:
        """Whether `edit` must be given mt: the model reads it, and has no first stage to write it."""
        return "mt" in self.model.spec.inputs and self.draft is None

    def edit(
        self,
        src: Iterable[str],
        mt: Iterable[str] | None = None,
        *,
        beam: int | None = None,
        n_best: int = 1,
        batch_tokens: int | None = None,
        evidence: bool = False,
    ) -> list[PostEdit]:
        """Correct the translations `mt` of `src`; or translate, if the model can.

        Args:
            src: source segments.
            mt: their translations, one each. A model that does not read them can do without, and so can one with a
                first stage, which then writes a draft to correct.
            beam: hypotheses kept a segment; the model's own setting if not given. 1 is greedy search.
            n_best: how many corrections a segment, the further ones as `alternatives`; at most `beam`.
            batch_tokens: size of a batch in pieces; the model's own setting if not given.
            evidence: whether to return the attention behind each output.

        Returns:
            One PostEdit for each segment, in order.

        Raises:
            DataError: if `src` and `mt` are not equally many texts, the model needs mt and there is none, or an
                option is out of range.
            ModelFolderError: if the model's weights are damaged so that it gives no output a probability.
        """
        beam = self.decode.beam if beam is None else beam
        budget = self.decode.batch_tokens if batch_tokens is None else batch_tokens
        texts = _check_request(src, mt, beam, n_best, budget)
        if mt is None and self.needs_mt:
            raise DataError("this model corrects translations and has no first stage to write them: give it mt")
        if mt is not None or self.draft is None:
            return self._edit(texts, beam, n_best, budget, evidence)
        drafts = self.draft.edit(texts["src"], batch_tokens=batch_tokens)
        refined = self._edit({**texts, "mt": [draft.text for draft in drafts]}, beam, n_best, budget, evidence)
        return [
            replace(edit, draft=draft.text, skipped=draft.skipped or edit.skipped)
            for edit, draft in zip(refined, drafts, strict=True)
        ]

    def seem_swapped(self, src: Sequence[str], mt: Sequence[str]) -> bool:
        """Return whether src and mt clearly seem to have changed places; see `text.swapped`."""
        return seem_swapped(self.processor, src, mt)

    def _edit(
        self, texts: Mapping[Side, Sequence[str]], beam: int, n_best: int, budget: int, evidence: bool
    ) -> list[PostEdit]:
        """Edit texts of src and mt, or of src alone, as if all mt were empty."""
        mt = texts.get("mt") or [""] * len(texts["src"])
        ids = {side: self.processor.encode_batch(side, segments) for side, segments in texts.items()}
        results = [self._skip(texts, ids, row) for row in range(len(mt))]
        asked = [row for row, result in enumerate(results) if result is None]
        segments = [Segment({side: ids[side][row] for side in ids}, mt[row]) for row in asked]
        search = SegmentSearch(self.model, self.processor, self.decode)
        found = search.find(segments, beam, n_best, budget)
        reasons = search.reasons(segments, found, budget) if evidence else [None] * len(found)
        for row, hypotheses, why in zip(asked, found, reasons, strict=True):
            text = mt[row]
            results[row] = _unchanged(text, "no memory") if hypotheses is None else self._render(text, hypotheses, why)
        finished = [result for result in results if result is not None]
        _warn(finished)
        return finished

    def _skip(
        self, texts: Mapping[Side, Sequence[str]], ids: Mapping[Side, Sequence[Sequence[int]]], row: int
    ) -> PostEdit | None:
        """Return what stands for a segment that the model is not asked about, or None if it is."""
        mt = texts["mt"][row] if "mt" in texts else ""
        if any(not texts[side][row].strip() for side in texts if side == "mt" or side in sides_of(self.model)):
            return _unchanged(mt, "empty")
        longest = self.model.spec.longest
        together = sum(len(ids[side][row]) for side in sides_of(self.model))
        too_long = longest is not None and together > longest
        if too_long or max(len(segments[row]) for segments in ids.values()) > self.decode.max_input:
            return _unchanged(mt, "too long")
        return None

    def _render(self, mt: str, hypotheses: Sequence[Hypothesis], evidence: Evidence | None) -> PostEdit:
        best, *others = (self._render_one(mt, hypothesis) for hypothesis in hypotheses)
        return replace(best, evidence=evidence, alternatives=tuple(others))

    def _render_one(self, mt: str, hypothesis: Hypothesis) -> PostEdit:
        rendered = self.processor.render(mt, hypothesis.tokens)
        return PostEdit(
            rendered.text,
            rendered.changed,
            hypothesis.score,
            hypothesis.token_scores,
            rendered.edits,
            hypothesis.hit_limit,
        )

    def _own_folder(self) -> ModelFolder:
        """Read the folder again: the weights here may have been laid out or rounded for inference."""
        if len(self.sources) != 1:
            raise ModelFolderError("this editor was not loaded from one model folder; save the members of an ensemble")
        return ModelFolder.load(self.sources[0])


def _unchanged(mt: str, reason: Literal["empty", "too long", "no memory"]) -> PostEdit:
    return PostEdit(mt, False, 0.0, (), (), skipped=reason)


def _find(model: str | Path) -> Path:
    path = Path(model)
    if path.exists():
        return path
    if str(model).count("/") != 1 or str(model).startswith((".", "/", "~")):
        raise ModelFolderError(f"{model}: no such model folder")
    from postedit.hub import download

    return download(str(model), FILES)


def _words(processor: TextProcessor) -> dict[str, Any]:
    """Return the settings by which text becomes words."""
    return processor.config.model_dump(exclude={"vocabulary"})


def _check_request(
    src: Iterable[str], mt: Iterable[str] | None, beam: int, n_best: int, batch_tokens: int
) -> dict[Side, list[str]]:
    """Return the texts of the sides that are given, once all of the request is found to be sound."""
    if isinstance(src, str) or isinstance(mt, str):
        raise DataError("src and mt are lists of segments, not single strings; write edit(src=[...], mt=[...])")
    texts: dict[Side, list[str]] = {"src": list(src)}
    if mt is not None:
        texts["mt"] = list(mt)
    for side, segments in texts.items():
        for number, segment in enumerate(segments, start=1):
            if not isinstance(segment, str):
                raise DataError(f"segment {number} of {side} is not text but {segment!r}")
    if len(texts["src"]) != len(texts.get("mt", texts["src"])):
        raise DataError(
            f"src has {len(texts['src'])} segments and mt has {len(texts['mt'])}; they must match one to one"
        )
    if beam < 1:
        raise DataError(f"beam must be at least 1, not {beam}")
    if not 1 <= n_best <= beam:
        raise DataError(f"n_best must be between 1 and beam ({beam}), not {n_best}")
    if batch_tokens < 1:
        raise DataError(f"batch_tokens must be at least 1, not {batch_tokens}")
    return texts


def _warn(results: Sequence[PostEdit]) -> None:
    for count, what in (
        (
            sum(result.hit_limit for result in results),
            "outputs reached the maximum length (decode.max_ratio, decode.max_extra) and may be cut off",
        ),
        (
            sum(result.skipped == "too long" for result in results),
            "segments are too long (for decode.max_input, or the model) and stay as they are",
        ),
        (
            sum(result.skipped == "no memory" for result in results),
            "segments do not fit into memory and stay as they are",
        ),
    ):
        if count:
            _log.warning("%d of %d %s", count, len(results), what)
