"""Numbers, durations and names in the form that messages show."""

from collections.abc import Sequence

from postedit.core.files import with_home


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with what it counts: "1 unit", "2,000 units"; `plural` is given if it has not just an s."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or f'{noun}s'}"


def listed(names: Sequence[str], most: int) -> str:
    """Return names separated by commas, only the first `most` of a longer list: "a, b and 3 more"."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def duration(seconds: float) -> str:
    """Return a duration in readable form: `42 s`, `3 min 20 s`, `2 h 05 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def public_name(checkpoint: str) -> str:
    """Return a checkpoint name that is safe to publish: the hub id, or only the last part of a path."""
    path = with_home(checkpoint)
    return path.resolve().name if path.is_dir() or path.is_absolute() else checkpoint
