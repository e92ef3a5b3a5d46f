"""Detect whether sources and translations were passed in each other's place."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from postedit.core.scripts import letters_by_script
from postedit.text.language_tags import base_language
from postedit.text.languages import known_languages, language_identifier, scripts_of

if TYPE_CHECKING:
    from postedit.text.processor import TextProcessor

_SAMPLE: Final = 100  # segments that are examined: far more than language identification needs, in about a second

_CLEAR: Final = 20.0
"""Nats by which each side must be more probable in the language of the other."""

_FEWER_TOKENS: Final = 0.8
"""The sides seem swapped if swapping them reduces the number of tokens to less than this fraction."""


def seem_swapped(processor: "TextProcessor", languages: tuple[str, str], src: Sequence[str], mt: Sequence[str]) -> bool:
    """Return whether `src` and `mt` seem to be swapped.

    They do if their languages say so (see `languages_seem_swapped`), or if the vocabularies divide them into clearly
    fewer tokens after a swap. If the languages are not known and both sides share a vocabulary, the answer is always
    False.
    """
    return languages_seem_swapped(languages, src, mt) or _by_token_counts(processor, src[:_SAMPLE], mt[:_SAMPLE])


def languages_seem_swapped(languages: tuple[str, str], src: Sequence[str], mt: Sequence[str]) -> bool:
    """Return whether `src` and `mt` seem to be swapped, given the codes of the languages that they should be in.

    They do if each side is written in the script of the other side's language or clearly resembles that language. If
    one of the languages is not known (its code is empty), the answer is always False.
    """
    src, mt = src[:_SAMPLE], mt[:_SAMPLE]
    return _by_script(languages, src, mt) or _by_language(languages, src, mt)


def _by_script(languages: tuple[str, str], src: Sequence[str], mt: Sequence[str]) -> bool:
    of_src, of_tgt = map(scripts_of, languages)
    # Japanese shares letters with Chinese; language identification decides between these.
    return of_src.isdisjoint(of_tgt) and _mostly(src, of_tgt) and _mostly(mt, of_src)


def _mostly(texts: Sequence[str], scripts: frozenset[str]) -> bool:
    """Return whether more than half of the letters belong to one of these scripts."""
    letters = letters_by_script(texts)
    return 2 * sum(letters[script] for script in scripts) > letters.total()


def _by_language(languages: tuple[str, str], src: Sequence[str], mt: Sequence[str]) -> bool:
    source, target = map(base_language, languages)
    if source == target or not {source, target} <= set(known_languages()):
        return False
    identifier = language_identifier([source, target])
    of_src, of_mt = (dict(identifier.rank(" ".join(side))) for side in (src, mt))
    like_mt = of_src[target] - of_src[source]
    like_src = of_mt[source] - of_mt[target]
    return bool(min(like_mt, like_src) > _CLEAR)


def _by_token_counts(processor: "TextProcessor", src: Sequence[str], mt: Sequence[str]) -> bool:
    vocabularies = processor.vocabularies
    if vocabularies.streams["src"] == vocabularies.streams["mt"]:
        return False

    def tokens(as_src: Sequence[str], as_mt: Sequence[str]) -> int:
        return sum(map(len, [*processor.encode_batch("src", as_src), *processor.encode_batch("mt", as_mt)]))

    return tokens(mt, src) < _FEWER_TOKENS * tokens(src, mt)
