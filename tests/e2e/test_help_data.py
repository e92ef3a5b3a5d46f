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


def documented(folder: Path, shares: list[str]) -> None:
    """Write `folder/de`, cleaned from `folder/data/train`: a line a share, numbered from 0, three lines a document."""
    (folder / "data").mkdir()
    for side in help_data.SIDES:
        for prefix in (folder / "data" / "train", folder / "de"):
            prefix.with_name(f"{prefix.name}.{side}").write_text("".join(f"{n}\n" for n in range(len(shares))))
    info = [f"{share}\tadobe:x\tfile{number // 3}\t2024-01-01\n" for number, share in enumerate(shares)]
    (folder / "data" / "train.info").write_text("".join(info))
    (folder / "de.sha256").write_text("")


def test_whole_documents_of_raw_mt_are_held_out(tmp_path: Path) -> None:
    # The mt of the last document, and of one line more, is not raw.
    documented(tmp_path, ["50\t100" if number >= 9 or number == 1 else "0\t100" for number in range(12)])
    help_data.hold_documents(tmp_path / "data", tmp_path, "de", 4)
    held, left = (help_data.read(tmp_path / name)["mt"] for name in ("de.held", "de"))
    documents = {int(line) // 3 for line in held}
    assert len(documents) == 2
    lines = [str(number) for number in range(12)]
    assert held == [line for line in lines if int(line) // 3 in documents and line != "1"]
    assert left == [line for line in lines if int(line) // 3 not in documents]
    assert 3 not in documents
    assert not (tmp_path / "de.sha256").exists()


def test_triplets_of_raw_mt_and_human_post_edits_are_selected(tmp_path: Path) -> None:
    documented(tmp_path, ["0\t100", "20\t95", "21\t100", "0\t94", "50\t100", "3\t97"])
    help_data.select_raw(tmp_path / "data", tmp_path, "de")
    assert help_data.read(tmp_path / "de-raw") == {side: ["0", "1", "5"] for side in help_data.SIDES}
    assert len(help_data.read(tmp_path / "de")["mt"]) == 6
