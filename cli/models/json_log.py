"""Log lines as JSON on standard error: names, numbers and times, never contents or keys."""

import json
import logging
import sys
from datetime import UTC, datetime
from types import TracebackType
from typing import TextIO

LOG_LEVELS = ("info", "warning", "error")


class JsonFormatter(logging.Formatter):
    """One JSON object a line: at, level, event, and the fields that the caller gave.

    What was raised is named by its class alone, and where: its message may quote a text.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0]:
            line["error"] = record.exc_info[0].__name__
            line["where"] = places(record.exc_info[2])
        return json.dumps(line, ensure_ascii=False, default=str)


def log_to(stream: TextIO | None = None, level: str = "warning") -> None:
    """Send the servers' own log lines to a stream, standard error unless given."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in ("pgblend.cli.models", "pgblend.cli.doors", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level.upper())
        logger.propagate = False


def places(trace: TracebackType | None) -> list[str]:
    """Return where an error was raised: file and line of the innermost calls."""
    found = []
    while trace is not None:
        code = trace.tb_frame.f_code
        found.append(f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}")
        trace = trace.tb_next
    return found[-5:]
