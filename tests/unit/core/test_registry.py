"""Architectures by name, and the error that helps to find the name."""

from dataclasses import replace
from pathlib import Path
from threading import Event, Thread, current_thread

import pytest
import tiny_models
import torch

from postedit.core.errors import ModelFolderError, RecipeError, nearest
from postedit.core.model import Vocabularies, VocabularyInfo
from postedit.core.registry import ENTRY_POINTS, Architecture, Registry
from postedit.folder import ModelFolder
from postedit.models import ARCHITECTURES
from postedit.models.conditional_gru import MCGRU, ConditionalGRUConfig

ONE = Architecture("m-cgru", MCGRU, "paper", "summary")


def test_a_registry_is_a_mapping_in_the_order_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postedit.core.registry.entry_points", lambda group: [])
    other = Architecture("another", MCGRU, "paper", "summary")
    registry = Registry([ONE, other])
    assert list(registry) == ["m-cgru", "another"]
    assert len(registry) == 2
    assert registry["m-cgru"] is ONE
    assert "m-cgru" in registry
    assert "gru" not in registry


def test_an_architecture_tells_what_its_class_says() -> None:
    assert ONE.config_class is ConditionalGRUConfig
    assert ONE.inputs == MCGRU.inputs


def test_two_of_one_name_are_a_mistake_of_ours() -> None:
    with pytest.raises(ValueError, match="two architectures are called m-cgru"):
        Registry([ONE, ONE])


def test_an_unknown_name_gets_the_nearest_and_all_known() -> None:
    with pytest.raises(RecipeError) as caught:
        ARCHITECTURES["transferense"]
    assert 'no architecture is called "transferense"; did you mean "transference"?' in str(caught.value)
    assert all(name in str(caught.value) for name in ARCHITECTURES)


def test_get_with_a_default_raises_like_an_index() -> None:
    with pytest.raises(RecipeError):
        ARCHITECTURES.get("nothing like it")


def install(path: Path, package: str, *declared: str, code: str = "") -> None:
    """Install a package by its metadata alone, as pip does; entry points are read from folders of the path."""
    metadata = path / f"{package}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("\n".join([f"[{ENTRY_POINTS}]", *declared]))
    (path / f"{package}.py").write_text(code)


OWN = """
from pydantic import Field
from postedit.models.conditional_gru import MCGRU
from postedit.core.model import Seq2Seq


class Mine(MCGRU):
    "My M-CGRU."


class DeepConfig(MCGRU.config_class):
    layers: int = Field(1, description="the same layer over and over")


class Deep(MCGRU):
    config_class = DeepConfig


class Bare(Seq2Seq):
    pass


class Odd(MCGRU):
    inputs = ("src", "hypothesis")


class Short(MCGRU):
    inputs = "mt"
"""


def test_an_installed_package_adds_architectures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    install(tmp_path, "their_models", "mine = their_models:Mine", "another = their_models:Mine", code=OWN)
    registry = Registry([ONE])
    assert [name for name in registry if name in ("m-cgru", "another", "mine")] == ["m-cgru", "another", "mine"]
    assert len(registry) == len(list(registry))
    assert "mine" in registry
    mine = registry["mine"]
    assert (mine.name, mine.paper, mine.summary) == ("mine", "of the package their_models", "My M-CGRU")
    assert mine.model.__module__ == "their_models"
    assert registry["mine"] is mine
    assert Registry([mine, ONE])["mine"] is mine
    assert "another" in Registry([mine, ONE])


def test_a_model_of_another_package_is_saved_and_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without = Registry([ONE])
    assert "lab-model" not in without
    (tmp_path / "packages").mkdir()
    monkeypatch.syspath_prepend(tmp_path / "packages")
    install(tmp_path / "packages", "lab_models", "lab-model = lab_models:Mine", code=OWN)
    registry = Registry([ONE])
    made = replace(tiny_models.folder("m-cgru"), architecture=registry["lab-model"])
    made.save(tmp_path / "model")
    monkeypatch.setattr("postedit.folder.ARCHITECTURES", without)
    with pytest.raises(ModelFolderError, match=r'called "lab-model".*; if another package adds it, install that'):
        ModelFolder.load(tmp_path / "model")
    monkeypatch.setattr("postedit.folder.ARCHITECTURES", registry)
    assert type(ModelFolder.load(tmp_path / "model").model).__module__ == "lab_models"


