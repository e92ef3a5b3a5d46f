"""A process that runs one model, and the handle through which the service communicates with it."""

import os
import signal
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Lock
from typing import Final, Self

from postedit.core.errors import ModelFolderError, PosteditError
from postedit.core.files import reason_of
from postedit.core.processes import ignore_signals, signals_held
from postedit.jobs.editing import silence_library
from postedit.serve.model_work import Done, ModelFacts, ProcessSpec, StillLearning, Work
from postedit.serve.project_editors import ProjectEditors
from postedit.serve.service_logs import set_up_logs

_SECONDS_TO_END: Final = 5.0
"""Seconds in which a process may end by itself before it is killed."""

_COMPILING: Final = 30.0
"""Seconds that a process waits for others that compile, at most; well below `limits.batch_timeout_seconds`."""

_SIGN_SECONDS: Final = 1.0
"""Seconds between two signs of a process that learns; well below `limits.batch_timeout_seconds`."""

_THREADS: Final = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Environment variables that PyTorch, NumPy and Numba read at import; a model process imports them later."""


class ProcessDiedError(Exception):
    """A model process ended, or was ended because it took too long."""


class ModelProcess:
    """A running model process. Its methods block; except `kill`, they must be called by one thread at a time.

    Raises:
        ModelFolderError: if the model cannot be loaded.
        ProcessDiedError: if the process ends while it loads.
    """

    def __init__(self, spec: ProcessSpec, began: Callable[[Self], None] = lambda process: None) -> None:
        """Start a process and wait until it has loaded its model; `began` is called first, so that it can be killed."""
        context = get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(spec, theirs), daemon=True, name="postedit model")
        self._works = False
        self._is_unwanted = False
        self._starting = Lock()
        self.is_new = True  # until its first answer, which takes longer than later ones
        self.has_learnt = False  # for more than a moment, before its last answer
        began(self)
        with self._starting:
            if self._is_unwanted:
                raise ProcessDiedError("is not wanted any more")
            with signals_held():
                self._process.start()
        theirs.close()
        facts = self._answer(None)
        if isinstance(facts, str):
            self.stop()
            raise ModelFolderError(facts)
        assert isinstance(facts, ModelFacts)
        self.facts = facts

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid or 0

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.is_alive()

    @property
    def sentinel(self) -> int:
        """A file descriptor that becomes readable when the process ends."""
        return self._process.sentinel

    def run(self, work: Work, seconds: float) -> Done:
        """Return the outcome of some work.

        The time in which the process learns corrections does not count, as long as it makes progress: all corrections
        of a project are learnt at its first segment, and a process that was killed would begin with them anew.

        Raises:
            ProcessDiedError: if the process ends, or is killed because it takes longer than `seconds`.
        """
        done = self._asked(work, seconds)
        assert isinstance(done, Done)
        self.is_new = False
        return done

    def forget_deleted(self, seconds: float) -> None:
        """Make the process forget deleted corrections and glossaries.

        Raises:
            ProcessDiedError: see `run`.
        """
        self._asked(None, seconds)

    def _asked(self, work: Work | None, seconds: float) -> object:
        self._works = True
        try:
            self._connection.send(work)
            return self._answer(seconds)
        except OSError:
            raise self._death() from None
        finally:
            self._works = False

    def kill(self) -> None:
        """Kill the process, from any thread; a caller that waits for its answer gets a `ProcessDiedError`."""
        self._is_unwanted = True
        with self._starting:  # a process whose parent ends while it is being started writes a traceback
            if self._process.pid is not None:
                self._process.kill()

    def stop(self) -> None:
        """End the process; work in progress is lost."""
        if self._works:
            self._process.kill()  # so that the thread that waits for its answer continues
        else:
            self._connection.close()  # the process notices, and ends
        self._process.join(_SECONDS_TO_END)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _answer(self, seconds: float | None) -> object:
        self.has_learnt = False
        try:
            while self._connection.poll(seconds):
                if not isinstance(found := self._connection.recv(), StillLearning):
                    return found
                self.has_learnt = True
            self._process.kill()
            raise ProcessDiedError(f"took more than {seconds:g} s, and was ended")
        except (EOFError, OSError):
            raise self._death() from None

    def _death(self) -> ProcessDiedError:
        self._process.join(_SECONDS_TO_END)
        return ProcessDiedError(f"ended with code {self._process.exitcode}")


class ServiceGone(BaseException):
    """The service has ended, and so must its process.

    An `Exception` would count as a fault of a segment: each would be tried alone, and everything be learnt anew for it.
    """


class SignsOfLearning:
    """Tells the service, from time to time, that the process still learns.

    Args:
        connection: connection to the service.
        clock: returns the time in seconds.
    """

    def __init__(self, connection: Connection, clock: Callable[[], float] = time.monotonic) -> None:
        self._connection, self._clock = connection, clock
        self.start()

    def start(self) -> None:
        """Note that work begins."""
        self._last = self._clock()

    def give(self) -> None:
        """Send a sign, unless the last one was sent, or work began, a moment ago.

        Raises:
            ServiceGone: if the service has ended.
        """
        if self._clock() - self._last >= _SIGN_SECONDS:
            self.start()
            try:
                self._connection.send(StillLearning())
            except BrokenPipeError:
                raise ServiceGone from None


def _serve(spec: ProcessSpec, connection: Connection) -> None:
    """Run a model process, which works until the other end of the connection is closed.

    It ignores the signals that stop the service, since accepted requests are answered first.
    """
    ignore_signals(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    os.environ.update(dict.fromkeys(_THREADS, str(spec.threads)))
    from postedit.compiled import wait_no_longer  # its imports read these variables

    wait_no_longer(_COMPILING)
    set_up_logs(spec.log)
    silence_library()
    try:
        try:
            signs = SignsOfLearning(connection)
            editors = ProjectEditors(spec, signs.give)
        except PosteditError as error:
            connection.send(str(error))
            return
        except OSError as error:  # such as a folder that this user may not read
            connection.send(": ".join([str(error.filename or spec.config.path), reason_of(error)]))
            return
        connection.send(editors.facts)
        while True:
            if (work := connection.recv()) is None:
                editors.forget_deleted()
                connection.send(None)
            else:
                signs.start()
                connection.send(editors.done(work))
    except (EOFError, BrokenPipeError, ServiceGone):
        return
