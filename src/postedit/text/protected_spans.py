r"""Protected spans: parts of a text that post-editing must not lose, double, change or invent; and the rule for them.

A span is compared by its `value`:

- A number is compared by its digits, in ASCII, and its decimal separator: 1,000.5 = 1.000,5 = 1 000,5 = ١٬٠٠٠٫٥. If a
  single separator with three digits after it could be either a thousands or a decimal separator (1.234), only the
  digits count. A minus or plus sign directly before the digits counts if no word or number precedes it; the letters of
  ordinals do not. Dates, times, ranges and lists are several numbers (12.05.2019 is 12, 05 and 2019); a version or an
  IP address is one (2.0.1). Leading zeros count.
- An ICU plural or select message is divided: its argument and each branch selector are values, and the text inside a
  branch is ordinary text. A message is recognised only if its braces match.
- All other spans are compared as they are written: URLs and paths without the punctuation of the sentence, tags with
  all their attributes.

Spans do not overlap: the leftmost wins; of those that begin together, the kind that comes first in the order markup,
code in backticks, URL, e-mail address, placeholder, path, other code, hashtag, mention, unit, number. If a kind is left
out, the other kinds are found inside its spans.

Text glued to a span can make a different word of it ("---all", "a@@team"). Such copies of the spans of a segment are
counted under values of their own (`find_glued`). So are the marks of accelerators (`accelerators`), whose letters
differ between languages.
"""

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from postedit.text.icu_messages import message_parts
from postedit.text.span_patterns import HINT, KIND_OF, KINDS, PRINTF_FORMAT, Kind, pattern_of


@dataclass(frozen=True, slots=True)
class ProtectedSpan:
    """Characters `start` to `end` (exclusive) of a text, which are compared with other texts by `value`."""

    kind: str  # a `Kind`, "glued" or "term"
    start: int
    end: int
    value: str


class Value(NamedTuple):
    """A value with its kind: the key by which occurrences are counted."""

    kind: str
    value: str


FAULTS: Final = ("unpaired ", "glued ", "order of ", "pair of ", "word of ", "separator of ", "accelerator ")
"""Prefixes of the values that are counted in addition to those of spans: of faults, links between spans, and marks."""


def find_spans(text: str, kinds: Iterable[Kind] = KINDS) -> list[ProtectedSpan]:
    """Return the protected spans of a text, in order."""
    wanted = frozenset(kinds)
    if not wanted or not HINT.search(text):
        return []
    pattern = pattern_of(wanted)
    spans: list[ProtectedSpan] = []
    done = 0
    for part in message_parts(text) if "placeholder" in wanted and "{" in text else ():
        spans += _plain_spans(pattern, text, done, part.start)
        spans.append(ProtectedSpan("placeholder", *part))
        done = part.end
    return [*spans, *_plain_spans(pattern, text, done, len(text))]


def find_glued(text: str, spans: Iterable[ProtectedSpan], known: Iterable[Value]) -> list[ProtectedSpan]:
    """Return the copies of `known` spans that are glued to other text and therefore not among the `spans` found.

    A copy within another span is a part of that span. Numbers and units are skipped, as they are spans anywhere.
    """
    found = [span for span in spans if span.kind not in _ANYWHERE]
    starts = [span.start for span in found]
    glued = []
    for kind, value in known:
        start = -1 if kind in _ANYWHERE else text.find(value)
        while start >= 0:
            end, number = start + len(value), bisect_right(starts, start)
            if not number or found[number - 1].end < end:
                glued.append(ProtectedSpan(kind, start, end, f"glued {value}"))
            start = text.find(value, end)
    return glued


