import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from tests.unit.cli.commands import refused

from postedit.core.saved_arrays import SavedArrays
from postedit.evaluate.summarisation import ROUGE
from postedit.evaluate.test_set import _Part


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "mt").write_text("a b c d\nthe cat sat down\n")
    (tmp_path / "pe").write_text("a b c e\nthe cat sat down\n")
    (tmp_path / "good").write_text("a b c e\nthe cat sat down\n")
    (tmp_path / "bad").write_text("a b c d\nthe dog sat down\n")
    return tmp_path


def test_the_row_of_the_unedited_mt_comes_first(run: Any, files: Path) -> None:
    result = run("score", files / "good", files / "bad", "--pe", files / "pe", "--mt", files / "mt")
    assert result.exit_code == 0
    scores = result.stdout.partition("TER: ")[0]  # the first table
    rows = [line.split() for line in scores.splitlines() if line.strip()]
    table = {row[0]: row for row in rows}
    assert list(table)[2:5] == ["unedited", str(files / "good"), str(files / "bad")]
    assert table["unedited"][2] == "12.50"  # 1 edit of 8 words
    assert table["unedited"][-4:] == ["0", "0", "0", "0"]
    assert table[str(files / "good")][1] == "0.00"
    assert table[str(files / "good")][-4:] == ["1", "1", "0", "0"]
    assert table[str(files / "bad")][-4:] == ["1", "0", "1", "0"]


def test_every_score_has_its_signature(run: Any, files: Path) -> None:
    out = run("score", files / "good", "--pe", files / "pe").stdout
    for name in ("TER", "BLEU", "chrF"):
        (line,) = [line for line in out.splitlines() if line.startswith(f"{name}: ")]
        assert "version:" in line
        assert "case:mixed" in line


def test_a_long_file_name_is_not_cut_when_piped(run: Any, files: Path) -> None:
    long = files / ("x" * 150)
    long.write_bytes((files / "good").read_bytes())
    assert str(long) in run("score", long, "--pe", files / "pe").stdout


def test_raw_text(run: Any, files: Path) -> None:
    out = run("score", files / "good", "--pe", files / "pe", "--tokenize", "13a").stdout
    assert "tok:13a" in out
    assert "norm:yes" in out


def test_text_without_spaces(run: Any, files: Path) -> None:
    texts = {"mt": "กรุณาเลือกไฟลของคุณ", "good": "กรุณาเลือกไฟล์ของคุณ", "pe": "กรุณาเลือก ไฟล์ของคุณ"}
    for name, text in texts.items():
        (files / name).write_text(f"{text}\n" * 10)
    score = ("score", files / "good", "--pe", files / "pe", "--mt", files / "mt")
    assert "give --tokenize characters" in run(*score).stderr
    result = run(*score, "--tokenize", "characters")
    assert "warning" not in result.stderr
    assert f"version:{sacrebleu.__version__}, of characters" in result.stdout
    assert "tok:char" in result.stdout
    rows = {line.split()[0]: line.split() for line in result.stdout.partition("TER: ")[0].splitlines() if line.strip()}
    assert rows["unedited"][2] == "5.00"  # 1 of 20 characters
    assert rows[str(files / "good")][1] == "0.00"


def test_json(run: Any, files: Path) -> None:
    out = files / "scores.json"
    assert run("score", files / "bad", "--pe", files / "pe", "--mt", files / "mt", "--json", out).exit_code == 0
    first, second = json.loads(out.read_text())["systems"]
    assert first["name"] == "unedited MT"
    assert second["changes"] == {"changed": 1, "better": 0, "worse": 1, "same": 0}
    assert [path.name for path in files.glob(".*")] == []


