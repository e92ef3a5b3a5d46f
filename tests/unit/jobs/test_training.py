"""Training runs: what is wrong is found before the work, and leaves nothing that stops the next try."""

import math
import os
import random
import re
import signal
import subprocess
import sys
import tomllib
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import filelock
import pytest
import stage_tools
import tiny_models
import tomli_w
import torch
from rich.console import Console

from postedit import PostEditor, progress
from postedit.core.editor import PostEdit
from postedit.core.errors import DataError, OutputError, RecipeError
from postedit.core.files import temporary_path
from postedit.data.corpus import Corpus
from postedit.data.triplets import TripletFiles, read_triplets
from postedit.jobs import run_preparation, training
from postedit.recipe import Recipe, load_recipe
from postedit.text.processor import TextProcessor

QUIET = Console(quiet=True)


def write(folder: Path) -> Path:
    """Write triplets and a recipe; return its path."""
    tiny_models.write_triplets(folder)
    train = {"validate_every": 1, "batch_tokens": 60, "metric": "ter"}
    search = {"max_ratio": 0.1, "max_extra": 1}  # validation is soon done
    return tiny_models.write_recipe(folder / "recipe.toml", train=train, search=search)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where a finished run is, with its triplets and its recipe; `finished` puts back what tests change."""
    folder = tmp_path_factory.mktemp("trained")
    training.train(load_recipe(write(folder)), folder / "run", console=QUIET)
    return folder


@pytest.fixture
def finished(trained: Path) -> Path:
    return stage_tools.as_made(trained)


@pytest.fixture
def recipe(path: Path) -> Recipe:
    return load_recipe(path)


def append_a_line(folder: Path, name: str) -> None:
    for side in ("src", "mt", "pe"):
        with (folder / f"{name}.{side}").open("a") as file:
            file.write("one more\n")


def test_a_run_leaves_a_model_and_all_that_is_needed_to_repeat_it(recipe: Recipe, path: Path, tmp_path: Path) -> None:
    result = training.train(recipe, str(tmp_path / "run"), console=QUIET)
    assert result.training.steps == 2
    names = {entry.name for entry in (tmp_path / "run").iterdir()}
    assert {"recipe.toml", "environment.json", "data.json", "text", "corpus", "log.jsonl", "model"} <= names
    assert load_recipe(tmp_path / "run" / "recipe.toml") == recipe
    loaded = training.ModelFolder.load(result.model)
    assert loaded.provenance["dev"]["do_nothing_ter"] == result.unedited.ter
    assert str(tmp_path) not in (result.model / "provenance.json").read_text()  # it may be published
    with pytest.raises(OutputError, match="already holds a run; continue it with --resume"):
        training.train(recipe, tmp_path / "run", console=QUIET)
    longer = load_recipe(path, ["train.max_steps=3", "search.beam=2"])
    assert training.train(longer, tmp_path / "run", resume=True, console=QUIET).training.steps == 3


def test_an_application_may_train_in_inference_mode(recipe: Recipe, tmp_path: Path) -> None:
    with torch.inference_mode():
        assert training.train(recipe, tmp_path / "run", console=QUIET).training.steps == 2


def test_text_is_learnt_from_chosen_sources_and_long_inputs_are_cut(tmp_path: Path) -> None:
    tiny_models.write_triplets(tmp_path)
    for side in ("src", "mt", "pe"):
        (tmp_path / f"more.{side}").write_text(f"{' '.join(['Xylophon'] * (1 if side == 'pe' else 9))}\n" * 20)
    sources = ["train", {"files": "more", "learn_text": False}]
    data = {"train": sources, "max_length": 40, "too_long": "cut"}
    train = {"max_steps": 1, "validate_every": 1, "batch_tokens": 200}
    path = tiny_models.write_recipe(tmp_path / "recipe.toml", data=data, train=train)
    training.train(load_recipe(path), tmp_path / "run", console=QUIET)
    vocabulary = TextProcessor.load(tmp_path / "run/text").vocabulary("pe")
    assert len(vocabulary.encode("Xylophon")) >= 7, "it is written in letters"
    assert len(vocabulary.encode("das")) == 1
    assert len(Corpus.open(tmp_path / "run/corpus/train.arrow")) == len(tiny_models.TRIPLETS) + 20


def test_summaries_are_judged_by_the_sentences_they_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences in another order cost nothing (ROUGE-Lsum), words in another order do."""
    tiny_models.write_triplets(tmp_path)
    for side in ("src", "mt", "pe"):
        (tmp_path / f"dev.{side}").write_text("das Haus . die Katze .\ndas Haus .\n")
    train = {"max_steps": 1, "validate_every": 1, "batch_tokens": 200, "metric": "rouge-l"}
    path = tiny_models.write_recipe(tmp_path / "recipe.toml", train=train)
    texts = ["die Katze . das Haus .", "Haus das ."]
    monkeypatch.setattr(PostEditor, "edit", lambda *given, **options: [SimpleNamespace(text=text) for text in texts])
    single = training.train(load_recipe(path), tmp_path / "run", console=QUIET).training.single
    assert single.score == single.metrics["rouge-l"] == pytest.approx((100.0 + 50.0) / 2)


