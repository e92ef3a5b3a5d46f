"""The facade: load a model, correct machine translation with it."""

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path

import torch

from postedit import shipped
from postedit.core.errors import DataError, ModelFolderError
from postedit.core.model import Seq2Seq
from postedit.editing.correction import PostEdit, Skipped, as_given, rendered_list, unchanged, warn
from postedit.editing.demands import Demands
from postedit.editing.loading import Loaded, load_models
from postedit.editing.request import Wish, check_outputs, check_request, check_reverting, check_wishes
from postedit.editing.searching import Searcher, required_of
from postedit.editing.segments import Segment, Segmenter
from postedit.editing.windows import Detail, WindowSearch
from postedit.folder import ModelFolder, content_fingerprint
from postedit.gate.edit_features import Judged, judge
from postedit.gate.gate import Gate, Identity
from postedit.gate.reverting import keep_confident
from postedit.nn.inference import Precision, check_precision, prepare_for_inference
from postedit.recipe import DecodeConfig
from postedit.search import Sampling, SearchSettings
from postedit.search.ensemble import Space
from postedit.search.rescoring import Candidate, LogLinear
from postedit.text.config import Side
from postedit.text.processor import TextProcessor
from postedit.text.swapped_sides import seem_swapped
from postedit.text.words import splitter

__all__ = ["PostEdit", "PostEditor"]

Device = torch.device | str


