"""A Python client of the service that `postedit serve` runs.

Example:
    with Client("http://127.0.0.1:8080") as client:
        for one in client.edit(["Press the red button."], ["Drücken Sie die rote Knopf."]):
            print(one.text, one.edits)
"""

import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from postedit.core.arguments import python_value, texts_of
from postedit.core.editor import Edit, Fallback, segments_of
from postedit.core.errors import DataError, PosteditError, library

if TYPE_CHECKING:
    import httpx

_SEGMENTS: Final = 100
"""Segments per request, at most; longer lists are divided."""

_BYTES: Final = 40_000
"""Bytes of the segments of a request, if it has several: a fifth of a client's default share of the queue."""

_Values = Mapping[str, Any]

_ONCE: Final = frozenset({"/v1/learn", "/v1/undo"})
"""Paths of requests that are not repeated after 503: they may have taken effect before the response failed."""

_DOUBLED: Final = "/v1/v1/"
"""In paths of requests whose client was given an address that ends in /v1, as those of other services do."""

_MOST_PAUSE: Final = 30.0  # seconds before another try


class ServiceError(PosteditError):
    """The service refused a request, or cannot be reached.

    Args:
        message: the reason, for people.
        status: HTTP status code; 0 if there was no response.
        code: the reason, for programs, such as "invalid" or "too_many_requests".
        request_id: id by which the log of the service names the request.
    """

    def __init__(self, message: str, status: int = 0, code: str = "", request_id: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.request_id = status, code, request_id


@dataclass(frozen=True, slots=True)
class ServedEdit:
    """The correction of one segment, as returned by the service.

    Args:
        text: the corrected translation; mt itself if nothing changed.
        changed: whether it differs from mt.
        score: natural-log probability of the output; 0 if the model has none.
        confidence: the lowest confidence of the edits; None if none is known.
        edits: the changes, with spans in code points.
        confidences: the confidence of each edit; empty if the editor gives none.
        reasons: the reasons of each edit; models may leave them empty unless `evidence` was set.
        skipped: why the segment was not edited, if it was not.
        reverted: number of edits that were reverted, by a gate or to protect text.
        fallbacks: protected spans and terms that the model was about to break.
        alternatives: the next best corrections, best first.
        content: the corrected target with its inline codes; None if `markup` is "plain".
        given_up: why edits were given up whose codes could not be placed.
        model: name of the model.
        fingerprint: fingerprint of the model; it changes when the model is replaced.
        draft: what a first stage wrote in place of mt; None if mt was given, or the model has no first stage.
    """

    text: str
    changed: bool
    score: float
    confidence: float | None
    edits: tuple[Edit, ...]
    confidences: tuple[float, ...]
    reasons: tuple[Sequence[Mapping[str, Any]], ...]
    skipped: str | None
    reverted: int
    fallbacks: tuple[Fallback, ...]
    alternatives: "tuple[ServedEdit, ...]" = field(default=(), repr=False)
    content: str | None = None
    given_up: tuple[str, ...] = ()
    model: str = ""
    fingerprint: str = ""
    draft: str | None = None


class Client:
    """Client of a service. It repeats requests while the service is overloaded or unavailable, as `Retry-After` says.

    Args:
        address: address of the service without /v1, such as "http://127.0.0.1:8080".
        key: an API key; None: no key, as for a service on the same machine.
        timeout: seconds to wait for a response.
        patience: seconds for which refused requests are repeated; 0: never repeat them.

    Raises:
        RecipeError: if httpx is not installed.
        DataError: if the address is not valid, or the key has characters that a header cannot have.
    """

    def __init__(self, address: str, key: str | None = None, *, timeout: float = 60.0, patience: float = 60.0) -> None:
        httpx = library("httpx", "the client", "serve")
        if not isinstance(address, str):
            raise DataError(f'address must be text, such as "http://127.0.0.1:8080", not {address!r:.80}')
        if key is not None and not (isinstance(key, str) and key.isascii() and key.isprintable()):
            raise DataError("key must be text of printable characters of ASCII; give it as the service showed it")
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        try:
            self._http: Any = httpx.Client(base_url=address.rstrip("/"), headers=headers, timeout=timeout)
        except httpx.InvalidURL as error:
            raise DataError(f"address {address!r:.80} cannot be read: {error}") from None
        if self._http.base_url.scheme not in ("http", "https"):
            raise DataError(f'address must begin with "http://" or "https://", not {address!r:.80}')
        self._patience = patience

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def edit(
        self,
        src: Iterable[str],
        mt: Iterable[str | None] | None = None,
        *,
        project: str | None = None,
        model: str | None = None,
        n_best: int = 1,
        evidence: bool = False,
        min_confidence: float = 0.0,
        markup: str = "plain",
        prefix: Sequence[str] | None = None,
        required: Sequence[Sequence[str]] | None = None,
    ) -> list[ServedEdit]:
        """Return one correction per segment, in order; the arguments are those of `POST /v1/edit`.

        Without `project`, the model works as it was trained, without what projects have learnt.

        Raises:
            ServiceError: if the service refuses a request, or cannot be reached.
            DataError: if the numbers of texts differ, or a value cannot be sent, such as a text with lone surrogates.
        """
        segments = [
            {
                "src": one.src,
                "mt": one.mt,
                "prefix": one.constraints.prefix,
                "required": list(one.constraints.required),
            }
            for one in segments_of(src, mt, prefix, required)
        ]
        options = {
            "project": project,
            "model": model,
            "n_best": n_best,
            "evidence": evidence,
            "min_confidence": min_confidence,
            "markup": markup,
        }
        segments, options = _plain(segments, "segments"), _plain(options)
        return [one for part in _parts(segments) for one in self._edited(part, options)]

    def _edited(self, segments: Sequence[_Values], options: _Values) -> list[ServedEdit]:
        """Return the corrections of segments; if the service finds the request too large, send it in halves."""
        try:
            answer = self._request("POST", "/v1/edit", {"segments": segments, **options})
        except ServiceError as error:
            if error.status != HTTPStatus.REQUEST_ENTITY_TOO_LARGE or len(segments) == 1:
                raise
            half = len(segments) // 2
            return self._edited(segments[:half], options) + self._edited(segments[half:], options)
        return [_served_edit(one, answer["model"], answer["fingerprint"]) for one in answer["results"]]

    def learn(
        self,
        src: str,
        mt: str,
        pe: str,
        *,
        project: str = "default",
        author: str = "",
        file: str = "",
        unit: str = "",
        markup: str = "plain",
    ) -> int:
        """Add a correction to a project, and return its number; the arguments are those of `POST /v1/learn`.

        It applies from the next request for this project on: `edit(..., project="default")`.

        Raises:
            ServiceError: if the service refuses the request, or cannot be reached.
            DataError: if a value cannot be sent, such as a text with lone surrogates.
        """
        place = {"project": project, "author": author, "file": file, "unit": unit}
        return int(self._post("/v1/learn", {"src": src, "mt": mt, "pe": pe, "markup": markup, **place})["number"])

    def undo(self, number: int, *, project: str = "default") -> int:
        """Undo a correction, and return the number of the memory entry that records this.

        Raises:
            ServiceError: if the service refuses the request, or cannot be reached.
            DataError: if a value cannot be sent.
        """
        return int(self._post("/v1/undo", {"number": number, "project": project})["number"])

    def score(
        self, hyp: Iterable[str], pe: Iterable[str], mt: Iterable[str] | None = None, *, tokenize: str = "none"
    ) -> dict[str, dict[str, float]]:
        """Return the scores of outputs ("hyp"), and of mt if it is given, by system and metric.

        Scores are computed over all lines, so they are sent in one request: the service refuses more lines than
        `limits.segments`. For more, use `postedit.evaluate.scores.score_systems`, which has no limit.

        Raises:
            ServiceError: if the service refuses the request, or cannot be reached.
            DataError: if a line is not text, or has lone surrogates.
        """
        sides: dict[str, Any] = {"hyp": hyp, "pe": pe, "mt": mt}
        texts = {name: None if side is None and name == "mt" else texts_of(name, side) for name, side in sides.items()}
        answer = self._post("/v1/score", {**texts, "tokenize": tokenize})
        return {one["system"]: {name: one[name] for name in ("ter", "bleu", "chrf")} for one in answer["scores"]}

    def models(self) -> list[dict[str, Any]]:
        """Return the models of the service, as `GET /v1/models` describes them.

        Raises:
            ServiceError: if the service refuses the request, or cannot be reached.
        """
        return list(self._request("GET", "/v1/models", None)["data"])

    def _post(self, path: str, values: _Values) -> Any:
        return self._request("POST", path, _plain(values))

    def _request(self, method: str, path: str, values: _Values | None) -> Any:
        httpx = library("httpx", "the client", "serve")
        if self._http.is_closed:
            raise ServiceError(f"{self._http.base_url}: this client has been closed; make another one")
        until = time.monotonic() + self._patience
        while True:
            try:
                answer = self._http.request(method, path, json=values)
            except httpx.HTTPError as error:
                raise ServiceError(f"{self._http.base_url}: {error or type(error).__name__}") from None
            pause = _pause(answer, may_repeat=path not in _ONCE)
            if pause is None or time.monotonic() + pause > until:
                return _content_or_error(answer)
            time.sleep(pause)


def _parts(segments: Sequence[_Values]) -> Iterator[Sequence[_Values]]:
    """Yield the segments of each request, in order."""
    start = size = 0
    for at, one in enumerate(segments):
        own = len(json.dumps(one, ensure_ascii=False).encode())
        if at > start and (at == start + _SEGMENTS or size + own > _BYTES):
            yield segments[start:at]
            start, size = at, 0
        size += own
    if segments:
        yield segments[start:]


def _plain(value: Any, where: str = "") -> Any:
    """Return a request value that JSON can hold, with NumPy numbers replaced by Python ones.

    Raises:
        DataError: if a value has no such form, such as a text with lone surrogates; the message names the first.
    """
    value = python_value(value)
    if isinstance(value, Mapping):
        return {name: _plain(one, f"{where}.{name}" if where else name) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one, f"{where}.{number}") for number, one in enumerate(value)]
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise DataError(f"{where}: has lone surrogates, which are not text") from None
    elif isinstance(value, float) and not math.isfinite(value):
        raise DataError(f"{where}: must be a finite number (found {value})")
    elif not isinstance(value, float | int | None):
        raise DataError(f"{where}: must be text or a number (found {value!r:.80})")
    return value


