import random
from pathlib import Path

import pytest

from postedit.data import batching, corpus
from postedit.data.corpus import Corpus, write_corpus
from postedit.data.triplets import Triplet
from postedit.text.config import TextConfig, VocabularyConfig
from postedit.text.processor import TextProcessor


@pytest.fixture(scope="session")
def triplets() -> list[Triplet]:
    """100 triplets of 1 to 12 words; the number at the start of src tells them apart."""
    draw = random.Random(3)
    words = ["Haus", "rot", "ist", "die", "Maus"]

    def sentence() -> str:
        return " ".join(draw.choices(words, k=draw.randint(1, 11)))

    return [Triplet(f"{number} {sentence()}", sentence(), sentence(), "made", number) for number in range(100)]


@pytest.fixture(scope="session")
def processor(triplets: list[Triplet]) -> TextProcessor:
    return TextProcessor.fit(TextConfig(vocabulary=VocabularyConfig(size=350)), lambda: triplets)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 8 rows and windows of 3 blocks, so that 100 triplets are 5 windows."""
    monkeypatch.setattr(corpus, "BLOCK_ROWS", 8)
    monkeypatch.setattr(batching, "WINDOW_BLOCKS", 3)


@pytest.fixture
def small(small_blocks: None, tmp_path: Path, triplets: list[Triplet], processor: TextProcessor) -> Corpus:
    return write_corpus(tmp_path / "small.arrow", [triplets], processor, 100)