def test_layers_of_a_model_may_share_their_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    install(tmp_path, "deep_models", "deep = deep_models:Deep", code=OWN)
    registry, made = Registry([ONE]), tiny_models.folder("m-cgru")
    config = registry["deep"].config_class(**made.config.model_dump(), layers=100)
    assert len(made.model.state_dict()) < 100
    replace(made, architecture=registry["deep"], config=config).save(tmp_path / "model")
    monkeypatch.setattr("postedit.folder.ARCHITECTURES", registry)
    assert ModelFolder.load(tmp_path / "model").config == config


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ("m-cgru = bad_models:Mine", "the package bad_models calls an architecture m-cgru, as another package does"),
        ("mine = bad_models:Gone", "mine, an architecture of the package bad_models: bad_models:Gone cannot be imp"),
        ("mine = no_such_module:Mine", "no_such_module:Mine cannot be imported: ModuleNotFoundError: No module named"),
        ("mine = worse_models:Mine", "worse_models:Mine cannot be imported: ZeroDivisionError: division by zero"),
        ("mine = bad_models:Bare", "config_class must be a subclass of postedit.core.config.Config, not None"),
        ("mine = bad_models:Odd", 'inputs must be a tuple of "src", "mt" or both, not .*hypothesis'),
        ("mine = bad_models:Short", "inputs must be a tuple of .*, not 'mt'"),
        ("mine = bad_models:MCGRU.__name__", "must be a subclass of postedit.core.model.Seq2Seq, not 'MCGRU'"),
    ],
)
def test_faults_of_another_package_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declared: str, message: str
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    install(tmp_path, "bad_models", declared, code=OWN)
    (tmp_path / "worse_models.py").write_text("1 / 0")
    registry = Registry([ONE])
    assert registry["m-cgru"] is ONE
    with pytest.raises(RecipeError, match=message):
        registry["mine"]


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_architecture_has_a_paper_a_summary_and_described_options(name: str) -> None:
    architecture = ARCHITECTURES[name]
    assert architecture.name == name
    assert architecture.paper
    assert architecture.summary
    assert set(architecture.inputs) <= {"src", "mt"}
    assert architecture.model.__doc__
    described = [field.description for field in architecture.config_class.model_fields.values()]
    assert all(described), "every option of a recipe has a description"


def test_nearest_returns_only_similar_names() -> None:
    assert nearest("drpout", ["dropout", "size"]) == '; did you mean "dropout"?'
    assert nearest("xyz", ["dropout", "size"]) == ""
    assert nearest("x", []) == ""


def test_a_model_on_meta_has_the_sizes_of_a_real_one_and_draws_no_numbers() -> None:
    info = VocabularyInfo(50, "words")
    config = ConditionalGRUConfig(embedding=8, hidden=8)
    vocabularies = Vocabularies({"src": info, "mt": info}, info)
    before = torch.get_rng_state()
    sizes = {name: value.shape for name, value in ONE.build_on_meta(config, vocabularies).named_parameters()}
    assert torch.equal(torch.get_rng_state(), before)
    assert sizes == {name: value.shape for name, value in ONE.build(config, vocabularies).named_parameters()}


@pytest.mark.parametrize("default", [torch.bfloat16, torch.float64])
def test_models_are_built_in_single_precision(default: torch.dtype) -> None:
    info = VocabularyInfo(50, "words")
    torch.set_default_dtype(default)  # as applications do
    try:
        model = ONE.build(ConditionalGRUConfig(embedding=8, hidden=8), Vocabularies({"src": info, "mt": info}, info))
        assert torch.get_default_dtype() == default
    finally:
        torch.set_default_dtype(torch.float32)
    assert {weights.dtype for weights in model.parameters()} == {torch.float32}


def test_threads_that_build_models_at_once_leave_the_default_type() -> None:
    first_built, second_entered = Event(), Event()

    class Waiting(ONE.model):  # type: ignore[misc, name-defined]
        def __init__(self, config: ConditionalGRUConfig, vocabularies: Vocabularies) -> None:
            if current_thread().name == "second":
                second_entered.set()
                first_built.wait(10)
            else:
                second.start()
                second_entered.wait(0.2)  # which it does only if nothing holds it back
            super().__init__(config, vocabularies)

    def build() -> None:
        dtypes.update(weights.dtype for weights in waiting.build(config, vocabularies).parameters())

    info, dtypes = VocabularyInfo(50, "words"), set[torch.dtype]()
    waiting, config = replace(ONE, model=Waiting), ConditionalGRUConfig(embedding=8, hidden=8)
    vocabularies, second = Vocabularies({"src": info, "mt": info}, info), Thread(target=build, name="second")
    torch.set_default_dtype(torch.bfloat16)
    try:
        build()
        first_built.set()
        second.join()
        assert torch.get_default_dtype() == torch.bfloat16
    finally:
        torch.set_default_dtype(torch.float32)
    assert dtypes == {torch.float32}
