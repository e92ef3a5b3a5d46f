"""`Pooled`: an editor that chooses among the corrections proposed by several editors, by the scores of all members."""

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Final

from postedit.core.editor import Abilities, Detail, Editor, Identity, PostEdit, Segment, Side, edited
from postedit.core.errors import DataError
from postedit.core.search_config import SearchConfig
from postedit.editing.chained_editors import common_pair
from postedit.editing.minimum_risk import by_risk
from postedit.editing.results import unchanged
from postedit.saved_editor import CompoundEditor
from postedit.search.ensemble import check_weights
from postedit.search.rescoring import LEAST, LogLinear, member_name, weighted_sum, word_features

_Change = tuple[tuple[int, int], str]  # an edit: the span of mt that it replaces, and the new text

_LEAST_PROBABILITY: Final = 1e-300  # smallest probability of an edit, so that its logarithm is finite


class Pooled(CompoundEditor):
    """Chooses among the candidates of several editors by a log-linear model of the scores that all members give them.

    The candidates for a segment are mt and the n-best lists of all proposers, among whom the beam is divided. Outputs
    that the length limit cut off are left out, unless `mt_candidate` is off; of candidates with the same text, that of
    the first proposer is kept. Every member scores every candidate (`score_segments`), so members need not share a
    vocabulary, nor even be models. A candidate that a member cannot score is left out. If a member cannot score mt,
    because a text is blank or too long, the segment stays as it is.

    The score of a correction is that of the log-linear model. The confidence of an edit is the total probability of the
    candidates that contain it, where the probabilities of all candidates sum to 1.
    """

    def __init__(
        self, proposers: Sequence[Editor], members: Sequence[Editor], log_linear: LogLinear, search: SearchConfig
    ) -> None:
        """Combine proposers, which search, with members, which score; the first member's tokeniser determines words.

        Raises:
            DataError: if there is not one weight above 0 for each member, if members are for different languages, or if
                there is no proposer or no member.
        """
        if not proposers:
            raise DataError("a combination needs at least one editor that proposes corrections, and there is none")
        self._pair = common_pair(members, "a combination")
        names = [member_name(number) for number in range(1, len(members) + 1)]
        check_weights([log_linear.weights[name] for name in names if name in log_linear.weights], len(members))
        self.proposers, self.members, self.log_linear, self.search = proposers, members, log_linear, search

    @property
    def abilities(self) -> Abilities:
        """Abilities of the editor: it takes no constraints, and gives reasons if a proposer does."""
        first, each = self.members[0].abilities, [member.abilities for member in self.members]
        return Abilities(
            needs_mt=True,
            n_best=True,
            forced_scores=True,
            evidence=any(proposer.abilities.reasons for proposer in self.proposers),
            reasons=any(proposer.abilities.reasons for proposer in self.proposers),
            inputs=tuple(side for side in ("src", "mt") if any(side in one.inputs for one in each)),
            languages=self._languages(self._pair),
            tokenises=first.tokenises,
            token_search=any(proposer.abilities.token_search for proposer in self.proposers),
        )

    def identity(self, search: SearchConfig | None = None) -> Identity:
        """Return the fingerprints of all editors, their options, and those of the log-linear model."""
        config = search or self.search
        identities = [editor.identity(config) for editor in (*self.proposers, *self.members)]
        models = tuple(dict.fromkeys(model for one in identities for model in one.models))
        options = config.outcome()
        others = [{name: value for name, value in one.settings.items() if name not in options} for one in identities]
        own = {"weights": dict(self.log_linear.weights), "known": list(self.log_linear.known), "editors": others}
        return Identity(models, {**options, **own})

    def check(self, search: SearchConfig, *, with_mt: bool) -> None:
        """Check the search options with every proposer; see `Editor.check`."""
        super().check(search, with_mt=with_mt)
        if search.cut_input:
            raise DataError(
                "search.cut_input is for outputs that need not keep mt, and members that search on their own always "
                "compare them with mt: leave it out, or give one model"
            )
        for proposer in self.proposers:
            proposer.check(_own_ranking(search), with_mt=with_mt)

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return one correction per segment; see `Editor.edit_segments`. The only evidence is reasons for edits."""
        config = search or self.search
        self.check(config, with_mt=True)
        for number, segment in enumerate(segments, start=1):
            if segment.mt is None:
                raise DataError(f"members that search on their own correct translations: segment {number} has no mt")
            if segment.constraints:
                raise DataError("members that search on their own take no constraints (a prefix, required words)")
        share = _own_ranking(config).with_options(n_best=max(1, config.beam // len(self.proposers)))
        details = [evidence if proposer.abilities.reasons else None for proposer in self.proposers]
        proposed = zip(
            *(
                edited(proposer, segments, share, detail)
                for proposer, detail in zip(self.proposers, details, strict=True)
            ),
            strict=True,
        )
        lists = [_candidates(*one, config) for one in zip(segments, proposed, strict=True)]
        asked = [segment for segment, found in zip(segments, lists, strict=True) for _ in found]
        texts = [one.text for found in lists for one in found]
        scored = iter(self._all_scored([_reading(one, config) for one in self.members], asked, texts))
        return [
            _chosen(segment, [(one, next(scored)) for one in found], config)
            for segment, found in zip(segments, lists, strict=True)
        ]

    def _parts(self) -> Sequence[Editor]:
        return *self.members, *self.proposers

    def score_segments(
        self, segments: Sequence[Segment], outputs: Sequence[str], *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return the given outputs with scores and `features`; an output that a member cannot score is skipped."""
        return self._all_scored(self.members, segments, outputs)

    def _all_scored(
        self, members: Sequence[Editor], segments: Sequence[Segment], outputs: Sequence[str]
    ) -> list[PostEdit]:
        scores = zip(*(member.score_segments(segments, outputs) for member in members), strict=True)
        return [self._scored(*one) for one in zip(segments, outputs, scores, strict=True)]

    def _scored(self, segment: Segment, output: str, scores: Sequence[PostEdit]) -> PostEdit:
        mt = segment.mt or ""
        skipped = next((one.skipped for one in scores if one.skipped), None)
        if skipped:
            return PostEdit(output, output != mt, skipped=skipped)
        sides: dict[Side, str] = {"src": segment.src, "mt": mt}
        known = {
            word for side, text in sides.items() if side in self.log_linear.known for word in self.words(side, text)
        }
        features = {member_name(number): max(one.score, LEAST) for number, one in enumerate(scores, start=1)}
        features |= word_features(self.words("pe", output), known)
        return PostEdit(output, output != mt, weighted_sum(features, self.log_linear.weights), features=features)


