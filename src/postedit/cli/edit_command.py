"""One run of `postedit edit`, common to lines and translation files."""

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import typer

from postedit.cli import search_options as options
from postedit.cli import shared
from postedit.core.errors import DataError
from postedit.core.processes import IN_THIS_PROCESS, Executor, same_in_all
from postedit.core.search_config import SearchConfig
from postedit.data.resumable_file import recorded_job
from postedit.jobs import editing as job
from postedit.jobs.editor_spec import EditorSpec

if TYPE_CHECKING:
    from rich.console import Console

    from postedit.core.editor import Editor


@dataclass(frozen=True, slots=True)
class EditCommand:
    """The editor, the options and the output of one run.

    Args:
        spec: specification of the editor.
        options: options of `--set` and `--search`.
        out: path of the output; None for standard output.
        form: format of the output.
        resume: whether to continue an interrupted run.
        executor: executor that edits windows of lines.
        devices: device of each worker; see `jobs.editing.window_worker`.
        only_estimate: whether to print what a model behind an endpoint would cost, and stop.
        languages: source and target language by which the model was chosen; empty if not by languages.
    """

    spec: EditorSpec
    options: options.CommandOptions
    out: Path | None
    form: job.OutputFormat
    resume: bool
    executor: Executor
    devices: list[str | None]
    only_estimate: bool = False
    languages: tuple[str, str] = ("", "")

    @property
    def reverts_edits(self) -> bool:
        """Whether edits can be reverted, by a gate or a minimum confidence."""
        return bool(self.spec.gate or self.spec.min_confidence)

    def check_options(self) -> None:
        """Check that the options can be combined with a gate, a memory and several passes, as far as these are given.

        Raises:
            DataError: if two options cannot be combined.
        """
        if self.spec.memory is not None:
            self._check_memory()
        if not self.reverts_edits:
            return
        if self.spec.passes > 1:
            raise DataError(
                "--gate and --min-confidence decide on one correction of mt, and each pass of --passes would begin "
                "with edits already reverted: leave out one or the other"
            )
        self.options.check_revertible("--gate and --min-confidence")

    def _check_memory(self) -> None:
        if self.spec.gate is not None:
            raise DataError(
                "--gate decides on the edits of a model as it was trained, and a model with --memory makes others: "
                "leave out one or the other"
            )
        if self.spec.dtype != "float32":
            raise DataError(f"--dtype {self.spec.dtype}: a model that learns needs float32 weights; leave it out")

    def resumed(self, out: Path) -> Self:
        """Return the command as the continuation of an interrupted run that writes `out`, if there is one.

        The memory is read up to the position that the interrupted run read, and what a model behind an endpoint cost
        that run counts towards the budget of this one.

        Raises:
            DataError: if corrections have been deleted since, or an older copy of the memory has been restored.
        """
        before = recorded_job(out) if self.resume else {}
        endpoint = self.spec.endpoint
        if endpoint is not None:
            return replace(self, spec=replace(self.spec, endpoint=endpoint.continued(before)))._resumed(out, before)
        return self._resumed(out, before)

    def _resumed(self, out: Path, before: Mapping[str, Any]) -> Self:
        memory = self.spec.memory
        if memory is None or before.get("memory") != repr(memory.name):
            return self  # a different memory is reported when the whole job is compared
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
                "of it had been restored; delete them to restart"
            )
        return replace(self, spec=replace(self.spec, memory=replace(memory, position=position)))

    def languages_of(self, editor: "Editor") -> tuple[str, str]:
        """Return source and target language of the editor, by default those by which its model was chosen."""
        source, target = editor.abilities.languages
        return source or self.languages[0], target or self.languages[1]

    def load(self) -> "Editor":
        """Load the editor; on the CPU if other processes edit, because this process then uses it only for checks."""
        job.silence_library()
        return self.spec.load(self.devices[0] if self.executor == IN_THIS_PROCESS else "cpu")

    def window_lines(self, search: SearchConfig) -> int:
        """Return how many lines are edited and written together."""
        return self.options.chunk_lines or job.window_lines(search.batch_tokens)

    def edited(
        self, editor: "Editor", windows: Iterator[job.Window], search: SearchConfig, form: job.OutputFormat
    ) -> Generator[job.Edited, None, None]:
        """Yield the edited windows, in order. They are edited by `editor`, or by copies of it in other processes."""
        if self.executor == IN_THIS_PROCESS:
            build = same_in_all(partial(job.edit_window, editor, search, form))
        else:
            build = partial(job.window_worker, self.spec, self.devices, search, form, _show_compilation)
        return self.executor.map(build, windows)

    def announce_cost(self, editor: "Editor", pairs: Iterable[job.Pair], err: "Console") -> None:
        """Print the expected cost and time of editing `pairs`, if the editor is a model behind an endpoint.

        Raises:
            Exit: if only the estimate was asked for.
        """
        if self.spec.endpoint is None:
            return
        from postedit.core.editor import Segment
        from postedit.llm.llm_editor import llm_of
        from postedit.llm.usage import estimate

        model = llm_of(editor)
        assert model is not None
        found = estimate(model, (Segment(*pair) for pair in pairs), self.spec.passes)
        err.print(str(found), soft_wrap=True)
        budget = self.spec.endpoint.config.budget
        if budget and found.cost is not None and found.cost + model.store.spent() > budget:
            shared.warn(f"that is above the budget of {budget:g}: the work will stop before it is complete")
        if self.only_estimate:
            raise typer.Exit

    @contextmanager
    def usage_reported(self, editor: "Editor", report: Path | None) -> Iterator[None]:
        """Print the cost of a model behind an endpoint and write `report` when the block ends, even with an error."""
        if self.spec.endpoint is None:
            if report is not None:
                report.unlink(missing_ok=True)  # it describes an output that is overwritten
            yield
            return
        from postedit.llm.llm_editor import llm_of
        from postedit.llm.usage import write_report

        model = llm_of(editor)
        assert model is not None
        with shared.usage_printed(self.spec.endpoint, model):
            try:
                yield
            finally:
                if report is not None:
                    write_report(report, model)


def _show_compilation() -> None:
    from postedit.cli.main import show_log

    show_log("postedit.compiled")
