"""Reading of XML element by element, with byte offsets, so that parts of a file can be replaced in place.

The parser is expat. Only the five predefined entities and character references are expanded; other references are kept,
entity declarations are refused, nothing external is read, and depth, attributes, prefixes and sizes are limited.
"""

import codecs
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias
from xml.parsers import expat

from postedit.core.errors import DataError
from postedit.files.units import contains_ascii

_CHUNK: Final = 2**18
_MAX_DEPTH: Final = 200
_MAX_ATTRIBUTES: Final = 500
_MAX_ELEMENT: Final = 2**26  # most bytes of a collected element
_MAX_INSIDE: Final = 100_000  # elements within a collected one, each of which takes far more memory than its four bytes
_MAX_PREFIXES: Final = 1000  # declared at a place of the file
_MAX_DEFAULTS: Final = 1000  # characters of default values that a file declares, which each element may repeat

_ENCODING: Final = re.compile(rb"<\?xml\s[^>]*?encoding\s*=\s*[\"']([\w.:-]+)", re.ASCII)
_ROOT: Final = re.compile(rb"<(\w[\w.:-]*)(?:[^>\"']|\"[^\"]*\"|'[^']*')*")  # the first start tag
_VALUE: Final = re.compile(rb"\s([\w.:-]+)\s*=\s*(\"[^\"]*\"|'[^']*')")  # an attribute
_XLIFF_NAMESPACE: Final = b"urn:oasis:names:tc:xliff:document:"  # the version follows


@dataclass(slots=True)
class Text:
    """Character data without markup, from byte `start` to `end` (exclusive) of the file."""

    start: int
    end: int


@dataclass(slots=True)
class Markup:
    """A comment, a processing instruction, a reference to an entity, or the brackets of a CDATA section."""

    kind: str  # "comment", "instruction", "entity", "cdata start" or "cdata end"
    start: int
    end: int


@dataclass(slots=True)
class Element:
    """An element with its content, and the byte offsets of its parts in the file.

    Args:
        name: local name of an element in the namespace of the format; "prefix:name" in other namespaces that the format
            knows, and "{namespace}name" in those that it does not know.
        attributes: values by names, which have the same form as names of elements.
        names: names of attributes in that form, by the names in the file, for those with a prefix.
        start: start of the start tag.
        content: start of the content, which is the end of the start tag.
        close: start of the end tag; the end of an empty-element tag.
        end: end of the element.
        children: content of the element, in order.
    """

    name: str
    attributes: Mapping[str, str]
    names: Mapping[str, str]
    start: int
    content: int = -1
    close: int = -1
    end: int = -1
    children: "list[Content]" = field(default_factory=list)
    _by_name: "dict[str, list[Element]] | None" = field(default=None, init=False, repr=False, compare=False)

    @property
    def is_empty_tag(self) -> bool:
        """Whether the element is written as one tag, `<name/>`."""
        return self.close == self.end

    def elements(self, *names: str) -> "Iterator[Element]":
        """Yield the child elements with one of the names; all of them if no name is given.

        Those with one name are looked up, as each segment of a unit may ask for them again. The element is complete.
        """
        if len(names) == 1:
            if self._by_name is None:
                self._by_name = {}
                for one in self.elements():
                    self._by_name.setdefault(one.name, []).append(one)
            yield from self._by_name.get(names[0], ())
            return
        for child in self.children:
            if isinstance(child, Element) and (not names or child.name in names):
                yield child

    def first(self, name: str) -> "Element | None":
        """Return the first child element with this name, or None."""
        return next(self.elements(name), None)


Content: TypeAlias = Element | Text | Markup


@dataclass(frozen=True, slots=True)
class Collected:
    """An element with its ancestors, from the root on, its bytes, and the encoding of the file."""

    element: Element
    ancestors: tuple[Element, ...]
    raw: bytes
    codec: str

    def text(self, start: int, end: int) -> str:
        """Return the characters of the file from byte `start` to `end`, as they are written."""
        first = self.element.start
        return self.raw[start - first : end - first].decode(self.codec)


