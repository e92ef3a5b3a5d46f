"""`postedit tune` and `postedit rerank`, with real models, tiny and untrained."""

import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import tiny_models
from tests.unit.cli.commands import refused
from tests.unit.phrase.small_corpus import write_recipe

from postedit.cli.tune import _print_result
from postedit.core.editor import Editor
from postedit.core.errors import DataError
from postedit.data.lines import DevTexts
from postedit.editing.members import Members
from postedit.editing.post_editor import PostEditor
from postedit.evaluate.metrics import MetricName
from postedit.evaluate.scores import score_systems
from postedit.jobs.dev_overlap import uses_of
from postedit.tuning import rounds

MT = ["das Haus", "es geht", "das alte Haus", "", "geht es", "Haus", "es ist alt", "ein altes Haus ."]
SRC = ["the house", "it goes", "the old house", "nothing", "does it", "house", "it is old", "an old house ."]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return two models that write nonsense of one or two pieces, and not the same."""
    path, text = tmp_path_factory.mktemp("models"), tiny_models.processor()
    for name in ("transference", "m-cgru"):
        tiny_models.nonsense(name, text).save(path / name)
    return [path / "transference", path / "m-cgru"]


@pytest.fixture
def dev(models: list[Path], tmp_path: Path) -> dict[str, Path]:
    """Return texts whose references are what an ensemble ranks last."""
    listed = PostEditor.load(*models, device="cpu").edit(SRC, MT, beam=4, n_best=4)
    pe = [one.alternatives[-1].text if one.alternatives else "leer" for one in listed]
    texts = {"src": SRC, "mt": MT, "pe": [text.replace("\n", " ") for text in pe]}
    paths = {side: tmp_path / f"dev.{side}" for side in texts}
    for side, lines in texts.items():
        paths[side].write_text("".join(f"{line}\n" for line in lines))
    return paths


def command(models: list[Path], dev: dict[str, Path], out: Path, *more: object) -> list[object]:
    texts = [part for side, path in dev.items() for part in (f"--{side}", path)]
    return ["tune", *models, *texts, "--out", out, "--set", "search.beam=4", "--rounds", 2, *more]


@pytest.mark.parametrize("metric", ["ter", "bleu"])
def test_a_result_below_the_unedited_mt_is_told(capsys: pytest.CaptureFixture[str], metric: MetricName) -> None:
    worse, better = [text.replace("Haus", "Huhn") for text in MT], [*MT[:-1], "das alte Haus ist alt"]
    for tuned, is_told in ((worse, True), (better, False), (MT, False)):
        _print_result(score_systems({"tuned": tuned}, better, MT), metric, Path("out"))
        assert ("worse than the unedited MT" in capsys.readouterr().err) == is_told


@pytest.mark.slow
@pytest.mark.parametrize(("method", "metric"), [("mert", "ter"), ("mira", "bleu")])
def test_tuning_writes_a_model_that_edits_as_the_table_says(
    run: Any, models: list[Path], dev: dict[str, Path], tmp_path: Path, method: str, metric: str
) -> None:
    out, hyp = tmp_path / "combination.toml", tmp_path / "hyp"
    more = ["--restarts", 2] if method == "mert" else []
    result = run(*command(models, dev, out, "--method", method, "--metric", metric, *more))
    assert result.exit_code == 0, result.stderr
    values = tomllib.loads(out.read_text())
    scores = values["tuning"]["dev"]
    better = {"ter": -1, "bleu": 1}[metric]
    name = metric.upper()
    assert better * scores["tuned"][name] >= better * scores["equal weights"][name]
    assert set(scores) == {"unedited MT", "equal weights", "tuned"}
    assert "case:mixed" in values["tuning"]["signatures"]["TER"]
    assert values["weights"]["model 1"] + values["weights"]["model 2"] == pytest.approx(1.0)
    assert min(values["weights"][f"model {n}"] for n in (1, 2)) > 0.0
    edited = run("edit", out, "--src", dev["src"], "--mt", dev["mt"], "--out", hyp)
    assert edited.exit_code == 0, edited.stderr
    table = run("score", hyp, "--pe", dev["pe"], "--mt", dev["mt"])
    tuned = next(line for line in result.stdout.splitlines() if line.strip().startswith("tuned"))
    scored = next(line for line in table.stdout.splitlines() if "hyp" in line)
    assert scored.split()[1:] == tuned.split()[1:]
    assert not list(tmp_path.glob("*.rounds"))
    assert uses_of(DevTexts.read(*dev.values()), out) == {"dev"}, "a gate would not be new to it"


@pytest.mark.slow
def test_equal_weights_are_a_plain_ensemble(run: Any, models: list[Path], dev: dict[str, Path], tmp_path: Path) -> None:
    result = run(*command(models, dev, tmp_path / "c.toml"))
    run("edit", *models, "--beam", 4, "--src", dev["src"], "--mt", dev["mt"], "--out", tmp_path / "plain")
    table = run("score", tmp_path / "plain", "--pe", dev["pe"], "--mt", dev["mt"])
    equal = next(line for line in result.stdout.splitlines() if line.strip().startswith("equal"))
    scored = next(line for line in table.stdout.splitlines() if "plain" in line)
    assert scored.split()[1:] == equal.split()[2:]


@pytest.mark.slow
def test_tuning_is_repeatable_and_goes_on_after_an_interruption(
    run: Any, models: list[Path], dev: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "_CHUNK", 3)
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    assert run(*command(models, dev, first)).exit_code == 0
    edit, calls = Editor.edit, []

    def interrupted(self: Editor, *texts: Any, **options: Any) -> Any:
        calls.append(texts)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return edit(self, *texts, **options)

    monkeypatch.setattr(Editor, "edit", interrupted)
    stopped = run(*command(models, dev, second))
    assert stopped.exit_code == 130
    assert "stopped after 3 of 8 lines of this round" in stopped.stderr
    assert "holds n-best lists of an unfinished run; add --resume" in refused(run(*command(models, dev, second)))
    with monkeypatch.context() as patch:
        patch.setattr(Members, "load", lambda *models, **given: pytest.fail("refused only after models were loaded"))
        other = run(*command(models, dev, second, "--resume", "--metric", "bleu"))
    assert "made with another metric" in refused(other)
    monkeypatch.setattr(Editor, "edit", edit)
    assert run(*command(models, dev, second, "--resume")).exit_code == 0
    assert second.read_text() == first.read_text()
    assert run(*command(models, dev, second, "--seed", 2)).exit_code == 0
    assert tomllib.loads(second.read_text())["tuning"]["seed"] == 2


@pytest.mark.parametrize("resume", [(), ("--resume",)])
def test_a_folder_without_lists_is_no_unfinished_run(
    run: Any, models: list[Path], dev: dict[str, Path], tmp_path: Path, resume: tuple[str, ...]
) -> None:
    left = tmp_path / "both.toml.rounds"
    left.mkdir()
    (left / ".job.json.1.tmp").write_text("{")
    assert run(*command(models, dev, tmp_path / "both.toml", *resume)).exit_code == 0
    assert not left.exists()


def test_a_phrase_based_model_alone_gets_a_new_folder(run: Any, dev: dict[str, Path], tmp_path: Path) -> None:
    write_recipe(tmp_path)
    assert run("train", tmp_path / "phrases.toml", "--out", tmp_path / "run").exit_code == 0
    model = tmp_path / "run/model"
    before = (model / "config.json").read_bytes()
    for out in (model, tmp_path):
        assert f"{out}: exists already; choose a new folder" in refused(run(*command([model], dev, out)))
    assert (model / "config.json").read_bytes() == before
    for option, message in (
        (["--resume"], "--resume: not for a phrase-based model alone"),
        (["--restarts", 0, "--set", "search.edit_cost=9"], "--restarts, search.edit_cost: not for"),
        (["--set", "search.beam=1"], "search.beam is the length of the n-best lists"),
    ):
        assert message in refused(run(*command([model], dev, tmp_path / "new", *option)))
    given = ["--src", dev["src"], "--mt", dev["mt"], "--pe", dev["pe"], "--set", "search.beam=5"]
    result = run("tune", model, *given, "--out", tmp_path / "new")
    assert result.exit_code == 0, result.stderr


def test_a_pair_that_is_not_here_says_how_to_fetch_it(
    run: Any, dev: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTEDIT_MODELS", str(tmp_path / "models"))
    result = run("tune", "en-es", "--src", dev["src"], "--mt", dev["mt"], "--pe", dev["pe"], "--out", tmp_path / "new")
    assert "postedit models fetch" in refused(result)


def test_a_phrase_based_model_is_tuned_with_a_neural_one(
    run: Any, models: list[Path], dev: dict[str, Path], tmp_path: Path
) -> None:
    write_recipe(tmp_path)
    assert run("train", tmp_path / "phrases.toml", "--out", tmp_path / "run").exit_code == 0
    out, hyp, lists = tmp_path / "joint.toml", tmp_path / "hyp", tmp_path / "lists"
    result = run(*command([tmp_path / "run/model", models[0]], dev, out, "--restarts", 2))
    assert result.exit_code == 0, result.stderr
    values = tomllib.loads(out.read_text())
    assert [Path(member["path"]).name for member in values["members"]] == ["model", "transference"]
    assert list(values["weights"]) == ["model 1", "model 2", "length", "post_edit_penalty"]
    assert values["weights"]["model 1"] + values["weights"]["model 2"] == pytest.approx(1.0)
    files = ["--src", dev["src"], "--mt", dev["mt"]]
    edited = run("edit", out, *files, "--out", hyp)
    assert edited.exit_code == 0, edited.stderr
    table = run("score", hyp, "--pe", dev["pe"], "--mt", dev["mt"])
    tuned = next(line for line in result.stdout.splitlines() if line.strip().startswith("tuned"))
    assert next(line for line in table.stdout.splitlines() if "hyp" in line).split()[1:] == tuned.split()[1:]
    assert run("edit", out, *files, "--format", "jsonl", "--n-best", 4, "--out", lists).exit_code == 0
    assert run("rerank", lists, "--weights", out).stdout == hyp.read_text()
    forced = run("edit", out, *files, "--force", hyp, "--out", tmp_path / "scores")
    assert forced.exit_code == 0, forced.stderr
    assert "joint.toml corrects translations" in refused(
        run("edit", out, "--src", dev["src"], "--out", tmp_path / "none")
    )


def test_one_model_tunes_length_and_penalty(run: Any, models: list[Path], dev: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "c.toml"
    assert run(*command(models[:1], dev, out, "--set", "search.exempt_src=true")).exit_code == 0
    values = tomllib.loads(out.read_text())
    assert list(values["weights"]) == ["model 1", "length", "post_edit_penalty"]
    assert values["known"] == ["mt", "src"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--set", "search.beam=1"], "search.beam is the length of the n-best lists: it must be at least 2"),
        (["--set", "search.exempt_src=3"], "search.exempt_src: must be true or false"),
        (["--method", "mira", "--restarts", 3], "--restarts applies only to --method mert"),
        (["--set", "ensemble.space=log"], "ensemble.space says what an ensemble averages: give several models with it"),
    ],
)
def test_options_that_would_do_nothing_in_tuning(
    run: Any, models: list[Path], dev: dict[str, Path], tmp_path: Path, given: list[Any], message: str
) -> None:
    result = run(*command(models[:1], dev, tmp_path / "c.toml", *given))
    assert result.exit_code != 0
    assert message in re.sub(r"[\s│]+", " ", result.stderr)
    assert not list(tmp_path.glob("c.toml*"))


@pytest.mark.parametrize(
    ("verb", "hidden"),
    [
        ("edit", ()),
        ("gate", ("search.n_best", "chunk_lines")),
        ("explain", ("search.n_best", "chunk_lines")),
        ("tune", ("search.n_best", "search.shortlist", "ensemble.weights", "chunk_lines")),
    ],
)
def test_a_verb_lists_the_search_options_that_it_heeds(run: Any, verb: str, hidden: tuple[str, ...]) -> None:
    listed = run(verb, "--help-search").stdout
    for name in ("search.n_best", "search.shortlist", "ensemble.weights", "chunk_lines", "search.exempt_src"):
        assert (f"  {name}" in listed) == (name not in hidden)


def damaged(model: Path, copy: Path) -> Path:
    shutil.copytree(model, copy)
    (copy / "model.safetensors").write_text("no weights")
    return copy


def test_a_file_that_an_option_names_is_not_overwritten(run: Any, dev: dict[str, Path], tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    texts = [part for side, path in dev.items() for part in (f"--{side}", path)]
    result = run("tune", "openai:tiny", *texts, "--out", prices, "--set", f"llm.prices={prices}")
    assert f"--out: {prices} is one of the files to read" in refused(result)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda models, dev: dev["pe"].write_text("one\n"), "dev.pe has 1; they must match one to one"),
        (lambda models, dev: [path.write_text("") for path in dev.values()], "dev.src: is empty"),
        (lambda models, dev: models.append(dev["pe"]), "is a combination or another file"),
        (lambda models, dev: models.append(Path("nowhere/model")), "no such model folder"),
        (lambda models, dev: models.append(damaged(models[0], dev["pe"].with_name("copy"))), "truncated or damaged"),
    ],
)
def test_models_that_cannot_be_tuned_are_refused(
    run: Any, models: list[Path], dev: dict[str, Path], tmp_path: Path, change: Any, message: str
) -> None:
    models = list(models)
    change(models, dev)
    assert message in refused(run(*command(models, dev, tmp_path / "c.toml")))
    assert not list(tmp_path.glob("c.toml*"))


LISTS = [
    {"text": "a", "score": -1.0, "alternatives": [{"text": "b", "score": -2.0}]},
    {"text": "same", "score": 0.0, "skipped": "empty"},
    {"text": "c", "score": -1.0, "alternatives": [{"text": "d", "score": -1.5}, {"text": "e", "score": -3.0}]},
]


@pytest.fixture
def nbest(tmp_path: Path) -> dict[str, Path]:
    names = ("lists", "lm", "pe", "weights")
    paths = {name: tmp_path / name for name in names}
    paths["lists"].write_text("".join(f"{json.dumps(line)}\n" for line in LISTS))
    paths["lm"].write_text("lm\tqe\n-9\t0\n-1\t0\n0\t0\n-9\t1\n-1\t2\n-8\t3\n")
    paths["pe"].write_text("b\nsame\nd\n")
    paths["weights"].write_text("[weights]\nscore = 1\nlm = 0.5\n")
    return paths


def test_lists_are_ranked_by_their_own_scores_and_further_columns(run: Any, nbest: dict[str, Path]) -> None:
    result = run("rerank", nbest["lists"], "--features", nbest["lm"], "--weights", nbest["weights"])
    assert (result.exit_code, result.stdout) == (0, "b\nsame\nd\n")
    nbest["weights"].write_text("[weights]\nscore = 1\n")
    assert run("rerank", nbest["lists"], "--weights", nbest["weights"]).stdout == "a\nsame\nc\n"
    nbest["weights"].write_text("[weights]\nqe = 1\n")
    result = run(
        "rerank", nbest["lists"], "--features", nbest["lm"], "--weights", nbest["weights"], "--format", "jsonl"
    )
    last = json.loads(result.stdout.splitlines()[-1])
    assert [last["text"], *(one["text"] for one in last["alternatives"])] == ["e", "d", "c"]
    assert last["features"] == {"score": -3.0, "order": -2.0, "lm": -8.0, "qe": 3.0}


def test_weights_of_columns_are_tuned_and_then_used(run: Any, nbest: dict[str, Path], tmp_path: Path) -> None:
    tuned, out = tmp_path / "tuned.toml", tmp_path / "out"
    options = ["rerank", nbest["lists"], "--features", nbest["lm"]]
    result = run(*options, "--tune", tuned, "--pe", nbest["pe"])
    assert (result.exit_code, result.stdout) == (0, "")
    assert "as listed" in result.stderr
    assert run(*options, "--weights", tuned, "--out", out).exit_code == 0
    assert out.read_text() == nbest["pe"].read_text()
    assert set(tomllib.loads(tuned.read_text())["weights"]) == {"score", "order", "lm", "qe"}


def test_swapped_sides_are_told(
    run: Any, models: list[Path], dev: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [dev[side].read_text(encoding="utf-8").splitlines() for side in ("src", "mt")]
    monkeypatch.setattr(PostEditor, "seem_swapped", lambda _, *sides: [*map(list, sides)] == expected)
    monkeypatch.setattr(rounds, "tune", Mock(side_effect=DataError("no rounds here")))
    result = run(*command(models[:1], dev, tmp_path / "tuned.toml"))
    assert "error: no rounds here" in refused(result)
    assert "warning: src and mt seem to be swapped" in result.stderr


def test_tuning_tells_of_post_edits_without_spaces(
    run: Any, models: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Members, "load", Mock(side_effect=DataError("loaded")))
    paths = {side: tmp_path / f"dev.{side}" for side in ("src", "mt", "pe")}
    for path in paths.values():
        path.write_text("設定を保存して画面を閉じます。\n" * 3, encoding="utf-8")
    for tokenize, told in (("none", True), ("characters", False)):
        result = run(*command(models[:1], paths, tmp_path / "tuned.toml", "--tokenize", tokenize))
        assert "error: loaded" in refused(result)
        assert ("dev.pe has no spaces between words" in result.stderr) == told


def test_post_edits_without_spaces_are_told_of(run: Any, nbest: dict[str, Path], tmp_path: Path) -> None:
    nbest["pe"].write_text("設定を保存して画面を閉じます。\n" * 3, encoding="utf-8")
    for tokenize, told in (("none", True), ("characters", False)):
        options = ("--tune", tmp_path / "tuned.toml", "--pe", nbest["pe"], "--tokenize", tokenize)
        result = run("rerank", nbest["lists"], *options)
        assert (result.exit_code, "has no spaces between words" in result.stderr) == (0, told)


def test_tuned_weights_are_no_worse_than_the_order_as_listed(run: Any, tmp_path: Path) -> None:
    lists, pe, tuned, out = (tmp_path / name for name in ("lists", "pe", "tuned.toml", "out"))
    lines = [{"text": "a", "score": -2.0, "alternatives": [{"text": "b", "score": -1.0}]}] * 3
    lists.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    pe.write_text("a\na\nb\n")
    assert run("rerank", lists, "--tune", tuned, "--pe", pe, "--out", out).exit_code == 0
    assert out.read_text() == "a\na\na\n"


@pytest.mark.slow
def test_a_combination_ranks_its_own_lists(run: Any, models: list[Path], dev: dict[str, Path], tmp_path: Path) -> None:
    combination, lists, hyp = tmp_path / "c.toml", tmp_path / "lists", tmp_path / "hyp"
    assert run(*command(models, dev, combination)).exit_code == 0
    files = ["--src", dev["src"], "--mt", dev["mt"]]
    assert run("edit", *[combination, *files], "--format", "jsonl", "--n-best", 4, "--out", lists).exit_code == 0
    run("edit", combination, *files, "--out", hyp)
    assert run("rerank", lists, "--weights", combination).stdout == hyp.read_text()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("lists", "no json\n", "lists, line 1: is not an n-best list"),
        ("lists", "", "lists: is empty"),
        ("lm", "lm\n" + "1\n" * 5, "has 5 lines of numbers, and .* has 6 outputs"),
        ("lm", "1\n" * 7, "line 1: must name the columns"),
        ("lm", "lm\tlm\n" + "1\t1\n" * 6, "line 1: must name the columns, each once"),
        ("lm", "lm\n" + "1\n" * 5 + "x\n", "line 7: must have 1 numbers"),
        ("lm", "lm\n" + "1\n" * 5 + "nan\n", "line 7: must have 1 numbers"),
        ("lm", "score\n" + "1\n" * 6, "the lists already have the feature score"),
        ("weights", "[weights]\nml = 1\n", 'weights.ml is not a feature of these lists; did you mean "lm"'),
        ("weights", "lm = 1\n", r"must have a section \[weights\]"),
        ("weights", "[weights]\nlm = nan\n", r"must have a section \[weights\] with a number for each"),
        ("lists", '{"text": "a", "score": NaN}\n', "lists, line 1: is not an n-best list"),
        ("lists", f'{{"text": "a", "score": {"9" * 400}}}\n', "a score or feature is not a finite number"),
        ("lists", '{"text": "a", "score": "1"}\n', "a score or feature is not a finite number"),
        ("lists", '{"text": "a", "score": 1, "features": []}\n', "lists, line 1: is not an n-best list"),
        ("lists", "[" * 100_000 + "\n", "lists, line 1: is not an n-best list"),
        ("lists", '{"text": "\\ud800", "score": 1}\n', "lists, line 1: is not an n-best list"),
        ("lists", '{"text": null, "score": 1}\n', "text must be a string of one line"),
        ("lists", '{"text": "a\\nb", "score": 1}\n', "text must be a string of one line"),
        ("weights", f"[weights]\nlm = {'9' * 400}\n", r"must have a section \[weights\] with a number for each"),
    ],
)
def test_files_that_do_not_fit(run: Any, nbest: dict[str, Path], name: str, text: str, message: str) -> None:
    nbest[name].write_text(text)
    result = run("rerank", nbest["lists"], "--features", nbest["lm"], "--weights", nbest["weights"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert re.search(message, result.stderr)


def test_lines_of_columns_may_end_as_in_windows(run: Any, nbest: dict[str, Path]) -> None:
    command = ["rerank", nbest["lists"], "--features", nbest["lm"], "--weights", nbest["weights"]]
    expected = run(*command).stdout
    nbest["lm"].write_bytes(nbest["lm"].read_bytes().replace(b"\n", b"\r\n"))
    assert run(*command).stdout == expected


def test_weights_are_not_written_over(run: Any, nbest: dict[str, Path]) -> None:
    before = nbest["weights"].read_text()
    assert "is one of the files to read" in refused(
        run("rerank", nbest["lists"], "--weights", nbest["weights"], "--out", nbest["weights"])
    )
    assert nbest["weights"].read_text() == before


def test_ranking_needs_weights_or_what_to_tune_them_on(run: Any, nbest: dict[str, Path]) -> None:
    assert "give --weights to rank by them, or --tune" in run("rerank", nbest["lists"]).stderr
    assert "--tune needs --pe" in run("rerank", nbest["lists"], "--tune", "x").stderr


def test_options_without_effect_on_ranking_are_refused(run: Any, nbest: dict[str, Path], tmp_path: Path) -> None:
    by_weights = ["rerank", nbest["lists"], "--weights", nbest["weights"]]
    assert "--metric, --seed: no effect without --tune" in refused(run(*by_weights, "--metric", "bleu", "--seed", 1))
    tuning = ["rerank", nbest["lists"], "--tune", tmp_path / "tuned.toml", "--pe", nbest["pe"]]
    assert "--format: no effect with --tune but without --out" in refused(run(*tuning, "--format", "text"))


def test_weights_are_tuned_without_a_choice_by_risk(
    run: Any, models: list[Path], dev: dict[str, Path], tmp_path: Path
) -> None:
    result = run(*command(models, dev, tmp_path / "c.toml"), "--set", "search.mbr=0.6")
    assert "search.mbr does not choose by weights" in refused(result)


def test_a_combination_has_its_own_beam(run: Any, models: list[Path], dev: dict[str, Path], tmp_path: Path) -> None:
    combination = tmp_path / "c.toml"
    run(*command(models, dev, combination))
    files = ["--src", dev["src"], "--mt", dev["mt"]]
    result = run("edit", combination, *files, "--format", "jsonl", "--n-best", 5)
    assert "n_best must be between 1 and beam (4), not 5" in refused(result)
    for given, message in (
        (["--beam", 1], "a combination ranks the outputs of a beam, so that beam must be at least 2"),
        (["--beam", 1, "--set", "search.shortlist=9"], "no combination; leave it out"),
        (["--set", "ensemble.space=log"], "a combination has its own"),
    ):
        result = run("edit", combination, *files, *given, "--out", tmp_path / "hyp")
        assert result.exit_code == 1
        assert message in " ".join(result.stderr.split())
        assert not list(tmp_path.glob("hyp*"))
