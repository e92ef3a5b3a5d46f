"""Which job comes next: projects take turns, and jobs that dead processes left are taken over."""

import logging
import time
from collections.abc import Collection, Sequence
from typing import Final

from postedit.serve.store_jobs import ClaimedJob, JobKind, Jobs

_log = logging.getLogger(__name__)

_DEAD_SECONDS: Final = 15.0  # without a sign of life, after which a job is taken over
_UNKNOWN_SECONDS: Final = 300.0  # for which a job waits for a service with its model, which may be starting
_MOST_INTERRUPTIONS: Final = 5  # of a job, which is then given up, as it may be what kills processes
_MOST_SERVED: Final = 100  # projects whose turns are remembered


class JobTurns:
    """Claims jobs for the workers of this process.

    Args:
        jobs: the jobs of the database.
        models: models of this process, beside the default one.
    """

    def __init__(self, jobs: Jobs, models: Collection[str]) -> None:
        self._jobs, self._models = jobs, models
        self._seen: dict[str, tuple[int, float]] = {}  # beats of running jobs, and when they were first seen
        self._own: set[str] = set()  # jobs that this process works on
        self._unknown: dict[tuple[JobKind, ...], dict[str, float]] = {}  # jobs of models not here, and since when
        self._served: dict[tuple[JobKind, ...], dict[str, None]] = {}  # projects by their last turn, by kinds of jobs

    def next(self, kinds: Sequence[JobKind], *, reads: bool = False) -> ClaimedJob | None:
        """Claim and return a job, which counts as one of this process until `end`; None if there is none.

        Projects take turns, so that the many files of one project do not keep others waiting. Jobs of dead processes
        come first: they have begun, and among many waiting ones, their turn would never come.

        Args:
            kinds: kinds of jobs to consider.
            reads: consider only imports of files that are still to be read.
        """
        served = self._served.setdefault(tuple(kinds), {})
        job = self._left_by_others(kinds, reads=reads)
        job = job or self._jobs.claim(kinds, self._models, unread=reads, served=[*served])
        job = job or (None if reads else self._of_unknown_model(kinds))
        if job is not None:
            self._own.add(job.id)
            served.pop(job.project, None)
            served[job.project] = None
            for project in [*served][:-_MOST_SERVED]:
                served.pop(project, None)
        return job

    def end(self, job: ClaimedJob) -> None:
        """Note that this process no longer works on a job, whether it is done or not."""
        self._own.discard(job.id)

    def is_awaited(self, job: ClaimedJob, kinds: Sequence[JobKind]) -> bool:
        """Return whether a job of some kinds of another project waits, and no worker is busy with that project."""
        return self._jobs.is_awaited(job, kinds, self._models, self._silent().keys())

    def _left_by_others(self, kinds: Sequence[JobKind], *, reads: bool) -> ClaimedJob | None:
        """Take over and return a job whose process seems to be dead, if this process has its model; else None.

        A job of another model is left to other processes for a while. If none takes it, this one does, and it fails;
        with `reads`, it is left, as it would only be put back.
        """
        for one, (beats, seconds) in self._silent().items():
            models = self._models if reads or seconds <= _DEAD_SECONDS + _UNKNOWN_SECONDS else None
            if (taken := self._taken_over(one, beats, kinds, models)) is not None:
                return taken
        return None

    def _silent(self) -> dict[str, tuple[int, float]]:
        """Return the running jobs whose processes seem to be dead: the beats of each, and the seconds without one."""
        moment, running, known = time.monotonic(), self._jobs.running(), self._seen
        self._seen = seen = {
            one: known[one] if known.get(one, (None, 0.0))[0] == beats else (beats, moment)
            for one, beats in running.items()
        }
        silent = {one: (beats, moment - since) for one, (beats, since) in seen.items() if one not in self._own}
        # A database that is busy delays signs of life; those of this process are known without it.
        return {one: (beats, seconds) for one, (beats, seconds) in silent.items() if seconds > _DEAD_SECONDS}

    def _of_unknown_model(self, kinds: Sequence[JobKind]) -> ClaimedJob | None:
        """Take over and return a job whose model no process seems to have; None if there is none.

        While other processes work on jobs, none is taken over, as one of them may have the model.
        """
        waiting, moment = self._jobs.of_other_models(kinds, self._models), time.monotonic()
        others = waiting and self._jobs.running().keys() - self._own
        known = {} if others else self._unknown.get(tuple(kinds), {})
        self._unknown[tuple(kinds)] = seen = {one: known.get(one, moment) for one in waiting}
        for one, since in seen.items():
            if moment - since > _UNKNOWN_SECONDS and (taken := self._taken_over(one, waiting[one], kinds)) is not None:
                return taken
        return None

    def _taken_over(
        self, job: str, beats: int, kinds: Sequence[JobKind], models: Collection[str] | None = None
    ) -> ClaimedJob | None:
        """Take over a job; if its processes died too often, the job may be the cause, so it fails instead."""
        taken = self._jobs.take_over(job, beats, kinds, models)
        if taken is None or taken.interruptions < _MOST_INTERRUPTIONS:
            return taken
        _log.error("job %s is given up: it was interrupted %d times", taken.id, taken.interruptions)
        self._jobs.fail(taken, f"the service was interrupted {taken.interruptions} times at this; its log says why")
        return None
