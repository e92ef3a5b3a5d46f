"""Check whether an answer can be a correction of its segment; if not, it is requested again or mt is kept.

The checks err on the side of mt: a good correction that fails them costs one more request, and at most the edit.
"""

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from postedit.core.scripts import has_unspaced, letter_script
from postedit.llm.answers import REFUSAL, Fault
from postedit.llm.prompts import Question
from postedit.text.language_tags import base_language
from postedit.text.languages import known_languages, language_identifier, scripts_of
from postedit.text.words import JOINERS, MARKS

_SHORT: Final = 4  # most characters of an mt that is too short for similarity to mean anything
_NEARER: Final = 0.05  # least excess of similarity to the source over that to mt if an answer repeats the source
_REPEATED: Final = 0.8  # least similarity to the source of a text that repeats it
_RELATED: Final = 0.6  # least similarity of a text to the mt of another segment if it can be its correction
_CONTAINS: Final = 80.0  # least partial similarity, out of 100, at which a text contains another one
_LONG_ENOUGH: Final = 8  # fewest characters of a text that is searched for within another one
_LETTERS: Final = 20  # fewest letters of a text whose language can be identified
_SURE: Final = 0.95  # least probability at which a language counts as identified
_LOST: Final = 0.3  # least share of the characters of mt that an answer lacks at its end if it is cut off
_MISSING: Final = 0.4  # the same for characters missing anywhere: a cut-off text may still have the last word of mt
_LEAST_MISSING: Final = 8  # their least number
_LEAST_LOST: Final = 3  # least number of characters lost at the end
_BLOCK: Final = 3  # fewest equal characters in a row of mt and an answer that are not a coincidence

_CHATTER: Final = re.compile(
    r"```"
    r"|\A\W*(?:sure|certainly|of course|okay)\b[^.]{0,60}[:!]"
    r"|\A\W*here(?:['’]s| is| are)\b[^.]{0,60}:"
    r"|\A\W*(?:the )?(?:corrected|improved|revised|post-edited)\b[^.]{0,40}:"
    r"|\A\W*(?:correction|translation|output|answer)\s*:"
    r"|\((?:note|explanation)\b|\bnote:|\bexplanation:"
    r"|\"(?:correction|segments|translation)\"\s*:",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"\d+")
_WORD: Final = re.compile(rf"\w[\w{MARKS}{JOINERS}]*")
_LONGEST_REPEATED: Final = 50  # most words of a sequence that is recognised if it comes twice in a row
_HEAD: Final = re.compile(r"[^:：]{1,60}[:：]\s*(?=\S)")
_BRACKETS: Final = re.compile(r"(?<!\s)\s*[(（\[][^()（）\[\]]{3,}[)）\]]\W{0,2}\Z")
_EMPHASIS: Final = ("**", "__", "`", "*")  # marks for bold, italics or code
_HEADING: Final = re.compile(r"\A#+ ")
_MAY_ADD: Final = frozenset(f"\n\r\t{JOINERS}\u061c\u200e\u200f")
"""Control and invisible characters that a correction may add: line ends, and marks that Persian or Hebrew need. Others
hide text, or make it look different from what it is."""
_BREAKABLE: Final = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"  # Thai, Lao, Burmese and Khmer: no spaces between words
_LINE_BREAK: Final = re.compile(rf"(?<={_BREAKABLE})\u200b|\u200b(?={_BREAKABLE})")
"""The invisible mark of a place where a line of such a script may end."""

_QUOTES: Final = frozenset("\"'`“”„«»‘’「」『』")


def fault_of(
    question: Question,
    text: str,
    others: Sequence[tuple[Question, str]] = (),
    target: str = "",
    least_kept: float = 0.5,
) -> Fault | None:
    """Return why an answer cannot be a correction of its segment; None if it can be one.

    Args:
        question: question about the segment.
        text: answer about the segment.
        others: questions about the other segments of the request, with the answers to them.
        target: code of the target language; empty if not known.
        least_kept: similarity to mt, from 0 to 1, below which a text is not a correction of it.
    """
    mt = question.mt
    text = text.strip()
    if not text:
        return "dropped"
    if text == mt.strip():
        return None
    if _is_damaged(question, text):
        return "unreadable"
    if _new(REFUSAL, question, text):
        return "refused"
    if _has_chatter(question, text):
        return "chatter"
    if _is_source(question, text) or _is_other_language(mt, text, target):
        return "language"
    if fault := _mixed_up(question, text, others):
        return fault
    if _breaks_off(mt, text) or (_is_short(question, text) and not _is_as_long_as(question.src, text)):
        return "cut off"
    longest = 1.5 * max(len(mt), len(question.src)) + 30
    return "unrelated" if len(text) > longest or kept(mt, text) < least_kept else None


