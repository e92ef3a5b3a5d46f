"""`postedit score`."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from postedit.core.errors import DataError
from postedit.core.files import atomic_write, check_writable


class Tokenize(StrEnum):
    """How text is divided into words for scoring."""

    none = "none"
    mteval = "13a"


def score(
    hypotheses: Annotated[list[Path], typer.Argument(metavar="HYP...", help="Outputs of one or more systems.")],
    pe: Annotated[Path, typer.Option(help="The human post-edits.")],
    mt: Annotated[
        Path | None, typer.Option(help="The machine translations: adds the do-nothing row and counts of changes.")
    ] = None,
    tokenize: Annotated[
        Tokenize, typer.Option(help="none: words are divided by spaces; 13a: raw text (TER then normalises it).")
    ] = Tokenize.none,
    json_out: Annotated[Path | None, typer.Option("--json", metavar="OUT", help="Also write the scores here.")] = None,
) -> None:
    """Score outputs against post-edits: TER (case-sensitive), BLEU and chrF, beside doing nothing."""
    if json_out is not None:
        check_writable(json_out)
    from postedit.cli.tables import console, print_scores
    from postedit.data.lines import read_lines
    from postedit.evaluate.scores import score_systems

    texts = {path: list(read_lines(path)) for path in dict.fromkeys([pe, *([mt] if mt else []), *hypotheses])}
    for path, lines in texts.items():
        if len(lines) != len(texts[pe]):
            raise DataError(
                f"{path} has {len(lines):,} lines and {pe} has {len(texts[pe]):,}; they must match one to one"
            )
    systems = {str(path): texts[path] for path in hypotheses}
    scores = score_systems(systems, texts[pe], texts[mt] if mt else None, tokenize.value)
    print_scores(scores, console())
    if json_out is not None:
        with atomic_write(json_out) as file:
            json.dump({"systems": [row.to_dict() for row in scores]}, file, indent=2, ensure_ascii=False)
            file.write("\n")
