import os
import re
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.unit.explain.sentences import BOTH, sentence

from postedit.core.types import AttentionKey
from postedit.explain import figure
from postedit.explain.figure import attention_figure, missing_characters

SHARES = {"generated": np.array([0.2] * 4), "mt": np.array([0.8] * 4)}


@pytest.mark.slow
def test_a_figure_is_png_and_svg_with_all_words_as_text() -> None:
    hard = AttentionKey("mt", "hard")
    one = sentence(src="the $red$ <house>", shares=SHARES).words
    words = replace(one, attention={**one.attention, hard: np.eye(4)})
    found = attention_figure(words, "1")
    assert found["png"].startswith(b"\x89PNG")
    svg = found["svg"].decode()
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    wanted = {"$red$", "&lt;house&gt;", "blaue", "rote", "copied from mt", "position in the machine translation"}
    assert wanted <= set(texts)
    assert attention_figure(words, "1")["svg"] == found["svg"]  # the same bytes each time


def test_each_word_has_its_row_of_weights_positions_and_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    hard, places = AttentionKey("mt", "hard"), [0, 2, 2, 3]
    one = sentence(shares={"generated": np.array([0.2, 0.4, 0.6, 0.8]), "mt": np.array([0.8, 0.6, 0.4, 0.2])}).words
    drawn: list[Any] = []
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda self, *_, **__: drawn.append(self))
    attention_figure(replace(one, attention={**one.attention, hard: np.eye(4)[places]}), "1")
    src, _, positions, shares = drawn[0].axes
    assert [label.get_text() for label in src.get_yticklabels()] == ["das", "rote", "Haus", "</s>"]
    assert src.get_ylim() == shares.get_ylim() == (3.5, -0.5), "the first word is on top"
    assert np.array_equal(src.images[0].get_array(), next(iter(one.attention.values())))
    assert positions.lines[0].get_xydata().tolist() == [[place, row] for row, place in enumerate(places)]
    bars = [(round(bar.get_x(), 2), round(bar.get_width(), 2), bar.get_y() + 0.4) for bar in shares.patches]
    first, second = bars[:4], bars[4:]
    assert first == [(0.0, share, row) for row, share in enumerate([0.2, 0.4, 0.6, 0.8])]
    assert second == [(left, pytest.approx(1 - left), row) for row, left in enumerate([0.2, 0.4, 0.6, 0.8])]


def test_a_joint_attention_is_drawn_text_by_text() -> None:
    svg = attention_figure(sentence(attention={BOTH: np.full((4, 8), 1 / 8)}).words, "1")["svg"].decode()
    assert "attention over the source" in svg
    assert "attention over the machine translation" in svg


def test_without_attention_there_is_nothing_to_draw() -> None:
    with pytest.raises(ValueError, match="no attention"):
        attention_figure(sentence(attention={}).words, "1")


def test_characters_that_xml_cannot_have_are_replaced() -> None:
    svg = attention_figure(sentence(src="a\x01b \ufffe c\x1f").words, "1")["svg"]
    texts = [element.text for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("}text")]
    assert "a\ufffdb" in texts


@pytest.mark.slow
def test_a_very_long_line_has_a_figure_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure, "_WIDEST", 500)
    png = attention_figure(sentence(src="a b c d " * 20).words, "1")["png"]
    assert max(struct.unpack(">II", png[16:24])) <= 501


def test_characters_without_a_font_are_named() -> None:
    assert missing_characters(["das rote Haus"]) == set()
    assert "\U000f0000" not in missing_characters(["a \U000f0000 b"])  # not printable: nothing to miss
    assert missing_characters(["a 𓀀 b"]) in (set(), {"𓀀"})


@pytest.mark.parametrize("script", ["Khmer", "Lao", "Myanmar", "Ethiopic", "Georgian", "Tamil"])
def test_installed_fonts_of_many_scripts_are_searched(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = ["DejaVu Sans", "Comic Neue", f"Noto Sans {script}"]
    monkeypatch.setattr("matplotlib.font_manager.get_font_names", lambda: installed)
    svg = attention_figure(sentence().words, "1")["svg"].decode()
    assert f"'DejaVu Sans', 'Noto Sans {script}'" in svg
    assert "Comic" not in svg


FIRST = """
import threading
class AtOnce(threading.Timer):
    def start(self): self.function()
threading.Timer = AtOnce  # matplotlib tells after five seconds that it still looks for fonts
from postedit.explain.figure import attention_figure, missing_characters
from tests.unit.explain.sentences import sentence
"""


@pytest.mark.slow
@pytest.mark.parametrize("work", ["attention_figure(sentence().words, '1')", "missing_characters(['a'])"])
def test_the_first_figure_says_nothing_of_a_search_for_fonts(work: str, tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "MPLCONFIGDIR": str(tmp_path)}
    command = [sys.executable, "-c", FIRST + work]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert list(tmp_path.glob("fontlist*")), "it has looked for them"
    assert done.stderr == ""


@pytest.mark.parametrize("text", ["猫が 寝て いる", "a 𓀀 b"])
def test_messages_of_matplotlib_do_not_reach_the_user(text: str, recwarn: pytest.WarningsRecorder, caplog: Any) -> None:
    attention_figure(sentence(src=text).words, text)
    assert not recwarn.list
    assert not caplog.records


@pytest.mark.parametrize(
    ("name", "begin"), [("a.PNG", b"\x89PNG"), ("a.pdf", b"%PDF"), ("a.SVG", b"<?xml"), ("a.svg", b"<?xml")]
)
def test_a_picture_has_the_format_of_its_name_and_no_date_in_svg(tmp_path: Path, name: str, begin: bytes) -> None:
    with figure.drawing({}):
        from matplotlib.figure import Figure

        figure.save_figure(Figure(), tmp_path / name)
    written = (tmp_path / name).read_bytes()
    assert written.startswith(begin)
    assert b"<dc:date>" not in written
