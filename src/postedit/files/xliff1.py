"""XLIFF 1.2 and its dialects: of Trados (sdlxliff), memoQ (mqxliff), Phrase (mxliff), Wordfast (txlf) and others."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby, islice
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

from postedit.files.marked_text import Escape, MarkedText
from postedit.files.options import MACHINE_NAMES, Origin, UnitState
from postedit.files.units import NewTarget, OtherTarget, Patch, Unit, joined_id, percentage
from postedit.files.xliff1_limits import is_filled, max_length, rooms_of
from postedit.files.xliff1_patches import Slot, is_rejected, segments_of, slot_of, status_of, unit_patches
from postedit.files.xml_reader import Collected, Element, XmlReader, xliff_version
from postedit.files.xml_text import FEEDBACK, escape, marked_text, plain_text, tracked_changes

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

_STATES: Final = {  # by `state`, `conf` of SDL, `status` of memoQ, or `translation_status` of WorldServer
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
    "RejectedTranslation": UnitState.REJECTED,
    "Translated": UnitState.TRANSLATED,
    "RejectedSignOff": UnitState.REJECTED,
    "ApprovedTranslation": UnitState.REVIEWED,
    "ApprovedSignOff": UnitState.FINAL,
    "NotStarted": UnitState.INITIAL,
    "Pretranslated": UnitState.INITIAL,
    "MachineTranslated": UnitState.INITIAL,
    "AssembledFromFragments": UnitState.INITIAL,
    "PartiallyEdited": UnitState.INITIAL,
    "Rejected": UnitState.REJECTED,
    "ManuallyConfirmed": UnitState.TRANSLATED,
    "Reviewer1Confirmed": UnitState.REVIEWED,
    "Proofread": UnitState.FINAL,
    "pending": UnitState.INITIAL,
    "finished": UnitState.TRANSLATED,
}

_ORIGINS: Final[Mapping[str, Origin]] = {  # by `state-qualifier`, SDL's `origin`, memoQ's `status`, Phrase, WorldServer
    "leveraged-mt": "machine",
    "mt-suggestion": "machine",
    "mt": "machine",
    "nmt": "machine",
    "amt": "machine",
    "machine-trans": "machine",
    "machine_translation": "machine",
    "machine_translation_mt": "machine",
    "MT": "machine",
    "MachineTranslated": "machine",
    "fuzzy-match": "fuzzy",
    "fuzzy": "fuzzy",
    "tm-suggestion": "fuzzy",
    "leveraged-tm": "memory",
    "leveraged-glossary": "memory",
    "leveraged-inherited": "memory",
    "leveraged-repository": "memory",
    "exact-match": "memory",
    "id-match": "memory",
    "tm": "memory",
    "document-match": "memory",
    "interactive": "human",
    "auto-propagated": "human",  # confirmed by a person in another segment with the same source
    "x-post-edited": "human",
    "manual_translation": "human",
}

_VERSIONS: Final[Mapping[str, Origin]] = {  # by the status of a former target in memoQ
    "MachineTranslated": "machine",
    "Pretranslated": "fuzzy",
    "AssembledFromFragments": "fuzzy",
    "ManuallyConfirmed": "human",
    "PartiallyEdited": "human",
    "Reviewer1Confirmed": "human",
    "Proofread": "human",
    "Rejected": "human",
}

_CARE: Final[Sequence[Origin | None]] = (None, "machine", "fuzzy", "memory", "human")  # by the care taken, least first

_MOST_SHARED: Final = 100  # matches that belong to no segment of a unit, and are therefore read for each, at most

_PO_HEADER: Final = "x-gettext-domain-header"  # `restype` of the header of a PO file that was converted to XLIFF

_APPROVED: Final = frozenset(["ApprovedTranslation", "ApprovedSignOff"])  # values of `conf`


class Xliff1:
    """XLIFF 1.2 and its dialects."""

    name = "XLIFF 1.2"

    def recognises(self, head: bytes, path: Path) -> bool:
        """Return whether the root element is `xliff` with a version 1.x; see `xliff_version`."""
        return xliff_version(head).startswith("1.")

    def units(self, stream: BinaryIO, path: Path) -> Iterator[Unit]:
        """Yield a unit for each `trans-unit`, or for each of its segments if it has any; see `Format`."""
        for collected in XmlReader(path, frozenset(["trans-unit"]), _NAMESPACES).read(stream):
            yield from _units(collected)

    def escape(self, unit: Unit) -> Escape:
        """Return the function that escapes a character for XML."""
        return escape

    def patches(self, changed: Iterable[tuple[Unit, NewTarget]]) -> Iterator[Patch]:
        """Yield the patches that change targets and their states, and add `alt-trans` and `note`; see `Format`."""
        for _, group in groupby(changed, key=lambda one: id(slot_of(one[0]).unit)):
            patches = dict.fromkeys(unit_patches(list(group)))
            yield from sorted(patches, key=lambda one: (one.start, one.end))  # those at the same place are in order


def _units(collected: Collected) -> Iterator[Unit]:
    element = collected.element
    source, target = element.first("source"), element.first("target")
    if source is None:
        return
    file = next((one for one in collected.ancestors if one.name == "file"), None)
    file_values: Mapping[str, str] = {} if file is None else file.attributes
    segmented = element.first("seg-source")
    sources = [] if segmented is None else segments_of(segmented)
    targets = [] if target is None else segments_of(target)
    numbers, of_targets = sorted(one for one, _ in sources), sorted(one for one, _ in targets)
    whole = Unit(
        id=joined_id(file_values.get("original", ""), element.attributes.get("id", "")),
        source=MarkedText(""),  # set below, for the unit or for each segment
        target=None,
        locked=_is_locked(collected) or _has_repeated(numbers) or _has_repeated(of_targets),
        notes=tuple(plain_text(collected, note) for note in element.elements("note")),
        languages=(
            file_values.get("source-language") or source.attributes.get("xml:lang", ""),
            file_values.get("target-language") or ("" if target is None else target.attributes.get("xml:lang", "")),
        ),
        max_length=max_length(element),
        rooms=rooms_of(collected, target, sources),
        slot=Slot(collected, target, target),
    )
    states = {
        one.attributes.get("id", ""): one
        for defs in element.elements("sdl:seg-defs")
        for one in defs.elements("sdl:seg")
    }
    if not sources or (of_targets != numbers and (targets or is_filled(collected, target))):
        # Without segments, or with others in the target, the unit is edited as a whole if tags and states allow.
        all_states = tuple(states.values())
        whole = replace(
            whole,
            source=marked_text(collected, source),
            target=None if target is None else marked_text(collected, target),
            locked=whole.locked or any(map(_is_locked_segment, all_states)),
            slot=Slot(collected, target, target, sdl=all_states),
        )
        by_state = (_with_state(whole, element, target, state) for state in all_states or (None,))
        yield _with_candidates(max(by_state, key=_progress), element, list(element.elements("alt-trans")))
        return
    alternatives: dict[str | None, list[Element]] = {}  # by segment; None: of all segments
    for one in element.elements("alt-trans"):
        alternatives.setdefault(one.attributes.get("mid"), []).append(one)
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
            slot=Slot(collected, holder, target, number, () if state is None else (state,)),
        )
        others = [*_shared(unit, iter(alternatives.get(None, ()))), *alternatives.pop(number, ())]
        in_order = sorted(others, key=lambda one: one.start)
        yield _with_candidates(_with_state(unit, element, target, state), element, in_order)


def _has_repeated(numbers: Sequence[str]) -> bool:
    return len(set(numbers)) < len(numbers)


def _is_locked(collected: Collected) -> bool:
    around = [*collected.ancestors, collected.element]
    translate = next((one.attributes["translate"] for one in reversed(around) if "translate" in one.attributes), "yes")
    values = collected.element.attributes
    return (
        translate == "no"
        or values.get("approved") == "yes"
        or values.get("restype") == _PO_HEADER
        or values.get("mq:locked", "") not in ("", "false", "no", "0")
        or values.get("m:locked") == "true"
    )


def _is_locked_segment(sdl: Element) -> bool:
    return sdl.attributes.get("locked") == "true" or sdl.attributes.get("conf") in _APPROVED


def _progress(unit: Unit) -> tuple[bool, bool, int, int, float, int]:
    """Return a key that orders the variants of a unit with different states by how far a person has come.

    What a reviewer rejected comes before what no person has confirmed.
    """
    is_done = unit.origin == "human" and (unit.state or UnitState.INITIAL) >= UnitState.TRANSLATED
    state = -1 if unit.state is None else unit.state
    is_of_reviewer = unit.state is UnitState.REJECTED
    return is_done, is_of_reviewer, state, _CARE.index(unit.origin), unit.score or 0, _CARE.index(unit.former_origin)


def _origin_of(sdl: Element) -> Origin | None:
    return _first(_ORIGINS, sdl.attributes.get("origin"))


def _is_confirmed(unit: Element, sdl: Element | None, origin: Origin | None) -> bool:
    """Return whether a person has confirmed the target, whatever its origin.

    Trados itself confirms only exact matches: mt, fuzzy matches and copies of the source are drafts before.
    """
    segment: Mapping[str, str] = {} if sdl is None else sdl.attributes
    is_draft = origin in ("machine", "fuzzy") or segment.get("origin") == "source"
    return (
        unit.attributes.get("mq:status") == "ManuallyConfirmed"
        or unit.attributes.get("m:confirmed", "0") != "0"
        or (segment.get("conf") == "Translated" and is_draft)
    )


def _with_state(unit: Unit, element: Element, target: Element | None, sdl: Element | None) -> Unit:
    """Return a unit with its state, and with origin, score and former origin of its target."""
    values = dict(element.attributes)
    of_target: Mapping[str, str] = {} if target is None else target.attributes
    of_segment: Mapping[str, str] = {} if sdl is None else sdl.attributes
    metadata, status = element.first("iws:segment-metadata"), status_of(element)
    of_status: Mapping[str, str] = {} if status is None else status.attributes
    state = _first(
        _STATES,
        of_segment.get("conf"),
        of_target.get("state"),
        values.get("mq:status"),
        of_status.get("translation_status"),
    )
    if is_rejected(of_target) and (state is None or state < UnitState.REVIEWED):
        state = UnitState.REJECTED
    if state is None and "m:confirmed" in values:
        state = UnitState.TRANSLATED if values["m:confirmed"] != "0" else UnitState.INITIAL
    origin = _first(
        _ORIGINS,
        of_segment.get("origin"),
        of_target.get("state-qualifier"),
        values.get("m:trans-origin"),
        values.get("mq:status"),
        of_status.get("translation_type"),
        of_status.get("match-quality"),
    )
    score = percentage(
        of_segment.get("percent"),
        values.get("mq:percent"),
        None if metadata is None else metadata.attributes.get("tm_score"),
    )
    if score is None and "m:score" in values:
        share = percentage(values["m:score"])
        score = None if share is None else 100 * share
    if origin == "memory" and score is not None and score < 100:
        origin = "fuzzy"
    former: Origin | None = None
    if _is_confirmed(element, sdl, origin):
        origin, former = "human", origin
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
    )


def _with_candidates(unit: Unit, element: Element, others: Sequence[Element]) -> Unit:
    """Return a unit with its candidates: matches, given its `alt-trans` in order, and former targets."""
    return replace(unit, candidates=(*_candidates(unit, element, others), *_former_targets(unit, element)))


def _first(table: Mapping[str, Value], *keys: str | None) -> Value | None:
    return next((table[key] for key in keys if key is not None and key in table), None)


def _candidates(unit: Unit, element: Element, others: Sequence[Element]) -> Iterator[OtherTarget]:
    """Yield the matches beside a target, then former targets in reverse, because edits add new ones at the front."""
    former = [one for one in others if _is_former(one)]
    for other in [*(one for one in others if not _is_former(one)), *reversed(former)]:
        name = other.attributes.get("origin", "")
        origin = _first(_ORIGINS, name) or ("machine" if MACHINE_NAMES.search(name) else None)
        yield from _targets(unit, other, origin, percentage(other.attributes.get("match-quality")))
    for other in _shared(unit, element.elements("mq:insertedmatch")):  # of memoQ; type 1 is machine translation
        name, kind = other.attributes.get("source", ""), other.attributes.get("matchtype")
        origin = "machine" if kind == "1" or MACHINE_NAMES.search(name) else None
        yield from _targets(unit, other, origin, percentage(other.attributes.get("matchrate")))


def _shared(unit: Unit, elements: Iterator[Element]) -> Iterator[Element]:
    """Yield elements of a `trans-unit` that belong to none of its segments; for a segment, only the first of them."""
    return islice(elements, _MOST_SHARED if slot_of(unit).segment else None)


def _is_former(other: Element) -> bool:
    return other.attributes.get("alttranstype") == "previous-version"


def _targets(unit: Unit, other: Element, origin: Origin | None, score: float | None) -> Iterator[OtherTarget]:
    collected, source = slot_of(unit).unit, other.first("source")
    same = source is None or marked_text(collected, source).text.split() == unit.source.text.split()
    for target in other.elements("target"):
        yield OtherTarget(marked_text(collected, target), origin, score, _is_former(other), same)


def _earlier_origins(sdl: Element) -> list[Origin]:
    """Return the earlier origins of a target, the latest first."""
    found: list[Origin] = []
    for earlier in sdl.elements("sdl:prev-origin"):
        origin = _origin_of(earlier)
        score = percentage(earlier.attributes.get("percent"))
        found += ["fuzzy" if origin == "memory" and (score or 0) < 100 else origin] if origin else []
        found += _earlier_origins(earlier)
    return found


def _former_targets(unit: Unit, element: Element) -> Iterator[OtherTarget]:
    """Yield the former targets in the tracked changes (SDL) or the history (memoQ) of a segment."""
    slot = slot_of(unit)
    changes = frozenset[str]() if slot.holder is None else tracked_changes(slot.holder)
    if slot.holder is not None and changes:
        origin = "human" if changes <= FEEDBACK else unit.former_origin or unit.origin
        yield OtherTarget(marked_text(slot.unit, slot.holder, before_changes=True), origin, former=True)
    versions = (one.elements("mq:historical-unit") for one in element.elements("mq:minorversions"))
    for version in _shared(unit, chain.from_iterable(versions)):
        source, target = version.first("source"), version.first("target")
        if target is not None and source is not None:
            origin = _VERSIONS.get(version.attributes.get("mq:status", ""))
            same = marked_text(slot.unit, source).text.split() == unit.source.text.split()
            yield OtherTarget(marked_text(slot.unit, target), origin, former=True, same_source=same)
