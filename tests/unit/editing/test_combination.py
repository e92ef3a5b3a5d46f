"""Combinations as models: what is written is what is loaded, and what has changed since is not used."""

import json
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
import tiny_models
import torch

from postedit import PostEditor
from postedit.core.errors import DataError, ModelFolderError
from postedit.core.search_config import SearchConfig
from postedit.core.tensor_files import load_model_tensors, model_tensors, save_tensors
from postedit.core.types import Batch, Stream, Target
from postedit.editing.combination import Combination, Member
from postedit.folder import ModelFolder
from postedit.model_files import content_fingerprint, fingerprint
from postedit.search.rescoring import LogLinear, weighted_sum
from postedit.text.edits import target_of

SRC, MT = ["the house", "it goes", "the old house"], ["das Haus", "es geht", "das Haus ."]
WEIGHTS = {"model 1": 0.6, "model 2": 0.4, "length": 0.5, "post_edit_penalty": -1.5}


@pytest.fixture
def models(tiny_folders: Path, tmp_path: Path) -> list[Path]:
    names = ("transference", "m-cgru")
    return [Path(shutil.copytree(tiny_folders / name, tmp_path / "models" / name)) for name in names]


@pytest.fixture
def file(models: list[Path], tmp_path: Path) -> Path:
    path = tmp_path / "combination.toml"
    write(path, models)
    return path


def write(path: Path, models: list[Path], known: tuple[str, ...] = ("mt",)) -> None:
    search = tiny_models.SEARCH.with_options(beam=4)
    members = [Member.of(model) for model in models]
    Combination.of(members, LogLinear(WEIGHTS, known), "log", search, {"metric": "ter"}).save(path)


def test_outputs_without_an_end_yield_to_mt(file: Path) -> None:
    editor = PostEditor.load(file, device="cpu")
    search = editor.search.with_options(max_extra=1, max_ratio=1.0)
    endless = [one.hit_limit for one in editor.edit(SRC, MT, search=search)]
    assert any(endless)
    for mbr in (0.0, 0.6):
        found = editor.edit(SRC, MT, search=search.with_options(mt_candidate=True, mbr=mbr))
        assert [one.changed and one.hit_limit for one in found] == [False] * len(MT)


def test_a_combination_searches_with_member_weights_and_ranks_by_all(file: Path, models: list[Path]) -> None:
    editor = PostEditor.load(file, device="cpu")
    assert editor.search.beam == 4
    ensemble = PostEditor.load(*models, weights=[0.6, 0.4], device="cpu")
    listed = ensemble.edit(SRC, MT, beam=4, n_best=4)
    found = editor.edit(SRC, MT, n_best=4)
    for one, plain, mt in zip(found, listed, MT, strict=True):
        outputs = [one, *one.alternatives]
        assert {each.text for each in outputs} <= {each.text for each in [plain, *plain.alternatives]}
        assert len(outputs) >= 4
        assert mt in {each.text for each in outputs}, "to leave mt as it is can always be chosen"
        # mt is no candidate of these models, and not first therefore
        sums = [weighted_sum(each.features or {}, WEIGHTS) for each in outputs if each.text != mt]
        assert sums == sorted(sums, reverse=True)
        for each in outputs:
            assert list(each.features or {}) == ["model 1", "model 2", "length", "post_edit_penalty"]
            assert each.features["length"] == len(each.text.split())
            assert each.features["post_edit_penalty"] == sum(word not in mt.split() for word in each.text.split())
    assert [one.text for one in editor.edit(SRC, MT)] == [one.text for one in found]


def test_the_features_of_members_are_their_own_scores(file: Path, models: list[Path]) -> None:
    texts = ["das Häuschen", "es ging .", "das"]
    combined = PostEditor.load(file, device="cpu").score(SRC, MT, texts)
    for number, model in enumerate(models, start=1):
        alone = PostEditor.load(model, device="cpu").score(SRC, MT, texts)
        assert [one.features[f"model {number}"] for one in combined] == pytest.approx([one.score for one in alone])
    assert [one.text for one in combined] == texts


