"""What the laws are tried on: every architecture at a size where a law takes milliseconds, and small batches."""

import os
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pytest
import torch
from _pytest.mark import ParameterSet
from hypothesis import settings
from torch import Tensor

from postedit.core.config import load_config
from postedit.core.model import Seq2Seq, Vocabularies, VocabularyInfo
from postedit.core.special_tokens import BOS, EOS, PAD, SPECIAL_TOKENS, STEP
from postedit.core.types import Batch, Stream, Target
from postedit.models import ARCHITECTURES
from postedit.search import Ensemble

_CAUSAL: dict[str, object] = {
    "hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 4, "max_position_embeddings": 99, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2,
}  # fmt: skip

# Settings of causal language models, one for each way to attend: to all tokens (Llama, Qwen), in a window (Mistral),
# or in layers of both kinds (Gemma). Windows are narrow, so that the texts here are longer.
CAUSAL: dict[str, dict[str, object]] = {
    "llama": {**_CAUSAL, "model_type": "llama", "hidden_size": 16},
    "qwen2": {
        **_CAUSAL, "model_type": "qwen2", "use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1,
        "hidden_size": 16,
    },
    "qwen3": {**_CAUSAL, "model_type": "qwen3", "tie_word_embeddings": True},
    "gemma2": {
        **_CAUSAL, "model_type": "gemma2", "sliding_window": 5, "query_pre_attn_scalar": 4, "tie_word_embeddings": True,
        "final_logit_softcapping": 5.0, "attn_logit_softcapping": 3.0,
    },
    "gemma3_text": {
        **_CAUSAL, "model_type": "gemma3_text", "sliding_window": 4, "query_pre_attn_scalar": 4,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"], "num_hidden_layers": 3,
        "tie_word_embeddings": False,
    },
    "mistral": {**_CAUSAL, "model_type": "mistral", "sliding_window": 9, "num_hidden_layers": 3},
}  # fmt: skip

CAUSAL_PROMPT: dict[str, object] = {
    "pad": 0, "eos": 2, "prompt": [[1, 4], [5], [6, 4]], "texts": ["src", "mt"], "controls": [1],
}  # fmt: skip

CAUSAL_HINTS: dict[str, object] = {
    **CAUSAL_PROMPT, "prompt": [[1, 4], [], [5], [6], [], [6, 4]],
    "texts": ["examples", "src", "glossary", "mt", "errors"],
}  # fmt: skip

