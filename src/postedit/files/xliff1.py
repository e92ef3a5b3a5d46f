"""XLIFF 1.2, and its dialects of SDL Trados (sdlxliff), memoQ (mqxliff), Phrase (mxliff), WorldServer and MateCat."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape as html_escape
from itertools import chain, groupby
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

from postedit.files.marked_text import Escape, MarkedText
from postedit.files.options import MACHINE_NAMES, Origin, UnitState
from postedit.files.units import NewTarget, OtherTarget, Patch, Unit
from postedit.files.xml_patches import content_patches, patch, tag_patch
from postedit.files.xml_reader import Collected, Element, XmlReader
from postedit.files.xml_text import escape, has_tracked_changes, indent_before, marked_text, tag_name, with_attributes

Value = TypeVar("Value")

_NAMESPACES: Final = {
    "urn:oasis:names:tc:xliff:document:1.0": "",
    "urn:oasis:names:tc:xliff:document:1.1": "",
    "urn:oasis:names:tc:xliff:document:1.2": "",
    "http://sdl.com/FileTypes/SdlXliff/1.0": "sdl",
    "MQXliff": "mq",
    "http://www.memsource.com/mxlf/2.0": "m",
    "http://www.idiominc.com/ws/asset": "iws",
}

_STATES: Final = {  # of `state`, `conf` of SDL, and `status` of memoQ
    "new": UnitState.INITIAL,
    "needs-translation": UnitState.INITIAL,
    "needs-l10n": UnitState.INITIAL,
    "needs-adaptation": UnitState.INITIAL,
    "needs-review-translation": UnitState.TRANSLATED,
    "needs-review-l10n": UnitState.TRANSLATED,
    "needs-review-adaptation": UnitState.TRANSLATED,
    "translated": UnitState.TRANSLATED,
    "signed-off": UnitState.REVIEWED,
    "final": UnitState.FINAL,
    "Draft": UnitState.INITIAL,
    "RejectedTranslation": UnitState.INITIAL,
    "Translated": UnitState.TRANSLATED,
    "RejectedSignOff": UnitState.TRANSLATED,
    "ApprovedTranslation": UnitState.REVIEWED,
    "ApprovedSignOff": UnitState.FINAL,
    "NotStarted": UnitState.INITIAL,
    "Pretranslated": UnitState.INITIAL,
    "MachineTranslated": UnitState.INITIAL,
    "AssembledFromFragments": UnitState.INITIAL,
    "PartiallyEdited": UnitState.INITIAL,
    "Rejected": UnitState.INITIAL,
    "ManuallyConfirmed": UnitState.TRANSLATED,
    "Reviewer1Confirmed": UnitState.REVIEWED,
    "Proofread": UnitState.FINAL,
}

_ORIGINS: Final[Mapping[str, Origin]] = {  # of `state-qualifier`, SDL's `origin`, memoQ's `status`, Phrase, WorldServer
    "leveraged-mt": "machine",
    "mt-suggestion": "machine",
    "mt": "machine",
    "nmt": "machine",
    "amt": "machine",
    "machine-trans": "machine",
    "MT": "machine",
    "MachineTranslated": "machine",
    "fuzzy-match": "fuzzy",
    "fuzzy": "fuzzy",
    "leveraged-tm": "memory",
    "exact-match": "memory",
    "id-match": "memory",
    "tm": "memory",
    "document-match": "memory",
    "interactive": "human",
    "x-post-edited": "human",
}

_VERSIONS: Final[Mapping[str, Origin]] = {  # of the status of a former target in memoQ
    "MachineTranslated": "machine",
    "Pretranslated": "fuzzy",
    "AssembledFromFragments": "fuzzy",
    "ManuallyConfirmed": "human",
    "PartiallyEdited": "human",
    "Reviewer1Confirmed": "human",
    "Proofread": "human",
    "Rejected": "human",
}

_APPROVED: Final = frozenset(["ApprovedTranslation", "ApprovedSignOff"])  # of `conf`

_STATE: Final = {"state": "needs-review-translation", "state-qualifier": "mt-suggestion"}

_CONFIRMED: Final = {"state": "translated", "state-qualifier": "x-post-edited"}
_CONFIRMED_SDL: Final = {"conf": "Translated", "origin": "interactive"}
_NEW_SDL: Final = {"conf": "Draft", "origin": "mt", "origin-system": "postedit"}
_NO_MATCH_SDL: Final = {"percent": "0", "text-match": "None", "struct-match": "false"}  # else it looks like a match

_ORIGIN_NAMES: Final[Mapping[Origin, str]] = {"machine": "mt", "fuzzy": "fuzzy", "memory": "tm", "human": "interactive"}


@dataclass(frozen=True, slots=True)
class _Slot:
    """Where a target is: the element with its content, which is `target` or one of its segments (`mrk`)."""

    unit: Collected
    holder: Element | None
    target: Element | None
    segment: str = ""
    sdl: Element | None = None  # SDL's state of the segment


class Xliff1:
    """XLIFF 1.2 and its dialects."""

    name = "XLIFF 1.2"

    def recognises(self, head: bytes, path: Path) -> bool:
        """Return whether the root is `xliff` of a version 1."""
        return (
            re.search(rb"<([\w.-]+:)?xliff\s(?:[^>\"']|\"[^\"]*\"|'[^']*')*?(?<=\s)version\s*=\s*[\"']1\.", head)
            is not None
        )

    def units(self, stream: BinaryIO, path: Path) -> Iterator[Unit]:
        """Yield a unit for each `trans-unit`, or for each of its segments; see `Format`."""
        for collected in XmlReader(path, frozenset(["trans-unit"]), _NAMESPACES).read(stream):
            yield from _units(collected)

    def escape(self, unit: Unit) -> Escape:
        """Return what writes a character of XML."""
        return escape

    def patches(self, changed: Iterable[tuple[Unit, NewTarget]]) -> Iterator[Patch]:
        """Yield the patches of targets, their states, `alt-trans` and `note`; see `Format`."""
        for _, group in groupby(changed, key=lambda one: id(_slot(one[0]).unit)):
            yield from sorted(set(_unit_patches(list(group))))


def _slot(unit: Unit) -> _Slot:
    assert isinstance(unit.slot, _Slot)
    return unit.slot


def _units(collected: Collected) -> Iterator[Unit]:
    element = collected.element
    source, target = element.first("source"), element.first("target")
    if source is None:
        return
    file = next((one for one in collected.ancestors if one.name == "file"), None)
    file_values: Mapping[str, str] = {} if file is None else file.attributes
    whole = Unit(
        id=f"{file_values.get('original', '')}#{element.attributes.get('id', '')}",
        source=MarkedText(""),  # follows, for the unit or for each segment
        target=None,
        locked=_is_locked(collected),
        notes=tuple(marked_text(collected, note).text for note in element.elements("note")),
        languages=(file_values.get("source-language", ""), file_values.get("target-language", "")),
        max_length=_max_length(element),
        slot=_Slot(collected, target, target),
    )
    segmented = element.first("seg-source")
    sources = [] if segmented is None else _segments(segmented)
    targets = [] if target is None else _segments(target)
    numbers, of_targets = sorted(one for one, _ in sources), sorted(one for one, _ in targets)
    if _has_repeated(numbers) or _has_repeated(of_targets):
        whole = replace(whole, locked=True)
    states = {
        one.attributes.get("id", ""): one
        for defs in element.elements("sdl:seg-defs")
        for one in defs.elements("sdl:seg")
    }
    is_filled = whole.target is not None and bool(whole.target.text.strip() or whole.target.codes)
    if not sources or ((targets or is_filled) and of_targets != numbers):
        # Without segments, or with others in the target: the unit is edited as a whole, if its tags and states allow.
        unit = replace(
            whole,
            source=marked_text(collected, source),
            target=None if target is None else marked_text(collected, target),
            locked=whole.locked or any(map(_is_locked_segment, states.values())),
        )
        yield _with_state(unit, element, target, None, "")
        return
    holders: dict[str, list[Element]] = {}
    for number, segment in targets:
        holders.setdefault(number, []).append(segment)
    for number, segment in sources:
        holder, state = holders[number].pop(0) if targets else None, states.get(number)
        unit = replace(
            whole,
            id=f"{whole.id}#{number}",
            max_length=whole.max_length if len(sources) == 1 else None,
            source=marked_text(collected, segment),
            target=None if holder is None else marked_text(collected, holder),
            slot=_Slot(collected, holder, target, number, state),
        )
        yield _with_state(unit, element, target, state, number)


def _max_length(unit: Element) -> int | None:
    """Return the greatest width of a target, if the file counts it in characters."""
    width = unit.attributes.get("maxwidth", "")
    is_number = width.isascii() and width.isdigit() and len(width) < 9
    return int(width) if is_number and unit.attributes.get("size-unit") == "char" else None


def _segments(element: Element) -> list[tuple[str, Element]]:
    """Return the segments in `seg-source` or `target`, with their numbers."""
    found: list[tuple[str, Element]] = []
    for child in element.elements():
        if child.name == "mrk" and child.attributes.get("mtype") == "seg":
            found.append((child.attributes.get("mid", ""), child))
        else:
            found += _segments(child)
    return found


def _has_repeated(numbers: Sequence[str]) -> bool:
    return len(set(numbers)) < len(numbers)


def _is_locked(collected: Collected) -> bool:
    around = [*collected.ancestors, collected.element]
    translate = next((one.attributes["translate"] for one in reversed(around) if "translate" in one.attributes), "yes")
    values = collected.element.attributes
    return (
        translate == "no"
        or values.get("approved") == "yes"
        or values.get("mq:locked", "") not in ("", "false")
        or values.get("m:locked") == "true"
    )


def _is_locked_segment(sdl: Element) -> bool:
    return sdl.attributes.get("locked") == "true" or sdl.attributes.get("conf") in _APPROVED


def _is_confirmed(unit: Element, sdl: Element | None, origin: Origin | None) -> bool:
    """Return whether a person has confirmed the target, wherever it is from; Trados inserts mt as drafts."""
    return (
        unit.attributes.get("mq:status") == "ManuallyConfirmed"
        or unit.attributes.get("m:confirmed", "0") != "0"
        or (sdl is not None and sdl.attributes.get("conf") == "Translated" and origin == "machine")
    )


def _with_state(unit: Unit, element: Element, target: Element | None, sdl: Element | None, segment: str) -> Unit:
    """Return a unit with its state, the origin of its target, and the candidates of the file."""
    values = dict(element.attributes)
    of_target: Mapping[str, str] = {} if target is None else target.attributes
    of_segment: Mapping[str, str] = {} if sdl is None else sdl.attributes
    state = _first(_STATES, of_segment.get("conf"), of_target.get("state"), values.get("mq:status"))
    if state is None and "m:confirmed" in values:
        state = UnitState.TRANSLATED if values["m:confirmed"] != "0" else UnitState.INITIAL
    metadata = element.first("iws:segment-metadata")
    status = None if metadata is None else metadata.first("iws:status")
    origin = _first(
        _ORIGINS,
        of_segment.get("origin"),
        of_target.get("state-qualifier"),
        values.get("m:trans-origin"),
        values.get("mq:status"),
        None if status is None else status.attributes.get("match-quality"),
    )
    score = _percent(
        of_segment.get("percent"),
        values.get("mq:percent"),
        None if metadata is None else metadata.attributes.get("tm_score"),
    )
    if score is None and "m:score" in values:
        share = _percent(values["m:score"])
        score = None if share is None else 100 * share
    former: Origin | None = None
    if _is_confirmed(element, sdl, origin):
        origin, former = "human", origin
    elif origin == "memory" and score is not None and score < 100:
        origin = "fuzzy"
    earlier = [] if sdl is None else _earlier_origins(sdl)
    if former is None and origin in ("human", None):
        former = next((one for one in earlier if one != origin), None)
    signed_off = of_target.get("state") == "signed-off"
    return replace(
        unit,
        state=state,
        origin=origin,
        score=score,
        locked=unit.locked or signed_off or (sdl is not None and _is_locked_segment(sdl)),
        former_origin=former,
        candidates=(
            *_candidates(unit, element, segment),
            *_former_targets(unit, element, former or origin),
        ),
    )


def _first(table: Mapping[str, Value], *keys: str | None) -> Value | None:
    return next((table[key] for key in keys if key is not None and key in table), None)


def _percent(*values: str | None) -> float | None:
    for value in values:
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%?\s*", value or "")
        if match:
            return float(match[1])
    return None


def _candidates(unit: Unit, element: Element, segment: str) -> Iterator[OtherTarget]:
    """Yield the matches beside a target; edits add former targets before others, so these come in the reverse order."""
    others = [
        one for one in element.elements("alt-trans") if not segment or one.attributes.get("mid", segment) == segment
    ]
    former = [one for one in others if _is_former(one)]
    for other in [*(one for one in others if not _is_former(one)), *reversed(former)]:
        name = other.attributes.get("origin", "")
        origin = _first(_ORIGINS, name) or ("machine" if MACHINE_NAMES.search(name) else None)
        yield from _targets(unit, other, origin, _percent(other.attributes.get("match-quality")))
    for other in element.elements("mq:insertedmatch"):  # of memoQ; its type 1 is machine translation
        name, kind = other.attributes.get("source", ""), other.attributes.get("matchtype")
        origin = "machine" if kind == "1" or MACHINE_NAMES.search(name) else None
        yield from _targets(unit, other, origin, _percent(other.attributes.get("matchrate")))


def _is_former(other: Element) -> bool:
    return other.attributes.get("alttranstype") == "previous-version"


def _targets(unit: Unit, other: Element, origin: Origin | None, score: float | None) -> Iterator[OtherTarget]:
    collected, source = _slot(unit).unit, other.first("source")
    same = source is None or marked_text(collected, source).text.split() == unit.source.text.split()
    for target in other.elements("target"):
        yield OtherTarget(marked_text(collected, target), origin, score, _is_former(other), same)


def _earlier_origins(sdl: Element) -> list[Origin]:
    """Return the origins of a target before the present one, the last one first."""
    found: list[Origin] = []
    for earlier in sdl.elements("sdl:prev-origin"):
        origin = _first(_ORIGINS, earlier.attributes.get("origin"))
        score = _percent(earlier.attributes.get("percent"))
        found += ["fuzzy" if origin == "memory" and (score or 0) < 100 else origin] if origin else []
        found += _earlier_origins(earlier)
    return found


def _former_targets(unit: Unit, element: Element, origin: Origin | None) -> Iterator[OtherTarget]:
    """Yield what tracked changes (SDL) and the history of a segment (memoQ) tell of former targets."""
    slot = _slot(unit)
    if slot.holder is not None and has_tracked_changes(slot.holder):
        yield OtherTarget(marked_text(slot.unit, slot.holder, before_changes=True), origin, former=True)
    for version in chain.from_iterable(
        one.elements("mq:historical-unit") for one in element.elements("mq:minorversions")
    ):
        source, target = version.first("source"), version.first("target")
        if target is not None and source is not None:
            origin = _VERSIONS.get(version.attributes.get("mq:status", ""))
            same = marked_text(slot.unit, source).text.split() == unit.source.text.split()
            yield OtherTarget(marked_text(slot.unit, target), origin, former=True, same_source=same)


def _unit_patches(changed: Sequence[tuple[Unit, NewTarget]]) -> Iterator[Patch]:
    """Yield the patches of one `trans-unit`, in any order."""
    slot = _slot(changed[0][0])
    collected, unit, target = slot.unit, slot.unit.element, slot.target
    dialect = "sdl" if any(_slot(one).sdl for one, _ in changed) else "mq" if "mq:status" in unit.attributes else ""
    state = {} if dialect else _state_after(unit, changed)
    if target is None:
        yield _new_target(collected, changed, state)
    elif slot.holder is None:  # an empty target beside segments of the source
        segments = unit.first("seg-source")
        assert segments is not None
        contents = {_slot(one).segment: new.content for one, new in changed}
        yield from content_patches(collected, target, _with_segments(collected, segments, contents), state)
    else:
        holders = [_slot(one).holder or target for one, _ in changed]
        if state and target not in holders:
            yield tag_patch(collected, target, state)
        for holder, (_, new) in zip(holders, changed, strict=True):
            yield from content_patches(collected, holder, new.content, state if holder is target else {})
    for one, new in changed:
        if (sdl := _slot(one).sdl) is not None:
            conf = _CONFIRMED_SDL if new.author else _NEW_SDL
            yield tag_patch(collected, sdl, conf | _present(sdl, _NO_MATCH_SDL))
    confirmed = all(new.author for _, new in changed)
    if dialect == "mq":
        status = "ManuallyConfirmed" if confirmed else "MachineTranslated"
        yield tag_patch(collected, unit, {"mq:status": status} | _present(unit, {"mq:percent": "0"}))
    elif "m:confirmed" in unit.attributes:
        values = {"m:score": "0.0", "m:gross-score": "0.0", "m:trans-origin": "null" if confirmed else "mt"}
        yield tag_patch(collected, unit, {"m:confirmed": str(int(confirmed))} | _present(unit, values))
    if added := "".join(_added(one, new) for one, new in changed):
        after = target or unit.first("seg-source") or unit.first("source")
        assert after is not None
        yield patch(collected, after.end, after.end, added)


def _state_after(unit: Element, changed: Sequence[tuple[Unit, NewTarget]]) -> dict[str, str]:
    """Return the state of a target: that of confirmed ones if all its segments are."""
    segmented = unit.first("seg-source")
    count = 1 if segmented is None or not _slot(changed[0][0]).segment else len(_segments(segmented))
    if len(changed) < count or not all(new.author for _, new in changed):
        return _STATE
    return _CONFIRMED


def _present(element: Element, values: Mapping[str, str]) -> dict[str, str]:
    """Return the attributes among `values` that an element has."""
    return {name: value for name, value in values.items() if name in element.attributes}


def _new_target(collected: Collected, changed: Sequence[tuple[Unit, NewTarget]], state: Mapping[str, str]) -> Patch:
    """Return the patch that adds a target, with the segments of the source if it has any."""
    unit = collected.element
    source, segmented = unit.first("source"), unit.first("seg-source")
    assert source is not None
    before = segmented or source
    prefix = tag_name(collected.text(source.start, source.content)).removesuffix("source")
    tag = with_attributes(f"<{prefix}target>", state)
    content = changed[0][1].content
    if segmented is not None:
        contents = {_slot(one).segment: new.content for one, new in changed}
        content = _with_segments(collected, segmented, contents)
    text = f"{indent_before(collected, unit, before)}{tag}{content}</{prefix}target>"
    return patch(collected, before.end, before.end, text)


def _with_segments(collected: Collected, segmented: Element, contents: Mapping[str, str]) -> str:
    """Return the content of `seg-source` with other content in its segments; empty where there is none."""
    parts, done = [], segmented.content
    for number, segment in _segments(segmented):
        content = contents.get(number, "")
        if segment.is_empty_tag:
            continue
        parts += [collected.text(done, segment.content), content]
        done = segment.close
    return "".join([*parts, collected.text(done, segmented.close)])


def _added(unit: Unit, new: NewTarget) -> str:
    """Return the elements that follow the target: the former target, and a note."""
    slot = _slot(unit)
    collected, target = slot.unit, slot.target
    after = target or slot.unit.element.first("source")
    assert after is not None
    prefix = tag_name(collected.text(after.start, after.content)).rpartition(":")
    space, name = indent_before(collected, collected.element, after), f"{prefix[0]}{prefix[1]}"
    parts = []
    if new.keep_former and unit.target is not None and unit.target.text.strip():
        mid = f' mid="{html_escape(slot.segment)}"' if slot.segment else ""
        origin = f' origin="{_ORIGIN_NAMES[unit.origin]}"' if unit.origin else ""
        parts.append(
            f'{space}<{name}alt-trans{mid}{origin} alttranstype="previous-version">'
            f"<{name}target>{unit.target.written()}</{name}target></{name}alt-trans>"
        )
    if new.note:
        note = html_escape(f"{slot.segment}: {new.note}" if slot.segment else new.note, quote=False)
        parts.append(f'{space}<{name}note from="postedit">{note}</{name}note>')
    return "".join(parts)
