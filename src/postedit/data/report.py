"""Reports on the triplets read: how many were used, and how many were skipped, why and where."""

from dataclasses import asdict, dataclass, field
from typing import Any, Final

SHOWN: Final = 5  # maximum number of line numbers kept for each reason


@dataclass
class Skipped:
    """The triplets skipped for one reason: how many, and the line numbers of the first ones."""

    count: int = 0
    first_lines: list[int] = field(default_factory=list)


@dataclass
class SourceReport:
    """The triplets of one source: how many were read, and which were skipped, by reason."""

    read: int = 0
    skipped: dict[str, Skipped] = field(default_factory=dict)

    @property
    def kept(self) -> int:
        """The number of triplets used."""
        return self.read - sum(skipped.count for skipped in self.skipped.values())


@dataclass
class DataReport:
    """A `SourceReport` for each source, by the name of its files."""

    sources: dict[str, SourceReport] = field(default_factory=dict)

    @property
    def kept(self) -> int:
        """The number of triplets used."""
        return sum(source.kept for source in self.sources.values())

    def read(self, source: str) -> None:
        """Count a triplet that was read from `source`."""
        self.sources.setdefault(source, SourceReport()).read += 1

    def skip(self, source: str, line: int, reason: str) -> None:
        """Count a triplet that is skipped, in addition to `read`, and keep its line number if it is among the first."""
        skipped = self.sources.setdefault(source, SourceReport()).skipped.setdefault(reason, Skipped())
        skipped.count += 1
        if len(skipped.first_lines) < SHOWN:
            skipped.first_lines.append(line)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as values for JSON."""
        return {
            name: {"read": one.read, "kept": one.kept, "skipped": asdict(one)["skipped"]}
            for name, one in self.sources.items()
        }

    def __str__(self) -> str:
        lines = []
        for name, source in self.sources.items():
            lines.append(f"{name}: {source.kept:,} of {source.read:,} triplets kept")
            for reason, skipped in source.skipped.items():
                more = ", ..." if skipped.count > len(skipped.first_lines) else ""
                numbers = ", ".join(map(str, skipped.first_lines))
                lines.append(f"  {skipped.count:,} skipped: {reason} (line {numbers}{more})")
        return "\n".join(lines)
