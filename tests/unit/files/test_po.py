"""PO of gettext: what is read, and what an edit leaves in the file."""

import io
from contextlib import suppress
from pathlib import Path
from time import thread_time

import polib
import pytest
from code_tools import differences, set_back
from file_tools import patched, units_of, written

from postedit.core.errors import DataError
from postedit.files.length_limits import has_room, longest_text
from postedit.files.options import UnitState
from postedit.files.po import Po, _codec
from postedit.files.text_alignment import TextChange, TextSpan
from postedit.files.units import NewTarget, Unit

FORMAT = Po()
HEAD = 'msgid ""\nmsgstr ""\n"Language: de\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n'


def units(body: str) -> list[Unit]:
    return units_of(FORMAT, (HEAD + body).encode())


def target(strings: str) -> Unit:
    (unit,) = units(f'msgid "a"\nmsgstr {strings}\n')
    return unit


def text(strings: str) -> str | None:
    unit = target(strings)
    return None if unit.target is None else unit.target.text


def edited(body: str, *targets: str | None, note: str = "", keep_former: bool = False) -> str:
    """Return the body after new targets were written into its units; None leaves a unit as it is."""
    data = patched(FORMAT, (HEAD + body).encode(), *targets, note=note, keep_former=keep_former)
    polib.pofile(data.decode())  # can read it
    return data.decode().removeprefix(HEAD)


@pytest.mark.parametrize(
    ("name", "head", "expected"),
    [
        ("a.po", b"", True),
        ("a.POT", b"# x", True),
        ("a.pot", b"\xd0\xcf\x11\xe0\0", False),
        ("a.txt", b'msgid ""', False),
        ("a.po", b"\xef\xbb\xbf\n<!DOCTYPE x>", False),
        ("a.po", b"<<<<<<< HEAD\n", True),
    ],
)
def test_a_catalogue_is_recognised_by_its_name(name: str, head: bytes, expected: bool) -> None:
    assert FORMAT.recognises(head, Path(name)) == expected


def test_a_unit_has_context_notes_and_languages() -> None:
    (unit,) = units('# by hand\n#. for translators\n#: a.c:1\nmsgctxt "menu"\nmsgid "Open"\nmsgstr "Öffnen"\n')
    assert (unit.id, unit.languages) == ("menu|Open", ("", "de"))
    assert unit.notes == ("by hand", "for translators")
    assert unit.target is not None
    assert (unit.source.text, unit.target.text) == ("Open", "Öffnen")


@pytest.mark.parametrize(
    ("header", "languages"),
    [
        ("X-Language: de_DE\\n", ("", "de_DE")),
        ("X-Language: de_DE\\nLanguage: fr\\nX-Source-Language: en\\n", ("en", "fr")),
        ("Language: \\nX-Language: it\\n", ("", "it")),
    ],
)
def test_qt_names_the_languages_of_a_catalogue_in_its_own_way(header: str, languages: tuple[str, str]) -> None:
    data = f'msgid ""\nmsgstr "{header}"\n\nmsgid "a"\nmsgstr "b"\n'
    assert [unit.languages for unit in units_of(FORMAT, data.encode())] == [languages]


def test_the_only_form_of_a_language_is_that_of_the_plural() -> None:
    (unit,) = units('msgid "One file"\nmsgid_plural "%d files"\nmsgstr[0] "%d 个文件"\n')
    assert unit.source.text == "%d files"


def test_each_plural_form_is_a_unit() -> None:
    found = units('msgid "a file"\nmsgid_plural "%d files"\nmsgstr[0] "eine"\nmsgstr[1] "%d"\nmsgstr[2] ""\n')
    assert [(unit.id, unit.source.text, unit.target and unit.target.text) for unit in found] == [
        ("a file[0]", "a file", "eine"),
        ("a file[1]", "%d files", "%d"),
        ("a file[2]", "%d files", None),
    ]


