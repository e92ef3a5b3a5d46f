"""Gates, their files, and what they refuse, with real models, tiny and untrained."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import tiny_models
import torch

from postedit import PostEditor
from postedit.core.editor import Abilities, Detail, Edit, Editor, Identity, PostEdit, Segment, segments_of
from postedit.core.errors import DataError, ModelFolderError
from postedit.core.search_config import FORMER_NAMES, SearchConfig
from postedit.explain.reasons import edit_reasons
from postedit.gate import Gate, Gated, Level
from postedit.gate.edit_features import CorrectionFeatures, Features, judge
from postedit.gate.gate import Calibrator, Rule
from postedit.jobs.explanation import explain

SRC = ["the house", "it goes", "", "the old house", "nothing", "it", "house"]
MT = ["das  Haus", "es geht\u00a0!", "etwas", "\tdas Haus 🙂 ", "", "Ha\u0308us \u212b", "\u00a0es\u2009geht\u3000"]
COUNT = len(Features.names())


@pytest.fixture(
    scope="module",
    params=[
        "transference",
        "m-cgru-hard",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("m-cgru", "transformer", "edit-operations")),
    ],
)
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model that writes nonsense."""
    path: Path = tmp_path_factory.mktemp("model") / "model"
    tiny_models.nonsense(request.param, max_ratio=0.5, max_extra=2).save(path)
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
    found = Gated(editor, gate(editor, None, level)).edit(SRC, MT)
    assert [one.text for one in found] == MT
    assert not any(one.changed or one.edits or one.confidences for one in found)
    assert sum(one.reverted for one in found) == sum(len(one.edits) for one in editor.edit(SRC, MT))


def test_a_gate_limits_the_characters_that_change_if_it_counts_them(editor: PostEditor) -> None:
    mt, text = "設定を開く。", "設定を閉じる。"
    result = PostEdit(text, True, -1.0, (-0.1,), (Edit("replace", (3, 5), (3, 6)),), token_spans=((0, 1),))
    rule = replace(gate(editor, 0.0).rule, tokenize="characters")
    (judged,) = judge(editor, segments_of(["close"], [mt]), [result], rule.tokenize)
    assert replace(rule, longest=3)(mt, judged).text == text
    assert replace(rule, longest=2)(mt, judged).text == mt


def test_changes_with_the_least_probability_pass(editor: PostEditor) -> None:
    result = PostEdit("b", True, -1.0, (-0.1,), (Edit("replace", (0, 1), (0, 1)),), token_spans=((0, 1),))
    (judged,) = judge(editor, segments_of(["x"], ["a"]), [result])
    rule = gate(editor, None).rule
    (probability,) = rule.confidences(judged)
    assert replace(rule, threshold=probability)("a", judged).text == "b"
    assert replace(rule, threshold=math.nextafter(probability, 1.0))("a", judged).text == "a"


@pytest.mark.parametrize("level", ["sentence", "edit"])
def test_a_gate_that_lets_all_pass_changes_nothing(editor: PostEditor, level: Level) -> None:
    found, plain = Gated(editor, gate(editor, 0.0, level)).edit(SRC, MT), editor.edit(SRC, MT)
    assert [(one.text, one.edits, one.skipped) for one in found] == [
        (one.text, one.edits, one.skipped) for one in plain
    ]
    assert all(one.evidence is None for one in found)


@pytest.mark.parametrize("level", ["sentence", "edit"])
def test_a_higher_threshold_lets_fewer_edits_pass(editor: PostEditor, level: Level) -> None:
    before: list[set[tuple[int, int]]] = [set() for _ in MT]
    for threshold in (None, 0.9, 0.6, 0.3, 0.0):
        spans = [
            {edit.mt_span for edit in one.edits} for one in Gated(editor, gate(editor, threshold, level)).edit(SRC, MT)
        ]
        assert all(fewer <= more for fewer, more in zip(before, spans))
        before = spans


