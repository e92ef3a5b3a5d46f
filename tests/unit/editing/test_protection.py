"""Protected spans and terms survive every editor; what was kept against it is listed."""

import importlib.util
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import tiny_models
from hypothesis import given, settings
from hypothesis import strategies as st

from postedit import PostEditor
from postedit.core.editor import (
    Abilities,
    Constraints,
    Detail,
    Edit,
    Editor,
    Fallback,
    Identity,
    PostEdit,
    Segment,
)
from postedit.core.errors import DataError
from postedit.core.search_config import SearchConfig
from postedit.editing.post_editor import TwoStage
from postedit.editing.protection import Protected
from postedit.editing.span_rule import SpanRule
from postedit.gate import Gated
from postedit.text.edits import apply_edits
from postedit.text.glossary import Glossary, GlossaryEntry
from postedit.text.span_patterns import KINDS

ALL = frozenset(KINDS)


class TableEditor(Editor):
    """Replaces phrases of mt by others, each with a confidence; it writes "src" where there is no mt."""

    abilities = Abilities(needs_mt=False)

    def __init__(self, table: dict[str, str], confidences: dict[str, float] | None = None) -> None:
        self.table, self.confidences = table, confidences or {}

    def identity(self, search: SearchConfig | None = None) -> Identity:
        return Identity(("table",), {"table": repr(self.table)})

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        return [self.replaced(one.src if one.mt is None else one.mt) for one in segments]

    def replaced(self, mt: str) -> PostEdit:
        text, edits, confidences, done = "", [], [], 0
        for found in re.finditer("|".join(map(re.escape, self.table)) or "(?!)", mt):
            text += mt[done : found.start()]
            edits.append(Edit("replace", found.span(), (len(text), len(text) + len(self.table[found[0]]))))
            confidences.append(self.confidences.get(found[0], 0.9))
            text, done = text + self.table[found[0]], found.end()
        text += mt[done:]
        spans = ((0, 0),) * len(edits)
        return PostEdit(text, text != mt, edits=tuple(edits), token_spans=spans, confidences=tuple(confidences))


class ObedientEditor(TableEditor):
    """Appends what is required, and deletes what is banned; phrases that contain one of `refused` are an error."""

    abilities = Abilities(needs_mt=False, constraints=True)

    def __init__(self, table: dict[str, str], refused: Sequence[str] = ()) -> None:
        super().__init__(table)
        self.refused, self.searched = refused, []

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        self.searched.append(len(segments))
        given = [text for one in segments for text in one.constraints.required]
        if any(phrase in text for text in given for phrase in self.refused):
            raise DataError("cannot be written")
        results = super().edit_segments(segments, search)
        return [self.obeying(one.constraints, found) for one, found in zip(segments, results, strict=True)]

    def obeying(self, constraints: Constraints, found: PostEdit) -> PostEdit:
        text = " ".join([found.text, *constraints.required])
        for phrase in constraints.banned:
            text = text.replace(phrase, "")
        return found if text == found.text else replace(found, text=text, edits=(), token_spans=(), confidences=())


def edited(editor: Editor, src: str, mt: str | None, **given: object) -> PostEdit:
    (found,) = Protected(editor, **given).edit_segments([Segment(src, mt)])  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize(
    ("src", "mt", "text"),
    [
        ("5 red", "5 rot", "5 blau"),
        ("6 red", "5 rot", "6 blau"),
        ("five red", "5 rot", "5 blau"),
        ("red {0} {0}", "rot {0} {0}", "blau {0} {0}"),
        ("red", "rot", "blau"),
    ],
)
def test_edits_that_break_a_span_are_taken_back_and_others_stay(src: str, mt: str, text: str) -> None:
    found = edited(TableEditor({"5": "6", "rot": "blau", "{0}": "{1}"}), src, mt)
    assert (found.text, found.changed) == (text, True)
    assert found.reverted == len(re.findall(r"5|\{0\}|rot", mt)) - len(found.edits)
    assert bool(found.fallbacks) == bool(found.reverted)


def test_spans_of_a_text_that_is_only_read_are_not_restored() -> None:
    """A summary need not have all numbers of its article."""
    editor, article = Protected(TableEditor({"5 red, ": ""})), Segment("5 red, 6 green", "5 red, 6 green")
    search = SearchConfig(mt_candidate=False)
    (kept,) = editor.edit_segments([article], search)
    (read,) = editor.edit_segments([article], search.with_options(cut_input=True))
    assert (kept.text, read.text, read.fallbacks) == ("5 red, 6 green", "6 green", ())


