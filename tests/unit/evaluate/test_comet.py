from pathlib import Path

import pytest

from postedit.evaluate.comet import Comet, UnavailableError

FAKE = """#!/bin/sh
while [ $# -gt 0 ]; do [ "$1" = -t ] && one=$2 && two=$3; [ "$1" = --to_json ] && out=$2; shift; done
printf '{"%s": [{"COMET": 0.5}, {"COMET": 1.0}], "%s": [{"COMET": 0.25}, {"COMET": 0.25}]}' $one $two > $out
"""


def command(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "comet-score"
    path.write_text(text)
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_the_mean_of_each_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command(tmp_path, FAKE, monkeypatch)
    assert Comet("m").score([["a", "b"], ["c", "d"]], ["s", "s"], ["p", "p"]) == [0.75, 0.25]


def test_a_failure_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command(tmp_path, "#!/bin/sh\necho 'no model called m' >&2\nexit 3\n", monkeypatch)
    with pytest.raises(UnavailableError, match="no model called m"):
        Comet("m").score([["a"]], ["s"], ["p"])


def test_without_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UnavailableError, match="install unbabel-comet"):
        Comet("m").score([["a"]], ["s"], ["p"])
