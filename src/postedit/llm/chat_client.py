"""A client for servers with the OpenAI chat completions protocol, with retries, rate limits and cost accounting."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urljoin

from postedit.core.errors import StoppedError
from postedit.llm.answer_store import AnswerStore
from postedit.llm.connection import key_of, open_client
from postedit.llm.endpoint_options import EndpointSpec
from postedit.llm.pacing import Budget, RateLimit, pause_before
from postedit.llm.prices import Price, estimated_tokens, most_prompt_tokens
from postedit.llm.replies import Reply, Usage, parse_reply, read_body, retry_after
from postedit.llm.server_errors import Dialect, ServerError

if TYPE_CHECKING:
    import httpx

_RETRIED: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""HTTP statuses of temporary faults, after which a request is repeated."""

_PERHAPS_CHARGED: Final = frozenset({408, 502, 504, 520, 522, 524})
"""HTTP statuses by which a gateway gives up waiting, although the model may have answered at a cost."""

_FATAL: Final = {
    401: "it does not accept the key: set ${key}",
    403: "it does not let this key use the model: set another ${key}, or name another model",
    404: "it does not know this address or model: check both",
}
"""Advice for HTTP statuses that stop the work."""

_SHOWN: Final = 300  # most characters shown of a message from the server

_FAILED_IN_A_ROW: Final = 3
"""Number of consecutive requests that fail after all their retries before the work stops."""

_REJECTED_IN_A_ROW: Final = 10
"""Number of consecutive rejected requests before a probe is sent, to find out whether all requests are refused."""

_PROBE: Final = ({"role": "user", "content": "Say yes."},)
"""A short request that no content filter refuses: if it is refused, all requests are."""

_PROBE_TOKENS: Final = 16


class EndpointError(StoppedError):
    """The endpoint cannot be used: it is out of reach, perhaps only for now, or refuses requests."""


class EndpointRefusedError(EndpointError):
    """The endpoint refuses the key, the model or the options of all requests, until somebody changes that."""


class RejectedError(Exception):
    """The server rejects this request, but may accept others."""


class FilteredError(Exception):
    """A content filter of the server blocks a text of this request."""


class NoReplyError(Exception):
    """The server failed to reply to a request, even after all retries."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A request.

    Args:
        messages: messages, each with `role` and `content`.
        answer_tokens: largest number of tokens of the answer.
        segments: number of segments that the request is about.
        seed: seed of sampling.
    """

    messages: Sequence[Mapping[str, str]]
    answer_tokens: int
    segments: int
    seed: int


