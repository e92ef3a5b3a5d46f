"""Candidates of whole models with their text processing, and a run that learns from them."""

from pathlib import Path
from typing import Literal

import pytest
import tiny_models
import torch
from tiny_models import TRIPLETS, write_triplets

from postedit.core.special_tokens import EOS, STEP, UNK
from postedit.core.types import Batch
from postedit.data.collate import collate
from postedit.editing.risk_candidates import CandidateSearch
from postedit.evaluate.ter import count_edits, edit_rate
from postedit.search import SearchConfig
from postedit.text.config import VocabularyConfig
from postedit.text.edits import with_steps, without_steps
from postedit.train.config import RiskConfig

SETTINGS = SearchConfig(max_extra=4)


def batch_of(folder: tiny_models.ModelFolder) -> Batch:
    sides = {
        side: folder.processor.encode_batch(side, [getattr(triplet, side) for triplet in TRIPLETS[:2]])
        for side in ("src", "mt", "pe")
    }
    if folder.model.spec.writes == "steps":
        sides["pe"] = [with_steps(mt, pe) for mt, pe in zip(sides["mt"], sides["pe"])]
    return collate(sides, folder.model.spec.inputs)


@pytest.mark.parametrize("name", ["transference", "m-cgru-hard"])
@pytest.mark.parametrize("search", ["sample", "beam"])
def test_candidates_differ_and_have_the_cost_of_their_text(name: str, search: str) -> None:
    torch.manual_seed(2)
    folder = tiny_models.folder(name)
    batch = batch_of(folder)
    found = CandidateSearch(RiskConfig(search=search, candidates=4, reference=True), SETTINGS, folder.processor)(
        folder.model, batch
    )
    assert batch.target is not None
    for candidates, ids, triplet in zip(found, batch.target.ids, TRIPLETS):
        outputs = [candidate.tokens for candidate in candidates]
        assert len(set(outputs)) == len(outputs)
        assert 2 <= len(outputs) <= 5
        reference = tuple(ids[: len(outputs[0])].tolist())
        assert outputs[0] == reference
        assert candidates[0].cost == 0.0
        for candidate in candidates:
            symbols = without_steps(candidate.tokens)
            assert EOS not in symbols
            text = folder.processor.vocabulary("pe").decode(symbols)
            assert candidate.cost == pytest.approx(edit_rate(count_edits([text], [triplet.pe])) / 100.0)
        if folder.model.spec.writes == "steps":
            assert any(STEP in output for output in outputs)


@pytest.mark.parametrize("cost", ["ter", "bleu"])
def test_in_text_without_spaces_costs_count_characters(cost: Literal["ter", "bleu"]) -> None:
    folder = tiny_models.folder()
    reference, near, far = (
        tuple(folder.processor.vocabulary("pe").encode(text))
        for text in ("設定を保存します", "設定を保管します", "終了")
    )
    search = CandidateSearch(RiskConfig(cost=cost), SETTINGS, folder.processor)
    (found,) = search.judge([[reference, near, far]], [reference])
    costs = [candidate.cost for candidate in found]
    assert costs[0] == 0.0 < costs[1] < costs[2]
    if cost == "ter":
        assert costs[1:] == pytest.approx([1 / 8, 1.0])


def test_copies_of_different_unknown_words_differ_in_cost() -> None:
    vocabulary = VocabularyConfig(sharing="mt-pe", size=320, limit=30, copied=3)
    processor = tiny_models.processor(vocabulary=vocabulary)
    first, second = range(processor.vocabulary("pe").size - 3, processor.vocabulary("pe").size - 1)
    (known,) = processor.vocabulary("pe").encode("das")
    reference, *others = (known, first), (known, second), (known, UNK), (first, known)
    (found,) = CandidateSearch(RiskConfig(), SETTINGS, processor).judge([[reference, *others]], [reference])
    assert [candidate.cost for candidate in found] == pytest.approx([0.0, 0.5, 0.5, 0.5])


def test_the_reference_is_a_candidate_only_where_it_is_asked_for() -> None:
    torch.manual_seed(2)
    folder = tiny_models.folder()
    config = RiskConfig(search="sample", candidates=3, reference=False, cost="bleu")
    for candidates in CandidateSearch(config, SETTINGS, folder.processor)(folder.model, batch_of(folder)):
        assert all(candidate.cost > 0.0 for candidate in candidates)


def test_options_reach_the_search() -> None:
    torch.manual_seed(2)
    folder = tiny_models.folder()
    config = RiskConfig(search="sample", candidates=20, top_k=1)
    for found in CandidateSearch(config, SETTINGS, folder.processor).search(folder.model, batch_of(folder)):
        assert len({hypothesis.tokens for hypothesis in found}) == 1


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("transference", {"risk": {"search": "sample", "reference": True, "candidates": 3}}),
        ("m-cgru-hard", {"risk": {"search": "beam", "cost": "bleu", "candidates": 2}}),
        ("m-cgru", {"rdrop": 2.0}),
    ],
)
def test_a_recipe_with_risk_or_rdrop_is_trained(tmp_path: Path, name: str, options: dict[str, object]) -> None:
    from typer.testing import CliRunner

    from postedit.cli.main import app

    write_triplets(tmp_path)
    recipe = tiny_models.write_recipe(tmp_path / "recipe.toml", name, train=options)
    result = CliRunner().invoke(app, ["train", str(recipe), "--out", str(tmp_path / "run")])
    assert result.exit_code == 0, result.output
    saved = (tmp_path / "run" / "recipe.toml").read_text()
    assert "rdrop = 2.0" in saved if "rdrop" in options else "[train.risk]" in saved
    assert (tmp_path / "run" / "model" / "model.safetensors").exists()