@pytest.mark.parametrize(
    ("flags", "translation", "state", "origin"),
    [
        ("", "b", UnitState.FINAL, None),
        ("#, c-format\n", "b", UnitState.FINAL, None),
        ("#, fuzzy\n", "b", UnitState.INITIAL, "fuzzy"),
        ("#, c-format, fuzzy\n", "b", UnitState.INITIAL, "fuzzy"),
        ('# postedit: former: "c"\n#, fuzzy\n', "b", UnitState.INITIAL, "machine"),
        ("", "", UnitState.INITIAL, None),
    ],
)
def test_the_state_is_that_of_the_flag(flags: str, translation: str, state: UnitState, origin: str | None) -> None:
    (unit,) = units(f'{flags}msgid "a"\nmsgstr "{translation}"\n')
    assert (unit.state, unit.origin) == (state, origin)


@pytest.mark.parametrize(
    ("strings", "expected"),
    [
        ('"a\\tb\\n"', "a\tb\n"),
        ('"\\"a\\\\b\\""', '"a\\b"'),
        ('"\\303\\251\\x41\\0"', "éA\0"),
        ('"\\351"', "é"),  # no UTF-8
        ('"\\501"', "A"),  # no byte; gettext takes the last eight bits
        ('""\n"one "\n"two"', "one two"),
        ('"a" "b"', "ab"),
        ('"a"\n\n  "b"', "ab"),
        ('"%s <b>fett</b> {0}"', "%s fett {0}"),
        ('""\n""', None),
    ],
)
def test_strings_are_read_with_their_escapes_and_written_as_they_were(strings: str, expected: str | None) -> None:
    assert text(strings) == expected
    unit = target(strings)
    assert unit.target is None or unit.target.written() == strings[1:-1]


def test_obsolete_entries_and_their_comments_are_left_alone() -> None:
    found = units(
        '# x\n#, fuzzy\n#~ msgid "old"\n#~ msgstr "alt"\n\nmsgid "a"\nmsgstr "b"\n#~ msgid "c"\n#~ msgstr "d"\n'
    )
    assert [(unit.id, unit.state, unit.notes) for unit in found] == [("a", UnitState.FINAL, ())]


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("msgid a\n", "line 6: is not a line"),
        ('msgid "a"b"\n', "line 6: is not a line"),
        ('msgid "a" msgstr "b"\n', "line 6: .* msgid_plural and msgstr, each in a line of its own"),
        ('# x\n"a"\n', "line 7: is not a line"),
        ('msgid "a"\nmsgid "b"\n', "line 7: msgid is already"),
        ('msgid "a"\nmsgstr "b"\nmsgstr "b"\n', "line 8: msgstr is already"),
        (f'msgid "a"\nmsgstr[{"1" * 5000}] "b"\n', "line 7: is not a line"),
    ],
)
def test_what_is_no_catalogue_is_refused_with_its_line(body: str, fault: str) -> None:
    with pytest.raises(DataError, match=fault):
        units(body)


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b'msgid "a"\nmsgstr "\xfc"\n', "line 2, byte 9: is not utf-8"),
        (b'msgid ""\nmsgstr "Content-Type: text/plain; charset=klingon\\n"\n', 'unknown encoding "klingon"'),
        ('msgid ""'.encode("utf-16"), "is in UTF-16"),
        *[
            (f'msgid ""\nmsgstr "Content-Type: text/plain; charset={name}\\n"\n'.encode(), f'"{name}", which PO cannot')
            for name in ("rot13", "zlib", "idna", "utf-7", "utf-16", "unicode_escape", "cp037", "undefined")
        ],
    ],
)
def test_encodings_that_cannot_be_read_are_refused(data: bytes, fault: str) -> None:
    with pytest.raises(DataError, match=fault):
        units_of(FORMAT, data)


