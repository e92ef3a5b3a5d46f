"""The tables of the papers: the description fits itself, and runs that exist fill their cells."""

import json
import re
import shutil
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/unit"), str(ROOT / "benchmarks")]
import papers_runs  # noqa: E402
import papers_tables  # noqa: E402
import tiny_models  # noqa: E402

from postedit.core.search_config import SearchConfig  # noqa: E402
from postedit.editing.combination import Combination, Member  # noqa: E402
from postedit.search.rescoring import LogLinear  # noqa: E402

TABLES = tomllib.loads((ROOT / "benchmarks/papers_tables.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("table", TABLES["table"], ids=lambda table: table["title"])
def test_description_fits_itself(table: dict) -> None:
    groups = table["columns"]
    assert {group["set"] for group in groups if "set" in group} <= set(TABLES["sets"])
    for row in table["rows"]:
        assert len(row["published"]) <= sum(len(group.get("published", ())) for group in groups)
        for run in row.get("runs", ()):
            small = ROOT / f"recipes/{run.split('/')[0]}.toml"
            assert (ROOT / f"recipes/{papers_runs.recipe_of(row)}.toml").exists()
            assert small.exists() or "recipe" in row


@pytest.mark.parametrize("table", TABLES["table"], ids=lambda table: table["title"])
def test_dev_stands_beside_dev_and_test_beside_test(table: dict) -> None:
    for group in table["columns"]:
        if {"published", "set"} <= set(group):
            entry = TABLES["sets"][group["set"]]
            part = "dev" if entry.get("text", entry["task"]) == "dev" else "test"
            assert all(re.search(rf"\b{part}\b", name) for name in group["published"])


def test_general_models_read_the_triplets_of_their_paper() -> None:
    """Pal et al. 2020, 4.2: 4M + 500K + 12K + 11K for table 1; the paper does not give the data of 1.4."""
    table = next(one for one in TABLES["table"] if one["title"] == "Pal et al. 2020, table 1")
    for row in table["rows"]:
        if "runs" in row:
            train = papers_runs.paper_recipe(row).data.train
            assert [source.name for source in train] == ["artificial-4m", "artificial-500k", "real"], row["system"]


def test_few_triplets_have_the_subwords_of_all_real_ones() -> None:
    """Jauregi Unanue et al. 2018: the row 11K of table 2; subwords of 23,000 sentences (section 4.3)."""
    rows = [row for table in TABLES["table"] for row in table["rows"]]
    recipe = papers_runs.paper_recipe(next(row for row in rows if row["system"] == "shared attention, 11K"))
    assert all(source.learn_text for source in recipe.data.train)
    read = [source.name for source in recipe.data.train if source.from_epoch < recipe.train.max_epochs]
    assert ([source.name for source in recipe.data.train], read) == (["real-2017", "real-2016"], ["real-2017"])


@pytest.mark.slow
def test_runs_fill_their_cells_and_are_decoded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "data/wmt18-smt.en-de"
    text.mkdir(parents=True)
    tiny_models.write_triplets(text, ("dev",))
    run = tmp_path / "runs/wmt18-smt.en-de/m-cgru-small"
    tiny_models.folder("m-cgru").save(run / "model")
    out = tmp_path / "tables.md"
    command = ["papers_tables", tmp_path / "runs", tmp_path / "data", "--out", out, "--beam", "1"]
    monkeypatch.setattr(sys, "argv", [*map(str, command)])
    for decoded in (1, 0):
        papers_tables.main()
        assert capsys.readouterr().err.count("decoding") == decoded
    rows = [line for line in out.read_text(encoding="utf-8").splitlines() if line.startswith("| M-CGRU |")]
    scores, faithfulness, changes = ([cell.strip() for cell in row.split("|")[2:-1]] for row in rows[:3])
    assert [*scores[:3], *scores[5:]] == ["m-cgru-small", "20.79", "69.28", "20.69", "68.56", "–", "–"]
    assert faithfulness[1:5] == ["20.69", "15.98", "–", "–"]  # there is no test text here
    assert float(scores[3]) == float(faithfulness[5])  # both are the TER of ours on dev
    assert int(changes[7]) >= int(changes[8]) + int(changes[9])
    table = next(one for one in out.read_text(encoding="utf-8").split("\n\n") if rows[0] in one)
    nothing = next(line for line in table.splitlines() if line.startswith("| unedited MT |"))
    assert nothing.split("|")[5].strip() != "–"
    assert "| CGRU |  | 22.01 | 68.11 | – | – | 22.27 | 66.90 | – | – |" in out.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_combination_fills_the_cells_of_its_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, runs, out = tmp_path / "data/wmt18-smt.en-de", tmp_path / "runs/wmt18-smt.en-de", tmp_path / "tables.md"
    text.mkdir(parents=True)
    tiny_models.write_triplets(text, ("dev",))
    tiny_models.folder("m-cgru").save(tmp_path / "member")
    reranking = runs / "symmetric-attention-reranking"
    reranking.mkdir(parents=True)
    member = Member.of(tmp_path / "member")
    weights = LogLinear({"model 1": 1.0, "length": 0.0, "post_edit_penalty": 0.0}, ("mt",))
    Combination.of([member], weights, "log", SearchConfig(beam=2), {}).save(reranking / "combination.toml")
    monkeypatch.setattr(sys, "argv", ["papers_tables", *map(str, (tmp_path / "runs", tmp_path / "data", "--out", out))])
    papers_tables.main()
    rows = [line.split("|")[2:] for line in out.read_text(encoding="utf-8").splitlines() if "2017, re-ranking" in line]
    assert [cell.strip() for cell in rows[0][:3]] == ["symmetric-attention-reranking", "20.70", "69.90"]
    assert float(rows[0][7]) >= 0.0  # ours on dev; there is no test text here
    assert (reranking / "outputs").is_dir()


@pytest.mark.slow
def test_an_ensemble_has_the_best_weights_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pal et al. 2020, experiments 4.1 and 4.2: four checkpoints; two models, and four checkpoints as a third."""
    text, runs, out = tmp_path / "data/wmt18-smt.en-de", tmp_path / "runs/wmt18-smt.en-de", tmp_path / "tables.md"
    text.mkdir(parents=True)
    tiny_models.write_triplets(text, ("dev",))
    made = tiny_models.folder("transference")
    three = runs / "transference-fine-tuned-x3"
    # The folders of a run with stages, as training makes them: the best weights are in the folder of a stage.
    recipe = papers_runs.load_recipe(papers_runs.RECIPES / "transference-fine-tuned.toml", check_data=False)
    last, _ = recipe.stages()[-1]
    stage_runs = [run / "stages" / last for run in (runs / "transference-fine-tuned", three / "seed-3")]
    for run in stage_runs:
        made.save(run / "model")
        (run / "best").mkdir()
        files = [f"step-{step}.safetensors" for step in (7, 3, 5, 1, 2)]
        for file in files:
            shutil.copy(run / "model/model.safetensors", run / "best" / file)
        (run / "best/best.json").write_text(json.dumps({"best": [{"file": file} for file in files]}), encoding="utf-8")
    for seed in (1, 2):
        made.save(three / f"seed-{seed}/stages/generic/model")
    monkeypatch.setattr(sys, "argv", ["papers_tables", *map(str, (tmp_path / "runs", tmp_path / "data", "--out", out))])
    papers_tables.main()
    lines = [line.split("|") for line in out.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    rows = {line[1].strip(): line[2:] for line in lines}
    for row in ("4.1 its 4 best checkpoints", "4.2 ensemble x3"):
        assert float(rows[row][9]) >= 0.0  # ours on dev
    rows_of = {row["system"]: row for table in TABLES["table"] for row in table["rows"]}
    best = papers_runs.system_of(runs / "transference-fine-tuned", rows_of["4.1 its 4 best checkpoints"])
    mixed = papers_runs.system_of(three, rows_of["4.2 ensemble x3"])
    assert [path.stem for path in best.models] == ["step-7", "step-3", "step-5", "step-1"]
    assert [path.parent.parent.name for path in mixed.models] == ["stages", "stages", *[last] * 4]
    assert mixed.weights == [1.0, 1.0, 0.25, 0.25, 0.25, 0.25]
    (stage_runs[1] / "best/best.json").write_text('{"best": [{"file": "step-7.safetensors"}]}', encoding="utf-8")
    assert papers_runs.system_of(three, rows_of["4.2 ensemble x3"]) is None


@pytest.mark.slow
def test_the_leading_text_is_filled_in_for_models_of_shared_attention(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "data/wmt18-smt.en-de"
    text.mkdir(parents=True)
    tiny_models.write_triplets(text, ("dev",))
    runs, out = tmp_path / "runs/wmt18-smt.en-de", tmp_path / "tables.md"
    monkeypatch.setattr(sys, "argv", ["papers_tables", *map(str, (tmp_path / "runs", tmp_path / "data", "--out", out))])

    def figures() -> list[str]:
        papers_tables.main()
        table = out.read_text(encoding="utf-8").split("2018, table 3")[1]
        row = next(line for line in table.splitlines() if line.startswith("| shared attention |"))
        return [cell.strip() for cell in row.split("|")[2:-1]]

    assert figures() == ["", "23", "45", "31", *["–"] * 6]
    tiny_models.folder("m-cgru").save(runs / "shared-attention-small/model")  # of which that is not known
    assert figures() == ["shared-attention-small", "23", "45", "31", *["–"] * 6]
    tiny_models.folder("shared-attention").save(runs / "shared-attention/model")
    capsys.readouterr()
    found = figures()
    assert found[0] == "shared-attention"
    assert sum(map(int, found[7:])) == pytest.approx(100, abs=2)
    assert capsys.readouterr().err.count("explaining") == 1
    assert figures() == found
    assert "explaining" not in capsys.readouterr().err


def test_novelty_of_references_and_changes_of_all_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ive et al. 2019, figures 2 and 3; Pal et al. 2020, 5.4."""
    texts, run = tmp_path / "data", tmp_path / "runs/wmt18-smt.en-de/m-cgru-small"
    for task, sides in {
        "aeslc": {"test.src": "one two three . four", "test.tgt": "one two . one two ."},
        "wmt18-smt.en-de": {"dev.src": "a", "dev.mt": "b c d e", "dev.pe": "a c d e f"},
    }.items():
        (texts / task).mkdir(parents=True)
        for name, line in sides.items():
            (texts / task / name).write_text(f"{line}\n", encoding="utf-8")
    (run / "model").mkdir(parents=True)
    (run / "model/config.json").touch()
    monkeypatch.setattr(papers_tables, "outputs_of", lambda *_: ["a c d e"])
    out = tmp_path / "tables.md"
    monkeypatch.setattr(sys, "argv", ["papers_tables", *map(str, (tmp_path / "runs", texts, "--out", out))])
    papers_tables.main()
    lines = out.read_text(encoding="utf-8").splitlines()
    reference = next(line for line in lines if line.startswith("| reference |"))
    # Of 6, 5, 4 and 3 n-grams, 0, 3, 4 and 3 are new, and 3, 2, 1 and 0 were there before; of two sentences, 2 and 1.
    assert [cell.strip() for cell in reference.split("|")[5:-1]] == [
        *("0.0", "60.0", "100.0", "100.0", "100.0"),
        *("50.0", "40.0", "25.0", "0.0", "50.0"),
    ]
    table = next(at for at, line in enumerate(lines) if "Pal et al. 2020, table 3 (SMT)" in line)
    saved = next(line for line in lines[table:] if line.startswith("| M-CGRU |"))
    assert [cell.strip() for cell in saved.split("|")[-6:-1]] == ["0", "–", "100", "–", "50"]


@pytest.mark.slow
def test_a_copying_network_reads_what_it_is_to_summarise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has one input, mt; the texts of these tables have only src and a summary."""
    text, run = tmp_path / "data/aeslc", tmp_path / "runs/aeslc/copycat-small"
    text.mkdir(parents=True)
    for name, lines in {"test.src": "das Haus\nes geht\n", "test.tgt": "das\nes\n"}.items():
        (text / name).write_text(lines, encoding="utf-8")
    sizes = {"layers_mt": 1, "layers_pe": 1, "dim": 8, "heads": 2, "feed_forward": 8}
    folder = tiny_models.folder("copycat", **sizes)
    replace(folder, search=folder.search.with_options(max_ratio=1.0, max_extra=1)).save(run / "model")
    out = tmp_path / "tables.md"
    monkeypatch.setattr(sys, "argv", ["papers_tables", *map(str, (tmp_path / "runs", tmp_path / "data", "--out", out))])
    papers_tables.main()
    rows = [line.split("|") for line in out.read_text(encoding="utf-8").splitlines() if line.startswith("| copycat |")]
    assert [row[2].strip() for row in rows] == ["copycat-small"] * 2, "in table 1 and in the figures"
    assert all(cell.strip() != "–" for cell in rows[0][-4:-1])


@pytest.mark.slow
def test_missing_runs_say_what_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "data/wmt18-smt.en-de"
    text.mkdir(parents=True)
    tiny_models.write_triplets(text, ("real",))
    tiny_models.folder("m-cgru").save(tmp_path / "runs/wmt18-smt.en-de/m-cgru/model")
    out = tmp_path / "tables.md"
    command = ["papers_tables", tmp_path / "runs", tmp_path / "data", "--out", out]
    monkeypatch.setattr(sys, "argv", [*map(str, command)])
    papers_tables.main()
    _, table, block = re.split(r"## Runs that are missing|```bash", out.read_text(encoding="utf-8"))
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("| ")]
    named = {name: cells for name, *cells in rows}
    commands = dict(re.findall(r"^# (.*)\n(.*)$", block, re.MULTILINE))
    assert commands.keys() == named.keys() - {"run", "---"}
    assert "wmt18-smt.en-de/m-cgru" not in named
    assert commands["wmt18-smt.en-de/m-cgru-x4"].endswith(" --seeds 4")
    folders = re.findall(r"postedit train \S+ --out (\S+)", "\n".join(commands.values()))
    assert len(set(folders)) == len(folders), "a folder holds one run"
    assert "recipes/transference-fine-tuned.toml" in commands["wmt18-smt.en-de/transference-fine-tuned"]
    lacks, *cost = named["wmt18-smt.en-de/transference-fine-tuned"]
    assert lacks == "artificial-4m, artificial-500k", "real is there"
    assert named["wmt18-smt.en-de/phrase-based-2016"][0] == "real-2016"
    first = f"{tmp_path}/runs/wmt18-smt.en-de/transference-fine-tuned/model"
    assert commands["wmt18-nmt.en-de/transference-smt-nmt"].endswith(
        f" --set text.model={first} --set train.init={first}"
    )
    # 6 * 98,065,760 parameters * 25,000 tokens * 330,000 updates / 1e14 / 3600
    assert cost == ["98.1", "330", "13.5"]
    assert commands["wmt18-smt.en-de/shared-attention-11k"].endswith(
        """ --set 'data.train=["real-2017",{files="real-2016",from_epoch=20}]' --set 'train.validate_every=172'"""
    )
    assert "--seeds 3" in commands["wmt18-smt.en-de/transference-fine-tuned-x3"]
    tune = commands["wmt18-smt.en-de/symmetric-attention-reranking"]
    assert re.search(r"postedit tune \S+/symmetric-attention/model \S+/phrase-based/model --src ", tune)
    order = [name.removeprefix("wmt18-smt.en-de/") for name in commands]
    members = map(order.index, ("symmetric-attention", "phrase-based"))
    assert max(members) < order.index("symmetric-attention-reranking")
    assert (
        "wmt18-smt.en-de/dev.pe does not exist: the columns of wmt18-smt.en-de dev stay empty"
        in capsys.readouterr().out
    )


def test_what_a_run_differs_in_is_said(tmp_path: Path) -> None:
    run = tmp_path / "wmt18-smt.en-de/m-cgru-small"
    tiny_models.folder("m-cgru").save(run / "model")
    paper = papers_runs.load_recipe(papers_runs.RECIPES / "m-cgru.toml", check_data=False)
    tasks = {name: entry["task"] for name, entry in TABLES["sets"].items()}

    def found(*changes: str) -> str:
        papers_runs.load_recipe(papers_runs.RECIPES / "m-cgru.toml", changes, check_data=False).save(
            run / "recipe.toml"
        )
        return papers_runs.differences(TABLES["table"], tasks, tmp_path).splitlines()[-1]

    start = "- wmt18-smt.en-de/m-cgru-small, from `recipes/m-cgru.toml`: "
    assert found("train.seed=7", 'data.dev={src="a",mt="b",pe="c"}') == f"{start}nothing"
    trained = 'data.train=["/texts/train"]'
    assert found("model.hidden=16", trained, "train.max_minutes=5") == (
        f"{start}model.hidden 16 ({paper.model.hidden}), data.train train (20 x real-2016, artificial-large, "
        "artificial-small), train.max_minutes 5.0 (unset)"
    )
    (run / "recipe.toml").unlink()
    assert papers_runs.differences(TABLES["table"], tasks, tmp_path).endswith("There is no run of ours yet.\n")
    phrases = tmp_path / "wmt18-smt.en-de/phrase-based-2016"
    (phrases / "model").mkdir(parents=True)
    (phrases / "model/config.json").touch()
    papers_runs.load_phrase_recipe(papers_runs.RECIPES / "phrase-based.toml", check_data=False).save(
        phrases / "recipe.toml"
    )
    assert papers_runs.differences(TABLES["table"], tasks, tmp_path).splitlines()[-1] == (
        "- wmt18-smt.en-de/phrase-based-2016, from `recipes/phrase-based.toml`: data.train train (real-2016)"
    )
