"""Models of one architecture, saved in model folders; reading them never executes code from them.

`postedit.model_files` describes the files.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from safetensors import safe_open
from torch import Tensor

import postedit
from postedit.core.checksums import record_folder
from postedit.core.config import Config, check_config
from postedit.core.errors import ModelFolderError, RecipeError
from postedit.core.files import atomic_folder, save_json, sha256_of
from postedit.core.model import Seq2Seq
from postedit.core.registry import Architecture
from postedit.core.search_config import SearchConfig
from postedit.core.tensor_files import (
    check_finite,
    check_model_tensors,
    check_sha256,
    explain_tensor_errors,
    load_model_tensors,
    load_tensors,
    model_tensors,
    save_tensors,
)
from postedit.model_files import (
    CARD,
    CHAIN,
    CHAINED,
    CHECKPOINT,
    CONFIG,
    DRAFT,
    FORMAT,
    PROVENANCE,
    TEXT,
    WEIGHTS,
    check_replaceable,
    identity_of,
    parts_of,
    read_config,
    read_notice,
    read_provenance,
    write_notice,
)
from postedit.models import ARCHITECTURES
from postedit.text.processor import TextProcessor

_MOST_READS: Final = 5  # attempts to read a folder that is replaced while it is read
_LARGEST: Final = 10**9  # of a size in config.json, at most
_MOST_LAYERS: Final = 1000  # more only if there are as many tensors; layers may share theirs
_BETWEEN_READS: Final = 0.01  # seconds between attempts

_CARD_TEXT: Final = """\
---
library_name: postedit
tags: [automatic-post-editing, translation]
---
# {name}

Automatic post-editing model ({summary}; {paper}), made with postedit {version}.

```python
from postedit import PostEditor

editor = PostEditor.load("path/to/this/folder")
print({call}[0].text)
```

Scores on the dev set, which also chose the weights:

{scores}

`provenance.json` lists the training data and the recipe.
"""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model with its text processing and everything else that its folder stores.

    `first_stage` is the model whose output it reads as mt, or None; `notice` has the licences of its training texts.
    """

    architecture: Architecture
    config: Config
    search: SearchConfig
    model: Seq2Seq
    processor: TextProcessor
    provenance: Mapping[str, Any]
    first_stage: "ModelFolder | None" = None
    notice: str | None = None

    def save(self, path: Path, stored: torch.dtype = torch.float32) -> None:
        """Write the folder, with weights of type `stored`; a model at `path` is replaced once everything is written.

        Raises:
            OutputError: if there is something other than a model at `path`, it cannot be written, or the disk is full.
        """
        check_replaceable(path)
        with atomic_folder(path) as folder:
            self._write(folder, stored)

    def _write(self, folder: Path, stored: torch.dtype) -> None:
        config: dict[str, Any] = {
            "format": FORMAT,
            "postedit": postedit.__version__,
            "architecture": self.architecture.name,
            "model": self.config.model_dump(mode="json"),
            "search": self.search.model_dump(mode="json"),
            "draft": self.first_stage is not None,
        }
        (folder / CARD).write_text(self._card(), encoding="utf-8")
        write_notice(folder, self.notice)
        (folder / TEXT).mkdir()
        self.processor.save(folder / TEXT)
        tensors = {
            name: tensor.to(stored) if tensor.is_floating_point() else tensor
            for name, tensor in model_tensors(self.model).items()
        }
        save_tensors(folder / WEIGHTS, tensors, {"architecture": self.architecture.name})
        config["weights_sha256"] = sha256_of(folder / WEIGHTS)
        if self.model.frozen_checkpoint is not None:
            config["frozen_sha256"] = self.model.frozen_sha256
            if Path(self.model.frozen_checkpoint).is_dir():
                place = Path(self.model.frozen_checkpoint).resolve()
                (folder / CHECKPOINT).write_text(f"{place}\n", encoding="utf-8")
        save_json(folder / PROVENANCE, self.provenance)
        save_json(folder / CONFIG, config)
        if self.first_stage is not None:
            (folder / DRAFT).mkdir()
            self.first_stage._write(folder / DRAFT, stored)
        record_folder(folder)

    @classmethod
    @torch.inference_mode(False)  # applications may call this in inference mode, whose tensors can never be trained
    def load(cls, path: Path, device: torch.device | str = "cpu") -> "ModelFolder":
        """Read a model folder; a weights file RUN/best/*.safetensors is read with the rest of RUN/model.

        A folder that is replaced while it is read, as training does when it finds a better model, is read again.

        Raises:
            ModelFolderError: if something is missing, damaged, or not what config.json says.
        """
        folder, weights = parts_of(path)
        for _ in range(_MOST_READS - 1):
            before = identity_of(folder)
            try:
                found = cls._load(folder, weights, device)
            except ModelFolderError:
                if before is not None and identity_of(folder) == before:
                    raise
            else:
                if identity_of(folder) == before:
                    return found
            if before is None:  # perhaps the new folder has not been renamed yet
                time.sleep(_BETWEEN_READS)
        return cls._load(folder, weights, device)

    @classmethod
    def _load(cls, path: Path, weights: Path, device: torch.device | str) -> "ModelFolder":
        values = read_config(path)
        if values["architecture"] == CHAIN:
            raise ModelFolderError(f"{path}: is a chain of two models; name one of them, as {path / CHAINED[0]}")
        try:
            architecture = ARCHITECTURES[str(values["architecture"])]
        except RecipeError as error:
            raise ModelFolderError(f"{path / CONFIG}: {error}; if another package adds it, install that") from None
        config, problems = check_config(architecture.config_class, values["model"], "model.")
        search, more = check_config(SearchConfig, values["search"], "search.")
        if config is None or search is None:
            raise ModelFolderError(f"{path / CONFIG}: {'; '.join(problems + more)}")
        processor = TextProcessor.load(path / TEXT)
        tensors = _read_weights(weights, architecture.name)
        _check_sizes(path / CONFIG, config, len(tensors))
        try:
            # Check shapes before allocating memory for the sizes in config.json.
            check_model_tensors(architecture.build_on_meta(config, processor.vocabularies), tensors)
            model = architecture.build(config, processor.vocabularies)
        except ModelFolderError as error:
            raise ModelFolderError(f"{weights}: {error}") from None
        except ValueError as error:  # incompatible sizes; RecipeError is a subclass
            raise ModelFolderError(f"{path / CONFIG}: {error}") from None
        except RuntimeError as error:
            if "overflow" not in str(error):
                raise
            raise ModelFolderError(f"{path / CONFIG}: has sizes that no model has ({error})") from None
        if model.frozen_checkpoint is not None:  # before loading the adapters, which would change its outputs
            _load_frozen_weights(path, model, values.get("frozen_sha256"))
        load_model_tensors(model, tensors)
        is_own = weights.resolve() == (path / WEIGHTS).resolve()
        if is_own and "weights_sha256" in values:
            check_sha256(weights, str(values["weights_sha256"]))
        else:
            check_finite(weights, tensors)
        provenance = read_provenance(path)
        if not is_own:
            provenance.pop("dev", None)  # the scores of other weights
        model = model.to(device).eval().requires_grad_(False)
        first_stage = cls.load(path / DRAFT, device) if values.get("draft", False) else None
        notice = read_notice(path)
        return cls(architecture, config, search, model, processor, provenance, first_stage, notice)

    def worse_than_input(self) -> str | None:
        """Return a warning if the dev set had a lower TER before the model edited it, else None.

        A model that does not read mt, such as a first stage, gets no warning, because it translates and does not edit.
        """
        dev = self.provenance.get("dev", {})
        ter, unedited = dev.get("ter"), dev.get("do_nothing_ter")
        if "mt" not in self.model.spec.inputs or ter is None or unedited is None or ter <= unedited:
            return None
        what = "unedited MT" if self.first_stage is None else "the drafts of its first stage"
        return f"its outputs had TER {ter:.1f} on the dev set, worse than {unedited:.1f} of {what}"

    def _card(self) -> str:
        needs_mt = "mt" in self.model.spec.inputs and self.first_stage is None
        return _CARD_TEXT.format(
            name=self.architecture.name,
            summary=self.architecture.summary,
            paper=self.architecture.paper,
            version=postedit.__version__,
            call='editor.edit(src=["..."], mt=["..."])' if needs_mt else 'editor.edit(src=["..."])',
            scores=card_scores(self.provenance),
        )


