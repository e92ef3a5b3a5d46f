from pathlib import Path

import torch
from safetensors.torch import load_file
from tiny_run import tiny_model, trainer

from postedit.core.model import Seq2Seq
from postedit.core.tensor_files import model_tensors
from postedit.train.averaging import MovingAverage


def test_it_is_the_average_of_the_formula() -> None:
    model = tiny_model()
    average = MovingAverage(model, 0.3)
    expected: dict[str, torch.Tensor] = {}
    for number in range(6):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_(generator=torch.Generator().manual_seed(number))
        average.update(model)
        decay = min(0.3, (1 + number) / (10 + number))
        for name, tensor in model_tensors(model).items():
            expected[name] = tensor.clone() if not number else decay * expected[name] + (1 - decay) * tensor
    for name, tensor in model_tensors(average.model).items():
        torch.testing.assert_close(tensor, expected[name])


def test_buffers_are_those_of_the_model() -> None:
    model = tiny_model()
    model.register_buffer("counts", torch.zeros(2))
    average = MovingAverage(model, 0.3)
    for number in (1.0, 3.0):
        model.get_buffer("counts").fill_(number)
        average.update(model)
    assert average.model.get_buffer("counts").tolist() == [3.0, 3.0]


def test_it_never_waits_for_a_device() -> None:
    model = tiny_model().to("meta")  # whose values nobody can look at
    average = MovingAverage(model, 0.3)
    for _ in range(3):
        average.update(model)


def test_the_average_is_what_is_validated_kept_and_exported(tmp_path: Path, corpora: Path) -> None:
    seen: list[Seq2Seq] = []

    def score_dev(model: Seq2Seq) -> dict[str, float]:
        seen.append(model)
        return {"ter": 50.0 - len(seen)}

    settings = {"max_steps": 4, "validate_every": 4, "save_every": 4, "metric": "ter", "ema": 0.9, "average": "none"}
    run = trainer(tmp_path, corpora, settings, score_dev=score_dev)
    run.run()
    assert run.ema is not None
    assert all(model is run.ema.model for model in seen)
    (checkpoint,) = (tmp_path / "checkpoints").iterdir()
    averaged, plain = load_file(checkpoint / "ema.safetensors"), load_file(checkpoint / "model.safetensors")
    exported = load_file(tmp_path / "model" / "model.safetensors")
    assert all(torch.equal(exported[name], averaged[name]) for name in averaged)
    assert not all(torch.equal(plain[name], averaged[name]) for name in averaged)
