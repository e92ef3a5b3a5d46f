"""Shared by the scripts that make release files: scores before and after, and entries of the catalogue."""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from postedit.core.editor import Editor, Segment
from postedit.core.files import atomic_write
from postedit.core.search_config import SearchConfig
from postedit.data.lines import DevTexts
from postedit.evaluate import analyses
from postedit.evaluate.scores import SystemScores
from postedit.evaluate.test_set import TestSet, evaluate_systems

ROOT: Final = Path(__file__).resolve().parents[1]
CATALOGUE: Final = ROOT / "src/postedit/releases/catalogue.toml"


@dataclass(frozen=True, slots=True)
class Gain:
    """Scores before and after, the upper end of the TER difference's 95 % interval, and a sentence about it."""

    before: SystemScores
    after: SystemScores
    worst: float
    verdict: str

    def __str__(self) -> str:
        return f"TER {self.ter}, BLEU {self.bleu}; {self.verdict}"

    @property
    def ter(self) -> str:
        """TER before and after."""
        return f"{self.before.ter:.2f} to {self.after.ter:.2f}"

    @property
    def bleu(self) -> str:
        """BLEU before and after."""
        return f"{self.before.bleu:.2f} to {self.after.bleu:.2f}"


def spaced(text: str) -> str:
    """Return the characters of a text, without its own spaces, separated by spaces."""
    return " ".join(text.replace(" ", ""))


def gain(
    editor: Editor, texts: DevTexts, search: SearchConfig | None = None, words: Callable[[str], str] = str
) -> Gain:
    """Return the scores of the unedited MT and of an editor's outputs.

    Args:
        editor: the editor to score.
        texts: src, mt and pe.
        search: search options; those of the editor if None.
        words: returns a text with spaces between its words; by default, texts are taken as they are.
    """
    segments = [Segment(src, mt) for src, mt in zip(texts.src, texts.mt, strict=True)]
    outputs = [edit.text for edit in editor.edit_segments(segments, search)]
    mt, pe, edited = ([words(line) for line in lines] for lines in (texts.mt, texts.pe, outputs))
    systems = evaluate_systems(TestSet(pe, mt), {"model": edited})
    differences = analyses.ter_differences(systems)
    (verdict,) = analyses.verdicts(systems, differences)
    ((_, _, worst, *_),) = (row.values for row in differences.rows)
    assert worst is not None, "there are enough sentences for an interval"
    before, after = (system.scores for system in systems)
    return Gain(before, after, worst, verdict)


@dataclass(frozen=True, slots=True)
class Entry:
    """A model in the catalogue; `measured` names the text on which its gain was measured."""

    name: str
    texts: str
    triplets: int
    licence: str
    measured: str
    gain: Gain

    def text(self, archive: Path) -> str:
        """Return the entry as TOML, with the size and the SHA-256 sum of its release file."""
        content = archive.read_bytes()
        scores = f"unedited = {self.gain.before.ter:.2f}, ter = {self.gain.after.ter:.2f}"
        return f"""\
[[models]]
name = "{self.name}"
texts = "{self.texts}"
triplets = {self.triplets}
licence = "{self.licence}"
gain = {{ dev = "{self.measured}", {scores} }}
file = "{archive.name}"
bytes = {len(content)}
sha256 = "{hashlib.sha256(content).hexdigest()}\""""


def enter(replaced: Sequence[str], entries: Sequence[tuple[Entry, Path]], *, first: bool = False) -> None:
    """Write entries to the catalogue in place of older ones.

    Args:
        replaced: beginnings of the names of the entries to replace.
        entries: the new entries, each with its release file.
        first: whether the new entries come before the others, and so are preferred for the same language pairs.
    """
    head, *known = re.split(r"(?=^\[\[models\]\]$)", CATALOGUE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    others = [one.rstrip() for one in known if not any(f'name = "{begin}' in one for begin in replaced)]
    new = [entry.text(archive) for entry, archive in entries]
    with atomic_write(CATALOGUE) as file:
        file.write("\n\n".join([head.rstrip(), *(new + others if first else others + new)]) + "\n")
