"""The table of responses, and the files it is read from and written to."""

from __future__ import annotations

from itemwise.responses.logs import LogReading, read_logs
from itemwise.responses.response_reading import read_responses
from itemwise.responses.response_table import Responses, Table, as_responses
from itemwise.responses.response_writing import write_responses

__all__ = [
    "LogReading",
    "Responses",
    "Table",
    "as_responses",
    "read_logs",
    "read_responses",
    "write_responses",
]
