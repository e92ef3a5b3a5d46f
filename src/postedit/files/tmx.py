"""TMX, versions 1.1 to 1.4: translation memories."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape as html_escape
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from postedit.core.errors import DataError
from postedit.files.marked_text import Escape
from postedit.files.options import MACHINE_NAMES, Origin, UnitState
from postedit.files.units import NewTarget, OtherTarget, Patch, Unit, percentage
from postedit.files.xml_patches import content_patches, patch, tag_patch
from postedit.files.xml_reader import Collected, Element, XmlReader, root_name
from postedit.files.xml_text import escape, indent_before, marked_text, plain_text
from postedit.text.language_tags import same_language

_ALL: Final = "*all*"  # `srclang` of memories in which any language may be the source
_FORMER: Final = "x-postedit-former"  # `type` of the `prop` that keeps a former target

_ORIGIN_PROPS: Final = re.compile(r"(?:x-)?(?:origin|type|mt|match-?type|engine|system|provenance)", re.IGNORECASE)
_SCORE_PROPS: Final = re.compile(
    r"(?:x-)?(?:match-?quality|match-?percent(?:age)?|match-?score|score|quality)", re.IGNORECASE
)

_LEVEL: Final = "x-ConfirmationLevel"  # `type` of the `prop` in which Trados exports the state of a translation
_STATES: Final = {
    "Draft": UnitState.INITIAL,
    "Translated": UnitState.TRANSLATED,
    "RejectedTranslation": UnitState.REJECTED,
    "RejectedSignOff": UnitState.REJECTED,
    "ApprovedTranslation": UnitState.REVIEWED,
    "ApprovedSignOff": UnitState.FINAL,
}


@dataclass(frozen=True, slots=True)
class _Slot:
    """Place of a target: its unit (`tu`), the variant (`tuv`) in it, the segment (`seg`) in this, and its state."""

    unit: Collected
    variant: Element
    segment: Element
    level: Element | None = None


class OtherLanguagesError(DataError):
    """Error for a memory with `units` units, none of which is in the languages that were asked for."""

    def __init__(self, message: str, units: int) -> None:
        super().__init__(message)
        self.units = units


class Tmx:
    """TMX, versions 1.1 to 1.4.

    A unit is a `tu` with a segment in both languages; others are left out. A language matches all its regions, but a
    variant with the same region is preferred; see `same_language` for scripts.

    Args:
        languages: source and target language, such as ("en", "de"). If one is empty, the file decides: the source is
            the `srclang` of the `tu` or of the header, or the first language of the first unit; the target is the first
            other language that occurs in the file.
        now: time that is recorded for changes; None for the current time.
    """

    name = "TMX"

    def __init__(self, languages: tuple[str, str] = ("", ""), now: datetime | None = None) -> None:
        self._languages, self._now = languages, now

    def recognises(self, head: bytes, path: Path) -> bool:
        """Return whether the root element is `tmx`."""
        return root_name(head) == b"tmx"

    def units(self, stream: BinaryIO, path: Path) -> Iterator[Unit]:
        """Yield a unit for each `tu` in both languages; see `Format`.

        Raises:
            DataError: if the file is malformed.
            OtherLanguagesError: if it has segments, but none in the languages that were asked for or, if none was
                asked for, in two languages.
        """
        source, target = self._languages
        header, wanted, seen, found, count = "", "", set(), False, 0
        for collected in XmlReader(path, frozenset(["header", "tu"]), {}).read(stream):
            element = collected.element
            if element.name == "header":
                header = _known(element.attributes.get("srclang"))
                continue
            count += 1
            variants = [(_language(one), one) for one in element.elements("tuv")]
            seen |= {language for language, _ in variants}
            wanted = source or _known(element.attributes.get("srclang")) or header
            if not wanted and variants:
                wanted = source = variants[0][0]
            first = _variant(variants, wanted)
            if not target and first is not None:
                target = next((language for language, _ in variants if not same_language(language, first[0])), "")
            second = _variant([one for one in variants if one != first], target)
            if first is None or second is None:
                continue
            found = True
            yield from _units(collected, first, second)
        if seen and not found and all(self._languages):
            raise OtherLanguagesError(
                f"{path}: has no segments from {source} to {target}, only {_listed(seen)}; choose the languages by "
                "files.languages or --languages; in the service, add it to a project with these and a model for them",
                count,
            )
        if seen and not found and not any(self._languages):
            origin = f"from {wanted} to another language" if wanted else "in two languages"
            raise OtherLanguagesError(
                f"{path}: has no segments {origin}, only {_listed(seen)}; choose the languages by files.languages or "
                "--languages, if need be with their regions, such as en-US:en-GB; in the service, those of the project",
                count,
            )

    def languages(self, stream: BinaryIO, path: Path, most: int) -> list[str]:
        """Return the distinct languages of the variants in the first `most` units.

        Raises:
            DataError: if this part of the file is malformed.
        """
        read = XmlReader(path, frozenset(["tu"]), {}).read(stream)
        variants = (one for unit in islice(read, most) for one in unit.element.elements("tuv"))
        return list(dict.fromkeys(map(_language, variants)))

    def escape(self, unit: Unit) -> Escape:
        """Return the function that escapes a character for XML."""
        return escape

    def patches(self, changed: Iterable[tuple[Unit, NewTarget]]) -> Iterator[Patch]:
        """Yield patches that change segments, `changedate` and `changeid`, and add `prop` and `note`; see `Format`."""
        now = self._now or datetime.now(UTC)
        date = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
        for unit, new in changed:
            yield from sorted(_unit_patches(unit, new, date), key=lambda one: (one.start, one.end))


def _unit_patches(unit: Unit, new: NewTarget, date: str) -> Iterator[Patch]:
    slot = _slot(unit)
    yield tag_patch(slot.unit, slot.variant, {"changedate": date, "changeid": new.author or "postedit"})
    if slot.level is not None and (new.author or unit.state is not UnitState.REJECTED):
        yield from content_patches(slot.unit, slot.level, "Translated" if new.author else "Draft")
    if added := _added(unit, new):
        indent = indent_before(slot.unit, slot.variant, slot.segment)
        text = "".join(part + indent for part in added)
        yield patch(slot.unit, slot.segment.start, slot.segment.start, text)
    yield from content_patches(slot.unit, slot.segment, new.content)


def _slot(unit: Unit) -> _Slot:
    assert isinstance(unit.slot, _Slot)
    return unit.slot


def _known(language: str | None) -> str:
    return "" if language is None or language.lower() == _ALL else language


def _language(variant: Element) -> str:
    """Return the language of a variant, which is in `lang` before version 1.4; empty if there is none."""
    return variant.attributes.get("xml:lang") or variant.attributes.get("lang", "")


def _listed(languages: set[str]) -> str:
    """Return the languages of variants as text, such as "in de, en and without a language ..."."""
    named = ", ".join(sorted(languages - {""}))
    parts = [f"in {named}"] if named else []
    return " and ".join([*parts, "without a language (tuv without xml:lang)"] if "" in languages else parts)


def _variant(variants: Sequence[tuple[str, Element]], wanted: str) -> tuple[str, Element] | None:
    """Return the first variant in a language, preferably with the same region; None if there is none."""
    exact = (one for one in variants if wanted and one[0].lower() == wanted.lower())
    alike = (one for one in variants if wanted and same_language(one[0], wanted))
    return next(exact, None) or next(alike, None)


def _units(collected: Collected, first: tuple[str, Element], second: tuple[str, Element]) -> Iterator[Unit]:
    """Yield the unit of two variants, if both have a segment."""
    unit, variant = collected.element, second[1]
    source, target = first[1].first("seg"), variant.first("seg")
    if source is None or target is None:
        return
    texts = _props(collected, unit) | _props(collected, variant)
    levels = (one for element in (variant, unit) for one in element.elements("prop"))
    level = next((one for one in levels if one.attributes.get("type") == _LEVEL), None)
    former = [one for one in variant.elements("prop") if one.attributes.get("type") == _FORMER]
    notes = [*unit.elements("note"), *variant.elements("note")]
    yield Unit(
        id=unit.attributes.get("tuid", ""),
        source=marked_text(collected, source),
        target=marked_text(collected, target),
        state=None if level is None else _STATES.get(marked_text(collected, level).text.strip()),
        origin=_origin(unit, variant, texts),
        score=next((percentage(text) for name, text in texts.items() if _SCORE_PROPS.fullmatch(name)), None),
        notes=tuple(plain_text(collected, one) for one in notes),
        candidates=tuple(OtherTarget(marked_text(collected, one), former=True) for one in former),
        languages=(first[0], second[0]),
        slot=_Slot(collected, variant, target, level),
    )


def _props(collected: Collected, element: Element) -> dict[str, str]:
    return {one.attributes.get("type", ""): marked_text(collected, one).text for one in element.elements("prop")}


def _origin(unit: Element, variant: Element, props: dict[str, str]) -> Origin | None:
    """Return "machine" if a `prop`, or the name of the last author of the target, says so; otherwise None."""
    if any(MACHINE_NAMES.search(text) for name, text in props.items() if _ORIGIN_PROPS.fullmatch(name)):
        return "machine"
    names = [
        one.get(key)
        for key in ("changeid", "creationid", "creationtool")
        for one in (variant.attributes, unit.attributes)
    ]
    last = next((name for name in names if name), "")
    return "machine" if MACHINE_NAMES.search(last) else None


def _added(unit: Unit, new: NewTarget) -> list[str]:
    """Return the elements to add before a segment: a note, and the former target without its codes."""
    added = []
    if new.note:
        added.append(f"<note>postedit: {html_escape(new.note, quote=False)}</note>")
    if new.keep_former and unit.target is not None and unit.mt:
        added.append(f'<prop type="{_FORMER}">{"".join(map(escape, unit.target.text))}</prop>')
    return added
