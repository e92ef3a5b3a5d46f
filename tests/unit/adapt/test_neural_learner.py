"""Neural models that learn from corrections: they learn, and forget to the bit."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import tiny_models
import torch
from _pytest.mark import ParameterSet
from torch import Tensor

from postedit.adapt import adapters as adapters_module
from postedit.adapt.adaptation_config import AdapterKind, NearestConfig, OnlineConfig
from postedit.adapt.adapters import Adapters
from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import CorrectionMemory, Entry
from postedit.adapt.judged_learner import JudgedLearner
from postedit.adapt.neural_learner import (
    EditsLeft,
    NearestAdaptation,
    NeuralLearner,
    TripletBatches,
    load_to_adapt,
)
from postedit.adapt.remembering import Remembering
from postedit.core.editor import PostEdit
from postedit.core.errors import ModelFolderError
from postedit.editing.post_editor import PostEditor
from postedit.text.config import VocabularyConfig

KINDS: tuple[AdapterKind, ...] = ("vectors", "low-rank", "all")
CORRECTIONS = [
    Correction("the house", "das Haus", "das Häuschen"),
    Correction("it goes", "es geht", "es ging ."),
    Correction("the house goes", "das Haus geht", "das Haus ging"),
    Correction("it", "es", "es"),
    Correction("house", "Haus", "Häuser"),
]


MODELS = ("transference", "m-cgru-hard", "edit-operations")
COPYING = {"layers_mt": 1, "layers_pe": 1, "dim": 8, "heads": 2, "feed_forward": 8}


@pytest.fixture(params=MODELS)
def path(request: pytest.FixtureRequest, tiny_folders: Path) -> Path:
    return tiny_folders / request.param


def each_kind(*more: object) -> list[ParameterSet]:
    """Return models with kinds of adapters, and `more`: what differs by kind is the same for all models."""
    return [
        pytest.param(model, kind, *more, marks=() if kind == "all" or model == MODELS[0] else pytest.mark.slow)
        for model in MODELS
        for kind in KINDS
    ]


def slow(kinds: list[ParameterSet]) -> list[ParameterSet]:
    return [pytest.param(*one.values, marks=pytest.mark.slow) for one in kinds]


@pytest.fixture
def editor(path: Path) -> PostEditor:
    return load_to_adapt(path)[0]


def weights(editor: PostEditor) -> dict[str, Tensor]:
    return {name: one.clone() for name, one in editor.model.state_dict().items()}


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


def entries(corrections: Sequence[Correction], first: int = 1) -> list[Entry]:
    return [Entry(number, one, None) for number, one in enumerate(corrections, start=first)]


@pytest.mark.parametrize(("path", "kind"), each_kind(), indirect=["path"])
def test_steps_lower_the_loss_and_are_put_back_to_the_bit(editor: PostEditor, kind: AdapterKind) -> None:
    before, batch = weights(editor), TripletBatches(editor).batch(CORRECTIONS)
    assert batch is not None
    adapters = Adapters(editor.model, kind)
    losses = [adapters.step(batch, 0.02) for _ in range(8)]
    assert losses[-1] < losses[0] - 0.05
    with torch.no_grad():
        found = editor.model(batch)
    assert float(found.loss / found.tokens) < losses[-1]  # the weights of the model have the last step, too
    assert not same(weights(editor), before)
    adapters.restore()
    assert same(weights(editor), before)


@pytest.mark.parametrize("path", MODELS[:1], indirect=True)
def test_adapters_that_are_left_out_for_a_while_are_used_as_before(editor: PostEditor) -> None:
    trained, batch = weights(editor), TripletBatches(editor).batch(CORRECTIONS)
    assert batch is not None
    adapters = Adapters(editor.model, "vectors")
    adapters.step(batch, 0.02)
    learnt = weights(editor)
    for used, expected in ((True, learnt), (False, trained)):
        adapters.use(used)
        with adapters.left_out():
            assert same(weights(editor), trained)
        assert same(weights(editor), expected)


@pytest.mark.parametrize("limit", [0.3, 1.0])
def test_steps_are_those_of_adam_with_clipped_gradients(
    path: Path, limit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapters_module, "_CLIP", limit)
    editor, reference = load_to_adapt(path)[0], load_to_adapt(path)[0].model.double()
    editor.model.double()  # in which rounding gives weights without influence no gradient to speak of
    batch, weights = TripletBatches(editor).batch(CORRECTIONS), [*reference.parameters()]
    assert batch is not None
    adapters, adam = Adapters(editor.model, "all"), torch.optim.Adam(weights, 0.02, (0.9, 0.98))
    norms = []
    for _ in range(4):
        found = reference.eval().requires_grad_(True)(batch)
        loss = found.loss / found.tokens
        adam.zero_grad()
        loss.backward()
        norms.append(float(torch.nn.utils.clip_grad_norm_(weights, limit)))
        adam.step()
        assert adapters.step(batch, 0.02) == pytest.approx(loss.item(), rel=1e-4)
    assert min(norms) > 0.3, "the lower limit has an effect"
    for one, other in zip(editor.model.parameters(), weights, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("path", MODELS[:1], indirect=True)  # the others are too small for threads to divide work
@pytest.mark.parametrize("kind", KINDS)
def test_the_bits_do_not_depend_on_the_number_of_threads(path: Path, kind: AdapterKind) -> None:
    found, threads = [], torch.get_num_threads()
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            editor = load_to_adapt(path)[0]
            NeuralLearner(editor, OnlineConfig(adapters=kind, rate=0.05, watched=0)).learn_entries(
                entries(CORRECTIONS * 2)
            )
            found.append(weights(editor))
            assert torch.get_num_threads() == count
    finally:
        torch.set_num_threads(threads)
    assert same(*found)


def test_only_biases_and_norms_change_with_vectors(editor: PostEditor) -> None:
    before, batch = weights(editor), TripletBatches(editor).batch(CORRECTIONS)
    assert batch is not None
    Adapters(editor.model, "vectors").step(batch, 0.1)
    changed = {name for name, one in weights(editor).items() if not torch.equal(one, before[name])}
    assert changed
    assert {before[name].dim() for name in changed} == {1}


@pytest.mark.parametrize(
    ("path", "kind", "undone"), [*each_kind(5), *slow(each_kind(3)), *slow(each_kind(1))], indirect=["path"]
)
def test_undoing_leaves_the_bits_of_a_model_that_never_had_it(path: Path, kind: AdapterKind, undone: int) -> None:
    config = OnlineConfig(adapters=kind, rate=0.05, version_every=2, replay=2, watched=0)
    editor, never = load_to_adapt(path)[0], load_to_adapt(path)[0]
    learner = NeuralLearner(editor, config)
    for entry in entries(CORRECTIONS):
        learner.learn_entries([entry])
    learner.learn_entries([Entry(6, CORRECTIONS[undone - 1], undone)])
    kept = [one for one in entries(CORRECTIONS) if one.number != undone]
    other = NeuralLearner(never, config)
    other.learn_entries(kept)
    assert same(weights(editor), weights(never))
    more = entries([Correction("a", "b", "c")], first=7)
    learner.learn_entries(more)
    other.learn_entries(more)
    assert same(weights(editor), weights(never))
    learner.forget_all()
    assert same(weights(editor), weights(load_to_adapt(path)[0]))


def test_old_versions_are_thinned_out_and_undoing_stays_exact(
    tiny_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postedit.adapt.neural_learner._ALL_KEPT", 2)
    config = OnlineConfig(rate=0.05, version_every=1, replay=1, watched=0)
    editor, never = (load_to_adapt(tiny_folders / "transference")[0] for _ in range(2))
    learner, given = NeuralLearner(editor, config), entries(CORRECTIONS * 2)
    learner.learn_entries(given)
    assert list(learner._versions) == [0, 4, 6, 8, 9]
    undone = Entry(11, given[5].correction, 6)
    learner.learn_entries([undone])
    NeuralLearner(never, config).learn_entries([one for one in given if one.number != 6])
    assert same(weights(editor), weights(never))


def test_a_correction_that_is_too_long_is_not_learnt(editor: PostEditor, caplog: pytest.LogCaptureFixture) -> None:
    before, learner = weights(editor), NeuralLearner(editor, OnlineConfig())
    learner.learn_entries(entries([Correction("a " * 500, "b " * 500, "c")]))
    assert same(weights(editor), before)
    assert learner.trained_output(1) == "b " * 500
    assert not caplog.records, "nobody asked for an output"


@pytest.mark.parametrize("path", MODELS[:1], indirect=True)
@pytest.mark.parametrize("longer", [{"src": "the house " * 3}, {"mt": "das Haus " * 3}, {"pe": "das Haus " * 6}])
def test_a_correction_that_the_model_cannot_hold_is_not_learnt(editor: PostEditor, longer: dict[str, str]) -> None:
    editor.model.spec = replace(editor.model.spec, longest=14)
    before, learner, short = weights(editor), NeuralLearner(editor, OnlineConfig(watched=0)), CORRECTIONS[0]
    learner.learn_entries(entries([replace(short, **longer)]))
    assert same(weights(editor), before)
    learner.learn_entries([Entry(2, short, None)])
    assert not same(weights(editor), before)


def test_the_nearest_triplets_change_one_request_alone(editor: PostEditor) -> None:
    before = weights(editor)
    adapted = NearestAdaptation(editor, NearestConfig(steps=20, rate=0.1, least=0.5, watched=0))
    adapted.learn_entries(entries(CORRECTIONS))
    texts = ["the house", "nothing of it here"], ["das Haus", "nichts davon"]
    scores = [one.score for one in editor.edit(*texts)]
    first, second = adapted.edit(*texts)
    assert first.score != scores[0]
    assert second.score == pytest.approx(scores[1], abs=1e-5)
    assert same(weights(editor), before)
    adapted.learn_entries([Entry(6, CORRECTIONS[0], 1), Entry(7, CORRECTIONS[2], 3), Entry(8, CORRECTIONS[4], 5)])
    assert adapted.edit(*texts)[0].score == pytest.approx(scores[0], abs=1e-5)


@contextmanager
def half_precision() -> Iterator[None]:
    torch.set_default_dtype(torch.bfloat16)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


MODES = {
    "inference": torch.inference_mode,
    "no gradients": torch.no_grad,
    "autocast": partial(torch.autocast, "cpu", torch.bfloat16),
    "half precision": half_precision,
}


@pytest.mark.parametrize("path", MODELS[:1], indirect=True)
@pytest.mark.parametrize("mode", MODES)
def test_the_mode_of_the_application_changes_nothing(path: Path, mode: str) -> None:
    def learnt() -> tuple[dict[str, Tensor], list[PostEdit]]:
        online, nearest = load_to_adapt(path)[0], load_to_adapt(path)[0]
        config = OnlineConfig(adapters="low-rank", rate=0.05, watched=0)
        NeuralLearner(online, config).learn_entries(entries(CORRECTIONS))
        adapted = NearestAdaptation(nearest, NearestConfig(least=0.5, watched=0))
        adapted.learn_entries(entries(CORRECTIONS))
        return weights(online), adapted.edit(["the house"], ["das Haus"])

    with MODES[mode]():
        found, edited = learnt()
    expected, result = learnt()
    assert same(found, expected)
    assert edited == result


def test_a_memory_is_followed_by_all_that_use_it(path: Path, tmp_path: Path) -> None:
    editors, config = [load_to_adapt(path)[0] for _ in range(3)], OnlineConfig(rate=0.05, watched=0)
    with CorrectionMemory(tmp_path / "memory.db") as memory, CorrectionMemory(tmp_path / "memory.db") as other:
        one, two = (
            Remembering(editor, NeuralLearner(editor, config), held, project="p", author="anna")
            for editor, held in zip(editors[:2], (memory, other), strict=True)
        )
        assert one.abilities.learns
        number = one.learn("the house", "das Haus", "das Häuschen")
        assert not same(weights(editors[0]), weights(editors[2]))
        two.edit(["a"], ["b"])
        assert same(weights(editors[0]), weights(editors[1]))
        (entry,) = memory.entries()
        assert (entry.number, entry.correction.project, entry.correction.author) == (number, "p", "anna")
        two.undo(number)
        one.edit(["a"], ["b"])
        assert same(weights(editors[0]), weights(editors[2]))
        one.learn("it goes", "es geht", "es ging")
        memory.delete("p")
        one.edit(["a"], ["b"])
        assert same(weights(editors[0]), weights(editors[2]))


# An untrained model writes anything; taught the same correction again and again, it soon writes that.
REPEATED = [Correction("the house goes", "das Haus geht", "das Haus ging")] * 8
HELPFUL = OnlineConfig(adapters="all", rate=0.05, steps=2, replay=0, watched=5, version_every=4)
HARMFUL = HELPFUL.model_copy(update={"rate": 5.0})


def test_learning_is_on_while_it_helps(path: Path) -> None:
    editor = load_to_adapt(path)[0]
    trained = weights(editor)
    learner = NeuralLearner(editor, HELPFUL)
    assert not learner.helps
    learner.learn_entries(entries(REPEATED[:1]))
    assert same(weights(editor), trained), "nothing is known yet"
    learner.learn_entries(entries(REPEATED[1:], first=2))
    assert learner.helps
    always = load_to_adapt(path)[0]
    NeuralLearner(always, HELPFUL.model_copy(update={"watched": 0})).learn_entries(entries(REPEATED))
    assert same(weights(editor), weights(always))
    assert not same(weights(editor), trained)
    learner.forget_all()
    assert not learner.helps
    assert same(weights(editor), trained)


def test_learning_is_off_where_it_harms(editor: PostEditor, monkeypatch: pytest.MonkeyPatch) -> None:
    trained = weights(editor)
    learner = NeuralLearner(editor, HARMFUL)
    # The model as it was trained leaves less to edit.
    monkeypatch.setattr(EditsLeft, "output", lambda _, one: one.pe if same(weights(editor), trained) else one.mt)
    learner.learn_entries(entries(REPEATED))
    assert not learner.helps
    assert same(weights(editor), trained)


@pytest.mark.parametrize("path", MODELS[:1], indirect=True)  # which writes nothing here
@pytest.mark.parametrize(("saved", "helps"), [([], False), ([0, 0], False), ([1], False), ([1, 1], True),
    ([3, -1, 0], False), ([2, 1, 0, 0], True), ([-1, -1], False), ([-9, -9, -9, 1, 1, 0, 0], True)])  # fmt: skip
def test_learning_helps_if_it_spares_more_than_the_standard_error(
    editor: PostEditor, monkeypatch: pytest.MonkeyPatch, saved: list[int], helps: bool
) -> None:
    learner = NeuralLearner(editor, OnlineConfig(watched=4))
    monkeypatch.setattr(learner, "_judge", lambda place: saved[place])
    learner.learn_entries(entries(REPEATED[: len(saved)]))
    assert learner.helps == helps


# Which judgements count is the same for all models.
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("transference", "online"),
        ("edit-operations", "nearest"),
        pytest.param("transference", "nearest", marks=pytest.mark.slow),
        pytest.param("edit-operations", "online", marks=pytest.mark.slow),
        pytest.param("m-cgru-hard", "online", marks=pytest.mark.slow),
        pytest.param("m-cgru-hard", "nearest", marks=pytest.mark.slow),
    ],
    indirect=["path"],
)
@pytest.mark.parametrize(
    "undone", [{3, 11}, *(pytest.param(one, marks=pytest.mark.slow) for one in ({1}, {12}, {9, 10, 11, 12}))]
)
def test_judgements_are_those_of_a_memory_that_never_had_what_is_undone(
    path: Path, kind: str, undone: set[int]
) -> None:
    def learner(editor: PostEditor) -> JudgedLearner:
        if kind == "online":
            return NeuralLearner(editor, HELPFUL)
        return NearestAdaptation(editor, NearestConfig(rate=0.05, watched=5))

    given = entries([*CORRECTIONS, *REPEATED[:4], *CORRECTIONS[:3]])
    editors = [load_to_adapt(path)[0] for _ in range(3)]
    one, never, at_once = map(learner, editors)
    for entry in given:
        one.learn_entries([entry])
    ends = [Entry(20 + number, given[number - 1].correction, number) for number in sorted(undone)]
    one.learn_entries(ends)
    never.learn_entries([entry for entry in given if entry.number not in undone])
    at_once.learn_entries([*given, *ends])
    latest = range(len(given) - len(undone) - 5, len(given) - len(undone))
    for other in (never, at_once):
        assert [one._saved[place] for place in latest] == [other._saved[place] for place in latest]
        assert one.helps == other.helps
    assert any(one._saved[place] for place in latest)
    assert same(weights(editors[0]), weights(editors[1]))
    assert same(weights(editors[0]), weights(editors[2]))


def test_near_triplets_are_left_alone_where_they_do_not_help(
    editor: PostEditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapted = NearestAdaptation(editor, NearestConfig(steps=20, rate=0.1, least=0.5))
    (plain,) = editor.edit(["the house"], ["das Haus"])
    monkeypatch.setattr(adapted, "_judge", lambda _: -1)
    adapted.learn_entries(entries(CORRECTIONS))
    assert adapted.edit(["the house"], ["das Haus"])[0].score == plain.score
    monkeypatch.setattr(adapted, "_judge", lambda _: 1)
    adapted.learn_entries(entries(CORRECTIONS * 2, first=6))
    assert adapted.edit(["the house"], ["das Haus"])[0].score != plain.score


def test_only_a_single_model_learns(path: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelFolderError):
        load_to_adapt(tmp_path / "none")[0]


def test_copied_unknown_words_are_counted_as_the_words_that_they_are() -> None:
    vocabulary = VocabularyConfig(sharing="mt-pe", size=320, limit=30, copied=9)
    folder = tiny_models.folder("copy-transformer", tiny_models.processor(vocabulary=vocabulary), **COPYING)
    counter = EditsLeft(PostEditor(folder.model, folder.processor, folder.search))
    correction = Correction("it goes", "w z geht", "w z geht")
    assert [counter.count(correction, output) for output in ("w z geht", "z w geht")] == [0, 2]
