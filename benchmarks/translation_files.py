"""Measure the speed and memory of reading and writing translation files, and how inline codes fare.

    python benchmarks/translation_files.py speed [--megabytes N] [--formats NAME...]
    python benchmarks/translation_files.py codes MODEL FOLDER... [--lines SRC TARGET] [--units N]
    python benchmarks/translation_files.py translations SRC TARGET

`speed` generates a file of each format, whose segments have about 15 words and two inline codes in source and target.
Each step runs in a process of its own:

    read    read all units
    write   write a copy in which every target is replaced and the former one kept; reads the file twice
    lxml    `iterparse`, with each unit cleared after use (`read` also finds codes, states, matches and notes)

Memory is the peak of the process, including Python and the modules. Needs lxml.

`codes` edits all targets in the files of some folders, whatever their languages and states, with a model ("shipped" is
the one that comes with postedit), and counts the edits that are discarded because of inline codes or characters;
`--lines` does the same for lines of text with XML tags, as units of an XLIFF file.

`translations` places the tags of source lines in their human translations, from which the tags were removed, and counts
the tags that are where the translator had put them.
"""

import argparse
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape, unescape
from itertools import islice
from pathlib import Path
from typing import Any

SOURCE = 'In the <{0} id="1">main menu</{0}>, select the entry that opens the file number {1} &amp; press the button.'
TARGET = 'Im <{0} id="1">Hauptmenü</{0}> den Eintrag wählen, der die Datei {1} öffnet, &amp; den Knopf drücken.'


@dataclass(frozen=True, slots=True)
class Generated:
    """How a test file of a format is written: its head, a template for units, and its tail."""

    suffix: str
    head: str
    unit: str
    tail: str
    element: str = ""  # tag of a unit, for lxml; empty for PO
    inline: str = ""

    def write(self, path: Path, size: int) -> int:
        """Write a file of at least `size` bytes; return the number of units."""
        count = 0
        with path.open("w", encoding="utf-8") as file:
            file.write(self.head)
            while file.tell() < size:
                for _ in range(1000):
                    count += 1
                    source, target = SOURCE.format(self.inline, count), TARGET.format(self.inline, count)
                    if not self.element:  # plain text with quotation marks
                        source, target = source.replace('"', '\\"'), target.replace('"', '\\"')
                    file.write(self.unit.format(number=count, source=source, target=target))
            file.write(self.tail)
        return count


