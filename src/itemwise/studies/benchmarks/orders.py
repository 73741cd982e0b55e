"""Orders of data sets in a tournament, and the column of a decoding that they rise by."""

from __future__ import annotations

GIVEN = "given"
ORDERS: dict[str, str | None] = {
    "difficulty": "difficulty_mean",
    "discrimination": "discrimination_mean",
    "difficulty-deviation": "difficulty_deviation",
    "discrimination-deviation": "discrimination_deviation",
    GIVEN: None,
}
SCORES = ("true_score_positive", "true_score", "ability", "accuracy")  # that decide the games
