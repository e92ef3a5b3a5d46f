"""Drafting and refinement as one command: from parallel text to a model that drafts and refines in one call."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import torch
from rich.console import Console
from safetensors.torch import load_file
from typer.testing import CliRunner

from postedit import PostEditor
from postedit.cli.main import app
from postedit.core.errors import DataError, ModelFolderError, RecipeError, TrainingError
from postedit.data.corpus import Corpus
from postedit.data.triplets import Triplet, TripletFiles, read_triplets
from postedit.folder import ModelFolder
from postedit.jobs import drafting, training
from postedit.recipe import load_recipe
from postedit.train.update import Updater

QUIET = Console(quiet=True)
PAIRS = [("the house", "das Haus"), ("it goes", "es geht"), ("the house goes", "das Haus geht"), ("it", "es")] * 5
SIZES = {"embedding": 4, "hidden": 5, "attention": 6, "maxout": 3}
END = {"max_steps": 2, "batch_tokens": 60, "validate_every": 1, "average": "none"}


def write(folder: Path, **draft: Any) -> Path:
    for number, language in enumerate(("en", "de")):
        for part in ("train", "dev"):
            lines = "".join(f"{pair[number]}\n" for pair in PAIRS)
            (folder / f"{part}.{language}").write_text(lines, encoding="utf-8")
    values = {
        "model": {"name": "double-attention", "freeze_embeddings": True, **SIZES},
        "text": {"vocabulary": {"size": 280}},
        "data": {part: {"src": f"{part}.en", "pe": f"{part}.de"} for part in ("train", "dev")},
        "train": END,
        "search": {"max_ratio": 1.0, "max_extra": 2},
        "draft": {
            "model": {"name": "attention-nmt", **SIZES},
            "train": END,
            "search": {"beam": 2, "max_ratio": 1.0, "max_extra": 2},
            **draft,
        },
    }
    path = folder / "recipe.toml"
    path.write_text(tomli_w.dumps(values), encoding="utf-8")
    return path


@pytest.fixture(scope="module", autouse=True)
def nonsense_is_text() -> Iterator[None]:
    """Leave bytes that are no text in outputs: models that are hardly trained write little else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("postedit.editing.soundness.keeps_text_sound", lambda *arguments: True)
        patch.setattr("postedit.editing.soundness.empties", lambda *arguments: False)
        yield


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    result = training.train(load_recipe(write(folder)), folder / "run", console=QUIET)
    assert result.training.steps == 2
    assert result.unedited is not None
    assert result.unedited.name == "drafts"
    return folder / "run"


def test_both_stages_share_text_processing_and_frozen_embeddings(trained: Path) -> None:
    first, second = (ModelFolder.load(trained / name) for name in ("draft/model", "model"))
    assert first.processor.vocabularies == second.processor.vocabularies
    ours, theirs = second.model.embeddings(), first.model.embeddings()
    for side, source in (("src", "src"), ("mt", "pe"), ("pe", "pe")):
        assert torch.equal(ours[side].weight, theirs[source].weight)
    other = load_file(next((trained / "best").glob("*.safetensors")))
    assert torch.equal(other["embed_pe.weight"], theirs["pe"].weight), "they were trained"