# Configurations by architecture; what stands behind a "/" names a variant of it. Sizes are mutually different where
# an architecture lets them be, so that a swapped dimension shows.
TINY: dict[str, dict[str, object]] = {
    "attention-nmt": {"embedding": 6, "hidden": 5, "attention": 7, "maxout": 4},
    "attention-nmt/tied": {"embedding": 6, "hidden": 4, "attention": 7, "maxout": 6, "tie_output": True},
    "double-attention": {"embedding": 6, "hidden": 5, "attention": 7, "maxout": 4, "share_embeddings": "none"},
    "double-attention/frozen": {
        "embedding": 6, "hidden": 4, "attention": 7, "maxout": 5, "freeze_embeddings": True,
    },
    "shared-attention": {"embedding": 5, "hidden": 6},
    "shared-attention/one-layer": {
        "embedding": 5, "hidden": 4, "layers": 1, "input_feeding": False, "share_embeddings": "mt-pe",
    },
    "flat-attention": {"embedding": 5, "hidden": 6},
    "merged-attention": {"embedding": 5, "hidden": 6},
    "cgru": {"embedding": 6, "hidden": 5, "attention": 7},
    "gru-hard": {"embedding": 6, "hidden": 5},
    "gru-hard/shared": {"embedding": 6, "hidden": 4, "share_embeddings": "mt-pe", "tie_output": True},
    "cgru-hard": {"embedding": 6, "hidden": 5, "attention": 7},
    "m-cgru-hard": {"embedding": 6, "hidden": 5, "attention": 7},
    "m-cgru": {"embedding": 6, "hidden": 5, "attention": 7},
    "m-cgru/shared": {"embedding": 6, "hidden": 4, "share_embeddings": "mt-pe", "tie_output": True},
    "transformer": {
        "layers_encoder": 1, "layers_pe": 2, "dim": 8, "heads": 2, "feed_forward": 12, "input": "mt",
        "share_embeddings": "mt-pe",
    },
    "transformer/src": {
        "layers_encoder": 2, "layers_pe": 1, "dim": 6, "heads": 3, "feed_forward": 10, "input": "src",
        "norm": "post", "share_embeddings": "none", "tie_output": False,
    },
    "transformer/both": {
        "layers_encoder": 1, "layers_pe": 1, "dim": 8, "heads": 2, "feed_forward": 12, "input": "src+mt",
        "share_embeddings": "all",
    },
    "dual-transformer/shared": {
        "layers_encoder": 2, "layers_pe": 1, "dim": 6, "heads": 3, "feed_forward": 10, "norm": "post",
        "share_encoders": True, "share_embeddings": "all",
    },
    "dual-transformer": {
        "layers_encoder": 1, "layers_pe": 2, "dim": 8, "heads": 2, "feed_forward": 12,
        "share_encoders": False, "share_embeddings": "mt-pe",
    },
    "concat-encoders": {"layers_src": 1, "layers_mt": 2, "layers_pe": 2, "dim": 8, "heads": 2, "feed_forward": 12},
    "joint-encoder": {
        "layers_src": 1, "layers_mt": 2, "layers_joint": 1, "layers_pe": 2, "dim": 8, "heads": 2, "feed_forward": 12,
    },
    "cross-encoder": {"layers_src": 1, "layers_mt": 2, "layers_pe": 2, "dim": 8, "heads": 2, "feed_forward": 12},
    "cross-encoder/post-norm": {
        "layers_src": 2, "layers_mt": 1, "layers_pe": 1, "dim": 6, "heads": 3, "feed_forward": 10, "norm": "post",
    },
    "copycat": {"layers_mt": 1, "layers_pe": 2, "dim": 8, "heads": 2, "feed_forward": 12},
    "copycat/post-norm": {
        "layers_mt": 2, "layers_pe": 1, "dim": 6, "heads": 3, "feed_forward": 10, "norm": "post", "scale_copy": True,
        "copy_query": "attended", "gate_bias": False, "share_embeddings": "none", "tie_output": False,
    },
    "copycat-trg": {
        "layers_encoder": 1, "layers_pe": 2, "dim": 8, "heads": 2, "feed_forward": 12,
        "share_encoders": False, "share_embeddings": "mt-pe",
    },
    "copycat-trg/shared": {
        "layers_encoder": 2, "layers_pe": 1, "dim": 6, "heads": 3, "feed_forward": 10, "share_embeddings": "all",
        "copy_query": "attended",
    },
    "copycat-src": {
        "layers_encoder": 2, "layers_pe": 1, "dim": 8, "heads": 2, "feed_forward": 12,
        "share_encoders": False, "share_embeddings": "all",
    },
    "pointer-generator": {"embedding": 6, "hidden": 5},
    "pointer-generator/no-coverage": {"embedding": 4, "hidden": 3, "coverage": False, "share_embeddings": "none"},
    "copy-transformer": {"layers_mt": 1, "layers_pe": 2, "dim": 8, "heads": 2, "feed_forward": 12},
    "copy-transformer/post-norm": {
        "layers_mt": 2, "layers_pe": 1, "dim": 6, "heads": 3, "feed_forward": 10, "norm": "post",
        "share_embeddings": "none", "tie_output": False,
    },
    "character-level": {
        "embedding": 6, "hidden": 5, "attention": 7, "filters": [3, 2, 1, 2], "segment": 3, "highway": 2,
    },
    "symmetric-attention": {"embedding": 6, "hidden": 5, "attention": 7, "agreement": 0.7},
    "edit-operations": {"embedding": 6, "hidden": 5},
    "edit-operations-src": {"embedding": 6, "hidden": 5, "translation": 0.7},
    "transference": {"layers_src": 1, "layers_mt": 2, "layers_pe": 2, "dim": 8, "heads": 2, "feed_forward": 12},
    "transference/post-norm": {
        "layers_src": 2, "layers_mt": 1, "layers_pe": 2, "dim": 6, "heads": 3, "feed_forward": 10,
        "norm": "post", "share_embeddings": "none", "tie_output": False,
    },
    "pretrained": {
        "checkpoint": "a Marian model",
        "network": {
            "settings": {
                "model_type": "marian", "d_model": 8, "encoder_layers": 1, "decoder_layers": 2,
                "encoder_attention_heads": 2, "decoder_attention_heads": 4, "encoder_ffn_dim": 12,
                "decoder_ffn_dim": 10, "max_position_embeddings": 99, "scale_embedding": True,
                "pad_token_id": 2, "eos_token_id": 0, "decoder_start_token_id": 2,
            },
            "pad": 2, "eos": 0, "unk": 1, "before_pe": [2],
        },
    },
    "pretrained/mbart": {
        "checkpoint": "an mBART model",
        "network": {
            "settings": {
                "model_type": "mbart", "d_model": 8, "encoder_layers": 2, "decoder_layers": 1,
                "encoder_attention_heads": 4, "decoder_attention_heads": 2, "encoder_ffn_dim": 12,
                "decoder_ffn_dim": 10, "max_position_embeddings": 99, "pad_token_id": 1, "eos_token_id": 2,
                "decoder_start_token_id": 2,
            },
            "pad": 1, "eos": 2, "unk": 3, "before_src": [0], "after_mt": [4], "before_pe": [2, 4],
        },
    },
    "pretrained/lora": {
        "checkpoint": "an M2M100 model",
        "lora_rank": 2,
        "network": {
            "settings": {
                "model_type": "m2m_100", "d_model": 8, "encoder_layers": 1, "decoder_layers": 1,
                "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 12,
                "decoder_ffn_dim": 10, "max_position_embeddings": 99, "pad_token_id": 1, "eos_token_id": 2,
                "decoder_start_token_id": 2,
            },
            "pad": 1, "eos": 2, "unk": 3, "before_src": [4], "before_pe": [2, 5],
        },
    },
    "pretrained/t5": {
        "checkpoint": "a T5 model",
        "network": {
            "settings": {
                "model_type": "t5", "d_model": 8, "d_kv": 3, "d_ff": 12, "num_layers": 1, "num_decoder_layers": 2,
                "num_heads": 2, "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0,
                "tie_word_embeddings": False, "feed_forward_proj": "gated-gelu",
            },
            "pad": 0, "eos": 1, "before_pe": [0],
        },
    },
    "causal": {
        "checkpoint": "a Gemma 2 model", "network": {"settings": CAUSAL["gemma2"], **CAUSAL_HINTS},
        "hints": {"examples_tokens": 6, "glossary_tokens": 5, "errors_tokens": 4},
    },
    "causal/gemma2": {"checkpoint": "a Gemma 2 model", "network": {"settings": CAUSAL["gemma2"], **CAUSAL_PROMPT}},
    **{
        f"causal/{kind}": {
            "checkpoint": f"a {kind} model", "network": {"settings": CAUSAL[kind], **CAUSAL_PROMPT}, **options
        }
        for kind, options in (
            ("llama", {"lora_rank": 2, "lora_alpha": 1.0, "save_base": True}), ("qwen2", {}), ("qwen3", {}),
            ("gemma3_text", {}), ("mistral", {"recompute": True, "pack": 24}),
        )
    },
}  # fmt: skip


