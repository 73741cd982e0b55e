"""Where respondents stand in their tests: all rows have answered equally many items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from itemwise.adaptive.bank import Bank, Ints
from itemwise.numerics.arrays import Bools, Floats

Use = Literal["selector", "estimator", "responses"]
USES: dict[Use, int] = {"selector": 1, "estimator": 2, "responses": 3}


@dataclass(frozen=True, eq=False)
class State:
    """One row a respondent; a session is a state of one row.

    `target` is where on the scale the next item should tell most. `free` and `log_posterior` are
    updated in place: a state that was taken further is used up.
    """

    bank: Bank
    seed: int
    respondents: Ints  # (n,): their numbers, from which their random draws follow
    free: Bools  # (n, n_items): what may still be asked
    items: Ints  # (n, step): what was asked, in order
    values: Floats  # (n, step): the responses as engines read them
    log_posterior: Floats  # (n, n_nodes), up to a constant
    target: Floats  # (n,)
    ability: Floats  # (n,)
    se: Floats  # (n,)

    @property
    def step(self) -> int:
        """How many items each respondent has answered."""
        return int(self.items.shape[1])

    def of(self, keep: Bools) -> State:
        """Some of the rows."""
        if keep.all():
            return self
        rows = ("respondents", "free", "items", "values", "log_posterior", "target", "ability")
        parts = {name: getattr(self, name)[keep] for name in (*rows, "se")}
        return replace(self, **parts)

    def answered(self, items: Ints, values: Floats, statistics: list[Floats]) -> State:
        """With one more response in each row: `items`, `values`, and each statistic are (n,)."""
        rows = np.arange(items.size)
        self.free[rows, items] = False
        terms = self.bank.terms(items)
        self.log_posterior[...] += terms[:, 0]
        for k, statistic in enumerate(statistics, start=1):
            self.log_posterior[...] += statistic[:, None] * terms[:, k]
        return replace(
            self,
            items=np.column_stack([self.items, items]),
            values=np.column_stack([self.values, values]),
        )

    def draws(self, use: Use) -> Floats:
        """A uniform number for each row, whoever else is there: seed, use and step decide."""
        bits = np.random.PCG64(np.random.SeedSequence([self.seed, USES[use], self.step]))
        first = int(self.respondents.min())
        bits.advance(first)
        drawn = np.random.Generator(bits).random(int(self.respondents.max()) - first + 1)
        return drawn[self.respondents - first]
