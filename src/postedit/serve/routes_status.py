"""Routes about the service itself: health, readiness, models."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response

from postedit.serve.service import Service, service_of

router = APIRouter(tags=["status"])

ServiceDep = Annotated[Service, Depends(service_of)]


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """Say that the process lives."""
    return {"status": "ok"}


@router.get("/readyz")
async def readyz(service: ServiceDep, response: Response) -> dict[str, Any]:
    """Say whether requests are welcome: 503 while models load, and when the service is about to stop."""
    ready = not service.stopping.is_set()
    response.status_code = 200 if ready else 503
    return {"status": "ready" if ready else "stopping"}
