"""The facade: load a model, correct machine translation with it."""

import logging
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import torch
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError
from torch import Tensor

from postedit.combination import Combination, is_combination
from postedit.core.errors import DataError, ModelFolderError
from postedit.core.model import Seq2Seq
from postedit.core.symbols import BOS, EOS, PAD
from postedit.core.types import Batch, Stream
from postedit.data.batching import collate, length_batches
from postedit.decode import Ensemble, Hypothesis, SearchSettings, force
from postedit.decode.ensemble import Space, check_weights
from postedit.decode.rescoring import Candidate, LogLinear, rank
from postedit.explain.evidence import Evidence
from postedit.features import featured
from postedit.folder import FILES, ModelFolder
from postedit.recipe import DecodeConfig
from postedit.searching import Searcher, Segment
from postedit.text.config import Side
from postedit.text.edits import Edit
from postedit.text.processor import TextProcessor
from postedit.text.steps import with_steps, without_steps

_log = logging.getLogger(__name__)

_INPUTS: Final[tuple[Side, ...]] = ("src", "mt")

Device = torch.device | str

# What reading a model from the hub or writing one to it may end with; failing connections are OSErrors.
_HUB_ERRORS: Final = (HfHubHTTPError, HFValidationError, OSError)


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
        skipped: why the segment stays as it is: mt or another text the model reads is blank; or a side has more pieces
            than `decode.max_input`, or all together more than the model can read; or no output could be found that
            has, and has not, all that it must.
        evidence: attention behind the output, if asked for.
        alternatives: the next best corrections, best first, if asked for; no two with the same text. Then mt itself is
            always on the list, as the best one or here, with `changed` False and the score that the model gives it.
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
    skipped: Literal["empty", "too long", "impossible"] | None = None
    evidence: Evidence | None = None
    alternatives: tuple["PostEdit", ...] = ()
    draft: str | None = None
    features: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class _Wish:
    """What is demanded of one output: how it begins, and what it must have."""

    prefix: str = ""
    required: tuple[str, ...] = ()


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
        self._folder: ModelFolder | None = None

    @classmethod
    def load(
        cls,
        *models: str | Path,
        device: Device | Sequence[Device] | None = None,
        weights: Sequence[float] | None = None,
        space: Space = "log",
    ) -> "PostEditor":
        """Load a model folder, or a model from the Hugging Face hub, or several as an ensemble, or a combination.

        An ensemble has the search settings of its first member.

        Args:
            models: paths of folders or hub ids ("name/model"); files of weights of a run (RUN/best/*.safetensors),
                which are loaded with the settings of RUN/model; or one file that `postedit tune` wrote.
            device: where to run; a GPU if there is one, else the CPU. With several, members take turns.
            weights: of the members of an ensemble; equal ones if not given.
            space: whether an ensemble averages log-probabilities ("log") or probabilities ("probability").

        Raises:
            ModelFolderError: if a model cannot be had or is damaged, or the members of an ensemble do not fit.
            DataError: if there is not one weight above 0 for each model.
        """
        if not models:
            raise ModelFolderError("no model given; name a model folder or a hub id")
        if any(is_combination(model) for model in models):
            return cls._combined(models, device, weights)
        folders = _folders(models, device)
        if weights is not None:
            check_weights(weights, len(models))
        if len(folders) == 1:
            return cls._of(folders[0])
        ensemble = Ensemble([folder.model for folder in folders], weights, space).eval()
        return cls(ensemble, folders[0].processor, folders[0].decode)

    from_pretrained = load

    @classmethod
    def _combined(
        cls,
        models: Sequence[str | Path],
        device: Device | Sequence[Device] | None,
        weights: Sequence[float] | None,
    ) -> "PostEditor":
        if len(models) > 1 or weights is not None:
            raise DataError(
                f"{next(model for model in models if is_combination(model))}: is a combination, which has its members "
                "and their weights in it; give no other models and no weights with it"
            )
        combination = Combination.load(Path(models[0]))
        folders = _folders([member.path for member in combination.members], device)
        return cls(
            combination.search_model([folder.model for folder in folders]),
            folders[0].processor,
            combination.decode,
            log_linear=combination.log_linear,
        )

    @classmethod
    def _of(cls, folder: ModelFolder) -> "PostEditor":
        draft = None if folder.draft is None else cls._of(folder.draft)
        editor = cls(folder.model, folder.processor, folder.decode, draft)
        editor._folder = folder
        return editor

    def save_pretrained(self, path: str | Path) -> None:
        """Write the model folder; only a model or an empty folder at `path` is replaced.

        Raises:
            ModelFolderError: for an ensemble, which has none of its own.
            OutputError: if something else is at `path`, or it cannot be written.
        """
        self._own_folder().save(Path(path).resolve())

    def push_to_hub(self, repository: str, *, private: bool = False) -> str:
        """Upload the model folder to the Hugging Face hub as `repository` ("name/model"); return its address.

        Raises:
            ModelFolderError: for an ensemble, or if the hub refuses or cannot be reached.
            OutputError: if there is no room for a temporary copy.
        """
        folder = self._own_folder()
        with tempfile.TemporaryDirectory() as temporary:
            path = Path(temporary) / "model"
            folder.save(path)
            try:
                api = HfApi()
                api.create_repo(repository, private=private, exist_ok=True)
                return str(api.upload_folder(repo_id=repository, folder_path=path))
            except _HUB_ERRORS as error:
                raise ModelFolderError(f"{repository}: not uploaded to the hub: {_first_line(error)}") from None

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
        evidence: bool = False,
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
            evidence: whether to return the attention behind each output.

        Returns:
            One PostEdit for each segment, in order.

        Raises:
            DataError: if `src` and `mt` are not equally many texts, the model needs mt and there is none, or an
                option is out of range.
            ModelFolderError: if the model's weights are damaged so that it gives no output a probability.
        """
        settings = self.decode.search() if search is None else search
        beam = settings.beam if beam is None else beam
        settings = replace(settings, beam=beam, n_best=settings.n_best if n_best is None else n_best)
        budget = self.decode.batch_tokens if batch_tokens is None else batch_tokens
        texts = _check_request(src, mt, budget)
        wishes = _wishes(len(texts["src"]), prefix, required)
        if mt is None and self.needs_mt:
            raise DataError("this model corrects translations and has no first stage to write them: give it mt")
        if mt is not None or self.draft is None:
            return self._edit(texts, wishes, settings, budget, evidence)
        drafts = self.draft.edit(texts["src"], batch_tokens=batch_tokens)
        texts["mt"] = [draft.text for draft in drafts]
        refined = self._edit(texts, wishes, settings, budget, evidence)
        return [
            replace(edit, draft=draft.text, skipped=draft.skipped or edit.skipped)
            for edit, draft in zip(refined, drafts, strict=True)
        ]

    def _edit(
        self,
        texts: Mapping[Side, Sequence[str]],
        wishes: Sequence[_Wish],
        settings: SearchSettings,
        budget: int,
        evidence: bool,
    ) -> list[PostEdit]:
        """Edit texts of src and mt, or of src alone, as if all mt were empty."""
        if settings.needs_mt and "mt" not in texts:
            raise DataError("keep, edit_cost and max_edits compare outputs with mt: give it, or leave them out")
        mt = texts.get("mt") or [""] * len(texts["src"])
        n_best = settings.n_best
        listed_for = settings if self.log_linear is None else replace(settings, n_best=settings.beam)
        searcher = Searcher(self.model, self.processor, listed_for)
        ids = {side: self.processor.encode_batch(side, segments) for side, segments in texts.items()}
        results = [self._skip(texts, ids, row) for row in range(len(mt))]
        asked = [row for row, result in enumerate(results) if result is None]
        lengths = np.array([max(len(segments[row]) for segments in ids.values()) for row in asked], dtype=np.int64)
        for group in length_batches(lengths, max(1, budget // settings.beam)):
            rows = [asked[number] for number in group]
            written = [mt[row] for row in rows]
            batch = self._batch(ids, rows)
            segments = [Segment(texts["src"][row], mt[row], wishes[row].prefix, wishes[row].required) for row in rows]
            lists = searcher.search(batch, segments)
            if self.log_linear is None:
                found = [list(map(Candidate, one)) for one in lists]
            else:
                listed = self._featured(batch, texts, rows, lists)
                found = [rank(candidates, self.log_linear.weights)[:n_best] for candidates in listed]
            evidences: Iterable[Evidence | None] = [None] * len(rows)
            if evidence:
                evidences = self._evidence(batch, [best.hypothesis for best, *_ in found])
            for row, text, candidates, reasons in zip(rows, written, found, evidences, strict=True):
                results[row] = self._render(text, candidates, reasons)
        finished = [result for result in results if result is not None]
        _warn(finished)
        return finished

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
        texts = _check_request(src, mt, budget)
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
        lengths = np.array(
            [max(len(segments[row]) for segments in [*ids.values(), paths]) for row in asked], dtype=np.int64
        )
        for group in length_batches(lengths, budget):
            rows = [asked[number] for number in group]
            batch = self._batch(ids, rows)
            forced = force(self.model, batch, [paths[row] for row in rows])
            found = self._featured(batch, texts, rows, [[one] for one in forced])
            for row, (candidate,) in zip(rows, found, strict=True):
                results[row] = self._render_one(before[row], candidate)
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
            return PostEdit(mt, False, 0.0, (), (), skipped="too long")
        return None

    def _featured(
        self,
        batch: Batch,
        texts: Mapping[Side, Sequence[str]],
        rows: Sequence[int],
        found: Sequence[Sequence[Hypothesis]],
    ) -> list[list[Candidate]]:
        """Return what was found for `rows` of the texts with the features of a log-linear model."""
        segments = [{side: segments[row] for side, segments in texts.items()} for row in rows]
        free = ("mt",) if self.log_linear is None else self.log_linear.known
        return featured(self.model, self.processor, free, batch, segments, found)

    def _skip(
        self, texts: Mapping[Side, Sequence[str]], ids: Mapping[Side, Sequence[Sequence[int]]], row: int
    ) -> PostEdit | None:
        """Return what stands for a segment that the model is not asked about, or None if it is."""
        mt = texts["mt"][row] if "mt" in texts else ""
        if any(not texts[side][row].strip() for side in texts if side == "mt" or side in self._sides()):
            return PostEdit(mt, False, 0.0, (), (), skipped="empty")
        longest = self.model.spec.longest
        together = sum(len(ids[side][row]) for side in self._sides())
        too_long = longest is not None and together > longest
        if too_long or max(len(segments[row]) for segments in ids.values()) > self.decode.max_input:
            return PostEdit(mt, False, 0.0, (), (), skipped="too long")
        return None

    def _sides(self) -> list[Side]:
        """Return the texts that the model reads."""
        return [side for side in _INPUTS if side in self.model.spec.inputs]

    def _batch(self, ids: Mapping[Side, Sequence[Sequence[int]]], rows: Sequence[int]) -> Batch:
        sides = self._sides()
        return collate({side: [ids[side][row] for row in rows] for side in sides}, sides).to(self.device)

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

    def _render(self, mt: str, candidates: Sequence[Candidate], evidence: Evidence | None) -> PostEdit:
        best, *others = (self._render_one(mt, candidate) for candidate in candidates)
        return replace(best, evidence=evidence, alternatives=tuple(others))

    def _render_one(self, mt: str, candidate: Candidate) -> PostEdit:
        hypothesis = candidate.hypothesis
        if hypothesis.stuck:
            return PostEdit(mt, False, 0.0, (), (), skipped="impossible")
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
        if self._folder is None:
            raise ModelFolderError("this editor was not loaded from one model folder; save the members of an ensemble")
        return self._folder


def _folders(models: Sequence[str | Path], device: Device | Sequence[Device] | None) -> list[ModelFolder]:
    """Load models that go together, on the devices in turn.

    Raises:
        ModelFolderError: if one cannot be had or is damaged, or divides text into words otherwise than the first.
    """
    default: Device = "cuda" if torch.cuda.is_available() else "cpu"
    places = [device or default] if device is None or isinstance(device, (str, torch.device)) else list(device)
    folders = [ModelFolder.load(_find(model), places[i % len(places)]) for i, model in enumerate(models)]
    for name, folder in zip(models, folders):
        # Ensemble compares the vocabularies themselves.
        if _words(folder.processor) != _words(folders[0].processor):
            raise ModelFolderError(
                f"{name}: divides text into words in another way than {models[0]}; "
                "train the members of an ensemble with the same [text] section"
            )
    return folders


def _find(model: str | Path) -> Path:
    path = Path(model)
    if path.exists():
        return path
    if str(model).count("/") != 1 or str(model).startswith((".", "/", "~")):
        raise ModelFolderError(f"{model}: no such model folder")
    try:
        return Path(snapshot_download(str(model), allow_patterns=list(FILES)))
    except _HUB_ERRORS as error:
        raise ModelFolderError(f"{model}: no such folder, and the hub does not give it: {_first_line(error)}") from None


def _words(processor: TextProcessor) -> dict[str, Any]:
    """Return the settings by which text becomes words."""
    return processor.config.model_dump(exclude={"vocabulary"})


def _first_line(error: Exception) -> str:
    """Return the first line of what an error says; those of the hub have many."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _check_request(src: Iterable[str], mt: Iterable[str] | None, batch_tokens: int) -> dict[Side, list[str]]:
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
    if batch_tokens < 1:
        raise DataError(f"batch_tokens must be at least 1, not {batch_tokens}")
    return texts


