import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny_models
from tests.unit.cli.commands import refused
from tests.unit.releases.conftest import World

from postedit.cli.demo import chinese_punctuation, choose, print_help_text, rules_note, show_help_texts
from postedit.cli.tables import console
from postedit.core.editor import Edit, PostEdit


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for part in ("train", "dev", "test"):
        (tmp_path / f"{part}.src").write_text("the cat\nthe <dog>\n")
        (tmp_path / f"{part}.mt").write_text("die Katz\nder <Hund>\n")
        (tmp_path / f"{part}.pe").write_text("die Katze\nder <Hund>\n")
    tiny_models.write_recipe(tmp_path / "tiny.toml")
    return tmp_path


def test_the_whole_way_and_once_more(run: Any, folder: Path) -> None:
    options = ("demo", "--train", folder / "tiny.toml", "--test", folder / "test", "--out", folder / "demo")
    for _ in range(2):  # the second time there is nothing left to train
        result = run(*options)
        assert result.exit_code == 0, result.stderr
        assert "unedited MT" in result.stdout
        assert "{+Katze+}" in result.stdout  # what the human changed
        assert len((folder / "demo" / "test.out").read_text().split("\n")) == 3
        page = (folder / "demo" / "report.html").read_text()
        assert "case:mixed" in page
        found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
        assert found
        sentences = json.loads(found[1])
        assert [one["line"] for one in sentences] == [1, 2]
        assert sentences[0]["pe"] == "die Katze"
        assert [entry["stream"] for entry in sentences[1]["attention"]] == ["src", "mt"]
        assert "\\u003cdog>" in found[1]


def test_the_demo_says_when_two_rules_do_better() -> None:
    assert chinese_punctuation("甲 , 乙 , 丙 .") == "甲 ， 乙 ， 丙 。"
    scores: Any = [
        SimpleNamespace(name=name, ter=ter) for name, ter in [("postedit", 28.45), ("two fixed rules", 28.16)]
    ]
    assert "do better than this model: TER 28.16 against 28.45" in rules_note(scores)[0]
    assert rules_note(scores[:1]) == []


def test_missing_examples_are_told_before_training(run: Any, folder: Path) -> None:
    result = run("demo", "--train", folder / "tiny.toml", "--test", folder / "none", "--out", folder / "demo")
    assert "none.src" in refused(result)
    assert not (folder / "demo").exists()


def test_options_of_a_recipe_need_one(run: Any, folder: Path) -> None:
    result = run("demo", "--set", "train.max_steps=3", "--out", folder / "demo")
    assert "--set changes a recipe: name one with --train" in refused(result)


def test_the_first_changed_sentences_are_shown_then_others() -> None:
    edits: Any = [
        SimpleNamespace(changed=changed, skipped=skipped)
        for changed, skipped in [(False, None), (True, None), (False, "empty"), (True, None), (False, None)]
    ]
    assert choose(edits, 2) == [1, 3]
    assert choose(edits) == [1, 3, 0, 4]


def test_help_texts_are_corrected_with_what_was_learnt(
    run: Any, world: World, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr("postedit.shipped.EXAMPLES", world.models.parent)
    (world.models.parent / "help").mkdir()
    for side in ("src", "mt"):
        (world.models.parent / "help" / f"de.{side}").write_text("ein Satz\n" * 3)
    screen = console()
    show_help_texts("en-de", screen)
    assert "Not shown: en-de; `postedit models fetch en-de` fetches its model" in capsys.readouterr().out
    run("models", "fetch", "en-de", "--from", world.releases)
    show_help_texts("en-de", screen)
    shown = capsys.readouterr().out
    assert "Texts of house.en-de: the model has learnt from 10 segments" in shown
    assert shown.count("source    ") == 3
    assert "0 of 3 changed; not every change is right. On real translations: TER 30.00 to 28.50, ten lines." in shown


def test_a_changed_help_text_says_how_sure_the_model_is(capsys: Any) -> None:
    changed = PostEdit("das Haus", True, edits=(Edit("replace", (0, 3), (0, 3)),), confidences=(0.93,))
    print_help_text("the house", "der Haus", changed, console())
    assert "[-der-] {+das+} Haus  (93%)" in capsys.readouterr().out


def test_outputs_are_checked_before_the_work(run: Any, folder: Path) -> None:
    options = ("demo", "--train", folder / "tiny.toml", "--test")
    assert "there is a file of this name" in refused(run(*options, folder / "test", "--out", folder / "test.pe"))
    (folder / "test.mt").rename(folder / "test.out")
    (folder / "test.mt").symlink_to(folder / "test.out")
    assert "is one of the files to read" in refused(run(*options, folder / "test", "--out", folder))
    assert not (folder / "run").exists()
