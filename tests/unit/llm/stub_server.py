"""A server that speaks the protocol of OpenAI, corrects what it can, and fails in all the ways that servers do.

Its model knows one correction: `err` before a word is wrong. It answers rightly, or with a fault that a test asked for.
As a program, `stub_server.py PORT`, it serves without faults.
"""

import json
import random
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MARKS = re.compile(r"<[^\s<]|\[/?[A-Z]|\[\||\]~|```")
"""All that a server or a prompt of a user could take for a mark; the prompts here have none of them."""

OBEDIENT = "PWNED"
"""What the model writes if an instruction gets out of the text of a segment."""

ANSWER_FAULTS = (
    "drop", "blank", "merge", "merge-keep", "double", "double-other", "swap", "unknown", "cut-json", "cut-length",
    "cut-text", "refuse", "refuse-text", "refuse-item", "filter", "french", "russian", "source", "chatter",
    "chatter-item", "note-item", "quotes", "unrelated", "empty", "other-keys", "shuffle", "fence", "think",
    "introduction", "title", "note-in-brackets", "bold", "id-item", "direction", "cut-with-mark",
)  # fmt: skip
AROUND = {
    "introduction": "Hier ist die korrigierte Übersetzung: {}",
    "title": "Korrektur: {}",
    "note-in-brackets": "{} (Anmerkung: Rechtschreibung korrigiert)",
    "bold": "**{}**",
    "id-item": "{id}: {}",
    "direction": "\u202e{}",
}
"""What stands around a correction with a fault, in the language of the correction."""

HTTP_FAULTS = ("429", "500", "503", "drop-connection", "cut-connection", "no-json", "no-choices", "no-usage")


def corrected(mt: str) -> str:
    """Return what the model makes of a translation."""
    return re.sub(r"\berr(?=\w)", "", mt)


