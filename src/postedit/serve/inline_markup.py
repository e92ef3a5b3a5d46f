"""Segments with inline codes: as source and target of XLIFF have them, or tags of HTML."""

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
"""The place of a fault in a document that the client has not written."""

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
    """A segment with the codes of its texts.

    Args:
        unit: as the reader of the format sees it.
        escape: writes a new character of the target.
    """

    unit: Unit
    escape: Escape

    @classmethod
    def of(cls, src: str, mt: str | None, markup: Markup) -> "MarkedSegment":
        """Read the content of a source and a target of XLIFF, or texts of HTML.

        Raises:
            DataError: if it is not well formed.
        """
        if markup == "html":
            return cls(Unit("1", MarkedText.of([src]), None if mt is None else MarkedText.of([mt])), _html)
        form = _FORMATS[markup]
        try:
            units = _units(markup, src, mt)
            _units(markup, mt or "", src)  # one that ends its element is not well-formed in the other
        except DataError as error:
            raise DataError(f"src and mt are no content of XLIFF: {_PLACE.sub('', str(error))}") from None
        if len(units) != 1 or (mt is not None and units[0].target is None):
            raise DataError("src and mt must each be the content of one source or target of XLIFF")
        return cls(units[0], form.escape(units[0]))

    @property
    def segment(self) -> Segment:
        """The segment without codes."""
        target = self.unit.target
        return Segment(self.unit.source.text.strip(), None if target is None else target.text.strip())

    def content(self, result: PostEdit) -> tuple[str | None, PostEdit, tuple[str, ...]]:
        """Return the corrected target with its codes (None: it stays), the correction, and why edits were given up."""
        if self.unit.target is None:
            return translated(self.unit, result.text, self.escape), result, ()
        return correct(self.unit, result, self.escape)

    def written(self, result: PostEdit) -> str:
        """Return the corrected target with its codes; a translation that has no place for them without."""
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
