"""The answers of a language model as corrections of mt that keep its spacing and its encoding of letters."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple
from unicodedata import normalize

from rapidfuzz.distance import Levenshtein

from postedit.core.editor import Edit
from postedit.core.scripts import has_unspaced
from postedit.llm.answers import ErrorSpan, Item
from postedit.text.edits import splice
from postedit.text.words import SEPARATORS, CharacterSplitter, PlainSplitter, Word

_TOKENISED: Final = 4  # most characters per word of tokenised text in an unspaced script; running text has more
_SPACES: Final = re.compile(f"[{SEPARATORS}]+")
_SPECIAL_SPACE: Final = re.compile(rf"[^\S{SEPARATORS}]")
_CHARACTERS: Final = re.compile(r"\s+|\S")


class Sample(NamedTuple):
    """One answer as a correction: its text with the spacing of mt, its edits, and the errors that it names."""

    text: str
    edits: tuple[Edit, ...]
    errors: tuple[ErrorSpan, ...]


def sample_of(mt: str, item: Item) -> Sample:
    """Return an answer as a sample: with the spacing of mt wherever words are kept, and with its edits."""
    running = has_unspaced(mt) and len(mt) > _TOKENISED * len(mt.split())
    words = CharacterSplitter() if running else PlainSplitter()
    answer = _with_spaces_of(mt, item.correction)
    places, written = words.spans(mt), words.spans(answer)
    texts = _in_form_of([word.text for word in places], [word.text for word in written])
    text, edits = splice(mt, places, _gaps(mt, places), texts, _gaps(answer, written))
    return Sample(text, edits, item.errors) if text != mt else Sample(mt, (), item.errors)


def _with_spaces_of(mt: str, answer: str) -> str:
    """Return an answer with the special spaces of `mt`, where a model writes plain ones within text that it keeps."""
    if not _SPECIAL_SPACE.search(mt):
        return answer
    ends = mt[: len(mt) - len(mt.lstrip())], mt[len(mt.rstrip()) :]
    before, after = _CHARACTERS.findall(mt), _CHARACTERS.findall(answer.strip().join(ends))
    plain = [" " if part.isspace() else part for part in before]
    for block in Levenshtein.opcodes(plain, [_SPACES.sub(" ", part) for part in after]).as_matching_blocks():
        last = block.size - 1
        after[block.b + 1 : block.b + last] = before[block.a + 1 : block.a + last]
    return "".join(after)


def _in_form_of(known: Sequence[str], words: Sequence[str]) -> list[str]:
    """Return words encoded as in `known`: models compose or divide letters and marks as they like."""
    same, forms = set(known), {normalize("NFC", word): word for word in known}
    return [word if word in same else forms.get(normalize("NFC", word), word) for word in words]


def _gaps(text: str, words: Sequence[Word]) -> list[str]:
    """Return the text between each two adjacent words, with runs of spaces reduced to one."""
    return [_SPACES.sub(" ", text[left.end : right.start]) for left, right in pairwise(words)]
