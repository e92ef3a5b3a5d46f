"""XLIFF 2: what is read, and what an edit leaves in the file."""

import re
from pathlib import Path

import pytest
from file_tools import patched, units_of, written
from lxml import etree

from postedit.core.errors import DataError
from postedit.files.options import UnitState
from postedit.files.units import NewTarget, Unit
from postedit.files.xliff2 import Xliff2

FORMAT = Xliff2()
HEAD = (
    '<?xml version="1.0"?><xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.1" srcLang="en" trgLang="de">'
    '<file id="f1">'
)
TAIL = "</file></xliff>"
MTC = "urn:oasis:names:tc:xliff:matches:2.0"


def units(body: str) -> list[Unit]:
    return units_of(FORMAT, (HEAD + body + TAIL).encode())


def one(inside: str, attributes: str = "") -> Unit:
    (unit,) = units(f'<unit id="u"><segment id="s"{attributes}>{inside}</segment></unit>')
    return unit


def edited(body: str, *targets: str | None, note: str = "", keep_former: bool = False) -> str:
    """Return the body after new targets were written into its units; None leaves a unit as it is."""
    data = patched(FORMAT, (HEAD + body + TAIL).encode(), *targets, note=note, keep_former=keep_former)
    etree.fromstring(data)  # is well-formed
    return data.decode().removeprefix(HEAD).removesuffix(TAIL)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (' state="translated" subState="tool:rejected"', UnitState.REJECTED),
        (' subState="tool:Rejected-Spelling"', UnitState.REJECTED),
        (' state="final" subState="tool:rejected"', UnitState.FINAL),
        (' state="translated" subState="tool:unrejectedly"', UnitState.TRANSLATED),
    ],
)
def test_a_target_that_a_tool_calls_rejected_is_so(attributes: str, expected: UnitState) -> None:
    assert one("<source>a</source><target>b</target>", attributes).state is expected


def test_a_rejected_target_stays_rejected_after_an_edit() -> None:
    body = (
        '<unit id="u"><segment id="s" state="initial" subState="t:rejected"><source>a</source><target>b</target>'
        "</segment></unit>"
    )
    assert edited(body, "c") == body.replace("initial", "translated").replace(">b<", ">c<")


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (HEAD, True),
        ("<x:xliff xmlns:x='urn' version='2.2'", True),
        ("<x:xliff xmlns:x='urn:oasis:names:tc:xliff:document:2.0'", True),
        ('<xliff version="1.2"', False),
        ("plain text", False),
    ],
)
def test_a_file_is_recognised_by_its_root(head: str, expected: bool) -> None:
    assert FORMAT.recognises(head.encode(), Path("x")) == expected


def test_segments_are_units_with_ids_notes_and_languages() -> None:
    first, second = units(
        '<unit id="u1"><notes><note>Not &lt;b&gt;bold&lt;/b&gt;</note></notes>'
        '<segment id="a"><source>A <pc id="1">b</pc></source>'
        "<target>C &amp; d</target></segment><ignorable><source> </source></ignorable>"
        "<segment><source>E</source></segment></unit>"
    )
    assert (first.id, first.languages, first.notes) == ("f1#u1#a", ("en", "de"), ("Not <b>bold</b>",))
    assert first.source.text == "A b"
    assert first.target is not None
    assert first.target.text == "C & d"
    assert (second.id, second.target) == ("f1#u1#s1", None)


def test_a_new_id_is_none_that_the_unit_has() -> None:
    source = "<source>a</source>"
    found = units(f'<unit id="u"><segment id="s1">{source}</segment><segment>{source}</segment></unit>')
    assert [unit.id for unit in found] == ["f1#u#s1", "f1#u#s2"]


def test_targets_can_be_added_only_where_the_file_names_their_language() -> None:
    body = '<unit id="u"><segment><source>a</source></segment></unit>'
    heads = (HEAD, HEAD.replace(' trgLang="de"', ""))
    assert [units_of(FORMAT, (head + body + TAIL).encode())[0].can_have_target for head in heads] == [True, False]


