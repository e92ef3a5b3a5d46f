"""Whatever is read, a command ends in time and in little memory, with a sentence, and writes nothing elsewhere."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile_cases import names
from laboratory import Laboratory
from nursery import Nursery

FOUND = Path(__file__).with_name("found.txt").read_text().split()
"""Cases that fuzz.py found, beside the corpus."""

ALL = [*names(), *FOUND]
SAMPLE = [*(name for name in ALL if name.startswith("special-")), *random.Random(1).sample(names(), 20), *FOUND]


@pytest.fixture(scope="session")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    with Nursery(tmp_path_factory.mktemp("printed")) as nursery:
        yield Laboratory(tmp_path_factory.mktemp("laboratory"), nursery)


def test_the_corpus_is_large() -> None:
    assert len(names()) == 1000
    assert len(set(ALL)) == len(ALL)


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_of_hostile_inputs(name: str, laboratory: Laboratory) -> None:
    assert laboratory.problem(name) is None


@pytest.mark.faults
@pytest.mark.parametrize("name", [name for name in ALL if name not in SAMPLE])
def test_hostile_inputs(name: str, laboratory: Laboratory) -> None:
    assert laboratory.problem(name) is None
