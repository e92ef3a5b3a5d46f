"""Ports for servers that are told theirs before they listen."""

import socket
from contextlib import suppress
from random import SystemRandom

_PORTS = range(15_000, 32_000)
"""Linux gives none of these to sockets that ask for any: nobody else gets one before the server listens."""


def free_port() -> int:
    """Return a random port of this machine that nothing uses.

    Raises:
        AssertionError: if a hundred of them are in use.
    """
    for port in SystemRandom().sample(_PORTS, 100):
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")
