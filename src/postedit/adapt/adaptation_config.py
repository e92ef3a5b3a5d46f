"""Options of learning from corrections."""

from typing import Final, Literal

from pydantic import Field

from postedit.core.config import Config
from postedit.phrase.phrase_options import PhraseTextConfig

NO_MODEL: Final = "none"
"""In place of a model: every mt stays as it is, unless corrections in a memory say otherwise."""

AdapterKind = Literal["vectors", "low-rank", "all"]
"""What changes: biases and the weights of normalisation; those, and a product of two narrow matrices added to each
weight matrix (LoRA, Hu et al. 2021); or all weights."""


Learning = Literal["auto", "online", "nearest", "examples"]
"""How a model learns: steps of a neural model on each correction (online); steps on the nearest corrections for each
segment (nearest); a language model by being shown similar corrections in its prompt (examples); or auto: a model whose
prompt shows corrections by examples, another neural model online, with phrases after it, and a phrase-based one, or
none, by its phrases, which is its only way."""


class OnlineConfig(Config):
    """How a model learns from each correction."""

    adapters: AdapterKind = Field("vectors", description="what changes: vectors, low-rank or all weights")
    rank: int = Field(4, ge=1, description="rank of low-rank adapters")
    rate: float = Field(1e-3, gt=0, description="learning rate of a step")
    steps: int = Field(1, ge=1, description="steps for each correction")
    replay: int = Field(3, ge=0, description="earlier corrections in the batch of a step")
    version_every: int = Field(20, ge=1, description="corrections between states that are kept to undo")
    watched: int = Field(
        200, ge=0, description="recent corrections that decide whether learning helps; else it is off; 0: always on"
    )
    seed: int = Field(1, ge=0, description="seed of replay and of adapters")


class NearestConfig(Config):
    """How a model adapts to each request."""

    most: int = Field(2, ge=1, description="nearest triplets to learn from")
    least: float = Field(0.4, ge=0, le=1, description="lowest similarity of a triplet that is learnt from")
    rate: float = Field(1e-3, gt=0, description="learning rate of a step for a similarity of 1; it falls in proportion")
    steps: int = Field(3, ge=1, description="steps on the nearest triplets")
    watched: int = Field(
        200, ge=0, description="recent corrections that decide whether this helps; else it is off; 0: always on"
    )


class LearningConfig(Config):
    """How editors learn from corrections."""

    phrases: PhraseTextConfig = Field(
        PhraseTextConfig(),
        description="how phrases divide texts, without a model or after a neural one, which else says how",
    )
    online: OnlineConfig = Field(OnlineConfig(), description="how the model learns from each correction")
    nearest: NearestConfig = Field(NearestConfig(), description="how the model adapts to each segment")
