"""Find out whether a model was trained on a dev set, or selected by its scores on it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from postedit.adapt.adaptation_config import NO_MODEL
from postedit.core.editor import ENDPOINT, OWN_EDITOR
from postedit.data.corpus import encoded, fingerprint_of
from postedit.data.lines import DevTexts
from postedit.data.triplets import Triplet, unusable
from postedit.editing.combination import Combination, is_combination
from postedit.editing.loading import find_folder
from postedit.folder import ModelFolder
from postedit.model_files import CHAIN, CHAINED, architecture_of, read_provenance
from postedit.phrase.phrase_folder import PhraseFolder
from postedit.phrase.phrase_options import NAME
from postedit.text.config import SIDES


def uses_of(dev: DevTexts, model: str | Path) -> set[str]:
    """Return how a model, or one that it started from, used exactly these triplets: as "train", as "dev", both, or not.

    A model is named as for `PostEditor.load`. Chains and combinations used what their members used, and the triplets
    that chose their edit costs or weights; of models behind endpoints and editors of one's own, no use is known.

    The provenance of a model folder, or of a file of weights of a run, has fingerprints of whole corpora in the model's
    own vocabularies. So a use cannot be found if the triplets were only part of a corpus, if the corpus had other
    vocabularies, hints, or drafts as mt, or if there is no provenance.

    Raises:
        ModelFolderError: if there is no model, or it is damaged.
    """
    if str(model) == NO_MODEL or str(model).startswith((ENDPOINT, OWN_EDITOR)):
        return set()
    path = find_folder(model)
    digest = dev.digest
    if is_combination(path):
        combination = Combination.load(path)
        members = [member.path for member in combination.members]
        return _uses_of_parts(dev, members, combination.tuning.get("dev_sha256") == digest)
    architecture = architecture_of(path)
    if architecture == CHAIN:
        return _uses_of_parts(dev, [path / name for name in CHAINED], read_provenance(path).get("dev_sha256") == digest)
    if architecture == NAME:
        known = PhraseFolder.load(path).provenance.get("environments", [])
        return {name for start in known for name, found in start.get("corpora", {}).items() if found == digest}
    triplets = (Triplet(*texts) for texts in zip(dev.src, dev.mt, dev.pe, strict=True))
    usable = [triplet for triplet in triplets if unusable(triplet, SIDES) is None]
    folder: ModelFolder | None = ModelFolder.load(path)
    uses: set[str] = set()
    while folder is not None:
        processor, writes = folder.processor, folder.model.spec.writes
        ids = list(encoded(usable, processor))
        for max_length, corpora in _trainings(folder.provenance):
            # Provenance does not tell whether training cut longer texts or skipped them.
            own = {fingerprint_of(ids, processor, max_length, writes, cut=cut) for cut in (False, True)}
            uses |= {name for name, fingerprint in corpora if fingerprint in own}
        folder = folder.first_stage
    return uses


def _uses_of_parts(dev: DevTexts, models: Sequence[str | Path], chosen: bool) -> set[str]:
    """Return the uses by several models, and "dev" if the triplets have `chosen` how they work together."""
    return ({"dev"} if chosen else set[str]()).union(*(uses_of(dev, model) for model in models))


def _trainings(provenance: Any) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """Yield maximum length and corpora of a model's training, and of the models that it started from or averages."""
    while provenance:
        try:
            for other in provenance.get("averaged_with", ()):
                yield from _trainings(other)
            starts = [start.get("corpora", {}).items() for start in provenance.get("environments", [])]
            yield int(provenance["recipe"]["data"]["max_length"]), [corpus for start in starts for corpus in start]
        except (AttributeError, KeyError, TypeError, ValueError):  # earlier trainings are not known
            return
        provenance = provenance.get("started_from")