def unpaired_tags(spans: Sequence[ProtectedSpan]) -> list[ProtectedSpan]:
    """Return the opening and closing tags among `spans` that have no partner when tags are nested properly."""
    waiting: list[tuple[str, ProtectedSpan]] = []
    opened: Counter[str] = Counter()  # names in `waiting`
    found = []
    for span in spans:
        tag = _TAG.match(span.value) if span.kind == "markup" else None
        if tag is None or span.value.endswith(("/>", "/&gt;")):
            continue
        if not tag["slash"]:
            waiting.append((tag["name"], span))
            opened[tag["name"]] += 1
        elif opened[tag["name"]]:
            while waiting[-1][0] != tag["name"]:
                name, inner = waiting.pop()
                opened[name] -= 1
                found.append(inner)
            waiting.pop()
            opened[tag["name"]] -= 1
        else:
            found.append(span)
    found += [span for _, span in waiting]
    return [ProtectedSpan(span.kind, span.start, span.end, f"unpaired {span.value}") for span in found]


def accelerators(text: str) -> list[ProtectedSpan]:
    """Return the marks of accelerators in labels of menus and buttons: "&" (Windows, Qt), "_" (GTK), "~" (LibreOffice).

    The key is the letter or digit after the mark. The letter differs between languages, so only the marks are compared.
    "&" between capitals ("Q&A") is no mark, because translators write it out, and no "_" on both sides of a phrase is.
    Single ones in names such as non_empty count as well, which does no harm, because outputs keep them too.
    """
    marks = (match for match in _ACCELERATOR.finditer(text) if match["emphasis"] is None)
    return [ProtectedSpan("markup", *mark.span(), f"accelerator {mark.group()}") for mark in marks]


def linked_spans(text: str, spans: Sequence[ProtectedSpan], *, near: bool = True) -> list[ProtectedSpan]:
    """Return the spans that are part of a larger whole, which outputs may not take apart if source and mt agree on it.

    Such wholes are dates, times, fractions, sizes and ranges, whose numbers have an order; numbers with their units;
    words of digits and letters (X1, 0x1F); thousands with a separator that could also be a decimal separator; and
    unnumbered %s and %d, which have an order. Each span is returned with the value of the whole.

    Args:
        text: any text.
        spans: its protected spans.
        near: whether to link numbers with a short word between them too ("9 h 30", which may stand for 9:30).
    """
    plain = [span for span in spans if span.kind == "placeholder" and _PRINTF.fullmatch(span.value)]
    groups = (plain, *_groups(text, spans, near))
    links = [(f"order of {name}", group) for group in groups if len(group) > 1 for name in _orders(group)]
    links += [(f"pair of {number.value} {unit.value}", [unit]) for number, unit in _measures(text, spans)]
    for span in spans:
        if span.kind == "number" and _THOUSANDS.fullmatch(text, span.start, span.end):
            links.append((f"separator of {span.value}", [span]))
    if any(span.kind == "number" for span in spans):
        words = (ProtectedSpan("number", *word.span(), word.group().lower()) for word in _MIXED.finditer(text))
        links += [(f"word of {word.value}", [word]) for word in words]
    return [ProtectedSpan(span.kind, span.start, span.end, name) for name, group in links for span in group]


def _groups(text: str, spans: Sequence[ProtectedSpan], near: bool) -> Iterator[list[ProtectedSpan]]:
    """Yield groups of joined numbers (9:30) and, with `near`, pairs of numbers with at most a short word between."""
    numbers = [span for span in spans if span.kind == "number"]
    groups: list[list[ProtectedSpan]] = []
    for number in numbers:
        if groups and _JOINED.fullmatch(text, groups[-1][-1].end, number.start):
            groups[-1].append(number)
        else:
            groups.append([number])
    yield from groups
    for left, right in pairwise(groups) if near else ():
        if len(left) == len(right) == 1 and _NEAR.fullmatch(text, left[0].end, right[0].start):
            yield left + right


def _orders(group: Sequence[ProtectedSpan]) -> Iterator[str]:
    """Yield names for the order of a group's values; a date is named from day to year, so 2019-05-12 is 12.05.2019."""
    values = [span.value for span in group]
    lengths = [len(value) for value in values]
    if lengths in ([4, 2, 2], [2, 2, 4]):
        yield f"date {' '.join(values if lengths[0] == 2 else reversed(values))}"
    if lengths != [4, 2, 2]:
        yield " ".join(values)


