"""Every architecture is held to the laws: one of each family by the quick tests, all others by the slow tests."""

from pathlib import Path

import pytest
import torch
from tiny import (
    ARCHITECTURE_NAMES,
    DTYPES,
    ENSEMBLES,
    FAMILIES,
    REPRESENTATIVES,
    SUBJECT_NAMES,
    SUBJECTS,
    SUBJECTS_BY_DTYPE,
    TINY,
    build,
    ensembles,
)

from postedit.core.registry import Registry
from postedit.models import ARCHITECTURES


def test_every_registered_architecture_has_a_tiny_configuration() -> None:
    tried = {name.partition("/")[0] for name in TINY}
    assert tried == set(ARCHITECTURES), "add each architecture to TINY in tests/contract/tiny.py, and no others"


def test_every_registered_architecture_belongs_to_one_family() -> None:
    members = [name for family in FAMILIES.values() for name in family if name not in ENSEMBLES]
    assert sorted(members) == sorted(ARCHITECTURES), "add each architecture to FAMILIES in tests/contract/tiny.py"


def test_the_tests_load_while_a_configuration_is_missing(monkeypatch) -> None:
    monkeypatch.delitem(TINY, "cgru")
    assert not any("cgru" in names for names, _, _ in ensembles().values())


def test_architectures_may_be_listed_in_any_order(monkeypatch) -> None:
    monkeypatch.setattr("tiny.ARCHITECTURES", Registry([*ARCHITECTURES.values()][::-1]))
    assert set(REPRESENTATIVES) <= {*TINY, *ensembles()}


@pytest.mark.parametrize("subjects", [ARCHITECTURE_NAMES, SUBJECT_NAMES, SUBJECTS_BY_DTYPE])
def test_slow_laws_cover_all_that_quick_laws_leave_out(subjects) -> None:
    quick = {name.removesuffix("-fp32").removesuffix("-fp64") for (name,), marks, _ in subjects if not marks}
    slow = {name.removesuffix("-fp32").removesuffix("-fp64") for (name,), marks, _ in subjects if marks}
    assert quick == set(REPRESENTATIVES) & (quick | slow)
    assert quick | slow >= set(TINY)
    assert quick | slow >= set(ENSEMBLES) or subjects is ARCHITECTURE_NAMES


def test_architectures_are_tried_in_both_precisions() -> None:
    names = {name for (name,), _, _ in SUBJECTS_BY_DTYPE}
    assert names >= {f"{name}-{dtype}" for name in ARCHITECTURES for dtype in DTYPES}
    assert names >= {f"{name}-fp64" for name in SUBJECTS}


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "ensemble"])
def test_no_member_of_a_family_has_more_parts_than_its_representative(family: str) -> None:
    specs = [build(name, torch.float32).spec for name in FAMILIES[family]]
    assert all(len(spec.inputs) <= len(specs[0].inputs) for spec in specs)
    assert all(len(spec.attention) <= len(specs[0].attention) for spec in specs)


def test_the_representative_ensemble_mixes_families_and_inputs() -> None:
    members, _, _ = ENSEMBLES[FAMILIES["ensemble"][0]]
    assert len({family for family, names in FAMILIES.items() if set(members) & set(names)}) > 1
    assert {len(build(name, torch.float32).spec.inputs) for name in members} == {1, 2}


@pytest.mark.parametrize("name", [name for name in ARCHITECTURES if "checkpoint" not in TINY[name]])
def test_each_page_says_whether_one_call_decodes_many_tokens(name: str) -> None:
    page = Path(__file__).parents[2].joinpath("docs", "architectures", f"{name}.md").read_text("utf-8")
    assert f"`ModelSpec.parallel` is {str(build(name, torch.float32).spec.parallel).lower()}" in page


@pytest.mark.parametrize("name", [*ARCHITECTURES, "phrase-based"])
def test_each_page_has_the_equations_as_implemented(name: str) -> None:
    page = Path(__file__).parents[2].joinpath("docs", "architectures", f"{name}.md").read_text("utf-8")
    assert "\n## Equations as implemented\n" in page
