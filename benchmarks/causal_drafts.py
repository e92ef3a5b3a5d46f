"""Compare a causal language model with mt as draft with `generate` and prompt lookup: calls, and tokens per second.

    python benchmarks/causal_drafts.py [--sentences N] [--hidden N] [--layers N] [--rounds N] [--lookup N ...]

A small Llama, starting from random weights, is trained until it reproduces the post-edits of N random triplets. Every
second triplet leaves mt unchanged; the others change about one word in eight. The outputs are then those of a model
that knows its task, which is what the speed with drafts depends on. The same weights decode token by token and with mt
as draft in postedit, and by `generate`, with and without prompt lookup, in the Transformers library. A call is one pass
of the network after the prompt. All methods take turns in each round; times are medians over rounds. Outputs that are
not the post-edit are counted. --lookup gives the most tokens that prompt lookup proposes at once; 0 stands for the
length of mt, as in the draft.
"""

import argparse
import platform
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
import transformers
from torch import Tensor

from postedit.core.config import load_config
from postedit.core.model import Vocabularies, VocabularyInfo
from postedit.core.special_tokens import EOS, SPECIAL_TOKENS
from postedit.core.types import Batch
from postedit.data.collate import collate
from postedit.models.causal import Causal, CausalConfig
from postedit.search import DraftGroup, DraftSearch, greedy

WORDS = 200
"""Rows of the network that are words; each word is one token."""

# Rows of the network: padding, beginning and end of a text, then the marks of the prompt.
PAD_ROW, BOS_ROW, EOS_ROW, MARKS = 0, 1, 2, (3, 4, 5)
ROWS = 6 + WORDS


@dataclass(frozen=True)
class Triplet:
    """A triplet as token ids, without EOS."""

    src: list[int]
    mt: list[int]
    pe: list[int]


def triplets(count: int) -> list[Triplet]:
    """Return random triplets; in every second one, pe is mt."""
    rng, found = random.Random(1), []
    first = len(SPECIAL_TOKENS) + 4  # after the rows of the prompt that are not special tokens

    def word() -> int:
        return rng.randrange(first, first + WORDS)

    for number in range(count):
        mt = [word() for _ in range(rng.randint(12, 30))]
        pe = [word() if number % 2 and rng.random() < 1 / 8 else token for token in mt]
        found.append(Triplet([word() for _ in range(rng.randint(12, 30))], mt, pe))
    return found


def small_model(hidden: int, layers: int) -> Causal:
    """Return a Llama with random weights."""
    settings = {
        "model_type": "llama", "vocab_size": ROWS, "hidden_size": hidden, "intermediate_size": 2 * hidden,
        "num_hidden_layers": layers, "num_attention_heads": hidden // 16, "num_key_value_heads": hidden // 32,
        "max_position_embeddings": 500, "pad_token_id": PAD_ROW, "bos_token_id": BOS_ROW, "eos_token_id": EOS_ROW,
        "initializer_range": 0.15,
    }  # fmt: skip
    prompt = {"prompt": [[BOS_ROW, MARKS[0]], [MARKS[1]], [MARKS[2]]], "texts": ["src", "mt"]}
    network = {"settings": settings, "pad": PAD_ROW, "eos": EOS_ROW, "controls": [BOS_ROW, *MARKS], **prompt}
    config = load_config(CausalConfig, {"checkpoint": "none", "network": network}, "benchmark")
    info = VocabularyInfo(ROWS + 4, "tokens of the benchmark")
    torch.manual_seed(1)
    return Causal(config, Vocabularies({"src": info, "mt": info}, info))


def batch_of(found: Sequence[Triplet]) -> Batch:
    """Return the triplets as a batch."""
    sides = {side: [[*getattr(one, side), EOS] for one in found] for side in ("src", "mt", "pe")}
    return collate(sides, ["src", "mt"])


def learn(model: Causal, found: Sequence[Triplet], most: int) -> int:
    """Train until every output is the post-edit, for at most `most` updates; return the number of updates."""
    batch, wanted = batch_of(found), [tuple(one.pe) for one in found]
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(1, most + 1):
        loss = model.train()(batch)
        optimizer.zero_grad()
        (loss.loss / loss.tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 20 == 0:
            mean = float(loss.loss.detach() / loss.tokens)
            print(f"update {step}: loss {mean:.4f}", flush=True)
            outputs = greedy(model.eval(), batch, torch.full((len(found),), 60)) if mean < 0.05 else []
            if [one.tokens for one in outputs] == wanted:
                return step
    return most


def in_library(model: Causal) -> transformers.PreTrainedModel:
    """Return a network of the Transformers library with the weights of `model`."""
    settings = {**model.config.network.settings, "vocab_size": model.rows.numel()}
    library = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(**settings))
    weights = {f"model.{name}": tensor for name, tensor in model.network.state_dict().items()}
    library.load_state_dict({**weights, "lm_head.weight": model.head.weight})
    return library.eval()


