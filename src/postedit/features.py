"""The features of outputs for a log-linear model: what its members say, and counts of words."""

from collections.abc import Collection, Iterable, Sequence

from postedit.batches import in_batches
from postedit.decode.hypothesis import Hypothesis
from postedit.decode.rescoring import Candidate, member_features, word_features
from postedit.search import Segment, SegmentSearch
from postedit.text.processor import TextProcessor


def featured(
    search: SegmentSearch,
    free: Collection[str],
    segments: Sequence[Segment],
    found: Sequence[Sequence[Hypothesis] | None],
    budget: int,
) -> list[list[Candidate] | None]:
    """Return outputs with their features, in the same order; None where memory does not suffice.

    Args:
        search: that found them, whose model's members score them.
        free: the texts, of src and mt, whose words the post-editing penalty does not count.
        segments: what they are outputs of.
        found: outputs of each; None where there are none.
        budget: pieces of a batch, all outputs included.
    """
    results: list[list[Candidate] | None] = [None] * len(segments)
    there = [(row, outputs) for row, outputs in enumerate(found) if outputs is not None]

    def work(places: list[int]) -> Iterable[list[Candidate]]:
        chosen = [segments[there[place][0]] for place in places]
        lists = [there[place][1] for place in places]
        said = member_features(search.model, search.batch(chosen), lists)
        for segment, outputs, scores in zip(chosen, lists, said, strict=True):
            words = _word_features(search.processor, free, segment, outputs)
            yield [Candidate(one, {**own, **counts}) for one, own, counts in zip(outputs, scores, words, strict=True)]

    lengths = [segments[row].length * len(outputs) for row, outputs in there]
    for (row, _), candidates in zip(there, in_batches(lengths, budget, work), strict=True):
        results[row] = candidates
    return results


def _word_features(
    processor: TextProcessor, free: Collection[str], segment: Segment, outputs: Sequence[Hypothesis]
) -> list[dict[str, float]]:
    mt = processor.words("mt", segment.mt)
    known = {*(mt if "mt" in free else ()), *(processor.words("src", segment.src) if "src" in free else ())}
    return [word_features(processor.written(mt, output.tokens), known) for output in outputs]
