"""The facade: what goes in comes out in order, whatever it is; what cannot be used is named."""

import copy
import errno
import logging
import pickle
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import tiny_models
import torch
from huggingface_hub.errors import GatedRepoError, LocalEntryNotFoundError

from postedit import PostEditor
from postedit.core.checksums import CHECKSUMS, record_folder
from postedit.core.editor import Detail, Segment
from postedit.core.errors import DataError, ModelFolderError
from postedit.core.search_config import SearchConfig
from postedit.core.tensor_files import model_tensors, save_sealed_tensors
from postedit.core.types import Batch
from postedit.folder import ModelFolder
from postedit.model_files import content_fingerprint
from postedit.nn.inference import PackedLinear, Precision
from postedit.nn.int8 import Int8Linear
from postedit.text.config import VocabularyConfig
from postedit.text.edits import apply_edits
from postedit.text.truecase import Truecaser


@pytest.fixture(scope="module")
def path(tiny_folders: Path) -> Path:
    return tiny_folders / "transference"


@pytest.fixture(scope="module")
def editor(path: Path) -> PostEditor:
    return PostEditor.load(path, device="cpu")


def test_no_segments(editor: PostEditor) -> None:
    assert editor.edit([], []) == []


def test_blank_segments_stay_as_they_are(editor: PostEditor) -> None:
    mt = ["", "   ", "\t\r", "das Haus", "\u3000"]
    results = editor.edit(["x"] * 5, mt)
    assert [result.skipped for result in results] == ["empty", "empty", "empty", None, "empty"]
    assert [result.text for i, result in enumerate(results) if i != 3] == [text for i, text in enumerate(mt) if i != 3]


def test_a_model_in_training_edits_and_scores_without_dropout() -> None:
    folder = tiny_models.nonsense("transference")
    editor = PostEditor(folder.model, folder.processor, folder.search)
    src, mt = ["the house", "it goes"], ["das Haus", "es geht"]
    expected = editor.edit(src, mt, beam=2), editor.score(src, mt, mt)
    folder.model.train()
    still = folder.model.get_submodule("encoder_mt").eval()
    assert (editor.edit(src, mt, beam=2), editor.score(src, mt, mt)) == expected
    assert folder.model.training
    assert not still.training


UNUSUAL = [
    "Ha\u0308us cafe\u0301 \u212b",
    "\u00a0das\u202fHaus\u2009",
    "\t das\u3000Haus \t",
    "\ufeffes\u200b geht\u1680",
]


def test_texts_keep_each_character(editor: PostEditor) -> None:
    kept = editor.edit(["the house"] * 4, UNUSUAL, search=editor.search.with_options(max_edits=0))
    assert [(one.text, one.changed) for one in kept] == [(mt, False) for mt in UNUSUAL]
    scored = editor.score(["the house"] * 4, UNUSUAL, UNUSUAL)
    assert [(one.text, one.changed) for one in scored] == [(mt, False) for mt in UNUSUAL]
    spaced = [f" {mt}  x " for mt in UNUSUAL]
    assert [one.text for one in editor.score(["the house"] * 4, UNUSUAL, spaced)] == spaced
    for mt, one in zip(UNUSUAL, editor.edit(["the house"] * 4, UNUSUAL)):
        assert apply_edits(mt, one.text, one.edits) == one.text


def test_without_a_source_there_is_nothing_to_judge_by(editor: PostEditor) -> None:
    for mt, result in zip(UNUSUAL, editor.edit([" "] * 4, UNUSUAL), strict=True):
        assert (result.text, result.changed, result.skipped, result.score) == (mt, False, "empty", 0.0)


def test_segments_too_long_are_left_and_reported(editor: PostEditor, caplog: pytest.LogCaptureFixture) -> None:
    long = "Haus " * 10_000
    with caplog.at_level(logging.WARNING, "postedit.core.segment_events"):
        results = editor.edit(["x", long, "x"], [long, "es geht", "es geht"])
    assert [result.skipped for result in results] == ["too long", "too long", None]
    assert [result.text for result in results[:2]] == [long, "es geht"]
    assert "2 of 3 segments (the first is number 1): not edited, because a text is too long" in caplog.text


