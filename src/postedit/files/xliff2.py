"""XLIFF 2.0, 2.1 and 2.2, with matches in the Translation Candidates module."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape as html_escape
from itertools import chain, count, groupby
from pathlib import Path
from typing import BinaryIO, Final

from postedit.core.errors import DataError
from postedit.files.length_limits import Measure
from postedit.files.marked_text import Code, Escape, MarkedText
from postedit.files.options import Origin, UnitState
from postedit.files.size_restrictions import max_length, measures, rooms_of
from postedit.files.units import NewTarget, OtherTarget, Patch, Unit, joined_id, percentage
from postedit.files.xml_patches import (
    appended,
    content_patches,
    declarations,
    declared,
    patch,
    space_of,
    tag_patch,
)
from postedit.files.xml_reader import Collected, Element, Text, XmlReader, xliff_version
from postedit.files.xml_text import escape, indent_before, marked_text, plain_text, tag_name, with_attributes

_MATCHES: Final = "urn:oasis:names:tc:xliff:matches:2.0"
_NAMESPACES: Final = {
    "urn:oasis:names:tc:xliff:document:2.0": "",
    "urn:oasis:names:tc:xliff:document:2.1": "",
    "urn:oasis:names:tc:xliff:document:2.2": "",
    _MATCHES: "mtc",
    "urn:oasis:names:tc:xliff:sizerestriction:2.0": "slr",
}

_STATES: Final = {
    "initial": UnitState.INITIAL,
    "translated": UnitState.TRANSLATED,
    "reviewed": UnitState.REVIEWED,
    "final": UnitState.FINAL,
}
_NEW_STATE: Final = {"state": "translated", "subState": "postedit:ape"}
_CONFIRMED: Final = {"state": "translated", "subState": "postedit:confirmed"}

_ORIGINS: Final[Mapping[str, Origin]] = {  # by the `type` of a match
    "mt": "machine",
    "am": "fuzzy",
    "tm": "memory",
    "icm": "memory",
    "idm": "memory",
}
_TYPES: Final[Mapping[Origin, str]] = {"machine": "mt", "fuzzy": "tm", "memory": "tm"}
_MACHINE: Final = re.compile(r"(?:^|[^a-z])(?:n?mt|ape|machine)(?:$|[^a-z])", re.IGNORECASE)  # in `subState`
_REJECTED: Final = re.compile(r"(?:^|[^a-z])rejected(?:$|[^a-z])", re.IGNORECASE)  # in `subState`
_FORMER: Final = "postedit:former"  # `subType` of a match
_MEASURES: Final = measures(None)  # of a file without profiles


@dataclass(frozen=True, slots=True)
class _Slot:
    """Place of a target: its segment in its unit, and the id of the segment, which is new if the file has none."""

    unit: Collected
    segment: Element
    id: str
    path: Path

    def child(self, name: str) -> Element | None:
        """Return the first child of the segment with this name, such as its source or target; None if there is none."""
        return self.segment.first(name)

    def around(self, *elements: Element) -> list[Element]:
        """Return the ancestors of the unit, the unit and `elements`, which are within it; the outermost first."""
        return [*self.unit.ancestors, self.unit.element, *elements]

    @property
    def prefix(self) -> str:
        """Prefix of the names of the format in the unit, with a colon; or empty."""
        element = self.unit.element
        return tag_name(self.unit.text(element.start, element.content)).removesuffix("unit")


class Xliff2:
    """XLIFF 2.0, 2.1 and 2.2."""

    name = "XLIFF 2"

    def recognises(self, head: bytes, path: Path) -> bool:
        """Return whether the root element is `xliff` with a version 2.x; see `xliff_version`."""
        return xliff_version(head).startswith("2.")

    def units(self, stream: BinaryIO, path: Path) -> Iterator[Unit]:
        """Yield a unit for each `segment`; see `Format`."""
        file, of_file = None, _MEASURES  # the file with the last profiles
        for collected in XmlReader(path, frozenset(["slr:profiles", "unit"]), _NAMESPACES).read(stream):
            if collected.element.name == "slr:profiles":
                file, of_file = collected.ancestors[-1], measures(collected.element)
            else:
                is_own = any(one is file for one in collected.ancestors)
                yield from _units(collected, path, of_file if is_own else _MEASURES)

    def escape(self, unit: Unit) -> Escape:
        """Return the function that escapes a character for XML."""
        return escape

    def patches(self, changed: Iterable[tuple[Unit, NewTarget]]) -> Iterator[Patch]:
        """Yield the patches that change targets, states, `mtc:matches` and `notes`; see `Format`.

        Raises:
            DataError: if a target is added to a file that does not name the target language.
        """
        for _, group in groupby(changed, key=lambda one: id(_slot(one[0]).unit)):
            yield from sorted(_unit_patches(list(group)), key=lambda one: (one.start, one.end))


def _slot(unit: Unit) -> _Slot:
    assert isinstance(unit.slot, _Slot)
    return unit.slot


def _units(collected: Collected, path: Path, measured: tuple[Measure | None, Measure | None]) -> Iterator[Unit]:
    element, around = collected.element, [*collected.ancestors, collected.element]
    root: Mapping[str, str] = collected.ancestors[0].attributes if collected.ancestors else {}
    file = next((one.attributes.get("id", "") for one in collected.ancestors if one.name == "file"), "")
    translate = next((one.attributes["translate"] for one in reversed(around) if "translate" in one.attributes), "yes")
    notes = tuple(plain_text(collected, note) for all in element.elements("notes") for note in all.elements("note"))
    segments = list(element.elements("segment"))
    rooms = rooms_of(collected, measured)
    fixed = {part.start: part for part in element.elements("segment", "ignorable") if _has_fixed_span(part)}
    divided = any(map(_has_open_span, fixed.values()))
    matches = _matches_by_reference(element)
    for segment, number in zip(segments, _ids(element, segments)):
        source, target = segment.first("source"), segment.first("target")
        if source is None:
            continue
        unit = Unit(
            id=joined_id(file, element.attributes.get("id", ""), number),
            source=marked_text(collected, source),
            target=None if target is None else marked_text(collected, target),
            # Many tools never write a state, so the default of XLIFF (initial) would mean nothing.
            state=_state(segment),
            locked=translate == "no" or divided or segment.start in fixed,
            notes=notes,
            candidates=tuple(_candidates(collected, matches, segment, source, number)),
            languages=(root.get("srcLang", ""), root.get("trgLang", "")),
            can_have_target=target is not None or "trgLang" in root,
            max_length=max_length(element, measured) if len(segments) == 1 else None,
            rooms=rooms,
            slot=_Slot(collected, segment, number, path),
        )
        yield _with_origin(unit, segment.attributes.get("subState", ""))


def _state(segment: Element) -> UnitState | None:
    """Return the state of a segment. Tools write into `subState` that it was rejected; XLIFF has no word for it."""
    state = _STATES.get(segment.attributes.get("state", ""))
    is_open = state is None or state < UnitState.REVIEWED
    return UnitState.REJECTED if is_open and _REJECTED.search(segment.attributes.get("subState", "")) else state


def _ids(unit: Element, segments: Sequence[Element]) -> list[str]:
    """Return the id of each segment; one that the file does not have is new, and unique in the unit."""
    if all("id" in segment.attributes for segment in segments):
        return [segment.attributes["id"] for segment in segments]
    used = {one.attributes["id"] for one in _inside(unit) if "id" in one.attributes}
    new = (f"s{number}" for number in count(1) if f"s{number}" not in used)
    return [segment.attributes.get("id") or next(new) for segment in segments]


def _inside(element: Element) -> Iterator[Element]:
    for child in element.elements():
        yield child
        yield from _inside(child)


def _has_fixed_span(segment: Element) -> bool:
    """Return whether an `sm` begins a span that is not to be translated. Such a span in `mrk` becomes a code."""
    return any(one.name == "sm" and one.attributes.get("translate") == "no" for one in _inside(segment))


def _has_open_span(segment: Element) -> bool:
    """Return whether a span that is not to be translated begins in a segment and continues in others."""
    return any(
        one.name == "sm"
        and one.attributes.get("translate") == "no"
        and not any(end.name == "em" and end.attributes.get("startRef") == one.attributes.get("id") for end in inside)
        for inside in (list(_inside(holder)) for holder in segment.elements("source", "target"))
        for one in inside
    )


def _matches_by_reference(unit: Element) -> Mapping[str, Sequence[Element]]:
    """Return the matches of a unit, in order, by the id of the segment or annotation that they refer to."""
    found: defaultdict[str, list[Element]] = defaultdict(list)
    for matches in unit.elements("mtc:matches"):
        for match in matches.elements("mtc:match"):
            # For example "#s1" or "#f=file/u=unit/s1"; or "#t=m1" for a span in a target.
            reference = re.split("[#/]", match.attributes.get("ref", ""))[-1].removeprefix("t=")
            found[reference].append(match)
    return found


def _candidates(
    collected: Collected, matches: Mapping[str, Sequence[Element]], segment: Element, source: Element, number: str
) -> Iterator[OtherTarget]:
    text = marked_text(collected, source).text.split()
    names = {number} | {
        one for holder in segment.elements("source", "target") for one in _annotations(collected, holder)
    }
    mine = (match for name in names for match in matches.get(name, ()))
    for match in sorted(mine, key=lambda one: one.start):
        values, target, other = match.attributes, match.first("target"), match.first("source")
        if target is None:
            continue
        score = percentage(values.get("matchQuality")) or percentage(values.get("similarity"))
        origin = _ORIGINS.get(values.get("type", "tm"))
        if origin == "memory" and (percentage(values.get("similarity")) or score or 100) < 100:
            origin = "fuzzy"
        same = other is None or marked_text(collected, other).text.split() == text
        yield OtherTarget(marked_text(collected, target), origin, score, values.get("subType") == _FORMER, same)


def _annotations(collected: Collected, holder: Element) -> Iterator[str]:
    """Yield the ids of the annotations (`mrk`) that enclose the whole content of an element."""
    parts = [one for one in holder.children if not isinstance(one, Text) or collected.text(one.start, one.end).strip()]
    if len(parts) == 1 and isinstance(parts[0], Element) and parts[0].name == "mrk":
        yield parts[0].attributes.get("id", "")
        yield from _annotations(collected, parts[0])


def _with_origin(unit: Unit, detail: str) -> Unit:
    """Return a unit with the origin of its target, by `detail` (`subState`) or by the match with the same text."""
    if unit.target is None:
        return unit
    if detail == _CONFIRMED["subState"]:
        return replace(unit, origin="human")
    if _MACHINE.search(detail):
        return replace(unit, origin="machine")
    text = unit.target.text
    match = next((one for one in unit.candidates if one.target.text == text and not one.former), None)
    return unit if match is None else replace(unit, origin=match.origin, score=match.score)


def _unit_patches(changed: Sequence[tuple[Unit, NewTarget]]) -> Iterator[Patch]:
    """Yield the patches for the changed segments of one `unit`; those at the same place are in order."""
    slot = _slot(changed[0][0])
    several = len(list(slot.unit.element.elements("segment"))) > 1
    former = [one for one, new in changed if new.keep_former and one.mt]
    notes = [(one, new.note) for one, new in changed if new.note]
    if former:
        yield _matches(slot, former)
    if notes:
        yield _notes(slot, [f"{_slot(one).id}: {note}" if several else note for one, note in notes])
    named = {_slot(one).id for one in former} | {_slot(one).id for one, _ in notes if several}
    for one, new in changed:
        yield from _segment_patches(one, new, with_id=_slot(one).id in named)


def _segment_patches(unit: Unit, new: NewTarget, with_id: bool) -> Iterator[Patch]:
    slot = _slot(unit)
    segment, source, target = slot.segment, slot.child("source"), slot.child("target")
    assert source is not None
    own = declarations(declared([source]))  # a translation has the codes of the source
    number = {"id": slot.id} if with_id and "id" not in segment.attributes else {}
    is_kept = _state(segment) is UnitState.REJECTED  # only a person accepts what a person rejected
    after = {"state": _NEW_STATE["state"]} if is_kept else _NEW_STATE
    yield tag_patch(slot.unit, segment, number | (_CONFIRMED if new.author else after))
    if target is not None:
        yield from content_patches(slot.unit, target, new.content, {} if unit.mt else own)
        return
    if "trgLang" not in slot.unit.ancestors[0].attributes:
        raise DataError(
            f'{slot.path}: does not say the language of targets; add trgLang, such as trgLang="de", to <xliff>'
        )
    indent = indent_before(slot.unit, segment, source)
    tag = with_attributes(f"<{slot.prefix}target>", own | space_of(source))
    text = f"{indent}{tag}{new.content}</{slot.prefix}target>"
    yield patch(slot.unit, source.end, source.end, text)


def _matches(slot: _Slot, former: Sequence[Unit]) -> Patch:
    """Return the patch that adds former targets to the matches of their unit, which are its first child."""
    unit, held = slot.unit.element, slot.unit.element.first("mtc:matches")
    scope = declared(slot.around(*([] if held is None else [held])))
    prefix = next((name for name, uri in scope.items() if uri == _MATCHES), None)
    declaration = ""
    if prefix is None:
        names = chain(["mtc"], (f"mtc{number}" for number in count(2)))
        prefix = next(name for name in names if name not in scope)
        declaration = f' xmlns:{prefix}="{_MATCHES}"'
    name = f"{prefix}:" if prefix else ""
    matches = [_match(one, name, scope) for one in former]
    if held is not None:
        return appended(slot.unit, held, matches)
    first = unit.children[0]
    indent = slot.unit.text(first.start, first.end) if isinstance(first, Text) else ""
    indent = "" if indent.strip() else indent
    text = f"{indent}<{name}matches{declaration}>{''.join(matches)}</{name}matches>"
    return patch(slot.unit, unit.content, unit.content, text)


def _match(unit: Unit, prefix: str, scope: Mapping[str, str]) -> str:
    """Return the match that keeps the former target of a unit; the prefixes in `scope` are declared at its place."""
    slot = _slot(unit)
    source, target = slot.child("source"), slot.child("target")
    assert source is not None
    assert target is not None
    assert unit.target is not None
    kind = "other" if unit.origin is None else _TYPES.get(unit.origin, "other")
    quality = "" if unit.score is None else f' matchQuality="{unit.score:g}"'
    parts = [
        _original_data(slot, scope),
        _copy(slot, source, unit.source, scope),
        _copy(slot, target, unit.target, scope),
    ]
    tag = f'{prefix}match ref="#{html_escape(slot.id)}" type="{kind}" subType="{_FORMER}"{quality}'
    return f"<{tag}>{''.join(parts)}</{prefix}match>"


def _copy(slot: _Slot, element: Element, marked: MarkedText, scope: Mapping[str, str]) -> str:
    """Return a copy of `source` or `target` as XML for a match."""
    attributes = declarations(declared(slot.around(slot.segment, element)), scope) | space_of(element)
    name = f"{slot.prefix}{element.name}"
    return f"{with_attributes(f'<{name}>', attributes)}{_self_contained(marked).written()}</{name}>"


def _original_data(slot: _Slot, scope: Mapping[str, str]) -> str:
    """Return the original data to which codes of a segment refer, as XML; empty if there is none."""
    held = slot.unit.element.first("originalData")
    names = {
        value
        for one in _inside(slot.segment)
        for key, value in one.attributes.items()
        if key in ("dataRef", "dataRefStart", "dataRefEnd")
    }
    data = [] if held is None else [one for one in held.elements("data") if one.attributes.get("id") in names]
    if held is None or not data:
        return ""
    name = f"{slot.prefix}originalData"
    tag = with_attributes(f"<{name}>", declarations(declared(slot.around(held)), scope))
    return f"{tag}{''.join(slot.unit.text(one.start, one.end) for one in data)}</{name}>"


def _self_contained(marked: MarkedText) -> MarkedText:
    """Return text in which codes without their other half are marked as isolated, or left out if they cannot be."""
    paired = {index for pair in marked.pairs() for index in pair}
    codes: list[tuple[int, Code]] = []
    for index, (position, code) in enumerate(marked.codes):
        raw = code.raw
        if index not in paired and code.kind != "alone":
            name = tag_name(raw).rpartition(":")[2]
            if name not in ("sc", "ec"):
                continue
            raw = with_attributes(re.sub(r"\sstartRef(?=\s*=)", " id", raw), {"isolated": "yes"})
        codes.append((position, replace(code, raw=raw)))
    return replace(marked, codes=tuple(codes))


def _notes(slot: _Slot, notes: Sequence[str]) -> Patch:
    """Return the patch that adds notes, which must be after other modules and before original data and segments."""
    unit, prefix = slot.unit.element, slot.prefix
    texts = [
        f'<{prefix}note appliesTo="target" category="postedit">{html_escape(note, quote=False)}</{prefix}note>'
        for note in notes
    ]
    held = unit.first("notes")
    if held is not None:
        return appended(slot.unit, held, texts)
    after = next(unit.elements("originalData", "segment", "ignorable"))
    indent = indent_before(slot.unit, unit, after)
    text = f"<{prefix}notes>{''.join(texts)}</{prefix}notes>{indent}"
    return patch(slot.unit, after.start, after.start, text)
