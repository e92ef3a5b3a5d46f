"""A causal language model whose prompt shows similar corrections, terms and tagged errors."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny_models
from checkpoints import CHAT, causal
from rich.console import Console
from typer.testing import CliRunner

from postedit.adapt.adaptation_config import Learning
from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import CorrectionMemory
from postedit.adapt.learning_editor import load_learning
from postedit.cli.main import app
from postedit.core.editor import PostEdit, Segment
from postedit.core.errors import DataError, ModelFolderError, RecipeError
from postedit.core.hints import HINTS
from postedit.core.special_tokens import EOS
from postedit.core.transformers_checkpoint import TransformersCheckpoint
from postedit.data.corpus import Corpus
from postedit.data.triplets import Triplet
from postedit.editing.post_editor import PostEditor
from postedit.editing.quality_tags import TagFiles, show_hints
from postedit.editing.search import SegmentSearch
from postedit.editing.segments import batch_of, encode_segments
from postedit.folder import ModelFolder
from postedit.jobs.editor_spec import EditorSpec
from postedit.jobs.training import train
from postedit.models.causal import CausalConfig
from postedit.recipe import load_recipe
from postedit.text.glossary import Glossary, GlossaryEntry

PROMPT = "{examples}{glossary}Source:\n{src}\nTranslation:\n{mt}\n{errors}Correction:\n"

TRIPLETS = [
    Triplet("the house goes", "das Haus gehen", "das Haus geht"),
    Triplet("the house goes", "das Haus gehen", "das Haus geht"),  # twice, as in real data
    Triplet("the house stands", "das Haus stehen", "das Haus steht"),
    Triplet("two houses", "zwei Haus", "zwei Häuser"),
    Triplet("a roof", "ein Dach", "ein Dach"),
]

BUDGETS = {"examples_tokens": 400, "glossary_tokens": 120, "errors_tokens": 110, "least_similarity": 0.2}

GLOSSARY = Glossary([GlossaryEntry("roof", ("Dach",))])


def write_recipe(folder: Path, checkpoint: Path, **sections: dict[str, Any]) -> Path:
    for name in ("train", "dev"):
        for side in ("src", "mt", "pe"):
            lines = "".join(f"{getattr(triplet, side)}\n" for triplet in TRIPLETS)
            (folder / f"{name}.{side}").write_text(lines, encoding="utf-8")
    (folder / "terms.tsv").write_text("house\tHaus\n", encoding="utf-8")
    changes: dict[str, dict[str, Any]] = {
        "model": {"checkpoint": str(checkpoint), "prompt": PROMPT, "hints": BUDGETS, "lora_rank": 2},
        "text": {"vocabulary": {"checkpoint": str(checkpoint)}},
        "data": {"max_length": 30, "glossary": "terms.tsv", "tagged": 1.0},
        "train": {"max_steps": 2, "warmup_steps": 1, "lr": 0.01, "batch_tokens": 1000},
        "search": {"max_ratio": 1.0, "max_extra": 3},
    }
    changes |= {name: {**changes[name], **section} for name, section in sections.items()}
    return tiny_models.write_recipe(folder / "recipe.toml", "causal", **changes)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoints") / "qwen3"
    return causal(folder, "qwen3", chat=CHAT, max_position_embeddings=2000)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, checkpoint: Path) -> Path:
    folder = tmp_path_factory.mktemp("run")
    train(load_recipe(write_recipe(folder, checkpoint)), folder / "run", console=Console(quiet=True))
    return folder / "run"


@pytest.fixture
def where(tmp_path: Path) -> str:
    with CorrectionMemory(tmp_path / "memory.db") as memory:
        memory.add([Correction(one.src, one.mt, one.pe) for one in TRIPLETS[:1]])
    return str(tmp_path / "memory.db")


def shown(editor: PostEditor, src: str, mt: str) -> dict[str, str]:
    """Return the hints of a segment that a loaded editor puts into a batch, as text."""
    (one,) = encode_segments(editor.model, editor.processor, [Segment(src, mt)], 100, hints=editor.hints)
    streams = batch_of(editor.model, [one]).streams
    return {name: editor.processor.vocabulary("src").decode(streams[name].ids[0].tolist()[:-1]) for name in HINTS}


@pytest.mark.slow
def test_training_shows_hints_and_never_a_triplet_itself(run: Path) -> None:
    vocabulary = ModelFolder.load(run / "model").processor.vocabulary("src")
    corpus = Corpus.open(run / "corpus" / "train.arrow")
    corpus.check()
    columns = corpus.read(range(corpus.blocks), ["src", *HINTS])
    texts = [{name: vocabulary.decode(rows[row][:-1].tolist()) for name, rows in columns.items()} for row in range(5)]
    for triplet, text in zip(TRIPLETS, texts, strict=True):
        assert text["src"] == triplet.src
        assert triplet.mt not in text["examples"]
    assert '"correction": "das Haus steht"' in texts[0]["examples"]
    assert '"correction": "das Haus geht"' in texts[2]["examples"]
    assert texts[4]["examples"] == ""
    assert ['"Haus"' in text["glossary"] for text in texts] == [True, True, True, False, False]
    assert ["[[gehen]]" in text["errors"] for text in texts] == [True, True, False, False, False]
    assert texts[4]["errors"] == ""


def test_a_share_of_the_triplets_is_shown_without_errors(tmp_path: Path, checkpoint: Path) -> None:
    recipe = load_recipe(write_recipe(tmp_path, checkpoint, data={"tagged": 0.0}))
    train(recipe, tmp_path / "run", console=Console(quiet=True))
    errors = Corpus.open(tmp_path / "run" / "corpus" / "train.arrow").read([0], ["errors"])["errors"]
    assert errors.lengths.tolist() == [1] * 5


def test_the_dev_set_is_shown_no_errors_that_only_its_post_edits_tell(run: Path) -> None:
    columns = Corpus.open(run / "corpus" / "dev.arrow").read([0], HINTS)
    assert columns["errors"].lengths.tolist() == [1] * 5
    assert min(columns["examples"].lengths.tolist()[:3]) > 1


def test_the_decoded_dev_set_is_shown_what_its_loss_is_computed_with(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Corrections of the very same source are left out there too, though the training set has them."""
    recipe = load_recipe(run.parent / "recipe.toml")
    decoded: list[dict[str, str]] = []

    def edit(editor: PostEditor, src: Sequence[str], mt: Sequence[str], **_: Any) -> list[PostEdit]:
        decoded.extend(shown(editor, *texts) for texts in zip(src, mt, strict=True))
        return [PostEdit(text, False) for text in mt]

    monkeypatch.setattr(PostEditor, "edit", edit)
    train(recipe, run.with_name("again"), console=Console(quiet=True))
    columns = Corpus.open(run.with_name("again") / "corpus" / "dev.arrow").read([0], ["examples"])
    vocabulary = ModelFolder.load(run / "model").processor.vocabulary("src")
    scored = [vocabulary.decode(row[:-1].tolist()) for row in columns["examples"]]
    assert [one["examples"] for one in decoded[: len(TRIPLETS)]] == scored
    assert not any(one.mt in text for one, text in zip(TRIPLETS, scored, strict=True))