def test_an_edit_that_glues_text_to_a_span_is_taken_back_and_others_stay() -> None:
    found = edited(TableEditor({" rot": "é rot", "Haus": "Hof"}), "@ab red house", "@ab rot Haus")
    assert (found.text, found.reverted) == ("@ab rot Hof", 1)


def test_a_moved_span_stays_moved() -> None:
    editor = TableEditor({"5 rote ": "rote 5 ", "Haus": "Häuser"})
    assert edited(editor, "5 red houses", "5 rote Haus").text == "rote 5 Häuser"


def test_each_fallback_names_kind_value_and_how_it_was_saved() -> None:
    found = edited(TableEditor({"%s": "%d"}), "a %s", "ein %s")
    assert (found.text, found.changed, found.reverted) == ("ein %s", False, 1)
    assert set(found.fallbacks) == {Fallback("placeholder", "%s", "mt"), Fallback("placeholder", "%d", "mt")}


@pytest.mark.parametrize(
    ("src", "mt", "output", "kept"),
    [
        ("05/12/2019", "am 05/12/2019", "am 12/05/2019", False),
        ("at 9:30", "um 9:30", "um 30:9", False),
        ("1/2 cup", "1/2 Tasse", "2/1 Tasse", False),
        ("%s has %d", "%s hat %d", "%d hat %s", False),
        ("2019-05-12", "am 2019-05-12", "am 12.05.2019", True),
        ("2019-05-12", "am 2019-05-12", "am 2019-12-05", False),
        ("12.05.2019", "am 12.05.2019", "am 2019.05.12", False),
        ("12/05/2019", "05/12/2019", "12/05/2019", True),
        ("5 x 3", "5 × 3", "3 × 5", False),
        ("pages 1-2", "Seiten 1-2", "Seiten 1 bis 2", True),
        ("3 of 4", "3 von 4", "von 4 3", True),
        ("%1$s has %2$d", "%1$s hat %2$d", "%2$d hat %1$s", True),
        ("%d has %s", "%s hat %d", "%d hat %s", True),
        ("9:30 to 10:45", "9:30 bis 10:45", "9:45 bis 10:30", False),
        ("12.05.2019", "am 12.05.2019", "am 12 of 05 items 2019", False),
        ("1/2 and 3/4", "1/2 und 3/4", "1 und 2/3 und 4", False),
        ("9:30 at 5", "9:30 bei 5", "9 bei 5:30", False),
        ("10-20", "von 10-20", "von 20 10", False),
        ("at 9:30", "um 9:30", "um 9 h 30", True),
        ("16 GB and 512 MB", "16 GB und 512 MB", "16 MB und 512 GB", False),
        ("5 km² and 3 cm²", "5 km² und 3 cm²", "5 cm² und 3 km²", False),
        ("€5 and $3", "€5 und $3", "$5 und €3", False),
        ("€5 and $3", "€5 und $3", "5 € und 3 $", True),
        ("use X1", "nimm X1", "nimm Y1", False),
        ("1e-5 or 0x1F", "1e-5 oder 0x1F", "1e5 oder 0x1F", False),
        ("1e-5 or 0x1F", "1e-5 oder 0x1F", "1e-5 oder 0x1A", False),
        ("1.234 mm", "ca. 1.234 mm", "ca. 1234 mm", False),
        ("1,234 mm", "ca. 1,234 mm", "ca. 1.234 mm", True),
    ],
)
def test_what_source_and_mt_link_is_not_taken_apart(src: str, mt: str, output: str, kept: bool) -> None:
    found = edited(TableEditor({mt: output}), src, mt)
    assert found.text == (output if kept else mt)
    assert bool(found.fallbacks) != kept


def test_spans_are_looked_for_as_often_however_many_edits_are_at_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    find, searched = SpanRule.spans, []
    monkeypatch.setattr(SpanRule, "spans", lambda rule, text: searched.append(text) or find(rule, text))
    counts = []
    for number in (20, 200):
        mt = " ".join(f"{{v{place}}}" for place in range(number))
        assert edited(TableEditor({"{": "("}), mt, mt).text == mt
        counts.append(len(searched))
        searched.clear()
    assert counts[0] == counts[1]


