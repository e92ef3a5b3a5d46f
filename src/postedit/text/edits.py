"""Edit scripts between two word sequences, and texts that are put together from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from rapidfuzz.distance import Levenshtein

from postedit.core.editor import Edit
from postedit.text.words import Word


@dataclass(frozen=True, slots=True)
class Change:
    """A largest stretch of changed words: words `mt[0]` to `mt[1]` (exclusive) became words `pe[0]` to `pe[1]`."""

    mt: tuple[int, int]
    pe: tuple[int, int]

    @property
    def op(self) -> Literal["insert", "delete", "replace"]:
        """What was done."""
        if self.mt[0] == self.mt[1]:
            return "insert"
        return "delete" if self.pe[0] == self.pe[1] else "replace"


def changes(mt: Sequence[str], pe: Sequence[str]) -> list[Change]:
    """Return the fewest word edits that turn `mt` into `pe`, neighbouring ones put together, in order."""
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
    """Return the post-edited text, and what was changed in `mt` to get it.

    Words that stay keep their characters. So does spacing, however odd, unless a changed neighbour calls for
    another kind there: some where there was none, or none where there was some.

    Args:
        mt: the raw text.
        mt_words: its words.
        mt_gaps: what would usually stand between each two of them.
        pe: the words of the post-edit, as they are to be written.
        pe_gaps: what usually stands between each two of `pe`.
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


@dataclass(frozen=True, slots=True)
class _Gap:
    """The spacing before a word of mt or after the last: what is there, and what is usual there.

    At the edges of the line nothing is usual (None) and nothing counts as there: spacing outside of words stays.
    """

    raw: str
    usual: str | None

    def fits(self, wanted: str | None) -> bool:
        """Whether what is there can stay where `wanted` is usual."""
        return bool(self.usual) == bool(wanted) and (self.usual is None) == (wanted is None)


def _between(words: Sequence[Word], change: Change) -> tuple[int, int]:
    """Return the characters between the words that stay around a change; at the ends, up to the outermost word."""
    if not words:
        return 0, 0
    first, last = change.mt
    start = words[first - 1].end if first else words[0].start
    return start, words[last].start if last < len(words) else words[-1].end


def _written(
    change: Change, gaps: Sequence[_Gap], pe: Sequence[str], pe_gaps: Sequence[str | None]
) -> tuple[str, str, str]:
    """Return the raw spacing that stays before a change, the new text, and the raw spacing that stays after it.

    Both lists of gaps have one for each edge of the line too.
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
    for place in range(*change.pe):
        parts += [pe[place], pe_gaps[place + 1]]
    parts[-1] = "" if stays_after else after
    new = "".join(part or "" for part in parts)
    return old_before.raw if stays_before else "", new, old_after.raw if stays_after else ""
