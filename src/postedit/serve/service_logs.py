"""Logs as JSON Lines; each record has the id of the request that it belongs to."""

import json
import logging
import sys
import traceback
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from postedit.serve.settings import LogConfig

request_id: Final[ContextVar[str]] = ContextVar("request_id", default="")
"""Id of the request that is being answered; empty outside requests."""

FIELDS: Final = "fields"
"""Key in `extra` of a log record, for a dict of further values."""

_OWN: Final = ("postedit", "uvicorn")
"""Loggers that, with their descendants, have the level of the settings."""

_COMPILED: Final = "postedit.compiled"

_FRAMES: Final = 5
"""Number of innermost calls that a trace names."""


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line of JSON."""
        values: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if identity := request_id.get():
            values["request_id"] = identity
        values.update(getattr(record, FIELDS, {}))
        if record.exc_info:
            values["traceback"] = self.formatException(record.exc_info)
        return json.dumps(values, ensure_ascii=False, default=str)


def trace_of(error: BaseException) -> str:
    """Return the type and the place of an error, without its message, which may contain texts of users."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    return f"{type(error).__name__} in " + " > ".join(f"{Path(one.filename).name}:{one.lineno}" for one in frames)


def set_up_logs(config: LogConfig) -> None:
    """Write all logs to stderr: those of the service and the web server, and warnings of other libraries.

    This includes messages that commands show as plain lines. Messages about functions that are being compiled, which
    can take minutes on a busy machine, are written at all levels except "error".
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    level = logging.getLevelNamesMapping()[config.level.upper()]
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(max(level, logging.WARNING))
    logging.captureWarnings(True)
    for name in [*_OWN, *logging.Logger.manager.loggerDict]:
        if name.partition(".")[0] in _OWN:
            log = logging.getLogger(name)
            log.handlers, log.propagate = [], True
            log.setLevel(level if name in _OWN else logging.NOTSET)
    if level < logging.ERROR:
        logging.getLogger(_COMPILED).setLevel(min(level, logging.INFO))
