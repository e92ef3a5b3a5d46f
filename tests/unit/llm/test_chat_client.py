"""The client: what it repeats, what it refuses, what it says, and what it must not say."""

import json
import logging
import socket
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from stub_server import Stub, corrected
from tests.unit.llm.conftest import MakeEditor, segments

from postedit.core.editor import Segment
from postedit.core.errors import DataError, RecipeError
from postedit.llm import chat_client, connection
from postedit.llm.chat_client import EndpointError, EndpointRefusedError
from postedit.llm.connection import open_client
from postedit.llm.endpoint_options import EndpointSpec, LlmConfig, endpoint_model
from postedit.llm.llm_editor import LlmEditor
from postedit.llm.replies import parse_reply, retry_after
from postedit.llm.usage import summary

KEY = "sk-very-secret-123"


def test_keys_are_sent_and_never_shown(
    make_editor: MakeEditor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    asked = segments(5)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    with Stub(key=KEY) as stub:
        assert all(one.skipped is None for one in make_editor(stub).edit_segments(asked))
    with Stub(key="another") as stub:
        editor = make_editor(stub, key_variable="OPENAI_API_KEY")
        with pytest.raises(EndpointError, match=r"\$OPENAI_API_KEY") as found:
            editor.edit_segments(asked)
    assert KEY not in str(found.value)
    assert "***" in str(found.value)
    assert KEY not in caplog.text
    assert KEY not in repr(editor.identity())
    assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.iterdir() if path.is_file())


def test_structured_answers_are_asked_for_unless_told_not_to(make_editor: MakeEditor) -> None:
    for structure, held in (("auto", True), ("json-schema", True), ("none", False)):
        with Stub() as stub:
            make_editor(stub, structure=structure).edit_segments(segments(3))
        assert ("response_format" in stub.bodies[0]) == held


def texts_of(body: dict[str, Any]) -> str:
    return "".join(one["content"] for one in body["messages"])


