"""Chains that learn: a neural model, and phrases that know something before the first correction."""

import json
import shutil
from pathlib import Path

import pytest
from tests.unit.adapt.test_followed_by_phrases import NEXT, WON, edited

from postedit import shipped
from postedit.adapt.adaptation_config import LearningConfig
from postedit.adapt.correction_memory import CorrectionMemory
from postedit.adapt.learning_editor import load_learning
from postedit.core.errors import DataError, ModelFolderError
from postedit.core.search_config import SearchConfig
from postedit.editing.chain_folder import save_chain
from postedit.editing.post_editor import PostEditor
from postedit.phrase.phrase_folder import PhraseFolder
from postedit.phrase.phrase_model import SplitTriplet, learn
from postedit.phrase.phrase_options import PhraseConfig, PhraseTextConfig


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a chain of the model that comes with postedit and of phrases that know one word."""
    path, config = tmp_path_factory.mktemp("chain"), PhraseConfig(order=3)
    known = [("a cat .", "一只 猫 。", "一只 小猫 。"), ("the cat .", "那只 猫 。", "那只 小猫 。")] * 3
    model = learn([SplitTriplet(*(text.split() for text in one)) for one in known], config)
    PhraseFolder(model, config, PhraseTextConfig(), SearchConfig(), {}).save(path / "phrases")
    save_chain(path / "chain", (shipped.MODEL, path / "phrases"), (0.0, 0.0), {}, "")
    return path / "chain"


CAT = "She has a cat .", "她 有 一只 猫 ."


@pytest.mark.slow
def test_a_chain_learns_beyond_its_phrases(chain: Path, tmp_path: Path) -> None:
    with CorrectionMemory(tmp_path / "memory.db") as memory:
        taught = load_learning(chain, memory, author="anna")
        untaught = PostEditor.load(chain)
        for segment in (CAT, NEXT):
            assert edited(taught, segment).text == untaught.edit([segment[0]], [segment[1]])[0].text
        assert edited(taught, CAT).text == "她 有 一只 小猫 。"
        numbers = [taught.learn(*one) for one in WON]
        assert edited(taught, NEXT).text == "她 为 孩子 组织 了 一次 冠军赛 。"
        assert edited(taught, CAT).text == "她 有 一只 小猫 。"
        for number in numbers:
            taught.undo(number)
        assert edited(taught, NEXT).text == untaught.edit([NEXT[0]], [NEXT[1]])[0].text
        alone = load_learning(chain / "first", memory)
        assert taught.identity().models != alone.identity().models
        assert ["phrases.edit_cost" in one.identity().settings for one in (taught, alone)] == [True, False]


def test_the_edit_cost_of_the_phrases_of_a_chain_counts(chain: Path, tmp_path: Path) -> None:
    save_chain(tmp_path / "dear", (chain / "first", chain / "second"), (0.0, 50.0), {}, "")
    with CorrectionMemory(tmp_path / "memory.db") as memory:
        assert edited(load_learning(tmp_path / "dear", memory), CAT).text == "她 有 一只 猫 。"


def test_limits_of_the_model_of_a_chain_are_not_those_of_its_phrases(chain: Path, tmp_path: Path) -> None:
    shutil.copytree(chain, tmp_path / "limited")
    config = tmp_path / "limited" / "first" / "config.json"
    values = json.loads(config.read_text())
    config.write_text(json.dumps({**values, "search": {**values["search"], "no_repeat": 3}}))
    assert PostEditor.load(tmp_path / "limited").edit([CAT[0]], [CAT[1]])[0].text == "她 有 一只 小猫 。"
    with CorrectionMemory(tmp_path / "memory.db") as memory:
        editor = load_learning(tmp_path / "limited", memory)
        assert edited(editor, CAT).text == "她 有 一只 小猫 。"
        given = editor.search.with_options(no_repeat=4)
        assert editor.edit([CAT[0]], [CAT[1]], search=given)[0].text == "她 有 一只 猫 。"


@pytest.mark.parametrize("gone", ["first", "second"])
def test_a_chain_that_lacks_a_model_does_not_learn(chain: Path, tmp_path: Path, gone: str) -> None:
    shutil.copytree(chain, tmp_path / "chain")
    shutil.rmtree(tmp_path / "chain" / gone)
    with (
        CorrectionMemory(tmp_path / "memory.db") as memory,
        pytest.raises(ModelFolderError, match=f"{gone}: no such model folder"),
    ):
        load_learning(tmp_path / "chain", memory)


def test_chains_that_do_not_learn(chain: Path, tmp_path: Path) -> None:
    first, second = chain / "first", chain / "second"
    save_chain(tmp_path / "reverse", (second, first), (0.0, 0.0), {}, "")
    save_chain(tmp_path / "neural", (first, first), (0.0, 0.0), {}, "")
    with CorrectionMemory(tmp_path / "memory.db") as memory:
        for name in ("reverse", "neural"):
            with pytest.raises(ModelFolderError, match="only if it is a neural model followed by a phrase-based model"):
                load_learning(tmp_path / name, memory)
        with pytest.raises(DataError, match="a chain learns by both of its models; give auto"):
            load_learning(chain, memory, "nearest")
        with pytest.raises(DataError, match="a chain learns by both of its models"):
            load_learning(chain, memory, config=LearningConfig(phrases=PhraseTextConfig()))
