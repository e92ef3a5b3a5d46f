from pathlib import Path

import pytest
import torch
from tiny_run import tiny_model, trainer

from postedit.core.errors import RecipeError
from postedit.train.optimisers import freeze


def trained(patterns: list[str]) -> set[str]:
    model = tiny_model()
    freeze(model, patterns)
    return {name for name, parameter in model.named_parameters() if parameter.requires_grad}


def test_patterns_name_parameters() -> None:
    every = {name for name, _ in tiny_model().named_parameters()}
    assert trained([]) == every == {"embedding.weight", "mix.weight", "mix.bias", "head.bias"}
    assert trained(["mix.*"]) == {"embedding.weight", "head.bias"}
    assert trained(["*.bias", "mix.weight"]) == {"embedding.weight"}
    assert trained(["head.weight"]) == every - {"embedding.weight"}  # they are one


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        (["mux.*"], 'no parameter is called "mux.*"; did you mean "mix"? (known here: embedding*, mix*, head*)'),
        (["mix.wait"], 'did you mean "mix.weight"?'),
        (["*"], "nothing is left to train"),
    ],
)
def test_a_pattern_that_fits_nothing_or_leaves_nothing(patterns: list[str], message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        trained(patterns)
    assert message in str(caught.value)


@pytest.mark.parametrize("kind", ["adam", "adamw", "sgd", "adagrad", "adafactor"])
def test_frozen_parameters_stay_and_the_others_are_trained(tmp_path: Path, corpora: Path, kind: str) -> None:
    model = tiny_model()
    freeze(model, ["mix.*"])
    settings = {"optimizer": kind, "weight_decay": 0.1, "average": "none", "ema": 0.5}
    trainer(tmp_path, corpora, settings, model=model).run()
    before = dict(tiny_model().named_parameters())
    changed = {name for name, parameter in model.named_parameters() if not torch.equal(parameter, before[name])}
    assert changed == {"embedding.weight", "head.bias"}
