"""Folders of phrase-based models; reading them executes no code from any file.

config.json         options, search settings, format version
model.safetensors   the arrays of the model
text/words.json     the words, in the order of their ids
provenance.json     data, options and versions of training, and scores on the dev set
README.md           model card
SHA256SUMS          digests of the files, see `postedit.core.checksums`
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch

import postedit
from postedit.core.checksums import record_folder
from postedit.core.config import check_config
from postedit.core.errors import ModelFolderError
from postedit.core.files import atomic_folder, load_json, reason_of, save_json, sha256_of
from postedit.core.search_config import SearchConfig
from postedit.core.tensor_files import check_sha256, load_tensors, save_tensors
from postedit.folder import card_scores
from postedit.model_files import (
    CARD,
    CONFIG,
    PROVENANCE,
    TEXT,
    WEIGHTS,
    check_replaceable,
    read_config,
    read_notice,
    read_provenance,
    write_notice,
)
from postedit.phrase.compact_arrays import compact_arrays, expanded_model
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_model import PhraseModel
from postedit.phrase.phrase_options import NAME, PhraseConfig, PhraseTextConfig

_FORMAT: Final = 1
_WORDS: Final = f"{TEXT}/words.json"

_CARD_TEXT: Final = """\
---
library_name: postedit
tags: [automatic-post-editing, translation]
---
# {name}

Automatic post-editing model (statistical post-editing over an index of triplets; after Simard et al. 2007), made with
postedit {version}. **It contains the texts that it was trained on.**

```python
from postedit import PostEditor

editor = PostEditor.load("path/to/this/folder")
print(editor.edit(src=["..."], mt=["..."])[0].text)
```

Scores on the dev set, which also chose the weights:

{scores}

`provenance.json` lists the training data and the recipe.
"""


@dataclass(frozen=True, slots=True)
class PhraseFolder:
    """A phrase-based model with its options; `notice` has the licences of its training texts, if any."""

    model: PhraseModel
    config: PhraseConfig
    text: PhraseTextConfig
    search: SearchConfig
    provenance: Mapping[str, Any]
    notice: str | None = None

    def editor(self, *sources: Path) -> PhraseEditor:
        """Return the editor of the model, loaded from `sources`."""
        return PhraseEditor(self.model, self.config, self.text, self.search, sources)

    def save(self, path: Path) -> None:
        """Write the folder; a model already at `path` is replaced once everything is written.

        Raises:
            OutputError: if `path` exists and is not a model, or cannot be written, or the disk is full.
        """
        check_replaceable(path)
        with atomic_folder(path) as folder:
            (folder / _WORDS).parent.mkdir()
            (folder / _WORDS).write_text(json.dumps(self.model.words.own, ensure_ascii=False), encoding="utf-8")
            stored = compact_arrays(self.model, self.config.least) if self.config.compact else self.model.to_arrays()
            arrays = {name: torch.from_numpy(array) for name, array in stored.items()}
            save_tensors(folder / WEIGHTS, arrays, {"architecture": NAME})
            config = {
                "format": _FORMAT,
                "postedit": postedit.__version__,
                "architecture": NAME,
                "model": self.config.model_dump(mode="json"),
                "text": self.text.model_dump(mode="json"),
                "search": self.search.model_dump(mode="json"),
                "sha256": {name: sha256_of(folder / name) for name in (WEIGHTS, _WORDS)},
            }
            save_json(folder / PROVENANCE, self.provenance)
            save_json(folder / CONFIG, config)
            card = _CARD_TEXT.format(name=NAME, version=postedit.__version__, scores=card_scores(self.provenance))
            (folder / CARD).write_text(card, encoding="utf-8")
            write_notice(folder, self.notice)
            record_folder(folder)

    @classmethod
    def load(cls, path: Path) -> "PhraseFolder":
        """Read a model folder.

        Raises:
            ModelFolderError: if a file is missing, damaged, or does not match config.json.
        """
        values = read_config(path)
        problems: list[str] = []
        configs: dict[str, Any] = {}
        for name, kind in (("model", PhraseConfig), ("text", PhraseTextConfig), ("search", SearchConfig)):
            section = values.get(name)
            configs[name], found = check_config(kind, section if isinstance(section, dict) else {}, f"{name}.")
            problems += found
        digests: Any = values.get("sha256")
        if not isinstance(digests, dict) or set(digests) != {WEIGHTS, _WORDS}:
            problems.append("sha256 must have a digest of each file")
            digests = {}
        if problems:
            raise ModelFolderError(f"{path / CONFIG}: {'; '.join(problems)}")
        for name, digest in digests.items():
            check_sha256(path / name, str(digest))
        try:
            words = [str(word) for word in load_json(path / _WORDS)]
        except OSError as error:
            raise ModelFolderError(f"{path / _WORDS}: cannot be read: {reason_of(error)}") from None
        except (ValueError, TypeError) as error:
            raise ModelFolderError(f"{path / _WORDS}: damaged ({error}); copy the model folder again") from None
        arrays = {name: tensor.numpy() for name, tensor in load_tensors(path / WEIGHTS).items()}
        try:
            read = expanded_model if configs["model"].compact else PhraseModel.of_arrays
            model = read(words, arrays)
        except KeyError as error:
            raise ModelFolderError(f"{path / WEIGHTS}: has no array {error}; train the model again") from None
        more = read_provenance(path), read_notice(path)
        return cls(model, configs["model"], configs["text"], configs["search"], *more)
