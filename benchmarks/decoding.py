"""Compare decoding speed with that of general decoders, on models of the same size and on real post-edits.

    python benchmarks/decoding.py MODEL DATA [--sentences N] [--threads N] [--repeats N] [--batch N ...] [--device D]

DATA is the prefix of .src and .mt. The outputs are those of MODEL, a trained model of any size. Models of base size
(width 512, 6 layers in each stack, 32,000 tokens) with random weights then write these outputs: their output layer
favours them (probability about 1). They do the work of a trained model with these outputs, and no search can know the
outputs in advance. The shortlist has 4,000 tokens and those of the sentence; the few output tokens outside it are
replaced, for all systems. The general decoders (Hugging Face `generate`, CTranslate2) run an encoder-decoder of 6 + 6
layers with the same width and vocabulary on src alone, with outputs of the same length.

All systems take turns on the same sentences in one process. Figures are medians of whole rounds, which include encoding
but no text processing. With one thread on a CPU, times are CPU times, which other work on the machine affects less;
otherwise they are wall-clock times. Systems that need `transformers` or `ctranslate2` are left out where these packages
are not installed.
"""

import argparse
import gc
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from favouring import Favouring
from torch import Tensor

from postedit.core.model import Vocabularies, VocabularyInfo
from postedit.core.special_tokens import EOS
from postedit.core.types import Batch, Target
from postedit.data.collate import collate
from postedit.data.triplets import TripletFiles, read_triplets
from postedit.editing.post_editor import PostEditor
from postedit.models import ARCHITECTURES
from postedit.nn.inference import Precision, prepare_for_inference
from postedit.search import DraftGroup, DraftSearch, SearchConfig, beam_search, greedy

VOCABULARY, SHORTLIST = 32_000, 4_000
WIDTH, LAYERS, HEADS, INNER = 512, 6, 8, 2_048
OURS = ("transference", "dual-transformer")
BEAM = 5


@dataclass(frozen=True)
class Sentence:
    """Token ids of the inputs, of mt as a draft, and of the output, each ending in EOS."""

    inputs: dict[str, list[int]]
    draft: list[int]
    output: list[int]


def main() -> None:
    options = parse()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    sentences = prepare(options.model, options.data, options.sentences, options.device)
    unchanged = sum(sentence.draft == sentence.output[:-1] for sentence in sentences) / len(sentences)
    tokens = statistics.mean(len(sentence.output) for sentence in sentences)
    print(f"{platform.processor() or platform.machine()}, {options.threads} threads, torch {torch.__version__}")
    print(
        f"{len(sentences)} sentences of {options.data}, {unchanged:.0%} unchanged, {tokens:.1f} tokens each; ", end=""
    )
    print(f"median of {options.repeats} rounds\n")
    with tempfile.TemporaryDirectory() as folder:
        everyone = [*ours(options.device), *hugging_face(options.device), *ctranslate(Path(folder), options.device)]
        contestants = [one for one in everyone if any(part in one.name for part in options.only)]
        if not contestants:
            raise SystemExit(f"--only {' '.join(options.only)}: no contestant is called so")
        print(f"| batch | decoder | sentences/s | ratio to {contestants[0].name} | calls a sentence | ", end="")
        print("tokens fed a sentence |\n|---:|---|---:|---:|---:|---:|")
        clock = time.process_time if options.threads == 1 and options.device.type == "cpu" else waited_clock
        for size in options.batch:
            compare(contestants, sentences, size, options.repeats, clock)


