"""Free ports for servers that must be told their port before they listen."""

import socket
from contextlib import suppress
from random import SystemRandom

_PORTS = range(15_000, 32_000)
"""Below the ephemeral ports of Linux, so that no other socket is given one of them before the server listens."""


def free_port() -> int:
    """Return a random port of this machine that is not in use.

    Raises:
        AssertionError: if a hundred random ports are all in use.
    """
    for port in SystemRandom().sample(_PORTS, 100):
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")
