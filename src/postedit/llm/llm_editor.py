"""`LlmEditor`: a language model behind an endpoint, with the interface of any other editor."""

import asyncio
import logging
import math
import re
import threading
import time
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from postedit.adapt.learning_editor import MemorySpec, SimilarCorrections
from postedit.adapt.remembering import Remembering
from postedit.core.edit_reasons import ErrorReason
from postedit.core.editor import (
    ENDPOINT,
    Abilities,
    Detail,
    Editor,
    EditorWrapper,
    Identity,
    PostEdit,
    Segment,
    Skipped,
)
from postedit.core.errors import DataError
from postedit.core.search_config import SearchConfig
from postedit.editing.pooled import Pooled
from postedit.editing.post_editor import PostEditor
from postedit.editing.quality_tags import QualityTags
from postedit.editing.results import keep_edits, unchanged
from postedit.llm.answer_selection import best_by_model, check_scorer, consensus, shares
from postedit.llm.answer_store import AnswerStore
from postedit.llm.asking import Asking, Wanted
from postedit.llm.chat_client import ChatClient
from postedit.llm.connection import check_client
from postedit.llm.endpoint_options import EndpointSpec, foreign_key
from postedit.llm.pacing import Budget, RateLimit
from postedit.llm.prices import Price, PriceTable
from postedit.llm.prompts import Prompt, Question
from postedit.llm.samples import Sample, sample_of
from postedit.llm.server_errors import Dialect
from postedit.text.glossary import Glossary
from postedit.text.hint_texts import TermHint
from postedit.text.swapped_sides import languages_seem_swapped
from postedit.text.words import compared_words

_log = logging.getLogger(__name__)

_UNSUPPORTED: Final = [
    name for name in SearchConfig.model_fields if name not in ("n_best", "max_input", "batch_tokens")
]
"""Search options that guide the search of local models; a model behind an endpoint searches by itself."""

DECISIVE: Final = (
    "segments", "temperature", "seed", "structure", "samples", "consensus", "languages", "extra_tokens", "least_kept"
)  # fmt: skip
"""Options of the section `llm` that can always change an output, whatever else is set."""

ResultT = TypeVar("ResultT")


