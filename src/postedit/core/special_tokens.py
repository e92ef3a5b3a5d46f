"""The reserved symbols that every vocabulary starts with, in this order.

They are known to the whole toolkit so that models, search and text agree without asking each other:
`STEP` moves hard attention to the next input position (Junczys-Dowmunt and Grundkiewicz 2017, 4.1), and
`SEP` divides two texts that share one input stream.
"""

from typing import Final

PAD: Final = 0
BOS: Final = 1
EOS: Final = 2
UNK: Final = 3
STEP: Final = 4
SEP: Final = 5

SPECIAL_TOKENS: Final = ("<pad>", "<s>", "</s>", "<unk>", "<step>", "<sep>")
