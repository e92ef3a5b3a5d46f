import errno
import itertools
import json
import pydoc
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.commands import refused

from postedit.core.saved_arrays import SavedArrays
from postedit.data import duplicates
from postedit.jobs import corpus_statistics

SAMPLE = Path(__file__).parents[3] / "examples/mlqe-pe.en-de"
ROOT = Path(__file__).parents[3]


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    for part in ("dev", "test"):
        for side in ("src", "mt", "pe"):
            shutil.copy(SAMPLE / f"{part}.{side}", tmp_path)
    return tmp_path


@pytest.mark.parametrize("out", ["folder/", "", ".."])
@pytest.mark.parametrize("verb", ["clean", "extract"])
def test_what_no_names_of_files_begin_with(run: Any, sample: Path, verb: str, out: str) -> None:
    result = run("data", verb, sample / "test", "--out", out)
    assert result.exit_code == 2
    assert "what the names of files begin with" in " ".join(result.stderr.replace("│", " ").split())


class TestStats:
    def test_tables(self, run: Any, sample: Path) -> None:
        result = run("data", "stats", sample / "test", "--dev", sample / "dev")
        assert result.exit_code == 0
        for words in ("sentence TER", "substitutions", "repeat an earlier one", "are in dev", "most frequent contexts"):
            assert words in result.stdout
        assert "nrefs:1|case:mixed" in result.stdout

    def test_text_without_spaces(self, run: Any, tmp_path: Path) -> None:
        path = tmp_path / "x.tsv"
        texts = "Save it.", "この設定を保存して画面を閉じる。", "この設定を保管して画面を閉じる。"
        path.write_text(("\t".join(texts) + "\n") * 3, encoding="utf-8")
        told = run("data", "stats", path).stderr
        assert "x.tsv has no spaces between words" in told
        assert "TER" not in told  # 100, but of sentences
        result = run("data", "stats", path, "--tokenize", "characters")
        assert result.stderr == ""
        assert "mt, characters" in result.stdout
        assert "TER 6.25" in result.stdout

    def test_json_and_picture(self, run: Any, sample: Path) -> None:
        out, picture = sample / "out.json", sample / "out.svg"
        assert run("data", "stats", sample / "test", "--json", out, "--picture", picture).exit_code == 0
        values = json.loads(out.read_text())
        lines = len((SAMPLE / "test.src").read_text(encoding="utf-8").splitlines())
        assert values["triplets"] == lines
        assert sum(values["edits"]["histogram"].values()) == lines
        assert values["edits"]["most frequent"][0]["contexts"]
        assert "<svg" in picture.read_text()

    def test_columns_that_seem_swapped(self, run: Any, sample: Path, tmp_path: Path) -> None:
        src, mt, pe = (str(sample / f"test.{side}") for side in ("src", "mt", "pe"))
        assert "swapped" not in run("data", "stats", sample / "test").stderr
        result = run("data", "stats", f"{mt},{src},{pe}", "--json", tmp_path / "out.json")
        assert "warning: src and pe read as one language (de), and mt as another (en)" in result.stderr
        found = json.loads((tmp_path / "out.json").read_text())["warnings"]
        assert "check whether src and mt are swapped" in found[0]
        shortened = run("data", "stats", f"{src},{src},{mt}")  # as for models that read src as mt
        assert (shortened.exit_code, "warning" in shortened.stderr) == (0, False)

    def test_a_dev_set_is_not_written_over(self, run: Any, sample: Path) -> None:
        before = (sample / "dev.pe").read_bytes()
        result = run("data", "stats", sample / "test", "--dev", sample / "dev", "--json", sample / "dev.pe")
        assert (result.exit_code, "is one of the files to read" in result.stderr) == (1, True)
        assert (sample / "dev.pe").read_bytes() == before

    def test_a_picture_of_chinese_edits_raises_no_warning(self, run: Any, tmp_path: Path, recwarn: Any) -> None:
        for side, text in {"src": "a .", "mt": "甲 , 乙 .", "pe": "甲 ， 丙 。"}.items():
            (tmp_path / f"zh.{side}").write_text(f"{text}\n" * 3, encoding="utf-8")
        result = run("data", "stats", tmp_path / "zh", "--picture", tmp_path / "zh.png")
        assert result.exit_code == 0
        assert "Glyph" not in result.stderr
        assert not [one for one in recwarn.list if "Glyph" in str(one.message)]

    def test_dollar_signs_in_a_picture_are_not_tex(self, run: Any, tmp_path: Path) -> None:
        for side, text in {"src": "a", "mt": "$ a $", "pe": "$_$ b $"}.items():
            (tmp_path / f"$_$.{side}").write_text(f"{text}\n" * 3)
        result = run("data", "stats", tmp_path / "$_$", "--picture", tmp_path / "x.png")
        assert result.exit_code == 0, result.output

    def test_the_whole_signature_is_in_the_picture(
        self, run: Any, sample: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from matplotlib.figure import Figure

        drawn: list[Figure] = []
        monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
        options = ("--tokenize", "characters", "--picture", sample / "out.png")
        assert run("data", "stats", sample / "test", *options).exit_code == 0
        (figure,) = drawn
        figure.draw_without_rendering()
        label = figure.axes[1].xaxis.label
        assert label.get_text().replace("\n", "").endswith("of characters")
        assert label.get_window_extent().x1 <= figure.bbox.x1

    @pytest.mark.parametrize("word", ["https://example.com/" + "page/" * 30, "Щ" * 60])
    def test_a_long_word_leaves_room_for_the_picture(
        self, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str
    ) -> None:
        from matplotlib.figure import Figure

        drawn: list[Figure] = []
        monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
        for side, text in {"src": "a b", "mt": f"a {word}", "pe": f"a {word}x"}.items():
            (tmp_path / f"long.{side}").write_text(f"{text}\n" * 3, encoding="utf-8")
        assert run("data", "stats", tmp_path / "long", "--picture", tmp_path / "x.png").exit_code == 0
        (figure,) = drawn
        figure.draw_without_rendering()
        (name,) = figure.axes[3].get_yticklabels()
        assert name.get_text() == f"{word[:8]}…{word[-7:]} → {word[:8]}…{word[-6:]}x"
        assert name.get_window_extent().x0 > figure.axes[2].get_window_extent().x1

    def test_no_font_is_missed_for_what_is_not_drawn(self, run: Any, tmp_path: Path) -> None:
        for side, text in {"src": "a", "mt": "b" * 20, "pe": "c" * 10 + "𓀀" + "c" * 10}.items():
            (tmp_path / f"long.{side}").write_text(f"{text}\n", encoding="utf-8")
        result = run("data", "stats", tmp_path / "long", "--picture", tmp_path / "x.png")
        assert (result.exit_code, "no font" in result.stderr) == (0, False)

    def test_no_picture_no_matplotlib(self, run: Any, sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        assert run("data", "stats", sample / "test").exit_code == 0

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["tset"], 'no such file; did you mean "test.src"?'),
            (["test", "--picture", "x.bmp"], "the name of a picture must end in .png, .svg, .pdf"),
            (["test", "--json", "none/x.json"], "does not exist; create it first"),
            (["test,"], "give SRC,MT,PE or SRC,PE with commas"),
            (["test.src,test.mt,test.src"], "src and pe are both test.src; only one .tsv or .jsonl file can hold all"),
            (["test", "--address", "head:6379"], "--address head:6379: is that of a Ray cluster: add --engine ray"),
            (["test", "test.src,test.pe"], "only one of them has machine translations"),
            (["test", "--json", "test.mt"], "test.mt is one of the files to read"),
            (["test", "--json", ""], "is a folder; give the name of a file"),
        ],
    )
    def test_impossible_requests_end_with_an_explanation(
        self, run: Any, sample: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
    ) -> None:
        monkeypatch.chdir(sample)
        result = run("data", "stats", *arguments)
        assert message in refused(result)
        assert "Traceback" not in result.stderr

    def test_interrupted_work_is_continued(self, run: Any, sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(corpus_statistics, "BLOCK", 100)
        monkeypatch.setitem(SavedArrays.__init__.__kwdefaults__, "seconds", 0.0)
        out, work, count = sample / "out.json", sample / "out.json.work", corpus_statistics._block_statistics
        command = ("data", "stats", sample / "test", "--dev", sample / "dev", "--json", out, "--workers", 1)
        first = run(*command)
        expected = out.read_bytes()
        out.unlink()

        def interrupted(block: Any, **options: Any) -> Any:
            if block.number == 2:
                raise KeyboardInterrupt
            return count(block, **options)

        monkeypatch.setattr(corpus_statistics, "_block_statistics", interrupted)
        stopped = run(*command)
        assert stopped.exit_code == 130
        assert "counts are kept in" in stopped.stderr
        assert "--resume" in stopped.stderr
        assert not out.exists()
        (sample / "dev.pe").rename(sample / "kept")
        (sample / "dev.pe").write_text((sample / "kept").read_text("utf-8").replace("e", "a"), "utf-8")
        assert "was made with another dev" in " ".join(refused(run(*command, "--resume")).split())
        (sample / "kept").rename(sample / "dev.pe")
        rest = lambda block, **given: count(block, **given) if block.number >= 2 else pytest.fail("again")  # noqa: E731
        monkeypatch.setattr(corpus_statistics, "_block_statistics", rest)
        assert run(*command, "--resume").stdout == first.stdout
        assert out.read_bytes() == expected
        assert not list(sample.glob("out.json.*"))
        assert not work.exists()

    def test_resuming_needs_a_place(self, run: Any, sample: Path) -> None:
        assert "name one, such as --json FILE" in refused(run("data", "stats", sample / "test", "--resume"))

    def test_empty_sides_alone(self, run: Any, tmp_path: Path) -> None:
        (tmp_path / "x.tsv").write_text(" \ta\tb\n")
        assert "nothing to count" in refused(run("data", "stats", tmp_path / "x.tsv"))

    def test_a_full_disk(self, run: Any, sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TMPDIR", str(sample))
        monkeypatch.setattr(tempfile, "tempdir", None)
        monkeypatch.setattr(duplicates, "_RUN_ROWS", 100)
        monkeypatch.setattr(duplicates, "save_rows", full)
        result = run("data", "stats", sample / "test", "--workers", 1)
        assert result.exit_code == 1
        assert re.search(
            f"{sample}/postedit-.*the disk is full; free some space .* in the variable TMPDIR", result.stderr
        )
        assert not list(sample.glob("postedit-*"))


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


KILLED = """
import os, signal
from postedit.cli.main import main
from postedit.data.cleaning import cleaner
save, saved = cleaner.save_rows, []
def save_and_die(*values):
    save(*values)
    saved.append(values)
    if len(saved) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
cleaner.save_rows = save_and_die
main()
"""
"""The command, killed in the middle of the second block: it has two files, of which this is the first."""


class TestClean:
    LANGUAGES = ("--set", "src_lang=en", "--set", "tgt_lang=de")

    def test_another_process_that_writes_is_named(self, run: Any, sample: Path, locked: Callable[[Path], int]) -> None:
        number = locked(sample / "x")
        result = run("data", "clean", sample / "dev", "--out", sample / "x", "--resume", *self.LANGUAGES)
        assert f"x: another process ({number}) is writing to it" in result.stderr

    def test_report_and_files(self, run: Any, sample: Path) -> None:
        result = run("data", "clean", sample / "test", "--out", sample / "clean", *self.LANGUAGES)
        assert result.exit_code == 0
        assert "copy_of_source" in result.stdout
        assert "% of the words are copied from src" in result.stdout
        kept = (sample / "clean.pe").read_text(encoding="utf-8").count("\n")
        gone = (sample / "clean.removed.jsonl").read_text(encoding="utf-8").count("\n")
        assert kept + gone == (sample / "test.pe").read_text(encoding="utf-8").count("\n")
        assert f"{kept:,} of {kept + gone:,} kept" in result.stdout

    @pytest.mark.parametrize("recipe", sorted((ROOT / "recipes/clean").glob("*.toml")), ids=lambda path: path.stem)
    def test_recipes(self, run: Any, sample: Path, recipe: Path) -> None:
        result = run("data", "clean", sample / "dev", "--out", sample / "x", "--recipe", recipe, *self.LANGUAGES)
        assert result.exit_code == 0, result.stderr

    def test_problems_of_a_recipe_are_reported_together(self, run: Any, sample: Path) -> None:
        (sample / "bad.toml").write_text("[lenght]\nmax = 3\n[ratio]\nmax = 0.5\n[language]\non = false\n")
        result = run("data", "clean", sample / "dev", "--out", sample / "x", "--recipe", sample / "bad.toml")
        assert 'lenght: no such option; did you mean "length"?' in refused(result)
        assert "ratio.max" in result.stderr
        assert "2 problems" in result.stderr

    def test_ctrl_c_says_how_to_go_on(self, run: Any, sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def stop(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("postedit.progress.LineProgress.update", stop)
        arguments = ("data", "clean", sample / "dev", "--out", sample / "x", *self.LANGUAGES)
        result = run(*arguments)
        assert result.exit_code == 130
        assert "--resume" in result.stderr
        monkeypatch.undo()
        assert "add --resume" in run(*arguments).stderr
        assert run(*arguments, "--resume").exit_code == 0

    @pytest.mark.parametrize(
        ("fails", "after"),  # which of its calls: blocks have two files each, and there are three blocks
        [
            pytest.param("os.fsync", 0, marks=pytest.mark.slow),
            pytest.param("os.fsync", 3, marks=pytest.mark.slow),
            pytest.param("os.fsync", 8, marks=pytest.mark.slow),
            ("postedit.data.cleaning.cleaner.save_rows", 1),
            pytest.param("postedit.data.cleaning.cleaner.tempfile.mkdtemp", 0, marks=pytest.mark.slow),
        ],
    )
    def test_a_full_disk_costs_nothing_that_is_done(
        self, run: Any, sample: Path, monkeypatch: pytest.MonkeyPatch, fails: str, after: int
    ) -> None:
        monkeypatch.setattr("postedit.data.cleaning.cleaner.BLOCK", 200)
        arguments = ("data", "clean", sample / "dev", "--workers", 1, *self.LANGUAGES)
        assert run(*arguments, "--out", sample / "whole").exit_code == 0
        works, calls = pydoc.locate(fails), itertools.count()

        def sometimes(*values: Any, **named: Any) -> Any:
            return full() if next(calls) >= after else works(*values, **named)  # type: ignore[operator]

        monkeypatch.setattr(fails, sometimes)
        result = run(*arguments, "--out", sample / "x")
        monkeypatch.setattr(fails, works)
        assert "the disk is full; free some space" in refused(result)
        begun = (sample / "x.work").exists()
        assert begun == ("continue with the same command and --resume" in result.stderr)
        assert not (sample / "x.report.json").exists()
        assert run(*arguments, "--out", sample / "x", *(["--resume"] if begun else [])).exit_code == 0
        for end in ("src", "mt", "pe", "removed.jsonl", "report.json"):
            assert (sample / f"x.{end}").read_bytes() == (sample / f"whole.{end}").read_bytes()

    @pytest.mark.slow
    def test_killed_work_goes_on_to_the_same_result(self, run: Any, tmp_path: Path) -> None:
        lines = [
            (f"{number % 30_000} words", f"{number} Worte", f"{number % 30_000} Worte") for number in range(60_000)
        ]
        for side, texts in zip(("src", "mt", "pe"), zip(*lines)):
            (tmp_path / f"x.{side}").write_text("".join(f"{text}\n" for text in texts))
        options = (
            "--set",
            "language.on=false",
            "--set",
            'duplicates.sides=["src", "pe"]',
            "--set",
            "near_duplicates.on=false",
            "--workers",
            "1",
        )
        command = ("data", "clean", str(tmp_path / "x"), "--out", str(tmp_path / "out"), *options)
        killed = subprocess.run([sys.executable, "-c", KILLED, *command], stderr=subprocess.DEVNULL, check=False)
        assert killed.returncode == -signal.SIGKILL
        assert (tmp_path / "out.work/000000.jsonl").exists()
        assert not (tmp_path / "out.work/000001.jsonl").exists()
        assert not (tmp_path / "out.src").exists()
        assert "add --resume" in run(*command).stderr
        assert run(*command, "--resume").exit_code == 0
        whole = [part.replace(str(tmp_path / "out"), str(tmp_path / "whole")) for part in command]
        assert run(*whole).exit_code == 0
        for end in ("src", "mt", "pe", "removed.jsonl", "report.json"):
            assert (tmp_path / f"out.{end}").read_bytes() == (tmp_path / f"whole.{end}").read_bytes()
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".") or path.suffix == ".work"] == []
