import shutil
from pathlib import Path

import pytest
import torch

from postedit.core.errors import TrainingError
from postedit.train.checkpoints import Checkpoint, Checkpoints, find_damage


def checkpoint(step: int) -> Checkpoint:
    return Checkpoint(
        state={"step": step},
        model={"weight": torch.full((3,), float(step))},
        optimizer={"weight/exp_avg": torch.zeros(3)},
        rng={"0/cpu": torch.get_rng_state()},
    )


def saved(folder: Path, *steps: int, keep_last: int = 2) -> Checkpoints:
    checkpoints = Checkpoints(folder, keep_last)
    for step in steps:
        checkpoints.save(step, checkpoint(step))
    return checkpoints


def names(checkpoints: Checkpoints) -> list[str]:
    return [path.name for path in checkpoints.paths()]


def test_a_checkpoint_loads_as_it_was_saved(tmp_path: Path) -> None:
    loaded = saved(tmp_path / "new", 7).load_newest(pytest.fail)
    assert loaded is not None
    assert loaded.state == {"step": 7}
    assert torch.equal(loaded.model["weight"], torch.full((3,), 7.0))
    assert torch.equal(loaded.rng["0/cpu"], torch.get_rng_state())


def test_the_newest_are_kept(tmp_path: Path) -> None:
    assert names(saved(tmp_path, 5, 10, 15, 20)) == ["step-00000020", "step-00000015"]


def test_old_ones_that_a_failed_save_left_are_removed(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 5, 10, 15, keep_last=3)
    checkpoints.keep_last = 2
    checkpoints.tidy(15)
    assert names(checkpoints) == ["step-00000015", "step-00000010"]


def test_unfinished_checkpoints_of_a_kill_are_removed(tmp_path: Path) -> None:
    (tmp_path / ".step-00000005.abc.tmp").mkdir()
    (tmp_path / ".step-00000005.abc.tmp/model.safetensors").write_bytes(b"half")
    saved(tmp_path, 5)
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000005"]


@pytest.mark.parametrize(
    "file", ["model.safetensors", "optimizer.safetensors", "rng.safetensors", "state.json", "SHA256SUMS"]
)
@pytest.mark.parametrize("damage", ["truncated", "flipped", "missing"])
def test_a_damaged_checkpoint_is_passed_over(tmp_path: Path, file: str, damage: str) -> None:
    checkpoints = saved(tmp_path, 1, 2)
    path = tmp_path / "step-00000002" / file
    content = path.read_bytes()
    match damage:
        case "truncated":
            path.write_bytes(content[: len(content) // 2])
        case "flipped":
            path.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
        case "missing":
            path.unlink()
    warnings: list[str] = []
    loaded = checkpoints.load_newest(warnings.append)
    assert loaded is not None
    assert loaded.state == {"step": 1}
    assert len(warnings) == 1
    assert "step-00000002 is damaged" in warnings[0]


def test_a_damaged_checkpoint_does_not_crowd_out_good_ones(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 1, 9, keep_last=2)
    (tmp_path / "step-00000009" / "model.safetensors").unlink()
    checkpoints.save(5, checkpoint(5))
    assert names(checkpoints) == ["step-00000005", "step-00000001"]


def test_nothing_but_damage_is_an_error(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 1, 2)
    for path in checkpoints.paths():
        (path / "state.json").write_text("{")
    with pytest.raises(TrainingError, match="none of the 2 checkpoints can be read; remove this folder, and --resume"):
        checkpoints.load_newest(lambda _: None)
    shutil.rmtree(checkpoints.folder)
    assert checkpoints.load_newest(lambda _: None) is None


def test_nothing_in_it_is_pickled(tmp_path: Path) -> None:
    saved(tmp_path, 1)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.suffix or path.name for path in files} == {".safetensors", ".json", "SHA256SUMS"}
    assert find_damage(tmp_path / "step-00000001") is None
