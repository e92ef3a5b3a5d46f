"""Routes that edit segments, learn from corrections, and score outputs."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from anyio import to_thread
from fastapi import APIRouter, Request

from postedit.adapt.correction import Correction, Decision
from postedit.core.editor import Constraints, PostEdit, Segment
from postedit.core.errors import DataError
from postedit.serve import api_models as api
from postedit.serve.accounts import Access, CallerDep
from postedit.serve.api_models import edited_json
from postedit.serve.backlog import TooLargeError
from postedit.serve.inline_markup import MarkedSegment, Markup
from postedit.serve.service import ServiceDep, unless_gone
from postedit.serve.service_logs import FIELDS
from postedit.serve.settings import LimitsConfig

_log = logging.getLogger(__name__)

router = APIRouter(prefix="/v1", tags=["editing"], responses=api.ERRORS)

T = TypeVar("T")

_LARGE: Final = 10_000
"""Characters of a request with inline codes above which they are read in a thread; this many take some 10 ms."""

_QUOTED: Final = 30
"""Characters of a text that an error message quotes."""


@router.post("/edit", response_model=api.EditResponse)
async def edit(asked: api.EditRequest, request: Request, service: ServiceDep, who: CallerDep) -> dict[str, Any]:
    """Correct machine translations.

    Segments of different requests may be edited in one batch; a request is answered when its last segment is done. The
    status is 429 if too much is waiting (Retry-After says when to try again), and 504 after `timeout_ms`.
    """
    who.require("edit", asked.project)
    check_texts(service.config.limits, [text for one in asked.segments for text in one.texts])
    check_count(service.config.limits, len(asked.segments))
    given = asked.segments
    marked = None if asked.markup == "plain" else await aside(given, marked_segments, given, asked.markup)
    segments = [
        Segment(
            one.src if marked is None else marked[row].segment.src,
            one.mt if marked is None else marked[row].segment.mt,
            Constraints(one.prefix, tuple(one.required)),
        )
        for row, one in enumerate(given)
    ]
    work = service.engine.edit(
        segments,
        model=asked.model,
        project=asked.project,
        n_best=asked.n_best,
        evidence=asked.evidence,
        min_confidence=asked.min_confidence,
        timeout=None if asked.timeout_ms is None else asked.timeout_ms / 1000,
        client=who.share_holder,
    )
    found = await unless_gone(request, work)
    if service.config.log.texts:
        _log_texts(segments, found.results)
    if marked is None:
        results = [_edited(one, result) for one, result in zip(segments, found.results, strict=True)]
    else:
        results = await aside(given, _all_with_codes, marked, found.results)
    return {"model": found.model, "fingerprint": found.fingerprint, "results": results}


@router.post("/learn", response_model=api.NumberResponse)
async def learn(asked: api.LearnRequest, service: ServiceDep, who: CallerDep) -> dict[str, int]:
    """Add a correction to a project, which applies it from the next request on.

    The response is sent once the correction is safe on the disk.
    """
    who.require("learn", asked.project)
    check_texts(service.config.limits, [asked.src, asked.mt, asked.pe])
    pairs = [Segment(asked.src, one) for one in (asked.mt, asked.pe)]
    if asked.markup != "plain":
        pairs = [one.segment for one in await aside(pairs, marked_segments, pairs, asked.markup)]
    decisions = tuple(Decision(one.start, one.end, one.text, one.accepted) for one in asked.decisions)
    correction = Correction(
        pairs[0].src,
        pairs[0].mt or "",
        pairs[1].mt or "",
        decisions=decisions,
        author=asked.author or who.name,
        project=asked.project,
        file=asked.file,
        unit=asked.unit,
    )
    add = partial(service.store.projects.add_corrections, asked.project, [correction], who.name)
    (number,) = await to_thread.run_sync(add)
    return {"number": number}


@router.post("/undo", response_model=api.NumberResponse)
async def undo(asked: api.UndoRequest, service: ServiceDep, who: CallerDep) -> dict[str, int]:
    """Undo a correction: from the next request on, the project behaves as if it had never learnt it."""
    who.require("learn", asked.project)
    undo_it = partial(service.store.projects.undo_correction, asked.project, asked.number, who.name)
    return {"number": await to_thread.run_sync(undo_it)}


@router.post("/score", response_model=api.ScoreResponse)
async def score(asked: api.ScoreRequest, service: ServiceDep, who: CallerDep) -> dict[str, Any]:
    """Score outputs, and the unedited MT if it is given, against human post-edits by TER, BLEU and chrF."""
    who.require("edit")
    texts = [*asked.hyp, *asked.pe, *(asked.mt or ())]
    check_texts(service.config.limits, texts)
    check_count(service.config.limits, len(asked.hyp))
    return await Access(service, who).with_texts(partial(_scores, asked), sum(map(len, texts)))


def check_texts(limits: LimitsConfig, texts: Sequence[str | None]) -> None:
    """Check that texts are valid and not too long.

    Raises:
        DataError: if one is too long, or has lone surrogates or a NUL character; the message quotes the first.
    """
    for text in filter(None, texts):
        which = f"the text that begins with {text[:_QUOTED]!r}"
        if len(text) > limits.characters:
            raise DataError(f"{which} has {len(text):,} characters, and {limits.characters:,} are the limit; divide it")
        if "\0" in text:
            raise DataError(f"{which} has a NUL character; remove it")
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                raise DataError(f"{which} has lone surrogates, which are not characters; remove them") from None


def check_count(limits: LimitsConfig, count: int) -> None:
    """Check the number of segments of a request.

    Raises:
        TooLargeError: if it is above `limits.segments`.
    """
    if count > limits.segments:
        raise TooLargeError(f"the request has {count:,} segments, and {limits.segments:,} are the limit; send fewer")


def _edited(segment: Segment, result: PostEdit) -> dict[str, Any]:
    return {**edited_json(_before(segment, result), result), "draft": result.draft}


def _before(segment: Segment, result: PostEdit) -> str:
    """Return the text whose spans a correction and its alternatives replace: mt, or the draft in its place."""
    return segment.mt if segment.mt is not None else result.draft or ""


async def aside(segments: Sequence[api.SegmentIn | Segment], work: Callable[..., T], *arguments: Any) -> T:
    """Return the result of work on some segments; long ones go to a thread, to keep the event loop free."""
    if sum(len(text) for one in segments for text in (one.src, one.mt or "")) < _LARGE:
        return work(*arguments)
    return await to_thread.run_sync(work, *arguments)


def marked_segments(segments: Sequence[api.SegmentIn | Segment], markup: Markup) -> list[MarkedSegment]:
    """Return segments with their inline codes; see `MarkedSegment.of`."""
    return [MarkedSegment.of(one.src, one.mt, markup) for one in segments]


def _all_with_codes(marked: Sequence[MarkedSegment], results: Sequence[PostEdit]) -> list[dict[str, Any]]:
    return [
        {**_with_codes(one, result, _before(one.segment, result)), "draft": result.draft}
        for one, result in zip(marked, results, strict=True)
    ]


def _with_codes(marked: MarkedSegment, result: PostEdit, before: str) -> dict[str, Any]:
    _, kept, given_up = marked.content(result)
    return {
        **edited_json(before, kept),
        "content": marked.written(result),
        "given_up": list(given_up),
        "alternatives": [_with_codes(marked, one, before) for one in result.alternatives],
    }


def _scores(asked: api.ScoreRequest) -> dict[str, Any]:
    from postedit.evaluate.scores import score_systems

    found = score_systems({"hyp": asked.hyp}, asked.pe, asked.mt, asked.tokenize)
    scores = [{"system": one.name, "ter": one.ter, "bleu": one.bleu, "chrf": one.chrf} for one in found]
    return {"scores": scores, "signatures": dict(found[0].signatures)}


def _log_texts(segments: Sequence[Segment], results: Sequence[PostEdit]) -> None:
    texts = [{"src": one.src, "mt": one.mt, "text": result.text} for one, result in zip(segments, results, strict=True)]
    _log.info("edited", extra={FIELDS: {"segments": texts}})
