"""The gate against over-correction: which edits of an editor to keep, and where mt is better left alone."""

from postedit.gate.gate import Gate, Level
from postedit.gate.gated import Gated

__all__ = ["Gate", "Gated", "Level"]
