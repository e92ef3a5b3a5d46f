"""The Python client."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from scripted import RunningService, serving, settings

from postedit.core.errors import DataError
from postedit.serve import Client, ServiceError


@pytest.mark.slow
def test_corrections_are_typed_results(service: RunningService) -> None:
    with Client(service.address) as client:
        first, second = client.edit(["a", "b"], ["das haus", "DA"])
        assert first.text == "DAS HAUS"
        assert first.edits[0].mt_span == (0, 8)
        assert first.confidences == (0.9,)
        assert first.model == "scripted"
        assert not second.changed
        assert client.models()[0]["id"] == "scripted"
        assert client.score(["a"], ["a"])["hyp"]["ter"] == 0.0


def test_long_lists_are_sent_in_several_requests(service: RunningService) -> None:
    with Client(service.address) as client:
        texts = [f"m{number}" for number in range(250)]
        assert [one.text for one in client.edit(texts, texts)] == [text.upper() for text in texts]


def test_long_texts_are_sent_in_several_requests(service: RunningService) -> None:
    with Client(service.address) as client:
        texts = [f"m{number} " + "b " * 500 for number in range(100)]
        assert [one.text for one in client.edit(["a " * 500] * 100, texts)] == [text.upper() for text in texts]


@pytest.mark.slow
def test_what_is_too_large_for_a_service_is_sent_in_halves(tmp_path: Path) -> None:
    with serving(settings(tmp_path, limits={"segments": 3, "body_bytes": 1024})) as service:
        texts = [*map(str, range(10)), "x" * 300, "x" * 300, "x" * 300]
        with Client(service.address) as client:
            assert [one.text for one in client.edit(texts, texts)] == [text.upper() for text in texts]
            with pytest.raises(ServiceError, match="larger than 1,024 bytes") as found:
                client.edit(["a", "b"], ["a", "x" * 1024])
        assert found.value.status == 413


def test_texts_that_cannot_be_sent_are_named(service: RunningService) -> None:
    with Client(service.address) as client:
        texts = ["a"] * 150
        with pytest.raises(DataError, match="segment 150 of mt has half a character"):
            client.edit(texts, [*texts[:-1], "\ud800"])
        with pytest.raises(DataError, match="pe: has lone surrogates"):
            client.learn("a", "b", "\udcff")
        with pytest.raises(DataError, match="segment 2 of hyp has half a character"):
            client.score(["a", "\ud800"], ["a", "b"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda client: client.score("abc", ["abd"]), "hyp is a list of segments, not a single string"),
        (lambda client: client.score(["abc"], None), "pe is a list of segments, not None"),
        (
            lambda client: client.edit(["a"], ["b"], min_confidence=float("nan")),
            "min_confidence: must be a finite number",
        ),
        (lambda client: client.edit(["a"], ["b"], n_best=object()), "n_best: must be text or a number"),
        (lambda client: client.learn("a", "b", ["c", b"d"]), r"pe\.1: must be text or a number"),
    ],
)
def test_values_that_cannot_be_sent_are_named(call: Callable[[Client], Any], message: str) -> None:
    with Client("http://127.0.0.1:9") as client, pytest.raises(DataError, match=message):
        call(client)


def test_numbers_of_numpy_are_sent(service: RunningService) -> None:
    with Client(service.address) as client:
        (found,) = client.edit(
            np.array(["a"]), np.array(["b"]), n_best=np.int64(1), min_confidence=np.float32(0.5), evidence=np.True_
        )
        assert found.text == "B"
        assert client.score(np.array(["a"]), iter(["a"]))["hyp"]["ter"] == 0.0
        number = client.learn("a", "b", "c")
        assert client.undo(np.int64(number)) == number + 1


def test_inline_codes_are_not_learnt(service: RunningService) -> None:
    with Client(service.address) as client:
        texts = 'the <x id="1"/>house', '<g id="1">das</g> Haus', "ein Haus &amp; Hof"
        number = client.learn(*texts, markup="xliff")
        (found, *_) = service.client.get("/v1/projects/default/corrections").json()["corrections"]
        assert found["number"] == number
        assert [found[side] for side in ("src", "mt", "pe")] == ["the house", "das Haus", "ein Haus & Hof"]
        with pytest.raises(ServiceError, match="a text is not content of XLIFF"):
            client.learn(*texts[:2], "<g>", markup="xliff")
        (edited,) = client.edit(texts[:1], texts[1:2], markup="xliff")
        assert (edited.content, edited.given_up) == ('<g id="1">DAS</g> HAUS', ())
        (kept,) = client.edit(texts[:1], ['H<g id="1">au</g>s'], markup="xliff")
        assert (kept.content, kept.given_up) == ('H<g id="1">au</g>s', ("divided word",))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"address": None}, "address must be text"),
        ({"address": "http://[::1"}, "address 'http://.::1' cannot be read"),
        ({"address": "127.0.0.1:8080"}, "address must begin with .http://. or .https://., not '127.0.0.1:8080'"),
        ({"address": "localhost:8080"}, "address must begin with .http://. or .https://., not 'localhost:8080'"),
        ({"address": "http://127.0.0.1:9", "key": "ü"}, "key must be text of printable characters of ASCII"),
    ],
)
def test_an_address_or_key_that_cannot_be_used_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Client(**options)


def test_a_closed_client_says_so() -> None:
    with Client("http://127.0.0.1:9") as client:
        pass
    with pytest.raises(ServiceError, match="this client has been closed"):
        client.models()


def test_refusals_are_errors_with_code_and_id(service: RunningService) -> None:
    with Client(service.address) as client:
        with pytest.raises(ServiceError, match="there is no model 'x'") as found:
            client.edit(["a"], ["b"], model="x")
        assert found.value.status == 404
        assert found.value.code == "not_found"
        assert len(found.value.request_id) == 32
        with pytest.raises(DataError, match="must match one to one"):
            client.edit(["a"], ["b", "c"])


def test_an_address_with_v1_is_told(service: RunningService) -> None:
    with Client(f"{service.address}/v1") as client:
        with pytest.raises(ServiceError, match="give the address of the service without /v1") as found:
            client.models()
        assert found.value.status == 404


def test_a_service_that_is_not_there_is_a_sentence() -> None:
    with Client("http://127.0.0.1:9") as client, pytest.raises(ServiceError, match=r"127\.0\.0\.1"):
        client.models()


@pytest.mark.slow
def test_requests_are_sent_again_when_the_service_says_so(tmp_path) -> None:
    limits = {"requests_per_second": 2.0, "burst": 1}
    with serving(settings(tmp_path, limits=limits)) as service:
        with Client(service.address) as client:
            assert [client.edit(["a"], ["b"])[0].text for _ in range(2)] == ["B", "B"]
        with Client(service.address, patience=0) as hasty:
            asked = [_message_of(hasty) for _ in range(30)]  # some within half a second, on slow machines as well
        assert "too many requests; send fewer a second" in asked


@pytest.mark.parametrize(("path", "count"), [("learn", 1), ("undo", 1), ("models", 2)])
def test_what_may_have_been_done_is_not_asked_for_again(path: str, count: int) -> None:
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(503 if len(asked) == 1 else 200, json={"data": []}, headers={"Retry-After": "0"})

    with Client("http://127.0.0.1:9") as client:
        client._http = httpx.Client(base_url="http://127.0.0.1:9", transport=httpx.MockTransport(answer))
        calls = {"learn": lambda: client.learn("a", "b", "c"), "undo": lambda: client.undo(1), "models": client.models}
        with suppress(ServiceError):
            calls[path]()
    assert asked == [f"/v1/{path}"] * count


def _message_of(client: Client) -> str:
    try:
        client.models()
    except ServiceError as error:
        return str(error)
    return ""