def test_a_model_folder_keeps_its_prompt_and_budgets(run: Path, tmp_path: Path) -> None:
    first = PostEditor.load(run / "model", device="cpu")
    first.save_pretrained(tmp_path / "copy")
    second = PostEditor.load(tmp_path / "copy", device="cpu")
    for editor in (first, second):
        assert editor.model.spec.hints.names == HINTS
        assert editor.model.spec.hints.config.examples_tokens == 400
        show_hints(editor, GLOSSARY, None)
    segments = [Segment("a roof", "ein Dach"), Segment("the house", "das Haus")]
    assert second.edit_segments(segments) == first.edit_segments(segments)


def test_what_is_not_there_leaves_no_heading(run: Path) -> None:
    editor = PostEditor.load(run / "model", device="cpu")
    assert set(shown(editor, "a roof", "ein Dach").values()) == {""}
    show_hints(editor, GLOSSARY, None)
    found = shown(editor, "a roof", "ein Dach")
    assert (found["examples"], found["errors"]) == ("", "")
    assert '"Dach"' in found["glossary"]


@pytest.mark.parametrize("learn", ["auto", "examples"])
def test_a_memory_is_followed_by_showing_its_corrections(run: Path, where: str, learn: Learning) -> None:
    texts = ["the house goes"], ["das Haus gehen"]
    (plain,) = PostEditor.load(run / "model", device="cpu").edit(*texts)
    with CorrectionMemory(where) as memory:
        editor = load_learning(run / "model", memory, learn)
        (learnt,) = editor.edit(*texts)
        assert learnt.score != pytest.approx(plain.score, abs=1e-5)
        assert isinstance(editor.inner, PostEditor)
        assert '"correction": "das Haus geht"' in shown(editor.inner, "the house goes", "das Haus gehen")["examples"]
        assert editor.identity().settings["learn"] == "examples"
        number = editor.learn("a door", "ein Tür", "eine Tür")
        editor.edit(["a door"], ["ein Tür"])
        assert "eine Tür" in shown(editor.inner, "a door", "ein Tür")["examples"]
        for one in (number, 1):
            editor.undo(one)
        assert editor.edit(*texts)[0].score == plain.score


