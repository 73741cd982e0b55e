"""Decode a benchmark: its data sets, their order, and the part of them that is enough.

`ORDERS` names the orders of data sets in a tournament, with the column of a decoding that each
follows: all rise by it but that by difficulty, in which chances fall; `SCORES` the columns that may
decide its games. They are defined here so that the command line can list them without loading the
studies.
"""

from __future__ import annotations

GIVEN = "given"
# How likely a respondent of average ability is right: unlike difficulty, it can be compared
# between data sets.
CHANCE = "chance"
ORDERS: dict[str, str | None] = {
    "difficulty": CHANCE,
    "discrimination": "discrimination_mean",
    "difficulty-sd": "difficulty_sd",
    "discrimination-sd": "discrimination_sd",
    GIVEN: None,
}
SCORES = ("true_score_positive", "true_score", "ability", "accuracy")
