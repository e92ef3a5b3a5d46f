"""Candidates for minimum risk training: outputs of the model, and their costs as text."""

from collections.abc import Sequence
from itertools import groupby

from postedit.core.model import Seq2Seq
from postedit.core.scripts import has_unspaced_run
from postedit.core.types import Batch
from postedit.evaluate.metrics import COSTS
from postedit.search import Hypothesis, Sampling, SearchConfig, beam_search, length_limits, sample
from postedit.text.processor import TextProcessor
from postedit.text.words import compared_words
from postedit.train.config import RiskConfig
from postedit.train.losses import Candidate


class CandidateSearch:
    """Searches for the candidates of `train.loop.Trainer`; costs compare tokenised and truecased texts.

    In running text without spaces, they compare characters. Of the search options `settings`, only the length limits
    and the length normalisation of the beam apply.
    """

    def __init__(self, config: RiskConfig, settings: SearchConfig, processor: TextProcessor) -> None:
        self._config, self._settings, self._processor = config, settings, processor

    def __call__(self, model: Seq2Seq, batch: Batch) -> list[list[Candidate]]:
        """Return the candidates of each sentence, without duplicates.

        Raises:
            ValueError: if the batch has no target.
            ModelFolderError: if the model gives no allowed token a probability above 0.
        """
        if batch.target is None:
            raise ValueError("candidates are compared with a target, which the batch lacks")
        ids, lengths = batch.target.ids.tolist(), (batch.target.lengths - 1).tolist()
        references = [tuple(row[:length]) for row, length in zip(ids, lengths, strict=True)]
        outputs = [[one.tokens for one in found] for found in self.search(model, batch)]
        if self._config.reference:
            outputs = [[reference, *found] for reference, found in zip(references, outputs, strict=True)]
        return self.judge([list(dict.fromkeys(found)) for found in outputs], references)

    def search(self, model: Seq2Seq, batch: Batch) -> list[list[Hypothesis]]:
        """Return the hypotheses of each sentence."""
        config, settings, spec = self._config, self._settings, model.spec
        limits = length_limits(batch, settings.max_ratio, settings.max_extra, spec.writes, spec.longest)
        if config.search == "beam":
            count = config.candidates
            ranking = settings.model_dump(include={"length_penalty", "normalisation"})
            return beam_search(model, batch, limits, SearchConfig(beam=count, n_best=count, **ranking))
        return sample(model, batch, limits, Sampling(config.candidates, config.temperature, config.top_k))

    def judge(
        self, outputs: Sequence[Sequence[tuple[int, ...]]], references: Sequence[tuple[int, ...]]
    ) -> list[list[Candidate]]:
        """Return the outputs of each sentence with their costs against its reference; all are tokens without EOS."""
        texts: list[str] = []
        expected: list[str] = []
        for reference, found in zip(references, outputs, strict=True):
            pe, *written = self._texts([reference, *found])
            texts += written
            expected += [pe] * len(written)
        costs = iter(COSTS[self._config.cost](texts, expected))
        return [[Candidate(output, next(costs)) for output in found] for found in outputs]

    def _texts(self, outputs: Sequence[tuple[int, ...]]) -> list[str]:
        """Return the words of the outputs of a sentence, with spaces between them, as the costs compare them."""
        texts = [" ".join(self._words(tokens)) for tokens in outputs]
        if has_unspaced_run(*texts):
            return [" ".join(compared_words(text)) for text in texts]
        return texts

    def _words(self, tokens: Sequence[int]) -> list[str]:
        """Return the words of an output; copied tokens, whose words in mt are not known here, go by their names."""
        vocabulary, words = self._processor.vocabulary("pe"), list[str]()
        first = vocabulary.size - vocabulary.info.copied
        for is_copied, group in groupby(tokens, lambda token: token >= first):
            ids = list(group)
            words += vocabulary.readable(ids) if is_copied else self._processor.written((), ids)
        return words
