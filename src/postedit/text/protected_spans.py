r"""Protected spans: parts of a text that post-editing must not lose, double, change or invent; and the rule for them.

A span is compared by its `value`:

- A number is compared by its digits, in ASCII, and its decimal separator: 1,000.5 = 1.000,5 = 1 000,5 = ١٬٠٠٠٫٥. Where
  one separator with three digits after it may group or divide (1.234), only digits count. A minus sign directly before
  the digits counts if no word or number precedes it; percent signs, units and letters of ordinals do not. Dates, times,
  ranges and lists are several numbers (12.05.2019 is 12, 05 and 2019); a version or an IP address is one (2.0.1).
  Leading zeros count.
- An ICU plural or select message is divided: its argument and each branch are values, the text of a branch is text. It
  is found only if its braces match.
- All other spans are compared as they are written: URLs and paths without punctuation of the sentence after them, tags
  with all their attributes.

Spans do not overlap: the leftmost wins; of those that begin together, the kind that comes first in the order markup,
code in backticks, URL, e-mail address, placeholder, path, other code, hashtag, mention, number. The parts of a span
whose kind is left out are found by the other kinds.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, NamedTuple, get_args

Kind = Literal["number", "url", "email", "path", "placeholder", "markup", "code", "hashtag", "mention"]
"""Kind of a protected span.

