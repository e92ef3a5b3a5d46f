"""Routes for files and their segments."""

import asyncio
from typing import IO, Annotated, Any, Final

from fastapi import APIRouter, Depends, Query, Request, UploadFile
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import Field

from postedit.core.errors import DataError
from postedit.files.marked_text import CodeKind
from postedit.serve import api_answers as api
from postedit.serve.accounts import Access, AccessDep
from postedit.serve.api_answers import answering
from postedit.serve.api_models import ERRORS, conflict
from postedit.serve.api_types import Body, Id, ListOf, PlainText, Search, SegmentNumber, Small, download
from postedit.serve.http_errors import HttpError, request_id_of
from postedit.serve.segment_codes import ApiCode
from postedit.serve.service import unless_gone
from postedit.serve.store_decisions import DecidedState, DecisionIn, StaleVersionError
from postedit.serve.store_segments import Field as TextField
from postedit.serve.store_segments import Filter

router = APIRouter(prefix="/v1", tags=["files"], responses=ERRORS)

_LONGEST: Final = 100_000  # characters of a target
_MOST_PROPOSALS: Final = 200  # of one request
_UNREAD: Final = conflict("The file is still being read.")

FilterQuery = Annotated[Filter | None, Query(alias="filter", description="which segments; all if not given")]
FieldQuery = Annotated[
    TextField, Query(alias="from", description="text in which `q` is looked for; all three if empty")
]


class CodeIn(Body):
    """An inline code in a target; the opening and closing codes of a pair share one id."""

    at: Small = Field(description="position in the target, in code points")
    id: PlainText = Field(max_length=20)
    kind: CodeKind
    label: PlainText = Field("", description="ignored")


class EditDecision(Body):
    """A decision on one edit of the proposal."""

    edit: Small = Field(description="number of the edit in the proposal, from 0")
    accepted: bool


class SavedSegment(Body):
    """A decision on a segment, to be saved."""

    target: PlainText = Field(max_length=_LONGEST)
    codes: ListOf[CodeIn] = Field([], max_length=10_000, description="inline codes of the target, in order")
    state: DecidedState = Field(
        description="seen: looked at; open: the target is discarded, so that the segment has its proposal again"
    )
    version: Small = Field(description="version of the segment that the decision was made on")
    edit_id: PlainText = Field(
        min_length=1,
        max_length=64,
        description="chosen by the client, such as a UUID; an id used before for the same segment changes nothing",
    )
    decisions: ListOf[EditDecision] = Field([], max_length=10_000)
    proposal: PlainText | None = Field(None, description="text of the proposal that was decided on")
    seconds: float | None = Field(None, ge=0, le=86_400, description="working time, if the person agreed to the timer")


class Numbers(Body):
    """Segments for which proposals are asked."""

    numbers: list[Small] = Field(min_length=1, max_length=_MOST_PROPOSALS)
    evidence: bool = Field(True, description="with reasons for the edits, which takes longer")


class Presence(Body):
    """The segment that a person works on."""

    number: Small = Field(description="number of the segment; 0: no segment any more")


async def _one_file(request: Request, file: UploadFile) -> UploadFile:
    """Return the file of a form.

    Raises:
        HttpError: 422 if there are several files, of which only the last one would be kept.
    """
    count = len((await request.form()).getlist("file"))
    if count > 1:
        raise HttpError(422, f"the form has {count} parts named file, and one is allowed; send each file by itself")
    return file


OneFile = Annotated[UploadFile, Depends(_one_file)]
"""The only file of a form."""


@router.post("/projects/{project}/files", status_code=202, **answering(api.Uploaded, 202))
async def upload(project: Id, file: OneFile, access: AccessDep) -> dict[str, Any]:
    """Add a translation file (XLIFF, TMX or PO); a job then reads its segments and makes proposals."""

    def add() -> dict[str, Any]:
        job = receive(access, project, file, "import")
        return {"file": access.store.files.get(job["file"]), "job": job}

    return await access.at_length(add)


def receive(access: Access, project: str, file: UploadFile, kind: Any) -> dict[str, Any]:
    """Store a file in a project, and return the new job that works on it.

    Raises:
        HttpError: 413 if the file is too large; 403 or 404 if the caller may not add it.
        DataError: if its format is not known.
    """
    access.project(project, "files")
    most = access.service.config.limits.file_bytes
    if file.size is not None and file.size > most:
        raise HttpError(413, f"the file has {file.size:,} bytes; at most {most:,} are allowed")
    with access.store.database.change(project, access.caller.name) as change:
        name = access.store.files.create(change, file.filename or "", file.file)
        job = access.store.jobs.add(change, kind, name)
    access.service.jobs.wake_soon()
    return access.store.jobs.get(job)


@router.get("/projects/{project}/files", **answering(api.FileList))
def list_files(project: Id, access: AccessDep) -> dict[str, Any]:
    """Return the files of a project, the latest first."""
    return {"files": access.store.files.of_project(access.project(project, "read"))}


@router.get("/files/{file}", **answering(api.FileOut))
def get_file(file: Id, access: AccessDep) -> dict[str, Any]:
    """Return a file, with the progress of the work on it."""
    access.file(file, "read")
    return access.store.files.get(file)


