"""Models of any kind are loaded with a memory."""

import pickle
from dataclasses import replace
from pathlib import Path

import pytest
import tiny_models
from tests.unit.phrase.small_corpus import TRIPLETS, split

from postedit import adapt
from postedit.adapt.adaptation_config import Learning, LearningConfig, NearestConfig, OnlineConfig
from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import CorrectionMemory
from postedit.adapt.learning_editor import MemorySpec, load_learning
from postedit.core.errors import DataError
from postedit.core.search_config import SearchConfig
from postedit.editing.post_editor import PostEditor
from postedit.phrase.phrase_folder import PhraseFolder
from postedit.phrase.phrase_model import learn as learn_phrases
from postedit.phrase.phrase_options import PhraseConfig, PhraseTextConfig

CONFIG = LearningConfig(online=OnlineConfig(rate=0.05, watched=0), nearest=NearestConfig(watched=0))

CHARACTERS = LearningConfig(phrases=PhraseTextConfig(tokenizer="characters"))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("model") / "model"
    tiny_models.folder().save(path)
    return path


@pytest.fixture
def where(tmp_path: Path) -> str:
    with CorrectionMemory(tmp_path / "memory.db") as memory:
        memory.add([Correction("the house", "das Haus", "das Häuschen")])
    return str(tmp_path / "memory.db")


@pytest.mark.parametrize("learn", ["auto", "online", "nearest"])
def test_corrections_change_scores_until_they_are_undone(model: Path, where: str, learn: Learning) -> None:
    texts = ["the house"], ["das Haus"]
    (plain,) = PostEditor.load(model, device="cpu").edit(*texts)
    with CorrectionMemory(where) as memory:
        editor = load_learning(model, memory, learn, CONFIG, project="p", author="anna")
        (learnt,) = editor.edit(*texts)
        assert learnt.score != pytest.approx(plain.score, abs=1e-4)
        (other,) = load_learning(model, memory, learn, CONFIG).edit(*texts)
        assert other.score == learnt.score
        number = editor.learn("it goes", "es geht", "es ging")
        *_, entry = memory.entries()
        assert (entry.number, entry.correction.project, entry.correction.author) == (number, "p", "anna")
        editor.undo(number)
        assert editor.edit(*texts)[0].score == learnt.score
        editor.undo(1)
        assert editor.edit(*texts)[0].score == pytest.approx(plain.score, abs=1e-6)


@pytest.mark.parametrize("learn", ["auto", "online", "nearest"])
def test_a_model_with_a_first_stage_drafts_while_it_learns(tmp_path: Path, where: str, learn: Learning) -> None:
    text = tiny_models.processor()
    first = tiny_models.folder("transformer", text, input="src")
    replace(tiny_models.folder(text=text), first_stage=first).save(tmp_path / "model")
    with CorrectionMemory(where) as memory:
        editor = load_learning(tmp_path / "model", memory, learn, CONFIG)
        assert not editor.abilities.needs_mt
        drafted, given = editor.edit(["the house", "the house"], [None, "das Haus"])
        (written,) = PostEditor.load(tmp_path / "model" / "draft", device="cpu").edit(["the house"])
        (corrected,) = editor.edit(["the house"], [written.text])
        number = editor.learn("the house", written.text, "das Häuschen")
        editor.undo(number)
    assert given.draft is None
    assert drafted.draft == written.text
    assert (drafted.text, drafted.score) == (corrected.text, pytest.approx(corrected.score))


def test_the_identity_has_the_options_of_learning(model: Path, where: str) -> None:
    with CorrectionMemory(where) as memory:
        ways: tuple[Learning, ...] = ("auto", "online", "nearest")
        auto, online, nearest = (load_learning(model, memory, learn, CONFIG).identity() for learn in ways)
        assert auto.models == PostEditor.load(model, device="cpu").identity().models
        assert (auto.settings["learn"], auto.settings["online.rate"]) == ("online and phrases", 0.05)
        assert auto.settings["phrases.tokenizer"] == "none"
        assert (online.settings["learn"], online.settings["online.rate"]) == ("online", 0.05)
        assert (nearest.settings["learn"], nearest.settings["nearest.most"]) == ("nearest", 2)
        assert not [name for name in online.settings if name.startswith("phrases")]
        assert not [name for name in nearest.settings if name.startswith(("phrases", "online"))]


