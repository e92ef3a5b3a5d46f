"""Word edits between translations and post-edits, as TER counts them, and the most frequent ones."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, NamedTuple, TypeVar

from postedit.data.triplets import Triplet
from postedit.evaluate.metrics import AdditiveTER
from postedit.evaluate.ter import TER, EditCount, metric_for
from postedit.evaluate.tokenisation import Tokenize

T = TypeVar("T")

CAPACITY: Final = 2**19
"""Maximum number of distinct items counted at once: at most a few hundred megabytes of short strings."""

TER_STEP: Final = 5
"""Width of a bin of the TER histogram, in per cent."""

TER_BINS: Final = 2 + 100 // TER_STEP
"""Number of bins: exactly 0; above 0 to 5, above 5 to 10, ... to 100; and above 100."""

KINDS: Final = ("substitutions", "insertions", "deletions", "shifts")

EXAMPLES: Final = 3
"""Maximum number of contexts shown for each edit."""

NO_WORD: Final = ""
"""Stands for a missing word: a neighbour beyond the ends of the sentence, or one side of an insertion or deletion."""


@dataclass
class FrequentItems(Generic[T]):
    """Approximate counts of frequent items in bounded memory (Misra and Gries 1982, many items at a time).

    If there are more than `capacity` distinct items, the count of the item at rank `capacity // 2` is subtracted from
    all counts, and items with nothing left are dropped. A count is thus at most `missing` too low, and never too high.
    """

    capacity: int = CAPACITY
    counts: Counter[T] = field(default_factory=Counter)
    missing: int = 0

    def add(self, items: Iterable[T] | Mapping[T, int]) -> None:
        """Count items, or add counts of items."""
        self.counts.update(items)
        if len(self.counts) > self.capacity:
            least = sorted(self.counts.values())[-(self.capacity // 2)]
            self.missing += least
            self.counts = Counter({item: count - least for item, count in self.counts.items() if count > least})

    def add_all(self, other: "FrequentItems[T]") -> None:
        """Add the counts of `other`, and what those may lack."""
        self.add(other.counts)
        self.missing += other.missing


class WordEdit(NamedTuple):
    """A word of the translation and its replacement; `old` is empty for an insertion, `new` for a deletion."""

    old: str
    new: str


class EditInContext(NamedTuple):
    """A word edit, with the neighbouring words of the post-edit."""

    left: str
    old: str
    new: str
    right: str


@dataclass(frozen=True, slots=True)
class FrequentEdit:
    """A word edit, how often it occurs, and its most frequent contexts."""

    edit: WordEdit
    count: int
    contexts: tuple[EditInContext, ...]


@dataclass
class EditStatistics:
    """Differences between translations and post-edits in the words that `tokenize` names; TER is case-sensitive.

    `bins` is the histogram of sentence TER (`TER_BINS`), `kinds` the number of edits by kind (`KINDS`).
    """

    bins: list[int] = field(default_factory=lambda: [0] * TER_BINS)
    kinds: Counter[str] = field(default_factory=Counter)
    pe_words: int = 0
    unchanged: int = 0
    words: FrequentItems[WordEdit] = field(default_factory=FrequentItems)
    in_context: FrequentItems[EditInContext] = field(default_factory=FrequentItems)
    tokenize: Tokenize = "none"

    @classmethod
    def of(cls, triplets: Sequence[Triplet], tokenize: Tokenize) -> "EditStatistics":
        """Return the statistics of some triplets."""
        metric, result = metric_for(tokenize), cls(tokenize=tokenize)
        result.unchanged = sum(triplet.mt == triplet.pe for triplet in triplets)
        mt, pe = ([getattr(one, side) for one in triplets] for side in ("mt", "pe"))
        counts = metric.counts(mt, pe)
        changed = [place for place, count in enumerate(counts) if count.edits]
        for count in counts:
            result.bins[ter_bin(count)] += 1
            result.pe_words += count.length
            for kind in KINDS:
                result.kinds[kind] += getattr(count, kind)
        edits = list(edits_in_context(metric, [mt[place] for place in changed], [pe[place] for place in changed]))
        result.words.add(WordEdit(edit.old, edit.new) for edit in edits)
        result.in_context.add(edits)
        return result

    @classmethod
    def restored(cls, state: Mapping[str, Any], tokenize: Tokenize) -> "EditStatistics":
        """Return the statistics that a `state` describes."""
        words, in_context = state["words"], state["in_context"]
        return cls(
            state["bins"], Counter(state["kinds"]), state["pe_words"], state["unchanged"],
            FrequentItems(counts=Counter({WordEdit(*item): count for *item, count in words[1]}), missing=words[0]),
            FrequentItems(
                counts=Counter({EditInContext(*item): count for *item, count in in_context[1]}), missing=in_context[0]
            ),
            tokenize,
        )  # fmt: skip

    @property
    def state(self) -> dict[str, Any]:
        """All counts as values for JSON; `restored` reads them."""
        words, in_context = (
            [one.missing, [[*item, count] for item, count in one.counts.items()]]
            for one in (self.words, self.in_context)
        )
        return {
            "bins": self.bins,
            "kinds": dict(self.kinds),
            "pe_words": self.pe_words,
            "unchanged": self.unchanged,
            "words": words,
            "in_context": in_context,
        }

    @property
    def signature(self) -> str:
        """The signature of TER, in sacrebleu's format."""
        return AdditiveTER(self.tokenize).signature

    @property
    def ter(self) -> float:
        """The TER of all translations together, in per cent."""
        return 100 * self.kinds.total() / max(1, self.pe_words)

    def add(self, other: "EditStatistics") -> None:
        """Add the statistics of other triplets."""
        self.bins = [ours + theirs for ours, theirs in zip(self.bins, other.bins)]
        self.kinds.update(other.kinds)
        self.pe_words += other.pe_words
        self.unchanged += other.unchanged
        self.words.add_all(other.words)
        self.in_context.add_all(other.in_context)

    def most_frequent(self, number: int) -> list[FrequentEdit]:
        """Return the `number` most frequent word edits with their contexts; ties are in alphabetical order."""
        top = sorted(self.words.counts.items(), key=lambda item: (-item[1], item[0]))[:number]
        contexts: dict[WordEdit, list[tuple[int, EditInContext]]] = {edit: [] for edit, _ in top}
        for edit, count in self.in_context.counts.items():
            if (found := contexts.get(WordEdit(edit.old, edit.new))) is not None:
                found.append((-count, edit))
        best = {edit: tuple(context for _, context in sorted(found)[:EXAMPLES]) for edit, found in contexts.items()}
        return [FrequentEdit(edit, count, best[edit]) for edit, count in top]

    def to_dict(self, top: int) -> dict[str, Any]:
        """Return the numbers as values for JSON, with the `top` most frequent edits."""
        return {
            "ter": self.ter,
            "signature": self.signature,
            "unchanged": self.unchanged,
            "histogram": dict(zip(bin_names(), self.bins)),
            "kinds": {kind: self.kinds[kind] for kind in KINDS},
            "most frequent": [
                {
                    **edit.edit._asdict(),
                    "count": edit.count,
                    "contexts": [one._asdict() for one in edit.contexts],
                }
                for edit in self.most_frequent(top)
            ],
            "counts may lack": self.words.missing,
        }


def ter_bin(count: EditCount) -> int:
    """Return the bin of the histogram that a sentence belongs to."""
    if not count.edits:
        return 0
    if count.edits > count.length:
        return TER_BINS - 1
    return -(-100 * count.edits // (TER_STEP * count.length))


def bin_names() -> list[str]:
    """Return the names of the bins of the histogram."""
    return ["0", *(f"{low}-{low + TER_STEP}" for low in range(0, 100, TER_STEP)), "> 100"]


def edits_in_context(metric: TER, mt: Sequence[str], pe: Sequence[str]) -> Iterator[EditInContext]:
    """Yield the substitutions, insertions and deletions that turn each `mt`, after its shifts, into its `pe`."""
    for script in metric.edits(mt, pe):
        words = [*script.reference, NO_WORD]
        shifted, index = iter(script.shifted), 0
        for op in script.ops:
            old = NO_WORD if op == "insert" else next(shifted)
            left = words[index - 1] if index else NO_WORD
            if op == "delete":
                yield EditInContext(left, old, NO_WORD, words[index])
                continue
            if op != "keep":
                yield EditInContext(left, old, words[index], words[index + 1])
            index += 1
