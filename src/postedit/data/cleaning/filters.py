"""Filters and normalisation of single triplets (Pal et al. 2020, section 4.1)."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from rapidfuzz.distance import LCSseq
from sacremoses import MosesPunctNormalizer

from postedit.core.editor import Side
from postedit.core.errors import RecipeError
from postedit.core.wording import listed
from postedit.data.cleaning.config import CleanConfig, CopyConfig, FilterName, LanguageConfig, LengthConfig, RatioConfig
from postedit.data.triplets import Triplet, unusable
from postedit.text.language_tags import base_language
from postedit.text.languages import known_languages, language_identifier
from postedit.text.words import MARKS, MosesSplitter, compared_words

Filter = Callable[[Triplet], str | None]
"""Returns the reason to remove a triplet, or None to keep it."""

Normalisation = Callable[[str], str]

_SHOWN: Final = 3
"""Maximum number of numbers, placeholders or addresses that a reason lists."""

_NUMBER: Final = re.compile(r"(?<!\d)\d{1,3}(?:[ \u00a0\u202f]\d{3}(?!\d))+|\d+(?:[.,:'’]\d+)*")

_DATE: Final = re.compile(  # its order and separators vary by language: 12/31/2018, 31.12.2018, 2018-12-31
    r"(?<![\d.,:/])(?<!\d-)(?:(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d\d)|(\d{4})([./-])(\d{1,2})\6(\d{1,2}))(?![./-]?\d)"
)

_PLACEHOLDER: Final = re.compile(
    r"""
    </?[A-Za-z][\w:.-]*(?:\s[^<>]*)?/?>       # markup: <b>, </b>, <br/>, <a href="...">
    | \$?\{\{?\s?[\w.:-]*\s?\}?\}            # {0}, {name}, {{name}}, ${name}
    | %\([\w.]+\)[-+#0]*\d*(?:\.\d+)?[a-zA-Z] # %(name)s
    | (?<![\w%])%(?:\d+\$)?[-+#0]*\d*(?:\.\d+)?(?:l{1,2}|h|z)?[sdiufxXcg@](?![\w])  # %s, %1$d, %.2f
    | (?<![\w%])%\d{1,2}(?![\w%])            # %1
    """,
    re.VERBOSE,
)

# Labels are bounded in number: a match may begin at each "www.", and the time would be quadratic in their number.
_LABELS: Final = rf"(?:[\w{MARKS}-]+\.){{1,20}}(?:[a-z0-9][a-z0-9-]*|[^\W\d_][\w{MARKS}-]*)"
_HOST: Final = rf"(?:{_LABELS}|[a-z0-9-]+(?:_[a-z0-9-]+)*)(?::\d+)?"  # ends before another script: www.a.com获取
_ADDRESS: Final = re.compile(
    rf"(?:https?|ftp)://(?:[^\s/?#@]{{0,100}}@)?({_HOST})|(?<![a-z0-9_.-])www\.({_HOST})|"
    rf"(?<![\w.+-])[\w.+-]{{1,64}}@({_LABELS})"
)  # in lower case

_RIVALS: Final = frozenset(
    (
        *("ar", "bg", "cs", "da", "de", "el", "en", "es", "et", "fa", "fi", "fr", "he", "hi", "hr", "hu", "id", "it"),
        *("ja", "ko", "lt", "lv", "nl", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sv", "th", "tr", "uk", "vi", "zh"),
    )
)
"""Languages compared with the expected one: those of most texts. With all known languages, short lines would often be
mistaken for a rare one."""

_TAG_NAME: Final = re.compile(r"</?[\w:.-]+")


def filters_of(config: CleanConfig, sides: Sequence[Side]) -> dict[FilterName, Filter]:
    """Return the filters of single triplets that are switched on, in order, for triplets with these `sides`.

    Raises:
        RecipeError: if the language filter does not know a language.
    """
    make: dict[FilterName, Callable[[], Filter]] = {
        "length": lambda: _length(config.length, sides),
        "ratio": lambda: _ratio(config.ratio, sides),
        "copy_of_source": lambda: _copy(config.copy_of_source),
        "placeholders": lambda: _mismatch(placeholders),
        "urls": lambda: _mismatch(hosts),
        "numbers": lambda: _mismatch(lambda text: numbers(text, config.numbers.min_digits)),
        "language": lambda: _language(config.language, {side: base_language(config.lang(side)) for side in sides}),
    }
    used: dict[FilterName, Filter] = {name: new() for name, new in make.items() if getattr(config, name).on}
    return {"unusable": lambda triplet: unusable(triplet, sides), **used}


def normalisations_of(config: CleanConfig, language: str) -> list[Normalisation]:
    """Return the normalisation steps that are switched on, in order, for texts in a language."""
    steps: list[Normalisation] = []
    if config.punctuation:
        steps.append(MosesPunctNormalizer(lang=base_language(language)).normalize)
    if config.tokenizer == "moses":
        words = MosesSplitter(language).words
        steps.append(lambda text: " ".join(words(text)))
    return steps


def placeholders(text: str) -> set[str]:
    """Return the markup and variables in a text; attributes of tags, which may be translated, are left out."""
    if not any(character in text for character in "<{%"):
        return set()
    found = _PLACEHOLDER.findall(text)
    return {tag[0] + ">" if (tag := _TAG_NAME.match(one)) else "".join(one.split()) for one in found}


def hosts(text: str) -> set[str]:
    """Return the hosts of web and e-mail addresses in a text, without paths, which may differ between languages."""
    text = text.lower()
    if not any(part in text for part in ("://", "www.", "@")):
        return set()
    found = map("".join, _ADDRESS.findall(text))
    return {host.removeprefix("www.") for host in found}


def numbers(text: str, min_digits: int) -> set[str]:
    """Return the numbers with at least `min_digits` digits in a text, without separators, which vary by language.

    The numbers of a date count separately, without leading zeros.
    """
    dates = [one for date in _DATE.findall(text) for one in date if one.isdecimal()]
    others = ([character for character in one if character.isdigit()] for one in _NUMBER.findall(_DATE.sub("|", text)))
    found = [*(str(int(one)) for one in dates), *others]
    return {
        "".join(str(int(digit)) if digit.isdecimal() else digit for digit in digits)
        for digits in found
        if len(digits) >= min_digits
    }


def _length(config: LengthConfig, sides: Sequence[Side]) -> Filter:
    def check(triplet: Triplet) -> str | None:
        counts = ((side, len(getattr(triplet, side).split())) for side in sides)
        wrong = (f"{side} has {words:,} words" for side, words in counts if not config.min <= words <= config.max)
        return next(wrong, None)

    return check


def _ratio(config: RatioConfig, sides: Sequence[Side]) -> Filter:
    def check(triplet: Triplet) -> str | None:
        counts = {side: len(getattr(triplet, side).split()) for side in sides}
        longest, shortest = max(counts, key=lambda side: counts[side]), min(counts, key=lambda side: counts[side])
        if counts[longest] <= config.max * counts[shortest]:
            return None
        units = [len(compared_words(getattr(triplet, side))) for side in sides]  # characters where words have no spaces
        if max(units) <= config.max * min(units):
            return None
        return f"{longest} has {counts[longest]} words and {shortest} has {counts[shortest]}"

    return check


def _copy(config: CopyConfig) -> Filter:
    def check(triplet: Triplet) -> str | None:
        src, pe = triplet.src.lower().split(), triplet.pe.lower().split()
        if max(len(src), len(pe)) < config.min_words:
            return None
        similarity = LCSseq.normalized_similarity(src, pe, score_cutoff=config.similarity)
        return f"{similarity:.0%} of the words are copied from src" if similarity else None

    return check


def _mismatch(parts: Callable[[str], set[str]]) -> Filter:
    """Return a filter that removes triplets with parts that only one of src and pe has."""

    def check(triplet: Triplet) -> str | None:
        src, pe = parts(triplet.src), parts(triplet.pe)
        reasons = [
            f"only {side} has {listed(sorted(only), _SHOWN)}"
            for side, only in (("src", src - pe), ("pe", pe - src))
            if only
        ]
        return "; ".join(reasons) or None

    return check


def _language(config: LanguageConfig, languages: Mapping[Side, str]) -> Filter:
    known = known_languages()
    for language in languages.values():
        if language not in known:
            raise RecipeError(
                f'language: "{language}" is not known; use one of {", ".join(known)}, '
                "or switch the filter off (language.on=false)"
            )
    identifier = language_identifier(_RIVALS.intersection(known).union(languages.values()))

    def check(triplet: Triplet) -> str | None:
        for side in config.sides:
            language = languages.get(side)
            text = getattr(triplet, side)
            if language is None or identifier.classify(text)[0] == language:
                continue
            ranks = identifier.rank(text)
            (best, score), expected = ranks[0], dict(ranks)[language]
            if score - expected > config.margin:
                return f"{side} is {best}, not {language} (margin {score - expected:.0f})"
        return None

    return check