class XmlReader:
    """Reader of the elements with some names in an XML file.

    Args:
        path: path of the file, for error messages.
        names: names of the elements to collect; one within another is part of the outer one.
        namespaces: prefix for names in each known namespace; empty for that of the format itself.
    """

    def __init__(self, path: Path, names: frozenset[str], namespaces: Mapping[str, str]) -> None:
        self._path, self._names = path, names
        self._prefixes = {uri: f"{prefix}:" if prefix else "" for uri, prefix in namespaces.items()}
        self._codec = "utf-8"
        self._around: list[Element] = []  # open elements that are not collected, the outermost first
        self._open: list[Element] = []  # the element being collected, and the open elements in it
        self._inside = 0  # elements in the one being collected
        self._declared = self._defaults = 0  # attributes, and characters of their default values, in the DOCTYPE
        self._waiting: Content | None = None  # content whose field `_missing` is the offset of the next event
        self._missing = "end"
        self._complete: deque[tuple[Element, tuple[Element, ...]]] = deque()
        self._lines: dict[int, int] = {}  # line of each element that is collected or complete, by its offset
        self._scopes: list[Mapping[str, str]] = [{"xml": "xml:"}]  # of each open element: prefix in the file -> ours
        self._parser: expat.XMLParserType  # made when the first bytes, which tell the encoding, have been read

    def read(self, stream: BinaryIO) -> Iterator[Collected]:
        """Yield the elements in the order of the file, with little more than one of them in memory.

        Raises:
            DataError: if the file is not well-formed, declares entities or exceeds a limit; it names line and column.
        """
        held, first = bytearray(), 0
        while True:
            chunk = stream.read(_CHUNK)
            if not first and not held:
                self._codec = utf16_codec(chunk) or "utf-8"
                self._parser = expat.ParserCreate(_encoding_for_expat(chunk))
                self._set_handlers()
            held += chunk
            self._parse(chunk)
            if not chunk:
                self._next(first + len(held))
            while self._complete and self._complete[0][0].end >= 0:
                element, around = self._complete.popleft()
                raw = bytes(held[element.start - first : element.end - first])
                self._check_characters(raw, element)
                yield Collected(element, around, raw, self._codec)
            if not chunk:
                return
            needed = self._oldest(first, first + len(held))
            if first + len(held) - needed > _MAX_ELEMENT:
                self._refuse(f"an element is larger than {_MAX_ELEMENT // 2**20} MB")
            del held[: needed - first]
            first = needed

    def _check_characters(self, raw: bytes, element: Element) -> None:
        """Check that all characters of an element are whole: expat accepts half of a surrogate pair in UTF-16."""
        line = self._lines.pop(element.start)
        if not self._codec.startswith("utf-16"):
            return
        try:
            raw.decode(self._codec)
        except UnicodeDecodeError as error:
            line += raw[: error.start].decode(self._codec).count("\n")
            raise DataError(
                f"{self._path}: line {line}: has half of a character, a surrogate without its partner; write it again"
            ) from None

    def _oldest(self, first: int, end: int) -> int:
        """Return the offset of the first byte that is still needed, of bytes `first` to `end`."""
        waiting = [element.start for element, _ in self._complete] + [element.start for element in self._open[:1]]
        # If only the beginning of a tag was read, it is the current event. From version 2.6 on, expat may leave a chunk
        # until it has more of a long tag or comment; then the index is -1.
        return min(waiting, default=min(end, max(first, self._parser.CurrentByteIndex)))

    def _parse(self, chunk: bytes) -> None:
        try:
            self._parser.Parse(chunk, not chunk)
        except expat.ExpatError as error:
            self._refuse(f"not well-formed XML: {expat.ErrorString(error.code)}", (error.lineno, error.offset))
        except DataError:
            raise
        except (LookupError, ValueError) as error:  # expat, for a multi-byte encoding
            self._refuse(f"has an encoding that cannot be read ({error}); save it as UTF-8")

    def _refuse(self, fault: str, position: tuple[int, int] | None = None) -> None:
        line, column = position or (self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber)
        raise DataError(f"{self._path}: line {line}, column {column + 1}: {fault}")

    def _set_handlers(self) -> None:
        parser = self._parser
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.CommentHandler = lambda text: self._markup("comment")
        parser.ProcessingInstructionHandler = lambda target, data: self._markup("instruction")
        parser.StartCdataSectionHandler = lambda: self._markup("cdata start")
        parser.EndCdataSectionHandler = lambda: self._markup("cdata end")
        parser.DefaultHandler = lambda data: self._markup("entity")  # also stops the expansion of declared entities
        parser.EntityDeclHandler = self._entity
        parser.AttlistDeclHandler = self._attribute
        parser.XmlDeclHandler = self._declaration

    def _next(self, offset: int) -> None:
        """Complete the content that ends where the next event begins, at `offset`."""
        if self._waiting is not None:
            setattr(self._waiting, self._missing, offset)
            self._waiting = None

    def _wait(self, content: "Content", missing: str) -> None:
        """Let the field `missing` of some content be set to the offset of the next event."""
        self._waiting, self._missing = content, missing

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        offset = self._parser.CurrentByteIndex
        self._next(offset)
        if len(self._around) + len(self._open) >= _MAX_DEPTH:
            self._refuse(f"elements are nested more than {_MAX_DEPTH} deep")
        if len(attributes) > _MAX_ATTRIBUTES:
            self._refuse(f"an element has more than {_MAX_ATTRIBUTES} attributes")
        if len(self._scopes) == 1:
            self._take_root(name, attributes)
        prefixed = [key for key in attributes if ":" in key]
        scope = self._scope(attributes) if prefixed or "xmlns" in attributes else self._scopes[-1]
        self._scopes.append(scope)
        names = {key: _name(key, scope) for key in prefixed}
        values = {names.get(key, key): value for key, value in attributes.items()} if names else attributes
        element = Element(_name(name, scope), values, names, offset)
        self._wait(element, "content")
        if self._open:
            self._inside += 1
            if self._inside > _MAX_INSIDE:
                self._refuse(f"an element has more than {_MAX_INSIDE:,} others within it")
            self._open[-1].children.append(element)
            self._open.append(element)
        elif element.name in self._names:
            self._inside = 0
            self._open.append(element)
            self._lines[offset] = self._parser.CurrentLineNumber
        else:
            self._around.append(element)

    def _end(self, name: str) -> None:
        offset = self._parser.CurrentByteIndex
        self._next(offset)
        self._scopes.pop()
        if not self._open:
            self._around.pop()
            return
        element = self._open.pop()
        element.close = offset
        self._wait(element, "end")
        if not self._open:
            self._complete.append((element, tuple(self._around)))

    def _characters(self, data: str) -> None:
        if isinstance(self._waiting, Text):  # the text continues
            return
        if self._waiting is not None or self._open:
            offset = self._parser.CurrentByteIndex
            self._next(offset)
            if self._open:
                text = Text(offset, -1)
                self._open[-1].children.append(text)
                self._wait(text, "end")

    def _markup(self, kind: str) -> None:
        offset = self._parser.CurrentByteIndex
        self._next(offset)
        if self._open:
            markup = Markup(kind, offset, -1)
            self._open[-1].children.append(markup)
            self._wait(markup, "end")

    def _entity(self, name: str, *rest: object) -> None:
        self._refuse(f'declares the entity "{name}"; remove the declaration, or write the text in its place')

    def _attribute(self, element: str, name: str, kind: str, default: str | None, required: int) -> None:
        """Count a declared attribute and its default value, which the parser adds to each such element."""
        self._declared += 1
        self._defaults += len(default or "")
        if self._declared > _MAX_ATTRIBUTES or self._defaults > _MAX_DEFAULTS:
            self._refuse("declares too many attributes, or too long default values; remove them from its DOCTYPE")

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding and not self._codec.startswith("utf-16"):
            try:
                self._codec = codecs.lookup(encoding).name
            except LookupError:
                self._refuse(f'has the unknown encoding "{encoding}"; save it as UTF-8')
            if self._codec.startswith("utf-16"):
                self._refuse(f'declares the encoding "{encoding}", but is not in it; correct the declaration')
            if not contains_ascii(self._codec):
                self._refuse(f'has the encoding "{encoding}", which cannot be read; save it as UTF-8')

    def _take_root(self, name: str, attributes: Mapping[str, str]) -> None:
        """Take the namespace of the root element for that of the format; files have others than the standard says."""
        prefix, colon, _ = name.rpartition(":")
        if uri := attributes.get(f"xmlns{colon}{prefix}"):
            self._prefixes.setdefault(uri, "")

    def _scope(self, attributes: Mapping[str, str]) -> Mapping[str, str]:
        """Return our prefix for each prefix of the file, including those that these attributes declare."""
        own = [key for key in attributes if key.startswith("xmlns") and key[5:6] in ("", ":")]
        if not own:
            return self._scopes[-1]
        scope = dict(self._scopes[-1])
        for key in own:
            uri = attributes[key]
            scope[key[6:]] = self._prefixes.get(uri, f"{{{uri}}}" if uri else "")
        if len(scope) > _MAX_PREFIXES:
            self._refuse(f"more than {_MAX_PREFIXES:,} prefixes of namespaces are declared")
        return scope