class PostEditor:
    """A trained model with its text processing, ready to correct machine translation."""

    def __init__(
        self,
        model: Seq2Seq,
        processor: TextProcessor,
        decode: DecodeConfig,
        draft: "PostEditor | None" = None,
        log_linear: LogLinear | None = None,
    ) -> None:
        """Put the parts together; `load` is the usual way to get one.

        `draft` translates src where no mt is given. With `log_linear`, what search finds is ranked anew by it.
        """
        self.model, self.processor, self.decode, self.draft = model, processor, decode, draft
        self.log_linear = log_linear
        self.sources: tuple[Path, ...] = ()  # the files and folders it was loaded from
        self.precision: Precision = "float32"

    @classmethod
    def load(
        cls,
        *models: str | Path,
        device: Device | Sequence[Device] | None = None,
        dtype: Precision = "float32",
        weights: Sequence[float] | None = None,
        space: Space = "log",
    ) -> "PostEditor":
        """Load a model folder, or a model from the Hugging Face hub, or several as an ensemble, or a combination.

        An ensemble has the search settings of its first member.

        Args:
            models: paths of folders or hub ids ("name/model"); files of weights of a run (RUN/best/*.safetensors),
                which are loaded with the settings of RUN/model; or one file that `postedit tune` wrote. The model that
                comes with postedit, English to Chinese, if there are none.
            device: where to run; a GPU if there is one, else the CPU. With several, members take turns.
            dtype: of weights and sums: "float32"; "bf16"; or "int8", weights of linear layers in eight bits, on a CPU.
            weights: of the members of an ensemble; equal ones if not given.
            space: whether an ensemble averages log-probabilities ("log") or probabilities ("probability").

        Raises:
            ModelFolderError: if a model cannot be had or is damaged, or the members of an ensemble do not fit.
            DataError: if there is not one weight above 0 for each model, or no such dtype, or not on that device.
        """
        places = _places(device)
        for place in places:
            check_precision(dtype, place)
        editor = cls._of(load_models(models or (shipped.MODEL,), places, weights, space))
        editor._prepare(dtype)
        return editor

    from_pretrained = load

    @classmethod
    def _of(cls, loaded: Loaded) -> "PostEditor":
        draft = None if loaded.draft is None else cls._of(loaded.draft)
        editor = cls(loaded.model, loaded.processor, loaded.decode, draft, loaded.log_linear)
        editor.sources = loaded.sources
        return editor

    def _prepare(self, precision: Precision) -> None:
        self.precision = precision
        for part in self.model.parts():
            prepare_for_inference(part, precision)
        if self.draft is not None:
            self.draft._prepare(precision)

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
        n_best: int | None = None,
        search: SearchSettings | None = None,
        prefix: Sequence[str] | None = None,
        required: Sequence[Sequence[str]] | None = None,
        batch_tokens: int | None = None,
        evidence: bool | Detail = False,
        gate: Gate | None = None,
        min_confidence: float = 0.0,
    ) -> list[PostEdit]:
        """Correct the translations `mt` of `src`; or translate, if the model can.

        Args:
            src: source segments.
            mt: their translations, one each. A model that does not read them can do without, and so can one with a
                first stage, which then writes a draft to correct.
            beam: hypotheses kept a segment; that of `search` if not given. 1 is greedy search.
            n_best: how many corrections a segment, the further ones as `alternatives`; at most `beam`.
            search: how to search; the model's own settings, `decode.search()`, if not given.
            prefix: what each correction begins with, in characters: it may end within a word. Empty: anything.
            required: words and phrases that each correction must have. Such segments are searched with a beam that is
                wider than those have pieces, whatever `beam` is.
            batch_tokens: size of a batch in pieces; the model's own setting if not given.
            evidence: what to return of the reasons for each output: "attention"; "reasons" or True, also runners-up and
                what it would be without either text; "losses", also, if it is changed, without each word of src.
            gate: what decides which edits are returned; the others are taken back.
            min_confidence: edits of less confidence are taken back: less probability under the model; with a gate, of
                making mt better, and the gate may ask for more.

        Returns:
            One PostEdit for each segment, in order.

        Raises:
            DataError: if `src` and `mt` are not equally many texts, the model needs mt and there is none, an option is
                out of range, or edits are to be taken back where there is no mt, of several corrections a segment, or
                where words are required or banned.
            ModelFolderError: if the model's weights are damaged so that it gives no output a probability; or the gate
                was made for another model or other settings.
        """
        settings = self.decode.search() if search is None else search
        beam = settings.beam if beam is None else beam
        settings = replace(settings, beam=beam, n_best=settings.n_best if n_best is None else n_best)
        budget = self.decode.batch_tokens if batch_tokens is None else batch_tokens
        texts = check_request(src, mt, budget)
        wishes = check_wishes(len(texts["src"]), prefix, required)
        if mt is None and self.needs_mt:
            raise DataError("this model corrects translations and has no first stage to write them: give it mt")
        if gate is not None or min_confidence > 0.0:
            check_reverting(mt is not None, settings, wishes, min_confidence)
        if gate is not None:
            gate.check(self.identity(settings))
            edits = self._edit(texts, wishes, settings, budget, evidence or "attention")
            judged = self._judge(texts, edits, budget)
            edits = [gate.rule(*one, min_confidence) for one in zip(texts["mt"], judged, strict=True)]
            return edits if evidence else [replace(edit, evidence=None) for edit in edits]
        if mt is None and self.draft is not None:
            drafts = self.draft.edit(texts["src"], batch_tokens=batch_tokens)
            texts["mt"] = [draft.text for draft in drafts]
            edits = self._edit(texts, wishes, settings, budget, evidence)
            return [
                replace(edit, draft=draft.text, skipped=draft.skipped or edit.skipped)
                for edit, draft in zip(edits, drafts, strict=True)
            ]
        edits = self._edit(texts, wishes, settings, budget, evidence)
        if min_confidence > 0.0:
            edits = [keep_confident(*one, min_confidence) for one in zip(texts["mt"], edits, strict=True)]
        return edits

    def check_search(self, settings: SearchSettings, *, with_mt: bool) -> None:
        """Find out before long work whether segments, with or without mt, can be searched for in this way.

        Raises:
            DataError: if outputs are to be compared with an mt that is not there, a combination has no beam to rank, or
                a word cannot be written in the pieces of the model.
        """
        if settings.needs_mt and not with_mt:
            raise DataError("keep, edit_cost and max_edits compare outputs with mt: give it, or leave them out")
        if self.log_linear is not None and settings.beam == 1:
            raise DataError("a combination ranks the outputs of a beam, so that beam must be at least 2, not 1")
        Searcher(self.model, self.processor, settings)

    @property
    def drafts(self) -> bool:
        """Whether greedy search takes mt for a draft, and so can do with a shortlist of pieces."""
        return self.model.spec.parallel and self.log_linear is None

    def judge(
        self,
        src: Iterable[str],
        mt: Iterable[str],
        *,
        search: SearchSettings | None = None,
        batch_tokens: int | None = None,
    ) -> list[Judged]:
        """Correct translations, and return with each correction what a gate is to know of it.

        Raises:
            DataError, ModelFolderError: as `edit`.
        """
        settings = replace(self.decode.search() if search is None else search, n_best=1)
        budget = self.decode.batch_tokens if batch_tokens is None else batch_tokens
        texts = check_request(src, mt, budget)
        wishes = check_wishes(len(texts["src"]), None, None)
        check_reverting(True, settings, wishes, 0.0)
        return self._judge(texts, self._edit(texts, wishes, settings, budget, "attention"), budget)

    def identity(self, search: SearchSettings | None = None) -> Identity:
        """Return what a gate has to be made for, to serve this editor when it searches with `search`."""
        settings = asdict(self.decode.search() if search is None else search)
        settings |= {"dtype": self.precision, "ensemble": self.model.extra_repr()}
        return Identity(self._fingerprints, settings)

    @cached_property
    def _fingerprints(self) -> tuple[str, ...]:
        return tuple(content_fingerprint(source) for source in self.sources)

    def _judge(
        self, texts: Mapping[Side, Sequence[str]], results: Sequence[PostEdit], batch_tokens: int
    ) -> list[Judged]:
        reads_mt = "mt" in self.model.spec.inputs

        def score(src: Sequence[str], mt: Sequence[str], outputs: Sequence[str]) -> list[PostEdit]:
            return self.score(src, mt if reads_mt else None, outputs, batch_tokens=batch_tokens)

        return judge(texts["src"], texts["mt"], results, score)

    def seem_swapped(self, src: Sequence[str], mt: Sequence[str]) -> bool:
        """Return whether src and mt clearly seem to have changed places; see `text.swapped`."""
        return seem_swapped(self.processor, src, mt)

    def _edit(
        self,
        texts: Mapping[Side, Sequence[str]],
        wishes: Sequence[Wish],
        settings: SearchSettings,
        budget: int,
        evidence: bool | Detail,
    ) -> list[PostEdit]:
        """Edit texts of src and mt, or of src alone, as if all mt were empty."""
        with_mt = "mt" in texts
        self.check_search(settings, with_mt=with_mt)
        segments = self._segmenter.segments(texts, wishes)
        skipped = [self._segmenter.why_skipped(segment, with_mt=with_mt) for segment in segments]
        search = self._search(settings, budget)
        results = self._answers(
            search, segments, skipped, lambda rows: search.find([segments[row] for row in rows]), evidence
        )
        words = splitter(self.processor.config.tokenizer, self.processor.config.tgt_lang)
        results = [
            Demands(segment.prefix, required_of(segment, settings), words).meet(segment.mt, result)
            for segment, result in zip(segments, results, strict=True)
        ]
        warn(results)
        return results

    def draw(
        self, src: Iterable[str], mt: Iterable[str] | None, sampling: Sampling, *, batch_tokens: int | None = None
    ) -> list[PostEdit]:
        """Return outputs drawn at random, by how probable the model finds them, where `edit` looks for the best.

        Random numbers come from the default generator of torch on the model's device (`torch.manual_seed`). Of the
        search settings, those of length alone are heeded; the members of a combination draw as an ensemble.

        Args:
            src: source segments.
            mt: their translations; None for a model that does not read them.
            sampling: how to draw, and how many outputs a segment.
            batch_tokens: size of a batch in pieces; the model's own setting if not given.

        Returns:
            One PostEdit for each segment, in order, with further outputs as `alternatives`; some may be the same.

        Raises:
            DataError: if the texts are not equally many, the model needs mt and there is none, or `batch_tokens` is out
                of range.
            ModelFolderError: if the model's weights are damaged so that it gives no output a probability.
        """
        budget = self.decode.batch_tokens if batch_tokens is None else batch_tokens
        texts = check_request(src, mt, budget)
        if mt is None and "mt" in self.model.spec.inputs:
            raise DataError("this model corrects translations: give it the mt that it is to draw corrections of")
        segments = self._segmenter.segments(texts, check_wishes(len(texts["src"]), None, None))
        skipped = [self._segmenter.why_skipped(segment, with_mt=mt is not None) for segment in segments]
        search = self._search(self.decode.search(), budget)
        return self._answers(
            search, segments, skipped, lambda rows: search.draw([segments[row] for row in rows], sampling), False
        )

    def score(
        self,
        src: Iterable[str],
        mt: Iterable[str] | None,
        outputs: Iterable[str],
        *,
        batch_tokens: int | None = None,
        evidence: bool | Detail = False,
    ) -> list[PostEdit]:
        """Return the scores that the model gives to corrections it did not write.

        Under hard attention an output has many paths along mt; the score is that of the one training would take.

        Args:
            src: source segments.
            mt: their translations; None for a model that does not read them.
            outputs: a correction for each, which is returned as it is.
            batch_tokens: size of a batch in pieces; the model's own setting if not given.
            evidence: what to return of how the model reads each output, as `edit` does.

        Returns:
            One PostEdit for each segment, in order, with `features`.

        Raises:
            DataError: if the texts are not equally many, the model needs mt and there is none, or `batch_tokens` is out
                of range.
        """
        budget = self.decode.batch_tokens if batch_tokens is None else batch_tokens
        texts = check_request(src, mt, budget)
        given = check_outputs(outputs, len(texts["src"]))
        if mt is None and "mt" in self.model.spec.inputs:
            raise DataError("this model corrects translations: give it the mt that the outputs are corrections of")
        segments = self._segmenter.segments(texts, check_wishes(len(given), None, None))
        paths = self._segmenter.paths(segments, given)
        skipped = [
            self._segmenter.why_skipped(segment, with_mt=mt is not None) or self._segmenter.why_not_scored(path)
            for segment, path in zip(segments, paths, strict=True)
        ]
        search = self._search(self.decode.search(), budget)

        def force(rows: Sequence[int]) -> list[list[Candidate] | None]:
            forced = search.force([segments[row] for row in rows], [paths[row] for row in rows])
            return [None if candidate is None else [candidate] for candidate in forced]

        results = self._answers(search, segments, skipped, force, evidence)
        return [
            as_given(result, segment.mt, output)
            for result, segment, output in zip(results, segments, given, strict=True)
        ]

    @property
    def _segmenter(self) -> Segmenter:
        return Segmenter(self.model, self.processor, self.decode.max_input)

    def _search(self, settings: SearchSettings, budget: int) -> WindowSearch:
        return WindowSearch(self.model, self.processor, settings, budget, self.log_linear)

    def _answers(
        self,
        search: WindowSearch,
        segments: Sequence[Segment],
        skipped: Sequence[Skipped | None],
        find: Callable[[Sequence[int]], Sequence[list[Candidate] | None]],
        evidence: bool | Detail,
    ) -> list[PostEdit]:
        """Return what comes of all segments: of those that are not skipped, what `find` finds for their rows."""
        asked = [row for row, reason in enumerate(skipped) if reason is None]
        found = find(asked)
        reasons = search.evidence([segments[row] for row in asked], found, evidence)
        results = [
            unchanged(segment.mt, reason or "no memory") for segment, reason in zip(segments, skipped, strict=True)
        ]
        for row, candidates, why in zip(asked, found, reasons, strict=True):
            if candidates is not None:
                results[row] = rendered_list(self.processor, segments[row].mt, candidates, why)
        return results

    def _own_folder(self) -> ModelFolder:
        """Read the folder again: the weights here may have been laid out or rounded for inference."""
        if len(self.sources) != 1:
            raise ModelFolderError("this editor was not loaded from one model folder; save the members of an ensemble")
        return ModelFolder.load(self.sources[0])


def _places(device: Device | Sequence[Device] | None) -> list[torch.device]:
    default: Device = "cuda" if torch.cuda.is_available() else "cpu"
    given = [device or default] if device is None or isinstance(device, (str, torch.device)) else device
    return [torch.device(place) for place in given]