def test_an_unwritable_output_is_found_before_the_work(run: Any, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postedit.evaluate.test_set.evaluate_systems", lambda *_: pytest.fail("it worked first"))
    result = run("score", files / "good", "--pe", files / "pe", "--json", files / "none" / "scores.json")
    assert "does not exist" in refused(result)


def test_every_form_of_output(run: Any, files: Path) -> None:
    (files / "src").write_text("A B C D\nthe cat sat down\n")
    (files / "groups").write_text("one\ntwo\n")
    for text in files.iterdir():
        text.write_text(text.read_text() * 5)  # enough sentences to compare
    outs = {form: files / f"out.{form}" for form in ("json", "csv", "latex", "markdown", "html")}
    options = [option for form, path in outs.items() for option in (f"--{form}", path)]
    texts = [f"--{name}={files / name}" for name in ("pe", "mt", "src", "groups")]
    more = ("--summaries", "--stem", "--lowercase")
    result = run("score", files / "good", files / "bad", *texts, *options, *more, "--resamples", 100)
    assert result.exit_code == 0, result.stderr
    names = [table["name"] for table in json.loads(outs["json"].read_text())["tables"]]
    assert names == [
        "scores",
        "faithfulness",
        "edits left to do",
        "edits saved, %",
        "edits made",
        "confidence intervals",
        "significance of TER",
        "significance of BLEU",
        "significance of chrF",
        "single-source measures",
        "confidence intervals of ROUGE",
        *(f"significance of {kind}" for kind in ROUGE),
        "case-insensitive BLEU",
        "by length",
        "by TER of mt",
        "by kind of edit",
        "edits made by kind",
        "by group",
        "signatures of the scores",
    ]
    for form in ("csv", "latex", "markdown", "html"):
        text = outs[form].read_text()
        assert "unedited MT" in text
        assert "precision" in text
        assert "ROUGE-Lsum" in text
        assert form == "csv" or "case:mixed" in text  # CSV has numbers alone
    assert "significance of TER" in result.stdout
    assert "by group" not in result.stdout
    again = run("score", files / "good", *texts, "--all", "--resamples", 100).stdout
    assert "by group" in again


@pytest.mark.slow
def test_a_line_of_350_000_words_is_scored(run: Any, files: Path) -> None:
    words = [str(place % 9973) for place in range(350_000)]
    (files / "long").write_text(" ".join(words) + "\n")
    words[1000], words[2000] = "one", "two"
    (files / "long.pe").write_text(" ".join(words) + "\n")
    result = run("score", files / "long", "--pe", files / "long.pe", "--resamples", 100, "--json", files / "out.json")
    assert result.exit_code == 0, result.stderr
    (system,) = json.loads((files / "out.json").read_text())["systems"]
    assert system["ter"] == pytest.approx(100 * 2 / 350_000)


def test_the_same_numbers_every_time(run: Any, files: Path) -> None:
    arguments = ("score", files / "good", files / "bad", "--pe", files / "pe", "--mt", files / "mt")
    assert run(*arguments).stdout == run(*arguments).stdout


def test_doubts_about_the_text_are_said(run: Any, files: Path) -> None:
    (files / "pe").write_text("Yes , he came .\n" * 10)
    (files / "odd").write_text("Yes, he came.\n" * 9 + "\n")
    out = files / "out.json"
    result = run("score", files / "odd", "--pe", files / "pe", "--json", out)
    assert result.exit_code == 0
    assert "odd seems to be running text" in result.stderr
    assert "odd has an empty line where" in result.stderr
    assert len(json.loads(out.read_text())["warnings"]) == 2


def test_comet_is_skipped_with_a_reason(run: Any, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    arguments = ("score", files / "good", "--pe", files / "pe", "--comet", "some/model")
    result = run(*arguments, "--src", files / "mt")
    assert result.exit_code == 0
    assert "some/model is skipped: the command comet-score is not there" in result.stderr
    assert "give --src" in refused(run(*arguments))


def test_no_system_takes_the_place_of_the_unedited_mt(run: Any, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    Path("good").rename("unedited MT")
    result = run("score", "unedited MT", "--pe", "pe", "--mt", "mt")
    assert 'a system cannot be named "unedited MT"' in refused(result)


def test_an_output_given_twice_is_told_and_scored_once(run: Any, files: Path) -> None:
    result = run("score", files / "bad", files / "bad", "--pe", files / "pe")
    assert f"{files / 'bad'} is given more than once; it is one row" in " ".join(result.stderr.split())
    assert len([line for line in result.stdout.partition("TER: ")[0].splitlines() if "bad" in line]) == 1


def test_stems_are_for_summaries(run: Any, files: Path) -> None:
    assert "give --summaries too" in refused(run("score", files / "good", "--pe", files / "pe", "--stem"))


def test_summaries_need_what_was_summarised(run: Any, files: Path) -> None:
    assert "give --src (or --mt)" in refused(run("score", files / "good", "--pe", files / "pe", "--summaries"))


def test_no_file_is_lost(run: Any, files: Path) -> None:
    for options in (["--json", files / "pe"], ["--html", files / "out", "--csv", files / "out"]):
        before = (files / "pe").read_text()
        result = run("score", files / "good", "--pe", files / "pe", *options)
        assert "one of the files to read" in result.stderr or "already what" in refused(result)
        assert (files / "pe").read_text() == before


@pytest.mark.slow
def test_files_are_written_though_the_reader_of_the_tables_leaves(tmp_path: Path) -> None:
    for name in ("hyp", "pe"):
        (tmp_path / name).write_text("a b c\n")
    command = [sys.executable, "-c", "from postedit.cli.main import main; main()", "score"]
    options = [tmp_path / "hyp", "--pe", tmp_path / "pe", "--json", tmp_path / "out.json"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*command, *map(str, options)], stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert json.loads((tmp_path / "out.json").read_text())["systems"]


def test_an_interrupted_command_is_continued(run: Any, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postedit.evaluate.test_set.PART", 1)
    monkeypatch.setitem(SavedArrays.__init__.__kwdefaults__, "seconds", 0.0)
    out, count = files / "out.json", _Part.count
    command = ("score", files / "good", "--pe", files / "pe", "--mt", files / "mt", "--json", out)
    first = run(*command)
    expected = out.read_bytes()

    def interrupted(part: _Part) -> Any:
        if part.first == 1:
            raise KeyboardInterrupt
        return count(part)

    monkeypatch.setattr(_Part, "count", interrupted)
    stopped = run(*command)
    assert stopped.exit_code == 130
    assert "out.json.partial; continue with the same command and --resume" in stopped.stderr
    monkeypatch.setattr(_Part, "count", lambda part: count(part) if part.first == 1 else pytest.fail("counted again"))
    out.unlink()
    assert run(*command, "--resume").stdout == first.stdout
    assert out.read_bytes() == expected
    assert not (files / "out.json.partial").exists()


def test_a_text_is_read_from_standard_input(run: Any, files: Path) -> None:
    named = run("score", files / "good", "--pe", files / "pe", "--json", files / "named.json")
    assert named.exit_code == 0
    given = run("score", "-", "--pe", files / "pe", "--json", files / "given.json", stdin=(files / "good").read_bytes())
    assert given.exit_code == 0
    ours, theirs = (json.loads((files / name).read_text())["systems"] for name in ("given.json", "named.json"))
    assert [one["ter"] for one in ours] == [one["ter"] for one in theirs]


def test_resuming_needs_a_place(run: Any, files: Path) -> None:
    assert "name one, such as --json FILE" in refused(run("score", files / "good", "--pe", files / "pe", "--resume"))


@pytest.fixture
def trainings(tmp_path: Path) -> list[Path]:
    """Return the outputs of three trainings of one system and two of another, for the twenty lines of `pe`."""
    (tmp_path / "pe").write_text("".join(f"a b c d {number}\n" for number in range(20)))
    found = []
    for system, faults in (("base", (9, 11, 10)), ("new", (2, 4))):
        for seed, wrong in enumerate(faults, 1):
            found.append(tmp_path / system / f"seed-{seed}" / "out")
            found[-1].parent.mkdir(parents=True)
            found[-1].write_text("".join(f"a b c {'x' if n < wrong else 'd'} {n}\n" for n in range(20)))
    return found


def test_trainings_with_several_seeds_are_one_system(run: Any, trainings: list[Path], tmp_path: Path) -> None:
    found = tmp_path / "found.json"
    result = run("score", *trainings, "--pe", tmp_path / "pe", "--seeds", "--resamples", 500, "--json", found)
    assert result.exit_code == 0
    tables = {table["name"]: table for table in json.loads(found.read_text())["tables"]}
    base, new = tables["scores over seeds"]["rows"]
    assert (base["system"], base["trainings"]) == (str(tmp_path / "base" / "seed-*" / "out"), 3)
    assert (base["TER"], base["sd of TER"], new["TER"]) == pytest.approx((10.0, 1.0, 3.0))
    ter = tables["significance over seeds"]["rows"][0]
    assert (ter["system"], ter["metric"]) == (new["system"], "TER")
    assert ter["difference"] == pytest.approx(-7.0)
    assert ter["from"] < -7.0 < ter["to"] < 0.0
    assert ter["p"] < 0.05
    assert "significance over seeds" in result.stdout
    assert "confidence intervals" in result.stdout
    assert len(tables["significance of TER"]["rows"]) == 10
    assert "significance of TER" not in result.stdout
    everything = run("score", *trainings, "--pe", tmp_path / "pe", "--seeds", "--resamples", 500, "--all").stdout
    assert "significance of TER" in everything


def test_seeds_need_outputs_with_such_names(run: Any, files: Path) -> None:
    message = refused(run("score", files / "good", files / "bad", "--pe", files / "pe", "--seeds"))
    assert "seed-1/dev.out and seed-2/dev.out" in message


def test_systems_with_several_seeds_are_compared_with_the_unedited_mt(
    run: Any, trainings: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "mt").write_text("".join(f"a b c x {number}\n" for number in range(20)))
    (tmp_path / "once").write_text((tmp_path / "mt").read_text())
    texts = ["--pe", tmp_path / "pe", "--mt", tmp_path / "mt"]
    found = tmp_path / "found.json"
    run("score", *trainings, tmp_path / "once", *texts, "--seeds", "--resamples", 500, "--json", found)
    tables = {table["name"]: table for table in json.loads(found.read_text())["tables"]}
    assert [row["trainings"] for row in tables["scores over seeds"]["rows"]] == [1, 3, 2, 1]
    compared = [row["other"] for row in tables["significance over seeds"]["rows"] if row["metric"] == "TER"]
    assert compared == ["unedited MT", "unedited MT", str(tmp_path / "base" / "seed-*" / "out")]


def test_a_few_sentences_have_no_significance_over_seeds(run: Any, trainings: list[Path], tmp_path: Path) -> None:
    for path in (*trainings, tmp_path / "pe"):
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:9]))
    out = run("score", *trainings, "--pe", tmp_path / "pe", "--seeds").stdout
    assert "scores over seeds" in out
    assert "significance over seeds" not in out
