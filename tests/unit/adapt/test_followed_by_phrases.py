"""A neural model with phrases after it: what post-editors make of its outputs counts at once, until it is undone."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from postedit import shipped
from postedit.adapt.adaptation_config import OnlineConfig
from postedit.adapt.correction import Correction, Decision
from postedit.adapt.correction_memory import CorrectionMemory, Entry
from postedit.adapt.followed_by_phrases import FollowedByPhrases, text_of
from postedit.adapt.learning_editor import load_learning
from postedit.adapt.neural_learner import EditsLeft, load_to_adapt
from postedit.adapt.remembering import Remembering
from postedit.core.edit_reasons import CorrectionReason
from postedit.core.editor import Abilities, Constraints, Detail, PostEdit, Segment
from postedit.core.search_config import SearchConfig
from postedit.editing.post_editor import PostEditor
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_options import PhraseTextConfig
from postedit.text.edits import apply_edits, edits_between

# The shipped model leaves the word, and writes Chinese full stops.
WON = [
    ("He won the championship in 2011 .", "他 在 2011 年 赢得 了 锦标赛 .", "他 在 2011 年 赢得 了 冠军赛 。"),
    ("They prepared for the championship .", "他们 准备 参加 锦标赛 .", "他们 准备 参加 冠军赛 。"),
    ("They lost every championship .", "他们 输掉 了 每次 锦标赛 .", "他们 输掉 了 每次 冠军赛 。"),
]
NEXT = "She organized a championship for children .", "她 为 孩子 组织 了 一次 锦标赛 ."


@pytest.fixture
def taught(tmp_path: Path) -> Iterator[Remembering]:
    with CorrectionMemory(tmp_path / "memory.db") as memory:
        yield load_learning(shipped.MODEL, memory, author="anna")


def edited(editor: Remembering, segment: tuple[str, str], **options: Any) -> PostEdit:
    (found,) = editor.edit([segment[0]], [segment[1]], **options)
    return found


@pytest.mark.slow
def test_a_word_is_proposed_corrected_after_three_like_corrections(taught: Remembering) -> None:
    before = edited(taught, NEXT, evidence=True)
    assert before.text == "她 为 孩子 组织 了 一次 锦标赛 。"
    numbers = [taught.learn(*one) for one in WON]
    found = edited(taught, NEXT, evidence=True)
    assert found.text == "她 为 孩子 组织 了 一次 冠军赛 。"
    assert apply_edits(NEXT[1], found.text, found.edits) == found.text
    by_phrases, by_model = found.edits
    assert (by_model.reasons, found.confidences[1]) == ((), before.confidences[0])
    (reason,) = by_phrases.reasons
    assert isinstance(reason, CorrectionReason)
    assert reason.count == 3
    assert [(one.number, one.mt, one.author) for one in reason.corrections] == [
        (number, mt, "anna") for number, (_, mt, _) in zip(numbers[::-1], WON[::-1], strict=True)
    ]
    (scored,) = taught.score([NEXT[0]], [NEXT[1]], [found.text], evidence=True)
    assert found.evidence is not None
    assert scored.evidence is not None
    assert found.evidence.output == scored.evidence.output
    for number in numbers:
        taught.undo(number)
    after = edited(taught, NEXT, evidence=True)
    assert replace(after, evidence=None) == replace(before, evidence=None)


def test_a_rejected_edit_of_the_model_is_not_proposed_again(taught: Remembering) -> None:
    before, elsewhere = edited(taught, NEXT), edited(taught, WON[0][:2])
    assert (before.text[-1], elsewhere.text[-1]) == ("。", "。")
    number = taught.learn(*NEXT, NEXT[1])
    for src in (NEXT[0], "She organized one championship for the children ."):
        kept = edited(taught, (src, NEXT[1]))
        assert (kept.text, kept.changed, kept.edits, kept.confidences) == (NEXT[1], False, (), ())
    assert edited(taught, WON[0][:2]) == elsewhere
    taught.undo(number)
    assert edited(taught, NEXT) == before


@pytest.mark.slow
def test_any_way_to_the_same_corrections_leads_to_the_same_editor(path: Path) -> None:
    given = [
        Correction("the house", "das Haus", "das Häuschen"),
        Correction("it goes .", "es geht .", "es ging ."),
        Correction("a cat", "eine Katze", "die Katze"),
        Correction("it", "es", "es"),
    ]
    log = [Entry(number, one, None) for number, one in enumerate([*given, *given], start=1)]
    ends = [Entry(20 + undone, given[(undone - 1) % 4], undone) for undone in (2, 5, 8)]
    one_by_one, together, never = (followed(path) for _ in range(3))
    for entry in [*log, *ends]:
        one_by_one.learn_entries([entry])
    together.learn_entries([*log, *ends])
    never.learn_entries([entry for entry in log if entry.number not in (2, 5, 8)])
    expected, untaught = everything(never), everything(followed(path))
    assert any(text != before for (text, _), (before, _) in zip(expected, untaught)), "it has learnt"
    assert everything(one_by_one) == expected
    assert everything(together) == expected
    for editor in (one_by_one, together):
        editor.forget_all()
        assert everything(editor) == untaught


# To phrases, a recurrent model is one that writes tokens, like the first.
@pytest.fixture(params=["transference", pytest.param("m-cgru-hard", marks=pytest.mark.slow), "edit-operations"])
def path(request: pytest.FixtureRequest, tiny_folders: Path) -> Path:
    return tiny_folders / request.param


def followed(path: Path, online: OnlineConfig | None = None) -> FollowedByPhrases:
    return FollowedByPhrases(
        load_to_adapt(path)[0], online or OnlineConfig(version_every=2), PhraseEditor.empty(PhraseTextConfig())
    )


def everything(editor: FollowedByPhrases) -> list[tuple[str, float]]:
    """Return outputs with their scores, to the bit."""
    segments = [("the house", "das Haus"), ("it goes .", "es geht ."), ("a cat", "eine Katze"), ("the cat", "es Haus")]
    found = editor.edit([src for src, _ in segments], [mt for _, mt in segments], beam=3, n_best=3)
    return [(one.text, one.score) for best in found for one in (best, *best.alternatives)]


GIVEN = [Correction(f"the {number}", f"das {number}", "x") for number in range(6)]


def asked_of_phrases(editor: FollowedByPhrases, monkeypatch: pytest.MonkeyPatch) -> list[Entry]:
    """Return a list that will have the entries from which phrases learn."""
    taken, learn = list[Entry](), editor._phrase_learner.learn_entries

    def learn_entries(entries: Iterable[Entry], progress: Callable[[], None]) -> None:
        found = list(entries)
        taken.extend(found)
        learn(found, progress)

    monkeypatch.setattr(editor._phrase_learner, "learn_entries", learn_entries)
    return taken


@pytest.mark.parametrize("order", [range(6), (3, 1, 5, 0, 2, 4)])
def test_phrases_learn_from_outputs_of_the_model_as_it_was_trained(
    path: Path, monkeypatch: pytest.MonkeyPatch, order: Sequence[int]
) -> None:
    trained, editor = EditsLeft(load_to_adapt(path)[0]), followed(path, OnlineConfig(rate=0.5, watched=0))
    taken = asked_of_phrases(editor, monkeypatch)
    for number in order:
        editor.learn_entries([Entry(number, GIVEN[number], None)])
    texts = {number: trained.output(GIVEN[number]) for number in order}
    expected = {number: text for number, text in texts.items() if "\0" not in text}
    assert {one.number: one.correction.mt for one in taken} == expected
    assert {(one.correction.src, one.correction.pe) for one in taken} == {(GIVEN[n].src, "x") for n in expected}
    present = [EditsLeft(editor.inner).output(one) for one in GIVEN]
    assert present != [texts[number] for number in range(6)], "it writes something else now"


def test_each_output_of_the_trained_model_is_found_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor, asked, plain = followed(path), list[str](), EditsLeft.output

    def output(edits: EditsLeft, correction: Correction) -> str:
        asked.append(correction.mt)
        return plain(edits, correction)

    monkeypatch.setattr(EditsLeft, "output", output)
    entries = [Entry(number, one, None) for number, one in enumerate(GIVEN, start=1)]
    editor.learn_entries([*entries, Entry(7, GIVEN[1], 2)])
    left = [one.mt for one in GIVEN if one != GIVEN[1]]
    assert sorted(asked) == sorted([*left, *left]), "with what was learnt before, and as trained"
    asked.clear()
    editor.learn_entries([Entry(8, GIVEN[0], 1)])
    assert sorted(asked) == left[1:], "judged anew, with what was learnt before"


def test_the_model_and_the_phrases_tell_of_their_progress(path: Path) -> None:
    editor, calls = followed(path), list[str]()
    editor.learn_entries([Entry(1, GIVEN[0], None), Entry(2, GIVEN[1], None)], lambda: calls.append("progress"))
    assert len(calls) == 2 + 2 + 2, "the model learns both, the outputs are found, and the phrases are judged"


@pytest.mark.parametrize("output", [" ", "a\0b"])
def test_an_output_that_is_no_text_teaches_nothing(path: Path, monkeypatch: pytest.MonkeyPatch, output: str) -> None:
    monkeypatch.setattr(EditsLeft, "output", lambda *_: output)
    editor = followed(path)
    editor.learn_entries([Entry(1, Correction("the house", "das Haus", "die Hütte"), None)])
    editor.learn_entries([Entry(2, Correction("the house", "das Haus", "die Hütte"), 1)])
    assert everything(editor) == everything(followed(path))


def test_a_correction_with_decisions_is_learnt_from_a_shorter_output(
    tiny_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = followed(tiny_folders / "transference")
    taken = asked_of_phrases(editor, monkeypatch)
    monkeypatch.setattr(EditsLeft, "output", lambda *_: "es")
    given = Correction("it", "das Haus", "sie", decisions=(Decision(4, 8, "Bau", False),))
    editor.learn_entries([Entry(1, given, None)])
    assert [one.correction for one in taken] == [Correction("it", "es", "sie")]


# In what follows, the model writes what it is told, and phrases know one change.
MT, OWN, LAST = "ein Haus brennt ,", "ein Haus brannte .", "eine Hütte brannte ."


class Scripted:
    """What a model writes for a segment."""

    def __init__(self, editor: FollowedByPhrases, result: PostEdit, monkeypatch: pytest.MonkeyPatch) -> None:
        self.result = result
        self.scored: list[tuple[list[str], Detail | None]] = []
        monkeypatch.setattr(editor.inner, "edit_segments", lambda segments, *_, **__: [self.result] * len(segments))
        monkeypatch.setattr(editor.inner, "score_segments", self.score)

    def score(
        self, segments: Sequence[Segment], outputs: Sequence[str], *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        self.scored.append(([*outputs], evidence))
        return [PostEdit(output, True, -99.0, evidence=f"evidence of {output}") for output in outputs]  # type: ignore[arg-type]


def written(text: str, score: float, **more: Any) -> PostEdit:
    edits = edits_between(MT, text)
    return PostEdit(text, text != MT, score, (score,), edits, confidences=(0.9,) * len(edits), **more)


@pytest.fixture
def knowing(tiny_folders: Path) -> FollowedByPhrases:
    editor = followed(tiny_folders / "transference")
    change = Correction("a house burnt .", OWN, LAST)
    editor._phrase_learner.learn_entries([Entry(number, change, None) for number in (1, 2)])
    return editor


def test_phrases_change_text_and_edits_and_nothing_else(
    knowing: FollowedByPhrases, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = written(OWN, -3.0, draft="d", hit_limit=True, input_cut=True, token_spans=((0, 1), (0, 1)), reverted=1)
    model = Scripted(knowing, own, monkeypatch)
    (found,) = knowing.edit(["a house"], [MT])
    assert (found.text, found.changed) == (LAST, True)
    assert apply_edits(MT, LAST, found.edits) == LAST
    assert [LAST[slice(*edit.pe_span)] for edit in found.edits] == ["eine Hütte", "brannte", "."]
    assert found.confidences[1:] == (0.9, 0.9)
    assert 0.0 < found.confidences[0] < 1.0
    assert found == replace(
        own, text=LAST, edits=found.edits, confidences=found.confidences, token_spans=(), alternatives=()
    )
    assert model.scored == []
    (found,) = knowing.edit(["a house"], [MT], evidence="losses")
    assert (found.evidence, found.score) == (f"evidence of {LAST}", -3.0)
    assert model.scored == [([LAST], "losses")]
    assert [len(edit.reasons) for edit in found.edits] == [1, 0, 0]


def test_the_output_of_the_model_joins_the_alternatives(
    knowing: FollowedByPhrases, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [written("ein Bau brennt .", -4.0), written("ein Haus brennt .", -5.0), written(MT, -6.0)]
    model = Scripted(knowing, written(OWN, -3.0, alternatives=tuple(others), evidence="of it"), monkeypatch)
    for count, expected in (
        (5, [LAST, OWN, "ein Bau brennt .", "ein Haus brennt .", MT]),
        (4, [LAST, OWN, "ein Bau brennt .", "ein Haus brennt .", MT]),
        (2, [LAST, OWN, MT]),
        (1, [LAST]),
    ):
        (found,) = knowing.edit(["a house"], [MT], beam=5, n_best=count)
        assert [found.text, *(one.text for one in found.alternatives)] == expected
        assert not any(one.alternatives or one.evidence for one in found.alternatives)
    model.result = replace(model.result, alternatives=(written(LAST, -3.5), written(MT, -6.0)))
    (found,) = knowing.edit(["a house"], [MT], beam=5, n_best=3)
    assert [found.text, *(one.text for one in found.alternatives)] == [LAST, OWN, MT]
    assert (found.score, found.token_scores) == (-3.5, (-3.5,)), "that of the same text by the model"


def test_mt_is_the_output_where_phrases_take_all_edits_back(
    knowing: FollowedByPhrases, monkeypatch: pytest.MonkeyPatch
) -> None:
    knowing._phrase_learner.learn_entries([Entry(3, Correction("a fire", OWN, MT), None)])
    Scripted(knowing, written(OWN, -3.0, alternatives=(written(MT, -6.0),)), monkeypatch)
    (found,) = knowing.edit(["a fire"], [MT], beam=2, n_best=2)
    assert (found.text, found.changed, found.edits, found.confidences) == (MT, False, (), ())
    assert found.score == -6.0
    assert [one.text for one in found.alternatives] == [OWN]


LIMITS = [
    {"max_edits": 9},
    {"max_edits": 0},
    {"no_repeat": 3},
    {"banned": ("x",)},
    {"required": ("x",)},
    {"edit_cost": 50.0},
    {"post_edit_penalty": 50.0},
    {"max_input": 1},
]


@pytest.mark.parametrize(
    "limit", [*LIMITS, {"cut_input": True, "mt_candidate": False}], ids=lambda one: next(iter(one))
)
def test_what_limits_outputs_leaves_that_of_the_model(
    knowing: FollowedByPhrases, monkeypatch: pytest.MonkeyPatch, limit: dict[str, Any]
) -> None:
    model = Scripted(knowing, written(OWN, -3.0), monkeypatch)
    assert knowing.edit(["a house"], [MT], search=SearchConfig(**limit)) == [model.result]


def test_a_price_that_the_model_always_has_is_not_one_of_phrases(
    knowing: FollowedByPhrases, monkeypatch: pytest.MonkeyPatch
) -> None:
    Scripted(knowing, written(OWN, -3.0), monkeypatch)
    knowing.search = SearchConfig(edit_cost=50.0)
    assert knowing.edit(["a house"], [MT])[0].text == LAST
    assert knowing.edit(["a house"], [MT], search=SearchConfig(edit_cost=9.0))[0].text == LAST
    assert knowing.edit(["a house"], [MT], search=SearchConfig(edit_cost=100.0))[0].text == OWN


def test_segments_that_phrases_do_not_edit(knowing: FollowedByPhrases, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Scripted(knowing, written(OWN, -3.0), monkeypatch)
    plain, bound, none = (
        Segment("a house", MT),
        Segment("a house", MT, Constraints(banned=("Haus",))),
        Segment("a house", None),
    )
    assert [one.text for one in knowing.edit_segments([bound, plain, none])] == [OWN, LAST, OWN]
    model.result = PostEdit(OWN, False, skipped="too long")
    assert knowing.edit_segments([Segment("a house", OWN)]) == [model.result]


@pytest.mark.parametrize(
    ("languages", "tokenises", "expected"),
    [
        (("en", "de"), True, PhraseTextConfig(tokenizer="moses", src_lang="en", tgt_lang="de")),
        (("en", "de"), False, PhraseTextConfig()),
        (("", "de"), True, PhraseTextConfig()),
        (("en", ""), True, PhraseTextConfig()),
        (("en", "zh"), True, PhraseTextConfig(tokenizer="characters")),
        (("", "ja-JP"), True, PhraseTextConfig(tokenizer="characters")),
        (("en", "zh"), False, PhraseTextConfig()),
    ],
)
def test_texts_are_divided_as_the_model_reads_them(
    languages: tuple[str, str], tokenises: bool, expected: PhraseTextConfig
) -> None:
    assert text_of(Abilities(languages=languages, tokenises=tokenises)) == expected


def test_running_text_keeps_its_spacing(tiny_folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor: PostEditor = load_to_adapt(tiny_folders / "transference")[0]
    text = text_of(Abilities(languages=("en", "de"), tokenises=True))
    followed = FollowedByPhrases(editor, OnlineConfig(), PhraseEditor.empty(text))
    change = Correction("A house burns.", "Das Haus, es brennt.", "Die Hütte, es brennt.")
    followed._phrase_learner.learn_entries([Entry(number, change, None) for number in (1, 2)])
    Scripted(followed, PostEdit(" Das Haus, es brennt.", False), monkeypatch)
    assert followed.edit(["A house"], [" Das Haus, es brennt."])[0].text == " Die Hütte, es brennt."
