"""Editing, learning and scoring over HTTP."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from scripted import RunningService, serving, settings

from postedit.core.editor import Edit, PostEdit
from postedit.serve.client import Client
from postedit.serve.inline_markup import MarkedSegment
from postedit.serve.routes_edit import _all_with_codes
from postedit.serve.settings import parse_settings
from postedit.shipped import EXAMPLES


def test_an_edit_has_texts_spans_and_confidence(service: RunningService) -> None:
    answer = service.edit("the house", "ALREADY")
    assert answer.status_code == 200
    body = answer.json()
    assert body["model"] == "scripted"
    assert len(body["fingerprint"]) == 16
    first, second = body["results"]
    assert first["text"] == "THE HOUSE"
    assert first["changed"]
    assert first["confidence"] == 0.9
    assert first["edits"] == [
        {
            "op": "replace",
            "mt_span": [0, 9],
            "pe_span": [0, 9],
            "before": "the house",
            "after": "THE HOUSE",
            "confidence": 0.9,
            "reasons": [],
        }
    ]
    assert second["text"] == "ALREADY"
    assert not second["changed"]
    assert second["confidence"] is None


def test_edits_of_an_editor_that_gives_no_confidence_have_none(service: RunningService) -> None:
    (found,) = service.edit("unsure").json()["results"]
    assert (found["text"], found["confidence"]) == ("UNSURE", None)
    assert [one["confidence"] for one in found["edits"]] == [None]
    with Client(service.address) as client:
        (same,) = client.edit(["a source"], ["unsure"])
    assert (same.text, len(same.edits), same.confidences) == ("UNSURE", 1, ())


def test_the_draft_that_was_corrected_comes_with_its_correction(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPTED_TRANSLATES", "1")
    with serving(settings(tmp_path)) as service, Client(service.address) as client:
        drafted, given = client.edit(["the house", "a source"], [None, "das Haus"])
    assert (drafted.text, drafted.draft) == ("THE HOUSE", "the house")
    assert drafted.edits[0].mt_span == (0, len("the house"))
    assert (given.text, given.draft) == ("DAS HAUS", None)


def test_alternatives_with_codes_are_corrections_of_the_draft() -> None:
    other = PostEdit("ein Haus", True, edits=(Edit("replace", (0, 3), (0, 3)),))
    best = PostEdit("das Haus", False, alternatives=(other,), draft="das Haus")
    (found,) = _all_with_codes([MarkedSegment.of('the <x id="1"/>house', None, "xliff")], [best])
    (alternative,) = found["alternatives"]
    assert found["draft"] == "das Haus"
    assert alternative["edits"][0]["before"] == "das"


def test_edits_below_min_confidence_are_taken_back(service: RunningService) -> None:
    (result,) = service.edit("low", min_confidence=0.95).json()["results"]
    assert result["text"] == "low"
    assert result["reverted"] == 1


@pytest.mark.parametrize(
    ("given", "status", "message"),
    [
        ({"model": "unknown"}, 404, "there is no model 'unknown' here"),
        ({"n_best": 0}, 422, "n_best: Input should be greater than or equal to 1"),
        ({"n_best": 2}, 422, "one correction per segment"),
        ({"project": "missing"}, 404, "there is no project 'missing'"),
        ({"markup": "html5"}, 422, "markup"),
        ({"timeout_ms": 99}, 422, "timeout_ms"),
        ({"nbest": 2}, 422, "nbest: Extra inputs are not permitted"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(service: RunningService, given, status: int, message: str) -> None:
    answer = service.edit("a", **given)
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert message in error["message"]
    assert error["request_id"] == answer.headers["X-Request-ID"]


def test_segments_without_mt_are_refused_by_number(service: RunningService) -> None:
    segments = [{"src": "a", "mt": "b"}, {"src": "a"}]
    answer = service.client.post("/v1/edit", json={"segments": segments})
    assert answer.status_code == 422
    assert "segment 2 has none" in answer.json()["error"]["message"]


def test_no_segments_are_no_results(service: RunningService) -> None:
    assert service.edit().json()["results"] == []


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"text"', b"null", b'{"segments": [{"src": "\xff"}]}'])
def test_bodies_that_are_no_request_are_refused(service: RunningService, body: bytes) -> None:
    answer = service.client.post("/v1/edit", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"[1", "the body is no JSON: Expecting ',' delimiter at character 2"),
        (b"", "the body must be a JSON object"),
        (b"[]", "the body must be a JSON object"),
        (b'{"segments": "\xff"}', "the body is not UTF-8, from byte 15 on"),
        (b"[" * 100_000, "the body is nested too deeply"),
        (b'{"n_best": ' + b"1" * 5000 + b"}", "the body has a number with too many digits"),
    ],
    ids=["no json", "empty", "list", "bytes", "nested", "digits"],
)
def test_a_body_that_is_no_json_is_a_sentence(service: RunningService, body: bytes, message: str) -> None:
    answer = service.client.post("/v1/edit", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["error"]["message"] == message


@pytest.mark.parametrize(
    ("path", "given", "message"),
    [
        ("/v1/edit", {"segments": [0] * 20}, "segments.0: Input should be a valid dictionary"),
        ("/v1/score", {"hyp": [0] * 20, "pe": ["a"]}, "hyp.0: Input should be a valid string"),
        ("/translate", {"q": [0] * 20}, "q: Input should be a valid string; q.0: Input should be a valid string"),
        (
            "/v1/chat/completions",
            {"model": "m", "messages": [{"role": "user", "content": [{}] * 20}]},
            "messages.0.content: Input should be a valid string; messages.0.content.0.type: Field required",
        ),
        (
            "/v1/edit",
            {str(one): 0 for one in range(101)},
            "body: has 101 fields, of which 8 are known; send only these",
        ),
        (
            "/v1/learn",
            {"src": "a", "mt": "a", "pe": "a", "decisions": [{"start": 0, "end": 0, "text": "a"}] * 20},
            "decisions.0.accepted: Field required",
        ),
        (
            "/v1/edit",
            {"segments": [{str(one): 0 for one in range(101)}]},
            "segments.0: has 101 fields, of which 4 are known; send only these",
        ),
    ],
    ids=["segments", "texts", "sources", "parts", "fields", "decisions", "fields of a segment"],
)
def test_of_a_million_faults_of_a_body_a_few_are_gathered(
    service: RunningService, path: str, given: dict[str, Any], message: str
) -> None:
    answer = service.client.post(path, json=given)
    assert answer.status_code == 422
    assert answer.json()["error"]["message"].startswith(message)
    assert answer.json()["error"]["message"].count(";") <= 1


@pytest.mark.parametrize("headers", [{}, {"Content-Type": "text/plain"}])
def test_bodies_that_are_not_said_to_be_json_are_refused(service: RunningService, headers: dict[str, str]) -> None:
    answer = service.client.post("/v1/edit", content=b'{"segments": []}', headers=headers)
    assert answer.status_code == 415
    error = answer.json()["error"]
    assert (error["code"], error["message"]) == (
        "unsupported_media_type",
        "send JSON with Content-Type: application/json",
    )


def test_lone_surrogates_are_refused_and_odd_texts_survive(service: RunningService) -> None:
    body = b'{"segments": [{"src": "\\ud800", "mt": "a"}]}'
    answer = service.client.post("/v1/edit", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    message = service.edit("a", "b\0c").json()["error"]["message"]
    assert message == "the text that begins with 'b\\x00c' has a NUL character; remove it"
    odd = ["", " ", "👩‍👩‍👧 A\u0301", "\u202e.", "A\r\nB"]
    results = service.edit(*odd).json()["results"]
    assert [one["text"] for one in results] == [one.upper() for one in odd]


@pytest.mark.slow
def test_limits_of_requests_are_kept(tmp_path) -> None:
    limits = {"segments": 2, "characters": 10, "body_bytes": 1024}
    with serving(settings(tmp_path, limits=limits)) as service:
        many = service.edit("a", "b", "c")
        assert (many.status_code, many.json()["error"]["code"]) == (413, "too_large")
        assert "3 segments, and 2 are the limit" in many.json()["error"]["message"]
        assert "11 characters, and 10 are the limit" in service.edit("x" * 11).json()["error"]["message"]
        large = service.edit("x" * 2000)
        assert large.status_code == 413
        assert "larger than 1,024 bytes" in large.json()["error"]["message"]

        def parts():
            yield b'{"segments": ['
            yield b" " * 3000

        streamed = service.client.post("/v1/edit", content=parts(), headers={"Content-Type": "application/json"})
        assert streamed.status_code == 413


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"prefix": "x" * 6000}, "6,000 characters, and 5,000 are the limit"),
        ({"required": ["x", "x" * 6000]}, "6,000 characters, and 5,000 are the limit"),
        ({"prefix": "a\0"}, "segments.0.prefix: has a NUL character"),
        ({"required": ["a\0"]}, "segments.0.required.0: has a NUL character"),
    ],
)
def test_constraints_are_limited_as_other_texts(service: RunningService, given: Any, message: str) -> None:
    answer = service.client.post("/v1/edit", json={"segments": [{"src": "a", "mt": "b", **given}]})
    assert answer.status_code == 422
    assert message in answer.json()["error"]["message"]


@pytest.mark.parametrize("route", ["edit", "learn", "undo"])
def test_a_project_with_a_nul_character_is_refused(service: RunningService, route: str) -> None:
    asked = {"segments": []} if route == "edit" else {"number": 1} if route == "undo" else {}
    texts = {"src": "a", "mt": "b", "pe": "c"} if route == "learn" else {}
    answer = service.client.post(f"/v1/{route}", json={**asked, **texts, "project": "a\0"})
    assert answer.status_code == 422
    assert "project: has a NUL character" in answer.json()["error"]["message"]


@pytest.mark.slow
def test_the_model_of_a_project_edits_what_is_sent_for_it(tmp_path) -> None:
    model = {"path": "none", "learns": False}
    config = settings(tmp_path).model_dump(include={"data", "port"})
    with serving(parse_settings({"models": {"one": model, "two": model}, **config}, "test")) as service:
        project = service.client.post("/v1/projects", json={"name": "p", "model": "two"}).json()["id"]
        used = [
            service.edit("a", project=given, model=name).json()["model"]
            for given, name in ((project, None), (project, "one"), ("default", None), (None, None))
        ]
        assert used == ["two", "one", "one", "one"]
        asked = {"q": "a", "target": "de", "translation": "b", "project": project}
        service.client.patch(f"/v1/projects/{project}", json={"model": ""})
        assert service.client.post("/translate", json=asked).json()["translatedText"] == "B"
        service.app.state.service.store.projects.change(project, {"model": "gone"}, "anna")
        for answer in (service.edit("a", project=project), service.client.post("/translate", json=asked)):
            assert (answer.status_code, "no model 'gone'" in answer.json()["error"]["message"]) == (404, True)


def test_inline_codes_of_xliff_are_kept(service: RunningService) -> None:
    segment = {"src": 'the <g id="1">house</g>', "mt": 'das <g id="1">haus</g> &amp;'}
    body = {"segments": [segment], "markup": "xliff"}
    (result,) = service.client.post("/v1/edit", json=body).json()["results"]
    assert result["text"] == "DAS HAUS &"
    assert result["content"] == 'DAS <g id="1">HAUS</g> &amp;'
    for values in (
        {"mt": "<g>"},
        {"mt": "a</target><target>b"},
        {"src": "a</source><note>b</note><source>"},
        {"src": "a</source><note>b</note><source>", "mt": None},
    ):
        body["segments"] = [{**segment, **values}]
        answer = service.client.post("/v1/edit", json=body)
        assert answer.status_code == 422
        assert "not content of XLIFF: not well-formed XML" in answer.json()["error"]["message"]


def test_many_inline_codes_are_read_beside_the_event_loop(
    service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, of = [], MarkedSegment.of

    def noting(*given: Any) -> MarkedSegment:
        threads.append(threading.current_thread().name)
        return of(*given)

    monkeypatch.setattr(MarkedSegment, "of", noting)
    for count in (1, 250):
        segments = [{"src": 'the <g id="1">house</g> is large', "mt": '<g id="1">a</g>'}] * count
        asked = {"segments": segments, "markup": "xliff"}
        results = service.client.post("/v1/edit", json=asked).json()["results"]
        assert {one["content"] for one in results} == {'<g id="1">A</g>'}
    assert len(set(threads)) == 2, "one segment in the thread of the loop, many in another"


def test_scores_have_signatures_and_the_unedited_mt(service: RunningService) -> None:
    body = {"hyp": ["a b"], "pe": ["a c"], "mt": ["d e"]}
    answer = service.client.post("/v1/score", json=body).json()
    assert {one["system"]: one["ter"] for one in answer["scores"]} == {"unedited MT": 100.0, "hyp": 50.0}
    assert set(answer["signatures"]) == {"TER", "BLEU", "chrF"}
    body["pe"] = ["a", "b"]
    assert "must match one to one" in service.client.post("/v1/score", json=body).json()["error"]["message"]


@pytest.mark.slow
def test_what_a_project_teaches_counts_at_the_next_request(tmp_path) -> None:
    limits = {"batch_timeout_seconds": 300.0, "timeout_seconds": 300.0}
    config = settings(tmp_path, processes=1, model={"learns": True}, limits=limits)
    with serving(config, scripted=False) as service:
        mt, pe = "der die Haus", "der das Haus"
        learn = {"src": "the house", "mt": mt, "pe": pe}
        number = service.client.post("/v1/learn", json=learn).json()["number"]
        other = service.edit("ein anderes Haus", project="default")
        assert other.status_code == 200, other.text
        assert not other.json()["results"][0]["changed"]
        segment = {"segments": [{"src": "the house", "mt": mt}], "project": "default", "evidence": True}
        (result,) = service.client.post("/v1/edit", json=segment).json()["results"]
        assert result["text"] == pe
        (reason,) = (one for one in result["edits"][0]["reasons"] if one["kind"] == "correction")
        assert reason["corrections"][0]["number"] == number
        assert reason["corrections"][0]["author"] == "local"
        assert service.client.post("/v1/undo", json={"number": number}).status_code == 200
        assert service.client.post("/v1/edit", json=segment).json()["results"][0]["text"] == mt
        assert service.client.post("/v1/undo", json={"number": number}).status_code == 422
        learn["pe"] = "  "
        assert "needs pe, which is blank" in service.client.post("/v1/learn", json=learn).json()["error"]["message"]
        _check_inline_codes(service)


def _check_inline_codes(service: RunningService) -> None:
    """Check that a correction with inline codes is learnt without them, and that alternatives have theirs."""
    segment, markup = {"src": 'the <x id="1"/>house', "mt": 'der die <g id="1">Haus</g>'}, {"markup": "xliff"}
    learn = {**segment, "pe": 'der das <g id="1">Haus</g>', **markup, "decisions": []}
    assert service.client.post("/v1/learn", json=learn).status_code == 200
    body = {"segments": [segment], "project": "default", "n_best": 2, **markup}
    (result,) = service.client.post("/v1/edit", json=body).json()["results"]
    assert (result["text"], result["content"]) == ("der das Haus", 'der das <g id="1">Haus</g>')
    assert [one["content"] for one in result["alternatives"]] == ['der die <g id="1">Haus</g>']
    plain = {"segments": [{"src": "the house", "mt": "der die Haus"}], "project": "default"}
    assert service.client.post("/v1/edit", json=plain).json()["results"][0]["text"] == "der das Haus"
    learn["pe"] = "<g>"
    message = service.client.post("/v1/learn", json=learn).json()["error"]["message"]
    assert message.startswith("a text is not content of XLIFF")


@pytest.mark.slow
def test_what_was_accepted_is_answered_when_the_service_stops(tmp_path) -> None:
    with ThreadPoolExecutor(4) as pool:
        with serving(settings(tmp_path)) as service:
            gate = tmp_path / "gate"
            asked = [pool.submit(service.edit, f"until {gate}") for _ in range(3)]
            service.wait_until(waiting=2)
            threads = service.app.state.service.engine._pool._threads._threads
            assert any(one.is_alive() for one in threads)
            threading.Timer(0.5, gate.touch).start()  # the service is told to stop meanwhile
        assert [one.result().status_code for one in asked] == [200] * 3
    deadline = time.monotonic() + 300
    while any(one.is_alive() for one in threads) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(one.is_alive() for one in threads), "that talk to model processes"


@pytest.mark.slow
def test_edits_of_a_neural_model_have_words_of_the_source_as_reasons(tmp_path) -> None:
    limits = {"batch_timeout_seconds": 600.0, "timeout_seconds": 600.0}
    models = {"m": {"path": "shipped", "processes": 1}}
    config = parse_settings({"models": models, "data": str(tmp_path), "limits": limits}, "test")
    sample = EXAMPLES / "mlqe-pe.en-zh"
    src, mt = ((sample / f"test.{side}").read_text("utf-8").splitlines()[:20] for side in ("src", "mt"))
    segments = [{"src": one, "mt": other} for one, other in zip(src, mt, strict=True)]
    with serving(config, scripted=False) as service:
        body = {"segments": segments, "evidence": True, "timeout_ms": 600_000}
        answer = service.client.post("/v1/edit", json=body, timeout=600).json()
    changed = [one for one in answer["results"] if one["changed"]]
    reasons = [reason for one in changed for edit in one["edits"] for reason in edit["reasons"]]
    assert {reason["kind"] for reason in reasons} == {"source"}
    assert any(reason["words"] for reason in reasons)  # not all edits rest on words of the source


@pytest.mark.slow
def test_a_neural_model_follows_the_corrections_of_a_project_at_once(tmp_path) -> None:
    limits = {"batch_timeout_seconds": 600.0, "timeout_seconds": 600.0}
    models = {"m": {"path": "shipped", "processes": 1}}
    config = parse_settings({"models": models, "data": str(tmp_path), "limits": limits}, "test")
    before = ("他 在 2011 年 赢得 了 锦标赛 .", "他们 准备 参加 锦标赛 .", "他们 输掉 了 每次 锦标赛 .")
    segment = {"src": "She organized a championship for children .", "mt": "她 为 孩子 组织 了 一次 锦标赛 ."}
    asked = {"segments": [segment], "project": "default", "evidence": True, "timeout_ms": 600_000}
    with serving(config, scripted=False) as service:

        def edited() -> dict[str, Any]:
            (result,) = service.client.post("/v1/edit", json=asked, timeout=600).json()["results"]
            return result

        plain = edited()
        assert plain["text"] == "她 为 孩子 组织 了 一次 锦标赛 。"
        numbers = []
        for mt in before:
            learnt = {"src": "a championship", "mt": mt, "pe": mt.replace("锦标赛 .", "冠军赛 。")}
            numbers.append(service.client.post("/v1/learn", json=learnt).json()["number"])
        taught = edited()
        assert taught["text"] == "她 为 孩子 组织 了 一次 冠军赛 。"
        by_phrases, by_model = (edit["reasons"] for edit in taught["edits"])
        assert [one["number"] for one in by_phrases[0]["corrections"]] == numbers[::-1]
        assert by_model[0]["kind"] == "source"
        for number in numbers:
            assert service.client.post("/v1/undo", json={"number": number}).status_code == 200
        assert edited() == plain
