"""The facade: load a model, correct machine translation with it."""

import logging
import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

import torch
from torch import Tensor

from postedit.batches import in_batches
from postedit.core.errors import DataError, ModelFolderError
from postedit.core.model import Seq2Seq
from postedit.core.symbols import BOS, EOS, PAD
from postedit.core.types import Batch, Stream
from postedit.data.batching import collate
from postedit.decode import Drafted, DraftSearch, Ensemble, Hypothesis, beam_search, greedy, length_limits
from postedit.explain.evidence import Evidence
from postedit.folder import FILES, ModelFolder
from postedit.nn.inference import Precision, check_precision, prepare_for_inference
from postedit.recipe import DecodeConfig
from postedit.text.config import Side
from postedit.text.edits import Edit
from postedit.text.processor import TextProcessor
from postedit.text.swapped import seem_swapped

_log = logging.getLogger(__name__)

_INPUTS: Final[tuple[Side, ...]] = ("src", "mt")

# With mt as draft, this many sentences pass through each slot of a batch: those that finish early make room for others.
_SENTENCES_A_SLOT: Final = 4

# Sentences are taken up in groups of this share of the slots, which are encoded together.
_GROUP_SHARE: Final = 0.25


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


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment as a model reads it: the ids of each side, and mt as it was given, empty if it was not."""

    ids: Mapping[Side, Sequence[int]]
    mt: str

    @property
    def length(self) -> int:
        """The pieces of the longest side."""
        return max(len(side) for side in self.ids.values())


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
        found = self._search(segments, beam, n_best, budget)
        reasons = self._reasons(segments, found, budget) if evidence else [None] * len(found)
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
        if any(not texts[side][row].strip() for side in texts if side == "mt" or side in self._sides()):
            return _unchanged(mt, "empty")
        longest = self.model.spec.longest
        together = sum(len(ids[side][row]) for side in self._sides())
        too_long = longest is not None and together > longest
        if too_long or max(len(segments[row]) for segments in ids.values()) > self.decode.max_input:
            return _unchanged(mt, "too long")
        return None

    def _sides(self) -> list[Side]:
        """Return the texts that the model reads."""
        return [side for side in _INPUTS if side in self.model.spec.inputs]

    def _search(
        self, segments: Sequence[Segment], beam: int, n_best: int, budget: int
    ) -> list[Sequence[Hypothesis] | None]:
        """Search for the outputs of a window of segments, best first, in order; None where memory does not suffice."""
        drafted = beam == 1 and self.model.spec.parallel and all(segment.mt for segment in segments)

        def work(rows: list[int]) -> Iterable[Sequence[Hypothesis]]:
            chosen = [segments[row] for row in rows]
            return self._follow_drafts(chosen) if drafted else self._search_batch(chosen, beam, n_best)

        lengths = [segment.length for segment in segments]
        return in_batches(lengths, _SENTENCES_A_SLOT * budget if drafted else max(1, budget // beam), work)

    def _follow_drafts(self, segments: Sequence[Segment]) -> Iterator[Sequence[Hypothesis]]:
        """Search greedily with mt as draft; segments are of like length."""
        slots = math.ceil(len(segments) / _SENTENCES_A_SLOT)
        size = max(1, int(slots * _GROUP_SHARE))
        groups = (segments[start : start + size] for start in range(0, len(segments), size))
        for hypotheses in DraftSearch(self.model, slots)(map(self._drafted, groups)):
            yield from ([hypothesis] for hypothesis in hypotheses)

    def _drafted(self, segments: Sequence[Segment]) -> Drafted:
        batch = self._batch(segments)
        drafts = [ids[:-1] for ids in self.processor.encode_batch("pe", [segment.mt for segment in segments])]
        return Drafted(batch, drafts, self._limits(batch))

    def _search_batch(self, segments: Sequence[Segment], beam: int, n_best: int) -> Sequence[Sequence[Hypothesis]]:
        batch = self._batch(segments)
        limits = self._limits(batch)
        if beam == 1:
            return [[best] for best in greedy(self.model, batch, limits)]
        return beam_search(self.model, batch, limits, beam, self.decode.length_penalty, n_best)

    def _batch(self, segments: Sequence[Segment]) -> Batch:
        sides = self._sides()
        return collate({side: [segment.ids[side] for segment in segments] for side in sides}, sides).to(self.device)

    def _limits(self, batch: Batch) -> Tensor:
        spec = self.model.spec
        return length_limits(batch, self.decode.max_ratio, self.decode.max_extra, spec.writes, spec.longest)

    def _reasons(
        self, segments: Sequence[Segment], found: Sequence[Sequence[Hypothesis] | None], budget: int
    ) -> list[Evidence | None]:
        """Return the evidence behind the best hypothesis of each segment, in order; None where memory ends."""

        kept = [(row, hypotheses[0]) for row, hypotheses in enumerate(found) if hypotheses is not None]

        def work(places: list[int]) -> Iterable[Evidence]:
            batch = self._batch([segments[kept[place][0]] for place in places])
            return self._evidence(batch, [kept[place][1] for place in places])

        results: list[Evidence | None] = [None] * len(segments)
        reasons = in_batches([segments[row].length for row, _ in kept], budget, work)
        for (row, _), evidence in zip(kept, reasons, strict=True):
            results[row] = evidence
        return results

    @torch.inference_mode()
    def _evidence(self, batch: Batch, hypotheses: Sequence[Hypothesis]) -> Iterator[Evidence]:
        """Read the outputs once more, all tokens in one call, for what the model looked at."""
        written = [[BOS, *hypothesis.tokens] for hypothesis in hypotheses]
        longest = max(len(tokens) for tokens in written)
        tokens = torch.tensor([row + [PAD] * (longest - len(row)) for row in written], device=self.device)
        output, _ = self.model.decode(tokens, self.model.encode(batch))
        for row, hypothesis in enumerate(hypotheses):
            count = len(hypothesis.tokens) + 1
            streams: dict[str, tuple[str, ...]] = {
                side: self._pieces(side, batch.streams[side], row) for side in self._sides()
            }
            weights = {}
            for key, attention in output.attention.items():
                # Of a joint attention, the real positions of each stream; for a single one, a prefix.
                real = torch.cat([batch.streams[name].mask[row] for name in key.streams])
                weights[key] = attention[row, :count, real].float().cpu().numpy()
            pieces = self.processor.vocabulary("pe").pieces([*hypothesis.tokens, EOS])
            yield Evidence(streams, tuple(pieces), hypothesis.token_scores, weights)

    def _pieces(self, side: Side, stream: Stream, row: int) -> tuple[str, ...]:
        ids: Tensor = stream.ids[row][stream.mask[row]]
        return tuple(self.processor.vocabulary(side).pieces(ids.tolist()))

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
