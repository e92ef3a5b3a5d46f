"""XLIFF 1.2 and its dialects: what is read, and what an edit leaves in the file."""

import io
import re
from pathlib import Path

import pytest

from postedit.core.editor import Edit, PostEdit
from postedit.files.corrections import correct
from postedit.files.length_limits import Measure, Room, has_room
from postedit.files.options import UnitState
from postedit.files.units import NewTarget, Unit, copy_patched
from postedit.files.xliff1 import Xliff1

FORMAT = Xliff1()
HEAD = (
    '<?xml version="1.0"?><xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2" '
    'xmlns:sdl="http://sdl.com/FileTypes/SdlXliff/1.0" xmlns:mq="MQXliff" xmlns:m="http://www.memsource.com/mxlf/2.0" '
    'xmlns:iws="http://www.idiominc.com/ws/asset" xmlns:o="urn:other">'
    '<file original="a.txt" source-language="en" target-language="de">'
    "<body>"
)
TAIL = "</body></file></xliff>"


def units(body: str) -> list[Unit]:
    return list(FORMAT.units(io.BytesIO((HEAD + body + TAIL).encode()), Path("f.xlf")))


def one(inside: str, attributes: str = "") -> Unit:
    (unit,) = units(f'<trans-unit id="1"{attributes}>{inside}</trans-unit>')
    return unit


def patched(body: str, *targets: str | None, note: str = "", keep_former: bool = False) -> str:
    """Return the body after new targets were written into its units; None leaves a unit as it is."""
    changed = [
        (unit, NewTarget(target, keep_former, note))
        for unit, target in zip(units(body), targets, strict=True)
        if target
    ]
    out = io.BytesIO()
    copy_patched(io.BytesIO((HEAD + body + TAIL).encode()), FORMAT.patches(changed), out)
    text = out.getvalue().decode()
    assert text.startswith(HEAD)
    assert text.endswith(TAIL)
    return text[len(HEAD) : -len(TAIL)]


def test_a_file_is_recognised_by_its_root() -> None:
    assert FORMAT.recognises(HEAD.encode(), Path("x"))
    assert FORMAT.recognises(b"<x:xliff xmlns:x='urn' version='1.2'", Path("x"))
    assert FORMAT.recognises(b'<xliff a="version=\'2.0\'" version="1.0"', Path("x"))
    assert not FORMAT.recognises(b'<xliff version="2.0"', Path("x.xlf"))
    assert not FORMAT.recognises(b"plain text", Path("x.xlf"))


def test_a_root_without_version_has_that_of_its_namespace() -> None:
    root = b'<xliff xmlns:a="b" xmlns="urn:oasis:names:tc:xliff:document:1.1"'
    assert FORMAT.recognises(root, Path("x"))
    assert not FORMAT.recognises(root + b' version="2.0"', Path("x"))
    assert not FORMAT.recognises(root.replace(b"1.1", b"2.0"), Path("x"))


def test_a_unit_has_source_target_notes_and_languages() -> None:
    unit = one("<source>A <g id='1'>b</g></source><target>C &amp; d</target><note>Not &lt;b&gt;bold&lt;/b&gt;</note>")
    assert (unit.id, unit.languages) == ("a.txt#1", ("en", "de"))
    assert unit.source.text == "A b"
    assert unit.target is not None
    assert unit.target.text == "C & d"
    assert unit.notes == ("Not <b>bold</b>",)


WORLDSERVER = (
    '<iws:segment-metadata tm_score="0.00" max_segment_length="0">'
    '<iws:status translation_type="{}" translation_status="{}"/></iws:segment-metadata>'
)


@pytest.mark.parametrize(
    ("attributes", "inside", "state", "origin", "score"),
    [
        ("", "", None, None, None),
        (' state="new"', "", UnitState.INITIAL, None, None),
        (' state="needs-review-translation" state-qualifier="leveraged-mt"', "", UnitState.TRANSLATED, "machine", None),
        (' state="translated" state-qualifier="fuzzy-match"', "", UnitState.TRANSLATED, "fuzzy", None),
        (' state="signed-off"', "", UnitState.REVIEWED, None, None),
        (' state="final"', "", UnitState.FINAL, None, None),
        (' state="x-own"', "", None, None, None),
        (
            "",
            '<iws:segment-metadata tm_score="71.00"><iws:status match-quality="fuzzy"/></iws:segment-metadata>',
            None,
            "fuzzy",
            71.0,
        ),
        ("", WORLDSERVER.format("manual_translation", "finished"), UnitState.TRANSLATED, "human", 0.0),
        ("", WORLDSERVER.format("manual_translation", "pending"), UnitState.INITIAL, "human", 0.0),
        ("", WORLDSERVER.format("machine_translation_mt", "x"), None, "machine", 0.0),
    ],
)
def test_state_origin_and_score(
    attributes: str, inside: str, state: UnitState | None, origin: str | None, score: float | None
) -> None:
    unit = one(f"<source>a</source><target{attributes}>b</target>{inside}")
    assert (unit.state, unit.origin, unit.score) == (state, origin, score)


