"""Spans of each kind in text of several languages, and the rule that compares them."""

import time
import unicodedata
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postedit.text.protected_spans import (
    Value,
    accelerators,
    broken_values,
    count_values,
    find_glued,
    find_spans,
    unpaired_tags,
)
from postedit.text.span_patterns import KINDS, Kind


def values(text: str, *kinds: Kind) -> list[str]:
    return [span.value for span in find_spans(text, kinds or KINDS)]


def counted(text: str) -> Counter[Value]:
    spans = find_spans(text)
    return count_values([*spans, *unpaired_tags(spans)])


def broken(src: str, mt: str, output: str) -> set[str]:
    return {value.value for value in broken_values(counted(src), counted(mt), counted(output))}


@pytest.mark.parametrize(
    "writings",
    [
        ("1,000.5", "1.000,5", "1 000,5", "1\u00a0000,5", "1\u202f000.5", "1'000.5", "1’000,5", "1000.5", "١٬٠٠٠٫٥"),
        ("1.234", "1,234", "1234", "1 234", "１２３４"),
        ("1,234,567", "1.234.567", "1 234 567", "1234567"),
        ("3.5", "3,5", "٣٫٥"),
        ("-7", "−7"),
        ("50 %", "50%", "%50", "50"),
    ],
)
def test_one_number_has_one_value_however_it_is_written(writings: tuple[str, ...]) -> None:
    assert len({tuple(values(writing, "number")) for writing in writings}) == 1


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("am 12.05.2019 um 9:30 Uhr", ["12", "05", "2019", "9", "30"]),
        ("on 2019-05-12", ["2019", "05", "12"]),
        ("pages 10-20 and 30–40", ["10", "20", "30", "40"]),
        ("version 2.0.1 at 192.168.0.1", ["2.0.1", "192.168.0.1"]),
        ("IPv4 192.168.0.1, MP3 320, SHA256 512 000", ["4", "192.168.0.1", "3", "320", "256", "512000"]),
        ("Windows 10 192.168.0.1", ["10", "192.168.0.1"]),
        ("共5 000个, 약5 000명, 2×5 000, EUR5 000 and 5 000.", ["5000", "5000", "2", "5000", "5000", "5000"]),
        ("the 3rd of 1980s, A4, COVID-19", ["3", "1980", "4", "19"]),
        ("bei -5 °C, Seite-5", ["-5", "5"]),
        ("0.500 is not 500", ["0.500", "500"]),
        ("in 2019 500 people", ["2019", "500"]),
        ("1,2,3 and 5.", ["1", "2", "3", "5"]),
        ("12,34,567 rupees", ["1234567"]),
        ("共5个，第12页", ["5", "12"]),
        ("007", ["007"]),
        ("+49 30 1234, C++11, 5+3", ["+49", "30", "1234", "11", "5", "3"]),
        ("½ Tasse, 10⁻⁵ m², ③", ["½", "10", "⁻⁵", "²", "③"]),
        ("٤2", ["٤2"]),
        (".5 or €.5, end.5", ["0.5", "0.5", "5"]),
    ],
)
def test_numbers(text: str, numbers: list[str]) -> None:
    assert values(text, "number") == numbers


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        ("url", "See https://example.com/a_(b). Or www.x.de/ä!", ["https://example.com/a_(b)", "www.x.de/ä"]),
        ("url", "(ftp://a.b/c?d=e#f), 访问https://a.cn/x。好", ["ftp://a.b/c?d=e#f", "https://a.cn/x"]),
        ("url", "on example.com, not e.g. or i.e.", ["example.com"]),
        ("url", "auf hilfe.example.de/a. Haus.Der Wort", ["hilfe.example.de/a"]),
        ("url", "HTTPS://A.com/b, Example.com, WWW.FOO.COM.", ["HTTPS://A.com/b", "Example.com", "WWW.FOO.COM"]),
        ("url", "localhost:8080/a, x.de:80, a.com.ar", ["localhost:8080/a", "x.de:80", "a.com.ar"]),
        ("url", "https://a.com/ẵb", ["https://a.com/ẵb"]),
        ("email", "an b.c+d@site.co.uk.", ["b.c+d@site.co.uk"]),
        ("path", "Open /usr/local/bin. Not and/or, km/h, 1/2", ["/usr/local/bin"]),
        ("path", r"in C:\Users\Anna\a.txt, ~/x, ../y", [r"C:\Users\Anna\a.txt", "~/x", "../y"]),
        ("path", r"C:\Program Files\App (x86)\a.exe oder D:\x und", [r"C:\Program Files\App (x86)\a.exe", r"D:\x"]),
        ("path", r"auf \\server\share\x", [r"\\server\share\x"]),
        ("path", "src/app/main.py und Brief.docx.", ["src/app/main.py", "Brief.docx"]),
        ("path", "C:/Users/x/a, notes.pdf.bak, A.PDF", ["C:/Users/x/a", "notes.pdf.bak", "A.PDF"]),
        ("placeholder", "{} %{n} 5%{x} {% if a %}", ["{}", "%{n}", "{x}", "{% if a %}"]),
        ("placeholder", "%s %1$d %-5.2f %(a)s %ld %@ 100%%", ["%s", "%1$d", "%-5.2f", "%(a)s", "%ld", "%@", "%%"]),
        ("placeholder", "%'d %,.2f %1$'d", ["%'d", "%,.2f", "%1$'d"]),
        ("placeholder", "%Y-%m-%d, %H:%M %-I %v. %b", ["%Y", "%m", "%d", "%H", "%M", "%-I", "%v", "%b"]),
        ("placeholder", "%Y年%m月%d日 %H时%M分 %p %B월", ["%Y", "%m", "%d", "%H", "%M", "%p", "%B"]),
        ("placeholder", "100%Y 5 %H %-Zeichen 100%,y %, die % v", []),
        ("placeholder", "100% sure, 50%d'accord, 5 % der", []),
        ("placeholder", "50 %-ige, 100\u00a0%ige, 5 %-Anteil, but 5 %d, 5 %-3ld", ["%d", "%-3ld"]),
        ("placeholder", "%1 of %2, %1%2, %1 %2: %L1.", ["%1", "%2", "%1", "%2", "%1", "%2", "%L1"]),
        ("placeholder", "%50, %5,5 %0.5 a%1b 100%1 100 %1", []),
        ("placeholder", "{0} {name:>5} {{ x | y }} ${a.b} #{c}", ["{0}", "{name:>5}", "{{ x | y }}", "${a.b}", "#{c}"]),
        ("placeholder", "$home %PATH% [[x]] a\\n but $5", ["$home", "%PATH%", "[[x]]", "\\n"]),
        ("placeholder", "$(VAR) x$(Out.Dir-1)/a but US$(m) and $(a b) $(5)", ["$(VAR)"]),
        ("placeholder", r"$(^Name) of $(^Company)$\r$\nend, $(^) $(^5)", ["$(^Name)", "$(^Company)", r"$\r", r"$\n"]),
        (
            "placeholder",
            "%#@files@ in %1$#@folders@, $t(common.ok) $t()",
            ["%#@files@", "%1$#@folders@", "$t(common.ok)", "$t"],
        ),
        ("placeholder", r"5$\n 100 $\nx $\n", [r"\n", r"\n", r"$\n"]),
        ("unit", r"5$\n 100 $\nx $\n", ["$", "$"]),
        ("placeholder", "{{{x}}} <%= a.b %> @@N@@ but 5 < 6 % 7", ["{{{x}}}", "<%= a.b %>", "@@N@@"]),
        ("placeholder", r":count of :total, at 9:30 a:b ::c, one\nTwo", [":count", ":total", r"\n"]),
        ("placeholder", "= line.price %} or {% else, but 5%> or 50 %>", ["%}", "{%"]),
        ("placeholder", "a set {of words} stays text", []),
        ("markup", '<b>x</b> <a href="u">y</a><br/>', ["<b>", "</b>", '<a href="u">', "</a>", "<br/>"]),
        (
            "markup",
            "&amp; &#160; &#xA0; <!-- c --> a < b > c, AT&T;",
            ["&amp;", "&#160;", "&#xA0;", "<!-- c -->"],
        ),
        ("markup", "<0>x</0> <12/> <1 /> a <3 > 2, <12345>", ["<0>", "</0>", "<12/>", "<1 />", "<3 >"]),
        ("markup", "&lt;0&gt;x&lt;/0&gt; &lt;1/&gt;", ["&lt;0&gt;", "&lt;/0&gt;", "&lt;1/&gt;"]),
        ("markup", "<?php x ?> <![CDATA[ a ]]>", ["<?php x ?>", "<![CDATA[ a ]]>"]),
        ("markup", "&lt;b&gt;x&lt;/b&gt; **y**", ["&lt;b&gt;", "&lt;/b&gt;", "**", "**"]),
        ("unit", "5 %, $9, 16 GB, 30°C, {0} €, EUR 8, ７％", ["%", "$", "GB", "°C", "€", "EUR", "%"]),
        ("unit", "a %, GB, in 5 cases, $x, 5 days", []),
        (
            "url",
            "وhttps://example.org/ar, ל־example.org, לexample.org",
            ["https://example.org/ar", *["example.org"] * 2],
        ),
        ("path", "بREADME.md, בREADME.md, و/etc/hosts", ["README.md", "README.md", "/etc/hosts"]),
        ("code", "הgetName() וmy_name", ["getName()", "my_name"]),
        ("unit", "٥٠٪, ۵ ﷼, ₾50, ֏5, ៛5, ₭5, ৳5", ["%", "ریال", "₾", "֏", "៛", "₭", "৳"]),
        ("code", "XmlReader and PowerPoint, no USA, McMahon or Q3Plan", ["XmlReader", "PowerPoint"]),
        ("code", "`ls -l`, getValue and max_size, __init__", ["`ls -l`", "getValue", "max_size", "__init__"]),
        ("code", "``abs(t)``, ``a > b`` or ``:ref:`x```", ["``abs(t)``", "``a > b``", "``:ref:`x```"]),
        ("code", "``see `x` here``, ```block``` and ``this'' or ``that''", ["``see `x` here``"]),
        ("code", "call a.run() with --all; file(s), Java, McMahon, x - y", ["a.run()", "--all"]),
        ("code", "使用getValue函数", ["getValue"]),
        ("code", "getValueạ b", []),
        ("hashtag", "#launch #日本 C# #1 a#b", ["#launch", "#日本"]),
        (
            "hashtag",
            "#नेपाल, #ශ්\u200dරී, #ภาษาที่ #می\u200cخواهم #র\u200d্যাব #हिंदी।",
            ["#नेपाल", "#ශ්\u200dරී", "#ภาษาที่", "#می\u200cخواهم", "#র\u200d্যাব", "#हिंदी"],
        ),
        ("mention", "@anna_k at a@b.de", ["@anna_k"]),
        # Sentence punctuation of other scripts, without a space before it.
        ("url", "www.b.de/नेपाल। www.b.de/x؟ b.de/x، b.de/a۔", ["www.b.de/नेपाल", "www.b.de/x", "b.de/x", "b.de/a"]),
        ("email", "a@b.de। c@b.de، d@b.de۔ e@b.de։", ["a@b.de", "c@b.de", "d@b.de", "e@b.de"]),
        ("path", "a.txt। /usr/bin، C:/a/b। c.pdf。", ["a.txt", "/usr/bin", "C:/a/b", "c.pdf"]),
        ("placeholder", "$name। :total، $home؟", ["$name", ":total", "$home"]),
        ("code", "getValue। max_size، run()؛ --all۔", ["getValue", "max_size", "run()", "--all"]),
        ("mention", "@anna। @bob،", ["@anna", "@bob"]),
    ],
)
def test_spans_of_other_kinds(kind: Kind, text: str, found: list[str]) -> None:
    assert values(text, kind) == found


