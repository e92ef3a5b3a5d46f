"""The facade: load a model, correct machine translation with it."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import HFValidationError, HfHubHTTPError, LocalEntryNotFoundError
from torch import Tensor

from postedit.core.errors import DataError, ModelFolderError
from postedit.core.model import Seq2Seq
from postedit.core.symbols import BOS, EOS, PAD
from postedit.core.types import Batch, Stream
from postedit.data.batching import collate, length_batches
from postedit.decode import Ensemble, Hypothesis, beam_search, draft_decode, greedy, length_limits
from postedit.explain.evidence import Evidence
from postedit.folder import ModelFolder
from postedit.recipe import DecodeConfig
from postedit.text.edits import Edit
from postedit.text.processor import TextProcessor

_log = logging.getLogger(__name__)

# Taking mt for a draft saves calls but widens them. In larger batches rows wait for each other and the width costs
# what the calls save; the output is that of greedy search either way.
_LARGEST_DRAFTED_BATCH = 8


@dataclass(frozen=True, slots=True)
class PostEdit:
    """The correction of one segment.

    Args:
        text: the corrected translation; the very string mt if nothing changed.
        changed: whether it differs from mt.
        score: natural-log probability of the model's output, its end included; 0 if the model was not asked.
        token_scores: that of each piece, and of the end.
        edits: what changed, in characters of mt and of text.
        hit_limit: the output is as long as it may be, and probably cut off.
        skipped: why the model was not asked: mt is empty, or a side is longer than `decode.max_input`.
        evidence: attention behind the output, if asked for.
        alternatives: the next best corrections, best first, if asked for.
    """

    text: str
    changed: bool
    score: float
    token_scores: tuple[float, ...]
    edits: tuple[Edit, ...]
    hit_limit: bool = False
    skipped: Literal["empty", "too long"] | None = None
    evidence: Evidence | None = None
    alternatives: tuple["PostEdit", ...] = ()


class PostEditor:
    """A trained model with its text processing, ready to correct machine translation."""

    def __init__(self, model: Seq2Seq, processor: TextProcessor, decode: DecodeConfig) -> None:
        """Put the parts together; `load` is the usual way to get one."""
        self.model, self.processor, self.decode = model, processor, decode
        self._folder: ModelFolder | None = None

    @classmethod
    def load(cls, *models: str | Path, device: torch.device | str | None = None) -> "PostEditor":
        """Load a model folder, or a model from the Hugging Face hub, or several as an ensemble.

        Args:
            models: paths of folders or hub ids ("name/model").
            device: where to run; a GPU if there is one, else the CPU.

        Raises:
            ModelFolderError: if a model cannot be had or is damaged, or the members of an ensemble do not fit.
        """
        if not models:
            raise ModelFolderError("no model given; name a model folder or a hub id")
        place = device or ("cuda" if torch.cuda.is_available() else "cpu")
        folders = [ModelFolder.load(_find(model), place) for model in models]
        first = folders[0]
        if len(folders) == 1:
            editor = cls(first.model, first.processor, first.decode)
            editor._folder = first
            return editor
        return cls(Ensemble([folder.model for folder in folders]).eval(), first.processor, first.decode)

    from_pretrained = load

    def save_pretrained(self, path: str | Path) -> None:
        """Write the model folder.

        Raises:
            ModelFolderError: for an ensemble, which has none of its own.
            OutputError: if it cannot be written.
        """
        self._own_folder().save(Path(path))

    def push_to_hub(self, repository: str, *, private: bool = False) -> str:
        """Upload the model folder to the Hugging Face hub as `repository` ("name/model"); return its address.

        Raises:
            ModelFolderError: for an ensemble, or if the hub refuses.
        """
        import tempfile

        folder = self._own_folder()
        try:
            with tempfile.TemporaryDirectory() as temporary:
                path = Path(temporary) / "model"
                folder.save(path)
                api = HfApi()
                api.create_repo(repository, private=private, exist_ok=True)
                return str(api.upload_folder(repo_id=repository, folder_path=path))
        except (HfHubHTTPError, HFValidationError) as error:
            raise ModelFolderError(f"{repository}: the hub refused the upload: {error}") from None

    @property
    def device(self) -> torch.device:
        """Where the model runs."""
        return next(self.model.parameters()).device

    def edit(
        self,
        src: Sequence[str],
        mt: Sequence[str],
        *,
        beam: int | None = None,
        n_best: int = 1,
        batch_tokens: int | None = None,
        evidence: bool = False,
    ) -> list[PostEdit]:
        """Correct the translations `mt` of `src`.

        Args:
            src: source segments.
            mt: their translations, one each.
            beam: hypotheses kept a segment; the model's own setting if not given. 1 is greedy search.
            n_best: how many corrections a segment, the further ones as `alternatives`; at most `beam`.
            batch_tokens: size of a batch in pieces; the model's own setting if not given.
            evidence: whether to return the attention behind each output.

        Returns:
            One PostEdit for each segment, in order.

        Raises:
            DataError: if `src` and `mt` are not equally many, or an option is out of range.
        """
        beam = self.decode.beam if beam is None else beam
        budget = self.decode.batch_tokens if batch_tokens is None else batch_tokens
        _check_request(src, mt, beam, n_best, budget)
        inputs = {"src": self.processor.encode_batch("src", src), "mt": self.processor.encode_batch("mt", mt)}
        drafts = self.processor.encode_batch("pe", mt)
        results: list[PostEdit | None] = [self._skip(text, src_ids, mt_ids) for text, src_ids, mt_ids in zip(mt, inputs["src"], inputs["mt"], strict=True)]
        asked = [i for i, result in enumerate(results) if result is None]
        lengths = np.array([max(len(inputs["src"][i]), len(inputs["mt"][i])) for i in asked], dtype=np.int64)
        for group in length_batches(lengths, max(1, budget // beam)):
            rows = [asked[j] for j in group]
            batch = self._batch(inputs, rows)
            found = self._search(batch, [drafts[i][:-1] for i in rows], beam, n_best)
            evidences = self._evidence(batch, [best[0] for best in found]) if evidence else [None] * len(rows)
            for i, hypotheses, reasons in zip(rows, found, evidences, strict=True):
                results[i] = self._render(mt[i], hypotheses, reasons)
        finished = [result for result in results if result is not None]
        cut = sum(result.hit_limit for result in finished)
        if cut:
            _log.warning(
                "%d of %d outputs reached the maximum length (decode.max_ratio, decode.max_extra) and may be cut off",
                cut,
                len(finished),
            )
        return finished

    def _skip(self, mt: str, src_ids: Sequence[int], mt_ids: Sequence[int]) -> PostEdit | None:
        if len(mt_ids) == 1:  # EOS alone
            return PostEdit(mt, False, 0.0, (), (), skipped="empty")
        if max(len(src_ids), len(mt_ids)) > self.decode.max_input:
            return PostEdit(mt, False, 0.0, (), (), skipped="too long")
        return None

    def _batch(self, inputs: Mapping[str, Sequence[Sequence[int]]], rows: Sequence[int]) -> Batch:
        names = self.model.spec.inputs
        return collate({name: [inputs[name][i] for i in rows] for name in names}, names).to(self.device)

    def _search(self, batch: Batch, drafts: list[list[int]], beam: int, n_best: int) -> list[list[Hypothesis]]:
        limits = length_limits(batch, self.decode.max_ratio, self.decode.max_extra)
        if beam == 1 and batch.rows <= _LARGEST_DRAFTED_BATCH:
            return [[best] for best in draft_decode(self.model, batch, drafts, limits)]
        if beam == 1:
            return [[best] for best in greedy(self.model, batch, limits)]
        return beam_search(self.model, batch, limits, beam, self.decode.length_penalty, n_best)

    @torch.inference_mode()
    def _evidence(self, batch: Batch, hypotheses: Sequence[Hypothesis]) -> Iterator[Evidence]:
        """Read the outputs once more, all tokens in one call, for what the model looked at."""
        written = [[BOS, *hypothesis.tokens] for hypothesis in hypotheses]
        longest = max(len(tokens) for tokens in written)
        tokens = torch.tensor([row + [PAD] * (longest - len(row)) for row in written], device=self.device)
        output, _ = self.model.decode(tokens, self.model.encode(batch))
        for row, hypothesis in enumerate(hypotheses):
            count = len(hypothesis.tokens) + 1
            streams = {name: self._pieces(name, stream, row) for name, stream in batch.streams.items()}
            weights = {
                key: attention[row, :count, : len(streams[key.stream])].float().cpu().numpy()
                for key, attention in output.attention.items()
            }
            pieces = self.processor.vocabulary("pe").pieces([*hypothesis.tokens, EOS])
            yield Evidence(streams, tuple(pieces), hypothesis.token_scores, weights)

    def _pieces(self, name: str, stream: Stream, row: int) -> tuple[str, ...]:
        ids: Tensor = stream.ids[row][stream.mask[row]]
        return tuple(self.processor.vocabulary("src" if name == "src" else "mt").pieces(ids.tolist()))

    def _render(self, mt: str, hypotheses: Sequence[Hypothesis], evidence: Evidence | None) -> PostEdit:
        edits = []
        for hypothesis in hypotheses:
            rendered = self.processor.render(mt, hypothesis.tokens)
            edits.append((rendered, hypothesis))
        (best, hypothesis), *others = edits
        return PostEdit(
            best.text,
            best.changed,
            hypothesis.score,
            hypothesis.token_scores,
            best.edits,
            hypothesis.hit_limit,
            evidence=evidence,
            alternatives=tuple(
                PostEdit(r.text, r.changed, h.score, h.token_scores, r.edits, h.hit_limit) for r, h in others
            ),
        )

    def _own_folder(self) -> ModelFolder:
        if self._folder is None:
            raise ModelFolderError("an ensemble has no model folder of its own; save its members")
        return self._folder


def _find(model: str | Path) -> Path:
    path = Path(model)
    if path.exists():
        return path
    if str(model).count("/") != 1 or str(model).startswith((".", "/", "~")):
        raise ModelFolderError(f"{model}: no such model folder")
    try:
        return Path(snapshot_download(str(model)))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelFolderError(f"{model}: no such folder, and the hub does not give it: {reason}") from None


def _check_request(src: Sequence[str], mt: Sequence[str], beam: int, n_best: int, batch_tokens: int) -> None:
    if isinstance(src, str) or isinstance(mt, str):
        raise DataError("src and mt are lists of segments, not single strings; write edit(src=[...], mt=[...])")
    if len(src) != len(mt):
        raise DataError(f"src has {len(src)} segments and mt has {len(mt)}; they must match one to one")
    if not 1 <= n_best <= beam:
        raise DataError(f"n_best must be between 1 and beam ({beam}), not {n_best}")
    if batch_tokens < 1:
        raise DataError(f"batch_tokens must be at least 1, not {batch_tokens}")