def _reading(member: Editor, config: SearchConfig) -> Editor:
    """Return a member with the input limit of `config`: a copy if it differs, as other threads may use the member."""
    if member.search.max_input == config.max_input:
        return member
    member = copy(member)
    member.search = member.search.with_options(max_input=config.max_input)
    return member


def _candidates(segment: Segment, found: Sequence[PostEdit], config: SearchConfig) -> list[PostEdit]:
    """Return the distinct corrections that the proposers found for a segment, in the order of proposers, then mt."""
    mt = segment.mt or ""
    by_text: dict[str, PostEdit] = {}
    for best in found:
        for one in (best, *best.alternatives):
            if one.skipped is None and not (one.hit_limit and config.mt_candidate):
                by_text[one.text] = _with_reasons(by_text[one.text], one) if one.text in by_text else one
    by_text.setdefault(mt, PostEdit(mt, False))
    return list(by_text.values())


def _with_reasons(kept: PostEdit, other: PostEdit) -> PostEdit:
    """Return a correction whose edits without reasons get those of another editor for the same edits."""
    reasons = {(edit.mt_span, edit.pe_span): edit.reasons for edit in other.edits}
    edits = (
        replace(edit, reasons=edit.reasons or reasons.get((edit.mt_span, edit.pe_span), ())) for edit in kept.edits
    )
    return replace(kept, edits=tuple(edits))


def _own_ranking(search: SearchConfig) -> SearchConfig:
    """Return the options for a proposer, which ranks by its own scores: risk is compared only among all candidates."""
    return search.with_options(mbr=0.0)


def _chosen(segment: Segment, judged: Sequence[tuple[PostEdit, PostEdit]], config: SearchConfig) -> PostEdit:
    """Return the best of the candidates, given with their scores; with `n_best` above 1, mt is always returned too."""
    mt = segment.mt or ""
    skipped = next(scored.skipped for one, scored in judged if one.text == mt)
    if skipped:
        return unchanged(mt, skipped)
    ranked = sorted((pair for pair in judged if not pair[1].skipped), key=lambda pair: -pair[1].score)
    probabilities = _edit_probabilities(ranked)
    if config.mbr:
        order = by_risk([one.text for one, _ in ranked], [scored.score for _, scored in ranked], config.mbr)
        ranked = [ranked[place] for place in order]
    best, *others = (
        _with_scores(*pair, probabilities)
        for place, pair in enumerate(ranked)
        if place < config.n_best or (config.n_best > 1 and pair[0].text == mt)
    )
    return replace(best, alternatives=tuple(others))


def _edit_probabilities(ranked: Sequence[tuple[PostEdit, PostEdit]]) -> dict[_Change, float]:
    """Return the probability of each edit: the sum over the candidates that have it."""
    top = ranked[0][1].score
    weights = [math.exp(scored.score - top) for _, scored in ranked]
    found: dict[_Change, float] = {}
    for (one, _), weight in zip(ranked, weights, strict=True):
        for change in _changes(one):
            found[change] = found.get(change, 0.0) + weight / sum(weights)
    return found


def _with_scores(candidate: PostEdit, scored: PostEdit, probabilities: Mapping[_Change, float]) -> PostEdit:
    """Return a candidate with its score and, for each edit, its confidence, whose logarithm is the token score."""
    sure = tuple(min(1.0, max(_LEAST_PROBABILITY, probabilities[change])) for change in _changes(candidate))
    return replace(
        candidate,
        score=scored.score,
        features=scored.features,
        confidences=sure,
        token_scores=tuple(map(math.log, sure)),
        token_spans=tuple((number, number + 1) for number in range(len(sure))),
        alternatives=(),
    )


def _changes(one: PostEdit) -> Iterator[_Change]:
    return ((edit.mt_span, one.text[slice(*edit.pe_span)]) for edit in one.edits)
