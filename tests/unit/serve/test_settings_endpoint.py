"""A language model behind an endpoint as a model of the service."""

from pathlib import Path
from typing import Any

import pytest
from stub_server import Stub

from postedit.core.config import check_config
from postedit.core.editor import PostEdit, Segment
from postedit.core.errors import StoppedError
from postedit.llm import pacing
from postedit.serve.model_work import EditKind, ProcessSpec, Refusal, Work
from postedit.serve.project_editors import ProjectEditors
from postedit.serve.settings import ServedModel, load_settings


def model(stub: Stub, folder: Path, **options: Any) -> ServedModel:
    llm = {"endpoint": stub.url, "cache": str(folder / "answers"), **options}
    return ServedModel.model_validate({"path": "openai:tiny", "llm": llm})


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "FIRST_PAUSE", 0.001)


def test_it_edits_and_learns_nothing(tmp_path: Path) -> None:
    with Stub() as stub:
        editors = ProjectEditors(ProcessSpec(model(stub, tmp_path), 1, None))
        assert not editors.facts.learns
        asked = [Segment("a b c", "errA b c"), Segment("x", "X 12")]
        (first, second) = editors.done(Work(EditKind("m"), asked)).outcomes
        assert isinstance(first, PostEdit)
        assert isinstance(second, PostEdit)
        assert (first.text, second.text) == ("A b c", "X 12")
        requests = len(stub.asked)
        ProjectEditors(ProcessSpec(model(stub, tmp_path), 1, None))  # a process that starts again pays for nothing
        assert len(stub.asked) == requests


def test_a_server_that_is_away_is_no_fault_of_the_request(tmp_path: Path) -> None:
    with Stub() as stub:
        config = model(stub, tmp_path, retries=0)
        editors = ProjectEditors(ProcessSpec(config, 1, None))
    asked = [Segment(f"a {number}", f"b {number}") for number in range(40)]
    outcomes = editors.done(Work(EditKind("m"), asked)).outcomes
    assert all(isinstance(one, Refusal) and one.fault == "endpoint" for one in outcomes)
    with pytest.raises(StoppedError, match="cannot be reached"):
        ProjectEditors(ProcessSpec(model(stub, tmp_path, retries=0, seed=7, segments=1), 1, None))


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        *((status, "refused") for status in (307, 401, 402, 403, 404, 405)),
        *((status, "endpoint") for status in (429, 500, 503)),
    ],
)
def test_a_server_that_refuses_is_told_from_one_that_is_away(tmp_path: Path, status: int, fault: str) -> None:
    with Stub() as stub:
        editors = ProjectEditors(ProcessSpec(model(stub, tmp_path, retries=0, segments=1), 1, None))
        address = stub.url
        stub.refusal = lambda body: (status, address if status == 307 else {"error": {"message": "no"}})
        asked = [Segment(f"a {number}", f"b {number}") for number in range(40)]
        outcomes = editors.done(Work(EditKind("m"), asked)).outcomes
    assert {one.fault for one in outcomes if isinstance(one, Refusal)} == {fault}
    assert all(isinstance(one, Refusal) for one in outcomes)


def test_answers_held_to_no_schema_are_refused_if_one_is_required(tmp_path: Path) -> None:
    with Stub() as stub:
        editors = ProjectEditors(ProcessSpec(model(stub, tmp_path, structure="json-schema"), 1, None))
        stub.refuses = ("response_format",)
        (outcome,) = editors.done(Work(EditKind("m"), [Segment("a new one", "b c")])).outcomes
    assert isinstance(outcome, Refusal)
    assert outcome.fault == "refused"


def test_what_it_costs_is_counted_over_restarts(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text("[models.tiny]\ninput = 100.0\noutput = 100.0\n", encoding="utf-8")
    refusals = 0
    with Stub() as stub:
        for start in range(0, 60, 10):
            config = model(stub, tmp_path, prices=str(prices), budget=0.5, segments=1)
            editors = ProjectEditors(ProcessSpec(config, 1, None))
            asked = [Segment(f"a {number}", f"b {number}") for number in range(start, start + 10)]
            found = [one for one in editors.done(Work(EditKind("m"), asked)).outcomes if isinstance(one, Refusal)]
            assert {one.fault for one in found} <= {"budget"}
            refusals += len(found)
        assert (stub.prompt_tokens + stub.answer_tokens) * 100 / 1e6 <= 0.5
    assert refusals > 0


def test_a_budget_belongs_to_a_model_at_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(address: str, name: str = "tiny") -> str:
        spec = ServedModel.model_validate({"path": f"openai:{name}", "llm": {"endpoint": address}}).endpoint
        assert spec is not None
        return spec.run

    here, there = "http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"
    assert len({run(here), run(there), run(here, "other")}) == 3
    assert run(here) == run(f"{here}/")
    monkeypatch.setenv("OPENAI_BASE_URL", here)
    assert run("") == run(here)


def problems(**values: Any) -> str:
    return "; ".join(check_config(ServedModel, values)[1])


def test_files_are_relative_to_that_of_the_settings(tmp_path: Path) -> None:
    text = 'path = "openai:tiny"\nllm.prices = "p.toml"\nllm.cache = "/answers"\nllm.prompt = "mine.toml"\n'
    (tmp_path / "serve.toml").write_text(f"[models.llm]\n{text}[models.other]\npath = 'none'\n", encoding="utf-8")
    models = load_settings(tmp_path / "serve.toml").models
    assert models["llm"].llm.prices == str(tmp_path / "p.toml")
    assert models["llm"].llm.cache == "/answers"
    assert models["llm"].llm.prompt == str(tmp_path / "mine.toml")
    assert models["other"].llm == ServedModel(path="none").llm
    assert models["llm"].endpoint is not None


def test_settings_of_endpoints() -> None:
    served = ServedModel.model_validate({"path": "openai:tiny", "llm": {"endpoint": "http://127.0.0.1:1/v1"}})
    assert (served.processes, served.learns, served.batch_seconds) == (1, False, 10.0)
    assert (served.llm.retries, served.llm.timeout) == (1, 25.0)
    assert ServedModel(path="none").endpoint is None
    assert "llm is for openai:MODEL alone" in problems(path="none", llm={"retries": 2})
    assert "processes of openai:tiny can only be 1" in problems(path="openai:tiny", processes=2)
    assert "learns of openai:tiny can only be False" in problems(path="openai:tiny", learns=True)
    assert "no such option" in problems(path="openai:tiny", llm={"key": "sk-secret"})
