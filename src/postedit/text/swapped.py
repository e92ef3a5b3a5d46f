"""Whether source and translation have changed places, as far as that is clear."""

from collections.abc import Sequence
from typing import Final

from postedit.text.config import TextConfig
from postedit.text.processor import TextProcessor

_SAMPLE: Final = 100  # segments: a second's work, and far more than it takes to know a language

_CLEAR: Final = 20.0
"""Nats by which each of both sides must be likelier in the language of the other one."""

_FEWER_PIECES: Final = 0.8
"""The share of pieces that would be left if both sides were divided by the vocabulary of the other one."""


def seem_swapped(processor: TextProcessor, src: Sequence[str], mt: Sequence[str]) -> bool:
    """Return whether `src` and `mt` seem to have changed places.

    If the languages are known, each side must read like the other's; else each must be divided into fewer pieces by
    the vocabulary of the other. With neither languages nor two vocabularies nothing can be told, and the answer is no.
    """
    src, mt = src[:_SAMPLE], mt[:_SAMPLE]
    return _by_language(processor.config, src, mt) or _by_pieces(processor, src, mt)


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
