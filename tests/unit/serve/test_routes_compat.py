"""The doors in the shape of other services, tried with their clients, and with documented messages."""

import asyncio
import json
import threading
import urllib.error
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import httpx
import openai
import pytest
from libretranslatepy import LibreTranslateAPI
from scripted import RunningService, serving, settings
from serve_tools import answer_check

from postedit.serve import routes_compat
from postedit.serve.inline_markup import MarkedSegment


@pytest.fixture
def ai(service: RunningService) -> openai.OpenAI:
    checked = httpx.Client(event_hooks={"response": [answer_check(service.app)]})
    return openai.OpenAI(base_url=f"{service.address}/v1", api_key="none", max_retries=0, http_client=checked)


def ask(ai: openai.OpenAI, message: str, **given) -> str | None:
    chat = ai.chat.completions.create(
        model="scripted",
        messages=[{"role": "system", "content": "You translate."}, {"role": "user", "content": message}],
        temperature=0,
        **given,
    )
    assert chat.choices[0].finish_reason == "stop"
    assert chat.usage is not None
    assert chat.usage.total_tokens > 0
    return chat.choices[0].message.content


def test_the_client_of_openai_lists_models(ai: openai.OpenAI) -> None:
    assert [model.id for model in ai.models.list()] == ["scripted"]


def test_a_json_object_is_corrected(ai: openai.OpenAI) -> None:
    assert ask(ai, json.dumps({"source": "the house", "translation": "das haus"})) == "DAS HAUS"
    assert ask(ai, '```json\n{"src": "the house", "mt": "das haus"}\n```') == "DAS HAUS"


def test_labelled_lines_are_corrected(ai: openai.OpenAI) -> None:
    message = "Please correct.\n\nSource: the house\nTranslation: das haus\nGlossary:\n- house = Haus\n"
    assert ask(ai, message) == "DAS HAUS"