def test_arguments_and_branches_of_icu_messages_are_spans_and_text_is_not() -> None:
    text = "{n, plural, =0 {none} other {# files of {who}, {g, select, a {his} other {their}}}}"
    assert values(text) == [
        "{n, plural}", "{n: =0}", "{n: other}", "#", "{who}", "{g, select}", "{g: a}", "{g: other}"
    ]  # fmt: skip


def test_quoted_braces_are_text_of_icu_messages() -> None:
    assert values("{n, plural, one {'{' #} other {'{x' #}}") == ["{n, plural}", "{n: one}", "#", "{n: other}", "#"]


@pytest.mark.parametrize("text", ["{n, plural, one {a}", "{n, plural, one {a} other b}", "{n, select," * 200])
def test_messages_whose_braces_do_not_match_are_none(text: str) -> None:
    assert not any("plural}" in value or "select}" in value for value in values(text))


def test_the_leftmost_span_wins_and_its_parts_when_it_is_left_out() -> None:
    text = '<a href="https://x.org/1">'
    assert values(text) == [text]
    assert values(text, "url", "number") == ["https://x.org/1"]
    assert values(text, "number") == ["1"]


@pytest.mark.parametrize(
    ("text", "value", "places"),
    [
        ("---all --all x--all", "--all", [1, 14]),
        ("a@@team @team", "@team", [2]),
        ("https://a.example.com/x @example.com", "example.com", [25]),  # not what is within another span
        ("no copy", "--all", []),
    ],
)
def test_copies_glued_to_other_text_are_found(text: str, value: str, places: list[int]) -> None:
    known = count_values(find_spans(value))
    assert [span.start for span in find_glued(text, find_spans(text), known)] == places


