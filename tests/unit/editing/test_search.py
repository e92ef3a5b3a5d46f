"""What texts demand of a search, through the facade."""

import functools
import logging
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny_models
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from postedit import PostEditor
from postedit.core.editor import Constraints, PostEdit, Segment
from postedit.core.errors import DataError
from postedit.core.search_config import Term
from postedit.core.special_tokens import SPECIAL_TOKENS
from postedit.editing import search as segment_search
from postedit.editing.results import enforce_constraints
from postedit.editing.search import SegmentSearch
from postedit.editing.segments import EncodedSegment
from postedit.search import Hypothesis, SearchConfig
from postedit.search.rescoring import LogLinear
from postedit.text.config import VocabularyConfig
from postedit.text.vocabulary import byte_joins
from postedit.text.words import character_joins, splitter

COPYING = {"layers_mt": 1, "layers_pe": 1, "dim": 8, "heads": 2, "feed_forward": 8}
SRC = ["the house", "it goes", "the house it goes ."]
MT = ["das Haus", "es geht", "das Haus , es geht ."]
short = functools.partial(SearchConfig, max_ratio=1.0, max_extra=3)  # nonsense has no end before its limit


@pytest.fixture(
    scope="module",
    params=[
        "m-cgru",
        "raw text",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("transference", "transformer")),
    ],
)
def editor(request: pytest.FixtureRequest) -> PostEditor:
    """Return an editor with random weights, which writes nonsense: all the more has to be kept from it."""
    if request.param == "raw text":
        text = tiny_models.processor(tokenizer="moses", src_lang="en", tgt_lang="de")
        folder = tiny_models.folder(text=text)
    else:
        folder = tiny_models.folder(request.param)
    return PostEditor(folder.model, folder.processor, short(max_input=40, mt_candidate=False))


def edited(editor: PostEditor, **options: Any) -> list[Any]:
    return editor.edit(SRC, MT, **options)


@pytest.mark.parametrize("beam", [1, 3])
def test_constraints_that_everything_meets_equal_the_plain_search(editor: PostEditor, beam: int) -> None:
    plain = edited(editor, search=short(beam=beam))
    for options in ({"max_edits": 10_000}, {"no_repeat": 1000}, {"edit_cost": 1e-9}, {"banned": ("zzzzzz",)}):
        guided = edited(editor, search=short(beam=beam, **options))
        assert [(one.text, one.edits, one.hit_limit) for one in guided] == [
            (one.text, one.edits, one.hit_limit) for one in plain
        ]


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("options", [{}, {"no_repeat": 2}], ids=["plain", "guided"])
def test_an_output_without_an_end_yields_to_mt(editor: PostEditor, beam: int, options: dict[str, Any]) -> None:
    endless = [one.hit_limit for one in edited(editor, beam=beam, search=short(mt_candidate=False, **options))]
    assert any(endless)
    for count in {1, beam}:
        found = edited(editor, beam=beam, n_best=count, search=short(**options))
        assert not any(one.hit_limit for one in found)
        assert not any(one.changed for one, cut in zip(found, endless, strict=True) if cut)
    cut = edited(editor, beam=beam, search=SearchConfig(max_ratio=0.1, max_extra=1, **options))
    assert not any(one.changed for one in cut), "mt is longer than the limit"


@pytest.mark.parametrize("options", [{"edit_cost": 0.01}, {"no_repeat": 3}, {"banned": ("x",)}], ids=str)
def test_guided_outputs_do_not_depend_on_the_company(editor: PostEditor, options: dict[str, Any]) -> None:
    search = short(max_input=40, **options)
    together = edited(editor, search=search)
    for src, mt, other in zip(SRC, MT, together, strict=True):
        for count in (1, 3):
            found = editor.edit([src] * count, [mt] * count, search=search)
            assert {one.text for one in found} == {other.text}
            assert [one.score for one in found] == pytest.approx([other.score] * count, abs=1e-4)


