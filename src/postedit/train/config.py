"""The `[train]` section of a recipe."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from postedit.core.config import Config

Count = Annotated[int, Field(ge=1)]
Fraction = Annotated[float, Field(ge=0.0, lt=1.0)]
Minutes = Annotated[float, Field(gt=0.0)]


_LIMITS = ["max_steps", "max_epochs", "max_minutes", "patience", "diverges"]
FREE_ON_RESUME = frozenset([*_LIMITS, "save_every", "save_minutes", "keep_last", "log_every"])
"""Options that may change when a run is resumed: they only determine how long to train and what to write."""


class RiskConfig(Config):
    """Minimum risk training: the expected cost of the model's own outputs, mixed with cross-entropy."""

    weight: float = Field(0.5, ge=0.0, le=1.0, description="Weight of the risk in the loss; 0: off.")
    cost: Literal["ter", "bleu"] = Field(
        "ter", description="Cost of an output: ter, edits per word of the post-edit; bleu, 1 - smoothed sentence BLEU."
    )
    search: Literal["sample", "beam"] = Field(
        "beam", description="How candidates are found: beam search with a beam of `candidates`, or random samples."
    )
    candidates: Count = Field(4, description="Candidates per sentence; equal ones count once.")
    reference: bool = Field(False, description="The post-edit is a candidate too.")
    sharpness: float = Field(
        1.0, gt=0.0, description="Exponent of the candidates' probabilities before they are normalised."
    )
    temperature: float = Field(
        1.0, ge=1e-3, le=1e3, description="Divisor of log-probabilities before a token is sampled."
    )
    top_k: int = Field(0, ge=0, description="Sample from this many of the most probable tokens; 0: from all.")

    @model_validator(mode="after")
    def _has_a_choice(self) -> Self:
        if self.candidates == 1 and not self.reference:
            raise ValueError(
                "candidates: one output leaves nothing to choose from; use 2 or more, or set reference = true"
            )
        return self


