import csv
import io

import pytest

from postedit.evaluate.table import Column, Table, TableRow, p_values, to_csv, to_latex, to_markdown

TABLE = Table(
    "shares, %",
    ("system", "words"),
    (Column("TER", 2), Column("sentences")),
    (TableRow(("a_b & c|d", "1–10"), (1 / 3, 4)), TableRow(("x,\\y", ""), (None, 0))),
    "100 % of it.",
)


def test_csv_has_one_value_a_line_in_full() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv([TABLE]))))
    assert len(rows) == 4
    assert rows[0] == {
        "table": "shares, %",
        "system": "a_b & c|d",
        "part": "1–10",
        "measure": "TER",
        "value": str(1 / 3),
    }
    assert rows[2]["value"] == ""


def test_markdown_keeps_the_columns() -> None:
    lines = to_markdown([TABLE]).splitlines()
    assert lines[0] == "## Shares, %"
    assert lines[4] == r"| a\_b & c\|d | 1–10 | 0.33 | 4 |"
    assert lines[5] == r"| x,\\y |  | – | 0 |"


def test_markdown_has_no_formulas_and_nothing_crossed_out() -> None:
    table = Table("names", ("system",), (), (TableRow(("runs/$x$/~a~",), ()),))
    assert r"| runs/\$x\$/\~a\~ |" in to_markdown([table])


def test_latex_is_escaped() -> None:
    text = to_latex([TABLE])
    assert r"a\_b \& c\textbar{}d & 1--10 & 0.33 & 4 \\" in text
    assert r"\textbackslash{}y" in text
    assert r"\caption{Shares, \%. 100 \% of it.}" in text
    assert r"\begin{tabular}{llrr}" in text


@pytest.mark.parametrize("name", ["[a] b", "* b"])
def test_latex_rows_do_not_continue_the_line_break_before(name: str) -> None:
    rows = (TableRow(("a",), ()), TableRow((name,), ()))
    text = to_latex([Table("names", ("system",), (), rows)])
    assert not any(line.startswith(("[", "*")) for line in text.splitlines())


@pytest.mark.parametrize(("value", "text"), [(0.5, "0.5000"), (0.00006, "0.0001"), (1e-12, "<0.0001"), (None, "–")])
def test_no_p_value_is_shown_as_zero(value: float | None, text: str) -> None:
    table = Table("significance", ("system",), p_values("p"), (TableRow(("a",), (value,)),))
    assert table.cells(table.rows[0]) == ["a", text]
    assert table.to_dict()["rows"] == [{"system": "a", "p": value}]


def test_values_of_json_are_not_rounded() -> None:
    assert TABLE.to_dict()["rows"][0] == {"system": "a_b & c|d", "words": "1–10", "TER": 1 / 3, "sentences": 4}
