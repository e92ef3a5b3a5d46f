"""What `postedit edit` was asked for, whether it edits lines or translation files."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from postedit.cli import search_options as options
from postedit.core.errors import DataError
from postedit.core.processes import IN_THIS_PROCESS, Executor, same_in_all
from postedit.core.search_config import SearchConfig
from postedit.data.resumable_file import recorded_job
from postedit.jobs import editing as job

if TYPE_CHECKING:
    from postedit.core.editor import Editor


@dataclass(frozen=True, slots=True)
class EditCommand:
    """The editor, the options and the output of one run.

    Args:
        spec: of the editor.
        options: those of `--set` and `--search`.
        out: the output; standard output if None.
        form: of the output.
        resume: continue an interrupted run.
        executor: edits windows of lines.
        devices: of its workers; see `jobs.editing.EditorSpec.worker`.
    """

    spec: job.EditorSpec
    options: options.CommandOptions
    out: Path | None
    form: job.OutputFormat
    resume: bool
    executor: Executor
    devices: list[str | None]

    @property
    def takes_edits_back(self) -> bool:
        """Whether there is a gate, or a minimum of confidence."""
        return bool(self.spec.gate or self.spec.min_confidence)

    def check_options(self) -> None:
        """Check that the options go with a gate and with a memory, if there is one.

        Raises:
            DataError: if one does not.
        """
        given = self.options.search
        if self.spec.memory is not None:
            self._check_memory()
        if not self.takes_edits_back:
            return
        if given.get("n_best", 1) != 1:
            raise DataError(
                "--gate and --min-confidence decide on one correction per segment: n_best must be 1, not "
                f"{given['n_best']}"
            )
        for name in ("banned", "required"):
            if given.get(name):
                raise DataError(
                    f"--gate and --min-confidence may take back what search.{name} asks for; leave out one or the other"
                )

    def _check_memory(self) -> None:
        if self.spec.gate is not None:
            raise DataError(
                "--gate decides on the edits of a model as it was trained, and a model with --memory makes others: "
                "leave out one or the other"
            )
        if self.spec.dtype != "float32":
            raise DataError(f"--dtype {self.spec.dtype}: a model that learns needs float32 weights; leave it out")

    def resumed(self, out: Path) -> Self:
        """Return the command with the position of the memory that an interrupted run for `out` began with, if any.

        Raises:
            DataError: if corrections have been deleted since, or an older copy of the memory has been put back.
        """
        memory, before = self.spec.memory, recorded_job(out) if self.resume else {}
        if memory is None or before.get("memory") != repr(memory.name):
            return self  # what differs is found when the whole job is compared
        from postedit.adapt.correction_memory import CorrectionMemory, MemoryPosition

        edition, last = int(before["memory edition"]), int(before["memory entries"])
        if edition != memory.position.edition:
            raise DataError(
                f"{out}.partial: these lines were made with corrections that have been deleted from the memory since; "
                "delete them to restart"
            )
        with CorrectionMemory(memory.where, create=False) as opened:
            position = MemoryPosition(edition, last, opened.mark(last))
        if last > memory.position.last or before.get("memory mark") != repr(position.mark):
            raise DataError(
                f"{out}.partial: these lines were made with corrections that the memory lacks now, as if an older copy "
                "of it had been put back; delete them to restart"
            )
        return replace(self, spec=replace(self.spec, memory=replace(memory, position=position)))

    def load(self) -> "Editor":
        """Load the editor; where other processes edit, this one needs it for checks alone."""
        job.silence_library()
        return self.spec.load(self.devices[0] if self.executor == IN_THIS_PROCESS else "cpu")

    def window_lines(self, search: SearchConfig) -> int:
        """Return how many lines are edited and written together."""
        return self.options.chunk_lines or job.window_lines(search.batch_tokens)

    def edited(
        self, editor: "Editor", windows: Iterator[job.Window], search: SearchConfig, form: job.OutputFormat
    ) -> Generator[job.Edited, None, None]:
        """Yield the windows edited, by `editor` or by copies of it in other processes."""
        if self.executor == IN_THIS_PROCESS:
            build = same_in_all(partial(job.edit_window, editor, search, form))
        else:
            build = partial(self.spec.worker, self.devices, search, form, _show_compilation)
        return self.executor.map(build, windows)


def _show_compilation() -> None:
    from postedit.cli.main import show_log

    show_log("postedit.compiled")
