"""What a model process does before it is ready."""

from pathlib import Path
from typing import Any

import pytest
from scripted import settings
from scripted_editor import ScriptedEditor, ScriptedProcess

from postedit.adapt.correction_memory import CorrectionMemory
from postedit.adapt.remembering import Remembering
from postedit.serve.model_process import ProcessSpec, _Editors


class _Nothing:
    """Learns nothing."""

    def learn_entries(self, entries: Any) -> None:
        list(entries)

    def forget_all(self) -> None:
        pass


def test_only_phrases_are_learnt_in_vain_before_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, loaded = tmp_path / "memory.db", []
    CorrectionMemory(place).close()
    model = settings(tmp_path).models["scripted"]
    load = _Editors._load_from

    def counted(editors: _Editors, memory: CorrectionMemory) -> Remembering:
        loaded.append(True)
        if isinstance(editors._spec, ScriptedProcess):
            return Remembering(ScriptedEditor(), _Nothing(), memory)
        return load(editors, memory)

    monkeypatch.setattr(_Editors, "_load_from", counted)
    for spec, count in ((ScriptedProcess(model, 1, str(place)), 1), (ProcessSpec(model, 1, str(place)), 2)):
        loaded.clear()
        assert _Editors(spec).facts.learns
        assert len(loaded) == count
