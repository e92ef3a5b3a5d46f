"""Measure a memory of corrections: the time to add one, to follow one, to read all at the start, and its size.

Corrections are added one by one, as people make them, each safely on disk before the next. Their texts are those of
TRIPLETS, repeated as needed. Then phrases are learnt from corrections, without a model, and some of these are undone.

    python benchmarks/correction_memory.py TRIPLETS [--corrections 100000] [--add 2000] [--postgresql URL] [--folder F]
        [--learnt 4000] [--undone 200]

The PostgreSQL database must be empty; the tables are removed at the end.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle, islice
from pathlib import Path

import sqlalchemy as sql

from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import CorrectionMemory, Entry
from postedit.adapt.phrase_learner import PhraseLearner
from postedit.adapt.remembering import Remembering, say_nothing
from postedit.data.triplets import TripletFiles, read_triplets
from postedit.jobs.editor_spec import Unedited
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_options import PhraseTextConfig

BATCH = 10_000  # corrections per transaction while the memory is filled


class Reader:
    """A learner that reads entries and learns nothing, so that only the memory is measured."""

    def learn_entries(self, entries: Iterable[Entry], progress: Callable[[], None] = say_nothing) -> None:
        """Read the entries."""
        for _ in entries:
            pass

    def forget_all(self) -> None:
        """Do nothing: there is nothing to forget."""


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def cpu_seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def spread(times: list[float]) -> str:
    ordered = sorted(times)
    return f"{1000 * ordered[len(ordered) // 2]:.2f} | {1000 * ordered[len(ordered) * 99 // 100]:.2f}"


def measure(where: str, size: Callable[[], int], texts: Iterator[Correction], total: int, adds: int) -> str:
    """Return the cells of a row of the first table."""
    with CorrectionMemory(where) as memory, CorrectionMemory(where) as other:
        empty = size()
        for start in range(0, total - adds, BATCH):
            memory.add(islice(texts, min(BATCH, total - adds - start)))
        reader = Remembering(Unedited(), Reader(), memory)
        reader.follow()
        adding, following = [], []
        for _ in range(adds):
            one = next(texts)
            adding.append(seconds(lambda: other.add([one])))  # noqa: B023 (called at once)
            following.append(seconds(reader.follow))
    with CorrectionMemory(where) as memory:
        start = seconds(Remembering(Unedited(), Reader(), memory).follow)
        last = memory.position.last
    assert last == total
    bytes_each = (size() - empty) / total
    return f"{spread(adding)} | {spread(following)} | {start:.1f} | {bytes_each:,.0f}"


def sqlite(folder: Path, texts: Iterator[Correction], total: int, adds: int) -> str:
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        path = Path(temporary)
        size = lambda: sum(file.stat().st_size for file in path.iterdir())  # noqa: E731
        return measure(str(path / "memory.db"), size, texts, total, adds)


def postgresql(url: str, texts: Iterator[Correction], total: int, adds: int) -> str:
    engine = sql.create_engine(f"postgresql+psycopg://{url.partition('://')[2]}")

    def size() -> int:
        with engine.connect() as connection:
            return int(connection.execute(sql.text("SELECT pg_total_relation_size('postedit_entries')")).scalar_one())

    try:
        return measure(url, size, texts, total, adds)
    finally:
        with engine.begin() as connection:
            connection.execute(sql.text("DROP TABLE IF EXISTS postedit_entries, postedit_memory"))


def phrases(texts: Iterator[Correction], learnt: int, undone: int) -> str:
    """Return the cells of the second table: CPU time to learn one, undo one of the last hundred, and undo any."""
    learner = PhraseLearner(PhraseEditor.empty(PhraseTextConfig()))
    entries = [Entry(number, next(texts), None) for number in range(1, learnt + undone + 1)]
    learner.learn_entries(entries[:learnt])
    learning = [cpu_seconds(lambda: learner.learn_entries([one])) for one in entries[learnt:]]  # noqa: B023 (called at once)
    cells, rng, present = [spread(learning)], random.Random(1), list(entries)
    for among in (100, len(present)):
        undoing = []
        for _ in range(undone):
            one = present.pop(-rng.randint(1, min(among, len(present))))
            undo = Entry(entries[-1].number + 1, one.correction, one.number)
            undoing.append(cpu_seconds(lambda: learner.learn_entries([undo])))  # noqa: B023
        cells.append(spread(undoing))
    return " | ".join(cells)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("triplets")
    parser.add_argument("--corrections", type=int, default=100_000)
    parser.add_argument("--add", type=int, default=2000, help="how many of them are added one by one")
    parser.add_argument("--postgresql", metavar="URL")
    parser.add_argument("--learnt", type=int, default=4000, help="corrections that are learnt as phrases")
    parser.add_argument("--undone", type=int, default=200, help="how many are then learnt one by one, and undone")
    parser.add_argument("--folder", type=Path, default=Path(), help="folder of the SQLite file; it selects the disk")
    arguments = parser.parse_args()
    read = [Correction(one.src, one.mt, one.pe) for one in read_triplets(TripletFiles.of(arguments.triplets))]
    bytes_of_text = sum(len(text.encode()) for one in read for text in (one.src, one.mt, one.pe)) / len(read)
    print(f"{arguments.corrections:,} corrections of {bytes_of_text:,.0f} bytes of text")
    print(
        "| database | add, ms | 99 % | follow one entry, ms | 99 % | read all, s | bytes a correction |\n"
        "|---|---:|---:|---:|---:|---:|---:|"
    )
    sizes = arguments.corrections, arguments.add
    print(f"| SQLite | {sqlite(arguments.folder, cycle(read), *sizes)} |", flush=True)
    if arguments.postgresql:
        print(f"| PostgreSQL | {postgresql(arguments.postgresql, cycle(read), *sizes)} |")
    print(
        "\n| learnt as phrases | learn one, CPU ms | 99 % | undo one of the last 100 | 99 % | undo any | 99 % |\n"
        "|---:|---:|---:|---:|---:|---:|---:|"
    )
    print(f"| {arguments.learnt:,} | {phrases(cycle(read), arguments.learnt, arguments.undone)} |")