def test_long_inputs_can_be_cut(editor: PostEditor, caplog: pytest.LogCaptureFixture) -> None:
    long, search = "das Haus geht " * 30, editor.search.with_options(cut_input=True, mt_candidate=False)
    with caplog.at_level(logging.WARNING, "postedit.core.segment_events"):
        texts = [long, "das", long + "es ging "]
        result, short, same = editor.edit(texts, texts, search=search, evidence="attention")
    assert (result.skipped, result.input_cut, short.input_cut) == (None, True, False)
    assert "2 of 3 segments (the first is number 1): only the first search.max_input tokens were read" in caplog.text
    assert result.changed
    assert result.text == same.text  # what is beyond max_input makes no difference
    assert apply_edits(long, result.text, result.edits) == result.text
    for tokens in result.evidence.streams.values():
        assert (len(tokens), tokens[-1]) == (editor.search.max_input, "</s>")


@pytest.mark.parametrize("keeping", [{}, {"edit_cost": 0.5}, {"beam": 2, "n_best": 2}])
def test_a_translation_to_be_kept_is_never_cut(keeping: dict[str, object]) -> None:
    with pytest.raises(DataError, match="would lose the end of a translation"):
        SearchConfig(**{"cut_input": True, "mt_candidate": not keeping, **keeping})


def test_where_inputs_are_cut_their_length_decides_the_output() -> None:
    cut = [SearchConfig(cut_input=True, mt_candidate=False, max_input=most).outcome() for most in (40, 50)]
    assert cut[0] != cut[1]
    assert SearchConfig(max_input=40).outcome() == SearchConfig(max_input=50).outcome()


@pytest.mark.parametrize("rows", [2, 0])
def test_segments_that_do_not_fit_into_memory(
    editor: PostEditor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, rows: int
) -> None:
    src, mt = ["a", "b", "c", "d"] * 3, ["das", "Haus", "es geht", "es"] * 3
    before = editor.edit(src, mt)
    encode = editor.model.encode

    def scarce(batch: Batch) -> object:
        if batch.rows > rows:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return encode(batch)

    monkeypatch.setattr(editor.model, "encode", scarce)
    results = editor.edit(src, mt, evidence=True)
    assert all((result.evidence is not None) == bool(rows) for result in results)
    if rows:
        assert [result.text for result in results] == [result.text for result in before]
    else:
        assert [(result.text, result.skipped, result.changed) for result in results] == [
            (text, "no memory", False) for text in mt
        ]
        assert (
            "12 of 12 segments (the first is number 1): not edited, because there is not enough memory" in caplog.text
        )


@pytest.mark.parametrize("dtype", ["float32", "bf16", "int8"])
def test_every_dtype_edits_and_saves_the_original_weights(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dtype: Precision
) -> None:
    for kind in (PackedLinear, Int8Linear):
        monkeypatch.setattr(kind, "min_weights", 1)
    loaded = PostEditor.load(path, device="cpu", dtype=dtype)
    kinds = {type(module).__name__ for module in loaded.model.modules()}
    if dtype != "bf16" or torch.ops.mkldnn._is_mkldnn_bf16_supported():
        assert ("Int8TransformerStack" if dtype == "int8" else "PackedLinear") in kinds
    assert len(loaded.edit(["the house", "it goes"], ["das Haus", "es geht"])) == 2
    loaded.save_pretrained(tmp_path / "again")
    assert content_fingerprint(tmp_path / "again") == content_fingerprint(path)