def options_of(options: dict[str, object], sizes: Vocabularies) -> dict[str, object]:
    """Return the options of an architecture; a checkpoint is as large as `sizes` say."""
    network = options.get("network")
    if not isinstance(network, dict):
        return options
    own = [network.get(symbol) for symbol in ("pad", "eos", "unk")]
    rows = sizes.target.size - len(SPECIAL_TOKENS) + sum(row is not None for row in own)
    return {**options, "network": {**network, "settings": {**network["settings"], "vocab_size": rows}}}


def needs_joint(options: dict[str, object]) -> bool:
    """Whether a model needs one vocabulary for all texts, and cannot be in an ensemble with one that has two."""
    return options.get("share_embeddings") == "all" or "checkpoint" in options


MIXED = ("double-attention", "cgru", "m-cgru", "transformer")
"""The members of the ensemble that represents all: of several families, some with one input and some with two."""


def ensembles() -> dict[str, tuple[list[str], list[float], Literal["log", "probability"]]]:
    """Return ensembles, which are models too: two of a kind, and groups of all kinds that go together."""
    found: dict[str, tuple[list[str], list[float], Literal["log", "probability"]]] = {
        f"two {name}": ([name, name], [1.0, 1.0], "log") for name in ("m-cgru", "transference")
    }
    tried = [name for name in ARCHITECTURES if name in TINY]  # test_register.py names the others
    kinds = {name: (ARCHITECTURES[name].model.writes, needs_joint(TINY[name])) for name in tried}
    for kind in dict.fromkeys(kinds.values()):
        names = [name for name in tried if kinds[name] == kind]
        for start in range(0, len(names), 4):
            group = names[start : start + 4]
            space: Literal["log", "probability"] = "log" if start % 8 else "probability"
            found["mixed " + " ".join(group)] = (group, [float(i) for i in range(1, len(group) + 1)], space)
    if set(MIXED) <= set(tried):  # whatever the groups, which change with every further architecture
        found["mixed " + " ".join(MIXED)] = ([*MIXED], [1.0, 2.0, 3.0, 4.0], "log")
    return found


