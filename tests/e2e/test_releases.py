"""Release files: what `make releases` says of them; those in `releases/` are the known ones, and correct texts."""

import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny_models

from postedit import PostEditor
from postedit.core.config import read_toml
from postedit.core.editor import Abilities, Detail, Editor, Identity, PostEdit, Segment
from postedit.core.search_config import SearchConfig
from postedit.data.lines import DevTexts
from postedit.evaluate.ter import count_edits, edit_rate
from postedit.releases import catalogue
from postedit.releases.catalogue import KnownModel, find_model, known_models
from postedit.releases.fetching import fetch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import release_files
import releases as maker
import wiki_releases as wiki

ROOT = Path(__file__).resolve().parents[2]
RELEASED = [model for model in known_models() if model.file is not None]


@pytest.fixture(scope="module")
def fetched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for models, which keeps those that tests fetch."""
    return tmp_path_factory.mktemp("models")


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(file, marks=pytest.mark.slow if file.startswith("help") else ())  # these are large
        for file in sorted({model.file for model in RELEASED if model.file is not None})
    ],
)
def test_a_release_is_small_known_and_corrects(file: str, fetched: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTEDIT_MODELS", str(fetched))
    models = [model for model in RELEASED if model.file == file]
    fetch(models[0])
    for model in models:
        assert model.bytes < 40e6
        assert not fetch(model), "it is here and whole, also for other languages of the same file"
        pair = "-".join(model.pair)
        assert found(pair) == model
        assert {"README.md", "NOTICE", "SHA256SUMS"} <= {path.name for path in model.folder.iterdir()}
        editor = PostEditor.load(pair)
        same = "  Ein Satz,\u00a0der so   bleibt \u2764 "
        assert editor.edit(["nothing of this was seen"], [same])[0].text == same
        if (sample := ROOT / "examples/help" / f"{model.pair[1]}.src").exists():
            src, mt = (path.read_text().splitlines() for path in (sample, sample.with_suffix(".mt")))
            assert sum(edit.changed for edit in editor.edit(src, mt)) >= len(src) // 2


def found(name: str) -> KnownModel:
    model = find_model(name)
    assert model is not None
    return model


@pytest.mark.slow
def test_the_chinese_release_is_better_than_two_rules(
    fetched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTEDIT_MODELS", str(tmp_path))
    assert found("en-zh").file is None, "the model in the package, until another one is here"
    (release,) = (model for model in RELEASED if model.pair == ("en", "zh"))
    monkeypatch.setenv("POSTEDIT_MODELS", str(fetched))
    fetch(release)
    assert found("en-zh") == release
    sample = ROOT / "examples/mlqe-pe.en-zh/test"
    src, mt, pe = (sample.with_suffix(f".{side}").read_text().splitlines() for side in ("src", "mt", "pe"))
    ruled = [re.sub(r" \.$", " 。", line.replace(" , ", " ， ")) for line in mt]
    editor = PostEditor.load("en-zh")
    outputs = [edit.text for edit in editor.edit(src, mt)]
    ter, by_rules = (edit_rate(count_edits(texts, pe)) for texts in (outputs, ruled))
    assert ter < by_rules
    raw = [line.replace(" ", "") for line in mt]
    assert sum(edit.changed for edit in editor.edit(src, raw)) >= 150


def test_there_are_no_other_release_files() -> None:
    assert {path.name for path in (ROOT / "releases").iterdir()} == {model.file for model in RELEASED}


def test_repositories_without_a_licence_are_not_named(tmp_path: Path) -> None:
    rows = [
        "0\t100\tadobe:analytics\ta\t2024",
        "0\t100\tadobe:primetime\ta\t2024",
        "0\t100\tmicrosoft:cpp-docs\ta\t2024",
    ]
    (tmp_path / "info").write_text("".join(f"{row}\n" for row in [*rows, rows[0]]))
    used = maker.repositories(tmp_path / "info")
    assert used == Counter({"adobe:analytics": 2, "microsoft:cpp-docs": 1})
    text = maker.notice(used, ["de", "ja"])
    assert "texts in English, German and Japanese, of the\npublic repositories of product help by Adobe" in text
    assert "Apache" not in text
    assert "- adobe, analytics (2 lines before cleaning): MIT, Copyright Adobe\n" in text
    assert "- microsoft, cpp-docs (1 lines before cleaning): CC BY 4.0 (text)" in text
    assert "Permission is hereby granted" in text


def test_entries_take_the_place_of_older_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "catalogue.toml"
    copy.write_text(catalogue._CATALOGUE.read_text())
    monkeypatch.setattr(release_files, "CATALOGUE", copy)
    (tmp_path / "help-1.tar.xz").write_bytes(b"content")
    scores: Any = [SimpleNamespace(ter=ter, bleu=0.0, lines=1030) for ter in (23.8, 22.25)]
    entry = maker.entry("fr", 116_872, Counter({"adobe:analytics": 2}), release_files.Gain(*scores, -0.3, "better"))
    assert entry.licence == "MIT"
    for _ in range(2):
        release_files.enter(["help."], [(entry, tmp_path / "help-1.tar.xz")])
    entries = [KnownModel.model_validate(one) for one in read_toml(copy)["models"]]
    assert [one.name for one in entries if one.name.startswith("help.")] == ["help.en-fr"]
    assert [one.name for one in entries if one.file is None] == ["wiki.en-zh"], "the others stay"
    assert (entries[-1].triplets, entries[-1].bytes, entries[-1].gain.ter) == (116_872, 7, 22.25)
    release_files.enter(["help."], [(entry, tmp_path / "help-1.tar.xz")], first=True)
    assert read_toml(copy)["models"][0]["name"] == "help.en-fr"


def test_an_entry_of_one_language_leaves_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "catalogue.toml"
    copy.write_text(catalogue._CATALOGUE.read_text())
    monkeypatch.setattr(release_files, "CATALOGUE", copy)
    (tmp_path / "help-fr-9.tar.xz").write_bytes(b"content")
    scores: Any = [SimpleNamespace(ter=ter, bleu=0.0, lines=1030) for ter in (23.8, 22.25)]
    entry = maker.entry("fr", 116_872, Counter({"adobe:analytics": 2}), release_files.Gain(*scores, -0.3, "better"))
    before = {one["name"]: one["file"] for one in read_toml(copy)["models"] if "file" in one}
    release_files.enter(['help.en-fr"'], [(entry, tmp_path / "help-fr-9.tar.xz")])
    after = {one["name"]: one["file"] for one in read_toml(copy)["models"] if "file" in one}
    assert after == before | {"help.en-fr": "help-fr-9.tar.xz"}


@pytest.mark.parametrize(
    ("languages", "used", "said"),
    [
        (["ja"], "adobe:analytics", ["license: mit", "latest triplets.", "TER is of characters.\n"]),
        (["fr"], "adobe:data-workbench", ["license: other", "TER is of what stands between spaces.\n", "(French has"]),
        (["de", "ja"], "adobe:analytics", ["triplets of each language.", "TER is of characters in Japanese, of what"]),
    ],
)
def test_a_card_says_what_holds_for_its_languages(languages: list[str], used: str, said: list[str]) -> None:
    scores: Any = SimpleNamespace(ter=20.0, bleu=60.0, lines=1030, signatures={"TER": "nrefs:1"})
    gains = dict.fromkeys(languages, release_files.Gain(scores, scores, 0.0, "better"))
    triplets = dict.fromkeys(languages, 100_000)
    model = tiny_models.folder()
    text = maker.card(model, model.search, "which was chosen", "a.toml", triplets, gains, gains, Counter({used: 3}))
    for words in said:
        assert words in text
    assert "| 100,000 | 1,030 | 20.00 to 20.00 | 1,030 |" in text, "how many lines were held out is counted"


def test_a_release_file_that_exists_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "help-1.tar.xz").write_bytes(b"fetched by many")
    arguments = ["releases.py", "model", "data", "work", "--out", str(tmp_path), "--file", "help-1"]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit):
        maker.main()
    assert "help-1.tar.xz exists, and may have been fetched; give --file a new name" in capsys.readouterr().err
    assert (tmp_path / "help-1.tar.xz").read_bytes() == b"fetched by many"


def test_lines_that_choose_weights_are_not_scored(tmp_path: Path) -> None:
    for side in ("src", "mt", "pe"):
        for part, count in (("train", 3), ("dev", 1_000)):
            (tmp_path / f"{part}.{side}").write_text("".join(f"{part} {side} {n}\n" for n in range(count)))
    wiki.divide(tmp_path, tmp_path / "work")
    for side in ("src", "mt", "pe"):
        chosen, rest = ((tmp_path / "work" / f"{part}.{side}").read_text() for part in ("dev", "rest"))
        assert (chosen.count("\n"), rest.splitlines()[0]) == (500, f"dev {side} 500")
        assert chosen + rest == (tmp_path / f"dev.{side}").read_text()
        assert (tmp_path / "work" / f"train.{side}").read_text() == (tmp_path / f"train.{side}").read_text()


def test_a_gain_compares_with_unedited_mt() -> None:
    mt = [f"das ist falsch {number}" for number in range(60)]
    pe = [line.replace("falsch", "richtig") for line in mt]
    texts = DevTexts(["this is right"] * 60, mt, pe)
    found = release_files.gain(Replacing(), texts)
    assert (found.before.ter, found.after.ter, found.worst) == (25.0, 0.0, -25.0)
    assert "better than the unedited MT" in found.verdict
    assert 25.0 < release_files.gain(Replacing(), texts, words=release_files.spaced).before.ter < 50.0  # of characters


class Replacing(Editor):
    """Corrects one word."""

    abilities = Abilities(needs_mt=True)

    def identity(self, search: SearchConfig | None = None) -> Identity:
        return Identity(("replacing",), {})

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        return [PostEdit((one.mt or "").replace("falsch", "richtig"), True) for one in segments]
