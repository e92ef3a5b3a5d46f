"""`postedit chain`, with a tiny neural model and a small phrase-based one."""

from pathlib import Path
from typing import Any

import pytest
from tests.unit.phrase.small_corpus import TRIPLETS, split

from postedit.core.editor import Editor
from postedit.core.errors import DataError
from postedit.core.search_config import SearchConfig
from postedit.data.lines import DevTexts
from postedit.editing.chain_folder import save_chain
from postedit.editing.protection import Protected
from postedit.evaluate.chrf import AdditiveCHRF
from postedit.evaluate.metrics import additive_metric
from postedit.evaluate.scores import score_systems
from postedit.jobs import chaining
from postedit.jobs.dev_overlap import uses_of
from postedit.model_files import read_provenance
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_folder import PhraseFolder
from postedit.phrase.phrase_model import learn
from postedit.phrase.phrase_options import PhraseConfig, PhraseTextConfig
from postedit.text.span_patterns import KINDS

TEXTS = dict(zip(("src", "mt", "pe"), map(list, zip(*TRIPLETS))))


@pytest.fixture
def dev(tmp_path: Path) -> list[Path | str]:
    """Write the dev set, and return its options; the models are in `one`, `two` and `harmful`."""
    for name, texts in TEXTS.items():
        (tmp_path / f"dev.{name}").write_text("".join(f"{text}\n" for text in texts))
    config = PhraseConfig(order=3)
    full_stops = [(src, mt, f"{mt[:-1]}.") for src, mt, _ in TRIPLETS]
    others = [(src, f"{mt[:-1]}.", pe) for src, mt, pe in TRIPLETS]
    errors = [(src, mt, f"{mt[:-1]} x y") for src, mt, _ in TRIPLETS]
    for name, known in (("one", full_stops), ("two", others), ("harmful", errors)):
        model = learn(split(known * 3), config)
        PhraseFolder(model, config, PhraseTextConfig(), SearchConfig(), {}).save(tmp_path / name)
    return [part for name in TEXTS for part in (f"--{name}", tmp_path / f"dev.{name}")]


def ters(stdout: str) -> dict[str, float]:
    rows = [line.split() for line in stdout.splitlines() if line.startswith((" the ", " unedited "))]
    return {" ".join(row[:-7]): float(row[-7]) for row in rows}


def test_the_chain_that_is_written_has_the_scores_that_are_told(run: Any, tmp_path: Path, dev: list[Any]) -> None:
    result = run("chain", tmp_path / "one", tmp_path / "two", *dev, "--out", tmp_path / "chain", "--edit-costs", "0,9")
    assert result.exit_code == 0
    found = ters(result.stdout)
    assert found["the chain"] < min(found["the first alone"], found["the second alone"]) < found["unedited MT"]
    assert "gains nothing" not in result.stderr
    assert "with edit costs 0 and 0; these scores are of the set that chose them" in result.stderr
    edit = run("edit", tmp_path / "chain", *dev[:4], "--out", tmp_path / "hyp")
    assert edit.exit_code == 0
    (scores,) = score_systems({"x": (tmp_path / "hyp").read_text().splitlines()}, TEXTS["pe"], None)
    assert found["the chain"] == pytest.approx(scores.ter, abs=0.005)
    assert read_provenance(tmp_path / "chain")["dev"]["the chain"].startswith(f"TER {scores.ter:.2f}, BLEU ")
    assert uses_of(DevTexts(**TEXTS), tmp_path / "chain") == {"dev"}
    assert uses_of(DevTexts(TEXTS["src"], TEXTS["mt"], TEXTS["mt"]), tmp_path / "chain") == set()


def test_post_edits_without_spaces_are_told_of(run: Any, tmp_path: Path, dev: list[Any]) -> None:
    (tmp_path / "dev.pe").write_text("設定を保存して画面を閉じます。\n" * len(TRIPLETS), encoding="utf-8")
    result = run("chain", tmp_path / "one", tmp_path / "two", *dev, "--out", tmp_path / "chain", "--edit-costs", "9")
    assert "dev.pe has no spaces between words" in result.stderr