@pytest.mark.parametrize(
    ("attributes", "state", "origin", "locked"),
    [
        (' mq:status="MachineTranslated"', UnitState.INITIAL, "machine", False),
        (' mq:status="ManuallyConfirmed" mq:locked="locked"', UnitState.TRANSLATED, "human", True),
        (' mq:status="MachineTranslated" mq:locked="no"', UnitState.INITIAL, "machine", False),
        (' m:confirmed="0" m:trans-origin="mt"', UnitState.INITIAL, "machine", False),
        (' m:confirmed="1" m:locked="true"', UnitState.TRANSLATED, "human", True),
        (' m:confirmed="1" m:trans-origin="mt"', UnitState.TRANSLATED, "human", False),
        (' translate="no"', None, None, True),
        (' approved="yes"', None, None, True),
        (' restype="x-gettext-domain-header"', None, None, True),
        (' restype="x-gettext-plurals"', None, None, False),
    ],
)
def test_states_and_locks_of_units(attributes: str, state: UnitState | None, origin: str | None, locked: bool) -> None:
    unit = one("<source>a</source><target>b</target>", attributes)
    assert (unit.state, unit.origin, unit.locked) == (state, origin, locked)


@pytest.mark.parametrize(("state", "locked"), [("signed-off", True), ("translated", False)])
def test_a_signed_off_target_is_locked(state: str, locked: bool) -> None:
    assert one(f'<source>a</source><target state="{state}">b</target>').locked == locked


def test_translate_no_of_a_group_holds_for_its_units() -> None:
    inside = "<source>a</source>"
    found = units(
        f'<group translate="no"><trans-unit id="1">{inside}</trans-unit>'
        f'<trans-unit id="2" translate="yes">{inside}</trans-unit></group>'
    )
    assert [unit.locked for unit in found] == [True, False]


SEGMENTED = (
    '<trans-unit id="1"><source>A. B.</source>'
    '<seg-source><mrk mtype="seg" mid="1">A.</mrk> <g id="7"><mrk mtype="seg" mid="2">B.</mrk></g></seg-source>'
    '<target><mrk mtype="seg" mid="1">C.</mrk> <g id="7"><mrk mtype="seg" mid="2">D.</mrk></g></target>'
    '<sdl:seg-defs><sdl:seg id="1" conf="Translated" origin="tm" percent="80"/>'
    '<sdl:seg id="2" conf="ApprovedSignOff" locked="true"/></sdl:seg-defs></trans-unit>'
)
OF_SEGMENTS = ('conf="Translated" origin="tm" percent="80"', 'conf="ApprovedSignOff" locked="true"')


def test_segments_are_units_with_their_states() -> None:
    first, second = units(SEGMENTED)
    assert [unit.source.text for unit in (first, second)] == ["A.", "B."]
    assert [unit.target and unit.target.text for unit in (first, second)] == ["C.", "D."]
    assert (first.state, first.origin, first.score, first.locked) == (UnitState.TRANSLATED, "human", 80.0, False)
    assert (second.state, second.locked) == (UnitState.FINAL, True)


@pytest.mark.parametrize(
    ("conf", "locked"),
    [("Draft", False), ("Translated", False), ("ApprovedTranslation", True), ("ApprovedSignOff", True)],
)
def test_approved_segments_are_locked(conf: str, locked: bool) -> None:
    first, _ = units(SEGMENTED.replace("Translated", conf))
    assert first.locked == locked


@pytest.mark.parametrize(
    ("states", "locked"),
    [
        ('conf="Translated"', False),
        ('conf="Translated" locked="true"', True),
        ('conf="ApprovedTranslation"', True),
        ('conf="ApprovedSignOff"', True),
    ],
)
def test_one_unit_of_several_segments_is_locked_if_one_of_them_is(states: str, locked: bool) -> None:
    other = SEGMENTED.replace('<mrk mtype="seg" mid="2">D.</mrk>', "D.")
    (unit,) = units(other.replace('conf="ApprovedSignOff" locked="true"', states))
    assert unit.locked == locked


def test_segments_of_the_same_number_are_all_there_and_locked() -> None:
    found = units(SEGMENTED.replace('mid="2"', 'mid="1"'))
    assert [(one.source.text, one.target and one.target.text, one.locked) for one in found] == [
        ("A.", "C.", True),
        ("B.", "D.", True),
    ]


def test_a_unit_whose_target_has_segments_of_the_same_number_is_locked() -> None:
    (found,) = units(SEGMENTED.replace(OF_SEGMENTS[1], "").replace('mid="2">D', 'mid="1">D'))
    assert found.locked


def test_segments_of_the_same_number_without_a_target_are_locked() -> None:
    without = re.sub("<target>.*</target>", "", SEGMENTED.replace('mid="2"', 'mid="1"'))
    assert [(one.source.text, one.target, one.locked) for one in units(without)] == [
        ("A.", None, True),
        ("B.", None, True),
    ]


def test_a_segment_is_written_between_its_tags() -> None:
    expected = SEGMENTED.replace(">C.<", ">X<").replace(
        'conf="Translated" origin="tm" percent="80"',
        'conf="Draft" origin="mt" percent="0" origin-system="postedit"',
    )
    assert patched(SEGMENTED, "X", None) == expected


