"""Chain folders: two model folders in one, with the files that any model folder has besides weights and vocabularies.

config.json       architecture "chain", search settings of the first model, format version
first/, second/   model folders, each of a neural or phrase-based model
provenance.json   edit costs of both models; scores on the dev set that chose them, and its digest
README.md         model card
SHA256SUMS        digests of the files, see `postedit.core.checksums`
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import torch

import postedit
from postedit.core.checksums import record_folder
from postedit.core.errors import ModelFolderError
from postedit.core.files import atomic_folder, save_json
from postedit.editing.chained_editors import Chain
from postedit.editing.loading import Choice
from postedit.editing.post_editor import PostEditor
from postedit.model_files import (
    CARD,
    CHAIN,
    CHAINED,
    CONFIG,
    COPIED_OF_ONE,
    PROVENANCE,
    check_replaceable,
    copy_files,
    read_config,
)
from postedit.nn.inference import Precision

_CARD_TEXT: Final = """\
---
library_name: postedit
tags: [automatic-post-editing, translation]
---
# Chain: {first}, then {second}

Automatic post-editing by two models, the second of which corrects what the first wrote; made with postedit {version}.

```python
from postedit import PostEditor

editor = PostEditor.load("path/to/this/folder")
print(editor.edit(src=["..."], mt=["..."])[0].text)
```

Scores on the dev set, which also chose the edit costs:

{scores}

`first/README.md` and `second/README.md` describe the models.
"""


def load_chain(choice: Choice, devices: Sequence[torch.device], precision: Precision) -> Chain:
    """Load a chain from its folder, spreading its neural models over the devices in turn.

    Raises:
        ModelFolderError: if other models or weights are given with it, or a model is missing, damaged, or a chain.
        DataError: if the models are for different languages.
    """
    if len(choice.paths) > 1 or choice.weights is not None:
        names = " ".join(map(str, choice.paths))
        raise ModelFolderError(f"{names}: a chain cannot be in an ensemble, and has no weights")
    editors = []
    for number, name in enumerate(CHAINED):
        model = choice.paths[0] / name
        if read_config(model)["architecture"] == CHAIN:
            raise ModelFolderError(f"{model}: is a chain itself; a chain is of two models")
        editors.append(PostEditor.load(model, device=devices[number % len(devices)], dtype=precision))
    return Chain(*editors, sources=choice.paths)


def save_chain(
    path: Path, models: Sequence[Path], edit_costs: Sequence[float], scores: Mapping[str, str], digest: str
) -> None:
    """Write a chain folder with copies of two model folders; a model at `path` is replaced once all is written.

    Args:
        path: the folder to write.
        models: the folders of the two models, in order.
        edit_costs: the edit cost with which each model searches.
        scores: scores on the dev set, by name.
        digest: digest of the triplets of the dev set (`DevTexts.digest`).

    Raises:
        ModelFolderError: if one of `models` is not a model folder, or is a chain itself.
        OutputError: if `path` holds anything but a model or cannot be written, or the disk is full.
    """
    names = [kind_of_link(model) for model in models]
    check_replaceable(path)
    with atomic_folder(path) as folder:
        for name, model, cost in zip(CHAINED, models, edit_costs, strict=True):
            _copy(model, folder / name, cost)
        config = {"format": 1, "postedit": postedit.__version__, "architecture": CHAIN, "model": {}}
        config["search"] = read_config(folder / CHAINED[0])["search"]
        save_json(folder / CONFIG, config)
        save_json(folder / PROVENANCE, {"edit_costs": list(edit_costs), "dev": dict(scores), "dev_sha256": digest})
        shown = "\n".join(f"- {name}: {value}" for name, value in scores.items())
        card = _CARD_TEXT.format(first=names[0], second=names[1], version=postedit.__version__, scores=shown)
        (folder / CARD).write_text(card, encoding="utf-8")
        record_folder(folder)


def kind_of_link(model: Path) -> str:
    """Return the architecture of a model that is to be part of a chain.

    Raises:
        ModelFolderError: if `model` is not a model folder, or is a chain itself.
    """
    name = str(read_config(model)["architecture"])
    if name == CHAIN:
        raise ModelFolderError(f"{model}: is a chain itself; name its models, {' and '.join(CHAINED)} in it")
    return name


def _copy(model: Path, folder: Path, edit_cost: float) -> None:
    """Copy the files of a model, leaving out unrelated files in its folder, and set its edit cost."""
    copy_files(model, folder, COPIED_OF_ONE)
    config = read_config(folder)
    config["search"]["edit_cost"] = edit_cost
    save_json(folder / CONFIG, config)
    record_folder(folder)
