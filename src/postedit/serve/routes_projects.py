"""Routes for projects: settings, glossary, corrections, progress, audit log, members, events, export, deletion."""

import re
from functools import partial
from tempfile import TemporaryFile
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query, Request, UploadFile
from fastapi.responses import Response, StreamingResponse
from pydantic import Field

from postedit.core.errors import DataError
from postedit.serve import api_answers as api
from postedit.serve.accounts import Access, AccessDep, access_now, may_still
from postedit.serve.api_answers import answering
from postedit.serve.api_models import ERRORS, ErrorResponse
from postedit.serve.api_types import (
    Body,
    EntryNumber,
    Id,
    Language,
    Large,
    Name,
    PlainText,
    Search,
    download,
    event_response,
)
from postedit.serve.correction_imports import read_corrections
from postedit.serve.http_errors import HttpError
from postedit.serve.store_exports import entry_json
from postedit.serve.store_people import Role
from postedit.serve.store_projects import StaleGlossaryError, glossary_tag
from postedit.text.span_patterns import KINDS, Kind

router = APIRouter(prefix="/v1/projects", tags=["projects"], responses=ERRORS)

Limit = Annotated[int, Query(ge=1, le=1000, description="maximum number of results")]
BEFORE: Final = "only entries with lower numbers; if not given, the latest ones"


class NewProject(Body):
    """A project, which has files of one language pair, and what is learnt from them."""

    name: Name
    source_language: Language = ""
    target_language: Language = ""
    model: Annotated[PlainText, Field(max_length=64, description="name of a model; empty: the default one")] = ""
    protect: list[Kind] = Field(list(KINDS), max_length=32, description="kinds of spans that edits must keep")
    min_confidence: float = Field(0.0, ge=0, le=1, description="edits with less confidence are reverted")


class NewSettings(Body):
    """Project settings to change; the others stay as they are."""

    name: Name | None = None
    source_language: Language | None = None
    target_language: Language | None = None
    model: Annotated[PlainText, Field(max_length=64)] | None = None
    protect: list[Kind] | None = Field(None, max_length=32)
    min_confidence: float | None = Field(None, ge=0, le=1)


class Membership(Body):
    """The role of a user in a project."""

    role: Role | None = Field(description="reader, translator or manager; null: no role")


@router.get("", **answering(api.ProjectList))
def list_projects(access: AccessDep) -> dict[str, Any]:
    """Return the projects that the caller may see."""
    return {"projects": access.store.projects.all(access.caller.visible)}


@router.post("", status_code=201, **answering(api.OwnProject, 201))
def create_project(asked: NewProject, access: AccessDep) -> dict[str, Any]:
    """Create a project."""
    access.caller.require("manage")
    _check_model(access, asked.model)
    return _shown(access.store.projects.create(asked.model_dump(), access.caller.name, access.caller.user), access)


@router.get("/{project}", **answering(api.OwnProject))
def get_project(project: Id, access: AccessDep) -> dict[str, Any]:
    """Return a project, with the caller's role in it."""
    return _shown(access.project(project, "read"), access)


@router.patch("/{project}", **answering(api.OwnProject))
def change_project(project: Id, asked: NewSettings, access: AccessDep) -> dict[str, Any]:
    """Change some settings of a project; null changes nothing."""
    access.project(project, "manage")
    given = {name: value for name, value in asked.model_dump(exclude_unset=True).items() if value is not None}
    _check_model(access, given.get("model", ""))
    access.store.projects.change(project, given, access.caller.name)
    return _shown(project, access)


def _shown(project: str, access: Access) -> dict[str, Any]:
    return {**access.store.projects.get(project), "role": access.caller.role(project)}


@router.delete("/{project}", status_code=204)
async def delete_project(project: Id, access: AccessDep) -> None:
    """Delete a project permanently, with its files, decisions and corrections."""

    def delete() -> None:
        access.store.projects.delete(access.project(project, "manage"), access.caller.name)

    await access.at_length(delete)