@router.delete("/files/{file}", status_code=204)
async def delete_file(file: Id, access: AccessDep) -> None:
    """Delete a file permanently, with its segments and decisions; what was learnt from it stays."""

    def delete() -> None:
        access.file(file, "manage")
        access.store.files.delete(file, access.caller.name)

    await access.at_length(delete)


@router.get("/files/{file}/download", response_class=StreamingResponse, responses=_UNREAD)
async def download_file(
    file: Id, access: AccessDep, all: Annotated[bool, Query(description="with unconfirmed proposals")] = False
) -> StreamingResponse:
    """Return a file with the confirmed targets; everything else is byte for byte that of the original."""

    def write() -> tuple[IO[bytes], str]:
        name = _ready(access, file)["name"]
        return access.store.exports.file(file, proposals=all), name

    return download(*await access.at_length(write), "application/octet-stream")


@router.get("/files/{file}/segments", **answering(api.SegmentPage))
def list_segments(
    file: Id,
    access: AccessDep,
    after: Annotated[Small, Query(description="only segments with higher numbers")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    only: FilterQuery = None,
    q: Search = "",
    field: FieldQuery = "",
) -> dict[str, Any]:
    """Return a page of segments in order; `next` is `after` of the next page, and only the first page has `total`."""
    access.file(file, "read")
    return access.store.segments.page(file, after=after, limit=limit, only=only, text=q, field=field)


@router.get("/files/{file}/segments/index", **answering(api.SegmentNumbers))
def list_numbers(
    file: Id, access: AccessDep, only: FilterQuery = None, q: Search = "", field: FieldQuery = ""
) -> dict[str, Any]:
    """Return the numbers of all segments that match a filter and a search."""
    access.file(file, "read")
    return {"numbers": access.store.segments.numbers(file, only=only, text=q, field=field)}


@router.get("/files/{file}/segments/{number}", **answering(api.SegmentOut))
def get_segment(file: Id, number: SegmentNumber, access: AccessDep) -> dict[str, Any]:
    """Return a segment."""
    access.file(file, "read")
    return access.store.segments.get(file, number)


@router.get("/files/{file}/segments/{number}/history", **answering(api.History))
def get_history(file: Id, number: SegmentNumber, access: AccessDep) -> dict[str, Any]:
    """Return all decisions on a segment, in order."""
    access.file(file, "read")
    return {"history": access.store.segments.history(file, number)}


@router.get("/files/{file}/segments/{number}/matches", **answering(api.MatchList))
def get_matches(file: Id, number: SegmentNumber, access: AccessDep) -> dict[str, Any]:
    """Return the corrections of the project most similar to a segment, best first; `score` is from 0 to 1."""
    row = access.file(file, "read")
    segment = access.store.segments.get(file, number)
    found = access.store.matches.find(row["project"], segment["src"], segment["mt"], segment["correction"])
    return {"matches": found}


@router.put(
    "/files/{file}/segments/{number}",
    response_model=None,
    responses={
        200: {"model": api.Saved},
        409: {"model": api.Conflict, "description": "The segment has changed since."},
    },
)
def save_segment(file: Id, number: SegmentNumber, asked: SavedSegment, access: AccessDep, request: Request) -> Any:
    """Save a decision on a segment; a confirmed target is learnt from, and an `edit_id` sent again changes nothing."""
    row = access.file(file, "files")
    # The decision teaches the project something, or undoes what an earlier one taught.
    if asked.state == "confirmed" or access.store.segments.get(file, number)["correction"] is not None:
        access.caller.require("learn", row["project"])
    given = DecisionIn(
        asked.target,
        [ApiCode(code.at, code.id, code.kind) for code in asked.codes],
        asked.state,
        asked.version,
        asked.edit_id,
        [one.model_dump() for one in asked.decisions],
        asked.proposal,
        asked.seconds,
    )
    try:
        found = access.store.decisions.save(file, number, given, access.caller.name)
    except StaleVersionError as error:
        problem = {"code": "conflict", "message": str(error), "request_id": request_id_of(request)}
        return JSONResponse({"error": problem, "segment": error.segment}, 409)
    return {"segment": found.segment, "filled": found.filled, "correction": found.correction}


@router.post("/files/{file}/proposals", response_model=None, responses={200: {"model": api.ProposalsOut}, **_UNREAD})
async def propose(file: Id, asked: Numbers, request: Request, access: AccessDep) -> dict[str, Any]:
    """Return proposals for segments that take all corrections so far into account.

    The work is cancelled if the client disconnects.
    """
    row = await asyncio.to_thread(_ready, access, file)
    access.caller.require("edit", row["project"])
    work = access.service.jobs.proposer.renewed(row, asked.numbers, access.caller.share_holder, evidence=asked.evidence)
    found = await unless_gone(request, work)
    proposals = {
        str(one["number"]): {"proposal": one["proposal"], "codes": one["proposal_codes"], "learnt": one["learnt"]}
        for one in found
    }
    return {"proposals": proposals}


@router.post("/files/{file}/presence", status_code=204)
def presence(file: Id, asked: Presence, access: AccessDep) -> None:
    """Show others which segment the caller is working on."""
    row = access.file(file, "read")
    access.store.projects.show_presence(row["project"], access.caller.name, file, asked.number)


def _ready(access: Access, file: str) -> Any:
    row = access.file(file, "read")
    if row["state"] == "failed":
        raise DataError(row["error"])
    if row["state"] != "ready":
        raise HttpError(409, f"{row['name']} is still being read; try again in a moment")
    return row
