"""The special tokens that every vocabulary begins with, in this order.

STEP moves hard attention to the next position of mt (Junczys-Dowmunt and Grundkiewicz 2017, 4.1); SEP separates texts.
"""

from typing import Final

PAD: Final = 0
BOS: Final = 1
EOS: Final = 2
UNK: Final = 3
STEP: Final = 4
SEP: Final = 5

SPECIAL_TOKENS: Final = ("<pad>", "<s>", "</s>", "<unk>", "<step>", "<sep>")
