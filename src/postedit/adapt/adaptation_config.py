"""Options of learning from corrections."""

from typing import Final, Literal

from pydantic import Field

from postedit.core.config import Config
from postedit.phrase.phrase_options import PhraseTextConfig

NO_MODEL: Final = "none"
"""Name to give in place of a model: every mt stays as it is, unless corrections in a memory say otherwise."""

AdapterKind = Literal["vectors", "low-rank", "all"]
"""The weights that change. "vectors": biases and the weights of normalisation; "low-rank": also a product of two narrow
matrices that is added to each weight matrix (LoRA, Hu et al. 2022); "all": all weights."""


Learning = Literal["auto", "online", "nearest", "examples"]
"""How a model learns. "online": a neural model takes steps on each correction; "nearest": it takes steps on the nearest
corrections for each segment; "examples": a language model is shown similar corrections in its prompt; "auto": examples
for a model whose prompt shows corrections, online followed by phrases for other neural models, and phrases alone for a
phrase-based model or without a model, which have no other way."""


class OnlineConfig(Config):
    """How a model learns from each correction."""

    adapters: AdapterKind = Field(default="vectors", description="what changes: vectors, low-rank or all weights")
    rank: int = Field(default=4, ge=1, description="rank of low-rank adapters")
    rate: float = Field(default=1e-3, gt=0, description="learning rate of a step")
    steps: int = Field(default=1, ge=1, description="steps for each correction")
    replay: int = Field(default=3, ge=0, description="earlier corrections in the batch of a step")
    version_every: int = Field(default=20, ge=1, description="corrections between states that are kept to undo")
    watched: int = Field(
        default=200,
        ge=0,
        description="recent corrections that decide whether learning helps; else it is off; 0: always on",
    )
    seed: int = Field(default=1, ge=0, description="seed of replay and of adapters")


class NearestConfig(Config):
    """How a model adapts to each segment."""

    most: int = Field(default=2, ge=1, description="nearest triplets to learn from")
    least: float = Field(default=0.4, ge=0, le=1, description="lowest similarity of a triplet that is learnt from")
    rate: float = Field(
        default=1e-3, gt=0, description="learning rate of a step for a similarity of 1; it falls in proportion"
    )
    steps: int = Field(default=3, ge=1, description="steps on the nearest triplets")
    watched: int = Field(
        default=200, ge=0, description="recent corrections that decide whether this helps; else it is off; 0: always on"
    )


class LearningConfig(Config):
    """How editors learn from corrections."""

    phrases: PhraseTextConfig = Field(
        default=PhraseTextConfig(),
        description="how phrases divide texts, without a model or after a neural one, which decides if not given",
    )
    online: OnlineConfig = Field(default=OnlineConfig(), description="how the model learns from each correction")
    nearest: NearestConfig = Field(default=NearestConfig(), description="how the model adapts to each segment")
