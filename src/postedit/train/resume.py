"""Resumption of runs: the checkpoint to continue from, and the changes of recipe and data that are allowed."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from torch import nn

from postedit.core.config import problem_report
from postedit.core.errors import OutputError
from postedit.data.batching import Position
from postedit.data.corpus import Corpus
from postedit.data.triplets import SamplingWeight
from postedit.train.checkpoints import Checkpoint, Checkpoints
from postedit.train.config import FREE_ON_RESUME, TrainConfig
from postedit.train.train_state import LossTrend, Plateau, TrainState

Say = Callable[[str], None]

_DEFAULTS: Final = TrainConfig(max_steps=1).model_dump(mode="json", exclude=set(FREE_ON_RESUME))
"""Values of the options that did not exist yet in the version that started a run."""

_WEIGHTS: Final = "shares"
"""The name of the sampling weights in checkpoints."""

DATA: Final = {
    "corpus": "the training corpus has other content",
    _WEIGHTS: "the sources of the training corpus have other weights or epochs",
    "dev": "the dev corpus has other content",
}
"""Parts of the identity of a run that may change with `--accept-changed-data`, each with a message."""


def run_identity(
    model: nn.Module, corpus: Corpus, dev: Corpus, config: TrainConfig, sampling_weights: Sequence[SamplingWeight]
) -> dict[str, Any]:
    """Return everything that must be equal for a resumed run to end as if it had never stopped."""
    shapes = sorted((name, list(tensor.shape)) for name, tensor in model.state_dict().items())
    weighted = not set(sampling_weights) <= {SamplingWeight()}
    return {
        "config": config.model_dump(mode="json", exclude=set(FREE_ON_RESUME)),
        "corpus": corpus.fingerprint,
        _WEIGHTS: [asdict(weight) for weight in sampling_weights] if weighted else [],
        "dev": dev.fingerprint,
        "model": hashlib.sha256(json.dumps(shapes).encode()).hexdigest(),
    }


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return a message for each difference between the identities `before` and `now`."""
    was, is_now = {**_DEFAULTS, **before["config"]}, now["config"]
    found = [
        f"train.{option}: was {was.get(option)!r}, is {is_now.get(option)!r}"
        for option in sorted(was.keys() | is_now.keys())
        if was.get(option) != is_now.get(option)
    ]
    found += [DATA[key] for key in changed_data(before, now)]
    if before["model"] != now["model"]:
        found.append("the model has other weights: another architecture, other sizes or other vocabularies")
    return found


def changed_data(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the keys of `DATA` whose values differ."""
    return [key for key in DATA if before[key] != now[key]]


def find_checkpoint(
    checkpoints: Checkpoints, resume: bool, identity: Mapping[str, Any], accept_changed_data: bool, say: Say
) -> Checkpoint | None:
    """Return the checkpoint to continue from, or None to start from the beginning.

    Args:
        checkpoints: the checkpoints of the run.
        resume: whether to continue if there are checkpoints.
        identity: the current identity of the run.
        accept_changed_data: whether the data may differ from those of the checkpoint.
        say: called with messages for the user.

    Raises:
        OutputError: if there are checkpoints and `resume` is False.
        RecipeError: if the checkpoints belong to a run with other data or another recipe.
    """
    run = checkpoints.folder.parent
    if not resume:
        if checkpoints.paths():
            raise OutputError(f"{run} holds a run already; choose another folder, or go on with it")
        return None
    checkpoint = checkpoints.load_newest(say)
    if checkpoint is None:
        say(f"{run}: no checkpoint yet; training from the start")
        return None
    accepted = {key: identity[key] for key in DATA} if accept_changed_data else {}
    changed = differences({**checkpoint.state["identity"], **accepted}, identity)
    if changed:
        raise problem_report(
            f"{run}: cannot be resumed with what has changed since it was started (other data may be accepted by "
            "--accept-changed-data)",
            changed,
        )
    return checkpoint


def with_changed_data(state: TrainState, checkpoint: Checkpoint, identity: Mapping[str, Any], say: Say) -> TrainState:
    """Return the state of a checkpoint, adapted to the data of `identity`.

    Another training corpus is read from the start of an epoch; with another dev set, earlier dev scores are dropped.
    """
    changed = changed_data(checkpoint.state["identity"], identity)
    if set(changed) - {"dev"}:
        if state.position != Position(state.position.epoch):
            state = replace(state, position=Position(state.position.epoch + 1))
        state = replace(state, lowest=None, trend=LossTrend(start=state.step))  # other data may have another loss
    if "dev" in changed:
        plateau = Plateau(state.plateau.reductions)
        state = replace(state, best=(), last=(), stale=0, validated=0, plateau=plateau)
    for key in changed:
        where = "" if key == "dev" else f"; going on at the start of epoch {state.position.epoch}"
        say(f"{DATA[key]}, as accepted{where}")
    return state
