"""A small neural model that learns from a few hundred triplets in seconds, to estimate what a neural model gains."""

import random
from collections.abc import Sequence
from typing import Final

import torch

from postedit.adapt.adapters import Adapters
from postedit.adapt.correction import Correction
from postedit.adapt.neural_learner import TripletBatches
from postedit.core.config import load_config
from postedit.core.editor import Editor
from postedit.core.search_config import SearchConfig
from postedit.editing.post_editor import PostEditor
from postedit.editing.protection import Protected
from postedit.jobs.cross_validation import Learner
from postedit.models import ARCHITECTURES
from postedit.phrase.phrase_options import PhraseTextConfig
from postedit.text.config import TextConfig
from postedit.text.processor import TextProcessor

UPDATES: Final = 200
"""Updates in one training: eleven trainings take two to four minutes on one core. A time limit instead would make the
results depend on the machine."""

_ARCHITECTURE: Final = "edit-operations"
"""This model need not learn to copy, so it gains with the fewest updates; see `benchmarks/RESULTS.md`."""

_WIDTH: Final = 64
_TOKENS: Final = 1_500  # size of the vocabulary
_ROWS: Final = 16  # triplets per update
_RATE: Final = 5e-3
_WARM_UP: Final = 30  # updates
_SEED: Final = 1


def neural_learner(text: PhraseTextConfig, updates: int = UPDATES) -> Learner:
    """Return a function that trains a small neural model from scratch, with a fixed seed.

    The model changes mt only where it ranks another text above it.

    Args:
        text: how texts are divided into words.
        updates: the number of weight updates.
    """
    config = _text_config(text)

    @torch.inference_mode(False)  # whatever mode the application is in
    def train(corrections: Sequence[Correction]) -> Editor:
        processor = TextProcessor.fit(config, lambda: corrections)
        architecture = ARCHITECTURES[_ARCHITECTURE]
        sizes = load_config(architecture.config_class, {"embedding": _WIDTH, "hidden": _WIDTH}, "sizes")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(_SEED)
            model = architecture.build(sizes, processor.vocabularies)
        editor = PostEditor(model, processor, SearchConfig())
        batches, weights, draw = TripletBatches(editor), Adapters(model, "all"), random.Random(_SEED)
        for number in range(1, updates + 1):
            batch = batches.batch(draw.sample(corrections, min(_ROWS, len(corrections))))
            if batch is not None:
                weights.step(batch, _RATE * min(1.0, number / _WARM_UP))
        return Protected(editor)

    return train


def _text_config(text: PhraseTextConfig) -> TextConfig:
    """Return the same division into words for a model with subwords; unspaced scripts need none before subwords."""
    if text.tokenizer == "moses":
        words = {"tokenizer": "moses", "src_lang": text.src_lang, "tgt_lang": text.tgt_lang}
    else:
        words = {"tokenizer": "none"}
    return load_config(TextConfig, {**words, "vocabulary": {"sharing": "joint", "size": _TOKENS}}, "text")