@pytest.mark.parametrize(
    ("mt", "output", "kept"),
    [
        ("nimm --all", "nimm --all ---all", False),
        ("nimm --all ---all", "nimm --all", False),
        ("nimm ---all", "nimm --all", True),
        ("nimm --all", "nimm x--all", False),
    ],
)
def test_no_copy_of_a_span_appears_or_vanishes_within_other_text(mt: str, output: str, kept: bool) -> None:
    source = "use --all" if kept else mt.replace("nimm", "use")
    assert edited(TableEditor({mt: output}), source, mt).text == (output if kept else mt)


@pytest.mark.parametrize(
    ("src", "mt", "output", "kept"),
    [
        ("&File", "&Datei", "Akte", False),
        ("&File", "&Datei", "&Akte", True),
        ("&Open file", "&Datei öffnen", "Datei ö&ffnen", True),
        ("&Open file", "&Datei öffnen", "&Datei ö&ffnen", False),
        ("&File", "Datei", "&Datei", True),
        ("File", "Datei", "&Datei", False),
        ("&File", "文件(&F)", "档案(F)", False),
        ("E_xit", "B_eenden", "Beenden", False),
        ("~File", "~Datei", "Akte", False),
        ("_File", "_Datei", "_Akte", True),
        ("_Open file", "_Datei öffnen", "D_atei öffnen", True),
        ("_Edit max_size", "max_size _bearbeiten", "max_size b_earbeiten", True),
        ("_Edit max_size", "max_size _bearbeiten", "max_groesse _bearbeiten", False),
        ("Set max_size", "max_size setzen", "max_groesse setzen", False),
        ("~File", "~Datei", "~Akte", True),
        ("Campus Q&A", "Campus-Q&A", "Fragen und Antworten zum Campus", True),
        ("See the _User Guide_ guide", "指南_用户指南", "_用户指南_指南", True),
        ("E_xit", "B_eenden", "B_een_den", False),
    ],
)
def test_no_accelerator_is_lost_or_doubled(src: str, mt: str, output: str, kept: bool) -> None:
    assert edited(TableEditor({mt: output}), src, mt).text == (output if kept else mt)


@pytest.mark.slow
def test_a_long_text_with_many_spans_takes_time_in_proportion() -> None:
    def seconds(count: int) -> float:
        mt = " ".join(f"{{v{number}}} @user{number} rot" for number in range(count))
        started = time.thread_time()
        found = edited(TableEditor({"{": "(", "@": "@@", "rot": "blau"}), mt, mt)
        assert found.text == mt.replace("rot", "blau")
        return time.thread_time() - started

    assert min(seconds(1200) for _ in range(2)) < 9 * min(seconds(300) for _ in range(3)) + 0.05


def test_kinds_left_out_are_not_protected() -> None:
    assert edited(TableEditor({"5": "6"}), "5", "5", kinds=["url"]).text == "6"
    assert edited(TableEditor({"&Datei": "Akte"}), "&File", "&Datei", kinds=["url"]).text == "Akte"


def test_an_editor_that_reports_no_edits_is_answered_with_mt() -> None:
    class Silent(TableEditor):
        def replaced(self, mt: str) -> PostEdit:
            return PostEdit("6 blau", True)

    found = edited(Silent({}), "5 red", "5 rot")
    assert (found.text, found.changed, found.edits) == ("5 rot", False, ())


def test_edits_are_taken_back_without_another_search() -> None:
    editor = ObedientEditor({"http://a.b/c": "dort", "auf": "bei"})
    found = Protected(editor).edit_segments([Segment("at http://a.b/c", "auf http://a.b/c"), Segment("a", "b")])
    assert [one.text for one in found] == ["bei http://a.b/c", "b"]
    assert found[0].fallbacks == (Fallback("url", "http://a.b/c", "edits"),)
    assert editor.searched == [2]


def test_spans_lost_in_translations_without_mt_are_required_in_search() -> None:
    editor = ObedientEditor({"%s": "x", "%d": "y"}, refused=["%s"])  # what is refused affects one segment
    found = Protected(editor).edit_segments([Segment("so %s"), Segment("so %d"), Segment("so")])
    assert [one.text for one in found] == ["so x", "so y %d", "so"]
    assert [[fallback.by for fallback in one.fallbacks] for one in found] == [[None], ["search"], []]
    assert editor.searched == [3, 2, 1, 1]


