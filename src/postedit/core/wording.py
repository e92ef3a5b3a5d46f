"""Numbers in messages."""


def counted(number: int, noun: str) -> str:
    """Return a number with what it counts: "1 unit", "2,000 units"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