@pytest.mark.parametrize(
    ("attributes", "state"),
    [
        ("", None),
        (' state="initial"', UnitState.INITIAL),
        (' state="translated"', UnitState.TRANSLATED),
        (' state="reviewed"', UnitState.REVIEWED),
        (' state="final"', UnitState.FINAL),
        (' state="done"', None),
    ],
)
def test_states_are_those_of_the_specification(attributes: str, state: UnitState | None) -> None:
    assert one("<source>a</source>", attributes).state == state


@pytest.mark.parametrize(
    ("body", "locked"),
    [
        ('<group id="g" translate="no"><unit id="u">{}</unit></group>', True),
        ('<group id="g" translate="no"><unit id="u" translate="yes">{}</unit></group>', False),
        ('<unit id="u" translate="no">{}</unit>', True),
        ('<unit id="u">{}</unit>', False),
    ],
)
def test_translate_is_inherited_and_overridden(body: str, locked: bool) -> None:
    (unit,) = units(body.format("<segment><source>a</source></segment>"))
    assert unit.locked == locked


def test_a_span_that_is_not_to_be_translated_is_a_code() -> None:
    unit = one('<source>a</source><target>Mit <mrk id="1" translate="no">Word</mrk> hier</target>')
    assert unit.target is not None
    assert (unit.target.text, unit.locked) == ("Mit  hier", False)
    assert unit.target.codes[0][1].raw == '<mrk id="1" translate="no">Word</mrk>'


def test_spans_by_sm_lock_their_segment_or_all_that_they_may_reach() -> None:
    closed = '<segment><source><sm id="1" translate="no"/>a<em startRef="1"/></source></segment>'
    opened = '<segment><source><sm id="1" translate="no"/>a</source></segment>'
    other = "<segment><source>b</source></segment>"
    assert [unit.locked for unit in units(f'<unit id="u">{closed}{other}</unit>')] == [True, False]
    assert [unit.locked for unit in units(f'<unit id="u">{opened}{other}</unit>')] == [True, True]


@pytest.mark.parametrize(
    ("inline", "pairs", "text"),
    [
        ('a <pc id="1">b</pc>', 1, "a b"),
        ('a <sc id="1"/>b<ec startRef="1"/>', 1, "a b"),
        ('a <sc id="1" isolated="yes"/>b', 0, "a b"),
        ('a <ec id="1" isolated="yes"/>b', 0, "a b"),
        ('a <sm id="1" type="term"/>b<em startRef="1"/>', 1, "a b"),
        ('a <mrk id="1" type="term">b</mrk>', 1, "a b"),
        ('a <ph id="1"/>b<cp hex="0001"/>', 0, "a b"),
    ],
)
def test_each_inline_element_is_a_code(inline: str, pairs: int, text: str) -> None:
    source = one(f"<source>{inline}</source>").source
    assert (source.text, len(list(source.pairs())), source.written()) == (text, pairs, inline)


def test_matches_are_candidates_of_the_segment_they_refer_to() -> None:
    matches = "".join(
        f'<m:match ref="{ref}" {values}><source>a</source><target>{text}</target></m:match>'
        for ref, values, text in [
            ("#s", 'type="mt" subType="postedit:former"', "eins"),
            ("#s", 'type="mt" matchQuality="70.5"', "eins"),
            ("#f=f1/u=u/s", 'type="tm" similarity="80"', "zwei"),
            ("#m", 'type="tm" matchQuality="100"', "drei"),
            ("#other", 'type="mt"', "vier"),
            ("#s", 'type="other" subType="postedit:former"', "fünf"),
        ]
    )
    (unit,) = units(
        f'<unit id="u"><m:matches xmlns:m="{MTC}">{matches}</m:matches>'
        '<segment id="s"><source><mrk id="m" type="mtc:match">a</mrk></source><target>eins</target></segment></unit>'
    )
    found = [(one.target.text, one.origin, one.score, one.former) for one in unit.candidates]
    assert found == [
        ("eins", "machine", None, True),
        ("eins", "machine", 70.5, False),
        ("zwei", "fuzzy", 80.0, False),
        ("drei", "memory", 100.0, False),
        ("fünf", None, None, True),
    ]
    assert (unit.origin, unit.score) == ("machine", 70.5)


