"""`postedit edit` with protected spans and terms."""

import json
from pathlib import Path
from typing import Any

import pytest
import tiny_models

from postedit.cli import shared
from postedit.core.errors import DataError
from postedit.text.span_patterns import KINDS

SRC = ["the house 5", "it {0} goes", "red 6 and 7"]
MT = ["das Haus 5", "es {0} geht", "rot 6 und 7"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model that loses every span."""
    path: Path = tmp_path_factory.mktemp("model") / "model"
    tiny_models.folder().save(path)
    return path


@pytest.fixture
def texts(tmp_path: Path) -> tuple[object, ...]:
    for side, lines in (("src", SRC), ("mt", MT)):
        (tmp_path / side).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return ("--src", tmp_path / "src", "--mt", tmp_path / "mt", "--out", tmp_path / "out")


@pytest.mark.usefixtures("nonsense_is_text")
def test_spans_kept_are_counted_and_listed_unless_left_out(
    run: Any, model: Path, texts: tuple[object, ...], tmp_path: Path
) -> None:
    kept = run("edit", model, *texts, "--format", "jsonl")
    assert kept.exit_code == 0, kept.stderr
    assert "protected spans restored:" in kept.stderr
    records = [json.loads(line) for line in (tmp_path / "out").read_text(encoding="utf-8").splitlines()]
    listed = {span["kind"] for record in records for span in record["fallbacks"]}
    assert {"number", "placeholder"} <= listed
    assert ["5" in records[0]["text"], "{0}" in records[1]["text"]] == [True, True]
    other = run("edit", model, *texts, "--protect", "none")
    assert other.exit_code == 0, other.stderr
    assert "protected" not in other.stderr


def test_a_run_with_other_kinds_or_terms_is_not_continued(
    run: Any, model: Path, texts: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from postedit.core.editor import Editor

    edit, windows = Editor.edit, []

    def interrupted(self: Editor, *given: Any, **more: Any) -> Any:
        windows.append(given)
        if len(windows) == 2:
            raise KeyboardInterrupt
        return edit(self, *given, **more)

    monkeypatch.setattr(Editor, "edit", interrupted)
    assert run("edit", model, *texts, "--set", "chunk_lines=1").exit_code == 130
    glossary = tmp_path / "terms.tsv"
    glossary.write_text("house\tHaus\n", encoding="utf-8")
    for other in (("--protect", "-url"), ("--glossary", glossary)):
        refused = run("edit", model, *texts, "--resume", *other)
        assert refused.exit_code == 1
        assert "made with another " in refused.stderr
    assert run("edit", model, *texts, "--resume").exit_code == 0


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        ("all", KINDS),
        ("none", ()),
        ("url, number", ("number", "url")),
        ("-number,-code", tuple(kind for kind in KINDS if kind not in ("number", "code"))),
    ],
)
def test_kinds_are_named_or_left_out(given: str, kinds: tuple[str, ...]) -> None:
    assert shared.kinds_to_protect(given) == kinds


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("numbers", 'did you mean "number"'),
        ("", "not a kind of span"),
        ("url,-code", "names kinds and leaves out others"),
    ],
)
def test_unknown_kinds_and_mixed_lists_are_refused(given: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        shared.kinds_to_protect(given)


def test_a_broken_glossary_is_refused_before_the_model_is_loaded(run: Any, tmp_path: Path) -> None:
    glossary = tmp_path / "terms.tsv"
    glossary.write_text("house\n", encoding="utf-8")
    result = run("edit", "MODEL", "--glossary", glossary, stdin=b"a\tb\n")
    assert result.exit_code == 1
    assert "terms.tsv, line 1: needs a source term" in result.stderr