def _wishes(count: int, prefix: Sequence[str] | None, required: Sequence[Sequence[str]] | None) -> list[_Wish]:
    """Return what is demanded of each of `count` outputs, once that is found to be sound."""
    beginnings = [""] * count if prefix is None else prefix
    phrases: Sequence[Sequence[str]] = [()] * count if required is None else required
    for name, given in (("prefix", beginnings), ("required", phrases)):
        if isinstance(given, str) or len(given) != count:
            raise DataError(f"{name} must be a list with one entry for each of the {count} segments, not {given!r:.80}")
    for number, one in enumerate(phrases, start=1):
        if isinstance(one, str) or not all(isinstance(phrase, str) and phrase.strip() for phrase in one):
            raise DataError(f"segment {number}: required must be a list of words or phrases, not {one!r:.80}")
    return [_Wish(text, tuple(one)) for text, one in zip(beginnings, phrases, strict=True)]


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
    cut = sum(result.hit_limit for result in results)
    if cut:
        _log.warning(
            "%d of %d outputs reached the maximum length (decode.max_ratio, decode.max_extra) and may be cut off",
            cut,
            len(results),
        )
    too_long = sum(result.skipped == "too long" for result in results)
    if too_long:
        _log.warning(
            "%d of %d segments are too long (for decode.max_input, or the model) and stay as they are",
            too_long,
            len(results),
        )
    impossible = [number for number, result in enumerate(results, start=1) if result.skipped == "impossible"]
    if impossible:
        _log.warning(
            "%d of %d segments stay as they are, because nothing can be written that is required and nowhere banned; "
            "the first one is segment %d",
            len(impossible),
            len(results),
            impossible[0],
        )
