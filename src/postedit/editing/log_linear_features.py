"""The features of outputs for a log-linear model: what its members say, and counts of words."""

from collections.abc import Collection, Mapping, Sequence

from postedit.core.model import Seq2Seq
from postedit.core.types import Batch
from postedit.search.hypothesis import Hypothesis
from postedit.search.rescoring import Candidate, member_features, word_features
from postedit.text.config import Side
from postedit.text.processor import TextProcessor


def featured(
    model: Seq2Seq,
    processor: TextProcessor,
    free: Collection[str],
    batch: Batch,
    segments: Sequence[Mapping[Side, str]],
    found: Sequence[Sequence[Hypothesis]],
) -> list[list[Candidate]]:
    """Return outputs with their features, in the same order.

    Args:
        model: that found them, whose members score them.
        processor: divides text into words.
        free: the texts, of src and mt, whose words the post-editing penalty does not count.
        batch: B sentences as the model reads them.
        segments: their texts.
        found: outputs of each.
    """
    result = []
    for texts, hypotheses, scores in zip(segments, found, member_features(model, batch, found), strict=True):
        mt = processor.words("mt", texts.get("mt", ""))
        known = {*(mt if "mt" in free else ()), *(processor.words("src", texts["src"]) if "src" in free else ())}
        words = [processor.written(mt, one.tokens) for one in hypotheses]
        result.append(
            [
                Candidate(one, {**said, **word_features(written, known)})
                for one, said, written in zip(hypotheses, scores, words, strict=True)
            ]
        )
    return result
