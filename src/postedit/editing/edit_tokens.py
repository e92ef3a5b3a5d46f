"""Find the tokens of each edit, from which its confidence is computed."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final

import numpy as np
from rapidfuzz.distance import Levenshtein

from postedit.core.scripts import has_unspaced_run
from postedit.text.words import SEPARATORS, PlainSplitter

if TYPE_CHECKING:
    from postedit.text.processor import Rendering, TextProcessor
    from postedit.text.vocabulary import Subwords

_INCOMPLETE: Final = "\ufffd"  # stands for the first bytes of a letter


def token_spans(
    processor: "TextProcessor", mt: str, found: "Rendering", ids: Sequence[int]
) -> tuple[tuple[int, int], ...]:
    """Return the range in `ids` of the tokens of each edit of `mt`; see `PostEdit.token_spans`.

    Decoded words and rendered text differ in spacing and case, so positions in them are compared by the number of
    preceding non-space characters.
    """
    if not found.edits:
        return ()
    vocabulary = processor.vocabulary("pe")
    words = PlainSplitter().words(vocabulary.decode(ids))
    ends = _ends(words, words if vocabulary.lossless else processor.written(processor.words("mt", mt), ids))
    begins, spelt = [0, *ends], list(accumulate([*map(len, words), 0], initial=0))
    starts = _first_tokens(vocabulary.word_index(ids), len(words))
    visible = [0, *accumulate(letter not in SEPARATORS for letter in found.text)]
    runs = list(map(has_unspaced_run, words))
    before = _letters_before(vocabulary, ids) if any(runs) else []
    result = []
    for edit in found.edits:
        start, end = (visible[place] for place in edit.pe_span)
        first = min(bisect_right(ends, start), bisect_left(begins, start), len(words))
        last = min(max(first, bisect_left(ends, end), bisect_right(ends, end) - 1), len(words))
        if any(runs[first : last + 1]):
            # Count letters as the tokens spell them, where an unknown word has one.
            places = ((start, first), (end, last))
            begin, stop = (min(spelt[word] + place - begins[word], spelt[word + 1]) for place, word in places)
            result.append(_tokens_of_letters(before, begin, stop))
        else:
            result.append((starts[first], starts[last + 1]))
    return tuple(result)


def _ends(words: Sequence[str], written: Sequence[str]) -> list[float]:
    """Return how many letters the output has up to the end of each of the `words` that its tokens spell.

    The output has the words `written`. If the vocabulary is not lossless, some of them are spelt in another form, such
    as unknown ones. Several that spell one word of the output share its letters.
    """
    if words == written:
        return [*accumulate(map(len, words))]
    # Spaces tell unknown words apart if there are as many words; if not, each could be that of any other space.
    space = " " if len(words) == len(written) else ""
    spelt, text = space.join(words), space.join(written)
    letters = [0, *accumulate(character != " " for character in text)]
    known = {0: 0}  # letters of `text` up to a place in `spelt`
    for block in Levenshtein.opcodes(spelt, text).as_matching_blocks():
        known.update(zip(range(block.a, block.a + block.size + 1), letters[block.b : block.b + block.size + 1]))
    ends = [end - len(space) for end in accumulate(len(word + space) for word in words)]
    found: list[float] = np.interp(ends, [*known], [*known.values()]).tolist()
    return found


def _letters_before(vocabulary: "Subwords", ids: Sequence[int]) -> list[int]:
    """Return how many whole visible letters the tokens before each one spell, and before the end."""
    result = [0]
    known = start = 0  # letters of the tokens before `start`, which are not decoded again
    for end in range(1, len(ids) + 1):
        text, last = vocabulary.decode(ids[start:end]), vocabulary.decode(ids[end - 1 : end])
        result.append(known + _letters(text.rstrip(_INCOMPLETE)))
        if last and not (text.endswith(_INCOMPLETE) or last.endswith(_INCOMPLETE)):
            # Decode the last token again with the next: the first token of a text may be spelt differently.
            known, start = result[-1] - _letters(last), end - 1
    return result


def _letters(text: str) -> int:
    return sum(letter not in SEPARATORS for letter in text)


def _tokens_of_letters(before: Sequence[int], start: float, end: float) -> tuple[int, int]:
    """Return the range of the tokens that spell the letters from `start` to `end`, or the one at `start` if none."""
    first = bisect_left(before, start)
    first -= first > 0 and (first == len(before) or before[first] > start)
    return first, max(bisect_left(before, end), bisect_right(before, start), first + 1)


def _first_tokens(index: Sequence[int], words: int) -> list[int]:
    """Return the position of the first token of each word, followed by that of EOS and the one after EOS."""
    places = {word: place for place, word in reversed(list(enumerate(index))) if word >= 0}
    starts = [len(index), len(index) + 1]
    for word in reversed(range(words)):
        starts.insert(0, places.get(word, starts[0]))
    return starts
