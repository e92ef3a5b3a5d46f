"""Dev scores of a model in training."""

from collections.abc import Callable, Mapping, Sequence
from math import exp, inf

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from torch import nn

from postedit.core.model import Seq2Seq
from postedit.core.types import Batch, LabelLoss
from postedit.data.batching import collate, length_batches
from postedit.data.corpus import Corpus
from postedit.train.config import TrainConfig
from postedit.train.runtime import same_randomness_after
from postedit.train.update import move

ScoreDev = Callable[[Seq2Seq], Mapping[str, float]]
"""Decodes the dev set and returns its scores by name, such as `ter` and `bleu`."""


class Validator:
    """Scores a model on dev: the loss always, and what `score_dev` returns.

    Random states and the model's mode are afterwards as they were before, so validation changes nothing in training.

    Args:
        batches: of the dev set; each process computes the loss of its share of them.
        score_dev: called in the main process only, or None.
        config: for the precision.
        accelerator: the device and the other processes.
    """

    def __init__(
        self, batches: Sequence[Batch], score_dev: ScoreDev | None, config: TrainConfig, accelerator: Accelerator
    ) -> None:
        self.batches = batches
        self.score_dev = score_dev
        self.config = config
        self.accelerator = accelerator

    def validate(self, model: Seq2Seq) -> dict[str, float]:
        """Return `nll` (nats per label), `perplexity`, and the scores of the decoded text."""
        training = model.training
        model.eval()
        try:
            with same_randomness_after(self.accelerator.device), torch.no_grad():
                return self._loss(model) | self._scores(model)
        finally:
            model.train(training)

    def _loss(self, model: nn.Module) -> dict[str, float]:
        device = self.accelerator.device
        # nll and labels; the sum over batches is kept on the device
        sums = torch.zeros(2, dtype=torch.float32 if device.type == "mps" else torch.float64, device=device)
        for batch in self.batches[self.accelerator.process_index :: self.accelerator.num_processes]:
            with torch.autocast(device.type, torch.bfloat16, enabled=self.config.precision == "bf16"):
                result: LabelLoss = model(move(batch, device))
            sums += torch.stack([result.nll.to(sums.dtype), result.tokens.to(sums.dtype)])
        nll_sum, tokens = self.accelerator.reduce(sums, "sum").tolist()
        nll = nll_sum / tokens
        return {"nll": nll, "perplexity": exp(nll) if nll < 700.0 else inf}

    def _scores(self, model: Seq2Seq) -> dict[str, float]:
        if self.score_dev is None:
            return {}
        scores = [dict(self.score_dev(model)) if self.accelerator.is_main_process else {}]
        broadcast_object_list(scores)
        return {name: float(value) for name, value in scores[0].items()}


def dev_batches(dev: Corpus, inputs: Sequence[str], batch_tokens: int) -> list[Batch]:
    """Return the whole of `dev` as batches of rows of like length."""
    rows = dev.rows(range(len(dev)))
    lengths = [max(map(len, sides)) for sides in zip(*rows.values())]
    return [
        collate({side: [texts[index] for index in indices] for side, texts in rows.items()}, inputs)
        for indices in length_batches(lengths, batch_tokens)
    ]
