"""Size and storage restrictions of XLIFF 2: which are read, and the room that they leave."""

import pytest
from file_tools import units_of

from postedit.files.length_limits import Measure, Room, has_room, longest_text
from postedit.files.units import Unit
from postedit.files.xliff2 import Xliff2

HEAD = (
    '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" xmlns:slr="urn:oasis:names:tc:xliff:sizerestriction:2.0" '
    'version="2.0" srcLang="en" trgLang="de">'
)
SEGMENT = "<segment><source>a</source><target>{}</target></segment>"
PROFILES = '<slr:profiles generalProfile="{}" storageProfile="{}"/>'


def units(unit: str, *, inside: str = SEGMENT.format("bcd"), profiles: str = "", around: str = "") -> list[Unit]:
    body = f'{profiles}<group id="g" {around}><unit id="u" {unit}>{inside}</unit></group>'
    return units_of(Xliff2(), f'{HEAD}<file id="f">{body}</file></xliff>'.encode())


@pytest.mark.parametrize(
    ("restriction", "rooms"),
    [
        ('slr:sizeRestriction="5"', [Room(2)]),
        ('slr:sizeRestriction="2,5"', [Room(2), Room(1, is_least=True)]),
        ('slr:sizeRestriction="2,*"', [Room(1, is_least=True)]),
        ('slr:sizeRestriction="*"', []),
        ('slr:sizeRestriction="ninety"', []),
        ('slr:sizeRestriction=" 2 , 5 "', [Room(2), Room(1, is_least=True)]),
        (f'slr:sizeRestriction="{" " * 1_000_000}ninety"', []),  # quadratic time would take hours
        ('slr:storageRestriction="5"', [Room(2, Measure("utf-8"))]),
        ('slr:sizeRestriction="1" slr:storageRestriction="5"', [Room(-2), Room(2, Measure("utf-8"))]),
    ],
)
def test_restrictions_of_units(restriction: str, rooms: list[Room]) -> None:
    assert list(units(restriction)[0].rooms) == rooms


@pytest.mark.parametrize(
    ("general", "storage", "rooms"),
    [
        ("xliff:codepoints", "xliff:utf16", [Room(6), Room(3, Measure("utf-16-le"))]),
        ("xliff:codepoints", "xliff:utf32", [Room(6), Room(-3, Measure("utf-32-le"))]),
        ("acme:pixels", "xliff:utf8", [Room(6, Measure("utf-8"))]),
        ("xliff:codepoints", "acme:ebcdic", [Room(6)]),
    ],
)
def test_profiles_say_how_to_measure(general: str, storage: str, rooms: list[Room]) -> None:
    given = 'slr:sizeRestriction="9" slr:storageRestriction="9"'
    assert list(units(given, profiles=PROFILES.format(general, storage))[0].rooms) == rooms


def test_text_is_normalised_before_it_is_measured() -> None:
    profiles = '<slr:profiles><slr:normalization general="nfc" storage="nfd"/></slr:profiles>'
    (unit,) = units('slr:sizeRestriction="9" slr:storageRestriction="9"', profiles=profiles)
    assert [room.measure.form for room in unit.rooms] == ["NFC", "NFD"]


def test_profiles_apply_to_their_own_file() -> None:
    other, unit = (
        PROFILES.format("acme:pixels", ""),
        f'<unit id="u" slr:sizeRestriction="9">{SEGMENT.format("b")}</unit>',
    )
    body = f'<file id="f">{other}{unit}</file><file id="g">{unit}</file>'
    assert [len(one.rooms) for one in units_of(Xliff2(), f"{HEAD}{body}</xliff>".encode())] == [0, 1]


def test_codes_take_the_room_that_the_file_gives() -> None:
    code = '<pc id="1" slr:sizeInfo="2" slr:equivStorage="4">b<cp hex="0001"/></pc><ph id="2" slr:sizeInfo="x"/>'
    (unit,) = units('slr:sizeRestriction="9" slr:storageRestriction="9"', inside=SEGMENT.format(code))
    assert [room.left for room in unit.rooms] == [5, 3]


def test_segments_and_the_text_between_them_share_the_room() -> None:
    inside = SEGMENT.format("bc") + "<ignorable><source>  </source></ignorable>" + SEGMENT.format("d")
    first, second = units('slr:sizeRestriction="6"', inside=inside)
    assert (longest_text(first), first.max_length) == (None, None)
    assert [has_room(first, "bcd"), has_room(second, "de"), has_room(first, "bc"), has_room(second, "d")] == [
        *(True, False),
        *(True, True),
    ]


def test_a_unit_in_a_group_with_a_restriction_keeps_its_length() -> None:
    (unit,) = units("", around='slr:sizeRestriction="2,99"')
    assert [has_room(unit, "x" * length) for length in (2, 4, 3)] == [False, False, True]


def test_a_restriction_of_a_file_applies_within_its_groups() -> None:
    body = f'<group id="g"><unit id="u">{SEGMENT.format("b")}</unit></group>'
    (unit,) = units_of(Xliff2(), f'{HEAD}<file id="f" slr:sizeRestriction="99">{body}</file></xliff>'.encode())
    assert list(unit.rooms) == [Room(0)]


def test_people_see_the_greatest_length_of_a_single_segment() -> None:
    (unit,) = units('slr:sizeRestriction="5"')
    assert (unit.max_length, longest_text(unit)) == (5, 5)
    assert longest_text(units('slr:sizeRestriction="3,9"')[0]) == 9
    assert units('slr:storageRestriction="5"')[0].max_length is None
    assert units('slr:sizeRestriction="5"', profiles=PROFILES.format("acme:pixels", ""))[0].max_length is None
