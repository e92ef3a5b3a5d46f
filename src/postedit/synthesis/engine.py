"""The engine: chunks from a source, through a stage, into files; stopped at any point, it goes on from there."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from postedit.core.errors import DataError, OutputError, PosteditError
from postedit.core.files import reason_of
from postedit.synthesis.chunk import StageSpec
from postedit.synthesis.executor import Executor
from postedit.synthesis.outputs import Outputs
from postedit.synthesis.source import Source


@dataclass(frozen=True, slots=True)
class Job:
    """Something to be made of an input.

    Args:
        source: the input.
        spec: what is done to each of its chunks.
        sides: the sides that are written.
        identity: what determines the output besides the text of the input, by name; values for JSON.
        manifest: makes the manifest of the counts that all chunks add up to.
    """

    source: Source
    spec: StageSpec
    sides: Sequence[str]
    identity: Mapping[str, Any]
    manifest: Callable[[Mapping[str, int]], dict[str, Any]]


def run(
    job: Job,
    prefix: Path,
    executor: Executor,
    *,
    resume: bool = False,
    report: Callable[[int, int], None] = lambda done, before: None,
    save_seconds: float | None = None,
) -> dict[str, Any]:
    """Do the job and return its manifest.

    Args:
        job: what to do.
        prefix: what the names of the files start with.
        executor: where the stage runs; the files do not depend on it.
        resume: go on after what an unfinished run has done, if there is one.
        report: is told how many lines of the input are done, and how many of those an earlier run did.
        save_seconds: see `Outputs`.

    Raises:
        OutputError: if the files cannot be written.
        DataError: if the input cannot be read, or nothing is made of any line.
        PosteditError: of any other kind, if the stage or the executor fails; this and the others, where work can go on,
            say how many lines are done and kept, and how to go on.
        KeyboardInterrupt: likewise.
    """
    identity = {**job.identity, "input": dict(job.source.fingerprints)}
    saving = {} if save_seconds is None else {"save_seconds": save_seconds}
    outputs = Outputs(prefix, job.sides, identity, resume=resume, **saving)
    total, before = job.source.total, outputs.done.lines
    try:
        with _saved(outputs, total):
            report(before, before)
            if outputs.done.lines < total:
                with closing(executor.map(job.spec, job.source.chunks(outputs.done.chunks))) as made:
                    for chunk in made:
                        outputs.write(chunk)
                        report(outputs.done.lines, before)
        manifest = {**identity, **job.manifest(outputs.done.counts)}
        if not any(outputs.done.lengths.values()):
            outputs.discard()
            raise DataError(f"{prefix}: would be empty, since none of {total:,} lines can be used{_reasons(manifest)}")
        with _saved(outputs, total):
            outputs.finish(manifest)
    finally:
        outputs.close()
    return manifest


@contextmanager
def _saved(outputs: Outputs, total: int) -> Iterator[None]:
    """Save what is done, whatever happens, and say so in the error."""
    try:
        yield
    except (KeyboardInterrupt, PosteditError, OSError) as error:
        with suppress(OutputError):  # then what was saved before counts
            outputs.save()
        done = f"{outputs.saved.lines:,} of {total:,} lines"
        how = "the same command with --resume goes on after them"
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt(f"stopped after {done}{outputs.kept}; {how}") from None
        if isinstance(error, OSError):
            error = PosteditError(f"{error.filename or 'the system'}: {reason_of(error)}")
        raise type(error)(f"{error}; {done} are done{outputs.kept}; {how}") from error


def _reasons(manifest: Mapping[str, Any]) -> str:
    """Return why lines were left out, as the end of a sentence."""
    reasons = [f"{count:,} {reason}" for reason, count in manifest.get("left_out", {}).items() if count]
    return f" ({', '.join(reasons)})" if reasons else ""
