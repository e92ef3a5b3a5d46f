"""Run a job: chunks from a source, through a stage, into files; after any interruption it can be resumed."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from postedit.core.errors import DataError, OutputError, PosteditError
from postedit.core.files import load_json, reason_of
from postedit.core.processes import Executor, same_in_all
from postedit.distributed.chunks import ChunkSource, Stage
from postedit.distributed.resumable_outputs import SAVE_SECONDS, OutputFiles, OutputState, ResumableOutputs


@dataclass(frozen=True, slots=True)
class Job:
    """An input and the work to be done on it."""

    source: ChunkSource
    stage: Stage  # applied to each chunk
    settings: Mapping[str, Any]  # all that determines the output besides the input, by name; values for JSON
    manifest: Callable[[Mapping[str, int]], dict[str, Any]]  # returns the manifest for the summed counts of all chunks
    extras: Mapping[str, str] = field(default_factory=dict)  # texts of further files, by name, written with the output

    @property
    def provenance(self) -> dict[str, Any]:
        """Settings and input fingerprints: jobs with the same provenance have the same output."""
        return {**self.settings, "input": dict(self.source.fingerprints)}


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a recipe that finishes before the next begins."""

    name: str  # shown to the user
    files: OutputFiles
    prepare: Callable[[], Job]  # reads the inputs, the outputs of earlier phases among them
    multithreaded: bool = False  # whether the stage uses several cores itself, so one worker per machine is enough

    def finished(self, job: Job) -> bool:
        """Return whether an earlier run completed a job with the same provenance, and its files are still the same."""
        try:
            manifest: Any = load_json(self.files.manifest)
        except (OSError, ValueError):
            return False
        wanted = json.loads(json.dumps(job.provenance))
        if self.files.journal.exists():  # another run was interrupted before it replaced the manifest
            return False
        if not isinstance(manifest, dict) or any(manifest.get(name) != value for name, value in wanted.items()):
            return False
        return self.files.whole()


def run_job(
    job: Job,
    files: OutputFiles,
    executor: Executor,
    *,
    resume: bool = False,
    report: Callable[[int], None] = lambda done: None,
    save_seconds: float = SAVE_SECONDS,
) -> dict[str, Any]:
    """Run the job, write its files and return its manifest.

    Args:
        job: the job to run.
        files: names of the output files.
        executor: runs the stage; it does not affect the output.
        resume: continue an unfinished run, if there is one.
        report: called with the number of finished input lines, first with those that an earlier run finished.
        save_seconds: see `ResumableOutputs`.

    Raises:
        OutputError: if the files cannot be written.
        DataError: if the input cannot be read, or no line of it can be used.
        PosteditError: if the stage or the executor fails. Its message, like that of KeyboardInterrupt, says how many
            lines are finished and how to resume.
    """
    outputs = ResumableOutputs(files, job.provenance, resume=resume, save_seconds=save_seconds)
    total = job.source.total
    done = partial(_lines_of, total)
    try:
        with resumable(outputs, files, done):
            report(outputs.done.lines)
            if outputs.done.lines < total:
                with closing(executor.map(same_in_all(job.stage), job.source.chunks(outputs.done.chunks))) as made:
                    for chunk in made:
                        outputs.write(chunk)
                        report(outputs.done.lines)
        manifest = {**job.provenance, **job.manifest(outputs.done.counts)}
        if not any(outputs.done.lengths.values()):
            outputs.discard()
            reasons = [f"{count:,} {reason}" for reason, count in manifest.get("left_out", {}).items() if count]
            why = f" ({', '.join(reasons)})" if reasons else ""
            raise DataError(f"{files.prefix}: would be empty: none of {total:,} lines can be used{why}")
        with resumable(outputs, files, done):
            outputs.finish(manifest, job.extras)
    finally:
        outputs.close()
    return manifest


def _lines_of(total: int, state: OutputState) -> str:
    return f"{state.lines:,} of {total:,} lines"


@contextmanager
def resumable(outputs: ResumableOutputs, files: OutputFiles, describe: Callable[[OutputState], str]) -> Iterator[None]:
    """Save the progress after an error, and add to its message how to resume; delete the files if nothing is done."""
    try:
        yield
    except (KeyboardInterrupt, PosteditError, OSError) as error:
        if isinstance(error, OSError):
            error = PosteditError(f"{error.filename or 'the system'}: {reason_of(error)}")
        if isinstance(error, PosteditError) and not outputs.done.chunks:  # nothing to resume: a new run may differ
            with suppress(OutputError):
                outputs.discard()
            raise error
        with suppress(OutputError):  # then the journal still describes the last saved state
            outputs.save()
        done = describe(outputs.saved)
        how = f"kept in {files.prefix}.*.partial; run the same command with --resume to continue"
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt(f"stopped after {done}, {how}") from None
        raise type(error)(f"{error}; {done} are done, {how}") from error