def test_segments_of_which_the_target_has_others_are_one_unit() -> None:
    other = SEGMENTED.replace('<mrk mtype="seg" mid="2">D.</mrk>', "D.")
    (unit,) = units(other)
    assert unit.source.text == "A. B."
    assert unit.target is not None
    assert [code.raw for _, code in unit.target.codes] == ['<mrk mtype="seg" mid="1">', "</mrk>", '<g id="7">', "</g>"]


def test_a_target_without_segments_is_edited_as_a_whole() -> None:
    body = f"{SEGMENTED[: SEGMENTED.index('<target>')]}<target>C. D.</target></trans-unit>"
    (unit,) = units(body)
    assert (unit.source.text, unit.target and unit.target.text) == ("A. B.", "C. D.")
    assert patched(body, "X").endswith('state-qualifier="mt-suggestion">X</target></trans-unit>')


MT, MEMORY = 'conf="Draft" origin="mt"', 'conf="Translated" origin="tm" percent="100"'
HUMAN_DRAFT, REJECTED = 'conf="Draft" origin="interactive"', 'conf="RejectedSignOff" origin="interactive"'


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize(
    ("first", "second", "origin", "state"),
    [
        (MEMORY, MT, "memory", UnitState.TRANSLATED),
        (MEMORY, HUMAN_DRAFT, "memory", UnitState.TRANSLATED),
        (MEMORY, MEMORY.replace("100", "80"), "human", UnitState.TRANSLATED),
        (MEMORY, MEMORY.replace("Translated", "Draft").replace("100", "80"), "memory", UnitState.TRANSLATED),
        (MEMORY, 'conf="Translated" origin="mt"', "human", UnitState.TRANSLATED),
        (MEMORY, REJECTED, "human", UnitState.REJECTED),
        (MT, 'conf="Translated" origin="interactive"', "human", UnitState.TRANSLATED),
        (MT, REJECTED, "human", UnitState.REJECTED),
        ('conf="Translated" origin="interactive"', REJECTED, "human", UnitState.TRANSLATED),
        (MT, HUMAN_DRAFT, "human", UnitState.INITIAL),
        (MT, 'conf="Draft" origin="tm" percent="100"', "memory", UnitState.INITIAL),
        (MT, "", "machine", UnitState.INITIAL),
        (HUMAN_DRAFT, 'conf="Translated" origin="mt"', "human", UnitState.TRANSLATED),
        (HUMAN_DRAFT, REJECTED, "human", UnitState.REJECTED),
    ],
)
def test_a_unit_edited_as_a_whole_counts_as_its_most_finished_segment(
    first: str, second: str, origin: str, state: UnitState, is_reversed: bool
) -> None:
    body = SEGMENTED.replace('<mrk mtype="seg" mid="2">D.</mrk>', "D.")
    for before, after in zip(OF_SEGMENTS, (second, first) if is_reversed else (first, second), strict=True):
        body = body.replace(before, after)
    (unit,) = units(body)
    assert (unit.origin, unit.state, unit.locked) == (origin, state, False)
    after = patched(body, "X")
    assert after.count('origin="mt"') == after.count('origin-system="postedit"') == 2
    assert after.count('conf="Draft"') == 2 - (REJECTED in (first, second)), (
        "a machine accepts nothing that is rejected"
    )
    assert "<target>X</target>" in after


def test_of_the_matches_of_a_whole_unit_the_best_one_counts() -> None:
    for scores in ((75, 90), (90, 75)):
        states = "".join(f'<sdl:seg id="{one}" conf="Draft" origin="tm" percent="{one}"/>' for one in scores)
        inside = f"<source>a</source><target>b</target><sdl:seg-defs>{states}</sdl:seg-defs>"
        assert (one(inside).origin, one(inside).score) == ("fuzzy", 90)


def test_what_is_propagated_in_trados_is_a_persons() -> None:
    body = SEGMENTED.replace('origin="tm" percent="80"', 'origin="auto-propagated" percent="100"')
    assert units(body)[0].origin == "human"


@pytest.mark.parametrize(
    ("state", "origin", "former"),
    [
        ('conf="Translated" origin="tm" percent="80"', "human", "fuzzy"),
        ('conf="Draft" origin="tm" percent="80"', "fuzzy", None),
        ('conf="Translated" origin="tm" percent="100"', "memory", None),  # Trados confirms exact matches itself
        ('conf="Translated" origin="source"', "human", None),
        ('conf="Draft" origin="source"', None, None),
        ('conf="Translated"', None, None),
    ],
)
def test_what_only_people_confirm_in_trados_is_a_persons(state: str, origin: str | None, former: str | None) -> None:
    first, _ = units(SEGMENTED.replace(OF_SEGMENTS[0], state))
    assert (first.origin, first.former_origin) == (origin, former)


@pytest.mark.parametrize(("of_file", "expected"), [("", ("en", "fr")), (' target-language="de"', ("en", "de"))])
def test_a_target_names_its_language_if_the_file_does_not(of_file: str, expected: tuple[str, str]) -> None:
    head = HEAD.replace(' target-language="de"', of_file)
    body = '<trans-unit id="1"><source>a</source><target xml:lang="fr">b</target></trans-unit>'
    (unit,) = FORMAT.units(io.BytesIO((head + body + TAIL).encode()), Path("f.xlf"))
    assert unit.languages == expected