@pytest.mark.parametrize("codec", ["iso-8859-1", "windows-1252", "shift_jis", "gb18030", "utf-8", "utf-8-sig"])
def test_the_encoding_and_line_ends_of_the_file_are_kept(codec: str) -> None:
    old, new = ("süß", "größer") if codec not in ("shift_jis", "gb18030") else ("表示", "能")  # with "\\" in two bytes
    body = (
        HEAD.replace("UTF-8", codec.removesuffix("-sig"))
        + f'msgid "{old[0]}"\nmsgstr "{old}"\n\nmsgid "c"\nmsgstr ""\n'
    )
    data = body.replace("\n", "\r\n").encode(codec)
    after = patched(FORMAT, data, new, None).decode(codec)
    assert after == body.replace("\n", "\r\n").replace(f'msgid "{old[0]}"', f'#, fuzzy\r\nmsgid "{old[0]}"').replace(
        f'"{old}"', f'"{new}"'
    )


@pytest.mark.parametrize(
    "body",
    [
        '#, c-format\rmsgid "old"\rmsgstr "alt"\r',
        '# a\r\r# b\rmsgid "one"\rmsgstr "eins"\r\rmsgid ""\r"old"\rmsgstr ""\r"alt"\r',
        'msgid "old"\r\rmsgstr "alt"\rmsgid "one"\nmsgstr "eins"\r\n# c\rmsgctxt "x"\rmsgid "y"\rmsgstr "z"\r',
        '#~ msgid "gone"\r#~ msgstr "fort"\r\rmsgid "old"\rmsgstr "alt"\r',
        '# a\rb\rmsgid "old"\rmsgstr "alt"\r',  # the first one is in a comment
    ],
)
@pytest.mark.parametrize("head", [HEAD, HEAD.replace("\n", "\r"), f"# x\r{HEAD}".replace("\n", "\r")])
def test_cr_alone_ends_lines(head: str, body: str) -> None:
    data = (head + body).encode()
    found = units_of(FORMAT, data)
    at = [unit.id for unit in found].index("old")
    assert (len(found), found[at].languages) == (body.count("msgstr") - body.count("#~ msgstr"), ("", "de"))
    targets = ["neu" if unit.id == "old" else None for unit in found]
    after = patched(FORMAT, data, *targets).decode()
    place = "#, fuzzy, c-format" if "c-format" in body else "#, fuzzy\rmsgid"
    former = "#, c-format" if "c-format" in body else "msgid"
    assert after.replace('"neu"', '"alt"').replace(place, former, 1) == head + body


def test_references_to_no_character_stay() -> None:
    body = 'msgid "a"\nmsgstr "&#99999999999; alt &lt; &amp;lt; &#0;"\n'
    (unit,) = units(body)
    assert unit.target is not None
    new = unit.target.text.replace("alt", "neu")
    assert set_back(unit.target, new, differences(unit.target.text, new), FORMAT.escape(unit)) == (
        "&#99999999999; neu &lt; &amp;lt; &#0;"
    )


@pytest.mark.parametrize("string", ["a\rb", "a\r#b", "a\rdomain b", 'a \\"\r# b'])
def test_cr_within_a_string_is_a_character(string: str) -> None:
    assert text(f'"{string}"') == string.replace('\\"', '"')


@pytest.mark.parametrize("comment", ["one\rdomains are listed here", "one\rmsgid is the key"])
def test_cr_within_a_comment_is_a_character(comment: str) -> None:
    (unit,) = units(f'#. {comment}\nmsgid "a"\nmsgstr "b"\n')
    assert unit.id == "a"


@pytest.mark.parametrize("row", ["\r" * 200_000 + "x", "# a" + "\r" * 200_000, '"a' + "\r#" * 100_000])
def test_many_cr_are_read_in_linear_time(row: str) -> None:
    start = thread_time()
    with suppress(DataError):
        units(f'msgid "a"\nmsgstr "b"\n{row}')
    assert thread_time() - start < 5.0


def test_what_the_encoding_lacks_cannot_be_written() -> None:
    data = (HEAD.replace("UTF-8", "iso-8859-1") + 'msgid "a"\nmsgstr "b"\n').encode()
    write = FORMAT.escape(units_of(FORMAT, data)[0])
    assert [write(one) for one in 'é"\\\n\t'] == ["é", '\\"', "\\\\", "\\n", "\\t"]
    for character in "語\x01":
        with pytest.raises(ValueError, match=r"encode|U\+0001"):
            write(character)