@pytest.mark.slow
def test_a_refining_model_is_trained_further_with_frozen_embeddings(trained: Path, tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_text(path.read_text().partition("[draft")[0])
    drafts = trained / "drafts"
    change = [f"data.{part}='{drafts / part}.jsonl'" for part in ("train", "dev")]
    for start in ("model", "draft/model"):
        console = Console(record=True, width=200, file=(tmp_path / "console").open("w"))
        recipe = load_recipe(path, [*change, f"text.model={trained / 'model'}", f"train.init={trained / start}"])
        run = training.train(recipe, tmp_path / start, console=console)
        ours, theirs = (ModelFolder.load(one).model.embeddings() for one in (run.model, trained / "model"))
        said = console.export_text().partition("frozen embeddings: what was not taken stays random")[2]
        assert ("embed_inputs.src.weight" in said) == (start != "model"), "the first stage calls its table differently"
        assert torch.equal(ours["pe"].weight, theirs["pe"].weight)
        assert torch.equal(ours["src"].weight, theirs["src"].weight) == (start == "model")


def test_the_second_stage_learnt_from_the_drafts_of_the_first(trained: Path) -> None:
    triplets = list(read_triplets(TripletFiles.of(trained / "drafts" / "train.jsonl")))
    drafts = PostEditor.load(trained / "draft" / "model", device="cpu").edit([src for src, _ in PAIRS])
    # Those that are empty are left out.
    assert [(triplet.src, triplet.mt, triplet.pe) for triplet in triplets] == [
        (src, draft.text, pe) for (src, pe), draft in zip(PAIRS, drafts) if draft.text.strip()
    ]
    assert triplets


@pytest.mark.slow
def test_with_several_seeds_each_member_has_its_own_first_stage(tmp_path: Path) -> None:
    recipe = load_recipe(write(tmp_path))
    one, two = (one.folder for one in training.train_seeds(recipe, tmp_path / "run", 2, resume=False, console=QUIET))
    first, second = ((folder / "draft" / "model" / "model.safetensors").read_bytes() for folder in (one, two))
    assert first != second
    triplets = list(read_triplets(TripletFiles.of(two / "drafts" / "train.jsonl")))
    drafts = [
        draft.text for draft in PostEditor.load(two / "draft" / "model", device="cpu").edit([src for src, _ in PAIRS])
    ]
    assert [triplet.mt for triplet in triplets] == [draft for draft in drafts if draft.strip()]
    known = [ModelFolder.load(folder / "model").processor.vocabularies for folder in (one, two)]
    assert known[0] == known[1]
    own, other = (Corpus.open(folder / "corpus" / "train.arrow").fingerprint for folder in (one, two))
    assert own != other


def test_draft_and_refinement_in_one_call(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained / "model", tmp_path / "model")  # it needs nothing of the run
    editor = PostEditor.load(tmp_path / "model", device="cpu")
    first = PostEditor.load(trained / "draft" / "model", device="cpu")
    src = ["the house", "", "it goes"]
    results = editor.edit(src)
    drafts = [draft.text for draft in first.edit(src)]
    assert [result.draft for result in results] == drafts
    given = editor.edit(src, drafts)
    assert [result.text for result in results] == [result.text for result in given]
    assert all(result.draft is None for result in given)
    assert results[1].skipped == "empty"
    editor.save_pretrained(tmp_path / "again")
    assert PostEditor.load(tmp_path / "again", device="cpu").edit(src) == results
    shutil.rmtree(tmp_path / "again" / "draft")
    with pytest.raises(ModelFolderError, match="draft"):
        PostEditor.load(tmp_path / "again", device="cpu")


def test_edit_without_mt_drafts_and_refines(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "x.en").write_text("the house\nit\n")
    runner = CliRunner()
    result = runner.invoke(app, ["edit", str(trained / "model"), "--src", str(tmp_path / "x.en"), "--format", "jsonl"])
    assert result.exit_code == 0, result.stderr
    assert all(json.loads(line)["draft"] is not None for line in result.stdout.splitlines())
    assert len(result.stdout.splitlines()) == 2
    result = runner.invoke(app, ["edit", str(trained / "draft" / "model"), "--src", str(tmp_path / "x.en")])
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 2)


def test_a_model_without_a_first_stage_needs_mt(trained: Path) -> None:
    folder = ModelFolder.load(trained / "model")
    with pytest.raises(DataError, match="no first stage"):
        PostEditor(folder.model, folder.processor, folder.search).edit(["the house"])