def test_text_without_spaces_is_scored_by_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_models.write_triplets(tmp_path)
    for side in ("src", "mt", "pe"):
        (tmp_path / f"dev.{side}").write_text("設定を保存します。\n画面を閉じます。\n", encoding="utf-8")
    train = {"max_steps": 1, "validate_every": 1, "batch_tokens": 200, "metric": "ter"}
    path = tiny_models.write_recipe(tmp_path / "recipe.toml", train=train)
    texts = ["設定を保管します。", "画面を閉じます。"]
    monkeypatch.setattr(PostEditor, "edit", lambda *given, **options: [SimpleNamespace(text=text) for text in texts])
    result = training.train(load_recipe(path), tmp_path / "run", console=QUIET)
    assert result.training.single.score == pytest.approx(100.0 / len("".join(texts)))
    assert result.unedited is not None
    assert result.unedited.ter == 0.0
    assert result.unedited.signatures["TER"].endswith("of characters")


@pytest.mark.parametrize(
    ("name", "with_mt"), [("transformer", False), pytest.param("dual-transformer", True, marks=pytest.mark.slow)]
)
def test_a_model_that_does_not_read_mt_is_scored_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, with_mt: bool
) -> None:
    """Else mt would stand in for unsound outputs, and an untrained model would have the scores of unedited MT."""
    tiny_models.write_triplets(tmp_path)
    path = tiny_models.write_recipe(
        tmp_path / "recipe.toml",
        name,
        model={"input": "src"} if name == "transformer" else {},
        train={"max_steps": 1, "validate_every": 1, "batch_tokens": 200, "metric": "ter"},
    )
    given, edit = [], PostEditor.edit

    def noted(editor: PostEditor, src: list[str], mt: list[str] | None, **options: Any) -> list[PostEdit]:
        given.append(mt is not None)
        return edit(editor, src, mt, **options)

    monkeypatch.setattr(PostEditor, "edit", noted)
    training.train(load_recipe(path), tmp_path / "run", console=QUIET)
    assert set(given) == {with_mt}


