"""Law 11: every architecture can learn twenty triplets by heart."""

import random
from dataclasses import replace

import pytest
import torch
from sacrebleu.metrics import TER
from tiny import (
    CAUSAL,
    CAUSAL_PROMPT,
    REPRESENTATIVES,
    Sentence,
    batch_of,
    joint,
    needs_joint,
    options_of,
    vocabularies,
)

from postedit.core.config import load_config
from postedit.core.model import Seq2Seq
from postedit.core.special_tokens import EOS
from postedit.core.types import Batch
from postedit.models import ARCHITECTURES
from postedit.search import greedy
from postedit.text.edits import target_of

# Configurations that are large enough to learn by heart, and small enough to do so in seconds.
RECURRENT = {"embedding": 32, "hidden": 32, "attention": 32}
TRANSFORMER = {"layers_pe": 1, "dim": 48, "heads": 4, "feed_forward": 64, "dropout": 0.0}
ONE_ENCODER = {"layers_encoder": 1, **TRANSFORMER}
TWO_ENCODERS = {"layers_src": 1, "layers_mt": 1, **TRANSFORMER}
LEARNERS: dict[str, dict[str, object]] = {
    **{name: {**RECURRENT, "maxout": 24} for name in ("attention-nmt", "double-attention")},
    **{
        name: {**RECURRENT, "dropout_rnn": 0.0, "dropout_word": 0.0}
        for name in ("cgru", "symmetric-attention", "gru-hard", "cgru-hard", "m-cgru-hard", "m-cgru")
    },
    **{
        name: {"embedding": 48, "hidden": 64, "layers": 1, "dropout": 0.0}
        for name in ("shared-attention", "flat-attention", "merged-attention")
    },
    **dict.fromkeys(("concat-encoders", "joint-encoder", "cross-encoder", "transference"), TWO_ENCODERS),
    "transformer": {**ONE_ENCODER, "input": "mt", "share_embeddings": "mt-pe"},
    "dual-transformer": {**ONE_ENCODER, "share_encoders": False, "share_embeddings": "mt-pe"},
    "copycat": {"layers_mt": 1, **TRANSFORMER},
    "copycat-trg": {**ONE_ENCODER, "share_encoders": False, "share_embeddings": "mt-pe"},
    "copycat-src": {**ONE_ENCODER, "share_embeddings": "all"},
    "pointer-generator": {"embedding": 32, "hidden": 32},
    "character-level": {**RECURRENT, "filters": [16, 16, 16], "segment": 2, "highway": 1, "dropout_rnn": 0.0},
    "copy-transformer": {"layers_mt": 1, **TRANSFORMER},
    "edit-operations": {"embedding": 32, "hidden": 32},
    "edit-operations-src": {"embedding": 32, "hidden": 32},
    "pretrained": {
        "checkpoint": "a Marian model",
        "dropout": 0.0,
        "network": {
            "settings": {
                "model_type": "marian", "d_model": 48, "encoder_layers": 1, "decoder_layers": 1,
                "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64,
                "decoder_ffn_dim": 64, "max_position_embeddings": 99, "scale_embedding": True, "init_std": 0.1,
                "pad_token_id": 2, "eos_token_id": 0, "decoder_start_token_id": 2, "dropout": 0.1,
            },
            "pad": 2, "eos": 0, "unk": 1, "before_pe": [2],
        },
    },
    "causal": {
        "checkpoint": "a Llama model",
        "network": {
            "settings": {
                **CAUSAL["llama"], "hidden_size": 48, "intermediate_size": 96, "head_dim": 12, "initializer_range": 0.3,
            },
            **CAUSAL_PROMPT,
        },
    },
}  # fmt: skip

# What is learnt in half the steps or less with a higher rate; others are not.
RATES = dict.fromkeys(("m-cgru", "m-cgru-hard", "causal"), 1e-2)

# Learning takes seconds: two families are enough for the quick tests.
QUICKLY = ("m-cgru", "copycat-src")

TRIPLETS, MOST_STEPS, STEPS_BETWEEN_LOOKS = 20, 600, 20


def triplets(rng: random.Random) -> list[Sentence]:
    """Return triplets whose post-edit is mt with some symbols changed, dropped and added, for no reason to be found."""
    found = []
    for _ in range(TRIPLETS):
        src, mt = ([rng.randrange(6, 40) for _ in range(rng.randint(3, 10))] for _ in range(2))
        pe = [rng.randrange(6, 40) if rng.random() < 0.3 else symbol for symbol in mt if rng.random() > 0.1]
        pe.insert(rng.randint(0, len(pe)), rng.randrange(6, 40))
        found.append(Sentence({"src": [*src, EOS], "mt": [*mt, EOS]}, [*pe, EOS]))
    return found


def ter(model: Seq2Seq, sentences: list[Sentence], batch: Batch) -> float:
    """Return the TER of what the model writes, in percent."""
    outputs = greedy(model.eval(), batch, torch.full((len(sentences),), 30))
    written = [" ".join(map(str, output.tokens)) for output in outputs]
    return TER().corpus_score(written, [[" ".join(map(str, sentence.pe[:-1])) for sentence in sentences]]).score


def test_every_registered_architecture_has_a_learning_configuration() -> None:
    assert set(LEARNERS) == set(ARCHITECTURES), "add each architecture to LEARNERS in tests/contract/test_learning.py"
    assert set(LEARNERS) >= set(QUICKLY)


@pytest.mark.parametrize(
    "name", [name if name in QUICKLY else pytest.param(name, marks=pytest.mark.slow) for name in LEARNERS]
)
def test_law_11_twenty_triplets_can_be_learnt_by_heart(name: str) -> None:
    learn_by_heart(name, torch.float32)


@pytest.mark.slow  # learning takes seconds, and precision decides on none of it: one of each family is enough
@pytest.mark.parametrize("name", [name for name in REPRESENTATIVES if name in LEARNERS])
def test_law_11_twenty_triplets_can_be_learnt_by_heart_in_fp64(name: str) -> None:
    learn_by_heart(name, torch.float64)


def learn_by_heart(name: str, dtype: torch.dtype) -> None:
    """Train until greedy search writes every post-edit; fail if that takes too long."""
    torch.manual_seed(11)
    architecture = ARCHITECTURES[name]
    sizes = vocabularies(target=40, src=40)
    if needs_joint(LEARNERS[name]):
        sizes = joint(sizes)
    config = load_config(architecture.config_class, options_of(LEARNERS[name], sizes), name)
    model = architecture.build(config, sizes).to(dtype)
    sentences = triplets(random.Random(11))
    sentences = [replace(one, pe=target_of(architecture.model.writes, one.inputs["mt"], one.pe)) for one in sentences]
    batch = batch_of(sentences)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATES.get(name, 3e-3))
    score = ter(model, sentences, batch)
    assert score > 50, "there is nothing to learn"
    for step in range(1, MOST_STEPS + 1):
        loss = model.train()(batch)
        optimizer.zero_grad()
        (loss.loss / loss.tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % STEPS_BETWEEN_LOOKS == 0:
            score = ter(model, sentences, batch)
            if score == 0.0:
                return
    pytest.fail(f"TER is still {score:.1f} after {MOST_STEPS} steps")