@pytest.mark.slow
def test_each_fold_is_translated_by_a_model_that_did_not_see_it(tmp_path: Path) -> None:
    recipe = load_recipe(write(tmp_path, folds=2))
    training.train(recipe, tmp_path / "run", console=QUIET)
    seen = [
        [triplet.src for triplet in read_triplets(TripletFiles(src=str(path), pe=str(path)))]
        for path in sorted((tmp_path / "run" / "drafts").glob("fold-*.jsonl"))
    ]
    sources = [src for src, _ in PAIRS]
    assert seen == [sources[1::2], sources[0::2]]
    editors = [PostEditor.load(tmp_path / "run" / f"draft-{number}" / "model", device="cpu") for number in (1, 2)]
    expected = [editors[row % 2].edit([src])[0].text for row, src in enumerate(sources)]
    lines = (tmp_path / "run" / "drafts" / "train.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["mt"] for line in lines] == expected


def test_a_first_stage_that_writes_no_text_has_to_be_trained_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = load_recipe(write(tmp_path))
    monkeypatch.setattr(drafting, "_drafted", lambda rows, editors: [one._replace(mt=" ") for _, one in rows])
    for resume in (False, True):
        with pytest.raises(TrainingError, match=r"no text for any source of data\.train.* longer .* in a new folder"):
            training.train(recipe, tmp_path / "run", resume=resume, console=QUIET)
    assert not drafting.are_drafted(tmp_path / "run")


def test_empty_drafts_of_the_dev_set_count_in_its_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def perfect_but_for_it(rows: list[tuple[int, Triplet]], editors: object) -> list[Triplet]:
        return [one._replace(mt="" if one.src == "it" else one.pe) for _, one in rows]

    monkeypatch.setattr(drafting, "_drafted", perfect_but_for_it)
    result = training.train(load_recipe(write(tmp_path)), tmp_path / "run", console=QUIET)
    assert result.unedited is not None
    assert (result.unedited.lines, result.unedited.ter) == (20, 12.5)  # one word in eight


def weights(run_folder: Path) -> dict[str, dict[str, bytes]]:
    return {
        str(path.relative_to(run_folder)): {name: tensor.numpy().tobytes() for name, tensor in load_file(path).items()}
        for path in run_folder.rglob("model.safetensors")
    }


@pytest.mark.slow
def test_an_interrupted_run_ends_the_same(tmp_path: Path, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = load_recipe(write(tmp_path))
    monkeypatch.setattr(drafting, "_CHUNK", 8)
    interrupted = 0

    def attempt(resume: bool) -> bool:
        nonlocal interrupted
        try:
            training.train(recipe, tmp_path / "run", resume=resume, console=QUIET)
        except KeyboardInterrupt:
            interrupted += 1
            return False
        return True

    # The second update of each stage, and the second chunk of drafts.
    with monkeypatch.context() as patch:
        stop_at_call(patch, Updater, "update", 2)
        assert not attempt(resume=False)
    with monkeypatch.context() as patch:
        stop_at_call(patch, PostEditor, "edit", 4)  # two validations, and a chunk
        assert not attempt(resume=True)
    with monkeypatch.context() as patch:
        stop_at_call(patch, Updater, "update", 2)
        assert not attempt(resume=True)
    assert attempt(resume=True)
    assert interrupted == 3
    assert weights(tmp_path / "run") == weights(trained)


@pytest.mark.slow
def test_changed_data_is_accepted_until_drafts_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = load_recipe(write(tmp_path))

    def go_on(*, accept: bool) -> None:
        training.train(recipe, tmp_path / "run", resume=True, console=QUIET, accept_changed_data=accept)

    def change() -> None:
        path = tmp_path / "train.de"
        path.write_text(path.read_text().replace("\n", " too\n", 3))

    def interrupted(owner: type, name: str, number: int, resume: bool) -> None:
        with monkeypatch.context() as patch:
            stop_at_call(patch, owner, name, number)
            with pytest.raises(KeyboardInterrupt):
                training.train(recipe, tmp_path / "run", resume=resume, console=QUIET)

    monkeypatch.setattr(drafting, "_CHUNK", 8)
    interrupted(Updater, "update", 2, resume=False)
    interrupted(PostEditor, "edit", 4, resume=True)  # two validations, and a chunk
    assert list((tmp_path / "run/drafts").glob("train.jsonl.partial"))
    change()
    with pytest.raises(DataError, match=r"train\.de: changed since the run was started"):
        go_on(accept=False)
    with monkeypatch.context() as patch:
        stop_at_call(patch, PostEditor, "edit", 2)
        with pytest.raises(KeyboardInterrupt):
            go_on(accept=True)
    go_on(accept=False)  # now they are those of the run
    drafts = (tmp_path / "run/drafts/train.jsonl").read_text()
    assert drafts.count(" too") == 3
    change()
    go_on(accept=False)  # what it needed of them is written
    assert (tmp_path / "run/drafts/train.jsonl").read_text() == drafts


@pytest.mark.parametrize("lost", ["corpus", "nothing"])
def test_once_drafts_are_written_the_data_files_may_be_gone(tmp_path: Path, trained: Path, lost: str) -> None:
    path, run = write(tmp_path), tmp_path / "run"
    shutil.copytree(trained, run)
    recipe = (run / "recipe.toml").read_text().replace(str(trained.parent), str(tmp_path))
    (run / "recipe.toml").write_text(recipe)
    for part in ("train", "dev"):
        (tmp_path / f"{part}.en").unlink()
    shutil.rmtree(run / lost, ignore_errors=True)
    command = ["train", str(path), "--out", str(run), "--set", "train.max_steps=3"]
    refused = CliRunner().invoke(app, command)
    assert "data.train.0: " in refused.stderr
    result = CliRunner().invoke(app, [*command, "--resume"])
    assert result.exit_code == 0, result.stderr
    assert "Trained 3 updates" in result.stdout


def test_with_folds_changed_data_cannot_be_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = load_recipe(write(tmp_path, folds=2))
    with monkeypatch.context() as patch:
        stop_at_call(patch, Updater, "update", 2)
        with pytest.raises(KeyboardInterrupt):
            training.train(recipe, tmp_path / "run", console=QUIET)
    (tmp_path / "train.de").write_text("new\n" + (tmp_path / "train.de").read_text())
    (tmp_path / "train.en").write_text("new\n" + (tmp_path / "train.en").read_text())
    with pytest.raises(DataError, match=r"train\.en, .*train\.de: changed .* its folds"):
        training.train(recipe, tmp_path / "run", resume=True, console=QUIET, accept_changed_data=True)


def stop_at_call(patch: pytest.MonkeyPatch, owner: type, name: str, number: int) -> None:
    whole, calls = getattr(owner, name), 0

    def stop(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == number:
            raise KeyboardInterrupt
        return whole(*arguments, **options)

    patch.setattr(owner, name, stop)


def problems(path: Path, *overrides: str) -> str:
    with pytest.raises(RecipeError) as caught:
        load_recipe(path, overrides)
    return str(caught.value)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["draft.fold=2"], 'draft.fold: no such option; did you mean "folds"'),
        (["draft.folds=1"], "draft: folds: one part leaves no other part to learn from"),
        (["draft.train.lr=fast"], "draft.train.lr: "),
        (["draft.model.name=atention-nmt"], 'draft.model.name: no architecture is called "atention-nmt"; did you mean'),
        (["draft.model.hiden=3"], 'draft.model.hiden: no such option; did you mean "hidden"'),
        (["draft.model.maxout=9", "draft.model.tie_output=true"], "draft.model: tie_output needs maxout (9)"),
        (["draft.model.name=double-attention"], "draft.model: double-attention reads src and mt, but a first"),
        (["model.embedding=9"], "the embeddings of src are 9 wide in the second stage, but those of src are 4 wide"),
        (["model.share_embeddings=all"], "src and mt share an embedding table in the second stage, but not in the"),
        (['draft.train.freeze=["nonsense*"]'], "draft.train.freeze: "),
        (["draft.inherit_embeddings=false"], "its embeddings are frozen, but there are none to inherit"),
        (["train.init=nowhere"], "draft.inherit_embeddings: train.init gives the second stage its embeddings too"),
        (["text.vocabulary.sharing=separate"], 'text.vocabulary.sharing = "separate" needs mt'),
        (
            ["text.vocabulary.sharing=separate", "model.share_embeddings=none"],
            "the embeddings of mt in the second stage and those of pe in the first have different vocabularies",
        ),
    ],
)
def test_problems_of_the_first_stage_come_with_the_others(tmp_path: Path, overrides: list[str], message: str) -> None:
    report = problems(write(tmp_path), *overrides, "train.lrr=1")
    assert message in report
    assert "train.lrr: no such option" in report