class TrainConfig(Config):
    """Options of training.

    A *step* is one update of the weights, from `accumulate` batches on each process, or from as many as contain
    `update_tokens` target tokens. Training ends at the first of `max_steps`, `max_epochs`, `max_minutes` and `patience`
    that is reached; one of the first three is needed.
    """

    init: str | None = Field(
        None,
        description="Model folder, relative to the recipe's, whose weights of the same names and sizes training starts "
        "from. Embeddings and output layers with another vocabulary take over the rows of the tokens that both have.",
    )
    seed: int = Field(1, ge=0, lt=2**63, description="Seed of the initial weights, the data order and dropout.")
    max_steps: Count | None = Field(None, description="Stop after this many updates of the weights.")
    max_epochs: Count | None = Field(None, description="Stop after this many passes over the corpus.")
    max_minutes: Minutes | None = Field(
        None,
        description="Stop after this many minutes of wall-clock time, including validation and the time before the run "
        "was resumed.",
    )
    batch_tokens: Count = Field(
        4000, description="Size of a batch: rows x tokens of the longest text in it, padding included."
    )
    accumulate: Count = Field(
        1,
        description="Batches (on each process) whose gradients make one update. A run that is resumed with another "
        "number of processes keeps the number of batches of an update.",
    )
    update_tokens: Count | None = Field(
        None,
        description="In place of `accumulate`: an update is made of as many batches as contain this many target tokens "
        "in all processes.",
    )
    freeze: list[str] = Field(
        [], description='Patterns of names of parameters that are not trained, such as "embed*" or "*.bias".'
    )
    optimizer: Literal["adam", "adamw", "sgd", "adagrad", "adafactor"] = Field(
        "adam",
        description="adam: weight decay is part of the gradient (L2); adamw: decoupled weight decay; sgd: L2; adagrad: "
        "L2, and sums of squares that start at 0.1; adafactor: Adam with the means of squares by rows and columns, "
        "which need almost no memory.",
    )
    lr: float = Field(
        5e-4,
        gt=0.0,
        description="Peak learning rate, reached at the end of the warm-up. For adafactor it is relative to the size "
        "of the weights, and never above 1/sqrt(step); 1e-2 is usual.",
    )
    momentum: Fraction = Field(0.0, description="Momentum of sgd.")
    betas: Annotated[tuple[Fraction, Fraction], Field(strict=False)] = Field(
        (0.9, 0.98), description="Decay rates, per update, of Adam's means of gradients and of their squares."
    )
    eps: float = Field(1e-8, gt=0.0, description="Added to Adam's denominator.")
    weight_decay: float = Field(
        0.0, ge=0.0, description="Decay of weight matrices, per update, relative to the learning rate."
    )
    schedule: Literal["constant", "inverse-sqrt", "linear", "plateau"] = Field(
        "inverse-sqrt",
        description="Learning rate after the warm-up: constant; falling with 1/sqrt(step); falling linearly to 0 at "
        "`max_steps`, which must be set; or multiplied by `plateau_factor` whenever `plateau_patience` validations "
        "bring no improvement.",
    )
    warmup_steps: int = Field(
        1000, ge=0, description="Updates over which the learning rate rises linearly to its peak; 0: none."
    )
    plateau_factor: float = Field(0.5, gt=0.0, lt=1.0, description="Multiplier of the rate on a plateau.")
    plateau_patience: Count = Field(3, description="Validations without improvement that make a plateau.")
    label_smoothing: Fraction = Field(
        0.1, description="Probability that is taken from each label and spread evenly over the vocabulary."
    )
    rdrop: float = Field(
        0.0, ge=0.0, description="R-Drop: weight of the divergence between two passes with different dropout; 0: off."
    )
    coverage: float = Field(
        0.0,
        ge=0.0,
        description="Weight of the coverage loss, which counts repeated attention to a token (See et al. 2017); 0: "
        "off. For models with soft attention, in the last stage of training.",
    )
    risk: RiskConfig | None = Field(
        None, description="Minimum risk training, see `[train.risk]`; none: cross-entropy alone."
    )
    clip: float = Field(
        1.0, ge=0.0, description="Largest norm of the gradient of the mean loss per label; 0: no clipping."
    )
    precision: Literal["fp32", "bf16"] = Field(
        "fp32", description="bf16: matrix products in bfloat16 (autocast); weights and Adam's state stay in fp32."
    )
    fast_fp32: bool = Field(
        False,
        description="Compute fp32 matrix products on x86 processors with oneDNN's bf16 setting, about twice as fast. "
        "Without AMX it is as exact as fp32; with AMX, factors are rounded to bfloat16. torch's fused attention gets "
        "slower, so measure whether the model gains.",
    )
    compile: bool = Field(
        False,
        description="Have PyTorch compile the layers of a Transformer for training. Meant for GPUs, where it takes "
        "minutes at the start; on a CPU training gets slower.",
    )
    validate_every: Count = Field(500, description="Steps between validations; there is one at the end too.")
    metric: Literal["loss", "ter", "bleu", "chrf", "rouge-l"] = Field(
        "loss",
        description="Dev score by which models are compared: loss (nll per label) and ter, lower is better; bleu, "
        "chrf and, for summaries, rouge-l, higher is better. Of models with equal scores, the one with the lower loss "
        "is better. Each validation decodes the dev set, if only for the log.",
    )
    patience: Count | None = Field(
        None, description="Stop after this many validations without improvement; none: never stop early."
    )
    diverges: float = Field(
        10.0,
        ge=0.0,
        description="Stop with an error when the loss of an update exceeds the lowest so far (at least 1 nat) by this "
        "factor, or when the mean of 20 updates or more is 3 nats above the lowest such mean; 0: never.",
    )
    keep_best: Count = Field(5, description="How many of the best models on dev to keep, and to average.")
    average: Literal["best", "last", "none"] = Field(
        "best",
        description="At the end, average the weights of the `keep_best` best or last validated models, and export the "
        "average.",
    )
    average_if_better: bool = Field(
        True,
        description="Export the average only if it is better on dev than the best single model; false: always, as the "
        "papers do.",
    )
    ema: Fraction = Field(
        0.0,
        description="Decay, per update, of an exponential moving average of the weights, which is then validated and "
        "exported; 0: none. 0.999 is usual.",
    )
    save_every: Count = Field(1000, description="Steps between checkpoints, from which a run resumes.")
    save_minutes: Minutes | None = Field(
        10.0, description="A checkpoint is also written when the last one is this many minutes old."
    )
    keep_last: Count = Field(2, description="How many of the newest checkpoints to keep.")
    log_every: Count = Field(50, description="Steps between lines of the log.")

    def published(self) -> Self:
        """Return the section for publication: `init` is only a name, without its path on this machine."""
        return self if self.init is None else self.model_copy(update={"init": Path(self.init).name})

    @property
    def higher_is_better(self) -> bool:
        """Whether a higher dev score is the better one."""
        return self.metric in {"bleu", "chrf", "rouge-l"}

    @property
    def has_risk(self) -> bool:
        """Whether the loss includes a risk, so that the model learns from its own outputs."""
        return self.risk is not None and self.risk.weight > 0.0

    @model_validator(mode="after")
    def _check(self) -> Self:
        if 0.0 < self.diverges <= 1.0:
            raise ValueError("diverges must be above 1, as a loss exceeds the lowest so far by chance; 0: never")
        if self.schedule == "linear" and self.max_steps is None:
            raise ValueError('schedule = "linear" falls to 0 at max_steps: set max_steps')
        if self.coverage > 0.0 and (self.has_risk or self.rdrop > 0.0):
            raise ValueError("coverage goes neither with rdrop nor with risk: set those to 0 where coverage is above 0")
        if self.has_risk and self.rdrop > 0.0:
            raise ValueError("rdrop and risk do not go together: set rdrop = 0 where risk.weight is above 0")
        if self.compile and self.has_risk:
            raise ValueError("compile and risk do not go together, as search calls the layers too: set compile = false")
        if self.accumulate > 1 and self.update_tokens is not None:
            raise ValueError(
                "accumulate and update_tokens both say how large an update is: give one of them, update_tokens for the "
                "same updates on any number of processes"
            )
        if self.max_steps is None and self.max_epochs is None and self.max_minutes is None:
            raise ValueError("training needs an end: give at least one of max_steps, max_epochs, max_minutes")
        return self
