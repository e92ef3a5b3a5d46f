"""The choice of the edit costs of a chain, by editors that edit up to a cost."""

from collections.abc import Sequence

from postedit.core.editor import Abilities, Detail, Editor, Identity, PostEdit, Segment
from postedit.core.search_config import SearchConfig
from postedit.data.lines import DevTexts
from postedit.evaluate.metrics import AdditiveTER
from postedit.jobs.chaining import SECOND_ALONE, choose_costs, rounds_of


class UpTo(Editor):
    """Replaces words, each up to an edit cost."""

    abilities = Abilities()

    def __init__(self, **words: tuple[str, float]) -> None:
        self.table = words

    def identity(self, search: SearchConfig | None = None) -> Identity:
        return Identity(("up to",))

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        cost = (search or self.search).edit_cost
        return [PostEdit(" ".join(self._word(word, cost) for word in (one.mt or "").split()), True) for one in segments]

    def _word(self, word: str, cost: float) -> str:
        new, limit = self.table.get(word, (word, -1.0))
        return new if cost <= limit else word


DEV = DevTexts(["s"] * 450, ["a b c d"] * 450, ["x y c d"] * 450)


def test_costs_are_the_largest_that_are_best_together() -> None:
    first, second = UpTo(a=("x", 1.0), c=("wrong", 0.0)), UpTo(b=("y", 0.5), wrong=("c", 0.0))
    done: list[int] = []
    found = choose_costs(first, second, DEV, (0.0, 0.5, 1.0), AdditiveTER(), done.append)
    assert found.edit_costs == (1.0, 0.5)
    assert found.losses == {"the first alone": 25.0, "the second alone": 25.0, "the chain": 0.0}
    assert found.better_alone is None
    assert (done[0], done[-1], done) == (0, rounds_of((0.0, 0.5, 1.0)) * 450, sorted(done))


def test_a_model_may_be_as_good_alone() -> None:
    found = choose_costs(UpTo(), UpTo(a=("x", 0.0)), DEV, (0.0, 2.0), AdditiveTER(), lambda _: None)
    assert (found.edit_costs, found.better_alone) == ((2.0, 0.0), SECOND_ALONE)
