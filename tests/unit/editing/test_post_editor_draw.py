"""Outputs drawn at random: from the model's own distribution, in order, and as often as asked for."""

from collections import Counter
from pathlib import Path

import pytest
import tiny_models
import torch

from postedit import PostEditor
from postedit.core.errors import DataError
from postedit.search import Sampling

SRC = ["the house", "it goes", "the house goes ."]
MT = ["das Haus", "es geht", "das Haus geht ."]


@pytest.fixture(scope="module", params=["transference", "m-cgru", "m-cgru-hard", "edit-operations"])
def editor(request: pytest.FixtureRequest, tiny_folders: Path) -> PostEditor:
    return PostEditor.load(tiny_folders / request.param, device="cpu")


def test_the_likeliest_alone_is_what_greedy_search_finds(editor: PostEditor) -> None:
    drawn = editor.draw(SRC, MT, Sampling(top_k=1))
    assert [one.text for one in drawn] == [one.text for one in editor.edit(SRC, MT, beam=1)]


def test_the_seed_decides_and_nothing_else(editor: PostEditor) -> None:
    def texts(seed: int) -> list[str]:
        torch.manual_seed(seed)
        return [one.text for one in editor.draw(SRC, MT, Sampling())]

    assert texts(1) == texts(1)
    assert len({tuple(texts(seed)) for seed in range(5)}) > 1


def test_as_many_as_asked_for_and_blank_segments_stay(editor: PostEditor) -> None:
    first, blank, last = editor.draw(["the house", "it", "it goes"], ["das Haus", " ", "es geht"], Sampling(count=3))
    assert len(first.alternatives) == len(last.alternatives) == 2
    assert (blank.text, blank.skipped, blank.alternatives) == (" ", "empty", ())


def test_more_probable_outputs_are_drawn_more_often() -> None:
    folder = tiny_models.folder("m-cgru")
    editor = PostEditor(folder.model, folder.processor, folder.search)
    torch.manual_seed(2)
    (drawn,) = editor.draw(SRC[:1], MT[:1], Sampling(count=400, temperature=0.2))
    counts = Counter(one.token_scores[:1] for one in (drawn, *drawn.alternatives))
    (often, _), *_ = counts.most_common(1)
    assert often[0] == max(score for (score,) in counts)


def test_a_model_that_reads_mt_must_be_given_it(tmp_path: Path) -> None:
    tiny_models.folder().save(tmp_path / "model")
    with pytest.raises(DataError, match="segment 1 has no mt"):
        PostEditor.load(tmp_path / "model", device="cpu").draw(SRC, None, Sampling())
    tiny_models.folder("transformer", input="src").save(tmp_path / "translator")
    assert len(PostEditor.load(tmp_path / "translator", device="cpu").draw(SRC, None, Sampling())) == 3


def test_options_of_another_kind_are_refused(editor: PostEditor) -> None:
    with pytest.raises(DataError, match=r"sampling must be a Sampling, such as Sampling\(4\), not 4"):
        editor.draw(SRC, MT, 4)  # type: ignore[arg-type]
