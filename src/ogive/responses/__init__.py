"""The table of responses, and the files it is read from and written to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ogive.lazily import lazily

if TYPE_CHECKING:
    from ogive.responses.given_tables import Table as Table
    from ogive.responses.given_tables import as_responses as as_responses
    from ogive.responses.logs import LogReading as LogReading
    from ogive.responses.logs import read_logs as read_logs
    from ogive.responses.response_reading import read_responses as read_responses
    from ogive.responses.response_table import Responses as Responses
    from ogive.responses.response_writing import write_responses as write_responses
    from ogive.responses.scanned_responses import ScannedResponses as ScannedResponses
    from ogive.responses.scanned_responses import scan_responses as scan_responses

_HOMES = {
    "LogReading": "logs",
    "Responses": "response_table",
    "Table": "given_tables",
    "as_responses": "given_tables",
    "read_logs": "logs",
    "read_responses": "response_reading",
    "scan_responses": "scanned_responses",
    "ScannedResponses": "scanned_responses",
    "write_responses": "response_writing",
}

__all__ = [*_HOMES]


__getattr__ = lazily(__name__, _HOMES)