class LlmEditor(Editor):
    """A language model behind an endpoint.

    Every answer is kept in the store of answers, so that it is paid for only once, whichever run needs it.

    Several threads may use one editor at a time. They share its budget, its limits per minute and its answers;
    `llm.concurrency` applies to each call, and an answer that two threads need at the same moment is paid for twice.
    With a memory (see `load_llm`), they take turns.
    """

    def __init__(
        self,
        spec: EndpointSpec,
        *,
        glossary: Glossary | None = None,
        memory: SimilarCorrections | None = None,
        scorer: Editor | None = None,
    ) -> None:
        """Create an editor from a model behind an endpoint.

        Args:
            spec: the model and the options of requests to it.
            glossary: glossary whose entries are shown for sources that contain their terms.
            memory: corrections of which the most similar are shown beside each segment.
            scorer: local model that chooses among the samples and mt; None for their consensus.

        Raises:
            RecipeError: if a file of prices or a prompt cannot be used, or httpx is not installed.
            DataError: if the endpoint, the scorer or the quality tags cannot be used, or the prompt does not show
                corrections of the memory.
            OutputError: if the store of answers cannot be opened.
        """
        config = spec.config
        self.spec, self._memory, self._scorer = spec, memory, scorer
        self.is_member = False  # whether a combination chooses among its answers
        self.prompt = Prompt.load(config.prompt, config.language_pair)
        self._glossary = self._shown(glossary)
        if memory is not None and not self.prompt.config.shows("examples"):
            raise DataError(
                f"{config.prompt}: has no field {{examples}} for corrections; leave --memory out, or add it"
            )
        self.prices = PriceTable.load(Path(config.prices)) if config.prices else None
        self.price: Price | None = self.prices.of(spec.model, Path(config.prices)) if self.prices else None
        self._tags = QualityTags(Path(config.tags), Path(config.tagged)) if config.tags else None
        if scorer is not None:
            check_scorer(scorer, config.scorer)
        self.store = AnswerStore(config.cache_file, spec.run, f"{spec.model} at {config.address}", config.least_kept)
        self.asking = Asking(spec, self.prompt, self.store)
        self._limit = RateLimit(config.requests_per_minute, config.tokens_per_minute, time.monotonic)
        self._budget = Budget(config.budget)
        self._scoring = threading.Lock()  # a scorer can serve one thread at a time
        self._dialect = Dialect()
        check_client(config)
        if warning := foreign_key(config):
            _log.warning(warning)

    def _shown(self, glossary: Glossary | None) -> Glossary | None:
        """Return the glossary if the prompt shows its terms; otherwise warn, and return None."""
        if glossary is None or self.prompt.config.shows("terms"):
            return glossary
        _log.warning(
            f"{self.spec.config.prompt}: has no field {{terms}}: the model does not see the terms of the glossary, "
            "which are at most protected in its outputs"
        )
        return None

    @property
    def abilities(self) -> Abilities:
        """Abilities of the editor: with a scorer, it scores given outputs; the errors that it names are its reasons."""
        names_errors = self.prompt.config.answer == "errors"
        return Abilities(
            forced_scores=self._scorer is not None,
            evidence=names_errors,
            reasons=names_errors,
            languages=self.spec.config.language_pair,
            token_search=False,
        )

    def seem_swapped(self, src: Sequence[str], mt: Sequence[str]) -> bool:
        """Return whether src and mt seem to be swapped, as far as `llm.languages` shows."""
        return languages_seem_swapped(self.abilities.languages, src, mt)

    def identity(self, search: SearchConfig | None = None) -> Identity:
        """Return the identity: model, endpoint, prompt and all options that can change an output."""
        config, scorer = self.spec.config, self._scorer
        settings: dict[str, Any] = {f"llm.{name}": getattr(config, name) for name in DECISIVE}
        settings["llm.prompt"] = self.prompt.signature
        settings["max_input"] = (search or self.search).max_input
        if self._memory is not None:
            settings |= {f"llm.{name}": getattr(config, name) for name in ("examples", "least_similarity")}
        if self._memory is not None or self._glossary is not None:
            settings["llm.context_tokens"] = config.context_tokens
        if self._glossary is not None:
            settings["llm.glossary"] = self._glossary.fingerprint
        if self._tags is not None:
            settings["llm.tags"] = self._tags.fingerprint
        if scorer is not None:
            settings["llm.scorer"] = list(scorer.identity().models)
        return Identity((f"{ENDPOINT}{self.spec.model} at {config.address}",), settings)

    def check(self, search: SearchConfig, *, with_mt: bool) -> None:
        """Check the search options before long work; see `Editor.check`."""
        super().check(search, with_mt=True)
        if not with_mt:
            raise DataError("a language model corrects translations here: give mt")
        refused = search.given(_UNSUPPORTED)
        if refused:
            raise DataError(
                f"search.{refused[0]} guides the search of models of your own, and a model behind an endpoint searches "
                "by itself: leave it out"
            )

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return one correction per segment; see `Editor.edit_segments`.

        The confidence of an edit is the share of the requested samples that make it.

        Raises:
            BudgetError: if the budget does not suffice; answers that were paid for are kept.
            EndpointError: if the endpoint cannot be used; answers that were paid for are kept.
            DataError: if a search option or a constraint of a segment cannot be used.
            OutputError: if answers cannot be saved.
        """
        config = search or self.search
        self.check(config, with_mt=all(segment.mt is not None for segment in segments))
        if any(segment.constraints for segment in segments):
            raise DataError("a model behind an endpoint takes no constraints (prefix, required words): leave them out")
        skipped = [why_skipped(segment, config.max_input) for segment in segments]
        asked = [segment for segment, why in zip(segments, skipped, strict=True) if why is None]
        found = iter(self._corrected(asked, with_reasons=evidence in ("reasons", "losses")))
        return [
            next(found) if why is None else unchanged(segment.mt or "", why)
            for segment, why in zip(segments, skipped, strict=True)
        ]

    def score_segments(
        self, segments: Sequence[Segment], outputs: Sequence[str], *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return the scores of given outputs by the scorer; see `Editor.score_segments`."""
        if self._scorer is None:
            return super().score_segments(segments, outputs, evidence=evidence)
        with self._scoring:
            return self._scorer.score_segments(segments, outputs)

    def questions(self, segments: Sequence[Segment]) -> list[Question]:
        """Return the question about each segment, with the corrections and terms shown beside it."""
        return [self._question(segment) for segment in segments]

    def _question(self, segment: Segment) -> Question:
        config, mt = self.spec.config, segment.mt or ""
        terms = [] if self._glossary is None else self._glossary.find(segment.src)
        hints = tuple(TermHint(one.entry.source, one.entry.targets, one.entry.forbidden) for one in terms)
        memory = self._memory
        near = memory.find(segment.src, mt, config.examples, config.least_similarity) if memory else []
        return Question(segment.src, mt, tuple(near), hints)

    def _client(self) -> ChatClient:
        schema = None if self.spec.config.structure == "none" else self.prompt.schema()
        return ChatClient(self.spec, schema, self.price, self.store, self._limit, self._budget, self._dialect)

    def samples_of(self, segments: Sequence[Segment]) -> list[list[PostEdit]]:
        """Return, for each segment, one correction per usable answer; equal answers are repeated."""
        samples = self._samples(segments)
        return [
            [self._result(segment, found, one.text) for one in found]
            for segment, found in zip(segments, samples, strict=True)
        ]

    def _samples(self, segments: Sequence[Segment]) -> list[list[Sample]]:
        questions, count = self.questions(segments), self.spec.config.samples
        wanted = [Wanted(question, sample) for sample in range(count) for question in questions]
        outcomes = _run(self.asking.ask_all(wanted, self._client))
        by_segment = [outcomes[place :: len(segments)] for place in range(len(segments))]
        return [
            [sample_of(segment.mt or "", one.item) for one in found if one.item is not None]
            for segment, found in zip(segments, by_segment, strict=True)
        ]

    def _corrected(self, segments: Sequence[Segment], *, with_reasons: bool) -> list[PostEdit]:
        samples = self._samples(segments)
        chosen = self._chosen(segments, samples)
        results = [self._result(*one) for one in zip(segments, samples, chosen, strict=True)]
        if not with_reasons:
            return results
        return [_with_reasons(*one) for one in zip(segments, samples, results, strict=True)]

    def _chosen(self, segments: Sequence[Segment], samples: Sequence[Sequence[Sample]]) -> list[str]:
        """Return the text chosen for each segment, by the scorer or by consensus."""
        texts = [[one.text for one in found] for found in samples]
        if self._scorer is not None:
            pairs = zip(segments, texts, strict=True)
            candidates = [list(dict.fromkeys([one.mt or "", *found])) for one, found in pairs]
            with self._scoring:
                return best_by_model(self._scorer, segments, candidates)
        metric = self.spec.config.consensus
        return [consensus(found, one.mt or "", metric) for one, found in zip(segments, texts, strict=True)]

    def _result(self, segment: Segment, samples: Sequence[Sample], text: str) -> PostEdit:
        mt = segment.mt or ""
        if not samples:
            return unchanged(mt, "no answer")
        edits = next((one.edits for one in samples if one.text == text), ())
        sure = tuple(shares(edits, text, [(one.text, one.edits) for one in samples], self.spec.config.samples))
        result = PostEdit(
            text,
            text != mt,
            token_scores=tuple(map(math.log, sure)),
            edits=edits,
            token_spans=tuple((number, number + 1) for number in range(len(edits))),
            confidences=sure,
        )
        if self._tags is None or not edits:
            return result
        spans = [found.span() for found in re.finditer(r"\S+", mt)]
        return keep_edits(mt, result, self._tags.allow(mt, spans, text, edits))