def test_swapped_sides_are_told(run: Any, tmp_path: Path, dev: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = (TEXTS["src"], TEXTS["mt"])
    monkeypatch.setattr(PhraseEditor, "seem_swapped", lambda _, *sides: tuple(map(list, sides)) == expected)
    result = run("chain", tmp_path / "one", tmp_path / "two", *dev, "--out", tmp_path / "chain", "--edit-costs", "9")
    assert "warning: src and mt seem to be swapped" in result.stderr


def test_a_model_that_harms_gets_the_larger_cost(run: Any, tmp_path: Path, dev: list[Any]) -> None:
    for metric in ("ter", "bleu", "chrf"):
        given = ("chain", tmp_path / "harmful", tmp_path / "one", *dev, "--edit-costs", "0,50", "--metric", metric)
        result = run(*given, "--out", tmp_path / metric)
        assert result.exit_code == 0
        assert "with edit costs 50 and 0" in result.stderr
        found = ters(result.stdout)
        assert found["the chain"] == found["the second alone"] < found["unedited MT"]
        assert "warning: the second alone is no worse here: the chain takes longer and gains nothing" in result.stderr


def test_faults(run: Any, tmp_path: Path, dev: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chaining, "choose_costs", lambda *_: pytest.fail("no fault is told after long work"))
    (tmp_path / "file").touch()
    save_chain(tmp_path / "made", (tmp_path / "one", tmp_path / "two"), (0.0, 0.0), {}, "")
    for name, language in (("de", "de"), ("fr", "fr")):
        config = PhraseTextConfig(tokenizer="moses", src_lang="en", tgt_lang=language)
        model = learn(split(TRIPLETS), PhraseConfig(order=3))
        PhraseFolder(model, PhraseConfig(order=3), config, SearchConfig(), {}).save(tmp_path / name)
    cases: list[tuple[tuple[str, str], str, tuple[str, ...], str]] = [
        (("one", "gone"), "chain", (), "no such model folder"),
        (("one", "made"), "chain", (), "is a chain itself; name its models"),
        (("one", "file"), "chain", (), "is a file, not a model folder"),
        (("de", "fr"), "chain", (), "are for one language pair"),
        (("one", "two"), "nowhere/chain", (), "does not exist; create it first"),
        (("one", "two"), "file", (), "exists already; choose a new folder"),
        (("one", "two"), "chain", ("--edit-costs", "0,much"), "--edit-costs takes numbers of at least 0"),
        (("one", "two"), "chain", ("--edit-costs=-1",), "--edit-costs takes numbers of at least 0"),
        (("one", "two"), "chain", ("--edit-costs", "nan,1"), "--edit-costs takes numbers of at least 0"),
        (("one", "two"), "chain", ("--edit-costs", "inf"), "--edit-costs takes numbers of at least 0"),
        (("one", "two"), "chain", ("--protect", "nothing"), "nothing"),
    ]
    for models, out, options, expected in cases:
        result = run("chain", *(tmp_path / model for model in models), *dev, "--out", tmp_path / out, *options)
        assert result.exit_code != 0
        assert expected in " ".join(result.stderr.split())
    assert not (tmp_path / "chain").exists()


def test_one_model_is_no_chain(run: Any, tmp_path: Path, dev: list[Any]) -> None:
    assert run("chain", tmp_path / "one", *dev, "--out", tmp_path / "chain").exit_code == 2


def test_the_larger_of_equal_costs_are_chosen() -> None:
    dev, costs, done = DevTexts(**TEXTS), [0.5, 2.0, 1.0], list[int]()
    nothing = PhraseEditor.empty(PhraseTextConfig())
    chosen = chaining.choose_costs(nothing, nothing, dev, costs, additive_metric("ter", "none"), done.append)
    assert chosen.edit_costs == (2.0, 2.0)
    assert len(set(chosen.losses.values())) == 1
    assert done == sorted(set(done))
    assert done[-1] == chaining.rounds_of(costs) * len(dev.src)


@pytest.mark.parametrize(("option", "kinds"), [((), KINDS), (("--protect", "number"), ("number",))])
def test_costs_are_chosen_with_protection_by_the_metric(
    run: Any, tmp_path: Path, dev: list[Any], monkeypatch: pytest.MonkeyPatch, option: tuple[str, ...], kinds: Any
) -> None:
    asked: list[Editor] = []

    by: list[object] = []

    def choose_costs(first: Editor, second: Editor, dev: DevTexts, costs: object, metric: object, done: object) -> None:
        asked.extend([first, second])
        by.append(type(metric))
        raise DataError("enough")

    monkeypatch.setattr(chaining, "choose_costs", choose_costs)
    given = ("chain", tmp_path / "one", tmp_path / "two", *dev, "--out", tmp_path / "chain", *option)
    for metric in ("ter", "bleu", "chrf"):
        assert "enough" in run(*given, "--metric", metric).stderr
    assert by == [type(additive_metric("ter", "none")), type(additive_metric("bleu", "none")), AdditiveCHRF]
    assert len(set(by)) == 3
    expected = Protected(PhraseEditor.empty(PhraseTextConfig()), kinds).identity().settings
    assert [one.identity().settings for one in asked] == [expected] * 6
