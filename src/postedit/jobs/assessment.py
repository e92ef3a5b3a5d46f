"""Assess a customer's triplets: which errors mt has, what each available editor would gain, and whether to go ahead."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

from postedit.adapt.correction import Correction
from postedit.core.arguments import texts_of, whole
from postedit.core.editor import Editor
from postedit.core.errors import DataError, ModelFolderError, StoppedError
from postedit.core.wording import counted
from postedit.evaluate.column_signs import column_signs
from postedit.evaluate.error_profile import error_profile
from postedit.evaluate.recommendation import Assessment, EditorGain, Workload
from postedit.evaluate.ter import ter_signature
from postedit.evaluate.tokenisation import tokenisation_signs
from postedit.jobs.cross_validation import (
    Learner,
    cross_validated,
    edited,
    memory_learner,
    phrase_learner,
    sentence_gains,
)
from postedit.jobs.small_neural_model import UPDATES, neural_learner
from postedit.llm.llm_editor import llm_of
from postedit.llm.usage import report
from postedit.phrase.phrase_options import PhraseTextConfig
from postedit.releases.catalogue import model_of_languages
from postedit.text.config import SIDES
from postedit.text.languages import ranked_languages
from postedit.text.words import SplitterName

FEWEST: Final = 100
"""Minimum number of triplets: with fewer, the confidence intervals would be wider than any gain."""

MOST: Final = 2_000
"""Maximum number of triplets, drawn evenly from more: with more, the time grows but the intervals hardly narrow."""

REPEATED: Final = "source and machine translation are those of an earlier triplet"
"""Reason for leaving out triplets. A translation memory corrects exact repetitions without any editor. If they were
kept, editors would memorise them, and intervals would count them as independent triplets."""

KNOWN: Final = "the model of postedit for this language pair"

NEURAL: Final = "small neural model"

_AT_ONCE: Final = 50  # segments edited between two reports of progress

LEARNERS: Final[Mapping[str, Callable[[PhraseTextConfig], Learner]]] = {
    "phrase-based model": phrase_learner,
    "memory of corrections": memory_learner,
}
"""Editors trained on the triplets, as by `postedit train recipes/phrase-based.toml` and `postedit edit --memory`."""

FORECAST: Final = tuple(LEARNERS)
"""Editors whose gain with more triplets is forecast. The neural model is not among them: with more triplets a larger
one would be trained for longer, and the gain of a small one does not predict that."""


def assess(
    src: Iterable[str],
    mt: Iterable[str],
    pe: Iterable[str],
    *,
    editors: Mapping[str, Editor] | None = None,
    text: PhraseTextConfig | None = None,
    work: Workload | None = None,
    with_known: bool = True,
    neural_updates: int = UPDATES,
    left_out: Mapping[str, int] | None = None,
    update: Callable[[int, int, str], None] = lambda done, total, what: None,
) -> Assessment:
    """Return an assessment of triplets.

    Triplets with the src and mt of an earlier one are left out; of more than 2,000 others, 2,000 are assessed.

    Args:
        src: the sources, in the order of their documents.
        mt: their machine translations.
        pe: their post-edits.
        editors: further editors to try as they are, by name; none of them may have been trained on these triplets. One
            that stops, because its budget is spent or its server does not answer, is reported as not tried.
        text: how texts are divided into words; if None, it is guessed from the texts, see `text_config`.
        work: the amount of work and its prices; if None, the defaults of `Workload`.
        with_known: whether to try the model for these languages that comes with postedit or was fetched.
        neural_updates: the number of weight updates in each training of the small neural model; 0: it is not tried.
        left_out: numbers of triplets that the caller has left out, by reason.
        update: called with the number of segments done, their total (each counts once for each editor), and the name
            of the editor being tried.

    Raises:
        DataError: if the numbers of texts differ, a text is blank, fewer than 100 triplets are different, an
            editor cannot be used, or a number is out of range.
        ModelFolderError: if a model is damaged.
    """
    given, neural_updates = _checked_editors(editors), _checked_updates(neural_updates)
    different, repeated = _without_repeats(src, mt, pe)
    available = len(different)
    most = min(available, MOST)
    corrections = [different[place * available // most] for place in range(most)]
    beyond = f"at most {MOST:,} are assessed, evenly spread over all"
    left_out = Counter(left_out or {}) + Counter({REPEATED: repeated, beyond: available - most})  # without zeros
    text = text or text_config(corrections)
    learners = {name: make(text) for name, make in LEARNERS.items()}
    not_tried: dict[str, str] = {}
    if neural_updates:
        learners[NEURAL] = neural_learner(text, neural_updates)
    else:
        not_tried[NEURAL] = "no updates of its weights were asked for"
    if with_known:
        found, why_not = _released_editor(corrections)
        given |= {} if found is None else {KNOWN: found}
        not_tried |= {} if found is not None else {KNOWN: why_not}
    total = len(corrections) * (len(given) + len(learners))
    gains: list[EditorGain] = []
    for name, learner in learners.items():
        shown = _progress_of(update, len(gains) * len(corrections), total, name)
        gains.append(replace(_gain_by_cross_validation(name, learner, corrections, text, shown), available=available))
    for number, (name, editor) in enumerate(given.items(), start=len(learners)):
        shown = _progress_of(update, number * len(corrections), total, name)
        try:
            gains.append(_gain_as_it_is(name, editor, corrections, text, shown))
        except StoppedError as stopped:
            not_tried[name] = str(stopped)
    splitters = [text.splitter(side) for side in SIDES]
    texts = [[getattr(one, side) for one in corrections] for side in SIDES]
    src, mt, pe = (list(map(splitter.words, column)) for splitter, column in zip(splitters, texts, strict=True))
    profile = error_profile(src, mt, pe, splitters[1].join)
    warnings = tuple(column_signs(*texts, ter=profile.ter))
    return Assessment(
        profile,
        tuple(gains),
        work or Workload(),
        text.tokenizer,
        ter_signature(),
        left_out,
        not_tried,
        warnings,
        tuple(_notes(gains)),
    )


def _checked_editors(editors: Mapping[str, Editor] | None) -> dict[str, Editor]:
    if editors is not None and not isinstance(editors, Mapping):
        raise DataError(f'editors must be editors by name, such as {{"mine": editor}}, not {editors!r:.80}')
    for name, editor in (editors or {}).items():
        if name in (*LEARNERS, NEURAL, KNOWN):
            raise DataError(f"editors: {name!r} is the name of an editor that is always tried; give yours another one")
        if not isinstance(editor, Editor):
            raise DataError(f"editors: {name!r} is not an editor, but {editor!r:.80}; load one with PostEditor.load")
    return dict(editors or {})


def _checked_updates(given: int) -> int:
    found = whole("neural_updates", given)
    if not isinstance(found, int) or found < 0:
        raise DataError(f"neural_updates: must be a whole number, 0 or more (found {given!r:.80})")
    return found


def _without_repeats(src: Iterable[str], mt: Iterable[str], pe: Iterable[str]) -> tuple[list[Correction], int]:
    """Return the corrections without those that repeat the src and mt of an earlier one, and the number of repeats."""
    texts = [texts_of(side, lines) for side, lines in zip(SIDES, (src, mt, pe), strict=True)]
    counts = list(map(len, texts))
    if len(set(counts)) > 1:
        found = ", ".join(f"{side} has {count:,}" for side, count in zip(SIDES, counts, strict=True))
        raise DataError(f"the numbers of texts differ: {found}; text n of each must belong together")
    different: dict[tuple[str, str], Correction] = {}
    for one in map(Correction, *texts):
        different.setdefault((one.src, one.mt), one)
    count = len(different)
    repeated = counts[0] - count
    if count < FEWEST:
        others = f" ({repeated:,} more have the source and machine translation of an earlier one)" if repeated else ""
        which = counted(count, "different triplet" if repeated else "triplet")
        verb = "is" if count == 1 else "are"
        raise DataError(
            f"{which}{others} {verb} too few to assess: at least {FEWEST} are needed, and 300 to 500 are better"
        )
    return list(different.values()), repeated


def text_config(
    corrections: Sequence[Correction], tokenizer: SplitterName | Literal["auto"] = "auto"
) -> PhraseTextConfig:
    """Return how texts are divided into words; Moses tokenising uses the rules of the languages that are identified.

    Args:
        corrections: the texts to look at.
        tokenizer: see `PhraseTextConfig`; "auto": chosen by what the post-edits look like.
    """
    if tokenizer == "auto":
        signs = tokenisation_signs([one.pe for one in corrections])
        tokenizer = "characters" if signs.unsegmented else "moses" if signs.form == "running text" else "none"
    if tokenizer != "moses":
        return PhraseTextConfig(tokenizer=tokenizer)
    source, target = identified_languages(corrections)
    return PhraseTextConfig(tokenizer=tokenizer, src_lang=source, tgt_lang=target)


def identified_languages(corrections: Sequence[Correction]) -> tuple[str, str]:
    """Return the codes of the most probable languages of the sources and of the post-edits."""
    source, target = (
        ranked_languages(texts)[0][0] for texts in ([x.src for x in corrections], [x.pe for x in corrections])
    )
    return source, target


def _released_editor(corrections: Sequence[Correction]) -> tuple[Editor | None, str]:
    """Return the postedit model for the languages of these texts, protected; or None and the reason there is none."""
    try:
        model = model_of_languages(*identified_languages(corrections))
    except ModelFolderError as error:
        return None, str(error)
    from postedit.editing.post_editor import PostEditor
    from postedit.editing.protection import Protected

    return Protected(PostEditor.load(model.folder)), ""


def _progress_of(update: Callable[[int, int, str], None], before: int, total: int, name: str) -> Callable[[int], None]:
    return lambda done: update(before + done, total, name)


def _gain_by_cross_validation(
    name: str,
    learner: Learner,
    corrections: Sequence[Correction],
    text: PhraseTextConfig,
    update: Callable[[int], None],
) -> EditorGain:
    count, is_forecast = len(corrections), name in FORECAST
    parts = 2 if is_forecast else 1
    sentences = cross_validated(learner, corrections, text, update=lambda done: update(-(-done // parts)))
    half = None
    if is_forecast:
        half = cross_validated(learner, corrections, text, share=0.5, update=lambda done: update((count + done) // 2))
    started = time.perf_counter()
    editor = learner(corrections)
    trained = time.perf_counter()
    edited(editor, corrections)
    ended = time.perf_counter()
    return EditorGain(name, "cross-validated", sentences, half, trained - started, ended - trained)


def _gain_as_it_is(
    name: str, editor: Editor, corrections: Sequence[Correction], text: PhraseTextConfig, update: Callable[[int], None]
) -> EditorGain:
    started, outputs = time.perf_counter(), list[str]()
    for first in range(0, len(corrections), _AT_ONCE):
        outputs += edited(editor, corrections[first : first + _AT_ONCE])
        update(len(outputs))
    seconds: float | None = time.perf_counter() - started
    model, cost, currency = llm_of(editor), None, ""
    if model is not None:
        figures = report(model)
        cost, currency = figures["cost"], figures["currency"] or "not known"
        if figures["answers known before"]:
            seconds = cost = None
    sentences = sentence_gains(outputs, corrections, text)
    return EditorGain(name, "as it is", sentences, None, 0.0, seconds, cost, currency)


def _notes(gains: Iterable[EditorGain]) -> Iterator[str]:
    """Yield remarks that readers of the gains should know."""
    for one in gains:
        if one.editing_seconds is None:
            yield (
                f"some answers of {one.name} were known before, so that its cost and seconds are not known; they are "
                "measured with an empty file of answers (--set llm.cache=NEW_FILE)"
            )
        if one.name == KNOWN:
            yield (
                f"if {KNOWN} was trained on these triplets, its gain is too large; its model card says what it was "
                "trained on"
            )
