"""Recipes train as the papers say: data, rates, dropout and search, where the text or the release gives them."""

from math import sqrt
from pathlib import Path

import pytest

from postedit.recipe import Recipe, load_recipe
from postedit.train.optimisers import learning_rate
from postedit.train.train_state import Plateau

RECIPES = Path(__file__).parents[2] / "recipes"
COPYING = ("copycat-trg", "copycat-src", "dual-transformer-no-pnt")
OF_2020 = sorted(path.stem for path in RECIPES.glob("*.toml") if "batch_tokens = 25000" in path.read_text())


def recipe(name: str) -> Recipe:
    return load_recipe(RECIPES / f"{name}.toml", check_data=False)


def legacy_rate(factor: float, step: int, dim: int = 512, warmup: int = 8000) -> float:
    """Return the rate of tensor2tensor's legacy schedule, whose base rate is 0.002."""
    return 0.002 * factor * 5000 * dim**-0.5 * min(step * warmup**-1.5, step**-0.5)


@pytest.mark.parametrize("name", COPYING)
def test_copying_networks_are_trained_twice_at_the_rates_of_the_paper(name: str) -> None:
    """Ive et al. 2019: 0.05 and 8,000 warm-up steps, then 0.001."""
    (_, pretraining), (_, fine_tuning) = recipe(name).stages()
    for stage, factor in ((pretraining, 0.05), (fine_tuning, 0.001)):
        for step in (1, 100, 8000, 50_000):
            rate = learning_rate(stage.train, step, Plateau())
            assert rate == pytest.approx(legacy_rate(factor, step), rel=2e-3)
    assert [files.name for files in pretraining.data.train] == ["artificial"]
    assert [files.name for files in fine_tuning.data.train] == ["real"]
    assert (pretraining.train.patience, pretraining.train.metric) == (10, "bleu")


@pytest.mark.parametrize("name", [*COPYING, "copycat"])
def test_copying_networks_write_as_long_as_tensor2tensor(name: str) -> None:
    """Ive et al. 2019 give the beam alone; tensor2tensor's alpha is 0.6, and its `extra_length` 100 since 2018."""
    search = recipe(name).search
    assert search.beam == (5 if name == "copycat" else 10)
    assert (search.length_penalty, search.normalisation) == (0.6, "wu")
    assert (search.max_ratio, search.max_extra) == (1.0, 100)


@pytest.mark.parametrize("name", COPYING)
def test_copying_networks_have_the_dropout_of_transformer_base_v1(name: str) -> None:
    model = recipe(name).model
    assert tuple(model.dropout_rates) == (0.1, 0.0, 0.0)
    assert model.norm == "post"
    assert model.share_encoders
    assert name == "dual-transformer-no-pnt" or (model.copy_query, model.gate_bias) == ("attended", False)


def test_the_copying_network_of_summaries() -> None:
    """transformer_base_v2; articles of 400 pieces, ROUGE-L, beam 5."""
    found = recipe("copycat")
    assert (found.model.norm, tuple(found.model.dropout_rates)) == ("pre", (0.1, 0.1, 0.1))
    assert learning_rate(found.train, 20_000, Plateau()) == pytest.approx(legacy_rate(0.2, 20_000), rel=2e-3)
    assert (found.data.max_length, found.data.too_long) == (401, "cut")
    assert (found.search.max_input, found.search.cut_input, found.search.beam) == (401, True, 5)
    assert found.train.metric == "rouge-l"


def test_the_pointer_generator_gets_coverage_last() -> None:
    """See et al. 2017, section 5: Adagrad, and coverage for the last 3,000 of 233,000 updates."""
    found = recipe("pointer-generator")
    (_, without), (_, coverage) = found.stages()
    assert (without.train.freeze, without.train.coverage, without.train.max_steps) == (
        ["attention.coverage"],
        0.0,
        230000,
    )
    assert (coverage.train.freeze, coverage.train.coverage, coverage.train.max_steps) == ([], 1.0, 3000)
    assert (found.train.optimizer, found.train.clip, found.train.label_smoothing) == ("adagrad", 2.0, 0.0)
    assert [learning_rate(found.train, step, Plateau()) for step in (1, 230_000)] == [0.15, 0.15]
    assert (found.text.vocabulary.limit, found.search.beam, found.data.max_length) == (50_000, 4, 401)


