"""A catalogue of two German models and a French one, the release file of each, and a folder for what is fetched."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.unit.phrase.small_corpus import TRIPLETS, split

from postedit.core.search_config import SearchConfig
from postedit.phrase.phrase_folder import PhraseFolder
from postedit.phrase.phrase_model import learn
from postedit.phrase.phrase_options import PhraseConfig, PhraseTextConfig
from postedit.releases import catalogue
from postedit.releases.archive import pack

ENTRY = """
[[models]]
name = "{name}"
texts = "texts of {name}"
triplets = 10
licence = "MIT"
gain = {{ dev = "ten lines", unedited = 30, ter = 28.5 }}
file = "{name}-1.tar.xz"
bytes = {size}
sha256 = "{digest}"
"""
NAMES = ("house.en-de", "tree.en-de", "house.en-fr")


@dataclass(frozen=True)
class World:
    """Where release files are, and where they are installed."""

    releases: Path
    models: Path


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("releases")
    for number, name in enumerate(NAMES):
        config = PhraseConfig(order=3, compact=True)
        text = PhraseTextConfig(src_lang="en", tgt_lang=name[-2:])
        model = PhraseFolder(learn(split(TRIPLETS), config), config, text, SearchConfig(), {"triplets": 10 + number})
        model.save(folder / name)
        pack(folder / name, folder / f"{name}-1.tar.xz")
    return folder


@pytest.fixture
def world(releases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    path = tmp_path / "catalogue.toml"
    entries = []
    for name in NAMES:
        content = (releases / f"{name}-1.tar.xz").read_bytes()
        entries.append(ENTRY.format(name=name, size=len(content), digest=hashlib.sha256(content).hexdigest()))
    path.write_text(
        catalogue._CATALOGUE.read_text(encoding="utf-8").partition("[[models]]")[0] + SHIPPED + "".join(entries)
    )
    monkeypatch.setattr(catalogue, "_CATALOGUE", path)
    monkeypatch.setenv("POSTEDIT_MODELS", str(tmp_path / "models"))
    catalogue.known_models.cache_clear()
    yield World(releases, tmp_path / "models")
    catalogue.known_models.cache_clear()


SHIPPED = """
[[models]]
name = "wiki.en-zh"
texts = "encyclopaedic text, English to Chinese"
triplets = 7000
licence = "CC0"
gain = { dev = "lines", unedited = 24.43, ter = 21.52 }
"""
