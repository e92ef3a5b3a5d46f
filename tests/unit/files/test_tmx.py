"""TMX: what is read, and what an edit leaves in the file."""

import re
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, cast

import pytest
from file_tools import patched, units_of, written

from postedit.core.errors import DataError
from postedit.files.options import UnitState
from postedit.files.tmx import Tmx
from postedit.files.units import NewTarget, Unit

FORMAT = Tmx(now=datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC))
HEAD = '<?xml version="1.0"?><tmx version="1.4"><header srclang="en-US" datatype="xml"/><body>'
TAIL = "</body></tmx>"


def units(body: str, form: Tmx = FORMAT) -> list[Unit]:
    return units_of(form, (HEAD + body + TAIL).encode())


def variant(language: str, text: str, attributes: str = "", before: str = "") -> str:
    return f'<tuv xml:lang="{language}"{attributes}>{before}<seg>{text}</seg></tuv>'


def one(attributes: str = "", before: str = "", of_unit: str = "") -> Unit:
    (unit,) = units(f"<tu{of_unit}>{variant('en', 'a')}{variant('de', 'b', attributes, before)}</tu>")
    return unit


def edited(body: str, *targets: str | None, note: str = "", keep_former: bool = False) -> str:
    """Return the body after new targets were written into its units."""
    data = patched(FORMAT, (HEAD + body + TAIL).encode(), *targets, note=note, keep_former=keep_former)
    return data.decode().removeprefix(HEAD).removesuffix(TAIL)


def test_a_file_is_recognised_by_its_root() -> None:
    assert FORMAT.recognises(HEAD.encode(), Path("x.xml"))
    assert not FORMAT.recognises(b"<tmxs>", Path("x.tmx"))


def test_a_unit_has_both_segments_and_the_notes() -> None:
    target = variant("DE", "B <bpt i='1'>&lt;b></bpt>c<ept i='1'>&lt;/b></ept>")
    (unit,) = units(f"<tu tuid='7'><note>Not &lt;b>bold&lt;/b></note>{target}{variant('en-us', 'A')}</tu>")
    assert (unit.id, unit.languages, unit.notes) == ("7", ("en-us", "DE"), ("Not <b>bold</b>",))
    assert unit.target is not None
    assert (unit.source.text, unit.target.text, len(list(unit.target.pairs()))) == ("A", "B c", 1)
    assert (unit.state, unit.origin, unit.score, unit.locked) == (None, None, None, False)


@pytest.mark.parametrize(
    ("inline", "text", "pairs"),
    [
        ('<it pos="begin">x</it>a', "a", 0),
        ("a<ph>x<sub>in</sub></ph>", "a", 0),
        ("<hi type='b'>a</hi>", "a", 1),
        ("<ut>x</ut>a", "a", 0),
    ],
)
def test_each_inline_element_is_a_code(inline: str, text: str, pairs: int) -> None:
    (unit,) = units(f"<tu>{variant('en', 'a')}{variant('de', inline)}</tu>")
    assert unit.target is not None
    assert (unit.target.text, len(list(unit.target.pairs())), unit.target.written()) == (text, pairs, inline)


@pytest.mark.parametrize(
    ("languages", "expected"),
    [
        (("", ""), [("a1", "b1"), ("a2", "b2")]),  # the first other language is that of the whole file
        (("", "fr"), [("a1", "c1"), ("a3", "c3")]),
        (("fr", "de"), [("c1", "b1")]),
        (("en", "de-AT"), [("a1", "b1"), ("a2", "b3")]),  # the region that is asked for, or any
    ],
)
def test_languages_are_those_of_the_options_or_of_the_file(
    languages: tuple[str, str], expected: list[tuple[str, str]]
) -> None:
    body = (
        f"<tu>{variant('en-GB', 'a1')}{variant('de-DE', 'b1')}{variant('fr', 'c1')}</tu>"
        f"<tu>{variant('en', 'a2')}{variant('de', 'b2')}{variant('de-AT', 'b3')}</tu>"
        f"<tu>{variant('fr', 'c3')}{variant('en', 'a3')}</tu>"
    )
    found = units(body, Tmx(languages))
    assert [(unit.source.text, unit.target and unit.target.text) for unit in found] == expected


def test_the_source_of_a_unit_comes_before_that_of_the_header() -> None:
    (unit,) = units(f"<tu srclang='fr'>{variant('en', 'a')}{variant('fr', 'b')}</tu>")
    assert unit.languages == ("fr", "en")


