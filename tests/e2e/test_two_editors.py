"""The benchmark of two editors, with two phrase-based ones that correct a word each."""

import json
import sys
from pathlib import Path

import pytest
from tests.unit.phrase.small_corpus import split

from postedit.core.search_config import SearchConfig
from postedit.phrase.phrase_folder import PhraseFolder
from postedit.phrase.phrase_model import learn
from postedit.phrase.phrase_options import PhraseConfig, PhraseTextConfig

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import two_editors

pytestmark = pytest.mark.slow


def corrector(folder: Path, wrong: str, right: str) -> str:
    triplets = [(f"s {number}", f"{wrong} {number}", f"{right} {number}") for number in range(12)]
    config = PhraseConfig(order=2)
    model = learn(split(triplets), config)
    PhraseFolder(model, config, PhraseTextConfig(), SearchConfig(), {}).save(folder)
    return str(folder)


def test_both_editors_are_best_where_each_corrects_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "task"
    data.mkdir()
    mt = [f"falsch {number} schlimm {number}" for number in range(40)]
    for part in ("dev", "test"):
        (data / f"{part}.src").write_text("".join(f"s {number}\n" for number in range(40)))
        (data / f"{part}.mt").write_text("".join(f"{line}\n" for line in mt))
    pe = [line.replace("falsch", "richtig").replace("schlimm", "gut") for line in mt]
    (data / "dev.pe").write_text("".join(f"{line}\n" for line in pe))
    models = [corrector(tmp_path / "first", "falsch", "richtig"), corrector(tmp_path / "second", "schlimm", "gut")]
    costs = ["--first-costs", "0", "50", "--second-costs", "0"]
    given = [*models, "--data", str(data), "--work", str(tmp_path / "work"), "--outputs", str(tmp_path / "out"), *costs]
    monkeypatch.setattr(sys, "argv", ["two_editors.py", *given])
    two_editors.main()
    assert (tmp_path / "out/task.pe").read_text().splitlines() == pe
    about = json.loads((tmp_path / "out/task.json").read_text())
    assert [one["ter"] for one in about["dev"]] == [50.0, 25.0, 25.0, 0.0]
    assert about["how"] == "both, edit costs 0.0 and 0.0, chosen on dev"
    assert about["changed"] == about["lines"] == 40
    assert str(tmp_path) not in about["command"]
    assert "| both | 0, 0 | 0.00 |" in capsys.readouterr().out