number: digits of any script; url: with a scheme, www., or a common top-level domain; email; path: of Unix or Windows,
and names of files with a known extension; placeholder: printf (%s, %1$s, %(name)s), {0}, {name}, {{x}}, {{{x}}}, ${x},
$x, %x%, [[x]], <%= x %>, @@x@@, ICU messages; markup: tags, comments, entities; code: `backticks`, camelCase and
snake_case names, calls(), --options; hashtag; mention: @name.
"""

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class ProtectedSpan:
    """Characters `start` to `end` (exclusive) of a text, which are compared with other texts by `value`."""

    kind: str  # a `Kind`, or "term"
    start: int
    end: int
    value: str


class Value(NamedTuple):
    """A value with its kind: the key by which occurrences are counted."""

    kind: str
    value: str


def find_spans(text: str, kinds: Iterable[Kind] = KINDS) -> list[ProtectedSpan]:
    """Return the protected spans of a text, in order."""
    wanted = frozenset(kinds)
    if not wanted or not _HINT.search(text):
        return []
    messages = _icu_spans(text) if "placeholder" in wanted and "{" in text else []
    spans: list[ProtectedSpan] = []
    pattern, done = _pattern(wanted), 0
    for message in messages:
        spans += _plain_spans(pattern, text, done, message.start)
        spans.append(message)
        done = message.end
    return [*spans, *_plain_spans(pattern, text, done, len(text))]


def unpaired_tags(spans: Sequence[ProtectedSpan]) -> list[ProtectedSpan]:
    """Return the opening and closing tags among `spans` that have no partner where tags nest properly."""
    waiting: list[tuple[str, ProtectedSpan]] = []
    opened: Counter[str] = Counter()  # names in `waiting`
    found = []
    for span in spans:
        tag = _TAG.match(span.value) if span.kind == "markup" else None
        if tag is None or span.value.endswith("/>"):
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


def ordered_groups(text: str, spans: Sequence[ProtectedSpan]) -> Iterator[tuple[ProtectedSpan, ...]]:
    """Yield the spans of a text whose order has a meaning: dates, times, fractions; all %s, %d without a number."""
    yield tuple(span for span in spans if span.kind == "placeholder" and _PRINTF.fullmatch(span.value))
    group: list[ProtectedSpan] = []
    for span in spans:
        if span.kind == "number":
            if group and not _JOINED.fullmatch(text, group[-1].end, span.start):
                yield tuple(group)
                group = []
            group.append(span)
    yield tuple(group)


def order_of(group: Sequence[ProtectedSpan]) -> tuple[str, ...]:
    """Return the values of a group in their order; 2019-05-12 has that of 12.05.2019."""
    values = tuple(span.value for span in group)
    return values[::-1] if len(values) == 3 and list(map(len, values)) == [4, 2, 2] else values


def count_values(spans: Iterable[ProtectedSpan]) -> Counter[Value]:
    """Return the number of spans with each value."""
    return Counter(Value(span.kind, span.value) for span in spans)


def broken_values(src: Mapping[Value, int], mt: Mapping[Value, int], output: Mapping[Value, int]) -> list[Value]:
    """Return the values that break the rule of protected spans, given the occurrences in src, in mt and in an output.

    The rule: the output has each value as often as mt, as the source, or a number of times in between. So nothing that
    source and mt have is lost or doubled, nothing that neither has is written, a wrong number may be mended to that of
    the source, and mt itself never breaks the rule.

    The source may spell a number that mt has in digits ("two" and "2"). So a number without a counterpart in the source
    may only go where a number of the source that mt lacks takes its place, or where numbers are joined or divided as in
    the source (5 000 and 5,000).
    """
    broken = []
    gone: list[str] = []
    mended: list[str] = []
    for value in {**mt, **output}:
        there, before, now = src.get(value, 0), mt.get(value, 0), output.get(value, 0)
        if not min(there, before) <= now <= max(there, before):
            broken.append(value)
        elif value.kind == "number":
            mended += [value.value] * (now - before)
            gone += [value.value] * (before - now) if not there else []
    if len(gone) > len(mended) and sorted("".join(gone)) != sorted("".join(mended)):
        broken += [Value("number", number) for number in dict.fromkeys(gone)]
    return broken


_NAME: Final = "A-Za-z0-9_"  # \w would include the letters of scripts without spaces between words
_LATER: Final = "\u00c0-\u0dff"  # letters of scripts with spaces, which may stand in addresses
_WORD: Final = _NAME + _LATER
_EXTENSIONS: Final = (
    "7z|avi|bat|bmp|cfg|class|conf|cpp|css|csv|dll|docx?|exe|gif|gz|html?|ico|ini|jar|java|jpe?g|js|json|log|md|mov|mp3|"
    "mp4|msi|odt|pdf|php|png|po|pptx?|properties|psd|py|rar|rb|rtf|sh|sql|svg|tar|tiff?|toml|ts|tsv|txt|wav|webp|xhtml|"
    "xliff?|xlsx?|xml|ya?ml|zip"
)
_ICU: Final = re.compile(r"\{\s*(?P<name>[\w.-]{1,100})\s*,\s*(?P<type>plural|selectordinal|select)\s*,")
_BRANCH: Final = re.compile(r"\s*(?:offset:\d+\s+)?(?P<selector>=?\w+)\s*\{")
_ICU_DEPTH: Final = 20  # deepest nesting of messages that is read
_TAG: Final = re.compile(r"<(?P<slash>/?)(?P<name>[A-Za-z][\w:.-]*)")
_AFTER_SENTENCE: Final = ".,;:!?…'\"’”»"

# Repetitions are bounded where a match may begin at each of them: else the time would be quadratic in their number.
_PATTERNS: Final[tuple[tuple[str, Kind, str], ...]] = (
    (
        "markup",
        "markup",
        r"<!--.{0,2000}?-->|</?[A-Za-z][\w:.-]*(?:\s[^<>]*)?/?>|"
        r"&(?:\#\d{1,7}|\#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});",
    ),
    ("ticks", "code", r"(?<!`)`(?!`)[^`\n]+`(?!`)"),
    (
        "url",
        "url",
        rf"(?<![{_WORD}])(?:(?:https?|ftps?|file|ssh|git|wss?)://|www\.(?=[a-z0-9]))[{_NAME}{_LATER}.~:/?\#\[\]@!$&'()*+,;=%-]+|"
        rf"(?<![{_WORD}@/-])(?:[a-z0-9-]+\.){{1,20}}(?:com|org|net|edu|gov|info|io)(?![{_WORD}-])"
        rf"(?:/[{_NAME}{_LATER}.~:/?\#@!$&'()*+,;=%-]*)?",
    ),
    ("email", "email", rf"(?<![{_WORD}])[{_NAME}.%+-]{{1,64}}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?![{_WORD}])"),
    (
        "placeholder",
        "placeholder",
        r"\{\{\{[^{}]{1,200}\}\}\}|\{\{[^{}]{1,200}\}\}|<%[^<>%]{1,200}%>|@@\w{1,100}@@|[$\#]?\{\s*[\w.$\#@/!:|+<>=^*()'\"%\[\]-]{1,200}\s*\}|"
        r"\{\s*[\w.-]+\s*,\s*(?:number|date|time|spellout|ordinal|duration|list)\b[^{}]{0,200}\}|"
        r"%\(\w+\)[-+\#0]*\d*(?:\.\d+)?[a-zA-Z]|%%|%[A-Za-z_]\w+%|"
        r"(?<!\d)%(?:\d+\$)?[-+\#0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh?|ll?|[Lqjzt])?[diouxXeEfFgGaAcspn@]|"
        rf"(?<![{_WORD}$])\$[A-Za-z_][{_NAME}]*(?![{_WORD}])|\[\[[^\[\]]{{1,200}}\]\]|\\[nrt](?![A-Za-z])",
    ),
    (
        "path",
        "path",
        rf"(?<![{_WORD}])[A-Za-z]:\\[^\s\\/:*?\"<>|]*(?:\\[^\s\\/:*?\"<>|]*)*|"
        rf"\\\\[{_NAME}.-]+(?:\\[^\s\\/:*?\"<>|]+)+|"
        rf"(?<![{_WORD}/:~])(?:/(?=[{_NAME}.@+~-]+/)|(?:~|\.{{1,2}})/)[{_NAME}.@+~-]+(?:/[{_NAME}.@+~-]*)*(?![{_WORD}])|"
        rf"(?<![{_WORD}/-])\.?(?:[{_NAME}.-]{{1,255}}/){{0,30}}[{_NAME}-]+(?:\.[{_NAME}-]+){{0,20}}\.(?:{_EXTENSIONS})(?![{_WORD}])",
    ),
    (
        "code",
        "code",
        rf"(?<![{_WORD}])(?:[A-Za-z_][{_NAME}]*\.){{0,20}}[A-Za-z_][{_NAME}]*\(\)(?![{_WORD}])|"
        rf"(?<![{_WORD}])_*[A-Za-z][A-Za-z0-9]*(?:_+[A-Za-z0-9]+)+_*(?![{_WORD}])|"
        rf"(?<![{_WORD}])_+[A-Za-z][{_NAME}]*(?![{_WORD}])|"
        rf"(?<![{_WORD}])[a-z]+[0-9]*[A-Z][A-Za-z0-9]*(?![{_WORD}])|"
        rf"(?<![{_WORD}-])--[A-Za-z][{_NAME}-]*(?![{_WORD}])",
    ),
    ("hashtag", "hashtag", rf"(?<![{_WORD}])\#(?=\w*[^\W\d_])\w+"),
    ("mention", "mention", rf"(?<![{_WORD}@])@[A-Za-z_][{_NAME}]+(?![{_WORD}])"),
    (
        "number",
        "number",
        r"(?:(?<![\w.,%)])[-−])?(?:"
        r"\d{1,3}(?P<gap>[ \u00a0\u2009\u202f])\d{3}(?:(?P=gap)\d{3})*(?!\d)(?:[.,٫]\d+)?(?!\d)|"
        r"\d+(?:[.,'’٫٬．，]\d+)*)",
    ),
)

_HINT: Final = re.compile(r"[\d@\#%$&<{`\\_/]|\[\[|[a-z][A-Z]|[A-Za-z]\.[A-Za-z]|\(\)|--[A-Za-z]")
"""Found in every text with a protected span, and quicker to look for than all of them."""


@cache
def _pattern(kinds: frozenset[Kind]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<{name}>{pattern})" for name, kind, pattern in _PATTERNS if kind in kinds))


_KIND_OF: Final[Mapping[str, Kind]] = {name: kind for name, kind, _ in _PATTERNS}


def _plain_spans(pattern: re.Pattern[str], text: str, start: int, end: int) -> Iterator[ProtectedSpan]:
    for match in pattern.finditer(text, start, end):
        name = str(match.lastgroup)  # the outermost group
        found = match.group()
        if name == "number":
            yield from _numbers(found, match.start())
            continue
        if name in ("url", "path", "email"):
            found = _without_punctuation(found)
        yield ProtectedSpan(_KIND_OF[name], match.start(), match.start() + len(found), found)


def _without_punctuation(address: str) -> str:
    """Return an address without the punctuation of the sentence that it ends, closing brackets without partner too."""
    while address[-1] in _AFTER_SENTENCE or (address[-1] == ")" and address.count(")") > address.count("(")):
        address = address[:-1]
    return address


def _numbers(written: str, start: int) -> Iterator[ProtectedSpan]:
    """Yield the number that is `written` at `start`, or the numbers of a date or list."""
    sign = "-" if written[0] in "-−" else ""
    groups = _GROUP.findall(written)
    value = sign + _value(groups, _SEPARATOR.findall(written[len(sign) :]))
    if value != sign:
        yield ProtectedSpan("number", start, start + len(written), value)
        return
    for match in _GROUP.finditer(written):
        value = _ascii(match.group())
        yield ProtectedSpan("number", start + match.start(), start + match.end(), value)


def _value(groups: Sequence[str], separators: Sequence[str]) -> str:
    """Return the value of groups of digits with separators between; empty if they are several numbers."""
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
    """Return whether groups of digits may be one whole number: 1 234 567, or 12 34 567 as in India."""
    first, *others = digits
    if not others:
        return True
    *middle, last = map(len, others)
    return 1 <= len(first) <= 3 and first[0] != "0" and last == 3 and (set(middle) <= {3} or set(middle) == {2})


def _ascii(digits: str) -> str:
    """Return digits of one script in ASCII; those of several scripts, which are no usual number, as they are."""
    if digits.isascii():
        return digits
    values = [unicodedata.decimal(digit) for digit in digits]
    zeros = {ord(digit) - value for digit, value in zip(digits, values, strict=True)}
    return "".join(map(str, values)) if len(zeros) == 1 else digits


_JOINED: Final = re.compile(r"[/:.\-–]")  # between the numbers of a date, time or fraction
_PRINTF: Final = re.compile(r"%[-+#0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh?|ll?|[Lqjzt])?[diouxXeEfFgGaAcspn@]")
_GROUP: Final = re.compile(r"\d+")
_SEPARATOR: Final = re.compile(r"\D")
_DATE: Final = re.compile(r"\d{1,2}\.\d{1,2}\.(?:\d{4}|\d{2})|\d{4}\.\d{1,2}\.\d{1,2}")


def _icu_spans(text: str) -> list[ProtectedSpan]:
    """Return the arguments and branches of the ICU messages of a text, in order."""
    spans: list[ProtectedSpan] = []
    done = 0
    for header in _ICU.finditer(text):
        if header.start() >= done:
            message: list[ProtectedSpan] = []
            end = _read_message(text, header, message, _ICU_DEPTH)
            if end is not None:
                spans += message
                done = end
    return spans


def _read_message(text: str, header: re.Match[str], spans: list[ProtectedSpan], depth: int) -> int | None:
    """Add the spans of the message that begins with `header`; return its end, or None if its braces do not match."""
    argument, position = header["name"], header.end()
    spans.append(ProtectedSpan("placeholder", header.start(), position, f"{{{argument}, {header['type']}}}"))
    while branch := _BRANCH.match(text, position):
        value = f"{{{argument}: {branch['selector']}}}"
        spans.append(ProtectedSpan("placeholder", branch.start("selector"), branch.end(), value))
        end = _read_branch(text, branch.end(), spans, depth)
        if end is None:
            return None
        position = end
    while position < len(text) and text[position].isspace():
        position += 1
    return position + 1 if text[position : position + 1] == "}" else None


def _read_branch(text: str, position: int, spans: list[ProtectedSpan], depth: int) -> int | None:
    """Add the spans of messages within a branch; return the position after its closing brace."""
    opened = 0
    while brace := _BRACE.search(text, position):
        position = brace.end()
        if brace.group() == "#":
            spans.append(ProtectedSpan("placeholder", brace.start(), position, "#"))
        elif brace.group() == "}":
            if not opened:
                return position
            opened -= 1
        elif header := _ICU.match(text, brace.start()):
            end = _read_message(text, header, spans, depth - 1) if depth else None
            if end is None:
                return None
            position = end
        else:
            opened += 1
    return None


_BRACE: Final = re.compile(r"[{}]|\#(?!\w)")
