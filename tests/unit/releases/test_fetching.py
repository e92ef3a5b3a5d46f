"""Release files are fetched from folders and addresses; anything but the known file is refused, and leaves nothing."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.unit.releases.conftest import World

from postedit.core.errors import DataError
from postedit.releases import catalogue, fetching
from postedit.releases.catalogue import KnownModel, known_models
from postedit.releases.fetching import fetch, is_whole


@pytest.fixture
def model(world: World) -> KnownModel:
    return next(one for one in known_models() if one.name == "house.en-de")


def served(handler: Any) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def address(world: World) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    yield from served(partial(Quiet, directory=str(world.releases)))


def installed(world: World) -> list[str]:
    return sorted(path.name for path in world.models.glob("*"))


def test_from_a_folder_a_file_and_an_address(world: World, model: KnownModel, address: str) -> None:
    assert model.file is not None
    for origin in (world.releases, world.releases / model.file, address, f"{address}/", f"{address}/{model.file}"):
        assert fetch(model, str(origin))
        assert is_whole(model.folder)
        assert not fetch(model, str(origin)), "it is here"
        assert installed(world) == ["house.en-de-1"]
        (model.folder / "config.json").write_text("{}")  # what is damaged is fetched again


def test_a_download_tells_how_far_it_is(
    world: World, model: KnownModel, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "_CHUNK", 100)
    told: list[int] = []
    assert fetch(model, address, told.append)
    assert told[0] == 0
    assert told[-1] == model.bytes
    assert {later - earlier for earlier, later in pairwise(told[:-1])} == {100}
    assert not fetch(model, address, told.append)
    assert told[-1] == model.bytes


def test_the_model_that_comes_with_postedit_needs_no_file(world: World) -> None:
    assert not fetch(catalogue.default_model(), "/nowhere")


def test_another_file_is_refused_and_nothing_is_installed(world: World, model: KnownModel, tmp_path: Path) -> None:
    assert model.file is not None
    good = (world.releases / model.file).read_bytes()
    for content, fault in (
        (good[:-1] + bytes([good[-1] ^ 1]), "SHA-256 is not that of house.en-de"),
        (good[:-1], "is not complete"),
        (b"", "is not complete"),
        (
            good + b"x",
            r"is another file: the release file of house\.en-de is house\.en-de-1\.tar\.xz \([\d,]+ bytes\)",
        ),
    ):
        (tmp_path / model.file).write_bytes(content)
        with pytest.raises(DataError, match=fault):
            fetch(model, str(tmp_path))
        assert installed(world) == []


def test_a_refused_file_leaves_the_model_that_was_there(world: World, model: KnownModel, tmp_path: Path) -> None:
    fetch(model, str(world.releases))
    (model.folder / "README.md").unlink()
    (tmp_path / "bad.tar.xz").write_bytes(b"x")
    with pytest.raises(DataError, match=r"bad\.tar\.xz: is another file, or not complete: the release file of"):
        fetch(model, str(tmp_path / "bad.tar.xz"))
    assert installed(world) == ["house.en-de-1"]


def test_what_is_not_there_is_told_with_what_to_do(
    world: World, model: KnownModel, address: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="no such release file; give --from"):
        fetch(model, str(tmp_path / "nothing"))
    with pytest.raises(DataError, match=r"HTTP 404\); check the address, or try again later"):
        fetch(model, f"{address}/elsewhere")
    with pytest.raises(DataError, match=r"cannot be downloaded \(.*refused\); check the network, or get the file"):
        fetch(model, "http://127.0.0.1:9/releases")
    with pytest.raises(DataError, match="cannot be downloaded"):
        fetch(model, "https://no such host/releases")
    with pytest.raises(DataError, match="ftp://x/y: only addresses that begin with http:// or https://"):
        fetch(model, "ftp://x/y")
    assert installed(world) == []


def test_without_a_clone_an_origin_is_asked_for(
    model: KnownModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching.postedit, "__file__", str(tmp_path / "site/packages/postedit/__init__.py"))
    with pytest.raises(DataError, match=r"give --from: a folder or an address that has house\.en-de-1\.tar\.xz"):
        fetch(model)


def test_a_server_that_sends_for_ever_is_left(world: World, model: KnownModel) -> None:
    class Endless(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(bytes(1 << 16))
            except OSError:
                pass

        def log_message(self, *_: Any) -> None:
            pass

    for address in served(Endless):
        with pytest.raises(DataError, match="is another file"):
            fetch(model, address)
    assert installed(world) == []


SCRIPT = """
import sys
from pathlib import Path
from postedit.releases import catalogue, fetching
catalogue._CATALOGUE = Path(sys.argv[1])
unpack = fetching.unpack
def slow(*arguments, **options):
    unpack(*arguments, **options)
    print("unpacked", flush=True)
    import time
    time.sleep(60)
fetching.unpack = slow
fetching.fetch(next(one for one in catalogue.known_models() if one.name == "house.en-de"), sys.argv[2])
"""


@pytest.mark.slow
def test_a_killed_fetch_leaves_no_model_and_the_next_one_cleans_up(world: World, model: KnownModel) -> None:
    command = [sys.executable, "-c", SCRIPT, str(catalogue._CATALOGUE), str(world.releases)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ}) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "unpacked\n"
        process.send_signal(signal.SIGKILL)
        process.wait(300)
    time.sleep(0.1)
    assert not model.is_here
    assert len(installed(world)) == 1, "what the killed one left"
    assert fetch(model, str(world.releases))
    assert installed(world) == ["house.en-de-1"]
