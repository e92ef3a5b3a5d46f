import gzip
import re

import pytest

fastapi = pytest.importorskip("fastapi")
pytest.importorskip("httpx")

from fastapi import FastAPI  # noqa: E402
from fastapi.testclient import TestClient  # noqa: E402

from postedit.serve import routes_workbench  # noqa: E402
from postedit.serve.http_errors import add_error_handlers  # noqa: E402


@pytest.fixture(scope="module")
def client() -> TestClient:
    app = FastAPI()
    app.include_router(routes_workbench.router)
    add_error_handlers(app)
    return TestClient(app)


def assets() -> list[str]:
    found = routes_workbench.pages()
    return [f"/assets/{found.version}/{name}" for name in found.assets]


def test_page_asks_for_each_module_at_once_and_only_here(client: TestClient) -> None:
    page = client.get("/").text
    links = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert all(link.startswith("/assets/") for link in links)
    modules = {link for link in links if link.endswith(".js")}
    assert modules == {name for name in assets() if name.endswith(".js")}
    for link in links:
        assert client.get(link).status_code == 200


def test_page_has_no_inline_script_or_style(client: TestClient) -> None:
    answer = client.get("/")
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", answer.text)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("name", ["/", *assets()])
def test_files_are_compressed_and_known_again(client: TestClient, name: str) -> None:
    plain = client.get(name, headers={"Accept-Encoding": "identity"})
    assert plain.headers["x-content-type-options"] == "nosniff"
    assert client.get(name).content == plain.content
    again = client.get(name, headers={"If-None-Match": plain.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    raw = routes_workbench.StaticFile.of("a.js", plain.content)
    assert gzip.decompress(raw.compressed) == plain.content


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip", "gzip"),
        ("br, GZIP;q=0.5", "gzip"),
        ("gzip;q=0.001", "gzip"),
        ("gzip;q=0", None),
        ("br, gzip; q=0.000, *", None),
        ("identity", None),
    ],
)
def test_files_are_compressed_for_those_who_accept_it(client: TestClient, accepted: str, encoding: str | None) -> None:
    answer = client.get("/", headers={"Accept-Encoding": accepted})
    assert answer.headers.get("content-encoding") == encoding


def test_whatever_version_a_client_has_is_known_again(client: TestClient) -> None:
    assert client.get("/", headers={"If-None-Match": "*"}).status_code == 304
    assert client.get("/", headers={"If-None-Match": '"other"'}).status_code == 200


def test_only_addresses_with_the_version_are_kept_for_ever(client: TestClient) -> None:
    assert client.get("/").headers["cache-control"] == "no-cache"
    name = assets()[0]
    assert "immutable" in client.get(name).headers["cache-control"]
    other = name.replace(routes_workbench.pages().version, "0" * 16)
    answer = client.get(other)
    assert answer.status_code == 404
    assert "load the page again" in answer.json()["error"]["message"]


@pytest.mark.parametrize("name", ["../routes_workbench.py", "%2e%2e/app.py", "nothing.js", ""])
def test_nothing_else_is_served(client: TestClient, name: str) -> None:
    assert client.get(f"/assets/{routes_workbench.pages().version}/{name}").status_code == 404


def test_modules_name_no_other_host_and_are_short() -> None:
    for name, file in routes_workbench.pages().assets.items():
        text = file.content.decode()
        if name.startswith("vendor/") or not name.endswith(".js"):
            continue
        assert not re.search(r"https?://", text), name
        assert len(text.splitlines()) < 300, name
        for path in re.findall(r'^(?:import|export)[^;]*? from "([^"]+)"', text, re.MULTILINE):
            assert path.startswith("."), f"{name} imports {path}"


def test_vendored_libraries_come_with_their_licences() -> None:
    names = set(routes_workbench.pages().assets)
    assert {"vendor/preact.LICENSE", "vendor/signals.LICENSE", "vendor/htm.LICENSE"} <= names
