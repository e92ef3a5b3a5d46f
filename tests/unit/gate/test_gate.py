"""Gates, their files, and what they refuse, with real models, tiny and untrained."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import tiny_models
import torch

from postedit import PostEditor
from postedit.core.errors import DataError, ModelFolderError
from postedit.explain.reasons import reasons
from postedit.gate import Gate, Level
from postedit.gate.edit_features import Features
from postedit.gate.gate import Calibrator, Rule
from postedit.jobs.explanation import explain
from postedit.recipe import DecodeConfig
from postedit.search import SearchSettings

SRC = ["the house", "it goes", "", "the old house", "nothing"]
MT = ["das  Haus", "es geht\u00a0!", "etwas", "\tdas Haus 🙂 ", ""]
COUNT = len(Features.names())


@pytest.fixture(scope="module", params=["transference", "m-cgru", "m-cgru-hard", "transformer"])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model that writes nonsense."""
    folder = tiny_models.folder(request.param)
    generator = torch.Generator().manual_seed(1)
    for parameter in folder.model.parameters():
        parameter.data.normal_(std=0.7, generator=generator)
    path: Path = tmp_path_factory.mktemp("model") / "model"
    replace(folder, decode=DecodeConfig(max_ratio=0.5, max_extra=2, max_input=40)).save(path)
    return path


@pytest.fixture
def editor(path: Path) -> PostEditor:
    return PostEditor.load(path, device="cpu")


def gate(editor: PostEditor, threshold: float | None, level: Level = "edit", sure: float = 1.0) -> Gate:
    """Return a gate that goes by the probability of pieces."""
    weights = tuple(sure * (name == "sure") for name in Features.names())
    calibrator = Calibrator((0.0,) * COUNT, (1.0,) * COUNT, weights, 3.0)
    return Gate(Rule(level, calibrator, threshold, 100), editor.identity())


@pytest.mark.parametrize("level", ["sentence", "edit"])
def test_a_closed_gate_returns_the_very_mt(editor: PostEditor, level: Level) -> None:
    assert any(one.changed for one in editor.edit(SRC, MT))
    found = editor.edit(SRC, MT, gate=gate(editor, None, level))
    assert [one.text for one in found] == MT
    assert not any(one.changed or one.edits or one.confidences for one in found)
    assert sum(one.reverted for one in found) == sum(len(one.edits) for one in editor.edit(SRC, MT))


@pytest.mark.parametrize("level", ["sentence", "edit"])
def test_a_gate_that_lets_all_pass_changes_nothing(editor: PostEditor, level: Level) -> None:
    found, plain = editor.edit(SRC, MT, gate=gate(editor, 0.0, level)), editor.edit(SRC, MT)
    assert [(one.text, one.edits, one.skipped) for one in found] == [
        (one.text, one.edits, one.skipped) for one in plain
    ]
    assert all(one.evidence is None for one in found)


@pytest.mark.parametrize("level", ["sentence", "edit"])
def test_a_higher_threshold_lets_fewer_edits_pass(editor: PostEditor, level: Level) -> None:
    before: list[set[tuple[int, int]]] = [set() for _ in MT]
    for threshold in (None, 0.9, 0.6, 0.3, 0.0):
        spans = [
            {edit.mt_span for edit in one.edits} for one in editor.edit(SRC, MT, gate=gate(editor, threshold, level))
        ]
        assert all(fewer <= more for fewer, more in zip(before, spans))
        before = spans


