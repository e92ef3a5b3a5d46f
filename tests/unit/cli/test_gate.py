"""`postedit gate` and `postedit edit --gate`, with a real model, tiny and untrained."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
from tests.unit.cli.commands import refused

from postedit.cli.gate import _report
from postedit.core.editor import Editor
from postedit.data.corpus import write_corpus
from postedit.data.triplets import Triplet
from postedit.editing.post_editor import PostEditor
from postedit.folder import ModelFolder
from postedit.gate import Gate
from postedit.gate.calibrate import Calibrated, Forecasts
from postedit.gate.edit_features import Features
from postedit.gate.gate import Calibrator, Rule
from postedit.jobs import gating

WORDS = ["das", "Haus", "es", "geht", "alt", "ein", "."]
MT = [" ".join(WORDS[(row * step) % 7] for step in range(1, 2 + row % 4)) for row in range(120)]
SRC = [f"the house {row}" for row in range(120)]
PLAIN = ("--protect", "none")  # the model writes nonsense, digits among it


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model that writes nonsense."""
    path: Path = tmp_path_factory.mktemp("model") / "model"
    tiny_models.nonsense("m-cgru").save(path)
    return path


@pytest.fixture
def outputs(model: Path) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("postedit.editing.soundness.keeps_text_sound", lambda *arguments: True)
        patch.setattr("postedit.editing.soundness.empties", lambda *arguments: False)
        return [one.text.replace("\n", " ") for one in PostEditor.load(model, device="cpu").edit(SRC, MT)]