FORMATS = {
    "XLIFF 1.2": Generated(
        ".xlf",
        '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a" source-language="en" '
        'target-language="de" datatype="plaintext"><body>\n',
        '<trans-unit id="{number}">\n <source>{source}</source>\n <target state="translated">{target}</target>\n'
        "</trans-unit>\n",
        "</body></file></xliff>\n",
        "{urn:oasis:names:tc:xliff:document:1.2}trans-unit",
        "g",
    ),
    "XLIFF 2": Generated(
        ".xlf",
        '<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en" trgLang="de"><file id="f">\n',
        '<unit id="{number}">\n <segment state="translated">\n  <source>{source}</source>\n'
        "  <target>{target}</target>\n"
        " </segment>\n</unit>\n",
        "</file></xliff>\n",
        "{urn:oasis:names:tc:xliff:document:2.0}unit",
        "pc",
    ),
    "TMX": Generated(
        ".tmx",
        '<tmx version="1.4"><header srclang="en" datatype="xml" segtype="sentence"/><body>\n',
        '<tu tuid="{number}">\n<tuv xml:lang="en"><seg>{source}</seg></tuv>\n'
        '<tuv xml:lang="de"><seg>{target}</seg></tuv>\n</tu>\n',
        "</body></tmx>\n",
        "tu",
        "hi",
    ),
    "PO": Generated(
        ".po",
        'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n',
        '#: a.c:{number}\nmsgid "{source}"\nmsgstr ""\n"{target}"\n\n',
        "",
        inline="b",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    commands = parser.add_subparsers(required=True)
    speed = commands.add_parser("speed")
    speed.add_argument("--megabytes", type=int, default=50)
    speed.add_argument("--formats", nargs="+", choices=FORMATS, default=list(FORMATS))
    speed.add_argument("--step", nargs=3, help=argparse.SUPPRESS)  # for the process that runs one step
    speed.set_defaults(run=compare_speed)
    codes = commands.add_parser("codes")
    codes.add_argument("model")
    codes.add_argument("folders", nargs="*", type=Path)
    codes.add_argument("--lines", nargs=2, type=Path, metavar=("SRC", "TARGET"))
    codes.add_argument("--units", type=int, help="at most this many of each file")
    codes.set_defaults(run=count_given_up)
    translations = commands.add_parser("translations")
    translations.add_argument("lines", nargs=2, type=Path)
    translations.set_defaults(run=compare_translations)
    options = parser.parse_args()
    options.run(options)


def compare_speed(options: argparse.Namespace) -> None:
    if options.step:
        print(*measured(*options.step))
        return
    print("| format | units | step | seconds | units/s | memory, MB |\n|---|---|---|---|---|---|")
    for name in options.formats:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "file").with_suffix(FORMATS[name].suffix)
            count = FORMATS[name].write(path, options.megabytes * 10**6)
            for step in ("read", "write", "lxml") if FORMATS[name].element else ("read", "write"):
                command = [sys.executable, __file__, "speed", "--step", name, step, str(path)]
                output = subprocess.run(command, capture_output=True, check=True, text=True).stdout
                seconds, found, memory = output.split()
                assert int(found) == count
                print(
                    f"| {name} | {count:,} | {step} | {float(seconds):.1f} | {count / float(seconds):,.0f} | {memory} |"
                )


def measured(name: str, step: str, path: str) -> tuple[float, int, int]:
    """Return the seconds of a step, the number of units, and the peak memory of this process in MB."""
    run = lxml_units if step == "lxml" else read_units if step == "read" else written_units
    import postedit.files.formats  # noqa: F401  # so that its import costs the same in all steps

    start = time.perf_counter()
    count = sum(1 for _ in run(Path(path), FORMATS[name].element))
    seconds = time.perf_counter() - start
    return seconds, count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def read_units(path: Path, element: str) -> Iterator[object]:
    from postedit.files.formats import format_of

    with path.open("rb") as file:
        yield from format_of(path).units(file, path)


def written_units(path: Path, element: str) -> Iterator[object]:
    from postedit.files.formats import format_of
    from postedit.files.units import NewTarget, Unit, copy_patched

    form, units = format_of(path), []

    def changed() -> Iterator[tuple[Unit, NewTarget]]:
        with path.open("rb") as file:
            for unit in form.units(file, path):
                assert unit.target is not None
                units.append(None)
                yield unit, NewTarget(unit.target.written())

    with path.open("rb") as source, Path(f"{path}.out").open("wb") as out:
        copy_patched(source, form.patches(changed()), out)
    yield from units


def lxml_units(path: Path, element: str) -> Iterator[object]:
    from lxml import etree

    for _, unit in etree.iterparse(str(path), tag=element):
        yield unit
        unit.clear()
        while unit.getprevious() is not None:
            del unit.getparent()[0]


def count_given_up(options: argparse.Namespace) -> None:
    from postedit import PostEditor
    from postedit.files.corrections import correct
    from postedit.files.formats import translation_files

    editor = PostEditor.load(*([] if options.model == "shipped" else [options.model]))
    print("| files | units | with codes | edits | in units with codes | given up for codes | all that are given up |")
    print("|---|---|---|---|---|---|---|")
    groups = {folder.name: translation_files(folder) for folder in options.folders}
    with tempfile.TemporaryDirectory() as temporary:
        if options.lines:
            groups["lines"] = [as_xliff(*options.lines, Path(temporary, "lines.xlf"))]
        for name, paths in groups.items():
            units = [one for path in paths for one in islice(edited_units(path), options.units)]
            results = editor.edit(
                [one.source.text.strip() for one, _ in units], [one.target.text.strip() for one, _ in units]
            )
            faults: Counter[str] = Counter()
            edits = coded = 0
            for (unit, escape), result in zip(units, results, strict=True):
                edits += len(result.edits)
                coded += len(result.edits) if unit.target.codes else 0
                faults.update(correct(unit, result, escape).given_up)
            why = ", ".join(f"{count} {reason}" for reason, count in faults.most_common())
            with_codes = sum(bool(one.target.codes) for one, _ in units)
            for_codes = faults["divided word"] + faults["lost pair"]
            print(
                f"| {name} | {len(units):,} | {with_codes:,} | {edits:,} | {coded:,} "
                f"| {for_codes} ({for_codes / max(1, edits):.1%}) | {why} |",
                flush=True,
            )


def edited_units(path: Path) -> Iterator[Any]:
    """Yield the units of a file that have both texts and may be changed, each with its function to escape new text."""
    from postedit.core.errors import DataError
    from postedit.files.formats import format_of

    form = format_of(path)
    try:
        with path.open("rb") as file:
            units = list(form.units(file, path))
    except DataError:  # some files of test suites are broken on purpose
        return
    for unit in units:
        if unit.target is not None and unit.target.text.strip() and unit.source.text.strip() and not unit.locked:
            yield unit, form.escape(unit)


def as_xliff(source: Path, target: Path, out: Path) -> Path:
    """Write lines with XML tags as units of an XLIFF file, in which the tags are escaped markup."""
    lines = [path.read_text(encoding="utf-8").split("\n") for path in (source, target)]
    units = (
        f'<trans-unit id="{number}"><source>{escape(one)}</source><target>{escape(other)}</target></trans-unit>\n'
        for number, (one, other) in enumerate(zip(*lines, strict=True))
        if one
    )
    out.write_text(FORMATS["XLIFF 1.2"].head + "".join(units) + FORMATS["XLIFF 1.2"].tail, encoding="utf-8")
    return out


def compare_translations(options: argparse.Namespace) -> None:
    from dataclasses import replace

    from postedit.files.corrections import translated
    from postedit.files.marked_text import MarkedText

    tags = right = pairs = right_pairs = lost = count = 0
    with tempfile.TemporaryDirectory() as temporary:
        path = as_xliff(*options.lines, Path(temporary, "lines.xlf"))
        for unit, write in edited_units(path):
            if not unit.source.codes:
                continue
            count += 1
            wanted = unit.target
            content = translated(replace(unit, target=None), wanted.text, write)
            if content is None:
                lost += 1
                continue
            found = MarkedText.of(pieces(content))
            tags += len(found.codes)
            right += (places(wanted) & places(found)).total()
            spans = Counter(paired(found))
            pairs += spans.total()
            right_pairs += (spans & Counter(paired(wanted))).total()
    print(f"{count:,} lines with tags, {lost:,} without a place for them")
    print(f"{tags:,} tags, {right / tags:.1%} where the translator had put them")
    print(f"{pairs:,} pairs, {right_pairs / pairs:.1%} around the same words")


def pieces(content: str) -> list[tuple[str, str]]:
    """Return the characters of XML text, each with its form in the file."""
    return [(unescape(one), one) for one in re.findall(r"&\w+;|.", content, re.DOTALL)]


def places(marked: Any) -> Counter[tuple[int, str]]:
    """Return how often each code occurs after each number of characters, white space not counted."""
    return Counter((len("".join(marked.text[:at].split())), code.raw) for at, code in marked.codes)


def paired(marked: Any) -> Iterator[tuple[str, str]]:
    for opened, closed in marked.pairs():
        start, end = marked.codes[opened][0], marked.codes[closed][0]
        yield marked.codes[opened][1].raw, marked.text[start:end].strip()


if __name__ == "__main__":
    main()
