"""Combinations with a language model behind an endpoint: its answers are candidates, and give scores."""

import json
import math
import tomllib
from collections import Counter
from pathlib import Path
from threading import Lock

import pytest
from stub_server import Stub, corrected
from tests.unit.llm.conftest import PRICES, MakeEditor, segments
from typer.testing import CliRunner

from postedit import PostEditor
from postedit.cli.main import app
from postedit.core.editor import Segment
from postedit.core.errors import DataError, ModelFolderError
from postedit.core.search_config import SearchConfig
from postedit.llm import pacing
from postedit.llm.candidates import SampledCandidates, member_of_combination
from postedit.llm.endpoint_options import EndpointSpec, LlmConfig
from postedit.llm.llm_editor import LlmEditor
from postedit.llm.usage import signature


class Moody:
    """A model whose answers differ: of four about a segment, the first rewrites it, and the second corrects nothing."""

    def __init__(self) -> None:
        self.calls, self.lock = Counter[tuple[str, str]](), Lock()  # samples are asked for at the same time

    def __call__(self, src: str, mt: str) -> str:
        with self.lock:
            self.calls[src, mt] += 1
            turn = self.calls[src, mt] % 4
        return f"neu {corrected(mt)}" if turn == 1 else mt if turn == 2 else corrected(mt)


def test_answers_are_candidates_and_scores(make_editor: MakeEditor) -> None:
    asked = [Segment("a b c d e", "errA b c d e"), Segment("x y z", "X y z"), Segment("", "n o")]
    with Stub(correct=Moody()) as stub:
        editor = SampledCandidates(make_editor(stub, samples=4, temperature=1.0, concurrency=1))
        search = editor.search.with_options(beam=5, n_best=5)
        results = editor.edit_segments(asked, search)
        requests = len(stub.asked)
        given = ["A b c d e", "errA b c d e", "neu A b c d e", "never seen"]
        scores = [one.score for one in editor.score_segments([asked[0]] * 4, given)]
        assert len(stub.asked) == requests  # the answers are known
    first, second, third = results
    assert [one.text for one in (first, *first.alternatives)] == [*given[:1], "neu A b c d e", "errA b c d e"]
    assert scores == pytest.approx([math.log(2.5 / 5), math.log(1.5 / 5), math.log(1.5 / 5), math.log(0.5 / 5)])
    assert [first.score, first.alternatives[0].score] == pytest.approx([scores[0], scores[2]])
    assert (second.text, second.changed, third.skipped) == ("X y z", False, "empty")
    assert first.edits[0].mt_span == (0, 4)
    assert [one.skipped for one in editor.score_segments([asked[2]], ["n o"])] == ["empty"]


def test_options_that_guide_the_search_of_others_are_no_obstacle(make_editor: MakeEditor) -> None:
    with Stub() as stub:
        editor = SampledCandidates(make_editor(stub))
    editor.check(SearchConfig(edit_cost=0.5, beam=4, n_best=4), with_mt=True)
    for promise in ({"banned": ("x",)}, {"max_edits": 2}, {"no_repeat": 3}):
        with pytest.raises(DataError, match="leave it out"):
            editor.check(SearchConfig(**promise), with_mt=True)


def test_without_answers_others_decide(make_editor: MakeEditor) -> None:
    with Stub({"refuse": 1.0}) as stub:
        editor = SampledCandidates(make_editor(stub))
        (one,) = editor.edit_segments([Segment("a b", "c d")])
        assert one.skipped == "no answer"
        scores = [two.score for two in editor.score_segments([Segment("a b", "c d")] * 2, ["c d", "e"])]
    assert scores == [math.log(0.5)] * 2


def test_options_that_choose_among_answers_are_refused(tmp_path: Path) -> None:
    config = LlmConfig(scorer="x", cache=str(tmp_path / "answers"))
    with pytest.raises(DataError, match=r"llm\.scorer chooses among answers"):
        member_of_combination(EndpointSpec("m", config, "run"))


def test_the_signature_says_that_a_combination_chooses(tmp_path: Path) -> None:
    options = {"cache": str(tmp_path / "answers"), "samples": 3, "temperature": 0.7}
    spec = EndpointSpec("m", LlmConfig.model_validate(options))
    assert signature(LlmEditor(spec)).endswith("|n:3|t:0.7|by:chrf")
    assert signature(member_of_combination(spec).inner).endswith("|n:3|t:0.7|by:combination")


