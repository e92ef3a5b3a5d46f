"""Regular expressions for protected spans, by kind.

Repetitions are bounded where a match may begin at each of them; otherwise the time would be quadratic in their number.
"""

import re
from functools import cache
from typing import Final, Literal, get_args

from postedit.core.scripts import UNSPACED
from postedit.text.words import JOINERS, MARKS

Kind = Literal["number", "unit", "url", "email", "path", "placeholder", "markup", "code", "hashtag", "mention"]
"""Kind of a protected span.

number: digits of any script, with a sign; ² and ½; unit: percent and currency signs, currency codes, and technical
units beside a number; url: with a scheme, www., or a common top-level domain; email; path: Unix and Windows paths, and
file names with a known extension; placeholder: printf (%s, %1$s, %'d, %(name)s), dates (%H), Qt (%1, %L1), {0}, {name},
{{x}}, {{{x}}}, ${x}, $x, $(x), $(^x), %x%, :x, [[x]], <%= x %>, halves of these ({%, %>), @@x@@, \\n, ICU messages;
markup: tags, also escaped and numbered ones, comments, entities, **; code: `backticks`, ``double ones`` of RST,
camelCase, PascalCase and snake_case names, calls(), --options; hashtag; mention: @name.
"""

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

_NAME: Final = "A-Za-z0-9_"  # \w would include the letters of scripts without spaces between words
_BEFORE: Final = _NAME + (  # letters of scripts with spaces; not their commas, stops and the like
    "\u00c0-\u037d\u037f-\u0386\u0388-\u0559\u0560-\u0588\u0660-\u0669\u06f0-\u06f9\u0700-\u0963\u0966-\u0df3"
    "\u0df5-\u0dff\u10a0-\u10ff\u1e00-\u1fff\ua720-\ua7ff\ufb00-\ufb06\uff21-\uff3a\uff41-\uff5a"
)
_WORD: Final = _BEFORE + (  # with Hebrew and Arabic letters, which stand before a name as short words: בREADME.md
    "\u058a-\u060b\u060d-\u061a\u0620-\u065f\u066e-\u06d3\u06d5-\u06ef\u06fa-\u06ff"
)
_EXTENSIONS: Final = (
    "7z|avi|bat|bmp|cfg|class|conf|cpp|css|csv|dll|docx?|exe|gif|gz|html?|ico|ini|jar|java|jpe?g|js|json|log|md|mov|mp3|"
    "mp4|msi|odt|pdf|php|png|po|pptx?|properties|psd|py|rar|rb|rtf|sh|sql|svg|tar|tiff?|toml|ts|tsv|txt|wav|webp|xhtml|"
    "xliff?|xlsx?|xml|ya?ml|zip"
)
_DOMAINS: Final = (  # without those that are common words, such as it, in, is, at, be, no, to
    "com|org|net|edu|gov|info|io|dev|app|ai|eu|de|fr|es|nl|pl|cz|ch|uk|ru|jp|cn|kr|br|ca|au|dk|fi|hu|ro|lv|ee|lt|tr|ua"
)
_CURRENCIES: Final = (
    "$\u00a2-\u00a5\u058f\u060b\u07fe-\u07ff\u09f2-\u09f3\u09fb\u0af1\u0bf9\u0e3f\u17db\u20a0-\u20cf\ua838\ufdfc\ufe69"
    "\uff04\uffe0-\uffe1\uffe5-\uffe6"
)
_PERCENT: Final = "%％‰٪؉"
_CODES: Final = "USD|EUR|GBP|JPY|CHF|CNY|RUB|INR"
_UNITS: Final = "[KMGTP]i?B|kB|[KMG]bit|[kMG]bps|[kMG]?Hz|px|dpi|ppi|[mµμn]s|[nµμmck]m|[kmµμ]g|m[lL]|dB|kW|kWh|mAh"
_ADDRESS: Final = rf"{_WORD}.~:/?\#@!$&'()*+,;=%-"
_MORE: Final = r"(?:\.[a-z0-9]{1,10}){0,3}"  # example.com.ar, notes.pdf.bak
_LETTER: Final = rf"[^\W\d{UNSPACED}가-힣]"  # of scripts in which words are separated from a number after them
_SEGMENT: Final = r"[^\s\\/:*?\"<>|]"  # characters of a folder's name under Windows

PRINTF_FORMAT: Final = r"[-+\#0',]*+(?:\d++|\*)?(?:\.(?:\d+|\*))?(?:hh?|ll?|[Lqjzt])?[diouxXeEfFgGaAcspn@]"
"""A regular expression for what follows % or %1$ in a placeholder of printf."""

