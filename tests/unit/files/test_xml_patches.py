"""Patches of XML: new elements have the prefixes, namespaces and white space of those beside them."""

import pytest
from file_tools import patched
from lxml import etree

from postedit.files.units import Format
from postedit.files.xliff1 import Xliff1
from postedit.files.xliff2 import Xliff2

ONE, TWO = "urn:oasis:names:tc:xliff:document:1.2", "urn:oasis:names:tc:xliff:document:2.0"
Y = 'xmlns:y="urn:y?a=1&amp;b=2"'
FILES = [
    (
        Xliff1(),
        f'<xliff xmlns="{ONE}" version="1.2"><file source-language="en"><body><trans-unit id="u">',
        "</trans-unit></body></file></xliff>",
    ),
    (
        Xliff2(),
        f'<xliff xmlns="{TWO}" version="2.0" srcLang="en" trgLang="de"><file id="f"><unit id="u"><segment id="s">',
        "</segment></unit></file></xliff>",
    ),
]


@pytest.mark.parametrize(("form", "head", "tail"), FILES)
@pytest.mark.parametrize("target", ["", "<target/>", "<target></target>", "<target> </target>"])
def test_a_translation_has_the_namespaces_of_the_source(form: Format, head: str, tail: str, target: str) -> None:
    data = f"{head}<source {Y}>a <y:x/></source>{target}{tail}".encode()
    root = etree.fromstring(patched(form, data, "b <y:x/>"))
    (new,) = root.iter("{*}target")
    assert new[0].tag == "{urn:y?a=1&b=2}x"


@pytest.mark.parametrize(("form", "head", "tail"), FILES)
def test_a_new_target_keeps_white_space_like_its_source(form: Format, head: str, tail: str) -> None:
    after = patched(form, f'{head}<source xml:space="preserve">a  b</source>{tail}'.encode(), "c  d")
    assert b'<target xml:space="preserve"' in after


@pytest.mark.parametrize(("form", "head", "tail"), FILES)
def test_a_former_target_has_its_namespaces_and_white_space(form: Format, head: str, tail: str) -> None:
    former = f'<target {Y} xml:space="preserve">b <y:x/></target>'
    data = f"{head}<source>a</source>{former}{tail}".encode()
    after = patched(form, data, "c <y:x/>", keep_former=True)
    etree.fromstring(after)
    assert former.encode() in after


@pytest.mark.parametrize(("form", "head", "tail"), FILES)
def test_new_elements_have_the_prefix_of_their_unit(form: Format, head: str, tail: str) -> None:
    uri = ONE if form.name == Xliff1.name else TWO
    prefixed = [text.replace("<", "<x:").replace("<x:/", "</x:").replace("xmlns=", "xmlns:x=") for text in (head, tail)]
    beside = f'<x:source>a</x:source><target xmlns="{uri}">b</target>'
    data = f"{prefixed[0]}{beside}{prefixed[1]}".replace("x:segment id", f'segment xmlns="{uri}" xmlns:x="{uri}" id')
    data = data.replace("</x:segment>", "</segment>")
    root = etree.fromstring(patched(form, data.encode(), "c", note="why", keep_former=True))
    assert {one.tag.partition("}")[0] for one in root.iter("{*}note", "{*}alt-trans")} == {f"{{{uri}"}