def _check_sizes(path: Path, config: Config, tensors: int) -> None:
    """Check that a model of the sizes in its configuration, at `path`, can be made, even without memory for its values.

    Raises:
        ModelFolderError: if a size is that of no model.
    """
    for name, value in config:
        most = max(tensors, _MOST_LAYERS) if name.startswith("layers") else _LARGEST
        if isinstance(value, int) and value > most:
            raise ModelFolderError(f"{path}: model.{name}: must be at most {most:,}")


def card_scores(provenance: Mapping[str, Any]) -> str:
    """Return the scores on the dev set, as the list of a model card."""
    scores = provenance.get("dev", {}).items()
    shown = [f"- {name}: {value:.2f}" if isinstance(value, float) else f"- {name}: {value}" for name, value in scores]
    return "\n".join(shown or ["- not recorded"])


def _load_frozen_weights(path: Path, model: Seq2Seq, sha256: object) -> None:
    """Load the weights that the model folder `path` does not have from the checkpoint that its adapters modify.

    Raises:
        ModelFolderError: if they cannot be loaded, or are not those that the adapters were trained with.
    """
    assert model.frozen_checkpoint is not None
    noted = path / CHECKPOINT
    name = model.frozen_checkpoint
    try:
        if noted.exists():
            name = noted.read_text(encoding="utf-8").strip()
        model.load_frozen_weights(name)
    except (OSError, UnicodeDecodeError, RecipeError) as error:
        raise ModelFolderError(
            f"{path}: has adapters alone; the weights of {model.frozen_checkpoint}, which they change, cannot be "
            f"loaded ({error}); write the path of that checkpoint into {noted}"
        ) from None
    if model.frozen_sha256 != sha256:
        raise ModelFolderError(
            f"{path}: has adapters of other weights than those of {name}; write the path of the checkpoint that they "
            f"were trained with into {noted}"
        )


def _read_weights(path: Path, architecture: str) -> dict[str, Tensor]:
    if not path.exists():
        raise ModelFolderError(f"{path}: missing; the folder is incomplete, copy or train the model again")
    with explain_tensor_errors(path), safe_open(str(path), framework="pt") as file:
        found = (file.metadata() or {}).get("architecture", architecture)
    if found != architecture:
        raise ModelFolderError(f'{path}: holds weights of "{found}", but config.json says "{architecture}"')
    return load_tensors(path)
