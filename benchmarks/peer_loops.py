"""The training loops that `training_peers.py` compares, each run in a process of its own.

    python peer_loops.py FAMILY SYSTEM PRECISION BATCHES

Each line on standard input requests one round over all batches; the answer is a line of JSON with its seconds.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

FAMILIES = ("transformer", "recurrent")
DROPOUT = SMOOTHING = 0.1
WIDTH, HEADS, INNER, LAYERS = 256, 4, 1024, 3
RATE, CLIP = 1e-4, 1.0
PAD, BOS, EOS = 0, 1, 2

Pair = tuple[Tensor, Tensor]
"""Ids Long[N,S] of mt and Long[N,T] of pe, each row ending in EOS before its padding."""


def write_batches(path: Path, batches: Sequence[Any], vocabulary: int) -> None:
    """Write the ids of mt and pe in batches of postedit, and the size of the vocabulary, as an .npz file."""
    arrays = {f"mt{i}": batch.streams["mt"].ids.numpy() for i, batch in enumerate(batches)}
    arrays |= {f"pe{i}": batch.target.ids.numpy() for i, batch in enumerate(batches)}
    np.savez(path, vocabulary=vocabulary, **arrays)


def read_batches(path: Path) -> tuple[list[Pair], int]:
    with np.load(path) as arrays:
        count = len(arrays.files) // 2
        pairs = [(torch.from_numpy(arrays[f"mt{i}"]), torch.from_numpy(arrays[f"pe{i}"])) for i in range(count)]
        return pairs, int(arrays["vocabulary"])


def main() -> None:
    family, system, precision, path = sys.argv[1:]
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.manual_seed(1)
    pairs, vocabulary = read_batches(Path(path))
    loops: dict[str, Callable[[str, str, list[Pair], int], None]] = {
        "postedit": train_postedit,
        "joeynmt": train_joeynmt,
        "Trainer": train_huggingface,
        "bare loop": train_bare,
    }
    loops[system](family, precision, pairs, vocabulary)


def wanted_rounds() -> Iterator[None]:
    """Yield once for each requested round, and print its CPU and wall-clock time when it is done."""
    for _ in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        answer = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
        print("\n" + json.dumps(answer), flush=True)


def train_postedit(family: str, precision: str, pairs: list[Pair], vocabulary: int) -> None:
    from accelerate import Accelerator

    from postedit.core.model import Vocabularies, VocabularyInfo
    from postedit.core.types import Batch, Stream, Target
    from postedit.models import ARCHITECTURES
    from postedit.train.config import TrainConfig
    from postedit.train.optimisers import build_optimizer
    from postedit.train.runtime import bound_kernel_cache, fast_fp32, keep_freed_memory
    from postedit.train.update import Updater

    keep_freed_memory()
    bound_kernel_cache()
    name, sizes = {
        "transformer": (
            "transformer",
            dict(input="mt", layers_encoder=LAYERS, layers_pe=LAYERS, dim=WIDTH, heads=HEADS, feed_forward=INNER),
        ),
        "recurrent": ("cgru", dict(embedding=WIDTH, hidden=WIDTH, attention=WIDTH)),
    }[family]
    drops = dict(dropout=DROPOUT) if family == "transformer" else dict(dropout_rnn=DROPOUT, dropout_word=DROPOUT)
    architecture = ARCHITECTURES[name]
    settings = architecture.config_class.model_validate(
        {**sizes, **drops, "share_embeddings": "all", "tie_output": True}
    )
    words = VocabularyInfo(vocabulary, "benchmark")
    model = architecture.build(settings, Vocabularies({"src": words, "mt": words}, words)).train()
    config = TrainConfig(
        max_steps=1, lr=RATE, clip=CLIP, label_smoothing=SMOOTHING, precision="bf16" if precision == "bf16" else "fp32"
    )
    updater = Updater(model, build_optimizer(model, config), config, Accelerator(mixed_precision="no"))
    batches = [Batch({"mt": Stream(mt, mt != PAD)}, Target(pe, pe != PAD)) for mt, pe in pairs]
    with fast_fp32(precision == "fast fp32"):
        for _ in wanted_rounds():
            for step, batch in enumerate(batches):
                updater.update(step, [batch], RATE)
                updater.failure()
                updater.totals()


def train_joeynmt(family: str, precision: str, pairs: list[Pair], vocabulary: int) -> None:
    from joeynmt.batch import Batch
    from joeynmt.builders import build_gradient_clipper, build_optimizer
    from joeynmt.model import build_model
    from joeynmt.training import TrainManager

    words = _JoeyWords(vocabulary)
    embeddings = {"embedding_dim": WIDTH, "scale": True, "dropout": DROPOUT}
    if family == "transformer":
        shared = {
            "type": "transformer",
            "num_layers": LAYERS,
            "num_heads": HEADS,
            "hidden_size": WIDTH,
            "ff_size": INNER,
            "dropout": DROPOUT,
            "layer_norm": "pre",
            "embeddings": embeddings,
        }
        sizes = {"encoder": dict(shared), "decoder": dict(shared), "tied_softmax": True}
    else:
        shared = {"type": "recurrent", "rnn_type": "gru", "hidden_size": WIDTH, "dropout": DROPOUT, "num_layers": 1}
        encoder = {**shared, "embeddings": dict(embeddings), "bidirectional": True}
        decoder = {**shared, "embeddings": dict(embeddings), "attention": "bahdanau", "hidden_dropout": DROPOUT}
        sizes = {"encoder": encoder, "decoder": decoder, "tied_softmax": True}
    model = build_model({**sizes, "tied_embeddings": True}, words, words)
    model.loss_function = ("crossentropy", SMOOTHING)
    settings = {"optimizer": "adam", "learning_rate": RATE, "clip_grad_norm": CLIP, "clip_grad_val": None}
    optimizer, clip = build_optimizer(settings, model.parameters()), build_gradient_clipper(settings)
    manager: Any = SimpleNamespace(
        model=model,
        autocast={"device_type": "cpu", "enabled": precision == "bf16", "dtype": torch.bfloat16},
        args=SimpleNamespace(normalization="tokens", batch_multiplier=1),
        n_gpu=0,
        scaler=None,
    )
    for _ in wanted_rounds():
        for mt, pe in pairs:
            batch = Batch(
                src=mt,
                src_length=(mt != PAD).sum(1),
                src_prompt_mask=None,
                trg=torch.cat([torch.full_like(pe[:, :1], BOS), pe], 1),
                trg_prompt_mask=None,
                indices=torch.arange(len(mt)),
                device=torch.device("cpu"),
                pad_index=PAD,
                eos_index=EOS,
            )
            TrainManager._train_step(manager, batch)
            clip(parameters=model.parameters())
            optimizer.step()
            model.zero_grad()


class _JoeyWords:
    """A stub with the parts of joeynmt's vocabulary that its models need."""

    pad_index, bos_index, eos_index, unk_index, sep_index = PAD, BOS, EOS, 3, 5
    specials: tuple[str, ...] = ()
    lang_tags: tuple[str, ...] = ()

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size