def test_a_process_loads_the_editor_at_the_position_when_work_began(model: Path, where: str) -> None:
    spec = MemorySpec.now(where, "auto", CONFIG)
    texts = ["the house"], ["das Haus"]
    first = spec.load([str(model)], None)
    with CorrectionMemory(where) as memory:
        memory.add([Correction("it goes", "es geht", "es ging")])
    second = pickle.loads(pickle.dumps(spec)).load([str(model)], None)
    assert second.edit(*texts)[0].score == first.edit(*texts)[0].score
    later = MemorySpec.now(where, "auto", CONFIG).load([str(model)], None)
    assert later.edit(*texts)[0].score != first.edit(*texts)[0].score
    assert later.identity() != second.identity() == first.identity()
    with pytest.raises(DataError, match="only one model can learn from corrections, not 2"):
        spec.load([str(model)] * 2, None)


def test_a_phrase_based_model_learns_by_its_phrases(tmp_path: Path) -> None:
    model, config = tmp_path / "model", PhraseConfig(order=3)
    PhraseFolder(learn_phrases(split(TRIPLETS), config), config, PhraseTextConfig(), SearchConfig(), {}).save(model)
    texts = ["the car is green ."], ["der Auto ist grün ."]
    with CorrectionMemory(tmp_path / "memory.db") as memory:
        editor = load_learning(model, memory)
        assert editor.identity().settings["learn"] == "phrases"
        before = editor.edit(*texts)
        numbers = [editor.learn("the car is new .", "der Auto ist neu .", "das Auto ist neu .") for _ in range(3)]
        assert editor.edit(*texts)[0].text == "das Auto ist grün ."
        for number in numbers:
            editor.undo(number)
        assert editor.edit(*texts) == before
        with pytest.raises(DataError, match="learns by phrases, not online"):
            load_learning(model, memory, "online")
        with pytest.raises(DataError, match=r"leave phrases\.\* out"):
            load_learning(model, memory, config=CHARACTERS)


def test_phrases_after_a_neural_model_divide_texts_as_they_are_told(model: Path, where: str) -> None:
    with CorrectionMemory(where) as memory:
        editor = load_learning(model, memory, config=CHARACTERS)
        assert editor.identity().settings["phrases.tokenizer"] == "characters"
        ways: list[Learning] = ["online", "nearest"]
        for learn in ways:
            with pytest.raises(DataError, match=f"learns no phrases with {learn}"):
                load_learning(model, memory, learn, CHARACTERS)


def test_without_a_model_phrases_are_learnt_from_corrections_alone(tmp_path: Path) -> None:
    config = LearningConfig(phrases=PhraseTextConfig(tokenizer="moses", src_lang="en", tgt_lang="de"))
    with CorrectionMemory(tmp_path / "memory.db") as memory:
        editor = load_learning("none", memory, config=config)
        assert editor.edit(["a cat"], ["eine Hund"])[0].text == "eine Hund"
        for _ in range(2):
            editor.learn("see the page.", "siehe diese Seite hier.", "siehe dieser Seite hier.")
        assert editor.edit(["see the page."], ["siehe diese Seite hier."])[0].text == "siehe dieser Seite hier."
        assert editor.identity().settings["phrases.tokenizer"] == "moses"


def test_public_names_are_imported_on_first_use() -> None:
    assert adapt.load_learning is load_learning
    assert {getattr(adapt, name).__name__ for name in adapt.__all__} == set(adapt.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Adapted'"):
        _ = adapt.Adapted
