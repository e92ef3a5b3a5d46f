"""A neural model followed by phrases of the corrections, so that each correction takes effect at the next segment.

The phrase-based editor knows nothing at first or, in a chain, what it was trained on. It learns what post-editors made
of the outputs of the model in its trained state, so it corrects what the model leaves, and reverts those of its edits
that were rejected. Meanwhile the model learns online, and uses what it has learnt once that helps (`NeuralLearner`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from postedit.adapt.adaptation_config import OnlineConfig
from postedit.adapt.correction_memory import Entry
from postedit.adapt.neural_learner import NeuralLearner
from postedit.adapt.phrase_learner import PhraseLearner
from postedit.adapt.remembering import say_nothing
from postedit.core.editor import Abilities, Detail, EditorWrapper, Identity, PostEdit, Segment
from postedit.core.errors import DataError
from postedit.core.search_config import SearchConfig
from postedit.editing.chained_editors import PRICES
from postedit.editing.post_editor import PostEditor
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_options import PhraseTextConfig
from postedit.text.composed_edits import SureEdit, composed_edits
from postedit.text.language_tags import base_language

_LIMITS: Final = ("max_edits", "no_repeat", "cut_input", "banned", "required")
"""Search options that limit outputs in ways that phrases cannot follow: with them, the model's output is not edited."""

_UNLIMITED: Final = SearchConfig()

_UNSPACED: Final = frozenset(
    {"zh", "zho", "cmn", "yue", "ja", "jpn", "th", "tha", "lo", "lao", "my", "mya", "km", "khm"}
)
"""Languages written without spaces between words, in scripts of `core.scripts.UNSPACED`."""


def text_of(able: Abilities) -> PhraseTextConfig:
    """Return how phrases divide the texts of a model into words, judging by the model's abilities."""
    return running_text_of(*able.languages) if able.tokenises else PhraseTextConfig()


def running_text_of(source: str, target: str) -> PhraseTextConfig:
    """Return how phrases divide running text into words, by the codes of its languages, which may be empty."""
    src, tgt = base_language(source), base_language(target)
    if tgt in _UNSPACED:
        return PhraseTextConfig(tokenizer="characters")
    return PhraseTextConfig(tokenizer="moses", src_lang=src, tgt_lang=tgt) if src and tgt else PhraseTextConfig()


class FollowedByPhrases(EditorWrapper[PostEditor]):
    """An editor in which phrases edit the outputs of a model; it is also a learner (`remembering.Learner`).

    The text, edits and evidence of a result are those of the last text, with all changes from mt to it. Everything
    else, such as the scores, belongs to the model's output. Phrases do not edit segments without mt, segments with
    constraints, and segments that the model skipped.

    Args:
        inner: editor of a single model with its trained weights (`load_to_adapt`).
        config: how the model learns.
        phrases: `PhraseEditor.empty`, or the second model of a chain; its model changes.
    """

    def __init__(self, inner: PostEditor, config: OnlineConfig, phrases: PhraseEditor) -> None:
        super().__init__(inner)
        self._phrases = phrases
        # The phrases of a chain have limits of their own; those of corrections observe all limits of the model.
        self._limits = inner.search if phrases.sources else _UNLIMITED
        self._model_learner, self._phrase_learner = NeuralLearner(inner, config), PhraseLearner(self._phrases)

    def identity(self, search: SearchConfig | None = None) -> Identity:
        """Return the identity of the model and, in a chain, of the trained phrases."""
        model, trained = self.inner.identity(search), self._phrases.identity()
        own = {f"phrases.{name}": value for name, value in trained.settings.items()} if trained.models else {}
        return Identity((*model.models, *trained.models), {**model.settings, **own})

    def learn_entries(self, entries: Iterable[Entry], progress: Callable[[], None] = say_nothing) -> None:
        """Take over further entries: the model learns corrections of mt, and phrases learn those of its outputs."""
        given = list(entries)
        self._model_learner.learn_entries(given, progress)
        undone = {entry.undoes for entry in given}
        kept = (entry for entry in given if entry.number not in undone)
        self._phrase_learner.learn_entries(self._of_outputs(kept), progress)

    def forget_all(self) -> None:
        """Return the model and the phrases to their trained states."""
        self._model_learner.forget_all()
        self._phrase_learner.forget_all()

    def _of_outputs(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Yield the entries with the output of the trained model in place of mt."""
        for entry in entries:
            if entry.undoes is not None:
                yield entry
                continue
            output = self._model_learner.trained_output(entry.number)
            try:
                correction = replace(entry.correction, mt=output, decisions=())  # decisions refer to spans of mt
            except DataError:  # the output is blank, or has characters that are not valid text
                continue
            yield entry._replace(correction=correction)

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return one correction per segment; see `Editor.edit_segments`."""
        config = search or self.search
        results = self.inner.edit_segments(segments, config, evidence=evidence)
        if any(getattr(config, name) != getattr(self._limits, name) for name in _LIMITS):
            return results
        rows = [row for row, one in enumerate(segments) if _can_follow(one, results[row])]
        outputs = [Segment(segments[row].src, results[row].text) for row in rows]
        # The model's default prices of edits were tuned for its tokens; only what a request adds applies to phrases.
        cost = sum(max(0.0, getattr(config, price) - getattr(self.search, price)) for price in PRICES)
        own = SearchConfig(max_input=config.max_input, edit_cost=self._phrases.search.edit_cost + cost)
        found = self._phrases.edit_segments(outputs, own, evidence=evidence)
        changed = [(row, after) for row, after in zip(rows, found, strict=True) if after.changed]
        for row, after in changed:
            results[row] = _composed(segments[row].mt or "", results[row], after, config.n_best)
        return self._with_evidence(segments, results, [row for row, _ in changed], evidence)

    def _with_evidence(
        self, segments: Sequence[Segment], results: list[PostEdit], rows: Sequence[int], detail: Detail | None
    ) -> list[PostEdit]:
        """Return the results with the evidence of the last text in those rows that phrases changed."""
        if detail is None or not rows:
            return results
        texts = [results[row].text for row in rows]
        scored = self.inner.score_segments([segments[row] for row in rows], texts, evidence=detail)
        for row, one in zip(rows, scored, strict=True):
            results[row] = replace(results[row], evidence=one.evidence)
        return results


def _can_follow(segment: Segment, result: PostEdit) -> bool:
    return segment.mt is not None and not segment.constraints and result.skipped is None


def _composed(mt: str, result: PostEdit, after: PostEdit, count: int) -> PostEdit:
    """Return the result of a model and then of phrases; the `count` best outputs, and mt if it was one, are kept."""
    steps = ([SureEdit(*one) for one in zip(by.edits, by.confidences, strict=True)] for by in (result, after))
    edits = composed_edits(mt, after.text, *steps)
    own = (replace(result, alternatives=(), evidence=None), *result.alternatives)
    known = next((one for one in own if one.text == after.text), result)
    others = [one for one in own if one is not known and one.text != after.text] if count > 1 else []
    return replace(
        result,
        text=after.text,
        changed=after.text != mt,
        score=known.score,
        token_scores=known.token_scores,
        edits=tuple(one.edit for one in edits),
        confidences=tuple(one.confidence for one in edits),
        token_spans=(),
        alternatives=tuple(one for place, one in enumerate(others, start=1) if place < count or one.text == mt),
    )
