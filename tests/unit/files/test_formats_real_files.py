"""Files as other tools write them: unedited bytes stay, and random edits change targets alone."""

import random
import re
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

import pytest
from code_tools import set_back
from file_tools import units_of, written
from lxml import etree
from rapidfuzz.distance import Levenshtein

from postedit.core.errors import DataError
from postedit.files.corrections import translated
from postedit.files.formats import FORMATS, format_of, is_translation_file
from postedit.files.marked_text import Escape, MarkedText
from postedit.files.text_alignment import TextChange, TextSpan
from postedit.files.units import Format, NewTarget, Unit
from postedit.files.xliff2 import Xliff2

polib = pytest.importorskip("polib")

FILES = Path(__file__).resolve().parents[3].parent / "shared" / "files"
PATHS = sorted(path for path in FILES.rglob("*") if path.is_file() and is_translation_file(path))
INVALID = [path for path in PATHS if path.parent.name == "invalid"]
SOUND = [path for path in PATHS if path.parent.name != "invalid"]
PO = [path for path in PATHS if path.suffix == ".po"]
SEEDS = 2  # random changes of each file
LARGE = 300_000  # bytes; of larger files, fewer units are changed

pytestmark = pytest.mark.skipif(not PATHS, reason="needs the shared files beside the repository")


def name_of(path: Path) -> str:
    return path.relative_to(FILES).as_posix()


def read(path: Path) -> tuple[Format, bytes, list[Unit]]:
    """Return a file and its units; a file that is not well-formed is skipped, if lxml says the same."""
    form, data = format_of(path), path.read_bytes()
    try:
        return form, data, units_of(form, data, path)
    except DataError:
        with pytest.raises(etree.XMLSyntaxError):
            etree.fromstring(data)
        pytest.skip("is not well-formed")


def codec_of(data: bytes) -> str:
    """Return the codec of real files, which are in UTF-8, or in UTF-16 with a mark."""
    return "utf-16-le" if data.startswith(b"\xff\xfe") else "utf-8"


@pytest.mark.parametrize("path", SOUND, ids=name_of)
def test_each_target_is_written_as_it_stands_in_the_file(path: Path) -> None:
    form, data, units = read(path)
    targets = [unit for unit in units if unit.target is not None]
    patches = list(form.patches([(unit, NewTarget(written_target(unit), keep_former=False)) for unit in targets]))
    contents = {data[patch.start : patch.end] for patch in patches}
    for unit in targets:
        raw = written_target(unit).encode(codec_of(data))
        assert raw in contents or (not raw and unit.target is not None)
    assert written(form, data, []) == data


def written_target(unit: Unit) -> str:
    assert unit.target is not None
    return unit.target.written()


@pytest.mark.parametrize("path", INVALID, ids=name_of)
def test_an_invalid_file_is_read_or_refused_with_its_place(path: Path) -> None:
    fault = refusal(path)
    assert fault is None or re.search(r"line \d+, column \d+: ", fault)


def refusal(path: Path) -> str | None:
    """Return why a file cannot be read, None if it can."""
    try:
        units_of(format_of(path), path.read_bytes(), path)
    except DataError as error:
        return str(error)
    return None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("path", PATHS, ids=name_of)
def test_random_edits_change_targets_and_what_says_so_alone(path: Path, seed: int) -> None:
    form, data, units = read(path)
    chance = random.Random(f"{name_of(path)} {seed}")
    share = min(1.0, LARGE / len(data))
    changed = [
        (unit, NewTarget(content, keep_former=chance.random() < 0.5, note=chance.choice(["", 'a "b" < c'])))
        for unit in units
        if chance.random() < share and (content := mangled(unit, chance, form.escape(unit))) is not None
    ]
    after = written(form, data, changed)
    again = units_of(form, after, path)
    contents = {id(unit): new.content for unit, new in changed}
    for old, new in zip(units, again, strict=True):
        assert new.id == old.id
        assert new.source.written() == old.source.written()
        if id(old) in contents:
            found = MarkedText("") if new.target is None else new.target  # PO has no empty targets
            assert old.target is not None
            assert sorted(codes(found)) == sorted(codes(old.target))
            assert without_first_break(found.written()) == without_first_break(contents[id(old)])
        else:
            assert (new.target is None, new.locked) == (old.target is None, old.locked)
            assert new.target is None or new.target.written() == written_target(old)
    if path not in PO:
        recover = not is_well_formed(data)
        both = zip_longest(tree(data, recover), tree(after, recover))
        assert next((pair for pair in both if pair[0] != pair[1]), None) is None


