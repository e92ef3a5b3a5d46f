"""Which output comes first: mt only where it may be chosen."""

from types import SimpleNamespace
from typing import Any

import pytest

from postedit.core.editor import Constraints, Segment
from postedit.core.search_config import SearchConfig
from postedit.editing.output_ranking import OutputRanking
from postedit.search import Hypothesis
from postedit.search.rescoring import LogLinear

WORDS = {7: "das", 8: "Haus", 9: "Heim"}


class _Processor:
    def render(self, mt: str, tokens: tuple[int, ...]) -> Any:
        text = " ".join(WORDS[token] for token in tokens)
        return SimpleNamespace(text=text, changed=text != mt)


def texts(config: SearchConfig, constraints: Constraints, *, found_mt: bool = False) -> list[str]:
    """Return the n-best list of a combination that likes mt best, "das Haus"."""
    mt, better = (Hypothesis(tokens, (0.0,), features={"x": value}) for tokens, value in (((7, 8), 2.0), ((7, 9), 1.0)))
    worse = Hypothesis((9, 7), (0.0,), features={"x": 0.0})
    segment: Any = SimpleNamespace(mt="das Haus", segment=Segment("the house", "das Haus", constraints))
    processor: Any = _Processor()
    searched = [better, worse, *([mt] if found_mt else [])]
    ranked = OutputRanking(processor, config, LogLinear({"x": 1.0})).n_best(segment, [better, mt, worse], searched)
    return [processor.render("", one.tokens).text for one in ranked]


ALL = SearchConfig(beam=3, n_best=3)


def test_a_combination_may_choose_mt() -> None:
    assert texts(ALL, Constraints()) == ["das Haus", "das Heim", "Heim das"]
    assert texts(SearchConfig(beam=3), Constraints()) == ["das Haus"]


@pytest.mark.parametrize(
    ("options", "constraints"),
    [
        ({"banned": ("Haus",)}, Constraints()),
        ({}, Constraints(banned=("Haus",))),
        ({}, Constraints(required=("Heim",))),
        ({}, Constraints(prefix="das Hei")),
        ({"required": ("Heim",)}, Constraints()),
        ({"mt_candidate": False}, Constraints()),
    ],
)
def test_a_combination_does_not_choose_mt_against_constraints(
    options: dict[str, Any], constraints: Constraints
) -> None:
    assert texts(SearchConfig(beam=3, n_best=3, **options), constraints) == ["das Heim", "das Haus", "Heim das"]
    assert texts(SearchConfig(beam=3, **options), constraints) == ["das Heim"]


def test_mt_that_search_has_found_is_an_output_like_others() -> None:
    assert texts(SearchConfig(beam=3, n_best=3, mt_candidate=False), Constraints(), found_mt=True)[0] == "das Haus"


def test_of_least_risk_is_no_output_that_the_length_limit_ended() -> None:
    ended, other = Hypothesis((7, 9), (0.0,), hit_limit=True), Hypothesis((9, 7), (-1.0,))
    segment: Any = SimpleNamespace(mt="das Haus", segment=Segment("the house", "das Haus"))
    processor: Any = _Processor()
    found = [ended, other, Hypothesis((7, 8), (-5.0,))]
    ranked = OutputRanking(processor, ALL.with_options(mbr=1.0), None).n_best(segment, found, found[:2])
    assert ranked[-1] is ended


def test_the_risk_of_an_output_counts_what_guidance_took_off() -> None:
    probable, other = Hypothesis((7, 9), (-0.1,), bias=-9.0), Hypothesis((9, 7), (-1.0,))
    segment: Any = SimpleNamespace(mt="das Haus", segment=Segment("the house", "das Haus"))
    processor: Any = _Processor()
    found = [probable, other]
    assert OutputRanking(processor, ALL.with_options(mbr=1.0), None).n_best(segment, found, found) == [other, probable]


@pytest.mark.parametrize("is_candidate", [True, False])
def test_mt_comes_before_an_output_that_the_length_limit_ended(is_candidate: bool) -> None:
    ended = Hypothesis((7, 9), (-0.1,), hit_limit=True, features={"x": 9.0})
    mt = Hypothesis((7, 8), (-5.0,), features={"x": 1.0})
    segment: Any = SimpleNamespace(mt="das Haus", segment=Segment("the house", "das Haus"))
    processor, config = _Processor(), ALL.with_options(mt_candidate=is_candidate)
    ranking: Any = OutputRanking(processor, config, LogLinear({"x": 1.0}))  # type: ignore[arg-type]
    found = ranking.n_best(segment, [ended, mt], [ended])
    assert found == ([mt, ended] if is_candidate else [ended, mt])
