"""The connection: addresses, keys, proxies and certificates that cannot be used, and what the sentences say of them."""

import re
from pathlib import Path

import httpx
import pytest
from stub_server import Stub
from tests.unit.llm.conftest import MakeEditor, segments

from postedit.cli.search_options import CommandOptions
from postedit.core.config import load_config
from postedit.core.errors import DataError, RecipeError
from postedit.llm.connection import check_client, open_client
from postedit.llm.endpoint_options import LlmConfig, is_local, is_loopback

KEY = "sk-very-secret-123"
AFAR = "https://example.org/v1"
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the environment name nothing."""
    for name in (*PROXIES, *map(str.lower, PROXIES), "SSL_CERT_FILE", "SSL_CERT_DIR", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("key", ["two words", "schlüssel", "line\nend"])
def test_keys_that_cannot_be_sent_are_refused(
    make_editor: MakeEditor, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with Stub() as stub, pytest.raises(DataError, match="OPENAI_API_KEY is not a key"):
        make_editor(stub)


@pytest.mark.parametrize(
    "url",
    [
        "http://user:secret@host/v1", "ftp://host/v1", "host", "http://h/v1?key=secret", "http://h:abc/v1",
        "http://h:99999/v1", "http://[::1/v1",
    ],
)  # fmt: skip
def test_addresses_with_secrets_or_without_servers_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="must be an address"):
        LlmConfig(endpoint=url)


@pytest.mark.parametrize(
    "url",
    [
        "http://user:secret@host/v1", "http://user:sec/ret@host/v1", "http://user:1/secret@host/v1",
        "http://user:sec#ret@host/v1", "user:secret@host", "http://host:1/v1?key=secret",
    ],
)  # fmt: skip
def test_no_part_of_a_secret_in_an_address_is_shown(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    with pytest.raises(ValueError, match="endpoint must be an address without user") as raw:
        LlmConfig(endpoint=url)
    with pytest.raises(RecipeError, match="endpoint must be an address without user") as option:
        load_config(LlmConfig, {"endpoint": url}, "options")
    with pytest.raises(RecipeError, match="llm: endpoint must be an address without user") as section:
        load_config(CommandOptions, {"llm": {"endpoint": url}}, "options")
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(DataError, match=r"\$OPENAI_BASE_URL must be an address without user") as variable:
        check_client(LlmConfig())
    for found in (raw, option, section, variable):
        assert not re.search("sec|ret", str(found.value))


def test_what_is_wrong_with_a_port_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"such as http://127\.0\.0\.1:8000/v1: Port out of range"):
        LlmConfig(endpoint="http://127.0.0.1:99999/v1")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:port/v1")
    with pytest.raises(DataError, match=r"\$OPENAI_BASE_URL must be an address.*'port'"):
        check_client(LlmConfig())


def test_mistakes_in_options_are_explained() -> None:
    with pytest.raises(DataError, match=r'langages: no such option; did you mean "languages"'):
        LlmConfig(**{"langages": "en:de"})
    with pytest.raises(DataError, match="a budget needs prices"):
        LlmConfig(budget=1.0)


def test_addresses_that_httpx_cannot_read_are_refused() -> None:
    with pytest.raises(DataError, match="is not the address of a server"):
        check_client(LlmConfig(endpoint="http://256.1.1.1/v1"))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost", "LOCALHOST"])
def test_names_of_this_machine_are_known(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.com", "127.0.0.1.example.com", ""])
def test_other_names_are_not_this_machine(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3:8000", "localhost:8000", "LOCALHOST", "[::1]:8000"])
def test_addresses_of_this_machine(host: str) -> None:
    assert is_local(f"http://{host}/v1")


@pytest.mark.parametrize(
    "host", ["127.evil.com", "127.0.0.1.nip.io", "127.0.0.1.", "localhost.evil.com", "128.0.0.1", "[::2]", "10.0.0.1"]
)
def test_a_key_is_not_sent_unencrypted_to_names_like_localhost(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(DataError, match=r"\$OPENAI_API_KEY would be sent unencrypted; use https") as found:
        check_client(LlmConfig(endpoint=f"http://{host}/v1"))
    assert KEY not in str(found.value)


def test_keys_are_sent_unencrypted_to_this_machine_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for address in (AFAR, "http://127.0.0.1:8000/v1", "http://localhost:8000/v1"):
        check_client(LlmConfig(endpoint=address))
    with pytest.raises(DataError, match="https"):
        check_client(LlmConfig(endpoint="http://example.org/v1"))
    monkeypatch.delenv("OPENAI_API_KEY")
    check_client(LlmConfig(endpoint="http://example.org/v1"))


def test_keys_go_to_this_machine_through_no_proxy(make_editor: MakeEditor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Stub() as proxy, Stub() as stub:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
        make_editor(stub).edit_segments(segments(3))
        assert not proxy.bodies
        assert stub.bodies


def test_encrypted_requests_to_this_machine_go_through_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    address = "https://localhost:8443/v1"
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    client = open_client(LlmConfig(endpoint=address), "")
    assert client._transport_for_url(httpx.URL(address)) is client._transport
    monkeypatch.setenv("SSL_CERT_FILE", "missing")  # which is another matter
    with pytest.raises(DataError, match=r"^\$SSL_CERT_FILE"):
        check_client(LlmConfig(endpoint=address))


@pytest.mark.parametrize(
    ("proxy", "fault"), [("foo://host", "Unknown scheme"), ("http://[::1", ""), ("http://host:port", "'port'")]
)
def test_what_is_wrong_with_a_proxy_is_said(monkeypatch: pytest.MonkeyPatch, proxy: str, fault: str) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    with pytest.raises(DataError, match=rf"^\$HTTPS_PROXY: cannot be used as a proxy: .*{fault}.*unset"):
        check_client(LlmConfig(endpoint=AFAR))
    check_client(LlmConfig(endpoint="http://127.0.0.1:8000/v1"))  # which needs none


@pytest.mark.parametrize(
    "proxy", ["http://user:secret#1@host:3128", "http://user:secret/1@host:3128", "http://user:1@2@host:secret"]
)
def test_a_proxy_that_is_none_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("https_proxy", proxy)
    with pytest.raises(DataError, match=r"^\$https_proxy: cannot be used as a proxy; .*%23, .*unset") as found:
        check_client(LlmConfig(endpoint=AFAR))
    assert "secret" not in str(found.value)


def test_a_socks_proxy_needs_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "socksio", None)  # not installed
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1080")
    with pytest.raises(DataError, match=r"^\$ALL_PROXY: a SOCKS proxy needs socksio; install it by: pip install"):
        check_client(LlmConfig(endpoint=AFAR))


def test_certificates_that_cannot_be_read_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    no_certificate = tmp_path / "other"
    no_certificate.write_text("hello", encoding="utf-8")
    for path, said in ((tmp_path / "missing", "No such file"), (no_certificate, r"SSL|NO_CERTIFICATE|X509")):
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
        with pytest.raises(DataError, match=rf"^\$SSL_CERT_FILE: cannot read certificates there: .*({said}).*PEM"):
            check_client(LlmConfig(endpoint=AFAR))