@pytest.mark.parametrize(("of_file", "expected"), [("", "fr"), (' source-language="en"', "en")])
def test_a_source_names_its_language_if_the_file_does_not(of_file: str, expected: str) -> None:
    head = HEAD.replace(' source-language="en"', of_file)
    body = '<trans-unit id="1"><source xml:lang="fr">a</source><target>b</target></trans-unit>'
    (unit,) = FORMAT.units(io.BytesIO((head + body + TAIL).encode()), Path("f.xlf"))
    assert unit.languages == (expected, "de")


def test_an_edit_leaves_target_state_former_target_and_note() -> None:
    body = '<trans-unit id="1">\n  <source>a</source>\n  <target state="new">b &#38; c</target>\n</trans-unit>'
    assert patched(body, "B &#38; c", keep_former=True, note='"b" -> "B"') == (
        '<trans-unit id="1">\n  <source>a</source>\n'
        '  <target state="needs-review-translation" state-qualifier="mt-suggestion">B &#38; c</target>\n'
        '  <note from="postedit">"b" -&gt; "B"</note>\n'
        '  <alt-trans alttranstype="previous-version"><target>b &#38; c</target></alt-trans>\n</trans-unit>'
    )


def test_notes_and_former_targets_come_where_xliff_1_1_allows_them() -> None:
    before = "<trans-unit id='1'><source>a</source><target>b</target>"
    contexts = "<context-group name='c'><context context-type='x'>c</context></context-group><note>n</note>"
    after = "<alt-trans><target>d</target></alt-trans><x:y/></trans-unit>"
    text = patched(before + contexts + after, "B", keep_former=True, note="why")
    former = '<alt-trans alttranstype="previous-version"><target>b</target></alt-trans>'
    assert text.endswith(f'B</target>{contexts}<note from="postedit">why</note>{former}{after}')


def test_a_note_comes_after_a_new_target() -> None:
    text = patched('<trans-unit id="1"><source>a</source></trans-unit>', "b", note="why")
    assert re.fullmatch('.*</source><target .*>b</target><note from="postedit">why</note></trans-unit>', text)


def test_a_former_target_is_a_candidate_when_read_again() -> None:
    body = '<trans-unit id="1"><source>a</source><target state-qualifier="leveraged-mt">b</target></trans-unit>'
    (unit,) = units(patched(body, "c", keep_former=True))
    (candidate,) = unit.candidates
    assert (candidate.target.text, candidate.origin, candidate.former) == ("b", "machine", True)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "<trans-unit id='1'>\n <source>a</source>\n</trans-unit>",
            "<trans-unit id='1'>\n <source>a</source>\n <target state=\"needs-review-translation\" "
            'state-qualifier="mt-suggestion">X</target>\n</trans-unit>',
        ),
        (
            "<trans-unit id='1'><source>a</source><target state='new' /></trans-unit>",
            "<trans-unit id='1'><source>a</source><target state='needs-review-translation' "
            'state-qualifier="mt-suggestion">X</target></trans-unit>',
        ),
        (
            '<trans-unit id="1" m:confirmed="1"><source>a</source><target>b</target></trans-unit>',
            '<trans-unit id="1" m:confirmed="0"><source>a</source><target state="needs-review-translation" '
            'state-qualifier="mt-suggestion">X</target></trans-unit>',
        ),
        (
            '<trans-unit id="1" o:status="b" mq:status="Pretranslated"><source>a</source>'
            "<target>b</target></trans-unit>",
            '<trans-unit id="1" o:status="b" mq:status="MachineTranslated"><source>a</source>'
            "<target>X</target></trans-unit>",
        ),
        (
            '<trans-unit xmlns:q="MQXliff" id="1" q:status="Pretranslated"><source>a</source>'
            "<target>b</target></trans-unit>",
            '<trans-unit xmlns:q="MQXliff" id="1" q:status="MachineTranslated"><source>a</source>'
            "<target>X</target></trans-unit>",
        ),
        (
            '<trans-unit xmlns:x="urn:oasis:names:tc:xliff:document:1.2" id="1"><source>a</source>'
            '<target x:state="new" state="new" xml:lang="de" state-qualifier="fuzzy-match">b</target></trans-unit>',
            '<trans-unit xmlns:x="urn:oasis:names:tc:xliff:document:1.2" id="1"><source>a</source>'
            '<target x:state="needs-review-translation" state="needs-review-translation" xml:lang="de" '
            'state-qualifier="mt-suggestion">X</target></trans-unit>',
        ),
        (
            '<trans-unit id="1" mq:status="Pretranslated"><source>a</source><target>b</target></trans-unit>',
            '<trans-unit id="1" mq:status="MachineTranslated"><source>a</source><target>X</target></trans-unit>',
        ),
    ],
)
def test_states_are_written_in_the_way_of_the_file(body: str, expected: str) -> None:
    assert patched(body, "X") == expected


def test_a_new_target_has_the_segments_of_the_source() -> None:
    start, end = SEGMENTED.index("<target>"), SEGMENTED.index("<sdl:seg-defs>")
    found = patched(SEGMENTED[:start] + SEGMENTED[end:], "X", None)
    assert found[start : found.index("<sdl:seg-defs>")] == (
        '<target><mrk mtype="seg" mid="1">X</mrk> <g id="7"><mrk mtype="seg" mid="2"></mrk></g></target>'
    )


