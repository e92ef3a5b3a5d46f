"""Glossary files: tables (CSV, TSV) and TBX, version 2 (2008) and 3.

A table has the columns source, target, forbidden, case, source_forms and target_forms. The first line names them,
unless there are only source and target; source is needed, and target or forbidden. Several translations, forms or
forbidden translations in a field are separated by "|", the preferred one first; case is "yes" if the term is
case-sensitive. From TBX, the terms of two languages are read; terms with the administrative status deprecated or
superseded are forbidden as translations.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from xml.parsers import expat

from postedit.core.arguments import is_list, path_of
from postedit.core.errors import DataError, nearest, nearest_path
from postedit.core.files import reason_of
from postedit.text.glossary import GlossaryEntry

_COLUMNS: Final = ("source", "target", "forbidden", "case", "source_forms", "target_forms")
_COLUMNS_ARE: Final = f"the columns are {', '.join(_COLUMNS)}"
_CASE: Final = {"": False, "no": False, "false": False, "0": False, "yes": True, "true": True, "1": True}
_LONGEST: Final = 1000  # maximum characters of a term
_DEEPEST: Final = 100  # deepest nesting of TBX elements
_LARGEST: Final = 512 * 1024 * 1024  # maximum bytes of a file
_FORBIDDEN: Final = ("deprecatedTerm", "supersededTerm")
_CONCEPTS: Final = ("termEntry", "conceptEntry")
_LANGUAGES: Final = ("langSet", "langSec")
_TERMS: Final = ("tig", "ntig", "termSec")


def _are_two_texts(given: Any) -> bool:
    return is_list(given) and [isinstance(one, str) for one in given] == [True, True]


def read_entries(path: str | Path, languages: tuple[str, str] | None = None) -> list[GlossaryEntry]:
    """Return the entries of a glossary file.

    `languages` are the source and target language to read from TBX, which need not be given if the file has only two.

    Raises:
        DataError: if the file cannot be read, or a line is wrong; the message names the file, line and fault. Also if
            `languages` are not two texts.
    """
    path = path_of("path", path)
    if languages is not None and not _are_two_texts(languages):
        raise DataError(
            f'languages must be a source and a target language, such as ("en", "de"), not {languages!r:.80}'
        )
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= _LARGEST else b""
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {reason_of(error)}{nearest_path(path)}") from None
    if size > _LARGEST:
        raise DataError(f"{path}: has more than {_LARGEST // 1024**2} MB; divide it, and give one part")
    if path.suffix.lower() in (".tbx", ".xml"):
        entries = list(_tbx_entries(path, data, languages))
    elif path.suffix.lower() in (".csv", ".tsv", ".txt"):
        entries = list(table_entries(path, data))
    else:
        raise DataError(f"{path}: a glossary is a .csv, .tsv or .tbx file; rename it if it is one of these")
    if not entries:
        raise DataError(f"{path}: holds no terms; a line needs a source term and a target term")
    return entries


def table_entries(path: Path, data: bytes) -> Iterator[GlossaryEntry]:
    """Yield the entries of a table, delimited by commas or semicolons if `path` ends in .csv, else by tabs.

    Raises:
        DataError: if a line is wrong; the message names the path, line and fault.
    """
    try:
        lines = re.findall(r"[^\r\n]*(?:\r\n|\n|\r|$)", data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}, line {line}: is not UTF-8; save the glossary in this encoding") from None
    tabs = path.suffix.lower() != ".csv"
    first = next((line for line in lines if line.strip()), "")
    delimiter = "\t" if tabs else ";" if first.count(";") > first.count(",") else ","
    rows = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL, strict=True)
    columns: Sequence[str] | None = None
    try:
        for row in rows:
            cells = [cell.strip() for cell in row]
            if not any(cells):
                continue
            if columns is None:
                columns = _header(cells, f"{path}, line {rows.line_num}")
                if columns:
                    continue
                if len(cells) > 2:
                    raise DataError(
                        f"{path}, line {rows.line_num}: a table of more than two columns needs a first line with their "
                        f"names; {_COLUMNS_ARE}"
                    )
                columns = _COLUMNS
            yield _entry(cells, columns, f"{path}, line {rows.line_num}")
    except csv.Error as error:
        raise DataError(f"{path}, line {rows.line_num}: is not a line of a table ({error}); check its quotes") from None


def _header(cells: Sequence[str], where: str) -> Sequence[str] | None:
    """Return the column names if this line is a header, else None."""
    names = [cell.lower().replace(" ", "_") for cell in cells]
    if "source" not in names or not {"target", "forbidden"} & set(names):
        return None
    unknown = next((name for name in names if name not in _COLUMNS), None)
    if unknown is not None:
        raise DataError(f"{where}: no column is called {unknown!r}{nearest(unknown, _COLUMNS)}; {_COLUMNS_ARE}")
    return names


def _entry(cells: Sequence[str], columns: Sequence[str], where: str) -> GlossaryEntry:
    if len(cells) > len(columns):
        raise DataError(f"{where}: has {len(cells)} fields, not {len(columns)} or fewer; {_COLUMNS_ARE}")
    if len(cells) == 1:
        raise DataError(
            f"{where}: needs a source term, and a target or a forbidden translation; columns are divided by tabs, or "
            "in a .csv file by commas or semicolons"
        )
    given = dict(zip(columns, cells))
    case = given.get("case", "").lower()
    if case not in _CASE:
        raise DataError(f"{where}: case must be yes or no, not {case!r:.40}")
    forms = {name: _forms(given.get(name, "")) for name in ("forbidden", "source_forms", "target_forms")}
    targets = _forms(given.get("target", ""))
    entry = GlossaryEntry(given.get("source", ""), targets, case_sensitive=_CASE[case], **forms)
    return _checked(entry, where)


def _forms(field: str) -> tuple[str, ...]:
    return tuple(form.strip() for form in field.split("|") if form.strip())


def _checked(entry: GlossaryEntry, where: str) -> GlossaryEntry:
    """Return an entry after checking it.

    Raises:
        DataError: if the entry is incomplete or contradictory, or a term is too long or has no letter or digit.
    """
    if not entry.source or not (entry.targets or entry.forbidden):
        raise DataError(f"{where}: needs a source term, and a target or a forbidden translation")
    if entry.target_forms and not entry.targets:
        raise DataError(f"{where}: has inflected forms of a target that is not given")
    forbidden = set(entry.forbidden)
    both = [form for form in (*entry.targets, *entry.target_forms) if form in forbidden]
    if both:
        raise DataError(f"{where}: {both[0]!r:.80} is both a translation and forbidden")
    every = (entry.source, *entry.targets, *entry.forbidden, *entry.source_forms, *entry.target_forms)
    for term in every:
        if len(term) > _LONGEST:
            raise DataError(f"{where}: a term has {len(term):,} characters; at most {_LONGEST:,} are allowed")
        if not any(map(str.isalnum, term)):
            raise DataError(f"{where}: {term!r:.80} has neither a letter nor a digit, so it is not a term")
    return entry


@dataclass(slots=True)
class _Term:
    language: str
    text: str = ""
    forbidden: bool = False
    preferred: bool = False


@dataclass(slots=True)
class _TbxReader:
    """Collects the terms of each concept in a TBX file from the events of the expat parser."""

    path: Path
    own: str = ""  # language of the file
    concepts: list[tuple[int, list[_Term]]] = field(default_factory=list)  # the line where each begins, and its terms
    _open: list[str] = field(default_factory=list)  # names of the elements that are open
    _language: str = ""
    _note: str = ""  # text so far of the note being read
    _note_type: str = ""

    def read(self, data: bytes) -> None:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.StartElementHandler = lambda name, given: self._start(name, given, parser.CurrentLineNumber)
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler = lambda *declared: self._refuse_entities(parser.CurrentLineNumber)
        try:
            parser.Parse(data, True)
        except expat.ExpatError as error:
            place = f"{self.path}, line {error.lineno}, column {error.offset + 1}"
            raise DataError(f"{place}: not well-formed XML ({expat.ErrorString(error.code)})") from None
        except (LookupError, ValueError) as error:  # from the decoder
            raise DataError(f"{self.path}: has an encoding that cannot be read ({error}); save it in UTF-8") from None

    def _refuse_entities(self, line: int) -> None:
        raise DataError(f"{self.path}, line {line}: declares an entity; a glossary needs none: write its text instead")

    def _start(self, name: str, given: Mapping[str, str], line: int) -> None:
        name = name.rpartition(":")[2]
        if not self._open:
            self.own = given.get("xml:lang", "")
            if name not in ("martif", "tbx"):
                raise DataError(
                    f"{self.path}, line {line}: <{name}> is not a glossary; TBX begins with <martif> or <tbx>"
                )
        if len(self._open) >= _DEEPEST:
            raise DataError(f"{self.path}, line {line}: more than {_DEEPEST} elements are within each other")
        self._open.append(name)
        if name in _CONCEPTS:
            self.concepts.append((line, []))
        elif name in _LANGUAGES:
            self._language = given.get("xml:lang", "")
        elif name in _TERMS and self.concepts:
            self.concepts[-1][1].append(_Term(self._language))
        elif name in ("termNote", "administrativeStatus"):
            self._note, self._note_type = "", given.get("type", name)

    def _end(self, name: str) -> None:
        name = self._open.pop()
        if name in ("termNote", "administrativeStatus") and self._note_type == "administrativeStatus":
            terms = self.concepts[-1][1] if self.concepts else []
            if terms:
                terms[-1].forbidden = self._note.strip().startswith(_FORBIDDEN)
                terms[-1].preferred = self._note.strip().startswith("preferredTerm")

    def _text(self, data: str) -> None:
        if self._open[-1] in ("termNote", "administrativeStatus"):
            self._note += data
        elif "term" in self._open[-3:] and self.concepts and self.concepts[-1][1]:
            self.concepts[-1][1][-1].text += data


def _tbx_entries(path: Path, data: bytes, languages: tuple[str, str] | None) -> Iterator[GlossaryEntry]:
    reader = _TbxReader(path)
    reader.read(data)
    there = list(dict.fromkeys(term.language for _, terms in reader.concepts for term in terms))
    source, target = languages or _two_languages(path, reader.own, there)
    source, target = (_nearest_language(path, wanted, there) for wanted in (source, target))
    for line, terms in reader.concepts:
        sources = _terms_in(terms, source)
        others = sorted(_terms_in(terms, target), key=lambda term: not term.preferred)
        targets, forbidden = (_texts(term for term in others if term.forbidden == bad) for bad in (False, True))
        forbidden = tuple(text for text in forbidden if text not in targets)
        for text in _texts(sources) if targets or forbidden else ():
            yield _checked(GlossaryEntry(text, targets, forbidden), f"{path}, line {line}")


def _nearest_language(path: Path, wanted: str, there: Sequence[str]) -> str:
    """Return `wanted` if there are terms in this language or a variant of it, else its base language: en for en-US."""
    for language in (wanted, re.split("[-_]", wanted)[0]):
        if any(_is(one, wanted) if language == wanted else one.lower() == language.lower() for one in there):
            return language
    raise DataError(f"{path}: has no terms in {wanted!r}; its languages are {', '.join(there) or 'none'}")


def _terms_in(terms: Iterable[_Term], language: str) -> list[_Term]:
    return [term for term in terms if _is(term.language, language) and term.text.strip()]


def _texts(terms: Iterable[_Term]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(" ".join(term.text.split()) for term in terms))


def _two_languages(path: Path, own: str, there: Sequence[str]) -> tuple[str, str]:
    """Return source and target language of a bilingual file; the source is the file's own language, else the first."""
    if len(there) != 2:
        raise DataError(
            f"{path}: has terms in {len(there)} languages ({', '.join(there)}); name the source and the target, for "
            f"example {path}#en:de"
        )
    first, second = there
    return (second, first) if _is(second, own) and not _is(first, own) else (first, second)


def _is(language: str, wanted: str) -> bool:
    """Return whether a language code is `wanted` or a variant of it, as en-US is of en."""
    found, sought = (code.lower().replace("_", "-") for code in (language, wanted))
    return found == sought or found.startswith(f"{sought}-")