def test_a_segment_is_not_its_own_translation() -> None:
    body = f"<tu>{variant('en', 'a')}{variant('de', 'b')}</tu>"
    with pytest.raises(DataError, match="has no segments from en to en-GB"):
        units(body, Tmx(("en", "en-GB")))


def test_traditional_chinese_is_another_target_than_simplified() -> None:
    body = f"<tu>{variant('en', 'a')}{variant('zh-TW', 'b1')}{variant('zh-CN', 'b2')}</tu>"
    (unit,) = units(body, Tmx(("en", "zh")))
    assert unit.target is not None
    assert unit.target.text == "b2"
    with pytest.raises(DataError, match="has no segments from en to zh-HK, only in en, zh-CN"):
        units(body.replace(variant("zh-TW", "b1"), ""), Tmx(("en", "zh-HK")))


def test_a_file_without_the_languages_that_are_asked_for_is_refused() -> None:
    body = f"<tu>{variant('en', 'a')}{variant('fr', 'b')}</tu>"
    with pytest.raises(DataError, match="has no segments from en to de, only in en, fr"):
        units(body, Tmx(("en", "de")))
    assert units("<tu/>", Tmx(("en", "de"))) == []


@pytest.mark.parametrize(
    ("first", "found"),
    [
        ("en", "only in en and without a language (tuv without xml:lang); choose"),
        ("", "only without a language (tuv without xml:lang); choose"),
    ],
)
def test_segments_without_a_language_are_named(first: str, found: str) -> None:
    body = f"<tu>{variant(first, 'a')}<tuv><seg>b</seg></tuv></tu>"
    with pytest.raises(DataError, match=re.escape(found)):
        units(body, Tmx(("en", "de")))


@pytest.mark.parametrize(
    ("languages", "found"),
    [
        (("en-US", "en-GB"), "has no segments from en-US to another language, only in en-GB, en-US; choose"),
        (("de", "fr"), "has no segments from en-US to another language, only in de, fr; choose"),
    ],
)
def test_a_file_without_two_languages_is_refused(languages: tuple[str, str], found: str) -> None:
    body = f"<tu>{''.join(variant(one, 'a') for one in languages)}</tu>"
    with pytest.raises(DataError, match=re.escape(found)):
        units(body, Tmx())
    assert len(units(body, Tmx(languages))) == 1
    assert units("<tu/>", Tmx()) == []


def test_where_all_languages_may_be_sources_the_first_one_is() -> None:
    body = f"<tu>{variant('fr', 'a')}{variant('de', 'b')}</tu><tu>{variant('de', 'c')}{variant('fr', 'd')}</tu>"
    data = (HEAD.replace("en-US", "*all*") + body + TAIL).encode()
    assert [unit.source.text for unit in units_of(FORMAT, data)] == ["a", "d"]


def test_before_version_1_4_a_language_has_no_prefix() -> None:
    (unit,) = units('<tu><tuv lang="en"><seg>a</seg></tuv><tuv lang="de"><seg>b</seg></tuv></tu>')
    assert unit.languages == ("en", "de")


@pytest.mark.parametrize(
    ("attributes", "before", "of_unit", "origin"),
    [
        (' creationid="MT!"', "", "", "machine"),
        (' creationid="MT!" changeid="anna"', "", "", None),
        (' creationid="anna"', "", ' creationtool="Google Translate"', None),
        ("", "", ' creationtool="DeepL"', "machine"),
        ("", '<prop type="x-origin">MT</prop>', ' changeid="anna"', "machine"),
        ("", '<prop type="x-project">MT</prop>', "", None),
        (' creationid="MTaylor"', "", "", None),
    ],
)
def test_the_origin_is_a_machine_if_the_file_says_so(
    attributes: str, before: str, of_unit: str, origin: str | None
) -> None:
    assert one(attributes, before, of_unit).origin == origin


def test_the_score_is_that_of_a_prop() -> None:
    assert one(before='<prop type="x-match-quality">85%</prop>').score == 85
    assert one(before='<prop type="x-match-quality">good</prop>').score is None


