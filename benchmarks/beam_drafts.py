"""What would drafts inside beam search save? Count the decoder calls if each call also checked drafts.

    python benchmarks/beam_drafts.py MODEL DATA [--sentences N] [--beams 1 2 4 5] [--reach N ...]

Each sentence is searched alone, with the search settings of the model but without constraints. The count assumes that a
call checks, for each live hypothesis, the next tokens of its draft (mt, re-synchronised after every token as in greedy
search). Such a call would serve all following steps in which every live hypothesis is among those checked. Outputs
would be the same. "tokens fed" are the tokens that the decoder reads, relative to beam search token by token; where
they cost time, as on a CPU, weigh them against the calls saved.
"""

import argparse
import copy
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import torch
from torch import Tensor

from postedit.core.model import Constraint, Seq2Seq
from postedit.core.types import Batch, DecoderOutput
from postedit.data.collate import collate
from postedit.data.triplets import TripletFiles, read_triplets
from postedit.folder import ModelFolder
from postedit.nn.inference import prepare_for_inference
from postedit.search import beam_search, length_limits
from postedit.search.proposals import DraftFollower

Symbols = tuple[int, ...]
Step = list[Symbols]


@dataclass(frozen=True)
class Traced:
    """A state that knows which tokens each row has read."""

    state: object
    paths: Step

    def select(self, rows: Tensor) -> Self:
        """Return the rows in that order."""
        return type(self)(self.state.select(rows), [self.paths[row] for row in rows.tolist()])  # type: ignore[attr-defined]


class Recorder(Seq2Seq):
    """A model that records what each call reads."""

    def __init__(self, model: Seq2Seq) -> None:
        super().__init__()
        self.model, self.spec = model, model.spec
        self.steps: list[Step] = []

    def constraints(self, batch: Batch) -> Sequence[Constraint]:
        """Return the constraints of the model grammar."""
        return self.model.constraints(batch)

    def encode(self, batch: Batch) -> Traced:
        """Read the inputs."""
        return Traced(self.model.encode(batch), [()] * batch.rows)

    def decode(self, tokens: Tensor, state: Traced) -> tuple[DecoderOutput, Traced]:
        """Read tokens, and record them."""
        paths = [(*path, *row) for path, row in zip(state.paths, tokens.tolist())]
        self.steps.append(paths)
        output, after = self.model.decode(tokens, state.state)
        return output, Traced(after, paths)


class Drafts:
    """The position in the draft of each hypothesis of one sentence."""

    def __init__(self, draft: Sequence[int], start: Symbols) -> None:
        self._followers = {start: DraftFollower(draft)}

    def of(self, path: Symbols) -> DraftFollower:
        """Return the follower of a hypothesis, made from that of its prefix if it is new."""
        if path not in self._followers:
            follower = copy.copy(self.of(path[:-1]))
            follower.follow(path[1:], 0, rejected=False)
            self._followers[path] = follower
        return self._followers[path]


def checked_ahead(steps: Sequence[Step], draft: Sequence[int], reach: int) -> tuple[int, int]:
    """Return the number of decoder calls needed, and the number of tokens fed to them."""
    drafts, known, calls, tokens = Drafts(draft, steps[0][0]), set[Symbols](), 0, 0
    for paths in steps:
        live = set(paths)
        if live <= known:
            continue
        known = {
            path + tuple(ahead[:width])
            for path in live
            for ahead in [drafts.of(path).propose(reach)]
            for width in range(len(ahead) + 1)
        }
        calls, tokens = calls + 1, tokens + len(known)
    return calls, tokens


def searched(folder: ModelFolder, data: str, count: int, beam: int) -> Iterator[tuple[list[Step], list[int]]]:
    """Yield the steps of beam search and the draft of each sentence."""
    model = Recorder(prepare_for_inference(folder.model)).eval()
    triplets = list(read_triplets(TripletFiles.of(data)))[:count]
    encode, inputs = folder.processor.encode_batch, model.spec.inputs
    sides = {name: encode(name, [getattr(triplet, name) for triplet in triplets]) for name in inputs}
    drafts = encode("pe", [triplet.mt for triplet in triplets])
    for row, draft in enumerate(drafts):
        batch = collate({name: [ids[row]] for name, ids in sides.items()}, inputs)
        model.steps = []
        limits = length_limits(batch, folder.search.max_ratio, folder.search.max_extra)
        beam_search(model, batch, limits, folder.search.with_options(beam=beam))
        yield model.steps, draft


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("data", help="prefix of .src and .mt")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 2, 4, 5])
    parser.add_argument(
        "--reach", type=int, nargs="+", default=[4, 64], help="maximum number of draft tokens checked per call"
    )
    options = parser.parse_args()
    folder = ModelFolder.load(options.model)
    print(f"{platform.machine()}, torch {torch.__version__}; {options.model}, {options.data}, {options.sentences=}\n")
    print("| beam | tokens ahead | steps a sentence | calls a sentence | fewer calls | tokens fed |")
    print("|---:|---:|---:|---:|---:|---:|", flush=True)
    for beam in options.beams:
        found = list(searched(folder, options.data, options.sentences, beam))
        steps = sum(len(one) for one, _ in found)
        fed = sum(len(set(paths)) for one, _ in found for paths in one)
        for reach in options.reach:
            calls, tokens = map(sum, zip(*(checked_ahead(one, draft, reach) for one, draft in found)))
            each = f"{steps / len(found):.1f} | {calls / len(found):.1f}"
            print(f"| {beam} | {reach} | {each} | {steps / calls:.2f} | {tokens / fed:.2f} |", flush=True)


if __name__ == "__main__":
    main()
