"""The facade: load a model, correct machine translation with it."""

import logging
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch

from postedit.combination import Combination, is_combination
from postedit.core.errors import DataError, ModelFolderError
from postedit.core.model import Seq2Seq
from postedit.decode import Ensemble, Hypothesis
from postedit.decode.ensemble import Space, check_weights
from postedit.decode.rescoring import Candidate, LogLinear, rank
from postedit.explain.evidence import Evidence
from postedit.features import featured
from postedit.folder import FILES, ModelFolder
from postedit.nn.inference import Precision, check_precision, prepare_for_inference
from postedit.recipe import DecodeConfig
from postedit.search import Segment, SegmentSearch, sides_of
from postedit.text.config import Side
from postedit.text.edits import Edit
from postedit.text.processor import TextProcessor
from postedit.text.steps import with_steps, without_steps
from postedit.text.swapped import seem_swapped

_log = logging.getLogger(__name__)

Device = torch.device | str


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
        features: what a combination of models weighs, by name: the score of each member, words, and words that the
            inputs do not have; None if they were not needed.
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
    features: Mapping[str, float] | None = None


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
        self.sources: tuple[Path, ...] = ()

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
                which are loaded with the settings of RUN/model; or one file that `postedit tune` wrote.
            device: where to run; a GPU if there is one, else the CPU. With several, members take turns.
            dtype: of weights and sums: "float32"; "bf16"; or "int8", weights of linear layers in eight bits, on a CPU.
            weights: of the members of an ensemble; equal ones if not given.
            space: whether an ensemble averages log-probabilities ("log") or probabilities ("probability").

        Raises:
            DataError: if there is no such dtype, or not on that device, or not one weight above 0 for each model.
            ModelFolderError: if a model cannot be had or is damaged, or the members of an ensemble do not fit.
        """
        if not models:
            raise ModelFolderError("no model given; name a model folder or a hub id")
        combination = _combination(models, weights)
        if weights is not None:
            check_weights(weights, len(models))
        places = _places(device)
        for place in places:
            check_precision(dtype, place)
        paths = [_find(model) for model in models] if combination is None else [one.path for one in combination.members]
        folders = [ModelFolder.load(path, places[number % len(places)]) for number, path in enumerate(paths)]
        _check_words(models if combination is None else paths, folders)
        if combination is not None:
            editor = cls._combined(combination, folders)
        elif len(folders) > 1:
            ensemble = Ensemble([folder.model for folder in folders], weights, space).eval()
            editor = cls(ensemble, folders[0].processor, folders[0].decode)
        else:
            editor = cls._of(folders[0])
        editor._prepare(dtype)
        editor.sources = tuple(paths) if combination is None else (Path(models[0]),)
        return editor

    from_pretrained = load

    @classmethod
    def _combined(cls, combination: Combination, folders: Sequence[ModelFolder]) -> "PostEditor":
        model = combination.search_model([folder.model for folder in folders])
        return cls(model, folders[0].processor, combination.decode, log_linear=combination.log_linear)

    def _prepare(self, precision: Precision) -> None:
        for part in self.model.parts():
            prepare_for_inference(part, precision)
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
        segments = [self._segment(texts, ids, row) for row in asked]
        search = SegmentSearch(self.model, self.processor, self.decode)
        found = self._candidates(search, segments, beam, n_best, budget)
        reasons = search.reasons(segments, list(map(_first, found)), budget) if evidence else [None] * len(found)
        for row, candidates, why in zip(asked, found, reasons, strict=True):
            text = mt[row]
            results[row] = _unchanged(text, "no memory") if candidates is None else self._render(text, candidates, why)
        finished = [result for result in results if result is not None]
        _warn(finished)
        return finished

    def _candidates(
        self, search: SegmentSearch, segments: Sequence[Segment], beam: int, n_best: int, budget: int
    ) -> list[list[Candidate] | None]:
        """Return the outputs of each segment, best first; None where memory does not suffice."""
        if self.log_linear is None:
            found = search.find(segments, beam, n_best, budget)
            return [None if one is None else [Candidate(hypothesis) for hypothesis in one] for one in found]
        lists = featured(search, self._free, segments, search.find(segments, beam, beam, budget), budget)
        return [None if one is None else rank(one, self.log_linear.weights)[:n_best] for one in lists]

    @property
    def _free(self) -> Sequence[str]:
        """The texts whose words the post-editing penalty does not count."""
        return ("mt",) if self.log_linear is None else self.log_linear.known

    def _segment(
        self, texts: Mapping[Side, Sequence[str]], ids: Mapping[Side, Sequence[Sequence[int]]], row: int
    ) -> Segment:
        mt = texts["mt"][row] if "mt" in texts else ""
        return Segment({side: ids[side][row] for side in texts}, mt, texts["src"][row])

    def score(
        self,
        src: Iterable[str],
        mt: Iterable[str] | None,
        outputs: Iterable[str],
        *,
        batch_tokens: int | None = None,
    ) -> list[PostEdit]:
        """Return the scores that the model gives to corrections it did not write.

        Under hard attention an output has many paths along mt; the score is that of the one training would take.

        Args:
            src: source segments.
            mt: their translations; None for a model that does not read them.
            outputs: a correction for each, which is returned as it is.
            batch_tokens: size of a batch in pieces; the model's own setting if not given.

        Returns:
            One PostEdit for each segment, in order, with `features`.

        Raises:
            DataError: if the texts are not equally many, the model needs mt and there is none, or `batch_tokens` is out
                of range.
        """
        budget = self.decode.batch_tokens if batch_tokens is None else batch_tokens
        texts = _check_request(src, mt, 1, 1, budget)
        given = _check_outputs(outputs, len(texts["src"]))
        if mt is None and "mt" in self.model.spec.inputs:
            raise DataError("this model corrects translations: give it the mt that the outputs are corrections of")
        before = texts.get("mt") or [""] * len(given)
        ids = {side: self.processor.encode_batch(side, segments) for side, segments in texts.items()}
        paths = self._paths(ids, given)
        results = [
            self._skip(texts, ids, row) or self._skip_output(before[row], path) for row, path in enumerate(paths)
        ]
        asked = [row for row, result in enumerate(results) if result is None]
        segments = [self._segment(texts, ids, row) for row in asked]
        search = SegmentSearch(self.model, self.processor, self.decode)
        forced = search.force(segments, [paths[row] for row in asked], budget)
        found = featured(search, self._free, segments, forced, budget)
        for row, candidates in zip(asked, found, strict=True):
            text = before[row]
            results[row] = _unchanged(text, "no memory") if candidates is None else self._render(text, candidates, None)
        scored = [result for result in results if result is not None]
        return [_as_given(result, mt, output) for result, mt, output in zip(scored, before, given, strict=True)]

    def _paths(self, ids: Mapping[Side, Sequence[list[int]]], outputs: Sequence[str]) -> list[list[int]]:
        """Return what the model would have to write for each output, without EOS."""
        paths = self.processor.encode_batch("pe", outputs)
        if self.model.spec.writes == "steps":
            paths = [with_steps(*texts) for texts in zip(ids["mt"], paths, strict=True)]
        return [path[:-1] for path in paths]

    def _skip_output(self, mt: str, path: Sequence[int]) -> PostEdit | None:
        """Return what stands for an output that is too long, or None if it is not."""
        longest = self.model.spec.longest
        too_long = longest is not None and len(path) >= longest
        if too_long or len(without_steps(path)) >= self.decode.max_input:
            return _unchanged(mt, "too long")
        return None

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

    def _render(self, mt: str, candidates: Sequence[Candidate], evidence: Evidence | None) -> PostEdit:
        best, *others = (self._render_one(mt, candidate) for candidate in candidates)
        return replace(best, evidence=evidence, alternatives=tuple(others))

    def _render_one(self, mt: str, candidate: Candidate) -> PostEdit:
        hypothesis = candidate.hypothesis
        rendered = self.processor.render(mt, hypothesis.tokens)
        return PostEdit(
            rendered.text,
            rendered.changed,
            hypothesis.score,
            hypothesis.token_scores,
            rendered.edits,
            hypothesis.hit_limit,
            features=candidate.features,
        )

    def _own_folder(self) -> ModelFolder:
        """Read the folder again: the weights here may have been laid out or rounded for inference."""
        if len(self.sources) != 1 or self.log_linear is not None:
            raise ModelFolderError("this editor was not loaded from one model folder; save the members of an ensemble")
        return ModelFolder.load(self.sources[0])


def _unchanged(mt: str, reason: Literal["empty", "too long", "no memory"]) -> PostEdit:
    return PostEdit(mt, False, 0.0, (), (), skipped=reason)


def _first(candidates: Sequence[Candidate] | None) -> Sequence[Hypothesis] | None:
    return None if candidates is None else [candidates[0].hypothesis]


def _combination(models: Sequence[str | Path], weights: Sequence[float] | None) -> Combination | None:
    """Return the combination among the models, if there is one, which is then alone."""
    files = [model for model in models if is_combination(model)]
    if not files:
        return None
    if len(models) > 1 or weights is not None:
        raise DataError(
            f"{files[0]}: is a combination, which has its members and their weights in it; give no other models and no "
            "weights with it"
        )
    return Combination.load(Path(files[0]))


def _places(device: Device | Sequence[Device] | None) -> list[torch.device]:
    if device is None:
        return [torch.device("cuda" if torch.cuda.is_available() else "cpu")]
    devices = [device] if isinstance(device, (str, torch.device)) else device
    return [torch.device(each) for each in devices]


def _check_words(models: Sequence[str | Path], folders: Sequence[ModelFolder]) -> None:
    """See to it that members of an ensemble have the same words; it compares the vocabularies itself.

    Raises:
        ModelFolderError: if one divides text otherwise than the first.
    """
    for name, folder in zip(models, folders, strict=True):
        if _words(folder.processor) != _words(folders[0].processor):
            raise ModelFolderError(
                f"{name}: divides text into words in another way than {models[0]}; "
                "train the members of an ensemble with the same [text] section"
            )


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


def _check_outputs(outputs: Iterable[str], count: int) -> list[str]:
    if isinstance(outputs, str):
        raise DataError(
            "outputs are a list of texts, not a single string; write score(src=[...], mt=[...], outputs=[...])"
        )
    given = list(outputs)
    if len(given) != count:
        raise DataError(f"src has {count} segments and there are {len(given)} outputs; they must match one to one")
    for number, output in enumerate(given, start=1):
        if not isinstance(output, str):
            raise DataError(f"output {number} is not text but {output!r}")
    return given


def _as_given(result: PostEdit, mt: str, output: str) -> PostEdit:
    """Return a scored output as it was given: with edits of words only where the model would write it just so."""
    if result.text == output:
        return result
    whole = (Edit("replace", (0, len(mt)), (0, len(output))),) if output != mt else ()
    return replace(result, text=output, changed=output != mt, edits=whole)


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
