"""Decode a benchmark: its data sets, their order, and the part of them that is enough.

`ORDERS` names the orders of data sets in a tournament, with the column of a decoding that each
rises by; `SCORES` the columns that may decide its games. They are defined here so that the command
line can list them without loading the studies.
"""

from __future__ import annotations

GIVEN = "given"
ORDERS: dict[str, str | None] = {
    "difficulty": "difficulty_mean",
    "discrimination": "discrimination_mean",
    "difficulty-sd": "difficulty_sd",
    "discrimination-sd": "discrimination_sd",
    GIVEN: None,
}
SCORES = ("true_score_positive", "true_score", "ability", "accuracy")
