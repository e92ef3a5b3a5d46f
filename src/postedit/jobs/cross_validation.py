"""Gains of editors on a customer's triplets: as they are, or trained on some triplets and tried on the others."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import Entry
from postedit.adapt.phrase_learner import PhraseLearner
from postedit.core.editor import Editor
from postedit.core.search_config import SearchConfig
from postedit.editing.protection import Protected
from postedit.evaluate.gain import SentenceGains
from postedit.evaluate.metrics import Ints
from postedit.evaluate.ter import count_edits
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_model import SplitTriplet, learn
from postedit.phrase.phrase_options import PhraseConfig, PhraseTextConfig

FOLDS: Final = 10
"""Default number of folds: each editor is trained on nine tenths of the triplets."""

Learner = Callable[[Sequence[Correction]], Editor]
"""Returns an editor that has learnt the corrections, in the given order."""


def phrase_learner(text: PhraseTextConfig) -> Learner:
    """Return a function that trains the phrase-based editor; its feature weights are the defaults, without tuning."""

    def train(corrections: Sequence[Correction]) -> Editor:
        sides = [text.splitter(side).words for side in ("src", "mt", "pe")]
        triplets = (SplitTriplet(*(words(one) for words, one in zip(sides, _sides(each)))) for each in corrections)
        config = PhraseConfig()
        return Protected(PhraseEditor(learn(triplets, config), config, text, SearchConfig()))

    return train


def memory_learner(text: PhraseTextConfig) -> Learner:
    """Return a function that makes the editor that learns from a memory of corrections, without any model."""

    def train(corrections: Sequence[Correction]) -> Editor:
        editor = PhraseEditor.empty(text)
        PhraseLearner(editor).learn_entries(Entry(number, one, None) for number, one in enumerate(corrections, start=1))
        return Protected(editor)

    return train


def _sides(one: Correction) -> tuple[str, str, str]:
    return one.src, one.mt, one.pe


def tried(editor: Editor, corrections: Sequence[Correction], text: PhraseTextConfig) -> SentenceGains:
    """Return the gains of an editor that has not learnt from these corrections."""
    outputs = edited(editor, corrections)
    return sentence_gains(outputs, corrections, text)


def edited(editor: Editor, corrections: Sequence[Correction]) -> list[str]:
    """Return the best output of an editor for each correction."""
    search = editor.search.with_options(n_best=1)
    found = editor.edit([one.src for one in corrections], [one.mt for one in corrections], search=search)
    return [one.text for one in found]


def cross_validated(
    learner: Learner,
    corrections: Sequence[Correction],
    text: PhraseTextConfig,
    *,
    share: float = 1.0,
    folds: int = FOLDS,
    update: Callable[[int], None] = lambda done: None,
) -> SentenceGains:
    """Return gains by cross-validation: each correction goes to an editor that has not learnt it or its neighbours.

    Each fold has neighbouring corrections, which may come from one document. The corrections to learn are
    shuffled anew for each fold, since a memory gives most weight to the latest ones.

    Args:
        learner: trains an editor.
        corrections: the corrections in the order of their documents.
        text: how texts are divided into words.
        share: the share of the corrections outside the fold that is learnt, drawn at random.
        folds: the number of folds.
        update: called with the number of corrections done.
    """
    outputs: list[str] = []
    for fold, rows in enumerate(_folds(len(corrections), folds)):
        others = [one for row, one in enumerate(corrections) if row not in rows]
        order = np.random.default_rng([fold, len(corrections)]).permutation(len(others))
        learnt = [others[place] for place in order[: max(1, round(share * len(others)))].tolist()]
        outputs += edited(learner(learnt), [corrections[row] for row in rows])
        update(rows.stop)
    found = sentence_gains(outputs, corrections, text)
    parts = [np.full(len(rows), fold) for fold, rows in enumerate(_folds(len(corrections), folds))]
    return SentenceGains(found.saved, found.words, found.changed, np.concatenate(parts))


def _folds(count: int, folds: int) -> Iterator[range]:
    """Yield the rows of each fold, which are consecutive."""
    ends = [count * fold // folds for fold in range(folds + 1)]
    yield from map(range, ends[:-1], ends[1:])


def sentence_gains(outputs: Sequence[str], corrections: Sequence[Correction], text: PhraseTextConfig) -> SentenceGains:
    """Return the gains of outputs, in TER edits of the words into which `text` divides them."""
    words = text.splitter("pe").words

    def divided(texts: Sequence[str]) -> list[str]:
        return [" ".join(words(one)) for one in texts]

    pe = divided([one.pe for one in corrections])
    lengths = np.array([len(one.split()) for one in pe], np.int64)
    changed = [row for row, (output, one) in enumerate(zip(outputs, corrections, strict=True)) if output != one.mt]
    references = [pe[row] for row in changed]
    after = count_edits(divided([outputs[row] for row in changed]), references)
    before = count_edits(divided([corrections[row].mt for row in changed]), references)
    saved: Ints = np.zeros(len(pe), np.int64)
    saved[changed] = [old.edits - new.edits for old, new in zip(before, after, strict=True)]
    is_changed = np.zeros(len(pe), np.bool_)
    is_changed[changed] = True
    return SentenceGains(saved, lengths, is_changed)