class Calls:
    """Counts the passes of a network, including those over the prompt."""

    def __init__(self, module: torch.nn.Module) -> None:
        self.count = 0
        module.register_forward_hook(self._note)

    def _note(self, *_: object) -> None:
        self.count += 1


Method = Callable[[Triplet], tuple[int, ...]]


def methods(model: Causal, lookup: Sequence[int]) -> dict[str, tuple[Method, Calls]]:
    """Return the ways to write the output of one triplet, each with a counter of passes.

    Prompt lookup proposes at most each number of tokens in `lookup`; 0 stands for the length of mt.
    """
    library = in_library(model)
    own, theirs = Calls(model.network), Calls(library.model)
    to_token = {int(row): token for token, row in enumerate(model.rows)}
    search = DraftSearch(model, 1)
    parts = model.config.network.prompt

    def limit(one: Triplet) -> int:
        return len(one.mt) + 10

    def step_by_step(one: Triplet) -> tuple[int, ...]:
        return greedy(model, batch_of([one]), torch.tensor([limit(one)]))[0].tokens

    def drafted(one: Triplet) -> tuple[int, ...]:
        ((found,),) = search([DraftGroup(batch_of([one]), [one.mt], torch.tensor([limit(one)]))])
        return found.tokens

    def generated(one: Triplet, **options: int) -> tuple[int, ...]:
        src, mt = (model.rows[text].tolist() for text in (one.src, one.mt))
        rows = torch.tensor([[*parts[0], *src, *parts[1], *mt, *parts[2]]])
        output: Tensor = library.generate(
            rows,
            attention_mask=torch.ones_like(rows),
            max_new_tokens=limit(one) + 1,
            do_sample=False,
            eos_token_id=EOS_ROW,
            pad_token_id=PAD_ROW,
            **options,
        )
        return tuple(to_token[row] for row in output[0, rows.size(1) :].tolist() if row != EOS_ROW)

    def looked_up(one: Triplet, most: int) -> tuple[int, ...]:
        return generated(one, prompt_lookup_num_tokens=most or len(one.mt))

    return {
        "postedit, token by token": (step_by_step, own),
        "postedit, mt as draft": (drafted, own),
        "`generate`": (generated, theirs),
        **{
            f"`generate`, prompt lookup of {most or 'the length of mt'}": (partial(looked_up, most=most), theirs)
            for most in lookup
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=24)
    parser.add_argument("--hidden", type=int, default=96)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--updates", type=int, default=800)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lookup", type=int, nargs="+", default=[10, 0], help="0: the length of mt")
    options = parser.parse_args()
    if min(options.lookup) < 0:
        parser.error("--lookup takes numbers of tokens, or 0 for the length of mt")
    found, model = triplets(options.sentences), small_model(options.hidden, options.layers)
    updates = learn(model, found, options.updates)
    model.eval().requires_grad_(False)
    size = sum(parameter.numel() for parameter in model.parameters())
    print(f"{platform.machine()}, {torch.get_num_threads()} threads, torch {torch.__version__}, ", end="")
    print(f"transformers {transformers.__version__}; {size:,} parameters, {updates} updates, {len(found)} sentences\n")
    ways, tokens = methods(model, options.lookup), sum(len(one.pe) + 1 for one in found)
    times: dict[str, list[float]] = {name: [] for name in ways}
    calls, wrong = dict.fromkeys(ways, 0), dict.fromkeys(ways, 0)
    for number in range(options.rounds + 1):  # the first round warms up
        for name, (write, counter) in ways.items():
            before, start = counter.count, time.perf_counter()
            outputs = [write(one) for one in found]
            if number:
                times[name].append(time.perf_counter() - start)
            # One pass per sentence reads the prompt. In the library, it also predicts the first token; here, the last
            # token of the prompt is BOS, which the next pass reads.
            calls[name] = counter.count - before - len(found)
            wrong[name] = sum(output != tuple(one.pe) for output, one in zip(outputs, found, strict=True))
    print("| method | calls a sentence after the prompt | fewer | tokens a second | times | outputs that are not pe |")
    print("|---|---:|---:|---:|---:|---:|")
    base, base_time = calls["postedit, token by token"], statistics.median(times["`generate`"])
    for name in ways:
        seconds = statistics.median(times[name])
        print(
            f"| {name} | {calls[name] / len(found):.1f} | {base / calls[name]:.1f} | {tokens / seconds:,.0f} "
            f"| {base_time / seconds:.2f} | {wrong[name]} |"
        )


if __name__ == "__main__":
    main()
