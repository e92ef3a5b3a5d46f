"""Loading of editors that learn: a model of any kind, with a memory of corrections that it follows."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, get_args

import torch

from postedit.adapt.adaptation_config import NO_MODEL, Learning, LearningConfig
from postedit.adapt.correction_memory import CorrectionMemory, Entry, MemoryPosition
from postedit.adapt.followed_by_phrases import FollowedByPhrases, text_of
from postedit.adapt.neural_learner import NearestAdaptation, NeuralLearner, load_to_adapt
from postedit.adapt.phrase_learner import PhraseLearner
from postedit.adapt.remembering import Learner, Remembering, say_nothing
from postedit.core.arguments import check_kind
from postedit.core.config import Config
from postedit.core.editor import ENDPOINT, OWN_EDITOR, Editor
from postedit.core.errors import DataError, ModelFolderError
from postedit.editing.chained_editors import Drafted
from postedit.editing.post_editor import PostEditor
from postedit.model_files import CHAIN, CHAINED, architecture_of, read_config
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_folder import PhraseFolder
from postedit.phrase.phrase_options import NAME as PHRASE_BASED
from postedit.releases.catalogue import pair_of, resolved
from postedit.text.hint_texts import Example
from postedit.text.similarity_index import SimilarityIndex


class SimilarCorrections(SimilarityIndex):
    """An index, which follows a memory, of corrections to show to a language model for similar segments."""

    def learn_entries(self, entries: Iterable[Entry], progress: Callable[[], None] = say_nothing) -> None:
        """Take over further entries of a memory, in order: those that add and those that undo corrections."""
        for entry in entries:
            progress()
            if entry.undoes is not None:
                self.remove(entry.undoes)
            else:
                one = entry.correction
                self.add(entry.number, Example(one.src, one.mt, one.pe))

    def forget_all(self) -> None:
        """Return to the state before any correction."""
        self.clear()


def load_learning(
    model: str | Path,
    memory: CorrectionMemory,
    learn: Learning = "auto",
    config: LearningConfig | None = None,
    *,
    device: torch.device | str | None = None,
    position: MemoryPosition | None = None,
    project: str = "",
    author: str = "",
) -> Remembering:
    """Load a model that follows a memory of corrections.

    Args:
        model: model folder or language pair, or a neural model from the hub or of a run, see `PostEditor.load`; or
            `NO_MODEL`: only phrases learnt from corrections.
        memory: memory of corrections.
        learn: how the model learns; see `Learning`.
        config: options of learning; None: the defaults.
        device: device of a neural model; None: the CPU, on which the same corrections always give the same bits.
        position: position of the memory to keep to; None: follow the memory; see `Remembering`.
        project: project of the corrections that the editor adds to the memory.
        author: author of these corrections.

    Raises:
        ModelFolderError: if the model is not found or damaged, or is a combination.
        DataError: if the model cannot learn, or not in this way, an argument has a wrong type, or corrections have been
            deleted since `position`.
        OutputError: if the memory cannot be read.
    """
    if learn not in get_args(Learning):
        raise DataError(f"learn must be {', '.join(get_args(Learning))}, not {learn!r:.80}")
    check_kind("config", config, LearningConfig | None, "a LearningConfig(...)")
    check_kind("model", model, str | Path, "the name or path of a model")
    if memory is None or isinstance(memory, str | Path):
        raise DataError(f"memory must be a CorrectionMemory(PATH), not {memory!r:.80}")
    if not isinstance(project, str) or not isinstance(author, str):
        raise DataError(f"project and author must be text, not {project!r:.80} and {author!r:.80}")
    if str(model).startswith((ENDPOINT, OWN_EDITOR)):
        raise DataError(f"{model}: learns nothing from corrections; name a model folder, a language pair or {NO_MODEL}")
    name, pair = resolved(str(model)), pair_of([model])
    editor, learner, options = _learner(name, pair, learn, config or LearningConfig(), device or "cpu")
    return Remembering(editor, learner, memory, options=options, position=position, project=project, author=author)


def _learner(
    model: str, pair: tuple[str, str], learn: Learning, config: LearningConfig, device: torch.device | str
) -> tuple[Editor, Learner, dict[str, Any]]:
    """Return an editor, the part of it that learns, and the options of this part by name."""
    alone, divided = model == NO_MODEL, "phrases" in config.model_fields_set
    if architecture_of(Path(model)) == CHAIN:
        if learn not in ("auto", "online") or divided:
            raise DataError(f"{model}: a chain learns by both of its models; give auto, and leave phrases.* out")
        editor, first, trained = _models_of_chain(Path(model), device)
        editor.chosen_for(pair)
        trained.chosen_for(pair)
        return _drafted(first, _online_with_phrases(editor, trained, config))
    phrases = PhraseEditor.empty(config.phrases) if alone else _phrase_based(Path(model))
    if phrases is not None:
        phrases.chosen_for(pair)
        if learn != "auto":
            raise DataError(f"{model}: learns by phrases, not {learn}; give auto")
        if divided and not alone:
            raise DataError(f"{model}: divides texts as it was trained to; leave phrases.* out")
        own = _settings_of("phrases", config.phrases) if alone else {}
        return phrases, PhraseLearner(phrases), {"learn": "phrases", **own}
    editor, first = load_to_adapt(model, device)
    editor.chosen_for(pair)
    return _drafted(first, _neural_learner(model, editor, learn, config))


def _drafted(
    first: Editor | None, learning: tuple[Editor, Learner, dict[str, Any]]
) -> tuple[Editor, Learner, dict[str, Any]]:
    """Let a first stage write what an editor that learns corrects where there is no mt."""
    editor, learner, options = learning
    return editor if first is None else Drafted(first, editor), learner, options


def _neural_learner(
    model: str, editor: PostEditor, learn: Learning, config: LearningConfig
) -> tuple[Editor, Learner, dict[str, Any]]:
    """Return the editor of a neural model, the part of it that learns, and the options of this part by name."""
    divided = "phrases" in config.model_fields_set
    shows_examples = "examples" in editor.model.spec.hints.names
    if learn == "examples" and not shows_examples:
        raise DataError(f"{model}: has no prompt that shows corrections ({{examples}}); give auto, online or nearest")
    way = ("examples" if shows_examples else "online and phrases") if learn == "auto" else learn
    if divided and way != "online and phrases":
        raise DataError(f"{model}: learns no phrases with {learn}; leave phrases.* out")
    if way == "examples":
        known = SimilarCorrections()
        editor.hints = replace(editor.hints, corrections=known)
        return editor, known, {"learn": way}
    if way == "nearest":
        nearest = NearestAdaptation(editor, config.nearest)
        return nearest, nearest, {"learn": way, **_settings_of("nearest", config.nearest)}
    online = _settings_of("online", config.online)
    if way == "online":
        return editor, NeuralLearner(editor, config.online), {"learn": way, **online}
    text = config.phrases if divided else text_of(editor.abilities)
    followed, learner, options = _online_with_phrases(editor, PhraseEditor.empty(text), config)
    return followed, learner, {**options, **_settings_of("phrases", text)}


def _online_with_phrases(
    editor: PostEditor, phrases: PhraseEditor, config: LearningConfig
) -> tuple[Editor, Learner, dict[str, Any]]:
    followed = FollowedByPhrases(editor, config.online, phrases)
    return followed, followed, {"learn": "online and phrases", **_settings_of("online", config.online)}


def _models_of_chain(model: Path, device: torch.device | str) -> tuple[PostEditor, Editor | None, PhraseEditor]:
    """Load a chain: a neural model, its first stage if it has one, and a phrase-based model that corrects it.

    Raises:
        ModelFolderError: if the models are of other kinds, or damaged.
    """
    first, second = (model / name for name in CHAINED)
    if [read_config(one)["architecture"] == PHRASE_BASED for one in (first, second)] != [False, True]:
        raise ModelFolderError(
            f"{model}: a chain can learn only if it is a neural model followed by a phrase-based model"
        )
    return *load_to_adapt(first, device), PhraseFolder.load(second).editor(second)


def _phrase_based(model: Path) -> PhraseEditor | None:
    return PhraseFolder.load(model).editor(model) if architecture_of(model) == PHRASE_BASED else None


def _settings_of(section: str, config: Config) -> dict[str, Any]:
    return {f"{section}.{name}": value for name, value in config.model_dump(mode="json").items()}


@dataclass(frozen=True, slots=True)
class MemorySpec:
    """A memory at a position, and how a model learns from it: what each process of a job needs to know.

    Args:
        where: path or URL of the memory.
        name: name of the memory; see `CorrectionMemory.name`.
        position: position of the memory when the job began.
        learn: how the model learns.
        config: options of learning.
    """

    where: str
    name: str
    position: MemoryPosition
    learn: Learning
    config: LearningConfig

    @classmethod
    def now(cls, where: str, learn: Learning, config: LearningConfig) -> Self:
        """Return an existing memory at its present position.

        Raises:
            DataError: if there is no memory.
            OutputError: if the memory cannot be read.
        """
        with CorrectionMemory(where, create=False) as memory:
            return cls(where, memory.name, memory.position, learn, config)

    def load(self, models: Sequence[str], device: str | None) -> Remembering:
        """Load the only one of `models`, which learns from the memory; see `load_learning`."""
        if len(models) > 1:
            raise DataError(f"only one model can learn from corrections, not {len(models)}: name one")
        return load_learning(models[0], self.open(), self.learn, self.config, device=device, position=self.position)

    def open(self) -> CorrectionMemory:
        """Open the memory.

        Raises:
            DataError: if there is none at its place, or another one.
        """
        memory = CorrectionMemory(self.where, create=False)
        if memory.name != self.name:
            raise DataError(f"{self.where}: is not the memory that this run started with; start the run again")
        return memory