def codes(marked: MarkedText) -> list[str]:
    """Return the codes as they are written, without the breaks between the strings of a PO file."""
    return [re.sub(r'"\s*"', "", code.raw) for _, code in marked.codes]


def without_first_break(content: str) -> str:
    """Return a target as it is written, without the breaks before the first character in a PO file."""
    return re.sub(r'^(?:"\s*")+', "", content)


def mangled(unit: Unit, chance: random.Random, escape: Escape) -> str | None:
    """Return the target of a unit with words dropped, inserted and moved at random; None if it cannot be changed."""
    if unit.target is None or unit.locked:
        return None
    before = re.findall(r"\s+|\S+", unit.target.text)
    after = [] if chance.random() < 0.1 else [word for word in before if chance.random() < 0.9]
    for _ in range(chance.randrange(3)):
        after.insert(
            chance.randrange(len(after) + 1), chance.choice(["neu", " ", '"', "é&", "a < 1", "\\", "\n", "語"])
        )
    if len(after) > 2:
        first, second = sorted(chance.sample(range(len(after)), 2))
        after[first], after[second] = after[second], after[first]
    edits = [
        (operation.src_start, operation.src_end, after[operation.dest_start : operation.dest_end])
        for operation in Levenshtein.opcodes(before, after)
        if operation.tag != "equal"
    ]
    while edits:
        output, changes = applied(before, edits)
        found = set_back(unit.target, output, changes, escape, unit.source)
        if isinstance(found, str):
            return found
        assert found, "some edit is at fault"
        edits = [edit for row, edit in enumerate(edits) if row not in found]
    return None


def applied(before: Sequence[str], edits: Sequence[tuple[int, int, list[str]]]) -> tuple[str, list[TextChange]]:
    """Return a text after edits of its words, and the spans of characters that they change."""
    output, done, changes = "", 0, []
    for start, end, new in edits:
        output += "".join(before[done:start])
        old = len("".join(before[:start]))
        span = TextSpan(len(output), len(output) + len("".join(new)))
        changes.append(TextChange(TextSpan(old, old + len("".join(before[start:end]))), span))
        output, done = output + "".join(new), end
    return output + "".join(before[done:]), changes


@pytest.mark.slow
@pytest.mark.parametrize("path", SOUND, ids=name_of)
def test_translations_have_the_codes_of_their_source(path: Path) -> None:
    form, data, units = read(path)
    if isinstance(form, Xliff2) and units and not units[0].languages[1]:
        pytest.skip("does not say the language of targets")
    chance = random.Random(name_of(path))
    changed: list[tuple[Unit, NewTarget]] = []
    for unit in units:
        if unit.target is None or not unit.target.text.strip():
            words = unit.source.text.split()
            output = " ".join(chance.sample(words, len(words)) + ["neu"] * chance.randrange(3))
            if output and (content := translated(unit, output, form.escape(unit))) is not None:
                changed.append((unit, NewTarget(content)))
    after = written(form, data, changed)
    assert is_well_formed(after) or not is_well_formed(data) or path in PO
    chosen = {id(unit) for unit, _ in changed}
    for old, new in zip(units, units_of(form, after, path), strict=True):
        assert new.source.written() == old.source.written()
        if id(old) in chosen:
            assert new.target is not None
            assert codes(new.target) == codes(old.source)
        elif new.target is not None and new.target.text:
            assert old.target is not None
            assert new.target.written() == written_target(old)