def test_the_copy_transformer_is_trained_as_its_release() -> None:
    found = recipe("copy-transformer")
    for step in (1, 100, 8000, 50_000):
        noam = 2 * 512**-0.5 * min(step * 8000**-1.5, step**-0.5)
        assert learning_rate(found.train, step, Plateau()) == pytest.approx(noam, rel=2e-3)
    assert found.train.batch_tokens * found.train.accumulate == 2 * 4 * 4096
    search = found.search
    assert (search.coverage_penalty, search.length_penalty, search.normalisation, search.no_repeat) == (
        5.0,
        0.9,
        "wu",
        3,
    )


@pytest.mark.parametrize("name", ["cgru", "cgru-src", "gru-hard", "cgru-hard", "m-cgru", "m-cgru-hard"])
def test_the_triplets_of_2016_are_read_twenty_times(name: str) -> None:
    """Junczys-Dowmunt and Grundkiewicz 2017, 5.1."""
    weights = {files.name: files.weight for files in recipe(name).data.train}
    assert weights == {"real-2016": 20.0, "artificial-large": 1.0, "artificial-small": 1.0}


@pytest.mark.parametrize("name", ["cgru", "gru-hard", "cgru-hard", "m-cgru", "m-cgru-hard"])
def test_conditional_grus_are_trained_as_in_the_paper(name: str) -> None:
    """Junczys-Dowmunt and Grundkiewicz 2017, 5.2."""
    found = recipe(name)
    model, train = found.model, found.train
    assert (model.embedding, model.hidden, model.dropout_rnn, model.dropout_word) == (512, 1024, 0.2, 0.2)
    assert (model.attention, model.share_embeddings, model.tie_output) == (None, "none", False)
    assert (found.text.vocabulary.size, found.text.truecase) == (40_000, True)
    is_hard = name.endswith("hard")
    assert found.data.max_length == (100 if is_hard else 50) + 1, "EOS is no token of a sentence there"
    assert train.batch_tokens == 64 * (50 if is_hard else 25)
    assert (train.optimizer, train.label_smoothing, train.validate_every) == ("adam", 0.0, 10_000)
    assert (train.metric, train.patience) == ("loss", 10)
    assert (train.average, train.keep_best, train.average_if_better) == ("best", 8, False)
    assert not found.search.mt_candidate


@pytest.mark.parametrize("name", ["character-level", "edit-operations", "edit-operations-src"])
def test_the_systems_of_2017_read_real_triplets_ten_times(name: str) -> None:
    """Jauregi Unanue et al. 2018, 4.4: the same data as for their own model."""
    weights = {files.name: files.weight for files in recipe(name).data.train}
    assert weights == {"real": 10.0, "artificial-small": 1.0}


@pytest.mark.parametrize("name", ["shared-attention", "flat-attention", "merged-attention"])
def test_text_is_learnt_from_real_triplets_alone(name: str) -> None:
    """Jauregi Unanue et al. 2018, 4.2 and 4.3."""
    found = recipe(name)
    assert {files.name: (files.weight, files.learn_text) for files in found.data.train} == {
        "real": (10.0, True),
        "artificial-small": (1.0, False),
    }
    assert found.data.max_length == 50 + 1, "OpenNMT counts no EOS"
    assert found.text.vocabulary.size == 30_000 + 256 + 6


@pytest.mark.parametrize("name", ["shared-attention", "flat-attention", "merged-attention"])
def test_lstms_are_trained_as_in_the_paper(name: str) -> None:
    """Jauregi Unanue et al. 2018, table 1 and 4.3; the loss of OpenNMT is a mean per sentence, here of 25 labels."""
    found = recipe(name)
    model, train = found.model, found.train
    assert (model.embedding, model.hidden, model.layers, model.dropout) == (300, 500, 2, 0.3)
    assert (model.input_feeding, model.init, model.share_embeddings) == (True, 0.1, "none")
    assert found.text.vocabulary.sharing == "separate"
    assert (train.optimizer, train.momentum, train.max_epochs) == ("sgd", 0.0, 20)
    rates = [learning_rate(train, 1, Plateau(reductions=count)) for count in (0, 1, 2)]
    assert rates == [25 * 1.0, 25 * 0.5, 25 * 0.25]
    assert train.clip * 25 == 5.0
    assert (train.plateau_patience, train.average, train.keep_best) == (1, "none", 1)
    assert (found.search.beam, found.search.length_penalty, found.search.mt_candidate) == (5, 0.0, False)


