"""The course of a run: what is learnt, logged, kept, resumed and exported."""

import errno
import json
import math
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import torch
from rich.console import Console
from tiny_run import Scores, TinyModel, log, quiet, shown, train_config, trainer, weights

from postedit.core.errors import ModelFolderError, OutputError, RecipeError, TrainingError
from postedit.core.model import Seq2Seq
from postedit.core.tensor_files import load_tensors
from postedit.core.types import Batch
from postedit.data.batching import ordered_batches
from postedit.train.resume import differences
from postedit.train.update import Updater


def test_it_learns_and_leaves_a_folder_to_use(tmp_path: Path, corpora: Path) -> None:
    console = quiet()
    result = trainer(tmp_path, corpora, {"max_steps": 60, "lr": 0.05}, console=console).run()
    assert result.steps == 60
    assert result.reason == "max_steps (60) is reached"
    train_losses = [line["nll"] for line in log(tmp_path) if "nll" in line]
    assert train_losses[-1] < 0.8 * train_losses[0]
    assert result.single.score == min(line["dev_nll"] for line in log(tmp_path) if "dev_nll" in line)
    assert result.single.metrics["perplexity"] == pytest.approx(math.exp(result.single.metrics["nll"]))
    assert (tmp_path / "model" / "model.safetensors").exists()
    assert list((tmp_path / "tensorboard").glob("events.out.tfevents.*"))
    assert "target tokens/s" in shown(console)
    assert "left" in shown(console)


def test_the_log_says_what_happened(tmp_path: Path, corpora: Path) -> None:
    result = trainer(tmp_path, corpora, {"max_steps": 8, "log_every": 2, "validate_every": 4}).run()
    lines = log(tmp_path)
    assert [line["step"] for line in lines] == [2, 4, 4, 6, 8, 8]
    train = [line for line in lines if "loss" in line]
    assert [line["lr"] for line in train] == pytest.approx([0.01, 0.02, 0.02 * (4 / 6) ** 0.5, 0.02 * (4 / 8) ** 0.5])
    for line in train:
        names = {"step", "epoch", "seconds", "loss", "nll", "lr", "grad_norm", "tokens_per_second", "padding"}
        assert set(line) == names
        assert 0.0 <= line["padding"] < 1.0
    for line in lines[2], lines[5]:
        assert set(line) == {"step", "epoch", "seconds", "dev_nll", "dev_perplexity", "best"}
    assert result.target_tokens > 0


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"max_epochs": 2}, "max_epochs (2) is reached"),
        ({"max_minutes": 0.001}, "0.001 minutes are over"),
        ({"max_minutes": 1e-7}, "1e-07 minutes are over"),  # not before the first update
        ({"max_steps": 1, "max_epochs": 9}, "max_steps (1) is reached"),
    ],
)
def test_training_ends_at_the_first_limit(tmp_path: Path, corpora: Path, settings: dict[str, Any], reason: str) -> None:
    settings = {"max_steps": None, "validate_every": 1000} | settings
    result = trainer(tmp_path, corpora, settings).run()
    assert result.reason == reason
    assert result.single.step == result.steps  # the end is validated whenever it is
    if settings.get("max_epochs") == 2:
        assert result.epochs == 2


@pytest.mark.parametrize(
    ("processes", "told", "found"),
    [
        (2, "[gloo/transport/tcp/pair.cc:553] Connection closed by peer", TrainingError),
        (1, "[gloo/transport/tcp/pair.cc:553] Connection closed by peer", RuntimeError),
        (2, "shapes differ", RuntimeError),
    ],
)
def test_the_end_of_another_process_is_a_sentence(
    tmp_path: Path, corpora: Path, monkeypatch: pytest.MonkeyPatch, processes: int, told: str, found: type[Exception]
) -> None:
    one = trainer(tmp_path, corpora, {"max_steps": 1})
    monkeypatch.setattr(type(one.accelerator), "num_processes", property(lambda _: processes))
    monkeypatch.setattr(one, "_start", MagicMock(side_effect=RuntimeError(told)))
    with pytest.raises(found, match="another process of this run has ended" if found is TrainingError else None):
        one.run()


