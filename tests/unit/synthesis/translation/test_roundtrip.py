import json
import pickle
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
from hypothesis import assume, given
from hypothesis import strategies as st
from synth_tools import program, read, refused, sentences, write

from postedit.data.lines import encode_lines
from postedit.distributed.chunks import Chunk
from postedit.evaluate.ter import TER
from postedit.synthesis.selection.domain_selection import SentenceSelection, lowest
from postedit.synthesis.selection.histogram_matching import CELLS, cells_of
from postedit.synthesis.translation.roundtrip import RoundtripConfig

Synth = Callable[..., Any]

# There, every word gets an ending; back, it loses that, and two lines in three lose their first word.
BACK = program("print(' '.join(word + '_en' for word in line.split()))")
UPPER = program("print(line.upper())")
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


def test_kept_round_trips_resemble_real_triplets(synth: Synth, tmp_path: Path) -> None:
    result = synth(options(tmp_path))
    assert result.exit_code == 0, result.output
    made = triplets(tmp_path)
    assert 0 < len(made) < 1200
    for src, _, pe in made:
        assert src == " ".join(f"{word}_en" for word in pe.split())
    histograms = []
    for prefix in ("out", "real"):
        edits = TER(case_sensitive=True).counts(read(tmp_path / f"{prefix}.mt"), read(tmp_path / f"{prefix}.pe"))
        histograms.append(np.bincount(cells_of(edits), minlength=CELLS) / len(edits))
    assert np.abs(histograms[0] - histograms[1]).sum() / 2 < 0.25 + 0.1  # and the chance of which are kept
    manifest = json.loads((tmp_path / "out.json").read_text())
    assert manifest["mismatch"] <= 0.25
    assert manifest["made"]["triplets"] == len(made)
    assert "1 of 3" not in result.stdout
    assert "3 of 3: selection of triplets" in result.stderr


