"""Whether outputs, as text, have what is demanded of them: a tokeniser's counterpart may write it in another way."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from postedit.editing.correction import PostEdit, as_given, unchanged
from postedit.text.words import Splitter


@dataclass(frozen=True, slots=True)
class Demands:
    """What the text of an output must have.

    Args:
        prefix: what it begins with, to the character.
        required: words and phrases, which may begin with a capital.
        splitter: divides phrases into the words of the model.
    """

    prefix: str
    required: Sequence[str]
    splitter: Splitter

    def meet(self, mt: str, result: PostEdit) -> PostEdit:
        """Return the result with its demands written as they are given, or "impossible" if no output has them.

        Outputs that do not have them in their text are left out, the best one included; mt stays as an alternative.
        """
        if result.skipped or not (self.prefix or self.required):
            return result
        kept: list[PostEdit] = []
        for one in (replace(result, alternatives=()), *result.alternatives):
            text = self._restored(one.text)
            if text is not None:
                kept.append(as_given(one, mt, text))
            elif one.text == mt:
                kept.append(one)
        best = next((one for one in kept if self._restored(one.text) is not None), None)
        if best is None:
            return unchanged(mt, "impossible")
        return replace(best, alternatives=tuple(one for one in kept if one is not best))

    def _restored(self, text: str) -> str | None:
        """Return `text` with the demands as they are given, or None if they are not all in it."""
        phrases = [(_written(phrase), _rendered(self.splitter.words(phrase)), phrase) for phrase in self.required]
        for written, rendered, phrase in phrases:
            found = None if written.search(text) else rendered.search(text)
            if found:
                # The first letter stays: it may be the capital of a sentence.
                text = f"{text[: found.start() + 1]}{phrase.strip()[1:]}{text[found.end() :]}"
        begun = _begun(text, self.prefix)
        return begun if begun is not None and all(written.search(begun) for written, _, _ in phrases) else None


def _written(phrase: str) -> re.Pattern[str]:
    return _as_words(_any_case(phrase.strip()))


def _rendered(words: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern of words with or without white space between, but for what would become one word."""
    gaps = [r"\s+" if left[-1].isalnum() and right[0].isalnum() else r"\s*" for left, right in pairwise(words)]
    first, *others = (_any_case(words[0]), *map(re.escape, words[1:])) if words else (r"(?!)",)
    return _as_words(first + "".join(gap + word for gap, word in zip(gaps, others, strict=True)))


def _any_case(phrase: str) -> str:
    """Return a pattern for a phrase whose first letter may be a capital."""
    first = phrase[:1]
    return f"(?:{re.escape(first)}|{re.escape(first.upper())}){re.escape(phrase[1:])}"


def _as_words(pattern: str) -> re.Pattern[str]:
    """Return a pattern that is no part of a longer word."""
    within = r"(?<=\w)\w"
    return re.compile(f"(?!{within}){pattern}(?!{within})")


def _begun(text: str, prefix: str) -> str | None:
    """Return `text` with the given prefix in place of its own, which differs in spaces and case at most, or None."""
    if text.startswith(prefix):
        return text
    end = 0
    for character in "".join(prefix.split()):
        while end < len(text) and text[end].isspace():
            end += 1
        if end == len(text) or text[end].lower() != character.lower():
            return None
        end += 1
    rest = text[end:]
    return prefix + (rest.lstrip() if prefix[-1].isspace() else rest)
