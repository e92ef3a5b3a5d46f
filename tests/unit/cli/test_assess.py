"""`postedit assess` from files to the answer."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from stub_server import Stub, corrected
from tests.unit.cli.commands import refused
from tests.unit.llm.conftest import PRICES, segments

from postedit.jobs.small_neural_model import UPDATES


def write(folder: Path, count: int, *, systematic: bool = True) -> Path:
    draw = random.Random(1)
    words = [f"w{n}" for n in range(30)]
    lines: dict[str, list[str]] = {"src": [], "mt": [], "pe": []}
    for number in range(count):
        mt = draw.choices(words, k=8)
        new = "right" if systematic else draw.choice(words)
        if number % 2 and systematic:
            mt[3] = "wrong"
        lines["src"].append(f"s{number}")
        lines["mt"].append(" ".join(mt))
        lines["pe"].append(" ".join(new if word == "wrong" else word for word in mt) + " ."[: 2 * (number % 7 == 0)])
    for side, texts in lines.items():
        (folder / f"x.{side}").write_text("\n".join(texts) + "\n")
    return folder / "x"


@pytest.fixture
def triplets(tmp_path: Path) -> Path:
    return write(tmp_path, 120)


def test_answer_tables_page_and_json(run: Any, triplets: Path, tmp_path: Path) -> None:
    html, values = tmp_path / "x.html", tmp_path / "x.json"
    files = ("--html", html, "--json", values)
    result = run("assess", triplets, "--neural-updates", 0, *files, "--hour-price", 40, "--words", 50_000)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Yes: ")
    assert "what each editor gains" in result.stdout
    found = json.loads(values.read_text())
    assert found["recommendation"]["answer"] == "yes"
    assert found["work"]["words"] == 50_000
    assert "phrase-based model" in result.stderr  # progress
    forecasts = found["editors"][0]["expected"]
    assert [(one["triplets"], one["rough"]) for one in forecasts] == [(1_000, False), (5_000, True), (25_000, True)]
    assert "60 % (French) and 75 % (German)" in found["about what is expected"]
    assert "small neural model" in found["not tried"]
    assert "Not tried: small neural model: no updates" in result.stdout
    assert "25,000 (rough)" in result.stdout
    assert "is rough: on product help" in " ".join(result.stdout.split())
    assert "<h1>Is automatic post-editing worth it? x</h1>" in html.read_text()


@pytest.mark.slow
def test_lines_with_an_empty_side_are_left_out_and_counted(run: Any, triplets: Path, tmp_path: Path) -> None:
    with triplets.with_name("x.mt").open("a") as mt, triplets.with_name("x.pe").open("a") as pe:
        mt.write(" \n")
        pe.write("text\n")
    with triplets.with_name("x.src").open("a") as src:
        src.write("source\n")
    result = run("assess", triplets, "--neural-updates", 0, "--json", tmp_path / "x.json")
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "x.json").read_text())["left out"] == {"mt is empty": 1}


@pytest.mark.slow
def test_tables_of_a_tsv_file_are_the_same(run: Any, triplets: Path, tmp_path: Path) -> None:
    columns = [triplets.with_name(f"x.{side}").read_text().splitlines() for side in ("src", "mt", "pe")]
    (tmp_path / "y.tsv").write_text("".join("\t".join(row) + "\n" for row in zip(*columns, strict=True)))
    for name in (triplets, tmp_path / "y.tsv"):
        assert run("assess", name, "--neural-updates", 2, "--json", tmp_path / f"{name.name}.json").exit_code == 0
    one, other = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("x", "y.tsv"))
    assert one["errors"] == other["errors"]
    assert [each["gain"] for each in one["editors"]] == [each["gain"] for each in other["editors"]]
    assert one["editors"][2]["name"] == "small neural model"
    assert one["editors"][2]["expected"] == []


@pytest.mark.slow
def test_units_of_files_before_and_after_are_assessed(run: Any, triplets: Path, tmp_path: Path) -> None:
    for name, side in (("before", "mt"), ("after", "pe")):
        rows = zip(*(triplets.with_name(f"x.{one}").read_text().splitlines() for one in ("src", side)), strict=True)
        units = "".join(f'msgctxt "{n}"\nmsgid "{src}"\nmsgstr "{text}"\n\n' for n, (src, text) in enumerate(rows))
        (tmp_path / f"{name}.po").write_text(
            f'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n{units}'
        )
    files = (tmp_path / "after.po", "--before", tmp_path / "before.po")
    result = run("assess", *files, "--neural-updates", 0, "--json", tmp_path / "x.json")
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "x.json").read_text())["errors"]["segments"] == 120


@pytest.mark.slow
def test_given_editors_are_tried(run: Any, triplets: Path, editor: Any, tmp_path: Path) -> None:
    result = run("assess", triplets, "--neural-updates", 0, "--editor", "MODEL", "--json", tmp_path / "x.json")
    assert result.exit_code == 0, result.output
    given = json.loads((tmp_path / "x.json").read_text())["editors"][-1]
    assert given["name"] == "MODEL"
    assert given["changed"] == 120  # it writes "mt!"
    assert given["gain"]["high"] < 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--words-per-hour", "0"], "words_per_hour must be above 0"),
        (["--least-share", "2"], "least_share is a share, from 0 to 1"),
        (["--languages", "en:de"], "--before and --languages are for translation files"),
        (["--set", "search.beam=3"], "--set: no effect without --editor MODEL"),
        (["--protect", "all"], "--protect: no effect without --editor MODEL"),
        (["--endpoint", "http://localhost/v1"], "are for a model behind an endpoint: give --editor"),
    ],
)
def test_options_that_do_not_go_are_refused(run: Any, triplets: Path, arguments: list[str], message: str) -> None:
    assert message in refused(run("assess", triplets, *arguments))


@pytest.mark.slow
def test_swapped_columns_are_warned_about(run: Any, tmp_path: Path) -> None:
    texts = {
        "src": "Die Katze schläft auf dem Dach {}",
        "mt": "Der Kater schläft auf dem Dach {}",
        "pe": "The cat sleeps on the warm roof {}",
    }
    for side, text in texts.items():
        (tmp_path / f"x.{side}").write_text("".join(f"{text}\n".format(n) for n in range(100)), encoding="utf-8")
    files = ("--json", tmp_path / "x.json", "--html", tmp_path / "x.html")
    result = run("assess", tmp_path / "x", "--neural-updates", 0, *files)
    assert result.exit_code == 0, result.output
    told = "src and mt read as one language (de), and pe as another (en): check whether src and pe are swap"
    assert f"warning: {told}" in result.stderr
    assert json.loads((tmp_path / "x.json").read_text())["warnings"][0].startswith(told)
    assert f"{told[0].upper()}{told[1:]}" in (tmp_path / "x.html").read_text()


@pytest.mark.parametrize("option", ["--json", "--html"])
@pytest.mark.parametrize("name", ["x.src", "x.pe", "search.toml", "prices.toml"])
def test_no_input_is_overwritten(run: Any, triplets: Path, tmp_path: Path, option: str, name: str) -> None:
    (tmp_path / "search.toml").write_text("[search]\nbeam = 2\n")
    (tmp_path / "prices.toml").write_text(PRICES)
    before = (tmp_path / name).read_text()
    given = ("--search", tmp_path / "search.toml", "--set", f"llm.prices={tmp_path / 'prices.toml'}")
    result = run("assess", triplets, "--editor", "openai:tiny", *given, option, tmp_path / name)
    assert f"{option}: {tmp_path / name} is one of the files to read" in refused(result)
    assert (tmp_path / name).read_text() == before


def test_no_file_before_or_after_is_overwritten(run: Any, tmp_path: Path) -> None:
    for name in ("a.po", "b.po"):
        (tmp_path / name).write_text("")
    files = (tmp_path / "a.po", "--before", tmp_path / "b.po")
    for name in ("a.po", "b.po"):
        message = f"--json: {tmp_path / name} is one of the files to read"
        assert message in refused(run("assess", *files, "--json", tmp_path / name))


def test_the_help_says_how_many_updates_and_what_words_are(run: Any) -> None:
    told = re.sub(r"[│\s]+", " ", run("assess", "--help").output)
    assert f"{UPDATES} if not given" in told
    assert told.count("characters for text without spaces between words, such as Japanese and Chinese") == 2


def test_files_that_do_not_go_are_refused(run: Any, triplets: Path, tmp_path: Path) -> None:
    assert "no such file" in refused(run("assess", tmp_path / "none"))
    with triplets.with_name("x.pe").open("a") as file:
        file.write("one more\n")
    assert "the numbers of lines differ" in refused(run("assess", triplets))
    assert "99 triplets are too few" in refused(run("assess", write(tmp_path, 99)))


@pytest.mark.slow
def test_a_language_model_is_tried_and_its_cost_told(run: Any, tmp_path: Path) -> None:
    asked = segments(100)
    texts = {"src": [one.src for one in asked], "mt": [one.mt or "" for one in asked]}
    texts["pe"] = [corrected(text) for text in texts["mt"]]
    for side, lines in texts.items():
        (tmp_path / f"x.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (tmp_path / "prices.toml").write_text(PRICES, encoding="utf-8")
    given = {"prices": tmp_path / "prices.toml", "cache": tmp_path / "answers", "languages": "en:de"}
    chosen = [part for name, one in given.items() for part in ("--set", f"llm.{name}={one}")]
    with Stub() as stub:
        asked_for = ("--editor", "openai:tiny", "--endpoint", stub.url, *chosen, "--neural-updates", 0)
        result = run("assess", tmp_path / "x", *asked_for, "--json", tmp_path / "x.json")
        again = run("assess", tmp_path / "x", *asked_for, "--json", tmp_path / "y.json", "--hour-price", 20)
    assert result.exit_code == again.exit_code == 0, result.output
    assert "requests answered" in result.stderr
    editor = json.loads((tmp_path / "x.json").read_text())["editors"][-1]
    assert editor["name"] == "openai:tiny"
    assert editor["better"] > 50
    assert editor["worse"] == 0
    assert editor["cost"] > 0
    assert editor["costs of the work"] > editor["cost"]
    values = json.loads((tmp_path / "y.json").read_text())
    assert [values["editors"][-1][name] for name in ("cost", "costs of the work", "seconds of editing")] == [None] * 3
    (note,) = (one for one in values["notes"] if one.startswith("some answers of openai:tiny were known before"))
    assert note[1:] in again.stdout
    assert "were known before" not in result.stdout