def test_what_does_not_change_keeps_its_lines() -> None:
    body = 'msgid "a"\nmsgstr ""\n"one two "\n"three\\n"\n"four"\n'
    unit = units(body)[0]
    assert unit.target is not None
    changes = [TextChange(TextSpan(0, 3), TextSpan(0, 3)), TextChange(TextSpan(14, 18), TextSpan(14, 18))]
    new = set_back(unit.target, "One two three\nfive", changes, FORMAT.escape(unit))
    assert isinstance(new, str)
    assert edited(body, new) == '#, fuzzy\nmsgid "a"\nmsgstr ""\n"One two "\n"three\\n"\n"five"\n'


@pytest.mark.parametrize(
    ("strings", "new", "expected"),
    [
        ('"b &amp; c"', "b & c & d", "b &amp; c &amp; d"),
        ('"a &lt; b"', "1 < a < b", "1 &lt; a &lt; b"),
        ('"b &"\n" c"', "b & c & d", 'b &"\n" c & d'),
        ('"b &am"\n"p; c"', "b & c & d", 'b &am"\n"p; c & d'),
    ],
)
def test_a_new_character_is_written_like_the_same_one_in_the_text(strings: str, new: str, expected: str) -> None:
    unit = target(strings)
    assert unit.target is not None
    assert set_back(unit.target, new, differences(unit.target.text, new), FORMAT.escape(unit)) == expected


@pytest.mark.parametrize(
    ("comments", "after"),
    [
        ("", '# postedit: former: "b"\n# postedit: why\n#, fuzzy\n'),
        ("#, fuzzy\n", '# postedit: former: "b"\n# postedit: why\n#, fuzzy\n'),
        ("#,\n", '# postedit: former: "b"\n# postedit: why\n#, fuzzy\n'),
        ("# x\n#, c-format\n", '# x\n# postedit: former: "b"\n# postedit: why\n#, fuzzy, c-format\n'),
        (
            '#. y\n#: a.c:1\n#| msgid "z"\n',
            '# postedit: former: "b"\n# postedit: why\n#. y\n#: a.c:1\n#, fuzzy\n#| msgid "z"\n',
        ),
    ],
)
def test_an_edit_adds_the_flag_and_comments_in_their_places(comments: str, after: str) -> None:
    body = '{}msgid "a"\nmsgstr "{}"\n'
    assert edited(body.format(comments, "b"), "neu", note="why", keep_former=True) == body.format(after, "neu")


@pytest.mark.parametrize(
    "strings", ['"said \\"Bob\\""\n" and went."', '"a \\"b\\""', '"C:\\\\"', '"a "\n"\\" b "', '""\n"\\""\n"c\\\\"']
)
def test_a_former_target_is_in_one_line_that_gettext_ends(strings: str) -> None:
    body = f'msgid "a"\nmsgstr {strings}\n'
    was = units(body)[0].target
    after = edited(body, "neu", note="in C:\\", keep_former=True)
    former, note, rest = after.split("\n", 2)
    assert former.startswith('# postedit: former: "')
    assert not former.endswith("\\")
    assert note == "# postedit: in C:\\ "
    assert rest.startswith('#, fuzzy\nmsgid "a"\nmsgstr "')
    (unit,) = units(after)
    assert was is not None
    assert [one.target.text for one in unit.candidates] == [was.text]


def test_the_id_of_a_unit_does_not_depend_on_line_breaks() -> None:
    (one,) = units('msgid ""\n"said \\"Bob\\""\n" and went."\nmsgstr "b"\n')
    (other,) = units('msgid "said \\"Bob\\" and went."\nmsgstr "b"\n')
    assert one.id == other.id