def _measures(text: str, spans: Sequence[ProtectedSpan]) -> Iterator[tuple[ProtectedSpan, ProtectedSpan]]:
    """Yield each unit after the number or placeholder beside it: the nearer one of two, or on a tie the one before."""
    for place, unit in enumerate(spans):
        if unit.kind == "unit":
            beside = []
            for other in (*spans[max(place - 1, 0) : place], *spans[place + 1 : place + 2]):
                gap = text[min(other.end, unit.end) : max(other.start, unit.start)]
                if other.kind in ("number", "placeholder") and not gap.strip() and other.value not in _RAISED:
                    beside.append((len(gap), other))
            if beside:
                yield min(beside, key=lambda one: one[0])[1], unit


def count_values(spans: Iterable[ProtectedSpan]) -> Counter[Value]:
    """Return the number of spans with each value."""
    return Counter(Value(span.kind, span.value) for span in spans)


def broken_values(src: Mapping[Value, int], mt: Mapping[Value, int], output: Mapping[Value, int]) -> list[Value]:
    """Return the values that break the rule of protected spans, given the counts of values in src, mt and an output.

    The rule: the output has each value as often as mt or the source, or a number of times in between. So nothing that
    source and mt share is lost or duplicated, nothing that neither has is written, a wrong number may be corrected to
    that of the source, and mt itself never breaks the rule.

    The source may spell out a number that mt writes in digits ("two" and "2"). So a number that the source lacks may be
    removed only if a number of the source that mt lacks replaces it, or if numbers are joined or divided as in the
    source (5 000 and 5,000; 5 . 2 and 5.2). And mt may write a placeholder differently than the source (%1$d and %d).
    So the output also has as many placeholders in all as mt or the source, or a number in between.
    """
    broken = []
    removed: list[str] = []
    written: list[str] = []
    replaced: list[Value] = []  # placeholders that the output has more or less often than mt, as the source does
    for value in {**mt, **output}:
        in_src, in_mt, in_output = src.get(value, 0), mt.get(value, 0), output.get(value, 0)
        if not min(in_src, in_mt) <= in_output <= max(in_src, in_mt):
            broken.append(value)
        elif value.value.startswith(FAULTS):
            continue
        elif value.kind == "placeholder" and in_output != in_mt:
            replaced.append(value)
        elif value.kind == "number":
            written += [value.value] * (in_output - in_mt)
            removed += [value.value] * (in_mt - in_output) if not in_src else []
    if len(removed) > len(written) and _digits(removed) != _digits(written):
        broken += [Value("number", number) for number in dict.fromkeys(removed)]
    if replaced and not any(value.kind == "placeholder" for value in broken):
        least, most = sorted(map(_placeholders, (src, mt)))
        broken += [] if least <= _placeholders(output) <= most else replaced
    return broken


def _placeholders(counts: Mapping[Value, int]) -> int:
    return sum(n for one, n in counts.items() if one.kind == "placeholder" and not one.value.startswith(FAULTS))


def _digits(numbers: Iterable[str]) -> Counter[str]:
    """Return the digits of numbers, regardless of order and decimal separators: 5 . 2 has the same digits as 5.2."""
    return Counter("".join(numbers).replace(".", ""))


def _plain_spans(pattern: re.Pattern[str], text: str, start: int, end: int) -> Iterator[ProtectedSpan]:
    for match in pattern.finditer(text, start, end):
        name = str(match.lastgroup)  # the outermost group
        found = match.group()
        if name == "number":
            yield from _numbers(found, match.start())
            continue
        if name in ("url", "path", "email"):
            found = _without_punctuation(found)
        length = len(found)
        if name == "unit":
            found = unicodedata.normalize("NFKC", found).translate(_ARABIC_SIGNS)
        yield ProtectedSpan(KIND_OF[name], match.start(), match.start() + length, found)


def _without_punctuation(address: str) -> str:
    """Return an address without sentence punctuation at its end, and without closing brackets that have no partner."""
    while address[-1] in _AFTER_SENTENCE or (address[-1] == ")" and address.count(")") > address.count("(")):
        address = address[:-1]
    return address


