"""Look for hostile inputs that do harm: python tests/hostile/fuzz.py MINUTES [FIRST_SEED]

Tries cases of all kinds with seeds that the corpus lacks, prints what goes wrong, and adds their names to found.txt.
"""

import itertools
import random
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path += [str(HERE), *(str(HERE.parent / name) for name in ("faults", "unit", "."))]

from hostile_cases import KINDS  # noqa: E402
from laboratory import Laboratory  # noqa: E402
from nursery import Nursery  # noqa: E402


def main(minutes: float, first: int = 1000) -> None:
    """Try cases until the time is over."""
    end, tried, found = time.monotonic() + 60 * minutes, 0, 0
    weights = [count for count, _ in KINDS.values()]
    with tempfile.TemporaryDirectory() as folder, Nursery(Path(folder)) as nursery:
        (Path(folder) / "laboratory").mkdir()
        laboratory = Laboratory(Path(folder) / "laboratory", nursery)
        for seed in itertools.count(first):
            name = f"{random.Random(seed).choices([*KINDS], weights)[0]}-{seed}"
            tried += 1
            if problem := laboratory.problem(name):
                found += 1
                print(f"{name}: {problem}\n", flush=True)
                with (HERE / "found.txt").open("a") as file:
                    file.write(f"{name}\n")
            if time.monotonic() > end:
                break
    print(f"{tried} cases, {found} do harm")


if __name__ == "__main__":
    main(float(sys.argv[1]), *map(int, sys.argv[2:3]))
