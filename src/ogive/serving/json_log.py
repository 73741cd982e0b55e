"""The log of the service: one JSON object per line, whatever text of a request it holds."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

REQUESTS = logging.getLogger("ogive.requests")  # one line per request, at level INFO


class JsonLines(logging.Formatter):
    """One ASCII line per event: line ends and control characters inside of text are escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; `facts` of the record become fields of their own."""
        told = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            told["traceback"] = self.formatException(record.exc_info)
        return json.dumps(told, default=str)


def log_as_json() -> None:
    """Write the log of this process to standard error, unless the program has its own."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    logging.basicConfig(handlers=[handler])  # does nothing where there are handlers
    logging.captureWarnings(True)
