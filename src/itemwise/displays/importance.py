"""Importance of features as bars, for difficulty and for the class."""

from __future__ import annotations

from itemwise.displays.scores import ScoresDisplay


class ImportanceDisplay(ScoresDisplay):
    """Importance of features, the largest on top; each line reaches one deviation both ways.

    The frame has one row a feature, which is its index: `difficulty` and `difficulty_sd`, and where
    known, `task` and `task_sd`; each is a share of the sum over features. At most 40 are drawn.
    """

    COLUMNS = ("difficulty", "task")
    LEGEND = ("difficulty", "class")
    LABEL = "share of all importance (line: ± deviation)"
    ERROR, REACH = "sd", 1.0
    WORD = "importance"
