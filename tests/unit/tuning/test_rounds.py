"""The rounds of tuning, with a search whose outputs are written down."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny_models
from rich.console import Console

from postedit.core.editor import PostEdit
from postedit.data.lines import DevTexts
from postedit.editing.members import Members
from postedit.editing.post_editor import PostEditor
from postedit.evaluate.metrics import additive_metric
from postedit.search.rescoring import weighted_sum
from postedit.tuning.rounds import TuneOptions, tune

OUTPUTS = {
    "one": {
        "a b": {"model 1": -1.0, "model 2": -3.0, "length": 2.0, "post_edit_penalty": 2.0},
        "one two": {"model 1": -3.0, "model 2": -2.0, "length": 2.0, "post_edit_penalty": 1.0},
        "one": {"model 1": -4.0, "model 2": -1.5, "length": 1.0, "post_edit_penalty": 0.0},
    },
    "two": {
        "a": {"model 1": -1.0, "model 2": -2.5, "length": 1.0, "post_edit_penalty": 1.0},
        "two": {"model 1": -2.5, "model 2": -1.5, "length": 1.0, "post_edit_penalty": 0.0},
        "two two": {"model 1": -3.0, "model 2": -1.6, "length": 2.0, "post_edit_penalty": 0.0},
    },
}
DEV = DevTexts(src=["1", "2", "0"], mt=["one", "two", ""], pe=["one two", "two", ""])


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, float]]:
    """Let editors find the two outputs of a sentence that their ensemble prefers.

    Returns:
        The weights of each search that ranks by weights.
    """
    weights: list[dict[str, float]] = []

    def edit(self: PostEditor, src: list[str], mt: list[str], *, n_best: int) -> list[PostEdit]:
        assert self.search.beam == 2
        shares = dict(zip(["model 1", "model 2"], self.model.weights))
        if self.log_linear is None:
            assert n_best == 1
            return [replace(found(text, shares, shares), features=None, alternatives=()) for text in mt]
        assert n_best == 2
        weights.append(dict(self.log_linear.weights))
        return [found(text, shares, weights[-1]) for text in mt]

    monkeypatch.setattr(PostEditor, "edit", edit)
    return weights


def found(mt: str, shares: dict[str, float], weights: dict[str, float]) -> PostEdit:
    if not mt:
        return PostEdit("", False, 0.0, (), (), skipped="empty")
    outputs = [
        PostEdit(text, True, weighted_sum(features, shares), (0.0,), (), features=features)
        for text, features in OUTPUTS[mt].items()
    ]
    listed = sorted(outputs, key=lambda one: -one.score)[:2]
    best, other = sorted(listed, key=lambda one: -weighted_sum(one.features or {}, weights))
    return PostEdit(best.text, True, best.score, (0.0,), (), features=best.features, alternatives=(other,))


def tuned(folder: Path, **options: Any) -> Any:
    text = tiny_models.processor()
    members = [tiny_models.folder("m-cgru", text) for _ in range(2)]
    editor = PostEditor(members[0].model, text, members[0].search.with_options(beam=2))
    editor.model.parts = lambda: [member.model for member in members]  # type: ignore[method-assign]
    folder.mkdir(exist_ok=True)
    return tune(
        Members(editor, {}, editor.search),
        DEV,
        additive_metric("ter"),
        TuneOptions(**options),
        folder,
        Console(quiet=True),
    )


def test_weights_that_correct_everything_are_found(searches: list[dict[str, float]], tmp_path: Path) -> None:
    result = tuned(tmp_path)
    assert result.before == ["a b", "a", ""]
    assert result.after == ["one two", "two", ""]
    assert searches[0] == {"model 1": 0.5, "model 2": 0.5, "length": 0.0, "post_edit_penalty": 0.0}
    assert dict(result.weights) in searches
    assert result.weights["model 1"] + result.weights["model 2"] == pytest.approx(1.0)
    assert result.rounds == len(searches)
    assert result.outputs == 1 + sum(map(len, OUTPUTS.values()))  # one is that of the empty sentence


def test_mira_corrects_too(searches: list[dict[str, float]], tmp_path: Path) -> None:
    result = tuned(tmp_path, method="mira")
    assert result.after[1] == "two"
    assert dict(result.weights) in searches[1:]


def test_rounds_end_when_nothing_changes_or_as_told(searches: list[dict[str, float]], tmp_path: Path) -> None:
    assert tuned(tmp_path / "few", rounds=1).rounds == 2
    assert tuned(tmp_path / "many", rounds=50).rounds < 20


def test_searches_that_were_made_are_not_made_again(searches: list[dict[str, float]], tmp_path: Path) -> None:
    first = tuned(tmp_path)
    count = len(searches)
    again = tuned(tmp_path)
    assert (again.weights, again.after) == (first.weights, first.after)
    assert len(searches) == count


def test_the_best_weights_tried_are_taken_even_if_they_are_the_first(
    searches: list[dict[str, float]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postedit.tuning.rounds.optimise", lambda lists, *_: lists.scales * 0 + [5.0, 0.1, 0.0, 9.0])
    result = tuned(tmp_path)
    assert len(searches) > 1
    assert result.weights == searches[0]


def test_what_weights_do_not_change_is_searched_once(
    searches: list[dict[str, float]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Members, "fixed_candidates", True)
    result = tuned(tmp_path, rounds=1)
    assert len(searches) == 1
    assert result.rounds == 2
    ranked = {
        mt: max(entries, key=lambda entry: weighted_sum(entry[1], result.weights))[0]
        for mt, entries in zip(DEV.mt, map(json.loads, (tmp_path / "round-1.jsonl").read_text().splitlines()))
    }
    assert result.after == [ranked[mt] for mt in DEV.mt]
    assert result.weights != searches[0]


def test_sentences_that_were_searched_before_an_interruption_are_kept(
    searches: list[dict[str, float]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, asked, edit = tuned(tmp_path / "whole"), list[str](), PostEditor.edit

    def interrupted(self: PostEditor, src: list[str], mt: list[str], *, n_best: int) -> list[PostEdit]:
        asked.extend(src)
        if len(asked) == 5:
            raise KeyboardInterrupt
        return edit(self, src, mt, n_best=n_best)

    monkeypatch.setattr("postedit.tuning.rounds._CHUNK", 1)
    monkeypatch.setattr(PostEditor, "edit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tuned(tmp_path / "part")
    found = tuned(tmp_path / "part")
    assert (found.weights, found.before, found.after) == (whole.weights, whole.before, whole.after)
    assert asked[:7] == [*DEV.src, *DEV.src[:2], *DEV.src[1:]]
