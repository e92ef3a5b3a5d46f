"""Measure how fast translation files are read and written, and in how much memory, beside lxml reading alone.

    python benchmarks/translation_files.py [--megabytes N] [--formats NAME...]

A file of each format is generated: segments of about 15 words with two inline codes, source and target. Each step runs
in a process of its own:

    read    all units
    write   a copy in which every target is replaced, with the former one kept; reads the file twice
    lxml    `iterparse` with each unit cleared after use (`read` finds codes, states, matches and notes as well)

Memory is the peak of the process, with Python and the modules. Needs lxml.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = 'In the <{0} id="1">main menu</{0}>, select the entry that opens the file number {1} &amp; press the button.'
TARGET = 'Im <{0} id="1">Hauptmenü</{0}> den Eintrag wählen, der die Datei {1} öffnet, &amp; den Knopf drücken.'


@dataclass(frozen=True, slots=True)
class Generated:
    """How a file of a format is written: its first and last lines, and each unit with its number."""

    suffix: str
    head: str
    unit: str
    tail: str
    element: str = ""  # of a unit, for lxml
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
    parser.add_argument("--megabytes", type=int, default=50)
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=list(FORMATS))
    parser.add_argument("--step", nargs=3, help=argparse.SUPPRESS)  # what a process of its own does
    options = parser.parse_args()
    if options.step:
        print(*measured(*options.step))
        return
    print("| format | units | step | seconds | units/s | memory, MB |\n|---|---|---|---|---|---|")
    for name in options.formats:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "file").with_suffix(FORMATS[name].suffix)
            count = FORMATS[name].write(path, options.megabytes * 10**6)
            for step in ("read", "write", "lxml") if FORMATS[name].element else ("read", "write"):
                command = [sys.executable, __file__, "--step", name, step, str(path)]
                output = subprocess.run(command, capture_output=True, check=True, text=True).stdout
                seconds, found, memory = output.split()
                assert int(found) == count
                print(
                    f"| {name} | {count:,} | {step} | {float(seconds):.1f} | {count / float(seconds):,.0f} | {memory} |"
                )


def measured(name: str, step: str, path: str) -> tuple[float, int, int]:
    """Return the seconds of a step, the number of units, and the peak of memory in MB."""
    run = lxml_units if step == "lxml" else read_units if step == "read" else written_units
    import postedit.files.formats  # noqa: F401  # its time and memory are the same in all steps

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


if __name__ == "__main__":
    main()
