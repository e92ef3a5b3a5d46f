"""The gate against over-correction: it decides which edits of an editor to keep."""

from postedit.gate.gate import Gate, Level
from postedit.gate.gated import Gated

__all__ = ["Gate", "Gated", "Level"]
