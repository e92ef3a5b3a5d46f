"""The hints that a language model is trained with, as from a memory that holds the other training triplets."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from postedit.core.hints import HintName, Hints
from postedit.data.triplets import DataConfig, Triplet, read_triplets
from postedit.evaluate.tags import edit_tags
from postedit.text.glossary import Glossary
from postedit.text.hint_texts import Example
from postedit.text.hint_writer import HintSources, HintWriter
from postedit.text.processor import TextProcessor
from postedit.text.similarity_index import SimilarityIndex


class TrainingHints:
    """Makes the hints of training triplets, and of a dev set.

    Similar corrections are triplets of the training set whose mt was changed. None has the same src: outputs of other
    systems, or with artificial errors, often have the same pe. Errors are tagged where mt and pe differ, in the share
    `data.tagged` of the triplets, chosen by a hash of their texts; never in a dev set, as it is decoded without tags.

    Args:
        hints: the parts of the model's prompt.
        data: the training set, and the glossary.
        processor: the text processing of the model.
    """

    def __init__(self, hints: Hints, data: DataConfig, processor: TextProcessor) -> None:
        self._hints, self._data, self._processor = hints, data, processor

    @property
    def names(self) -> Sequence[HintName]:
        """The names of the parts."""
        return self._hints.names

    @cached_property
    def sources(self) -> HintSources:
        """The corrections of the training set, which are held in memory, and the glossary; the dev set uses them too.

        Raises:
            DataError: if the files cannot be read.
        """
        index = SimilarityIndex() if "examples" in self.names else None
        if index is not None:
            for number, one in enumerate(read_triplets(self._data.train)):
                index.add(number, Example(one.src, one.mt, one.pe))
        path = self._data.glossary
        return HintSources(index, None if path is None else Glossary.read(Path(path)), other_src=True)

    def __call__(self, triplet: Triplet) -> dict[str, list[int]]:
        """Return the token ids of each part for a triplet."""
        mt, pe = triplet.mt, triplet.pe
        bad = edit_tags(mt.split(), pe.split()) if _share(triplet) < self._data.tagged else None
        return self.writer.write(triplet.src, mt, bad=bad)

    @property
    def of_dev(self) -> "DevHints":
        """The hints of a dev set, from the same sources."""
        return DevHints(self)

    @cached_property
    def writer(self) -> HintWriter:
        """The writer of the hints."""
        return HintWriter(self._hints, self._processor, self.sources)


@dataclass(frozen=True, slots=True)
class DevHints:
    """Makes the hints of a dev set: without tagged errors, which only its pe could show.

    Args:
        training: the hints of the training set.
    """

    training: TrainingHints

    @property
    def names(self) -> Sequence[HintName]:
        """The names of the parts."""
        return self.training.names

    def __call__(self, triplet: Triplet) -> dict[str, list[int]]:
        """Return the token ids of each part for a triplet."""
        return self.training.writer.write(triplet.src, triplet.mt)


def _share(triplet: Triplet) -> float:
    """Return a number from 0 to 1 (exclusive) that depends only on the texts of a triplet."""
    return zlib.crc32(f"{triplet.src}\t{triplet.mt}\t{triplet.pe}".encode()) / 2**32