def test_a_model_without_room_for_examples_says_so(where: str, tmp_path: Path) -> None:
    tiny_models.folder().save(tmp_path / "model")
    with CorrectionMemory(where) as memory, pytest.raises(DataError, match="has no prompt that shows corrections"):
        load_learning(tmp_path / "model", memory, "examples")


def write_tags(folder: Path) -> TagFiles:
    (folder / "dev.mt").write_text("ein Dach\n", encoding="utf-8")
    (folder / "dev.tags").write_text("OK BAD OK OK OK\n", encoding="utf-8")
    return TagFiles(tags=str(folder / "dev.tags"), tagged=str(folder / "dev.mt"))


def test_without_a_text_nothing_tells_of_it(run: Path, tmp_path: Path) -> None:
    """Evidence has the texts alone, and without mt there are no errors of it, without src no terms."""
    editor = PostEditor.load(run / "model", device="cpu")
    show_hints(editor, GLOSSARY, write_tags(tmp_path).read())
    (edit,) = editor.score(["a roof"], ["ein Dach"], ["das Dach"], evidence=True)
    assert edit.evidence is not None
    assert edit.evidence.without.keys() == edit.evidence.streams.keys() == {"src", "mt"}
    (one,) = encode_segments(
        editor.model, editor.processor, [Segment("a roof", "ein Dach")], 100, ["das Dach"], hints=editor.hints
    )
    assert min(len(one.hints["glossary"]), len(one.hints["errors"])) > 1
    search = SegmentSearch(editor.model, editor.processor, editor.search)
    for side, hint in (("src", "glossary"), ("mt", "errors")):
        emptied = replace(one, ids={**one.ids, side: [EOS]}, hints={**one.hints, hint: [EOS]})
        ((forced,),) = search.force([emptied])
        assert edit.evidence.without[side] == pytest.approx(forced.token_scores, abs=1e-5)


def test_the_command_shows_terms_tags_and_corrections(run: Path, where: str, tmp_path: Path) -> None:
    files = write_tags(tmp_path)
    (tmp_path / "terms.tsv").write_text("roof\tDach\n", encoding="utf-8")
    (tmp_path / "dev.src").write_text("a roof\n", encoding="utf-8")
    with CorrectionMemory(where) as memory:
        memory.add([Correction("a roof", "ein Dach", "das Dach")])

    def edited(*more: str) -> dict[str, Any]:
        options = ["--src", str(tmp_path / "dev.src"), "--mt", files.tagged, "--format", "jsonl", *more]
        result = CliRunner().invoke(app, ["edit", str(run / "model"), *options])
        assert result.exit_code == 0, result.output
        found: dict[str, Any] = json.loads(result.stdout)
        return found

    tags = ["--set", f"hints.tags={files.tags}", "--set", f"hints.tagged={files.tagged}"]
    terms = ["--glossary", str(tmp_path / "terms.tsv")]
    given: Sequence[list[str]] = ([], tags, [*tags, *terms], [*tags, *terms, "--memory", where])
    scores = [edited(*more)["score"] for more in given]
    assert len({round(score, 4) for score in scores}) == 4, "a part of the prompt is without effect"


def test_what_is_shown_is_part_of_the_identity(run: Path, tmp_path: Path) -> None:
    spec = EditorSpec([str(run / "model")], glossary=GLOSSARY, tags=write_tags(tmp_path), protect=())
    settings = spec.load_model("cpu").identity().settings
    assert settings["hints.glossary"] == GLOSSARY.fingerprint
    assert settings["hints.tags"]
    assert not any(name.startswith("hints") for name in EditorSpec(["none"]).load_model("cpu").identity().settings)


def test_tags_that_no_prompt_shows_are_refused(tmp_path: Path) -> None:
    tiny_models.folder().save(tmp_path / "model")
    for model in (str(tmp_path / "model"), "none"):
        with pytest.raises(DataError, match=r"hints\.tags is for"):
            EditorSpec([model], tags=write_tags(tmp_path)).load_model("cpu")


