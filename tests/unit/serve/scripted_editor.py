"""An editor that does what mt says, and what starts a process with it; in a module that is imported fast."""

import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from postedit.core.editor import Abilities, Detail, Edit, Editor, Identity, PostEdit, Segment
from postedit.core.errors import DataError, OutputError, StoppedError
from postedit.core.search_config import SearchConfig
from postedit.jobs.editor_spec import EditorSpec
from postedit.llm.chat_client import EndpointRefusedError
from postedit.llm.pacing import BudgetError
from postedit.serve.model_work import EditKind, ProcessSpec


class ScriptedEditor(Editor):
    """Writes mt in capitals, after it has done what mt asks for.

    That is `sleep 0.1`, `until FILE` (is there), `die`, `die once FILE`, `fail`, ... Its edits have confidences unless
    mt is `unsure`. If the variable SCRIPTED_TRANSLATES is set, the source is the draft where there is no mt.
    """

    abilities = Abilities(needs_mt="SCRIPTED_TRANSLATES" not in os.environ, languages=("en", "de"))

    def identity(self, search: SearchConfig | None = None) -> Identity:
        """Return a name."""
        return Identity(("scripted", os.environ.get("SCRIPTED_VERSION", "1")))

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return the corrections; all segments of a batch are slept for together, as a model would work."""
        mts = [segment.mt if segment.mt is not None else segment.src for segment in segments]
        time.sleep(max((float(mt.split()[1]) for mt in mts if mt.startswith("sleep")), default=0.0))
        for mt in mts:
            self._obey(mt)
        drafts = [mt if segment.mt is None else None for mt, segment in zip(mts, segments, strict=True)]
        return [replace(_capitals(mt, len(mts)), draft=draft) for mt, draft in zip(mts, drafts, strict=True)]

    def _obey(self, mt: str) -> None:
        while mt.startswith("until") and not Path(mt.split()[1]).exists():
            time.sleep(0.01)
        if mt.startswith("die once") and not (path := Path(mt.split()[2])).exists():
            path.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if mt == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if mt == "fail":
            raise RuntimeError("a secret text")
        if mt == "away":
            raise OutputError("/srv/postedit.db: the disk is full")
        if mt == "no server":
            raise StoppedError("http://models.internal:8000: cannot be reached")
        if mt == "no key":
            raise EndpointRefusedError("http://models.internal:8000: does not accept the key")
        if mt == "no budget":
            raise BudgetError("the next request could exceed the budget of 5")
        if mt == "refuse":
            raise DataError("this is refused")


def _capitals(mt: str, together: int) -> PostEdit:
    text = mt.upper()
    if text == mt:
        return PostEdit(mt, False)
    edit = Edit("replace", (0, len(mt)), (0, len(text)))
    if mt == "unsure":
        return PostEdit(text, True, edits=(edit,))
    return PostEdit(
        text, True, -float(together), edits=(edit,), token_scores=(-1.0,), token_spans=((0, 1),), confidences=(0.9,)
    )


class _EditorSpec(EditorSpec):
    def load_model(self, device: str | None) -> Editor:
        return ScriptedEditor()


@dataclass(frozen=True)
class ScriptedProcess(ProcessSpec):
    """What starts a process with a scripted editor."""

    def editor_spec(self, kind: EditKind | None = None) -> EditorSpec:
        """Return what loads it."""
        settings = kind.settings if kind else None
        least = settings.min_confidence if settings else 0.0
        return _EditorSpec(["scripted"], min_confidence=least, protect=())