def test_others_do_not_wait_while_a_message_is_read(ai: openai.OpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    """A glossary of 100,000 terms takes seconds."""
    read = routes_compat.read_task

    def read_aside(message: str) -> Any:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        return read(message)

    monkeypatch.setattr(routes_compat, "read_task", read_aside)
    assert ask(ai, json.dumps({"source": "the house", "translation": "das haus"})) == "DAS HAUS"


def of_weblate(strings: list[dict[str, Any]], glossary: Sequence[dict[str, Any]] = ()) -> str:
    """Return a message with strings, in the form of the code of Weblate of 2026."""
    return json.dumps({"source_language": "en", "target_language": "de", "glossary": [*glossary], "strings": strings})


def ask_as_weblate(ai: openai.OpenAI, message: str) -> list[Any]:
    """Send a message as Weblate does: behind examples, with an answer to them."""
    example = {"source": "@@PH1@@", "parts": [PLACEHOLDER]}
    chat = ai.chat.completions.create(
        model="scripted",
        messages=[
            {"role": "system", "content": "You are a translation engine. Input is JSON. Answer with a JSON array."},
            {"role": "user", "content": of_weblate([example])},
            {"role": "assistant", "content": '["@@PH1@@"]'},
            {"role": "user", "content": message},
        ],
    )
    found: list[Any] = json.loads(chat.choices[0].message.content or "")
    return found


PLACEHOLDER = {"type": "placeholder", "id": "@@PH1@@", "kind": "syntax", "text": "", "translatable": False}
STRINGS: list[dict[str, Any]] = [
    {
        "source": "a house",
        "parts": [{"type": "text", "text": "a house"}],
        "translation": "ein haus",
        "key": "app.house",
    },
    {
        "source": "not @@PH1@@",
        "parts": [{"type": "text", "text": "not "}, PLACEHOLDER],
        "placeholders": {"@@PH1@@": "%s"},
    },
    {"source": "b @@PH1@@", "parts": [{"type": "text", "text": "b "}, PLACEHOLDER], "translation": "das @@PH1@@"},
]
"""A string with a translation, one without, and one with a placeholder."""


def test_strings_of_weblate_are_corrected_and_untranslated_ones_stay(ai: openai.OpenAI) -> None:
    terms = [{"source": "house", "target": "Haus", "source_explanation": "a home", "flags": ["terminology"]}]
    assert ask_as_weblate(ai, of_weblate(STRINGS, terms)) == ["EIN HAUS", "not @@PH1@@", "DAS @@PH1@@"]


def test_a_blank_translation_is_none(ai: openai.OpenAI) -> None:
    strings = [{"source": one, "translation": ""} for one in ("a", "")]
    assert ask_as_weblate(ai, of_weblate(strings)) == ["a", ""]


def test_the_string_with_which_weblate_tries_a_service_is_answered(ai: openai.OpenAI) -> None:
    """Weblate saves no service that refuses it."""
    assert [model.id for model in ai.models.list()] == ["scripted"]
    assert ask_as_weblate(ai, of_weblate([{"source": "test", "parts": [{"type": "text", "text": "test"}]}])) == ["test"]


def test_answers_are_streamed(ai: openai.OpenAI) -> None:
    message = json.dumps({"source": "a", "translation": "b"})
    stream = ai.chat.completions.create(
        model="scripted",
        messages=[{"role": "user", "content": [{"type": "text", "text": message}]}],
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    assert "".join(one.choices[0].delta.content or "" for one in chunks if one.choices) == "B"
    assert chunks[-1].usage is not None
    assert [one.choices[0].finish_reason for one in chunks if one.choices][-1] == "stop"


def test_errors_reach_the_client_of_openai_as_sentences(ai: openai.OpenAI) -> None:
    with pytest.raises(openai.UnprocessableEntityError, match="the last user message must have the source"):
        ask(ai, "Hello!")
    with pytest.raises(openai.UnprocessableEntityError, match="entry 1 of the glossary is not a term"):
        ask(ai, '{"source": "a", "translation": "b", "glossary": {"a": ["b"]}}')
    with pytest.raises(openai.UnprocessableEntityError, match="segment 1 has none"):
        ask(ai, '{"source": "a"}')
    with pytest.raises(openai.NotFoundError, match="there is no model 'gpt'"):
        ai.chat.completions.create(model="gpt", messages=[{"role": "user", "content": "Source: a\nTranslation: b"}])
    with pytest.raises(openai.NotFoundError, match="there is no project 'p'"):
        ai.chat.completions.create(
            model="scripted/p", messages=[{"role": "user", "content": "Source: a\nTranslation: b"}]
        )


@pytest.mark.parametrize("form", [False, True])
def test_translations_are_corrected_in_the_shape_of_libretranslate(service: RunningService, form: bool) -> None:
    body = {"q": "the house", "source": "en", "target": "de", "translation": "das haus", "api_key": ""}
    answer = service.client.post("/translate", data=body) if form else service.client.post("/translate", json=body)
    assert answer.json() == {"translatedText": "DAS HAUS"}


def test_several_texts_and_tags_of_html_are_corrected(service: RunningService) -> None:
    body = {"q": ["a <b>b</b>", "c"], "source": "auto", "target": "de", "translation": ["x <b>y</b> &lt;", "z"]}
    answer = service.client.post("/translate", json={**body, "format": "html"}).json()
    assert answer["translatedText"] == ["X <b>Y</b> &lt;", "Z"]
    assert len(answer["detectedLanguage"]) == 2


def test_long_html_is_read_and_written_in_a_thread(service: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise, nobody else would be answered meanwhile."""
    threads = {"of": set(), "written": set()}

    def noting(name: str) -> Callable[..., Any]:
        function = getattr(MarkedSegment, name)

        def noted(*given: Any) -> Any:
            threads[name].add(threading.current_thread().name)
            return function(*given)

        return noted

    for name in threads:
        monkeypatch.setattr(MarkedSegment, name, noting(name))
    for count in (1, 250):
        body = {"q": ["the <b>house</b> is large"] * count, "translation": ["das <b>haus</b>"] * count}
        answer = service.client.post("/translate", json={**body, "source": "en", "format": "html"})
        assert set(answer.json()["translatedText"]) == {"DAS <b>HAUS</b>"}
    assert {name: len(used) for name, used in threads.items()} == {"of": 2, "written": 2}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"q": "a", "target": "de"}, "segment 1 has none"),
        ({"q": "a", "translation": " "}, "segment 1 has none"),
        ({"q": ["a"], "translation": ["a", "b"]}, "q has 1 text, and translation 2"),
        ({"translation": "a"}, "q: Field required"),
        ({"q": 5}, "q: Input should be a valid string; q: Input should be a valid list"),
        ({"q": ["a", 5]}, "q.1: Input should be a valid string"),
        ([], "body"),
    ],
)
def test_what_libretranslate_cannot_do_is_a_sentence(service: RunningService, body, message: str) -> None:
    answer = service.client.post("/translate", json=body)
    assert answer.status_code == 422
    assert message in answer.json()["error"]["message"]


def test_a_message_of_another_kind_is_named_without_words_of_the_library(service: RunningService) -> None:
    message = {"role": "user", "content": 5}
    answer = service.client.post("/v1/chat/completions", json={"model": "scripted", "messages": [message]})
    assert answer.status_code == 422
    assert answer.json()["error"]["message"].startswith("messages.0.content: Input should be a valid string; ")


def test_languages_are_those_of_the_models(service: RunningService) -> None:
    assert service.client.get("/languages").json() == [{"code": "en", "name": "en", "targets": ["de"]}]


@pytest.mark.parametrize("body", [b"q=Kn%F6pfe", b"q=Kn\xf6pfe"])
def test_a_form_that_is_not_utf8_is_refused(service: RunningService, body: bytes) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = service.client.post("/detect", content=body, headers=form)
    assert answer.status_code == 422
    assert "the body has text that is not UTF-8" in answer.text
    as_utf8 = service.client.post("/detect", content="q=Kn%C3%B6pfe+sind+rot", headers=form)
    assert as_utf8.status_code == 200


def test_languages_are_detected(service: RunningService) -> None:
    found = service.client.post("/detect", data={"q": "Drücken Sie bitte den roten Knopf."}).json()
    assert found[0]["language"] == "de"
    assert found[0]["confidence"] > 90


def test_bodies_that_are_nothing_are_refused(service: RunningService) -> None:
    for path in ("/translate", "/detect"):
        answer: httpx.Response = service.client.post(path, content=b"{")
        assert answer.status_code == 422


@pytest.fixture(scope="module")
def translating(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """Yield a service that asks for keys, whose model needs no translation."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCRIPTED_TRANSLATES", "1")
        with serving(settings(tmp_path_factory.mktemp("translating"), auth={"required": True})) as running:
            yield running


@pytest.mark.slow
def test_the_client_of_libretranslate_is_answered(translating: RunningService) -> None:
    people = translating.app.state.service.store.people
    _, key = people.create_key(people.create_user("anna", "correct horse", admin=False), "test", ["edit"], None, 0.0)
    client = LibreTranslateAPI(translating.address, key)
    assert client.languages() == [{"code": "en", "name": "en", "targets": ["de"]}]
    assert client.detect("Drücken Sie bitte den roten Knopf.")[0]["language"] == "de"
    assert client.translate("a house", "en", "de") == "A HOUSE"
    without = LibreTranslateAPI(translating.address)
    assert without.languages() == client.languages()
    with pytest.raises(urllib.error.HTTPError, match="401"):
        without.translate("a house", "en", "de")


def test_the_client_of_libretranslate_learns_that_a_model_only_corrects(service: RunningService) -> None:
    with pytest.raises(urllib.error.HTTPError, match="422") as caught:
        LibreTranslateAPI(service.address).translate("a house", "en", "de")
    assert "segment 1 has none" in json.load(caught.value)["error"]["message"]


def test_a_model_that_can_translates_untranslated_strings_of_weblate(translating: RunningService) -> None:
    people = translating.app.state.service.store.people
    _, key = people.create_key(people.create_user("ben", "correct horse", admin=False), "test", ["edit"], None, 0.0)
    ai = openai.OpenAI(base_url=f"{translating.address}/v1", api_key=key, max_retries=0)
    assert ask_as_weblate(ai, of_weblate(STRINGS)) == ["EIN HAUS", "NOT @@PH1@@", "DAS @@PH1@@"]


@pytest.mark.slow
def test_the_answers_of_all_doors_are_described(service: RunningService) -> None:
    paths = service.client.get("/openapi.json").json()["paths"]
    doors = {"/v1/chat/completions": "post", "/translate": "post", "/languages": "get", "/detect": "post"}
    described = {
        path: paths[path][method]["responses"]["200"]["content"]["application/json"]["schema"].get("$ref", "")
        for path, method in doors.items()
    }
    names = ["ChatAnswer", "Translated", "Languages", "DetectedLanguages"]
    assert list(described.values()) == [f"#/components/schemas/{name}" for name in names]