@pytest.mark.parametrize(
    "head",
    [
        "# Content-Type: text/plain; charset=ASCII was wrong\n"
        'msgid ""\nmsgstr "Content-Type: text/plain; charset=latin-1\\n"\n',
        'msgid ""\nmsgstr ""\n"Content-Type: text/plain; "\n"charset=ISO-8859-1\\n"\n',
    ],
)
def test_the_encoding_is_that_of_the_strings_of_the_header(head: str) -> None:
    (unit,) = units_of(FORMAT, (head + '\nmsgid "a"\nmsgstr "für"\n').encode("latin-1"))
    assert unit.target is not None
    assert unit.target.text == "für"


QUOTE = '"Send Content-Type: text/html; charset=ISO-8859-1"'


@pytest.mark.parametrize(
    "entries",
    [
        'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid {}\nmsgstr "b"\n',
        'msgid ""\nmsgstr ""\n"Language: de\\n"\n\nmsgid ""\n{}\nmsgstr "b"\n',
        'msgid {}\nmsgstr "b"\n',
        'msgctxt "x"\nmsgid ""\nmsgstr {}\n',
        'msgctxt ""\n"x"\n\nmsgid ""\nmsgstr {}\n',
    ],
)
def test_a_message_that_quotes_a_header_does_not_name_the_encoding(entries: str) -> None:
    data = (entries.format(QUOTE) + '\nmsgid "a"\nmsgstr "für"\n').encode()
    last = units_of(FORMAT, data)[-1]
    assert last.target is not None
    assert last.target.text == "für"


@pytest.mark.parametrize(
    "head",
    [
        'msgid ""\n""\nmsgstr ""\n"Content-Type: text/plain; "\n"char"\n"set=ISO-8859-1\\n"\n',
        '\ufeffmsgid ""\r\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1\\n"\r\n',
        f'msgctxt "x"\nmsgid "y"\nmsgstr {QUOTE.replace("8859-1", "8859-2")}\n\n'
        'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1\\n"\n',
    ],
)
def test_the_header_names_the_encoding_wherever_it_stands(head: str) -> None:
    mark = b"\xef\xbb\xbf" if head[0] == "\ufeff" else b""
    data = mark + (head.lstrip("\ufeff") + '\nmsgid "a"\nmsgstr "für"\n').encode("latin-1")
    last = units_of(FORMAT, data)[-1]
    assert last.target is not None
    assert last.target.text == "für"


@pytest.mark.parametrize("start", ['msgid ""\nmsgstr ""\n', 'msgid ""\n', 'msgctxt ""\n', ""])
def test_strings_without_an_encoding_are_read_once(start: str) -> None:
    data = (start + '"Content-Type: x;"\n' * 3600).encode()
    began = thread_time()
    assert _codec(io.BytesIO(data), Path("a.po")) == "utf-8"
    assert thread_time() - began < 0.5  # seconds; 4 where each line was searched to the end


@pytest.mark.parametrize(("flags", "expected"), [("", ""), ("#, fuzzy\n", "#, fuzzy\n")])
def test_a_person_who_mends_one_form_changes_no_flag(flags: str, expected: str) -> None:
    body = 'msgid "a"\nmsgid_plural "b"\nmsgstr[0] "c"\nmsgstr[1] "d"\n'
    _, second = units_of(FORMAT, (HEAD + flags + body).encode())
    changed = [(second, NewTarget("e", keep_former=False, author="anna"))]
    after = written(FORMAT, (HEAD + flags + body).encode(), changed).decode()
    assert after == HEAD + expected + body.replace('"d"', '"e"')


@pytest.mark.parametrize("empty", ['""', '""\n""'])
def test_an_entry_with_a_form_that_is_missing_is_not_finished(empty: str) -> None:
    body = f'msgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\nmsgstr[1] {empty}\n'
    for flags in ("", "#, fuzzy\n"):
        first, _ = units_of(FORMAT, (HEAD + flags + body).encode())
        changed = [(first, NewTarget("eins", keep_former=False, author="anna"))]
        after = written(FORMAT, (HEAD + flags + body).encode(), changed).decode()
        assert after == HEAD + "#, fuzzy\n" + body.replace('[0] ""', '[0] "eins"')


