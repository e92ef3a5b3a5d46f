"""Noise: what TER finds in it is what was drawn, and what was drawn is like the real triplets."""

import os
import pickle
import random
import re
import signal
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import typeof

from postedit.core.config import load_config
from postedit.core.errors import RecipeError
from postedit.core.processes import Executor, LocalExecutor
from postedit.distributed.chunks import Chunk
from postedit.distributed.pipeline import run_job
from postedit.evaluate.ter import EditCount, count_edits, edit_rate
from postedit.synthesis.noise.edit_profile import MAX_WORDS, EditProfile, inflected, measure_profile
from postedit.synthesis.noise.noise_kernel import NoiseStage
from postedit.synthesis.noise.noise_recipe import NoiseConfig
from postedit.synthesis.noise.noise_tables import NoiseTables, TextSample, matched_tables, plain_tables
from postedit.synthesis.triplet_counts import BLANK, EDIT_KINDS, TER_BIN, histogram_of, ks_distance

SAMPLE = Path(__file__).parents[4] / "examples/mlqe-pe.en-de"


def read(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def noisy(
    lines: Sequence[str], tables: NoiseTables, *, seed: int = 1, first_line: int = 0, max_words: int = 100
) -> Chunk:
    text = "".join(f"{line}\n" for line in lines).encode()
    chunk = Chunk(0, first_line, len(lines), {"src": text, "pe": text})
    return NoiseStage(tables, seed, max_words)(chunk)


def make(config: NoiseConfig, executor: Executor | None = None) -> dict[str, Any]:
    return run_job(config.prepare(), config.triplets, executor or LocalExecutor())


def ks(one: Iterable[float], other: Iterable[float]) -> float:
    """The Kolmogorov-Smirnov distance, counted otherwise than the code under test does."""
    a, b = np.sort(list(one)), np.sort(list(other))
    places = np.union1d(a, b)
    shares = [np.searchsorted(values, places, "right") / len(values) for values in (a, b)]
    return float(np.abs(shares[0] - shares[1]).max())


def rates(counts: Sequence[EditCount], kind: str) -> list[float]:
    return [getattr(count, kind) / count.length for count in counts]


@pytest.fixture(scope="module")
def halves() -> tuple[list[EditCount], EditProfile, list[str]]:
    """Edits and profile of one half of the sample, and the post-edits of the other."""
    mt, pe = read(SAMPLE / "train.mt"), read(SAMPLE / "train.pe")
    profile = measure_profile(zip(mt[::2], pe[::2]))
    return count_edits(mt[::2], pe[::2]), profile, pe[1::2]


def test_control_c_waits_for_compiled_code_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = []

    def interrupted(*arguments: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        ended.append(arguments)
        return [np.zeros(0, np.uint8)] * 5

    monkeypatch.setattr("postedit.synthesis.noise.noise_kernel._make_noise", interrupted)
    with pytest.raises(KeyboardInterrupt):
        noisy(["a b"], plain_tables(TextSample.of(["a b"])))
    assert ended


def test_noise_has_the_edits_of_the_real_triplets(halves: tuple[list[EditCount], EditProfile, list[str]]) -> None:
    real, profile, text = halves
    chunk = noisy(text, matched_tables(profile, TextSample.of(text), thin=False))
    made = count_edits(chunk.lines("mt"), chunk.lines("pe"))
    for kind in ("edits", *EDIT_KINDS):
        assert ks(rates(real, kind), rates(made, kind)) <= 0.05, kind
        mean = [
            sum(getattr(count, kind) for count in counts) / sum(c.length for c in counts) for counts in (real, made)
        ]
        assert mean[1] == pytest.approx(mean[0], rel=0.15), kind


def test_the_distance_tells_plain_noise_from_real_edits(halves: tuple[list[EditCount], EditProfile, list[str]]) -> None:
    real, _, text = halves
    chunk = noisy(text, plain_tables(TextSample.of(text))._replace(rate_scale=edit_rate(real) / 100))
    made = count_edits(chunk.lines("mt"), chunk.lines("pe"))
    assert ks(rates(real, "edits"), rates(made, "edits")) > 0.1
    assert ks(rates(real, "shifts"), rates(made, "shifts")) > 0.1


def test_counts_are_those_of_ter(halves: tuple[list[EditCount], EditProfile, list[str]]) -> None:
    _, profile, text = halves
    chunk = noisy(text[:500], matched_tables(profile, TextSample.of(text), thin=False))
    edits = count_edits(chunk.lines("mt"), chunk.lines("pe"))
    assert chunk.counts["words"] == sum(count.length for count in edits)
    for kind in EDIT_KINDS:
        assert chunk.counts[kind] == sum(getattr(count, kind) for count in edits)
    assert histogram_of(chunk.counts, TER_BIN) == Counter(
        min(200, 100 * count.edits // count.length) for count in edits
    )
    assert chunk.counts["as drawn"] > 0.95 * chunk.counts["kept"]


def test_edits_are_counted_by_ter_where_its_beam_does_not_reach_them() -> None:
    profile, text = measure_profile([("b b b", "a a b b b")] * 100), [" ".join("a" * 40 + "b" * 60)] * 5
    chunk = noisy(text, matched_tables(profile, TextSample.of(text), thin=False))
    edits = count_edits(chunk.lines("mt"), chunk.lines("pe"))
    assert [chunk.counts[kind] for kind in EDIT_KINDS] == [
        sum(getattr(one, kind) for one in edits) for kind in EDIT_KINDS
    ]
    assert any(one.substitutions for one in edits)


def test_words_are_changed_as_real_edits_change_them() -> None:
    substituted, deleted = [("x den Hund", "x der Hund")] * 300, [("x der , Hund", "x der Hund")] * 300
    inserted, same = [("Hund da", "! Hund da")] * 300, [("ganz anders Hund", "ganz anders Hund")] * 100
    profile = measure_profile([*substituted, *deleted, *inserted, *same])
    text = ["x der Hund"] * 500 + ["! Hund da"] * 500
    chunk = noisy(text, matched_tables(profile, TextSample.of(text), thin=False))
    pairs = [(Counter(mt.split()), Counter(pe.split())) for mt, pe in zip(chunk.lines("mt"), chunk.lines("pe"))]
    added = Counter(word for mt, pe in pairs if mt.total() > pe.total() for word in mt - pe)
    assert set(added) == {","}
    lost = Counter(word for mt, pe in pairs if mt.total() < pe.total() and pe["!"] for word in pe - mt)
    assert lost["!"] > 0.9 * lost.total() > 100
    swaps = [(pe - mt, mt - pe) for mt, pe in pairs if mt.total() == pe.total() and pe["der"] and mt != pe]
    replaced = Counter((*old, *new) for old, new in swaps)
    assert replaced["der", "den"] > 0.4 * replaced.total() > 40


def test_a_word_whose_substitutes_all_differed_gets_others_too() -> None:
    profile = measure_profile([*((f"a{number}", "x") for number in range(100)), *[("z", "y")] * 900])
    text = ["x"] * 400
    made = noisy(text, matched_tables(profile, TextSample.of(text), thin=False)).lines("mt")
    known = sum(mt.startswith("a") for mt in made)
    assert len(made) == known + made.count("z")
    assert known / len(made) == pytest.approx(0.5 + 0.5 * 0.1, abs=0.08)  # half of them, and a tenth of the others


@pytest.mark.parametrize("mt", ["b c d a e f", "c d a b e f", "d a b c e f", "f a b c d e"])
def test_blocks_move_as_far_and_to_the_side_that_real_ones_do(mt: str) -> None:
    profile = measure_profile([(mt, "a b c d e f")] * 100)
    text = [" ".join(f"w{number}x{place}" for place in range(6)) for number in range(200)]
    chunk = noisy(text, matched_tables(profile, TextSample.of(text), thin=False))
    assert measure_profile(zip(chunk.lines("mt"), chunk.lines("pe"))).moves.keys() == profile.moves.keys()


def test_words_never_seen_get_other_forms_of_their_own() -> None:
    forms = [("eine Regelungen x", "eine Regelung x"), ("gute Ordnung x", "gute Ordnungen x")]
    profile = measure_profile(forms * 100)
    assert profile.inflection_rate == 1.0
    text = ["Bedingung", "Bedingungen", "Bedingte", "Übersetzer", "Übersetzern", "Über"] * 200
    chunk = noisy(text, matched_tables(profile, TextSample.of(text), thin=False))
    changed = {(mt, pe) for mt, pe in zip(chunk.lines("mt"), chunk.lines("pe")) if mt != pe}
    long = {(mt, pe) for mt, pe in changed if pe not in ("Bedingte", "Über")}
    assert {("Bedingungen", "Bedingung"), ("Übersetzer", "Übersetzern")} <= long
    assert all(inflected(mt, pe) for mt, pe in long)


def test_endings_are_measured_in_characters_in_any_script() -> None:
    """Letters of one alphabet begin with the same byte in UTF-8, and so may begin the endings of unrelated words."""
    profile = measure_profile([("eine Regelungen x", "eine Regelung x")] * 100)
    text = ["столами", "столетие", "книгами", "книгах"] * 200
    chunk = noisy(text, matched_tables(profile, TextSample.of(text), thin=False))
    swapped = {(mt, pe) for mt, pe in zip(chunk.lines("mt"), chunk.lines("pe")) if len(mt.split()) == 1 and mt != pe}
    assert ("книгах", "книгами") in swapped
    assert ("столетие", "столами") not in swapped


@given(st.floats(0.03, 0.4), st.integers(0, 2**63 - 1))
@settings(max_examples=5)
def test_plain_noise_has_the_rate_asked_for_and_all_kinds(rate: float, seed: int) -> None:
    rng = random.Random(seed)
    text = [" ".join(f"w{rng.randrange(5000)}" for _ in range(rng.randint(15, 30))) for _ in range(1500)]
    tables = plain_tables(TextSample.of(text))._replace(rate_scale=rate)
    chunk = noisy(text, tables, seed=seed)
    found = count_edits(chunk.lines("mt"), chunk.lines("pe"))
    assert edit_rate(found) == pytest.approx(100 * rate, rel=0.12)
    for kind in EDIT_KINDS:
        share = sum(getattr(count, kind) for count in found) / sum(count.edits for count in found)
        assert share == pytest.approx(0.25, abs=0.09), kind


ODD = st.text(st.sampled_from("aäb \u00a0\u2003\u3000\u200b\r\t\x1c中🙂"), max_size=12)


def margins(line: str) -> tuple[str, str]:
    """The spacing before and after the words of a line."""
    return line[: len(line) - len(line.lstrip())], line[len(line.rstrip()) :]


@given(st.lists(ODD, min_size=1, max_size=12), st.data())
def test_noise_depends_on_seed_and_line_alone(lines: list[str], data: st.DataObject) -> None:
    tables = plain_tables(TextSample.of(lines))._replace(rate_scale=0.5)
    seed = data.draw(st.integers(0, 2**63 - 1))
    whole = noisy(lines, tables, seed=seed)
    cut = data.draw(st.integers(0, len(lines)))
    parts = [noisy(lines[:cut], tables, seed=seed), noisy(lines[cut:], tables, seed=seed, first_line=cut)]
    for side in ("src", "mt", "pe"):
        assert b"".join(part.sides[side] for part in parts) == whole.sides[side]
    kept = whole.lines("pe")
    assert whole.lines("src") == kept
    assert all(mt.split() for mt in whole.lines("mt"))
    assert whole.counts["without words"] == sum(not line.split() for line in lines)
    assert len(kept) + whole.counts["without words"] + whole.counts[BLANK] == len(lines)
    for mt, pe, count in zip(whole.lines("mt"), kept, count_edits(whole.lines("mt"), kept)):
        assert mt == pe if count.edits == 0 else margins(mt) == margins(pe)
    edits = count_edits(whole.lines("mt"), kept)
    assert all(whole.counts.get(kind, 0) == sum(getattr(count, kind) for count in edits) for kind in EDIT_KINDS)


def test_neighbours_of_pe_keep_their_spacing() -> None:
    text = [f"\u3000a{i}\u00a0b{i}  c{i}\td{i} e{i}\u3000\u00a0f{i} " for i in range(200)]
    chunk = noisy(text, plain_tables(TextSample.of(text))._replace(rate_scale=0.2))
    edited = [(mt, pe) for mt, pe in zip(chunk.lines("mt"), chunk.lines("pe")) if mt != pe]
    assert len(edited) > 100
    for mt, pe in edited:
        assert margins(mt) == margins(pe)
        gap = dict(zip(pairwise(pe.split()), re.findall(r"(?<=\S)\s+(?=\S)", pe)))
        assert re.findall(r"(?<=\S)\s+(?=\S)", mt) == [gap.get(pair, " ") for pair in pairwise(mt.split())]


def test_lines_too_long_are_left_out_on_all_sides() -> None:
    tables = plain_tables(TextSample.of(["a"]))
    chunk = noisy(["a b c", "a b c d", "", "e"], tables, max_words=3)
    assert chunk.lines("src") == chunk.lines("pe") == ["a b c", "e"]
    assert len(chunk.lines("mt")) == 2
    assert chunk.counts["too long"] == chunk.counts["without words"] == 1
    most = [" ".join("a" * MAX_WORDS)]
    assert noisy(most, tables, max_words=MAX_WORDS).counts["kept"] == 1


def test_only_triplets_that_are_blank_on_a_side_are_left_out() -> None:
    text = ["a", "b c d e", "f g h", "i"] * 50
    tables = plain_tables(TextSample.of(text))._replace(rate_scale=0.3)
    src = ["\u2003 " if number % 3 == 0 else line for number, line in enumerate(text)]
    sides = {side: "".join(f"{line}\n" for line in lines).encode() for side, lines in (("src", src), ("pe", text))}
    chunk, whole = NoiseStage(tables, 1, 100)(Chunk(0, 0, len(text), sides)), noisy(text, tables)
    singles = [noisy([line], tables, first_line=number) for number, line in enumerate(text)]
    kept = [number for number, single in enumerate(singles) if single.counts["kept"]]
    assert 0 < whole.counts[BLANK] == len(text) - len(kept)
    assert whole.lines("mt") == [singles[number].lines("mt")[0] for number in kept]
    both = [number for number in kept if src[number].strip()]
    assert chunk.lines("mt") == [singles[number].lines("mt")[0] for number in both]
    assert chunk.lines("src") == chunk.lines("pe") == [text[number] for number in both]
    assert chunk.counts[BLANK] == len(text) - len(both)


def test_thinning_gives_the_real_lengths() -> None:
    profile = measure_profile([("a", "b")] * 300 + [("a b", "a c")] * 600 + [("a b c d", "a b c e")] * 100)
    text = [" ".join("x" * length) for length in (1, 2, 3, 4, 5) for _ in range(2000)]
    chunk = noisy(text, matched_tables(profile, TextSample.of(text), thin=True))
    lengths = Counter(len(line.split()) for line in chunk.lines("pe"))
    assert set(lengths) == {1, 2, 4}
    assert ks_distance(lengths, {1: 300, 2: 600, 4: 100}) < 0.02
    assert lengths[2] > 1900


def files(folder: Path, text: Sequence[str], **values: Any) -> NoiseConfig:
    for side in ("src", "pe"):
        (folder / f"text.{side}").write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    paths = {"src": str(folder / "text.src"), "pe": str(folder / "text.pe"), "out": str(folder / "out")}
    return load_config(NoiseConfig, {**paths, **values}, "options")


@pytest.mark.parametrize(
    "ter", [pytest.param(5.0, marks=pytest.mark.slow), 20.0, pytest.param(45.0, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("mode", ["plain", "matched"])
def test_a_ter_asked_for_is_reached(ter: float, mode: str, tmp_path: Path) -> None:
    real = {"real": str(SAMPLE / "train")} if mode == "matched" else {}
    config = files(tmp_path, read(SAMPLE / "train.pe")[:3000], mode=mode, ter=ter, **real)
    make(config)
    edits = count_edits(read(tmp_path / "out.mt"), read(tmp_path / "out.pe"))
    assert edit_rate(edits) == pytest.approx(ter, rel=0.06)


@pytest.mark.slow
def test_a_ter_that_plain_edits_cannot_reach_is_an_error(tmp_path: Path) -> None:
    config = files(tmp_path, read(SAMPLE / "dev.pe"), mode="plain", ter=900.0)
    with pytest.raises(RecipeError, match=r"synth\.ter = 900 cannot be reached: .* ask for less"):
        config.prepare()


def test_workers_compile_nothing_that_is_compiled() -> None:
    tables = plain_tables(TextSample.of(["a b", "b c"]))
    assert typeof(pickle.loads(pickle.dumps(tables))) == typeof(tables)


@pytest.mark.slow
def test_output_is_the_same_for_any_workers_and_chunks(tmp_path: Path) -> None:
    made = []
    for name, executor, size in (("a", LocalExecutor(), 4096), ("b", LocalExecutor(), 7), ("c", LocalExecutor(2), 300)):
        (tmp_path / name).mkdir()
        config = files(tmp_path / name, read(SAMPLE / "dev.pe"), real=str(SAMPLE / "dev"), chunk_lines=size, seed=7)
        manifest = make(config, executor)
        made.append([(tmp_path / name / f"out.{side}").read_bytes() for side in ("src", "mt", "pe", "profile.json")])
        assert manifest["made"]["triplets"] == 500
    assert made[0] == made[1] == made[2]
    config = files(tmp_path / "a", read(SAMPLE / "dev.pe"), profile=str(tmp_path / "a/out.profile.json"), seed=7)
    again = config.model_copy(update={"out": str(tmp_path / "d")})
    make(again)
    assert (tmp_path / "d.mt").read_bytes() == made[0][1]
    other = config.model_copy(update={"out": str(tmp_path / "e"), "seed": 8})
    make(other)
    assert (tmp_path / "e.mt").read_bytes() != made[0][1]
