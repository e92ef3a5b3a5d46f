"""What protection reverts, what it lets stand, and what it asks of a second search."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from postedit.core.editor import Abilities, Constraints, Detail, Edit, Editor, Fallback, Identity, PostEdit, Segment
from postedit.core.search_config import SearchConfig, Term
from postedit.editing.protection import Protected
from postedit.editing.results import unchanged
from postedit.text.edits import apply_edits, edits_between
from postedit.text.glossary import Glossary, GlossaryEntry

NO_CONSTRAINTS = Constraints()
Write = Callable[[Segment], PostEdit]


@dataclass
class Writing(Editor):
    """Returns what `write` says for a segment; `searches` are the segments and details that it was asked for."""

    write: Write
    constraints: bool = False
    searches: list[tuple[list[Segment], Detail | None]] = field(default_factory=list)

    @property
    def abilities(self) -> Abilities:
        return Abilities(needs_mt=False, constraints=self.constraints)

    def identity(self, search: SearchConfig | None = None) -> Identity:
        return Identity(("writing",))

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        self.searches.append((list(segments), evidence))
        return [self.write(segment) for segment in segments]


def changed(mt: str, text: str, *parts: tuple[str, str], **more: object) -> PostEdit:
    """Return a correction with an edit for each of the `parts` of mt and of text, in order, or for each word."""
    edits, at, to = [], 0, 0
    for old, new in parts:
        start = mt.index(old, at)
        to += start - at
        edits.append(Edit("replace", (start, start + len(old)), (to, to + len(new))))
        at, to = start + len(old), to + len(new)
    found = tuple(edits) or edits_between(mt, text)
    assert apply_edits(mt, text, found) == text
    return replace(PostEdit(text, True, edits=found, confidences=(0.9,) * len(found)), **more)  # type: ignore[arg-type]


def protected(
    src: str, mt: str, found: PostEdit, constraints: Constraints = NO_CONSTRAINTS, **search: object
) -> PostEdit:
    config = SearchConfig().with_options(**search)
    (result,) = Protected(Writing(lambda _: found)).edit_segments([Segment(src, mt, constraints)], config)
    return result


@pytest.mark.parametrize(
    ("src", "mt", "output", "edits", "kept"),
    [
        pytest.param(
            "(5 red 5)", "(5 rot 5)", "[5 rot )", [("(", "["), ("5)", ")")], "[5 rot 5)", id="one of two beside numbers"
        ),
        pytest.param(
            "red house", "rot Haus", "7 rot Hof", [("rot", "7 rot"), ("Haus", "Hof")], "rot Hof", id="written"
        ),
        pytest.param(
            "--all red", "--all rot", "---all blau", [("--all", "---all"), ("rot", "blau")], "--all blau", id="glued"
        ),
    ],
)
def test_as_few_edits_as_suffice_are_taken_back(
    src: str, mt: str, output: str, edits: list[tuple[str, str]], kept: str
) -> None:
    found = protected(src, mt, changed(mt, output, *edits))
    assert (found.text, found.reverted, len(found.edits)) == (kept, 1, 1)


def test_an_edit_that_only_adjoins_a_broken_span_is_taken_back() -> None:
    mt, text = "nimm --all rot", "nimm ---all blau"
    dash, red = edits_between(mt, text)
    dash = replace(dash, op="insert", mt_span=(5, 5), pe_span=(5, 6))
    found = protected("use --all", mt, PostEdit(text, True, edits=(dash, red)))
    assert (found.text, found.reverted) == ("nimm --all blau", 1)


def test_edits_taken_back_add_to_those_that_the_editor_took_back() -> None:
    found = protected("5 red", "5 rot", changed("5 rot", "6 rot", reverted=2))
    assert (found.text, found.reverted) == ("5 rot", 3)


@pytest.mark.parametrize(
    ("constraints", "search"),
    [
        pytest.param(Constraints(prefix="2025"), {}, id="prefix"),
        pytest.param(Constraints(), {"required": [Term(source="fair", target="2025")]}, id="required by the options"),
    ],
)
def test_numbers_of_what_the_user_asks_for_are_no_fault(constraints: Constraints, search: dict[str, object]) -> None:
    found = protected("the fair", "die Messe", changed("die Messe", "2025 die Messe"), constraints, **search)
    assert (found.text, found.fallbacks) == ("2025 die Messe", ())


@pytest.mark.parametrize(
    ("constraints", "search"),
    [
        pytest.param(Constraints(banned=("rot",)), {}, id="banned"),
        pytest.param(Constraints(), {"banned": ["rot"]}, id="banned by the options"),
        pytest.param(Constraints(prefix="7"), {}, id="prefix"),
    ],
)
def test_mt_stays_if_taking_edits_back_breaks_a_constraint(constraints: Constraints, search: dict[str, object]) -> None:
    text = f"{constraints.prefix} 6 blau"
    found = protected("5 red", "5 rot", changed("5 rot", text, ("5 rot", text)), constraints, **search)
    assert (found.text, found.skipped) == ("5 rot", "impossible")


def drafting(write: Write) -> Write:
    """Return an editor's outputs where it writes "5 rot" as the draft of segments without mt."""

    def corrected(segment: Segment) -> PostEdit:
        found = write(replace(segment, mt="5 rot"))
        return replace(found, draft="5 rot", input_cut=True) if segment.mt is None else found

    return corrected