def test_autocast_of_the_application_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PackedLinear, "min_weights", 1)
    editor, segments = PostEditor.load(path, device="cpu"), (["the house", "it goes"], ["das Haus", "es geht"])
    expected = editor.edit(*segments, evidence=True)
    with torch.autocast("cpu", torch.bfloat16):
        assert editor.edit(*segments, evidence=True) == expected


def test_the_fingerprint_is_that_of_what_decides_outputs(path: Path, tmp_path: Path) -> None:
    again = tmp_path / "model"
    shutil.copytree(path, again)
    (again / "README.md").write_text("another card")
    (again / "provenance.json").write_text("{}")
    assert content_fingerprint(again) == content_fingerprint(path)
    (again / "config.json").write_text((path / "config.json").read_text() + " ")
    assert content_fingerprint(again) != content_fingerprint(path)


def test_any_iterable_of_texts_will_do(editor: PostEditor) -> None:
    src, mt = ["the house", "it goes"], ["das Haus", "es geht"]
    assert editor.edit(iter(src), (text for text in mt)) == editor.edit(src, mt)
    assert editor.edit(src, mt, prefix=iter(["", "es"])) == editor.edit(src, mt, prefix=["", "es"])
    found = editor.edit(np.array(src), np.array(mt), beam=np.int64(2))  # type: ignore[arg-type]
    assert found == editor.edit(src, mt, beam=2)
    assert {type(one.text) for one in found} == {str}


