"""A real server, `transformers serve`, with a tiny model that is made on the spot and whose answers mean nothing."""

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from free_ports import free_port
from tests.unit.llm.conftest import segments

from postedit.llm.endpoint_options import EndpointSpec, LlmConfig
from postedit.llm.llm_editor import LlmEditor

SECONDS_TO_START = 300.0
TEMPLATE = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\n{% endfor %}<|assistant|>"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A causal model of a few thousand weights, with a tokenizer over bytes and a chat template."""
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["</s>"], initial_alphabet=alphabet)
    tokenizer.train_from_iterator(["the house is big"] * 5, trainer)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>", pad_token="</s>")
    fast.chat_template = TEMPLATE
    config = transformers.LlamaConfig(
        vocab_size=len(fast), hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=4096, eos_token_id=0, pad_token_id=0, bos_token_id=0,
    )  # fmt: skip
    folder: Path = tmp_path_factory.mktemp("tiny-llama")
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def server(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of the model; where its parts are installed, it has to start."""
    if importlib.util.find_spec("transformers.cli.serve") is None:
        pytest.skip("this version of transformers has no `transformers serve`")
    from transformers.utils.import_utils import is_serve_available

    if not is_serve_available():
        pytest.skip("`transformers serve` needs transformers[serving]")
    port = free_port()
    log = tmp_path_factory.mktemp("server") / "log"
    program = Path(sys.executable).parent / "transformers"
    command = [str(program), "serve", str(model), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with log.open("w") as output, subprocess.Popen(command, stdout=output, stderr=output, env=environment) as process:
        try:
            wait_until_it_replies(process, f"http://127.0.0.1:{port}/health", log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def wait_until_it_replies(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    """Wait until a server replies to a question about its health.

    Raises:
        AssertionError: if it ends, or does not reply in time.
    """
    end = time.monotonic() + SECONDS_TO_START
    while process.poll() is None and time.monotonic() < end:
        try:
            if httpx.get(url).status_code == 200:
                return
        except httpx.TransportError:
            pass  # it does not listen yet
        time.sleep(0.5)
    raise AssertionError(f"`transformers serve` does not start: {log.read_text()[-2000:]}")


def test_a_server_that_does_not_start_is_a_failure(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("why")
    command = [sys.executable, "-c", "raise SystemExit(1)"]
    with subprocess.Popen(command) as process, pytest.raises(AssertionError, match="does not start: why"):
        wait_until_it_replies(process, "http://127.0.0.1:9/health", log)


@pytest.mark.slow
def test_a_real_server_is_asked_and_not_believed(server: str, model: Path, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text(f'[models."{model}"]\ninput = 1\noutput = 4\n', encoding="utf-8")
    config = LlmConfig(
        endpoint=server, cache=str(tmp_path / "answers"), prices=str(tmp_path / "prices.toml"), budget=10.0, segments=2,
        concurrency=1, languages="en:de", timeout=300.0,
    )  # fmt: skip
    editor = LlmEditor(EndpointSpec(str(model), config, "run"))
    asked = segments(4)
    results = editor.edit_segments(asked)
    assert [one.text for one in results] == [one.mt for one in asked]  # random weights write no JSON
    figures = editor.store.figures()
    assert figures["requests"] == 2 + 4
    assert sum(figures["left as mt"].values()) == 4
    assert figures["prompt tokens"] > 4 * 100
    assert 0 < figures["cost"] <= editor.store.spent() <= 10.0
    again = LlmEditor(EndpointSpec(str(model), config, "again"))
    assert again.edit_segments(asked) == results
    assert again.store.figures()["requests"] == 0
