import pytest

from postedit.core.errors import DataError
from postedit.evaluate import analyses
from postedit.evaluate.scores import UNEDITED_MT
from postedit.evaluate.summarisation import ROUGE
from postedit.evaluate.table import Table
from postedit.evaluate.test_set import TestSet, evaluate_systems

MT = ["a b c d", "the cat sat down", "x y z w", ""]
PE = ["a b c e", "the cat sat down", "w x y z", ""]
GOOD = ["a b c e", "the cat sat down", "w x y z", ""]
BAD = ["a b c d", "the dog sat down", "x y z w", ""]


@pytest.fixture(scope="module")
def test_set() -> TestSet:
    return TestSet(PE, MT, ["A", "B", "C", ""], ["one", "two", "one", ""])


def of(table: Table, *labels: str) -> dict[str, float | None]:
    (row,) = [row for row in table.rows if row.labels == labels]
    return dict(zip((column.name for column in table.columns), row.values, strict=True))


def test_a_single_sentence_is_told_as_one() -> None:
    (system,) = evaluate_systems(TestSet(["a b"], ["a c"]), {"x": ["a b"]})[1:]
    assert analyses.overview([system.scores]).note.startswith("1 sentence; ")


def test_faithfulness(test_set: TestSet) -> None:
    systems = evaluate_systems(test_set, {"good": GOOD, "bad": BAD})
    assert [system.name for system in systems] == [UNEDITED_MT, "good", "bad"]
    table = analyses.faithfulness(systems)
    assert of(table, UNEDITED_MT)["TER to mt"] == 0.0
    good = of(table, "good")
    assert good["TER to pe"] == 0.0
    assert good["TER to mt"] == pytest.approx(100 * 2 / 12)
    assert (good["modified"], good["improved"], good["deteriorated"]) == (2, 2, 0)
    assert (of(table, "bad")["modified"], of(table, "bad")["deteriorated"]) == (1, 1)


def test_edits_left_and_saved(test_set: TestSet) -> None:
    systems = evaluate_systems(test_set, {"good": GOOD, "bad": BAD})
    base = of(analyses.edits_left(systems), UNEDITED_MT)
    assert base == {"shifts": 1, "substitutions": 1, "insertions": 0, "deletions": 0, "all": 2}
    saved = analyses.edits_saved(systems)
    assert of(saved, "good") == {
        "shifts": 100.0,
        "substitutions": 100.0,
        "insertions": None,
        "deletions": None,
        "all": 100.0,
    }
    assert of(saved, "bad")["all"] == -50.0


def test_edits_made(test_set: TestSet) -> None:
    table = analyses.edits_made(evaluate_systems(test_set, {"good": GOOD, "bad": BAD}))
    assert (of(table, UNEDITED_MT)["precision"], of(table, UNEDITED_MT)["gain per edit"]) == (None, None)
    good, bad = of(table, "good"), of(table, "bad")
    assert (good["precision"], good["recall"], good["F1"], good["gain per edit"]) == (100.0, 100.0, 100.0, 1.0)
    assert (bad["made"], bad["right"], bad["precision"], bad["gain per edit"]) == (1, 0, 0.0, -1.0)


def test_buckets(test_set: TestSet) -> None:
    tables = {table.name: table for table in analyses.by_bucket(evaluate_systems(test_set, {"good": GOOD}))}
    assert list(tables) == ["by length", "by TER of mt", "by kind of edit", "edits made by kind", "by group"]
    assert of(tables["by length"], "good", "1–10")["sentences"] == 3
    assert of(tables["by length"], "good", "0")["sentences"] == 1
    assert of(tables["by TER of mt"], UNEDITED_MT, "21–30")["TER"] == 25.0
    assert of(tables["by kind of edit"], "good", "needs shifts")["TER less the first's"] == -25.0
    assert of(tables["by group"], UNEDITED_MT, "one")["TER"] == 25.0
    assert of(tables["by group"], UNEDITED_MT, "(none)")["sentences"] == 1


def test_buckets_are_the_whole(test_set: TestSet) -> None:
    systems = evaluate_systems(test_set, {})
    for table in analyses.by_bucket(systems):
        if table.keys[1] not in ("mt", "edits"):  # a sentence may need several kinds
            assert sum(row.values[0] or 0 for row in table.rows) == len(PE)


