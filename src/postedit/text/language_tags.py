"""Language tags, such as "pt-BR" or gettext's "sr@latin": their language and script, whatever their region."""

import re
from typing import Annotated, Final

from pydantic import AfterValidator

_TRADITIONAL: Final = frozenset(["tw", "hk", "mo", "cht"])  # subtags of Chinese in the script Hant
_MODIFIERS: Final = {"latin": "latn", "cyrillic": "cyrl", "arabic": "arab", "devanagari": "deva"}
"""Scripts by the names that gettext writes after an @."""

_FORMER: Final = {"iw": "he", "ji": "yi", "in": "id"}
"""Languages by former codes, which Java and Android still write."""


def base_language(tag: str) -> str:
    """Return the language of a tag in lower case: "pt" for "pt-BR"."""
    language = _subtags(tag)[0]
    return _FORMER.get(language, language)


def same_language(first: str, second: str) -> bool:
    """Return whether two tags have the same language, whatever their region, and the same script as far as known."""
    scripts = {script_of(first), script_of(second)} - {""}
    return base_language(first) == base_language(second) and len(scripts) < 2


def language_pair(text: str) -> tuple[str, str]:
    """Return the source and target language that a text such as "en:de" names; both are empty if the text is.

    Raises:
        ValueError: if it does not name two languages.
    """
    pair = [part.strip() for part in text.split(":")] if text else ["", ""]
    if len(pair) != 2 or (text and not all(pair)):
        raise ValueError('must be two languages, such as "en:de"')
    return pair[0], pair[1]


def _checked_pair(text: str) -> str:
    language_pair(text)
    return text


LanguagePair = Annotated[str, AfterValidator(_checked_pair)]
"""The type of an option that names two languages, as in `language_pair`."""


def same_pair(first: tuple[str, str], second: tuple[str, str]) -> bool:
    """Return whether source and target have the same languages, as far as both pairs name them."""
    return all(same_language(one, other) for one, other in zip(first, second, strict=True) if one and other)


def script_of(tag: str) -> str:
    """Return the script that a tag names or, for Chinese, implies ("zh" is simplified); empty if it is not known."""
    language, *others = _subtags(tag)
    named = next((one for one in others if len(one) == 4 and one.isalpha()), "")
    if named or language != "zh":
        return named
    return "hans" if _TRADITIONAL.isdisjoint(others) else "hant"


def _subtags(tag: str) -> list[str]:
    return [_MODIFIERS.get(subtag, subtag) for subtag in re.split("[-_@]", tag.strip().lower())]
