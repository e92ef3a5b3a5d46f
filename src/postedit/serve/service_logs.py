"""Logs: a JSON object a line, each with the id of the request it belongs to."""

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
"""The id of the request that is being answered."""

FIELDS: Final = "fields"
"""In `extra` of a record: a table of further values."""

_FRAMES: Final = 5
"""The innermost calls that a trace names."""


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
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
    """Return where an error happened, without its message, which may have texts."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    return f"{type(error).__name__} in " + " > ".join(f"{Path(one.filename).name}:{one.lineno}" for one in frames)


def set_up_logs(config: LogConfig) -> None:
    """Write the logs of the service, and of the web server, to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in ("postedit", "uvicorn"):
        log = logging.getLogger(name)
        log.handlers, log.propagate = [handler], False
        log.setLevel(config.level.upper())
