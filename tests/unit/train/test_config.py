import pytest

from postedit.core.config import load_config
from postedit.core.errors import RecipeError
from postedit.train.config import FREE_ON_RESUME, TrainConfig


def test_an_end_is_needed() -> None:
    with pytest.raises(RecipeError, match="at least one of max_steps, max_epochs, max_minutes"):
        load_config(TrainConfig, {"lr": 0.1}, "train")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("max_steps", 0),
        ("batch_tokens", 1.5),
        ("lr", 0.0),
        ("lr", "fast"),
        ("betas", [0.9, 1.0]),
        ("betas", [0.9]),
        ("optimizer", "sdg"),
        ("schedule", "cosine"),
        ("plateau_factor", 1.0),
        ("label_smoothing", -0.1),
        ("precision", "fp16"),
        ("metric", "meteor"),
        ("patience", 0),
        ("save_minutes", 0.0),
        ("average", "worst"),
    ],
)
def test_values_out_of_range_are_named(option: str, value: object) -> None:
    with pytest.raises(RecipeError, match=option):
        load_config(TrainConfig, {"max_steps": 1, "max_minutes": 1.0} | {option: value}, "train")


def test_toml_lists_and_whole_numbers_are_taken() -> None:
    config = load_config(TrainConfig, {"max_steps": 1, "betas": [0.9, 0.999], "lr": 1}, "train")
    assert config.betas == (0.9, 0.999)
    assert config.lr == 1.0


def test_every_option_is_described() -> None:
    assert [name for name, field in TrainConfig.model_fields.items() if not field.description] == []
    assert set(TrainConfig.model_fields) >= FREE_ON_RESUME


@pytest.mark.parametrize(
    ("metric", "higher"), [("loss", False), ("ter", False), ("bleu", True), ("chrf", True), ("rouge-l", True)]
)
def test_direction_of_metrics(metric: str, higher: bool) -> None:
    assert load_config(TrainConfig, {"max_steps": 1, "metric": metric}, "train").higher_is_better is higher
