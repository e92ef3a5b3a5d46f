"""Connect to a server: with its key, and the proxies and certificates that the environment names."""

import os
from typing import Any, Final
from urllib.parse import urlsplit

from postedit.core.errors import DataError, library
from postedit.llm.endpoint_options import LlmConfig, check_address, is_local, is_open_to_listeners

_PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")  # in capitals, too
_CONNECT: Final = 10.0  # seconds for a connection, of which half of llm.timeout is another limit
_CERTIFICATES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def check_client(config: LlmConfig) -> None:
    """Check before any work that there can be a client.

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
            f"{config.address}: anybody on the way could read ${config.key_variable}; use https, or unset the key"
        )
    open_client(config, key)  # which has no connection before its first request


def key_of(variable: str) -> str:
    """Return the key in an environment variable; empty if there is none.

    Raises:
        DataError: if it cannot be sent.
    """
    key = os.environ.get(variable, "").strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise DataError(f"${variable} is no key: it has spaces, or characters that no key has")
    return key


def open_client(config: LlmConfig, key: str) -> Any:
    """Return an asynchronous client of httpx, which follows no redirection.

    Raises:
        RecipeError: if httpx is not installed.
        DataError: if the address, or a proxy or certificates that the environment names, cannot be used.
    """
    httpx = library("httpx", "asking an endpoint", "llm")
    try:
        httpx.URL(config.address)
    except httpx.InvalidURL as error:
        raise DataError(f"{config.address}: is no address of a server: {error}") from None
    # What stays on this machine goes through no proxy, even if the environment names one without exceptions.
    stays_here, is_encrypted = is_local(config.address), urlsplit(config.address).scheme == "https"
    try:
        # Certificates take time to read, and there is nothing to verify without encryption.
        verify = not stays_here or (is_encrypted and httpx.create_ssl_context())  # by those of the environment
        return httpx.AsyncClient(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            limits=httpx.Limits(max_connections=config.concurrency),
            # Of a request that has no connection within less than llm.timeout, it is known that it was not sent.
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
    """Return those of some variables that the environment has, in capitals or not."""
    known = {name.lower() for name in variables}
    return {name: value for name, value in sorted(os.environ.items()) if value and name.lower() in known}


def _named(variables: tuple[str, ...]) -> str:
    """Return which of some variables the environment has, without values, which may have passwords in them."""
    return ", ".join(f"${name}" for name in _given(variables))
