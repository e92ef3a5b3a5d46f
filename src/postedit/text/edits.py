"""Edit scripts between two word sequences, texts built from them, and the targets of models that move along mt."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, takewhile
from operator import ne
from typing import TYPE_CHECKING, Final, Literal

from rapidfuzz.distance import LCSseq, Levenshtein

from postedit.core.editor import Edit
from postedit.core.errors import DataError
from postedit.core.scripts import has_unspaced_run
from postedit.core.special_tokens import STEP
from postedit.text.words import CHARACTER_PARTS, SPACED_WORD, UNSPACED_CHARACTER, Word

if TYPE_CHECKING:
    from postedit.core.model import Writes


_WORDS: Final = re.compile(r"\s+|\S+")


@dataclass(frozen=True, slots=True)
class Change:
    """A maximal span of changed words: words `mt[0]` to `mt[1]` (exclusive) became words `pe[0]` to `pe[1]`."""

    mt: tuple[int, int]
    pe: tuple[int, int]

    @property
    def op(self) -> Literal["insert", "delete", "replace"]:
        """The operation."""
        if self.mt[0] == self.mt[1]:
            return "insert"
        return "delete" if self.pe[0] == self.pe[1] else "replace"


def changes(mt: Sequence[str], pe: Sequence[str]) -> list[Change]:
    """Return the fewest word edits that turn `mt` into `pe`, in order; adjacent edits are joined."""
    result: list[Change] = []
    for code in Levenshtein.opcodes(mt, pe):
        if code.tag == "equal":
            continue
        previous = result[-1] if result else None
        if previous and (previous.mt[1], previous.pe[1]) == (code.src_start, code.dest_start):
            result[-1] = Change((previous.mt[0], code.src_end), (previous.pe[0], code.dest_end))
        else:
            result.append(Change((code.src_start, code.src_end), (code.dest_start, code.dest_end)))
    return result


def splice(
    mt: str, mt_words: Sequence[Word], mt_gaps: Sequence[str], pe: Sequence[str], pe_gaps: Sequence[str]
) -> tuple[str, tuple[Edit, ...]]:
    """Return the post-edited text, and the edits that turn `mt` into it.

    Unchanged words keep their characters. The spacing around them stays too, however odd, unless a changed neighbour
    needs a space where there was none, or no space where there was one.

    Args:
        mt: the raw text.
        mt_words: its words.
        mt_gaps: the usual spacing between each two adjacent words of `mt_words`.
        pe: the words of the post-edit, as they are to be written.
        pe_gaps: the usual spacing between each two adjacent words of `pe`.
    """
    raw = [mt[left.end : right.start] for left, right in pairwise(mt_words)]
    edge = _Gap("", None)
    gaps = [edge, *(_Gap(found, usual) for found, usual in zip(raw, mt_gaps)), edge]
    parts: list[str] = []
    edits: list[Edit] = []
    done = length = 0
    for change in changes([word.text for word in mt_words], pe):
        start, end = _between(mt_words, change)
        kept_before, new, kept_after = _written(change, gaps, pe, [None, *pe_gaps, None])
        start, end = start + len(kept_before), end - len(kept_after)
        parts += [mt[done:start], new]
        length += start - done
        edits.append(Edit(change.op, (start, end), (length, length + len(new))))
        length += len(new)
        done = end
    return "".join([*parts, mt[done:]]), tuple(edits)


def apply_edits(mt: str, text: str, edits: Sequence[Edit]) -> str:
    """Return `mt` with each `mt_span` replaced by the `pe_span` of `text`: for a true edit script, that is `text`."""
    parts: list[str] = []
    done = 0
    for edit in edits:
        parts += [mt[done : edit.mt_span[0]], text[slice(*edit.pe_span)]]
        done = edit.mt_span[1]
    return "".join([*parts, mt[done:]])


def check_edits(mt: str, text: str, edits: Sequence[Edit]) -> None:
    """Check that the edits of a correction, perhaps by an editor of the user's own, turn `mt` into `text`.

    Raises:
        DataError: if they do not, or there are none.
    """
    if text != mt and not edits:
        raise DataError("the editor returned a correction without its edits; find them with `edits_between`")
    if apply_edits(mt, text, edits) != text:
        raise DataError(
            f"the editor returned edits that do not make {text!r:.80} of {mt!r:.80}; find them with `edits_between`"
        )


_KATAKANA: Final = r"[\u30a1-\u30fa\u30fc-\u30fe\u3099\u309a]+"  # a foreign word, half of which means nothing
_CHARACTERS: Final = re.compile(
    rf"\s+|(?:{SPACED_WORD}|{_KATAKANA}|{UNSPACED_CHARACTER}|[\U0001f1e6-\U0001f1ff]{{2}}|.){CHARACTER_PARTS}",
    re.DOTALL,
)


def divided_edits(mt: str, text: str, edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Return the edits that turn `mt` into `text`, those of running text in scripts without spaces by characters.

    What stands between spaces may be a whole sentence there, of which a user would accept or reject a part.
    """
    result: list[Edit] = []
    for edit in edits:
        old, new = mt[slice(*edit.mt_span)], text[slice(*edit.pe_span)]
        if not has_unspaced_run(old, new):
            result.append(edit)
            continue
        (mt_start, _), (pe_start, _) = edit.mt_span, edit.pe_span
        for part in edits_between(old, new, _CHARACTERS):
            (start, end), (first, last) = part.mt_span, part.pe_span
            spans = (mt_start + start, mt_start + end), (pe_start + first, pe_start + last)
            result.append(Edit(part.op, *spans))
    return tuple(result)


