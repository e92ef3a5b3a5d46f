"""Triplets made into a pair of files, before and after post-editing, come back out of them."""

import pickle
from collections.abc import Callable, Generator, Iterable
from html import escape
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from postedit.core.errors import DataError, OutputError
from postedit.core.processes import IN_THIS_PROCESS, Executor
from postedit.distributed.chunks import Chunk
from postedit.distributed.resumable_outputs import ResumableOutputs
from postedit.jobs import extraction
from postedit.jobs.extraction import extract, files_among
from postedit.jobs.unit_lines import BeforeAndAfter

DATA = Path(__file__).resolve().parents[4] / "shared/data/wmt18-nmt.en-de"
SIDES = ("src", "mt", "pe")
HEADS = {
    ".xlf": ('<xliff version="1.2"><file original="a"><body>\n', "</body></file></xliff>"),
    ".xliff": ('<xliff version="2.0" srcLang="en" trgLang="de"><file id="f">\n', "</file></xliff>"),
    ".tmx": ('<tmx version="1.4"><header srclang="en"/><body>\n', "</body></tmx>"),
    ".po": ('msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n', ""),
}
UNITS = {
    ".xlf": '<trans-unit id="{0}"><source>{1}</source><target>{2}</target></trans-unit>\n',
    ".xliff": '<unit id="{0}"><segment><source>{1}</source><target>{2}</target></segment></unit>\n',
    ".tmx": '<tu tuid="{0}"><tuv xml:lang="en"><seg>{1}</seg></tuv><tuv xml:lang="de"><seg>{2}</seg></tuv></tu>\n',
    ".po": '\nmsgctxt "{0}"\nmsgid "{1}"\nmsgstr "{2}"\n',
}


