"""Patches of elements and their tags, for formats based on XML."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from postedit.files.units import Patch
from postedit.files.xml_reader import Collected, Element
from postedit.files.xml_text import indent_before, tag_name, with_attributes

_NONE: Final[Mapping[str, str]] = {}


def patch(collected: Collected, start: int, end: int, text: str) -> Patch:
    """Return the patch that writes text in the encoding of the file, with references to characters that it lacks."""
    return Patch(start, end, text.encode(collected.codec, "xmlcharrefreplace"))


def tag_patch(collected: Collected, element: Element, values: Mapping[str, str]) -> Patch:
    """Return the patch that changes or adds attributes of an element."""
    tag = with_attributes(collected.text(element.start, element.content), values, element.names)
    return patch(collected, element.start, element.content, tag)


def content_patches(
    collected: Collected, element: Element, content: str, values: Mapping[str, str] = _NONE
) -> Iterator[Patch]:
    """Yield the patches that replace the content of an element, and change or add attributes."""
    tag = with_attributes(collected.text(element.start, element.content), values, element.names)
    if element.is_empty_tag:
        new = f"{tag.removesuffix('/>').rstrip()}>{content}</{tag_name(tag)}>"
        yield patch(collected, element.start, element.end, new)
        return
    if values:
        yield patch(collected, element.start, element.content, tag)
    yield patch(collected, element.content, element.close, content)


def appended(collected: Collected, element: Element, children: Sequence[str]) -> Patch:
    """Return the patch that appends children to an element, each indented like the last child."""
    last = next(reversed(list(element.elements())), None)
    if last is None:
        return next(content_patches(collected, element, "".join(children)))
    indent = indent_before(collected, element, last)
    return patch(collected, last.end, last.end, "".join(indent + child for child in children))


def declared(elements: Sequence[Element]) -> dict[str, str]:
    """Return the namespaces declared within nested elements, given from the outermost on, by prefix."""
    found: dict[str, str] = {}
    for element in elements:
        for name, value in element.attributes.items():
            if name == "xmlns" or name.startswith("xmlns:"):
                found[name[6:]] = value
    return found


def declarations(wanted: Mapping[str, str], known: Mapping[str, str] = _NONE) -> dict[str, str]:
    """Return the attributes that declare the prefixes in `wanted` which `known` does not map to the same namespace."""
    missing = {prefix: uri for prefix, uri in wanted.items() if known.get(prefix) != uri}
    return {f"xmlns:{prefix}" if prefix else "xmlns": uri for prefix, uri in missing.items()}


def space_of(element: Element) -> dict[str, str]:
    """Return the attribute `xml:space` of an element, if it has one, for a copy of its content."""
    return {name: value for name, value in element.attributes.items() if name == "xml:space"}