def edits_between(mt: str, text: str, unit: re.Pattern[str] = _WORDS) -> tuple[Edit, ...]:
    """Return the edits that turn one text into another, found by comparing words and the white space between them.

    `unit` matches each of the units that are compared, which together are the whole text.
    """
    old, new = (unit.findall(one) for one in (mt, text))
    starts = [[0], [0]]
    for places, items in zip(starts, (old, new), strict=True):
        for item in items:
            places.append(places[-1] + len(item))
    return tuple(
        Edit(
            change.op,
            (starts[0][change.mt[0]], starts[0][change.mt[1]]),
            (starts[1][change.pe[0]], starts[1][change.pe[1]]),
        )
        for change in changes(old, new)
    )


@dataclass(frozen=True, slots=True)
class _Gap:
    """The actual (`raw`) and the usual spacing before a word of mt, or after the last word.

    At the edges of the line, `raw` is empty and `usual` is None, because spacing outside the words always stays.
    """

    raw: str
    usual: str | None

    def fits(self, wanted: str | None) -> bool:
        """Return whether the actual spacing can stay where the usual spacing is now `wanted`."""
        return bool(self.usual) == bool(wanted) and (self.usual is None) == (wanted is None)


def _between(words: Sequence[Word], change: Change) -> tuple[int, int]:
    """Return the character range between the unchanged words around a change; at a line end, to the outermost word."""
    if not words:
        return 0, 0
    first, last = change.mt
    start = words[first - 1].end if first else words[0].start
    return start, words[last].start if last < len(words) else words[-1].end


def _written(
    change: Change, gaps: Sequence[_Gap], pe: Sequence[str], pe_gaps: Sequence[str | None]
) -> tuple[str, str, str]:
    """Return the raw spacing kept before a change, the new text, and the raw spacing kept after it.

    Both gap lists include the edges of the line.
    """
    old_before, old_after = gaps[change.mt[0]], gaps[change.mt[1]]
    before, after = pe_gaps[change.pe[0]], pe_gaps[change.pe[1]]
    if change.op == "delete":
        if old_before.fits(before):
            return old_before.raw, "", ""
        return ("", "", old_after.raw) if old_after.fits(before) else ("", before or "", "")
    stays_before = old_before.fits(before)
    # An insertion has one old gap, which cannot stay on both sides.
    stays_after = old_after.fits(after) and not (change.op == "insert" and stays_before)
    parts: list[str | None] = ["" if stays_before else before]
    for index in range(*change.pe):
        parts += [pe[index], pe_gaps[index + 1]]
    parts[-1] = "" if stays_after else after
    new = "".join(part or "" for part in parts)
    return old_before.raw if stays_before else "", new, old_after.raw if stays_after else ""


def target_of(writes: "Writes", mt: Sequence[int], pe: Sequence[int]) -> list[int]:
    """Return the tokens by which a model that `writes` in this form produces `pe`; both texts end in EOS."""
    if writes == "tokens":
        return list(pe)
    return with_steps(mt, pe) if writes == "steps" else with_deletions(mt, pe)


def with_steps(mt: Sequence[int], pe: Sequence[int]) -> list[int]:
    """Return `pe` with STEPs along `mt`, for hard attention (Junczys-Dowmunt and Grundkiewicz 2017, 4.1).

    A STEP moves attention to the next position of mt; any other token is written. The sequence follows the longest
    common subsequence of mt and pe: STEP and the token for each match, the token for each insertion, STEP for each
    deletion. Between two matches, deletions come before insertions. Both texts end in EOS, which is a match.

    Attention starts at the first position, so the first STEP is dropped, and len(mt) - 1 remain. The paper drops the
    first token if it is a STEP. If pe begins with an insertion, the first token is not a STEP, and the path would end
    one position beyond mt; so here the first STEP is dropped wherever it occurs.
    """
    sequence: list[int] = []
    mt_at = pe_at = 0
    blocks = LCSseq.opcodes(list(mt[:-1]), list(pe[:-1])).as_matching_blocks()
    matches = [(block.a, block.b, block.size) for block in blocks if block.size]
    for mt_start, pe_start, size in [*matches, (len(mt) - 1, len(pe) - 1, 1)]:
        sequence += [STEP] * (mt_start - mt_at)
        sequence += pe[pe_at:pe_start]
        for token in pe[pe_start : pe_start + size]:
            sequence += [STEP, token]
        mt_at, pe_at = mt_start + size, pe_start + size
    sequence.remove(STEP)
    return sequence


def with_deletions(mt: Sequence[int], pe: Sequence[int]) -> list[int]:
    """Return `pe` with a STEP for each token of `mt` that is deleted: the shortest sequence of edit operations.

    Writing the token of mt at the current position keeps it, any other token is an insertion, and STEP deletes (see
    `nn.operations`). The tokens kept are a longest common subsequence of mt and pe, found in pe as early as possible.
    Of equally short sequences, the one that inserts before it deletes is returned, so that attention is on a word
    while its replacement is written. Both texts end in EOS, which is kept.

    An inserted token never equals the token of mt at the current position, so it cannot be mistaken for a kept one: if
    it equalled a token deleted there, the subsequence would not be longest, and the next kept token is found as early
    as possible.
    """
    blocks = LCSseq.opcodes(list(mt[:-1]), list(pe[:-1])).as_matching_blocks()
    common = [place for block in blocks for place in range(block.a, block.a + block.size)]
    sequence: list[int] = []
    mt_at = 0
    rest = iter(pe)
    for place in (*common, len(mt) - 1):
        sequence += takewhile(partial(ne, mt[place]), rest)
        sequence += [STEP] * (place - mt_at)
        sequence.append(mt[place])
        mt_at = place + 1
    return sequence


def without_steps(sequence: Iterable[int]) -> list[int]:
    """Return the tokens of the text, which are all except the STEPs."""
    return [token for token in sequence if token != STEP]
