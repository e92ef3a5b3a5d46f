"""What the makers of release files share: scores before and after, and entries of the catalogue."""

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
    """Scores before and after, the largest TER difference of its 95 % interval, and the sentence that compares them."""

    before: SystemScores
    after: SystemScores
    worst: float
    verdict: str

    def __str__(self) -> str:
        return f"TER {self.ter}, BLEU {self.bleu}; {self.verdict}"

    @property
    def ter(self) -> str:
        """Both TER."""
        return f"{self.before.ter:.2f} to {self.after.ter:.2f}"

    @property
    def bleu(self) -> str:
        """Both BLEU."""
        return f"{self.before.bleu:.2f} to {self.after.bleu:.2f}"


def spaced(text: str) -> str:
    """Return the characters of a text with spaces between."""
    return " ".join(text.replace(" ", ""))


def gain(
    editor: Editor, texts: DevTexts, search: SearchConfig | None = None, words: Callable[[str], str] = str
) -> Gain:
    """Return the scores of unedited MT and of the outputs of an editor.

    Args:
        editor: what edits.
        texts: src, mt and pe.
        search: how; the options of the editor if not given.
        words: divides a text into words with spaces between, if not spaces do in the text as it stands.
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
    """A model of the catalogue; `measured` says on what its gain was measured."""

    name: str
    texts: str
    triplets: int
    licence: str
    measured: str
    gain: Gain

    def text(self, archive: Path) -> str:
        """Return the entry, in TOML."""
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
    """Write entries, each with its release file, to the catalogue in place of older ones.

    Args:
        replaced: what the names of older entries begin with.
        entries: the models.
        first: whether they are to be preferred to others of the same pairs.
    """
    head, *known = re.split(r"(?=^\[\[models\]\]$)", CATALOGUE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    others = [one.rstrip() for one in known if not any(f'name = "{begin}' in one for begin in replaced)]
    new = [entry.text(archive) for entry, archive in entries]
    with atomic_write(CATALOGUE) as file:
        file.write("\n\n".join([head.rstrip(), *(new + others if first else others + new)]) + "\n")