def test_a_second_search_that_mends_a_part_is_listed_with_what_it_left() -> None:
    class Forgetful(ObedientEditor):
        def obeying(self, constraints: Constraints, found: PostEdit) -> PostEdit:
            return super().obeying(replace(constraints, required=constraints.required[:1]), found)

    (found,) = Protected(Forgetful({"%s": "x", "{0}": "y"})).edit_segments([Segment("so %s {0}")])
    assert found.text == "so x y %s"
    assert set(found.fallbacks) == {Fallback("placeholder", "%s", "search"), Fallback("placeholder", "{0}", None)}


def test_mt_that_stays_is_not_cut_off() -> None:
    class Endless(TableEditor):
        def replaced(self, mt: str) -> PostEdit:
            return replace(super().replaced(mt), hit_limit=True)

    assert not edited(Endless({"5": "6"}), "5 red", "5 rot").hit_limit
    assert edited(Endless({"rot": "blau"}), "5 red", "5 rot").hit_limit


def test_numbers_that_the_user_requires_are_no_fault() -> None:
    segment = Segment("the fair", "die Messe", Constraints(required=("2025",)))
    (found,) = Protected(ObedientEditor({})).edit_segments([segment])
    assert (found.text, found.fallbacks) == ("die Messe 2025", ())


def test_mt_stays_if_taking_edits_back_would_break_what_the_user_requires() -> None:
    segment = Segment("5 red", "5 rot", Constraints(required=("6 blau",)))
    (found,) = Protected(TableEditor({"5 rot": "7 6 blau"})).edit_segments([segment])
    assert (found.text, found.skipped) == ("5 rot", "impossible")


def test_alternatives_that_break_the_rule_are_left_out() -> None:
    class Listing(TableEditor):
        def replaced(self, mt: str) -> PostEdit:
            others = tuple(PostEdit(text, text != mt) for text in ("6", "vier 5", mt))
            return replace(super().replaced(mt), alternatives=others)

    found = edited(Listing({"5": "fünf 5"}), "5", "5")
    assert [one.text for one in (found, *found.alternatives)] == ["fünf 5", "vier 5", "5"]
    found = edited(Listing({"5": "7"}), "5", "5")
    assert [one.text for one in (found, *found.alternatives)] == ["5", "vier 5"]


def test_spans_lost_in_a_translation_without_mt_are_listed_as_not_saved() -> None:
    found = edited(TableEditor({"5": "fünf"}), "5 red", None)
    assert (found.text, found.fallbacks) == ("fünf red", (Fallback("number", "5", None),))


def test_the_draft_of_a_first_stage_counts_as_mt(tmp_path: Path) -> None:
    tiny_models.folder().save(tmp_path / "model")
    second = PostEditor.load(tmp_path / "model", device="cpu")
    staged = TwoStage(TableEditor({"red": "rot"}), second)
    (found,) = Protected(staged).edit_segments([Segment("5 red {0}")])
    assert found.draft == "5 rot {0}"
    assert not SpanRule("5 red {0}", found.draft, ALL, None).broken(found.text)


def test_a_gate_inside_cannot_break_the_rule() -> None:
    moved = TableEditor({"5 rote": "rote", "Haus": "Haus 5"}, {"5 rote": 0.9, "Haus": 0.1})
    gated = Gated(Protected(moved), min_confidence=0.5)
    assert gated.edit_segments([Segment("5 red", "5 rote Haus")])[0].text == "rote Haus"
    assert edited(gated, "5 red", "5 rote Haus").text == "5 rote Haus"


def test_the_identity_has_the_kinds_and_the_glossary() -> None:
    editor, entry = TableEditor({}), GlossaryEntry("file", ("Datei",))
    every = [
        Protected(editor),
        Protected(editor, ["url"]),
        Protected(editor, glossary=Glossary([entry])),
        Protected(editor, glossary=Glossary([replace(entry, forbidden=("Akte",))])),
    ]
    assert len({repr(one.identity()) for one in every}) == len(every)
    assert every[0].identity().models == editor.identity().models


TERMS = Glossary([GlossaryEntry("file", ("Datei",), ("Akte",), target_forms=("Dateien",))])