@pytest.mark.parametrize("most", [0, 1, 3])
def test_max_edits_counts_the_tokens_that_the_model_writes(editor: PostEditor, most: int) -> None:
    vocabulary = editor.processor.vocabulary("pe")
    found = edited(editor, search=short(max_edits=most, mt_candidate=False), evidence=True)
    for ids, one in zip(editor.processor.encode_batch("pe", MT), found, strict=True):
        written = [token for token in one.evidence.output if token not in SPECIAL_TOKENS]
        assert Levenshtein.distance(vocabulary.readable(ids[:-1]), written) <= most


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize(
    "prefix", ["das", "das Hä", "es ging ", "Häusch", "x", "das Haus , es", "C++ ist", "AT&T ist ", ""]
)
def test_corrections_begin_with_their_prefix(editor: PostEditor, prefix: str, beam: int) -> None:
    for result in edited(editor, beam=beam, prefix=[prefix] * 3):
        assert result.skipped is None
        assert result.text.startswith(prefix)


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("phrases", [["Häuschen"], ["ging", "das Haus"], ["ö 7 %"], ["C++", "km/h"]], ids=str)
def test_corrections_contain_required_phrases(editor: PostEditor, phrases: list[str], beam: int) -> None:
    everywhere = short(beam=beam, required=tuple(phrases))
    for results in (edited(editor, search=everywhere), edited(editor, beam=beam, required=[phrases] * 3)):
        for result in results:
            for phrase in phrases:
                end = r"(?!\w)" if phrase[-1].isalpha() else ""
                assert re.search(rf"(?<!\w){re.escape(phrase)}{end}", result.text), result


def test_terms_hold_where_the_source_has_them_as_whole_words(editor: PostEditor) -> None:
    plain = edited(editor, beam=2)
    terms = (Term(target="Häuschen", source="house"), Term(target="es ging", source="go"))
    results = edited(editor, search=editor.search.with_options(beam=2, required=terms))
    assert [bool(re.search(r"\bHäuschen\b", result.text)) for result in results][::2] == [True, True]
    assert results[1].text == plain[1].text


@pytest.mark.slow
@settings(max_examples=10, derandomize=True)
@given(data=st.data(), beam=st.sampled_from([1, 3]))
def test_banned_words_are_never_written(editor: PostEditor, data: st.DataObject, beam: int) -> None:
    plain = edited(editor, beam=beam)
    words = sorted({word for result in plain for word in re.findall(r"\w+", result.text)})
    banned = tuple(data.draw(st.lists(st.sampled_from(words or ["das"]), min_size=1, max_size=3)))
    for result in edited(editor, search=short(beam=beam, banned=banned)):
        if "\ufffd" not in result.text:  # half a character, which is a part of a word for the search
            assert not set(banned) & set(re.findall(r"\w+", result.text)), result
        assert result.skipped is None


@pytest.mark.parametrize("beam", [1, 3])
def test_no_edits_allowed_or_all_too_dear_is_mt(editor: PostEditor, beam: int) -> None:
    for search in (short(beam=beam, max_edits=0), short(beam=beam, edit_cost=1e4)):
        for mt, result in zip(MT, edited(editor, search=search)):
            # A model with random weights writes symbols that are no text, and cost nothing, until there is no room.
            assert (result.text, result.changed) == (mt, False) or (result.hit_limit and search.max_edits is None)


def test_a_high_post_edit_penalty_leaves_only_tokens_of_the_inputs(editor: PostEditor) -> None:
    for exempt_src in (False, True):
        search = short(beam=2, post_edit_penalty=1e4, exempt_src=exempt_src)
        for result, *texts in zip(edited(editor, search=search), MT, SRC):
            assert set(result.text) <= {" ", *"".join(texts[: 1 + exempt_src])}