FILTERS = [
    (403, {"error": {"code": 403, "message": "flagged", "metadata": {"reasons": ["x"], "flagged_input": "y"}}}),
    (403, {"error": {"message": "no", "type": "content_policy_violation", "code": None}}),
    (400, {"error": {"message": "filtered", "param": "prompt", "code": "content_filter", "status": 400}}),
    (400, {"error": {"code": "x", "message": "", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}),
]


@pytest.mark.parametrize(("status", "error"), FILTERS)
def test_a_filter_refuses_texts_and_no_key(make_editor: MakeEditor, status: int, error: Any) -> None:
    asked = [Segment("bad", "errSchlecht ist das ."), *segments(9)]
    with Stub(refusal=lambda body: (status, error) if "Schlecht" in texts_of(body) else None) as stub:
        editor = make_editor(stub, segments=2, concurrency=1)
        results = editor.edit_segments(asked)
        assert editor.store.figures()["left as mt"] == {"refused": 1}
        requests = len(stub.asked)
        assert make_editor(stub, segments=2).edit_segments(asked) == results  # what is refused is known, too
        assert len(stub.asked) == requests
    assert [one.skipped for one in results] == ["no answer", *[None] * 9]


def test_a_403_about_one_text_stops_nothing_even_if_it_comes_first(make_editor: MakeEditor) -> None:
    asked = [Segment("<script>", "errSchlecht ist das ."), *segments(9)]
    waf = (403, "<html>Forbidden</html>")  # which does not say why
    with Stub(refusal=lambda body: waf if "Schlecht" in texts_of(body) else None) as stub:
        results = make_editor(stub, segments=2, concurrency=1).edit_segments(asked)
        assert [one.skipped for one in results] == ["no answer", *[None] * 9]
        alone = make_editor(stub, segments=1).edit_segments(asked[:1])
        assert [one.skipped for one in alone] == ["no answer"]


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_may_not_ask_stops_the_work(make_editor: MakeEditor, status: int) -> None:
    with Stub() as stub:  # that it has replied to another key says nothing
        make_editor(stub).edit_segments(segments(1, seed=8))
    requests: list[Any] = []

    def refusal(body: dict[str, Any]) -> tuple[int, Any]:
        requests.append(body)
        return status, {"error": {"message": "no access", "code": "permission_denied"}}

    with Stub(refusal=refusal) as stub, pytest.raises(EndpointError, match=r"set (another )?\$OPENAI_API_KEY"):
        make_editor(stub, concurrency=2).edit_segments(segments(50))
    assert len(requests) <= 4


def test_json_schema_is_insisted_on(make_editor: MakeEditor) -> None:
    with Stub(refuses=("response_format",)) as stub:
        editor = make_editor(stub, structure="json-schema")
        for _ in range(2):
            with pytest.raises(EndpointError, match=r"does not enforce a JSON schema for answers.*set it to auto"):
                editor.edit_segments(segments(3))
        assert not stub.asked
        assert all(one.skipped is None for one in make_editor(stub, structure="auto").edit_segments(segments(3)))


def test_redirections_are_not_followed_and_named(make_editor: MakeEditor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Stub() as other, Stub(refusal=lambda body: (307, f"{other.url}/chat/completions")) as stub:
        with pytest.raises(EndpointError, match=r"redirects to http://127\.0\.0\.1.*give that address") as found:
            make_editor(stub).edit_segments(segments(3))
        assert other.url in str(found.value)
        assert not other.bodies


def test_the_key_of_another_host_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    def warned(**options: Any) -> list[str]:
        caplog.clear()
        LlmEditor(EndpointSpec("m", LlmConfig(cache=str(tmp_path / "answers"), **options), "run"))
        return [one.getMessage() for one in caplog.records]

    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (warning,) = warned(endpoint="https://other.example/v1")
    assert "for api.openai.com, will be sent to other.example" in warning
    assert "llm.key_variable" in warning
    assert KEY not in warning
    assert not warned()
    assert not warned(endpoint="http://localhost:8000/v1")
    assert not warned(endpoint="https://other.example/v1", key_variable="OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://other.example/v1")
    assert not warned(endpoint="https://other.example/v1")
    assert not warned()
    assert len(warned(endpoint="https://api.openai.com/v1")) == 1
    monkeypatch.delenv("OPENAI_API_KEY")
    assert not warned(endpoint="https://api.openai.com/v1")


def test_no_more_requests_at_a_time_than_allowed(make_editor: MakeEditor) -> None:
    begun = Event()

    def correct(src: str, mt: str) -> str:
        if stub.most_at_once >= 3:
            begun.set()
        begun.wait(300)  # the first ones wait for the third
        return corrected(mt)

    with Stub(slow=0.02, correct=correct) as stub:
        make_editor(stub, segments=1, concurrency=3).edit_segments(segments(30))
    assert stub.most_at_once == 3


def test_a_server_that_is_away_stops_the_work(make_editor: MakeEditor) -> None:
    with socket.socket() as nobody:  # which listens, and keeps the port from others
        nobody.bind(("127.0.0.1", 0))
        away = SimpleNamespace(url="http://{}:{}/v1".format(*nobody.getsockname()))
        for count in (1, 50):
            with pytest.raises(EndpointError, match="cannot be reached"):
                make_editor(away, retries=1).edit_segments(segments(count))


def test_a_server_that_always_fails_stops_the_work(make_editor: MakeEditor) -> None:
    with Stub({"500": 1.0}) as stub, pytest.raises(EndpointError, match="requests keep failing: status 500"):
        make_editor(stub, retries=2, segments=2, concurrency=2).edit_segments(segments(50))
    assert len(stub.asked) <= 4 * 3


def test_a_server_that_takes_no_request_stops_the_work_and_is_asked_again(make_editor: MakeEditor) -> None:
    asked = segments(5)
    error = (400, {"error": {"message": "invalid model ID"}})
    with (
        Stub(refusal=lambda body: error) as stub,
        pytest.raises(EndpointError, match=r"10 requests in a row.*model ID"),
    ):
        make_editor(stub).edit_segments(segments(50))
    with Stub({"400": 1.0}) as stub:
        editor = make_editor(stub, segments=2)
        assert {result.skipped for result in editor.edit_segments(asked)} == {"no answer"}
        assert editor.store.figures()["left as mt"] == {"rejected": 5}
        assert "5 answers unusable (5 rejected)" in summary(editor)
        stub.faults = {}
        assert any(result.changed for result in make_editor(stub, segments=2).edit_segments(asked))


@pytest.mark.parametrize("most", [1, 0])  # segments of a request that fits into the window; 0: none with "errHaus"
def test_texts_that_are_too_long_stop_nothing(make_editor: MakeEditor, most: int) -> None:
    def refusal(body: dict[str, Any]) -> tuple[int, Any] | None:
        told = texts_of(body)
        is_long = told.count('"translation"') > most if most else "errHaus" in told
        return (400, {"error": {"message": "too long", "code": "context_length_exceeded"}}) if is_long else None

    asked = [Segment(f"house {number}", f"errHaus {number} .") for number in range(25)]
    asked.append(Segment("the end", "errEnde ."))
    with Stub(refusal=refusal) as stub:
        results = make_editor(stub, segments=1 + most, concurrency=2).edit_segments(asked)
    assert [one.changed for one in results] == [most > 0] * 25 + [True]


def test_time_outs_are_counted_at_their_most(make_editor: MakeEditor, monkeypatch: pytest.MonkeyPatch) -> None:
    def patient(config: LlmConfig, key: str) -> Any:
        return open_client(config.model_copy(update={"timeout": 120.0}), key)

    with Stub(slow=60) as stub:
        editor = make_editor(stub, timeout=0.3, retries=1, segments=1)
        with monkeypatch.context() as patch:
            patch.setattr(chat_client, "open_client", patient)  # else a slow connection would be the reason
            (result,) = editor.edit_segments(segments(1))
        left = editor.store.figures()["left as mt"]
        stub.slow = 0.0
        assert make_editor(stub, segments=1).edit_segments(segments(1))[0].skipped is None  # it is asked again
    assert result.skipped == "no answer"
    assert left == {"no reply": 1}
    figures = editor.store.figures()
    assert figures["failed requests"] == 2 * 2  # together and alone, each repeated once
    assert figures["of which perhaps not charged"] == pytest.approx(editor.store.spent())
    assert editor.store.spent() > 0


def test_what_was_not_sent_costs_nothing(make_editor: MakeEditor, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(url: str) -> None:
        editor = make_editor(SimpleNamespace(url=url), retries=0, segments=1)
        with pytest.raises(EndpointError, match="cannot be reached"):
            editor.edit_segments(segments(1))
        assert (editor.store.spent(), editor.store.figures()["failed requests"]) == (0.0, 1)

    monkeypatch.setattr(connection, "_CONNECT", 0.1)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, ExitStack() as clients:
        for _ in range(4):  # more than it lets wait, so that no other one gets a connection
            client = clients.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(full.getsockname())
        refuse("http://{}:{}/v1".format(*full.getsockname()))
    monkeypatch.setattr(connection, "_CONNECT", 60.0)
    for variable in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    with Stub() as proxy:  # which does not do what a proxy has to
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.removesuffix("/v1"))
        refuse("https://api.example.com/v1")


@pytest.mark.parametrize("seconds", [0.2, 2.0, 120.0])
def test_a_request_that_could_not_be_sent_is_recognised_in_time(seconds: float) -> None:
    client = open_client(LlmConfig(endpoint="http://127.0.0.1:9/v1", timeout=seconds), "")
    assert client.timeout.connect < client.timeout.read == seconds


def test_editors_without_a_name_of_their_work_do_not_share_a_budget(make_editor: MakeEditor) -> None:
    with Stub() as stub:
        first = make_editor(stub)
        first.edit_segments(segments(1))
        other = LlmEditor(EndpointSpec(first.spec.model, first.spec.config))
        assert first.store.spent() > 0
        assert other.store.spent() == 0
        same = LlmEditor(EndpointSpec(first.spec.model, first.spec.config, first.spec.run))
        assert same.store.spent() == first.store.spent()


def test_prices_are_needed_and_named(make_editor: MakeEditor, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text("[models.tiny-2]\ninput = 1\noutput = 2\n", encoding="utf-8")
    with Stub() as stub:
        with pytest.raises(RecipeError, match='has no prices of tiny; did you mean "tiny-2"'):
            make_editor(stub, prices=str(other))
        with pytest.raises(ValueError, match="a budget needs prices"):
            make_editor(stub, prices="", budget=1.0)


def test_names_of_models() -> None:
    assert endpoint_model(["runs/model"]) is None
    assert endpoint_model(["openai:gpt"]) == "gpt"
    for wrong in (["openai:"], ["openai:a", "openai:b"], ["openai:a", "runs/model"]):
        with pytest.raises(DataError):
            endpoint_model(wrong)
    assert EndpointSpec("m", LlmConfig()).config.address.startswith("https://")


PERHAPS_CHARGED = {408, 502, 504, 520, 522, 524}


@pytest.mark.parametrize("status", sorted({409, 425, 429, 500, 503, 529} | PERHAPS_CHARGED))
def test_what_may_pass_is_tried_again(make_editor: MakeEditor, status: int) -> None:
    once = [(status, {"error": {"message": "busy"}})]
    with Stub(refusal=lambda body: once.pop() if once else None) as stub:
        editor = make_editor(stub, retries=1)
        (result,) = editor.edit_segments([Segment("a", "errA b c .")])
    figures = editor.store.figures()
    assert (result.text, figures["asked again"], figures["failed requests"]) == ("A b c .", {}, 1)
    assert (figures["of which perhaps not charged"] > 0) == (status in PERHAPS_CHARGED)


@pytest.mark.parametrize("status", [400, 413, 422, 501])
def test_what_will_not_pass_is_not_tried_again(make_editor: MakeEditor, status: int) -> None:
    asked = []

    def refusal(body: dict[str, Any]) -> tuple[int, Any]:
        asked.append(body)
        return status, {"error": {"message": "no"}}

    with Stub(refusal=refusal) as stub:
        editor = make_editor(stub)
        editor.edit_segments([Segment("a", "errA b c .")])
    assert len(asked) == 2  # with others, if there were any, and alone
    assert editor.store.spent() == 0.0


def test_an_account_without_money_stops_the_work(make_editor: MakeEditor) -> None:
    asked = []

    def refusal(body: dict[str, Any]) -> tuple[int, Any]:
        asked.append(body)
        return 429, {"error": {"message": "pay first", "code": "insufficient_quota"}}

    with Stub(refusal=refusal) as stub, pytest.raises(EndpointError, match="pay first"):
        make_editor(stub, retries=3).edit_segments(segments(1))
    assert len(asked) == 1, "more requests would change nothing"


def test_failures_that_are_not_in_a_row_do_not_stop_the_work(make_editor: MakeEditor) -> None:
    asked: list[int] = []

    def every_second(body: dict[str, Any]) -> tuple[int, Any] | None:
        asked.append(len(asked))
        return (500, {"error": {"message": "busy"}}) if asked[-1] % 2 else None

    with Stub(refusal=every_second) as stub:
        results = make_editor(stub, retries=0, segments=1, concurrency=1).edit_segments(segments(8))
    assert len(results) == 8
    assert len(asked) >= 8


def test_a_request_is_repeated_after_a_pause(make_editor: MakeEditor, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = []

    def pause(attempt: int) -> float:
        attempts.append(attempt)
        return 0.0

    monkeypatch.setattr("postedit.llm.chat_client.pause_before", pause)
    refusals = [(503, {"error": {"message": "busy"}})] * 2
    with Stub(refusal=lambda body: refusals.pop() if refusals else None) as stub:
        make_editor(stub, retries=2).edit_segments(segments(1))
    assert attempts == [1, 2]


def test_a_reply_without_end_is_given_up(make_editor: MakeEditor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postedit.llm.replies._MOST_BYTES", 100)
    (asked,) = segments(1)
    with Stub() as stub:
        (result,) = make_editor(stub, retries=0).edit_segments([asked])
    assert (result.text, result.skipped) == (asked.mt, "no answer")


def test_an_error_with_status_200_is_shown(make_editor: MakeEditor) -> None:
    error = {"error": {"message": "the upstream model is gone", "code": 502}}
    with Stub(refusal=lambda body: (200, error)) as stub, pytest.raises(EndpointError) as found:
        make_editor(stub, retries=0, segments=1).edit_segments(segments(4))
    assert str(found.value).endswith("its reply is not a chat completion: the upstream model is gone")


def test_a_quota_that_is_used_up_is_told_with_status_200_too(make_editor: MakeEditor) -> None:
    error, attempts = {"error": {"message": "pay first", "code": "insufficient_quota"}}, list[int]()

    def refuse(body: Any) -> Any:
        attempts.append(1)
        return 200, error

    with Stub(refusal=refuse) as stub, pytest.raises(EndpointRefusedError, match=r"in a row: .*pay first"):
        make_editor(stub, retries=5, segments=1, concurrency=1).edit_segments(segments(20))
    assert len(attempts) < 20


@pytest.mark.parametrize(
    "message", [{"content": 7, "x": "SECRET"}, {"content": [{"type": "output_text", "text": "SECRET"}]}]
)
def test_an_answer_in_another_form_is_not_quoted(make_editor: MakeEditor, message: dict[str, Any]) -> None:
    reply = {"choices": [{"message": message}]}
    with Stub(refusal=lambda body: (200, reply)) as stub, pytest.raises(EndpointError) as found:
        make_editor(stub, retries=0, segments=1).edit_segments(segments(4))
    assert str(found.value).endswith("its reply is not a chat completion")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a", "a"),
        (None, ""),
        ([], ""),
        ([{"type": "text", "text": "a "}, {"type": "thinking", "thinking": []}, {"type": "text", "text": "b"}], "a b"),
        (7, None),
        ([7], None),
        ([{"type": "text"}], None),
        ([{"type": "text", "text": {"a": 1}}], None),
    ],
)
def test_texts_of_replies_may_come_in_parts(content: Any, text: str | None) -> None:
    found = parse_reply(json.dumps({"choices": [{"message": {"content": content}}]}).encode())
    assert (found and found[0].text) == text


def test_codes_for_terminals_in_messages_of_a_server_are_not_shown(make_editor: MakeEditor) -> None:
    error = {"error": {"message": "\x1b[31mred\x07\x1b]0;title\x9b1m \u202eno\n\tmoney ü"}}
    with Stub(refusal=lambda body: (402, error)) as stub, pytest.raises(EndpointError) as found:
        make_editor(stub).edit_segments(segments(1))
    assert str(found.value).endswith("status 402: [31mred ]0;title 1m no money ü")


@pytest.mark.parametrize(
    "usage",
    [
        *({"prompt_tokens": count, "completion_tokens": 5} for count in (2**31, 2**70, 10**400, -1, "5", 1.5)),
        "not counted", [1], 7, True, None,
    ],
)  # fmt: skip
def test_tokens_that_no_request_has_are_not_counted(make_editor: MakeEditor, usage: Any) -> None:
    with Stub(usage=usage) as stub:
        editor = make_editor(stub)
        (result,) = editor.edit_segments([Segment("a", "errA b c .")])
    figures = editor.store.figures()
    assert result.text == "A b c ."
    assert len(stub.bodies) == 1, "a good reply is asked for once"
    with Stub({"no-usage": 1.0}) as stub:
        untold = make_editor(stub, seed=2)
        untold.edit_segments([Segment("a", "errA b c .")])
    names = ("cost", "prompt tokens", "answer tokens")
    assert [figures[name] for name in names] == [untold.store.figures()[name] for name in names]


@pytest.mark.parametrize(
    ("place", "said"), [("http://[", r"it redirects to http://\["), ("http://a:b:c/", "Invalid URL in location header")]
)
def test_redirections_to_no_address_are_named(make_editor: MakeEditor, place: str, said: str) -> None:
    with Stub(refusal=lambda body: (302, place)) as stub, pytest.raises(EndpointError, match=said):
        make_editor(stub, retries=0).edit_segments(segments(3))


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("2.5", 2.5), ("1e9", 600.0), ("-3", 0.0), ("inf", 0.0), ("nan", 0.0), ("soon", 0.0), ("", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 600.0), ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", 0.0),
    ],
)  # fmt: skip
def test_how_long_a_server_may_ask_to_wait(header: str, seconds: float) -> None:
    assert retry_after(header) == seconds