def write(folder: Path, name: str, asked: list[Segment]) -> list[str]:
    texts = {
        "src": [one.src for one in asked],
        "mt": [one.mt or "" for one in asked],
        "pe": [corrected(one.mt or "") for one in asked],
    }
    for side, lines in texts.items():
        (folder / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return [part for side in ("src", "mt") for part in (f"--{side}", str(folder / f"{name}.{side}"))]


def right(folder: Path, hyp: str, name: str) -> int:
    lines = [(folder / one).read_text(encoding="utf-8").split("\n") for one in (hyp, f"{name}.pe")]
    return sum(one == two for one, two in zip(*lines, strict=True))


@pytest.mark.slow
def test_tune_combines_it_with_a_neural_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny_folders: Path
) -> None:
    monkeypatch.setattr(pacing, "FIRST_PAUSE", 0.001)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    (tmp_path / "prices.toml").write_text(PRICES, encoding="utf-8")
    out, neural = tmp_path / "c.toml", str(tiny_folders / "m-cgru")
    dev, test = write(tmp_path, "dev", segments(16)), write(tmp_path, "test", segments(12, seed=7))
    run = lambda *arguments: CliRunner().invoke(app, [*map(str, arguments)])  # noqa: E731
    runtime = ["--set", f"llm.prices={tmp_path / 'prices.toml'}", "--set", f"llm.cache={tmp_path / 'answers'}"]
    with Stub(correct=Moody(), key="sk-very-secret") as stub:
        asked = ["--endpoint", stub.url, "--set", "llm.samples=4", "--set", "llm.temperature=1.0", *runtime]
        command = ["tune", neural, "openai:tiny", *dev, "--pe", tmp_path / "dev.pe", "--out", out, *asked]
        command += [
            "--set",
            "search.beam=4",
            "--set",
            "search.max_input=400",
            "--set",
            "search.max_ratio=0.5",
            "--rounds",
            1,
            "--restarts",
            1,
        ]
        poor = run(*command, "--budget", "0.003")
        assert poor.exit_code == 1, poor.output
        assert "budget of 0.003" in poor.output
        tuned = run(*command, "--budget", "1", "--resume")
        assert tuned.exit_code == 0, tuned.output
        assert "Estimate for 16 segments" in tuned.output
        assert "requests answered" in tuned.output
        assert max(stub.answered.values()) <= 4 * 3  # equal segments apart, no sample is asked for twice
        values = tomllib.loads(out.read_text())
        assert [one["path"] for one in values["members"]][1] == "openai:tiny"
        assert values["llm"] == {"endpoint": stub.url, "samples": 4, "temperature": 1.0}
        assert "sk-very-secret" not in out.read_text()

        before = len(stub.asked)
        edited = run("edit", out, *test, "--out", tmp_path / "hyp", *runtime, "--budget", "1")
        assert edited.exit_code == 0, edited.output
        assert "requests answered" in edited.stderr
        usage = json.loads((tmp_path / "hyp.usage.json").read_text())
        assert usage["requests"] == len(stub.asked) - before > 0
        assert 0 < usage["cost"] <= 1
        again = run("edit", out, *test, "--out", tmp_path / "again", *runtime)
        assert again.exit_code == 0, again.output
        assert len(stub.asked) - before == usage["requests"]
        assert (tmp_path / "again").read_text() == (tmp_path / "hyp").read_text()

        estimated = run("edit", out, *test, "--out", tmp_path / "x", *runtime, "--estimate")
        assert "Estimate for 12 segments (48 answers are stored): 0 requests" in estimated.stderr
        other = run("edit", out, *test, "--out", tmp_path / "x", *runtime, "--set", "llm.segments=2")
        assert "asked with other options" in other.output, other.output
        fewer = run("edit", out, *test, "--out", tmp_path / "x", *runtime, "--set", "llm.samples=2")
        assert "asked with other options" in fewer.output, "the temperature is that of the combination"
        same = run("edit", out, *test, "--out", tmp_path / "x", *runtime, "--set", "llm.samples=4", "--estimate")
        assert same.exit_code == 0, same.output
        workers = run("edit", out, *test, "--out", tmp_path / "x", *runtime, "--workers", "2")
        assert (workers.exit_code, "one process sends all requests" in workers.output) == (1, True)
    run("edit", neural, *test, "--out", tmp_path / "alone")
    scores = {name: right(tmp_path, name, "test") for name in ("hyp", "alone", "test.mt")}
    assert scores["hyp"] >= 12  # as the answers that came most often; the nonsense of the other model is none of them
    assert scores["hyp"] > scores["test.mt"] >= scores["alone"]
    with pytest.raises(ModelFolderError, match="load_combination"):
        PostEditor.load(out)
