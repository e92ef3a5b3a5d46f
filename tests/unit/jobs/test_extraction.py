"""Triplets made into a pair of files, before and after post-editing, come back out of them."""

from html import escape
from pathlib import Path

import pytest
from rich.console import Console

from postedit.jobs.extraction import BeforeAndAfter, extract, files_among

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
