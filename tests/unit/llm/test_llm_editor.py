"""The editor: answers kept and chosen, memory, glossary, tags, prompts, and a gate behind it."""

import asyncio
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from stub_server import Stub, corrected
from tests.unit.llm.conftest import MakeEditor, segments

from postedit.adapt.adaptation_config import LearningConfig
from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import CorrectionMemory, Entry
from postedit.adapt.learning_editor import MemorySpec, SimilarCorrections
from postedit.core.config import load_config
from postedit.core.edit_reasons import ErrorReason, reasons_as_json, reasons_of_json
from postedit.core.editor import Abilities, Constraints, Detail, Editor, Identity, PostEdit, Segment
from postedit.core.errors import DataError, OutputError
from postedit.core.search_config import SearchConfig
from postedit.editing.iterated import Iterated
from postedit.editing.protection import Protected
from postedit.editing.quality_tags import QualityTags
from postedit.editing.results import unchanged
from postedit.explain.reason_texts import reason_text
from postedit.llm import llm_editor
from postedit.llm.answer_selection import best_by_model, consensus
from postedit.llm.answer_store import AnswerStore, Outcome
from postedit.llm.answers import Item
from postedit.llm.asking import Wanted, _batches
from postedit.llm.endpoint_options import EndpointSpec, LlmConfig
from postedit.llm.llm_editor import LlmEditor, load_llm, why_skipped
from postedit.llm.prompts import Question
from postedit.llm.usage import estimate, report, summary
from postedit.text.glossary import Glossary, GlossaryEntry
from postedit.text.hint_texts import Example, TermHint
from postedit.text.span_patterns import KINDS

EXAMPLES = (Example("a", "b", "c"),)
TERMS = (TermHint("a", ("b",), ()),)


