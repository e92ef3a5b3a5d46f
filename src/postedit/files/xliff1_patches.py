"""Patches for a `trans-unit` of XLIFF 1.2: targets, their states in each dialect, former targets and notes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape as html_escape
from typing import Final

from postedit.files.options import Origin
from postedit.files.units import NewTarget, Patch, Unit
from postedit.files.xml_patches import content_patches, declarations, declared, patch, space_of, tag_patch
from postedit.files.xml_reader import Collected, Element
from postedit.files.xml_text import indent_before, marked_text, tag_name, with_attributes

_WITH_TARGET: Final = frozenset(["context-group", "count-group", "prop-group", "note"])

_STATE: Final = {"state": "needs-review-translation", "state-qualifier": "mt-suggestion"}

_REJECTED: Final = frozenset(["RejectedTranslation", "RejectedSignOff", "Rejected"])  # of `conf` and `mq:status`

_CONFIRMED: Final = {"state": "translated", "state-qualifier": "x-post-edited"}
_CONFIRMED_SDL: Final = {"conf": "Translated", "origin": "interactive"}
_NEW_SDL: Final = {"conf": "Draft", "origin": "mt", "origin-system": "postedit"}
_NO_MATCH_SDL: Final = {"percent": "0", "text-match": "None", "struct-match": "false"}  # else it looks like a match

_CONFIRMED_WS: Final = {"translation_type": "manual_translation", "translation_status": "finished"}
_NEW_WS: Final = {"translation_type": "machine_translation", "translation_status": "pending"}

_ORIGIN_NAMES: Final[Mapping[Origin, str]] = {"machine": "mt", "fuzzy": "fuzzy", "memory": "tm", "human": "interactive"}


@dataclass(frozen=True, slots=True)
class Slot:
    """Place of a target; `holder` is the element with its content: `target` itself, or one of its segments (`mrk`)."""

    unit: Collected
    holder: Element | None
    target: Element | None
    segment: str = ""
    sdl: tuple[Element, ...] = ()  # SDL's state of the segment, or of all segments if they are edited as a whole


def slot_of(unit: Unit) -> Slot:
    """Return the place of the target of a unit."""
    assert isinstance(unit.slot, Slot)
    return unit.slot


def segments_of(element: Element) -> list[tuple[str, Element]]:
    """Return the segments in `seg-source` or `target` with their ids (`mid`)."""
    found: list[tuple[str, Element]] = []
    for child in element.elements():
        if child.name == "mrk" and child.attributes.get("mtype") == "seg":
            found.append((child.attributes.get("mid", ""), child))
        else:
            found += segments_of(child)
    return found


def is_rejected(target: Mapping[str, str]) -> bool:
    """Return whether the attributes of a target say that a person rejected it (XLIFF 1.2, "state-qualifier")."""
    return target.get("state-qualifier", "").startswith("rejected-")


def status_of(unit: Element) -> Element | None:
    """Return the status of a unit in a file of WorldServer; None in other files."""
    metadata = unit.first("iws:segment-metadata")
    return None if metadata is None else metadata.first("iws:status")


def unit_patches(changed: Sequence[tuple[Unit, NewTarget]]) -> Iterator[Patch]:
    """Yield the patches for the changed units of one `trans-unit`, in any order."""
    slot = slot_of(changed[0][0])
    collected, unit, target = slot.unit, slot.unit.element, slot.target
    dialect = "sdl" if any(slot_of(one).sdl for one, _ in changed) else "mq" if "mq:status" in unit.attributes else ""
    is_whole = len(changed) >= _segments_with_text(collected, changed[0][0])
    state = {} if dialect else _state_after(target, changed, is_whole=is_whole)
    state = state if all(one.mt for one, _ in changed) else _of_source(unit, target) | state
    if target is None:
        yield _new_target(collected, changed, state)
    elif slot.holder is None:  # an empty target beside segments of the source
        segments = unit.first("seg-source")
        assert segments is not None
        contents = {slot_of(one).segment: new.content for one, new in changed}
        yield from content_patches(collected, target, _with_segments(collected, segments, contents), state)
    else:
        holders = [slot_of(one).holder or target for one, _ in changed]
        if state and target not in holders:
            yield tag_patch(collected, target, state)
        for holder, (_, new) in zip(holders, changed, strict=True):
            yield from content_patches(collected, holder, new.content, state if holder is target else {})
    for one, new in changed:
        for sdl in slot_of(one).sdl:
            conf = _CONFIRMED_SDL if new.author else _NEW_SDL | _kept(sdl, "conf")
            yield tag_patch(collected, sdl, conf | _present(sdl, _NO_MATCH_SDL))
    confirmed = all(new.author for _, new in changed)
    if confirmed and not is_whole:
        pass  # the unit has a single state, but nobody has confirmed its other segments
    elif dialect == "mq":
        status = {"mq:status": "MachineTranslated"} | _kept(unit, "mq:status")
        status = {"mq:status": "ManuallyConfirmed"} if confirmed else status
        yield tag_patch(collected, unit, status | _present(unit, {"mq:percent": "0"}))
    elif "m:confirmed" in unit.attributes:
        values = {"m:score": "0.0", "m:gross-score": "0.0", "m:trans-origin": "null" if confirmed else "mt"}
        level = _level(collected) if confirmed else "0"
        yield tag_patch(collected, unit, {"m:confirmed": level} | _present(unit, values))
    elif (of_unit := status_of(unit)) is not None:
        yield tag_patch(collected, of_unit, _CONFIRMED_WS if confirmed else _present(of_unit, _NEW_WS))
    if added := _added(changed):
        place = _end_of_notes(unit)
        yield patch(collected, place, place, added)


def _level(collected: Collected) -> str:
    """Return the step of the workflow in which a file of Phrase was exported; confirmed in another is not confirmed."""
    level = collected.ancestors[0].attributes.get("m:level", "") if collected.ancestors else ""
    return level if level.isascii() and level.isdigit() and int(level) > 0 else "1"


def _segments_with_text(collected: Collected, unit: Unit) -> int:
    """Return the number of segments of the unit with text to translate; 1 if it is edited as a whole."""
    segmented = collected.element.first("seg-source")
    if segmented is None or not slot_of(unit).segment:
        return 1
    return sum(bool(marked_text(collected, one).text.strip()) for _, one in segments_of(segmented))


def _state_after(
    target: Element | None, changed: Sequence[tuple[Unit, NewTarget]], *, is_whole: bool
) -> dict[str, str]:
    """Return the attributes of a new state; none if an existing target has segments that nobody has confirmed yet.

    A target that a person rejected keeps the reason for it.
    """
    if not all(new.author for _, new in changed):
        is_kept = target is not None and is_rejected(target.attributes)
        return {"state": _STATE["state"]} if is_kept else _STATE
    if is_whole:
        return _CONFIRMED
    is_new = target is None or slot_of(changed[0][0]).holder is None
    return {"state": "needs-translation"} if is_new else {}


def _kept(element: Element, name: str) -> dict[str, str]:
    """Return an attribute with its value if that says that a person rejected the target; only a person accepts it."""
    value = element.attributes.get(name, "")
    return {name: value} if value in _REJECTED else {}


def _present(element: Element, values: Mapping[str, str]) -> dict[str, str]:
    """Return those of `values` whose attributes an element already has."""
    return {name: value for name, value in values.items() if name in element.attributes}


def _of_source(unit: Element, target: Element | None) -> dict[str, str]:
    """Return the attributes that a target lacks for the codes of the source, which a translation has."""
    sources = list(unit.elements("source", "seg-source"))
    if target is None:
        return declarations(declared(sources)) | space_of(sources[0])
    return declarations(declared(sources), declared([target]))


def _prefix(collected: Collected) -> str:
    """Return the prefix of the names of the format in a unit, with a colon; or an empty string."""
    unit = collected.element
    return tag_name(collected.text(unit.start, unit.content)).removesuffix("trans-unit")


def _new_target(collected: Collected, changed: Sequence[tuple[Unit, NewTarget]], state: Mapping[str, str]) -> Patch:
    """Return the patch that adds a target, divided into the segments of the source if there are any."""
    unit = collected.element
    source, segmented = unit.first("source"), unit.first("seg-source")
    assert source is not None
    before = segmented or source
    prefix = _prefix(collected)
    tag = with_attributes(f"<{prefix}target>", state)
    content = changed[0][1].content
    if segmented is not None:
        contents = {slot_of(one).segment: new.content for one, new in changed}
        content = _with_segments(collected, segmented, contents)
    text = f"{indent_before(collected, unit, before)}{tag}{content}</{prefix}target>"
    return patch(collected, before.end, before.end, text)


def _with_segments(collected: Collected, segmented: Element, contents: Mapping[str, str]) -> str:
    """Return the content of `seg-source` with `contents` in its segments; those without new content are emptied."""
    parts, done = [], segmented.content
    for number, segment in segments_of(segmented):
        content = contents.get(number, "")
        if segment.is_empty_tag:
            continue
        parts += [collected.text(done, segment.content), content]
        done = segment.close
    return "".join([*parts, collected.text(done, segmented.close)])


def _end_of_notes(unit: Element) -> int:
    """Return the end of the target and its contexts and notes, after which new notes and then former targets go.

    XLIFF 1.1 requires this order; XLIFF 1.2 allows any.
    """
    after = unit.first("target") or unit.first("seg-source") or unit.first("source")
    assert after is not None
    end = after.end
    for child in unit.elements():
        if child.start >= end and child.name not in _WITH_TARGET:
            break
        end = max(end, child.end)
    return end


def _added(changed: Sequence[tuple[Unit, NewTarget]]) -> str:
    """Return the elements to add after the target: notes, and former targets."""
    slot = slot_of(changed[0][0])
    collected, after = slot.unit, slot.target or slot.unit.element.first("source")
    assert after is not None
    name, notes, former = _prefix(collected), [], []
    for unit, new in changed:
        segment = slot_of(unit).segment
        if new.note:
            note = html_escape(f"{segment}: {new.note}" if segment else new.note, quote=False)
            notes.append(f'<{name}note from="postedit">{note}</{name}note>')
        if new.keep_former and unit.target is not None and unit.mt:
            mid = f' mid="{html_escape(segment)}"' if segment else ""
            origin = f' origin="{_ORIGIN_NAMES[unit.origin]}"' if unit.origin else ""
            held = [one for one in (slot.target, slot_of(unit).holder) if one is not None]
            tag = with_attributes(f"<{name}target>", declarations(declared(held)) | space_of(held[0]))
            former.append(
                f'<{name}alt-trans{mid}{origin} alttranstype="previous-version">'
                f"{tag}{unit.target.written()}</{name}target></{name}alt-trans>"
            )
    space = indent_before(collected, collected.element, after)
    return "".join(space + one for one in [*notes, *former])