def kept(mt: str, text: str) -> float:
    """Return how much of mt an answer keeps: its similarity to mt, but 1 for a small change of a short mt."""
    return 1.0 if _is_small_change(mt, text) else similarity(mt, text)


def _is_small_change(mt: str, text: str) -> bool:
    """Return whether a short mt and a text differ by at most one character: similarity says little about such texts.

    Two characters can be a word of Chinese. A text without any character of mt is no correction of it, however short.
    """
    return len(mt) <= _SHORT and not {*mt}.isdisjoint(text) and Levenshtein.distance(mt, text) <= 1


_LOADING: Final = threading.Lock()


def prepare() -> None:
    """Load the language identifier before any request waits for it, and only once for all threads."""
    with _LOADING:
        language_identifier(probabilities=True)


def similarity(one: str, other: str) -> float:
    """Return the share of characters that two texts have in common, in order, from 0 to 1 (equal texts)."""
    return fuzz.ratio(one, other) / 100.0


def _new(pattern: re.Pattern[str], question: Question, text: str) -> bool:
    """Return whether an answer matches a pattern that neither the source nor the mt of its segment matches."""
    return bool(pattern.search(text)) and not (pattern.search(question.mt) or pattern.search(question.src))


def _is_damaged(question: Question, text: str) -> bool:
    new = {*_LINE_BREAK.sub("", text)} - {*question.src, *question.mt} - _MAY_ADD
    return any(unicodedata.category(letter).startswith("C") or letter == "\ufffd" for letter in new)


def _has_chatter(question: Question, text: str) -> bool:
    mt = question.mt.strip()
    if len(text.splitlines()) > max(1, len(mt.splitlines())):
        return True
    quoted = [len(one) > 1 and one[0] in _QUOTES and one[-1] in _QUOTES for one in (text, mt, question.src.strip())]
    return quoted == [True, False, False] or _new(_CHATTER, question, text) or _is_wrapped(question, text)


def _is_wrapped(question: Question, text: str) -> bool:
    """Return whether a text is wrapped in something, in any language, without which it would be nearer to mt.

    This may be an introduction that ends in a colon, or a note in brackets at the end, if neither mt nor the source has
    as many colons or brackets; or marks for bold and the like.
    """

    def has_more(signs: str) -> bool:
        counts = [sum(map(one.count, signs)) for one in (text, question.mt, question.src)]
        return counts[0] > max(counts[1:])

    head, tail = _HEAD.match(text), _BRACKETS.search(text)
    bare = [text[head.end() :]] if head and has_more(":：") else []
    bare += [text[: tail.start()]] if tail and has_more("(（[") else []
    if any(similarity(question.mt, one) > similarity(question.mt, text) for one in bare):
        return True
    marks = [one for one in _EMPHASIS if text.startswith(one) and text.endswith(one)]
    is_marked = any(not question.mt.startswith(mark) and not question.src.startswith(mark) for mark in marks)
    return is_marked or _new(_HEADING, question, text)


def _is_source(question: Question, text: str) -> bool:
    """Return whether a text repeats the source rather than corrects mt."""
    near = similarity(question.src, text)
    return near >= _REPEATED and near > similarity(question.mt, text) + _NEARER


def _mixed_up(question: Question, text: str, others: Sequence[tuple[Question, str]]) -> Fault | None:
    own = similarity(question.mt, text)
    for other, answer in others:
        longer = len(text) > max(len(question.mt), 1.3 * len(other.mt))
        if longer and _contains(question.mt, text, other.mt, answer.strip()):
            return "merged"
        near = similarity(other.mt, text)
        if near > own and near >= _RELATED and not _has_own_numbers(text, question.mt, other.mt):
            return "misplaced"
    return None


def _has_own_numbers(text: str, mt: str, other: str) -> bool:
    """Return whether a text has the numbers of its own mt, and the other mt has different numbers."""
    numbers, own, others = (Counter(_NUMBER.findall(one)) for one in (text, mt, other))
    return numbers == own != others


def _contains(mt: str, text: str, other: str, answer: str) -> bool:
    """Return whether a text contains the mt of another segment, or begins or ends with its answer, and mt does not."""
    if text.startswith(f"{answer} ") or text.endswith(f" {answer}"):
        return not (mt.startswith(answer) or mt.endswith(answer))
    long = len(other) >= _LONG_ENOUGH
    return long and fuzz.partial_ratio(other, text) >= _CONTAINS > fuzz.partial_ratio(other, mt)


