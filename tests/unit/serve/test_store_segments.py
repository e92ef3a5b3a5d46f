"""What segments are shown with."""

import json
import re

import sqlalchemy as sql
from serve_tools import imported, xliff

from postedit.serve.schema import segments
from postedit.serve.store import Store
from postedit.serve.store_base import rows_of
from postedit.serve.store_segments import GlossaryCache


def test_glossaries_are_kept_up_to_a_size() -> None:
    cache = GlossaryCache(30)
    first, second, long = "house\tHaus\n", "tree\tBaum\n", "garden\tGarten\n" * 9
    assert cache.of(" ") is None
    kept = cache.of(first)
    assert kept is not None
    assert cache.of(second) is not cache.of(first)
    assert cache.of(first) is kept
    other = cache.of(long)
    assert cache.of(long) is other, "the last one is kept whatever its length"
    assert cache.of(first) is not kept


def test_what_units_share_is_not_repeated_in_each_segment_however_long(store: Store) -> None:
    note, name = "n" * 90_000, "f" * 50_000
    beside = f'<note>{note}</note><note>{note}</note><alt-trans match-quality="80"><target>Haus</target></alt-trans>'
    beside += f'<alt-trans match-quality="70"><target>{"Maus " * 30_000}</target></alt-trans>'
    content = xliff(("house", "Haus")).replace(b"</trans-unit>", f"{beside}</trans-unit>".encode())
    file = imported(store, re.sub(rb'original="[^"]*"', f'original="{name}"'.encode(), content))
    with store.database.read() as connection:
        (row,) = rows_of(connection, sql.select(segments).where(segments.c.file == file))
    assert json.loads(row["notes"]) == [note]
    assert [one["target"] for one in json.loads(row["matches"])] == ["Haus"]
    assert len(row["unit"]) < 1010
