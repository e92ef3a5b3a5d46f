"""The answers of a language model as corrections of mt that keep its spacing and its encoding of letters."""

import re
import unicodedata
from collections.abc import Sequence, Set
from itertools import pairwise
from typing import Final, NamedTuple

from postedit.core.editor import Edit
from postedit.core.scripts import has_unspaced
from postedit.llm.answers import ErrorSpan, Item
from postedit.text.edits import splice
from postedit.text.words import CharacterSplitter, PlainSplitter, Word

_TOKENISED: Final = 4  # most characters per word of tokenised text in an unspaced script; running text has more
_SPACES: Final = re.compile(r"[ \t\r\n]+")


class Sample(NamedTuple):
    """One answer as a correction: its text with the spacing of mt, its edits, and the errors that it names."""

    text: str
    edits: tuple[Edit, ...]
    errors: tuple[ErrorSpan, ...]


def sample_of(mt: str, item: Item) -> Sample:
    """Return an answer as a sample: with the spacing of mt wherever words are kept, and with its edits."""
    running = has_unspaced(mt) and len(mt) > _TOKENISED * len(mt.split())
    words = CharacterSplitter() if running else PlainSplitter()
    places = words.spans(mt)
    known = {word.text for word in places}
    answer = _with_spaces_of(known, item.correction)
    written = words.spans(answer)
    texts = _in_form_of(known, [word.text for word in written])
    text, edits = splice(mt, places, _gaps(mt, places), texts, _gaps(answer, written))
    return Sample(text, edits, item.errors) if text != mt else Sample(mt, (), item.errors)


def _with_spaces_of(known: Set[str], answer: str) -> str:
    """Return an answer with the special spaces within the words `known`, where a model writes plain ones."""
    for word in known:
        parts = word.split()
        if len(parts) > 1:
            answer = answer.replace(" ".join(parts), word)
    return answer


def _in_form_of(known: Set[str], words: Sequence[str]) -> list[str]:
    """Return words encoded as in `known`: models compose or divide letters and marks as they like, and drop spaces."""
    forms = {_form(word): word for word in known}
    return [word if word in known else forms.get(_form(word), word) for word in words]


def _form(word: str) -> str:
    """Return a word in a form in which it equals all its encodings, with special spaces around it or without."""
    return unicodedata.normalize("NFC", word).strip()


def _gaps(text: str, words: Sequence[Word]) -> list[str]:
    """Return the text between each two adjacent words, with runs of spaces reduced to one."""
    return [_SPACES.sub(" ", text[left.end : right.start]) for left, right in pairwise(words)]
