"""Message catalogues of gettext: PO and POT."""

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from postedit.core.errors import DataError
from postedit.files.length_limits import Room
from postedit.files.marked_text import Code, Escape, MarkedText, Part
from postedit.files.options import UnitState
from postedit.files.units import NewTarget, OtherTarget, Patch, Unit, contains_ascii

_HEAD: Final = 2**16  # bytes in which the header entry is expected
_LINE_END: Final = re.compile(rb"\r\n?")
_HASH: Final = re.compile(rb"[ \t]*#")
_COMMENT_END: Final = re.compile(  # a CR followed by another comment, or by a keyword with a string
    rb'(?<=\r)(?=[ \t]*(?:#|(?:msgctxt|msgid(?:_plural)?|msgstr(?:\[\d+\])?|domain)[ \t\r]*"))'
)
_STATEMENT: Final = re.compile(rb'[^"\r]*(?:"(?:[^"\\]|\\.)*"[^"\r]*)*\r*\n?', re.DOTALL)
_COMMENT: Final = re.compile(rb"^[ \t]*#.*\n?", re.MULTILINE)
_HEADER: Final = re.compile(  # the translation of an empty msgid without context
    rb'^[ \t]*(?P<context>msgctxt.*\n(?:\s*".*\n)*\s*)?msgid[ \t]*(?:""\s*)+msgstr(?P<strings>.*(?:\n\s*".*)*)',
    re.MULTILINE,
)
_XML: Final = re.compile(rb"\s*<[?!\w]")  # a conflict marker of Git, <<<<<<<, is none
_CHARSET: Final = re.compile(rb"charset=([\w.:-]+)", re.IGNORECASE)  # as gettext searches for it

_STRINGS: Final = r'"(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*'
_LINE: Final = re.compile(
    rf"\s*(?:(?P<keyword>msgctxt|msgid_plural|msgid|msgstr(?:\[(?P<number>\d{{1,3}})\])?|domain)\s*)?(?P<strings>{_STRINGS})\s*",
    re.ASCII,
)
_BREAK: Final = re.compile(r'"\s*"', re.ASCII)  # between two strings that are joined
_PIECES: Final = re.compile(  # runs of plain characters do not include the last one of a string
    r'"\s*"|(?:\\[0-7]{1,3}|\\x[\da-fA-F]{1,2})+|\\.|[^"\\]+(?=[^"\\]"|\\|$)|[^"\\]', re.ASCII | re.DOTALL
)
_BYTE: Final = re.compile(r"\\([0-7]{1,3})|\\x([\da-fA-F]{1,2})")
_READ: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_WRITTEN: Final = {character: f"\\{name}" for name, character in _READ.items()} | {'"': '\\"', "\\": "\\\\"}
_SPACES: Final = " \t\r\n\f\v"
_FUZZY: Final = re.compile(r",[ \t]*fuzzy(?=[,\s]|$)")
_LONGEST: Final = re.compile(r"max-length:(\d{1,8})", re.ASCII)  # flag of Weblate: greatest number of characters
_OURS: Final = "# postedit:"  # start of the comments that edits add
_FORMER: Final = re.compile(rf'{_OURS} former(?:\[(\d{{1,3}})\])?: "(.*)"')


class _Line(NamedTuple):
    """A line of a file: its number, from 1; its byte offsets, the end exclusive; and its characters."""

    number: int
    start: int
    end: int
    text: str


@dataclass(slots=True)
class _Field:
    """The strings of a keyword: byte offsets of the content between the first and last quotation mark, and characters.

    `text` includes everything from the first quotation mark to the end of the last line.
    """

    start: int
    end: int
    text: str

    @property
    def raw(self) -> str:
        """The content between the first and the last quotation mark, as it is written in the file."""
        return self.text[: self.text.rindex('"')]