@pytest.mark.slow
def test_members_of_an_ensemble_are_shown_the_same(run: Path, tmp_path: Path, checkpoint: Path) -> None:
    editor = PostEditor.load(run / "model", run / "model", device="cpu")
    show_hints(editor, GLOSSARY, None)
    single = PostEditor.load(run / "model", device="cpu")
    show_hints(single, GLOSSARY, None)
    (one,), (both,) = (each.edit(["a roof"], ["ein Dach"]) for each in (single, editor))
    assert (both.text, both.score) == (one.text, pytest.approx(one.score, abs=1e-4))
    other = load_recipe(write_recipe(tmp_path, checkpoint, model={"hints": {**BUDGETS, "examples": 2}}))
    model = train(other, tmp_path / "run", console=Console(quiet=True)).model
    with pytest.raises(ModelFolderError, match="other budgets and numbers of hints"):
        PostEditor.load(run / "model", model, device="cpu")


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        (
            {"model": {"prompt": PROMPT + "{exampels}:\n"}},
            r'model: prompt: \{exampels\} is not a field; did you mean "examples".* mt, examples, glossary, errors',
        ),
        ({"model": {"prompt": PROMPT + "{ Glossary }:\n"}}, r'\{ Glossary \} is not a field; did you mean "glossary"'),
        ({"model": {"prompt": PROMPT + "{target-language}:\n"}}, r"\{target-language\} is not a field"),
        ({"model": {"prompt": PROMPT + "word " * 2000}}, r"model\.prompt: its \d+ tokens leave no room.*; shorten it"),
        ({"model": {"prompt": PROMPT + "{errors}:\n"}}, "at most once each of"),
        ({"model": {"prompt": "{src}{errors}{mt}\n", "chat": False}}, "text between src and mt"),
        ({"model": {"hints": {"examples_tokens": 1990}}}, r"model\.hints: .* tokens of hints leave no room"),
        ({"model": {"prompt": "{src}\n{mt}\n"}}, r"data\.glossary: no prompt of this model shows terms"),
        (
            {"model": {"prompt": "{glossary}{src}\n{mt}\n"}},
            r"data\.tagged: no prompt of this model shows errors; leave it out",
        ),
        ({"data": {"glossary": "nowhere.tsv"}}, r"data\.glossary: .*nowhere\.tsv"),
    ],
)
def test_faults_of_a_recipe_are_named(
    tmp_path: Path, checkpoint: Path, sections: dict[str, dict[str, Any]], message: str
) -> None:
    with pytest.raises(RecipeError, match=message):
        load_recipe(write_recipe(tmp_path, checkpoint, **sections))


@pytest.mark.parametrize("chat", [True, False])
def test_names_in_two_pairs_of_braces_are_text_of_the_prompt(tmp_path: Path, checkpoint: Path, chat: bool) -> None:
    prompt = "Keep {{userName}}, {{src}}, {{{name}}}, {{ a }}, {{0}} and {1}.\n" + PROMPT + "{{mt}}:\n"
    config = load_recipe(write_recipe(tmp_path, checkpoint, model={"prompt": prompt, "chat": chat})).model
    assert isinstance(config, CausalConfig)
    decode = TransformersCheckpoint(str(checkpoint)).tokenizer.decode
    first, *_, last = [decode(rows) for rows in config.network.prompt]
    assert "Keep {userName}, {src}, {{name}}, { a }, {0} and {1}.\n" in first
    assert "Correction:\n{mt}:" in last
    assert config.network.texts == ["examples", "glossary", "src", "mt", "errors"]


def test_a_prompt_with_terms_needs_a_glossary_in_training(tmp_path: Path, checkpoint: Path) -> None:
    path = write_recipe(tmp_path, checkpoint)
    path.write_text(path.read_text().replace('glossary = "terms.tsv"\n', ""))
    with pytest.raises(RecipeError, match=r"data\.glossary: the prompt shows terms .* name the file"):
        load_recipe(path)


def test_a_run_is_not_resumed_with_another_glossary(run: Path, tmp_path: Path, checkpoint: Path) -> None:
    recipe = load_recipe(write_recipe(tmp_path, checkpoint))
    train(recipe, tmp_path / "run", console=Console(quiet=True))
    (tmp_path / "terms.tsv").write_text("house\tHeim\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"terms\.tsv: changed since the run was started"):
        train(recipe, tmp_path / "run", True, Console(quiet=True))
