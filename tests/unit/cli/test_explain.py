import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.unit import tiny_models
from tests.unit.cli.commands import refused
from tests.unit.phrase.small_corpus import write_recipe

from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import CorrectionMemory
from postedit.core.editor import edited
from postedit.editing.post_editor import PostEditor
from postedit.jobs.explanation import WINDOW

SRC = "the house\nit goes\n\nit goes home\n"
MT = "das Haus\nes geht\n\nes geht heim\n"
PE = "das Häuschen\nes ging .\n\nes geht heim\n"


@pytest.fixture
def model(tiny_folders: Path) -> Path:
    return tiny_folders / "transference"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in (("src", SRC), ("mt", MT), ("pe", PE)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def texts(files: Path) -> list[object]:
    return ["--src", files / "src", "--mt", files / "mt"]


def test_one_sentence_is_explained_word_by_word(run: Any, model: Path) -> None:
    result = run("explain", model, "--src-text", "the house", "--mt-text", "das Haus")
    assert result.exit_code == 0, result.output
    assert "runners-up" in result.stdout
    assert "focus by occlusion" in result.stdout
    assert "Jauregi Unanue et al. 2018, 4.4" in result.stdout


def test_a_model_that_reads_mt_alone_says_what_is_missing(run: Any, tiny_folders: Path, files: Path) -> None:
    edits = files / "edits"
    result = run("explain", tiny_folders / "edit-operations", *texts(files), "--pe", files / "pe", "--edits", edits)
    assert result.exit_code == 0, result.output
    assert (
        "warning: this model reads only mt, so edits have no evidence in src, and there are no tables" in result.stderr
    )
    records = [json.loads(line) for line in edits.read_text().splitlines()]
    assert records
    assert {(record["evidence"]["src"], record["in_source"]) for record in records} == {(None, None)}


def test_a_model_that_reads_src_alone_says_what_is_missing(run: Any, files: Path) -> None:
    tiny_models.folder("transformer", input="src").save(files / "translator")
    result = run("explain", files / "translator", *texts(files))
    assert result.exit_code == 0, result.output
    assert (
        "warning: this model reads only src, so edits have no evidence in mt, and there are no tables" in result.stderr
    )


def test_a_file_with_everything(run: Any, model: Path, files: Path) -> None:
    (files / "links").write_text("0-0 1-1\n0-0 1-1\n\n0-0 1-1 2-2\n")
    (files / "gold").write_text("OK OK OK BAD OK\nOK OK OK BAD BAD\nOK\nOK OK OK OK OK OK OK\n")
    names = ("html", "edits", "src-links", "mt-links", "tags", "json", "markdown")
    out = {name: files / f"out.{name}" for name in names}
    options = [part for name, path in out.items() for part in (f"--{name}", path)]
    gold = ["--pe", files / "pe", "--gold-links", files / "links", "--gold-tags", files / "gold", "--resamples", 100]
    figures = ["--figures", files / "figures", "--lines", "1,4"]
    result = run("explain", model, *texts(files), *gold, *options, "--mask", *figures)
    assert result.exit_code == 0, result.output

    mt = MT.splitlines()
    records = [json.loads(line) for line in out["edits"].read_text().splitlines()]
    assert records
    assert {"line", "kind", "mt_span", "pe_span", "old", "new", "confidence", "evidence", "in_source"} == records[
        0
    ].keys()
    for record in records:
        assert mt[record["line"] - 1][slice(*record["mt_span"])] == record["old"]
        assert 0 <= record["confidence"] <= 1
        for side, lines in (("src", SRC.splitlines()), ("mt", mt)):
            cited = record["evidence"][side]
            assert cited is None or lines[record["line"] - 1][slice(*cited["span"])] == cited["text"]

    links = out["src-links"].read_text().splitlines()
    assert len(links) == 4
    assert links[2] == ""  # the empty line stays where it is
    tags = [line.split() for line in out["tags"].read_text().splitlines()]
    assert [len(line) for line in tags] == [5, 5, 1, 7]
    assert {path.name for path in (files / "figures").iterdir()} == {"00001.png", "00001.svg", "00004.png", "00004.svg"}

    tables = {table["name"]: table for table in json.loads(out["json"].read_text())["tables"]}
    assert set(tables) >= {
        "focus by occlusion",
        "edits that go with their evidence",
        "alignment of src and mt against gold",
        "tags of mt against gold",
    }
    assert tables["alignment of src and mt against gold"]["rows"][0]["AER %"] == 0.0  # the diagonal is gold here
    assert "AER = " in tables["alignment of src and mt against gold"]["note"]
    assert "Matthews" in tables["tags of mt against gold"]["note"]
    assert "## " in out["markdown"].read_text() or "|" in out["markdown"].read_text()
    assert "<article" not in out["html"].read_text().split("<script", 1)[0]


def test_words_spelt_like_symbols_are_words(run: Any, model: Path, files: Path) -> None:
    mt = "<s> das </s> <step> Haus\n"
    for name, text in (("src", "<s> the </s> house\n"), ("mt", mt), ("pe", mt)):
        (files / name).write_text(text)
    out = files / "edits"
    options = ["--pe", files / "pe", "--html", files / "html", "--edits", out, "--json", files / "json"]
    result = run("explain", model, *texts(files), *options, "--cite", "attention", "--protect", "none")
    assert result.exit_code == 0, result.output
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert records
    assert all(record["evidence"]["src"] and record["evidence"]["mt"] for record in records)
    rows = {row["steps of"]: row for row in json.loads((files / "json").read_text())["tables"][0]["rows"]}
    assert "mt wrong" not in rows or rows["mt wrong"]["steps"] == 0
    page = re.search(r'id="data">(.*?)</script>', (files / "html").read_text(), re.DOTALL)
    assert page
    (shown,) = json.loads(page[1])
    assert [input_["ends"] for input_ in shown["inputs"]] == [[4], [5]]


def test_a_model_of_mt_alone(run: Any, files: Path, tmp_path: Path) -> None:
    path = tmp_path / "model"
    tiny_models.folder("transformer", input="mt").save(path)
    result = run("explain", path, *texts(files), "--html", files / "html")
    assert result.exit_code == 0, result.output
    assert "focus" not in result.stdout
    for option, sentence in (("--mask", "does not read src"), ("--focus=occlusion", "--focus")):
        assert sentence in refused(run("explain", path, *texts(files), option))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--threshold", "0.4"], "--threshold must be at least 0.5"),
        (["--lines", "0", "--figures", "f"], "--lines: 0 is not within 1-4"),
        (["--lines", "x", "--figures", "f"], '--lines: "x" is neither a line number nor a range'),
        (["--lines", "a"], '--lines: "a" is neither a line number nor a range'),
        (["--gold-tags", "src"], "is not a tag"),
        (["--gold-links", "src"], "is not a link"),
        (["--gold-links", "far"], "line 1: 7-0 links words that are not there"),
        (["--gold-tags", "short"], "src has 4 lines and short has 1; they"),
        (["--focus", "attention"], "no attention that src and mt share"),
        (["--figures", "src"], "--figures: src is a file; give the name of a folder"),
        (["--html", "out", "--edits", "./out"], "--edits: out is already what --html writes"),
        (["--evidence", "pe", "--pe", "pe"], "--evidence: pe is one of the files to read"),
        (["--html", "x", "--set", "llm.prices=x"], "--html: x is one of the files to read"),
        (["--device", "nowhere"], '--device: "nowhere" is not a device'),
        (["--resume"], "--resume needs --evidence"),
        (["--html", "none/x"], "its folder none does not exist"),
        (["--mt-text", "x"], "--mt-text goes with --src-text"),
        (["--src-text", "x"], "either files, --src and --mt, or one sentence"),
    ],
)
def test_bad_input_is_a_sentence(
    options: list[str], message: str, run: Any, model: Path, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    (files / "short").write_text("a\n")
    (files / "far").write_text("7-0\n\n\n\n")
    result = run("explain", model, *texts(files), *options)
    assert message in refused(result)
    assert "Traceback" not in result.stderr


def interrupt_after(windows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the first so many windows done, and the next one stopped by the keyboard."""
    calls = iter(range(windows))

    def interrupted(*arguments: Any, **options: Any) -> Any:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return edited(*arguments, **options)

    monkeypatch.setattr("postedit.jobs.explanation.edited", interrupted)


def test_figures_that_cannot_be_written_are_refused_before_the_work(
    run: Any, model: Path, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_after(0, monkeypatch)
    result = run("explain", model, *texts(files), "--figures", files / "src" / "figures")
    assert "figures: cannot be written: a part of the path is a file" in refused(result)


def test_interrupted_it_starts_over(run: Any, model: Path, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_after(0, monkeypatch)
    result = run("explain", model, *texts(files), "--html", files / "out.html")
    assert result.exit_code == 130
    assert "no file was written, and the same command starts over" in result.stderr
    assert not (files / "out.html").exists()


def test_an_interrupted_run_goes_on(run: Any, model: Path, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postedit.jobs.explanation.WINDOW", 2)

    def explain(name: str, *more: object) -> Any:
        outs = ["--evidence", files / f"{name}.jsonl", "--edits", files / f"{name}.edits", "--html", files / name]
        return run(
            "explain", model, *texts(files), "--pe", files / "pe", *outs, "--json", files / f"{name}.json", *more
        )

    assert explain("whole").exit_code == 0
    with monkeypatch.context() as patched:
        interrupt_after(1, patched)
        result = explain("part")
    assert result.exit_code == 130
    assert "stopped after 2 of 4 sentences, kept in" in result.stderr
    assert "--resume" in result.stderr
    assert not (files / "part.jsonl").exists()
    result = explain("part")
    assert "add --resume to continue after them" in refused(result)
    with monkeypatch.context() as patched:
        interrupt_after(0, patched)
        result = explain("part", "--resume", "--cite", "attention")
    assert "made with another evidence (--cite)" in refused(result)
    assert "another search.edit_cost" in refused(explain("part", "--resume", "--set", "search.edit_cost=9"))
    assert "another protect" in refused(explain("part", "--resume", "--protect", "none"))
    with monkeypatch.context() as patched:
        interrupt_after(1, patched)  # no more than what is left
        result = explain("part", "--resume")
    assert result.exit_code == 0, result.output
    for ending in ("", ".jsonl", ".edits", ".json"):
        assert (files / f"part{ending}").read_text() == (files / f"whole{ending}").read_text()
    assert not list(files.glob("*.partial*"))
    records = [json.loads(line) for line in (files / "part.jsonl").read_text().splitlines()]
    assert records[2] is None  # the empty line
    assert [records[0][name] for name in ("src", "mt", "pe")] == ["the house", "das Haus", "das Häuschen"]


def test_a_model_without_attention_says_so(run: Any, model: Path, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    load = PostEditor.load

    def blind(*models: Any, **options: Any) -> PostEditor:
        editor = load(*models, **options)
        decode = editor.model.decode

        def decoded(tokens: Any, state: Any) -> Any:
            output, after = decode(tokens, state)
            return replace(output, attention={}), after

        editor.model.decode = decoded  # type: ignore[method-assign]
        editor.model.spec = replace(editor.model.spec, attention=frozenset())
        return editor

    monkeypatch.setattr(PostEditor, "load", blind)
    result = run("explain", model, *texts(files), "--edits", files / "edits")
    assert result.exit_code == 0, result.output
    assert "warning: this model shows no attention" in result.stderr
    records = [json.loads(line) for line in (files / "edits").read_text().splitlines()]
    assert all(record["evidence"]["mt"] is None for record in records)
    assert "shows no attention" in refused(run("explain", model, *texts(files), "--figures", files / "figures"))


def test_swapped_sides_are_told(run: Any, model: Path, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [(files / side).read_text().splitlines() for side in ("src", "mt")]
    monkeypatch.setattr(PostEditor, "seem_swapped", lambda _, *sides: [*map(list, sides)] == expected)
    result = run("explain", model, *texts(files))
    assert "warning: src and mt seem to be swapped" in result.stderr


def test_lines_that_are_not_edited_are_named_by_number(run: Any, model: Path, tmp_path: Path) -> None:
    lines = ["the house"] * (WINDOW + 2) + ["the " * 30 + "house"]
    for name in ("src", "mt"):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = run("explain", model, *texts(tmp_path), "--set", "search.max_input=20")
    assert result.exit_code == 0, result.output
    assert f"warning: line {len(lines)}: not edited, because a text is too long" in result.stderr


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    with CorrectionMemory(tmp_path / "corrections.db") as opened:
        opened.add(
            [Correction(f"see {x}", f"siehe diese Seite {x}", f"siehe jene Seite {x}", author="anna") for x in "abc"]
        )
    return tmp_path / "corrections.db"


def test_corrections_of_a_memory_are_the_reasons_of_a_phrase_based_model(
    run: Any, memory: Path, tmp_path: Path
) -> None:
    texts = ("--src-text", "see it", "--mt-text", "siehe diese Seite neu")
    result = run("explain", "none", "--memory", memory, *texts, "--html", tmp_path / "h", "--edits", tmp_path / "e")
    assert result.exit_code == 0, result.output
    assert "changed 3 times in corrections (last by anna, " in result.stdout
    assert 'correction 3: "siehe diese Seite c" → "siehe jene Seite c")' in result.stdout
    assert "runners-up" not in result.stdout
    (record,) = [json.loads(line) for line in (tmp_path / "e").read_text().splitlines()]
    assert (record["reasons"][0]["kind"], record["reasons"][0]["count"]) == ("correction", 3)
    assert record["why"][0] in result.stdout
    assert "changed 3 times in corrections" in (tmp_path / "h").read_text()


def test_edits_of_files_without_evidence_of_words_are_counted_by_reason(run: Any, memory: Path, tmp_path: Path) -> None:
    lines = {"src": ["see it", "go"], "mt": ["siehe diese Seite neu", "geh"], "pe": ["siehe jene Seite neu", "geh"]}
    options = []
    for side, texts in lines.items():
        (tmp_path / side).write_text("".join(f"{text}\n" for text in texts))
        options += [f"--{side}", tmp_path / side]
    result = run("explain", "none", "--memory", memory, *options, "--json", tmp_path / "tables")
    assert result.exit_code == 0, result.output
    assert "1 of 2 sentences" in " ".join(result.stdout.split())
    (table,) = json.loads((tmp_path / "tables").read_text())["tables"]
    assert table["rows"][0] == {"reason": "all", "edits": 1, "% of all": 100.0, "mt wrong %": 100.0}


def test_triplets_of_training_are_the_reasons_without_a_memory(run: Any, tmp_path: Path) -> None:
    run("train", write_recipe(tmp_path), "--out", tmp_path / "run")
    texts = ("--src-text", "the house is green .", "--mt-text", "der Haus ist grün ,")
    result = run("explain", tmp_path / "run" / "model", *texts)
    assert result.exit_code == 0, result.output
    assert 'in training: changed 9 of 9 times, e.g. "der Haus ' in result.stdout
    assert 'in the source: "the", "house"' in result.stdout


def test_explanations_continue_with_the_same_corrections_alone(
    run: Any, memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postedit.jobs.explanation.WINDOW", 1)
    for side, text in (("src", "see it"), ("mt", "siehe diese Seite neu")):
        (tmp_path / side).write_text(f"{text}\n" * 2)
    command = ("explain", "none", "--memory", memory, *texts(tmp_path), "--evidence", tmp_path / "out")
    with monkeypatch.context() as patched:
        interrupt_after(1, patched)
        assert run(*command).exit_code == 130
    with CorrectionMemory(memory) as opened:
        opened.add([Correction("it", "es", "sie")])
    assert "made with another memory entries" in refused(run(*command, "--resume"))
    (tmp_path / "out.partial").unlink()
    assert run(*command).exit_code == 0
    lines = (tmp_path / "out").read_text().splitlines()
    assert [json.loads(line)["edits"][0]["reasons"][0]["count"] for line in lines] == [3, 3]


@pytest.mark.parametrize("option", ["--mask", "--focus=occlusion", "--focus=attention", "--src-links=links"])
def test_what_needs_evidence_of_words_is_refused(run: Any, memory: Path, tmp_path: Path, option: str) -> None:
    texts = ("--src-text", "see it", "--mt-text", "siehe diese Seite neu")
    message = refused(run("explain", "none", "--memory", memory, *texts, option))
    assert "this model" in message


@pytest.mark.slow
@pytest.mark.parametrize(("named", "shown"), [([], "wiki.en-zh"), (["en-zh"], "en-zh")])
def test_the_page_has_the_name_by_which_a_model_is_known(
    run: Any, tmp_path: Path, named: list[str], shown: str
) -> None:
    page = tmp_path / "page.html"
    result = run("explain", *named, "--src-text", "It goes .", "--mt-text", "它 走 .", "--html", page)
    assert result.exit_code == 0, result.stderr
    assert f"<title>{shown}: one sentence</title>" in page.read_text(encoding="utf-8")


def test_an_editor_without_evidence_shows_its_edits_alone(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chains and pools of models are such editors, too."""
    (tmp_path / "stops.py").write_text(_STOPS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    Path("src").write_text("it goes .\n", encoding="utf-8")
    Path("mt").write_text("es geht .\n", encoding="utf-8")
    command = ["explain", "python:stops:Stops", "--src", "src", "--mt", "mt"]
    result = run(*command, "--edits", "edits")
    assert result.exit_code == 0, result.stderr
    assert "in src and mt is not known; only its edits are shown" in result.stderr
    assert json.loads(Path("edits").read_text(encoding="utf-8"))["new"] == "!"
    for option in (["--mask"], ["--focus", "occlusion"]):
        assert "gives no evidence for words: leave out --mask and --focus" in refused(run(*command, *option))


_STOPS = """
from postedit.core.editor import Abilities, Editor, Identity, PostEdit
from postedit.text.edits import edits_between


class Stops(Editor):
    abilities = Abilities()

    def identity(self, search=None):
        return Identity(("stops",))

    def edit_segments(self, segments, search=None, *, evidence=None):
        texts = [segment.mt.replace(".", "!") for segment in segments]
        return [PostEdit(text, True, edits=edits_between(one.mt, text)) for one, text in zip(segments, texts)]
"""