def test_a_second_stage_reads_drafts_and_a_single_stage_needs_mt(tmp_path: Path) -> None:
    path = write(tmp_path)
    report = problems(path, "model.name=attention-nmt")
    assert "model: attention-nmt does not read mt, so it cannot refine what [draft] writes" in report
    assert "model.freeze_embeddings: no such option" in report
    text = path.read_text()
    path.write_text(text[: text.index("[draft")])
    report = problems(path)
    assert "data.train.0: has no mt, which the model reads; give it, or add a [draft] section" in report
    assert "model: its embeddings are frozen, but there are none to inherit" in report
    for start in ("train.init=nowhere", 'stage=[{name="one", train={init="nowhere"}}, {name="two"}]'):
        assert "its embeddings are frozen" not in problems(path, start)


@pytest.mark.parametrize("reads", ["src", "mt", "src+mt"])
def test_a_transformer_is_the_stage_that_its_input_makes_it(tmp_path: Path, reads: str) -> None:
    path = write(tmp_path)
    sizes = "dim=4, heads=2, feed_forward=8, layers_encoder=1, layers_pe=1"
    transformer = f'{{name="transformer", input="{reads}", {sizes}}}'
    chosen = f"draft.model={transformer}"
    if reads == "src":
        assert load_recipe(path, [chosen, "draft.inherit_embeddings=false", "model.freeze_embeddings=false"])
        assert "model: transformer does not read mt" in problems(path, f"model={transformer}")
    else:
        assert f"draft.model: transformer reads {reads.replace('+', ' and ')}, but" in problems(path, chosen)
        assert load_recipe(path, [f"model={transformer}", "draft.inherit_embeddings=false"])
    path.write_text(path.read_text().partition("[draft")[0])
    if reads == "src":
        assert load_recipe(path, [f"model={transformer}"])
    else:
        assert "data.train.0: has no mt" in problems(path, f"model={transformer}")