def test_copies_and_processes_edit_alike(editor: PostEditor) -> None:
    expected = editor.edit(["the house"], ["das Haus"], evidence="losses")
    for other in (copy.deepcopy(editor), pickle.loads(pickle.dumps(editor))):
        assert other.edit(["the house"], ["das Haus"], evidence="losses") == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "gpu"}, "device 'gpu' cannot be used here"),
        ({"device": "meta:3:4"}, "device 'meta:3:4' cannot be used here"),
        ({"device": []}, r"device must be a device such as cpu or cuda:1, or a list of them, not \[\]"),
        ({"space": "probabilities"}, "space must be log or probability, not 'probabilities'"),
        ({"weights": ["a"]}, r"weights must be a list of numbers, not \['a'\]"),
        ({"weights": "12"}, "weights must be a list of numbers, not '12'"),
        ({"weights": 1.0}, "weights must be a list of numbers, not 1.0"),
    ],
)
def test_options_of_loading_that_make_no_sense(path: Path, options: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        PostEditor.load(path, path, **options)


@pytest.mark.parametrize("beam", [1, 3])
def test_order_and_company_do_not_matter(editor: PostEditor, beam: int) -> None:
    mt = ["das Haus", "", "es geht . " * 3, "Häuschen", "das"]
    src = [f"source {number}" for number in range(len(mt))]
    together = editor.edit(src, mt, beam=beam)
    apart = [editor.edit([one], [other], beam=beam)[0] for one, other in zip(src, mt)]
    assert [result.text for result in together] == [result.text for result in apart]
    assert [result.text for result in editor.edit(src, mt, beam=beam, batch_tokens=1)] == [r.text for r in apart]


def test_alternatives_and_evidence(editor: PostEditor) -> None:
    (result,) = editor.edit(["the house"], ["das Haus"], beam=4, n_best=3, evidence=True)
    corrections = [result, *result.alternatives]
    scores = [one.score / len(one.token_scores) for one in corrections]
    assert len([one for one in corrections if one.changed]) == 3
    assert [one.text for one in corrections if not one.changed] == ["das Haus"]
    assert scores == sorted(scores, reverse=True)
    assert result.evidence is not None
    for (stream, _), weights in result.evidence.attention.items():
        assert weights.shape == (len(result.token_scores), len(result.evidence.streams[stream]))
        assert weights.sum(1) == pytest.approx(1.0, abs=1e-5)


def test_evidence_is_as_detailed_as_asked_for(editor: PostEditor) -> None:
    details: tuple[Detail | bool, ...] = ("attention", "reasons", True, "losses")
    found = [editor.edit(["the house"], ["das Haus"], evidence=detail)[0].evidence for detail in details]
    assert all(one is not None and one.attention for one in found)
    assert [bool(one and one.runners_up) for one in found] == [False, True, True, True]
    assert [bool(one and one.without) for one in found] == [False, True, True, True]
    assert [one is not None and one.losses is not None for one in found] == [False, False, False, True]


@pytest.mark.parametrize(
    ("src", "mt", "options", "message"),
    [
        (["a"], ["a", "b"], {}, "src has 1 segment and mt 2"),
        ("a", ["b"], {}, "src is a list of segments, not a single string"),
        (["a", None], ["a", "b"], {}, "segment 2 of src is not text but None"),
        (["a"], ["\ud800"], {}, r"segment 1 of mt has half a character, U\+D800, which is not valid Unicode"),
        (None, ["a"], {}, "src is a list of segments, not None"),
        (np.array("a"), ["a"], {}, r"src is a list of segments, not array\('a'"),
        (["a"], None, {"search": SearchConfig(edit_cost=1.0)}, "segment 1 has no mt; this editor corrects"),
        (["a"], ["b"], {"prefix": [1]}, "segment 1: prefix must be text, not 1"),
        (["a"], ["b"], {"prefix": "b"}, "prefix must be a list with one entry for the segment"),
        (["a"], ["b"], {"prefix": np.array("b")}, "prefix must be a list with one entry for the segment"),
        (["a"], ["b"], {"required": [None]}, "required must be a list of words or phrases, not None"),
        (["a"], ["b"], {"required": iter([])}, "required must be a list with one entry for the segment"),
        (["a"], ["b"], {"search": {"beam": 2}}, r"search must be a SearchConfig, such as SearchConfig\(beam=4\)"),
        (["a"], ["b"], {"prefix": ["\ud800"]}, r"segment 1: prefix has half a character, U\+D800"),
        (["a"], ["b"], {"prefix": {"b": 1}}, "prefix must be a list with one entry for the segment"),
        (["a"], ["b"], {"beam": np.array([1, 2])}, "beam: must be a whole number"),
        (["a"], ["b"], {"evidence": np.array(["a", "b"])}, "evidence must be True, False, attention"),
        (["a"], ["b"], {"evidence": "losse"}, "evidence must be True, False, attention, reasons, losses, not 'losse'"),
        (["a"], ["b"], {"batch_tokens": 0}, "batch_tokens: must be at least 1"),
    ],
)
def test_requests_that_make_no_sense(editor: PostEditor, src, mt, options, message: str) -> None:
    with pytest.raises(DataError, match=message):
        editor.edit(src, mt, **options)


def test_a_saved_editor_is_a_copy_of_its_folder(path: Path, tmp_path: Path) -> None:
    model = shutil.copytree(path, tmp_path / "model")
    (model / "README.md").write_text("---\nlicense: other\n---\nTerms of the training texts\n")
    (model / CHECKSUMS).unlink()
    (model / "draft").mkdir()
    for part in (model, model / "draft"):
        (part / ".checkpoint").write_text("/where/it/is\n")
    loaded = PostEditor.load(model, device="cpu", dtype="bf16")
    loaded.save_pretrained(tmp_path / "again")
    names = {one.relative_to(model) for one in model.rglob("*") if one.is_file()}
    assert {one.relative_to(tmp_path / "again") for one in (tmp_path / "again").rglob("*") if one.is_file()} == names
    assert all((tmp_path / "again" / name).read_bytes() == (model / name).read_bytes() for name in names)
    assert PostEditor.load(tmp_path / "again", device="cpu", dtype="bf16").identity() == loaded.identity()


def test_outputs_to_score_are_one_for_each_segment(editor: PostEditor) -> None:
    one = Segment("the house", "das Haus")
    for segments, outputs in (([one], []), ([one], ["a", "b"]), ([one, one], ["a"])):
        count = "1 segment" if len(segments) == 1 else "2 segments"
        with pytest.raises(DataError, match=f"src has {count} and outputs {len(outputs)}; give one for each"):
            editor.score_segments(segments, outputs)


def test_swapped_sides_are_noticed_by_the_pair_it_was_chosen_for(path: Path) -> None:
    chosen, (src, mt) = PostEditor.load(path), (["Nobody asks ."], ["Никто не спрашивает ."])
    assert chosen.abilities.languages == ("", "")
    chosen.chosen_for(("en", "ru"))
    assert [chosen.seem_swapped(*sides) for sides in ((mt, src), (src, mt))] == [True, False]


def test_an_editor_is_saved_only_to_a_path(editor: PostEditor) -> None:
    with pytest.raises(DataError, match="path must be a path"):
        editor.save_pretrained(3)  # type: ignore[arg-type]


def test_a_saved_editor_edits_alike(editor: PostEditor, tmp_path: Path) -> None:
    editor.save_pretrained(tmp_path / "again")
    again = PostEditor.from_pretrained(tmp_path / "again", device="cpu")
    assert again.edit(["the house"], ["das Haus"], beam=2) == editor.edit(["the house"], ["das Haus"], beam=2)


def test_a_saved_editor_keeps_the_licences_of_its_training_texts(path: Path, tmp_path: Path) -> None:
    licensed = shutil.copytree(path, tmp_path / "licensed")
    (licensed / "NOTICE").write_text("CC BY 4.0: Jörg")
    PostEditor.load(licensed, device="cpu").save_pretrained(tmp_path / "again")
    assert (tmp_path / "again" / "NOTICE").read_text() == "CC BY 4.0: Jörg"
    PostEditor.load(path, device="cpu").save_pretrained(tmp_path / "without")
    assert not (tmp_path / "without" / "NOTICE").exists()
    (licensed / "NOTICE").write_bytes(b"\xff")
    with pytest.raises(ModelFolderError, match=r"NOTICE: is not UTF-8.*"):
        PostEditor.load(licensed, device="cpu")


def test_an_ensemble_of_one_model_twice_edits_like_it_and_cannot_be_saved(path: Path, editor: PostEditor) -> None:
    twice = PostEditor.load(path, path, device="cpu")
    assert twice.edit(["the house"], ["das Haus"])[0].text == editor.edit(["the house"], ["das Haus"])[0].text
    with pytest.raises(ModelFolderError, match="save the members"):
        twice.save_pretrained(path.parent / "ensemble")


def test_members_that_divide_text_otherwise_do_not_fit(path: Path, tmp_path: Path) -> None:
    moses = {"tokenizer": "moses", "src_lang": "en", "tgt_lang": "de"}
    tiny_models.folder(text=tiny_models.processor(**moses)).save(tmp_path / "other")
    with pytest.raises(ModelFolderError, match="divides text into words in another way"):
        PostEditor.load(path, tmp_path / "other", device="cpu")


@pytest.mark.parametrize("reads", ["mt", "src", "both"])
def test_members_may_read_other_pieces_if_they_write_the_same(reads: str, tmp_path: Path) -> None:
    src, mt, outputs = (
        ["the house", "it goes", "né à Köln"],
        ["das Haus", "es geht", "in"],
        ["das Häuschen", "es", "ging"],
    )
    names, alone = ("one", "other"), []
    for name, size, text in zip(names, (280, 263), (reads, "src"), strict=True):
        vocabulary = VocabularyConfig(size=280, sharing="mt-pe", sizes={"src": size})
        made = tiny_models.processor(vocabulary=vocabulary)
        if text == "both":
            tiny_models.folder("transference", made).save(tmp_path / name)
        else:
            tiny_models.folder("transformer", made, input=text, share_embeddings="none").save(tmp_path / name)
        editor = PostEditor.load(tmp_path / name, device="cpu")
        alone.append([scored.features["model 1"] for scored in editor.score(src, mt, outputs)])
    for order in (0, 1), (1, 0):
        both = PostEditor.load(*(tmp_path / names[i] for i in order), device="cpu")
        found = both.score(src, mt, outputs)
        for number, i in enumerate(order, start=1):
            assert [scored.features[f"model {number}"] for scored in found] == pytest.approx(alone[i], abs=1e-5)
        assert len(both.edit(src, mt, beam=2)) == 3


def test_languages_do_not_matter_where_words_are_divided_already(path: Path, tmp_path: Path) -> None:
    tiny_models.folder(text=tiny_models.processor(src_lang="en", tgt_lang="de")).save(tmp_path / "other")
    assert PostEditor.load(path, tmp_path / "other", device="cpu").edit(["the house"], ["das Haus"])


def test_members_that_learnt_other_small_letters_do_not_fit(tmp_path: Path) -> None:
    text = tiny_models.processor(truecase=True)
    tiny_models.folder(text=text).save(tmp_path / "one")
    tiny_models.folder(text=text).save(tmp_path / "alike")
    assert PostEditor.load(tmp_path / "one", tmp_path / "alike", device="cpu")
    learnt = tmp_path / "alike/text/truecase.src.json"
    Truecaser(["other"]).save(learnt)
    record_folder(learnt.parent)
    with pytest.raises(ModelFolderError, match="has learnt other words to begin with a small letter"):
        PostEditor.load(tmp_path / "one", tmp_path / "alike", device="cpu")


def test_damaged_weights_are_named_in_place_of_nonsense(path: Path) -> None:
    editor = PostEditor.load(path, device="cpu")
    for parameter in editor.model.parameters():
        parameter.data.fill_(float("nan"))
    for beam in (1, 3):
        with pytest.raises(ModelFolderError, match="weights are damaged"):
            editor.edit(["the house"], ["das Haus"], beam=beam)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("./runs/none/model", 'runs/none/model: no such model folder; the nearest existing path is "runs"$'),
        ("runs/gerrnan/model", 'the nearest existing path is "runs/german/model"'),
        ("runs/gerrnan", r'"runs/german" \(hub:runs/gerrnan downloads it from the Hugging Face hub\)'),
        ("rums/german", '/rums/german: no such model folder; the nearest existing path is "runs/german"'),
        ("elsewhere", "/elsewhere: no such model folder$"),
    ],
)
def test_mistyped_paths_ask_no_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, message: str) -> None:
    (tmp_path / "runs/german/model").mkdir(parents=True)
    (tmp_path / "elsewhere.toml").touch()  # a recipe is no model
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelFolderError, match=message):
        PostEditor.load(model)


