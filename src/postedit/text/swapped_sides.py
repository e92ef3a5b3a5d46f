"""Whether source and translation have changed places, as far as that is clear."""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Final

from postedit.text.config import TextConfig
from postedit.text.processor import TextProcessor

_SAMPLE: Final = 100  # segments: a second's work, and far more than it takes to know a language

_CLEAR: Final = 20.0
"""Nats by which each of both sides must be likelier in the language of the other one."""

_FEWER_PIECES: Final = 0.8
"""The share of pieces that would be left if both sides were divided by the vocabulary of the other one."""

_LANGUAGES: Final = {
    "LATIN": "af az br bs ca cs cy da de en eo es et eu fi fo fr ga gl hr ht hu id is it la lb lt lv ms mt nb nl nn no "
    "oc pl pt qu ro rw sk sl sq sv sw tl tr vi wa xh zu",
    "CYRILLIC": "be bg kk ky mk mn ru uk",
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
_SCRIPTS: Final = {code: frozenset(names.split()) for names, codes in _LANGUAGES.items() for code in codes.split()}
"""By language, how the Unicode names of its letters begin. Languages that are written in several ways are not here."""


def seem_swapped(processor: TextProcessor, src: Sequence[str], mt: Sequence[str]) -> bool:
    """Return whether `src` and `mt` seem to have changed places.

    If the languages are known, each side must be written in the other's script, or read like it; else each must be
    divided into fewer pieces by the vocabulary of the other. With neither languages nor two vocabularies nothing can be
    told, and the answer is no.
    """
    src, mt, config = src[:_SAMPLE], mt[:_SAMPLE], processor.config
    return _by_script(config, src, mt) or _by_language(config, src, mt) or _by_pieces(processor, src, mt)


def _by_script(config: TextConfig, src: Sequence[str], mt: Sequence[str]) -> bool:
    of_src, of_tgt = (_SCRIPTS.get(language or "", frozenset()) for language in (config.src_lang, config.tgt_lang))
    # Chinese is written with letters that Japanese has too: there the languages have to tell.
    return of_src.isdisjoint(of_tgt) and _mostly(src, of_tgt) and _mostly(mt, of_src)


def _mostly(texts: Sequence[str], scripts: frozenset[str]) -> bool:
    """Return whether more than half of the letters are of these scripts."""
    letters = Counter(
        unicodedata.name(c, "").split(" ")[0].split("-")[0] for text in texts for c in text if c.isalpha()
    )
    return 2 * sum(letters[script] for script in scripts) > letters.total()


def _by_language(config: TextConfig, src: Sequence[str], mt: Sequence[str]) -> bool:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    if not config.src_lang or not config.tgt_lang or config.src_lang == config.tgt_lang:
        return False
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    if not {config.src_lang, config.tgt_lang} <= set(identifier.labels):
        return False
    identifier.set_languages([config.src_lang, config.tgt_lang])
    of_src, of_mt = (dict(identifier.rank(" ".join(side))) for side in (src, mt))
    like_mt = of_src[config.tgt_lang] - of_src[config.src_lang]
    like_src = of_mt[config.src_lang] - of_mt[config.tgt_lang]
    return bool(min(like_mt, like_src) > _CLEAR)


def _by_pieces(processor: TextProcessor, src: Sequence[str], mt: Sequence[str]) -> bool:
    vocabularies = processor.vocabularies
    if vocabularies.streams["src"] == vocabularies.streams["mt"]:
        return False

    def pieces(as_src: Sequence[str], as_mt: Sequence[str]) -> int:
        return sum(map(len, [*processor.encode_batch("src", as_src), *processor.encode_batch("mt", as_mt)]))

    return pieces(mt, src) < _FEWER_PIECES * pieces(src, mt)
