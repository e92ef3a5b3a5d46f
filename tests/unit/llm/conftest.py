"""Segments that the stub server can correct, and editors that ask it."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stub_server import Stub

from postedit.core.editor import Segment
from postedit.llm import pacing
from postedit.llm.endpoint_options import EndpointSpec, LlmConfig
from postedit.llm.llm_editor import LlmEditor

WORDS = {
    "house": "Haus", "tree": "Baum", "garden": "Garten", "street": "Straße", "human": "Mensch", "children": "Kinder",
    "run": "laufen", "see": "sehen", "quick": "schnell", "slow": "langsam", "today": "heute", "tomorrow": "morgen",
    "water": "Wasser", "fire": "Feuer", "sky": "Himmel", "earth": "Erde", "town": "Stadt", "village": "Dorf",
    "window": "Fenster", "printer": "Drucker", "picture": "Bild", "colour": "Farbe", "paper": "Papier", "line": "Linie",
}  # fmt: skip

PRICES = 'currency = "EUR"\n[models.tiny]\ninput = 1.0\noutput = 4.0\n'


def segments(count: int, seed: int = 1) -> list[Segment]:
    """Return segments with errors, some of them much like others, and some with the same mt."""
    chance, found = random.Random(seed), list[Segment]()
    for _ in range(count):
        words = chance.choices(list(WORDS), k=chance.randrange(3, 16))
        if found and chance.random() < 0.2:
            like = [word for word in chance.choice(found).src.split() if word in WORDS]
            words = [*like[:-1], chance.choice(list(WORDS))]
        mt = " ".join(("err" if chance.random() < 0.15 else "") + WORDS[word] for word in words)
        found.append(Segment(" ".join(words) + " .", f"{mt} ."))
        if chance.random() < 0.05:
            src = found[-1].src
            shorter = [one.mt for one in found if one.mt is not None and len(one.mt) <= len(src)]
            found[-1] = Segment(src, chance.choice(shorter or [found[-1].mt]))
    return found


MakeEditor = Callable[..., LlmEditor]


@pytest.fixture
def make_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeEditor:
    """Return what makes editors that ask a stub and keep answers in one file; pauses are short."""
    monkeypatch.setattr(pacing, "FIRST_PAUSE", 0.001)
    prices = tmp_path / "prices.toml"
    prices.write_text(PRICES, encoding="utf-8")

    def make(
        stub: Stub, *, run: str = "", glossary: Any = None, memory: Any = None, scorer: Any = None, **options: Any
    ) -> LlmEditor:
        given = {"cache": str(tmp_path / "answers.sqlite"), "prices": str(prices), "languages": "en:de", **options}
        config = LlmConfig(endpoint=stub.url, **given)
        spec = EndpointSpec("tiny", config, run) if run else EndpointSpec("tiny", config)
        return LlmEditor(spec, glossary=glossary, memory=memory, scorer=scorer)

    return make
