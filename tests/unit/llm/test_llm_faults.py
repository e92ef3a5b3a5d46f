"""Whatever a server answers, each line is corrected or stays as it is, and nothing costs more than it may."""

import pytest
from stub_server import ANSWER_FAULTS, HTTP_FAULTS, Stub, corrected, segments_of
from tests.unit.llm.conftest import WORDS, MakeEditor, segments

from postedit.core.editor import PostEdit, Segment
from postedit.llm.asking import Wanted
from postedit.llm.llm_editor import LlmEditor
from postedit.llm.pacing import BudgetError

PER_MILLION = {"input": 1.0, "output": 4.0}


def check_aligned(asked: list[Segment], results: list[PostEdit]) -> int:
    """Check that each line is the correction of its own mt, or mt; return how many are corrected."""
    assert len(results) == len(asked)
    wrong = [
        (one.mt, result.text)
        for one, result in zip(asked, results, strict=True)
        if result.text not in (one.mt, corrected(one.mt or ""))
    ]
    assert not wrong, wrong[:5]
    return sum(result.text != one.mt for one, result in zip(asked, results, strict=True))


def billed(stub: Stub) -> float:
    return (PER_MILLION["input"] * stub.prompt_tokens + PER_MILLION["output"] * stub.answer_tokens) / 1e6


@pytest.mark.parametrize("fault", ANSWER_FAULTS)
def test_no_fault_of_an_answer_makes_a_wrong_line(make_editor: MakeEditor, fault: str) -> None:
    asked = segments(36)
    with Stub({fault: 0.6}) as stub:
        results = make_editor(stub, segments=3).edit_segments(asked)
    corrections = check_aligned(asked, results)
    if fault in ("shuffle", "fence", "think"):  # which are no faults to us
        assert all(result.text == corrected(one.mt or "") for one, result in zip(asked, results, strict=True))
    assert corrections > 6


@pytest.mark.parametrize("fault", HTTP_FAULTS)
def test_requests_are_repeated_where_the_fault_may_pass(make_editor: MakeEditor, fault: str) -> None:
    asked = segments(40)
    with Stub({fault: 0.3}, seed=3) as stub:
        editor = make_editor(stub, segments=4, retries=20)
        results = editor.edit_segments(asked)
    assert stub.happened[fault] > 0
    assert all(result.text == corrected(one.mt or "") for one, result in zip(asked, results, strict=True))
    assert editor.store.spent() >= billed(stub) - 1e-9


def test_faults_are_counted_by_kind(make_editor: MakeEditor) -> None:
    with Stub({"refuse": 1.0}) as stub:
        editor = make_editor(stub)
        results = editor.edit_segments(segments(10))
    figures = editor.store.figures()
    assert figures["asked again"] == {"refused": 10}
    assert sorted(map(len, stub.asked)) == [*[1] * 10, 2, 8]  # once together, and once alone
    assert figures["left as mt"] == {"refused": 10}
    assert {result.skipped for result in results} == {"no answer"}
    assert len(stub.asked) == 2 + 10  # no more than once alone


@pytest.mark.parametrize(
    ("fault", "kind"), [("cut-whole", "cut off"), ("filter-whole", "refused"), ("refuse-whole", "refused")]
)
def test_an_answer_that_the_server_takes_back_is_none(make_editor: MakeEditor, fault: str, kind: str) -> None:
    with Stub({fault: 1.0}) as stub:
        editor = make_editor(stub)
        results = editor.edit_segments(segments(3))
    assert editor.store.figures()["left as mt"] == {kind: 3}
    assert not any(result.changed for result in results)


def test_mixed_up_texts_make_all_of_a_request_doubtful(make_editor: MakeEditor) -> None:
    texts = ["errDas Haus ist rot .", "errDer Baum trägt Äpfel .", "errWir sehen morgen fern ."]
    asked = [Segment(f"source {letter}", text) for letter, text in zip("abc", texts, strict=True)]
    first = {"source a": corrected(texts[1])}
    with Stub(correct=lambda src, mt: first.pop(src, corrected(mt))) as stub:
        editor = make_editor(stub)
        results = editor.edit_segments(asked)
    assert editor.store.figures()["asked again"] == {"misplaced": 3}
    assert [one.text for one in results] == list(map(corrected, texts))