def waited_clock() -> float:
    """Return the wall-clock time once the pending work of the GPU, if there is one, is done."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="folder of a trained model")
    parser.add_argument("data", help="prefix of .src and .mt")
    parser.add_argument("--sentences", type=int, default=64)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 32])
    parser.add_argument(
        "--device", type=torch.device, default=torch.device("cpu"), help="where to decode; int8 runs on the CPU only"
    )
    parser.add_argument("--only", nargs="+", default=[""], help="only systems whose names contain one of these texts")
    return parser.parse_args()


def prepare(model: Path, data: str, count: int, device: torch.device) -> list[Sentence]:
    """Return sentences, longest first, with the outputs of the trained model."""
    editor = PostEditor.load(model, device=device)
    triplets = list(read_triplets(TripletFiles.of(data)))[:count]
    edits = editor.edit([triplet.src for triplet in triplets], [triplet.mt for triplet in triplets])
    encode = editor.processor.encode_batch
    src, mt = encode("src", [triplet.src for triplet in triplets]), encode("mt", [triplet.mt for triplet in triplets])
    drafts, outputs = encode("pe", [triplet.mt for triplet in triplets]), encode("pe", [edit.text for edit in edits])
    sentences = [
        Sentence({"src": s, "mt": m}, d[:-1], listed(o, {*s, *m, *d})) for s, m, d, o in zip(src, mt, drafts, outputs)
    ]
    return sorted(sentences, key=lambda sentence: -len(sentence.output))


def listed(output: Sequence[int], own: set[int]) -> list[int]:
    """Return the output with tokens that are not on the shortlist replaced; `own` are the tokens of the sentence."""
    return [token if token < SHORTLIST or token in own else token % SHORTLIST for token in output]


@dataclass
class Contestant:
    """A system: a function that decodes sentences with a batch size, and its seconds in each round."""

    name: str
    decode: Callable[[Sequence[Sentence], int], "Written"]
    seconds: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Written:
    """The number of tokens written and, where known, of decoder calls and of tokens fed to them."""

    tokens: int
    calls: int | None = None
    fed: int | None = None


def compare(
    contestants: Sequence[Contestant],
    sentences: Sequence[Sentence],
    size: int,
    repeats: int,
    clock: Callable[[], float],
) -> None:
    """Run all systems in turn, and print a row for each."""
    written = {}
    for contestant in contestants:
        contestant.seconds = []
        contestant.decode(sentences[:size], size)  # warm-up
    gc.collect()
    gc.freeze()  # otherwise one system would pay for a collection over the objects of all systems
    for _ in range(repeats):
        for contestant in contestants:
            start = clock()
            written[contestant.name] = contestant.decode(sentences, size)
            contestant.seconds.append(clock() - start)
    base = contestants[0].seconds
    for contestant in contestants:
        found = written[contestant.name]
        ratio = statistics.median(b / s for b, s in zip(base, contestant.seconds, strict=True))
        counts = ["" if count is None else f"{count / len(sentences):.2f}" for count in (found.calls, found.fed)]
        speed = len(sentences) / statistics.median(contestant.seconds)
        print(f"| {size} | {contestant.name} | {speed:,.2f} | {ratio:.2f} | {' | '.join(counts)} |", flush=True)


def ours(device: torch.device) -> Iterator[Contestant]:
    """Yield greedy search, greedy search with mt as draft and beam search with each architecture."""
    for name in OURS:
        full = favouring(name, "float32", device)
        yield Contestant(f"{name}, greedy", partial(search_greedily, full))
        yield Contestant(f"{name}, mt as draft", partial(search_with_drafts, full, 0))
        yield Contestant(f"{name}, beam {BEAM}", partial(search_by_beam, full))
        if device.type != "cpu":
            half = favouring(name, "bf16", device)
            yield Contestant(f"{name} bf16, greedy", partial(search_greedily, half))
            yield Contestant(f"{name} bf16, mt as draft", partial(search_with_drafts, half, 0))
            yield Contestant(f"{name} bf16, beam {BEAM}", partial(search_by_beam, half))
            continue
        int8 = favouring(name, "int8", device)
        yield Contestant(f"{name} int8, greedy", partial(search_greedily, int8))
        yield Contestant(f"{name} int8, mt as draft", partial(search_with_drafts, int8, 0))
        yield Contestant(f"{name} int8, mt as draft, shortlist", partial(search_with_drafts, int8, SHORTLIST))
        yield Contestant(f"{name} int8, beam {BEAM}", partial(search_by_beam, int8))
        yield Contestant(f"{name} int8, encoders alone", partial(encode, int8))


def favouring(name: str, precision: Precision, device: torch.device) -> Favouring:
    """Return an architecture of base size with random weights, laid out for inference."""
    text = VocabularyInfo(VOCABULARY, "text")
    architecture = ARCHITECTURES[name]
    config = architecture.config_class.model_validate({"share_embeddings": "all"})
    model = architecture.build(config, Vocabularies({"src": text, "mt": text}, text))
    return Favouring(prepare_for_inference(model.eval().to(device), precision)).eval()


def batches(sentences: Sequence[Sentence], size: int, device: torch.device) -> Iterator[DraftGroup]:
    """Yield batches of sentences whose targets are the outputs to favour."""
    for start in range(0, len(sentences), size):
        group = sentences[start : start + size]
        batch = collate({side: [sentence.inputs[side] for sentence in group] for side in ("src", "mt")}, ("src", "mt"))
        longest = max(len(sentence.output) for sentence in group)
        ids = torch.tensor([sentence.output + [EOS] * (longest - len(sentence.output)) for sentence in group])
        limits = torch.tensor([2 * len(sentence.output) + 10 for sentence in group])
        wanted = Batch(batch.streams, Target(ids, torch.ones_like(ids, dtype=torch.bool))).to(device)
        yield DraftGroup(wanted, [sentence.draft for sentence in group], limits.to(device))


def search_greedily(model: Favouring, sentences: Sequence[Sentence], size: int) -> Written:
    model.calls = 0
    found = [
        each for group in batches(sentences, size, model.device) for each in greedy(model, group.batch, group.limits)
    ]
    check(found, sentences)
    tokens = sum(len(sentence.output) for sentence in sentences)
    return Written(tokens, model.calls, tokens)


@torch.inference_mode()
def encode(model: Favouring, sentences: Sequence[Sentence], size: int) -> Written:
    """Run the encoders alone, a lower bound on the time of any search."""
    for group in batches(sentences, size, model.device):
        model.encode(group.batch)
    return Written(0)


def search_with_drafts(model: Favouring, shortlist: int, sentences: Sequence[Sentence], size: int) -> Written:
    search = DraftSearch(model, size, shortlist=shortlist)
    check([each for group in search(batches(sentences, max(1, size // 2), model.device)) for each in group], sentences)
    return Written(sum(len(sentence.output) for sentence in sentences), search.calls, search.tokens)


def search_by_beam(model: Favouring, sentences: Sequence[Sentence], size: int) -> Written:
    model.calls = 0
    found = [
        best
        for group in batches(sentences, size, model.device)
        for best, *_ in beam_search(model, group.batch, group.limits, SearchConfig(beam=BEAM))
    ]
    check(found, sentences)
    return Written(sum(len(sentence.output) for sentence in sentences), model.calls)


def check(found: Sequence[Any], sentences: Sequence[Sentence]) -> None:
    """Check that the outputs are the expected ones."""
    assert [list(each.tokens) for each in found] == [sentence.output[:-1] for sentence in sentences]


def general_model() -> Any:
    """Return an encoder-decoder of base size from the Transformers library."""
    from transformers import BartConfig, BartForConditionalGeneration

    sizes = {f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in
             (("layers", LAYERS), ("attention_heads", HEADS), ("ffn_dim", INNER))}  # fmt: skip
    config = BartConfig(
        vocab_size=VOCABULARY, d_model=WIDTH, activation_function="relu", max_position_embeddings=512,
        bos_token_id=0, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=None,
        normalize_before=False, **sizes,
    )  # fmt: skip
    return BartForConditionalGeneration(config).eval()


def hugging_face(device: torch.device) -> Iterator[Contestant]:
    """Yield greedy and beam search of the Transformers library, or nothing if it is not installed."""
    try:
        from transformers import LogitsProcessor, LogitsProcessorList
    except ImportError:
        return
    model = general_model().to(device)

    class AsLong(LogitsProcessor):  # type: ignore[misc]
        """Stops each output at its prescribed length."""

        def __init__(self, lengths: Tensor) -> None:
            self.lengths = lengths

        def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
            ends = self.lengths <= input_ids.size(1)
            scores[~ends, 2] = -torch.inf
            scores[ends] = -torch.inf
            scores[ends, 2] = 0.0
            return scores

    @torch.inference_mode()
    def generate(beam: int, sentences: Sequence[Sentence], size: int) -> Written:
        for group in batches(sentences, size, model.device):
            src = group.batch.streams["src"]
            assert group.batch.target is not None
            lengths = (group.batch.target.ids != EOS).sum(1) + 1
            model.generate(
                input_ids=src.ids + 3, attention_mask=src.mask.long(), num_beams=beam, do_sample=False,
                max_new_tokens=int(lengths.max()), use_cache=True,
                logits_processor=LogitsProcessorList([AsLong(lengths.repeat_interleave(beam))]),
            )  # fmt: skip
        return Written(sum(len(sentence.output) for sentence in sentences))

    yield Contestant("Hugging Face, greedy", partial(generate, 1))
    yield Contestant(f"Hugging Face, beam {BEAM}", partial(generate, BEAM))


def ctranslate(folder: Path, device: torch.device) -> Iterator[Contestant]:
    """Yield greedy and beam search of CTranslate2 in fp32 and int8, or nothing if a package is missing."""
    try:
        import ctranslate2
        from tokenizers import Tokenizer, models
        from transformers import PreTrainedTokenizerFast
    except ImportError:
        return
    words = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3} | {f"w{i}": i for i in range(4, VOCABULARY)}
    PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(words, "<unk>")),
        bos_token="<s>", pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
    ).save_pretrained(folder / "hf")  # fmt: skip
    general_model().save_pretrained(folder / "hf")
    ctranslate2.converters.TransformersConverter(str(folder / "hf")).convert(str(folder / "ct2"))

    def translate(translator: Any, beam: int, sentences: Sequence[Sentence], size: int) -> Written:
        for start in range(0, len(sentences), size):
            group = sentences[start : start + size]
            length = round(statistics.mean(len(sentence.output) for sentence in group))
            translator.translate_batch(
                [[f"w{token + 4}" for token in sentence.inputs["src"]] for sentence in group], beam_size=beam,
                min_decoding_length=length, max_decoding_length=length, max_batch_size=size,
            )  # fmt: skip
        return Written(sum(len(sentence.output) for sentence in sentences))

    for kind in ("float32", "int8"):
        translator = ctranslate2.Translator(
            str(folder / "ct2"),
            device=device.type,
            compute_type=kind,
            inter_threads=1,
            intra_threads=torch.get_num_threads(),
        )
        yield Contestant(f"CTranslate2 {kind}, greedy", partial(translate, translator, 1))
        yield Contestant(f"CTranslate2 {kind}, beam {BEAM}", partial(translate, translator, BEAM))


if __name__ == "__main__":
    main()
