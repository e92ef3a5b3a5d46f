"""A stand-in for trained models, so that the command line is tested without any."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.unit.releases.conftest import releases, world  # noqa: F401
from typer.testing import CliRunner

from postedit.core.editor import Abilities, Detail, Edit, Editor, Identity, PostEdit, Segment
from postedit.core.search_config import SearchConfig
from postedit.model_files import content_fingerprint

SCORES = (-1.0, -0.5)


class FakeEditor(Editor):
    """Writes `mt!` for `mt`, or for the draft `src~`; stops with what is in `raise_at` when it meets that text."""

    def __init__(self, *sources: Path) -> None:
        self.sources = sources
        self.raise_at: dict[str, BaseException] = {}
        self.calls: list[tuple[str, ...]] = []
        self.searches: list[SearchConfig | None] = []
        self.load_options: dict[str, Any] = {}
        self.loaded: list[tuple[str, ...]] = []
        self.checked: list[tuple[SearchConfig, bool]] = []
        self.swapped = False
        self.can = Abilities(constraints=True, n_best=True, forced_scores=True, drafts=True)
        self.search = SearchConfig(beam=4)

    @property
    def abilities(self) -> Abilities:
        return self.can

    def identity(self, search: SearchConfig | None = None) -> Identity:
        settings = {**(search or self.search).outcome(), "dtype": self.load_options.get("dtype")}
        return Identity(tuple(map(content_fingerprint, self.sources)), settings)

    def check(self, search: SearchConfig, *, with_mt: bool) -> None:
        self.checked.append((search, with_mt))

    def load(self, *models: str, **options: Any) -> "FakeEditor":
        self.loaded.append(models)
        self.load_options = options
        return self

    def seem_swapped(self, src: Sequence[str], mt: Sequence[str]) -> bool:
        return self.swapped

    def score_segments(
        self, segments: Sequence[Segment], outputs: Sequence[str], *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        self.calls.append(tuple(outputs))
        return [
            PostEdit(output, output != one.mt, -float(len(output)), SCORES, features={"model 1": -2.0})
            for output, one in zip(outputs, segments, strict=True)
        ]

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        texts = [f"{one.src}~" if one.mt is None else one.mt for one in segments]
        self.calls.append(tuple(texts))
        self.searches.append(search)
        for text in texts:
            if text in self.raise_at:
                raise self.raise_at[text]
        return [
            replace(self._one(text), draft=text if one.mt is None else None)
            for text, one in zip(texts, segments, strict=True)
        ]

    def _one(self, text: str) -> PostEdit:
        if text.startswith("same"):
            return PostEdit(text, False, -1.5, SCORES)
        if text == "impossible":
            return PostEdit(text, False, -1.5, SCORES, skipped="impossible")
        end = len(text)
        return PostEdit(
            f"{text}!",
            True,
            -1.5,
            SCORES,
            edits=(Edit("insert", (end, end), (end, end + 1)),),
            confidences=(0.5,),
            hit_limit=text.startswith("endless"),
            alternatives=(PostEdit(f"{text}?", True, -1.5, SCORES),),
        )


@pytest.fixture
def editor(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> FakeEditor:
    folder = tmp_path_factory.mktemp("fake-model")
    (folder / "config.json").write_text("{}")
    fake = FakeEditor(folder)
    module = ModuleType("postedit.editing.post_editor")
    module.PostEditor = fake  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "postedit.editing.post_editor", module)
    return fake


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Return seven lines of src and mt, and where to write what is made of them."""
    src, mt, out = tmp_path / "x.src", tmp_path / "x.mt", tmp_path / "x.out"
    src.write_text("".join(f"source {n}\n" for n in range(7)))
    mt.write_text("".join(f"mt {n}\n" for n in range(7)))
    return src, mt, out


@pytest.fixture
def run() -> Any:
    from postedit.cli.main import app

    def invoke(*arguments: object, stdin: bytes | None = None) -> Any:
        return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)

    return invoke