ENSEMBLES = ensembles()

SUBJECTS = [*TINY, *ENSEMBLES]

FAMILIES: dict[str, tuple[str, ...]] = {
    "recurrent with soft attention": (
        "m-cgru", "cgru", "attention-nmt", "double-attention", "shared-attention", "flat-attention", "merged-attention",
        "character-level", "symmetric-attention",
    ),
    "recurrent with hard attention": ("m-cgru-hard", "cgru-hard", "gru-hard", "edit-operations", "edit-operations-src"),
    "copying": ("copycat-src", "copycat-trg", "copycat", "pointer-generator", "copy-transformer"),
    "Transformer": (
        "transference", "cross-encoder", "joint-encoder", "concat-encoders", "dual-transformer", "transformer",
    ),
    "pretrained": ("pretrained",),
    "causal": ("causal",),
    "ensemble": ("mixed " + " ".join(MIXED), *ENSEMBLES),
}  # fmt: skip
"""The architectures and ensembles by family; the first of a family represents it.

The quick tests try each law on the representatives, in single precision; the slow tests on all others and in double
precision. Laws of `SUBJECTS_BY_DTYPE` are tried on variants and most ensembles in double precision only, whose
tolerances are the strict ones. No member of a family reads more streams than its representative or reports more
attentions: the representative has every part that the others are made of.
"""

REPRESENTATIVES = tuple(members[0] for members in FAMILIES.values())

DTYPES = {"fp32": torch.float32, "fp64": torch.float64}


def slow_unless_representative(names: Iterable[str], suffix: str = "") -> list[ParameterSet]:
    """Return the names as parameters of a law; those of representatives, with the suffix, are quick."""
    quick = {name + suffix for name in REPRESENTATIVES}
    return [pytest.param(name, marks=() if name in quick else pytest.mark.slow) for name in names]


ARCHITECTURE_NAMES = slow_unless_representative(TINY)
SUBJECT_NAMES = slow_unless_representative(SUBJECTS)
SUBJECTS_BY_DTYPE = slow_unless_representative(
    [
        *(f"{name}-fp32" for name in SUBJECTS if name in ARCHITECTURES or name in REPRESENTATIVES),
        *(f"{name}-fp64" for name in SUBJECTS),
    ],
    "-fp32",
)

# Bounds on absolute differences of log-probabilities and attention weights that are equal but for rounding.
TOLERANCES = {torch.float32: 2e-5, torch.float64: 1e-12}


def tried(examples: int) -> settings:
    """Return how a law is tried on each model; POSTEDIT_EXAMPLES=4 has it tried on four times as many examples."""
    more = int(os.environ.get("POSTEDIT_EXAMPLES", "1"))
    return settings(max_examples=more * examples, derandomize=True)


def vocabularies(target: int = 11, src: int = 13) -> Vocabularies:
    """Return vocabularies of these sizes; mt and pe have the same one, so that a model may share their embeddings."""
    info = VocabularyInfo(target, f"target of {target}")
    return Vocabularies({"src": VocabularyInfo(src, f"src of {src}"), "mt": info}, info)


def joint(sizes: Vocabularies) -> Vocabularies:
    """Return the vocabulary of the target for all texts."""
    return Vocabularies(dict.fromkeys(sizes.streams, sizes.target), sizes.target)


def build(name: str, dtype: torch.dtype, seed: int = 0, sizes: Vocabularies | None = None) -> Seq2Seq:
    """Return one of SUBJECTS, in evaluation mode, with all its weights scattered.

    Fresh biases and the embedding of padding are zero, and would hide what goes wrong with them.
    """
    if name in ENSEMBLES:
        members, weights, space = ENSEMBLES[name]
        models = [build(member, dtype, 10 * seed + i, sizes) for i, member in enumerate(members)]
        return Ensemble(models, weights, space).eval()
    architecture = ARCHITECTURES[name.partition("/")[0]]
    sizes = sizes or vocabularies()
    if needs_joint(TINY[name]):
        sizes = joint(sizes)
    config = load_config(architecture.config_class, options_of(TINY[name], sizes), name)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = architecture.build(config, sizes)
        with torch.no_grad():
            saved = set(model.state_dict(keep_vars=True).values())
            for tensor in (*model.parameters(), *(buffer for buffer in model.buffers() if buffer in saved)):
                tensor.add_(torch.randn_like(tensor), alpha=0.3)
    return model.to(dtype).eval()