@pytest.mark.parametrize(
    ("output", "constraints", "skipped"),
    [("6 rot", Constraints(), None), ("7", Constraints(required=("6",)), "impossible")],
)
def test_a_draft_is_what_edits_are_taken_back_to(output: str, constraints: Constraints, skipped: str | None) -> None:
    editor = Writing(drafting(lambda _: changed("5 rot", output, ("5 rot", output))))
    (found,) = Protected(editor).edit_segments([Segment("5 red", None, constraints)])
    assert (found.text, found.changed, found.skipped) == ("5 rot", False, skipped)
    assert (found.draft, found.input_cut) == ("5 rot", True)
    assert {one.by for one in found.fallbacks} == {"mt"}


TERMS = Glossary([GlossaryEntry("file", ("Datei",)), GlossaryEntry("list", ("Liste",), ("Tabelle",))])


def test_a_second_search_has_what_the_user_asks_for_and_the_draft() -> None:
    given = Constraints("Die", ("neue",), ("alte",))
    editor = Writing(drafting(lambda one: changed("5 rot", " ".join(["5 rot", *one.constraints.required]))), True)
    segment = Segment("file list 5", None, given)
    (found,) = Protected(editor, glossary=TERMS).edit_segments([segment], evidence="reasons")
    _, ((again,), detail) = editor.searches
    assert again == replace(segment, mt="5 rot", constraints=Constraints("Die", ("neue", "Datei", "Liste"), ("alte",)))
    assert detail == "reasons"
    assert (found.text, found.draft, found.input_cut) == ("5 rot neue Datei Liste", "5 rot", True)


def test_a_skipped_segment_stays_and_is_not_searched_again() -> None:
    editor = Writing(lambda one: unchanged(one.mt or "", "too long"), True)
    found = Protected(editor, glossary=TERMS).edit_segments([Segment("list", "Tabelle")])
    assert found == [unchanged("Tabelle", "too long")]
    assert len(editor.searches) == 1


def test_spans_that_a_second_search_breaks_are_listed() -> None:
    editor = Writing(lambda one: PostEdit("Datei 8" if one.constraints else "Blatt", True), True)
    (found,) = Protected(editor, glossary=TERMS).edit_segments([Segment("file")])
    assert (found.text, found.fallbacks[-1]) == ("Datei 8", Fallback("number", "8", None))


def test_fallbacks_of_an_editor_inside_stay_listed() -> None:
    mt, segment = "5 http://a.b/c", Segment("5 http://a.b/c", "5 http://a.b/c")
    numbers = Protected(Writing(lambda _: changed(mt, "6 dort")), ["number"])
    (first,) = numbers.edit_segments([segment])
    (found,) = Protected(numbers, ["url"]).edit_segments([segment])
    assert (first.text, found.text) == ("5 dort", mt)
    assert found.fallbacks == (*first.fallbacks, Fallback("url", "http://a.b/c", "mt"))


def test_a_swapped_term_leaves_no_places_of_tokens_that_wrote_another() -> None:
    write = PostEdit("die Tabelle", True, edits=edits_between("", "die Tabelle"), token_spans=((0, 2),))
    (found,) = Protected(Writing(lambda _: write), glossary=TERMS).edit_segments([Segment("the list")])
    assert (found.text, found.token_spans) == ("die Liste", ())
    assert apply_edits("", found.text, found.edits) == found.text