def marian(vocabulary: int) -> Any:
    """Return Hugging Face's translation Transformer, with our sizes."""
    from transformers import MarianConfig, MarianMTModel

    config = MarianConfig(
        vocab_size=vocabulary,
        decoder_vocab_size=vocabulary,
        d_model=WIDTH,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=INNER,
        decoder_ffn_dim=INNER,
        activation_function="relu",
        dropout=DROPOUT,
        attention_dropout=DROPOUT,
        activation_dropout=DROPOUT,
        scale_embedding=True,
        share_encoder_decoder_embeddings=True,
        pad_token_id=PAD,
        eos_token_id=EOS,
        bos_token_id=BOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=None,
    )
    return MarianMTModel(config).train()


def marian_inputs(pair: Pair) -> dict[str, Tensor]:
    mt, pe = pair
    inputs = torch.cat([torch.full_like(pe[:, :1], BOS), pe[:, :-1]], 1)
    labels = pe.masked_fill(pe == PAD, -100)
    return {"input_ids": mt, "attention_mask": (mt != PAD).long(), "decoder_input_ids": inputs, "labels": labels}


def train_huggingface(family: str, precision: str, pairs: list[Pair], vocabulary: int) -> None:
    from transformers import Trainer, TrainerCallback, TrainingArguments

    rounds = wanted_rounds()

    class Rounds(TrainerCallback):
        """Waits after each round until the next one is requested."""

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step % len(pairs) == 0 and next(rounds, "over") == "over":
                control.should_training_stop = True

    arguments = TrainingArguments(
        output_dir="unused",
        use_cpu=True,
        bf16=precision == "bf16",
        per_device_train_batch_size=1,  # one of our batches
        max_steps=10**9,
        learning_rate=RATE,
        lr_scheduler_type="constant",
        max_grad_norm=CLIP,
        label_smoothing_factor=SMOOTHING,
        optim="adamw_torch",
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=False,
    )
    trainer = Trainer(
        model=marian(vocabulary),
        args=arguments,
        train_dataset=[marian_inputs(pair) for pair in pairs],
        data_collator=lambda examples: dict(examples[0]),
        callbacks=[Rounds()],
    )
    next(rounds)
    trainer.train()


def train_bare(family: str, precision: str, pairs: list[Pair], vocabulary: int) -> None:
    model = marian(vocabulary)
    optimizer = torch.optim.AdamW(model.parameters(), RATE, weight_decay=0.0)
    loss = torch.nn.CrossEntropyLoss(label_smoothing=SMOOTHING)
    batches = [marian_inputs(pair) for pair in pairs]
    for _ in wanted_rounds():
        for batch in batches:
            inputs = {name: tensor for name, tensor in batch.items() if name != "labels"}
            with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
                logits = model(**inputs).logits
                value = loss(logits.flatten(0, 1), batch["labels"].flatten())
            value.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    main()
