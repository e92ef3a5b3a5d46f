"""What segments are shown with."""

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
