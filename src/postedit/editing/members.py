"""The models of a combination, loaded once, from which editors with different weights are made."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import torch

from postedit.core.editor import Editor
from postedit.core.errors import DataError
from postedit.core.model import Seq2Seq
from postedit.core.search_config import SearchConfig
from postedit.editing.chained_editors import Chain
from postedit.editing.loading import Choice, load_ensemble
from postedit.editing.pooled import Pooled
from postedit.editing.post_editor import PostEditor, TwoStage
from postedit.model_files import architecture_of
from postedit.nn.inference import Precision
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_folder import PhraseFolder
from postedit.phrase.phrase_options import NAME as PHRASE_BASED
from postedit.search.ensemble import Ensemble, Space, check_weights
from postedit.search.rescoring import LogLinear, member_name


class Members:
    """Loaded models: neural ones that share a target vocabulary search as an ensemble; every other one searches alone.

    Args:
        neural: the editor of the models that search together, in order; None if there are none.
        others: editors of the other models, by their position among all models.
        search: search options of the editors made from these models.
    """

    def __init__(self, neural: PostEditor | None, others: Mapping[int, Editor], search: SearchConfig) -> None:
        self._neural, self._others, self.search = neural, others, search
        singles: list[Editor] = []
        if neural is not None:
            singles += [_with_model(neural, part) for part in neural.model.parts()]
        for place, other in sorted(others.items()):
            singles.insert(place, other)
        self._singles = singles
        self.names = [member_name(number) for number in range(1, len(singles) + 1)]

    @classmethod
    def load(
        cls,
        choice: Choice,
        devices: Sequence[torch.device],
        precision: Precision = "float32",
        given: Mapping[int, Editor] | None = None,
    ) -> Self:
        """Load the models; the search options are those of the models that search together, else of the first model.

        Args:
            choice: the models to load, in order.
            devices: the devices over which the neural models are spread in turn.
            precision: the number type of the neural models.
            given: further members that are loaded already, by their position among all members.

        Raises:
            ModelFolderError: if a model is damaged, or the neural ones are incompatible.
            DataError: if probabilities should be averaged, but fewer than two models search together.
        """
        others: dict[int, Editor] = dict(given or {})
        places = [place for place in range(len(choice.paths) + len(others)) if place not in others]
        alone = choice.alone
        paths = [path for path, is_alone in zip(choice.paths, alone, strict=True) if not is_alone]
        if choice.space == "probability" and len(paths) < 2:
            raise DataError(
                'ensemble.space = "probability" averages probabilities of tokens: give several neural models with one '
                "target vocabulary with it"
            )
        warn = choice.combination is None
        for place, path, is_alone in zip(places, choice.paths, alone, strict=True):
            if is_alone and architecture_of(path) == PHRASE_BASED:
                others[place] = PhraseFolder.load(path).editor(path)
            elif is_alone:
                others[place] = _neural([path], devices, precision, warn)
        neural = _neural(paths, devices, precision, warn) if paths else None
        first = others[min(others)] if neural is None else neural
        return cls(neural, others, first.search)

    @property
    def fixed_candidates(self) -> bool:
        """Whether the candidates found are independent of the weights; an ensemble uses the weights in its search."""
        return self._neural is None or len(self._neural.model.parts()) == 1

    def editor(self, log_linear: LogLinear, space: Space) -> PostEditor | Pooled:
        """Return an editor that ranks by a log-linear model, with the member weights also used in ensemble search.

        Raises:
            DataError: if there is not one weight above 0 for each member.
        """
        if self._neural is not None and not self._others:
            return self._ensemble(log_linear.weights, space, log_linear)
        proposers: list[Editor] = [other for _, other in sorted(self._others.items())]
        if self._neural is not None:
            proposers.insert(0, self._ensemble(log_linear.weights, space, None))
        for single in self._singles:
            single.search = self.search  # so that members can score every segment that proposers edit
        return Pooled(proposers, self._singles, log_linear, self.search)

    def plain(self, space: Space, weights: Sequence[float] | None = None) -> PostEditor | Pooled:
        """Return an editor whose only features are the member scores, equally weighted if no weights are given.

        Raises:
            DataError: if there is not one weight above 0 for each member.
        """
        given = check_weights([1.0] * len(self.names) if weights is None else weights, len(self.names))
        named = {name: weight / sum(given) for name, weight in zip(self.names, given, strict=True)}
        if self._neural is not None and not self._others:
            return self._ensemble(named, space, None)
        return self.editor(LogLinear(named), space)

    def _ensemble(self, weights: Mapping[str, float], space: Space, log_linear: LogLinear | None) -> PostEditor:
        """Return an editor of the neural models that search together, with their share of the weights."""
        assert self._neural is not None
        own = [weights[name] for place, name in enumerate(self.names) if place not in self._others]
        parts = self._neural.model.parts()
        check_weights(own, len(parts))
        editor = _with_model(self._neural, parts[0] if len(parts) == 1 else Ensemble(parts, own, space).eval())
        editor.log_linear, editor.search = log_linear, self.search
        return editor


def _neural(paths: Sequence[Path], devices: Sequence[torch.device], precision: Precision, warn: bool) -> PostEditor:
    """Load neural models as one editor; the first stage of a model, if it has one, is left out."""
    loaded = PostEditor.of(load_ensemble(paths, devices, warn=warn), precision)
    return loaded.inner if isinstance(loaded, TwoStage) else loaded


def _with_model(editor: PostEditor, model: Seq2Seq) -> PostEditor:
    """Return a copy of an editor with another model, which is already prepared for inference."""
    other = PostEditor(model, editor.processor, editor.search, sources=editor.sources)
    other.precision = editor.precision
    return other


def load_others(
    choice: Choice, devices: Sequence[torch.device], precision: Precision
) -> PhraseEditor | PostEditor | Pooled | Chain:
    """Load a chain, a phrase-based model, or an editor of several models, some of which search on their own.

    Raises:
        ModelFolderError: if a model is damaged, or the models are incompatible.
        DataError: if there is not one weight above 0 for each model, or an option has no effect.
    """
    if any(choice.chains):
        from postedit.editing.chain_folder import load_chain

        return load_chain(choice, devices, precision)
    combination = choice.combination
    if len(choice.paths) == 1 and combination is None:
        if choice.weights is not None:
            check_weights(choice.weights, 1)
        return PhraseFolder.load(choice.paths[0]).editor(choice.paths[0])
    members = Members.load(choice, devices, precision)
    if combination is None:
        return members.plain(choice.space, choice.weights)
    members.search = combination.search
    return members.editor(combination.log_linear, choice.space)
