"""Folders of chains: a tiny neural model and a small phrase-based one."""

import json
import shutil
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

import pytest
import tiny_models
import torch
from tests.unit.phrase.small_corpus import TRIPLETS, split

from postedit import PostEditor
from postedit.core.errors import ModelFolderError, OutputError
from postedit.core.search_config import SearchConfig
from postedit.data.lines import DevTexts
from postedit.editing.chain_folder import load_chain, save_chain
from postedit.editing.chained_editors import Chain
from postedit.editing.loading import Choice
from postedit.folder import ModelFolder
from postedit.jobs.dev_overlap import uses_of
from postedit.jobs.integrity import check_whole
from postedit.model_files import FILES, content_fingerprint, fingerprint, read_config, read_provenance
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_folder import PhraseFolder
from postedit.phrase.phrase_model import learn
from postedit.phrase.phrase_options import PhraseConfig, PhraseTextConfig

SRC, MT, _ = (list(side) for side in zip(*TRIPLETS))
SCORES = {"the chain": "TER 1.00"}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the folders of a neural and of a phrase-based model."""
    path, config = tmp_path_factory.mktemp("models"), PhraseConfig(order=3)
    tiny_models.nonsense("m-cgru", max_ratio=2.0, max_extra=3).save(path / "neural")
    PhraseFolder(learn(split(TRIPLETS), config), config, PhraseTextConfig(), SearchConfig(), {}).save(path / "phrases")
    return path / "neural", path / "phrases"


@pytest.fixture
def chain(models: tuple[Path, Path], tmp_path: Path) -> Path:
    save_chain(tmp_path / "chain", models, (0.5, 0.25), SCORES, "digest")
    return tmp_path / "chain"


@pytest.mark.parametrize("order", [1, -1])
def test_it_edits_as_both_models_in_turn(models: tuple[Path, Path], tmp_path: Path, order: int) -> None:
    first, second = models[::order]
    save_chain(tmp_path / "chain", (first, second), (0.0, 0.25), SCORES, "")
    loaded = PostEditor.load(tmp_path / "chain", device="cpu")
    assert isinstance(loaded, Chain)
    between = [one.text for one in PostEditor.load(first, device="cpu").edit(SRC, MT)]
    after = PostEditor.load(second, device="cpu")
    expected = after.edit(SRC, between, search=after.search.with_options(edit_cost=0.25))
    assert [one.text for one in loaded.edit(SRC, MT)] == [one.text for one in expected]
    assert between != MT
    assert order == 1 or any(one.changed for one in expected)  # no phrase is of nonsense


def test_a_chain_is_saved_as_it_was_loaded(chain: Path, tmp_path: Path) -> None:
    loaded = PostEditor.load(chain, device="cpu")
    loaded.save_pretrained(tmp_path / "again")
    assert PostEditor.load(tmp_path / "again", device="cpu").identity() == loaded.identity()
    assert not check_whole(tmp_path / "again").damage
    shutil.rmtree(chain)
    with pytest.raises(ModelFolderError, match="no such model folder"):
        loaded.save_pretrained(tmp_path / "gone")
    assert not (tmp_path / "gone").exists()


def test_edit_costs_are_those_given_and_the_models_are_left_as_they_were(
    models: tuple[Path, Path], chain: Path
) -> None:
    loaded = PostEditor.load(chain, device="cpu")
    assert isinstance(loaded, Chain)
    assert [one.search.edit_cost for one in (loaded, loaded.first, loaded.second)] == [0.5, 0.5, 0.25]
    assert [PostEditor.load(model, device="cpu").search.edit_cost for model in models] == [0.0, 0.0]
    assert read_provenance(chain) == {"edit_costs": [0.5, 0.25], "dev": SCORES, "dev_sha256": "digest"}
    assert read_config(chain)["search"]["edit_cost"] == 0.5
    card = (chain / "README.md").read_text()
    assert "# Chain: m-cgru, then phrase-based\n" in card
    assert "TER 1.00" in card


def test_models_take_devices_in_turn(chain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, torch.device, str]] = []

    def load(model: Path, device: torch.device, dtype: str) -> PhraseEditor:
        asked.append((model.name, device, dtype))
        return PhraseEditor.empty(PhraseTextConfig())

    cpu, gpu = torch.device("cpu"), torch.device("cuda:1")
    monkeypatch.setattr(PostEditor, "load", load)
    load_chain(Choice((chain,), None, "log"), [cpu, gpu], "bf16")
    load_chain(Choice((chain,), None, "log"), [gpu], "float32")
    assert asked[:2] == [("first", cpu, "bf16"), ("second", gpu, "bf16")]
    assert asked[2:] == [("first", gpu, "float32"), ("second", gpu, "float32")]


def test_it_is_whole_until_a_file_changes(chain: Path) -> None:
    assert not check_whole(chain).damage
    assert not check_whole(chain).unrecorded
    assert not check_whole(chain / "first").damage
    with (chain / "second" / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\xff")
    assert list(check_whole(chain).damage) == [chain / "second" / "model.safetensors"]
    shutil.rmtree(chain / "first")
    assert chain / "first" / "config.json" in check_whole(chain).damage


def test_its_fingerprint_is_of_both_models(models: tuple[Path, Path], chain: Path, tmp_path: Path) -> None:
    save_chain(tmp_path / "same", models, (0.5, 0.25), {}, "")
    save_chain(tmp_path / "cost", models, (0.5, 0.5), {}, "")
    save_chain(tmp_path / "other", models[::-1], (0.5, 0.25), {}, "")
    found = [content_fingerprint(path) for path in (chain, tmp_path / "same", tmp_path / "cost", tmp_path / "other")]
    assert found[0] == found[1]
    assert len(set(found)) == 3
    identities = [PostEditor.load(path, device="cpu").identity() for path in (chain, tmp_path / "cost")]
    assert identities[0] != identities[1]


def test_all_its_files_are_published(chain: Path) -> None:
    files = [str(file.relative_to(chain)) for file in chain.rglob("*") if file.is_file()]
    assert all(any(fnmatch(file, pattern) for pattern in FILES) for file in files)
    assert not any(fnmatch("first/.checkpoint", pattern) for pattern in FILES)


def test_adapters_keep_the_path_of_their_checkpoint(models: tuple[Path, Path], tmp_path: Path) -> None:
    shutil.copytree(models[0], tmp_path / "adapters")
    (tmp_path / "adapters" / ".checkpoint").write_text("/somewhere\n")
    (tmp_path / "adapters" / "notes.txt").touch()
    save_chain(tmp_path / "chain", (tmp_path / "adapters", models[1]), (0.0, 0.0), {}, "")
    assert (tmp_path / "chain" / "first" / ".checkpoint").read_text() == "/somewhere\n"
    assert not (tmp_path / "chain" / "first" / "notes.txt").exists()


def test_a_notice_of_licences_is_copied_and_has_no_effect(models: tuple[Path, Path], tmp_path: Path) -> None:
    shutil.copytree(models[1], tmp_path / "licensed")
    before = content_fingerprint(tmp_path / "licensed")
    (tmp_path / "licensed" / "NOTICE").write_text("CC BY-SA")
    assert content_fingerprint(tmp_path / "licensed") == before
    save_chain(tmp_path / "chain", (models[0], tmp_path / "licensed"), (0.0, 0.0), {}, "")
    assert (tmp_path / "chain" / "second" / "NOTICE").read_text() == "CC BY-SA"


def test_a_first_stage_is_copied(models: tuple[Path, Path], tmp_path: Path) -> None:
    text = tiny_models.processor()
    first = tiny_models.folder("transformer", text, input="src")
    replace(tiny_models.folder("transference", text), first_stage=first).save(tmp_path / "two")
    save_chain(tmp_path / "chain", (tmp_path / "two", models[1]), (0.5, 0.0), {}, "")
    chain = PostEditor.load(tmp_path / "chain", device="cpu")
    assert not chain.abilities.needs_mt
    found, drafts = (one.edit(SRC[:2], None) for one in (chain, PostEditor.load(tmp_path / "two", device="cpu")))
    assert [one.draft for one in found] == [one.draft for one in drafts]


def test_what_chose_or_trained_a_model_of_a_chain_is_known(models: tuple[Path, Path], tmp_path: Path) -> None:
    dev = DevTexts(SRC, MT, MT)
    known = {"environments": [{"corpora": {"train": dev.digest}}]}
    folder = replace(PhraseFolder.load(models[1]), provenance=known)
    folder.save(tmp_path / "trained")
    save_chain(tmp_path / "chain", (models[0], tmp_path / "trained"), (0.0, 0.0), {}, dev.digest)
    assert uses_of(dev, tmp_path / "chain") == {"dev", "train"}


def test_a_missing_model_is_damage_without_digests_too(chain: Path) -> None:
    (chain / "SHA256SUMS").unlink()
    shutil.rmtree(chain / "second")
    assert "no such model folder" in check_whole(chain).damage[chain / "second"]


def test_a_chain_is_neither_of_chains_nor_a_member(models: tuple[Path, Path], chain: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelFolderError, match="is a chain itself; name its models, first and second in it"):
        save_chain(tmp_path / "nested", (chain, models[1]), (0.0, 0.0), {}, "")
    assert not (tmp_path / "nested").exists()
    with pytest.raises(ModelFolderError, match="is or has a phrase-based model or a chain; this needs neural ones"):
        PostEditor.load_corrector(chain)
    shutil.copytree(chain, chain / "second", dirs_exist_ok=True)
    with pytest.raises(ModelFolderError, match="second: is a chain itself"):
        PostEditor.load(chain)
    for more, options in (([models[0]], {}), ([], {"weights": [1.0]})):
        with pytest.raises(ModelFolderError, match="a chain cannot be in an ensemble, and has no weights"):
            PostEditor.load(chain, *more, **options)  # type: ignore[arg-type]
    with pytest.raises(ModelFolderError, match="is a chain, which cannot be in another editor"):
        fingerprint(chain)
    with pytest.raises(ModelFolderError, match=r"is a chain of two models; name one of them, as .*first"):
        ModelFolder.load(chain)


def test_other_work_is_not_replaced(models: tuple[Path, Path], chain: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "work").touch()
    with pytest.raises(OutputError, match="holds something else than a postedit model"):
        save_chain(tmp_path / "other", models, (0.0, 0.0), {}, "")
    save_chain(chain, models, (1.0, 1.0), {}, "")
    assert read_provenance(chain)["edit_costs"] == [1.0, 1.0]


@pytest.mark.parametrize("values", ["[]", "{}", '{"format": 9, "architecture": "chain", "model": {}, "search": {}}'])
def test_a_damaged_configuration(chain: Path, values: str) -> None:
    (chain / "config.json").write_text(values)
    with pytest.raises(ModelFolderError, match=r"config\.json"):
        PostEditor.load(chain)


def test_a_missing_model(chain: Path) -> None:
    shutil.rmtree(chain / "second")
    with pytest.raises(ModelFolderError, match="second: no such model folder"):
        PostEditor.load(chain)
    (chain / "provenance.json").unlink()
    assert read_provenance(chain) == {}
    assert json.loads((chain / "config.json").read_text())["architecture"] == "chain"
