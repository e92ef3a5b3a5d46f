"""A model, a corpus and a run that take milliseconds, and a process for it that may be killed."""

import json
import multiprocessing
import os
import random
import resource
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Self, cast

import torch
from rapidfuzz.distance import Levenshtein
from rich.console import Console
from torch import Tensor, nn

from postedit.core.config import Config, load_config
from postedit.core.errors import PosteditError
from postedit.core.model import ModelSpec, Seq2Seq, Vocabularies, VocabularyInfo
from postedit.core.special_tokens import EOS, SPECIAL_TOKENS
from postedit.core.tensor_files import model_tensors, save_tensors
from postedit.core.types import Batch, DecoderOutput
from postedit.data.corpus import Corpus, write_corpus
from postedit.data.triplets import Triplet
from postedit.nn.heads import SoftmaxHead
from postedit.search import Sampling, sample
from postedit.text.processor import TextProcessor
from postedit.train.config import TrainConfig
from postedit.train.loop import Trainer
from postedit.train.losses import Candidate

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["postedit.train.loop", "torch._dynamo"])  # torch.optim imports it when first used

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


class Layer(nn.Module):
    """One of several alike, with a residual connection."""

    def __init__(self, dim: int, dropout: float) -> None:
        super().__init__()
        self.inner, self.dropout = nn.Linear(dim, dim), nn.Dropout(dropout)

    def forward(self, x: Tensor, count: int) -> Tensor:
        return x + self.dropout(torch.relu(self.inner(x))) / count


class LayeredModel(TinyModel):
    """A tiny model with a stack of layers behind it, which rows of any number of symbols go through."""

    def __init__(self, layers: int = 3, dropout: float = 0.0) -> None:
        super().__init__(dropout=dropout)
        self.layers = nn.ModuleList(Layer(self.embedding.embedding_dim, dropout) for _ in range(layers))

    def decode(self, tokens: Tensor, state: TinyState) -> tuple[DecoderOutput, TinyState]:
        context = state.inputs.unsqueeze(1).expand(-1, tokens.size(1), -1)
        features = torch.tanh(self.mix(torch.cat([self.embedding(tokens), context], -1)))
        for layer in self.layers:
            features = layer(features, len(self.layers))
        return DecoderOutput(self.head(self.dropout(features)), {}), state


def tiny_model(dropout: float = 0.2, layers: int = 0) -> TinyModel:
    torch.manual_seed(42)
    return LayeredModel(layers, dropout) if layers else TinyModel(dropout=dropout)


def triplets(count: int, seed: int) -> list[Triplet]:
    """Texts of symbols: mt is src with every symbol moved by one, pe is mt with one word changed."""
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        src = [rng.randrange(len(SPECIAL_TOKENS), VOCABULARY - 1) for _ in range(rng.randint(2, 9))]
        mt = [word + 1 for word in src]
        pe = [*mt]
        pe[rng.randrange(len(pe))] = VOCABULARY - 1
        found.append(Triplet(*(" ".join(map(str, words)) for words in (src, mt, pe))))
    return found


class Numbers:
    """Stands for a text processor: words are the symbols' numbers."""

    fingerprint = "numbers"

    def vocabulary(self, side: str) -> "Numbers":
        return self

    def encode_batch(self, side: str, texts: Iterable[str], mt: Sequence[str] = ()) -> list[list[int]]:
        return [[*map(int, text.split()), EOS] for text in texts]


def write_corpora(folder: Path) -> Path:
    for name, count, seed in (("train", 200, 1), ("dev", 40, 2)):
        write_corpus(folder / f"{name}.arrow", [triplets(count, seed)], cast(TextProcessor, Numbers()), max_length=20)
    return folder


def train_config(settings: Mapping[str, Any]) -> TrainConfig:
    return load_config(TrainConfig, SETTINGS | dict(settings), "train")


def export(model: Seq2Seq, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    save_tensors(folder / "model.safetensors", model_tensors(model))


def propose(model: Seq2Seq, batch: Batch) -> list[list[Candidate]]:
    """Draw some outputs for each sentence; the symbols that have to be changed are what they cost."""
    assert batch.target is not None
    found = sample(model, batch, batch.target.lengths, Sampling(3))
    return [
        judged(reference, [one.tokens for one in samples]) for samples, reference in zip(found, references_of(batch))
    ]


def propose_parts(model: Seq2Seq, batch: Batch) -> list[list[Candidate]]:
    """Return candidates for each sentence that neither chance nor the model has a part in."""
    return [judged(text, [text[1:], text[::-1], text[:2]]) for text in references_of(batch)]


def judged(reference: tuple[int, ...], outputs: list[tuple[int, ...]]) -> list[Candidate]:
    return [
        Candidate(output, Levenshtein.distance(output, reference) / (1 + len(reference)))
        for output in dict.fromkeys([reference, *outputs])
    ]


def references_of(batch: Batch) -> list[tuple[int, ...]]:
    assert batch.target is not None
    return [tuple(ids[mask][:-1].tolist()) for ids, mask in zip(batch.target.ids, batch.target.mask)]


PROPOSERS = {"sample": propose, "beam": propose_parts}  # by `train.risk.search`


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
        "propose": PROPOSERS[settings.get("risk", {}).get("search", "sample")],
    }
    return Trainer(**(arguments | changes))


def in_process(folder: Path, corpora: Path, settings: Mapping[str, Any], **options: Any) -> BaseProcess:
    """Start `train` in a process of its own, forked from one that has all modules but has computed nothing."""
    process = PROCESSES.Process(target=train, args=(folder, corpora, settings), kwargs=options)
    process.start()
    return process


def train(
    folder: Path,
    corpora: Path,
    settings: Mapping[str, Any],
    resume: bool = False,
    kill_at: int | None = None,
    slow: float = 0.0,
    largest_file: int | None = None,
    dropout: float = 0.2,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run, with what is shown in console.txt.

    At update `kill_at` the process sends itself SIGKILL; every forward pass takes `slow` seconds longer; the system
    lets a file have `largest_file` bytes.
    """
    os.environ.update(environment or {})
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under `nohup`, it would be ignored
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "console.txt").open("a") as file:
        console = Console(file=file, width=200)
        model = tiny_model(dropout, layers=3 if settings.get("compile") else 0)
        run = trainer(folder, corpora, settings, console=console, model=model)

        def in_forward(*_: object) -> None:
            file.flush()
            time.sleep(slow)
            if run.state.step == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

        run.loss.register_forward_pre_hook(in_forward)
        if largest_file is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
        try:
            run.run(resume=resume)
        except PosteditError as error:
            (folder / "error.txt").write_text(f"{type(error).__name__}: {error}")
            raise


def weights(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "best").glob("*.safetensors")}


def log(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def quiet() -> Console:
    return Console(file=StringIO(), width=200)


def shown(console: Console) -> str:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


class Scores:
    """Stands for decoding the dev set: returns one score after the other, and draws random numbers."""

    def __init__(self, *scores: float, metric: str = "ter") -> None:
        self.scores = iter(scores)
        self.metric = metric

    def __call__(self, model: Seq2Seq) -> Mapping[str, float]:
        assert not model.training
        assert not torch.is_grad_enabled()
        torch.rand(3)
        return {self.metric: next(self.scores)}
