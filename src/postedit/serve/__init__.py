"""The HTTP service, which serves editors, correction memories and projects, and its Python client, `Client`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from postedit.serve.client import Client, ServedEdit, ServiceError

__all__ = ["Client", "ServedEdit", "ServiceError"]


def __getattr__(name: str) -> Any:
    """Import the client on first use; the service does not need it."""
    if name in __all__:
        from postedit.serve import client

        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