def write(path: Path, src: list[str], target: list[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    head, tail = HEADS[path.suffix]
    is_xml = path.suffix != ".po"

    def written(text: str) -> str:
        return escape(text, quote=False) if is_xml else text.replace("\\", "\\\\").replace('"', '\\"')

    units = [UNITS[path.suffix].format(row, written(a), written(b)) for row, (a, b) in enumerate(zip(src, target))]
    path.write_text(head + "".join(units) + tail, encoding="utf-8")


@pytest.mark.skipif(not DATA.is_dir(), reason="needs WMT18 data in ../shared")
@pytest.mark.parametrize("suffix", UNITS)
def test_lines_come_back_from_files_before_and_after(tmp_path: Path, suffix: str) -> None:
    src, mt, pe = ((DATA / f"dev.{side}").read_text(encoding="utf-8").split("\n")[:-1] for side in SIDES)
    for name, target in (("before", mt), ("after", pe)):
        write(tmp_path / name / f"a{suffix}", src, target)
    before, after = tmp_path / "before", tmp_path / "after"
    found = extract(files_among([after]), BeforeAndAfter(before, after), tmp_path / "out", Console(), with_mt=True)
    assert (found.lines, sum(found.left_out.values())) == (len(src), 0)
    for side, lines in zip(SIDES, (src, mt, pe), strict=True):
        back = (tmp_path / f"out.{side}").read_text(encoding="utf-8").split("\n")[:-1]
        assert back == [" ".join(line.split()) for line in lines]


def units(folder: Path, files: int, lines: int) -> list[Path]:
    src = [f"word {number}" for number in range(files * lines)]
    for number in range(files):
        rows = src[number * lines : (number + 1) * lines]
        for name, ending in (("before", ""), ("after", " corrected")):
            write(folder / name / f"{number}.tmx", rows, [f"{row}{ending}" for row in rows])
    return files_among([folder / "after"])


def pairs_of(folder: Path, files: list[Path], out: str, **options: Any) -> dict[str, bytes]:
    take = BeforeAndAfter(folder / "before", folder / "after")
    extract(files, take, folder / out, Console(quiet=True), with_mt=True, **options)
    return {path.suffix: path.read_bytes() for path in folder.glob(f"{out}.*") if path.suffix != ".sha256"}


class Counting:
    """Works in this process with what a worker would be sent, ends at one of the items, and keeps them."""

    def __init__(self, at: int = -1) -> None:
        self.at, self.items = at, list[Path | None]()

    def map(self, build: Callable[[int], Callable[[Any], Any]], items: Iterable[Any]) -> Generator[Any, None, None]:
        work = pickle.loads(pickle.dumps(build))(0)
        for item in items:
            if len(self.items) == self.at:
                raise KeyboardInterrupt
            self.items.append(item)
            yield work(item)


def test_finished_files_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = units(tmp_path, 5, 3)
    expected = pairs_of(tmp_path, files, "whole", executor=Counting())
    assert expected[".ids"].count(b"\n") == 15
    assert set(expected) == {".src", ".mt", ".pe", ".ids", ".json"}
    with pytest.raises(KeyboardInterrupt, match=r"9 lines, from 3 of 5 files, kept in .*--resume"):
        pairs_of(tmp_path, files, "out", executor=Counting(2))
    with pytest.raises(OutputError, match="belongs to an unfinished run; add --resume"):
        pairs_of(tmp_path, files, "out")
    rest, shown = Counting(), list[int]()
    monkeypatch.setattr("postedit.progress.LineProgress.update", lambda _, done: shown.append(done))
    assert pairs_of(tmp_path, files, "out", resume=True, executor=rest) == expected
    assert rest.items == files[3:]
    sizes = [path.stat().st_size for path in files]
    assert shown == [sum(sizes[:done]) // 1000 for done in (3, 4, 5)]


@pytest.mark.parametrize("at", range(1, 9))
def test_a_large_file_is_read_here_and_continued_in_its_middle(
    tmp_path: Path, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = units(tmp_path, 2, 9)
    expected = pairs_of(tmp_path, files, "whole")
    monkeypatch.setattr("postedit.jobs.extraction.PIECE", 2)
    monkeypatch.setattr("postedit.jobs.extraction.LARGE", 0)
    monkeypatch.setitem(ResumableOutputs.__init__.__kwdefaults__, "save_seconds", 0.0)
    write_chunk, written = ResumableOutputs.write, []

    def write_some(self: ResumableOutputs, chunk: Chunk) -> None:
        written.append(chunk)
        if len(written) == at:
            raise KeyboardInterrupt
        write_chunk(self, chunk)

    with monkeypatch.context() as patch:
        patch.setattr(ResumableOutputs, "write", write_some)
        with pytest.raises(KeyboardInterrupt):
            pairs_of(tmp_path, files, "out", languages="en:de", executor=Counting())
    rest = Counting()
    found = pairs_of(tmp_path, files, "out", languages="en:de", executor=rest, resume=True)
    assert {name: text for name, text in found.items() if name != ".json"} == {
        name: text for name, text in expected.items() if name != ".json"
    }
    assert set(rest.items) == {None}, "workers read no large file"
    assert [chunk.size for chunk in written][: at - 1] == [2, 2, 2, 2, 1, 2, 2, 2, 2][: at - 1]


def test_files_before_are_others_that_exist(tmp_path: Path) -> None:
    units(tmp_path, 1, 1)
    before, after = tmp_path / "before", tmp_path / "after"
    with pytest.raises(DataError, match="nowhere: there is no such file or folder"):
        BeforeAndAfter(tmp_path / "nowhere", after)
    with pytest.raises(DataError, match="is given both as before and as after"):
        BeforeAndAfter(after, after)
    with pytest.raises(DataError, match="give two files, or two folders"):
        BeforeAndAfter(before, after / "0.tmx")


def test_a_broken_file_leaves_nothing(tmp_path: Path) -> None:
    files = units(tmp_path, 2, 3)
    files[1].write_text(files[1].read_text()[:-20])
    with pytest.raises(DataError, match=r"1\.tmx") as error:
        pairs_of(tmp_path, files, "out")
    assert "--resume" not in str(error.value)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == []


@pytest.mark.parametrize(
    ("executor", "large"),
    [(IN_THIS_PROCESS, 1 << 23), (Counting(), 1 << 23), (Counting(), 0)],
    ids=["here", "workers", "large"],
)
def test_all_broken_files_are_named(
    tmp_path: Path, executor: Executor, large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postedit.jobs.extraction.LARGE", large)
    files = units(tmp_path, 5, 3)
    files[1].write_text(files[1].read_text()[:-20])
    files[3].write_text("")
    assert files_among([tmp_path / "after"]) == files
    with pytest.raises(DataError) as error:
        pairs_of(tmp_path, files, "out", executor=executor)
    head, *faults = str(error.value).splitlines()
    assert head.startswith("2 of 5 files cannot be read, so that nothing was extracted")
    assert [line.split(": ")[0] for line in faults] == [f"  - {files[1]}", f"  - {files[3]}"]
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == []


def test_texts_before_may_be_any_and_repeated(tmp_path: Path) -> None:
    texts = ["a\U0001f600", "Ünï", "a", "a"]
    for name, ending in (("before", "x"), ("after", "y")):
        units_of = "".join(UNITS[".po"].format("one", text, text + ending) for text in texts)
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.po").write_text(HEADS[".po"][0] + units_of, encoding="utf-8")
    found = pairs_of(tmp_path, files_among([tmp_path / "after"]), "out")
    assert found[".mt"].decode() == "".join(f"{text}x\n" for text in texts)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a \t b\n", "a b"),
        ("a  \n \u2028  b  c", "a b  c"),
        (f"a{' ' * 1_000_000}b", f"a{' ' * 1_000_000}b"),  # quadratic time would take hours
    ],
)
def test_texts_are_put_on_one_line(text: str, line: str) -> None:
    assert extraction._on_one_line(text) == line