def test_words_of_src_cost_nothing_if_so_tuned(models: list[Path], tmp_path: Path) -> None:
    penalties = []
    for known in (("mt",), ("mt", "src")):
        write(tmp_path / "x.toml", models, known)
        (one,) = PostEditor.load(tmp_path / "x.toml", device="cpu").score(
            ["the house"], ["das Haus"], ["the Haus here"]
        )
        penalties.append(one.features["post_edit_penalty"])
    assert penalties == [2.0, 1.0]


def test_paths_are_relative_to_the_file_so_that_all_can_move_together(
    file: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert [member["path"] for member in tomllib.loads(file.read_text())["members"]] == [
        "models/transference",
        "models/m-cgru",
    ]
    before = PostEditor.load(file, device="cpu").edit(SRC, MT)
    moved = tmp_path_factory.mktemp("elsewhere") / "all"
    shutil.move(tmp_path, moved)
    assert PostEditor.load(moved / file.name, device="cpu").edit(SRC, MT) == before


def test_a_member_that_is_gone_is_named(file: Path, models: list[Path]) -> None:
    shutil.rmtree(models[1])
    with pytest.raises(ModelFolderError, match=r"combination.toml: model 2 is missing: there is no .*m-cgru"):
        PostEditor.load(file)


@pytest.mark.parametrize("what", ["weights", "text", "sizes"])
def test_a_member_that_has_changed_is_named(file: Path, models: list[Path], what: str) -> None:
    folder = ModelFolder.load(models[0])
    if what == "weights":
        next(folder.model.parameters()).data.add_(0.5)
        save_tensors(models[0] / "model.safetensors", model_tensors(folder.model), {"architecture": "transference"})
    elif what == "text":
        settings = models[0] / "text" / "text.json"
        settings.write_text(settings.read_text() + " ")
    else:
        config = json.loads((models[0] / "config.json").read_text())
        config["model"]["dropout"] = 0.3
        (models[0] / "config.json").write_text(json.dumps(config))
    with pytest.raises(
        ModelFolderError, match=r"model 1, .*transference, is not the model that the weights were tuned"
    ):
        PostEditor.load(file)


def test_search_settings_and_the_card_of_a_member_may_change(models: list[Path]) -> None:
    before, whole = fingerprint(models[0]), content_fingerprint(models[0])
    replace(ModelFolder.load(models[0]), search=SearchConfig(beam=9), provenance={"new": 1}).save(models[0])
    assert fingerprint(models[0]) == before
    assert content_fingerprint(models[0]) != whole


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"model 2" = 0.4', "", "weights has none for model 2"),
        ("length =", "lenght =", 'weights.lenght is not a feature; did you mean "length"'),
        ('space = "log"', 'space = "lin"', "space"),
        ("format = 1", "format = 7", "format"),
        ("[weights]", "[weights", "not valid TOML|is not TOML|TOML"),
        ('"model 1" = 0.6', '"model 1" = -0.6', "above 0, not -0.6"),
    ],
)
def test_a_damaged_file_is_explained(file: Path, old: str, new: str, message: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises((ModelFolderError, DataError), match=message):
        PostEditor.load(file)


def test_a_text_file_is_no_model(models: list[Path], tmp_path: Path) -> None:
    (tmp_path / "s").write_text("A line of text.\n")
    (tmp_path / "recipe.toml").write_text("[train]\n")
    for given in ([tmp_path / "s"], [tmp_path / "recipe.toml"], [tmp_path / "s", models[0]]):
        with pytest.raises(
            ModelFolderError,
            match=r"(s|toml): neither a model nor an XLIFF, TMX or PO file; give lines",
        ):
            PostEditor.load(*given)


def test_a_combination_is_complete_in_itself(file: Path, models: list[Path]) -> None:
    with pytest.raises(DataError, match="is a combination, which has its members and their weights in it"):
        PostEditor.load(models[0], file)
    with pytest.raises(DataError, match="is a combination"):
        PostEditor.load(file, weights=[1.0])


def test_weights_must_match_models(models: list[Path]) -> None:
    with pytest.raises(DataError, match="2 weights for 1 models"):
        PostEditor.load(models[0], weights=[1, 2])


def test_checkpoints_of_one_run_make_an_ensemble(models: list[Path], tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(models[0], run / "model")
    folder = ModelFolder.load(models[0])
    (run / "best").mkdir()
    steps = []
    for step in (1, 2):
        for parameter in folder.model.parameters():
            parameter.data.add_(0.05)
        steps.append(run / "best" / f"step-{step}.safetensors")
        save_tensors(steps[-1], model_tensors(folder.model))
    ensemble = PostEditor.load(*steps, device="cpu")
    texts = ["das Häuschen"] * 3
    scores = [PostEditor.load(path, device="cpu").score(SRC, MT, texts)[0].score for path in (*steps, models[0])]
    assert len(set(scores)) == 3
    features = ensemble.score(SRC, MT, texts)[0].features
    assert [features["model 1"], features["model 2"]] == pytest.approx(scores[:2])
    for prints in (fingerprint, content_fingerprint):
        assert len({prints(path) for path in (*steps, run / "model")}) == 3
    for file in ("config.json", "text/text.json"):
        before, path = content_fingerprint(steps[0]), run / "model" / file
        path.write_text(path.read_text() + " ")
        assert content_fingerprint(steps[0]) != before
    shutil.rmtree(run / "model")
    with pytest.raises(
        ModelFolderError, match=r"is a file of weights, but .*model, the model of its run, is not there"
    ):
        PostEditor.load(steps[0])


def test_weights_that_several_layers_share_may_have_any_of_their_names(models: list[Path], tmp_path: Path) -> None:
    folder = ModelFolder.load(models[0])
    tensors, names = model_tensors(folder.model), folder.model.state_dict(keep_vars=True)
    one, other = next((a, b) for a in tensors for b in names if a != b and names[a] is names[b])
    renamed = {other if name == one else name: tensor for name, tensor in tensors.items()}
    load_model_tensors(folder.model, renamed)
    del renamed[other]
    with pytest.raises(ModelFolderError, match=r"the weights do not fit the model: of its [0-9]+ tensors, 1 missing"):
        load_model_tensors(folder.model, renamed)


@pytest.mark.parametrize("name", ["transference", "m-cgru", "m-cgru-hard", "edit-operations"])
def test_forced_scores_equal_the_training_loss(name: str) -> None:
    folder = tiny_models.folder(name)
    editor = PostEditor(folder.model, folder.processor, folder.search)
    outputs = ["das Häuschen", "es ging .", ""]
    found = editor.score(SRC, MT, outputs)
    for src, mt, output, one in zip(SRC, MT, outputs, found, strict=True):
        ids = {
            side: folder.processor.encode_batch(side, [text])[0]
            for side, text in zip(("src", "mt", "pe"), (src, mt, output))
        }
        ids["pe"] = target_of(folder.model.spec.writes, ids["mt"], ids["pe"])
        rows = {side: torch.tensor([row]) for side, row in ids.items()}
        streams = {side: Stream(rows[side], rows[side] > 0) for side in ("src", "mt")}
        loss = folder.model(Batch(streams, Target(rows["pe"], rows["pe"] > 0)))
        assert -one.score == pytest.approx(float(loss.nll), rel=1e-5)
        assert len(one.token_scores) == len(ids["pe"])
        assert (one.text, one.changed, one.skipped) == (output, True, None)


def test_outputs_of_segments_that_the_model_is_not_asked_about(models: list[Path]) -> None:
    editor = PostEditor.load(models[0], device="cpu")
    long = "Haus " * 1000
    found = editor.score(["x", "x", "x"], ["", "a", "es geht"], ["a", "a", long])
    assert [one.skipped for one in found] == ["empty", None, "too long"]
    assert [one.text for one in found] == ["a", "a", long]
    assert [one.changed for one in found] == [True, False, True]


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (["a"], "src has 3 segments and outputs 1"),
        ("abc", "not a single string"),
        ([1, 2, 3], "segment 1 of outputs is"),
    ],
)
def test_outputs_that_cannot_be_scored(models: list[Path], outputs: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        PostEditor.load(models[0], device="cpu").score(SRC, MT, outputs)
