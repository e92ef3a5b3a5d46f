"""A client of the service that `postedit serve` runs.

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

from postedit.core.arguments import texts_of
from postedit.core.editor import Edit, Fallback, segments_of
from postedit.core.errors import DataError, PosteditError, library

if TYPE_CHECKING:
    import httpx

_SEGMENTS: Final = 100
"""Segments of a request; longer lists are sent in several."""

_BYTES: Final = 40_000
"""Of the segments of a request, unless it has one: a fifth of what a service lets a client have in work by default."""

_Values = Mapping[str, Any]

_ONCE: Final = frozenset({"/v1/learn", "/v1/undo"})
"""Paths of requests that are not repeated after 503: what they ask for may have been done before the answer failed."""

_DOUBLED: Final = "/v1/v1/"
"""In the path of what a client asks for whose address ends in /v1, as that of other services does."""

_MOST_PAUSE: Final = 30.0  # seconds before another try


class ServiceError(PosteditError):
    """The service refused a request, or cannot be reached.

    Args:
        message: a sentence.
        status: of HTTP; 0 if there was no answer.
        code: a word for programs, such as "invalid" or "too_many_requests".
        request_id: of the request, in the log of the service.
    """

    def __init__(self, message: str, status: int = 0, code: str = "", request_id: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.request_id = status, code, request_id


@dataclass(frozen=True, slots=True)
class ServedEdit:
    """The correction of a segment, as the service gives it.

    Args:
        text: the corrected translation; mt itself if nothing changed.
        changed: whether it differs from mt.
        score: natural-log probability; 0 if the model has none.
        confidence: the least confidence of the edits; None if there are none.
        edits: the changes, with spans in characters.
        confidences: of each edit.
        reasons: of each edit, if asked for.
        skipped: why the segment was not edited, if it was not.
        reverted: edits that were taken back.
        fallbacks: protected spans that were saved.
        alternatives: the next best corrections.
        content: the corrected target with its inline codes, if they were asked for.
        model: the name of the model.
        fingerprint: of the model.
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
    model: str = ""
    fingerprint: str = ""


class Client:
    """Asks a service. Requests that it refuses because it has too much in work are sent again, as it tells.

    Args:
        address: of the service, as "http://127.0.0.1:8080".
        key: an API key; none is needed on the same machine.
        timeout: seconds for an answer.
        patience: seconds for which requests are sent again when the service is overloaded; 0: not at all.

    Raises:
        RecipeError: if httpx is not installed.
        DataError: if the address is none, or the key has other characters than a header can have.
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
        """Return one correction per segment, in order; for arguments see `POST /v1/edit`.

        Without `project`, what projects have learnt does not count.

        Raises:
            ServiceError: if the service refuses.
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
        """Return the corrections of segments; if they are too much for the service, of one half after the other."""
        try:
            answer = self._asked("POST", "/v1/edit", {"segments": segments, **options})
        except ServiceError as error:
            if error.status != HTTPStatus.REQUEST_ENTITY_TOO_LARGE or len(segments) == 1:
                raise
            half = len(segments) // 2
            return self._edited(segments[:half], options) + self._edited(segments[half:], options)
        return [_served(one, answer["model"], answer["fingerprint"]) for one in answer["results"]]

    def learn(
        self, src: str, mt: str, pe: str, *, project: str = "default", author: str = "", file: str = "", unit: str = ""
    ) -> int:
        """Let a project learn from a correction, and return its number.

        It counts from the next request for this project on: `edit(..., project="default")`.

        Raises:
            ServiceError: if the service refuses.
            DataError: if a value cannot be sent, such as a text with lone surrogates.
        """
        values = {"src": src, "mt": mt, "pe": pe, "project": project, "author": author, "file": file, "unit": unit}
        return int(self._post("/v1/learn", values)["number"])

    def undo(self, number: int, *, project: str = "default") -> int:
        """Take a correction back, and return the number of the entry that says so.

        Raises:
            ServiceError: if the service refuses.
            DataError: if a value cannot be sent.
        """
        return int(self._post("/v1/undo", {"number": number, "project": project})["number"])

    def score(
        self, hyp: Iterable[str], pe: Iterable[str], mt: Iterable[str] | None = None, *, tokenize: str = "none"
    ) -> dict[str, dict[str, float]]:
        """Return the scores of outputs, and of mt if it is given, by system and metric.

        Scores are those of all lines together, so they are sent in one request: the service refuses more lines than its
        limit of segments, and `score_systems` has no limit.

        Raises:
            ServiceError: if the service refuses.
            DataError: if a text is none, or has half a character.
        """
        sides: dict[str, Any] = {"hyp": hyp, "pe": pe, "mt": mt}
        texts = {name: None if side is None and name == "mt" else texts_of(name, side) for name, side in sides.items()}
        answer = self._post("/v1/score", {**texts, "tokenize": tokenize})
        return {one["system"]: {name: one[name] for name in ("ter", "bleu", "chrf")} for one in answer["scores"]}

    def models(self) -> list[dict[str, Any]]:
        """Return what the service says about its models.

        Raises:
            ServiceError: if the service refuses.
        """
        return list(self._asked("GET", "/v1/models", None)["data"])

    def _post(self, path: str, values: _Values) -> Any:
        return self._asked("POST", path, _plain(values))

    def _asked(self, method: str, path: str, values: _Values | None) -> Any:
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
                return _checked(answer)
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
    """Return a value of a request as JSON has it, with numbers of Python in place of those of NumPy.

    Raises:
        DataError: naming the first that has no such form, such as a text with lone surrogates.
    """
    if getattr(value, "shape", None) == ():  # a number of NumPy, which is not imported for it
        value = value.item()
    if isinstance(value, Mapping):
        return {name: _plain(one, f"{where}.{name}" if where else name) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one, f"{where}.{number}") for number, one in enumerate(value)]
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise DataError(f"{where}: has lone surrogates, which are no text") from None
    elif isinstance(value, float) and not math.isfinite(value):
        raise DataError(f"{where}: must be a finite number (found {value})")
    elif not isinstance(value, float | int | None):
        raise DataError(f"{where}: must be text or a number (found {value!r:.80})")
    return value


def _pause(answer: "httpx.Response", *, may_repeat: bool) -> float | None:
    """Return the seconds before another try; None if there is no use in one, or it may be done already."""
    if answer.status_code != 429 and not (may_repeat and answer.status_code == 503):
        return None
    told = answer.headers.get("Retry-After", "1")
    return min(_MOST_PAUSE, float(told)) if told.isdigit() else 1.0


def _checked(answer: "httpx.Response") -> Any:
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


def _served(values: Mapping[str, Any], model: str, fingerprint: str) -> ServedEdit:
    edits = values["edits"]
    return ServedEdit(
        values["text"],
        values["changed"],
        values["score"],
        values["confidence"],
        tuple(Edit(one["op"], tuple(one["mt_span"]), tuple(one["pe_span"])) for one in edits),
        tuple(one["confidence"] for one in edits),
        tuple(one["reasons"] for one in edits),
        values["skipped"],
        values["reverted"],
        tuple(Fallback(one["kind"], one["value"], one["by"]) for one in values["fallbacks"]),
        tuple(_served(one, model, fingerprint) for one in values["alternatives"]),
        values["content"],
        model,
        fingerprint,
    )