def _pause(answer: "httpx.Response", *, may_repeat: bool) -> float | None:
    """Return the seconds before the next try; None if a repetition would not help, or might do the work twice."""
    if answer.status_code != 429 and not (may_repeat and answer.status_code == 503):
        return None
    told = answer.headers.get("Retry-After", "1")
    return min(_MOST_PAUSE, float(told)) if told.isdigit() else 1.0


def _content_or_error(answer: "httpx.Response") -> Any:
    if answer.is_success:
        return answer.json()
    try:
        error = answer.json()["error"]
        message, code, request_id = error["message"], error["code"], error["request_id"]
    except (ValueError, KeyError, TypeError):
        message, code, request_id = f"{answer.url}: answers {answer.status_code}", "", ""
    if answer.status_code == HTTPStatus.NOT_FOUND and _DOUBLED in answer.url.path:
        message = f"{answer.url}: is not there; give the address of the service without /v1"
    raise ServiceError(message, answer.status_code, code, request_id)


def _served_edit(values: Mapping[str, Any], model: str, fingerprint: str) -> ServedEdit:
    edits = values["edits"]
    return ServedEdit(
        values["text"],
        values["changed"],
        values["score"],
        values["confidence"],
        tuple(Edit(one["op"], tuple(one["mt_span"]), tuple(one["pe_span"])) for one in edits),
        tuple(one["confidence"] for one in edits if one["confidence"] is not None),
        tuple(one["reasons"] for one in edits),
        values["skipped"],
        values["reverted"],
        tuple(Fallback(one["kind"], one["value"], one["by"]) for one in values["fallbacks"]),
        tuple(_served_edit(one, model, fingerprint) for one in values["alternatives"]),
        values["content"],
        tuple(values["given_up"]),
        model,
        fingerprint,
        values.get("draft"),  # alternatives have none
    )
