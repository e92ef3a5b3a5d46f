"""Combinations of tiny neural models and a small phrase-based one."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
import tiny_models
import torch
from tests.unit.phrase.small_corpus import TRIPLETS, split

from postedit import PostEditor
from postedit.core.editor import Abilities, Detail, Editor, Identity, PostEdit, Segment, segments_of
from postedit.core.errors import DataError, ModelFolderError
from postedit.core.search_config import SearchConfig
from postedit.editing.combination import Combination, Member
from postedit.editing.loading import Choice, load_models
from postedit.editing.members import Members
from postedit.editing.pooled import Pooled
from postedit.gate.edit_features import judge
from postedit.model_files import fingerprint
from postedit.phrase.phrase_folder import PhraseFolder
from postedit.phrase.phrase_model import learn
from postedit.phrase.phrase_options import PhraseConfig, PhraseTextConfig
from postedit.search.rescoring import LogLinear
from postedit.text.config import VocabularyConfig

SRC, MT, _ = (list(side) for side in zip(*TRIPLETS[:4]))
WEIGHTS = {"model 1": 0.5, "model 2": 0.25, "model 3": 0.25, "length": 0.5, "post_edit_penalty": -1.5}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return a neural, a phrase-based and another neural model."""
    path, text = tmp_path_factory.mktemp("models"), tiny_models.processor()
    for name in ("transference", "m-cgru"):
        tiny_models.nonsense(name, text, beam=3).save(path / name)
    config = PhraseConfig(order=3)
    PhraseFolder(learn(split(TRIPLETS), config), config, PhraseTextConfig(), SearchConfig(), {}).save(path / "phrases")
    return [path / "transference", path / "phrases", path / "m-cgru"]


def load(*models: Path, **options: object) -> Editor:
    return PostEditor.load(*models, device="cpu", **options)  # type: ignore[arg-type]


def test_an_editor_of_several_models_is_not_saved_as_one(models: list[Path], tmp_path: Path) -> None:
    with pytest.raises(ModelFolderError, match="save the members of an ensemble or a combination one by one"):
        PostEditor.load(*models, device="cpu").save_pretrained(tmp_path / "saved")


def outputs(found: PostEdit) -> list[PostEdit]:
    return [found, *found.alternatives]


def test_members_score_the_candidates_of_all(models: list[Path]) -> None:
    editor, proposers = load(*models), [load(models[0], models[2]), load(models[1])]
    own = [load(model) for model in models]
    assert isinstance(editor, Pooled)
    for src, mt, found in zip(SRC, MT, editor.edit(SRC, MT, beam=6, n_best=3), strict=True):
        listed = [one.edit([src], [mt], beam=6, n_best=3)[0] for one in proposers]
        texts = sorted({each.text for one in listed for each in outputs(one)} | {mt})
        columns = [one.score([src] * len(texts), [mt] * len(texts), texts) for one in own]
        scores = {text: [each.score for each in row] for text, *row in zip(texts, *columns, strict=True)}
        best = sorted(texts, key=lambda text: -sum(scores[text]))[:3]
        assert [each.text for each in outputs(found)] == [*best, *({mt} - set(best))]
        for each in outputs(found):
            assert [each.features[f"model {number}"] for number in (1, 2, 3)] == pytest.approx(scores[each.text])


