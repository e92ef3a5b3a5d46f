"""The dialect: what refusals of a server teach about the parameters and roles that it takes, and what they do not."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from stub_server import Stub, corrected
from tests.unit.llm.conftest import MakeEditor, segments

from postedit.core.editor import Segment
from postedit.llm.server_errors import Dialect, ServerError
from postedit.llm.usage import signature


def test_parameters_that_a_server_does_not_know_are_left_out(make_editor: MakeEditor) -> None:
    asked = segments(30)
    with Stub(refuses=("response_format", "seed", "max_tokens", "temperature")) as stub:
        results = make_editor(stub, segments=3, concurrency=1).edit_segments(asked)
    assert all(result.text == corrected(one.mt or "") for one, result in zip(asked, results, strict=True))
    assert set(stub.bodies[-1]) == {"model", "messages", "max_completion_tokens"}
    assert len(stub.bodies) == 10


def texts_of(body: dict[str, Any]) -> str:
    return "".join(one["content"] for one in body["messages"])


ECHOES = [
    ({"error": {"message": "the text '{}' is not allowed", "param": "messages", "code": "invalid_value"}}),
    ({"error": {"message": "the text '{}' is not allowed"}}),
    ({"detail": [{"loc": ["body", "messages", 1, "content"], "type": "value_error", "msg": "no", "input": "{}"}]}),
    "invalid request: {}",
]


@pytest.mark.parametrize("error", ECHOES)
def test_parameters_are_not_learnt_from_texts_that_an_error_quotes(make_editor: MakeEditor, error: Any) -> None:
    mt = "Die temperature und der seed, auch max_tokens und max_completion_tokens: structured response_format ."
    quoted = json.loads(json.dumps(error).replace("{}", mt))
    asked = [Segment("A source .", mt), *segments(4)]
    with Stub(refusal=lambda body: (400, quoted) if mt in texts_of(body) else None) as stub:
        results = make_editor(stub, segments=1, concurrency=1).edit_segments(asked)
    assert [one.skipped for one in results] == ["no answer", None, None, None, None]
    assert {*stub.bodies[-1]} == {"model", "messages", "temperature", "seed", "max_tokens", "response_format"}


@pytest.mark.parametrize(
    ("error", "learnt"),
    [
        (
            {"error": {"message": "no", "param": "temperature", "code": "unsupported_value"}},
            "temperature",
        ),
        ({"error": {"message": "no", "param": "response_format", "type": "invalid_request_error"}}, "response_format"),
        ({"error": {"message": "no", "param": "response_format.json_schema"}}, "response_format"),
        ({"error": {"message": "no", "param": "max_tokens", "code": "unsupported_parameter"}}, "max_tokens"),
        ({"error": {"message": "use max_completion_tokens", "param": "max_tokens", "code": None}}, "max_tokens"),
        ({"error": {"message": "max_tokens is too large: 9999", "param": "max_tokens", "code": "invalid_value"}}, None),
        ({"error": {"message": "the temperature of this model is 1", "param": "model"}}, None),
        ({"detail": [{"loc": ["body", "seed"], "type": "extra_forbidden", "msg": "Extra inputs"}]}, "seed"),
        ({"detail": [{"loc": ["body", "max_tokens"], "type": "extra_forbidden", "msg": "Extra inputs"}]}, "max_tokens"),
        ({"object": "error", "message": "guided decoding is not supported", "code": 400}, "response_format"),
        ({"error": "json_schema is not supported"}, "response_format"),
        ("seed is unknown", "seed"),
        ("it exceeds the seeds", None),
        ("[1, 2]", None),
    ],
)
def test_what_errors_say_of_parameters(error: Any, learnt: str | None) -> None:
    content = error.encode() if isinstance(error, str) else json.dumps(error).encode()
    names = ("temperature", "seed", "max_tokens", "response_format")
    sent = {**dict.fromkeys(names, 1), "messages": [{"role": "user", "content": "a text"}]}
    dialect = Dialect()
    assert dialect.learn(sent, ServerError.of(content)) == (learnt is not None)
    assert dialect.left_out | dialect.renamed == ({learnt} if learnt else set())


NO_SYSTEM = [
    (400, {"object": "error", "message": "System role not supported", "type": "BadRequestError", "code": 400}),
    (422, {"error": "Template error: invalid operation: System role not supported (in <string>:1)"}),
    (500, {"error": {"code": 500, "message": "Conversation roles must alternate user/assistant/", "type": "server"}}),
    (400, {"error": {"message": "'messages[0].role' does not support 'system'", "param": "messages[0].role"}}),
    (400, {"error": {"message": "Developer instruction is not enabled for models/gemma-3", "status": "INVALID"}}),
    (400, {"message": "Only user and assistant roles are supported!"}),
    (400, "this model does not support system messages"),
    (400, {"error": {"message": "System messages aren't supported; request: {'temperature': 0.0, 'seed': 1}"}}),
    (400, {"error": {"message": "role 'system' is not allowed"}}),
    (422, "Unexpected role 'system'"),
]


def refusing_system(status: int, error: Any) -> Callable[[dict[str, Any]], tuple[int, Any] | None]:
    return lambda body: (status, error) if body["messages"][0]["role"] == "system" else None


@pytest.mark.parametrize(("status", "error"), NO_SYSTEM)
def test_system_text_goes_before_the_users_where_no_system_may_speak(
    make_editor: MakeEditor, status: int, error: Any
) -> None:
    asked = segments(30)
    with Stub() as stub:
        usual = make_editor(stub, segments=3, concurrency=1)
        expected = usual.edit_segments(asked)
        system, user = (one["content"] for one in stub.bodies[0]["messages"])
    refused = refusing_system(status, error)
    with Stub(refusal=refused, preamble=system) as stub:
        editor = make_editor(stub, segments=3, concurrency=1, retries=0)
        assert editor.edit_segments(asked) == expected
        (message,) = stub.bodies[0]["messages"]
        assert message["role"] == "user"
        assert message["content"].startswith(f"{system}\n\n{user[: user.index('{')]}")
        assert editor.store.figures()["failed requests"] == 1, "it is learnt once"
        count = len(stub.bodies)
        assert make_editor(stub, segments=3).edit_segments(asked) == expected
        assert len(stub.bodies) == count, "answers are known by the same keys"
    assert signature(editor) == signature(usual)


def test_requests_that_are_refused_at_the_same_time_all_learn(make_editor: MakeEditor) -> None:
    with Stub(refusal=refusing_system(*NO_SYSTEM[0])) as stub:
        make_editor(stub, segments=1, concurrency=30).edit_segments(segments(30))
        assert len(stub.answered) == len({(one.src, one.mt) for one in segments(30)})


QUOTED = "{'messages': [{'role': 'system', 'content': 'You ...'}], 'temperature': 0.0, 'seed': 1}"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"error": {"message": "System role not supported", "param": "model"}}),
        (400, {"error": {"message": "you wrote: the system role is not supported"}}),
        (503, {"error": {"message": "System role not supported"}}),
        (400, {"error": {"message": f"context length exceeded; request: {QUOTED}"}}),
        (400, {"error": {"message": f"context length exceeded; request: {json.dumps(QUOTED)}"}}),
        (400, {"error": {"message": "too long; System role not supported", "code": "context_length_exceeded"}}),
        (400, {"error": {"message": "seed unknown; system role not supported", "code": "content_filter"}}),
        (400, {"error": {"message": "The system prompt is too long and does not fit"}}),
        (400, {"error": {"message": "system message: quota exceeded, could not serve"}}),
    ],
)
def test_the_system_speaks_where_a_refusal_is_about_something_else(
    make_editor: MakeEditor, status: int, error: Any
) -> None:
    once = [(status, error)]
    with Stub(refusal=lambda body: once.pop() if once else None) as stub:
        make_editor(stub, retries=1).edit_segments([Segment("The system role is not supported", "Das errSystem .")])
    assert [one["role"] for one in stub.bodies[-1]["messages"]] == ["system", "user"]
    assert {*stub.bodies[-1]} == {"model", "messages", "temperature", "seed", "max_tokens", "response_format"}


def test_a_parameter_explains_an_error_that_quotes_the_request(make_editor: MakeEditor) -> None:
    error = {"detail": f"{{'input': {QUOTED}, 'msg': 'temperature is not supported'}}"}
    with Stub(refusal=lambda body: (400, error) if "temperature" in body else None) as stub:
        make_editor(stub).edit_segments(segments(1))
    assert [one["role"] for one in stub.bodies[-1]["messages"]] == ["system", "user"]
    assert {*stub.bodies[-1]} == {"model", "messages", "seed", "max_tokens", "response_format"}


def test_the_system_speaks_again_if_its_silence_did_not_help(make_editor: MakeEditor) -> None:
    """What is learnt of roles is learnt once a request without a message of the system is taken."""
    asked: list[list[str]] = []

    def refusal(body: dict[str, Any]) -> tuple[int, Any] | None:
        asked.append([one["role"] for one in body["messages"]])
        return (400, "System role not supported") if "An odd source" in texts_of(body) else None

    with Stub(refusal=refusal) as stub:
        editor = make_editor(stub, segments=1, concurrency=1, retries=0)
        editor.edit_segments([Segment("An odd source", "Ein seltsamer Text ."), *segments(1)])
    assert asked[:2] == [["system", "user"], ["user"]]
    assert [one["role"] for one in stub.bodies[-1]["messages"]] == ["system", "user"]
