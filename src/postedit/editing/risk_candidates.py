"""Candidates for minimum risk training: what a model might write, and what each of it costs, judged as text."""

from collections.abc import Sequence

from postedit.core.model import Seq2Seq
from postedit.core.types import Batch, Target
from postedit.evaluate.metrics import COSTS
from postedit.search import Hypothesis, Sampling, SearchConfig, beam_search, length_limits, sample
from postedit.text.processor import TextProcessor
from postedit.train.config import RiskConfig
from postedit.train.risk import Candidate


class Proposer:
    """Looks for candidates as `[train.risk]` says; to be given to `train.loop.Trainer`.

    Costs are between texts in the model's own words: tokenised and truecased, as they are when it has written them.

    Args:
        config: the section.
        settings: how long outputs may be, and how a beam ranks.
        processor: the text processing of the model.
    """

    def __init__(self, config: RiskConfig, settings: SearchConfig, processor: TextProcessor) -> None:
        self._config, self._settings, self._processor = config, settings, processor

    def __call__(self, model: Seq2Seq, batch: Batch) -> list[list[Candidate]]:
        """Return the candidates of each sentence, no two the same in symbols.

        Raises:
            ValueError: if the batch has no target.
            ModelFolderError: if the model gives nothing that it may write a probability.
        """
        if batch.target is None:
            raise ValueError("candidates are compared with a target, which the batch lacks")
        references = _texts(batch.target)
        outputs = [self._different(*one) for one in zip(references, self.search(model, batch), strict=True)]
        return self.judge(outputs, references)

    def search(self, model: Seq2Seq, batch: Batch) -> list[list[Hypothesis]]:
        """Return what is found for each sentence."""
        config, settings, spec = self._config, self._settings, model.spec
        limits = length_limits(batch, settings.max_ratio, settings.max_extra, spec.writes, spec.longest)
        if config.search == "beam":
            count = config.candidates
            beam = SearchConfig(
                beam=count,
                n_best=count,
                length_penalty=settings.length_penalty,
                normalisation=settings.normalisation,
            )
            return beam_search(model, batch, limits, beam)
        return sample(model, batch, limits, Sampling(config.candidates, config.temperature, config.top_k))

    def judge(
        self, outputs: Sequence[Sequence[tuple[int, ...]]], references: Sequence[tuple[int, ...]]
    ) -> list[list[Candidate]]:
        """Return the outputs of each sentence with their costs; symbols without EOS."""
        texts = [self._text(output) for found in outputs for output in found]
        pairs = zip(map(self._text, references), outputs, strict=True)
        expected = [text for text, found in pairs for _ in found]
        costs = iter(COSTS[self._config.cost](texts, expected))
        return [[Candidate(output, next(costs)) for output in found] for found in outputs]

    def _different(self, reference: tuple[int, ...], found: Sequence[Hypothesis]) -> list[tuple[int, ...]]:
        outputs = [hypothesis.tokens for hypothesis in found]
        return list(dict.fromkeys([reference, *outputs] if self._config.reference else outputs))

    def _text(self, symbols: Sequence[int]) -> str:
        return " ".join(self._processor.written((), symbols))


def _texts(target: Target) -> list[tuple[int, ...]]:
    """Return the symbols of each post-edit, without EOS."""
    return [tuple(ids[:length]) for ids, length in zip(target.ids.tolist(), (target.lengths - 1).tolist())]