@dataclass(slots=True)
class _Entry:
    """An entry: comments, the first line after them, fields by keyword, and translations by plural form."""

    comments: list[_Line] = field(default_factory=list)
    first: _Line | None = None
    fields: dict[str, _Field] = field(default_factory=dict)
    translations: dict[int, _Field] = field(default_factory=dict)

    @property
    def is_fuzzy(self) -> bool:
        """Whether one of the flags is `fuzzy`."""
        return any("fuzzy" in re.split(r"[,\s]+", line.text) for line in self.comments if _has_kind(line, ","))


@dataclass(frozen=True, slots=True)
class _Slot:
    """Place of a target: its entry and the number of its plural form; and the encoding of the file."""

    entry: _Entry
    number: int
    codec: str


class Po:
    """PO and POT of gettext. A unit is a `msgstr` or one of its plural forms; obsolete entries are ignored."""

    name = "PO"

    def recognises(self, head: bytes, path: Path) -> bool:
        """Return whether the file has the suffix .po or .pot, and is neither XML nor a template of PowerPoint."""
        is_named = path.suffix.lower() in (".po", ".pot")
        return is_named and b"\0" not in head and not _XML.match(head.removeprefix(codecs.BOM_UTF8))

    def units(self, stream: BinaryIO, path: Path) -> Iterator[Unit]:
        """Yield a unit for each `msgstr` except that of the header; see `Format`."""
        codec = _codec(stream, path)
        languages = ("", "")
        for entry in _entries(_lines(stream, codec, path), path):
            identifier = entry.fields.get("msgid")
            if identifier is None or not entry.translations:
                continue
            if "msgctxt" not in entry.fields and not _one_line(identifier.raw):
                header = _marked(entry.translations[min(entry.translations)].raw, codec).text
                target = _value(header, "Language") or _value(header, "X-Language")  # the latter of Qt's lconvert
                languages = (_value(header, "X-Source-Language"), target)
            else:
                yield from _units(entry, codec, languages)

    def escape(self, unit: Unit) -> Escape:
        """Return the function that writes a character with the escapes of PO; it checks the encoding of the file."""
        codec = _slot(unit).codec

        def write(character: str) -> str:
            character.encode(codec)  # UnicodeEncodeError is a ValueError
            if character in _WRITTEN:
                return _WRITTEN[character]
            if character < " " or character == "\x7f":
                raise ValueError(f"a PO file has no way to write U+{ord(character):04X}")
            return character

        return write

    def patches(self, changed: Iterable[tuple[Unit, NewTarget]]) -> Iterator[Patch]:
        """Yield the patches that change translations, the flag `fuzzy` and comments; see `Format`."""
        for _, group in groupby(changed, key=lambda one: id(_slot(one[0]).entry)):
            yield from _entry_patches(list(group))


def _slot(unit: Unit) -> _Slot:
    assert isinstance(unit.slot, _Slot)
    return unit.slot


def _codec(stream: BinaryIO, path: Path) -> str:
    """Return the Python name of the encoding that the header names; UTF-8 if it names none."""
    head = stream.read(_HEAD)
    stream.seek(0)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DataError(f"{path}: is in UTF-16, which gettext cannot read; save it as UTF-8")
    fields = _LINE_END.sub(b"\n", head.removeprefix(codecs.BOM_UTF8))
    fields = _COMMENT.sub(b"", fields)  # comments may quote another header
    header = next((one["strings"] for one in _HEADER.finditer(fields) if one["context"] is None), b"")
    match = _CHARSET.search(re.sub(rb'"\s*"', b"", header))
    name = "utf-8" if match is None or match[1] == b"CHARSET" else match[1].decode("ascii")
    try:
        codec = codecs.lookup(name).name
    except LookupError:
        raise DataError(f'{path}: its header names the unknown encoding "{name}"; save it as UTF-8') from None
    if not contains_ascii(codec):
        raise DataError(f'{path}: its header names the encoding "{name}", which PO cannot have; save it as UTF-8')
    return codec