class Fond(Editor):
    """Proposes one text, and gives a high score to that one alone."""

    abilities = Abilities(n_best=True, forced_scores=True)

    def identity(self, search: SearchConfig | None = None) -> Identity:
        return Identity(("fond",))

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        return [PostEdit("so", True) for _ in segments]

    def score_segments(
        self, segments: Sequence[Segment], outputs: Sequence[str], *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        return [PostEdit(text, True, 0.0 if text == "so" else -1000.0) for text in outputs]


def test_a_member_that_is_loaded_already_has_its_place_among_others(models: list[Path]) -> None:
    members = Members.load(Choice(tuple(models)), [torch.device("cpu")], given={1: Fond()})
    editor, own = members.plain("log"), [load(model) for model in models]
    assert [one.identity().models for one in editor.members][1] == ("fond",)
    assert editor.identity().models.count("fond") == 1
    for src, mt, found in zip(SRC, MT, editor.edit(SRC, MT), strict=True):
        assert found.text == "so"
        scores = [one.score([src], [mt], ["so"])[0].score for one in own]
        scores.insert(1, 0.0)
        assert [found.features[name] for name in members.names] == pytest.approx(scores)


def test_members_read_texts_as_long_as_the_combination_does(models: list[Path]) -> None:
    src, mt = " ".join(SRC[:1] * 9), " ".join(MT[:1] * 9)
    members = Members.load(Choice(tuple(models)), [torch.device("cpu")], given={1: Fond()})
    (short,) = members.plain("log").edit([src], [mt])
    members.search = members.search.with_options(max_input=400)
    (long,) = members.plain("log").edit([src], [mt])
    assert (short.text, short.skipped, long.text) == (mt, "too long", "so")


@pytest.fixture(scope="module")
def with_other_pieces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a neural model that writes with another vocabulary than the others."""
    text = tiny_models.processor(vocabulary=VocabularyConfig(size=290, sharing="mt-pe"))
    path = tmp_path_factory.mktemp("other") / "transference"
    tiny_models.nonsense("transference", text, beam=3).save(path)
    return path


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_model_with_another_target_vocabulary_searches_on_its_own(
    models: list[Path], with_other_pieces: Path, place: int
) -> None:
    chosen = [models[0], models[2]]
    chosen.insert(place, with_other_pieces)
    editor = load(*chosen)
    assert isinstance(editor, Pooled)
    together = [model for model in chosen if model != with_other_pieces] if place else [with_other_pieces]
    alone = [model for model in chosen if model not in together]
    proposers, own = [load(*together), *map(load, alone)], [load(model) for model in chosen]
    for src, mt, found in zip(SRC, MT, editor.edit(SRC, MT, beam=6, n_best=2), strict=True):
        share = 6 // len(proposers)
        listed = [one.edit([src], [mt], beam=6, n_best=share)[0] for one in proposers]
        texts = sorted({each.text for one in listed for each in outputs(one)} | {mt})
        columns = [one.score([src] * len(texts), [mt] * len(texts), texts) for one in own]
        means = {text: sum(each.score for each in row) / 3 for text, *row in zip(texts, *columns, strict=True)}
        assert found.text == max(texts, key=lambda text: means[text])
        assert found.score == pytest.approx(means[found.text])


def test_probabilities_of_other_tokens_are_not_averaged(models: list[Path], with_other_pieces: Path) -> None:
    with pytest.raises(DataError, match="several neural models with one target vocabulary"):
        load(models[0], with_other_pieces, space="probability")


def test_without_tuning_the_score_is_the_weighted_mean(models: list[Path]) -> None:
    for given, shares in ((None, [1 / 3] * 3), ([2.0, 1.0, 1.0], [0.5, 0.25, 0.25])):
        for one in load(*models, weights=given).edit(SRC, MT):
            scores = [one.features[f"model {number}"] for number in (1, 2, 3)]
            assert one.score == pytest.approx(sum(a * b for a, b in zip(shares, scores)))


def test_a_combination_file_edits_as_the_members_with_its_weights(models: list[Path], tmp_path: Path) -> None:
    file, search = tmp_path / "c.toml", SearchConfig(beam=4, max_input=40)
    log_linear = LogLinear(WEIGHTS, ("mt", "src"))
    Combination.of([Member.of(model) for model in models], log_linear, "log", search, {}).save(file)
    members = Members.load(Choice(tuple(models)), [torch.device("cpu")])
    members.search = search
    expected, editor = members.editor(log_linear, "log"), load(file)
    assert editor.edit(SRC, MT, n_best=4) == expected.edit(SRC, MT, n_best=4)
    assert editor.identity() == expected.identity()
    assert editor.search.beam == 4
    assert editor.identity() != load(*models).identity()
    assert len(editor.identity().models) == 3


def test_search_options_are_those_of_the_first_neural_model(models: list[Path]) -> None:
    assert load(models[1], models[0]).search == load(models[0]).search
    assert load(models[1], models[1]).search == load(models[1]).search


def test_phrase_based_models_alone_can_be_pooled(models: list[Path]) -> None:
    twice, once = load(models[1], models[1]).edit(SRC, MT), load(models[1]).edit(SRC, MT)
    assert [one.text for one in twice] == [one.text for one in once]
    assert [one.score for one in twice] == pytest.approx([one.score for one in once])


def test_a_gate_judges_a_pool(models: list[Path]) -> None:
    editor = load(*models)
    edits = editor.edit(SRC, MT)
    judged = judge(editor, segments_of(SRC, MT), edits)
    assert [one.whole is not None for one in judged] == [one.changed for one in edits]


def test_options_without_effect_on_any_proposer_are_refused(models: list[Path]) -> None:
    search = SearchConfig(beam=4, no_unk=True)
    assert load(*models[:2]).edit(SRC, MT, search=search)
    with pytest.raises(DataError, match=r"search\.no_unk: no effect"):
        load(models[1], models[1]).edit(SRC, MT, search=search)


def test_what_a_member_cannot_do_is_refused(models: list[Path]) -> None:
    with pytest.raises(DataError, match=r"search\.banned is for neural models"):
        load(*models).edit(SRC, MT, search=SearchConfig(beam=2, banned=("x",)))
    with pytest.raises(DataError, match=r'ensemble\.space = "probability" averages probabilities of tokens'):
        load(*models[:2], space="probability")
    with pytest.raises(DataError, match="2 weights for 3 models"):
        load(*models, weights=[1.0, 2.0])
    with pytest.raises(DataError, match="above 0, not 0"):
        load(*models, weights=[1.0, 0.0, 1.0])
    with pytest.raises(ModelFolderError, match=r"phrases: is a phrase-based model, or has one; this needs neural ones"):
        load_models([models[1]], [torch.device("cpu")], None, "log")
    with pytest.raises(DataError, match="segment 1 has no mt"):
        load(*models).edit(SRC)


def test_a_phrase_based_member_that_has_changed_is_named(models: list[Path], tmp_path: Path) -> None:
    copies = [Path(shutil.copytree(model, tmp_path / model.name)) for model in models]
    Combination.of([Member.of(model) for model in copies], LogLinear(WEIGHTS), "log", SearchConfig(), {}).save(
        tmp_path / "c.toml"
    )
    loaded, before = PhraseFolder.load(copies[1]), fingerprint(copies[1])
    loaded.model.weights[1] -= 1.0
    loaded.save(copies[1])
    assert fingerprint(copies[1]) != before
    with pytest.raises(ModelFolderError, match=r"model 2, .*phrases, is not the model that the weights were tuned for"):
        load(tmp_path / "c.toml")
    shutil.rmtree(copies[1])
    with pytest.raises(ModelFolderError, match="model 2 is missing"):
        load(tmp_path / "c.toml")


def test_a_phrase_based_model_with_other_words_is_another(models: list[Path], tmp_path: Path) -> None:
    loaded = PhraseFolder.load(models[1])
    other = PhraseFolder(loaded.model, loaded.config, PhraseTextConfig(tokenizer="characters"), loaded.search, {})
    other.save(tmp_path / "other")
    assert fingerprint(tmp_path / "other") != fingerprint(models[1])