def test_patience_and_the_direction_of_metrics(tmp_path: Path, corpora: Path) -> None:
    settings = {"max_steps": 99, "validate_every": 1, "patience": 2, "average": "none"}
    ter = trainer(tmp_path / "ter", corpora, settings | {"metric": "ter"}, score_dev=Scores(30.0, 20.0, 25.0, 21.0))
    assert ter.run().reason == "2 validations brought no improvement"
    assert (ter.state.step, ter.state.best[0].step, ter.state.best[0].score) == (4, 2, 20.0)
    scores = Scores(20.0, 30.0, math.nan, 25.0, metric="bleu")
    bleu = trainer(tmp_path / "bleu", corpora, settings | {"metric": "bleu"}, score_dev=scores)
    assert bleu.run().single.score == 30.0
    assert [scored.score for scored in bleu.state.best] == [30.0, 25.0, 20.0]


def test_the_log_is_strict_json_even_of_scores_that_are_no_numbers(tmp_path: Path, corpora: Path) -> None:
    settings = {"max_steps": 2, "validate_every": 1, "metric": "ter", "average": "none"}
    trainer(tmp_path, corpora, settings, score_dev=Scores(math.nan, 20.0)).run()
    lines = (tmp_path / "log.jsonl").read_text().splitlines()

    def refuse(name: str) -> float:
        raise AssertionError(f"{name} is not JSON")

    scores = [json.loads(line, parse_constant=refuse).get("dev_ter", "no dev score") for line in lines]
    assert [score for score in scores if score != "no dev score"] == [None, 20.0]


