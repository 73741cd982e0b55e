"""What a person can show a colleague: tables and figures of whole studies."""

from __future__ import annotations

from itemwise.report.benchmark import Chapters, read_benchmark, write_benchmark

__all__ = ["Chapters", "read_benchmark", "write_benchmark"]
