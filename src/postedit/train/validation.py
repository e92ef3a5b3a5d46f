"""Dev scores of a model in training."""

from collections.abc import Callable, Mapping
from itertools import islice
from math import exp, inf

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list

from postedit.core.model import Seq2Seq
from postedit.core.types import LabelLoss
from postedit.data.batching import ordered_batches
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
        dev: the dev set; each process computes the loss of its share of the batches.
        score_dev: called in the main process only, or None.
        config: for the precision.
        accelerator: the device and the other processes.
    """

    def __init__(self, dev: Corpus, score_dev: ScoreDev | None, config: TrainConfig, accelerator: Accelerator) -> None:
        self.dev = dev
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

    def _loss(self, model: Seq2Seq) -> dict[str, float]:
        device = self.accelerator.device
        # nll and labels; the sum over batches is kept on the device
        sums = torch.zeros(2, dtype=torch.float32 if device.type == "mps" else torch.float64, device=device)
        batches = ordered_batches(self.dev, model.spec.inputs, self.config.batch_tokens)
        for batch in islice(batches, self.accelerator.process_index, None, self.accelerator.num_processes):
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