def test_a_note_says_which_form_it_is_of() -> None:
    body = 'msgid "a"\nmsgid_plural "b"\nmsgstr[0] "c"\nmsgstr[1] "d"\n'
    assert edited(body, "x", "y", note="why").startswith("# postedit: [0] why\n# postedit: [1] why\n#, fuzzy\n")


def test_a_source_of_markup_alone_is_no_header() -> None:
    first, second = units('msgid "<br>"\nmsgstr "<br>"\n\nmsgid "a"\nmsgstr "b"\n')
    assert (first.languages, second.languages) == (("", "de"), ("", "de"))


def test_former_targets_are_candidates_of_their_form() -> None:
    body = 'msgid "a"\nmsgid_plural "b"\nmsgstr[0] "c\\n"\n"d"\nmsgstr[1] "e"\n'
    after = edited(body, "neu", "neue", keep_former=True)
    assert after.startswith('# postedit: former[0]: "c\\nd"\n# postedit: former[1]: "e"\n#, fuzzy\nmsgid')
    found = [[(one.target.text, one.former) for one in unit.candidates] for unit in units(after)]
    assert found == [[("c\nd", True)], [("e", True)]]


def test_a_comment_with_an_endless_number_is_a_note() -> None:
    (unit,) = units(f'# postedit: former[{"1" * 5000}]: "x"\nmsgid "a"\nmsgstr "b"\n')
    assert unit.candidates == ()


def test_a_translation_is_written_where_there_is_none() -> None:
    body = 'msgid "a"\nmsgstr ""\n'
    assert edited(body, "neu", keep_former=True) == '#, fuzzy\nmsgid "a"\nmsgstr "neu"\n'


def test_a_domain_begins_other_entries() -> None:
    assert [unit.id for unit in units('msgid "a"\nmsgstr "b"\ndomain "other"\n\nmsgid "a"\nmsgstr "c"\n')] == ["a", "a"]


def test_a_translation_of_markup_alone_is_one() -> None:
    unit = target('"<named tuple>"')
    assert unit.target is not None
    assert (unit.target.text, unit.target.written(), unit.state) == ("", "<named tuple>", UnitState.FINAL)


def test_what_the_encoding_lacks_is_a_question_mark_in_a_note() -> None:
    data = (HEAD.replace("UTF-8", "iso-8859-1") + 'msgid "a"\nmsgstr "b"\n').encode()
    assert b"# postedit: \xe9?\n" in patched(FORMAT, data, "c", note="é語")


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("", ""),
        ("#, fuzzy\n", ""),
        ("#, fuzzy, c-format\n", "#, c-format\n"),
        ("#, c-format, fuzzy\n", "#, c-format\n"),
    ],
)
def test_a_confirmed_translation_is_not_fuzzy(flags: str, expected: str) -> None:
    data = (HEAD + f'{flags}msgid "a"\nmsgstr "b"\n').encode()
    changed = [(unit, NewTarget("c", keep_former=False, author="anna")) for unit in units_of(FORMAT, data)]
    assert written(FORMAT, data, changed).decode() == HEAD + f'{expected}msgid "a"\nmsgstr "c"\n'


def test_plural_forms_in_any_order_are_written() -> None:
    body = 'msgid "a"\nmsgid_plural "b"\nmsgstr[1] "d"\nmsgstr[0] "c"\n'
    found = edited(body, "one", "several")
    assert 'msgstr[1] "several"\nmsgstr[0] "one"\n' in found


def test_a_flag_of_weblate_limits_each_form() -> None:
    body = (
        '#, fuzzy, max-length:10\nmsgid "a"\nmsgid_plural "b"\nmsgstr[0] "a <b>\\"b"\nmsgstr[1] ""\n"c\\n"\n"d"\n\n'
        '#, max-length:x\nmsgid "c"\nmsgstr "d"\n'
    )
    first, second, other = units(body)
    assert [room.left for unit in (first, second) for room in unit.rooms] == [3, 7]
    assert (first.max_length, longest_text(first), other.max_length, other.rooms) == (10, 7, None, ())
    assert [has_room(second, content) for content in ('123456789\\"0', '"\n"12345678\\"0')] == [False, True]
