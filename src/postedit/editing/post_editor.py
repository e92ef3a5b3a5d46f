"""The neural editor: load a model, an ensemble or a combination, and correct machine translation with it."""

import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from postedit import shipped
from postedit.core.editor import Abilities, Detail, Editor, Identity, PostEdit, Segment, Side, Skipped, segments_of
from postedit.core.errors import DataError, ModelFolderError
from postedit.core.evidence import Evidence
from postedit.core.model import Seq2Seq
from postedit.core.search_config import SearchConfig
from postedit.editing.constraints import SegmentConstraints, required_of
from postedit.editing.loading import Loaded, load_models
from postedit.editing.results import as_given, meet_constraints, sound, to_post_edit, unchanged, warn
from postedit.editing.search import SegmentSearch
from postedit.editing.segments import EncodedSegment, encode_outputs, encode_segments, why_not_scored, why_skipped
from postedit.folder import ModelFolder, content_fingerprint
from postedit.nn.inference import Precision, check_precision, prepare_for_inference
from postedit.search import Hypothesis, Sampling
from postedit.search.ensemble import Space
from postedit.search.rescoring import LogLinear
from postedit.text.processor import TextProcessor
from postedit.text.swapped_sides import seem_swapped
from postedit.text.words import splitter

if TYPE_CHECKING:
    from postedit.editing.two_stage import TwoStage

__all__ = ["PostEdit", "PostEditor"]

Device = torch.device | str