def load_llm(spec: EndpointSpec, glossary: Glossary | None = None, memory: MemorySpec | None = None) -> Editor:
    """Load a model behind an endpoint as an editor that is shown similar corrections from `memory`, if this is given.

    Raises:
        DataError: if the memory at that place is not the one that `memory` describes, or corrections have been deleted.
        See `LlmEditor` for others.
    """
    scorer = PostEditor.load(spec.config.scorer) if spec.config.scorer else None
    if memory is None:
        return LlmEditor(spec, glossary=glossary, scorer=scorer)
    known = SimilarCorrections()
    editor = LlmEditor(spec, glossary=glossary, memory=known, scorer=scorer)
    return Remembering(editor, known, memory.open(), options={"learn": "examples"}, position=memory.position)


def llm_of(editor: Editor) -> LlmEditor | None:
    """Return the model behind an endpoint that an editor is, wraps or has as a member; None if there is none."""
    while isinstance(editor, EditorWrapper):
        if isinstance(editor, Remembering):
            editor.follow()
        editor = editor.inner
    if isinstance(editor, Pooled):
        return next((found for one in editor.proposers if (found := llm_of(one)) is not None), None)
    return editor if isinstance(editor, LlmEditor) else None


def why_skipped(segment: Segment, longest: int) -> Skipped | None:
    """Return why the model is not asked about a segment; None if it is. `longest` is a number of words."""
    texts = (segment.src, segment.mt or "")
    if not all(text.strip() for text in texts):
        return "empty"
    return "too long" if max(len(compared_words(text)) for text in texts) > longest else None


def _with_reasons(segment: Segment, samples: Sequence[Sample], result: PostEdit) -> PostEdit:
    """Return a correction whose edits have as reasons the errors that the samples name at the same place in mt."""
    mt = segment.mt or ""
    named = list(dict.fromkeys(error for one in samples for error in one.errors if error.span.strip()))
    edits = []
    for edit in result.edits:
        start, end = edit.mt_span
        here = [one for one in named if any(at <= end and start <= at + len(one.span) for at in _places(mt, one.span))]
        reasons = tuple(ErrorReason(one.span, one.category, one.severity) for one in here)
        edits.append(replace(edit, reasons=reasons))
    return replace(result, edits=tuple(edits))


def _places(text: str, part: str) -> list[int]:
    return [found.start() for found in re.finditer(re.escape(part), text)]


def _run(work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Run a coroutine in a new event loop; in another thread if this one already runs a loop, as in notebooks."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)

    async def ended() -> ResultT:
        return await task

    def run() -> ResultT:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            return runner.run(ended())

    with ThreadPoolExecutor(1) as executor:
        try:
            return executor.submit(run).result()
        except BaseException:  # an interruption reaches only this thread, so cancel the work in the other one
            with suppress(RuntimeError):  # the loop is closed already if the work itself failed
                loop.call_soon_threadsafe(task.cancel)
            raise