def test_terms_of_mt_are_kept_and_forbidden_ones_not_added() -> None:
    assert edited(TableEditor({"Datei": "Akte", "rot": "blau"}), "red file", "rot Datei", glossary=TERMS).text == (
        "blau Datei"
    )
    assert edited(TableEditor({"Datei": "Akte"}), "red paper", "Datei", glossary=TERMS).text == "Akte"


def test_missing_terms_are_required_and_forbidden_ones_banned_in_search() -> None:
    found = edited(ObedientEditor({}), "a file", "ein Blatt", glossary=TERMS)
    assert (found.text, found.fallbacks) == ("ein Blatt Datei", ())
    assert edited(ObedientEditor({}), "a file", "die Akte", glossary=TERMS).text == "die  Datei"


@pytest.mark.parametrize(("length", "text"), [(80, f"ein Blatt {'x' * 80}"), (81, "ein Blatt")])
def test_terms_with_too_many_characters_are_not_required_in_search(length: int, text: str) -> None:
    terms = Glossary([GlossaryEntry("file", ("x" * length,))])
    assert edited(ObedientEditor({}), "a file", "ein Blatt", glossary=terms).text == text


def spanish(*entries: tuple[str, str, str]) -> Glossary:
    return Glossary(
        [GlossaryEntry(src, (term,), (forbidden,) if forbidden else ()) for src, term, forbidden in entries]
    )


@pytest.mark.parametrize(
    ("mt", "searched", "text"),
    [
        ("la lista y el usuario.", "y listado usuaria.", "la listado y el usuaria."),
        ("la lista y el usuario.", "el listado y la usuaria.", "el listado y la usuaria."),
        ("la lista y el usuario.", "el listado y la usuaria de aquí.", "la listado y el usuaria."),
        ("la lista y el usuario.", "el listado o la usuaria.", "el listado o la usuaria."),
        ("Lista de usuario", "listado", "Listado de usuaria"),
        ("lista, lista y usuaria", "usuaria", "lista, lista y usuaria"),
        ("la relación y la usuaria", "el listado y la usuaria", "el listado y la usuaria"),
        ("la relación y la usuaria", "listado usuaria", "la relación y la usuaria"),
        ("la relación y la usuaria", "el listado y la que usa", "la relación y la usuaria"),
        ("la relación y la usuaria", "la relación y el usuaria", "la relación y la usuaria"),
        ("la lista y la relación", "la usuaria y la relación", "la listado y la relación"),
    ],
)
def test_terms_take_the_place_of_forbidden_words_and_the_rest_stays(mt: str, searched: str, text: str) -> None:
    class Careless(ObedientEditor):
        def obeying(self, constraints: Constraints, found: PostEdit) -> PostEdit:
            return PostEdit(searched, True) if constraints else found

    terms = spanish(("list", "listado", "lista"), ("user", "usuaria", "usuario"))
    found = edited(Careless({}), "the list and the user", mt, glossary=terms)
    assert (found.text, found.changed) == (text, text != mt)
    if found.text != searched:
        assert apply_edits(mt, text, found.edits) == text
        assert len(found.edits) == len(found.confidences)


@pytest.mark.parametrize(
    ("mt", "score", "text"),
    [
        ("la relación nueva", -4.0, "el listado nuevo"),
        ("la relación nueva", -9.0, "la relación nueva"),
        ("la lista nueva", -9.0, "el listado nuevo"),
    ],
)
def test_a_term_without_a_place_is_written_only_if_the_model_is_ready_to(mt: str, score: float, text: str) -> None:
    class Scored(ObedientEditor):
        def obeying(self, constraints: Constraints, found: PostEdit) -> PostEdit:
            return PostEdit("el listado nuevo", True, score) if constraints else replace(found, score=-1.0)

    assert edited(Scored({}), "new list", mt, glossary=spanish(("list", "listado", "lista"))).text == text


