"""Lines go to a stream at once, or into a file that survives an interruption."""

import os
import threading
from pathlib import Path

import pytest

from postedit.core.errors import OutputError
from postedit.data.line_sinks import StreamSink, open_sink
from postedit.data.resumable_file import PartialFile


@pytest.mark.parametrize("path", [None, Path("-"), Path("/dev/stdout")])
def test_standard_output_gets_lines_at_once_and_stays_open(
    path: Path | None, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    sink = open_sink(path, {})
    sink.write(["größe", "b"])
    assert capfdbinary.readouterr().out == "größe\nb\n".encode()
    sink.finish()
    print("after")
    assert capfdbinary.readouterr().out == b"after\n"
    assert (sink.done, sink.kept, sink.lines()) == (2, "", [])


def test_a_fifo_gets_lines_and_its_end(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()))
    reader.start()
    sink = open_sink(path, {})
    sink.write(["one"])
    sink.write(["two"])
    sink.finish()
    reader.join(timeout=30)
    assert found == [b"one\ntwo\n"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_device_takes_lines() -> None:
    sink = open_sink(Path("/dev/null"), {})
    assert isinstance(sink, StreamSink)
    sink.write(["one"])
    sink.finish()
    assert Path("/dev/null").is_char_device()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_device_is_reported() -> None:
    with pytest.raises(OutputError, match="/dev/full: cannot be written: the disk is full"):
        open_sink(Path("/dev/full"), {}).write(["one"])


def test_a_stream_cannot_be_resumed() -> None:
    with pytest.raises(OutputError, match="is a stream, which keeps no lines of an unfinished run; leave out --resume"):
        open_sink(Path("/dev/null"), {}, resume=True)


def test_a_file_survives_an_interruption(tmp_path: Path) -> None:
    assert isinstance(open_sink(tmp_path / "out", {}), PartialFile)