@pytest.mark.slow
def test_unknown_words_are_copied(tmp_path: Path) -> None:
    """Words that are never in the vocabulary, in an order that was never seen, come out as they went in."""
    rng = random.Random(4)
    words = ["".join(rng.choices("bdfgklmnprst", k=5)) for _ in range(40)]
    for name, count in (("train", 400), ("dev", 20)):
        lines = [[*rng.sample(words, 2), rng.choice(["old", "new"]), rng.choice(words)] for _ in range(count)]
        mt = "".join(f"{' '.join(line)}\n" for line in lines)
        for side, text in (("src", mt), ("mt", mt), ("pe", mt.replace("old", "new"))):
            (tmp_path / f"{name}.{side}").write_text(text)
    path = tiny_models.write_recipe(
        tmp_path / "recipe.toml",
        "pointer-generator",
        model={"embedding": 24, "hidden": 24},
        text={"vocabulary": {"size": 600, "limit": 10, "copied": 8}},
        train={"max_steps": 250, "validate_every": 250, "batch_tokens": 400, "label_smoothing": 0.0, "lr": 0.01},
    )
    result = training.train(load_recipe(path), tmp_path / "run", console=QUIET)
    vocabulary = TextProcessor.load(tmp_path / "run/text").vocabulary("pe")
    assert not any(word in vocabulary.tokens for word in words)
    mt = [f"{one} {other} old {one}" for one, other in zip(words, words[7:])]
    found = [edited.text for edited in PostEditor.load(result.model).edit(mt, mt)]
    right = sum(one == line.replace("old", "new") for one, line in zip(found, mt, strict=True))
    assert right > 0.9 * len(mt)


@pytest.mark.parametrize(
    "train",
    [
        {},
        {"rdrop": 1.0},
        {"risk": {"weight": 0.5, "reference": True}},
        {"risk": {"weight": 0.5, "search": "sample"}},
    ],
)
def test_unknown_words_that_are_cut_off_are_unknown(tmp_path: Path, train: dict[str, Any]) -> None:
    lines = [" ".join([*["old"] * 30, f"w{number:c}"]) for number in range(ord("a"), ord("y"))]
    for name in ("train", "dev"):
        mt = "".join(f"{line}\n" for line in lines)
        for side, text in (("src", mt), ("mt", mt), ("pe", "".join(f"old {line[-2:]}\n" for line in lines))):
            (tmp_path / f"{name}.{side}").write_text(text)
    path = tiny_models.write_recipe(
        tmp_path / "recipe.toml",
        "pointer-generator",
        model={"embedding": 4, "hidden": 4},
        text={"vocabulary": {"size": 600, "limit": 10, "copied": 5}},
        data={"max_length": 21, "too_long": "cut"},
        train={"max_steps": 2, "validate_every": 2, "batch_tokens": 100, "label_smoothing": 0.0, **train},
        search={"max_input": 21, "cut_input": True, "mt_candidate": False},
    )
    result = training.train(load_recipe(path), tmp_path / "run", console=QUIET)
    assert result.training.steps == 2
    (scored,) = PostEditor.load(result.model).score(lines[:1], lines[:1], [f"old {lines[0][-2:]}"])
    assert math.isfinite(scored.score)


def test_resuming_without_a_run_is_refused(recipe: Recipe, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"holds no run to resume; .* leave out --resume to start"):
        training.train(recipe, tmp_path / "run", resume=True, console=QUIET)
    with pytest.raises(OutputError, match="holds no run to resume"):
        training.train_seeds(recipe, tmp_path / "run", 2, resume=True, console=QUIET)
    assert not (tmp_path / "run").exists()


