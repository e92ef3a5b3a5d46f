"""Memories of corrections, and editors that learn from them.

The public names are imported on first use, because some commands read only the options and need no database or model.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from postedit.adapt.correction import Correction
    from postedit.adapt.correction_memory import CorrectionMemory
    from postedit.adapt.learning_editor import load_learning
    from postedit.adapt.remembering import Remembering

__all__ = ["Correction", "CorrectionMemory", "Remembering", "load_learning"]

_MODULES: Final = {
    "Correction": "correction",
    "CorrectionMemory": "correction_memory",
    "Remembering": "remembering",
    "load_learning": "learning_editor",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
