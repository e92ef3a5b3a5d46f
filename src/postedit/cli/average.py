"""`postedit average`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from postedit.cli import shared
from postedit.core.errors import ModelFolderError, OutputError
from postedit.core.wording import counted


def average(
    weights: shared.WeightsArgument,
    out: Annotated[Path, typer.Option(help="Folder of the averaged model.")],
    like: Annotated[
        Path | None,
        typer.Option(help="Model folder that gives text processing and settings; default: that of the first MODEL."),
    ] = None,
    stored: Annotated[
        Literal["float32", "bf16"], typer.Option(help="Type of the stored weights; bf16 halves the size.")
    ] = "float32",
) -> None:
    """Average the weights of models of the same shape, such as the best checkpoints of a run."""
    named = like or weights[0]
    if not named.exists():
        raise ModelFolderError(f"{named}: no such model folder")
    models = [path if path.is_dir() else path.resolve().parent.parent / "model" for path in weights]
    template = like or models[0]
    if not template.is_dir():
        raise ModelFolderError(f"{named}: is a file of weights; name its model folder with --like")
    if out.exists():
        raise OutputError(f"{out}: exists already; choose a new folder with --out")
    from dataclasses import replace
    from tempfile import TemporaryDirectory

    import torch
    from safetensors.torch import load_model

    from postedit.core.files import check_writable
    from postedit.core.tensor_files import save_tensors
    from postedit.folder import ModelFolder
    from postedit.model_files import WEIGHTS, architecture_of, read_notice, vocabularies_of
    from postedit.phrase.phrase_options import NAME as PHRASE_BASED
    from postedit.train.averaging import average_weights

    for path in (template, *weights):
        if path.is_dir() and architecture_of(path) == PHRASE_BASED:
            raise ModelFolderError(f"{path}: is a phrase-based model; only weights of neural models can be averaged")
    folder = ModelFolder.load(template)
    files = [path / WEIGHTS if path.is_dir() else path for path in weights]
    missing = [str(path) for path in files if not path.is_file()]
    if missing:
        raise ModelFolderError(f"no such weights: {', '.join(missing)}")
    for path, model in zip(weights, models, strict=True):
        # A file of weights that was moved away from its run says nothing about its vocabularies and its training.
        if model.is_dir() and vocabularies_of(path) != folder.processor.vocabularies:
            raise ModelFolderError(
                f"{path}: has other vocabularies than {template}, so that its weights stand for other tokens; average "
                "models of one run, or give both to `postedit edit` as an ensemble"
            )
    check_writable(out)
    with TemporaryDirectory() as temporary:  # load_model resolves names that share a tensor
        mean = Path(temporary) / "mean.safetensors"
        save_tensors(mean, average_weights(files))
        try:
            load_model(folder.model, mean)
        except RuntimeError as error:
            raise ModelFolderError(f"these weights do not fit {template}: {' '.join(str(error).split())}") from None
    provenance = {**folder.provenance, "averaged": [path.name for path in weights], "dev": {}}
    known = [model for model in dict.fromkeys(models) if model.is_dir()]
    others = [ModelFolder.load(model).provenance for model in known]
    if learnt := [other for other in others if other != folder.provenance]:
        provenance["averaged_with"] = learnt
    dtype = torch.bfloat16 if stored == "bf16" else torch.float32
    notices = dict.fromkeys(filter(None, (folder.notice, *map(read_notice, known))))
    replace(folder, provenance=provenance, notice="\n".join(notices) or None).save(out, dtype)
    typer.echo(f"Averaged {counted(len(files), 'model')} into {out}")