def test_candidates_are_those_of_the_segment() -> None:
    extra = (
        '<alt-trans mid="1" match-quality="75%" origin="machine-trans"><target>m1</target></alt-trans>'
        '<alt-trans mid="2" match-quality="100"><target>m2</target></alt-trans>'
        "<alt-trans><target>m3</target></alt-trans>"
    )
    first, second = units(SEGMENTED.replace("</trans-unit>", f"{extra}</trans-unit>"))
    assert [(one.target.text, one.origin, one.score) for one in first.candidates] == [
        ("m1", "machine", 75.0),
        ("m3", None, None),
    ]
    assert [one.target.text for one in second.candidates] == ["m2", "m3"]


@pytest.mark.parametrize(
    ("deleted", "added", "origin"),
    [
        ("deleted", "added", "machine"),
        ("feedback-deleted", "feedback-added", "human"),  # a reviewer changed what a translator had written
        ("deleted", "feedback-added", "machine"),
    ],
)
def test_tracked_changes_keep_the_former_target(deleted: str, added: str, origin: str) -> None:
    target = (
        f'Das <mrk mtype="x-sdl-{deleted}" sdl:revid="1">alte</mrk>'
        f'<mrk mtype="x-sdl-{added}" sdl:revid="2">neue</mrk> Haus'
    )
    origins = 'origin="interactive"><sdl:prev-origin origin="mt"/></sdl:seg>'
    body = SEGMENTED.replace("C.", target).replace('origin="tm" percent="80"/>', origins)
    assert body.count(target) == body.count(origins) == 1
    first = next(iter(units(body)))
    assert (first.target.text, first.origin, first.former_origin) == ("Das neue Haus", "human", "machine")
    assert first.target.written() == target
    (candidate,) = first.candidates
    assert (candidate.target.text, candidate.origin, candidate.former) == ("Das alte Haus", origin, True)


@pytest.mark.parametrize(("status", "origin"), [("MachineTranslated", "machine"), ("ManuallyConfirmed", "human")])
def test_the_history_of_a_segment_keeps_former_targets(status: str, origin: str) -> None:
    history = "".join(
        f'<mq:historical-unit mq:status="{status}"><source>{source}</source><target>alt</target></mq:historical-unit>'
        for source in ("a", "another source")
    )
    body = f"<source>a</source><target>neu</target><mq:minorversions>{history}</mq:minorversions>"
    first, second = one(body, ' mq:status="ManuallyConfirmed"').candidates
    assert (first.target.text, first.origin, first.former) == ("alt", origin, True)
    assert (first.same_source, second.same_source) == (True, False)


@pytest.mark.parametrize(
    ("match", "origin", "same"),
    [
        ('<alt-trans origin="Google MT"><target>m</target></alt-trans>', "machine", True),
        ('<alt-trans origin="mt"><source>b</source><target>m</target></alt-trans>', "machine", False),
        (
            '<mq:insertedmatch matchtype="1" source="x"><source>a</source><target>m</target></mq:insertedmatch>',
            "machine",
            True,
        ),
        ('<mq:insertedmatch matchtype="0" source="TM"><target>m</target></mq:insertedmatch>', None, True),
    ],
)
def test_matches_beside_the_target(match: str, origin: str | None, same: bool) -> None:
    (candidate,) = one(f"<source>a</source><target>b</target>{match}").candidates
    assert (candidate.target.text, candidate.origin, candidate.same_source) == ("m", origin, same)


def test_the_oldest_former_target_comes_first() -> None:
    body = '<trans-unit id="1"><source>a</source><target state-qualifier="leveraged-mt">first</target></trans-unit>'
    for text in ("second", "third"):
        body = patched(body, text, keep_former=True)
    (unit,) = units(body)
    assert [candidate.target.text for candidate in unit.candidates] == ["first", "second"]


@pytest.mark.parametrize(
    ("attributes", "state", "origin", "score"),
    [
        (' m:confirmed="2" m:trans-origin="tm"', UnitState.TRANSLATED, "human", None),
        (' m:confirmed="0" m:trans-origin="tm" m:score="0.75"', UnitState.INITIAL, "fuzzy", 75.0),
        (' m:confirmed="0" m:trans-origin="tm" m:score="1.01"', UnitState.INITIAL, "memory", 101.0),
    ],
)
def test_states_and_scores_of_phrase(attributes: str, state: UnitState, origin: str, score: float | None) -> None:
    unit = one("<source>a</source><target>b</target>", attributes)
    assert (unit.state, unit.origin, unit.score) == (state, origin, score)


def test_machine_translation_that_is_confirmed_is_a_persons() -> None:
    first, _ = units(SEGMENTED.replace('origin="tm" percent="80"', 'origin="mt"'))
    assert (first.origin, first.former_origin) == ("human", "machine")


def test_an_edit_leaves_no_sign_of_a_match() -> None:
    state = 'conf="Translated" origin="tm" percent="100" text-match="SourceAndTarget" struct-match="true"'
    found = patched(SEGMENTED.replace('conf="Translated" origin="tm" percent="80"', state), "X", None)
    expected = 'conf="Draft" origin="mt" percent="0" text-match="None" struct-match="false" origin-system="postedit"'
    assert expected in found
    inside = "<source>a</source><target>b</target>"
    for before, after in (
        ('mq:status="Pretranslated" mq:percent="101"', 'mq:status="MachineTranslated" mq:percent="0"'),
        ('m:confirmed="0" m:trans-origin="tm" m:score="0.9"', 'm:confirmed="0" m:trans-origin="mt" m:score="0.0"'),
    ):
        assert after in patched(f'<trans-unit id="1" {before}>{inside}</trans-unit>', "X")