@router.get("/{project}/export", response_class=StreamingResponse)
async def export_project(project: Id, access: AccessDep) -> StreamingResponse:
    """Return a zip archive of a project: original and translated files, corrections, glossary and audit log."""
    archive = await access.at_length(lambda: access.store.exports.project(access.project(project, "manage")))
    return download(archive, f"{project}.zip", "application/zip")


_TABLE_OUT: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"text/tab-separated-values": {"schema": {"type": "string"}}}}
}


@router.get("/{project}/glossary", response_class=Response, responses=_TABLE_OUT)
def get_glossary(project: Id, access: AccessDep) -> Response:
    """Return the glossary of a project as tab-separated values; `ETag` identifies this state of it."""
    text = access.store.projects.row(access.project(project, "read"))["glossary"]
    return Response(text, headers=_tagged(text), media_type="text/tab-separated-values")


def _tagged(glossary: str) -> dict[str, str]:
    return {"ETag": f'"{glossary_tag(glossary)}"'}


_TABLE: Final = {"requestBody": {"content": {"text/tab-separated-values": {"schema": {"type": "string"}}}}}


@router.put(
    "/{project}/glossary",
    openapi_extra=_TABLE,
    response_model=None,
    responses={
        200: {"model": api.GlossarySaved},
        412: {"model": ErrorResponse, "description": "The glossary is not the one that If-Match names."},
    },
)
async def set_glossary(
    project: Id,
    request: Request,
    response: Response,
    access: AccessDep,
    if_match: Annotated[str, Header(description="the ETag of the glossary that is replaced; any if not given")] = "",
) -> dict[str, Any]:
    """Replace the glossary of a project: lines of source, tab and target, or a tab-separated table with a header."""
    text = await _text_of(request)
    access = await access_now(request, access.service)
    # A proxy that compresses may append the method to the tag.
    known = None if if_match.strip() in ("", "*") else re.findall(r'"([0-9a-f]{32})', if_match)

    def save() -> int:
        of_project = access.project(project, "manage")
        try:
            return access.store.projects.set_glossary(of_project, text, access.caller.name, known)
        except StaleGlossaryError as error:
            raise HttpError(412, str(error), "changed") from None

    saved = {"entries": await access.at_length(save)}
    response.headers.update(_tagged(text))
    return saved


@router.get("/{project}/corrections", **answering(api.CorrectionPage))
def list_corrections(
    project: Id,
    access: AccessDep,
    before: Annotated[Large | None, Query(description=BEFORE)] = None,
    limit: Limit = 100,
    q: Search = "",
) -> dict[str, Any]:
    """Return the corrections of a project, the latest first."""
    access.project(project, "read")
    found = access.store.projects.corrections(project, limit + 1, before, q)
    listed = [{**entry_json(entry), "undone": undone} for entry, undone in found[:limit]]
    return {"corrections": listed, "next": listed[-1]["number"] if len(found) > limit else None}


@router.get("/{project}/corrections/export", response_class=StreamingResponse)
def export_corrections(project: Id, access: AccessDep) -> StreamingResponse:
    """Return the corrections of a project that have not been undone, as JSON Lines."""
    lines = access.store.exports.corrections(access.project(project, "read"))
    return StreamingResponse(lines, media_type="application/jsonl")


@router.post("/{project}/corrections/import", openapi_extra=_TABLE, **answering(api.Imported))
async def import_corrections(project: Id, request: Request, access: AccessDep) -> dict[str, Any]:
    """Add corrections, all or none, from tab-separated lines of src, mt and pe, or from JSON Lines as exported.

    The first line of a table may name its columns. A correction with a time (`made`) is not added again if the project
    has it already, from an earlier import for instance.
    """

    def save() -> dict[str, Any]:
        corrections, who = read_corrections(file, access.caller.name), access.caller.name
        added = access.store.projects.import_corrections(access.project(project, "manage"), corrections, who)
        first, last = (added[0], added[-1]) if added else (None, None)
        return {"added": len(added), "known": len(corrections) - len(added), "first": first, "last": last}

    with TemporaryFile() as file:
        body = UploadFile(file)  # it writes without blocking the event loop
        async for part in request.stream():
            await body.write(part)
        await body.seek(0)
        access = await access_now(request, access.service)
        return await access.at_length(save)