def test_each_update_has_the_rate_of_its_number(tmp_path: Path, corpora: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[float] = []

    def update(self: Updater, number: int, batches: Sequence[Batch], rate: float, counts: bool = True) -> None:
        rates.append(rate)
        updated(self, number, batches, rate, counts)

    updated = Updater.update
    monkeypatch.setattr(Updater, "update", update)
    settings = {"max_steps": 5, "schedule": "constant", "warmup_steps": 4, "lr": 0.04}
    trainer(tmp_path, corpora, settings).run()
    assert rates == pytest.approx([0.01, 0.02, 0.03, 0.04, 0.04])


def test_a_plateau_lowers_the_rate(tmp_path: Path, corpora: Path) -> None:
    settings = {"max_steps": 5, "validate_every": 1, "log_every": 1, "schedule": "plateau", "warmup_steps": 0}
    settings |= {"metric": "ter", "plateau_patience": 2, "plateau_factor": 0.1, "lr": 0.01, "average": "none"}
    trainer(tmp_path, corpora, settings, score_dev=Scores(5.0, 6.0, 6.0, 4.0, 4.0)).run()
    assert [line["lr"] for line in log(tmp_path) if "lr" in line] == pytest.approx([0.01, 0.01, 0.01, 0.001, 0.001])


def test_the_best_are_kept_and_the_newest_best_is_exported_at_once(tmp_path: Path, corpora: Path) -> None:
    exported: list[int] = []

    def export_and_note(model: Seq2Seq, folder: Path) -> None:
        assert folder == tmp_path / "model"
        exported.append(run.state.step)

    settings = {"max_steps": 6, "validate_every": 1, "save_every": 1, "keep_last": 1, "keep_best": 2}
    settings |= {"metric": "ter", "average": "none"}
    scores = Scores(9.0, 7.0, 8.0, 6.0, 6.5, 9.5)
    run = trainer(tmp_path, corpora, settings, score_dev=scores, export=export_and_note)
    result = run.run()
    assert exported == [1, 2, 4, 6]  # new bests, and the end
    assert result.exported == "single"
    assert set(weights(tmp_path)) == {"step-00000004.safetensors", "step-00000005.safetensors"}
    listed = json.loads((tmp_path / "best" / "best.json").read_text())
    assert listed["metric"] == "ter"
    assert [(entry["file"], entry["score"]) for entry in listed["best"]] == [
        ("step-00000004.safetensors", 6.0),
        ("step-00000005.safetensors", 6.5),
    ]


@pytest.mark.parametrize(
    ("metric", "score", "winner"),
    [("ter", 1.0, "average"), ("ter", 99.0, "single"), ("bleu", 99.0, "average"), ("chrf", 1.0, "single")],
)
def test_the_average_is_exported_if_better_on_dev(
    tmp_path: Path, corpora: Path, metric: str, score: float, winner: str
) -> None:
    settings = {"max_steps": 4, "validate_every": 1, "metric": metric, "keep_best": 3}
    dev = (9.0, 5.0, 7.0, 6.0) if metric == "ter" else (1.0, 5.0, 3.0, 4.0)
    result = trainer(tmp_path, corpora, settings, score_dev=Scores(*dev, score, metric=metric)).run()
    assert result.exported == winner
    assert (result.single.step, result.single.score) == (2, 5.0)
    assert result.average is not None
    assert result.average.score == score
    files = [load_tensors(tmp_path / "best" / f"step-0000000{step}.safetensors") for step in (2, 3, 4)]
    expected = {
        "average": {name: torch.stack([file[name] for file in files]).mean(0) for name in files[0]},
        "single": files[0],
    }[winner]
    for name, tensor in load_tensors(tmp_path / "model" / "model.safetensors").items():
        torch.testing.assert_close(tensor, expected[name])


def test_the_average_is_always_exported_if_that_is_wanted(tmp_path: Path, corpora: Path) -> None:
    settings = {"max_steps": 3, "validate_every": 1, "metric": "ter", "keep_best": 2, "average_if_better": False}
    result = trainer(tmp_path, corpora, settings, score_dev=Scores(3.0, 2.0, 1.0, 99.0)).run()
    assert (result.exported, result.average.score) == ("average", 99.0)
    files = [load_tensors(tmp_path / "best" / f"step-0000000{step}.safetensors") for step in (2, 3)]
    for name, tensor in load_tensors(tmp_path / "model" / "model.safetensors").items():
        torch.testing.assert_close(tensor, torch.stack([file[name] for file in files]).mean(0))


@pytest.mark.slow
def test_validation_and_clocks_do_not_change_the_training(tmp_path: Path, corpora: Path) -> None:
    plain, other = tmp_path / "plain", tmp_path / "other"
    trainer(plain, corpora, {"max_steps": 9, "validate_every": 9, "average": "none"}).run()
    settings = {"max_steps": 9, "validate_every": 1, "average": "none", "save_minutes": 1e-9, "metric": "ter"}
    settings |= {"log_every": 1, "save_every": 1000, "keep_best": 9}
    trainer(other, corpora, settings, score_dev=Scores(*range(9))).run()
    assert weights(plain)["step-00000009.safetensors"] == weights(other)["step-00000009.safetensors"]
    assert (other / "checkpoints" / "step-00000008").exists()


def test_dev_loss_is_the_mean_over_labels(tmp_path: Path, corpora: Path) -> None:
    run = trainer(tmp_path, corpora, {"batch_tokens": 50})
    run.model.eval()
    with torch.no_grad():
        results = [run.model(batch) for batch in ordered_batches(run.selection.dev, ("src", "mt"), 10**6)]
    expected = sum(float(result.nll) for result in results) / sum(int(result.tokens) for result in results)
    run.model.train()
    assert run.selection.scores(run.model)["nll"] == pytest.approx(expected, rel=1e-5)
    assert run.model.training


@pytest.mark.slow
def test_a_run_resumed_with_more_steps_equals_one_uninterrupted_run(tmp_path: Path, corpora: Path) -> None:
    long, extended = tmp_path / "long", tmp_path / "extended"
    trainer(long, corpora, {"max_steps": 14}).run()
    trainer(extended, corpora, {"max_steps": 6}).run()  # ends between validations
    trainer(extended, corpora, {"max_steps": 14, "patience": 50}).run(resume=True)
    assert weights(extended) == weights(long)


@pytest.mark.slow
def test_resuming_a_run_that_is_done_gives_the_same_end(tmp_path: Path, corpora: Path) -> None:
    first = trainer(tmp_path, corpora, {}).run()
    again = trainer(tmp_path, corpora, {}).run(resume=True)
    assert (again.single, again.average, again.target_tokens) == (first.single, first.average, first.target_tokens)
    state = json.loads((tmp_path / "checkpoints" / "step-00000012" / "state.json").read_text())
    assert again.seconds >= state["run"]["seconds"] > 0.0


@pytest.mark.slow
def test_a_resumed_run_logs_each_validation_once(tmp_path: Path, corpora: Path) -> None:
    def validations() -> list[int]:
        return [line["step"] for line in log(tmp_path) if "dev_nll" in line]

    for resume in (False, True, True):
        trainer(tmp_path, corpora, {"max_steps": 7, "validate_every": 5}).run(resume)
        assert validations() == [5, 7]
    trainer(tmp_path, corpora, {"max_steps": 10, "validate_every": 5}).run(resume=True)
    assert validations() == [5, 10]
    trainer(tmp_path, corpora, {"max_steps": 10, "validate_every": 5}).run(resume=True)
    assert validations() == [5, 10]


def test_best_weights_that_somebody_removed_are_no_candidates_any_more(tmp_path: Path, corpora: Path) -> None:
    trainer(tmp_path, corpora, {"max_steps": 9}).run()
    (tmp_path / "best/step-00000004.safetensors").unlink()
    (tmp_path / "best/.step-00000006.safetensors.1.tmp").write_bytes(b"half written")
    console = quiet()
    result = trainer(tmp_path, corpora, {}, console=console).run(resume=True)
    assert result.steps == 12
    assert "step-00000004.safetensors: gone or damaged" in shown(console)
    assert not (tmp_path / "best/.step-00000006.safetensors.1.tmp").exists()


def test_lost_weights_of_the_last_step_do_not_count_twice(tmp_path: Path, corpora: Path) -> None:
    settings = {"max_steps": 6, "validate_every": 2, "keep_best": 3, "metric": "ter", "average": "none"}
    trainer(tmp_path, corpora, settings, score_dev=Scores(1.0, 2.0, 3.0)).run()
    file = tmp_path / "best/step-00000006.safetensors"
    before = file.read_bytes()
    file.unlink()
    longer = {**settings, "max_steps": 8}
    again = trainer(tmp_path, corpora, longer, score_dev=Scores(4.0))
    again.run(resume=True)
    assert again.state.stale == 3
    assert file.read_bytes() == before


def test_of_models_with_equal_scores_the_lower_loss_is_better(tmp_path: Path, corpora: Path) -> None:
    settings = {"max_steps": 8, "validate_every": 2, "metric": "ter", "average": "none", "patience": 2}
    run = trainer(tmp_path, corpora, settings, score_dev=Scores(5.0, 5.0, 5.0, 5.0))
    result = run.run()
    losses = [entry["dev_nll"] for entry in log(tmp_path) if "dev_nll" in entry]
    assert losses == sorted(losses, reverse=True)
    assert (result.steps, result.single.step, run.state.stale) == (8, 8, 0)


def test_without_any_best_weights_the_last_step_is_averaged_once(tmp_path: Path, corpora: Path) -> None:
    settings = {"max_steps": 6, "validate_every": 2, "keep_best": 2, "metric": "ter", "average": "last"}
    trainer(tmp_path, corpora, settings, score_dev=Scores(1.0, 2.0, 3.0, 3.0)).run()
    for step in (2, 4):
        (tmp_path / f"best/step-{step:08d}.safetensors").unlink()
    again = trainer(tmp_path, corpora, settings, score_dev=Scores(3.0, 3.0))
    again.run(resume=True)
    assert [scored.step for scored in again.state.best] == [6]
    assert [scored.step for scored in again.state.last] == [6]


def test_weights_out_of_reach_are_not_lost(tmp_path: Path, corpora: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer(tmp_path, corpora, {"max_steps": 9}).run()
    before = weights(tmp_path)
    opened = Path.open

    def out_of_reach(path: Path, *arguments: Any, **named: Any) -> Any:
        if path.name == "step-00000004.safetensors":
            raise OSError(errno.ESTALE, "Stale file handle", str(path))
        return opened(path, *arguments, **named)

    def fail(path: Path) -> None:
        raise ModelFolderError(f"{path}: cannot be read")

    monkeypatch.setattr(Path, "open", out_of_reach)
    monkeypatch.setattr("postedit.train.selection.load_tensors", fail)
    with pytest.raises(OSError, match="Stale"):
        trainer(tmp_path, corpora, {}).run(resume=True)
    monkeypatch.undo()
    assert weights(tmp_path) == before


def test_best_weights_that_an_earlier_checkpoint_names_are_kept(tmp_path: Path, corpora: Path) -> None:
    settings = {"max_steps": 6, "validate_every": 1, "save_every": 1, "keep_last": 3, "keep_best": 1}
    settings |= {"metric": "ter", "average": "none"}
    trainer(tmp_path, corpora, settings, score_dev=Scores(9.0, 8.0, 7.0, 6.0, 5.0, 4.0)).run()
    states = [json.loads(path.read_text()) for path in (tmp_path / "checkpoints").glob("*/state.json")]
    named = {f"step-{entry['step']:08d}.safetensors" for state in states for entry in state["run"]["best"]}
    assert len(named) == 3
    assert set(weights(tmp_path)) >= named


def test_resume_without_a_checkpoint_starts(tmp_path: Path, corpora: Path) -> None:
    console = quiet()
    assert trainer(tmp_path / "new", corpora, {}, console=console).run(resume=True).steps == 12
    assert "no checkpoint yet" in shown(console)


def test_a_run_is_not_overwritten(tmp_path: Path, corpora: Path) -> None:
    trainer(tmp_path, corpora, {}).run()
    with pytest.raises(OutputError, match="holds a run already") as error:
        trainer(tmp_path, corpora, {}).run()
    assert "--resume" in str(error.value)


def test_resuming_something_else_lists_what_differs(tmp_path: Path, corpora: Path) -> None:
    trainer(tmp_path, corpora, {}).run()
    other = trainer(tmp_path, corpora, {"lr": 0.5, "seed": 7, "patience": 3}, model=TinyModel(dim=4))
    other.identity["corpus"] = "other"
    with pytest.raises(RecipeError) as error:
        other.run(resume=True)
    text = str(error.value)
    assert "3 problems" not in text
    assert "train.lr: was 0.02, is 0.5" in text
    assert "train.seed: was 1, is 7" in text
    assert "the training corpus has other content" in text
    assert "the model has other weights" in text
    assert "patience" not in text
    assert "dev corpus" not in text


def test_a_metric_that_needs_decoding_needs_a_decoder(tmp_path: Path, corpora: Path) -> None:
    with pytest.raises(RecipeError, match=r'train\.metric = "ter" needs the dev set to be decoded'):
        trainer(tmp_path, corpora, {"metric": "ter"})


def test_on_a_terminal_there_is_one_line_that_is_renewed(tmp_path: Path, corpora: Path) -> None:
    console = Console(file=StringIO(), width=200, force_terminal=True)
    trainer(tmp_path, corpora, {"log_every": 1000}, console=console).run()
    assert "target tokens/s" in shown(console)
    assert "dev nll" in shown(console)


def test_an_update_has_one_size() -> None:
    with pytest.raises(RecipeError, match="accumulate and update_tokens both say how large an update is"):
        train_config({"accumulate": 2, "update_tokens": 100})


def test_the_last_models_are_averaged_if_that_is_wanted(tmp_path: Path, corpora: Path) -> None:
    settings = {"max_steps": 5, "validate_every": 1, "metric": "ter", "keep_best": 2, "average": "last"}
    scores = Scores(10.0, 20.0, 30.0, 40.0, 50.0, 5.0)  # ever worse; the last score is that of the average
    result = trainer(tmp_path, corpora, settings, score_dev=scores).run()
    assert (result.exported, result.single.step) == ("average", 1)
    last = [load_tensors(tmp_path / "best" / f"step-{step:08d}.safetensors") for step in (4, 5)]
    found = load_tensors(tmp_path / "model" / "model.safetensors")
    for name, tensor in found.items():
        torch.testing.assert_close(tensor, (last[0][name] + last[1][name]) / 2)


def test_options_newer_than_a_checkpoint_had_their_defaults(tmp_path: Path, corpora: Path) -> None:
    now = trainer(tmp_path, corpora, {}).identity
    new = {"init", "freeze", "ema", "momentum"}
    config = {option: value for option, value in now["config"].items() if option not in new}
    before = {**now, "config": config}
    assert differences(before, now) == []
    assert differences({**before, "config": config | {"average": "none"}}, now) == [
        "train.average: was 'none', is 'best'"
    ]