def _name(name: str, scope: Mapping[str, str]) -> str:
    """Return a name with our prefix. An undeclared prefix is kept, because many real files lack declarations."""
    prefix, colon, local = name.rpartition(":")
    return scope.get(prefix, prefix + colon) + local


def root_name(head: bytes) -> bytes:
    """Return the name of the root element with its prefix, given the first bytes of a file; empty if there is none."""
    root = _ROOT.search(head)
    return b"" if root is None else root[1]


def xliff_version(head: bytes) -> str:
    """Return the XLIFF version in the root element, given the first bytes of a file; empty if it is not XLIFF.

    If the root element lacks `version`, as in some real files, the version is that of its namespace.
    """
    root = _ROOT.search(head)
    if root is None or root[1].rpartition(b":")[2] != b"xliff":
        return ""
    values: dict[bytes, bytes] = {name: value[1:-1] for name, value in _VALUE.findall(root[0])}
    names = (value for name, value in values.items() if name.startswith(b"xmlns"))
    of_namespace = next((name for name in names if name.startswith(_XLIFF_NAMESPACE)), b"")
    version = values.get(b"version", of_namespace.removeprefix(_XLIFF_NAMESPACE))
    return version.decode("ascii", "replace")


def utf16_codec(head: bytes) -> str | None:
    """Return the codec of an XML file in UTF-16, given its first bytes, with or without a byte-order mark; or None."""
    if head.startswith((codecs.BOM_UTF16_LE, "<".encode("utf-16-le"))):
        return "utf-16-le"
    return "utf-16-be" if head.startswith((codecs.BOM_UTF16_BE, "<".encode("utf-16-be"))) else None


def _encoding_for_expat(head: bytes) -> str | None:
    """Return the encoding that expat does not know by the name that the file declares, if any, such as "utf8"."""
    if codec := utf16_codec(head):
        return codec.removesuffix("-le").removesuffix("-be")
    declared = _ENCODING.match(head.removeprefix(codecs.BOM_UTF8))
    try:
        return "UTF-8" if declared and codecs.lookup(declared[1].decode("ascii")).name == "utf-8" else None
    except LookupError:
        return None
