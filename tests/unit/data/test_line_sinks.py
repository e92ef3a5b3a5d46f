"""Lines go to a stream at once, or into a file that survives an interruption."""

from pathlib import Path

import pytest

from postedit.core.errors import OutputError
from postedit.data.line_sinks import open_sink


@pytest.mark.parametrize("path", [None, Path("-"), Path("/dev/stdout")])
def test_stdout_gets_lines_at_once_and_stays_open(path: Path | None, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    sink = open_sink(path, {})
    sink.write(["größe", "b"])
    assert capfdbinary.readouterr().out == "größe\nb\n".encode()
    sink.finish()
    print("after")
    assert capfdbinary.readouterr().out == b"after\n"
    assert (sink.done, sink.kept, sink.records(str)) == (2, "", [])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_device_is_reported() -> None:
    with pytest.raises(OutputError, match="/dev/full: cannot be written: the disk is full"):
        open_sink(Path("/dev/full"), {}).write(["one"])


def test_a_stream_cannot_be_resumed() -> None:
    with pytest.raises(OutputError, match="is a stream, which keeps no lines of an unfinished run; leave out --resume"):
        open_sink(Path("/dev/null"), {}, resume=True)
