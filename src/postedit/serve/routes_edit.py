"""Routes that edit, learn and score."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from postedit.core.editor import PostEdit, Segment
from postedit.serve.service import Service, service_of

router = APIRouter(prefix="/v1", tags=["editing"])


class SegmentIn(BaseModel):
    """A segment to edit."""

    model_config = ConfigDict(extra="forbid")

    src: str = Field(description="source text")
    mt: str | None = Field(None, description="its machine translation")


class EditRequest(BaseModel):
    """Segments to edit."""

    model_config = ConfigDict(extra="forbid")

    segments: list[SegmentIn]
    model: str | None = None
    project: str | None = None


def edited_json(mt: str, result: PostEdit) -> dict[str, Any]:
    """Return a correction as the API gives it; see `EDITED` in the documentation of the API."""
    edits = [
        {
            "op": edit.op,
            "mt_span": list(edit.mt_span),
            "pe_span": list(edit.pe_span),
            "before": mt[slice(*edit.mt_span)],
            "after": result.text[slice(*edit.pe_span)],
            "confidence": confidence,
            "reasons": [],
        }
        for edit, confidence in zip(result.edits, result.confidences, strict=True)
    ]
    return {
        "text": result.text,
        "changed": result.changed,
        "score": result.score,
        "confidence": min(result.confidences, default=None),
        "edits": edits,
        "skipped": result.skipped,
        "reverted": result.reverted,
        "fallbacks": [{"kind": one.kind, "value": one.value, "by": one.by} for one in result.fallbacks],
        "alternatives": [edited_json(mt, one) for one in result.alternatives],
    }


@router.post("/edit")
async def edit(asked: EditRequest, service: Annotated[Service, Depends(service_of)]) -> dict[str, Any]:
    """Correct machine translations."""
    segments = [Segment(one.src, one.mt) for one in asked.segments]
    found = await service.engine.edit(segments, model=asked.model, project=asked.project)
    results = [
        edited_json(one.mt or result.draft or "", result) for one, result in zip(segments, found.results, strict=True)
    ]
    return {"model": found.model, "fingerprint": found.fingerprint, "results": results}
