"""Development texts: what settings of a trained model are chosen by."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from postedit.data.lines import read_aligned


@dataclass(frozen=True, slots=True)
class DevTexts:
    """Triplets that no model was trained on, line by line."""

    src: Sequence[str]
    mt: Sequence[str]
    pe: Sequence[str]

    @classmethod
    def read(cls, src: Path, mt: Path, pe: Path) -> "DevTexts":
        """Read them from files of lines.

        Raises:
            DataError: if one cannot be read, or they have not as many lines.
        """
        texts = read_aligned(src, mt, pe)
        return cls(texts[src], texts[mt], texts[pe])