def test_the_detail_of_a_state_may_say_that_a_target_is_by_a_machine() -> None:
    target = "<source>a</source><target>b</target>"
    assert one(target, ' state="translated" subState="x:mt"').origin == "machine"
    assert one(target, ' state="translated" subState="x:mtx"').origin is None


def test_an_edit_writes_the_target_and_its_state() -> None:
    body = '<unit id="u"><segment  canResegment="no"><source>a</source><target order="2" >b</target></segment></unit>'
    assert edited(body, "neu") == (
        '<unit id="u"><segment  canResegment="no" state="translated" subState="postedit:ape"><source>a</source>'
        '<target order="2" >neu</target></segment></unit>'
    )
    assert edited(body.replace(">b</target>", "/>"), "neu") == edited(body, "neu").replace('2" >', '2">')


def test_a_target_is_made_after_the_source() -> None:
    body = '<unit id="u">\n <segment id="s">\n  <source>a</source>\n </segment>\n</unit>'
    assert "<source>a</source>\n  <target>neu</target>\n </segment>" in edited(body, "neu", keep_former=True)


def test_a_target_without_a_language_is_refused() -> None:
    data = (HEAD + '<unit id="u"><segment><source>a</source></segment></unit>' + TAIL).replace(' trgLang="de"', "")
    with pytest.raises(DataError, match="add trgLang"):
        patched(FORMAT, data.encode(), "neu")


def test_the_former_target_is_a_match_with_its_data() -> None:
    body = (
        '<unit id="u">\n <originalData><data id="d1">x</data><data id="d2">y</data></originalData>\n'
        ' <segment><source>a<ph id="1" dataRef="d1"/></source>'
        '<target>b<ph id="1" dataRef="d1"/></target></segment></unit>'
    )
    after = edited(body, 'neu<ph id="1" dataRef="d1"/>', keep_former=True)
    assert after == (
        f'<unit id="u">\n <mtc:matches xmlns:mtc="{MTC}"><mtc:match ref="#s1" type="other" subType="postedit:former">'
        '<originalData><data id="d1">x</data></originalData><source>a<ph id="1" dataRef="d1"/></source>'
        '<target>b<ph id="1" dataRef="d1"/></target></mtc:match></mtc:matches>\n'
        ' <originalData><data id="d1">x</data><data id="d2">y</data></originalData>\n'
        ' <segment id="s1" state="translated" subState="postedit:ape"><source>a<ph id="1" dataRef="d1"/></source>'
        '<target>neu<ph id="1" dataRef="d1"/></target></segment></unit>'
    )
    (unit,) = units(after)
    assert [(one.target.text, one.former) for one in unit.candidates] == [("b", True)]


def test_former_targets_join_the_matches_of_their_unit() -> None:
    body = (
        f'<unit id="u"><matches xmlns="{MTC}">\n  <match ref="#s" type="mt"><source xmlns="urn:x"/></match>\n'
        " </matches>"
        '<segment id="s"><source>a</source><target>b</target></segment></unit>'
    )
    after = edited(body, "neu", keep_former=True)
    own = ' xmlns="urn:oasis:names:tc:xliff:document:2.0"'
    assert f"<source{own}>a</source><target{own}>b</target></match>\n </matches>" in after
    assert [one.former for one in units(after)[0].candidates] == [True]


