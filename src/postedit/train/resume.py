"""From which checkpoint a run goes on, and what of its state holds for other data."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from postedit.core.config import problem_report
from postedit.core.errors import OutputError
from postedit.data.batching import Position
from postedit.train.checkpoints import Checkpoint, Checkpoints
from postedit.train.divergence import Trend
from postedit.train.fingerprint import DATA, changed_data, differences
from postedit.train.schedules import Plateau
from postedit.train.train_state import TrainState

Say = Callable[[str], None]


def find_checkpoint(
    checkpoints: Checkpoints, resume: bool, identity: Mapping[str, Any], accept_changed_data: bool, say: Say
) -> Checkpoint | None:
    """Return the checkpoint to go on from, or None to start.

    Args:
        checkpoints: of the run.
        resume: whether the user said to go on from them.
        identity: of the run as it is now.
        accept_changed_data: whether the data may be other than that of the checkpoint.
        say: is told what the user should know.

    Raises:
        OutputError: if there are checkpoints, but the user did not say to go on from them.
        RecipeError: if they are of a run with other data or another recipe.
    """
    if not resume:
        if checkpoints.paths():
            raise OutputError(
                f"{checkpoints.folder.parent} holds a run already; choose another folder, or go on with it"
            )
        return None
    checkpoint = checkpoints.load_newest(say)
    if checkpoint is None:
        say(f"{checkpoints.folder.parent}: no checkpoint yet; training from the start")
        return None
    accepted = {key: identity[key] for key in DATA} if accept_changed_data else {}
    changed = differences({**checkpoint.state["identity"], **accepted}, identity)
    if changed:
        raise problem_report(
            f"{checkpoints.folder.parent}: cannot be resumed with what has changed since it was started (other data "
            "may be accepted by --accept-changed-data)",
            changed,
        )
    return checkpoint


def with_changed_data(state: TrainState, checkpoint: Checkpoint, identity: Mapping[str, Any], say: Say) -> TrainState:
    """Return the state of a checkpoint as one of the data there is now.

    In another training corpus there is no place in the middle of an epoch; with another dev set there are no scores.
    """
    changed = changed_data(checkpoint.state["identity"], identity)
    if set(changed) - {"dev"}:
        if state.position != Position(state.position.epoch):
            state = replace(state, position=Position(state.position.epoch + 1))
        state = replace(state, lowest=None, trend=Trend(start=state.step))  # what is low may be another loss then
    if "dev" in changed:
        plateau = Plateau(state.plateau.reductions)
        state = replace(state, best=(), last=(), stale=0, validated=0, plateau=plateau)
    for key in changed:
        where = "" if key == "dev" else f"; going on at the start of epoch {state.position.epoch}"
        say(f"{DATA[key]}, as accepted{where}")
    return state
