"""Measure the effect of conservative search on a dev set, for better and for worse, and its cost.

    python benchmarks/conservative_search.py MODEL... --data PREFIX [--sentences N] [--beam N] [--without-mt]
        [--patience 2 ...] [--post-edit-penalty 0.5 ...] [--edit-cost 0.5 ...] [--max-edits 2 ...]

Each setting is tried alone. The first row of a model is its plain search. "edits" counts the words inserted, deleted or
substituted; "below mt" counts the changed segments to which the model gives a lower log-probability per token than to
mt. "calls" are decoder calls (including those that score mt) per sentence, and "ms" is the CPU time per sentence, both
in batches. Use dev sets only: scores on the set that chose a setting are biased.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from postedit import PostEditor
from postedit.core.editor import PostEdit
from postedit.data.triplets import TripletFiles, read_triplets
from postedit.evaluate.edit_script import shortest_edits
from postedit.evaluate.scores import score_system
from postedit.search import SearchConfig


def main() -> None:
    options = parse()
    torch.set_num_threads(options.threads)
    triplets = list(read_triplets(TripletFiles.of(options.data)))[: options.sentences]
    texts = Texts(*([getattr(triplet, side) for triplet in triplets] for side in ("src", "mt", "pe")))
    print(f"{len(triplets)} sentences of {options.data}, beam {options.beam}\n")
    print("| model | search | TER | BLEU | edits | changed | better | worse | below mt | calls | ms |")
    print(f"| --- | --- |{' ---: |' * 9}")
    print_row("", "unedited MT", texts, texts.mt, " | | ")
    for name in options.models:
        model = Counted(PostEditor.load(name), texts)
        for setting, search in searches(model.editor.search.with_options(beam=options.beam), options):
            print_row(f"`{name}`", setting, texts, *model.row(search))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="model folders")
    parser.add_argument("--data", required=True, help="prefix of .src, .mt and .pe")
    parser.add_argument("--sentences", type=int)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--without-mt", action="store_true", help="repeat all rows with mt as no candidate")
    parser.add_argument("--patience", type=float, nargs="*", default=[])
    parser.add_argument("--post-edit-penalty", type=float, nargs="*", default=[])
    parser.add_argument("--edit-cost", type=float, nargs="*", default=[])
    parser.add_argument("--max-edits", type=int, nargs="*", default=[])
    return parser.parse_args()


def searches(plain: SearchConfig, options: argparse.Namespace) -> Iterator[tuple[str, SearchConfig]]:
    """Yield the name of each setting, which is the option added to the plain search, and its search options."""
    found = [("plain", plain)]
    for name in ("patience", "post_edit_penalty", "edit_cost", "max_edits"):
        values = getattr(options, name)
        found += [(f"{name.replace('_', ' ')} {one}", plain.with_options(**{name: one})) for one in values]
    yield from found
    if options.without_mt:
        yield from ((f"{name}, mt no candidate", one.with_options(mt_candidate=False)) for name, one in found)


@dataclass(frozen=True)
class Texts:
    """The texts of a dev set, line by line."""

    src: list[str]
    mt: list[str]
    pe: list[str]


class Counted:
    """An editor whose decoder calls are counted."""

    def __init__(self, editor: PostEditor, texts: Texts) -> None:
        self.editor, self.texts, self.calls = editor, texts, 0
        decode = editor.model.decode

        def counted(*arguments: Any) -> Any:
            self.calls += 1
            return decode(*arguments)

        editor.model.decode = counted  # type: ignore[method-assign]
        self.mt_scores = [per_token(one) for one in editor.score(texts.src, texts.mt, texts.mt)]

    def row(self, search: SearchConfig) -> tuple[list[str], str]:
        """Return the outputs of a search, and the last cells of its row."""
        self.editor.edit(self.texts.src[:32], self.texts.mt[:32], search=search)  # compiles and fills caches
        self.calls, start = 0, time.process_time()
        results = self.editor.edit(self.texts.src, self.texts.mt, search=search)
        seconds, count = time.process_time() - start, len(results)
        below = sum(one.changed and per_token(one) < mt - 1e-6 for one, mt in zip(results, self.mt_scores, strict=True))
        return [one.text for one in results], f"{below} | {self.calls / count:.2f} | {1000 * seconds / count:.1f}"


def per_token(result: PostEdit) -> float:
    """Return the log-probability of an output per token, EOS included."""
    return result.score / max(1, len(result.token_scores))


def print_row(model: str, name: str, texts: Texts, outputs: list[str], costs: str) -> None:
    scores = score_system(name, outputs, texts.pe, texts.mt)
    changes = scores.changes
    assert changes is not None
    edits = sum(len(shortest_edits(mt.split(), text.split())) for mt, text in zip(texts.mt, outputs, strict=True))
    counts = f"{edits} | {changes.changed} | {changes.better} | {changes.worse}"
    print(f"| {model} | {name} | {scores.ter:.2f} | {scores.bleu:.2f} | {counts} | {costs} |")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