class Scores(Editor):
    """Gives texts the scores of a table; one that is not there is too long for it."""

    abilities = Abilities(forced_scores=True)

    def __init__(self, scores: Mapping[str, float], name: str = "scores") -> None:
        self.scores, self.name = scores, name

    def identity(self, search: SearchConfig | None = None) -> Identity:
        return Identity((self.name,), {})

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        return [unchanged(one.mt or "", None) for one in segments]

    def score_segments(
        self, segments: Sequence[Segment], outputs: Sequence[str], *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        return [
            PostEdit(text, False, self.scores[text]) if text in self.scores else unchanged(text, "too long")
            for text in outputs
        ]


def test_what_is_known_is_not_asked_for_again(make_editor: MakeEditor) -> None:
    asked = segments(50)
    with Stub() as stub:
        first = make_editor(stub).edit_segments(asked)
        requests = len(stub.asked)
        editor = make_editor(stub)
        assert estimate(editor, asked).requests == 0
        assert editor.edit_segments(list(reversed(asked))) == list(reversed(first))
        assert len(stub.asked) == requests
        make_editor(stub).edit_segments([*asked, Segment("new", "errneu .")])
        assert stub.asked[requests:] == [[("new", "errneu .")]]
        assert editor.store.figures()["answers known before"] == len({(one.src, one.mt) for one in asked})
        make_editor(stub, segments=3, least_kept=0.0).edit_segments(asked)
        assert len(stub.asked) == requests + 1, "the company of a segment and checks of known answers change nothing"
        for other in (
            {"temperature": 0.5},
            {"seed": 2},
            {"prompt": "plain"},
            {"languages": ""},
        ):
            before = len(stub.asked)
            make_editor(stub, **other).edit_segments(asked[:1])
            assert len(stub.asked) == before + 1, other


def test_swapped_sides_are_noticed_by_the_languages(make_editor: MakeEditor) -> None:
    with Stub() as stub:
        for languages, noticed in (("en:ru", True), ("English:Russian", False), ("", False)):
            editor = make_editor(stub, languages=languages)
            assert editor.seem_swapped(["Никто не спрашивает ."], ["Nobody asks ."]) == noticed
            assert not editor.seem_swapped(["Nobody asks ."], ["Никто не спрашивает ."])


@pytest.mark.parametrize(
    "other",
    [
        {"model": "n"},
        {"endpoint": "http://127.0.0.1:2/v1"},
        {"prompt": "plain"},
        {"languages": "en:fr"},
        {"temperature": 0.5},
        {"seed": 2},
        {"sample": 1},
        {"structure": "none"},
        {"extra_tokens": 1},
        {"context_tokens": 999},
        {"question": Question("other", "mt", EXAMPLES, TERMS)},
        {"question": Question("src", "other", EXAMPLES, TERMS)},
        {"question": Question("src", "mt", (), TERMS)},
        {"question": Question("src", "mt", EXAMPLES, ())},
    ],
)
def test_an_answer_is_another_one_if_anything_differs_that_it_depends_on(tmp_path: Path, other: dict[str, Any]) -> None:
    assert key_of(tmp_path, **other) != key_of(tmp_path)


def test_an_answer_is_the_same_whatever_else_differs(tmp_path: Path) -> None:
    others = {
        "segments": 9,
        "least_kept": 0.4,
        "concurrency": 1,
        "timeout": 1.0,
        "retries": 0,
        "requests_per_minute": 9,
        "samples": 2,
        "run": "other",
    }
    assert key_of(tmp_path, **others, temperature=0.5) == key_of(tmp_path, temperature=0.5)
    alone = Question("src", "mt")  # with nothing beside it that could be left out
    assert key_of(tmp_path, question=alone, context_tokens=1) == key_of(tmp_path, question=alone)


def key_of(
    tmp_path: Path,
    model: str = "m",
    question: Question | None = None,
    sample: int = 0,
    run: str = "run",
    **options: Any,
) -> str:
    """Return the key under which an answer is kept."""
    where = {"endpoint": "http://127.0.0.1:1/v1", "cache": str(tmp_path / "answers")}
    editor = LlmEditor(EndpointSpec(model, LlmConfig(**{**where, **options}), run))
    return editor.asking.key(Wanted(question or Question("src", "mt", EXAMPLES, TERMS), sample))


def test_known_answers_are_judged_by_what_has_to_be_kept_of_mt_now(make_editor: MakeEditor) -> None:
    asked = [Segment("The small house stands on the hill", "errDas kleine Haus steht auf dem Berg")]
    with Stub(correct=lambda src, mt: "Das Häuschen befindet sich auf einem Hügel") as stub:
        for least, skipped, requests in ((0.9, "no answer", 2), (0.5, None, 2), (0.9, "no answer", 2)):
            editor = make_editor(stub, least_kept=least)
            (result,) = editor.edit_segments(asked)
            assert (result.skipped, len(stub.asked)) == (skipped, requests)
            assert editor.store.figures()["left as mt"] == ({"unrelated": 1} if skipped else {})
        strict, others = make_editor(stub, least_kept=0.9, seed=2), make_editor(stub, least_kept=0.5, seed=2)
        others.edit_segments(asked)
        assert (estimate(strict, asked).known, strict.edit_segments(asked)[0].skipped) == (0, "no answer")
        assert len(stub.asked) == 4, "it is asked about alone, as an answer that does not pass always is"


def test_answers_are_kept_in_a_file_of_this_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    AnswerStore(path, "run", "m").close()
    assert path.stat().st_mode & 0o077 == 0


def test_a_request_under_way_when_work_is_killed_counts_at_its_most(tmp_path: Path) -> None:
    with AnswerStore(tmp_path / "answers", "run", "m") as store:
        store.begin(1, 0.5)
        store.end(store.begin(1, 4.0), "free", cost=0.0)
    with AnswerStore(tmp_path / "answers", "run", "m") as store:
        assert store.spent() == 0.5
    with AnswerStore(tmp_path / "answers", "other", "m") as store:
        assert store.spent() == 0.0


def test_the_costs_of_a_store_without_totals_are_summed_once(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    for run in ("run", "other"):
        with AnswerStore(path, run, "m") as store:
            store.begin(1, 0.5)
            store.end(store.begin(1, 4.0), "lost", cost=1.0)
            store._database.executescript("DROP TRIGGER cost_added; DROP TRIGGER cost_changed; DROP TABLE costs;")
            store.end(store.begin(1, 2.0), "lost", cost=0.25)
    for _ in range(2):
        with AnswerStore(path, "run", "m") as store, AnswerStore(path, "other", "m") as other:
            assert (store.spent(), other.spent()) == (1.75, 1.75)


def test_a_store_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version=2")
    with pytest.raises(OutputError, match="store of version 2"):
        AnswerStore(path, "run", "m")


def test_a_database_of_something_else_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE requests (number INTEGER)")
    before = path.read_bytes()
    with pytest.raises(OutputError, match="is a database of something else"):
        AnswerStore(path, "run", "m")
    assert path.read_bytes() == before


def test_a_full_disk_is_named_and_harms_nothing(tmp_path: Path) -> None:
    with AnswerStore(tmp_path / "answers", "run", "m") as store:
        store._database.execute("PRAGMA max_page_count=12")
        with pytest.raises(OutputError, match="disk is full"):
            store.keep({str(number): Outcome(Item("x" * 3000)) for number in range(20)})
        store._database.execute("PRAGMA max_page_count=1000")
        store.keep({"a": Outcome(Item("x"))})
        assert list(store.find(["a", "0"])) == ["a"]


def test_a_new_store_that_several_programs_open_at_once_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = sqlite3.OperationalError("database is locked")
    locked.sqlite_errorcode = sqlite3.SQLITE_BUSY_RECOVERY
    errors = [locked] * 3

    class Busy(sqlite3.Connection):
        def execute(self, statement: str, /, *values: Any) -> sqlite3.Cursor:
            if errors and statement == "PRAGMA journal_mode=WAL":
                raise errors.pop()
            return super().execute(statement, *values)

    monkeypatch.setattr("postedit.llm.answer_store._PAUSE", 0.0)
    monkeypatch.setattr("postedit.llm.answer_store._OPENING", 600.0)
    monkeypatch.setattr("sqlite3.connect", partial(sqlite3.connect, factory=Busy))
    with AnswerStore(tmp_path / "answers", "run", "m") as store:
        store.begin(1, 0.5)
    assert not errors
    errors += [locked] * 1000
    monkeypatch.setattr("postedit.llm.answer_store._OPENING", 0.0)
    with pytest.raises(OutputError, match="database is locked"):
        AnswerStore(tmp_path / "answers", "run", "m")


def test_segments_without_change_or_text_come_back_byte_for_byte(make_editor: MakeEditor) -> None:
    asked = [
        Segment("a  b", " ein\tguter   Satz \u00a0."),
        Segment("", "x"),
        Segment("x", "  "),
        Segment("two words", "  errzwei   Worte \t"),
        Segment("w " * 600, "w " * 600),
    ]
    with Stub(correct=lambda src, mt: " ".join(corrected(mt).split(" "))) as stub:
        results = make_editor(stub).edit_segments(asked)
    assert results[0].text is asked[0].mt or results[0].text == asked[0].mt
    assert [one.skipped for one in results] == [None, "empty", "empty", None, "too long"]
    assert results[3].text == "  zwei   Worte \t"
    assert len(stub.asked[0]) == 2


def test_letters_that_are_only_encoded_otherwise_are_no_edits(make_editor: MakeEditor) -> None:
    divided, both = "Mu\u0308ller errgeht nach Ko\u0308ln .", "Mu\u0308ller und M\u00fcller errgehen heim ."
    asked = [Segment("Miller goes to Cologne .", divided), Segment("Miller and Miller go home .", both)]
    with Stub(correct=lambda src, mt: normalize("NFC", corrected(mt))) as stub:
        result, mixed = make_editor(stub, segments=1).edit_segments(asked)
    assert result.text == divided.replace("err", "")
    assert [divided[slice(*one.mt_span)] for one in result.edits] == ["errgeht"]
    assert "M\u00fcller gehen" in mixed.text
    with Stub(correct=lambda src, mt: normalize("NFC", mt)) as stub:
        (result,) = make_editor(stub, segments=1, seed=2).edit_segments(asked[:1])
    assert (result.text, result.changed) == (divided, False)


@pytest.mark.parametrize("mt", ["Oh\u00a0! Das errkostet fünf\u202f% mehr .", "\u3000全角\u3000スペース err文\u3000"])
def test_special_spaces_stay_where_a_model_writes_plain_ones(make_editor: MakeEditor, mt: str) -> None:
    with Stub(correct=lambda src, mt: " ".join(corrected(mt).split())) as stub:
        (result,) = make_editor(stub, languages="").edit_segments([Segment("It costs five % more , wide spaces .", mt)])
    assert result.text == mt.replace("err", "")
    assert len(result.edits) == 1


def test_characters_of_scripts_without_spaces_count_as_words() -> None:
    assert why_skipped(Segment("law " * 5, "法律是。ข้อ"), 7) is None
    assert why_skipped(Segment("law " * 5, "法律是。ข้อ"), 6) == "too long"


def test_estimates_are_near_what_it_takes(make_editor: MakeEditor) -> None:
    asked = segments(300)
    with Stub() as stub:
        editor = make_editor(stub)
        found = estimate(editor, asked)
        editor.edit_segments(asked)
    figures = editor.store.figures()
    assert found.segments == 300
    assert found.requests == pytest.approx(figures["requests"], rel=0.1)
    assert found.prompt_tokens == pytest.approx(figures["prompt tokens"], rel=0.2)
    assert found.answer_tokens == pytest.approx(figures["answer tokens"], rel=0.3)
    assert found.cost == pytest.approx(figures["cost"], rel=0.3)
    assert "EUR" in str(found)


def test_a_request_is_about_one_sample(make_editor: MakeEditor) -> None:
    asked = segments(10)
    with Stub() as stub:
        editor = make_editor(stub, samples=5, temperature=0.7)
        found = estimate(editor, asked)
        editor.edit_segments(asked)
        figures = editor.store.figures()
        assert found.requests == figures["requests"] == 5 * 2
        assert found.prompt_tokens == pytest.approx(figures["prompt tokens"], rel=0.2)
        assert estimate(editor, asked).requests == 0


def test_estimates_of_several_passes_are_bounds(make_editor: MakeEditor) -> None:
    asked = segments(100)
    with Stub(correct=lambda src, mt: mt.replace("err", "", 1)) as stub:  # one error a pass
        editor = make_editor(stub)
        once, found = estimate(editor, asked), estimate(editor, asked, 3)
        Iterated(editor, 3).edit_segments(asked)
        figures = editor.store.figures()
        assert once.requests < figures["requests"] <= found.requests
        assert once.cost < figures["cost"] <= found.cost
        # What is known of the first pass is not asked for, and of the others nobody can say.
        assert estimate(editor, asked, 3).requests == 2 * once.requests


def test_works_within_a_running_event_loop(make_editor: MakeEditor) -> None:
    async def notebook() -> list[str]:
        with Stub() as stub:
            return [one.text for one in make_editor(stub).edit_segments(segments(3))]

    assert asyncio.run(notebook()) == [corrected(one.mt or "") for one in segments(3)]


@pytest.mark.parametrize("request_number", [1, 3])
def test_an_interruption_within_an_event_loop_stops_the_requests(
    make_editor: MakeEditor, monkeypatch: pytest.MonkeyPatch, request_number: int
) -> None:
    ended = threading.Event()

    class Interrupted(ThreadPoolExecutor):
        def submit(self, *given: Any) -> Any:
            super().submit(*given)
            time.sleep(60)  # until the first request interrupts it

    def interrupted(src: str, mt: str) -> str:
        if len(stub.bodies) == request_number:
            os.kill(os.getpid(), signal.SIGINT)
            ended.wait(60)
        return corrected(mt)

    async def cell() -> None:
        make_editor(stub, segments=1, concurrency=1).edit_segments(segments(30))

    if request_number == 1:
        monkeypatch.setattr(llm_editor, "ThreadPoolExecutor", Interrupted)
    loop = asyncio.new_event_loop()  # that of `asyncio.run` would take the signal
    with Stub(correct=interrupted) as stub, closing(loop):
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(cell())
        ended.set()
        assert len(stub.bodies) == request_number


def test_requests_are_filled_in_order_and_in_linear_time() -> None:
    looked_up = list[str]()

    class Text(str):
        def __hash__(self) -> int:
            looked_up.append(self)
            return super().__hash__()

    texts = [Text(one) for one in "abacaadbbeaaaacfd" + 500 * "a"]
    wanted = [(str(n), Wanted(Question("s", mt), sample)) for sample in (0, 1) for n, mt in enumerate(texts)]
    made = ["".join(one.question.mt for _, one in batch) for batch in _batches(wanted, 3)]
    assert made == ["abc", "adb", "abe", "acf", "ad", *["a"] * 503] * 2
    assert len(looked_up) < 10 * len(wanted)


def test_options_of_search_that_it_cannot_follow_are_refused(make_editor: MakeEditor) -> None:
    with Stub() as stub:
        editor = make_editor(stub)
    for options in ({"edit_cost": 1.0}, {"banned": ("x",)}, {"required": ("x",)}, {"beam": 3, "n_best": 3}):
        with pytest.raises(DataError):
            editor.check(SearchConfig(**options), with_mt=True)
    for option, value in (("beam", 5), ("length_penalty", 0.5), ("no_unk", True), ("max_ratio", 2.0)):
        with pytest.raises(DataError, match=rf"search\.{option} guides .* leave it out"):
            editor.check(SearchConfig(**{option: value}), with_mt=True)
    editor.check(SearchConfig(max_input=100, batch_tokens=100), with_mt=True)
    with pytest.raises(DataError, match="no constraints"):
        editor.edit_segments([Segment("a", "b", Constraints(prefix="x"))])
    with pytest.raises(DataError, match="give mt"):
        editor.edit_segments([Segment("a")])
    with pytest.raises(DataError, match="cannot score"):
        editor.score_segments([Segment("a", "b")], ["c"])


def test_protection_holds_for_it(make_editor: MakeEditor) -> None:
    asked = [Segment("Open 12 files at {0} .", "errÖffnen Sie 12 Dateien um {0} .")]
    with Stub(correct=lambda src, mt: corrected(mt).replace("12", "13").replace("{0}", "")) as stub:
        (result,) = Protected(make_editor(stub), KINDS).edit_segments(asked)
    assert result.text == "Öffnen Sie 12 Dateien um {0} ."
    assert {one.kind for one in result.fallbacks} >= {"number", "placeholder"}


def test_errors_that_it_names_are_reasons_of_edits(make_editor: MakeEditor) -> None:
    asked = [Segment("a b c d", "errA b errC d"), Segment("x y", "x y")]
    with Stub() as stub:
        editor = make_editor(stub, prompt="error-spans")
        assert editor.abilities.reasons
        results = editor.edit_segments(asked, evidence="reasons")
        assert not any(edit.reasons for one in editor.edit_segments(asked) for edit in one.edits)
    assert [edit.reasons for edit in results[0].edits] == [
        (ErrorReason("errA", "fluency", "minor"),),
        (ErrorReason("errC", "fluency", "minor"),),
    ]
    reasons = results[0].edits[0].reasons
    assert reasons_of_json(reasons_as_json(reasons)) == reasons
    assert reason_text(reasons[0]) == 'the model names an error, minor, fluency: "errA"'


class TestSelection:
    def test_consensus_prefers_what_most_samples_are_near_to(self) -> None:
        for metric in ("chrf", "ter"):
            samples = ["das Haus ist groß", "das Haus ist groß", "ein Gebäude hat Größe"]
            assert consensus(samples, "das Haus ist gross", metric) == "das Haus ist groß"
            assert consensus([], "das Haus", metric) == "das Haus"
            assert consensus(["a b c d", "a b c e", "a b x d"], "a b c d", metric) == "a b c d"

    def test_each_metric_has_its_own_consensus(self) -> None:
        samples = ["Haus das steht hier", "das Hausdach steht", "dass Haus stehen"]
        assert consensus(samples, "x y z", "ter") == "das Hausdach steht"
        assert consensus(samples, "x y z", "chrf") == "Haus das steht hier"

    def test_mt_stays_where_samples_agree_on_nothing(self) -> None:
        mt = "das Haus ist sehr schön und alt"
        words = mt.split()
        samples = [" ".join([*words[:place], f"neu{place}", *words[place + 1 :]]) for place in range(7)]
        assert consensus(samples, mt, "ter") == mt
        assert consensus(samples, mt, "chrf") == mt

    def test_confidence_is_the_share_of_samples(self, make_editor: MakeEditor) -> None:
        def sampled(src: str, mt: str) -> str:
            calls[mt] = calls.get(mt, 0) + 1
            return mt.replace("errA", "A") if calls[mt] == 2 else corrected(mt)

        calls: dict[str, int] = {}
        with Stub(correct=sampled) as stub:
            editor = make_editor(stub, samples=4, temperature=0.7, concurrency=1)
            (result,) = editor.edit_segments([Segment("a b c d e", "errA b c errD e")])
        assert result.text == "A b c D e"
        assert result.confidences == (1.0, 0.75)
        assert result.token_spans == ((0, 1), (1, 2))
        assert [body["seed"] for body in stub.bodies] == [1, 2, 3, 4]

    def test_answers_that_cannot_be_used_make_no_edit_surer(self, make_editor: MakeEditor) -> None:
        def sampled(src: str, mt: str) -> str:
            return corrected(mt) if len(stub.bodies) == 1 else "ganz andere Worte hier"

        with Stub(correct=sampled) as stub:
            editor = make_editor(stub, samples=4, temperature=0.7, concurrency=1)
            (result,) = editor.edit_segments([Segment("The house is big", "Das errHaus ist groß")])
        assert (result.text, result.confidences) == ("Das Haus ist groß", (0.25,))

    def test_a_model_of_our_own_chooses(self, tiny_folders: Path, make_editor: MakeEditor) -> None:
        from postedit import PostEditor

        scorer = PostEditor.load(tiny_folders / "transformer", device="cpu")
        asked = [Segment("a b", "c d"), Segment("b a", "d c")]
        lists = [["c d", "c c d", "d"], ["d c", "c"]]
        chosen = best_by_model(scorer, asked, lists)
        for segment, texts, one in zip(asked, lists, chosen, strict=True):
            scores = scorer.score_segments([segment] * len(texts), texts)
            means = [found.score / len(found.token_scores) for found in scores]
            assert one == texts[means.index(max(means))]

    @pytest.mark.parametrize(
        ("scores", "chosen"),
        [
            ({"errA b": -2.0, "A b": -1.0}, "A b"),
            ({"errA b": -1.0, "A b": -2.0}, "errA b"),
            ({"errA b": -1.0}, "errA b"),  # what cannot be scored is no better than mt
        ],
    )
    def test_a_scorer_chooses_in_place_of_the_consensus(
        self, make_editor: MakeEditor, scores: dict[str, float], chosen: str
    ) -> None:
        with Stub() as stub:
            (result,) = make_editor(stub, scorer=Scores(scores)).edit_segments([Segment("a b", "errA b")])
        assert result.text == chosen

    def test_only_edits_of_bad_words_and_gaps_are_kept(self, make_editor: MakeEditor, tmp_path: Path) -> None:
        mt, tags = tmp_path / "mt", tmp_path / "tags"
        mt.write_text("errA b errC d\nx y\n", encoding="utf-8")
        tags.write_text("OK BAD OK OK OK OK OK OK OK\nOK OK OK OK BAD\n", encoding="utf-8")
        with Stub(correct=lambda src, mt: corrected(mt) + (" z" if "x y" in mt else "")) as stub:
            editor = make_editor(stub, tags=str(tags), tagged=str(mt))
            results = editor.edit_segments(
                [Segment("s", "errA b errC d"), Segment("t", "x y"), Segment("u", "errE f and more")]
            )
        assert [one.text for one in results] == ["A b errC d", "x y z", "E f and more"]
        assert results[0].reverted == 1
        tags.write_text("OK\nOK OK OK OK BAD\n", encoding="utf-8")
        with pytest.raises(DataError, match="line 1: has 1 tags"):
            QualityTags(tags, mt)


def test_editors_that_may_decide_otherwise_have_another_identity(make_editor: MakeEditor, tmp_path: Path) -> None:
    (tmp_path / "mt").write_text("a b\n", encoding="utf-8")
    for name, tags in (("one", "OK OK OK BAD OK"), ("two", "OK BAD OK OK OK")):
        (tmp_path / name).write_text(f"{tags}\n", encoding="utf-8")
    pairs: list[list[dict[str, Any]]] = [
        [{}, {"prompt": "plain"}],
        [{"glossary": Glossary([GlossaryEntry("house", (one,))])} for one in ("Haus", "Heim")],
        [{"tagged": str(tmp_path / "mt"), "tags": str(tmp_path / name)} for name in ("one", "two")],
        [{"scorer": Scores({}, name)} for name in ("one", "two")],
    ]
    with Stub() as stub:
        found = [make_editor(stub, **options).identity() for pair in pairs for options in pair]
        assert make_editor(stub, concurrency=1).identity() == found[0]
    assert all(one not in found[:place] for place, one in enumerate(found))


def test_without_prices_nothing_is_said_to_have_been_free(make_editor: MakeEditor) -> None:
    with Stub() as stub:
        editor = make_editor(stub, prices="")
        editor.edit_segments(segments(2))
    figures = report(editor)
    assert figures["requests"] == 1
    assert [figures[name] for name in ("cost", "of which perhaps not charged", "currency")] == [None] * 3
    assert "0.0000" not in summary(editor)


class TestMemory:
    def correction(self, number: int, src: str, mt: str, pe: str) -> Entry:
        return Entry(number, Correction(src, mt, pe), None)

    def test_the_most_similar_come_first_and_undone_ones_are_gone(self) -> None:
        known = SimilarCorrections()
        texts = [
            ("open the file", "öffne die Datei"),
            ("open the window", "öffne das Fenster"),
            ("sell a car", "x y z"),
        ]
        known.learn_entries(
            self.correction(number, src, mt, mt + " !") for number, (src, mt) in enumerate(texts, start=1)
        )
        assert [one.src for one in known.find("open the file", "öffne die Datei", 5, 0.3)] == [
            "open the file",
            "open the window",
        ]
        known.learn_entries([Entry(4, Correction(*texts[0], "öffne die Datei !"), 1)])
        assert [one.src for one in known.find("open the file", "öffne die Datei", 5, 0.3)] == ["open the window"]
        known.forget_all()
        assert known.find("open the file", "öffne die Datei", 5, 0.3) == []

    def test_bm25_is_that_of_its_definition(self) -> None:
        import math

        known = SimilarCorrections()
        known.learn_entries(
            self.correction(n, src, mt, "p") for n, (src, mt) in enumerate([("a a b", "x"), ("b", "y")])
        )
        found = known._scores({"src a", "src b"})
        sizes, mean = (4, 2), 3.0
        weigh = lambda count, times, size: (  # noqa: E731
            math.log1p((2 - count + 0.5) / (count + 0.5)) * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * size / mean))
        )
        assert found[0] == pytest.approx(weigh(1, 2, sizes[0]) + weigh(2, 1, sizes[0]))
        assert found[1] == pytest.approx(weigh(2, 1, sizes[1]))

    def test_examples_and_terms_are_shown_within_their_tokens(self, make_editor: MakeEditor) -> None:
        known = SimilarCorrections()
        known.learn_entries(
            self.correction(number, f"the red house number {number}", f"das rote Haus {number}", f"PE {number}")
            for number in range(50)
        )
        glossary = Glossary([GlossaryEntry("house", ("Haus",), ("Heim",))])
        asked = [Segment("the red house", "das rote errHaus")]
        with Stub() as stub:
            for tokens, shown in ((1000, 4), (60, 1), (0, 0)):
                editor = make_editor(stub, memory=known, glossary=glossary, context_tokens=tokens)
                editor.edit_segments(asked)
                user = stub.bodies[-1]["messages"][-1]["content"]
                assert user.count('"correction": "PE') == shown
                assert ('"never": ["Heim"]' in user) == (tokens > 0)

    def test_an_editor_follows_a_memory(self, make_editor: MakeEditor, tmp_path: Path) -> None:
        where = str(tmp_path / "memory.sqlite")
        now = datetime.now(UTC)
        with CorrectionMemory(where) as memory:
            memory.add([Correction("the red house", "das rot Haus", "das rote Haus", made=now)])
        with Stub() as stub:
            config = LlmConfig(endpoint=stub.url, cache=str(tmp_path / "answers"))
            spec = EndpointSpec("tiny", config, "run")
            editor = load_llm(spec, memory=MemorySpec.now(where, "auto", LearningConfig()))
            editor.edit_segments([Segment("the red house", "das errrote Haus")])
            assert '"correction": "das rote Haus"' in stub.bodies[-1]["messages"][-1]["content"]
        assert editor.identity().settings["memory entries"] == 1


def test_the_editor_needs_no_more_of_its_interface(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert issubclass(load_llm(EndpointSpec("m", load_config(LlmConfig, {}, "x"), "r")).__class__, Editor)
