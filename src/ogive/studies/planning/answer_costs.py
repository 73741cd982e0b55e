"""What one answer takes: tokens and cost, as the logs of a pilot or the caller tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ogive.arguments import as_number
from ogive.errors import InputError
from ogive.words import shown

if TYPE_CHECKING:
    import pandas as pd

    from ogive.responses import Responses

TOKENS = ("input_tokens", "output_tokens")  # facts of respondents: means per answer
COST = "answer_cost"


@dataclass(frozen=True)
class AnswerCost:
    """Of one answer, on average; None where it is not known."""

    tokens: tuple[float, float] | None = None  # in the question, in the answer
    cost: float | None = None
    notes: tuple[str, ...] = ()

    def added_to(self, sizes: pd.DataFrame) -> pd.DataFrame:
        """Columns for all answers of each design."""
        found = sizes.copy()
        if self.tokens is not None:
            for name, each in zip(TOKENS, self.tokens, strict=True):
                found[name] = found["answers"] * each
        if self.cost is not None:
            found["cost"] = found["answers"] * self.cost
        return found


def answer_cost(
    pilot: Responses | None, names: Sequence[str], cost: float | None, price: object
) -> AnswerCost:
    """What an answer of these respondents of a pilot takes.

    `cost` is that of one answer, and `price` that of one token, or of one in questions and one in
    answers. Without either, logs may tell what answers cost.
    """
    prices = _prices(price)
    if cost is not None and prices is not None:
        raise InputError("cost and price are given, but each tells what answers cost: give one.")
    known = {name: _mean(pilot, name, names) for name in (*TOKENS, COST)}
    tokens = (known[TOKENS[0]], known[TOKENS[1]])
    told = None if tokens[0] is None or tokens[1] is None else (tokens[0], tokens[1])
    if prices is not None:
        if told is None:
            raise InputError(
                "price is that of a token, but the pilot does not tell how many tokens an answer "
                "takes: read it from logs of Inspect, or add the facts input_tokens and "
                "output_tokens to its respondents. Or give the cost of an answer."
            )
        return AnswerCost(told, told[0] * prices[0] + told[1] * prices[1])
    if cost is None and known[COST] is not None:
        note = "What answers cost is as the logs of the pilot say."
        return AnswerCost(told, known[COST], (note,))
    return AnswerCost(told, cost)


def _prices(given: object) -> tuple[float, float] | None:
    """Price of a token in questions, and in answers."""
    if given is None:
        return None
    several = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    numbers = [as_number(each) for each in several]
    if len(numbers) not in (1, 2) or not all(0 <= each < np.inf for each in numbers):
        raise InputError(
            f"price is {shown(given)}, but it should be the price of one token, or two prices: of "
            "a token in questions, and of one in answers."
        )
    return numbers[0], numbers[-1]


def _mean(pilot: Responses | None, name: str, names: Sequence[str]) -> float | None:
    """The mean of a fact over respondents; None if it is not known of all."""
    facts = None if pilot is None else pilot.respondent_facts
    if pilot is None or facts is None or name not in facts:
        return None
    found = [as_number(value) for value in facts.loc[list(dict.fromkeys(names)), name]]
    return float(np.mean(found)) if np.isfinite(found).all() else None
