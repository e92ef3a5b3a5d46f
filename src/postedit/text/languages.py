"""Identify the language of texts, and know the scripts of languages."""

from collections.abc import Collection, Sequence
from copy import copy
from functools import cache
from typing import Any, Final

from postedit.text.language_tags import base_language, script_of

SAMPLE: Final = 100
"""Number of segments by which a language is identified: far more than needed, in about a second."""

_BY_SCRIPT: Final = {
    "LATIN": "af az br bs ca co cs cy da de en eo es et eu fi fo fr fy ga gd gl gn ha hr ht hu id ig is it jv la lb lg "
    "ln lt lv mg mi ms mt nb nl nn no ny oc om pl pt qu rm ro rw sk sl sm sn so sq st su sv sw tl tn to tr ts vi wa wo "
    "xh yo zu",
    "CYRILLIC": "ba be bg cv kk ky mk mn ru tg tt uk",
    "GREEK": "el",
    "ARABIC": "ar fa ps ug ur",
    "HEBREW": "he yi",
    "DEVANAGARI": "hi mr ne sa",
    "BENGALI": "as bn",
    "GUJARATI": "gu",
    "GURMUKHI": "pa",
    "ORIYA": "or",
    "TAMIL": "ta",
    "TELUGU": "te",
    "KANNADA": "kn",
    "MALAYALAM": "ml",
    "SINHALA": "si",
    "THAI": "th",
    "LAO": "lo",
    "KHMER": "km",
    "MYANMAR": "my",
    "GEORGIAN": "ka",
    "ARMENIAN": "hy",
    "ETHIOPIC": "am ti",
    "HANGUL": "ko",
    "CJK HIRAGANA KATAKANA": "ja",
    "CJK": "zh",
}
_SCRIPTS: Final = {code: frozenset(names.split()) for names, codes in _BY_SCRIPT.items() for code in codes.split()}
"""By language, the first words of the Unicode names of its letters. Languages with several scripts are left out."""

_NAMED: Final = {"latn": "LATIN", "cyrl": "CYRILLIC", "arab": "ARABIC", "deva": "DEVANAGARI", "guru": "GURMUKHI"}


def scripts_of(tag: str) -> frozenset[str]:
    """Return the first words of the Unicode names of the letters of a language; empty if they are not known.

    They are not for a language with several scripts, such as Serbian, if its tag names none.
    """
    named = _NAMED.get(script_of(tag))
    return frozenset([named]) if named else _SCRIPTS.get(base_language(tag), frozenset())


def ranked_languages(texts: Sequence[str]) -> list[tuple[str, float]]:
    """Return the codes of all known languages with the log-probability (in nats) that the texts are in each.

    The most probable language comes first. Only the first `SAMPLE` texts are examined.
    """
    ranked = language_identifier().rank(" ".join(texts[:SAMPLE]))
    return [(str(code), float(score)) for code, score in ranked]


@cache
def known_languages() -> tuple[str, ...]:
    """Return the codes of all languages that can be identified, sorted."""
    return tuple(sorted(map(str, language_identifier().labels)))


def language_identifier(among: Collection[str] = (), *, probabilities: bool = False) -> Any:
    """Return a language identifier of py3langid, with methods `rank` and `classify`; its model is loaded only once.

    If `among` is given, it chooses between these languages only. Scores are log-probabilities (in nats), or, with
    `probabilities`, probabilities from 0 to 1.
    """
    identifier = _identifier(probabilities)
    if among:
        identifier = copy(identifier)
        identifier.set_languages(sorted(among))
    return identifier


@cache
def _identifier(probabilities: bool) -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    if not probabilities:
        return LanguageIdentifier.from_model_file(MODEL_FILE)
    one = _identifier(False)
    tables = one.nb_ptc, one.nb_pc, one.nb_classes, one.tk_nextmove, one.tk_output
    return LanguageIdentifier(*tables, norm_probs=True, tk_row=one.tk_row)