def test_edits_are_judged_in_each_bucket() -> None:
    mt, pe = ["a b", "a b c d", "x y"], ["a c", "a b c", "x y"]
    test = TestSet(pe, mt, groups=["short", "long", "short"])
    systems = evaluate_systems(test, {"model": ["a c", "a b c e", "x z"]})
    tables = {table.name: table for table in analyses.by_bucket(systems)}
    short, long = (of(tables["by group"], "model", name) for name in ("short", "long"))
    assert (short["precision"], short["recall"], short["gain per edit"]) == (50.0, 100.0, 0.0)  # one right, one wrong
    assert (long["precision"], long["recall"], long["gain per edit"]) == (0.0, 0.0, 0.0)
    assert of(tables["by group"], UNEDITED_MT, "long")["precision"] is None
    kinds = tables["edits made by kind"]
    assert of(kinds, "model", "substitutions") == {
        "made": 3, "needed": 1, "right": 1, "precision": pytest.approx(100 / 3), "recall": 100.0, "F1": 50.0,
    }  # fmt: skip
    assert of(kinds, "model", "deletions")["recall"] == 0.0
    assert of(kinds, "model", "insertions")["needed"] == 0


def test_edits_are_not_reported_without_mt() -> None:
    test = TestSet(PE, groups=["x"] * 4)
    systems = evaluate_systems(test, {"good": GOOD})
    (by_length, by_group) = analyses.by_bucket(systems)
    assert "precision" not in by_length.header()
    assert by_group.header()[-1] == "BLEU"


def test_significance_speaks_of_the_later_system() -> None:
    systems = evaluate_systems(TestSet(PE * 3, MT * 3), {"good": GOOD * 3})
    intervals, ter, *others = analyses.significance(systems, analyses.compared(systems, "none", 200))
    better = of(ter, "good", UNEDITED_MT)
    assert better["difference"] == pytest.approx(-100 * 2 / 12)
    assert (better["from"] or 0) < (better["difference"] or 0) < (better["to"] or 0)
    assert [table.name for table in others] == ["significance of BLEU", "significance of chrF"]
    assert all((of(table, "good", UNEDITED_MT)["difference"] or 0) > 0 for table in others)
    assert of(intervals, "good")["BLEU to"] == of(intervals, "good")["chrF to"] == pytest.approx(100.0)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (
            (-3.328, -3.9, -2.8, 0.0001, 0.0001),
            ("is better than", "lower by 3.33 (95% interval 2.80 to 3.90, p < 0.001)"),
        ),
        ((1.5, 0.1, 2.9, 0.03, 0.04), ("is worse than", "higher by 1.50 (95% interval 0.10 to 2.90, p = 0.040)")),
        (
            (-0.1, -0.4, 0.2, 0.5, 0.5),
            ("cannot be told apart from", "lower by 0.10 (95% interval -0.20 to 0.40, p = 0.500)"),
        ),
        ((0.0, 0.0, 0.0, 1.0, 1.0), ("cannot be told apart from", "the same (95% interval 0.00 to 0.00, p = 1.000)")),
    ],
)
def test_a_verdict_says_by_how_much_and_how_sure(values: tuple[float, ...], expected: tuple[str, str]) -> None:
    judged, amount = expected
    found = analyses.verdict("model", UNEDITED_MT, values, 1000, 12, 3)
    assert found == f"model {judged} the unedited MT: TER is {amount}; of 1,000 sentences 12 are better and 3 worse."


def test_one_system_alone_is_compared_with_nothing() -> None:
    test = TestSet(PE * 3)
    systems = evaluate_systems(test, {"good": GOOD * 3})
    assert [table.name for table in analyses.significance(systems, analyses.compared(systems, "none", 200))] == [
        "confidence intervals"
    ]
    assert [table.name for table in analyses.by_bucket(systems)] == ["by length"]


