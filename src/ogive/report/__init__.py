"""Results for a colleague: a folder of tables and figures, and one page that shows it all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ogive.lazily import lazily

if TYPE_CHECKING:
    from ogive.report.chapters import Chapters as Chapters
    from ogive.report.chapters import read_benchmark as read_benchmark
    from ogive.report.folder import Contents as Contents
    from ogive.report.folder import write_folder as write_folder
    from ogive.report.model_card import model_card as model_card
    from ogive.report.page import write_report as write_report

_HOMES = {
    "Chapters": "chapters",
    "Contents": "folder",
    "model_card": "model_card",
    "read_benchmark": "chapters",
    "write_folder": "folder",
    "write_report": "page",
}

__all__ = [*_HOMES]


__getattr__ = lazily(__name__, _HOMES)
