"""TER against sacrebleu's, edit by edit, and scripts that really lead from the hypothesis to the reference."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import lib_ter
from sacrebleu.metrics import ter as sacrebleu_ter

from postedit.core.errors import DataError
from postedit.evaluate import ter as ter_module
from postedit.evaluate.ter import (
    TER,
    EditCount,
    EditScript,
    PlacedEdit,
    Shift,
    count_edits,
    edit_rate,
    ter_signature,
    words_of,
)

OPTIONS = ("normalized", "no_punct", "asian_support", "case_sensitive")

words = st.lists(st.sampled_from(["a", "b", "c", "d", "A"]), max_size=9).map(" ".join)
odd_text = st.text(st.sampled_from("aAb .,-'\"&;()0189\n\u3001\u4e2d\u3042\uff0c\u00a0\x1c"), max_size=20)
options = st.fixed_dictionaries({name: st.booleans() for name in OPTIONS})


def pair(rng: random.Random, longest: int, vocabulary: int) -> tuple[str, str]:
    """Return a reference, and a hypothesis that is it with blocks moved and words changed, or something else."""
    reference = [str(rng.randrange(vocabulary)) for _ in range(rng.randrange(longest))]
    hypothesis = list(reference)
    if rng.random() < 0.2:
        hypothesis = [str(rng.randrange(vocabulary)) for _ in range(rng.randrange(longest))]
    for _ in range(rng.randrange(6)):
        if len(hypothesis) > 2:
            start = rng.randrange(len(hypothesis))
            block = hypothesis[start : start + rng.randint(1, 12)]
            del hypothesis[start : start + len(block)]
            place = rng.randrange(len(hypothesis) + 1)
            hypothesis[place:place] = block
        if hypothesis and rng.random() < 0.6:
            hypothesis[rng.randrange(len(hypothesis))] = str(rng.randrange(vocabulary))
        if hypothesis and rng.random() < 0.3:
            del hypothesis[rng.randrange(len(hypothesis))]
    return " ".join(hypothesis), " ".join(reference)


def assert_equal(hypotheses: list[str], references: list[list[str]], **chosen: bool) -> None:
    ours, theirs = TER(**chosen), sacrebleu_ter.TER(**chosen)
    one, other = ours.corpus_score(hypotheses, references), theirs.corpus_score(hypotheses, references)
    assert (one.num_edits, one.ref_length, one.score) == (other.num_edits, other.ref_length, other.score)
    assert str(ours.get_signature()) == str(theirs.get_signature())


@pytest.mark.parametrize(
    ("longest", "count"),
    [(6, 600), (25, 100), *(pytest.param(*sizes, marks=pytest.mark.slow) for sizes in ((25, 400), (90, 12)))],
)
@pytest.mark.parametrize("vocabulary", [2, 5, 40])
def test_it_counts_the_edits_that_sacrebleu_counts(longest: int, count: int, vocabulary: int) -> None:
    rng = random.Random(longest * vocabulary)
    pairs = [pair(rng, longest, vocabulary) for _ in range(count)]
    counts = TER().counts([h for h, _ in pairs], [r for _, r in pairs])
    for (hypothesis, reference), found in zip(pairs, counts, strict=True):
        expected, length = sacrebleu_ter.translation_edit_rate(hypothesis.split(), reference.split())
        assert (found.edits, found.length) == (expected, length), (hypothesis, reference)


def test_memory_of_long_texts_grows_with_their_words_only() -> None:
    words = [str(place % 9973) for place in range(150_000)]
    moved = [*words[:500], *words[600:700], *words[500:600], *words[700:-1], "new"]
    (script,) = TER().edits([" ".join(moved)], [" ".join(words)])
    assert len(script) == len(script.word_edits) + len(script.shifts)
    assert count_edits([" ".join(moved)], [" ".join(words)]) == [script.count]
    assert script.count.edits <= 201


def test_texts_of_very_unlike_lengths() -> None:
    rng = random.Random(3)
    for n, m in [(1, 120), (120, 1), (3, 90), (200, 30), (2, 60), (0, 5), (5, 0), (0, 0)]:
        hypothesis = " ".join(str(rng.randrange(4)) for _ in range(n))
        reference = " ".join(str(rng.randrange(4)) for _ in range(m))
        assert_equal([hypothesis], [[reference]])


@settings(max_examples=150)
@given(st.lists(st.tuples(odd_text, odd_text, odd_text), min_size=1, max_size=4), options)
def test_every_option_and_several_references(texts: list[tuple[str, str, str]], chosen: dict[str, bool]) -> None:
    hypotheses, *references = ([*side] for side in zip(*texts))
    assert_equal(hypotheses, references, **chosen)


@pytest.mark.parametrize("text", ["..0", "&amp;lt;", "a-1-.,", "5's 's"])
def test_references_are_normalised_as_often_as_by_sacrebleu(text: str) -> None:
    assert_equal([text], [[text]], normalized=True)
    assert_equal([""], [["x"], [text]], normalized=True)
    kept, theirs = (metric(normalized=True, references=[[text]]) for metric in (TER, sacrebleu_ter.TER))
    one, other = kept.corpus_score([text], None), theirs.corpus_score([text], None)
    assert (one.num_edits, one.ref_length) == (other.num_edits, other.ref_length)
    assert TER(normalized=True).counts([text], [text])[0].edits == one.num_edits


def test_references_that_are_missing_for_some_sentences() -> None:
    assert_equal(["a b", "c d"], [["b a", "c c"], ["a b", None]])  # type: ignore[list-item]


def test_cached_references_and_confidence_intervals() -> None:
    hypotheses, reference = ["a b c", "b c d", "d e f"], ["a c b", "b c", "d e g"]
    ours, theirs = (kind(references=[reference]) for kind in (TER, sacrebleu_ter.TER))
    assert ours.corpus_score(hypotheses, None).score == theirs.corpus_score(hypotheses, None).score
    one, other = (metric.corpus_score(hypotheses, [reference], n_bootstrap=50) for metric in (ours, theirs))
    assert (one._mean, one._ci) == (other._mean, other._ci)
    with pytest.raises(RuntimeError, match="No references"):
        TER().corpus_score(hypotheses, None)


def test_a_corpus_in_many_blocks_and_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(4)
    pairs = [pair(rng, 12, 5) for _ in range(50)]
    hypotheses, references = [h for h, _ in pairs], [r for _, r in pairs]
    whole = TER().counts(hypotheses, references)
    monkeypatch.setattr(ter_module, "_BLOCK", 7)
    monkeypatch.setattr(ter_module, "_CHUNK", 3)
    assert TER().counts(hypotheses, references) == whole
    scripts = TER().edits(hypotheses, references)
    assert [script.count for script in scripts] == whole
    assert scripts == [TER().edits([h], [r])[0] for h, r in pairs]
    assert_equal(hypotheses, [references])


def shifted(script: EditScript) -> list[str]:
    """Return the hypothesis after the shifts, each done by sacrebleu."""
    words = list(script.hypothesis)
    for start, length, target in script.shifts:
        assert 0 <= start < start + length <= len(words)
        assert 0 <= target <= len(words)
        words = lib_ter._perform_shift(words, start, length, target)
    return words


def applied(script: EditScript) -> list[str]:
    """Return what the operations make of the shifted hypothesis."""
    made: list[str] = []
    h, r = iter(script.shifted), iter(script.reference)
    for op in script.ops:
        if op == "keep":
            made.append(next(h))
            assert made[-1] == next(r)
        elif op == "delete":
            next(h)
        else:
            if op == "substitute":
                assert next(h) != script.reference[len(made)]
            made.append(next(r))
    assert next(h, None) is None
    return made


def applied_in_place(script: EditScript) -> list[str]:
    """Return what the edits make of the hypothesis, by their positions alone."""
    gone = {edit.hypothesis for edit in script.word_edits if edit.op != "insert"}
    made = [script.hypothesis[place] for place in script.order if place not in gone]
    for _, hypothesis, reference in script.word_edits:
        assert hypothesis is None or 0 <= hypothesis < len(script.hypothesis)
        if reference is not None:
            made.insert(reference, script.reference[reference])
    return made


def assert_leads_to_the_reference(script: EditScript) -> None:
    assert sorted(script.order) == list(range(len(script.hypothesis)))
    assert shifted(script) == list(script.shifted)
    assert applied(script) == applied_in_place(script) == list(script.reference)
    assert len(script) == len(script.shifts) + len(script.word_edits) == script.count.edits


@settings(max_examples=200)
@given(st.integers(0, 2**32), st.sampled_from([2, 4, 9]))
def test_edits_lead_to_the_reference(seed: int, vocabulary: int) -> None:
    hypothesis, reference = pair(random.Random(seed), 14, vocabulary)
    (script,) = TER(case_sensitive=True).edits([hypothesis], [reference])
    assert_leads_to_the_reference(script)
    assert (script.hypothesis, script.reference) == (tuple(hypothesis.split()), tuple(reference.split()))
    assert [script.count] == count_edits([hypothesis], [reference])


@settings(max_examples=200)
@given(st.lists(st.tuples(odd_text | words, odd_text | words), min_size=1, max_size=4), options)
def test_options_give_as_many_edits_as_sacrebleu_counts(texts: list[tuple[str, str]], chosen: dict[str, bool]) -> None:
    hypotheses, references = ([*side] for side in zip(*texts))
    ours, theirs = TER(**chosen), sacrebleu_ter.TER(**chosen)
    scripts = ours.edits(hypotheses, references)
    assert [script.count for script in scripts] == ours.counts(hypotheses, references)
    for hypothesis, reference, script in zip(hypotheses, references, scripts, strict=True):
        expected = theirs.sentence_score(hypothesis, [reference])
        assert (len(script), script.count.length) == (expected.num_edits, expected.ref_length)
        assert_leads_to_the_reference(script)


@pytest.mark.parametrize("longest", [25, 90])
def test_long_texts_with_many_shifts_are_led_to_the_reference(longest: int) -> None:
    rng = random.Random(longest)
    scripts = TER().edits(*zip(*(pair(rng, longest, 6) for _ in range(200))))
    assert max(len(script.shifts) for script in scripts) > 3
    for script in scripts:
        assert_leads_to_the_reference(script)


def test_a_shift_is_one_edit() -> None:
    assert count_edits(["c d a b x"], ["a b c d x"]) == [EditCount(1, 0, 0, 0, length=5)]
    (script,) = TER().edits(["c d a b x"], ["a b c d x"])
    assert script.shifts == (Shift(start=0, length=2, target=2),)
    assert script.shifted == ("a", "b", "c", "d", "x")
    assert script.order == (2, 3, 0, 1, 4)
    assert script.word_edits == []


def test_positions_of_words_are_those_before_any_shift() -> None:
    (script,) = TER(case_sensitive=True).edits(["x c d e a b y"], ["a b z c d e y w"])
    assert script.shifts == (Shift(start=4, length=2, target=0),)
    assert script.shifted == ("a", "b", "x", "c", "d", "e", "y")
    assert script.word_edits == [PlacedEdit("substitute", 0, 2), PlacedEdit("insert", None, 7)]
    (script,) = TER().edits(["D e f a X c"], ["a b c d e f"])
    assert script.shifts
    assert script.word_edits == [PlacedEdit("substitute", 4, 1)]
    assert (script.hypothesis[4], script.reference[1]) == ("x", "b")


def test_texts_without_words_have_edits_too() -> None:
    assert TER().edits([], []) == []
    scripts = TER().edits(["", "a b", "", "b a"], ["a", "", "", "a b"])
    assert [script.ops for script in scripts] == [("insert",), ("delete", "delete"), (), ("keep", "keep")]
    assert [script.shifted for script in scripts] == [(), ("a", "b"), (), ("a", "b")]


def test_kinds() -> None:
    assert count_edits(["a x c", "a b c d", "a c", ""], ["a b c", "a b c", "a b c", "a b"]) == [
        EditCount(0, 1, 0, 0, length=3),
        EditCount(0, 0, 0, 1, length=3),
        EditCount(0, 0, 1, 0, length=3),
        EditCount(0, 0, 2, 0, length=2),
    ]


def test_case_counts_unless_told_otherwise() -> None:
    assert count_edits(["The cat"], ["the cat"])[0].edits == 1
    assert TER(case_sensitive=False).counts(["The cat"], ["the cat"])[0].edits == 0


def test_normalising_divides_punctuation_from_words() -> None:
    assert count_edits(["cat ."], ["cat."])[0].edits == 2
    assert count_edits(["cat ."], ["cat."], "13a")[0].edits == 0


@settings(max_examples=50)
@given(st.lists(st.tuples(words, words), min_size=1, max_size=5))
def test_the_rate_of_the_counts_is_corpus_ter(pairs: list[tuple[str, str]]) -> None:
    hyp, ref = [hyp for hyp, _ in pairs], [ref for _, ref in pairs]
    expected = sacrebleu_ter.TER(case_sensitive=True).corpus_score(hyp, [ref]).score
    assert edit_rate(count_edits(hyp, ref)) == pytest.approx(expected)


def test_characters_are_compared_without_spaces() -> None:
    assert count_edits(["猫 がい"], ["犬がいた"], "characters") == [EditCount(0, 1, 1, 0, length=4)]
    assert words_of(["猫 がい"], "characters") == [["猫", "が", "い"]]


def test_signature_tells_case_and_what_counts_as_a_word() -> None:
    assert "case:mixed" in ter_signature()
    assert "norm:yes" in ter_signature("13a")
    assert ter_signature("characters") == f"{ter_signature()}, of characters"


def test_unequal_numbers_of_lines_are_refused() -> None:
    with pytest.raises(ValueError, match="hypotheses has 1 text and references 2"):
        count_edits(["a"], ["a", "b"])
    with pytest.raises(ValueError, match="hypotheses has 1 text and references 2"):
        TER().edits(["a"], ["a", "b"])


def test_any_iterable_of_texts_is_counted_and_a_single_text_refused() -> None:
    assert count_edits(iter(["a b"]), np.array(["a c"])) == count_edits(["a b"], ["a c"])
    with pytest.raises(DataError, match="references is a list of segments, not a single string"):
        count_edits(["a"], "a")


def test_a_segment_without_a_reference_is_named() -> None:
    with pytest.raises(ValueError, match="segment 2 has no reference"):
        TER().corpus_score(["a", "b"], [["a", None]])


@pytest.mark.parametrize(
    ("hyp", "ref", "message"),
    [
        ("abc", ["a"], "not a single string"),
        (None, ["a"], "list of segments"),
        ([None], ["a"], "segment 1 of hypotheses is not text"),
        (["a"], [], "hypotheses has 1 text and references 0; both must have the same number"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(hyp: list[str], ref: list[str], message: str) -> None:
    for count in (TER().counts, TER().edits):
        with pytest.raises(DataError, match=message):
            count(hyp, ref)
    with pytest.raises(DataError, match="reference 1 has 2 segments, and the hypotheses have 1"):
        TER().corpus_score(["a"], [["b", "c"]])
