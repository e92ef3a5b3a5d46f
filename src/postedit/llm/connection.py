"""Connections to a server, with its key and the proxies and certificates that the environment names."""

import os
from typing import Any, Final
from urllib.parse import urlsplit

from postedit.core.errors import DataError, library
from postedit.llm.endpoint_options import LlmConfig, check_address, is_local, is_open_to_listeners
from postedit.llm.replies import CODING

_PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")  # or in capitals
_CONNECT: Final = 10.0  # most seconds to connect; half of llm.timeout if that is less
_CERTIFICATES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def check_client(config: LlmConfig) -> None:
    """Check, before any work, that a client can be created.

    Raises:
        RecipeError: if httpx is not installed.
        DataError: if the key, the address, a proxy or certificates cannot be used, or the key would be sent to another
            machine unencrypted.
    """
    library("httpx", "asking an endpoint", "llm")
    check_address(config.address)
    key = key_of(config.key_variable)
    if key and is_open_to_listeners(config.address):
        raise DataError(
            f"{config.address}: ${config.key_variable} would be sent unencrypted; use https, or unset the key"
        )
    open_client(config, key)  # a client connects only when it sends its first request


def key_of(variable: str) -> str:
    """Return the key in an environment variable; empty if it is not set.

    Raises:
        DataError: if the value contains characters that cannot be part of a key.
    """
    key = os.environ.get(variable, "").strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise DataError(f"${variable} is not a key: it has spaces, or characters that no key has")
    return key


def open_client(config: LlmConfig, key: str) -> Any:
    """Return an asynchronous httpx client that does not follow redirections.

    Raises:
        RecipeError: if httpx is not installed.
        DataError: if the address, or a proxy or certificates that the environment names, cannot be used.
    """
    httpx = library("httpx", "asking an endpoint", "llm")
    try:
        httpx.URL(config.address)
    except httpx.InvalidURL as error:
        raise DataError(f"{config.address}: is not the address of a server: {error}") from None
    # Requests to this machine go through no proxy, even if the environment names one without exceptions.
    stays_here, is_encrypted = is_local(config.address), urlsplit(config.address).scheme == "https"
    try:
        # The context reads the certificates that the environment names, which takes time and only encryption needs.
        verify = not stays_here or (is_encrypted and httpx.create_ssl_context())
        return httpx.AsyncClient(
            headers={"Accept-Encoding": CODING} | ({"Authorization": f"Bearer {key}"} if key else {}),
            limits=httpx.Limits(max_connections=config.concurrency),
            # The limit to connect is below llm.timeout, so that a request that could not be sent is recognised as such.
            timeout=httpx.Timeout(config.timeout, connect=min(_CONNECT, config.timeout / 2), pool=None),
            trust_env=not stays_here,
            verify=verify,
            follow_redirects=False,
        )
    except ImportError:
        raise DataError(
            f"{_named(_PROXIES)}: a SOCKS proxy needs socksio; install it by: pip install socksio, or unset "
            "the variable"
        ) from None
    except OSError as error:
        raise DataError(
            f"{_named(_CERTIFICATES)}: cannot read certificates there: {error.strerror or error}; name a file or "
            "folder of certificates (PEM), or unset the variable"
        ) from None
    except (ValueError, httpx.InvalidURL) as error:
        # The error may quote a part of a password, for instance as a port.
        fault, escapes = f": {error}", ""
        if any("@" in value for value in _given(_PROXIES).values()):
            fault, escapes = "", " (%23, %2F and %40 stand for #, / and @ in a password)"
        raise DataError(
            f"{_named(_PROXIES)}: cannot be used as a proxy{fault}; write an address such as "
            f"http://127.0.0.1:3128{escapes}, or unset the variable"
        ) from None


def _given(variables: tuple[str, ...]) -> dict[str, str]:
    """Return the given variables that are set, in capitals or not, with their values."""
    known = {name.lower() for name in variables}
    return {name: value for name, value in sorted(os.environ.items()) if value and name.lower() in known}


def _named(variables: tuple[str, ...]) -> str:
    """Return the names of the given variables that are set, without their values, which may contain passwords."""
    return ", ".join(f"${name}" for name in _given(variables))
