"""The gate against over-correction: which edits of a model to keep, and where mt is better left alone."""

from postedit.gate.gate import Gate, Identity, Level

__all__ = ["Gate", "Identity", "Level"]