def test_a_gate_for_another_editor_is_named(editor: PostEditor, tmp_path: Path) -> None:
    made = replace(gate(editor, 0.5), identity=Identity(("another",)))
    made.save(tmp_path / "gate.json")
    with pytest.raises(ModelFolderError, match=r"^the gate was made for another model"):
        Gated(editor, made).edit(SRC, MT)
    of_more = replace(made, identity=Identity((*editor.identity().models, "another")))
    with pytest.raises(ModelFolderError, match=r"^the gate was made for another model"):
        Gated(editor, of_more).edit(SRC, MT)
    read = Gate.load(tmp_path / "gate.json")
    assert (read, repr(read)) == (made, repr(made))
    with pytest.raises(ModelFolderError, match=r"gate\.json: this gate was made for another model"):
        Gated(editor, read).edit(SRC, MT)


def test_a_least_confidence_holds_with_a_gate_and_without(editor: PostEditor) -> None:
    plain = editor.edit(SRC, MT)
    confidences = sorted(one for result in plain for one in result.confidences)
    assert all(0.0 <= one <= 1.0 for one in confidences)
    middle = confidences[len(confidences) // 2]
    found = Gated(editor, min_confidence=middle).edit(SRC, MT)
    assert [one.confidences for one in found] == [
        tuple(value for value in one.confidences if value >= middle) for one in plain
    ]
    assert [one.text for one in Gated(editor, min_confidence=1.0).edit(SRC, MT)] == MT
    gated = Gated(editor, gate(editor, 0.0), 1.0).edit(SRC, MT)
    assert [one.text for one in gated] == MT


def test_confidence_has_one_definition_everywhere(editor: PostEditor) -> None:
    spoken = explain(editor, SRC, MT)
    for result, sentence in zip(editor.edit(SRC, MT), spoken, strict=True):
        products = tuple(math.exp(sum(result.token_scores[start:end])) for start, end in result.token_spans)
        assert result.confidences == pytest.approx(products)
        if sentence is not None:
            assert [one.confidence for one in edit_reasons(1, sentence)] == pytest.approx(products, rel=1e-4)


def test_the_tokens_of_edits_are_those_of_the_changed_words(editor: PostEditor) -> None:
    for result in editor.edit(SRC, MT, evidence=True):
        assert len(result.token_spans) == len(result.confidences) == len(result.edits)
        for edit, (start, end) in zip(result.edits, result.token_spans):
            assert 0 <= start < end <= len(result.token_scores)
            assert result.evidence is not None
            written = "".join(result.evidence.output[start:end]).replace("▁", " ")
            if edit.op != "delete" and "\ufffd" not in written:
                assert result.text[slice(*edit.pe_span)].replace(" ", "") in written.replace(" ", "").replace(
                    "STEP", ""
                )


def judged_by(editor: PostEditor) -> list[CorrectionFeatures]:
    segments = segments_of(SRC, MT)
    return judge(editor, segments, editor.edit_segments(segments, evidence="attention"))


def test_features_compare_the_text_with_mt_under_the_model(editor: PostEditor) -> None:
    for mt, judged in zip(MT, judged_by(editor)):
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


def test_a_gate_sees_the_attention_that_it_learnt_from(editor: PostEditor) -> None:
    judged = judged_by(editor)
    reads = any("src" in key.streams for key in editor.abilities.attention)
    assert any(part.source for one in judged for part in one.parts) == reads
    weights = tuple(float(name == "source") for name in Features.names())
    rule = Rule("edit", Calibrator((0.0,) * COUNT, (1.0,) * COUNT, weights, 0.0), 0.0, 100)
    found = Gated(editor, Gate(rule, editor.identity())).edit(SRC, MT)
    assert [one.confidences for one in found] == [pytest.approx(rule.confidences(one)) for one in judged]


def test_a_token_that_spells_two_edits_counts_once(editor: PostEditor) -> None:
    mt = MT[0]
    edits = (Edit("insert", (0, 0), (0, 1)), Edit("insert", (len(mt),) * 2, (len(mt) + 1, len(mt) + 2)))
    result = PostEdit(f"x{mt}y", True, -3.0, (-1.0, -2.0), edits, token_spans=((0, 1), (0, 2)), confidences=(0.4, 0.05))
    (judged,) = judge(editor, segments_of(SRC[:1], MT[:1]), [result])
    assert judged.whole is not None
    assert judged.whole.sure == -3.0
    assert judged.whole.growth == 1.0


def test_a_saved_gate_loads_unchanged(editor: PostEditor, tmp_path: Path) -> None:
    for threshold in (None, 0.25):
        one = gate(editor, threshold)
        one.save(tmp_path / "gate.json")
        found = Gate.load(tmp_path / "gate.json")
        assert (found.rule, found.closed) == (one.rule, threshold is None)
        values = json.loads((tmp_path / "gate.json").read_text())
        del values["tokenize"]  # as in gates of earlier versions
        (tmp_path / "gate.json").write_text(json.dumps(values))
        assert Gate.load(tmp_path / "gate.json") == found
        found.check(editor.identity())
        Gated(editor, found).edit(SRC, MT)


def test_another_model_is_refused(editor: PostEditor, tmp_path: Path) -> None:
    tiny_models.folder("transference").save(tmp_path / "other")
    other = PostEditor.load(tmp_path / "other", device="cpu")
    with pytest.raises(ModelFolderError, match="made for another model"):
        Gated(other, gate(editor, 0.5)).edit(SRC, MT)


def test_another_search_is_refused_and_named(editor: PostEditor) -> None:
    one = gate(editor, 0.5)
    with pytest.raises(ModelFolderError, match=r"other settings: beam \(gate: 1, here: 3\)"):
        Gated(editor, one).edit(SRC, MT, beam=3)
    with pytest.raises(ModelFolderError, match=r"max_edits \(gate: None, here: 2\)"):
        Gated(editor, one).edit(SRC, MT, search=editor.search.with_options(max_edits=2))
    models, settings = one.identity.models, {**one.identity.settings}
    del settings["beam"]
    with pytest.raises(ModelFolderError, match=r"other settings: beam \(gate: None, here: 1\)"):
        Gated(editor, replace(one, identity=Identity(models, settings))).edit(SRC, MT)


def test_a_gate_and_a_bound_on_edits_go_together(editor: PostEditor) -> None:
    search = editor.search.with_options(max_edits=2)
    one = replace(gate(editor, 0.0), identity=editor.identity(search))
    bounded = editor.edit(SRC, MT, search=search)
    assert [found.text for found in Gated(editor, one).edit(SRC, MT, search=search)] == [r.text for r in bounded]


def test_search_options_that_contradict_a_gate_are_refused(editor: PostEditor) -> None:
    one = gate(editor, 0.5)
    with pytest.raises(DataError, match="one correction per segment: n_best must be 1, not 2"):
        Gated(editor, one).edit(SRC, MT, beam=2, n_best=2)
    able = Gated(editor, one).abilities
    assert not able.constraints
    assert not able.n_best
    assert able.needs_mt
    banned = editor.search.with_options(banned=["Haus"])
    for options in ({"prefix": ["es"] * len(MT)}, {"required": [["Haus"]] * len(MT)}, {"search": banned}):
        with pytest.raises(DataError, match="may revert"):
            Gated(editor, min_confidence=0.5).edit(SRC, MT, **options)
    with pytest.raises(DataError, match="must be a probability"):
        Gated(editor, min_confidence=1.5)
    if not editor.abilities.needs_mt:
        with pytest.raises(DataError, match="give mt"):
            Gated(editor, one).edit(SRC)


def test_damaged_gates_are_refused(editor: PostEditor, tmp_path: Path) -> None:
    file = tmp_path / "gate.json"
    with pytest.raises(ModelFolderError, match="cannot be read"):
        Gate.load(file)
    gate(editor, 0.5).save(file)
    values = json.loads(file.read_text())
    damages = {
        "is not a gate": "{",
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
    for other in ("[]", '{"triplets": 3, "sources": []}'):
        file.write_text(other)
        with pytest.raises(ModelFolderError, match=r"gate\.json: is not a gate, which is a JSON file from"):
            Gate.load(file)


class Own(Editor):
    """Returns one correction, as an editor of the user's own that may not keep to the interface."""

    abilities = Abilities()

    def __init__(self, result: PostEdit) -> None:
        self.result = result

    def identity(self, search: SearchConfig | None = None) -> Identity:
        return Identity(("own",))

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        return [self.result] * len(segments)


WORD = Edit("replace", (0, 1), (0, 1))


@pytest.mark.parametrize("changed", [True, False])
@pytest.mark.parametrize(
    ("edits", "message"),
    [((), "without its edits"), ((replace(WORD, pe_span=(0, 2)),), "edits that do not make 'x b' of 'a b'")],
)
def test_no_gate_lets_pass_what_it_could_not_take_back(changed: bool, edits: tuple[Edit, ...], message: str) -> None:
    own = Own(PostEdit("x b", changed, edits=edits, confidences=(0.1,) * len(edits)))
    weights = (0.0,) * COUNT
    closed = Gate(Rule("edit", Calibrator(weights, (1.0,) * COUNT, weights, 0.0), None, 9), own.identity())
    for gated in (Gated(own, closed), Gated(own, min_confidence=0.5)):
        with pytest.raises(DataError, match=message):
            gated.edit(["s"], ["a b"])


@pytest.mark.parametrize("confidences", [(), (0.9,)])
def test_an_edit_without_a_confidence_does_not_pass(confidences: tuple[float, ...]) -> None:
    edits = (WORD, Edit("replace", (2, 3), (2, 3)))
    with pytest.raises(DataError, match="needs edits with confidences"):
        Gated(Own(PostEdit("x y", False, edits=edits, confidences=confidences)), min_confidence=0.5).edit(
            ["s"], ["a b"]
        )


def test_only_the_words_of_edits_that_pass_are_limited() -> None:
    edits = (WORD, Edit("replace", (2, 5), (2, 5)))
    own = Own(PostEdit("x y z", True, -9.1, (-0.1, -9.0), edits, token_spans=((0, 1), (1, 2))))
    (judged,) = judge(own, segments_of(["s"], ["a b c"]), [own.result])
    weights = tuple(float(name == "sure") for name in Features.names())
    rule = Rule("edit", Calibrator((0.0,) * COUNT, (1.0,) * COUNT, weights, 3.0), 0.5, longest=1)
    assert rule("a b c", judged).text == "x b c"


def test_gates_know_options_by_their_former_names(tmp_path: Path) -> None:
    weights, settings = (0.0,) * COUNT, dict.fromkeys(FORMER_NAMES.values(), 1)
    rule = Rule("edit", Calibrator(weights, (1.0,) * COUNT, weights, 0.0), 0.5, 9)
    made = Gate(rule, Identity(("x",), settings))
    replace(made, identity=Identity(("x",), dict.fromkeys(FORMER_NAMES, 1))).save(tmp_path / "gate.json")
    Gate.load(tmp_path / "gate.json").check(made.identity)


def test_another_gate_or_confidence_makes_another_editor() -> None:
    weights, own = (0.0,) * COUNT, Own(PostEdit("a", False))
    rule = Rule("edit", Calibrator(weights, (1.0,) * COUNT, weights, 0.0), 0.5, 9)
    gates = [Gate(rule, own.identity()), Gate(replace(rule, threshold=0.6), own.identity())]
    editors = [Gated(own), Gated(own, min_confidence=0.5), *(Gated(own, one) for one in gates)]
    assert len({repr(one.identity()) for one in editors}) == 4
