"""A line of text takes a short way through the packages of `postedit edit`."""

import io
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from rich.console import Console

from postedit.data.line_sinks import open_sink
from postedit.editing.post_editor import PostEditor
from postedit.jobs.editing import Edited, Tally, Window, edit_window, write_edited

LAYERS = {"jobs": 0, "editing": 1, "models": 2, "search": 2, "data": 3, "nn": 3, "text": 4, "core": 5}
"""Packages by layer, from the top; those of one layer do not import each other."""


def package(frame: FrameType) -> str | None:
    name = frame.f_globals.get("__name__", "")
    found = name.split(".")[1] if name.startswith("postedit.") else None
    return "editing" if found == "saved_editor" else found  # the base of its editors


@pytest.mark.parametrize("name", ["transference", "m-cgru", "m-cgru-hard"])
def test_a_line_passes_eight_packages_and_climbs_back_twice(tiny_folders: Path, name: str) -> None:
    editor = PostEditor.load(tiny_folders / name, device="cpu")
    window = Window(1, ["das Haus"], ["das Haus"])
    edit_window(editor, editor.search, "text", window)  # compiles, and fills caches
    packages: set[str] = set()
    climbs: set[tuple[str, str]] = set()

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        here = package(frame)
        if event != "call" or here is None:
            return
        packages.add(here)
        caller = frame.f_back
        while caller is not None and package(caller) is None:
            caller = caller.f_back
        above = None if caller is None else package(caller)
        if above is not None and LAYERS[here] < LAYERS[above]:
            climbs.add((above, here))

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        edit_window(editor, editor.search, "text", window)
    finally:
        sys.setprofile(before)
    assert packages == set(LAYERS)
    assert len(climbs) <= 2, climbs


@pytest.mark.parametrize(("reverted", "says"), [(1, "1 edit reverted"), (2, "2 edits reverted")])
def test_the_summary_counts_edits_taken_back(tmp_path: Path, reverted: int, says: str) -> None:
    err = io.StringIO()
    edited = (one for one in [Edited(["a"], Tally(lines=1, reverted=reverted))])
    sink = open_sink(tmp_path / "out", {}, resume=False)
    write_edited(edited, sink, 1, Console(file=err), resumable=False)
    assert f"1 line, 0 changed, {says}, " in err.getvalue()
