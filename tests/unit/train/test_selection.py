"""Which model of a run is exported, where scores are equal or few, and what validation leaves behind."""

import math
from pathlib import Path

import pytest
import torch
from tiny_run import Scores, trainer
from torch import Tensor

from postedit.core.model import Seq2Seq
from postedit.core.tensor_files import load_tensors, model_tensors
from postedit.train.selection import BestWeights
from postedit.train.train_state import ValidatedModel

TER = {"validate_every": 1, "metric": "ter", "keep_best": 3}


def test_the_average_is_validated_with_its_own_weights(tmp_path: Path, corpora: Path) -> None:
    seen: list[dict[str, Tensor]] = []
    scores = Scores(3.0, 2.0, 1.0, 9.0)

    def score_dev(model: Seq2Seq) -> dict[str, float]:
        seen.append({name: tensor.clone() for name, tensor in model_tensors(model).items()})
        return dict(scores(model))

    result = trainer(tmp_path, corpora, {**TER, "max_steps": 3}, score_dev=score_dev).run()
    assert result.exported == "single"
    for name, tensor in load_tensors(tmp_path / "best" / "average.safetensors").items():
        torch.testing.assert_close(seen[-1][name], tensor)
        torch.testing.assert_close(tensor, torch.stack([one[name] for one in seen[:-1]]).mean(0))


def test_an_average_that_is_no_better_is_not_exported(tmp_path: Path, corpora: Path) -> None:
    result = trainer(tmp_path, corpora, {**TER, "max_steps": 2}, score_dev=Scores(3.0, 2.0, 2.0)).run()
    assert (result.exported, result.single.step) == ("single", 2)


def test_a_single_validated_model_has_no_average(tmp_path: Path, corpora: Path) -> None:
    result = trainer(tmp_path, corpora, {**TER, "max_steps": 1}, score_dev=Scores(3.0)).run()
    assert (result.exported, result.average) == ("single", None)


def test_of_models_that_are_equally_good_the_earlier_stays_the_best(tmp_path: Path, corpora: Path) -> None:
    run = trainer(tmp_path, corpora, TER, score_dev=Scores())
    scores = {"nll": 2.0, "ter": 5.0}
    improved = [run.selection.record(ValidatedModel(step, 5.0, scores), run.model, run.state) for step in (4, 8)]
    assert improved == [True, False]
    assert [one.step for one in run.state.best] == [4, 8]
    assert run.state.stale == 1


def test_only_weights_that_are_kept_are_written(tmp_path: Path, corpora: Path) -> None:
    run = trainer(tmp_path, corpora, {**TER, "keep_best": 1, "average": "none"}, score_dev=Scores())
    for step, score in ((4, 5.0), (8, 6.0)):
        run.selection.record(ValidatedModel(step, score, {"nll": 2.0, "ter": score}), run.model, run.state)
    assert [path.name for path in (tmp_path / "best").glob("*.safetensors")] == ["step-00000004.safetensors"]


@pytest.mark.parametrize(("nll", "perplexity"), [(2.0, math.exp(2.0)), (800.0, math.inf)])
def test_a_perplexity_beyond_all_numbers_is_infinite(
    tmp_path: Path, corpora: Path, monkeypatch: pytest.MonkeyPatch, nll: float, perplexity: float
) -> None:
    run = trainer(tmp_path, corpora, {})
    monkeypatch.setattr(run.selection, "_nll", lambda model: nll)
    assert run.selection.scores(run.model) == {"nll": nll, "perplexity": perplexity}


@pytest.mark.parametrize("is_training", [True, False])
def test_validation_leaves_the_mode_of_the_model(tmp_path: Path, corpora: Path, is_training: bool) -> None:
    run = trainer(tmp_path, corpora, {})
    run.selection.scores(run.model.train(is_training))
    assert run.model.training == is_training


def test_what_is_left_of_lost_weights_is_removed(tmp_path: Path) -> None:
    best, (kept, lost) = BestWeights(tmp_path), (ValidatedModel(step, 5.0, {"nll": 2.0}) for step in (4, 8))
    for one in (kept, lost):
        best.path(one).write_bytes(b"damaged")
    best.forget([lost], [kept], "ter")
    assert {path.name for path in tmp_path.iterdir()} == {"best.json", kept.file_name}