@given(st.lists(st.sampled_from([0.1, 0.2, 0.1 + 0.2, 1 / 3, None]), min_size=1, max_size=30), st.floats(0.01, 1))
def test_as_many_sentences_are_chosen_as_are_asked_for(values: list[float | None], share: float) -> None:
    assume(set(values) != {None})
    lines = [f"line {number}" for number in range(len(values))]
    differences = np.array([np.inf if value is None else value for value in values])
    stage = SentenceSelection.of(lowest(differences, share))
    found, counts = [], Counter[str]()
    for start in range(0, len(lines), 4):
        block = lines[start : start + 4]
        chunk = stage(Chunk(start // 4, start, len(block), {"pe": encode_lines(block)}))
        found += chunk.lines("pe")
        counts.update(chunk.counts)
    sentences = [number for number, value in enumerate(values) if value is not None]
    best = sorted(sentences, key=lambda number: values[number] or 0)[: max(1, round(share * len(sentences)))]
    assert found == [lines[number] for number in sorted(best)]
    assert counts == Counter({"kept": len(best), "less like the domain": len(lines) - len(best)})


def test_sentences_of_the_domain_are_chosen(synth: Synth, tmp_path: Path) -> None:
    pytest.importorskip("kenlm", reason="needs the extra postedit[roundtrip]")
    result = synth(options(tmp_path, choose=0.5, mismatch=1.0))
    assert result.exit_code == 0, result.output
    chosen = read(tmp_path / "out.chosen.pe")
    assert len(chosen) == 600
    assert sum("unlike" in line for line in chosen) < 10


def test_without_kenlm_the_option_that_needs_it_is_named(synth: Synth, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "kenlm", None)
    message = refused(synth(options(tmp_path, choose=0.5)))
    assert "(synth.choose below 1) needs kenlm; install it by: pip install 'postedit[roundtrip]'" in message


def test_no_domain_is_an_error(synth: Synth, tmp_path: Path) -> None:
    pytest.importorskip("kenlm", reason="needs the extra postedit[roundtrip]")
    recipe = options(tmp_path, choose=0.5)
    write(tmp_path / "real.mt", [""] * 300)
    assert "synth.real: has no usable triplet, so there is no domain" in refused(synth(recipe))


def test_a_stage_that_chooses_opens_no_file(tmp_path: Path) -> None:
    pytest.importorskip("kenlm", reason="needs the extra postedit[roundtrip]")
    files = {name: str(tmp_path / name) for name in ("text", "real")}
    config = {**options(tmp_path), **files, "out": str(tmp_path / "out"), "choose": 0.5}
    job = RoundtripConfig.model_validate(config).prepare_selection()
    pickled = pickle.dumps(job.stage)
    for path in tmp_path.iterdir():
        path.rename(path.with_name(f"moved-{path.name}"))  # as on another machine
    assert str(tmp_path).encode() not in pickled
    stage = pickle.loads(pickled)
    text = encode_lines(read(tmp_path / "moved-text"))
    assert len(stage(Chunk(0, 0, 1200, {"pe": text})).lines("pe")) == 600


@pytest.mark.parametrize("name", ["chosen.pe", "chosen.json", "chosen.inside.arpa", "translated.mt", "pe"])
def test_the_text_is_not_overwritten_on_the_way(synth: Synth, tmp_path: Path, name: str) -> None:
    recipe = options(tmp_path, text=f"out.{name}")
    write(tmp_path / f"out.{name}", ["a b"])
    assert "would overwrite" in refused(synth(recipe))
    assert read(tmp_path / f"out.{name}") == ["a b"]


@pytest.mark.slow
def test_a_phase_that_is_done_is_not_done_again(synth: Synth, tmp_path: Path) -> None:
    switch = tmp_path / "mended"
    fails = f"from pathlib import Path; Path({str(switch)!r}).exists() or sys.exit(4)"
    recipe = options(tmp_path, forward=program(fails, "print(line.replace('_en', ''))"), mismatch=1.0)
    assert "ended with status 4" in refused(synth(recipe))
    before = (tmp_path / "out.chosen.pe").stat().st_mtime_ns
    switch.touch()
    resumed = synth(recipe, "--resume")
    assert resumed.exit_code == 0, resumed.output
    assert "selection of sentences: already done" in resumed.stderr
    assert (tmp_path / "out.chosen.pe").stat().st_mtime_ns == before
    assert [pe for _, _, pe in triplets(tmp_path)] == [mt for _, mt, _ in triplets(tmp_path)]


@pytest.mark.slow
def test_another_mismatch_does_not_have_all_translated_again(synth: Synth, tmp_path: Path) -> None:
    log = tmp_path / "log"
    forward = program(f"open({str(log)!r}, 'a').write('x')", "print(line.replace('_en', ''))")
    assert "make more, or allow a larger mismatch" in refused(synth(options(tmp_path, forward=forward, mismatch=0.05)))
    before = log.read_text()
    assert synth(options(tmp_path, forward=forward, mismatch=1.0), "--resume").exit_code == 0
    assert log.read_text() == before
    assert len(triplets(tmp_path)) == 1200


@pytest.mark.parametrize("direction", ["back", "forward"])
def test_texts_too_long_for_a_translator_are_counted(synth: Synth, tmp_path: Path, direction: str) -> None:
    tiny_models.folder("transformer", input="src").save(tmp_path / "model")
    model = {"kind": "postedit", "model": str(tmp_path / "model"), "beam": 1}
    recipe = options(tmp_path, **{"back": UPPER, "forward": UPPER, direction: model}, mismatch=1.0)
    write(tmp_path / "text", ["das Haus", "Haus " * 3000])
    result = synth(recipe)
    assert result.exit_code == 0, result.output
    assert [pe for _, _, pe in triplets(tmp_path)] == ["das Haus"]
    left_out = {"blank on a side": 0, "too long for the model": 1}
    assert json.loads((tmp_path / "out.translated.json").read_text())["left_out"] == left_out


def test_both_translators_are_known_by_their_content(tmp_path: Path) -> None:
    write(tmp_path / "out.chosen.pe", ["a b"])
    recipe = options(tmp_path, out=str(tmp_path / "out"))
    recipe["real"] = str(tmp_path / "real")

    def known() -> Any:
        return RoundtripConfig.model_validate(recipe).prepare_translation().settings.get("model")

    assert known() is None, "of commands nothing is known"
    for name in ("back", "forward"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
        recipe[name] = {"kind": "huggingface", "model": str(tmp_path / name)}
    before = known()
    (tmp_path / "back/config.json").write_text("{ }")
    assert known()["forward"] == before["forward"]
    assert known()["back"] != before["back"]
