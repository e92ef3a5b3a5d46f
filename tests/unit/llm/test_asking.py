"""Requests: what is shown in them, how long their answers may be, and how a second one differs from the first."""

from types import SimpleNamespace
from typing import Any

from stub_server import Stub, segments_of
from tests.unit.llm.conftest import MakeEditor, segments

from postedit.llm.asking import Asking, Wanted
from postedit.llm.prompts import Question
from postedit.text.hint_texts import Example


def asking(make_editor: MakeEditor, **options: Any) -> Asking:
    return make_editor(SimpleNamespace(url="http://127.0.0.1:9/v1"), **options).asking


def test_the_best_example_of_each_segment_comes_before_the_second_best(make_editor: MakeEditor) -> None:
    questions = [
        Question(name, name, tuple(Example(f"{name}{rank}", "mt", "pe") for rank in (1, 2))) for name in ("a", "b")
    ]
    wanted = [Wanted(one, 0) for one in questions]
    for tokens, shown in ((1000, ["a1", "b1", "a2", "b2"]), (30, ["a1", "b1"])):
        *_, user = asking(make_editor, context_tokens=tokens).lines(wanted, ["x", "y"])
        places = {name: user["content"].find(f'"{name}"') for name in ("a1", "a2", "b1", "b2")}
        assert sorted((name for name in places if places[name] >= 0), key=lambda name: places[name]) == shown


def test_answers_may_be_as_long_as_what_they_have_to_hold(make_editor: MakeEditor) -> None:
    short, long_mt, long_src = Question("s", "m"), Question("s", "m" * 400), Question("s" * 400, "m")
    plain = asking(make_editor)
    least = plain.answer_tokens([short])
    assert plain.answer_tokens([long_mt]) == plain.answer_tokens([long_src]) >= least + 2 * 100
    assert plain.answer_tokens([short, short]) > least
    assert asking(make_editor, extra_tokens=500).answer_tokens([short]) == least + 500
    assert asking(make_editor, prompt="error-spans").answer_tokens([short]) > least + 100


def test_a_second_request_has_another_seed_and_other_ids(make_editor: MakeEditor) -> None:
    (asked,) = segments(1)
    with Stub({"drop": 1.0}) as stub:
        make_editor(stub, seed=7).edit_segments([asked])
        other = make_editor(stub, seed=8, samples=2, temperature=0.5, concurrency=1)
        other.edit_segments([asked])
    assert [body["seed"] for body in stub.bodies] == [7, 1007, 8, 9, 1008, 1009]
    ids = [one["id"] for body in stub.bodies for one in segments_of(body["messages"][-1]["content"])]
    assert len(set(ids)) == 6