def _lines(stream: BinaryIO, codec: str, path: Path) -> Iterator[_Line]:
    end = 0
    for number, line in enumerate(_rows(stream), 1):
        start, end = end, end + len(line)
        if number == 1 and line.startswith(codecs.BOM_UTF8):
            start += len(codecs.BOM_UTF8)
            line = line.removeprefix(codecs.BOM_UTF8)
        try:
            yield _Line(number, start, end, line.decode(codec))
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path}: line {number}, byte {error.start + 1}: is not {codec}; name the encoding of the file in its "
                'header, such as "Content-Type: text/plain; charset=UTF-8\\n"'
            ) from None


def _rows(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file, some of which may end in CR alone, as on old Macs.

    Within a string, CR is a character; likewise in a comment, unless another comment or a field of an entry follows.
    """
    for row in stream:
        start = 0 if b"\r" in row.rstrip(b"\r\n") else len(row)
        if start:
            yield row
        while start < len(row):
            end = _end_of_line(row, start)
            yield row[start:end]
            start = end


def _end_of_line(row: bytes, start: int) -> int:
    if _HASH.match(row, start):
        found = _COMMENT_END.search(row, start + 1)
        return found.start() if found else len(row)
    statement = _STATEMENT.match(row, start)
    end = statement.end() if statement else start
    return end if row[start:end].endswith((b"\r", b"\n")) else len(row)  # otherwise a string is not closed


def _entries(lines: Iterator[_Line], path: Path) -> Iterator[_Entry]:
    """Yield the entries of a file.

    Raises:
        DataError: if a line is not a line of a PO file, or an entry has a keyword twice.
    """
    entry, last = _Entry(), None
    for line in lines:
        text = line.text.strip(_SPACES)
        match = _LINE.fullmatch(line.text)
        keyword = None if match is None else match["keyword"]
        if entry.translations and (text.startswith("#") or (keyword and not keyword.startswith("msgstr"))):
            yield entry
            entry, last = _Entry(), None
        if text.startswith("#"):
            last = None
            if text.startswith("#~"):
                entry.comments.clear()  # they belong to an obsolete entry
            elif not entry.fields:
                entry.comments.append(line)
        elif last is not None and (not text or (match is not None and keyword is None)):
            last.text += line.text
            last.end = _last_mark(line) if text else last.end
        elif keyword == "domain":
            entry, last = _Entry(), None
        elif match is not None and keyword is not None:
            last = _add(entry, line, match, path)
        elif text:
            raise DataError(
                f"{path}: line {line.number}: is not a line of a PO file that can be read here; allowed are comments "
                "(#), msgctxt, msgid, msgid_plural and msgstr, each in a line of its own, and strings in quotation "
                'marks; write " within a string as \\"'
            )
    yield entry


def _add(entry: _Entry, line: _Line, match: re.Match[str], path: Path) -> _Field:
    """Add the field that begins in a line to an entry, and return it; raise DataError if the entry has it already."""
    keyword, number = match["keyword"], int(match["number"] or 0)
    if keyword in entry.fields or (keyword.startswith("msgstr") and number in entry.translations):
        raise DataError(f"{path}: line {line.number}: {keyword} is already in this entry; begin another one by msgid")
    begin = match.start("strings") + 1  # the same in bytes, because all before it is ASCII
    new = _Field(line.start + begin, _last_mark(line), line.text[begin:])
    if keyword.startswith("msgstr"):
        entry.translations[number] = new
    else:
        entry.fields[keyword] = new
    entry.first = entry.first or line
    return new


def _last_mark(line: _Line) -> int:
    """Return the byte offset of the last quotation mark of a line, after which all characters are ASCII."""
    return line.end - (len(line.text) - line.text.rindex('"'))


def _units(entry: _Entry, codec: str, languages: tuple[str, str]) -> Iterator[Unit]:
    """Yield a unit for each plural form of an entry."""
    fields = {keyword: _marked(one.raw, codec) for keyword, one in entry.fields.items()}
    plural = fields.get("msgid_plural")
    context = f"{_one_line(entry.fields['msgctxt'].raw)}|" if "msgctxt" in fields else ""
    texts = [line.text.strip(_SPACES) for line in entry.comments if _has_kind(line, ".", " ")]
    notes = tuple(text[2:].strip() for text in texts if not _FORMER.match(text))
    changed = any(line.text.startswith(_OURS) for line in entry.comments)
    flags = (flag for line in entry.comments if _has_kind(line, ",") for flag in re.split(r"[,\s]+", line.text))
    most = min((int(match[1]) for flag in flags if (match := _LONGEST.fullmatch(flag))), default=None)
    for number, translation in sorted(entry.translations.items()):
        target = _marked(translation.raw, codec)
        is_empty = not target.text and not target.codes
        fuzzy = entry.is_fuzzy and not is_empty
        is_singular = number == 0 and len(entry.translations) > 1  # languages with one form use it for all numbers
        yield Unit(
            id=context + _one_line(entry.fields["msgid"].raw) + ("" if plural is None else f"[{number}]"),
            source=fields["msgid"] if plural is None or is_singular else plural,
            target=None if is_empty else target,
            state=UnitState.INITIAL if fuzzy or is_empty else UnitState.FINAL,
            origin=None if not fuzzy else "machine" if changed else "fuzzy",
            notes=notes,
            candidates=tuple(_former(entry, number, codec)),
            languages=languages,
            max_length=most,
            rooms=() if most is None else (Room(most - len(_text(translation.raw, codec))),),
            text_of=partial(_text, codec=codec),
            slot=_Slot(entry, number, codec),
        )


def _former(entry: _Entry, number: int, codec: str) -> Iterator[OtherTarget]:
    """Yield the former targets of a plural form, which are in comments."""
    for line in entry.comments:
        match = _FORMER.match(line.text.strip(_SPACES))
        if match is not None and int(match[1] or 0) == number:
            yield OtherTarget(_marked(match[2], codec), former=True)


def _has_kind(line: _Line, *kinds: str) -> bool:
    """Return whether a comment is of one of `kinds`, such as "." (source code), "," (flags) or " " (translators)."""
    mark = line.text.strip(_SPACES)[1:2]
    return (mark if mark in (".", ":", ",", "|", "=") else " ") in kinds


def _value(header: str, name: str) -> str:
    match = re.search(rf"^{name}:[ \t]*(\S+)", header, re.MULTILINE)
    return "" if match is None else match[1]


def _one_line(raw: str) -> str:
    """Return the content of continued strings without the breaks between them."""
    return "".join(piece for piece in _PIECES.findall(raw) if not piece.startswith('"'))


def _text(raw: str, codec: str) -> str:
    """Return the characters of continued strings."""
    return "".join(one if isinstance(one, str) else _single(one)[0] for one in _parts(raw, codec))


def _marked(raw: str, codec: str) -> MarkedText:
    """Return the text of continued strings, with its markup as codes."""
    return MarkedText.of(_parts(raw, codec))


def _parts(raw: str, codec: str) -> list[Part]:
    """Return the characters of continued strings; a break between two of them is stored with the one before it."""
    parts: list[Part] = []
    gap = ""  # a break before the first character is stored with that
    for piece in _PIECES.findall(raw):
        if not piece.startswith('"'):
            parts += _characters(piece, codec)
        elif parts:
            character, written = _single(parts.pop())
            parts.append((character, written + piece))
        else:
            gap += piece
    if gap and parts:
        first = parts[0]
        character, written = _single(first[0] if isinstance(first, str) else first)
        parts[:1] = [(character, gap + written), *([first[1:]] if isinstance(first, str) else [])]
    return parts


def _single(part: Part) -> tuple[str, str]:
    """Return a single character and its written form."""
    assert not isinstance(part, Code)
    return (part, part) if isinstance(part, str) else part


def _characters(piece: str, codec: str) -> Sequence[Part]:
    """Return the characters of a piece of a string; octal and hexadecimal escapes stand for bytes."""
    if not piece.startswith("\\"):
        return [piece]
    escapes = list(_BYTE.finditer(piece))
    if not escapes:
        return [(_READ.get(piece[1], piece[1]), piece)]
    octets = bytes(int(one[1], 8) & 0xFF if one[1] else int(one[2], 16) for one in escapes)
    try:
        characters = octets.decode(codec)
    except UnicodeDecodeError:
        codec, characters = "latin-1", octets.decode("latin-1")
    found, done = [], 0
    for character in characters:
        end = done + len(character.encode(codec))
        found.append((character, "".join(one[0] for one in escapes[done:end])))
        done = end
    return found


def _entry_patches(changed: Sequence[tuple[Unit, NewTarget]]) -> Iterator[Patch]:
    """Yield the patches of one entry, in the order of the file."""
    slot = _slot(changed[0][0])
    entry = slot.entry
    assert entry.first is not None
    line_end = next((end for end in ("\r\n", "\r") if entry.first.text.endswith(end)), "\n")
    if lines := [line for unit, new in changed for line in _comments(unit, new)]:
        place = next((line for line in entry.comments if not _has_kind(line, " ")), entry.first)
        text = "".join(line + line_end for line in lines)
        yield Patch(place.start, place.start, text.encode(slot.codec, "replace"))
    numbers = {_slot(unit).number for unit, _ in changed}
    others = [one for number, one in entry.translations.items() if number not in numbers]
    is_whole = all(new.author for _, new in changed) and not any(_is_blank(one, slot.codec) for one in others)
    if not is_whole and not entry.is_fuzzy:
        yield _fuzzy(entry, line_end)
    elif is_whole and not others:
        yield from _not_fuzzy(entry, slot.codec)
    placed = [(entry.translations[_slot(unit).number], new) for unit, new in changed]
    for translation, new in sorted(placed, key=lambda one: one[0].start):  # forms may be in any order
        yield Patch(translation.start, translation.end, _wrapped(translation, new.content).encode(slot.codec))


def _is_blank(translation: _Field, codec: str) -> bool:
    marked = _marked(translation.raw, codec)
    return not marked.text.strip() and not marked.codes


def _wrapped(translation: _Field, content: str) -> str:
    """Return new content, which begins in the line after the keyword if the former content does."""
    former = _BREAK.match(translation.raw)
    return content if former is None or _BREAK.match(content) else former[0] + content


def _fuzzy(entry: _Entry, line_end: str) -> Patch:
    """Return the patch that adds the flag `fuzzy` to other flags, or in a new line before `#|` and `msgid`."""
    assert entry.first is not None
    flags = next((line for line in entry.comments if _has_kind(line, ",")), None)
    if flags is not None:
        place = flags.start + flags.text.index(",") + 1
        others = flags.text.strip(f"#,{_SPACES}")
        return Patch(place, place, b" fuzzy," if others else b" fuzzy")
    place = next((line for line in entry.comments if _has_kind(line, "|")), entry.first).start
    return Patch(place, place, f"#, fuzzy{line_end}".encode("ascii"))


def _not_fuzzy(entry: _Entry, codec: str) -> Iterator[Patch]:
    """Yield the patches that remove the flag `fuzzy`, with its line if that has no other flags."""
    for line in entry.comments:
        if _has_kind(line, ",") and "fuzzy" in re.split(r"[,\s]+", line.text):
            text = _FUZZY.sub("", line.text)
            yield Patch(line.start, line.end, (text if text.strip("#, \t\r\n") else "").encode(codec))


def _comments(unit: Unit, new: NewTarget) -> Iterator[str]:
    """Yield the comments for translators: the former target, and a note.

    No comment ends in a backslash, because gettext would take the next line for a part of it.
    """
    slot = _slot(unit)
    form = f"[{slot.number}]" if len(slot.entry.translations) > 1 else ""
    if new.keep_former and unit.target is not None and unit.target.text.strip():
        yield f'{_OURS} former{form}: "{_one_line(slot.entry.translations[slot.number].raw)}"'
    if new.note:
        note = " ".join(f"{form} {new.note}".split())
        yield f"{_OURS} {note}{' ' if note.endswith(chr(92)) else ''}"
