"""Choose the first output of a segment by search rank, log-linear model or risk, with mt among the candidates."""

from collections.abc import Sequence

from postedit.core.search_config import SearchConfig
from postedit.editing.constraints import required_of
from postedit.editing.minimum_risk import by_risk
from postedit.editing.results import has_phrase
from postedit.editing.segments import EncodedSegment
from postedit.search import Hypothesis
from postedit.search.rescoring import LogLinear, rank, weighted_sum
from postedit.text.processor import TextProcessor


class OutputRanking:
    """Ranks the outputs of a search; `log_linear`, if given, replaces the ranking of the search."""

    def __init__(self, processor: TextProcessor, config: SearchConfig, log_linear: LogLinear | None) -> None:
        self._processor, self._config, self._log_linear = processor, config, log_linear

    def is_mt(self, segment: EncodedSegment, hypothesis: Hypothesis) -> bool:
        """Return whether an output is mt."""
        return bool(segment.mt.strip()) and not self._processor.render(segment.mt, hypothesis.tokens).changed

    def with_mt(self, segment: EncodedSegment, found: Sequence[Hypothesis], mt: Hypothesis) -> list[Hypothesis]:
        """Return the outputs found with mt inserted; mt comes first only if it may be chosen and is the better output.

        The biases that penalise departures from mt cost mt nothing, so its own bias is the coverage penalty alone.
        """
        best, *others = found
        if best.yields_to(mt, self._config) and self._may_choose_mt(segment):
            best, mt = mt, best
        return [best, *sorted([*others, mt], key=lambda one: one.rank(self._config), reverse=True)]

    def n_best(
        self, segment: EncodedSegment, found: Sequence[Hypothesis], searched: Sequence[Hypothesis]
    ) -> list[Hypothesis]:
        """Return the best of the outputs `found`, mt included; `searched` are the outputs before mt was added.

        Where the search ranks, all are returned: it found no more than were asked for.
        """
        ranked = list(found) if self._log_linear is None else rank(found, self._log_linear.weights)
        if self._config.mbr:
            ranked = self._by_risk(segment, ranked, searched)
        elif self._log_linear is not None and not self._may_come_first(segment, ranked[0], searched):
            ranked[:2] = ranked[1::-1]
        if ranked[0].hit_limit and self._may_choose_mt(segment):
            ranked.sort(key=lambda one: not self.is_mt(segment, one))
        if self._log_linear is None and not self._config.mbr:
            return ranked
        count = self._config.n_best
        rest = ranked[count:] if count > 1 else []
        return [*ranked[:count], *(one for one in rest if self.is_mt(segment, one))]

    def _by_risk(
        self, segment: EncodedSegment, found: Sequence[Hypothesis], searched: Sequence[Hypothesis]
    ) -> list[Hypothesis]:
        """Return the outputs with the fewest expected edits first; those that may not be chosen stay at the end.

        These are outputs ended by the length limit, and mt if the search did not find it and it is not a candidate.
        """
        chosen = [one for one in found if not one.hit_limit and self._may_come_first(segment, one, searched)]
        if not chosen:
            return [*found]
        texts = [self._processor.render(segment.mt, one.tokens).text for one in chosen]
        ordered = [chosen[place] for place in by_risk(texts, [self._value(one) for one in chosen], self._config.mbr)]
        return [*ordered, *(one for one in found if one not in chosen)]

    def _value(self, hypothesis: Hypothesis) -> float:
        if self._log_linear is not None:
            return weighted_sum(hypothesis.features or {}, self._log_linear.weights)
        return hypothesis.score + hypothesis.bias

    def _may_come_first(self, segment: EncodedSegment, one: Hypothesis, searched: Sequence[Hypothesis]) -> bool:
        """Return whether the search has found this output, or mt is a candidate."""
        return any(one.tokens == other.tokens for other in searched) or self._may_choose_mt(segment)

    def _may_choose_mt(self, segment: EncodedSegment) -> bool:
        """Return whether mt is a candidate: the options allow it, and it satisfies all constraints."""
        given, mt = segment.segment.constraints, segment.mt
        return (
            self._config.mt_candidate
            and mt.startswith(given.prefix)
            and all(has_phrase(mt, phrase) for phrase in required_of(segment.segment, self._config))
            and not any(has_phrase(mt, phrase) for phrase in (*given.banned, *self._config.banned))
        )
