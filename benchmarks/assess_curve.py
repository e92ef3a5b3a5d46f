"""Compare what `postedit assess` forecasts from 300 triplets with what more triplets really give.

    python benchmarks/assess_curve.py FOLDER...

For each FOLDER, which holds train.src, train.mt and train.pe, this prints the gain on 1,500 triplets of editors that
learnt from 1,000, 5,000 and 20,000 others drawn at random (mean of 4, 2 and 1 draws), beside the forecasts from 20
samples of 300 (the forecast for 25,000 is compared with the gain from 20,000), and then the answers of `assess` for
these samples. Texts are first divided into words and punctuation.
"""

import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from postedit.adapt.correction import Correction
from postedit.data.triplets import TripletFiles, read_triplets
from postedit.evaluate.recommendation import EditorGain, recommendation
from postedit.evaluate.ter import count_edits, edit_rate
from postedit.jobs.cross_validation import Learner, cross_validated, memory_learner, phrase_learner, tried
from postedit.phrase.phrase_options import PhraseTextConfig

SIZES = {1_000: 4, 5_000: 2, 20_000: 1}  # number of triplets, and number of draws
SAMPLE, SAMPLES, TESTED, MOST = 300, 20, 1_500, 24_000
TEXT = PhraseTextConfig()
LEARNERS: dict[str, Learner] = {"phrase-based": phrase_learner(TEXT), "memory": memory_learner(TEXT)}
_WORDS = re.compile(r"\w+|[^\w\s]")


def divided(text: str) -> str:
    return " ".join(_WORDS.findall(text))


def triplets(folder: Path) -> list[Correction]:
    """Return at most `MOST` triplets in random order, divided into words."""
    found = list(read_triplets(TripletFiles.of(folder / "train")))
    found = random.Random(1).sample(found, min(MOST, len(found)))
    sides = [tuple(map(divided, (one.src, one.mt, one.pe))) for one in found]
    return [Correction(*texts) for texts in sides if all(texts)]


def true_gains(learner: Learner, full: Sequence[Correction]) -> Iterator[tuple[int, float]]:
    """Yield each size, and the mean gain on other triplets of editors that learnt from that many."""
    for size, draws in SIZES.items():
        if size + TESTED <= len(full):
            gains = []
            for draw in range(draws):
                drawn = random.Random(draw).sample(full, size + TESTED)
                gains.append(tried(learner(drawn[TESTED:]), drawn[:TESTED], TEXT).points)
            yield size, float(np.mean(gains))


def assessed(learner: Learner, full: Sequence[Correction]) -> list[EditorGain]:
    """Return the gain of an editor on each sample by cross-validation: learning from all others, and from half."""
    found = []
    for number in range(SAMPLES):
        sample = random.Random(f"sample {number}").sample(full, SAMPLE)
        whole, half = (cross_validated(learner, sample, TEXT, share=share) for share in (1.0, 0.5))
        found.append(EditorGain("", "", whole, half))
    return found


def unedited(full: Sequence[Correction]) -> list[float]:
    """Return the TER of the unedited MT in each sample."""
    samples = [random.Random(f"sample {number}").sample(full, SAMPLE) for number in range(SAMPLES)]
    return [edit_rate(count_edits([one.mt for one in part], [one.pe for one in part])) for part in samples]


def main() -> None:
    print("| set | editor | triplets | really gained | forecast, mean | mean interval | covered % |", flush=True)
    print("|---|---|---:|---:|---:|---|---:|", flush=True)
    for folder in map(Path, sys.argv[1:]):
        full, editors = triplets(folder), []
        ters = unedited(full)
        for name, learner in LEARNERS.items():
            found = assessed(learner, full)
            editors.append(found)
            forecasts = [one.forecasts(ter) for one, ter in zip(found, ters, strict=True)]
            for place, (size, gain) in enumerate(true_gains(learner, full)):
                gains = [one[place].gain for one in forecasts]
                points, low, high = np.mean(gains, axis=0)
                covered = 100 * np.mean([one.low <= gain <= one.high for one in gains])
                print(
                    f"| {folder.name} | {name} | {size:,} | {gain:+.2f} | {points:+.2f} | {low:+.2f} to {high:+.2f} | "
                    f"{covered:.0f} |",
                    flush=True,
                )
        answers = Counter(recommendation(each, ter).answer for *each, ter in zip(*editors, ters, strict=True))
        print(f"| {folder.name} | answers | {dict(answers)} |", flush=True)


if __name__ == "__main__":
    main()