@pytest.mark.slow
@given(st.text(alphabet="a5.,-%{}<>/@#$_`\\ é文٤&;:()[]ABsplural", max_size=60))
def test_spans_stand_in_the_text_in_order_without_overlap(text: str) -> None:
    spans = find_spans(text)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert all(left.end <= right.start for left, right in pairwise(spans))


def fastest(work: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        started = time.thread_time()
        work()
        times.append(time.thread_time() - started)
    return min(times)


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "a.",
        "a/",
        "a.b/",
        "a-.",
        "a@",
        "<a ",
        "{",
        "_a",
        "1.",
        "a.b(",
        "~/a.",
        ":a",
        "C:\\A A",
        "&lt;a",
        "5 %",
        "<1 ",
        "%1 ",
        "1 000",
        " 000",
        "a1 ",
        "5 %-i",
    ],
)
def test_four_times_the_text_takes_no_sixteen_times_as_long(unit: str) -> None:
    short, long = (fastest(lambda: find_spans(unit * number)) for number in (2000, 8000))  # noqa: B023
    assert long < 9 * short + 0.05


@pytest.mark.parametrize("start", ["%", "%(a)"])
def test_zeros_after_a_percent_sign_take_no_quadratic_time(start: str) -> None:
    zeros = "0" * 100_000  # they would take many minutes
    assert [span.value for span in find_spans(f"{start}{zeros}")][-1] == zeros


