"""The Size and Length Restriction module of XLIFF 2 (XLIFF 2.0, section 5.7), with its standard profiles."""

import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal

from postedit.files.length_limits import CHARACTERS, Limit, Measure, Room, xml_text
from postedit.files.xml_reader import Collected, Element

_RESTRICTION: Final = re.compile(r"(?:(\d{1,8})\s*,\s*)?(\d{1,8}|\*)", re.ASCII)
_SIZES: Final = ("", "xliff:codepoints")
_STORAGES: Final = {"": "utf-8", "xliff:utf8": "utf-8", "xliff:utf16": "utf-16-le", "xliff:utf32": "utf-32-le"}
_FORMS: Final[Mapping[str, Literal["", "NFC", "NFD"]]] = {"nfc": "NFC", "nfd": "NFD"}
_KINDS: Final = (("slr:sizeRestriction", "slr:sizeInfo"), ("slr:storageRestriction", "slr:equivStorage"))


def measures(profiles: Element | None) -> tuple[Measure | None, Measure | None]:
    """Return how a file measures size and storage, given its `slr:profiles`; None for a profile of another party.

    A file without profiles is taken to mean characters, and bytes in UTF-8.
    """
    values: Mapping[str, str] = {} if profiles is None else profiles.attributes
    found = None if profiles is None else profiles.first("slr:normalization")
    forms: Mapping[str, str] = {} if found is None else found.attributes
    general, storage = (_FORMS.get(forms.get(name, ""), "") for name in ("general", "storage"))
    encoding = _STORAGES.get(values.get("storageProfile", ""))
    size = Measure(form=general) if values.get("generalProfile", "") in _SIZES else None
    return size, None if encoding is None else Measure(encoding, storage)


def rooms_of(unit: Collected, measured: tuple[Measure | None, Measure | None]) -> tuple[Room, ...]:
    """Return the room of the targets of a unit together.

    Restrictions apply to all that an element contains. A target in a group or file with a restriction may not change
    its length for the worse, because the lengths of the other units are not known. Those of spans are not read.
    """
    return tuple(_rooms(unit, measured))


def _rooms(unit: Collected, measured: tuple[Measure | None, Measure | None]) -> Iterator[Room]:
    for (name, own), measure in zip(_KINDS, measured, strict=True):
        if measure is None:
            continue
        around = (_limit(one, name, measure) for one in unit.ancestors if name in one.attributes)
        for limit in around:
            yield from limit.no_room()
        if name in unit.element.attributes:
            yield from _limit(unit.element, name, measure).rooms(_length(unit, measure, own))


def max_length(unit: Element, measured: tuple[Measure | None, Measure | None]) -> int | None:
    """Return the maximum number of characters of the targets of a unit; None if there is none."""
    name = _KINDS[0][0]
    return None if measured[0] is None else _limit(unit, name, CHARACTERS).most


def _limit(element: Element, name: str, measure: Measure) -> Limit:
    """Return the limit in an attribute, such as "90", "25,100" or "35,*"."""
    match = _RESTRICTION.fullmatch(element.attributes.get(name, "").strip())
    least, most = match.groups() if match else (None, "*")
    return Limit(measure, int(least) if least else None, None if most == "*" else int(most))


def _length(unit: Collected, measure: Measure, own: str) -> int:
    """Return the present length of all targets; text between segments that has no target stays as in the source."""
    total = 0
    for part in unit.element.elements("segment", "ignorable"):
        held = part.first("target") or (part.first("source") if part.name == "ignorable" else None)
        if held is not None:
            total += measure.length(xml_text(unit.text(held.content, held.close))) + _of_codes(held, measure, own)
    return total


def _of_codes(element: Element, measure: Measure, own: str) -> int:
    """Return the length that inline codes add, which is given in the attribute `own`; `cp` stands for a character."""
    total = 0
    for child in element.elements():
        value, code = child.attributes.get(own, ""), child.attributes.get("hex", "")
        if child.name == "cp" and re.fullmatch("[0-9A-Fa-f]{1,6}", code) and int(code, 16) < 0x110000:
            total += measure.length(chr(int(code, 16)))
        total += int(value) if re.fullmatch("[0-9]{1,8}", value) else 0
        total += _of_codes(child, measure, own)
    return total
