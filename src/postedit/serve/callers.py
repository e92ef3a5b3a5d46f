"""Who makes a request, until accounts say it."""

from dataclasses import dataclass

from fastapi import Request


@dataclass(frozen=True, slots=True)
class LocalCaller:
    """Anybody on this machine.

    Args:
        name: for the audit log.
        client: whose place in the queue a request takes.
    """

    name: str
    client: str

    def require(self, scope: str, project: str | None = None) -> None:
        """Check that the caller may do something."""


def caller(request: Request) -> LocalCaller:
    """Return who makes a request."""
    return LocalCaller("local", request.client.host if request.client else "")