def test_a_least_confidence_holds_with_a_gate_and_without(editor: PostEditor) -> None:
    plain = editor.edit(SRC, MT)
    confidences = sorted(one for result in plain for one in result.confidences)
    assert all(0.0 <= one <= 1.0 for one in confidences)
    middle = confidences[len(confidences) // 2]
    found = editor.edit(SRC, MT, min_confidence=middle)
    assert [one.confidences for one in found] == [
        tuple(value for value in one.confidences if value >= middle) for one in plain
    ]
    assert [one.text for one in editor.edit(SRC, MT, min_confidence=1.0)] == MT
    gated = editor.edit(SRC, MT, gate=gate(editor, 0.0), min_confidence=1.0)
    assert [one.text for one in gated] == MT


def test_confidence_is_the_same_wherever_it_is_spoken_of(editor: PostEditor) -> None:
    spoken = explain(editor, SRC, MT)
    for result, sentence in zip(editor.edit(SRC, MT), spoken, strict=True):
        products = tuple(math.exp(sum(result.token_scores[start:end])) for start, end in result.pieces)
        assert result.confidences == pytest.approx(products)
        if sentence is not None:
            assert [one.confidence for one in reasons(1, sentence)] == pytest.approx(products, rel=1e-4)


def test_the_pieces_of_edits_are_those_of_the_changed_words(editor: PostEditor) -> None:
    for result in editor.edit(SRC, MT, evidence=True):
        assert len(result.pieces) == len(result.confidences) == len(result.edits)
        for edit, (start, end) in zip(result.edits, result.pieces):
            assert 0 <= start < end <= len(result.token_scores)
            assert result.evidence is not None
            written = "".join(result.evidence.output[start:end]).replace("▁", " ")
            if edit.op != "delete" and "\ufffd" not in written:
                assert result.text[slice(*edit.pe_span)].replace(" ", "") in written.replace(" ", "").replace(
                    "STEP", ""
                )


def test_features_compare_the_text_with_mt_under_the_model(editor: PostEditor) -> None:
    for mt, judged in zip(MT, editor.judge(SRC, MT)):
        assert (judged.whole is None) == (not judged.result.changed)
        assert len(judged.parts) == len(judged.result.edits)
        if judged.whole is None:
            continue
        src = SRC[MT.index(mt)]
        reads = "mt" in editor.model.spec.inputs
        scores = [editor.score([src], [mt] if reads else None, [text])[0].score for text in (mt, judged.result.text)]
        assert torch.tensor(scores[1] - scores[0]).asinh().item() == pytest.approx(judged.whole.gain, abs=1e-3)
        if len(judged.parts) == 1:
            assert judged.parts[0].values() == pytest.approx(judged.whole.values(), abs=1e-3)


def test_what_is_written_is_what_is_read(editor: PostEditor, tmp_path: Path) -> None:
    for threshold in (None, 0.25):
        one = gate(editor, threshold)
        one.save(tmp_path / "gate.json")
        found = Gate.load(tmp_path / "gate.json")
        assert (found.rule, found.closed) == (one.rule, threshold is None)
        found.check(editor.identity())
        editor.edit(SRC, MT, gate=found)


def test_another_model_is_refused(editor: PostEditor, tmp_path: Path) -> None:
    tiny_models.folder("transference").save(tmp_path / "other")
    other = PostEditor.load(tmp_path / "other", device="cpu")
    with pytest.raises(ModelFolderError, match="made for another model"):
        other.edit(SRC, MT, gate=gate(editor, 0.5))


def test_another_search_is_refused_and_named(editor: PostEditor) -> None:
    one = gate(editor, 0.5)
    with pytest.raises(ModelFolderError, match=r"other settings: beam \(gate: 1, here: 3\)"):
        editor.edit(SRC, MT, gate=one, beam=3)
    with pytest.raises(ModelFolderError, match=r"max_edits \(gate: None, here: 2\)"):
        editor.edit(SRC, MT, gate=one, search=replace(editor.decode.search(), max_edits=2))


def test_a_gate_and_a_bound_on_edits_go_together(editor: PostEditor) -> None:
    search: SearchSettings = replace(editor.decode.search(), max_edits=2)
    one = replace(gate(editor, 0.0), identity=editor.identity(search))
    bounded = editor.edit(SRC, MT, search=search)
    assert [found.text for found in editor.edit(SRC, MT, search=search, gate=one)] == [r.text for r in bounded]


def test_what_makes_no_sense_is_refused(editor: PostEditor) -> None:
    one = gate(editor, 0.5)
    with pytest.raises(DataError, match="one correction a segment, not on 2"):
        editor.edit(SRC, MT, beam=2, n_best=2, gate=one)
    banned = replace(editor.decode.search(), banned=("Haus",))
    for options in ({"prefix": ["es"] * len(MT)}, {"required": [["Haus"]] * len(MT)}, {"search": banned}):
        with pytest.raises(DataError, match="may take back a word that is required"):
            editor.edit(SRC, MT, min_confidence=0.5, **options)
    with pytest.raises(DataError, match="may take back a word that is required"):
        editor.judge(SRC, MT, search=banned)
    with pytest.raises(DataError, match="must be a probability"):
        editor.edit(SRC, MT, min_confidence=1.5)
    if not editor.needs_mt:
        with pytest.raises(DataError, match="give mt"):
            editor.edit(SRC, gate=one)


def test_damaged_gates_are_refused(editor: PostEditor, tmp_path: Path) -> None:
    file = tmp_path / "gate.json"
    with pytest.raises(ModelFolderError, match="cannot be read"):
        Gate.load(file)
    gate(editor, 0.5).save(file)
    values = json.loads(file.read_text())
    damages = {
        "is not a gate": "{",
        "no JSON object": "[]",
        "threshold": json.dumps({**values, "threshold": 2.0}),
        "levle": json.dumps({**values, "levle": 2.0}),
        "format": json.dumps({**values, "format": 9}),
        "its features are": json.dumps({**values, "features": {"gain": {"mean": 0.0, "scale": 1.0, "weight": 0.0}}}),
        "scale": json.dumps(values).replace('"scale": 1.0', '"scale": 0.0'),
    }
    for message, text in damages.items():
        file.write_text(text)
        with pytest.raises(ModelFolderError, match=message):
            Gate.load(file)
