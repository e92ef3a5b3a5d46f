"""Segments with inline codes, as source and target of XLIFF have them."""

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Final, Literal

from postedit.core.editor import PostEdit, Segment
from postedit.core.errors import DataError
from postedit.files.corrections import correct, translated
from postedit.files.units import Format, Unit
from postedit.files.xliff1 import Xliff1
from postedit.files.xliff2 import Xliff2

Markup = Literal["xliff", "xliff2"]

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
        format: that of XLIFF.
    """

    unit: Unit
    format: Format

    @classmethod
    def of(cls, src: str, mt: str | None, markup: Markup) -> "MarkedSegment":
        """Read the content of a source and a target.

        Raises:
            DataError: if it is not well formed.
        """
        target = "" if mt is None else f"<target>{mt}</target>"
        document = _DOCUMENTS[markup].format(f"<source>{src}</source>{target}")
        form = _FORMATS[markup]
        try:
            units = list(form.units(BytesIO(document.encode(errors="replace")), Path("segment")))
        except DataError as error:
            raise DataError(f"src and mt are no content of XLIFF: {error}") from None
        if len(units) != 1 or (mt is not None and units[0].target is None):
            raise DataError("src and mt must each be the content of one source or target of XLIFF")
        return cls(units[0], form)

    @property
    def segment(self) -> Segment:
        """The segment without codes."""
        target = self.unit.target
        return Segment(self.unit.source.text.strip(), None if target is None else target.text.strip())

    def content(self, result: PostEdit) -> tuple[str | None, PostEdit, tuple[str, ...]]:
        """Return the corrected target with its codes (None: it stays), the correction, and why edits were given up."""
        escape = self.format.escape(self.unit)
        if self.unit.target is None:
            return translated(self.unit, result.text, escape), result, ()
        return correct(self.unit, result, escape)
