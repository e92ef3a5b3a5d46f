"""`postedit demo`: the whole way on a small sample, in a few minutes."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from postedit.core.files import atomic_write

if TYPE_CHECKING:
    from rich.console import Console

    from postedit.data.triplets import Triplet
    from postedit.editor import PostEdit, PostEditor
    from postedit.evaluate.scores import SystemScores

SHOWN: Final = 8
"""Sentences shown; enough to see what the model does, few enough to read."""


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the run, the outputs and the page.")] = Path("demo"),
    recipe: Annotated[Path, typer.Option(help="What to train.")] = Path("recipes/demo.toml"),
    test: Annotated[str, typer.Option(help="Triplets to edit, which training has not seen.")] = (
        "examples/mlqe-pe.en-de/test"
    ),
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="OPTION=VALUE", help="Another value for an option of the recipe."),
    ] = None,
) -> None:
    """Train a small model for some minutes, edit unseen machine translations, score them, and show why."""
    from postedit.cli.tables import console, print_scores
    from postedit.cli.train import describe
    from postedit.data.triplets import TripletFiles, check_files, read_triplets
    from postedit.editor import PostEditor
    from postedit.evaluate.scores import score_systems
    from postedit.jobs.run import train as run
    from postedit.recipe import load_recipe

    files = TripletFiles.of(test)
    check_files(files)
    checked = load_recipe(recipe, overrides or ())
    folder = out / "run"
    screen = console()
    result = run(checked, folder, resume=(folder / "recipe.toml").exists(), console=console(stderr=True))
    screen.print(describe(result), markup=False, soft_wrap=True)

    triplets = list(read_triplets(files))
    editor = PostEditor.load(result.model)
    edits = editor.edit([triplet.src for triplet in triplets], [triplet.mt for triplet in triplets])
    outputs = [edit.text for edit in edits]
    with atomic_write(out / "test.out") as file:
        file.writelines(f"{line}\n" for line in outputs)
    name = checked.architecture.name
    post_edits, translations = [triplet.pe for triplet in triplets], [triplet.mt for triplet in triplets]
    raw = checked.text.tokenizer != "none"
    scores = score_systems({name: outputs}, post_edits, translations, "13a" if raw else "none")
    screen.print(f"\nUnseen sentences, {files.name}:", markup=False, soft_wrap=True)
    print_scores(scores, screen)

    rows = choose(edits)
    shown = [triplets[row] for row in rows]
    _print_differences(shown, [outputs[row] for row in rows], screen)
    page = _page(f"{name} on unseen sentences", editor, triplets, rows, scores)
    with atomic_write(out / "report.html") as file:
        file.write(page)
    screen.print(f"\nThe same with what the model looked at: {out / 'report.html'}", markup=False, soft_wrap=True)


def choose(edits: Sequence["PostEdit"], count: int = SHOWN) -> list[int]:
    """Return the rows to show: the first that were changed, whether for better or worse, then the first others."""
    changed = [row for row, edit in enumerate(edits) if edit.changed]
    others = [row for row, edit in enumerate(edits) if not edit.changed and edit.skipped is None]
    return [*changed, *others][:count]


def _print_differences(triplets: Sequence["Triplet"], outputs: Sequence[str], screen: "Console") -> None:
    from rich.text import Text

    from postedit.explain.differences import differences_text, word_differences

    marks = screen.no_color or not screen.is_terminal
    for triplet, output in zip(triplets, outputs, strict=True):
        screen.print(Text.assemble(("\nsource    ", "dim"), triplet.src), soft_wrap=True)
        for label, before, after in (("model     ", triplet.mt, output), ("post-edit ", triplet.mt, triplet.pe)):
            differences = differences_text(word_differences(before.split(), after.split()), marks=marks)
            screen.print(Text.assemble((label, "dim"), differences), soft_wrap=True)


def _page(
    title: str,
    editor: "PostEditor",
    triplets: Sequence["Triplet"],
    rows: Sequence[int],
    scores: Sequence["SystemScores"],
) -> str:
    """Return the page that explains some of the triplets, under the numbers of their lines."""
    from postedit.evaluate.analyses import overview, signatures
    from postedit.explain.explanation_page import explanation_page
    from postedit.jobs.explanation import explain

    shown = [triplets[row] for row in rows]
    src, mt, pe = ([getattr(triplet, side) for triplet in shown] for side in ("src", "mt", "pe"))
    found = dict(zip(rows, explain(editor, src, mt, pe, detail="losses"), strict=True))
    sentences = [found.get(row) for row in range(len(triplets))]
    return explanation_page(title, sentences, [overview(scores), signatures(scores)])
