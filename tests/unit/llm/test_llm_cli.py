"""Commands with a model behind an endpoint: lines, files, gates, scores, budgets, and work that was killed."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from stub_server import Stub, corrected
from tests.unit.llm.conftest import PRICES, segments
from typer.testing import CliRunner

from postedit.cli.main import app
from postedit.core.editor import Segment
from postedit.llm import pacing

Run = Any


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.setattr(pacing, "FIRST_PAUSE", 0.001)
    (tmp_path / "prices.toml").write_text(PRICES, encoding="utf-8")
    return lambda *arguments: CliRunner().invoke(app, [str(one) for one in arguments])


def write_lines(folder: Path, asked: list[Segment]) -> list[str]:
    (folder / "src").write_text("".join(f"{one.src}\n" for one in asked), encoding="utf-8")
    (folder / "mt").write_text("".join(f"{one.mt}\n" for one in asked), encoding="utf-8")
    (folder / "pe").write_text("".join(f"{corrected(one.mt or '')}\n" for one in asked), encoding="utf-8")
    return ["--src", str(folder / "src"), "--mt", str(folder / "mt")]


def options(folder: Path, stub: Stub) -> list[str]:
    given = {"prices": folder / "prices.toml", "cache": folder / "answers", "languages": "en:de"}
    return [
        "openai:tiny",
        "--endpoint",
        stub.url,
        *(part for name, one in given.items() for part in ("--set", f"llm.{name}={one}")),
    ]


def test_lines_in_lines_out_and_their_usage_beside_scores(run: Run, tmp_path: Path) -> None:
    asked, out = segments(60), tmp_path / "out"
    files = write_lines(tmp_path, asked)
    with Stub({"drop": 0.5}, spares_single=True) as stub:
        result = run("edit", *options(tmp_path, stub), *files, "--out", out)
    assert result.exit_code == 0, result.output
    assert out.read_text() == (tmp_path / "pe").read_text()
    assert "Estimate for 60 segments: " in result.stderr
    assert "requests answered" in result.stderr
    usage = json.loads((tmp_path / "out.usage.json").read_text())
    assert usage["model"] == "tiny"
    assert usage["signature"].startswith("model:tiny|prompt:minimal.v1.")
    assert usage["prompt tokens"] == stub.prompt_tokens
    assert usage["answer tokens"] == stub.answer_tokens
    assert usage["cost"] == pytest.approx((stub.prompt_tokens + 4 * stub.answer_tokens) / 1e6)
    assert set(usage["asked again"]) == {"dropped"}
    scored = run("score", out, "--pe", tmp_path / "pe", "--mt", tmp_path / "mt", "--json", tmp_path / "scores.json")
    assert scored.exit_code == 0, scored.output
    assert "cost (EUR)" in scored.output
    tables = {table["name"]: table["rows"] for table in json.loads((tmp_path / "scores.json").read_text())["tables"]}
    assert tables["usage"][0]["requests"] == usage["requests"]
    assert tables["signatures of language models"][0]["signature"] == usage["signature"]


def test_a_damaged_report_of_usage_is_named(run: Run, tmp_path: Path) -> None:
    files = write_lines(tmp_path, segments(3))
    with Stub() as stub:
        assert run("edit", *options(tmp_path, stub), *files, "--out", tmp_path / "pe").exit_code == 0
    whole = json.loads((tmp_path / "pe.usage.json").read_text())
    wrong: list[dict[str, Any]] = [{"cost": "0.1"}, {"requests": float("inf")}, {"prompt tokens": 10**400}]
    wrong += [{"currency": 1}, {"signature": None}, {"seconds": 5}, {"left as mt": {"cut off": "1"}}]
    damaged = [json.dumps({**whole, **one}) for one in wrong]
    for text in ("{", '{"format": 1}', "[]", *damaged):
        (tmp_path / "pe.usage.json").write_text(text)
        result = run("score", tmp_path / "pe", "--pe", tmp_path / "pe")
        assert result.exit_code == 1
        assert "pe.usage.json: is " in result.stderr.replace("\n", "")
        assert "edit again" in result.stderr.replace("\n", " ")


def test_an_estimate_asks_nothing(run: Run, tmp_path: Path) -> None:
    files = write_lines(tmp_path, segments(20))
    with Stub() as stub:
        result = run("edit", *options(tmp_path, stub), *files, "--out", tmp_path / "out", "--estimate")
        assert result.exit_code == 0, result.output
        assert "Estimate for 20 segments: 3 requests" in result.stderr
        assert re.search(r"; about 0\.00[0-9]*[1-9][0-9]* EUR;", " ".join(result.stderr.split())), "small, not free"
        several = run(
            "edit", *options(tmp_path, stub), *files, "--out", tmp_path / "out", "--estimate", "--passes", "3"
        )
    assert "Estimate for 20 segments in at most 3 passes: 9 requests" in several.stderr
    assert not stub.asked
    assert not (tmp_path / "out.partial").exists()


@pytest.mark.parametrize("option", ["search.beam=4", "search.length_penalty=0.5"])
def test_options_without_effect_on_it_are_refused(run: Run, tmp_path: Path, option: str) -> None:
    files = write_lines(tmp_path, segments(3))
    with Stub() as stub:
        result = run("edit", *options(tmp_path, stub), *files, "--out", tmp_path / "out", "--set", option)
    name = option.partition("=")[0]
    assert (result.exit_code, stub.asked) == (1, [])
    assert f"{name} guides the search of models of your own" in " ".join(result.output.split())


@pytest.mark.slow
def test_a_budget_stops_cleanly_and_a_larger_one_continues(run: Run, tmp_path: Path) -> None:
    asked, out = segments(300), tmp_path / "out"
    files = write_lines(tmp_path, asked)
    with Stub() as stub:
        command = ["edit", *options(tmp_path, stub), *files, "--out", out, "--set", "chunk_lines=20"]
        result = run(*command, "--budget", "0.02")
        assert result.exit_code == 1
        assert "budget of 0.02" in result.output
        assert "--resume" in result.output
        usage = json.loads((tmp_path / "out.usage.json").read_text())
        assert 0.01 < usage["cost"] <= 0.02
        assert not out.exists()
        assert 0 < len((tmp_path / "out.partial").read_text().splitlines()) < 300
        assert run(*command, "--budget", "0.02", "--resume").exit_code == 1
        assert json.loads((tmp_path / "out.usage.json").read_text())["cost"] <= 0.02
        other = run(*command, "--budget", "1", "--resume", "--set", f"llm.cache={tmp_path / 'another'}")
        assert (other.exit_code, "llm.cache" in other.output) == (1, True), "whose ledger knows no costs"
        result = run(*command, "--budget", "1", "--resume")
        assert result.exit_code == 0, result.output
    assert out.read_text() == (tmp_path / "pe").read_text()
    assert max(stub.answered.values()) == 1
    usage = json.loads((tmp_path / "out.usage.json").read_text())
    assert usage["cost"] == pytest.approx((stub.prompt_tokens + 4 * stub.answer_tokens) / 1e6)


@pytest.mark.slow
def test_a_budget_of_a_gate_stops_cleanly_and_holds_over_resumption(run: Run, tmp_path: Path) -> None:
    files = write_lines(tmp_path, segments(400))
    out = tmp_path / "gate.json"
    with Stub() as stub:
        command = ["gate", *options(tmp_path, stub), *files, "--pe", tmp_path / "pe", "--out", out]

        def cost() -> float:
            return (stub.prompt_tokens + 4 * stub.answer_tokens) / 1e6

        result = run(*command, "--budget", "0.02")
        assert result.exit_code == 1
        assert "budget of 0.02" in result.output
        assert "the same command with --resume continues" in " ".join(result.output.split())
        assert "Traceback" not in result.output
        assert not out.exists()
        assert 0.01 < cost() <= 0.02
        again = run(*command, "--budget", "0.02", "--resume")
        assert (again.exit_code, "budget of 0.02" in again.output) == (1, True)
        assert cost() <= 0.02, "the cost of the first part is forgotten"
        result = run(*command, "--budget", "1", "--resume")
        assert result.exit_code == 0, result.output
    assert out.exists()
    assert max(stub.answered.values()) == 1, "asked twice"


def wait_for(done: Any) -> None:
    for _ in range(12_000):
        if done():
            return
        time.sleep(0.05)
    raise AssertionError("it takes more than ten minutes")


def kill_and_resume(tmp_path: Path, items: int, kills: int) -> None:
    """Edit in a process that is killed several times; what was answered before a kill is not asked for after it."""
    asked, out = segments(items, seed=5), tmp_path / "out"
    files = write_lines(tmp_path, asked)
    (tmp_path / "prices.toml").write_text(PRICES, encoding="utf-8")
    goal, killed = 0, threading.Event()

    def hold(_: object) -> None:  # so that no process is done before it is killed
        if len(stub.asked) >= goal:
            killed.wait(600)

    with Stub({"drop": 0.05, "429": 0.05}, refusal=hold, slow=0.2, spares_single=True) as stub:
        command = [sys.executable, "-m", "postedit", "edit", *options(tmp_path, stub), *files, "--out", str(out)]
        command += ["--budget", "100", "--set", "chunk_lines=100", "--set", "llm.concurrency=4"]
        in_flight, environment = 0, {**os.environ, "OMP_NUM_THREADS": "1"}
        for number in range(kills):
            more = ["--resume"] if number else []
            killed.clear()
            goal = len(stub.asked) + max(2, items // 8 // (kills + 1))
            with subprocess.Popen([*command, *more], stderr=subprocess.PIPE, env=environment) as process:
                wait_for(lambda goal=goal, process=process: len(stub.asked) >= goal or process.poll() is not None)
                assert process.poll() is None, process.stderr.read().decode() if process.stderr else ""
                process.send_signal(signal.SIGKILL)
            killed.set()
            in_flight += 4
        done = subprocess.run([*command, "--resume"], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert out.read_text() == (tmp_path / "pe").read_text()
    usage = json.loads((tmp_path / "out.usage.json").read_text())
    # Each answered request is in the ledger, or was under way when the process was killed.
    answered = len([one for one in stub.asked if one]) - stub.happened["429"]
    assert usage["requests"] <= answered <= usage["requests"] + in_flight
    twice = sum(count - 1 for count in stub.answered.values() if count > 1)
    again = sum(usage["asked again"].values())  # after a faulty answer, alone
    assert twice <= again + 8 * in_flight
    assert usage["cost"] >= (stub.prompt_tokens + 4 * stub.answer_tokens) / 1e6 - 1e-9
    left = subprocess.run(
        [*command[:-6], "--budget", "100", "--out", str(tmp_path / "again")],
        capture_output=True,
        env=environment,
        check=False,
    )
    assert left.returncode == 0, left.stderr
    assert (tmp_path / "again").read_text() == out.read_text()


@pytest.mark.slow
def test_killed_work_is_not_paid_for_twice(tmp_path: Path) -> None:
    kill_and_resume(tmp_path, 200, 1)


@pytest.mark.faults
def test_work_that_is_killed_again_and_again_is_not_paid_for_twice(tmp_path: Path) -> None:
    kill_and_resume(tmp_path, 2400, 4)


def test_translation_files(run: Run, tmp_path: Path) -> None:
    unit = '<trans-unit id="{0}"><source>{1}</source><target>{2}</target></trans-unit>\n'
    asked = segments(10)
    units = "".join(unit.format(number, one.src, one.mt) for number, one in enumerate(asked))
    head = '<xliff version="1.2"><file original="a" source-language="en" target-language="de"><body>\n'
    (tmp_path / "a.xlf").write_text(f"{head}{units}</body></file></xliff>\n", encoding="utf-8")
    with Stub() as stub:
        result = run("edit", *options(tmp_path, stub), tmp_path / "a.xlf", "--out", tmp_path / "b.xlf")
    assert result.exit_code == 0, result.output
    text = (tmp_path / "b.xlf").read_text(encoding="utf-8")
    assert all(corrected(one.mt or "") in text for one in asked)
    assert json.loads((tmp_path / "b.xlf.usage.json").read_text())["requests"] == 2


@pytest.mark.slow
def test_a_gate_learns_what_to_keep_of_it_without_probabilities(run: Run, tmp_path: Path) -> None:
    def overcorrected(src: str, mt: str) -> str:
        return corrected(mt).replace("Haus", "Gebäude") if "house" in src else corrected(mt)

    dev = segments(800)
    files = write_lines(tmp_path, dev)
    with Stub(correct=overcorrected) as stub:
        given = options(tmp_path, stub)
        made = run("gate", *given, *files, "--pe", tmp_path / "pe", "--out", tmp_path / "gate.json")
        assert made.exit_code == 0, made.output
        assert "The gate lets" in made.output
        assert "requests answered" in made.output
        assert len(stub.asked) < 250
        test = segments(100, seed=9)
        files = write_lines(tmp_path, test)
        out = tmp_path / "out"
        result = run("edit", *given, *files, "--out", out, "--gate", tmp_path / "gate.json")
        assert result.exit_code == 0, result.output
        ungated = run("edit", *given, *files, "--out", tmp_path / "ungated")
        other = run(
            "edit",
            *given,
            *files,
            "--out",
            tmp_path / "x",
            "--gate",
            tmp_path / "gate.json",
            "--set",
            "llm.prompt=plain",
        )
    assert "llm.prompt" in other.output
    assert ungated.exit_code == 0
    wanted, mt = ((tmp_path / name).read_text().split("\n") for name in ("pe", "mt"))

    def right(path: Path) -> int:
        return sum(one == two for one, two in zip(path.read_text().split("\n"), wanted, strict=True))

    unedited = sum(one == two for one, two in zip(mt, wanted, strict=True))
    # A gate that keeps everything is no better than none, and one that keeps nothing no better than mt.
    assert right(out) > right(tmp_path / "ungated")
    assert right(out) > unedited


def test_options_that_do_not_go_together_are_refused(run: Run, tmp_path: Path) -> None:
    files = write_lines(tmp_path, segments(2))
    model = ["openai:tiny", "--endpoint", "http://127.0.0.1:9/v1", "--set", f"llm.cache={tmp_path / 'c'}"]
    for more, problem in (
        (["--workers", "2"], "one process sends all requests"),
        (["--dtype", "bf16"], "the weights of openai:tiny are on its server"),
        (["--set", "search.edit_cost=1"], "leave it out"),
        (["--budget", "1"], "a budget needs prices"),
        (["--budget", "0"], "--budget 0 allows no request: give what they may cost"),
        (["--budget", "nan"], "llm.budget"),
        (["--set", "llm.samples=3"], "temperature"),
        (["--set", "llm.promt=x"], 'did you mean "prompt"'),
        (["--set", "llm.scorer=nowhere"], "no such model folder"),
    ):
        result = run("edit", *model, *files, "--out", tmp_path / "out", *more)
        assert result.exit_code == 1, more
        assert problem in result.output, result.output
        assert "Traceback" not in result.output
    result = run("edit", tmp_path / "no-model", *files, "--set", "llm.segments=3")
    assert "is for a model behind an endpoint" in result.output
    result = run("edit", tmp_path / "no-model", *files, "--estimate")
    assert "others cost nothing" in result.output


def test_lines_from_standard_input(run: Run, tmp_path: Path) -> None:
    asked = segments(5)
    text = "".join(f"{one.src}\t{one.mt}\n" for one in asked)
    with Stub() as stub:
        result = CliRunner().invoke(
            app, ["edit", *options(tmp_path, stub)[:3], "--set", f"llm.cache={tmp_path / 'c'}"], input=text
        )
    assert result.exit_code == 0, result.output
    assert result.stdout == "".join(f"{corrected(one.mt or '')}\n" for one in asked)


def test_errors_that_a_model_names_explain_its_edits(run: Run, tmp_path: Path) -> None:
    asked = segments(6)
    files = write_lines(tmp_path, asked)
    with Stub() as stub:
        given = [*options(tmp_path, stub), "--set", "llm.prompt=error-spans", *files]
        result = run("explain", *given, "--html", tmp_path / "x.html", "--edits", tmp_path / "edits.jsonl")
    assert result.exit_code == 0, result.output
    assert "the model names an error, minor, fluency" in (tmp_path / "x.html").read_text(encoding="utf-8")
    records = [json.loads(line) for line in (tmp_path / "edits.jsonl").read_text().splitlines()]
    assert records
