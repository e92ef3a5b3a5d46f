"""Segments, corrections, and `Editor`, the interface of everything that corrects machine translation.

A neural model, an ensemble and a table of replacements are all editors. A gate or a first stage wraps an editor and is
itself an editor. Commands and jobs accept any `Editor`, without asking which kind it is.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar, get_args

from postedit.core.arguments import check_text, entries_of, is_list, list_of, texts_of, whole
from postedit.core.edit_reasons import EditReason
from postedit.core.errors import DataError
from postedit.core.search_config import SearchConfig
from postedit.core.segment_events import warn_of_events
from postedit.core.wording import counted

if TYPE_CHECKING:
    from postedit.core.evidence import Evidence
    from postedit.core.types import AttentionKey

EditorT = TypeVar("EditorT", bound="Editor")

Side = Literal["src", "mt", "pe"]  # a text of a triplet

ENDPOINT: Final = "openai:"  # prefix of the name of a model behind an endpoint

OWN_EDITOR: Final = "python:"  # prefix of the name of an editor of one's own; see `editing.own_editor`

Skipped = Literal["empty", "too long", "no memory", "impossible", "damaged", "no answer"]
"""Why a segment is left as it is: a text that the editor reads is blank ("empty"), or too long for `search.max_input`
or the model; the segment does not fit into memory; no output satisfies its constraints ("impossible"); the output was
not valid text, or was blank ("damaged"); the language model gave no answer that can be a correction of it."""

Detail = Literal["attention", "reasons", "losses"]
"""How much evidence to extract. Each level includes those before it: `attention`; `reasons`, which adds runners-up and
scores without src or mt; `losses`, which adds the probability that a changed output loses without each word of src."""


@dataclass(frozen=True, slots=True)
class Constraints:
    """Lexical constraints on the output of one segment.

    Raises:
        DataError: if a phrase is blank or not a string, or the prefix is not a string.
    """

    prefix: str = ""  # text that the output begins with; it may end within a word
    required: tuple[str, ...] = ()  # words and phrases that the output contains
    banned: tuple[str, ...] = ()  # words and phrases that the output does not contain

    def __post_init__(self) -> None:
        if not isinstance(self.prefix, str):
            raise DataError(f"prefix must be text, not {self.prefix!r:.80}")
        for name, phrases in (("required", self.required), ("banned", self.banned)):
            if not is_list(phrases) or not all(isinstance(one, str) and one.strip() for one in phrases):
                raise DataError(f"{name} must be a tuple of words or phrases, none of them blank, not {phrases!r:.80}")
            object.__setattr__(self, name, tuple(map(str, phrases)))  # a list would have no hash

    def __bool__(self) -> bool:
        return bool(self.prefix or self.required or self.banned)


@dataclass(frozen=True, slots=True)
class Segment:
    """One source text, its machine translation (None if there is none), and constraints on its correction.

    Raises:
        DataError: if an argument is not of the declared type.
    """

    src: str
    mt: str | None = None
    constraints: Constraints = Constraints()

    def __post_init__(self) -> None:
        if not isinstance(self.src, str) or not (self.mt is None or isinstance(self.mt, str)):
            raise DataError(f"src must be text, and mt text or None, not {self.src!r:.80} and {self.mt!r:.80}")
        if not isinstance(self.constraints, Constraints):
            raise DataError(f"constraints must be Constraints(...), not {self.constraints!r:.80}")


@dataclass(frozen=True, slots=True)
class Edit:
    """One change between mt and its correction.

    Spans are ranges of characters, end exclusive: `mt_span` in the raw mt, `pe_span` in the returned text. They include
    the white space that changes along with the words, so that `apply_edits` reproduces the text exactly.
    """

    op: Literal["insert", "delete", "replace"]
    mt_span: tuple[int, int]
    pe_span: tuple[int, int]
    reasons: tuple[EditReason, ...] = ()  # if requested, from an editor with `Abilities.reasons`


@dataclass(frozen=True, slots=True)
class Fallback:
    """A protected span or term that an edit would have lost, doubled, changed or invented, and how it was restored."""

    kind: str  # a kind of `text.protected_spans`, or "term"
    value: str  # the value by which `text.protected_spans` compares spans
    # by a second search with constraints, by reverting some edits, or all ("mt"); None: not restored: no mt
    by: Literal["search", "edits", "mt"] | None


@dataclass(frozen=True, slots=True)
class PostEdit:
    """The correction of one segment.

    Args:
        text: the corrected translation; the same string as mt if nothing changed.
        changed: whether the text differs from mt; without mt, from the draft of the first stage or the empty string.
        score: natural-log probability of the output, EOS included; for a phrase-based model or a combination, the
            weighted sum by which it ranks outputs, which may have either sign; 0 if the editor has no scores.
        token_scores: natural-log probability of each token and of EOS, or of each edit if the editor writes no tokens.
        edits: the changes, with spans in characters of mt and of text; empty where a phrase-based model or a
            combination scores a given output.
        hit_limit: whether the output has the maximum length, and is probably cut off.
        skipped: why the segment was left as it is; None if it was edited.
        evidence: attention and reasons behind the words of the output, if requested; for other reasons, see `Edit`.
        alternatives: the next best corrections, best first, if requested; no two have the same text. mt itself is
            always the best correction or among these, with `changed` False and the score that the model gives it.
        draft: output of the first stage, which this corrects; None if mt was given, or there is no first stage.
        features: features of a log-linear combination, by name; None if they were not needed.
        token_spans: for each edit, the range (end exclusive) in `token_scores` of the tokens that make up the words it
            wrote (letters, if words have no spaces); for a deletion, the range of the next word (letter), or of EOS.
        confidences: for each edit, the probability of its tokens; empty if the editor has no probabilities. With a
            gate, the probability that the edit (or the whole correction, for a gate on segments) makes mt better.
        reverted: number of edits reverted, by a gate or because they would damage text or a protected span; `score`,
            `token_scores` and `evidence` describe the whole output, unless the model itself listed the remaining text.
        fallbacks: protected spans that the correction would have broken, and how each was saved.
        input_cut: whether only the first tokens of a text were read (`search.cut_input`).
    """

    text: str
    changed: bool
    score: float = 0.0
    token_scores: tuple[float, ...] = ()
    edits: tuple[Edit, ...] = ()
    hit_limit: bool = False
    skipped: Skipped | None = None
    evidence: "Evidence | None" = None
    alternatives: tuple["PostEdit", ...] = ()
    draft: str | None = None
    features: Mapping[str, float] | None = None
    token_spans: tuple[tuple[int, int], ...] = ()
    confidences: tuple[float, ...] = ()
    reverted: int = 0
    fallbacks: tuple[Fallback, ...] = ()
    input_cut: bool = False


@dataclass(frozen=True, slots=True)
class Abilities:
    """The inputs that an editor needs and the features that it supports."""

    needs_mt: bool = True  # every segment must have mt
    n_best: bool = False  # can return several corrections per segment
    forced_scores: bool = False  # can score given outputs (`Editor.score_segments`)
    evidence: bool = False  # can return evidence, either `PostEdit.evidence` or reasons for each edit
    reasons: bool = False  # its evidence consists of reasons for each edit (`Edit.reasons`)
    inputs: tuple[str, ...] = ("src", "mt")  # sides that it reads
    attention: "frozenset[AttentionKey]" = frozenset()  # keys of the attention in its evidence
    languages: tuple[str, str] = ("", "")  # source and target language codes; empty if not known
    token_search: bool = True  # writes token by token, as some options of `SearchConfig` assume
    drafts: bool = False  # greedy search uses mt as a draft, and can be limited to a shortlist
    learns: bool = False  # learns from corrections (`Editor.learn`)
    constraints: bool = False  # honours the constraints of segments
    tokenises: bool = False  # reads untokenised text, and divides it into words itself
    hints: tuple[str, ...] = ()  # names of the hints in its prompt; see `core.hints`


@dataclass(frozen=True, slots=True)
class Identity:
    """Everything that determines the outputs of an editor; a gate or a cache is valid for one identity."""

    models: tuple[str, ...]  # fingerprints of all files and folders that the editor was loaded from, in order
    # options that can change an output, by name; values can be written as JSON
    settings: Mapping[str, Any] = field(default_factory=dict)


class Editor(ABC):
    """Base class of everything that corrects segments.

    Subclasses implement `edit_segments`, `abilities` and `identity`, on which `edit` and `score` for texts are built.
    """

    search: SearchConfig = SearchConfig()
    """Default search options, used if a caller gives none."""

    @property
    @abstractmethod
    def abilities(self) -> Abilities:
        """The abilities of the editor."""

    @abstractmethod
    def identity(self, search: SearchConfig | None = None) -> Identity:
        """Return the identity of the editor when it searches with `search`, or with its own options if None."""

    @abstractmethod
    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return one correction per segment, in order; if `search` is None, with the editor's own search options.

        A correction that changes mt must list its `edits`, which gates, chains and translation files rely on;
        `text.edits.edits_between` finds them for an editor that knows only the corrected text.

        Raises:
            DataError: if a segment lacks what the editor needs, or an option is not supported.
            ModelFolderError: if the model is damaged.
        """

    def score_segments(
        self, segments: Sequence[Segment], outputs: Sequence[str], *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return the scores of given outputs, one per segment, by forced scoring.

        Raises:
            DataError: if the editor cannot score given outputs, or a segment lacks what the editor needs.
        """
        raise DataError("this editor cannot score given outputs")

    def check(self, search: SearchConfig, *, with_mt: bool) -> None:
        """Check, before long work, that segments with or without mt can be searched with these options.

        Raises:
            DataError: naming the option that the editor does not support.
        """
        if search.needs_mt and not with_mt and not self.abilities.needs_mt:
            raise DataError(
                "post_edit_penalty, edit_cost and max_edits compare outputs with mt: give mt, or leave them out"
            )
        if search.n_best > 1 and not self.abilities.n_best:
            raise DataError(f"this editor returns one correction per segment: n_best must be 1, not {search.n_best}")

    def learn(self, src: str, mt: str, pe: str) -> int:
        """Learn from a correction, and return its number; a pe equal to mt means that mt was right.

        Raises:
            DataError: if the editor does not learn, or a text is blank.
        """
        raise DataError("this editor does not learn from corrections; postedit.adapt.load_learning loads one that does")

    def undo(self, number: int) -> None:
        """Forget the correction for which `learn` returned `number`, as if it had never been learnt.

        Raises:
            DataError: if the editor does not learn, or there is no such correction.
        """
        raise DataError("this editor does not learn from corrections, so there is nothing to undo")

    def word_spans(self, side: Side, text: str) -> list[tuple[int, int]] | None:
        """Return the character spans of the words of a text, by the editor's tokeniser; None if not known."""
        return [found.span() for found in re.finditer(r"\S+", text)]

    def words(self, side: Side, text: str) -> list[str]:
        """Return the words of a text, by the editor's tokeniser."""
        return text.split()

    def seem_swapped(self, src: Sequence[str], mt: Sequence[str]) -> bool:
        """Return whether src and mt were evidently passed in the wrong order; False if the editor cannot tell."""
        return False

    def edit(
        self,
        src: Iterable[str],
        mt: Iterable[str | None] | None = None,
        *,
        beam: int | None = None,
        n_best: int | None = None,
        batch_tokens: int | None = None,
        search: SearchConfig | None = None,
        prefix: Sequence[str] | None = None,
        required: Sequence[Sequence[str]] | None = None,
        evidence: bool | Detail = False,
    ) -> list[PostEdit]:
        """Return one correction per segment, in order; editors that do not need mt can also translate.

        Args:
            src: source segments.
            mt: their machine translations, one per segment. A segment may have None, or `mt` may be None for all, if
                the editor does not need mt (`abilities.needs_mt`).
            beam: number of hypotheses kept per segment; overrides `search.beam`; 1 is greedy search.
            n_best: number of outputs, at most `beam`; if above 1, `alternatives` has all but the best, and mt.
            batch_tokens: batch size in tokens; overrides `search.batch_tokens`.
            search: search options; None: the editor's own.
            prefix: for each segment, the text that the correction begins with, or ""; it may end within a word.
            required: for each segment, words and phrases that the correction contains; they widen the segment's beam.
            evidence: how much evidence to return; True means "reasons", False none.

        Raises:
            DataError: if the numbers of texts differ, mt is missing, or an option is out of range or not supported; or
                if the editor does not return one correction per segment.
            ModelFolderError: if the model is damaged.
        """
        segments = segments_of(src, mt, prefix, required)
        given = {"beam": beam, "n_best": n_best, "batch_tokens": batch_tokens}
        options = {name: whole(name, value) for name, value in given.items() if value is not None}
        config = self.search if search is None else search
        if not isinstance(config, SearchConfig):
            raise DataError(f"search must be a SearchConfig, such as SearchConfig(beam=4), not {config!r:.80}")
        config = config.with_options(**options) if options else config
        self._check_given(segments, config, search or SearchConfig())
        results = edited(self, segments, config, _detail(evidence))
        warn_of_events(results)
        return results

    def _check_given(self, segments: Sequence[Segment], config: SearchConfig, given: SearchConfig) -> None:
        """Check the search options, and that the editor supports what the segments and the caller's options need."""
        self.check(config, with_mt=not segments or any(one.mt is not None for one in segments))
        able = self.abilities
        if not able.token_search:
            given.check_effect(self.search)
        check_mt(able, segments)
        if not able.constraints and (given.required or given.banned or any(one.constraints for one in segments)):
            raise DataError(
                "this editor takes no constraints (a prefix, required and banned words), which a gate, phrases or "
                "further passes may revert: leave them out"
            )

    def score(
        self,
        src: Iterable[str],
        mt: Iterable[str | None] | None,
        outputs: Iterable[str],
        *,
        evidence: bool | Detail = False,
    ) -> list[PostEdit]:
        """Return the scores that the editor gives to `outputs`, one per segment; see `score_segments`."""
        segments, given = segments_of(src, mt), texts_of("outputs", outputs)
        check_outputs(segments, given)
        return self.score_segments(segments, given, evidence=_detail(evidence))


class EditorWrapper(Editor, Generic[EditorT]):
    """An editor that wraps another one and changes its inputs or outputs; subclasses override what differs."""

    def __init__(self, inner: EditorT) -> None:
        self.inner, self.search = inner, inner.search

    @property
    def abilities(self) -> Abilities:
        """Abilities of the inner editor."""
        return self.inner.abilities

    def identity(self, search: SearchConfig | None = None) -> Identity:
        """Return the identity of the inner editor."""
        return self.inner.identity(search)

    def score_segments(
        self, segments: Sequence[Segment], outputs: Sequence[str], *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return the scores that the inner editor gives; segments must have mt if that editor needs it."""
        return self.inner.score_segments(segments, outputs, evidence=evidence)

    def check(self, search: SearchConfig, *, with_mt: bool) -> None:
        """Check the search options for the inner editor."""
        self.inner.check(search, with_mt=with_mt)

    def learn(self, src: str, mt: str, pe: str) -> int:
        """Let the inner editor learn from a correction, and return its number."""
        return self.inner.learn(src, mt, pe)

    def undo(self, number: int) -> None:
        """Let the inner editor forget a correction."""
        self.inner.undo(number)

    def word_spans(self, side: Side, text: str) -> list[tuple[int, int]] | None:
        """Return the spans of the words of a text, by the inner editor's tokeniser."""
        return self.inner.word_spans(side, text)

    def words(self, side: Side, text: str) -> list[str]:
        """Return the words of a text, by the inner editor's tokeniser."""
        return self.inner.words(side, text)

    def seem_swapped(self, src: Sequence[str], mt: Sequence[str]) -> bool:
        """Return whether src and mt were evidently passed in the wrong order, according to the inner editor."""
        return self.inner.seem_swapped(src, mt)


def segments_of(
    src: Iterable[str],
    mt: Iterable[str | None] | None = None,
    prefix: Sequence[str] | None = None,
    required: Sequence[Sequence[str]] | None = None,
) -> list[Segment]:
    """Check parallel lists of texts, and return them as segments.

    Raises:
        DataError: naming the argument or segment that is not text, or the lengths that differ.
    """
    sources = texts_of("src", src)
    count = len(sources)
    translations = [None] * count if mt is None else texts_of("mt", mt, (str, NoneType))
    if len(translations) != count:
        raise DataError(f"src has {counted(count, 'segment')} and mt {len(translations):,}; they must match one to one")
    beginnings = [""] * count if prefix is None else entries_of("prefix", prefix, count)
    phrases = [()] * count if required is None else entries_of("required", required, count)
    for number, (start, one) in enumerate(zip(beginnings, phrases, strict=True), start=1):
        if not isinstance(start, str):
            raise DataError(f"segment {number}: prefix must be text, not {start!r:.80}")
        if not is_list(one) or not all(isinstance(phrase, str) and phrase.strip() for phrase in one):
            raise DataError(f"segment {number}: required must be a list of words or phrases, not {one!r:.80}")
        for name, text in (("prefix", start), *(("required", phrase) for phrase in one)):
            check_text(f"segment {number}: {name}", text)
    rows = zip(sources, translations, beginnings, phrases, strict=True)
    return [Segment(source, target, Constraints(start, tuple(one))) for source, target, start, one in rows]


def edited(editor: Editor, segments: Sequence[Segment], search: SearchConfig, detail: Detail | None) -> list[PostEdit]:
    """Return the corrections by an editor, perhaps of the user's own, after checking that there is one per segment."""
    name = f"{type(editor).__name__}.edit_segments"
    try:
        found = editor.edit_segments(segments, search, evidence=detail)
    except SystemExit as error:  # passed on, it would end a command as if all had gone well
        raise DataError(f"{name} ended the program; it must return a list of PostEdit, one per segment") from error
    return list_of(name, found, PostEdit, len(segments))


def check_outputs(segments: Sequence[Segment], outputs: Sequence[str]) -> None:
    """Raise a DataError unless there is one output to score for each segment."""
    if len(outputs) != len(segments):
        raise DataError(f"src has {counted(len(segments), 'segment')} and outputs {len(outputs):,}; give one for each")


def check_mt(able: Abilities, segments: Sequence[Segment]) -> None:
    """Raise a DataError if a segment lacks mt, and an editor with these abilities needs it."""
    lacks = next((number for number, one in enumerate(segments, start=1) if one.mt is None), None)
    if able.needs_mt and lacks is not None:
        raise DataError(
            f"segment {lacks} has no mt; this editor corrects translations but cannot translate (it has no first stage)"
        )


def _detail(evidence: bool | Detail | None) -> Detail | None:
    if evidence is None or isinstance(evidence, bool):
        return "reasons" if evidence else None
    if not isinstance(evidence, str) or evidence not in get_args(Detail):
        raise DataError(f"evidence must be True, False, {', '.join(get_args(Detail))}, not {evidence!r:.80}")
    return evidence
