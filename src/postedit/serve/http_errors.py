"""Error responses: each has a code, a message and the id of the request."""

import errno
import logging
import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from postedit.adapt.database import DiskFullError
from postedit.core.errors import DataError, OutputError, PosteditError, RecipeError
from postedit.serve.backlog import EndpointRefusesError, EndpointUnavailableError, OverloadedError, TooLargeError
from postedit.serve.engine import ExpiredError, UnknownNameError
from postedit.serve.service_logs import FIELDS, trace_of
from postedit.serve.store_base import NotFoundError

_log = logging.getLogger(__name__)

_CODES: Final = {
    400: "bad_request",
    401: "not_signed_in",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    411: "length_required",
    413: "too_large",
    415: "unsupported_media_type",
    421: "misdirected",
    422: "invalid",
    429: "too_many_requests",
    500: "internal",
    502: "refused_by_endpoint",
    503: "unavailable",
    504: "timeout",
    507: "disk_full",
}


FULL: Final = (
    "the disk of the service is full: nothing of this request was kept, and what was kept before still is; try again "
    "when the administrator has made room"
)
GONE: Final = "the client has gone"
FAILED: Final = "the service failed; its log says where"
AWAY: Final = "the database cannot be used now; the log of the service says why; try again later"


_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)


class HttpError(Exception):
    """A request is refused.

    Args:
        status: HTTP status code of the response.
        message: the reason, for people.
        code: the reason, for programs; None: the usual one for the status.
        headers: additional headers of the response.
    """

    def __init__(
        self, status: int, message: str, code: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})
        self.code = code or _CODES.get(status, "error")


def error_response(
    status: int, message: str, request_id: str, code: str | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Return an error response; without `code`, it has the usual one for the status."""
    body = {"code": code or _CODES.get(status, "error"), "message": message, "request_id": request_id}
    return JSONResponse({"error": body}, status, dict(headers or {}))


async def response_to(error: HttpError | PosteditError, request: Request) -> JSONResponse:
    """Return the response for an error that middleware raises before a route is found."""
    return await (_http_error if isinstance(error, HttpError) else _postedit_error)(request, error)


def request_id_of(request: Request) -> str:
    """Return the id of a request, by which logs and error responses name it."""
    return str(getattr(request.state, "request_id", ""))


def add_error_handlers(app: FastAPI) -> None:
    """Let an application turn exceptions of its routes into error responses."""
    app.add_exception_handler(HttpError, _http_error)
    app.add_exception_handler(PosteditError, _postedit_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _starlette_error)
    app.add_exception_handler(OSError, _system_error)
    app.add_exception_handler(ClientDisconnect, _client_gone)


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HttpError)
    return error_response(error.status, error.message, request_id_of(request), error.code, error.headers)


async def _postedit_error(request: Request, error: Exception) -> JSONResponse:
    headers = {}
    if isinstance(error, (OverloadedError, EndpointUnavailableError)):
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    status = _status_of(error)
    if status >= 500 and status != 504:
        _log.error("request failed: %s", error)
    hidden = {503: AWAY, 507: FULL} if isinstance(error, OutputError) else {}
    message = hidden.get(status) or _without_place(str(error), request)
    return error_response(status, message, request_id_of(request), None, headers)


def _without_place(message: str, request: Request) -> str:
    """Return a message without the path or URL of the database, which clients must not see."""
    place = request.app.state.service.store.memory.place
    return message.removeprefix(f"{place}: ").replace(place, "the database")


def _status_of(error: Exception) -> int:
    kinds: tuple[tuple[type[PosteditError], int], ...] = (
        (OverloadedError, 429),
        (TooLargeError, 413),
        (ExpiredError, 504),
        (UnknownNameError, 404),
        (NotFoundError, 404),
        (DataError, 422),
        (RecipeError, 422),
        (DiskFullError, 507),
        (OutputError, 503),
        (EndpointUnavailableError, 503),
        (EndpointRefusesError, 502),
    )
    return next((status for kind, status in kinds if isinstance(error, kind)), 500)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    if isinstance(error.body, bytes):  # it was not parsed
        return error_response(415, "send JSON with Content-Type: application/json", request_id_of(request))
    sentences = [_sentence(one) for one in error.errors()]
    return error_response(422, "; ".join(sentences[:10]), request_id_of(request))


def _sentence(problem: Any) -> str:
    if problem["type"] == "json_invalid":
        return f"the body is no JSON: {problem['ctx']['error']} at character {problem['loc'][-1]}"
    if problem["loc"] == ("body",) and problem["type"] in ("missing", "model_attributes_type"):
        return "the body must be a JSON object"
    where = field_name(problem["loc"])
    if problem["type"] in ("too_short", "too_long") and isinstance(problem["input"], str):
        least, most = problem["ctx"].get("min_length"), problem["ctx"].get("max_length")
        bound = f"at least {least}" if most is None else f"at most {most}"
        return f"{where}: must have {bound} characters, not {len(problem['input'])}"
    if "UploadFile" in problem["msg"]:
        return f"{where}: must be a file with a name, not text (with curl: -F {where}=@PATH)"
    return f"{where}: {problem['msg'].removeprefix('Value error, ')}"


def field_name(location: Iterable[str | int]) -> str:
    """Return the name of the field at a location in a body, without pydantic's names of the kinds it may have."""
    return ".".join(str(part) for part in location if part != "body" and not _is_union_branch(part)) or "body"


def _is_union_branch(part: str | int) -> bool:
    return isinstance(part, str) and (part == "constrained-str" or part.startswith("list["))


async def _starlette_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, OSError):  # from a temporary file that keeps an upload
        return await _system_error(request, error.__cause__)
    if isinstance(error.__cause__, ClientDisconnect):
        return await _client_gone(request, error.__cause__)
    if error.status_code == 400:  # a body that cannot be parsed is treated like one with wrong fields
        return error_response(422, _body_problem(error), request_id_of(request))
    return error_response(error.status_code, str(error.detail), request_id_of(request), None, error.headers)


def _body_problem(error: HTTPException) -> str:
    """Return what is wrong with a body that cannot be parsed."""
    cause = error.__cause__
    if isinstance(cause, UnicodeDecodeError):
        return f"the body is not UTF-8, from byte {cause.start + 1} on"
    if isinstance(cause, RecursionError):
        return "the body is nested too deeply"
    if isinstance(cause, UnicodeError):
        return "the body is not in the encoding that it names; send it as UTF-8"
    if isinstance(cause, ValueError):  # Python refuses integers with thousands of digits
        return "the body has a number with too many digits"
    return str(error.detail)


async def _client_gone(request: Request, error: Exception) -> JSONResponse:
    """Return the response for a client that went away before it had sent the body; only logs and metrics show it."""
    assert isinstance(error, ClientDisconnect)
    request.app.state.service.metrics.refused.labels("gone").inc()
    return error_response(499, GONE, request_id_of(request), "gone")


async def _system_error(request: Request, error: Exception) -> JSONResponse:
    """Return the response if there is no room for temporary files, or these fail for another reason.

    The log gets the reason, such as a missing folder, which the place in the code does not show.
    """
    assert isinstance(error, OSError)
    if error.errno not in _NO_ROOM:
        _log.error("request failed: %s", error, extra={FIELDS: {"trace": trace_of(error)}})
        return error_response(500, FAILED, request_id_of(request))
    _log.error("request failed: there is no room for temporary files: %s", error.strerror)
    return error_response(507, FULL, request_id_of(request))
