import hashlib
import json
import re
from base64 import b64encode
from html.parser import HTMLParser

import numpy as np
import pytest

from postedit.core.types import AttentionKey
from postedit.evaluate.scores import score_systems
from postedit.explain.evidence import Evidence
from postedit.explain.page import PageExample, attention_page

VOID = {"meta", "input"}
NASTY = '</script><img src=x onerror="alert(1)">'


class Document(HTMLParser):
    """Elements with their attributes and texts; checks that all of them are closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open[-1] if self._open else "", data))

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def text_of(self, tag: str) -> list[str]:
        return [text for name, text in self.texts if name == tag]


def example(word: str = "Tor", pe: str | None = "das Tor ist zu", kinds: tuple[str, ...] = ("soft",)) -> PageExample:
    streams = {"src": ("the", word, "shut", "</s>"), "mt": ("das", "Gatter", "zu", "</s>")}
    output = ("das", word, "zu", "</s>")
    attention = {AttentionKey(stream, kind): np.eye(4) for stream in streams for kind in kinds}  # type: ignore[arg-type]
    evidence = Evidence(streams, output, (-0.1, -2.0, -0.1, -0.1), attention)
    return PageExample("the gate shut", "das Gatter zu", f"das {word} zu", pe, evidence)


@pytest.fixture(scope="module")
def page() -> str:
    rows = score_systems({"model": ["das Tor zu", "ja"]}, ["das Tor ist zu", "ja"], ["das Gatter zu", "ja"])
    return attention_page("A <page>", [example(), example(NASTY, pe=None)], rows)


def test_every_element_is_closed(page: str) -> None:
    assert len(Document(page).of("article")) == 2


def test_nothing_is_fetched(page: str) -> None:
    document = Document(page)
    assert not {tag for tag, _ in document.elements} & {"link", "img", "iframe", "object"}
    assert not any({"src", "href"} & attributes.keys() for _, attributes in document.elements)
    assert "@import" not in page
    assert "url(" not in page
    assert "default-src 'none'" in page


def test_data_cannot_become_markup(page: str) -> None:
    assert "onerror" not in {name for _, attributes in Document(page).elements for name in attributes}
    assert NASTY not in page
    assert "<title>A &lt;page&gt;</title>" in page


def test_the_table_has_do_nothing_first_and_the_signatures(page: str) -> None:
    document = Document(page)
    headings = document.text_of("th")
    assert headings.index("do nothing") < headings.index("model")
    assert any("case:mixed" in text for text in document.text_of("dd"))
    assert "−20.00" in document.text_of("small")  # TER: from 2 edits to 1, of 5 words


def test_differences_are_shown_both_ways(page: str) -> None:
    assert "das <del>Gatter</del> <ins>Tor</ins> zu" in page
    assert "das Tor <ins>ist</ins> zu" in page


def test_each_output_word_is_one_button_and_one_stop_for_tab(page: str) -> None:
    buttons = Document(page).of("button")
    assert len(buttons) == 8
    assert [button["tabindex"] for button in buttons[:4]] == ["0", "-1", "-1", "-1"]
    assert [("unsure" in (button["class"] or "")) for button in buttons[:4]] == [False, True, False, False]


def test_the_weights_are_there_for_the_script() -> None:
    page = attention_page("t", [example(kinds=("soft", "copy"))], [])
    (found,) = re.findall(r'<script type="application/json">(.*?)</script>', page)
    data = json.loads(found)
    assert [(entry["stream"], entry["kind"]) for entry in data["attention"]] == [
        ("src", "soft"),
        ("src", "copy"),
        ("mt", "soft"),
        ("mt", "copy"),
    ]
    assert data["attention"][0]["weights"] == np.eye(4).tolist()
    assert data["probabilities"][1] == pytest.approx(np.exp(-2.0), abs=1e-4)


def test_a_choice_is_offered_only_where_there_is_one() -> None:
    assert Document(attention_page("t", [example()], [])).of("input") == []
    both = Document(attention_page("t", [example(kinds=("soft", "copy"))], []))
    assert [button["value"] for button in both.of("input")] == ["soft", "copy"]


def test_a_heat_map_for_each_key_with_a_square_for_each_weight() -> None:
    document = Document(attention_page("t", [example()], []))
    assert len(document.of("svg")) == 2
    assert len(document.of("rect")) == 2 * 4
    assert all(drawing["aria-label"] for drawing in document.of("svg"))


def test_an_unchanged_sentence_is_called_so() -> None:
    same = example("Gatter")
    text = " ".join(Document(attention_page("t", [same], [])).text_of("span"))
    assert "unchanged" in text


def test_a_model_that_reads_one_stream_still_shows_both_texts() -> None:
    evidence = Evidence({"mt": ("a", "b")}, ("a",), (-0.1,), {AttentionKey("mt", "soft"): np.array([[0.5, 0.5]])})
    page = attention_page("t", [PageExample("the source", "a b", "a", "a", evidence)], [])
    assert "the source" in Document(page).text_of("dd")


def test_no_script_but_its_own_may_run() -> None:
    page = attention_page("t", [example()], [])
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