@router.delete("/{project}/corrections", **answering(api.Deleted))
async def delete_corrections(project: Id, access: AccessDep) -> dict[str, Any]:
    """Delete everything that a project has learnt, permanently; files and decisions stay."""

    def delete() -> int:
        return access.store.projects.delete_corrections(access.project(project, "manage"), access.caller.name)

    return {"deleted": await access.at_length(delete)}


@router.post("/{project}/corrections/{number}/undo", **answering(api.Undone))
def undo_correction(project: Id, number: EntryNumber, access: AccessDep) -> dict[str, Any]:
    """Undo a correction: models behave as if they had never learnt it."""
    access.project(project, "learn")
    return {"number": access.store.projects.undo_correction(project, number, access.caller.name)}


@router.get("/{project}/progress", **answering(api.ProgressOut))
def progress(project: Id, access: AccessDep) -> dict[str, Any]:
    """Return figures of the work in a project: by day, by person, and by kind of edit."""
    return access.store.progress.of(access.project(project, "read"))


@router.get("/{project}/audit", **answering(api.AuditPage))
def audit(
    project: Id,
    access: AccessDep,
    before: Annotated[Large | None, Query(description=BEFORE)] = None,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Return the audit log of a project: what was done, and by whom, the latest first."""
    found = access.store.projects.audit(access.project(project, "manage"), limit, before)
    return {"entries": found, "next": found[-1]["id"] if len(found) == limit else None}


@router.get("/{project}/members", **answering(api.MemberList))
def list_members(project: Id, access: AccessDep) -> dict[str, Any]:
    """Return the members of a project."""
    return {"members": access.store.people.members(access.project(project, "manage"))}


@router.put("/{project}/members/{user}", status_code=204)
def set_member(project: Id, user: Id, asked: Membership, access: AccessDep) -> None:
    """Set the role of a user in a project, or remove it."""
    access.store.people.set_role(access.project(project, "manage"), user, asked.role, access.caller.name)


@router.get("/{project}/events", response_class=StreamingResponse)
def events(
    project: Id,
    request: Request,
    access: AccessDep,
    after: Annotated[
        Large | None, Query(description="number of the last known event; if not given, only new events follow")
    ] = None,
    last_event_id: Annotated[str, Header()] = "",
) -> StreamingResponse:
    """Stream the events of a project as they happen, as server-sent events.

    The first event is `reset` if the last known event does not exist, since an older backup was restored: read
    everything again then. Only managers learn whose role an event of the kind `member` is about.
    """
    access.project(project, "read")
    known = int(last_event_id) if re.fullmatch(r"\d{1,15}", last_event_id, re.ASCII) else after
    if known is None:
        known = access.store.projects.last_events([project]).get(project, 0)
    is_manager = access.caller.may("manage", project)
    is_allowed = partial(may_still, "manage" if is_manager else "read", request, project)
    return event_response(access.service.events.stream(project, known, is_allowed, is_manager))


@router.get("/{project}/events.json", **answering(api.EventList))
def poll_events(
    project: Id,
    access: AccessDep,
    after: Annotated[Large, Query(description="number of the last event that is known")] = 0,
    limit: Limit = 500,
) -> dict[str, Any]:
    """Return the events of a project after a number, in order.

    If `last` is lower than the last known event, an older backup was restored: read everything again then.
    """
    access.project(project, "read")
    found = access.store.projects.events(project, after, limit, access.caller.may("manage", project))
    last = access.store.projects.last_events([project])[project]
    return {"events": found, "last": last}


def _check_model(access: Access, model: str) -> None:
    models = access.service.config.models
    if model and model not in models:
        raise DataError(f"model: there is no model {model!r} here; there are {', '.join(models)}")


async def _text_of(request: Request) -> str:
    try:
        text = (await request.body()).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"the body is not UTF-8, from byte {error.start + 1} on") from None
    if "\0" in text:
        raise DataError("the body has a NUL character; remove it")
    return text