def files(folder: Path, pe: list[str]) -> list[object]:
    options: list[object] = [*PLAIN]
    for side, lines in {"src": SRC, "mt": MT, "pe": pe}.items():
        (folder / f"dev.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        options += [f"--{side}", folder / f"dev.{side}"]
    return options


def edited(run: Any, model: Path, folder: Path, *more: object) -> list[str]:
    result = run(
        "edit", model, "--src", folder / "dev.src", "--mt", folder / "dev.mt", "--out", folder / "hyp", *PLAIN, *more
    )
    assert result.exit_code == 0, result.stderr
    return (folder / "hyp").read_text(encoding="utf-8").split("\n")[:-1]


def test_a_model_that_does_harm_gets_a_closed_gate_and_changes_nothing(run: Any, model: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate.json"
    result = run("gate", model, *files(tmp_path, MT), "--out", gate)
    assert result.exit_code == 0, result.stderr
    assert "The gate is closed" in result.stderr
    assert "120 lines are few" in result.stderr
    assert edited(run, model, tmp_path, "--gate", gate) == MT
    assert not list(tmp_path.glob("gate.json.*")), "what was kept for an interruption is gone"
    stdin = "".join(f"{src}\t{mt}\n" for src, mt in zip(SRC[:9], MT[:9])).encode()
    piped = run("edit", model, *PLAIN, "--gate", gate, stdin=stdin)
    assert piped.stdout.split("\n")[:-1] == MT[:9]


@pytest.mark.slow
def test_a_closed_gate_changes_nothing_in_several_processes(run: Any, model: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate.json"
    assert run("gate", model, *files(tmp_path, MT), "--out", gate).exit_code == 0
    assert edited(run, model, tmp_path, "--gate", gate, "--workers", 2, "--set", "chunk_lines=40") == MT


def test_repeated_lines_count_once(run: Any, model: Path, tmp_path: Path) -> None:
    options = files(tmp_path, MT)
    for side in ("src", "mt", "pe"):
        path = tmp_path / f"dev.{side}"
        path.write_text(path.read_text(encoding="utf-8") * 4, encoding="utf-8")
    result = run("gate", model, *options, "--out", tmp_path / "gate.json")
    assert result.exit_code == 0, result.stderr
    assert "360 of 480 lines have the source and machine translation of an earlier one" in result.stderr
    assert "120 lines are few" in result.stderr


def test_swapped_sides_are_told(run: Any, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str]] = []
    monkeypatch.setattr(PostEditor, "seem_swapped", lambda _, src, mt: not seen.append((src[0], mt[0])))
    result = run("gate", model, *files(tmp_path, MT), "--out", tmp_path / "gate.json")
    assert "warning: src and mt seem to be swapped" in result.stderr
    assert seen == [(SRC[0], MT[0])]


def test_a_gate_goes_to_no_stream(run: Any, model: Path, tmp_path: Path) -> None:
    result = run("gate", model, *files(tmp_path, MT), "--out", "/dev/stderr")
    assert (result.exit_code, "is a stream" in result.stderr) == (1, True)


def test_a_model_that_does_good_gets_an_open_gate(run: Any, model: Path, outputs: list[str], tmp_path: Path) -> None:
    gate, plot = tmp_path / "gate.json", tmp_path / "gate.png"
    # Right where it writes little, and wrong elsewhere.
    pe = [output if row % 4 else mt for row, (output, mt) in enumerate(zip(outputs, MT))]
    result = run("gate", model, *files(tmp_path, pe), "--out", gate, "--plot", plot, "--level", "sentence")
    assert result.exit_code == 0, result.stderr
    assert "The gate lets lines pass" in result.stderr
    assert plot.read_bytes().startswith(b"\x89PNG")
    values = json.loads(gate.read_text())
    assert values["calibration"]["e-value"] >= 20.0
    assert values["calibration"]["tested on"] == 72
    assert set(values["calibration"]["texts"]) == {"src", "mt", "pe"}
    lines = edited(run, model, tmp_path, "--gate", gate)
    assert lines != MT
    assert all(line in (output, mt) for line, output, mt in zip(lines, outputs, MT))
    records = [json.loads(line) for line in edited(run, model, tmp_path, "--gate", gate, "--format", "jsonl")]
    assert [record["text"] for record in records] == lines
    for record in records:
        assert all(edit["confidence"] >= values["threshold"] for edit in record["edits"])
    assert edited(run, model, tmp_path, "--gate", gate, "--min-confidence", 1) == MT


def test_lines_that_stay_keep_each_byte(run: Any, model: Path, tmp_path: Path) -> None:
    unusual = [
        "Ha\u0308us cafe\u0301 \u212b",
        "\u00a0das\u202fHaus\u2009",
        "\t das\u3000Haus \t",
        "\u2028es\u0085geht\x0c",
    ]
    gate, mt = tmp_path / "gate.json", tmp_path / "odd.mt"
    assert run("gate", model, *files(tmp_path, MT), "--out", gate).exit_code == 0
    mt.write_bytes("".join(f"{line}\n" for line in unusual).encode())
    (tmp_path / "odd.src").write_text("the house\n" * 4)
    for way in (("--gate", gate), ("--min-confidence", 1), ("--set", "search.max_edits=0")):
        out = tmp_path / "odd.hyp"
        result = run("edit", model, "--src", tmp_path / "odd.src", "--mt", mt, "--out", out, *PLAIN, *way)
        assert result.exit_code == 0, result.stderr
        assert out.read_bytes() == mt.read_bytes()
        out.unlink()


def test_a_gate_counts_the_words_that_it_is_told_to(run: Any, model: Path, tmp_path: Path) -> None:
    options = files(tmp_path, MT)
    lines = ["設定を閉じると画面が現れます。"] * 120
    (tmp_path / "dev.pe").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    gate = tmp_path / "gate.json"
    result = run("gate", model, *options, "--out", gate)
    assert "has no spaces between words" in result.stderr
    assert json.loads(gate.read_text())["tokenize"] == "none"
    result = run("gate", model, *options, "--out", gate, "--tokenize", "characters")
    assert "has no spaces between words" not in result.stderr
    assert (Gate.load(gate).rule.tokenize, Gate.load(gate).rule.longest > 1) == ("characters", True)


@pytest.mark.parametrize(("given", "used"), [((), 0.95), (("--confidence", 0.7), 0.7)])
def test_the_confidence_required_is_the_one_given(
    run: Any, model: Path, tmp_path: Path, given: tuple[object, ...], used: float
) -> None:
    gate = tmp_path / "gate.json"
    assert run("gate", model, *files(tmp_path, MT), "--out", gate, *given).exit_code == 0
    assert json.loads(gate.read_text())["calibration"]["confidence"] == used


@pytest.mark.parametrize(("use", "says"), [("dev", "was selected by its scores"), ("train", "was trained")])
def test_lines_that_the_model_knows_are_no_proof(run: Any, model: Path, tmp_path: Path, use: str, says: str) -> None:
    given = files(tmp_path, MT)
    known = tmp_path / "known"
    shutil.copytree(model, known)
    processor = ModelFolder.load(model).processor
    corpus = write_corpus(tmp_path / "x.arrow", [map(Triplet, SRC, MT, MT)], processor, 50)
    start = {"corpora": {use: corpus.fingerprint}}
    provenance = {"recipe": {"data": {"max_length": 50}}, "environments": [start]}
    (known / "provenance.json").write_text(json.dumps(provenance))
    result = run("gate", known, *given, "--out", tmp_path / "gate.json")
    assert result.exit_code == 0
    assert f"{known}, or a model that it was made from, {says} on these lines" in result.stderr
    assert json.loads((tmp_path / "gate.json").read_text())["calibration"]["models had the lines for"] == [use]
    result = run("gate", model, *given, "--out", tmp_path / "other.json")
    assert "these lines" not in result.stderr


def test_every_way_to_search_can_have_a_gate(run: Any, model: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate.json"
    options = ("beam=2", "no_repeat=2", "no_unk=true", "length_penalty=0.5", "normalisation=wu")
    way = [part for option in options for part in ("--set", f"search.{option}")]
    made = run("gate", model, *files(tmp_path, MT), "--out", gate, *way)
    assert made.exit_code == 0, made.stderr
    assert edited(run, model, tmp_path, "--gate", gate, *way) == MT


@pytest.mark.slow
def test_an_interrupted_run_goes_on_behind_the_same_gate_alone(
    run: Any, model: Path, outputs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, edit = tmp_path / "gate.json", Editor.edit
    pe = [output if row % 4 else mt for row, (output, mt) in enumerate(zip(outputs, MT))]
    assert run("gate", model, *files(tmp_path, pe), "--out", gate, "--level", "sentence").exit_code == 0
    whole = edited(run, model, tmp_path, "--gate", gate)
    (tmp_path / "hyp").unlink()
    windows: list[int] = []

    def interrupted(self: Editor, *texts: Any, **more: Any) -> Any:
        windows.append(len(texts[0]))
        if len(windows) == 3:
            raise KeyboardInterrupt
        return edit(self, *texts, **more)

    monkeypatch.setattr(Editor, "edit", interrupted)
    line = (
        "edit",
        model,
        "--src",
        tmp_path / "dev.src",
        "--mt",
        tmp_path / "dev.mt",
        "--out",
        tmp_path / "hyp",
        *PLAIN,
    )
    stopped = run(*line, "--gate", gate, "--set", "chunk_lines=40")
    assert stopped.exit_code == 130
    assert "stopped after 80 of 120 lines" in stopped.stderr
    for other in ((), ("--gate", gate, "--min-confidence", 0.9)):
        result = run(*line, *other, "--resume")
        assert "made with another " in refused(result)
        assert len(result.stderr) < 600
    assert run(*line, "--gate", gate, "--resume").exit_code == 0
    assert windows == [40, 40, 40, 40]
    assert (tmp_path / "hyp").read_text(encoding="utf-8").split("\n")[:-1] == whole != MT


@pytest.mark.parametrize("option", [("--min-confidence", 0.5), ("--gate", "gate.json")])
def test_options_against_a_gate_are_refused(run: Any, model: Path, tmp_path: Path, option: tuple[object, ...]) -> None:
    files(tmp_path, MT)
    src, mt = ("--src", tmp_path / "dev.src"), ("--mt", tmp_path / "dev.mt")
    for more, message in (
        (src, "give --mt"),
        ((*src, *mt, "--force", tmp_path / "dev.mt"), "leave out --force"),
        ((*src, *mt, "--passes", 2), "each pass of --passes would begin with edits already reverted"),
        ((*src, *mt, "--set", f"search.required={tmp_path / 'dev.mt'}"), "may revert what search.required asks for"),
    ):
        assert message in refused(run("edit", model, *more, *option))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("search.banned=WORDS", "gates may revert what search.banned asks for"),
        ("search.required=WORDS", "gates may revert what search.required asks for"),
        ("search.n_best=2", "gates decide on one correction per segment: n_best must be 1, not 2"),
    ],
)
def test_no_gate_is_made_that_edit_would_refuse(run: Any, tmp_path: Path, option: str, message: str) -> None:
    texts, words = files(tmp_path, ["a"]), tmp_path / "words"
    words.write_text("a\n", encoding="utf-8")
    out = tmp_path / "gate.json"
    result = run("gate", "MODEL", *texts, "--out", out, "--set", option.replace("WORDS", str(words)))
    assert message in refused(result)
    assert not out.exists()


def test_the_name_of_a_diagram_says_what_it_is(run: Any, tmp_path: Path) -> None:
    texts = files(tmp_path, ["a"])
    result = run("gate", "MODEL", *texts, "--out", tmp_path / "g.json", "--plot", tmp_path / "g.jpg")
    assert "g.jpg: the name of a picture must end in .png, .svg, .pdf" in refused(result)


def test_an_interrupted_run_goes_on(run: Any, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, options = tmp_path / "gate.json", files(tmp_path, MT)
    whole, judge = gating.judge, []

    def interrupted(editor: Editor, segments: Any, *more: Any) -> Any:
        judge.append(len(segments))
        if len(judge) == 2:
            raise KeyboardInterrupt
        return whole(editor, segments, *more)

    monkeypatch.setattr(gating, "judge", interrupted)
    stopped = run("gate", model, *options, "--out", gate)
    assert stopped.exit_code == 130
    assert "stopped after 100 of 120 lines" in stopped.stderr
    others = tmp_path / "others"
    others.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(PostEditor, "load", lambda *models, **given: pytest.fail("refused only after a model was loaded"))
        assert "--resume" in refused(run("gate", model, *options, "--out", gate))
        changed = run("gate", model, *files(others, MT[::-1]), "--out", gate, "--resume")
        assert "made with another dev set" in refused(changed)
        units = run("gate", model, *options, "--out", gate, "--tokenize", "13a", "--resume")
        assert "made with another choice of words (--tokenize)" in refused(units)
    resumed = run("gate", model, *options, "--out", gate, "--resume")
    assert resumed.exit_code == 0, resumed.stderr
    assert judge == [100, 20, 20]
    first = gate.read_text()
    gate.unlink()
    assert run("gate", model, *options, "--out", gate).exit_code == 0
    assert gate.read_text() == first


def test_it_does_not_write_over_what_it_reads(run: Any, tmp_path: Path) -> None:
    for side in ("src", "mt", "pe"):
        (tmp_path / side).write_text("a\n")
    texts = ["--src", tmp_path / "src", "--mt", tmp_path / "mt", "--pe", tmp_path / "pe"]
    assert "is one of the files to read" in refused(run("gate", "MODEL", *texts, "--out", tmp_path / "pe"))
    result = run("gate", "MODEL", *texts, "--out", tmp_path / "g.json", "--plot", tmp_path / "g.json")
    assert "is already what --out writes" in refused(result)
    prices = ("--out", tmp_path / "prices", "--set", f"llm.prices={tmp_path / 'prices'}")
    assert "prices is one of the files to read" in refused(run("gate", "openai:tiny", *texts, *prices))
    assert (tmp_path / "pe").read_text() == "a\n"


def test_an_option_of_edit_alone_is_refused(run: Any, tmp_path: Path) -> None:
    for side in ("src", "mt", "pe"):
        (tmp_path / side).write_text("a\n")
    files = [part for side in ("src", "mt", "pe") for part in (f"--{side}", tmp_path / side)]
    result = run("gate", tmp_path, *files, "--out", tmp_path / "gate.json", "--set", "chunk_lines=3")
    assert "chunk_lines is an option of `postedit edit`" in refused(result)


@pytest.mark.parametrize(("longest", "said"), [(1, "at most 1 word in a line"), (2, "at most 2 words in a line")])
def test_the_report_counts_the_words_that_may_change(longest: int, said: str) -> None:
    zeros = (0.0,) * len(Features.names())
    rule = Rule("edit", Calibrator(zeros, (1.0,) * len(zeros), zeros, 0.0), 0.5, longest)
    unknown = Forecasts(np.zeros(0), np.zeros(0))
    assert said in _report(Calibrated(rule, 20.0, 0.1, 0.1, unknown, 100, True), 0.95)