@pytest.mark.parametrize("count", [1, 4, 9])
def test_a_few_sentences_are_too_few_to_compare(count: int) -> None:
    systems = evaluate_systems(TestSet(["a b"] * count, ["a c"] * count), {"good": ["a b"] * count})
    assert analyses.significance(systems, analyses.compared(systems, "none", 200)) == []
    differences = analyses.ter_differences(systems, 200)
    assert count == 1 or of(differences, "good", UNEDITED_MT)["p, bootstrap"] < 0.01, "however little it has seen"
    (found,) = analyses.verdicts(systems, differences)
    number = "1 sentence is" if count == 1 else f"{count} sentences are"
    assert found == (
        f"good cannot be told apart from the unedited MT: TER is lower by 50.00, but {number} too few to compare."
    )


def test_summaries(test_set: TestSet) -> None:
    outputs = ["a a a b", "c d", "", "A"] * 3  # fewer than ten sentences have no intervals
    test = TestSet(["a b", "c d", "e", "a"] * 3)
    systems = evaluate_systems(test, {"model": outputs})
    table, intervals = analyses.summaries(systems, test, ["a b", "x", "y", "a"] * 3, resamples=50)
    assert intervals.name == "confidence intervals of ROUGE"
    ends = of(intervals, "model")
    assert ends["ROUGE-1 from"] <= of(table, "model")["ROUGE-1"] <= ends["ROUGE-1 to"]
    found = of(table, "model")
    assert found["novel 1-grams, %"] == pytest.approx(100 * 3 / 7)  # c, d, A
    assert found["repeated 1-grams, %"] == pytest.approx(100 * 2 / 7)
    assert found["repeated 2-grams, %"] == pytest.approx(100 * 1 / 4)
    assert of(table, "reference")["ROUGE-1"] == 100.0


def test_the_first_three_sentences_are_a_system_of_their_own() -> None:
    sources = ["a . b . c . d .", "e . f ."] * 5
    test = TestSet(["a . b . c .", "x ."] * 5)
    systems = evaluate_systems(test, {"m": ["d .", "x ."] * 5})
    table, _, *pairs = analyses.summaries(systems, test, sources, resamples=50)
    assert of(table, "LEAD-3")["ROUGE-1"] == pytest.approx(50.0)
    assert of(table, "LEAD-3")["novel sentences, %"] == 0.0
    assert [pair.name for pair in pairs] == [f"significance of {kind}" for kind in ROUGE]
    for kind, pair in zip(ROUGE, pairs, strict=True):
        (found,) = pair.rows
        assert found.labels == ("LEAD-3", "m")
        assert found.values[0] == pytest.approx(of(table, "LEAD-3")[kind] - of(table, "m")[kind])
    assert (pairs[0].rows[0].values[0], pairs[1].rows[0].values[0]) == (0.0, 50.0)


@pytest.mark.parametrize("name", ["LEAD-3", "reference"])
def test_no_system_has_the_name_of_the_baseline_or_the_reference(name: str) -> None:
    test = TestSet(["x ."])
    with pytest.raises(DataError, match=f'a system is called "{name}"'):
        analyses.summaries(evaluate_systems(test, {name: ["y ."]}), test, ["a . b . c . d ."])


def test_bleu_without_regard_to_case() -> None:
    test = TestSet(["The Red House Is Here ."])
    systems = evaluate_systems(test, {"m": ["the red house is here ."]})
    table = analyses.lowercase_bleu(systems, test)
    assert of(table, "m")["BLEU"] == pytest.approx(100.0)
    assert systems[0].scores.bleu < 50.0
    assert "case:lc" in table.note


def test_unequal_lines() -> None:
    with pytest.raises(DataError, match="mt has 1 line, the post-edits have 2"):
        TestSet(["a", "b"], ["a"])
    with pytest.raises(DataError, match="nothing to score"):
        TestSet([])


def test_sentences_are_no_groups() -> None:
    with pytest.raises(DataError, match="groups has 101 different labels"):
        TestSet(["a"] * 101, groups=[str(place) for place in range(101)])


def test_a_line_of_a_thousand_words() -> None:
    long = " ".join(f"w{place % 97}" for place in range(1000))
    test = TestSet([long], [" ".join(reversed(long.split()))])
    assert of(analyses.edits_made(evaluate_systems(test, {"x": [long]})), "x")["precision"] == 100.0
