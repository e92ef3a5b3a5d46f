"""`postedit demo`: real machine translations, corrected, scored and explained."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from postedit.cli import output_files, shared
from postedit.core.errors import RecipeError, library
from postedit.core.files import explain_os_errors

if TYPE_CHECKING:
    from rich.console import Console

    from postedit.core.editor import Editor, PostEdit
    from postedit.data.triplets import Triplet
    from postedit.evaluate.scores import SystemScores

SHOWN: Final = 8
"""Number of sentences shown: enough to see what the model does, few enough to read."""

NAME: Final = "postedit"
RULES: Final = "two fixed rules"
"""Names of the systems: the model, and the rules that the shipped model is compared with."""


HELP: Final = "en-es"
"""Language pair of the help texts that the model for product help corrects."""


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the run, the outputs and the page.")] = Path("demo"),
    train: Annotated[
        Path | None,
        typer.Option(
            metavar="RECIPE", help="Train a model with this recipe; default: the model that comes with postedit."
        ),
    ] = None,
    test: Annotated[str | None, typer.Option(help="Triplets to edit; default: those that come with postedit.")] = None,
    overrides: shared.RecipeSetOption = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Open the example in the workbench instead, to correct it in a browser.")
    ] = False,
    port: Annotated[int, typer.Option(help="Port of the workbench; 0: any free one.")] = 8080,
) -> None:
    """Correct machine translations that the model has not seen, score them beside unedited MT, and show why."""
    if overrides and not train:
        raise RecipeError("--set changes a recipe: name one with --train")
    if serve:
        if train is not None or test is not None:
            raise RecipeError("--serve shows the example that comes with postedit: leave out --train and --test")
        _open_workbench(out / "serve", port)
        return
    from postedit.cli.tables import console, print_scores
    from postedit.data.triplets import TripletFiles, check_files, read_triplets
    from postedit.editing.post_editor import PostEditor
    from postedit.evaluate import analyses
    from postedit.evaluate.test_set import TestSet, evaluate_systems
    from postedit.explain.reasons import count_corrections
    from postedit.shipped import EXAMPLES

    sample = EXAMPLES / "mlqe-pe.en-zh"
    is_shipped = train is None and test is None
    files = TripletFiles.of(test or sample / "test")
    check_files(files)
    with explain_os_errors(out):
        out.mkdir(parents=True, exist_ok=True)
    output_files.check_outputs({name: out / name for name in ("test.out", "report.html")}, [*files.paths, train])
    screen = console()
    if is_shipped:
        show_help_texts(HELP, screen)
    folder = _trained(train, overrides or (), out / "run", screen) if train else shared.chosen_models(None)[0]
    editor = PostEditor.load(folder)
    if train is None:
        shared.announce_models(None)
    triplets = list(read_triplets(files))
    sources, translations, post_edits = ([getattr(one, side) for one in triplets] for side in ("src", "mt", "pe"))
    edits = editor.edit(sources, translations)
    outputs = [edit.text for edit in edits]
    systems = {NAME: outputs}
    if is_shipped:
        systems[RULES] = list(map(chinese_punctuation, translations))
    output_files.write_text(out / "test.out", "".join(f"{line}\n" for line in outputs))
    texts = TestSet(post_edits, translations, tokenize="13a" if editor.abilities.tokenises else "none")
    evaluated = evaluate_systems(texts, systems)
    scores = [system.scores for system in evaluated]
    verdicts = analyses.verdicts(evaluated[:2], analyses.ter_differences(evaluated[:2]))
    verdicts += rules_note(scores)
    screen.print(f"\nUnseen sentences, {files.name}:", markup=False, soft_wrap=True)
    for verdict in verdicts:
        screen.print(verdict, markup=False, soft_wrap=True)
    print_scores(scores, screen)

    rows = choose(edits)
    shown = [triplets[row] for row in rows]
    _print_differences(shown, [outputs[row] for row in rows], screen)
    corrections = None
    if is_shipped:
        learnt = list(read_triplets(TripletFiles.of(sample / "train")))
        corrections = count_corrections([one.mt for one in learnt], [one.pe for one in learnt])
    output_files.write_text(out / "report.html", _page(editor, triplets, rows, scores, verdicts, corrections))
    screen.print(f"\nThe same with what the model attended to: {out / 'report.html'}", markup=False, soft_wrap=True)


def show_help_texts(pair: str, screen: "Console") -> None:
    """Print how the model of a language pair corrects a sample of help texts, with the confidence of each edit."""
    from postedit.data.lines import read_lines
    from postedit.editing.post_editor import PostEditor
    from postedit.releases.catalogue import models_of
    from postedit.shipped import EXAMPLES

    model = next((one for one in models_of(pair) if one.is_here), None)
    if model is None:
        screen.print(f"\nNot shown: {pair}; `postedit models fetch {pair}` fetches its model", soft_wrap=True)
        return
    target = model.pair[1]
    src, mt = (list(read_lines(EXAMPLES / "help" / f"{target}.{side}")) for side in ("src", "mt"))
    edits = PostEditor.load(model.folder).edit(src, mt)
    texts = f"{model.texts[0].upper()}{model.texts[1:]}"
    screen.print(
        f"\n{texts}: the model has learnt from {model.triplets:,} segments and what translators made of them.\n"
        "It has not seen these sentences. They and their translations were written for this demo, with errors that\n"
        "machines often make. In brackets: how sure the model is of each edit.",
        soft_wrap=True,
    )
    for source, text, edit in zip(src, mt, edits, strict=True):
        print_help_text(source, text, edit, screen)
    changed = sum(edit.changed for edit in edits)
    screen.print(
        f"\n{changed} of {len(edits)} changed; not every change is right. On real translations: {model.gain}.",
        soft_wrap=True,
    )


def print_help_text(src: str, mt: str, edit: "PostEdit", screen: "Console") -> None:
    """Print a correction, and the confidence of each edit."""
    from rich.text import Text

    from postedit.cli.tables import differences

    sure = ", ".join(f"{confidence:.0%}" for confidence in edit.confidences or ())
    told = f"  ({sure})" if sure else ""
    screen.print(Text.assemble(("\nsource    ", "dim"), src), soft_wrap=True)
    screen.print(
        Text.assemble(("model     ", "dim"), differences(mt, edit.text, screen), (told, "dim")), soft_wrap=True
    )


def _open_workbench(data: Path, port: int) -> None:
    """Serve the example with the model that comes with postedit, and open it in the browser, until Ctrl-C."""
    library("fastapi", "postedit demo --serve", "serve")
    import webbrowser

    from postedit.serve.example_project import add_example_project
    from postedit.serve.service_logs import set_up_logs
    from postedit.serve.settings import SHIPPED, laptop_settings
    from postedit.serve.web_server import run_service

    settings = laptop_settings(SHIPPED, {"data": str(data), "port": port})
    set_up_logs(settings.log)
    project = add_example_project(settings)
    shared.announce_models(None)

    def announce(address: str) -> None:
        page = f"{address.rstrip('/')}/#/project/{project}"
        typer.echo(f"The example is at {page} (Ctrl-C stops)")
        webbrowser.open(page)

    run_service(settings, announce)


def _trained(recipe: Path, overrides: Sequence[str], folder: Path, screen: "Console") -> Path:
    """Train by `recipe`, or resume an unfinished run, and return the model folder."""
    from postedit.cli.tables import console
    from postedit.cli.train import describe
    from postedit.jobs.training import train
    from postedit.recipe import load_recipe
    from postedit.shipped import find_recipe

    checked = load_recipe(find_recipe(recipe), overrides)
    result = train(checked, folder, resume=(folder / "recipe.toml").exists(), console=console(stderr=True))
    screen.print(describe(result), markup=False, soft_wrap=True)
    return Path(result.model)


def chinese_punctuation(mt: str) -> str:
    """Return a translation with Chinese commas and a Chinese full stop at its end in place of the Latin ones."""
    return re.sub(r" \.$", " 。", mt.replace(" , ", " ， "))


def rules_note(scores: Sequence["SystemScores"]) -> list[str]:
    """Return a sentence that says that the fixed rules do better than the model, or nothing if they do not."""
    ter = {row.name: row.ter for row in scores}
    if RULES not in ter or ter[RULES] >= ter[NAME]:
        return []
    return [
        f"{RULES.capitalize()}, Chinese commas and final full stops for Latin ones, do better than this model: TER "
        f"{ter[RULES]:.2f} against {ter[NAME]:.2f}. The model learnt them from examples, and little else."
    ]


def choose(edits: Sequence["PostEdit"], count: int = SHOWN) -> list[int]:
    """Return the rows to show, at most `count`: first the changed ones, for better or worse, then the others."""
    changed = [row for row, edit in enumerate(edits) if edit.changed]
    others = [row for row, edit in enumerate(edits) if not edit.changed and edit.skipped is None]
    return [*changed, *others][:count]


def _print_differences(triplets: Sequence["Triplet"], outputs: Sequence[str], screen: "Console") -> None:
    from rich.text import Text

    from postedit.cli.tables import differences

    for triplet, output in zip(triplets, outputs, strict=True):
        screen.print(Text.assemble(("\nsource    ", "dim"), triplet.src), soft_wrap=True)
        for label, before, after in (("model     ", triplet.mt, output), ("post-edit ", triplet.mt, triplet.pe)):
            screen.print(Text.assemble((label, "dim"), differences(before, after, screen)), soft_wrap=True)


def _page(
    editor: "Editor",
    triplets: Sequence["Triplet"],
    rows: Sequence[int],
    scores: Sequence["SystemScores"],
    verdicts: Sequence[str],
    corrections: Mapping[tuple[str, str], int] | None,
) -> str:
    """Return the HTML page that explains the triplets in `rows`, numbered by their lines in the file."""
    from postedit.evaluate.analyses import overview, signatures
    from postedit.explain.explanation_page import explanation_page
    from postedit.jobs.explanation import explain

    shown = [triplets[row] for row in rows]
    src, mt, pe = ([getattr(triplet, side) for triplet in shown] for side in ("src", "mt", "pe"))
    found = dict(zip(rows, explain(editor, src, mt, pe, detail="losses"), strict=True))
    sentences = [found.get(row) for row in range(len(triplets))]
    tables = [overview(scores), signatures(scores)]
    return explanation_page(f"{NAME} on unseen sentences", sentences, tables, verdicts, corrections)