def _numbers(written: str, start: int) -> Iterator[ProtectedSpan]:
    """Yield the number `written` at position `start`, or the several numbers of a date or list."""
    sign = written[0].replace("−", "-") if written[0] in "-−+" else ""
    groups = _GROUP.findall(written)
    separators = _SEPARATOR.findall(written[len(sign) :])
    if len(groups) == len(separators):  # .5 is 0.5
        groups = ["0", *groups]
    value = sign + _value(groups, separators)
    if value != sign:
        yield ProtectedSpan("number", start, start + len(written), value)
        return
    for match in _GROUP.finditer(written):
        value = _ascii(match.group())
        yield ProtectedSpan("number", start + match.start(), start + match.end(), value)


def _value(groups: Sequence[str], separators: Sequence[str]) -> str:
    """Return the value of groups of digits with separators between them; empty if they are several numbers."""
    digits = [_ascii(group) for group in groups]
    *grouping, last = separators or [""]
    kinds = set(separators)
    if len(kinds) <= 1 and _grouped(digits):
        return "".join(digits)
    if len(kinds) == 2 and last not in grouping and _grouped(digits[:-1]):
        return f"{''.join(digits[:-1])}.{digits[-1]}"
    if len(separators) == 1:
        return ".".join(digits)
    if kinds == {"."} and not _DATE.fullmatch(".".join(digits)):
        return ".".join(digits)
    return ""


def _grouped(digits: Sequence[str]) -> bool:
    """Return whether groups of digits can form one whole number: 1 234 567, or 12 34 567 as in India."""
    first, *others = digits
    if not others:
        return True
    *middle, last = map(len, others)
    return 1 <= len(first) <= 3 and first[0] != "0" and last == 3 and (set(middle) <= {3} or set(middle) == {2})


def _ascii(digits: str) -> str:
    """Return digits in ASCII; digits of several scripts, which do not form a normal number, are returned unchanged."""
    if digits.isascii():
        return digits
    values = [unicodedata.decimal(digit) for digit in digits]
    zeros = {ord(digit) - value for digit, value in zip(digits, values, strict=True)}
    return "".join(map(str, values)) if len(zeros) == 1 else digits


_ANYWHERE: Final = ("number", "unit")  # kinds of spans that are found even inside words
_TAG: Final = re.compile(r"(?:<|&lt;)(?P<slash>/?)(?P<name>[A-Za-z][\w:.-]*|\d{1,4})")
# Two marks stand for the character itself, and "&" with a name and a semicolon is an entity.
_ACCELERATOR: Final = re.compile(
    r"(?P<emphasis>(?<!_)_(?=[^\s_])[^_\n]*(?<=[^\s_])_(?!_))"
    r"|(?<!&)(?!(?<=[A-Z])&[A-Z])&(?!\w{1,31};)(?=[^\W_])|(?<!_)_(?=[^\W\d_])|(?<!~)~(?=[^\W\d_])"
)
_AFTER_SENTENCE: Final = ".,;:!?…'\"’”»،؛؟۔।॥，；：！？。"
_JOINED: Final = re.compile(r"[/:.\-–]|\s?[x×]\s?")  # between the numbers of a date, time, fraction or size
_NEAR: Final = re.compile(r"\s?[^\W\d_]{0,4}\s?")
_ARABIC_SIGNS: Final = str.maketrans("٪؉", "%‰")
_RAISED: Final = ("²", "³")
_THOUSANDS: Final = re.compile(r"[-−+]?\d{1,3}[.,'’٫٬ \u00a0\u2009\u202f]\d{3}")
_MIXED: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Za-z]+[0-9][A-Za-z0-9]*|[0-9]+[A-Za-z]+[0-9][A-Za-z0-9]*|[0-9]+[eE][-+−]?[0-9]+)(?![A-Za-z0-9])"
)
_PRINTF: Final = re.compile(rf"%{PRINTF_FORMAT}")
_GROUP: Final = re.compile(r"\d+")
_SEPARATOR: Final = re.compile(r"\D")
_DATE: Final = re.compile(r"\d{1,2}\.\d{1,2}\.(?:\d{4}|\d{2})|\d{4}\.\d{1,2}\.\d{1,2}")