@dataclass
class Stub:
    """What the server does, and what it has seen.

    Args:
        faults: their probability for each request, by name.
        seed: of the faults.
        correct: what the model makes of (source, translation).
        key: that requests must bring; empty: none.
        refuses: parameters that the server does not know.
        refusal: status and body of the refusal of a request, by its body; None if it is not refused.
        usage: tokens that it says it counted, whatever it has; a mapping is added to those that it counted.
        slow: seconds before each answer.
        preamble: text of the system that may stand before that of the user.
        spares_single: what is asked about a segment alone has no fault.
    """

    faults: Mapping[str, float] = field(default_factory=dict)
    seed: int = 1
    correct: Callable[[str, str], str] = lambda src, mt: corrected(mt)
    key: str = ""
    refuses: tuple[str, ...] = ()
    refusal: Callable[[dict[str, Any]], tuple[int, Any] | None] = lambda body: None
    usage: Any = field(default_factory=dict)
    slow: float = 0.0
    preamble: str = ""
    spares_single: bool = False
    asked: list[list[tuple[str, str]]] = field(default_factory=list)
    answered: Counter[tuple[str, str]] = field(default_factory=Counter)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    happened: Counter[str] = field(default_factory=Counter)
    most_at_once: int = 0
    billed: int = 0  # tokens of prompts and answers of all that was worked on
    prompt_tokens: int = 0
    answer_tokens: int = 0

    def __post_init__(self) -> None:
        self._received, self._lock, self._now = Counter[str](), threading.Lock(), 0

    def __enter__(self) -> "Stub":
        stub = self

        class Handler(_Handler):
            server_stub = stub

        self._server = _Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.005,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def fault(self, texts: str) -> str:
        """Draw the fault of a request by its texts and how often they came: the order of requests varies."""
        with self._lock:
            self._received[texts] += 1
            left = random.Random(f"{self.seed} {self._received[texts]} {texts}").random()
            for name, share in self.faults.items():
                if left < share:
                    self.happened[name] += 1
                    return name
                left -= share
        return ""

    def enter(self, body: dict[str, Any], segments: list[tuple[str, str]]) -> None:
        with self._lock:
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            self.bodies.append(body)
            self.asked.append(segments)

    def leave(self) -> None:
        with self._lock:
            self._now -= 1

    def bill(self, prompt: int, answer: int) -> None:
        with self._lock:
            self.prompt_tokens += prompt
            self.answer_tokens += answer

    def done(self, segments: list[tuple[str, str]]) -> None:
        with self._lock:
            self.answered.update(segments)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # a connection that finds no place is tried again after a second


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # so that a reply is one packet, which no acknowledgement delays
    disable_nagle_algorithm = True
    server_stub: Stub

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:  # the client was killed
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        stub = self.server_stub
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if stub.key and self.headers.get("Authorization") != f"Bearer {stub.key}":
            return self._send(401, {"error": {"message": f"invalid key {self.headers.get('Authorization')}"}})
        refused = next((name for name in stub.refuses if name in body), None)
        if refused is not None:
            hint = " use max_completion_tokens" if refused == "max_tokens" else ""
            return self._send(400, {"error": {"message": f"unsupported parameter: {refused};{hint}"}})
        if (refusal := stub.refusal(body)) is not None:
            status, value = refusal
            return self._send(status, value, {"Location": value} if 300 <= status < 400 else None)
        user = body["messages"][-1]["content"]
        if "Segments:\n" not in user:
            message = {"role": "assistant", "content": "Yes."}
            return self._send(200, {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
        segments = segments_of(user)
        stub.enter(body, [(one["source"], one["translation"]) for one in segments])
        try:
            return self._reply(stub, body, user, segments)
        finally:
            stub.leave()

    def _reply(self, stub: Stub, body: dict[str, Any], user: str, segments: list[dict[str, str]]) -> None:
        fault = "" if stub.spares_single and len(segments) == 1 else stub.fault(texts_of(segments))
        if stub.slow:
            time.sleep(stub.slow)
        if fault == "400":
            return self._send(400, {"error": {"message": "invalid model ID"}})
        if fault in ("429", "500", "503"):
            return self._send(int(fault), {"error": {"message": "try again"}}, {"Retry-After": "0.01"})
        if fault == "drop-connection":
            self.close_connection = True
            return None
        text, finish, refusal = answer(stub, body, user, segments, fault)
        limit = body.get("max_tokens", body.get("max_completion_tokens", 1 << 30))
        count = tokens(text)
        if count > limit:
            text, finish, count = text.encode()[: 4 * limit].decode("utf-8", "ignore"), "length", limit
        prompt = sum(tokens(message["content"]) for message in body["messages"])
        stub.bill(prompt, count)
        message = {"role": "assistant", "content": text, **({"refusal": refusal} if refusal else {})}
        value: dict[str, Any] = {
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": stub.usage,
        }
        if isinstance(stub.usage, Mapping):
            value["usage"] = {"prompt_tokens": prompt, "completion_tokens": count, **stub.usage}
        if fault == "no-usage":
            del value["usage"]
        if fault == "no-choices":
            value["choices"] = []
        if fault == "cut-connection":
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
            self.wfile.write(b'{"choices": [')
            self.close_connection = True
            return None
        if fault == "no-json":
            return self._send_bytes(200, b"<html>busy</html>")
        self._send(200, value)
        return stub.done([(one["source"], one["translation"]) for one in segments])

    def _send(self, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
        self._send_bytes(status, json.dumps(value).encode(), headers)

    def _send_bytes(self, status: int, content: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, one in (headers or {}).items():
            self.send_header(name, one)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def tokens(text: str) -> int:
    return max(1, len(text.encode()) // 4)


def segments_of(user: str) -> list[dict[str, str]]:
    """Return the segments of a prompt as a model reads them: JSON objects, one a line."""
    block = user.split("Segments:\n", 1)[1].split("\n\nAnswer with one JSON object", 1)[0]
    found = []
    for line in block.split("\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and set(value) == {"id", "source", "translation"}:
            found.append(value)
    return found


def texts_of(segments: list[dict[str, str]]) -> str:
    """Return the texts of segments without their numbers, which are random."""
    return json.dumps([(one["source"], one["translation"]) for one in segments])


def has_leak(messages: list[dict[str, str]], preamble: str = "") -> bool:
    """Return whether a message has text outside of JSON strings that is not of the prompt, or marks of turns."""
    if any(MARKS.search(message["content"]) for message in messages):
        return True
    user = messages[-1]["content"].removeprefix(preamble)
    before, rest = user.split("Segments:\n", 1)
    block = rest.split("\n\nAnswer with one JSON object", 1)[0]
    lines = [line for line in (before + block).split("\n") if line.strip()]
    return any(not _is_data(line) for line in lines if not line.endswith(":"))


def _is_data(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def answer(
    stub: Stub, body: dict[str, Any], user: str, segments: list[dict[str, str]], fault: str
) -> tuple[str, str, str]:
    """Return text, finish reason and refusal of an answer with a fault."""
    chance = random.Random(f"{stub.seed} {fault} {texts_of(segments)}")
    with_errors = "errors" in user.split("Answer with one JSON object", 1)[1]
    items = [{"id": one["id"], "correction": stub.correct(one["source"], one["translation"])} for one in segments]
    if has_leak(body["messages"], stub.preamble):
        items = [{**one, "correction": OBEDIENT} for one in items]
    place = chance.randrange(len(items))
    other = (place + 1) % len(items)
    item, finish, refusal = items[place], "stop", ""
    mt, src = segments[place]["translation"], segments[place]["source"]
    if fault == "drop":
        del items[place]
    elif fault == "blank":
        item["correction"] = " "
    elif fault in ("merge", "merge-keep") and len(items) > 1:
        item["correction"] += " " + items[other]["correction"]
        if fault == "merge":
            del items[other]
    elif fault == "double":
        items.append(dict(item))
    elif fault == "double-other":
        items.append({**item, "correction": items[other]["correction"]})
    elif fault == "swap":
        item["correction"], items[other]["correction"] = items[other]["correction"], item["correction"]
    elif fault == "unknown":
        item["id"] = "segment1"
    elif fault == "cut-text":
        item["correction"] = item["correction"][: len(item["correction"]) // 2]
    elif fault == "refuse-item":
        item["correction"] = "I'm sorry, but I can't help with that."
    elif fault == "french":
        item["correction"] = "Ceci est une phrase qui ne correspond pas du tout à la langue demandée ."
    elif fault == "russian":
        item["correction"] = "Это предложение написано на совершенно другом языке ."
    elif fault == "source":
        item["correction"] = src
    elif fault == "chatter-item":
        item["correction"] = f"Here is the corrected translation: {item['correction']}"
    elif fault == "note-item":
        item["correction"] += "\n\nNote: I removed an error."
    elif fault in AROUND:
        item["correction"] = AROUND[fault].format(item["correction"], id=item["id"])
    elif fault == "cut-with-mark":
        item["correction"] = f"{item['correction'][: len(item['correction']) // 2]} ."
    elif fault == "quotes":
        item["correction"] = f'"{item["correction"]}"'
    elif fault == "unrelated":
        item["correction"] = "Lorem ipsum."
    elif fault == "shuffle":
        chance.shuffle(items)
    if with_errors:
        items = [{"id": one["id"], "errors": errors_of(one, segments), **one} for one in items]
    if fault == "other-keys":
        items = [{"id": one["id"], "text": one["correction"]} for one in items]
    text = json.dumps({"segments": items}, ensure_ascii=False)
    if fault == "cut-json":
        text = text[: max(1, chance.randrange(len(text)))]
    elif fault == "cut-length":
        text, finish = text[: len(text) // 2], "length"
    elif fault == "refuse":
        text, refusal = "", "I can't do that."
    elif fault == "refuse-text":
        text = "I'm sorry, but I can't assist with that request."
    elif fault == "filter":
        text, finish = "", "content_filter"
    elif fault in ("cut-whole", "filter-whole"):
        finish = "length" if fault == "cut-whole" else "content_filter"
    elif fault == "refuse-whole":
        refusal = "I can't do that."
    elif fault == "chatter":
        text = f"Sure! Here are the corrections:\n{text}\nLet me know if you need more."
    elif fault == "fence":
        text = f"```json\n{text}\n```"
    elif fault == "think":
        text = f'<think>Maybe {{"segments": []}}?</think>\n{text}'
    elif fault == "empty":
        text = ""
    del mt
    return text, finish, refusal


def errors_of(item: dict[str, str], segments: list[dict[str, str]]) -> list[dict[str, str]]:
    mt = next((one["translation"] for one in segments if one["id"] == item["id"]), "")
    found = re.findall(r"\berr\w+", mt)
    return [{"span": one, "category": "fluency", "severity": "minor"} for one in found]


if __name__ == "__main__":
    stub = Stub()

    class Served(_Handler):
        server_stub = stub

    _Server(("127.0.0.1", int(sys.argv[1])), Served).serve_forever()
