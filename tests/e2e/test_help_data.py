"""Post-edits of product help: lines that are held out leave some to train on."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import help_data


def cleaned(folder: Path) -> None:
    for side in help_data.SIDES:
        (folder / f"de.{side}").write_text("a\nb\nc\n", encoding="utf-8")
    (folder / "de.sha256").write_text("", encoding="utf-8")


@pytest.mark.parametrize("count", [3, 4])
def test_lines_to_train_on_must_be_left(tmp_path: Path, count: int) -> None:
    cleaned(tmp_path)
    with pytest.raises(
        SystemExit, match=f"de: --held-lines {count} would leave nothing to train on: give less than its 3 lines"
    ):
        help_data.hold(tmp_path, "de", count)
    assert help_data.read(tmp_path / "de")["mt"] == ["a", "b", "c"]
    assert not list(tmp_path.glob("de.held.*"))


def test_the_last_lines_are_held_out(tmp_path: Path) -> None:
    cleaned(tmp_path)
    help_data.hold(tmp_path, "de", 1)
    assert help_data.read(tmp_path / "de")["pe"] == ["a", "b"]
    assert help_data.read(tmp_path / "de.held")["pe"] == ["c"]