_PRINTF: Final = rf"%(?:\d+\$)?{PRINTF_FORMAT}"

_PATTERNS: Final[tuple[tuple[str, Kind, tuple[str, ...]], ...]] = (
    (
        "markup",
        "markup",
        (
            r"<!--.{0,2000}?-->|<!\[CDATA\[.{0,2000}?\]\]>|<\?.{1,500}?\?>",
            r"</?[A-Za-z][\w:.-]*(?:\s[^<>]*)?/?>|</?\d{1,4}\s*/?>",
            r"&lt;/?(?:[A-Za-z](?:(?!&[lg]t;)[^<>]){0,500}|\d{1,4}\s*/?)&gt;",
            r"&(?:\#\d{1,7}|\#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});",
            r"\*\*",
        ),
    ),
    ("ticks", "code", (r"(?<!`)`(?!`)[^`\n]+`(?!`)", r"(?<!`)``(?![`\s])(?:[^`\n]|`(?!`))+`?(?<!\s)``(?!`)")),
    (
        "url",
        "url",
        (
            rf"(?<![{_BEFORE}])(?i:(?:https?|ftps?|file|ssh|git|wss?)://|www\.(?=[a-z0-9]))[{_ADDRESS}\[\]]+",
            rf"(?<![{_BEFORE}@/-])(?:(?:[A-Za-z0-9-]+\.){{1,20}}(?:{_DOMAINS}|{_DOMAINS.upper()}){_MORE}(?![{_WORD}-])|"
            rf"localhost(?=[:/]))(?::\d{{1,5}})?(?:/[{_ADDRESS}]*)?",
        ),
    ),
    ("email", "email", (rf"(?<![{_BEFORE}])[{_NAME}.%+-]{{1,64}}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?![{_WORD}])",)),
    (
        "placeholder",
        "placeholder",
        (
            r"\{\{\{[^{}]{1,200}\}\}\}|\{\{[^{}]{1,200}\}\}|<%[^<>%]{1,200}%>|@@\w{1,100}@@|\[\[[^\[\]]{1,200}\]\]",
            r"\{\}|\{%.{1,200}?%\}",
            r"%(?:\d+\$)?\#@\w{1,100}@|\$t\([^()]{1,200}\)",  # plurals of Apple; texts within texts of i18next
            r"(?:[$\#]|(?<!\d)%)?\{\s*[\w.$\#@/!:|+<>=^*()'\"%\[\]-]{1,200}\s*\}",
            r"\{\s*[\w.-]+\s*,\s*(?:number|date|time|spellout|ordinal|duration|list)\b[^{}]{0,200}\}",
            rf"%\(\w+\)[-+\#0]*+\d*(?:\.\d+)?[a-zA-Z]|%%|%[A-Za-z_](?:{_LETTER}|\d)+%",
            rf"(?<!\d)(?<!\d\s){_PRINTF}|(?<=\d\s){_PRINTF}(?![^\W\d_])",  # not in German "50 %-ige"
            # Such as %H:%M and %Y年%m月 of dates, %m of glibc and %v of Go.
            rf"(?<!\d)(?<!\d\s)%[-_^]?[A-Za-z](?!(?!_){_LETTER}|\d)",
            # Only one digit: %50 is a percentage in Turkish. "50 %" is one in any language, not "1 %" in "%1 %2".
            rf"(?:(?<![{_WORD}])(?<!\d\s)|(?<=[%L][1-9])|(?<=[%L][1-9]\s))%L?[1-9](?!\d|[.,]\d)",
            rf"(?<![{_WORD}$])\$[A-Za-z_][{_NAME}]*(?![{_WORD}])",
            r"(?:(?<!\d)(?<!\d\s)\$)?\\[nrt]",  # $\n in NSIS, but not the currency of "5 $"
            rf"(?<![{_WORD}$])\$\(\^?[A-Za-z_][{_NAME}.:-]{{0,100}}\)",
            rf"(?<![{_WORD}:]):[a-z_][{_NAME}]*:?(?![{_WORD}:])",
            r"[{<]%|(?<!\d)(?<!\d\s)%[}>]",
        ),
    ),
    (
        "path",
        "path",
        (
            rf"(?<![{_BEFORE}])[A-Za-z]:\\(?:{_SEGMENT}+(?: [A-Z(]{_SEGMENT}*){{0,4}}\\)*{_SEGMENT}*",
            rf"(?<![{_BEFORE}])[A-Za-z]:/(?:{_SEGMENT}+[\\/])*{_SEGMENT}*",
            rf"\\\\[{_NAME}.-]+(?:\\{_SEGMENT}+)+",
            rf"(?<![{_BEFORE}/:~])(?:/(?=[{_NAME}.@+~-]+/)|(?:~|\.{{1,2}})/)[{_NAME}.@+~-]+(?:/[{_NAME}.@+~-]*)*(?![{_WORD}])",
            rf"(?<![{_BEFORE}/-])\.?(?:[{_NAME}.-]{{1,255}}/){{0,30}}[{_NAME}-]+(?:\.[{_NAME}-]+){{0,20}}"
            rf"\.(?:{_EXTENSIONS}|{_EXTENSIONS.upper()}){_MORE}(?![{_WORD}])",
        ),
    ),
    (
        "code",
        "code",
        (
            rf"(?<![{_BEFORE}])(?:[A-Za-z_][{_NAME}]*\.){{0,20}}[A-Za-z_][{_NAME}]*\(\)(?![{_WORD}])",
            rf"(?<![{_BEFORE}])_*[A-Za-z][A-Za-z0-9]*(?:_+[A-Za-z0-9]+)+_*(?![{_WORD}])",
            rf"(?<![{_BEFORE}])_+[A-Za-z][{_NAME}]*(?![{_WORD}])",
            rf"(?<![{_BEFORE}])[a-z]+[0-9]*[A-Z][A-Za-z0-9]*(?![{_WORD}])",
            rf"(?<![{_BEFORE}])(?!Ma?c[A-Z])(?:[A-Z][a-z]+){{2,}}[A-Z]*(?![{_WORD}])",
            rf"(?<![{_BEFORE}-])--[A-Za-z][{_NAME}-]*(?![{_WORD}])",
        ),
    ),
    ("hashtag", "hashtag", (rf"(?<![{_WORD}])\#(?=\w*[^\W\d_])(?:[\w{MARKS}]|[{JOINERS}](?=[\w{MARKS}]))+",)),
    ("mention", "mention", (rf"(?<![{_WORD}@])@[A-Za-z_][{_NAME}]+(?![{_WORD}])",)),
    (
        "unit",
        "unit",
        (
            r"(?:(?<=[\d}])|(?<=[\d}]\s)|(?<=[\d}]\s\s)|(?<=[\d}]\s\s\s))"
            rf"(?:[{_PERCENT}{_CURRENCIES}]|°[CF]?|(?:{_UNITS}|{_CODES})(?![{_WORD}]))",
            rf"(?:[{_PERCENT}{_CURRENCIES}]|(?<![{_WORD}])(?:{_CODES}))(?=\s{{0,3}}\d)",
        ),
    ),
    ("raised", "number", (r"[⁺⁻₊₋]?[⁰¹²³⁴-⁹₀-₉]+|[¼-¾⅐-⅞↉①-⑳]",)),
    (
        "number",
        "number",
        (
            r"(?:(?<![\w.,%)+−-])[-−+])?(?:"
            rf"(?:(?<!{_LETTER})|(?<={_CODES}))\d{{1,3}}"  # not in "MP3 320"
            r"(?P<gap>[ \u00a0\u2009\u202f])\d{3}(?:(?P=gap)\d{3})*(?!\d)(?:[.,٫]\d+)?(?!\d|\.\d)|"
            rf"(?:(?<![^\s(\[{_CURRENCIES}+−-])[.,])?\d+(?:[.,'’٫٬．，]\d+)*)",
        ),
    ),
)

HINT: Final = re.compile(
    r"[\d¹²³⁰-₉¼-¾⅐-⅞↉①-⑳@\#%$&<{`\\_/]|\[\[|[a-z0-9][A-Z]|[A-Za-z]\.[A-Za-z]|\(\)|--[A-Za-z]|:[a-z]|\*\*"
)
"""Matches in every text that has a protected span, and is faster than `pattern_of` for all kinds."""

KIND_OF: Final[dict[str, Kind]] = {name: kind for name, kind, _ in _PATTERNS}
"""The kind of a span, by the name of the outermost group that matches it."""


@cache
def pattern_of(kinds: frozenset[Kind]) -> re.Pattern[str]:
    """Return the expression that finds spans of these kinds, with a named group for each entry of `KIND_OF`."""
    return re.compile("|".join(f"(?P<{name}>{'|'.join(forms)})" for name, kind, forms in _PATTERNS if kind in kinds))