@pytest.mark.parametrize("beam", [2, 4])
def test_n_best_lists_have_as_many_texts_and_mt(editor: PostEditor, beam: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postedit.editing.soundness._keep_pairs", lambda src, mt, result, kept: list(kept))
    for mt, result in zip(MT, edited(editor, beam=beam, n_best=beam)):
        texts = [one.text for one in (result, *result.alternatives)]
        assert len(set(texts)) == len(texts)
        assert [one.text for one in (result, *result.alternatives) if not one.changed] == [mt]
        assert len(texts) in (beam, beam + 1)
        assert result.text == editor.edit([SRC[MT.index(mt)]], [mt], beam=beam)[0].text
        ranks = [one.score / len(one.token_scores) for one in result.alternatives]
        assert ranks == sorted(ranks, reverse=True)


def test_mt_on_the_list_has_the_score_that_the_model_gives_it(editor: PostEditor) -> None:
    for scored, result in zip(editor.score(SRC, MT, MT), edited(editor, beam=2, n_best=2)):
        (unchanged,) = (one for one in (result, *result.alternatives) if not one.changed)
        assert unchanged.score == pytest.approx(scored.score, abs=1e-4)


LIKES_MT = {
    "greedy": SearchConfig(length_penalty=0.0),  # whose outputs have no end, so that mt is shorter
    "beam": SearchConfig(beam=3, length_penalty=3.0, max_ratio=0.1, max_extra=1),  # whose outputs must be shorter
}


@pytest.mark.parametrize("kind", LIKES_MT)
@pytest.mark.parametrize("cost", [0.0, 0.3])
def test_mt_is_the_output_where_it_ranks_higher(editor: PostEditor, kind: str, cost: float) -> None:
    config = LIKES_MT[kind].with_options(edit_cost=cost)

    def rank(one: PostEdit) -> float:
        return one.score / config.normaliser(len(one.token_scores)) if one.token_scores else -math.inf

    found, forced = edited(editor, search=config.with_options(mt_candidate=False)), editor.score(SRC, MT, MT)
    better = [one.changed and rank(kept) > rank(one) + 1e-4 for one, kept in zip(found, forced, strict=True)]
    results = edited(editor, search=config)
    assert any(better)
    assert [one.text for one, stays in zip(results, better, strict=True) if stays] == [
        text for text, stays in zip(MT, better, strict=True) if stays
    ]
    if not cost:  # which is part of the rank
        assert [one.text for one in results] == [
            text if stays else one.text for text, stays, one in zip(MT, better, found, strict=True)
        ]


@pytest.mark.parametrize("beam", [1, 3])
def test_mt_that_lacks_what_is_required_is_no_candidate(editor: PostEditor, beam: int) -> None:
    costs = short(beam=beam, edit_cost=3.0)
    for options in ({"prefix": ["Häus"] * 3}, {"required": [["ging weg"]] * 3}):
        assert all(result.changed or result.skipped for result in edited(editor, search=costs, **options))
    banned = edited(editor, search=costs.with_options(banned=("das", "geht")))
    assert all("das" not in result.text.split() and "geht" not in result.text.split() for result in banned)


def test_segments_without_an_output_stay_and_are_reported(editor: PostEditor, caplog: pytest.LogCaptureFixture) -> None:
    for beam in (1, 3):
        with caplog.at_level(logging.WARNING, "postedit"):
            results = edited(editor, search=short(beam=beam, max_edits=1), prefix=["", "", "zzzz"])
        assert [result.skipped for result in results] == [None, None, "impossible"]
        assert results[2].text == MT[2]
        assert "1 of 3 segments (the first is number 3): not edited, because no output was found that" in caplog.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prefix": ["das"]}, "prefix must be a list with one entry for each of the 3 segments"),
        ({"prefix": "das"}, "prefix must be a list"),
        ({"required": [["a"], ["b"]]}, "required must be a list with one entry"),
        ({"required": [["a"], "b", []]}, "segment 2: required must be a list of words"),
        ({"required": [["a"], ["  "], []]}, "segment 2: required must be a list of words"),
    ],
)
def test_demands_that_make_no_sense(editor: PostEditor, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        edited(editor, **options)


def test_options_that_compare_with_mt_need_mt() -> None:
    folder = tiny_models.folder("transformer", input="src")
    translator = PostEditor(folder.model, folder.processor, folder.search)
    assert len(translator.edit(SRC, beam=2, n_best=2)) == 3
    for search in (SearchConfig(post_edit_penalty=1.0), SearchConfig(max_edits=2), SearchConfig(edit_cost=0.5)):
        with pytest.raises(DataError, match="compare outputs with mt"):
            translator.edit(SRC, search=search)


def test_a_model_keeps_its_settings(tmp_path: Path) -> None:
    folder = tiny_models.folder()
    chosen = SearchConfig(
        beam=3, post_edit_penalty=0.5, max_edits=4, banned=["Haus"], normalisation="wu", length_penalty=0.6
    )
    replace(folder, search=chosen).save(tmp_path / "model")
    editor = PostEditor.load(tmp_path / "model", device="cpu")
    assert editor.search == chosen
    assert editor.search.banned == ("Haus",)


@pytest.mark.parametrize(
    "text", ["word", "Häuser", "ñandú", "жизнь", "한국", "½", "3,5", "don't", "„Haus“", "das…", "中文 字"]
)
def test_bytes_and_characters_divide_words_alike(text: str) -> None:
    vocabulary = tiny_models.processor().vocabulary("pe")
    spelt = vocabulary.spelling.spell(vocabulary.encode(text)).strip(" ")
    inside, of_bytes = False, []
    for character in spelt:
        joins = False if character == " " else byte_joins(character)
        if joins is not None:
            inside = joins
            of_bytes.append(inside)
    assert of_bytes == [character != " " and character_joins(character) for character in text]


def test_outputs_do_not_depend_on_what_other_segments_require(editor: PostEditor) -> None:
    few, many = ["Häuschen"], ["ging", "das Haus", "Häuschen ging das Haus"]
    alone = editor.edit(SRC, MT, beam=2, required=[few] * 3)
    together = editor.edit([*SRC, SRC[0]], [*MT, MT[0]], beam=2, required=[*[few] * 3, many])
    assert [(one.text, one.skipped) for one in together[:3]] == [(one.text, one.skipped) for one in alone]


def test_segments_that_require_nothing_have_drafts_beside_others_that_do(monkeypatch: pytest.MonkeyPatch) -> None:
    drafted: list[str] = []
    with_drafts = SegmentSearch._search_with_drafts

    def watched(self: SegmentSearch, segments: Sequence[EncodedSegment]) -> Any:
        drafted.extend(segment.mt for segment in segments)
        return with_drafts(self, segments)

    monkeypatch.setattr(SegmentSearch, "_search_with_drafts", watched)
    folder = tiny_models.folder()
    editor = PostEditor(folder.model, folder.processor, folder.search)
    results = edited(editor, required=[[], ["Häuschen"], []])
    assert sorted(drafted) == sorted([MT[0], MT[2]])
    assert "Häuschen" in results[1].text
    assert [results[0], results[2]] == editor.edit([SRC[0], SRC[2]], [MT[0], MT[2]])


def test_stuck_segments_are_searched_with_a_wider_beam(editor: PostEditor, monkeypatch: pytest.MonkeyPatch) -> None:
    stuck, beams = Hypothesis((), (), False, 0.0, True), []
    search = segment_search.beam_search

    def watched(model: Any, batch: Any, limits: Any, settings: SearchConfig, guidance: Any) -> Any:
        beams.append(settings.beam)
        found = search(model, batch, limits, settings, guidance)
        return found if settings.beam > 2 else [[stuck]] * batch.rows

    monkeypatch.setattr(segment_search, "beam_search", watched)
    monkeypatch.setattr(segment_search, "greedy", lambda model, batch, limits, guidance: [stuck] * batch.rows)
    monkeypatch.setattr(SegmentSearch, "_draft_search", lambda self, segments: [[stuck]] * len(segments))
    for beam in (1, 2):
        assert [result.skipped for result in edited(editor, beam=beam)] == [None] * 3
    assert beams == [8, 2, 8]


def met(result: PostEdit, prefix: str = "", required: Sequence[str] = ()) -> PostEdit:
    return enforce_constraints("mt", result, prefix, required, splitter("moses", "de"))


@pytest.mark.parametrize(
    ("text", "expected", "constraints"),
    [
        ("C + + ist gut", "C++ ist gut", {"prefix": "C++ ist"}),
        ("Das Haus, es", "das Haus , es", {"prefix": "das Haus ,"}),
        ("Das Haus steht", "das Haus  steht", {"prefix": "das Haus  "}),
        ("Etwa 50% davon", "Etwa 50 % davon", {"required": ["50 %"]}),
        ("Etwa 50 km / h", "Etwa 50 km/h", {"required": ["km/h"]}),
        ("Haus und Hof", "Haus und Hof", {"required": ["haus", "Hof"]}),
        ("Das Haus", None, {"prefix": "Der"}),
        ("dasHaus", None, {"required": ["das Haus"]}),
        ("Hausbau", None, {"required": ["Haus"]}),
        ("C + + ist", None, {"prefix": "C + +", "required": ["C++"]}),
    ],
)
def test_constraints_are_written_or_reported(text: str, expected: str | None, constraints: dict[str, Any]) -> None:
    found = met(PostEdit(text, True, -1.0, (-1.0,), ()), **constraints)
    assert (found.text, found.skipped) == (("mt", "impossible") if expected is None else (expected, None))


def test_outputs_that_break_constraints_do_not_count() -> None:
    def output(text: str, *others: PostEdit) -> PostEdit:
        return PostEdit(text, text != "mt", -1.0, (-1.0,), (), alternatives=others)

    found = output("Das Haus", output("mt"), output("Ein Hof"), output("Das Ho f"), output("Hof an Hof"))
    kept = met(found, required=["Hof"])
    assert (kept.text, [one.text for one in kept.alternatives]) == ("Ein Hof", ["mt", "Hof an Hof"])
    assert met(found, required=["Dach"]).skipped == "impossible"


def test_guided_segments_do_not_change_others_beside_a_shortlist() -> None:
    folder = tiny_models.nonsense("transformer")
    editor = PostEditor(folder.model, folder.processor, folder.search)
    search = folder.search.with_options(shortlist=5, max_ratio=2.0, max_extra=10)
    alone = editor.edit(SRC[:2], MT[:2], search=search)
    for constraint in ({"prefix": ["", "", "es"]}, {"required": [[], [], ["Haus"]]}):
        together = editor.edit(SRC, MT, search=search, **constraint)[:2]
        assert [(one.text, one.score) for one in together] == [
            (one.text, pytest.approx(one.score, abs=1e-5)) for one in alone
        ]


def test_outputs_of_wider_beams_follow_the_first_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_models.folder("m-cgru")
    search = SegmentSearch(folder.model, folder.processor, SearchConfig(beam=3, n_best=3, mt_candidate=False))
    ids = folder.processor.encode_batch("pe", ["a", "b", "c"])
    narrow, worse, better = (Hypothesis(tuple(row[:-1]), (score, 0.0)) for row, score in zip(ids, (-2.0, -3.0, -1.0)))
    lists = iter([[[narrow, worse]], [[better, narrow]]])
    monkeypatch.setattr(search, "_best", lambda *_: next(lists))
    monkeypatch.setattr(segment_search, "_rows", lambda batch, rows: batch)
    segment: Any = SimpleNamespace(mt="das Haus")
    batch: Any = None
    assert search._distinct_lists(batch, [segment]) == [[narrow, better, worse]]


@pytest.mark.parametrize(
    ("beam", "options"),
    [(1, {}), (1, {"max_edits": 0}), (3, {"max_edits": 0}), (3, {"edit_cost": 99.0}), (3, {"n_best": 3})],
    ids=str,
)
def test_unknown_words_that_are_copied_are_those_of_mt(beam: int, options: dict[str, Any]) -> None:
    vocabulary = VocabularyConfig(sharing="mt-pe", size=320, limit=30, copied=9)
    folder = tiny_models.folder("copy-transformer", tiny_models.processor(vocabulary=vocabulary), **COPYING)
    editor = PostEditor(folder.model, folder.processor, short(length_penalty=0.0))
    src, mt = ["it goes", "the house"], ["es zzz geht q", "w Haus q"]
    results = editor.edit(src, mt, search=editor.search.with_options(beam=beam, **options))
    for words, result, scored in zip(mt, results, editor.score(src, mt, mt), strict=True):
        (unchanged,) = (one for one in (result, *result.alternatives) if one.text == words)
        assert unchanged is result or "n_best" in options
        assert unchanged.score == pytest.approx(scored.score, abs=1e-4)


@pytest.mark.parametrize(("banned", "skipped"), [("q", "impossible"), ("zzz", "impossible"), ("geht", None)])
def test_banned_words_are_not_copied_either(banned: str, skipped: str | None) -> None:
    """Search does not know the words of copied tokens; an output that has one of them all the same is not kept."""
    vocabulary = VocabularyConfig(sharing="mt-pe", size=320, limit=30, copied=9)
    folder = tiny_models.folder("copy-transformer", tiny_models.processor(vocabulary=vocabulary), **COPYING)
    editor, mt = PostEditor(folder.model, folder.processor, short(beam=4, max_edits=1)), "es zzz geht q"
    (free,) = editor.edit(["it goes"], [mt])
    assert (free.changed, "zzz" in free.text, "q" in free.text) == (True, True, True)
    (found,) = editor.edit_segments([Segment("it goes", mt, Constraints(banned=(banned,)))])
    assert found.skipped == skipped
    assert found.text == mt if skipped else banned not in found.text


@pytest.mark.parametrize(("risk", "log_linear"), [(1.0, None), (0.0, LogLinear({"model 1": 1.0}))])
def test_texts_that_are_only_read_are_cut_however_outputs_are_ranked(
    tiny_folders: Path, risk: float, log_linear: LogLinear | None
) -> None:
    editor = PostEditor.load(tiny_folders / "transference", device="cpu")
    assert isinstance(editor, PostEditor)
    search = SearchConfig(beam=3, mt_candidate=False, cut_input=True, max_input=5, mbr=risk)
    editor = PostEditor(editor.model, editor.processor, search, log_linear)
    first, second = editor.edit(["the house goes"] * 2, ["das Haus geht", "das Haus steht"], search=search)
    assert first.text == second.text != "das Haus geht"
    assert (first.input_cut, first.skipped, first.alternatives) == (True, None, ())
