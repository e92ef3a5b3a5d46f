"""Length of the text in XML content, in the measures of limits."""

import pytest

from postedit.files.length_limits import Measure, xml_text


@pytest.mark.parametrize(
    ("content", "length"),
    [
        ("", 0),
        (" a b\n", 5),
        ("a &amp; &#x62;", 5),
        ("a<g id='1'>b</g><x id='2' equiv-text='>\"'/>c", 3),
        ("a<!-- <b> --><?p b?>c", 2),
        ("&lt;b&gt;c", 4),
        ("<![CDATA[<b>&lt;]]>c", 8),
    ],
)
def test_the_length_of_text_is_that_without_tags(content: str, length: int) -> None:
    assert len(xml_text(content)) == length


@pytest.mark.parametrize(
    ("measure", "length"),
    [
        (Measure(), 4),
        (Measure(form="NFC"), 3),
        (Measure(form="NFD"), 4),
        (Measure("glyph"), 3),
        (Measure("utf-8"), 8),
        (Measure("utf-8", "NFC"), 7),
        (Measure("utf-16-le"), 10),
        (Measure("utf-32-le"), 16),
    ],
)
def test_each_measure_has_its_own_length(measure: Measure, length: int) -> None:
    assert measure.length("e\u0301a\U0001f600") == length
