"""A small phrase-based model."""

import pytest

from postedit.core.search_config import SearchConfig
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_model import PhraseModel, SplitTriplet, learn
from postedit.phrase.phrase_recipe import PhraseConfig, PhraseTextConfig

TRIPLETS = [
    ("the red house is big .", "das rote Haus ist groß ,", "das rote Haus ist groß ."),
    ("the blue house is small .", "das blaue Haus ist klein ,", "das blaue Haus ist klein ."),
    ("the house is old .", "der Haus ist alt ,", "das Haus ist alt ."),
    ("the house burns .", "der Haus brennt ,", "das Haus brennt ."),
    ("a tree , a house .", "ein Baum , ein Haus .", "ein Baum , ein Haus ."),
    ("the tree is green .", "der Baum ist grün ,", "der Baum ist grün ."),
    ("the tree falls .", "der Baum fällt ,", "der Baum fällt um ."),
    ("press the key .", "drücken Sie die Taste ,", "drücken Sie die Taste ."),
    ("press the red key .", "drücken Sie die rote Taste ,", "drücken Sie die rote Taste ."),
    ("the house is red .", "der Haus ist rot ,", "das Haus ist rot ."),
]


def split(triplets: list[tuple[str, str, str]]) -> list[SplitTriplet]:
    return [SplitTriplet(*(text.split() for text in triplet)) for triplet in triplets]


@pytest.fixture(scope="session")
def model() -> PhraseModel:
    return learn(split(TRIPLETS), PhraseConfig(order=3))


@pytest.fixture
def editor(model: PhraseModel) -> PhraseEditor:
    return PhraseEditor(model, PhraseConfig(order=3), PhraseTextConfig(), SearchConfig())
