"""Reads and writes translation files in memory, for the tests of their formats."""

import io
from pathlib import Path

from postedit.files.units import Format, NewTarget, Unit, copy_patched


def units_of(form: Format, data: bytes, path: Path = Path("file")) -> list[Unit]:
    return list(form.units(io.BytesIO(data), path))


def patched(form: Format, data: bytes, *targets: str | None, note: str = "", keep_former: bool = False) -> bytes:
    """Return a file with new targets written into its units, one for each; None leaves a unit as it is."""
    units = units_of(form, data)
    changed = [
        (unit, NewTarget(new, keep_former, note)) for unit, new in zip(units, targets, strict=True) if new is not None
    ]
    return written(form, data, changed)


def written(form: Format, data: bytes, changed: list[tuple[Unit, NewTarget]]) -> bytes:
    out = io.BytesIO()
    copy_patched(io.BytesIO(data), form.patches(changed), out)
    return out.getvalue()