@pytest.mark.parametrize("name", OF_2020)
def test_transformers_normalise_lengths_as_wu_et_al(name: str) -> None:
    """Vaswani et al. 2017, whose base model Pal et al. 2020 use: alpha 0.6 in the formula of Wu et al. 2016."""
    search = recipe(name).search
    assert (search.beam, search.length_penalty, search.normalisation) == (4, 0.6, "wu")
    assert len(OF_2020) >= 15


@pytest.mark.parametrize(
    ("name", "average"),
    [
        ("transference-fine-tuned", ("none", True)),
        ("transformer-mt-fine-tuned", ("none", True)),
        ("transformer-src-mt-fine-tuned", ("none", True)),
        ("dual-transformer-fine-tuned", ("none", True)),
        ("transference-nmt", ("none", True)),
        ("transference-nmt-average", ("best", False)),
    ],
)
def test_the_paper_fine_tunes_on_what_is_most_like_the_task(name: str, average: tuple[str, bool]) -> None:
    """Pal et al. 2020, 4.2: experiments 1.6, 3.1 to 3.3, and 8 to 10."""
    (_, generic), (_, tuned) = recipe(name).stages()
    names = [[files.name for files in stage.data.train] for stage in (generic, tuned)]
    smt = [["artificial-4m", "artificial-500k", "real"], ["artificial-500k", "real"]]
    assert names == ([["escape", "real-12k"], ["real-12k"]] if "nmt" in name else smt)
    assert (tuned.train.average, tuned.train.average_if_better) == average
    assert learning_rate(generic.train, 8000, Plateau()) == pytest.approx(1 / sqrt(512 * 8000), rel=1e-3)


@pytest.mark.parametrize("name", ["transference-nmt", "transference-nmt-average", "transference-smt-nmt"])
def test_models_of_neural_translations_are_not_chosen_on_their_test_set(name: str) -> None:
    """Pal et al. 2020, 4.2: 12,000 of 13,442 triplets to train on, the others to validate; dev2018 is a test set."""
    found = recipe(name)
    for part in (found, *(stage for _, stage in found.stages())):
        assert part.data.dev.name == "real-rest"


def test_a_model_of_statistical_translations_is_tuned_on_neural_ones() -> None:
    """Pal et al. 2020, experiment 7: experiment 3.3, tuned on the triplets of 2018."""
    first, found = recipe("transference-fine-tuned"), recipe("transference-smt-nmt")
    assert (found.model, found.text) == (first.model, first.text)
    assert [files.name for files in found.data.train] == ["real-12k"]
    rates = [learning_rate(found.train, step, Plateau()) for step in (1, 3000)]
    assert rates == [first.stages()[1][1].train.lr] * 2


def test_the_winner_of_the_neural_task_ends_with_minimum_risk() -> None:
    (_, likelihood), (_, risk) = recipe("concat-encoders").stages()
    assert (likelihood.train.has_risk, risk.train.has_risk) == (False, True)


def test_the_small_scale_task_halves_all_sizes() -> None:
    """Li et al. 2017, V.C."""
    small, large = recipe("draft-and-refine-iwslt"), recipe("draft-and-refine")
    for one, other in ((small.model, large.model), (small.first_stage().model, large.first_stage().model)):
        assert (2 * one.embedding, 2 * one.hidden) == (other.embedding, other.hidden) == (620, 1000)
        assert (2 * one.attention, 2 * one.maxout) == (other.attention, other.maxout)
    assert 2 * small.text.vocabulary.size == large.text.vocabulary.size == 30_000
    assert [part.train.lr for part in (small, small.first_stage())] == [1e-3, 1e-3]
    assert [part.train.lr for part in (large, large.first_stage())] == [1e-4, 1e-4]


@pytest.mark.parametrize("name", ["draft-and-refine", "draft-and-refine-iwslt"])
def test_the_second_stage_inherits_frozen_embeddings(name: str) -> None:
    """Li et al. 2017, IV.D and V.C: batches of 80, Adam, beams of 5 in both stages."""
    second = recipe(name)
    first = second.first_stage()
    assert second.draft is not None
    assert (second.draft.inherit_embeddings, second.model.freeze_embeddings, second.draft.folds) == (True, True, 0)
    assert (second.model.share_embeddings, first.model.share_embeddings) == ("mt-pe", "none")
    for stage in (first, second):
        assert (stage.model.dropout, stage.model.tie_output, stage.search.beam) == (0.0, False, 5)
        assert (stage.train.optimizer, stage.train.batch_tokens) == ("adam", 80 * 25)
        assert (stage.train.schedule, stage.train.warmup_steps, stage.train.label_smoothing) == ("constant", 0, 0.0)
    assert not second.search.mt_candidate
