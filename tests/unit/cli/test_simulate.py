"""`postedit simulate` with a tiny model."""

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
import tiny_models
from tests.unit.cli.commands import refused

from postedit.adapt.adaptation_config import Learning
from postedit.jobs.simulation import HISTORIES


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    for side in ("src", "mt", "pe"):
        (tmp_path / f"x.{side}").write_text("".join(f"{side if side == 'src' else 'a'} {n}\n" for n in range(5)))
    return tmp_path / "x"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("model") / "model"
    tiny_models.folder().save(path)
    return path


@pytest.mark.parametrize("editor", ["openai:m", "python:rules:editor"])
def test_editors_that_learn_nothing_are_refused(run: Any, stream: Path, editor: str) -> None:
    assert f"{editor}: learns nothing from corrections" in refused(run("simulate", editor, "--stream", stream))


@pytest.mark.usefixtures("nonsense_is_text")
@pytest.mark.parametrize("learn", ["online", "nearest"])
def test_tables_json_and_curve(run: Any, model: Path, stream: Path, tmp_path: Path, learn: str) -> None:
    result = run(
        "simulate", model, "--stream", stream, "--lines", 4, "--window", 2, "--learn", learn,
        "--set", "online.rate=0.05", "--json", tmp_path / "x.json", "--plot", tmp_path / "x.svg",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "until" in result.stdout
    assert all(name in result.stdout for name in HISTORIES)
    values = json.loads((tmp_path / "x.json").read_text())
    assert values["segments"] == 4
    assert [row["end"] for row in values["windows"]] == [2, 4]
    histories = values["systems"][0].pop("repeated errors by history")
    assert histories == {name: {"met": 0, "left": 0} for name in HISTORIES}
    assert values["systems"][0] == {
        "name": "unedited MT", "ter": 0.0, "changed": 0, "repeated errors met": 0, "repeated errors left": 0
    }  # fmt: skip
    assert [one["name"] for one in values["systems"]] == ["unedited MT", "not learning", "learning"]
    assert values["seconds of learning"]["most"] > 0
    assert "<svg" in (tmp_path / "x.svg").read_text()


@pytest.mark.usefixtures("nonsense_is_text")
def test_curve_of_one_window_is_seen_and_its_title_is_not_tex(
    run: Any, model: Path, stream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib.figure import Figure

    for side in ("src", "mt", "pe"):
        stream.with_name(f"x.{side}").rename(tmp_path / f"$_$.{side}")
    drawn: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
    result = run("simulate", model, "--stream", tmp_path / "$_$", "--learn", "online", "--plot", tmp_path / "x.png")
    assert result.exit_code == 0, result.output
    (axes,) = drawn[0].axes
    drawn[0].draw_without_rendering()
    assert axes.get_title() == str(tmp_path / "$_$")
    unedited, *others = [line for line in axes.lines if line.get_alpha() is None]
    assert [line.get_marker() for line in (unedited, *others)] == ["o"] * 3
    assert unedited.get_linestyle() == "--", "what it covers is seen through the gaps"
    assert all(unedited.get_zorder() > line.get_zorder() for line in others)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["OTHER"], "only one model can learn from corrections, not 2"),
        (["--plot", "x.jpg"], "the name of a picture must end in .png, .svg, .pdf"),
        (["--set", "search.beams=2"], "search.beams: no such option"),
        (["--set", "online.rate=0"], "online.rate"),
    ],
)
def test_faults_are_reported_in_a_sentence(
    run: Any, model: Path, stream: Path, arguments: list[str], message: str
) -> None:
    assert message in refused(run("simulate", model, *arguments, "--stream", stream))


def test_triplets_that_cannot_be_learnt_are_told_before_the_work(run: Any, stream: Path) -> None:
    mt = stream.with_name("x.mt")
    mt.write_text("a 0\n \na 2\na\0 3\na 4\n")
    result = run("simulate", "none", "--stream", stream, "--lines", 2)
    assert result.exit_code == 0, result.output
    assert "1 triplet left out: mt is empty" in result.stderr
    told = refused(run("simulate", "none", "--stream", stream))
    assert "x, line 4: a correction has a NUL character in its mt" in told


def test_post_edits_without_spaces_are_told_of(run: Any, stream: Path) -> None:
    stream.with_name("x.pe").write_text("設定を保存して画面を閉じます。\n" * 5, encoding="utf-8")
    assert "x has no spaces between words" in run("simulate", "none", "--stream", stream).stderr
    result = run("simulate", "none", "--stream", stream, "--tokenize", "characters")
    assert (result.exit_code, "spaces between words" in result.stderr) == (0, False)
    assert "x: phrases are whole sentences here" in result.stderr
    divided = ["--tokenize", "characters", "--set", "phrases.tokenizer=characters"]
    assert "warning" not in run("simulate", "none", "--stream", stream, *divided).stderr


def test_no_input_is_overwritten(run: Any, stream: Path) -> None:
    pe = stream.with_name("x.pe")
    assert f"--json: {pe} is one of the files to read" in refused(run("simulate", "--stream", stream, "--json", pe))


def test_the_help_explains_every_way_to_learn(run: Any) -> None:
    result = run("simulate", "--help")
    for way in get_args(Learning):
        assert re.search(rf"\b{way}:", result.output), way
