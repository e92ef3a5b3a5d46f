"""Routes for jobs: their progress, and the post-editing of whole files without the workbench."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import IO, Annotated, Any, Final

from fastapi import APIRouter, Form, Request
from fastapi.responses import StreamingResponse
from pydantic import Field

from postedit.serve import api_answers as api
from postedit.serve.accounts import Access, AccessDep, may_still
from postedit.serve.api_answers import answering
from postedit.serve.api_models import ERRORS, conflict
from postedit.serve.api_types import Id, download, event_response
from postedit.serve.event_hub import CHECK_SECONDS, server_sent
from postedit.serve.http_errors import HttpError
from postedit.serve.routes_files import OneFile, receive
from postedit.serve.settings import DEFAULT_PROJECT
from postedit.serve.store_base import NotFoundError
from postedit.serve.store_jobs import OPEN

router = APIRouter(prefix="/v1", tags=["jobs"], responses=ERRORS)

_POLL_SECONDS: Final = 0.5

ProjectForm = Annotated[
    str, Form(pattern="^[A-Za-z0-9_-]{1,32}$"), Field(description="project whose settings and corrections apply")
]


@router.post("/jobs", status_code=202, **answering(api.JobOut, 202))
async def post_edit_file(file: OneFile, access: AccessDep, project: ProjectForm = DEFAULT_PROJECT) -> dict[str, Any]:
    """Start a job that post-edits a translation file; once it is done, get the file by GET /v1/jobs/{id}/result."""
    return await access.at_length(lambda: receive(access, project, file, "edit"))


@router.get("/projects/{project}/jobs", **answering(api.JobList))
def list_jobs(project: Id, access: AccessDep) -> dict[str, Any]:
    """Return the most recent jobs of a project, the latest first."""
    return {"jobs": access.store.jobs.of_project(access.project(project, "read"))}


@router.get("/jobs/{job}", **answering(api.JobOut))
def get_job(job: Id, access: AccessDep) -> dict[str, Any]:
    """Return a job, with its progress."""
    return access.job(job, "read")


@router.delete("/jobs/{job}", status_code=204)
def cancel_job(job: Id, access: AccessDep) -> None:
    """Cancel a job that is not done."""
    access.job(job, "files")
    access.store.jobs.cancel(job, access.caller.name)


@router.get("/jobs/{job}/events", response_class=StreamingResponse)
def job_events(job: Id, request: Request, access: AccessDep) -> StreamingResponse:
    """Stream the progress of a job as server-sent events, until the job ends."""
    project = access.job(job, "read")["project"]
    return event_response(_progress(access, job, partial(may_still, "read", request, project)))


@router.get(
    "/jobs/{job}/result",
    response_class=StreamingResponse,
    responses=conflict("The job has no result, or none yet; the message says which."),
)
async def job_result(job: Id, access: AccessDep) -> StreamingResponse:
    """Return the file that a job has post-edited."""
    written = await access.at_length(lambda: _result(access, job))
    return download(*written, "application/octet-stream")


def _result(access: Access, job: str) -> tuple[IO[bytes], str]:
    row = access.job(job, "read")
    if row["state"] in OPEN:
        raise HttpError(409, f"the job has done {row['done']} of {row['total']} segments; wait until it is done")
    if row["state"] != "done":
        raise HttpError(409, f"the job has no result: it {row['state']} {row['error']}".strip())
    name = access.store.files.row(row["file"])["name"]
    return access.store.exports.file(row["file"], proposals=True), name


async def _progress(access: Access, job: str, is_allowed: Callable[[], bool]) -> AsyncIterator[str]:
    before, checks = None, round(CHECK_SECONDS / _POLL_SECONDS)
    for turn in itertools.count(1):
        if access.service.stopping.is_set() or (turn % checks == 0 and not await asyncio.to_thread(is_allowed)):
            return
        try:
            row = await asyncio.to_thread(access.store.jobs.get, job)
        except NotFoundError:
            return
        if row != before:
            yield server_sent("job", row)
            before = row
        if row["state"] not in OPEN:
            return
        await asyncio.sleep(_POLL_SECONDS)