OURS = (  # what an edit leaves, as lxml names it
    './/{*}match[@subType="postedit:former"]',
    './/{*}note[@category="postedit"]',
    './/{*}note[@from="postedit"]',
    './/{*}alt-trans[@alttranstype="previous-version"]',
    './/prop[@type="x-postedit-former"]',
)
PHRASE = "{http://www.memsource.com/mxlf/2.0}"
STATE = {
    "segment": ("id", "state", "subState"),
    "target": ("state", "state-qualifier"),
    "tuv": ("changeid", "changedate"),
    "seg": ("conf", "origin", "origin-system", "percent", "text-match", "struct-match"),
    "trans-unit": (
        "{MQXliff}status",
        "{MQXliff}percent",
        *(
            "{http://www.memsource.com/mxlf/2.0}" + name
            for name in ("confirmed", "score", "gross-score", "trans-origin")
        ),
    ),
}


def is_well_formed(data: bytes) -> bool:
    """Return whether lxml can read a file; some use prefixes that they do not declare."""
    try:
        etree.fromstring(data, etree.XMLParser(resolve_entities=False, huge_tree=True))
    except etree.XMLSyntaxError:
        return False
    return True


def tree(data: bytes, recover: bool) -> list[object]:
    """Return the elements, attributes and text of a file by lxml, without the text of targets and what an edit leaves.

    Elements within targets are kept with their attributes, content and depth.
    """
    root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, huge_tree=True, recover=recover))
    ours = [element for path in OURS for element in root.iterfind(path)]
    ours += [note for note in root.iter("note") if (note.text or "").startswith("postedit: ")]
    for element in ours:
        remove(element)
    return list(events(root, 0, None))


def local(element: etree._Element) -> str:
    return re.split("[:}]", str(element.tag))[-1]


def remove(element: etree._Element) -> None:
    """Remove an element, with the one around it if that has nothing else."""
    parent = element.getparent()
    assert parent is not None
    parent.remove(element)
    if not len(parent) and local(parent) in ("matches", "notes"):
        remove(parent)


def events(element: etree._Element, depth: int, target: str | None) -> "list[object]":
    """Return what an element has, in order; within a target, text is left out unless it belongs to a code."""
    if not isinstance(element.tag, str):
        return [(depth, element.text)]
    name = local(element)
    values = {key: value for key, value in element.attrib.items() if key not in STATE.get(name, ())}
    in_target = target or (name if name == "target" or is_tmx_target(element) else None)
    is_text = in_target and name in ("target", "seg", "g", "mrk", "pc", "hi")
    found: list[object] = [(depth, element.tag, values, "" if is_text else (element.text or "").strip())]
    for child in element:
        found += events(child, depth + 1, in_target)
        found += [] if is_text else [(depth, (child.tail or "").strip())]
    return sorted(found, key=repr) if in_target else found  # codes may take the order of those of the source


def is_tmx_target(element: etree._Element) -> bool:
    """Return whether an element is the segment of a variant that is not the first one."""
    parent = element.getparent()
    return element.tag == "seg" and parent is not None and parent.getprevious() is not None


@pytest.mark.slow
@pytest.mark.parametrize("path", PO, ids=name_of)
def test_polib_finds_the_new_texts_and_all_else_as_it_was(path: Path) -> None:
    form, data, units = read(path)
    chance = random.Random(1)
    changed = [
        (unit, NewTarget(content, note="why"))
        for unit in units
        if (content := mangled(unit, chance, form.escape(unit))) is not None
    ]
    before, after = polib.pofile(data.decode()), polib.pofile(written(form, data, changed).decode())
    assert len(changed) > 10
    assert len(before) == len(after)
    former = 0
    for old, new in zip(before, after):
        assert (old.msgid, old.msgctxt, old.msgid_plural) == (new.msgid, new.msgctxt, new.msgid_plural)
        assert (old.occurrences, old.comment, old.previous_msgid) == (new.occurrences, new.comment, new.previous_msgid)
        assert set(new.flags) - {"fuzzy"} == set(old.flags) - {"fuzzy"}
        if new.tcomment != old.tcomment:
            assert new.fuzzy
            former += "postedit: former: " in new.tcomment
        else:
            assert (old.msgstr, old.msgstr_plural, old.flags) == (new.msgstr, new.msgstr_plural, new.flags)
    assert former == len(changed)


def test_the_files_are_of_all_formats() -> None:
    assert {format_of(path).name for path in PATHS} == {form.name for form in FORMATS}
    assert sum(isinstance(format_of(path), Xliff2) for path in PATHS) > 200