def _is_cut_off(mt: str, text: str) -> bool:
    """Return whether a text lacks a large part of mt at its end, or is far shorter; final punctuation is ignored."""
    mt, text = _without_end(mt), _without_end(text)
    if not (ends := _common_ends(mt, text)):
        return False
    lost, missing = (len(mt) - ends[0]) - (len(text) - ends[1]), len(mt) - len(text)
    return lost >= max(_LEAST_LOST, _LOST * len(mt)) or missing >= max(_LEAST_MISSING, _MISSING * len(mt))


def _breaks_off(mt: str, text: str) -> bool:
    """Return whether a text stops in the middle of a word of mt, far before the end of mt."""
    mt, text = _without_end(mt), _without_end(text)
    if not (ends := _common_ends(mt, text)):
        return False
    end, written = ends
    if written < len(text) or len(mt) - end < max(_LEAST_LOST, _LOST * len(mt)):
        return False
    within = all(letter.isalpha() or letter in MARKS + JOINERS for letter in mt[end - 1 : end + 1])
    return within and not has_unspaced(text[-1])


def _common_ends(mt: str, text: str) -> tuple[int, int] | None:
    """Return the end of the last part common to both texts, in each of them; None if they have nothing in common."""
    blocks = [block for block in Levenshtein.opcodes(mt, text).as_matching_blocks() if block.size >= _BLOCK]
    return (blocks[-1].a + blocks[-1].size, blocks[-1].b + blocks[-1].size) if blocks else None


def _is_as_long_as(src: str, text: str) -> bool:
    """Return whether a text is at least as long as its source; False for scripts with few characters per word."""
    return len(text) >= len(src) and _script(src) not in ("CJK", "HANGUL")


def _is_short(question: Question, text: str) -> bool:
    """Return whether a text is cut off, even if repetitions in mt that the source does not have are discounted."""
    if not _is_cut_off(question.mt, text):
        return False
    is_meant = _without_repetition(question.src) != question.src
    return is_meant or _is_cut_off(_without_repetition(question.mt), _without_repetition(text))


def _without_repetition(text: str) -> str:
    """Return a text without sequences of words that repeat those directly before them."""
    words = [(one.group(), *one.span()) for one in _WORD.finditer(text)]
    plain, start = [word for word, _, _ in words], 0
    kept: list[str] = []
    while start < len(words):
        lengths = range(1, min(_LONGEST_REPEATED, (len(words) - start) // 2) + 1)
        repeated = next((n for n in lengths if plain[start : start + n] == plain[start + n : start + 2 * n]), 0)
        if not repeated:
            end = words[start + 1][1] if start + 1 < len(words) else len(text)
            kept.append(text[words[start][1] : end])
        start += repeated or 1
    return "".join(kept) or text


def _without_end(text: str) -> str:
    """Return a text without the punctuation and spaces at its end."""
    end = next((place for place in range(len(text), 0, -1) if not _ends_text(text[place - 1])), 0)
    return text[:end]


def _ends_text(letter: str) -> bool:
    return letter.isspace() or unicodedata.category(letter).startswith("P")


def _is_other_language(mt: str, text: str, target: str) -> bool:
    script, scripts = _script(text), scripts_of(target)
    if script is not None and script not in scripts and _share(mt, script) < 0.2 and _letters(mt) >= _SHORT:
        return True
    target = base_language(target)
    if _letters(text) < _LETTERS:
        return False
    language, sure = _language(text)
    if sure < _SURE or language == target:
        return False
    before, sure_before = _language(mt)
    return language != before and (sure_before >= _SURE or (bool(target) and target in known_languages()))


def _script(text: str) -> str | None:
    """Return the script of at least 80 % of the letters of a text; None if there is none, or the letters are few."""
    counts = Counter(map(_letter_script, filter(str.isalpha, text)))
    if counts.total() < _SHORT:
        return None
    script, count = counts.most_common(1)[0]
    return script if count >= 0.8 * counts.total() else None


def _share(text: str, script: str) -> float:
    letters = list(filter(str.isalpha, text))
    return sum(_letter_script(letter) == script for letter in letters) / max(1, len(letters))


def _letters(text: str) -> int:
    return sum(map(str.isalpha, text))


def _letter_script(letter: str) -> str:
    script = letter_script(letter)
    return "CJK" if script in ("HIRAGANA", "KATAKANA", "BOPOMOFO") else script


@lru_cache(maxsize=1 << 12)
def _language(text: str) -> tuple[str, float]:
    """Return the most probable language of a text, and its probability."""
    language, sure = language_identifier(probabilities=True).classify(text)
    return str(language), float(sure)