@pytest.mark.parametrize("empty", ["<target/>", "<target></target>", '<target state="new"> </target>'])
def test_an_empty_target_gets_the_segments_of_the_source(empty: str) -> None:
    start, end = SEGMENTED.index("<target>"), SEGMENTED.index("<sdl:seg-defs>")
    body = SEGMENTED[:start] + empty + SEGMENTED[end:]
    first, second = units(body)
    assert (first.source.text, second.source.text) == ("A.", "B.")
    found = patched(body, "X", None)
    inside = '<mrk mtype="seg" mid="1">X</mrk> <g id="7"><mrk mtype="seg" mid="2"></mrk></g></target>'
    assert found[start : found.index("<sdl:seg-defs>")] == f"{empty.partition('/')[0].partition('>')[0]}>{inside}"


def test_corrections_keep_codes_and_space_around_the_text() -> None:
    unit = one("<source>a</source><target>\n <g id='1'>Der</g> Haus <x id='2'/>\n</target>")
    result = PostEdit(
        "Das Haus", True, edits=(Edit("replace", (0, 3), (0, 3)),), token_spans=((0, 1),), confidences=(1.0,)
    )
    found = correct(unit, result, FORMAT.escape(unit))
    assert (found.content, found.given_up) == ("\n <g id='1'>Das</g> Haus <x id='2'/>\n", ())


def test_in_cdata_the_encoding_of_the_file_limits_what_is_written() -> None:
    head = HEAD.replace('"1.0"?', '"1.0" encoding="iso-8859-1"?', 1)
    body = '<trans-unit id="1"><source>a</source><target><![CDATA[a]]></target></trans-unit>'
    (unit,) = FORMAT.units(io.BytesIO((head + body + TAIL).encode("iso-8859-1")), Path("f.xlf"))
    for output, content in (("é", "<![CDATA[é]]>"), ("語", None)):
        result = PostEdit(
            output, True, edits=(Edit("replace", (0, 1), (0, 1)),), token_spans=((0, 1),), confidences=(1.0,)
        )
        assert correct(unit, result, FORMAT.escape(unit)).content == content


def test_edits_that_leave_a_pair_empty_are_given_up_alone() -> None:
    unit = one("<source>a</source><target><g id='1'>Der</g> alte Haus</target>")
    edits = (Edit("delete", (0, 4), (0, 0)), Edit("replace", (4, 8), (0, 4)))
    result = PostEdit("neue Haus", True, edits=edits, token_spans=((0, 1), (1, 2)), confidences=(1.0, 1.0))
    found = correct(unit, result, FORMAT.escape(unit))
    assert (found.content, found.given_up) == ("<g id='1'>Der</g> neue Haus", ("lost pair",))


def test_an_empty_output_is_given_up() -> None:
    unit = one("<source>a</source><target>b</target>")
    found = correct(
        unit,
        PostEdit("", True, edits=(Edit("delete", (0, 1), (0, 0)),), token_spans=((0, 0),), confidences=(1.0,)),
        FORMAT.escape(unit),
    )
    assert (found.content, found.given_up) == (None, ("no text",))


def confirmed(body: str, *targets: str | None, head: str = HEAD) -> str:
    """Return the body after a person confirmed new targets of its units; None leaves a unit as it is."""
    data = (head + body + TAIL).encode()
    found = FORMAT.units(io.BytesIO(data), Path("f.xlf"))
    changed = [
        (unit, NewTarget(new, keep_former=False, author="anna"))
        for unit, new in zip(found, targets, strict=True)
        if new
    ]
    out = io.BytesIO()
    copy_patched(io.BytesIO(data), FORMAT.patches(changed), out)
    return out.getvalue().decode()[len(head) : -len(TAIL)]


@pytest.mark.parametrize(
    ("level", "expected"), [("", "1"), (' m:level="1"', "1"), (' m:level="2"', "2"), (' m:level="x"', "1")]
)
def test_a_confirmed_target_of_phrase_is_so_in_the_step_of_the_file(level: str, expected: str) -> None:
    head = HEAD.replace(' version="1.2"', f' version="1.2"{level}')
    phrase = '<trans-unit id="1" m:confirmed="0"><source>a</source><target>b</target></trans-unit>'
    assert f'm:confirmed="{expected}"' in confirmed(phrase, "c", head=head)


@pytest.mark.parametrize(
    ("status", "after", "after_person"),
    [
        (
            'translation_type="manual_translation" translation_status="finished"',
            'translation_type="machine_translation" translation_status="pending"',
            'translation_type="manual_translation" translation_status="finished"',
        ),
        (
            'match-quality="fuzzy"',
            'match-quality="fuzzy"',
            'match-quality="fuzzy" translation_type="manual_translation" translation_status="finished"',
        ),
    ],
)
def test_the_status_in_worldserver_says_who_wrote_a_target(status: str, after: str, after_person: str) -> None:
    body = (
        '<trans-unit id="1"><source>a</source><target>b</target>'
        f"<iws:segment-metadata><iws:status {status}/></iws:segment-metadata></trans-unit>"
    )
    assert f"<iws:status {after}/>" in patched(body, "c")
    assert f"<iws:status {after_person}/>" in confirmed(body, "c")


