"""`PhraseEditor`: an editor that uses a phrase-based model."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from postedit.core.edit_reasons import EXAMPLES, CorrectionReason, EditReason, NamedCorrection
from postedit.core.editor import Abilities, Detail, Identity, PostEdit, Segment, Side, Skipped, check_outputs
from postedit.core.errors import DataError
from postedit.core.search_config import SearchConfig
from postedit.phrase.decoder import ALL_FEATURES, Outputs, SearchLimits, edit_texts, sentence_of
from postedit.phrase.edit_candidates import Sentence
from postedit.phrase.forced_scores import score_outputs
from postedit.phrase.phrase_model import PhraseModel, empty_model
from postedit.phrase.phrase_options import PhraseConfig, PhraseTextConfig
from postedit.phrase.phrase_reasons import FoundEdit, PhraseReasons
from postedit.phrase.scored_edits import REPEATED
from postedit.phrase.word_ids import TextsBuilder
from postedit.saved_editor import SavedEditor
from postedit.text.edits import Change, changes, edits_between, splice
from postedit.text.swapped_sides import languages_seem_swapped
from postedit.text.words import Splitter

_UNSUPPORTED: Final = (
    "post_edit_penalty", "max_edits", "no_repeat", "coverage_penalty", "cut_input", "banned", "required",
    "mbr",
)  # fmt: skip
"""Search options that limit or change outputs and that this editor does not support."""

_MORE: Final = 8  # outputs to consider if the best one is damaged, such as a blank text

Reasons = tuple[EditReason, ...]

_CHANGED: Final = ALL_FEATURES.index("words changed")


class _Read(NamedTuple):
    """A segment as words."""

    segment: Segment
    words: list[str]
    source: list[str]
    skipped: Skipped | None = None

    @property
    def mt(self) -> str:
        """The text of mt."""
        return self.segment.mt or ""


class PhraseEditor(SavedEditor):
    """A phrase-based model with its text processing."""

    def __init__(
        self,
        model: PhraseModel,
        config: PhraseConfig,
        text: PhraseTextConfig,
        search: SearchConfig,
        sources: tuple[Path, ...] = (),
    ) -> None:
        """Make an editor; `sources` are the folders that it was loaded from, if any."""
        self.model, self.config, self.text, self.search, self.sources = model, config, text, search, sources

    @classmethod
    def empty(cls, text: PhraseTextConfig, config: PhraseConfig | None = None) -> "PhraseEditor":
        """Return an editor that has learnt nothing yet and leaves every mt as it is."""
        config = config or PhraseConfig()
        return cls(empty_model(config.order), config, text, SearchConfig())

    @property
    def abilities(self) -> Abilities:
        """Abilities of the editor."""
        return Abilities(
            n_best=True,
            forced_scores=True,
            evidence=True,
            reasons=True,
            languages=self._languages((self.text.src_lang or "", self.text.tgt_lang or "")),
            tokenises=self.text.tokenizer != "none",
            token_search=False,
        )

    def identity(self, search: SearchConfig | None = None) -> Identity:
        """Return the fingerprint of the model folder, and the options that can change an output."""
        config = search or self.search
        names = ("n_best", "edit_cost", "max_input")
        return Identity(self._fingerprints, {name: getattr(config, name) for name in names})

    def check(self, search: SearchConfig, *, with_mt: bool) -> None:
        """Check the search options before long work; see `Editor.check`."""
        super().check(search, with_mt=with_mt)
        refused = search.given(_UNSUPPORTED)
        if refused:
            raise DataError(
                f"search.{refused[0]} is for neural models; a phrase-based model makes edits that it has seen: leave "
                "it out"
            )

    def word_spans(self, side: Side, text: str) -> list[tuple[int, int]] | None:
        """Return the spans of the words of a text; None if the tokeniser rewrites it."""
        found = self.text.splitter(side).spans(text)
        return None if found is None else [(word.start, word.end) for word in found]

    def words(self, side: Side, text: str) -> list[str]:
        """Return the words of a text."""
        found: list[str] = self.text.splitter(side).words(text)
        return found

    def seem_swapped(self, src: Sequence[str], mt: Sequence[str]) -> bool:
        """Return whether src and mt were evidently passed in the wrong order, as far as their languages show."""
        return languages_seem_swapped(self.abilities.languages, src, mt)

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return one correction per segment; see `Editor.edit_segments`. Evidence has reasons, but no attention."""
        config = search or self.search
        self.check(config, with_mt=True)
        if any(segment.constraints for segment in segments):
            raise DataError("a phrase-based model takes no constraints (a prefix, required words): leave them out")
        read = self._read(segments, config)
        asked = [one for one in read if one.skipped is None]
        found = iter(self._searched(asked, config, with_reasons=evidence in ("reasons", "losses")))
        results = [PostEdit(one.mt, False, skipped=one.skipped) if one.skipped else next(found) for one in read]
        return results if config.n_best == 1 else self._with_mt(read, results)

    def _with_mt(self, read: Sequence[_Read], found: Sequence[PostEdit]) -> list[PostEdit]:
        """Return the n-best lists, with unchanged mt appended to those that lack it."""
        lacking = [row for row, best in enumerate(found) if all(one.changed for one in (best, *best.alternatives))]
        scored = self._scored([read[row] for row in lacking], [read[row].mt for row in lacking])
        results = [*found]
        for row, unchanged in zip(lacking, scored, strict=True):
            results[row] = replace(found[row], alternatives=(*found[row].alternatives, unchanged))
        return results

    def score_segments(
        self, segments: Sequence[Segment], outputs: Sequence[str], *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return the scores of given outputs, with `features`.

        The score is that of the best edits that produce the output. Changes without candidate edits, which search would
        never make, are made word by word at a fixed cost.
        """
        check_outputs(segments, outputs)
        return self._scored(self._read(segments, self.search), outputs)

    def _scored(self, read: Sequence[_Read], outputs: Sequence[str]) -> list[PostEdit]:
        asked = [(one, output) for one, output in zip(read, outputs, strict=True) if one.skipped is None]
        others: dict[str, int] = {}
        mt, src = self._texts([one for one, _ in asked], others)
        builder = TextsBuilder(bounded=True)
        for _, output in asked:
            builder.append(self.model.words.find(self.words("pe", output), others))
        found = score_outputs(
            mt, self.model.joined, src, builder.texts(), self.model.knowledge, self.model.weights, self.config.sample
        )
        scored = iter(zip(*found, strict=True))
        results = []
        for one, output in zip(read, outputs, strict=True):
            score, features = (0.0, np.zeros(0)) if one.skipped else next(scored)
            named = dict(zip(ALL_FEATURES, features.tolist())) or None
            results.append(PostEdit(output, output != one.mt, float(score), features=named, skipped=one.skipped))
        return results

    def _read(self, segments: Sequence[Segment], config: SearchConfig) -> list[_Read]:
        missing = next((number for number, one in enumerate(segments, start=1) if one.mt is None), None)
        if missing is not None:
            raise DataError(f"a phrase-based model corrects translations: segment {missing} has no mt")
        return [self._as_words(segment, config.max_input) for segment in segments]

    def _as_words(self, segment: Segment, longest: int) -> _Read:
        words, source = self.words("mt", segment.mt or ""), self.words("src", segment.src)
        skipped: Skipped | None = "too long" if max(len(words), len(source)) > longest else None
        return _Read(segment, words, source, skipped if words and source else "empty")

    def _texts(self, read: Sequence[_Read], others: dict[str, int]) -> tuple[Any, Any]:
        """Return the words of mt and of the sources as ids; for `others`, see `WordIds.find`."""
        mt, src = TextsBuilder(bounded=True), TextsBuilder(bounded=False)
        for one in read:
            mt.append(self.model.words.find(one.words, others))
            src.append(self.model.words.find(one.source, others))
        return mt.texts(), src.texts()

    def _searched(self, read: Sequence[_Read], config: SearchConfig, *, with_reasons: bool) -> list[PostEdit]:
        if not read:
            return []
        weights = self.model.weights.copy()
        weights[_CHANGED] -= config.edit_cost
        by_corrections = self.model.knowledge.correction_weights.copy()
        by_corrections[_CHANGED - 1] -= config.edit_cost
        knowledge = self.model.knowledge._replace(correction_weights=by_corrections)
        limits = SearchLimits(config.n_best, self.config.paths, self.config.sample)
        mt, src = self._texts(read, {})
        found = edit_texts(mt, self.model.joined, src, knowledge, weights, limits)
        reasons: Sequence[Reasons] = [()] * len(found.spans)
        if with_reasons:
            sentences = [
                sentence_of(mt, self.model.joined, src, knowledge.translations, row) for row in range(len(read))
            ]
            reasons = self._reasons(read, sentences, found)
        results = []
        for row, one in enumerate(read):
            outputs = [self._rendered(one, found, place, reasons) for place in range(*found.first[row : row + 2])]
            best, *others = [output for output in outputs if output.skipped is None] or outputs[:1]
            results.append(replace(best, alternatives=tuple(others)))
        damaged = [row for row, result in enumerate(results) if result.skipped is not None]
        if damaged and config.n_best == 1:  # the next best output may be sound
            more = config.with_options(beam=_MORE, n_best=_MORE)
            found_again = self._searched([read[row] for row in damaged], more, with_reasons=with_reasons)
            for row, result in zip(damaged, found_again, strict=True):
                results[row] = replace(result, alternatives=()) if result.changed else results[row]
        return [self._as_corrected(one, result, with_reasons) for one, result in zip(read, results, strict=True)]

    def _as_corrected(self, read: _Read, found: PostEdit, with_reasons: bool) -> PostEdit:
        """Return the text of the last correction of the same segment if it differs from the output only in spacing."""
        known = self.model.corrected.get((read.segment.src, read.mt))
        if not known:
            return found
        text = known[max(known)]
        if text == found.text or self.words("pe", text) != self.words("pe", found.text):
            return found
        edits = edits_between(read.mt, text)
        if with_reasons:
            reason = _repetition(known, text, read.mt)
            edits = tuple(replace(edit, reasons=(reason,)) for edit in edits)
        sure = -math.log1p(math.exp(-REPEATED))
        return replace(
            found,
            text=text,
            changed=text != read.mt,
            token_scores=(sure,) * len(edits),
            edits=edits,
            skipped=None,
            alternatives=tuple(one for one in found.alternatives if one.text != text),
            token_spans=tuple((number, number + 1) for number in range(len(edits))),
            confidences=(math.exp(sure),) * len(edits),
        )

    def _reasons(self, read: Sequence[_Read], sentences: Sequence[Sentence], found: Outputs) -> list[Reasons]:
        """Return the reasons for each edit of all outputs."""
        finder, reasons = PhraseReasons(self.model, self.text, self.config.sample), list[Reasons]()
        for row, (one, sentence) in enumerate(zip(read, sentences, strict=True)):
            first, last = (found.first_edit[place] for place in found.first[row : row + 2])
            edits = [
                FoundEdit(
                    (int(found.spans[number, 0]), int(found.spans[number, 1])),
                    found.words[slice(*found.first_word[number : number + 2])],
                    found.evidence[number],
                )
                for number in range(first, last)
            ]
            reasons += finder.of_edits(sentence, one.segment.src, edits) if edits else ()
        return reasons

    def _rendered(self, read: _Read, found: Outputs, place: int, reasons: Sequence[Reasons]) -> PostEdit:
        """Return one output of a search as a correction, with the reasons for each of its edits."""
        score = float(found.scores[place])
        features = dict(zip(ALL_FEATURES, found.features[place].tolist()))
        first, last = found.first_edit[place : place + 2]
        kept = PostEdit(read.mt, False, score, features=features)
        if first == last:
            return kept
        pe: list[str] = []
        made: list[Change] = []
        done, gains = 0, np.zeros(len(read.words) + 1)
        for number in range(first, last):
            start, end = found.spans[number]
            new = found.words[slice(*found.first_word[number : number + 2])]
            pe += read.words[done:start]
            made.append(Change((start, end), (len(pe), len(pe) + len(new))))
            pe += [self.model.words.words[word] for word in new]
            done = end
            gains[start : max(end, start + 1)] = found.gains[number]
        pe += read.words[done:]
        splitter: Splitter = self.text.splitter("mt")
        places, mt_gaps, pe_gaps = splitter.spans(read.mt), splitter.gaps(read.words), splitter.gaps(pe)
        if places is None or mt_gaps is None or pe_gaps is None:  # the tokeniser rewrites the text
            return replace(kept, skipped="damaged")
        text, edits = splice(read.mt, places, mt_gaps, pe, pe_gaps)
        if not text.strip():  # nothing is left of mt
            return replace(kept, skipped="damaged")
        shown = changes(read.words, pe)
        sure = [_log_probability(gains, change.mt) for change in shown]
        own = reasons[first:last]
        edits = tuple(
            replace(edit, reasons=_reasons_of(change, made, own)) for edit, change in zip(edits, shown, strict=True)
        )
        return PostEdit(
            text,
            text != read.mt,
            score,
            tuple(sure),
            edits,
            features=features,
            token_spans=tuple((number, number + 1) for number in range(len(edits))),
            confidences=tuple(map(math.exp, sure)),
        )


def _repetition(known: Mapping[int, str], text: str, mt: str) -> CorrectionReason:
    """Return the corrections of the same segment, `known` by number, as the reason for the `text` of the last one."""
    made = [number for number, pe in known.items() if pe == text]
    left = sum(pe == mt for pe in known.values())
    named = tuple(map(NamedCorrection, reversed(made[-EXAMPLES:])))
    return CorrectionReason(len(made), left, len(known) - len(made) - left, named, same_segment=True)


def _reasons_of(change: Change, made: Sequence[Change], reasons: Sequence[Reasons]) -> Reasons:
    """Return the reasons of all edits `made` by a search that a change between mt and the output overlaps.

    One edit may appear as several changes, if it writes words that it also removes, and adjacent edits appear as one
    change. Among repeated words, a change may show another word than the edit wrote: then the nearest edits count.
    """
    apart = [min(_distance(change.mt, one.mt), _distance(change.pe, one.pe)) for one in made]
    nearest = max(-1, min(apart))
    chosen = (of for of, distance in zip(reasons, apart, strict=True) if distance <= nearest)
    return tuple(dict.fromkeys(reason for of in chosen for reason in of))


def _distance(one: tuple[int, int], other: tuple[int, int]) -> int:
    """Return the number of words between two spans; if negative, minus the number of words that they share."""
    return max(one[0], other[0]) - min(one[1], other[1])


def _log_probability(gains: Any, span: tuple[int, int]) -> float:
    """Return the log-probability of an edit, the log-sigmoid of its gain in score over keeping the words."""
    gain = float(gains[span[0] : max(span[1], span[0] + 1)].max())
    return -math.log1p(math.exp(-gain)) if gain > -700.0 else gain
