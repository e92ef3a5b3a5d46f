"""Decisions on segments: versions, repetitions, codes, and what the memory learns, on both databases."""

import asyncio
import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serve_tools import PAIRS, WordEngine, config_of, decision, imported, xliff

from postedit.adapt.correction_memory import CorrectionMemory
from postedit.core.errors import DataError, OutputError
from postedit.files.xliff1 import Xliff1
from postedit.serve import store_decisions
from postedit.serve.file_jobs import FileJobs
from postedit.serve.segment_codes import ApiCode
from postedit.serve.store import Store
from postedit.serve.store_decisions import Decided, StaleVersionError
from postedit.serve.store_jobs import LostJobError
from postedit.serve.store_proposals import Proposal


@pytest.fixture(autouse=True)
def one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all decisions be made on one day, and drafts in one go, on slow machines and about midnight as well."""
    made = store_decisions.now()
    monkeypatch.setattr(store_decisions, "now", lambda: made)
    monkeypatch.setattr(store_decisions, "_TOGETHER", timedelta(days=1))


@pytest.fixture
def file(store: Store) -> str:
    return imported(store, xliff(*PAIRS))


def learnt(store: Store) -> list[tuple[str, str]]:
    return [(one.correction.mt, one.correction.pe) for one in store.memory.of("default").corrections()]


def save(store: Store, file: str, number: int, target: str, **values: Any) -> Decided:
    return store.decisions.save(file, number, decision(store, file, number, target, **values), "anna")


def test_a_decision_on_an_old_version_is_refused_with_the_new_one(store: Store, file: str) -> None:
    late = decision(store, file, 4, "der Baum")
    save(store, file, 4, "ein Baum", state="draft")
    with pytest.raises(StaleVersionError, match="changed by anna") as found:
        store.decisions.save(file, 4, late, "ben")
    assert (found.value.segment["version"], found.value.segment["state"]) == (1, "draft")
    assert learnt(store) == []


def test_looking_at_a_segment_keeps_its_version_and_what_is_written(store: Store, file: str) -> None:
    looked = decision(store, file, 4, "", codes=[], state="seen")
    seen = store.decisions.save(file, 4, looked, "ben").segment
    assert (seen["state"], seen["version"]) == ("seen", looked.version)
    save(store, file, 4, "ein Baum", state="draft")
    late = store.decisions.save(file, 4, decision(store, file, 4, "", codes=[], state="seen", version=0), "ben").segment
    assert (late["state"], late["target"], late["version"]) == ("draft", "ein Baum", 1)


def test_the_same_decision_sent_again_counts_once(store: Store, file: str) -> None:
    first = decision(store, file, 1, "das Haus")
    saved = store.decisions.save(file, 1, first, "anna")
    again = store.decisions.save(file, 1, first, "anna")
    assert (again.filled, again.correction, again.segment) == (saved.filled, saved.correction, saved.segment)
    assert len(learnt(store)) == 1
    assert len(store.segments.history(file, 1)) == 1


def test_confirming_anew_replaces_what_was_learnt(store: Store, file: str) -> None:
    assert save(store, file, 4, "der Baum").correction == 1
    assert save(store, file, 4, "der Baum").correction == 1  # nothing is new
    assert save(store, file, 4, "dieser Baum").correction == 3
    assert learnt(store) == [("ein Baum", "dieser Baum")]
    assert save(store, file, 4, "dieser Baum", state="draft").correction is None
    assert learnt(store) == []
    states = [one["state"] for one in store.segments.history(file, 4)]
    assert states == ["confirmed", "confirmed", "confirmed", "draft"]


def test_a_segment_stays_open_when_its_correction_is_undone_elsewhere(store: Store, file: str) -> None:
    number = save(store, file, 4, "der Baum").correction
    assert number is not None
    store.memory.undo(number)
    assert save(store, file, 4, "der Baum").correction == 3  # learnt anew
    store.memory.delete("default")
    assert save(store, file, 4, "dieser Baum").correction == 4
    assert learnt(store) == [("ein Baum", "dieser Baum")]


def test_without_mt_there_is_nothing_to_learn(store: Store, file: str) -> None:
    assert save(store, file, 5, "ein neuer Baum > 5").correction is None
    text = store.exports.file(file).read().decode()
    assert "ein neuer Baum &gt; 5</target>" in text


def test_a_decision_and_its_correction_are_written_together(
    store: Store, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = store.segments.get(file, 1)
    one = decision(store, file, 1, "das Haus")
    with monkeypatch.context() as patch:
        patch.setattr("postedit.serve.store_decisions._record", _full)
        with pytest.raises(OutputError, match="disk full"):
            store.decisions.save(file, 1, one, "anna")
    assert store.segments.get(file, 1) == before
    assert learnt(store) == []
    with monkeypatch.context() as patch:
        patch.setattr(CorrectionMemory, "add", _full)
        with pytest.raises(OutputError, match="disk full"):
            store.decisions.save(file, 1, one, "anna")
    assert store.segments.history(file, 1) == []
    assert store.decisions.save(file, 1, one, "anna").correction == 1


def _full(*_: Any, **__: Any) -> Any:
    raise OutputError("disk full")


def test_repetitions_follow_until_somebody_decides_on_them(store: Store) -> None:
    file = imported(store, xliff(*[("a", "b")] * 4, ("a", "c")))
    save(store, file, 2, "x", state="draft")
    assert save(store, file, 1, "y").filled == [3, 4]
    assert save(store, file, 1, "z").filled == [3, 4]
    save(store, file, 4, "own")
    assert save(store, file, 1, "v").filled == [3]
    targets = [one["target"] for one in store.segments.page(file, after=0, limit=9)["segments"]]
    assert targets == ["v", "x", "v", "own", ""]
    assert learnt(store) == [("b", "own"), ("b", "v")]


@pytest.mark.parametrize("state", ["open", "draft"])
def test_repetitions_are_taken_back_with_the_confirmation(store: Store, state: str) -> None:
    file = imported(store, xliff(*[("a", "b")] * 4))
    assert save(store, file, 1, "y").filled == [2, 3, 4]
    save(store, file, 3, "own")
    given = decision(store, file, 1, "z" if state == "draft" else "", codes=[], state=state)
    assert store.decisions.save(file, 1, given, "anna").filled == []
    assert store.decisions.save(file, 1, given, "anna").filled == []  # the same, sent again
    found = store.segments.page(file, after=0, limit=9)["segments"]
    first = ("draft", "z") if state == "draft" else ("seen", "")
    assert [(one["state"], one["target"]) for one in found] == [first, ("seen", ""), ("confirmed", "own"), ("seen", "")]
    assert {one["filled_from"] for one in found} == {None}
    assert [one["version"] for one in found] == [2, 2, 2, 2]
    (event,) = (one for one in store.projects.events("default", 0, 99) if one.get("numbers") == [1, 2, 4])
    assert event["version"] == 2, "of the first of the numbers"
    assert store.decisions.last_decided(file) == 1
    assert learnt(store) == [("b", "own")]
    assert b">y<" not in store.exports.file(file).read()
    assert save(store, file, 1, "x").filled == [2, 4]


def test_segments_with_paired_codes_are_repetitions(store: Store) -> None:
    one = "<trans-unit id='{}'><source><g id='1'>a</g></source><target><g id='1'>{}</g></target></trans-unit>"
    units = "".join(one.format(number, target) for number, target in enumerate("bbc"))
    content = xliff(("x", "y")).replace(b"</body>", f"{units}</body>".encode())
    file = imported(store, content)
    assert [one["repeats"] for one in store.segments.page(file, after=0, limit=9)["segments"]] == [1, 2, 2, 1]
    assert save(store, file, 2, "d").filled == [3]


def test_the_same_text_written_in_another_way_is_no_repetition(store: Store) -> None:
    file = imported(store, xliff(("a &amp; b", "x"), ("a &#38; b", "x"), ("a &amp; b", "x")))
    first, second, third = store.segments.page(file, after=0, limit=9)["segments"]
    assert first["src"] == second["src"], "so that clients cannot tell by the texts which are filled in"
    assert first["same"] == third["same"] != second["same"]
    assert save(store, file, 1, "y").filled == [3]


def test_what_is_taken_back_in_one_file_renews_proposals_of_others(store: Store) -> None:
    file, other = imported(store, xliff(("a", "b")), "a.xlf"), imported(store, xliff(("c", "d")), "b.xlf")

    def renewed() -> set[str]:
        found = set()
        while job := store.jobs.claim(["propose"]):
            found.add(job.file)
            with store.database.change(job.project, "x") as change:
                store.jobs.advance(change, job, state="done")
        return found

    renewed()
    save(store, file, 1, "x")
    assert renewed() == {file}
    save(store, file, 1, "", codes=[], state="open")
    assert renewed() == {file, other}


def test_locked_segments_stay(store: Store) -> None:
    content = xliff(("a", "b")).replace(b'<trans-unit id="1"', b'<trans-unit id="1" translate="no"')
    file = imported(store, content)
    assert store.segments.get(file, 1)["state"] == "locked"
    assert store.files.get(file)["locked"] == store.projects.all()[0]["locked"] == 1
    with pytest.raises(DataError, match="is locked in the file"):
        save(store, file, 1, "x")


def test_a_confirmed_target_needs_text(store: Store, file: str) -> None:
    with pytest.raises(DataError, match="a confirmed target needs text"):
        save(store, file, 1, " ")


OPEN, CLOSE = ApiCode(4, "1", "open"), ApiCode(8, "1", "close")


def drafts(store: Store, file: str) -> list[tuple[str, str]]:
    return [(one["state"], one["target"]) for one in store.segments.history(file, 4)]


def test_what_is_written_in_one_go_is_one_decision(store: Store, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ("d", "de", "der", "der B", "der Baum")
    for text in texts:
        last = decision(store, file, 4, text, state="draft", seconds=0.5)
        store.decisions.save(file, 4, last, "anna")
    assert drafts(store, file) == [("draft", "der Baum")]
    assert store.segments.get(file, 4)["version"] == len(texts)
    again = store.decisions.save(file, 4, last, "anna")
    assert again.segment["version"] == len(texts), "the last one counts once, however often it is sent"
    store.decisions.save(file, 4, decision(store, file, 4, "dieser Baum", state="draft"), "ben")
    monkeypatch.setattr(store_decisions, "_TOGETHER", timedelta())
    save(store, file, 4, "der Baum!", state="draft")
    save(store, file, 4, "der Baum!!", state="draft")
    assert drafts(store, file)[1:] == [("draft", "dieser Baum"), ("draft", "der Baum!"), ("draft", "der Baum!!")]
    save(store, file, 4, "der Baum", seconds=1.0)
    (day,) = store.progress.of("default")["days"]
    assert day["seconds"] == len(texts) * 0.5 + 1


def test_what_is_written_in_one_go_leaves_one_event(store: Store, file: str) -> None:
    def shown(after: int) -> list[tuple[int, int]]:
        found = store.projects.events("default", after, 99)
        return [(one["numbers"][0], one["version"]) for one in found if one["kind"] == "segment"]

    (last,) = store.projects.last_events(["default"]).values()
    for text in ("d", "de", "der"):
        save(store, file, 4, text, state="draft")
    (known,) = store.projects.last_events(["default"]).values()
    save(store, file, 1, "das", state="draft")
    save(store, file, 4, "der Baum", state="draft")
    save(store, file, 4, "der Baum")
    save(store, file, 4, "der Baum!", state="draft")
    assert shown(last) == [(1, 1), (4, 4), (4, 5), (4, 6)], "what is confirmed stays"
    assert shown(known) == shown(last), "whoever knew the event of a draft gets the next one"


def test_the_audit_has_what_was_confirmed_and_what_took_that_back(store: Store, file: str) -> None:
    def audit() -> list[tuple[int, str, str]]:
        found = store.projects.audit("default", 99)
        return [(one["segment"], one["state"], one["target"]) for one in found if one["kind"] == "decision"]

    save(store, file, 1, "das", state="draft")
    save(store, file, 4, "der", state="draft")
    assert audit() == []
    save(store, file, 4, "der Baum")
    save(store, file, 4, "der Baum", state="draft")
    save(store, file, 4, "der Baum!", state="draft")
    assert audit() == [(4, "draft", "der Baum!"), (4, "confirmed", "der Baum")]
    assert [one["kind"] for one in store.projects.whole_audit("default")].count("decision") == 2


def test_what_is_the_proposal_again_is_open(store: Store, file: str) -> None:
    save(store, file, 4, "der Baum", state="draft")
    back = save(store, file, 4, "", state="open", codes=[]).segment
    assert (back["state"], back["target"], back["decisions"], back["version"]) == ("seen", "", [], 2)
    assert store.jobs.claim(["propose"]) is not None, "it may lack what was learnt since"
    late = decision(store, file, 4, "", state="open", codes=[], version=1)
    with pytest.raises(StaleVersionError):
        store.decisions.save(file, 4, late, "ben")
    save(store, file, 1, "die", state="draft")
    save(store, file, 1, "", state="open", codes=[])
    assert save(store, file, 3, "das Haus").filled == [1]
    assert save(store, file, 3, "", state="open", codes=[]).correction is None
    assert learnt(store) == []


@pytest.mark.parametrize(
    ("numbers", "message"),
    [([999], "there is no edit 999, as the proposal has 1"), ([0, 0], "an edit is decided on twice")],
)
def test_decisions_on_edits_that_do_not_exist_are_refused(
    store: Store, file: str, numbers: list[int], message: str
) -> None:
    edit = {"op": "replace", "mt_span": [0, 3], "pe_span": [0, 3], "before": "die", "after": "das"}
    values = {"proposal": json.dumps({"text": "das Haus", "edits": [edit]}), "text": "das Haus", "proposed_at": 0}
    with store.database.change("default", "") as change:
        store.proposals.save(change, file, [Proposal(1, values)])
    given = [{"edit": number, "accepted": True} for number in numbers]
    for state in ("draft", "confirmed"):
        with pytest.raises(DataError, match=message):
            save(store, file, 1, "das Haus", state=state, decisions=given)
    with pytest.raises(DataError, match="as the proposal has 0"):
        save(store, file, 4, "der Baum", decisions=[{"edit": 0, "accepted": True}])
    save(store, file, 1, "die Haus", decisions=given, proposal="another text")
    assert store.segments.get(file, 1)["decisions"] == [], "nothing is known of the edits of another proposal"


@pytest.mark.parametrize(
    ("target", "codes", "message"),
    [
        ("das rote", [OPEN], "lacks </g>"),
        ("das rote", [], "lacks <g id"),
        ("das rote", [OPEN, CLOSE, CLOSE], "too often, or others: 1 .close."),
        ("das rote", [OPEN, CLOSE, ApiCode(8, "7", "alone")], "too often, or others: 7 .alone."),
        ("das rote", [ApiCode(1, "1", "close"), ApiCode(2, "1", "open")], "ends .* before it begins"),
        ("das rote", [OPEN, ApiCode(3, "1", "close")], "must be in order"),
        ("das rote", [OPEN, ApiCode(9, "1", "close")], "between 0 and 8; one is at 9"),
        ("das \x01", [ApiCode(0, "1", "open"), ApiCode(0, "1", "close")], r"U\+0001; remove it"),
    ],
)
def test_codes_and_characters_that_break_a_file_are_refused(
    store: Store, file: str, target: str, codes: list[ApiCode], message: str
) -> None:
    for state in ("draft", "confirmed"):
        with pytest.raises(DataError, match=message):
            save(store, file, 2, target, codes=codes, state=state)


def test_pairs_must_not_overlap(store: Store) -> None:
    file = imported(store, xliff(("a b", '<g id="1">c</g> <g id="2">d</g>')))
    crossed = [ApiCode(0, "1", "open"), ApiCode(1, "2", "open"), ApiCode(2, "1", "close"), ApiCode(3, "2", "close")]
    with pytest.raises(DataError, match="overlaps another pair"):
        save(store, file, 1, "c d", codes=crossed)
    nested = [crossed[0], crossed[1], ApiCode(2, "2", "close"), ApiCode(3, "1", "close")]
    save(store, file, 1, "c d", codes=nested)
    assert '<g id="1">c<g id="2"> </g>d</g></target>' in store.exports.file(file).read().decode()


def test_no_code_enters_or_leaves_a_cdata_section(store: Store) -> None:
    file = imported(store, xliff(("a b", 'a <x id="1"/> <![CDATA[b <br/> c]]>')))
    codes = [ApiCode(**one) for one in store.segments.get(file, 1)["mt_codes"]]
    tag, opened, br, closed = [ApiCode(one.at, one.id, one.kind) for one in codes]
    text = store.segments.get(file, 1)["mt"]
    for order, message in (
        ([opened, tag, br, closed], "<x id=.* in a CDATA section where it does not belong"),
        ([tag, opened, closed, br], "<br/> outside"),
    ):
        wrong = [ApiCode(at, one.id, one.kind) for at, one in enumerate(order)]
        with pytest.raises(DataError, match=message):
            save(store, file, 1, text, codes=wrong)
    save(store, file, 1, text, codes=[tag, opened, br, closed])


def test_a_sign_that_now_ends_a_section_is_escaped(store: Store) -> None:
    file = imported(store, xliff(("a", "alt > x"), ("b", 'alt ]]<x id="1"/>> x')))
    save(store, file, 1, "]]> x")
    code = ApiCode(**store.segments.get(file, 2)["mt_codes"][0])
    save(store, file, 2, "neu ]]> x", codes=[ApiCode(6, code.id, code.kind)])
    written = store.exports.file(file).read().decode()
    assert ">]]&gt; x</target>" in written
    assert '>neu ]]<x id="1"/>> x</target>' in written


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_any_target_comes_back_from_the_file(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Write any text that XML can have, with codes anywhere, and read the same from the downloaded file."""
    store = _shared(tmp_path_factory)
    text = data.draw(st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff&<")))
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    codes = [ApiCode(start, "1", "open"), ApiCode(end, "1", "close")]
    save(store, FILE[0], 2, text, codes=codes, state="confirmed" if text.strip() else "draft")
    if text.strip():
        with store.exports.file(FILE[0]) as stream:
            units = list(Xliff1().units(io.BytesIO(stream.read()), Path("a.xlf")))
        target = units[1].target
        assert target is not None
        assert target.text == text
        assert [at for at, _ in target.codes] == [start, end]


FILE: list[str] = []
_STORES: list[Store] = []


def _shared(factory: pytest.TempPathFactory) -> Store:
    if not _STORES:
        _STORES.append(Store(str(factory.mktemp("shared") / "postedit.db")))
        FILE.append(imported(_STORES[0], xliff(*PAIRS)))
    return _STORES[0]


def test_decisions_about_another_proposal_are_not_learnt_from(store: Store, file: str) -> None:
    edit = {"op": "replace", "mt_span": [0, 3], "pe_span": [0, 3], "before": "die", "after": "das"}
    proposal = json.dumps({"text": "das Haus", "edits": [edit]})
    values = {"proposal": proposal, "text": "das Haus", "proposed_at": 0}
    with store.database.change("default", "") as change:
        store.proposals.save(change, file, [Proposal(1, values), Proposal(3, values)])
    given = {"decisions": [{"edit": 0, "accepted": False}], "state": "confirmed"}
    save(store, file, 1, "die Haus", proposal="another text", **given)
    save(store, file, 3, "die Haus", proposal="das Haus", **given)
    first, second = store.memory.of("default").corrections()
    assert first.correction.decisions == ()
    assert [(one.text, one.accepted) for one in second.correction.decisions] == [("das", False)]


def test_targets_over_their_length_are_found(store: Store) -> None:
    content = xliff(("a", "b"), ("c", "d")).replace(b'id="1"', b'id="1" maxwidth="5" size-unit="char"')
    file = imported(store, content)
    assert save(store, file, 1, "123456", state="draft").segment["max_length"] == 5
    save(store, file, 2, "1234567")
    assert store.segments.numbers(file, only="long") == [1]
    save(store, file, 1, "12345")
    assert store.segments.numbers(file, only="long") == []


def test_many_repetitions_are_filled_in_by_and_by(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_decisions, "_AT_ONCE", 2)
    file = imported(store, xliff(*[("a", "die")] * 6, ("b", "die")))
    jobs = FileJobs(store, WordEngine(config_of("", tmp_path)))

    def targets() -> list[str]:
        return [one["target"] for one in store.segments.page(file, after=0, limit=9)["segments"]]

    first = decision(store, file, 4, "one")
    assert store.decisions.save(file, 4, first, "anna").filled == [1, 2]
    assert targets() == ["one", "one", "", "one", "", "", ""]
    assert save(store, file, 4, "two").filled == [1, 2]
    store.decisions.save(file, 5, decision(store, file, 5, "my own", state="draft"), "ben")
    with store.database.change("default", "anna") as change:  # others may work on the file meanwhile
        store.jobs.add(change, "import", file)
    assert store.jobs.claim(["import"]) is not None
    while (job := store.jobs.claim(["fill"])) is not None:
        asyncio.run(jobs._run(job))
    assert targets() == ["two", "two", "two", "two", "my own", "two", ""]
    assert [one["state"] for one in store.segments.history(file, 6)] == ["confirmed"], "by the later decision alone"
    assert learnt(store) == [("die", "two")]
    (event,) = (one for one in store.projects.events("default", 0, 99) if one.get("numbers") == [4, 3, 6])
    assert (event["state"], event["version"]) == ("confirmed", 2)
    assert {one["kind"] for one in store.jobs.of_project("default")} == {"import", "propose"}, "none is left"


def test_a_process_that_takes_over_fills_in_no_repetition_twice(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_decisions, "_AT_ONCE", 2)
    file, fill = imported(store, xliff(*[("a", "die")] * 9)), store.decisions._fill_some
    save(store, file, 9, "one")
    died = store.jobs.claim(["fill"])
    assert died is not None
    batches = iter((fill, fill))

    def dying(*options: Any) -> int | None:
        return next(batches)(*options)

    monkeypatch.setattr(store.decisions, "_fill_some", dying)
    with pytest.raises(StopIteration):
        store.decisions.fill_on(died)
    monkeypatch.setattr(store.decisions, "_fill_some", fill)
    taken = store.jobs.take_over(died.id, store.jobs.running()[died.id])
    assert taken is not None
    assert taken.options["after"] == 6
    store.decisions.fill_on(taken)
    with pytest.raises(LostJobError):
        store.decisions.fill_on(died)
    histories = [store.segments.history(file, number) for number in range(1, 10)]
    assert [[one["target"] for one in history] for history in histories] == [["one"]] * 9


def propose(store: Store, file: str, number: int, content: str) -> None:
    values = {"proposal": json.dumps({"text": content, "edits": []}), "text": content, "changed": True}
    with store.database.change("default", "") as change:
        store.proposals.save(
            change, file, [Proposal(number, {**values, "proposal_content": content, "proposed_at": 0})]
        )


def test_a_draft_is_downloaded_in_place_of_a_proposal(store: Store, file: str) -> None:
    for number in (1, 2, 4):
        propose(store, file, number, "vom Modell")
    save(store, file, 2, "von Anna", state="draft")
    save(store, file, 4, " ", state="draft")
    with store.exports.file(file, proposals=True) as stream:
        found = [None if unit.target is None else unit.target.text for unit in Xliff1().units(stream, Path("a.xlf"))]
    assert found[:2] == ["vom Modell", "von Anna"]
    assert "vom Modell" not in found[2:]
    with store.exports.file(file) as stream:
        assert b"vom Modell" not in (text := stream.read())
        assert b"von Anna" not in text


def test_no_proposal_is_longer_than_its_file_allows(store: Store) -> None:
    content = xliff(("a", "b"), ("c", "d")).replace(b"<trans-unit ", b'<trans-unit maxwidth="5" size-unit="char" ')
    file = imported(store, content)
    propose(store, file, 1, "123456")
    propose(store, file, 2, "12345")
    with store.exports.file(file, proposals=True) as stream:
        text = stream.read()
    assert b"<target>b</target>" in text
    assert b">12345</target>" in text
    save(store, file, 1, "1234567", state="draft")  # people may, and are warned
    with store.exports.file(file, proposals=True) as stream:
        assert b">1234567</target>" in stream.read()


@pytest.mark.parametrize(
    ("decided", "proposed", "expected"),
    [
        (2, 1, b'mid="1">xx</mrk> <mrk mtype="seg" mid="2">123456789<'),
        (1, 2, b'mid="1">123456789</mrk> <mrk mtype="seg" mid="2">yy<'),
    ],
)
def test_proposals_leave_the_targets_of_people_their_room(
    store: Store, decided: int, proposed: int, expected: bytes
) -> None:
    unit = (
        b'<trans-unit id="1" maxwidth="9" size-unit="char"><source>a b</source><seg-source><mrk mtype="seg" mid="1">a'
        b'</mrk> <mrk mtype="seg" mid="2">b</mrk></seg-source><target><mrk mtype="seg" mid="1">xx</mrk> '
        b'<mrk mtype="seg" mid="2">yy</mrk></target></trans-unit>'
    )
    start, _, rest = xliff(("a", "b")).partition(b"<trans-unit ")
    file = imported(store, start + unit + rest.partition(b"</trans-unit>")[2])
    save(store, file, decided, "123456789")
    propose(store, file, proposed, "abcd")
    with store.exports.file(file, proposals=True) as stream:
        assert expected in stream.read()


def test_a_draft_that_is_what_the_file_has_changes_nothing(store: Store) -> None:
    content = xliff(("a", "b")).replace(b"<target", b'<target state="final"')
    file = imported(store, content)
    save(store, file, 1, "b", state="draft")
    with store.exports.file(file, proposals=True) as stream:
        assert stream.read() == content


def test_a_copy_of_the_source_is_no_machine_translation(store: Store) -> None:
    copied = b'<target state="needs-translation"'
    file = imported(store, xliff(('a <g id="1">b</g>', 'a <g id="1">b</g>')).replace(b"<target", copied))
    assert (store.segments.get(file, 1)["mt"], store.segments.get(file, 1)["state"]) == ("", "new")
    codes = [ApiCode(one["at"], one["id"], one["kind"]) for one in store.segments.get(file, 1)["src_codes"]]
    store.decisions.save(file, 1, decision(store, file, 1, "c d", codes=codes), "anna")
    with store.exports.file(file) as stream:
        assert b' state-qualifier="x-post-edited">c <g id="1">d</g></target>' in stream.read()


def test_a_copy_of_the_source_in_a_locked_segment_is_shown(store: Store) -> None:
    content = xliff(("a", "a")).replace(b"<target", b'<target state="new"').replace(b'id="1"', b'id="1" translate="no"')
    found = store.segments.get(imported(store, content), 1)
    assert (found["state"], found["mt"], found["target"]) == ("locked", "a", "a")


def test_a_segment_that_a_reviewer_rejected_is_open_and_not_filled_in(store: Store) -> None:
    rejected = b'<target state-qualifier="rejected-grammar"'
    file = imported(store, xliff(("a", "b"), ("a", "b"), ("a", "b")).replace(b"<target", rejected, 1))
    assert store.segments.numbers(file, only="rejected") == [1]
    assert [one["rejected"] for one in store.segments.some(file, [1, 2])] == [True, False]
    assert save(store, file, 2, "c").filled == [3]
    assert store.segments.get(file, 1)["state"] == "new"
    assert store.segments.get(file, 1)["rejected"]
    with store.exports.file(file) as stream:
        assert stream.read().count(rejected) == 1, "only a confirmation of it withdraws the verdict"
    save(store, file, 1, "d")
    with store.exports.file(file) as stream:
        assert b"rejected" not in stream.read()


def test_escaped_markup_leaves_less_room_for_text(store: Store) -> None:
    content = xliff(("a", "A &lt;b&gt;x&lt;/b&gt;")).replace(b'id="1"', b'id="1" maxwidth="12" size-unit="char"')
    file = imported(store, content)
    assert store.segments.some(file, [1])[0]["max_length"] == 5  # seven characters are markup
    assert store.segments.numbers(file, only="long") == []