def test_an_edit_writes_the_segment_and_who_changed_it() -> None:
    target = variant("de", "b", ' changeid="anna"')
    body = f"<tu>\n{variant('en', 'a')}\n{target}\n</tu>"
    assert edited(body, "neu") == body.replace(
        ' changeid="anna"><seg>b</seg>', ' changeid="postedit" changedate="20260504T030201Z"><seg>neu</seg>'
    )
    assert units(edited(body, "neu"))[0].origin == "machine"


def test_the_former_text_and_a_note_stand_before_the_segment() -> None:
    target = '<tuv xml:lang="de">\n <seg>b <ph>x</ph>&amp; c</seg></tuv>'
    after = edited(f"<tu>{variant('en', 'a')}{target}</tu>", "neu<ph>x</ph>", note="a < b", keep_former=True)
    assert (
        '>\n <note>postedit: a &lt; b</note>\n <prop type="x-postedit-former">b &amp; c</prop>\n'
        " <seg>neu<ph>x</ph></seg>" in after
    )
    (unit,) = units(after)
    assert [(one.target.text, one.former) for one in unit.candidates] == [("b & c", True)]


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf16_with_a_document_type_is_kept(codec: str) -> None:
    doctype = '<!DOCTYPE tmx SYSTEM "tmx14.dtd">\r\n<tmx '
    text = "\ufeff" + HEAD.replace("<tmx ", doctype) + f"<tu>{variant('en', 'a')}{variant('de', 'süß')}</tu>" + TAIL
    after = patched(FORMAT, text.encode(codec), "größer語").decode(codec)
    assert after == text.replace("süß", "größer語").replace(
        '"de"', '"de" changedate="20260504T030201Z" changeid="postedit"'
    )


class Endless:
    """A memory of many units, made while it is read."""

    def __init__(self, count: int) -> None:
        self.pieces = self._pieces(count)

    def _pieces(self, count: int) -> Iterator[bytes]:
        yield HEAD.encode()
        for _ in range(count):
            yield f"<tu>{variant('en', 'a' * 100)}{variant('de', 'b' * 100)}</tu>\n".encode() * 100
        yield TAIL.encode()

    def read(self, size: int) -> bytes:
        return next(self.pieces, b"")


def test_memory_does_not_grow_with_the_file() -> None:
    def peak(count: int) -> int:
        tracemalloc.start()
        try:
            assert sum(1 for _ in FORMAT.units(cast(BinaryIO, Endless(count)), Path("x.tmx"))) == 100 * count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    # The least of three, as threads that other tests have left behind may need memory, too.
    few, many = (min(peak(count) for _ in range(3)) for count in (2, 6))
    assert many < 1.5 * few


@pytest.mark.parametrize(
    ("level", "state", "after"),
    [
        ("Draft", UnitState.INITIAL, "Draft"),
        ("Translated", UnitState.TRANSLATED, "Draft"),
        ("RejectedSignOff", UnitState.REJECTED, "RejectedSignOff"),
        ("ApprovedTranslation", UnitState.REVIEWED, "Draft"),
        ("ApprovedSignOff", UnitState.FINAL, "Draft"),
        ("Unspecified", None, "Draft"),
    ],
)
@pytest.mark.parametrize("is_of_variant", [False, True])
def test_the_state_is_that_of_trados(level: str, state: UnitState | None, after: str, is_of_variant: bool) -> None:
    prop = f'<prop type="x-ConfirmationLevel">{level}</prop>'
    inside, outside = (prop, "") if is_of_variant else ("", prop)
    body = f"<tu>{outside}{variant('en', 'a')}{variant('de', 'b', before=inside)}</tu>"
    (unit,) = units(body)
    assert unit.state is state
    data = (HEAD + body + TAIL).encode()
    for author, expected in (("", after), ("anna", "Translated")):
        found = written(FORMAT, data, [(unit, NewTarget("c", author=author))]).decode()
        assert f'<prop type="x-ConfirmationLevel">{expected}</prop>' in found
        assert "<seg>c</seg></tuv></tu>" in found


@pytest.mark.parametrize(("former", "kept"), [("a", 0), ("b", 1)])
def test_a_copy_of_the_source_is_no_former_target(former: str, kept: int) -> None:
    body = f'<tu><prop type="x-ConfirmationLevel">Draft</prop>{variant("en", "a")}{variant("de", former)}</tu>'
    found = written(FORMAT, (HEAD + body + TAIL).encode(), [(one, NewTarget("c")) for one in units(body)])
    assert found.count(b"x-postedit-former") == kept