class PostEditor(Editor):
    """A trained model with its text processing."""

    def __init__(
        self,
        model: Seq2Seq,
        processor: TextProcessor,
        search: SearchConfig,
        log_linear: LogLinear | None = None,
        sources: tuple[Path, ...] = (),
    ) -> None:
        """Put the parts together; `load` is the usual way to get an editor.

        Args:
            model: any model or ensemble.
            processor: its text processing.
            search: search options used where a caller gives none.
            log_linear: ranks the outputs of search anew.
            sources: the files and folders it was loaded from.
        """
        self.model, self.processor, self.search = model, processor, search
        self.log_linear, self.sources = log_linear, sources
        self.precision: Precision = "float32"

    @classmethod
    def load(
        cls,
        *models: str | Path,
        device: Device | Sequence[Device] | None = None,
        dtype: Precision = "float32",
        weights: Sequence[float] | None = None,
        space: Space = "log",
    ) -> "PostEditor | TwoStage":
        """Load a model folder, a model from the Hugging Face hub, several as an ensemble, or a combination.

        An ensemble has the search options of its first member.

        Args:
            models: paths of folders or hub ids ("name/model"); files of weights of a run (RUN/best/*.safetensors),
                which are loaded with the options of RUN/model; or one file that `postedit tune` wrote. Without any, the
                model that comes with postedit, English to Chinese.
            device: where to run; a GPU if there is one, else the CPU. With several, members take turns.
            dtype: of weights and sums: "float32"; "bf16"; or "int8", 8-bit weights of linear layers, on a CPU.
            weights: of the members of an ensemble; equal ones if not given.
            space: whether an ensemble averages log-probabilities ("log") or probabilities ("probability").

        Returns:
            The editor; a `TwoStage` editor for a folder with a first stage, which drafts where there is no mt.

        Raises:
            ModelFolderError: if a model is not found or damaged, or the members of an ensemble do not fit.
            DataError: if there is not one positive weight per model, or the dtype is unknown or not available.
        """
        places = _places(device)
        for place in places:
            check_precision(dtype, place)
        return cls._of(load_models(models or (shipped.MODEL,), places, weights, space), dtype)

    from_pretrained = load

    @classmethod
    def _of(cls, loaded: Loaded, precision: Precision) -> "PostEditor | TwoStage":
        editor = cls(loaded.model, loaded.processor, loaded.search, loaded.log_linear, loaded.sources)
        editor.precision = precision
        for part in loaded.model.parts():
            prepare_for_inference(part, precision)
        if loaded.draft is None:
            return editor
        from postedit.editing.two_stage import TwoStage

        return TwoStage(cls._of(loaded.draft, precision), editor)

    @property
    def abilities(self) -> Abilities:
        """What the model can do."""
        return Abilities(
            needs_mt="mt" in self.model.spec.inputs,
            n_best=True,
            forced_scores=True,
            evidence=True,
            inputs=tuple(self.model.spec.inputs),
            attention=frozenset(self.model.spec.attention),
            drafts=self.model.spec.parallel and self.log_linear is None,
        )

    def identity(self, search: SearchConfig | None = None) -> Identity:
        """Return the fingerprints of the model files, and the options that can change an output."""
        settings = (search or self.search).outcome()
        return Identity(self._fingerprints, {**settings, "dtype": self.precision, "ensemble": self.model.extra_repr()})

    @cached_property
    def _fingerprints(self) -> tuple[str, ...]:
        return tuple(content_fingerprint(source) for source in self.sources)

    @property
    def device(self) -> torch.device:
        """Where the model runs."""
        return next(self.model.parameters()).device

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return one correction per segment; see `Editor.edit_segments`."""
        config = search or self.search
        self.check(config, with_mt=any(segment.mt is not None for segment in segments) or not segments)
        self._require_mt(segments)
        encoded = encode_segments(self.processor, segments)
        skipped = [why_skipped(self.model, segment, config.max_input) for segment in encoded]
        finder = SegmentSearch(self.model, self.processor, config, self.log_linear)
        results = self._results(
            encoded, skipped, lambda rows: finder.find([encoded[row] for row in rows]), config, evidence
        )
        words = splitter(self.processor.config.tokenizer, self.processor.config.tgt_lang)
        lacks = self.processor.lacks
        results = [
            meet_constraints(
                one.mt,
                sound(one.src, one.mt, result, lacks),
                one.segment.constraints.prefix,
                required_of(one, config),
                words,
            )
            for one, result in zip(encoded, results, strict=True)
        ]
        warn(results)
        return results

    def score_segments(
        self, segments: Sequence[Segment], outputs: Sequence[str], *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return the scores of given outputs, with `features`.

        Under hard attention an output has many paths along mt; the score is that of the path that training uses.
        """
        self._require_mt(segments)
        config = self.search
        encoded = encode_segments(self.processor, segments)
        paths = encode_outputs(self.model, self.processor, encoded, outputs)
        skipped = [
            why_skipped(self.model, segment, config.max_input) or why_not_scored(self.model, path, config.max_input)
            for segment, path in zip(encoded, paths, strict=True)
        ]
        finder = SegmentSearch(self.model, self.processor, config, self.log_linear)

        def force(rows: Sequence[int]) -> list[list[Hypothesis] | None]:
            forced = finder.force([encoded[row] for row in rows], [paths[row] for row in rows])
            return [None if hypothesis is None else [hypothesis] for hypothesis in forced]

        results = self._results(encoded, skipped, force, config, evidence)
        return [as_given(result, one.mt, output) for result, one, output in zip(results, encoded, outputs, strict=True)]

    def draw(
        self, src: Iterable[str], mt: Iterable[str] | None, sampling: Sampling, *, batch_tokens: int | None = None
    ) -> list[PostEdit]:
        """Return outputs sampled from the model, where `edit` searches for the most probable one.

        Random numbers come from the default generator of torch on the model's device (`torch.manual_seed`). Of the
        search options, only the length limits apply; the members of a combination are sampled as an ensemble.

        Args:
            src: source segments.
            mt: their translations; None for a model that does not read them.
            sampling: how to sample, and how many outputs per segment.
            batch_tokens: size of a batch in tokens; the editor's own option if not given.

        Returns:
            One PostEdit per segment, in order, with further outputs as `alternatives`; some may be equal.

        Raises:
            DataError: if the texts have different lengths, the model needs mt and there is none, or `batch_tokens` is
                out of range.
            ModelFolderError: if the model is damaged.
        """
        segments = segments_of(src, mt)
        self._require_mt(segments)
        config = self.search if batch_tokens is None else self.search.with_options(batch_tokens=batch_tokens)
        encoded = encode_segments(self.processor, segments)
        skipped = [why_skipped(self.model, segment, config.max_input) for segment in encoded]
        finder = SegmentSearch(self.model, self.processor, config, self.log_linear)
        return self._results(
            encoded, skipped, lambda rows: finder.draw([encoded[row] for row in rows], sampling), config, None
        )

    def check(self, search: SearchConfig, *, with_mt: bool) -> None:
        """Check the search options before long work; see `Editor.check`.

        Raises:
            DataError: if mt is needed, a combination has no beam to rank, a shortlist has no use, or a word cannot be
                written in the tokens of the model.
        """
        super().check(search, with_mt=with_mt)
        if self.log_linear is not None and search.beam == 1:
            raise DataError("a combination ranks the outputs of a beam, so that beam must be at least 2, not 1")
        SegmentConstraints(self.processor, search)

    def word_spans(self, side: Side, text: str) -> list[tuple[int, int]] | None:
        """Return where the words of a text are, as the tokenizer of the model divides it; None if that is not known."""
        config = self.processor.config
        found = splitter(config.tokenizer, config.language(side)).spans(text)
        return None if found is None else [(word.start, word.end) for word in found]

    def words(self, side: Side, text: str) -> list[str]:
        """Return the words of a text as the tokenizer of the model divides it."""
        config = self.processor.config
        return splitter(config.tokenizer, config.language(side)).words(text)

    def seem_swapped(self, src: Sequence[str], mt: Sequence[str]) -> bool:
        """Return whether src and mt clearly seem to have changed places; see `text.swapped_sides`."""
        return seem_swapped(self.processor, src, mt)

    def save_pretrained(self, path: str | Path) -> None:
        """Write the model folder as it was loaded; only a model or an empty folder at `path` is replaced.

        Raises:
            ModelFolderError: for an ensemble, which has no folder of its own, or if the folder cannot be read any more.
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

    def _own_folder(self) -> ModelFolder:
        """Read the folder again: the weights here may have been laid out or rounded for inference."""
        if len(self.sources) != 1:
            raise ModelFolderError("this editor was not loaded from one model folder; save the members of an ensemble")
        return ModelFolder.load(self.sources[0])

    def _require_mt(self, segments: Sequence[Segment]) -> None:
        if not self.abilities.needs_mt:
            return
        missing = next((number for number, one in enumerate(segments, start=1) if one.mt is None), None)
        if missing is not None:
            raise DataError(
                f"this model corrects translations and has no first stage to write them: segment {missing} has no mt"
            )

    def _results(
        self,
        segments: Sequence[EncodedSegment],
        skipped: Sequence[Skipped | None],
        find: Callable[[Sequence[int]], Sequence[list[Hypothesis] | None]],
        config: SearchConfig,
        detail: Detail | None,
    ) -> list[PostEdit]:
        """Return the results of all segments; `find` is asked for the rows of those that are not skipped."""
        asked = [row for row, reason in enumerate(skipped) if reason is None]
        found = find(asked)
        evidence = self._evidence([segments[row] for row in asked], found, config, detail)
        results = [
            unchanged(segment.mt, reason or "no memory") for segment, reason in zip(segments, skipped, strict=True)
        ]
        for row, hypotheses, why in zip(asked, found, evidence, strict=True):
            if hypotheses is not None:
                results[row] = to_post_edit(self.processor, segments[row].mt, hypotheses, why)
        return results

    def _evidence(
        self,
        segments: Sequence[EncodedSegment],
        found: Sequence[list[Hypothesis] | None],
        config: SearchConfig,
        detail: Detail | None,
    ) -> Sequence[Evidence | None]:
        if detail is None:
            return [None] * len(segments)
        from postedit.editing.evidence import EvidenceExtraction

        extract = EvidenceExtraction(self.model, self.processor, config.batch_tokens, detail)
        return extract(segments, [None if hypotheses is None else hypotheses[0] for hypotheses in found])


def _places(device: Device | Sequence[Device] | None) -> list[torch.device]:
    default: Device = "cuda" if torch.cuda.is_available() else "cpu"
    given = [device or default] if device is None or isinstance(device, (str, torch.device)) else device
    return [torch.device(place) for place in given]
