"""The base class of the editors that `PostEditor.load` returns; those of one model folder can be saved and uploaded."""

import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from postedit.core.arguments import path_of
from postedit.core.checksums import recorded_damage
from postedit.core.editor import Editor, Side
from postedit.core.errors import ModelFolderError
from postedit.core.files import atomic_folder
from postedit.folder import ModelFolder
from postedit.model_files import COPIED, check_replaceable, content_fingerprint, copy_files, read_config


class SavedEditor(Editor):
    """An editor that was loaded from files and folders."""

    sources: tuple[Path, ...] = ()
    """The files and folders that the editor was loaded from."""

    pair: tuple[str, str] = ("", "")
    """Language codes by which the editor was chosen, as with `PostEditor.load("en-de")`; empty if chosen by folder."""

    def chosen_for(self, pair: tuple[str, str]) -> None:
        """Record the language pair by which this editor was chosen, also in its parts."""
        self.pair = pair
        for part in self._parts():
            if isinstance(part, SavedEditor):
                part.chosen_for(pair)

    def _parts(self) -> Sequence[Editor]:
        """Return the editors that this one is made of."""
        return ()

    def save_pretrained(self, path: str | Path) -> None:
        """Write a copy of the model folder to `path`, where only a model or an empty folder is replaced.

        If a weights file of a run was loaded (RUN/best/*.safetensors), the copy has these weights.

        Raises:
            DataError: if `path` is not a path.
            ModelFolderError: if the editor has several models, or its folder can no longer be read or is damaged.
            OutputError: if there is something else at `path`, or it cannot be written.
        """
        if len(self.sources) != 1:
            raise ModelFolderError(
                "this editor was not loaded from one model folder; save the members of an ensemble or a combination "
                "one by one, each as an editor of its own (PostEditor.load(FOLDER))"
            )
        self._save(self.sources[0], path_of("path", path).resolve())

    def push_to_hub(self, repository: str, *, private: bool = False) -> str:
        """Upload the model folder to the Hugging Face hub as `repository` ("name/model"); return its address.

        Raises:
            ModelFolderError: if the editor has several models, or the hub refuses or cannot be reached.
            OutputError: if there is no room for a temporary copy.
        """
        with tempfile.TemporaryDirectory() as temporary:
            path = Path(temporary) / "model"
            self.save_pretrained(path)
            return _upload(path, repository, private=private)

    def _save(self, source: Path, path: Path) -> None:
        """Write the model at `source`, a model folder or a weights file, as the model folder `path`.

        Raises:
            ModelFolderError: if a file no longer has the digest that was recorded for it.
        """
        if source.is_file():  # weights of a run
            ModelFolder.load(source).save(path)
            return
        read_config(source)
        if damage := recorded_damage(source):
            raise ModelFolderError(f"{damage}; save a copy that is whole")
        check_replaceable(path)
        with atomic_folder(path) as folder:
            copy_files(source, folder, COPIED)

    @cached_property
    def _fingerprints(self) -> tuple[str, ...]:
        """Fingerprints of the sources."""
        return tuple(map(content_fingerprint, self.sources))

    def _languages(self, own: tuple[str, str]) -> tuple[str, str]:
        """Return the languages `own` of the model; a language that it does not name is taken from `pair`."""
        return own[0] or self.pair[0], own[1] or self.pair[1]


class CompoundEditor(SavedEditor):
    """An editor made of several, the first of which divides texts into words."""

    def word_spans(self, side: Side, text: str) -> list[tuple[int, int]] | None:
        """Return the character spans of the words of a text, by the tokeniser of the first editor."""
        return self._parts()[0].word_spans(side, text)

    def words(self, side: Side, text: str) -> list[str]:
        """Return the words of a text, by the tokeniser of the first editor."""
        return self._parts()[0].words(side, text)

    def seem_swapped(self, src: Sequence[str], mt: Sequence[str]) -> bool:
        """Return whether src and mt seem to be swapped, as judged by any of the editors."""
        return any(part.seem_swapped(src, mt) for part in self._parts())


def _upload(path: Path, repository: str, *, private: bool) -> str:
    from postedit.hub import upload  # imported late, because its library imports slowly

    return upload(path, repository, private=private)
