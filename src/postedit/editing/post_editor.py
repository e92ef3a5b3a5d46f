"""The neural editor: load a model, an ensemble or a combination, and correct machine translation with it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from postedit.core.arguments import check_kind
from postedit.core.editor import (
    Abilities,
    Detail,
    Editor,
    Identity,
    PostEdit,
    Segment,
    Side,
    check_mt,
    check_outputs,
    segments_of,
)
from postedit.core.errors import DataError, ModelFolderError, first_line
from postedit.core.evidence import Evidence
from postedit.core.model import Seq2Seq
from postedit.core.search_config import SearchConfig
from postedit.editing.chained_editors import Drafted
from postedit.editing.constraints import GuidanceBuilder, required_of
from postedit.editing.loading import Loaded, choose, load_choice
from postedit.editing.results import to_post_edit, unchanged, with_text
from postedit.editing.search import SegmentSearch
from postedit.editing.segments import EncodedSegment, encode_segments
from postedit.editing.soundness import checked, without_damaged
from postedit.nn.inference import Precision, check_precision, evaluation_mode, prepare_for_inference
from postedit.releases.catalogue import default_model, pair_of
from postedit.saved_editor import SavedEditor
from postedit.search import Hypothesis, Sampling
from postedit.search.ensemble import Space
from postedit.search.rescoring import LogLinear
from postedit.text.hint_writer import NO_SOURCES
from postedit.text.processor import TextProcessor
from postedit.text.swapped_sides import seem_swapped
from postedit.text.words import Splitter, splitter

if TYPE_CHECKING:
    from postedit.editing.chained_editors import Chain
    from postedit.editing.pooled import Pooled
    from postedit.phrase.phrase_editor import PhraseEditor

__all__ = ["PostEdit", "PostEditor"]

Device = torch.device | str


class PostEditor(SavedEditor):
    """A trained model with its text processing."""

    def __init__(
        self,
        model: Seq2Seq,
        processor: TextProcessor,
        search: SearchConfig,
        log_linear: LogLinear | None = None,
        sources: tuple[Path, ...] = (),
    ) -> None:
        """Combine a model or ensemble with its text processing and its default search options.

        `log_linear`, if given, reranks the outputs of search; `sources` are the files and folders it was loaded from.
        """
        self.model, self.processor, self.search = model, processor, search
        self.log_linear, self.sources = log_linear, sources
        self.precision: Precision = "float32"
        self.hints = NO_SOURCES  # where the hints come from, for a model whose prompt shows them beside src and mt

    @classmethod
    def load(
        cls,
        *models: str | Path,
        device: Device | Sequence[Device] | None = None,
        dtype: Precision = "float32",
        weights: Sequence[float] | None = None,
        space: Space = "log",
    ) -> "PostEditor | TwoStage | PhraseEditor | Pooled | Chain":
        """Load one model, several models as an ensemble, or a combination, from disk or the Hugging Face hub.

        An ensemble uses the search options of its first member. Phrase-based models, and models whose target vocabulary
        differs from that of the first neural one, cannot be members of it and search on their own; the editor then
        chooses among the outputs of all models by the weighted sum of their scores.

        Args:
            models: model folders; hub ids ("name/model"); language pairs ("en-de"), which stand for models that come
                with postedit or were fetched by `postedit models fetch`; weight files of a training run
                (RUN/best/*.safetensors), loaded with the options of RUN/model; or a single file written by `postedit
                tune`. Without any, the English-Chinese model that comes with postedit.
            device: where to run; by default a GPU if there is one, else the CPU; members are spread over several.
            dtype: number type: "float32", "bf16", or "int8" (8-bit weights in linear layers, on a CPU only).
            weights: weights of the members of an ensemble; equal if not given.
            space: whether an ensemble averages log-probabilities ("log") or probabilities ("probability").

        Returns:
            A `PostEditor`; for a folder with a first stage, a `TwoStage` editor, which writes a draft where there is no
            mt; for a phrase-based model, a `PhraseEditor`, which ignores `device` and `dtype`; if some of several
            models search on their own, a `Pooled` editor; for a chain, a `Chain`.

        Raises:
            ModelFolderError: if a model is not found or is damaged, or the members of an ensemble are incompatible.
            DataError: if there is not one positive weight per model, or the device or dtype is unknown or unavailable.
        """
        if wrong := [model for model in models if not isinstance(model, str | Path)]:
            raise DataError(f"name each model by a text or path, several as further arguments, not {wrong[0]!r:.80}")
        devices = devices_of(device)
        for one in devices:
            check_precision(dtype, one)
        pair = pair_of(models)
        choice = choose(models or (default_model().folder,), weights, space)
        if any(choice.alone + choice.chains):
            from postedit.editing.members import load_others

            editor: PostEditor | TwoStage | PhraseEditor | Pooled | Chain = load_others(choice, devices, dtype)
        else:
            editor = cls.of(load_choice(choice, devices), dtype)
        editor.chosen_for(pair)
        return editor

    from_pretrained = load

    @classmethod
    def load_corrector(cls, *models: str | Path, device: Device | Sequence[Device] | None = None) -> "PostEditor":
        """Load the neural model that corrects mt, without the first stage that its folder may have; see `load`."""
        loaded = cls.load(*models, device=device)
        if isinstance(loaded, TwoStage):
            return loaded.inner
        if not isinstance(loaded, PostEditor):
            raise ModelFolderError(f"{models[0]}: is or has a phrase-based model or a chain; this needs neural ones")
        return loaded

    @classmethod
    def of(cls, loaded: Loaded, precision: Precision) -> "PostEditor | TwoStage":
        """Return the editor of a loaded model, prepared for inference."""
        editor = cls(loaded.model, loaded.processor, loaded.search, loaded.log_linear, loaded.sources)
        editor.precision = precision
        for part in loaded.model.parts():
            prepare_for_inference(part, precision)
        return editor if loaded.first_stage is None else TwoStage(cls.of(loaded.first_stage, precision), editor)

    @property
    def abilities(self) -> Abilities:
        """Abilities of the model."""
        return Abilities(
            needs_mt="mt" in self.model.spec.inputs,
            n_best=True,
            forced_scores=True,
            evidence=True,
            inputs=tuple(self.model.spec.inputs),
            attention=frozenset(self.model.spec.attention),
            languages=self._languages((self.processor.config.src_lang or "", self.processor.config.tgt_lang or "")),
            drafts=self.model.spec.parallel and self.log_linear is None,
            constraints=True,
            tokenises=self.processor.config.tokenizer != "none",
            hints=self.model.spec.hints.names,
        )

    def identity(self, search: SearchConfig | None = None) -> Identity:
        """Return the fingerprints of the model files, and the options that can change an output."""
        settings = {**(search or self.search).outcome(), **self.hints.settings}
        return Identity(self._fingerprints, {**settings, "dtype": self.precision, "ensemble": self.model.extra_repr()})

    @property
    def device(self) -> torch.device:
        """Device of the model."""
        return next(self.model.parameters()).device

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return one correction per segment, in order; see `Editor.edit_segments`."""
        config = search or self.search
        self.check(config, with_mt=any(segment.mt is not None for segment in segments) or not segments)
        encoded = self._encoded(segments, config)
        results = self._results(encoded, self._finder(config).find, config, evidence)
        language = self.abilities.languages[1]
        check = partial(checked, self.processor, language=language, corrects_mt=config.corrects_mt)
        return [
            check(one.segment, required_of(one.segment, config), result, config.banned)
            for one, result in zip(encoded, results, strict=True)
        ]

    def score_segments(
        self, segments: Sequence[Segment], outputs: Sequence[str], *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return the given outputs with their scores and `features`, one per segment.

        Under hard attention, an output has many paths along mt; the score is that of the path used in training.
        """
        check_outputs(segments, outputs)
        encoded = self._encoded(segments, self.search, outputs)
        results = self._results(encoded, self._finder(self.search).force, self.search, evidence)
        return [with_text(result, one.mt, text) for result, one, text in zip(results, encoded, outputs, strict=True)]

    def draw(
        self, src: Iterable[str], mt: Iterable[str] | None, sampling: Sampling, *, batch_tokens: int | None = None
    ) -> list[PostEdit]:
        """Return outputs sampled from the model, one PostEdit per segment with further outputs as `alternatives`.

        Random numbers come from PyTorch's default generator on the model's device (`torch.manual_seed`). Of the search
        options, only the limits of input and output and `batch_tokens` apply; members of a combination are sampled as
        an ensemble. Outputs may be equal. A blank one, or invalid UTF-8, is replaced by mt, `skipped` as "damaged",
        unless mt is only a text to read (`search.cut_input`).

        Raises:
            DataError: if the numbers of texts differ, mt is missing, or `batch_tokens` or `sampling` is wrong.
            ModelFolderError: if the model is damaged.
        """
        check_kind("sampling", sampling, Sampling, "a Sampling, such as Sampling(4)")
        config = self.search if batch_tokens is None else self.search.with_options(batch_tokens=batch_tokens)
        encoded = self._encoded(segments_of(src, mt), config)
        drawn = self._results(encoded, lambda asked: self._finder(config).draw(asked, sampling), config, None)
        if not config.corrects_mt:
            return drawn
        return [without_damaged(segment.mt, one) for segment, one in zip(encoded, drawn, strict=True)]

    def check(self, search: SearchConfig, *, with_mt: bool) -> None:
        """Check the search options, including those that a combination needs; see `Editor.check`."""
        super().check(search, with_mt=with_mt)
        if self.log_linear is not None and search.beam == 1:
            raise DataError("a combination ranks the outputs of a beam, so that beam must be at least 2, not 1")
        GuidanceBuilder(self.processor, search)

    def word_spans(self, side: Side, text: str) -> list[tuple[int, int]] | None:
        """Return the character spans of the words of a text, by the model's tokeniser; None if not known."""
        found = self._splitter(side).spans(text)
        return None if found is None else [(word.start, word.end) for word in found]

    def words(self, side: Side, text: str) -> list[str]:
        """Return the words of a text, by the model's tokeniser."""
        return self._splitter(side).words(text)

    def _splitter(self, side: Side) -> Splitter:
        config = self.processor.config
        return splitter(config.tokenizer, config.language(side))

    def seem_swapped(self, src: Sequence[str], mt: Sequence[str]) -> bool:
        """Return whether src and mt seem to be swapped; see `text.swapped_sides`."""
        return seem_swapped(self.processor, self.abilities.languages, src, mt)

    def _encoded(
        self, segments: Sequence[Segment], config: SearchConfig, outputs: Sequence[str] | None = None
    ) -> list[EncodedSegment]:
        check_mt(self.abilities, segments)
        limit, cut = config.max_input, config.cut_input
        return encode_segments(self.model, self.processor, segments, limit, outputs, cut=cut, hints=self.hints)

    def _finder(self, config: SearchConfig) -> SegmentSearch:
        return SegmentSearch(self.model, self.processor, config, self.log_linear)

    def _results(
        self,
        segments: Sequence[EncodedSegment],
        find: Callable[[Sequence[EncodedSegment]], Sequence[list[Hypothesis] | None]],
        config: SearchConfig,
        detail: Detail | None,
    ) -> list[PostEdit]:
        """Return the results of all segments in order; `find` is called with those that are not skipped."""
        asked = [segment for segment in segments if segment.skipped is None]
        # The caller may be in the middle of training, and `dtype` of `load` decides, not the caller's autocast.
        with evaluation_mode(self.model), torch.autocast(self.device.type, enabled=False):
            found = find(asked)
            evidence: Sequence[Evidence | None] = [None] * len(asked)
            if detail is not None:
                from postedit.editing.evidence_extraction import EvidenceExtraction

                extract = EvidenceExtraction(self.model, self.processor, config.batch_tokens, detail)
                evidence = extract(asked, [None if hypotheses is None else hypotheses[0] for hypotheses in found])
        rows = zip((one.mt for one in asked), found, evidence, strict=True)
        edited = (to_post_edit(self.processor, *row) for row in rows)
        return [
            unchanged(one.mt, one.skipped) if one.skipped is not None else replace(next(edited), input_cut=one.cut)
            for one in segments
        ]


class TwoStage(Drafted[PostEditor], SavedEditor):
    """A model with a first stage that writes drafts (Li et al. 2017)."""

    def __init__(self, first: Editor, second: PostEditor) -> None:
        """Combine a first stage, which needs no mt and uses its own search options, with an editor that corrects."""
        super().__init__(first, second)
        self.sources = second.sources

    @property
    def abilities(self) -> Abilities:
        """Abilities of the second stage, except that mt is not needed."""
        found = super().abilities
        return replace(found, languages=self._languages(found.languages))

    def _parts(self) -> Sequence[Editor]:
        return self.first, self.inner


def devices_of(device: Device | Sequence[Device] | None) -> list[torch.device]:
    """Return the devices to spread models over; by default a GPU if there is one, else the CPU.

    Raises:
        DataError: if a device is unknown or not available.
    """
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    given = [device] if isinstance(device, (str, torch.device)) else device
    if not isinstance(given, Sequence) or not given:
        raise DataError(f"device must be a device such as cpu or cuda:1, or a list of them, not {device!r:.80}")
    return [_device_of(one) for one in given]


def _device_of(name: Device) -> torch.device:
    try:
        torch.empty(0, device=(device := torch.device(name)))
    except (AssertionError, RuntimeError, TypeError) as error:  # AssertionError: this build of PyTorch lacks it
        raise DataError(
            f"device {name!r} cannot be used here ({first_line(error)}); give another one, such as cpu"
        ) from None
    return device
