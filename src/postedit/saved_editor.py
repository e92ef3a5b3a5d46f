"""The base of editors that `PostEditor.load` returns: of one model folder, they can be saved and uploaded."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from postedit.core.checksums import recorded_damage
from postedit.core.editor import Editor
from postedit.core.errors import ModelFolderError
from postedit.core.files import atomic_folder
from postedit.folder import COPIED, ModelFolder, check_replaceable, read_config


class SavedEditor(Editor):
    """An editor that was loaded from files and folders."""

    sources: tuple[Path, ...] = ()
    """The files and folders it was loaded from."""

    pair: tuple[str, str] = ("", "")
    """Codes of the languages by which it was chosen, as by `PostEditor.load("en-de")`; empty if by a folder."""

    def chosen_for(self, pair: tuple[str, str]) -> None:
        """Note the pair by which this editor was chosen, also in its parts."""
        self.pair = pair
        for part in self._parts():
            if isinstance(part, SavedEditor):
                part.chosen_for(pair)

    def _parts(self) -> Sequence[Editor]:
        """Return the editors that this one is made of."""
        return ()

    def save_pretrained(self, path: str | Path) -> None:
        """Write a copy of the model folder; only a model or an empty folder at `path` is replaced.

        Of a run of which other weights were loaded (RUN/best/*.safetensors), it is the model with these weights.

        Raises:
            ModelFolderError: for an editor of several models, or if the folder cannot be read any more.
            OutputError: if something else is at `path`, or it cannot be written.
        """
        if len(self.sources) != 1:
            raise ModelFolderError(
                "this editor was not loaded from one model folder; save the members of an ensemble or a combination "
                "one by one, each as an editor of its own (PostEditor.load(FOLDER))"
            )
        self._save(self.sources[0], Path(path).resolve())

    def push_to_hub(self, repository: str, *, private: bool = False) -> str:
        """Upload the model folder to the Hugging Face hub as `repository` ("name/model"); return its address.

        Raises:
            ModelFolderError: for an editor of several models, or if the hub refuses or cannot be reached.
            OutputError: if there is no room for a temporary copy.
        """
        with tempfile.TemporaryDirectory() as temporary:
            path = Path(temporary) / "model"
            self.save_pretrained(path)
            return _upload(path, repository, private=private)

    def _save(self, source: Path, path: Path) -> None:
        """Write the model at `source` as a folder.

        Raises:
            ModelFolderError: if a file of it is not as it was when its digests were recorded.
        """
        if source.is_file():  # weights of a run
            ModelFolder.load(source).save(path)
            return
        read_config(source)
        if damage := recorded_damage(source):
            raise ModelFolderError(f"{damage}; save a copy that is whole")
        check_replaceable(path)
        with atomic_folder(path) as folder:
            for file in (file for pattern in COPIED for file in source.glob(pattern)):
                target = folder / file.relative_to(source)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)

    def _languages(self, own: tuple[str, str]) -> tuple[str, str]:
        """Return the languages of the model, or where it does not say them, those by which it was chosen."""
        return own[0] or self.pair[0], own[1] or self.pair[1]


def _upload(path: Path, repository: str, *, private: bool) -> str:
    from postedit.hub import upload  # late: its library imports slowly

    return upload(path, repository, private=private)