def dtype_of(model: Seq2Seq) -> torch.dtype:
    """Return the dtype of the model's weights."""
    return next(model.parameters()).dtype


def decoding_parameters(model: Seq2Seq) -> dict[str, torch.nn.Parameter]:
    """Return the trained parameters that decoding uses, by name: all but those that training alone needs."""
    unused = tuple(
        f"{path}.{start}".removeprefix(".")
        for path, part in model.named_modules()
        if isinstance(part, Seq2Seq)
        for start in part.training_only
    )
    return {
        name: parameter
        for name, parameter in model.named_parameters()
        if parameter.requires_grad and not name.startswith(unused)
    }


def assert_close(actual: Tensor, expected: Tensor) -> None:
    """Assert that two tensors are equal but for rounding: the tolerance of their dtype, and its last places.

    Those of the largest value count: small log-probabilities are differences of logits of that size.
    """
    places = 4 * torch.finfo(expected.dtype).eps
    finite = expected.detach()[expected.isfinite()].abs()
    largest = float(finite.max()) if finite.numel() else 0.0
    torch.testing.assert_close(actual, expected, rtol=places, atol=TOLERANCES[expected.dtype] + places * largest)


@dataclass(frozen=True)
class Sentence:
    """One triplet: the symbols of each input and hint, and of the post-edit, all with EOS."""

    inputs: Mapping[str, list[int]]
    pe: list[int]


def random_sentences(rng: random.Random, model: Seq2Seq, count: int, longest: int = 6) -> list[Sentence]:
    """Return `count` sentences of random symbols and random lengths (1 to `longest`, the EOS included)."""
    sizes = model.spec.vocabularies
    sizes_of = {name: sizes.streams.get(name, sizes.target).size for name in model.spec.streams}
    return [
        Sentence(
            {name: random_text(rng, sizes_of[name], longest) for name in model.spec.streams},
            random_text(rng, sizes.target.size, longest, steps=model.spec.writes != "tokens"),
        )
        for _ in range(count)
    ]


def random_text(rng: random.Random, vocabulary: int, longest: int, *, steps: bool = False) -> list[int]:
    """Return random ordinary symbols, some of them STEPs if there may be `steps`, and an EOS."""
    return [random_symbol(rng, vocabulary, steps=steps) for _ in range(rng.randrange(longest))] + [EOS]


def random_symbol(rng: random.Random, vocabulary: int, *, steps: bool = False) -> int:
    """Return an ordinary symbol, or perhaps a STEP if there may be `steps`."""
    return STEP if steps and rng.random() < 0.4 else rng.randrange(len(SPECIAL_TOKENS), vocabulary)


def batch_of(sentences: Sequence[Sentence], columns: int = 0, junk: random.Random | None = None) -> Batch:
    """Return a batch, padded by `columns` more than need be, and with random symbols as padding if there is `junk`."""

    def padded(texts: Iterable[list[int]]) -> tuple[Tensor, Tensor]:
        rows = list(texts)
        length = max(map(len, rows)) + columns
        fill = [
            [junk.randrange(len(SPECIAL_TOKENS)) if junk else PAD for _ in range(length - len(row))] for row in rows
        ]
        ids = torch.tensor([row + rest for row, rest in zip(rows, fill)])
        return ids, torch.arange(length) < torch.tensor([[len(row)] for row in rows])

    streams = {name: Stream(*padded(s.inputs[name] for s in sentences)) for name in sentences[0].inputs}
    return Batch(streams, Target(*padded(s.pe for s in sentences)))


def alone(model: Seq2Seq, sentence: Sentence, tokens: Sequence[int]) -> Tensor:
    """Return log_probs Float[len(tokens),V] of one sentence in a batch of its own, decoded in one call."""
    output, _ = model.decode(torch.tensor([list(tokens)]), model.encode(batch_of([sentence])))
    return output.log_probs[0]


def random_prefix(rng: random.Random, model: Seq2Seq, length: int) -> list[int]:
    """Return BOS and length - 1 random symbols: what a decoder reads."""
    vocabulary, steps = model.spec.vocabularies.target.size, model.spec.writes != "tokens"
    return [BOS, *(random_symbol(rng, vocabulary, steps=steps) for _ in range(length - 1))]