def test_a_run_that_was_killed_while_it_wrote_its_recipe_starts_again(recipe: Recipe, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for left in ("run.lock", temporary_path(folder / "recipe.toml").name):
        (folder / left).write_text("")
    with run_preparation.locked_run(recipe, folder, resume=False):
        assert (folder / "recipe.toml").exists()


@pytest.mark.slow
def test_byte_order_mark_and_crlf_are_warned_of_before_training(recipe: Recipe, tmp_path: Path) -> None:
    lines = (tmp_path / "train.src").read_bytes()
    (tmp_path / "train.src").write_bytes(b"\xef\xbb\xbf" + lines.replace(b"\n", b"\r\n"))
    console = Console(file=StringIO(), width=200)
    training.train(recipe, tmp_path / "run", console=console)
    assert "train.src: starts with a byte-order mark" in console.file.getvalue()  # type: ignore[attr-defined]
    assert "train.src: 8 lines end in CR LF (Windows line ends)" in console.file.getvalue()  # type: ignore[attr-defined]
    (tmp_path / "train.src").write_bytes(lines)
    training.train(recipe, tmp_path / "plain", console=QUIET)
    corpora = [Corpus.open(tmp_path / name / "corpus" / "train.arrow") for name in ("run", "plain")]
    assert corpora[0].fingerprint == corpora[1].fingerprint


def test_two_processes_do_not_train_in_one_folder(recipe: Recipe, tmp_path: Path) -> None:
    hold = "import sys, filelock; lock = filelock.FileLock(sys.argv[1]); lock.acquire(); print(flush=True); input()"
    (tmp_path / "run").mkdir()
    with run_preparation.locked_run(recipe, tmp_path / "run", resume=False):
        pass
    command = [sys.executable, "-c", hold, str(tmp_path / "run" / "run.lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(OutputError, match="another process is training there; wait until it ends"):
            training.train(recipe, tmp_path / "run", resume=True, console=QUIET)
        other.kill()  # the lock goes with its process
    assert training.train(recipe, tmp_path / "run", resume=True, console=QUIET).training.steps == 2


def test_a_run_in_progress_keeps_its_files_when_another_is_refused(finished: Path) -> None:
    recipe = (finished / "run" / "recipe.toml").read_bytes()
    append_a_line(finished, "train")
    longer = load_recipe(finished / "recipe.toml", ["train.max_steps=4"])
    with filelock.FileLock(finished / "run" / "run.lock"), pytest.raises(OutputError, match="another process"):
        training.train(longer, finished / "run", resume=True, console=QUIET, accept_changed_data=True)
    assert (finished / "run" / "corpus" / "train.arrow").exists()
    assert (finished / "run" / "recipe.toml").read_bytes() == recipe


def test_a_run_begun_in_the_meantime_is_kept(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = load_recipe(path), load_recipe(path, ["data.max_length=7"])

    def meanwhile(*_: object) -> None:
        monkeypatch.undo()
        with run_preparation.locked_run(first, tmp_path / "run", resume=False):
            pass

    monkeypatch.setattr(run_preparation, "check_files", meanwhile)
    with pytest.raises(OutputError, match="already holds a run"):
        training.train(second, tmp_path / "run", console=QUIET)
    assert load_recipe(tmp_path / "run" / "recipe.toml") == first


@pytest.mark.parametrize("change", ["train.lr=0.5", "model.dim=16", "data.max_length=9", "text.truecase=true"])
def test_a_run_is_not_resumed_with_another_recipe_and_keeps_its_own(path: Path, tmp_path: Path, change: str) -> None:
    with run_preparation.locked_run(load_recipe(path), tmp_path / "run", resume=False):
        pass
    before = (tmp_path / "run" / "recipe.toml").read_text()
    with pytest.raises(RecipeError) as caught:
        training.train(load_recipe(path, [change]), tmp_path / "run", resume=True, console=QUIET)
    option, _, value = change.partition("=")
    assert "choose another folder with --out, or delete this one" in str(caught.value)
    assert f"{option}: was " in str(caught.value)
    assert f"is {value.capitalize() if value == 'true' else value}" in str(caught.value)
    assert (tmp_path / "run" / "recipe.toml").read_text() == before


@pytest.mark.parametrize(
    ("content", "message"), [(b"one\n", "numbers of lines differ"), (b"\xff\n" * 8, "not UTF-8"), (b"", "is empty")]
)
def test_a_command_works_once_bad_data_is_mended(recipe: Recipe, tmp_path: Path, content: bytes, message: str) -> None:
    good = (tmp_path / "dev.pe").read_bytes()
    (tmp_path / "dev.pe").write_bytes(content)
    with pytest.raises(DataError, match=message):
        training.train(recipe, tmp_path / "run", console=QUIET)
    assert not (tmp_path / "run").exists()
    (tmp_path / "dev.pe").write_bytes(good)
    with run_preparation.locked_run(recipe, tmp_path / "run", resume=False):
        pass


_STAGED = {"stage": [{"name": "one"}, {"name": "two"}]}
_DRAFTED = {
    "model": {"name": "attention-nmt", "embedding": 4, "hidden": 4, "attention": 4, "maxout": 3},
    "train": {"max_steps": 1},
    "inherit_embeddings": False,
}


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, _STAGED, {"draft": _DRAFTED}, {"draft": {**_DRAFTED, "folds": 2}}])
def test_a_run_without_a_triplet_leaves_no_vocabulary(path: Path, tmp_path: Path, more: dict[str, Any]) -> None:
    path.write_text(tomli_w.dumps(tomllib.loads(path.read_text()) | more))
    good = {side: (tmp_path / f"train.{side}").read_bytes() for side in ("src", "mt", "pe")}
    for side in good:
        (tmp_path / f"train.{side}").write_text("\n \n")
    for _ in range(2):
        with pytest.raises(DataError, match="no triplet is left"):
            training.train(load_recipe(path), tmp_path / "run", console=QUIET)
        assert [file.name for file in (tmp_path / "run").iterdir() if file.name != "run.lock"] == []
    for side, content in good.items():
        (tmp_path / f"train.{side}").write_bytes(content)
    run = training.train(load_recipe(path), tmp_path / "run", console=QUIET)
    whole = training.train(load_recipe(path), tmp_path / "whole", console=QUIET)
    assert TextProcessor.load(run.model / "text").tokens == TextProcessor.load(whole.model / "text").tokens


def test_a_resumed_run_keeps_its_text_if_its_data_is_gone(finished: Path) -> None:
    for side in ("src", "mt", "pe"):
        (finished / f"train.{side}").write_text("\n \n")
    recipe = load_recipe(finished / "recipe.toml")
    with pytest.raises(DataError, match="no triplet is left"):
        training.train(recipe, finished / "run", resume=True, console=QUIET, accept_changed_data=True)
    assert {"text", "recipe.toml"} <= {file.name for file in (finished / "run").iterdir()}


def test_a_folder_that_cannot_be_written_is_found_before_the_data_is_read(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_preparation, "check_files", lambda *_: pytest.fail("data was read"))
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        training.train(recipe, tmp_path / "file" / "run", console=QUIET)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis").write_text("")
    with pytest.raises(OutputError, match="is not empty and holds no run"):
        training.train(recipe, tmp_path / "full", console=QUIET)


def test_changed_data_is_refused_unless_it_is_accepted(finished: Path) -> None:
    run = finished / "run"
    before = Corpus.open(run / "corpus" / "train.arrow").fingerprint
    append_a_line(finished, "train")
    longer = load_recipe(finished / "recipe.toml", ["train.max_steps=4"])
    with pytest.raises(DataError, match=r"train\.src, .*train\.pe: changed since .* --accept-changed-data"):
        training.train(longer, run, resume=True, console=QUIET)
    result = training.train(longer, run, resume=True, console=QUIET, accept_changed_data=True)
    assert result.training.steps == 4
    corpus = Corpus.open(run / "corpus" / "train.arrow")
    assert corpus.fingerprint != before
    assert len(corpus) == 9
    training.train(longer, run, resume=True, console=QUIET)  # now it is that of the run


def test_a_file_that_was_only_touched_has_not_changed(finished: Path) -> None:
    os.utime(finished / "train.src", (1, 1))
    recipe = load_recipe(finished / "recipe.toml")
    assert training.train(recipe, finished / "run", resume=True, console=QUIET).training.steps == 2


def test_with_another_dev_set_the_best_counts_no_more(finished: Path) -> None:
    for side in ("src", "mt", "pe"):
        (finished / f"dev.{side}").write_text("one\ntwo words\n")
    longer = load_recipe(finished / "recipe.toml", ["train.max_steps=3"])
    result = training.train(longer, finished / "run", resume=True, console=QUIET, accept_changed_data=True)
    assert result.training.steps == 3
    assert {entry.name for entry in (finished / "run" / "best").glob("step-*")} >= {"step-00000003.safetensors"}
    assert "step-00000001" not in (finished / "run" / "best" / "best.json").read_text()


def test_a_finished_run_is_validated_again_with_another_dev_set(path: Path, tmp_path: Path) -> None:
    recipe = load_recipe(path, ["train.validate_every=1", "train.save_every=1"])
    training.train(recipe, tmp_path / "run", console=QUIET)
    for side in ("src", "mt", "pe"):
        (tmp_path / f"dev.{side}").write_text("one\ntwo words\n")
    result = training.train(recipe, tmp_path / "run", resume=True, console=QUIET, accept_changed_data=True)
    assert result.training.single.step == 2


def test_a_kill_leaves_no_corpora_unaccounted_for(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("postedit.jobs.run_preparation.manifest", killed)
    with pytest.raises(KeyboardInterrupt):
        training.train(load_recipe(path), tmp_path / "run", console=QUIET)
    monkeypatch.undo()
    training.train(load_recipe(path), tmp_path / "run", resume=True, console=QUIET)
    assert (tmp_path / "run" / "manifest.json").exists()


def test_the_text_is_learnt_from_a_sample_of_many_triplets(path: Path, tmp_path: Path) -> None:
    console = Console(file=StringIO(), width=200)
    training.train(load_recipe(path, ["text.sample=3"]), tmp_path / "run", console=console)
    assert "From 3 of 8 triplets, see text.sample" in console.file.getvalue()  # type: ignore[attr-defined]
    recipe = load_recipe(path)
    sample = [list(read_triplets(recipe.data.train))[number] for number in (2, 5, 7)]
    expected = TextProcessor.fit(recipe.text, lambda: sample).vocabularies
    assert TextProcessor.load(tmp_path / "run" / "text").vocabularies == expected
    assert expected != TextProcessor.fit(recipe.text, lambda: read_triplets(recipe.data.train)).vocabularies


def test_preparation_shows_rate_and_time_left(recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_LOG_SECONDS", 0.0)
    monkeypatch.setattr(progress, "_LINES_PER_UPDATE", 5)
    console = Console(file=StringIO(), width=200)
    training.train(recipe, tmp_path / "run", console=console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    learning, writing = shown.split("Turning")
    for part in learning, writing:
        assert re.search(r"5 of \d+ lines, [\d.,]+ lines/s, \d+ s left", part)


KILLED = """
import os, signal, sys
from pathlib import Path
from rich.console import Console
from postedit.data import corpus
from postedit.recipe import load_recipe
from postedit.jobs.training import train

corpus.Corpus.open = lambda path: os.kill(os.getpid(), signal.SIGKILL)  # when the first of two files is whole
train(load_recipe(Path(sys.argv[1])), Path(sys.argv[2]), console=Console(quiet=True))
"""


@pytest.mark.slow
def test_corpora_left_unfinished_by_a_kill_are_written_again(recipe: Recipe, path: Path, tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    folder = tmp_path / "killed"
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path), str(folder)], env=environment, timeout=600)
    assert ended.returncode == -signal.SIGKILL
    assert [entry.name for entry in folder.glob(".corpus.*/*")] == ["train.arrow"]
    assert not (folder / "corpus").exists()
    training.train(recipe, folder, resume=True, console=QUIET)
    training.train(recipe, tmp_path / "whole", console=QUIET)
    assert not list(folder.glob(".*"))
    for name in ("train.arrow", "dev.arrow"):
        assert (folder / "corpus" / name).read_bytes() == (tmp_path / "whole" / "corpus" / name).read_bytes()


def test_a_machine_that_does_not_see_the_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(
        OutputError, match=r"does not see what the first process wrote there; .* that all machines share"
    ):
        run_preparation.check_shared(tmp_path)


def test_lines_of_all_sources_are_counted(tmp_path: Path) -> None:
    for name, lines in (("one", 3), ("two", 2)):
        for side in ("src", "mt", "pe"):
            (tmp_path / f"{name}.{side}").write_text("text\n" * lines)
    one, two = TripletFiles.of(tmp_path / "one"), TripletFiles.of(tmp_path / "two")
    assert (run_preparation.count_lines([one]), run_preparation.count_lines([one, two])) == (3, 5)