class ChatClient:
    """Client that sends requests to a server, for use within one event loop.

    Clients in several threads may share all arguments, which may also outlive a client.

    Args:
        spec: the model and the options of requests.
        schema: JSON schema that answers must follow; None if they are not constrained.
        price: price of the model; None if it is not known.
        store: store that keeps the ledger of requests.
        limit: limits per minute that pace the requests.
        budget: budget that the costs of all requests must not exceed.
        dialect: parameters and roles that the server accepts, as learnt so far.

    Raises:
        RecipeError: if httpx is not installed.
        DataError: if the key, the address, a proxy or certificates cannot be used.
    """

    def __init__(
        self,
        spec: EndpointSpec,
        schema: Mapping[str, Any] | None,
        price: Price | None,
        store: AnswerStore,
        limit: RateLimit,
        budget: Budget,
        dialect: Dialect,
    ) -> None:
        self._spec, self._schema, self._price, self._store = spec, schema, price, store
        self._limit, self._budget, self._dialect = limit, budget, dialect
        self._key = key_of(spec.config.key_variable)
        self._failed_in_a_row, self._rejected_in_a_row, self._has_replied = 0, 0, False
        self._probing = asyncio.Lock()
        self._http: Any = open_client(spec.config, self._key)

    async def __aenter__(self) -> Self:
        try:
            self._budget.join(self._store.spent)
        except BaseException:
            await self._http.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._budget.leave()
        await self._http.aclose()

    async def ask(self, ask: Ask) -> Reply:
        """Return the reply to a request, which is repeated after temporary faults.

        Raises:
            RejectedError: if the server rejects this request.
            FilteredError: if a content filter of the server blocks its texts.
            NoReplyError: if the request still fails after all retries.
            BudgetError: if the request could exceed the budget; it is not sent then.
            EndpointRefusedError: if the endpoint refuses the key, the model or the options of all requests.
            EndpointError: if the endpoint cannot be reached, or several requests in a row have failed.
        """
        self._check_structure("")
        attempt, fault, is_away, has_system = 0, "", False, True
        while attempt <= self._spec.config.retries:
            if attempt:
                await asyncio.sleep(pause_before(attempt))
            body = self._body(ask, has_system=has_system)
            answer = await self._attempt(ask, body)
            if isinstance(answer, Reply):
                if not has_system:
                    self._dialect.has_system = False
                self._failed_in_a_row, self._rejected_in_a_row, self._has_replied = 0, 0, True
                return answer
            fault, is_away = answer.text, answer.is_unreachable
            if self._learns(body, answer):
                self._check_structure(f" ({answer.text})")
                continue  # with the parameters that the server accepts
            # A chat template may fail only while the server handles the request, with status 500.
            if answer.status in (400, 422, 500) and self._dialect.refuses_system(body, answer.error):
                has_system = False
                continue
            if answer.is_refusal:
                await self._refused(answer)
            attempt += 1
        self._failed_in_a_row += 1
        if is_away or self._failed_in_a_row >= _FAILED_IN_A_ROW:
            raise EndpointError(f"{self._spec.config.address}: requests keep failing: {fault}")
        raise NoReplyError

    def _learns(self, body: Mapping[str, Any], fault: "_Fault") -> bool:
        """Return whether the dialect has learnt from a refusal which parameters the server accepts."""
        return fault.status in (400, 422) and self._dialect.learn(body, fault.error)

    def _check_structure(self, reason: str) -> None:
        if self._spec.config.structure == "json-schema" and "response_format" in self._dialect.left_out:
            raise EndpointRefusedError(
                f"{self._spec.config.address} ({self._spec.model}): does not enforce a JSON schema for answers, "
                f'which llm.structure = "json-schema" requires: set it to auto, or ask another server{reason}'
            )

    def _body(self, ask: Ask, *, has_system: bool = True) -> dict[str, Any]:
        config = self._spec.config
        values = {
            "model": self._spec.model,
            "messages": list(ask.messages),
            "temperature": config.temperature,
            "seed": ask.seed,
            "max_tokens": ask.answer_tokens,
        }
        if self._schema is not None:
            named = {"name": "corrections", "strict": True, "schema": self._schema}
            values["response_format"] = {"type": "json_schema", "json_schema": named}
        return self._dialect.spell(values, has_system=has_system)

    async def _attempt(self, ask: Ask, body: Mapping[str, Any]) -> "Reply | _Fault":
        """Send a request once, within limits and budget, and record its cost."""
        prompt_tokens = most_prompt_tokens(ask.messages, self._schema)
        most = self._price.cost(prompt_tokens, ask.answer_tokens) if self._price else 0.0
        request, began = await self._begin(ask, most), time.monotonic()
        cost: float = most  # until the actual cost is known
        try:
            found = await self._sent(body)
            seconds = time.monotonic() - began
            if isinstance(found, _Fault):
                cost = 0.0 if found.is_free else most
                self._store.end(request, "free" if found.is_free else "lost", cost=cost, seconds=seconds)
                return found
            reply, usage = found
            tokens = usage or Usage(prompt_tokens, ask.answer_tokens)
            if self._price is not None:
                cost = self._price.cost(tokens.prompt, tokens.answer)
            self._store.end(
                request,
                "answered",
                cost=cost,
                prompt_tokens=tokens.prompt,
                answer_tokens=tokens.answer,
                seconds=seconds,
            )
            return reply
        finally:
            self._budget.settle(most, cost)

    async def _begin(self, ask: Ask, most: float) -> int:
        """Wait until a request fits into limits and budget; reserve its maximum cost, and record it."""
        expected = estimated_tokens(*(one["content"] for one in ask.messages)) + ask.answer_tokens
        while True:
            await self._budget.reserve(most)
            request = None
            try:
                await self._limit.start(expected)
                request = self._store.begin(ask.segments, most, self._budget.limit)
            finally:
                if request is None:
                    self._budget.settle(most, 0.0)
            if request is not None:
                return request
            self._budget.recount(self._store.spent)  # others have spent from it meanwhile

    async def _sent(self, body: Mapping[str, Any]) -> "tuple[Reply, Usage | None] | _Fault":
        import httpx

        try:
            async with (
                asyncio.timeout(self._spec.config.timeout),
                self._http.stream("POST", f"{self._spec.config.address}/chat/completions", json=body) as answer,
            ):
                content = await read_body(answer)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            return _Fault(0, f"cannot be reached: {self._clean(str(error) or 'no connection')}", is_free=True)
        except (TimeoutError, httpx.TimeoutException):
            return _Fault(0, f"no answer in {self._spec.config.timeout:g} seconds (llm.timeout)", is_free=False)
        except httpx.HTTPError as error:
            return _Fault(0, f"the connection failed: {self._clean(str(error))}", is_free=False)
        if answer.status_code != 200:
            self._wait_as_asked(answer)
            said = ServerError.of(content)
            text = self._clean(self._redirection(answer) or said.message)
            is_free = answer.status_code not in _PERHAPS_CHARGED
            return _Fault(answer.status_code, f"status {answer.status_code}: {text}", is_free, said)
        found = parse_reply(content)
        if found is not None:
            return found
        said = ServerError.of(content, other="")  # some servers send errors with status 200
        shown = self._clean(said.message)
        return _Fault(0, f"its reply is not a chat completion{f': {shown}' if shown else ''}", False, said)

    def _wait_as_asked(self, answer: "httpx.Response") -> None:
        if answer.status_code in (429, 503, 529):
            seconds = retry_after(answer.headers.get("retry-after", ""))
            if seconds:
                self._limit.pause(seconds)

    def _redirection(self, answer: "httpx.Response") -> str:
        """Return a message about a redirection, which is never followed: key and texts would go elsewhere."""
        if not (300 <= answer.status_code < 400 and "location" in answer.headers):
            return ""
        place = answer.headers["location"]
        with suppress(ValueError):  # the header may not be a valid address
            place = urljoin(f"{self._spec.config.address}/chat/completions", place)
        return f"it redirects to {place}, and nothing was sent there: give that address, if key and texts may go there"

    async def _refused(self, fault: "_Fault") -> None:
        if fault.error.is_filter:
            raise FilteredError
        hint = _FATAL.get(fault.status)
        where = f"{self._spec.config.address} ({self._spec.model})"
        if hint is not None and not (fault.status == 403 and await self._may_ask()):
            raise EndpointRefusedError(f"{where}: {hint.format(key=self._spec.config.key_variable)} ({fault.text})")
        if 300 <= fault.status < 400 or fault.status in (402, 405, 429):
            raise EndpointRefusedError(f"{where}: refuses all requests: {fault.text}")
        self._rejected_in_a_row += 1
        if self._rejected_in_a_row >= _REJECTED_IN_A_ROW and not await self._takes_others():
            raise EndpointRefusedError(f"{where}: has refused {_REJECTED_IN_A_ROW} requests in a row: {fault.text}")
        raise RejectedError

    async def _may_ask(self) -> bool:
        """Return whether the server accepts the key at all; it may have forbidden a request only for its text."""
        async with self._probing:
            fault = None if self._has_replied else await self._probe()
            return fault is None or fault.status not in (401, 403)

    async def _takes_others(self) -> bool:
        """Return whether the server may accept requests with other texts than those of the last requests."""
        async with self._probing:
            is_answered = self._rejected_in_a_row < _REJECTED_IN_A_ROW  # a probe was answered meanwhile
            fault = None if is_answered else await self._probe()
            return fault is None or not fault.is_refusal

    async def _probe(self) -> "_Fault | None":
        """Send the harmless probe; return the fault, or None if the server replies."""
        probe = Ask(_PROBE, _PROBE_TOKENS, 0, self._spec.config.seed)
        answer = await self._attempt(probe, self._body(probe))
        if isinstance(answer, _Fault):
            return answer
        self._rejected_in_a_row, self._has_replied = 0, True
        return None

    def _clean(self, text: str) -> str:
        """Shorten a message of the server or of httpx, and remove the key and terminal control codes from it."""
        cleaned = text.replace(self._key, "***") if self._key else text
        printable = "".join(one if one.isprintable() else " " for one in cleaned[:_SHOWN])
        return " ".join(printable.split())


_NO_ERROR: Final = ServerError()


@dataclass(frozen=True, slots=True)
class _Fault:
    """Reason for a missing reply: HTTP status (0: none), message, whether it is certainly free, and the error."""

    status: int
    text: str
    is_free: bool
    error: ServerError = _NO_ERROR

    @property
    def is_unreachable(self) -> bool:
        """Whether there was no connection, so that the fault is not about the request."""
        return not self.status and self.is_free

    @property
    def is_refusal(self) -> bool:
        """Whether it would be useless to repeat the request."""
        return (self.status != 0 and self.status not in _RETRIED) or "insufficient_quota" in self.error.codes