def test_a_confirmed_target_is_that_of_a_person() -> None:
    plain = '<trans-unit id="1"><source>a</source><target state-qualifier="leveraged-mt">b</target></trans-unit>'
    after = confirmed(plain, "c")
    assert '<target state-qualifier="x-post-edited" state="translated">c</target>' in after
    assert (units(after)[0].origin, units(after)[0].state) == ("human", UnitState.TRANSLATED)
    mq = '<trans-unit id="1" mq:status="MachineTranslated"><source>a</source><target>b</target></trans-unit>'
    assert 'mq:status="ManuallyConfirmed"' in confirmed(mq, "c")
    phrase = '<trans-unit id="1" m:confirmed="0"><source>a</source><target>b</target></trans-unit>'
    assert 'm:confirmed="1"' in confirmed(phrase, "c")
    segments = (
        '<trans-unit id="1"><source>a b</source><seg-source><mrk mtype="seg" mid="1">a</mrk> '
        '<mrk mtype="seg" mid="2">b</mrk></seg-source><target><mrk mtype="seg" mid="1">c</mrk> '
        '<mrk mtype="seg" mid="2">d</mrk></target></trans-unit>'
    )
    assert 'state="translated"' in confirmed(segments, "e", "f")
    assert "<target><mrk" in confirmed(segments, "e", None)  # nobody has said anything about the other segment
    without = segments[: segments.index("<target>")] + "</trans-unit>"
    assert '<target state="needs-translation"><mrk' in confirmed(without, "e", None)
    assert '<target state="final"><mrk' in confirmed(segments.replace("<target>", '<target state="final">'), None, "f")
    blank = segments.replace('mid="2">b<', 'mid="2"> <').replace('mid="2">d<', 'mid="2"> <')
    assert '<target state="translated"' in confirmed(blank, "e", None)
    for attribute in ('mq:status="MachineTranslated"', 'm:confirmed="0"'):
        unit = segments.replace('id="1">', f'id="1" {attribute}>', 1)
        assert attribute in confirmed(unit, "e", None)
        assert attribute not in confirmed(unit, "e", "f")


@pytest.mark.parametrize(
    ("unit_attributes", "target_attributes", "expected"),
    [
        (' mq:status="Rejected"', "", UnitState.REJECTED),
        ("", ' state="translated" state-qualifier="rejected-grammar"', UnitState.REJECTED),
        ("", ' state-qualifier="rejected-length"', UnitState.REJECTED),
        ("", ' state="final" state-qualifier="rejected-spelling"', UnitState.FINAL),
        ("", ' state="needs-review-translation" state-qualifier="leveraged-mt"', UnitState.TRANSLATED),
    ],
)
def test_a_target_that_a_person_rejected_has_a_state_of_its_own(
    unit_attributes: str, target_attributes: str, expected: UnitState
) -> None:
    unit = one(f"<source>a</source><target{target_attributes}>b</target>", unit_attributes)
    assert unit.state is expected


@pytest.mark.parametrize(
    ("unit", "kept", "after_person"),
    [
        (
            '<trans-unit id="1" mq:status="Rejected" mq:percent="90"><source>a</source><target>b</target></trans-unit>',
            'mq:status="Rejected" mq:percent="0"',
            'mq:status="ManuallyConfirmed"',
        ),
        (
            '<trans-unit id="1"><source>a</source><target state="translated" state-qualifier="rejected-grammar">b'
            "</target></trans-unit>",
            'state="needs-review-translation" state-qualifier="rejected-grammar"',
            'state="translated" state-qualifier="x-post-edited"',
        ),
        (
            '<trans-unit id="1"><source>a</source><target>b</target><sdl:seg-defs><sdl:seg id="1" '
            'conf="RejectedTranslation" origin="interactive"/></sdl:seg-defs></trans-unit>',
            'conf="RejectedTranslation" origin="mt" origin-system="postedit"',
            'conf="Translated" origin="interactive"',
        ),
    ],
    ids=["memoQ", "XLIFF", "Trados"],
)
def test_only_a_person_accepts_what_a_person_rejected(unit: str, kept: str, after_person: str) -> None:
    after = patched(unit, "c")
    assert kept in after
    assert [one.state for one in units(after)] == [UnitState.REJECTED]
    confirmed_after = confirmed(unit, "c")
    assert after_person in confirmed_after
    assert [one.state for one in units(confirmed_after)] == [UnitState.TRANSLATED]


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (' maxwidth="20" size-unit="char"', 20),
        (' maxwidth="20"', None),
        (' maxwidth="-1" size-unit="char"', None),
        (' maxwidth="x" size-unit="char"', None),
        (' mq:maxlengthchars="30"', 30),
        (' mq:maxlengthchars="-1"', None),
        (' mq:maxlengthchars="0"', None),
        (' maxwidth="20" size-unit="char" mq:maxlengthchars="30"', 20),
        ("", None),
    ],
)
def test_the_greatest_length_is_known_in_characters_alone(attributes: str, expected: int | None) -> None:
    assert one("<source>a</source>", attributes).max_length == expected


