import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from synth_tools import program, read, sentences, write

from postedit.evaluate.ter import TER
from postedit.synthesis.fitting import CELLS, cells

Synth = Callable[..., Any]

# There, every word gets an ending; back, it loses that, and two lines in three lose their first word.
BACK = program("print(' '.join(word + '_en' for word in line.split()))")
FORTH = program(
    "words = [word.removesuffix('_en') for word in line.split()]",
    "print(' '.join(words[1:] if len(line) % 3 else words) or 'x')",
)


def options(folder: Path, **others: Any) -> dict[str, Any]:
    real = sentences(300, seed=2)
    write(folder / "real.pe", real)
    write(folder / "real.src", real)
    write(folder / "real.mt", [" ".join(line.split()[1:]) or "x" if i % 3 else line for i, line in enumerate(real)])
    write(folder / "text", [*sentences(600, seed=3), *(f"w{i} v{i} unlike everything" for i in range(600))])
    return {
        "kind": "roundtrip", "text": "text", "real": "real", "back": BACK, "forward": FORTH, "mismatch": 0.25,
        "chunk_lines": 100, **others,
    }  # fmt: skip


def triplets(folder: Path) -> list[tuple[str, str, str]]:
    return list(zip(*(read(folder / f"out.{side}") for side in ("src", "mt", "pe"))))


def test_text_goes_there_and_back_and_what_is_kept_is_like_the_real(synth: Synth, tmp_path: Path) -> None:
    result = synth(options(tmp_path))
    assert result.exit_code == 0, result.output
    made = triplets(tmp_path)
    assert 0 < len(made) < 1200
    for src, _, pe in made:
        assert src == " ".join(f"{word}_en" for word in pe.split())
    histograms = []
    for prefix in ("out", "real"):
        edits = TER(case_sensitive=True).edits(read(tmp_path / f"{prefix}.mt"), read(tmp_path / f"{prefix}.pe"))
        histograms.append(np.bincount(cells(edits), minlength=CELLS) / len(edits))
    assert np.abs(histograms[0] - histograms[1]).sum() / 2 < 0.25 + 0.1  # and the chance of which are kept
    manifest = json.loads((tmp_path / "out.json").read_text())
    assert manifest["mismatch"] <= 0.25
    assert manifest["made"]["triplets"] == len(made)
    assert "1 of 3" not in result.stdout
    assert "3 of 3: choice of triplets" in result.stderr


def test_sentences_of_the_domain_are_chosen(synth: Synth, tmp_path: Path) -> None:
    pytest.importorskip("kenlm", reason="needs the extra postedit[roundtrip]")
    result = synth(options(tmp_path, choose=0.5, mismatch=1.0))
    assert result.exit_code == 0, result.output
    chosen = read(tmp_path / "out.chosen.pe")
    assert len(chosen) == pytest.approx(600, abs=5)
    assert sum("unlike" in line for line in chosen) < 10


def test_a_phase_that_is_done_is_not_done_again(synth: Synth, tmp_path: Path) -> None:
    switch = tmp_path / "mended"
    fails = f"from pathlib import Path; Path({str(switch)!r}).exists() or sys.exit(4)"
    recipe = options(tmp_path, forward=program(fails, "print(line.replace('_en', ''))"), mismatch=1.0)
    failed = synth(recipe)
    assert failed.exit_code == 1
    assert "ended with status 4" in failed.stderr
    before = (tmp_path / "out.chosen.pe").stat().st_mtime_ns
    switch.touch()
    resumed = synth(recipe, "--resume")
    assert resumed.exit_code == 0, resumed.output
    assert "choice of sentences: done before" in resumed.stderr
    assert (tmp_path / "out.chosen.pe").stat().st_mtime_ns == before
    assert [pe for _, _, pe in triplets(tmp_path)] == [mt for _, mt, _ in triplets(tmp_path)]


def test_what_cannot_be_fitted_is_said(synth: Synth, tmp_path: Path) -> None:
    result = synth(options(tmp_path, forward=program("print(line.replace('_en', ''))"), mismatch=0.05))
    assert result.exit_code == 1
    assert "make more, or allow a larger mismatch" in result.stderr