@pytest.mark.slow
def test_many_tags_without_partner_take_no_quadratic_time() -> None:
    short, long = ([*find_spans("<a>" * number), *find_spans("</b>" * number)] for number in (2000, 8000))
    assert fastest(lambda: unpaired_tags(long)) < 9 * fastest(lambda: unpaired_tags(short)) + 0.05


@pytest.mark.parametrize(
    ("src", "mt", "output", "faults"),
    [
        ("5 {0}", "5 {0}", "{0} 5", set()),
        ("5", "5", "", {"5"}),
        ("5", "5", "5 5", {"5"}),
        ("5", "5", "6", {"5", "6"}),
        ("6", "5", "6", set()),
        ("6", "5", "5 6", set()),
        ("6", "5", "7", {"5", "7"}),
        ("5", "", "5", set()),
        ("5", "5 5", "5", set()),
        ("1,5", "1.5", "1,5", set()),
        ("two", "2", "zwei", {"2"}),
        ("two of 7", "2 von 8", "zwei von 7", {"2", "8"}),
        ("5,000", "5   000", "5000", set()),
        ("5.2 or 1.3", "5 . 2 oder 1 . 3", "5,2 oder 1,3", set()),
        ("5.2", "5 . 2", "5", {"2"}),
        ("5 %", "5 %", "5 Prozent", {"%"}),
        ("the Q3Plan", "der PlanQ3", "der Plan", {"3"}),
        ("5 percent", "5 %", "5 Prozent", set()),
        (
            "&lt;b&gt;x&lt;/b&gt;",
            "&lt;b&gt;x&lt;/b&gt;",
            "&lt;/b&gt;x&lt;b&gt;",
            {"unpaired &lt;b&gt;", "unpaired &lt;/b&gt;"},
        ),
        ("x", "x %s", "x", set()),
        ("x", "x", "x %s", {"%s"}),
        ("%d x", "%1$d x", "x", {"%1$d"}),
        ("%d x", "%1$d x", "%1$d x %d", {"%d"}),
        ("%d x", "%1$d x", "%d x", set()),
        ("{a} x", "{x} {y}", "{x}", set()),
        ("{a} {b}", "{x} {b}", "{a}", {"{b}"}),
        ("<b>x</b>", "<b>x</b>", "x<b></b>", set()),
        ("<b>x</b>", "<b>x</b>", "</b>x<b>", {"unpaired <b>", "unpaired </b>"}),
        ("<0>x</0>", "<0>x</0>", "</0>x<0>", {"unpaired <0>", "unpaired </0>"}),
        ("<br>x", "<br>x", "x<br>", set()),
        (
            "{n, plural, other {a}}",
            "{n, plural, other {a}}",
            "{n, plural, other {b}",
            {"{n, plural}", "{n: other}", "{b}"},
        ),
    ],
)
def test_an_output_is_never_further_from_the_source_than_mt(src: str, mt: str, output: str, faults: set[str]) -> None:
    assert broken(src, mt, output) == faults


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("&File", [0]),
        ("E&xit", [1]),
        ("文件(&F)...", [3]),
        ("&Файл &1", [0, 6]),
        ("_Datei Save _As __init__", [0, 12]),
        ("~Datei E~xit ~/a ~5 ~~b", [0, 8]),
        ("Save && exit, A & B, &amp; &#38; & 5_000 a_", []),
        ("Q&A R&D AT&T PDF&s Save &As", [16, 24]),
        ("_filme und bilder_ a_b_c _过去_的_文件_夹 _a\nb_c", [36, 40]),
    ],
)
def test_marks_of_accelerators(text: str, places: list[int]) -> None:
    assert [mark.start for mark in accelerators(text)] == places


@pytest.mark.slow
@given(st.lists(st.sampled_from(["5", "6", "{0}", "%s", "<b>", "</b>", "a@b.de"]), max_size=6), st.data())
def test_mt_itself_never_breaks_the_rule(src: list[str], data: st.DataObject) -> None:
    mt = data.draw(st.permutations([*src, "7"]))
    assert not broken(" ".join(src), " ".join(mt), " ".join(mt))


def test_a_path_ends_before_an_address() -> None:
    found = [span.value for span in find_spans("C:\\Temp\\log.txt WWW.Test.COM/y and C:/Users/x Y/z")]
    assert found == ["C:\\Temp\\log.txt", "WWW.Test.COM/y", "C:/Users/x"]


def test_all_currency_signs_are_protected() -> None:
    signs = [sign for sign in map(chr, range(0x10000)) if unicodedata.category(sign) == "Sc"]
    assert [sign for sign in signs if not values(f"5 {sign}", "unit")] == []
