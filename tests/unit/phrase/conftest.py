"""A small phrase-based model."""

import pytest
from tests.unit.phrase.small_corpus import TRIPLETS, split

from postedit.core.search_config import SearchConfig
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_model import PhraseModel, learn
from postedit.phrase.phrase_options import PhraseConfig, PhraseTextConfig


@pytest.fixture(scope="session")
def model() -> PhraseModel:
    return learn(split(TRIPLETS), PhraseConfig(order=3))


@pytest.fixture
def editor(model: PhraseModel) -> PhraseEditor:
    return PhraseEditor(model, PhraseConfig(order=3), PhraseTextConfig(), SearchConfig())
