"""`postedit simulate` with a stand-in that learns."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.commands import refused


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    for side in ("src", "mt", "pe"):
        (tmp_path / f"x.{side}").write_text("".join(f"{side if side == 'src' else 'a'} {n}\n" for n in range(5)))
    return tmp_path / "x"


def test_tables_json_and_curve(run: Any, editor: Any, stream: Path, tmp_path: Path) -> None:
    editor.can = replace(editor.can, learns=True)
    editor.learn = lambda src, mt, pe: 1
    result = run(
        "simulate", "MODEL", "--stream", stream, "--lines", 4, "--window", 2,
        "--json", tmp_path / "x.json", "--plot", tmp_path / "x.svg",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "until" in result.stdout
    values = json.loads((tmp_path / "x.json").read_text())
    assert values["segments"] == 4
    assert [row["end"] for row in values["windows"]] == [2, 4]
    assert values["systems"][0] == {
        "name": "unedited MT", "ter": 0.0, "changed": 0, "repeated errors met": 0, "repeated errors left": 0
    }  # fmt: skip
    assert values["systems"][2]["ter"] == 50.0  # the stand-in changes the second word of two
    assert "<svg" in (tmp_path / "x.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "does not learn from corrections"),
        (["--plot", "x.pdf"], "the name must end in .png, .svg"),
        (["--set", "search.beams=2"], "search.beams: no such option"),
    ],
)
def test_faults_are_reported_in_a_sentence(
    run: Any, editor: Any, stream: Path, arguments: list[str], message: str
) -> None:
    assert message in refused(run("simulate", "MODEL", "--stream", stream, *arguments))