def test_a_match_has_no_halves_of_pairs_with_other_segments() -> None:
    body = (
        '<unit id="u"><segment id="1"><source>a</source>'
        '<target>b <sc id="c"/>c<sm id="m" type="term"/></target></segment>'
        '<segment id="2"><source>a</source><target>d<ec startRef="c"/> e<em startRef="m"/></target></segment></unit>'
    )
    after = edited(
        body, 'x <sc id="c"/>c<sm id="m" type="term"/>', 'y<ec startRef="c"/> e<em startRef="m"/>', keep_former=True
    )
    kept = re.findall("</source><target>(.*?)</target></mtc:match>", after)
    assert kept == ['b <sc id="c" isolated="yes"/>c', 'd<ec id="c" isolated="yes"/> e']


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('<unit id="u">', '<unit id="u"><notes><note appliesTo="target" category="postedit">a &lt; b</note></notes>'),
        (
            '<unit id="u"><notes>\n <note>n</note>\n</notes>',
            '<unit id="u"><notes>\n <note>n</note>\n'
            ' <note appliesTo="target" category="postedit">a &lt; b</note>\n</notes>',
        ),
    ],
)
def test_a_note_stands_among_those_of_its_unit(before: str, after: str) -> None:
    segment = '<segment id="s"><source>a</source><target>b</target></segment></unit>'
    assert edited(before + segment, "neu", note="a < b").startswith(after)


def test_notes_and_matches_stand_in_the_order_of_the_schema() -> None:
    body = '<unit id="u"><segment><source>a</source><target>b</target></segment></unit>'
    after = etree.fromstring((HEAD + edited(body, "neu", note="why", keep_former=True) + TAIL).encode())
    assert [etree.QName(child).localname for child in after[0][0]] == ["matches", "notes", "segment"]


def test_of_several_segments_the_edited_ones_change_and_notes_name_them() -> None:
    segment = "<segment><source>a</source><target>b</target></segment>"
    after = edited(f'<unit id="u">{segment * 3}</unit>', None, "neu", None, note="why")
    assert after.count(segment) == 2
    assert ">s2: why</note>" in after
    assert '<segment id="s2" state=' in after


def test_names_keep_the_prefix_of_the_file() -> None:
    data = (
        '<x:xliff xmlns:x="urn:oasis:names:tc:xliff:document:2.2" version="2.2" srcLang="en" trgLang="de">'
        '<x:file id="f"><x:unit id="u"><x:segment id="s"><x:source>a</x:source></x:segment></x:unit></x:file></x:xliff>'
    )
    after = patched(FORMAT, data.encode(), "neu", note="why").decode()
    assert "<x:target>neu</x:target>" in after
    assert '<x:notes><x:note appliesTo="target" category="postedit">why</x:note></x:notes>' in after


def test_a_confirmed_target_is_that_of_a_person() -> None:
    data = (HEAD + '<unit id="u"><segment><source>a</source><target>b</target></segment></unit>' + TAIL).encode()
    changed = [(unit, NewTarget("c", keep_former=False, author="anna")) for unit in units_of(FORMAT, data)]
    after = written(FORMAT, data, changed)
    assert b'<segment state="translated" subState="postedit:confirmed">' in after
    (unit,) = units_of(FORMAT, after)
    assert (unit.origin, unit.state) == ("human", UnitState.TRANSLATED)


def test_each_match_is_looked_at_once_however_many_segments_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    references: list[str] = []
    monkeypatch.setattr(re, "split", lambda pattern, text: references.append(text) or text.split("#"))
    matches = "".join(
        f'<mtc:match ref="#{name}"><source>a</source><target>{name}</target></mtc:match>' for name in "aba"
    )
    segments = "".join(f'<segment id="{name}"><source>a</source></segment>' for name in "abc")
    found = units(f'<unit id="u"><mtc:matches xmlns:mtc="{MTC}">{matches}</mtc:matches>{segments}</unit>')
    assert [[one.target.text for one in unit.candidates] for unit in found] == [["a", "a"], ["b"], []]
    assert references == ["#a", "#b", "#a"]
