"""Lines judged for a gate: with the evidence and the words that the gate will see, and the same from the file."""

import io
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from postedit.core.editor import Abilities, Detail, Edit, Editor, Identity, PostEdit, Segment
from postedit.core.evidence import Evidence
from postedit.core.search_config import SearchConfig
from postedit.core.types import AttentionKey
from postedit.data.lines import DevTexts
from postedit.data.resumable_file import PartialFile
from postedit.gate.edit_features import CorrectionFeatures
from postedit.jobs.gating import judge_lines

MT, TEXT = "設定を開く。", "設定を閉じる。"
DEV = DevTexts(src=[str(number) for number in range(130)], mt=[MT] * 130, pe=[TEXT] * 130)


class Attentive(Editor):
    """Corrects every second line, and says what it attends to if it is asked."""

    abilities = Abilities(evidence=True)

    def __init__(self) -> None:
        self.asked: list[str] = []

    def identity(self, search: SearchConfig | None = None) -> Identity:
        return Identity(("attentive",))

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        self.asked += [one.src for one in segments]
        attention = {AttentionKey("src", "soft"): np.array([[0.75, 0.25]])}
        found = Evidence({"src": ("1", "</s>")}, ("x",), (-1.0,), attention) if evidence == "attention" else None
        edit = Edit("replace", (3, 5), (3, 6))
        corrected = PostEdit(TEXT, True, -1.0, (-1.0,), (edit,), evidence=found, token_spans=((0, 1),))
        return [corrected if int(one.src) % 2 else PostEdit(MT, False) for one in segments]


def judged(editor: Editor, path: Path, *, resume: bool = False) -> list[CorrectionFeatures]:
    console = Console(file=io.StringIO())
    file = PartialFile(path, {"x": 1}, resume=resume)
    return judge_lines(editor, SearchConfig(), DEV, file, console, tokenize="characters")


def test_lines_are_judged_by_evidence_and_words_of_the_gate(tmp_path: Path) -> None:
    editor = Attentive()
    found = judged(editor, tmp_path / "judged")
    assert [one.whole is not None for one in found] == [number % 2 == 1 for number in range(130)]
    whole = found[1].whole
    assert whole is not None
    assert (whole.source, whole.words) == (0.75, math.log1p(3))
    assert found[1].parts == (whole,)
    assert found[1].result.edits == (Edit("replace", (3, 5), (3, 6)),)
    assert judged(editor, tmp_path / "judged", resume=True) == found
    assert editor.asked == DEV.src, "lines are read from the file"


def test_lines_that_were_judged_before_an_interruption_are_kept(tmp_path: Path) -> None:
    class Stopping(Attentive):
        def edit_segments(self, segments: Sequence[Segment], *given: object, **options: object) -> list[PostEdit]:
            if segments[0].src == "100":
                raise KeyboardInterrupt
            return super().edit_segments(segments, evidence="attention")

    with pytest.raises(KeyboardInterrupt, match="100 of 130"):
        judged(Stopping(), tmp_path / "judged")
    editor = Attentive()
    found = judged(editor, tmp_path / "judged", resume=True)
    assert editor.asked == DEV.src[100:]
    assert found == judged(Attentive(), tmp_path / "other")