def test_segments_with_the_same_mt_are_in_requests_of_their_own(make_editor: MakeEditor) -> None:
    texts = ("a b c", "a b c", "d e f", "a b c")
    asked = [Segment(f"source {letter}", mt) for letter, mt in zip("ghij", texts, strict=True)]
    with Stub() as stub:
        make_editor(stub).edit_segments(asked)
    assert sorted(map(len, stub.asked)) == [1, 1, 2]


def known_of(editor: LlmEditor, asked: list[Segment]) -> set[tuple[str, str]]:
    """Return the segments about which nothing is left to ask."""
    keys = {editor.asking.key(Wanted(one, 0)): (one.src, one.mt) for one in editor.questions(asked)}
    return {keys[key] for key, outcome in editor.store.find(keys).items() if not outcome.is_open}


def random_faults(items: int, make_editor: MakeEditor, budget: float) -> None:
    """Edit with every fault at random, in parts of which each is stopped by its budget and continued."""
    names = (*ANSWER_FAULTS, *HTTP_FAULTS)
    asked = segments(items)
    with Stub(dict.fromkeys(names, 0.5 / len(names))) as stub:
        options = {"retries": 30, "concurrency": 32}
        first = make_editor(stub, run="work", budget=budget, **options)
        with pytest.raises(BudgetError):
            first.edit_segments(asked)
        known, before, bill = known_of(first, asked), len(stub.asked), billed(stub)
        editor = make_editor(stub, run="work", budget=100.0 * budget, **options)
        # Requests that got no reply in time count as if they had been charged; on a busy machine they are many.
        assert 0.0 < bill <= editor.store.spent() <= budget < 2.0 * editor.store.spent()
        results = editor.edit_segments(asked)
        assert not known & {pair for request in stub.asked[before:] for pair in request}, "asked for twice"
        assert billed(stub) <= editor.store.spent() <= 100.0 * budget
        requests = len(stub.asked)
        again = make_editor(stub, run="more", **options).edit_segments(asked)
        left = editor.store.figures()["left as mt"]
        assert len(stub.asked) - requests <= left.get("no reply", 0)
    assert 0.1 * len(known_of(editor, asked)) < len(known) < len(known_of(editor, asked))
    assert all(stub.happened[name] for name in names)
    assert [one.text for one in again] == [one.text for one in results]
    assert check_aligned(asked, results) > 0.6 * items


@pytest.mark.slow
def test_all_faults_at_random(make_editor: MakeEditor) -> None:
    random_faults(1200, make_editor, 0.1)


@pytest.mark.faults
def test_all_faults_at_random_in_10_000_items(make_editor: MakeEditor) -> None:
    random_faults(10_000, make_editor, 1.0)


def test_texts_that_differ_in_numbers_alone_are_not_taken_for_each_other(make_editor: MakeEditor) -> None:
    asked = [
        Segment(f"The {src} with number {place}", f"{mt} mit der {'err' * (place % 2)}Nummer {place}")
        for src, mt in list(WORDS.items())[:20]
        for place in range(4)
    ]
    with Stub() as stub:
        editor = make_editor(stub)
        results = editor.edit_segments(asked)
        requests = len(stub.bodies)
    assert [one.text for one in results] == [corrected(one.mt or "") for one in asked]
    assert editor.store.figures()["asked again"] == {}
    assert requests == 10, "80 segments, 8 a request"


def test_the_second_request_is_not_the_first(make_editor: MakeEditor) -> None:
    (asked,) = segments(1)
    with Stub({"drop": 1.0}) as stub:
        make_editor(stub, run="x").edit_segments([asked])
        first, second = stub.bodies
        assert second["seed"] not in range(first["seed"], first["seed"] + 64), "no other sample has it"
        assert segments_of(first["messages"][-1]["content"])[0]["id"] not in second["messages"][-1]["content"]
        make_editor(stub, run="x").edit_segments([asked])
        assert len(stub.bodies) == 2, "nothing is paid twice"


def test_work_that_is_killed_between_both_requests_sends_the_second_alone(
    make_editor: MakeEditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    (asked,) = segments(1)
    with Stub({"drop": 1.0}) as stub:
        make_editor(stub, run="whole").edit_segments([asked])
    whole = stub.bodies
    with Stub({"drop": 1.0}) as stub:
        with monkeypatch.context() as patch:
            patch.setattr("postedit.llm.answer_store.Outcome.is_open", False)
            make_editor(stub, run="x").edit_segments([asked])
        make_editor(stub, run="x").edit_segments([asked])
    assert [one["seed"] for one in stub.bodies] == [one["seed"] for one in whole]
