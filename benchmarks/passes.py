"""Print TER, BLEU and changed sentences after each pass of an editor over its own output (Novak et al. 2016).

    python benchmarks/passes.py MODEL --src FILE --mt FILE --pe FILE [--passes 5] [--beam 1] [--lines N]

The first row is the unedited MT. Each pass corrects the output of the pass before. Passes end when no text changes, or
would only return to an earlier one.
"""

import argparse
from itertools import islice
from pathlib import Path

from postedit import PostEditor
from postedit.core.editor import segments_of
from postedit.data.lines import read_lines
from postedit.editing.iterated import Iterated
from postedit.evaluate.scores import score_systems
from postedit.evaluate.table import Column, Table, TableRow, to_markdown


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("model", type=Path)
    for side in ("src", "mt", "pe"):
        parser.add_argument(f"--{side}", type=Path, required=True)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--lines", type=int, default=None)
    options = parser.parse_args()
    src, mt, pe = (list(islice(read_lines(path), options.lines)) for path in (options.src, options.mt, options.pe))
    model = PostEditor.load(options.model)
    search = model.search.with_options(beam=options.beam)
    texts = Iterated(model, options.passes).texts_by_pass(segments_of(src, mt), search)
    before = [mt, *texts[:-1]]
    again = [sum(new != old for new, old in zip(*pair, strict=True)) for pair in zip(texts, before, strict=True)]
    raw = model.processor.config.tokenizer != "none"
    scored = score_systems({str(number): one for number, one in enumerate(texts, 1)}, pe, mt, "13a" if raw else "none")
    rows = []
    for system, changed in zip(scored, [0, *again], strict=True):
        against = system.changes
        counts = () if against is None else (against.changed, against.better, against.worse)
        rows.append(TableRow((system.name,), (system.ter, system.bleu, changed, *counts)))
    columns = [Column("TER", 2), Column("BLEU", 2), Column("changed in this pass")]
    columns += [Column(name) for name in ("changed of mt", "better", "worse")]
    note = f"{len(pe):,} sentences; beam {options.beam}; {scored[0].signatures['TER']}"
    print(to_markdown([Table("TER by pass", ("pass",), tuple(columns), tuple(rows), note)]))


if __name__ == "__main__":
    main()
