"""Routes about the service itself: health, readiness, metrics, models."""

import time
from typing import Any, Final

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST

from postedit.serve import api_answers as answers
from postedit.serve import api_models as api
from postedit.serve.accounts import CallerDep
from postedit.serve.api_answers import answering
from postedit.serve.service import Service, ServiceDep, unless_stopping

router = APIRouter(tags=["status"], responses=api.ERRORS)

_STARTED: Final = int(time.time())

_PATIENCE: Final = 2.0
"""Seconds that `/readyz` gives the database to answer."""

_REASONS: Final = {
    "stopping": "the service is about to stop",
    "starting": "a model has no process that is ready",
    "away": f"the database has not answered in {_PATIENCE:g} s, or its file was removed or replaced; requests that "
    "need it fail, and the log says why",
    "read_only": "the database is read-only (a standby server, or a file system mounted read-only); requests that "
    "change something fail",
}


@router.get("/healthz", **answering(answers.Health))
async def healthz() -> dict[str, str]:
    """Confirm that the process is alive."""
    return {"status": "ok"}


@router.get(
    "/readyz",
    response_model=None,
    responses={
        200: {"model": answers.Readiness},
        503: {"model": answers.Readiness, "description": "Not ready; `message` says why."},
    },
)
async def readyz(service: ServiceDep, response: Response) -> dict[str, Any]:
    """Report whether the service accepts requests.

    The status is 503 while a model has no process, while the database does not answer or is read-only, and once the
    service is about to stop.
    """
    models = {name: _state(service, name) for name in service.config.models}
    if service.stopping.is_set():
        status = "stopping"
    elif "starting" in models.values():
        status = "starting"
    else:
        status = await service.database_state(_PATIENCE)
    if status == "ready":
        return {"status": status, "models": models}
    response.status_code = 503
    return {"status": status, "models": models, "message": _REASONS[status]}


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}, **api.ERRORS})
async def metrics(service: ServiceDep, who: CallerDep) -> Response:
    """Return metrics in the text format of Prometheus."""
    if not who.may("manage"):
        who.require("metrics")
    return Response(service.metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})


@router.get("/v1/models", response_model=api.ModelList, responses=api.ERRORS)
async def models(service: ServiceDep, who: CallerDep) -> api.ModelList:
    """List the models of the service."""
    who.require("edit")
    return api.ModelList(data=[_model(service, name) for name in service.config.models])


@router.post("/v1/models/{model}/reload", response_model=api.ModelOut, responses=api.ERRORS)
async def reload(model: str, service: ServiceDep, who: CallerDep) -> api.ModelOut:
    """Load a model again from the same path; the old one answers until the new one is ready."""
    who.require("admin")
    await unless_stopping(service, service.engine.reload(model))
    return _model(service, model)


def _state(service: Service, name: str) -> str:
    return "ready" if service.engine.is_ready(name) else "starting"


def _model(service: Service, name: str) -> api.ModelOut:
    facts = service.engine.facts(name)
    return api.ModelOut(
        id=name,
        created=_STARTED,
        languages=[code for code in facts.abilities.languages if code],
        learns=facts.learns,
        needs_mt=facts.abilities.needs_mt,
        fingerprint=facts.fingerprint,
        state="ready" if service.engine.is_ready(name) else "starting",
    )