def test_a_model_that_does_harm_is_warned_of(path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = ModelFolder.load(path)
    first_stage = tiny_models.folder("transformer", input="src")
    for name, ter, made in (("better", 17.0, folder), ("worse", 19.0, folder), ("first", 19.0, first_stage)):
        scored = replace(made, provenance={"dev": {"ter": ter, "do_nothing_ter": 18.0}})
        scored.save(tmp_path / name)
        PostEditor.load(tmp_path / name, device="cpu")
    (tmp_path / "best").mkdir()
    replace(folder, provenance={"dev": {"ter": 19.0, "do_nothing_ter": 18.0}}).save(tmp_path / "model")
    save_sealed_tensors(tmp_path / "best/step-1.safetensors", model_tensors(folder.model))
    PostEditor.load(tmp_path / "best/step-1.safetensors", device="cpu")  # of which the folder has no scores
    (record,) = caplog.records
    assert record.getMessage().endswith(
        "worse: its outputs had TER 19.0 on the dev set, worse than 18.0 of unedited MT"
    )


@pytest.mark.slow
def test_two_workers_warn_once_of_a_model_that_does_harm(path: Path, tmp_path: Path) -> None:
    provenance = {"dev": {"ter": 19.0, "do_nothing_ter": 18.0}}
    replace(ModelFolder.load(path), provenance=provenance).save(tmp_path / "worse")
    done = subprocess.run(
        [sys.executable, "-m", "postedit", "edit", str(tmp_path / "worse"), "--devices", "cpu,cpu"],
        input="a\tb\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.count("worse than 18.0 of unedited MT") == 1


def test_a_corrector_is_loaded_without_its_first_stage(tmp_path: Path) -> None:
    text = tiny_models.processor(tokenizer="moses", src_lang="en", tgt_lang="de")
    first = tiny_models.folder("transformer", text, input="src")
    replace(tiny_models.folder("transference", text), first_stage=first).save(tmp_path / "model")
    corrector, editor = (load(tmp_path / "model") for load in (PostEditor.load_corrector, PostEditor.load))
    assert isinstance(corrector, PostEditor)
    assert corrector.abilities.tokenises
    assert editor.abilities == replace(corrector.abilities, needs_mt=False)


def test_the_hub_gives_only_the_files_of_a_model(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def download(name: str, allow_patterns: list[str]) -> str:
        asked.append((name, allow_patterns))
        return str(path)

    monkeypatch.setattr("postedit.hub.snapshot_download", download)
    assert PostEditor.load("somebody/model", device="cpu").edit([], []) == []
    assert PostEditor.load("hub:somebody/model", device="cpu").edit([], []) == []
    assert [name for name, _ in asked] == ["somebody/model"] * 2
    assert {"config.json", "model.safetensors"} <= set(asked[0][1])
    assert not any(name in pattern for _, patterns in asked for pattern in patterns for name in (".bin", ".pkl", ".pt"))


def test_a_hub_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    def download(*_: object, **__: object) -> str:
        raise LocalEntryNotFoundError("Got: an error\nAn error happened") from OSError("Name or service not known")

    monkeypatch.setattr("postedit.hub.snapshot_download", download)
    problem = r"^somebody/model: no such folder, and .* hub cannot be reached .* \(Name or service not known\); .* path"
    with pytest.raises(ModelFolderError, match=problem):
        PostEditor.load("somebody/model")


@pytest.mark.parametrize("lost", [ValueError("cannot contain a '..' path segment."), RuntimeError("peer closed it")])
def test_any_error_of_the_hub_is_a_sentence(lost: Exception, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> str:
        raise lost

    monkeypatch.setattr("postedit.hub.snapshot_download", fail)
    monkeypatch.setattr("postedit.hub.HfApi", fail)
    with pytest.raises(ModelFolderError, match=rf"^somebody/model: .* provide it: {str(lost).rstrip('.')}; .* again$"):
        PostEditor.load("somebody/model")
    with pytest.raises(ModelFolderError, match=rf"^somebody/model: not uploaded to the hub: {str(lost).rstrip('.')}$"):
        PostEditor.load(path, device="cpu").push_to_hub("somebody/model")


def test_a_disk_that_is_full_during_a_download_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def download(*_: object, **__: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("postedit.hub.snapshot_download", download)
    with pytest.raises(ModelFolderError, match=r"^somebody/model: cannot be downloaded .*: the disk is full; free"):
        PostEditor.load("somebody/model")


def test_a_hub_that_gives_no_access_says_to_log_in(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = SimpleNamespace(status_code=403, headers={}, request=None)

    def fail(*_: object, **__: object) -> str:
        raise GatedRepoError("Access is restricted.", response=cast(Any, refused))

    monkeypatch.setattr("postedit.hub.snapshot_download", fail)
    monkeypatch.setattr("postedit.hub.HfApi", fail)
    with pytest.raises(ModelFolderError, match=r"^somebody/model: .* ask for it on the page of the model, and log in"):
        PostEditor.load("somebody/model")
    with pytest.raises(ModelFolderError, match=r"^somebody/model: not uploaded .*; log in .* as somebody who may"):
        PostEditor.load(path, device="cpu").push_to_hub("somebody/model")
