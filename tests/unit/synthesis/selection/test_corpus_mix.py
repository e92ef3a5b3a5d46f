import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from synth_tools import read, refused, write

from postedit.core.config import load_config
from postedit.synthesis.selection.corpus_mix import MixConfig

Synth = Callable[..., Any]


def corpus(folder: Path, name: str, count: int) -> str:
    for side in ("src", "mt", "pe"):
        write(folder / f"{name}.{side}", [f"{name} {number} {side}" for number in range(count)])
    return name


def mixed(folder: Path) -> list[str]:
    triplets = list(zip(*(read(folder / f"out.{side}") for side in ("src", "mt", "pe"))))
    for src, mt, pe in triplets:
        assert src.replace("src", "mt") == mt
        assert src.replace("src", "pe") == pe
    return [src.removesuffix(" src") for src, _, _ in triplets]


def recipe(folder: Path, *corpora: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"kind": "mix", "chunk_lines": 16, "corpus": list(corpora), **others}


def test_triplets_are_taken_as_often_as_is_asked_for_and_evenly_spread(synth: Synth, tmp_path: Path) -> None:
    real, made = corpus(tmp_path, "real", 10), corpus(tmp_path, "made", 300)
    result = synth(recipe(tmp_path, {"files": real, "copies": 20.0}, {"files": made}))
    assert result.exit_code == 0, result.output
    lines = mixed(tmp_path)
    counts = Counter(lines)
    assert {counts[f"real {number}"] for number in range(10)} == {20}
    assert {counts[f"made {number}"] for number in range(300)} == {1}
    for start in range(0, 500, 50):
        assert sum(line.startswith("real") for line in lines[start : start + 50]) == pytest.approx(20, abs=1)


def test_a_share_of_the_whole(synth: Synth, tmp_path: Path) -> None:
    real, made = corpus(tmp_path, "real", 100), corpus(tmp_path, "made", 3000)
    synth(recipe(tmp_path, {"files": real, "share": 0.2}, {"files": made}))
    lines = mixed(tmp_path)
    assert sum(line.startswith("real") for line in lines) / len(lines) == pytest.approx(0.2, abs=0.01)
    counts = Counter(line for line in lines if line.startswith("real"))
    assert set(counts.values()) == {7, 8}, "7.5 copies"
    manifest = json.loads((tmp_path / "out.json").read_text())
    assert [found["files"].rpartition("/")[2] for found in manifest["corpora"]] == ["real", "made"]
    assert manifest["corpora"][0]["copies"] == 7.5
    assert sum(found["taken"] for found in manifest["corpora"]) == len(lines) == manifest["made"]["triplets"]


def test_line_feeds_in_json_become_spaces(synth: Synth, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(json.dumps({"src": "a\nb", "mt": "c", "pe": "\nd"}) + "\n")
    result = synth(recipe(tmp_path, {"files": "x.jsonl", "copies": 2.0}))
    assert result.exit_code == 0, result.output
    assert [read(tmp_path / f"out.{side}") for side in ("src", "mt", "pe")] == [["a b"] * 2, ["c"] * 2, [" d"] * 2]


def test_windows_line_ends_are_named(synth: Synth, tmp_path: Path) -> None:
    corpus(tmp_path, "x", 3)
    (tmp_path / "x.pe").write_bytes((tmp_path / "x.pe").read_bytes().replace(b"\n", b"\r\n"))
    result = synth(recipe(tmp_path, {"files": "x"}))
    assert result.exit_code == 0, result.output
    assert "x.pe: 3 lines end in CR LF" in result.stderr
    assert read(tmp_path / "out.pe") == [f"x {number} pe" for number in range(3)]


def test_the_seed_chooses_a_part(synth: Synth, tmp_path: Path) -> None:
    name, found = corpus(tmp_path, "made", 1000), []
    for seed in (1, 1, 2):
        synth(recipe(tmp_path, {"files": name, "copies": 0.25}, seed=seed))
        found.append(mixed(tmp_path))
    assert found[0] == found[1] != found[2]
    assert len(found[0]) == pytest.approx(250, abs=50)
    assert len(set(found[0])) == len(found[0])


def test_chunks_change_nothing(synth: Synth, tmp_path: Path) -> None:
    real, made = corpus(tmp_path, "real", 10), corpus(tmp_path, "made", 90)
    corpora = ({"files": real, "copies": 2.5}, {"files": made})
    synth(recipe(tmp_path, *corpora, chunk_lines=7))
    first = mixed(tmp_path)
    synth(recipe(tmp_path, *corpora, chunk_lines=100))
    assert mixed(tmp_path) == first


@pytest.mark.parametrize("first", [0, 1, 5, 6])
def test_a_mixture_is_resumed_where_it_was_interrupted(tmp_path: Path, first: int) -> None:
    corpora = [{"files": corpus(tmp_path, "real", 10), "copies": 2.5}, {"files": corpus(tmp_path, "made", 60)}]
    values = recipe(tmp_path, *corpora, out=str(tmp_path / "out"), dir=str(tmp_path))
    config, problems = load_config(MixConfig, values, "options").resolve(tmp_path)
    assert not problems
    source = config.prepare().source
    assert list(source.chunks(first)) == list(source.chunks())[first:]


@pytest.mark.parametrize(
    ("corpora", "message"),
    [
        ([{"files": "real", "share": 0.5}], "must leave room for at least one corpus without a share"),
        ([{"files": "real", "share": 0.5, "copies": 2.0}, {"files": "made"}], "leave one of them out"),
        ([{"files": "none"}], "synth.corpus.0 (none.src): "),
        ([{"files": "real", "copies": 1e-9}], "of 10 triplets none is taken"),
        ([{"files": "real", "copies": math.inf}], "synth.corpus.0.copies: must be a finite number (found inf)"),
        ([{"files": "real", "copies": 1e300}], "must be at most 100000 (found 1e+300)"),
        ([{"files": "real", "share": 1 - 1e-12}, {"files": "made"}], "at most 100,000 are allowed"),
        ([{"files": "blank"}], "blank: has no usable triplet"),
        ([], "corpus: "),
    ],
)
def test_corpora_that_cannot_be_mixed_are_named(
    synth: Synth, tmp_path: Path, corpora: list[dict[str, Any]], message: str
) -> None:
    corpus(tmp_path, "real", 10)
    corpus(tmp_path, "made", 20)
    for side in ("src", "mt", "pe"):
        write(tmp_path / f"blank.{side}", [" ", ""])
    assert message in refused(synth(recipe(tmp_path, *corpora)))


def test_a_triplet_stands_in_the_middle_of_its_stretch(synth: Synth, tmp_path: Path) -> None:
    synth(recipe(tmp_path, {"files": corpus(tmp_path, "one", 1)}, {"files": corpus(tmp_path, "three", 3)}))
    assert mixed(tmp_path) == ["three 0", "one 0", "three 1", "three 2"]


def test_corpora_and_blocks_have_random_numbers_of_their_own(
    synth: Synth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postedit.synthesis.selection.corpus_mix._BLOCK", 16)
    names = [corpus(tmp_path, name, 32) for name in ("x", "y")]
    synth(recipe(tmp_path, *({"files": name, "copies": 0.5} for name in names)))
    chosen = [[int(line[2:]) for line in mixed(tmp_path) if line[0] == name] for name in names]
    blocks = [{number % 16 for number in rows if number // 16 == block} for rows in chosen for block in (0, 1)]
    assert len(set(map(frozenset, blocks))) == 4
