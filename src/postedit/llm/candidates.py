"""A language model behind an endpoint as a member of a combination: its answers are candidates, and score texts."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import torch

from postedit.core.editor import Abilities, Detail, EditorWrapper, PostEdit, Segment
from postedit.core.errors import DataError, ModelFolderError
from postedit.core.search_config import SearchConfig
from postedit.editing.combination import Combination
from postedit.editing.loading import Choice
from postedit.editing.members import Members
from postedit.editing.pooled import Pooled
from postedit.editing.post_editor import PostEditor
from postedit.editing.results import unchanged
from postedit.llm.endpoint_options import EndpointSpec
from postedit.llm.llm_editor import DECISIVE, LlmEditor, why_skipped
from postedit.nn.inference import Precision
from postedit.text.glossary import Glossary

_KEPT: Final = ("endpoint", "key_variable", "prompt", *DECISIVE)
"""Options that a combination stores: what is asked, and where. Costs, limits and files are up to each run."""

_OF_ALL: Final = ("max_input", "max_edits", "no_repeat", "banned", "required")
"""Search options that constrain every output, so that the answers must obey them, too."""

_UNSEEN: Final = 0.5
"""Added to the number of answers with a text (additive smoothing), so that texts without an answer have a score."""


class SampledCandidates(EditorWrapper[LlmEditor]):
    """The distinct answers of a language model as an n-best list; the score of a text is its share of the answers.

    If c of n answers have a text, its score is log((c + 1/2) / (n + 1)). This is not a probability of the model:
    endpoints do not return the probabilities of given texts.
    """

    @property
    def abilities(self) -> Abilities:
        """Abilities of the model, with n-best lists and forced scores added."""
        return replace(self.inner.abilities, n_best=True, forced_scores=True)

    def check(self, search: SearchConfig, *, with_mt: bool) -> None:
        """Check the search options that constrain all candidates; others guide only the search of neural members."""
        held = {name: getattr(search, name) for name in _OF_ALL}
        self.inner.check(SearchConfig.model_validate(held), with_mt=with_mt)

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return the n best answers about each segment, the most frequent first, and mt if n > 1; without evidence."""
        config = search or self.search
        self.check(config, with_mt=all(segment.mt is not None for segment in segments))
        skipped = [why_skipped(segment, config.max_input) for segment in segments]
        answers = iter(self._answers([one for one, why in zip(segments, skipped, strict=True) if why is None]))
        return [
            _listed(segment, next(answers), config.n_best) if why is None else unchanged(segment.mt or "", why)
            for segment, why in zip(segments, skipped, strict=True)
        ]

    def score_segments(
        self, segments: Sequence[Segment], outputs: Sequence[str], *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return the score of each given output; segments that the model cannot be asked about are skipped."""
        skipped = {one: why_skipped(one, self.search.max_input) for one in segments}
        asked = [one for one, why in skipped.items() if why is None]
        answers = dict(zip(asked, self._answers(asked), strict=True))
        return [
            PostEdit(output, output != segment.mt, _score(answers[segment], output))
            if skipped[segment] is None
            else PostEdit(output, output != segment.mt, skipped=skipped[segment])
            for segment, output in zip(segments, outputs, strict=True)
        ]

    def _answers(self, segments: Sequence[Segment]) -> list[list[PostEdit]]:
        return self.inner.samples_of(segments) if segments else []


def _listed(segment: Segment, answers: Sequence[PostEdit], count: int) -> PostEdit:
    mt = segment.mt or ""
    if not answers:
        return unchanged(mt, "no answer")
    by_text = {one.text: one for one in reversed(answers)}
    most = [text for text, _ in Counter(one.text for one in answers).most_common(count)]
    if count > 1 and mt not in most:
        most.append(mt)
        by_text[mt] = PostEdit(mt, False)
    best, *others = (replace(by_text[text], score=_score(answers, text)) for text in most)
    return replace(best, alternatives=tuple(others))


def _score(answers: Sequence[PostEdit], text: str) -> float:
    return math.log((sum(one.text == text for one in answers) + _UNSEEN) / (len(answers) + 2 * _UNSEEN))


def member_fingerprint(editor: LlmEditor) -> str:
    """Return a digest of all that determines the answers, except the address, because a server may move."""
    settings = editor.identity().settings
    decisive = {name: value for name, value in settings.items() if name.startswith("llm.") and name in _FINGERPRINTED}
    return hashlib.sha256(json.dumps([editor.spec.model, decisive], sort_keys=True).encode()).hexdigest()


_FINGERPRINTED: Final = frozenset({"llm.prompt", *(f"llm.{name}" for name in DECISIVE)})


def kept_options(spec: EndpointSpec) -> dict[str, Any]:
    """Return the options that a combination stores, as TOML values; the path of a prompt file is made absolute."""
    values = spec.config.model_dump(mode="json", include=set(_KEPT), exclude_unset=True)
    if str(values.get("prompt", "")).endswith(".toml"):
        values["prompt"] = str(Path(values["prompt"]).resolve())
    return values


def member_of_combination(spec: EndpointSpec, glossary: Glossary | None = None) -> SampledCandidates:
    """Return a language model as a member of a combination.

    Raises:
        DataError: if an option is given that only works outside of combinations. See `LlmEditor` for other errors.
    """
    for name in ("scorer", "tags"):
        if getattr(spec.config, name):
            raise DataError(f"llm.{name} chooses among answers, and so do the weights of a combination: leave it out")
    editor = LlmEditor(spec, glossary=glossary)
    editor.is_member = True
    return SampledCandidates(editor)


def load_combination(
    path: Path,
    spec: EndpointSpec,
    devices: Sequence[torch.device],
    precision: Precision,
    glossary: Glossary | None,
) -> PostEditor | Pooled:
    """Load a combination with a language model behind an endpoint among its members.

    Args:
        path: path of the file that `postedit tune` wrote.
        spec: specification of the language model.
        devices: devices to which the neural models are assigned in turn.
        precision: precision of the neural models.
        glossary: glossary whose terms are shown to the language model.

    Raises:
        ModelFolderError: if a model is damaged, or is not the one for which the weights were tuned.
        DataError: if an option cannot be used.
    """
    combination = Combination.load(path)
    place = next(number for number, one in enumerate(combination.members) if one.is_behind_endpoint)
    llm = member_of_combination(spec, glossary)
    if member_fingerprint(llm.inner) != combination.members[place].fingerprint:
        raise ModelFolderError(
            f"{path}: {combination.members[place].path} is asked with other options or another prompt than those that "
            "the weights were tuned for; leave out what --set llm.* changes, or run `postedit tune` again"
        )
    paths = tuple(Path(one.path) for one in combination.members if not one.is_behind_endpoint)
    choice = Choice(paths, None, combination.space, combination, path)
    members = Members.load(choice, devices, precision, {place: llm})
    members.search = combination.search
    return members.editor(combination.log_linear, combination.space)
