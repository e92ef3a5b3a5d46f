"""A model, a corpus and a run that take milliseconds; as a script, it trains in a process that may be killed.

python tiny_run.py FOLDER CORPUS_FOLDER '{"max_steps": 40, ...}' [--resume] [--kill-at STEP] [--slow SECONDS]
"""

import argparse
import json
import os
import random
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import torch
from rich.console import Console
from torch import Tensor, nn

from postedit.core.config import Config, load_config
from postedit.core.model import ModelSpec, Seq2Seq, Vocabularies, VocabularyInfo
from postedit.core.symbols import EOS, SYMBOLS
from postedit.core.types import Batch, DecoderOutput
from postedit.data.corpus import Corpus
from postedit.nn.heads import SoftmaxHead
from postedit.train.config import TrainConfig
from postedit.train.loop import Trainer
from postedit.train.tensors import model_tensors, save_tensors

VOCABULARY = 30
SETTINGS: dict[str, Any] = {
    "max_steps": 12,
    "batch_tokens": 120,
    "lr": 0.02,
    "warmup_steps": 4,
    "validate_every": 4,
    "save_every": 3,
    "save_minutes": None,
    "log_every": 2,
    "keep_best": 3,
}


@dataclass(frozen=True)
class TinyState:
    """What the tiny model remembers: one vector a row."""

    inputs: Tensor

    def select(self, rows: Tensor) -> Self:
        return type(self)(self.inputs[rows])

    def rollback(self, keep: Tensor) -> Self:
        return self


class TinyModel(Seq2Seq):
    """Predicts from the last token and the bags of words of src and mt; with dropout, and a tied output layer."""

    config_class = Config
    inputs = ("src", "mt")

    def __init__(self, dim: int = 8, dropout: float = 0.2) -> None:
        super().__init__()
        info = VocabularyInfo(VOCABULARY, "tiny")
        self.spec = ModelSpec(self.inputs, Vocabularies({"src": info, "mt": info}, info), frozenset(), True)
        self.embedding = nn.Embedding(VOCABULARY, dim)
        self.mix = nn.Linear(3 * dim, dim)
        self.dropout = nn.Dropout(dropout)
        self.head = SoftmaxHead(dim, VOCABULARY, tied=self.embedding)

    def encode(self, batch: Batch) -> TinyState:
        bags = []
        for name in self.inputs:
            stream = batch.streams[name]
            embedded = self.embedding(stream.ids) * stream.mask.unsqueeze(-1)
            bags.append(embedded.sum(1) / stream.lengths.unsqueeze(-1))
        return TinyState(torch.cat(bags, -1))

    def decode(self, tokens: Tensor, state: TinyState) -> tuple[DecoderOutput, TinyState]:
        context = state.inputs.unsqueeze(1).expand(-1, tokens.size(1), -1)
        features = torch.tanh(self.mix(torch.cat([self.embedding(tokens), context], -1)))
        return DecoderOutput(self.head(self.dropout(features)), {}), state


def tiny_model(dropout: float = 0.2) -> TinyModel:
    torch.manual_seed(42)
    return TinyModel(dropout=dropout)


def sentences(count: int, seed: int) -> dict[str, list[list[int]]]:
    """Random triplets: mt is src with every symbol moved by one, pe is mt with one word changed."""
    rng = random.Random(seed)
    rows: dict[str, list[list[int]]] = {"src": [], "mt": [], "pe": []}
    for _ in range(count):
        src = [rng.randrange(len(SYMBOLS), VOCABULARY - 1) for _ in range(rng.randint(2, 9))]
        mt = [word + 1 for word in src]
        pe = [*mt]
        pe[rng.randrange(len(pe))] = VOCABULARY - 1
        for side, words in zip(rows, (src, mt, pe)):
            rows[side].append([*words, EOS])
    return rows


def train_config(settings: Mapping[str, Any]) -> TrainConfig:
    return load_config(TrainConfig, SETTINGS | dict(settings), "train")


def export(model: Seq2Seq, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    save_tensors(folder / "model.safetensors", model_tensors(model))


def trainer(folder: Path, corpora: Path, settings: Mapping[str, Any], **changes: Any) -> Trainer:
    arguments: dict[str, Any] = {
        "model": tiny_model(),
        "corpus": Corpus.open(corpora / "train.arrow"),
        "dev": Corpus.open(corpora / "dev.arrow"),
        "config": train_config(settings),
        "folder": folder,
        "score_dev": None,
        "export": export,
        "console": Console(width=200, force_terminal=False),
    }
    return Trainer(**(arguments | changes))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("corpora", type=Path)
    parser.add_argument("settings", type=json.loads)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--kill-at", type=int, help="send SIGKILL to this very process in this update")
    parser.add_argument("--slow", type=float, default=0.0, help="seconds that every forward pass takes longer")
    arguments = parser.parse_args()
    run = trainer(arguments.folder, arguments.corpora, arguments.settings)

    def in_forward(*_: object) -> None:
        time.sleep(arguments.slow)
        if run.state.step == arguments.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    run.model.register_forward_pre_hook(in_forward)
    run.run(resume=arguments.resume)


if __name__ == "__main__":
    main()