@pytest.mark.parametrize(
    ("language", "mt", "searched", "text"),
    [
        ("", "Allumez le moniteur", "Allumez l'écran", "Allumez l'écran"),
        ("fr", "Allumez le moniteur", "Allumez l’écran", "Allumez l’écran"),
        ("fr", "Allumez le moniteur", "Allumez", "Allumez le moniteur"),
        ("fr", "Allumez le moniteur", "Allumez pas l'écran", "Allumez le moniteur"),
        ("fr", "un moniteur", "", "un écran"),
        ("fr", "l'ordi", "la machine", "la machine"),
        ("fr", "l’ordi", "", "l’ordi"),
        ("fr", "'ordi'", "", "'machine'"),
        ("it", "foglie della pianta qui", "foglie dell'albero qui", "foglie dell'albero qui"),
        ("it", "foglie della pianta qui", "", "foglie della pianta qui"),
        ("es", "de pianta", "", "de albero"),
        ("", "de pianta", "", "de albero"),
    ],
)
def test_terms_are_not_written_after_words_that_must_change(language: str, mt: str, searched: str, text: str) -> None:
    class Elided(ObedientEditor):
        abilities = Abilities(needs_mt=False, constraints=True, languages=("en", language))

        def obeying(self, constraints: Constraints, found: PostEdit) -> PostEdit:
            return PostEdit(searched, True) if constraints else found

    terms = spanish(("screen", "écran", "moniteur"), ("computer", "machine", "ordi"), ("tree", "albero", "pianta"))
    word = next(src for src, part in (("screen", "mon"), ("computer", "ordi"), ("tree", "pianta")) if part in mt)
    assert edited(Elided({}), f"the {word}", mt, glossary=terms).text == text


def test_swapped_terms_join_the_edits_and_obey_the_user() -> None:
    terms = spanish(("list", "listado", "lista"))
    mt = "vea lista 5 aquí"
    found = edited(TableEditor({"vea": "ver", "5": "6"}, {"vea": 0.7}), "see list 5 here", mt, glossary=terms)
    assert (found.text, found.confidences, found.reverted) == ("ver listado 5 aquí", (0.7, 1.0), 1)
    assert apply_edits(mt, found.text, found.edits) == found.text
    segment = Segment("list", "una lista", Constraints(banned=("listado",)))
    assert Protected(TableEditor({}), glossary=terms).edit_segments([segment])[0].text == "una lista"


def test_swapped_terms_do_not_make_sure_of_edits_without_confidence() -> None:
    class Unsure(TableEditor):
        def replaced(self, mt: str) -> PostEdit:
            return replace(super().replaced(mt), confidences=())

    terms = spanish(("list", "listado", "lista"))
    for table, text, confidences in (({"vea": "ver"}, "ver listado", ()), ({}, "vea listado", (1.0,))):
        found = edited(Unsure(table), "see list", "vea lista", glossary=terms)
        assert (found.text, found.confidences) == (text, confidences)


@pytest.fixture(scope="module")
def neural(tmp_path_factory: pytest.TempPathFactory) -> PostEditor:
    path = tmp_path_factory.mktemp("protected") / "model"
    tiny_models.folder().save(path)
    loaded = PostEditor.load(path, device="cpu")
    assert isinstance(loaded, PostEditor)
    return loaded


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(["5", "das", "Haus", "{0}", "%s", "a_b", "<b>", "ging"]), max_size=5), max_size=4)
)
@pytest.mark.parametrize("beam", [1, 3])
def test_a_neural_model_keeps_the_rule(neural: PostEditor, beam: int, texts: list[list[str]]) -> None:
    segments = [Segment(" ".join(reversed(words)), " ".join(words)) for words in texts]
    search = neural.search.with_options(beam=beam, n_best=beam)
    for one, found in zip(segments, Protected(neural).edit_segments(segments, search), strict=True):
        rule = SpanRule(one.src, one.mt, ALL, None)
        assert not any(rule.broken(each.text) for each in (found, *found.alternatives))


def test_phrases_are_banned_in_one_segment_and_not_in_others(neural: PostEditor) -> None:
    plain = Segment("the house", "das Haus")
    (usual,) = neural.edit_segments([plain])
    banned = replace(plain, constraints=Constraints(banned=tuple(usual.text.split())))
    free, bound = neural.edit_segments([plain, banned])
    assert free.text == usual.text
    assert not set(usual.text.split()) & set(bound.text.split())


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    path = Path(__file__).resolve().parents[3] / "benchmarks/protected_spans.py"
    spec = importlib.util.spec_from_file_location("protected_spans_benchmark", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_no_span_is_corrupted_by_a_system_that_mangles(benchmark: ModuleType) -> None:
    (behind, without, taken, changed), shown = benchmark.fuzz(800, seed=3)
    assert not shown
    assert behind == 0
    assert min(without, changed, taken) > 200
