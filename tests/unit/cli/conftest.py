"""A stand-in for trained models, so that the command line is tested without any."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from postedit.search import SearchSettings
from postedit.text.edits import Edit


@dataclass(frozen=True)
class FakeEdit:
    text: str
    changed: bool
    score: float = -1.5
    token_scores: tuple[float, ...] = (-1.0, -0.5)
    edits: tuple[Edit, ...] = ()
    hit_limit: bool = False
    skipped: str | None = None
    evidence: object = None
    alternatives: tuple["FakeEdit", ...] = ()
    draft: str | None = None
    features: dict[str, float] | None = None
    confidences: tuple[float, ...] = ()
    reverted: int = 0


@dataclass
class FakeEditor:
    """Writes `mt!` for `mt`, or for the draft `src~`; stops with what is in `raise_at` when it meets that text."""

    raise_at: dict[str, BaseException] = field(default_factory=dict)
    calls: list[tuple[str, ...]] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    load_options: dict[str, Any] = field(default_factory=dict)
    sources: tuple[Path, ...] = ()
    swapped: bool = False
    loaded: list[tuple[str, ...]] = field(default_factory=list)
    decode: SimpleNamespace = field(
        default_factory=lambda: SimpleNamespace(beam=4, batch_tokens=4000, search=lambda: SearchSettings(beam=4))
    )
    needs_mt: bool = True
    draft: object = None
    drafts: bool = True
    checked: list[tuple[SearchSettings, bool]] = field(default_factory=list)

    def check_search(self, settings: SearchSettings, *, with_mt: bool) -> None:
        self.checked.append((settings, with_mt))

    def load(self, *models: str, **options: Any) -> "FakeEditor":
        self.loaded.append(models)
        self.load_options = options
        return self

    def seem_swapped(self, src: Sequence[str], mt: Sequence[str]) -> bool:
        return self.swapped

    def score(
        self, src: Sequence[str], mt: Sequence[str], outputs: Sequence[str], *, batch_tokens: int | None = None
    ) -> list[FakeEdit]:
        self.calls.append(tuple(outputs))
        return [
            FakeEdit(output, output != text, score=-float(len(output)), features={"model 1": -2.0})
            for output, text in zip(outputs, mt, strict=True)
        ]

    def edit(self, src: Sequence[str], mt: Sequence[str] | None = None, **options: Any) -> list[FakeEdit]:
        if mt is None:
            drafts = [f"{text}~" for text in src]
            return [replace(edit, draft=draft) for edit, draft in zip(self.edit(src, drafts, **options), drafts)]
        self.calls.append(tuple(mt))
        self.options = options
        for text in mt:
            if text in self.raise_at:
                raise self.raise_at[text]
        return [self._one(text) for text in mt]

    def _one(self, text: str) -> FakeEdit:
        if text.startswith("same"):
            return FakeEdit(text, changed=False)
        if text == "impossible":
            return FakeEdit(text, changed=False, skipped="impossible")
        end = len(text)
        return FakeEdit(
            f"{text}!",
            changed=True,
            edits=(Edit("insert", (end, end), (end, end + 1)),),
            confidences=(0.5,),
            hit_limit=text.startswith("endless"),
            alternatives=(FakeEdit(f"{text}?", changed=True),),
        )


@pytest.fixture
def editor(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> FakeEditor:
    folder = tmp_path_factory.mktemp("fake-model")
    (folder / "config.json").write_text("{}")
    fake = FakeEditor(sources=(folder,))
    module = ModuleType("postedit.editor")
    module.PostEditor = fake  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "postedit.editor", module)
    return fake


@pytest.fixture
def run() -> Any:
    from postedit.cli.main import app

    def invoke(*arguments: object, stdin: bytes | None = None) -> Any:
        return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)

    return invoke