def test_the_greatest_length_of_several_segments_is_that_of_none() -> None:
    assert [unit.max_length for unit in units(SEGMENTED.replace(" id=", ' maxwidth="9" size-unit="char" id=', 1))] == [
        None,
        None,
    ]


@pytest.mark.parametrize(("length", "expected"), [("0", None), ("30", 30)])
def test_the_greatest_length_in_worldserver_is_that_of_its_metadata(length: str, expected: int | None) -> None:
    inside = WORLDSERVER.format("", "").replace('length="0"', f'length="{length}"')
    assert one(f"<source>a</source>{inside}").max_length == expected


@pytest.mark.parametrize(
    ("target", "left"),
    [
        ("<target>b <x id='1'/>&amp; </target>", 6),
        ("<target/>", 10),
        ("<target> </target>", 9),
        ("", 10),
    ],
)
def test_what_a_target_has_takes_room(target: str, left: int) -> None:
    (room,) = one(f"<source>a</source>{target}", ' maxwidth="10" size-unit="char"').rooms
    assert room == Room(left)


def test_a_target_without_limits_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postedit.files.xliff1_limits.xml_text", lambda content: pytest.fail(content))
    for attributes in ("", ' maxwidth="9"', ' maxwidth="-1" size-unit="char"', ' mq:maxlengthchars="0"'):
        assert one("<source>a</source><target>b</target>", attributes).rooms == ()


def test_what_is_refused_takes_no_room() -> None:
    unit = one("<source>a</source><target>a</target>", ' maxwidth="3" size-unit="char"')
    assert [has_room(unit, "a" * length) for length in (4, 3, 2, 1, 2, 1)] == [False, True, False, True, False, True]


@pytest.mark.parametrize(
    ("attributes", "rooms"),
    [
        (' maxbytes="10"', [Room(5, Measure("utf-8"))]),
        (' maxwidth="10" size-unit="byte"', [Room(5, Measure("utf-8"))]),
        (' maxwidth="10" size-unit="glyph" maxbytes="4"', [Room(7, Measure("glyph")), Room(-1, Measure("utf-8"))]),
        (' minbytes="2" maxbytes="5"', [Room(0, Measure("utf-8")), Room(3, Measure("utf-8"), is_least=True)]),
        (' minwidth="4" size-unit="char"', [Room(0, is_least=True)]),
        (' minwidth="4" maxwidth="9" size-unit="pixel"', []),
    ],
)
def test_bytes_glyphs_and_least_lengths_limit_a_target(attributes: str, rooms: list[Room]) -> None:
    assert list(one("<source>a</source><target>e\u0301<g id='1'>x&#98;</g></target>", attributes).rooms) == rooms


@pytest.mark.parametrize(
    ("attributes", "new", "fits"),
    [
        (' maxbytes="4"', "äö", True),
        (' maxbytes="4"', "äöü", False),
        (' maxbytes="4"', "abcd", True),
        (' maxbytes="1"', "cd", True),  # as long as the target that is too long already
        (' maxbytes="1"', "cde", False),
        (' minbytes="2"', "a", False),
        (' minbytes="2"', "ä", True),
        (' maxwidth="2" size-unit="glyph"', "e\u0301e\u0301", True),
        (' maxwidth="2" size-unit="char"', "e\u0301e\u0301", False),
    ],
)
def test_a_target_that_breaks_a_limit_has_no_room(attributes: str, new: str, fits: bool) -> None:
    assert has_room(one("<source>a</source><target>ab</target>", attributes), new) == fits


def test_targets_in_a_group_with_a_limit_do_not_grow() -> None:
    unit = '<trans-unit id="{0}"><source>a</source><target>ab</target></trans-unit>'
    first, second = units(f'<group maxbytes="99">{unit.format(1)}</group>{unit.format(2)}')
    assert [has_room(first, "c" * length) for length in (3, 2, 1)] == [False, True, True]
    assert has_room(second, "ccc")


@pytest.mark.parametrize(
    ("target", "left"),
    [(None, 5), ("<target/>", 9), ("", 9), ("<target>C. D.</target>", 5)],
)
def test_segments_share_the_room_of_their_unit(target: str | None, left: int) -> None:
    start, end = SEGMENTED.index("<target>"), SEGMENTED.index("<sdl:seg-defs>")
    body = SEGMENTED if target is None else SEGMENTED[:start] + target + SEGMENTED[end:]
    found = units(body.replace('id="1"', 'id="1" maxwidth="10" size-unit="char"', 1))
    assert found[0].rooms[0] is found[-1].rooms[0]
    assert found[0].rooms[0].left == left


def test_matches_of_no_segment_are_read_for_each_but_not_without_limit() -> None:
    shared = "".join(f"<alt-trans><target>s{number}</target></alt-trans>" for number in range(150))
    own = '<alt-trans mid="2"><target>m2</target></alt-trans>'
    first, second = units(SEGMENTED.replace("<sdl:seg-defs>", f"{own}{shared}<sdl:seg-defs>"))
    assert [one.target.text for one in first.candidates] == [f"s{number}" for number in range(100)]
    assert [one.target.text for one in second.candidates][:2] == ["m2", "s0"]
