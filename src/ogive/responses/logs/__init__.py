"""Evaluation logs of language models and of OpenML runs: one module per format."""

from __future__ import annotations

from ogive.responses.logs.log_formats import LOG_FORMATS, is_log
from ogive.responses.logs.log_reading import LogReading, read_logs

__all__ = ["LOG_FORMATS", "LogReading", "is_log", "read_logs"]
