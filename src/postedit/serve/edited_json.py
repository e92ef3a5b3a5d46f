"""Corrections as the API gives them."""

from typing import Any

from postedit.core.editor import PostEdit


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
