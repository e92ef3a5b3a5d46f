"""Segments with inline codes, in the markup of XLIFF sources and targets or of HTML."""

import html
import re
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Final, Literal

from postedit.core.editor import PostEdit, Segment
from postedit.core.errors import DataError
from postedit.files.corrections import correct, translated
from postedit.files.marked_text import Escape, MarkedText
from postedit.files.units import Format, Unit
from postedit.files.xliff1 import Xliff1
from postedit.files.xliff2 import Xliff2

Markup = Literal["xliff", "xliff2", "html"]

_PLACE: Final = re.compile(r"^segment: (line \d+, column \d+: )?")
"""Place of an error in the document around the texts, which the client did not write."""

_FORMATS: Final[dict[Markup, Format]] = {"xliff": Xliff1(), "xliff2": Xliff2()}
_DOCUMENTS: Final[dict[Markup, str]] = {
    "xliff": '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a" '
    'datatype="plaintext" source-language="und" target-language="und"><body>'
    '<trans-unit id="1">{}</trans-unit></body></file></xliff>',
    "xliff2": '<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="und" trgLang="und">'
    '<file id="1"><unit id="1"><segment>{}</segment></unit></file></xliff>',
}


@dataclass(frozen=True, slots=True)
class MarkedSegment:
    """A segment with the inline codes of its texts.

    Args:
        unit: the texts with their codes, as read by the format.
        escape: returns a character of the target in the syntax of the format.
    """

    unit: Unit
    escape: Escape

    @classmethod
    def of(cls, src: str, mt: str | None, markup: Markup) -> "MarkedSegment":
        """Return a segment, parsed from the content of an XLIFF source and target, or from HTML.

        Raises:
            DataError: if the markup is not well-formed.
        """
        if markup == "html":
            return cls(Unit("1", MarkedText.of([src]), None if mt is None else MarkedText.of([mt])), _html)
        form = _FORMATS[markup]
        try:
            units = _units(markup, src, mt)
            _units(markup, mt or "", src)  # swapped, a text that closes its own element is not well-formed
        except DataError as error:
            raise DataError(f"a text is not content of XLIFF: {_PLACE.sub('', str(error))}") from None
        if len(units) != 1 or (mt is not None and units[0].target is None):
            raise DataError("each text must be the content of one source or target of XLIFF")
        return cls(units[0], form.escape(units[0]))

    @property
    def segment(self) -> Segment:
        """The segment without codes."""
        target = self.unit.target
        return Segment(self.unit.source.text.strip(), None if target is None else target.text.strip())

    def content(self, result: PostEdit) -> tuple[str | None, PostEdit, tuple[str, ...]]:
        """Return the corrected target with its codes (None: unchanged), the correction, and why edits were given up."""
        if self.unit.target is None:
            return translated(self.unit, result.text, self.escape), result, ()
        return correct(self.unit, result, self.escape)

    def written(self, result: PostEdit) -> str:
        """Return the corrected target with its codes; without them, if a new translation has no place for them."""
        found = self.content(result)[0]
        if found is None:
            return result.text if self.unit.target is None else self.unit.target.written()
        return found


def _units(markup: Markup, src: str, mt: str | None) -> list[Unit]:
    target = "" if mt is None else f"<target>{mt}</target>"
    document = _DOCUMENTS[markup].format(f"<source>{src}</source>{target}")
    return list(_FORMATS[markup].units(BytesIO(document.encode(errors="replace")), Path("segment")))


def _html(character: str) -> str:
    return html.escape(character, quote=False)
