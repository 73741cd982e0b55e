"""How a portfolio is fitted, here and in every fold of a cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ogive.arguments import whole_number
from ogive.errors import InputError
from ogive.numerics.splines import FEWEST_KNOTS, SMOOTHINGS
from ogive.studies.algorithms.portfolio_choice import AIRT

Model = Literal["continuous", "graded"]
MODELS: tuple[Model, ...] = ("continuous", "graded")
MOST_GRADES = 100


@dataclass(frozen=True)
class Settings:
    """How a portfolio is fitted, here and in every fold of a cross-validation."""

    model: Model = "continuous"
    grades: int = 5
    preset: str | None = None
    knots: int = 10
    smoothing: str = "reml"

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise InputError(
                f"model is {self.model!r}, but it should be one of {', '.join(MODELS)}."
            )
        if self.preset not in (None, AIRT):
            raise InputError(f"There is no preset {self.preset!r}. The only one is '{AIRT}'.")
        if self.preset and self.model != "continuous":
            raise InputError(f"preset='{AIRT}' uses the continuous model; leave `model` out.")
        if whole_number(self.grades, "grades", 2) > MOST_GRADES:
            raise InputError(
                f"grades is {self.grades}, but at most {MOST_GRADES} are possible. For finer "
                "grades, use model='continuous'."
            )
        whole_number(self.knots, "knots", FEWEST_KNOTS)
        if self.smoothing not in SMOOTHINGS:
            raise InputError(
                f"smoothing is {self.smoothing!r}, but it should be one of {', '.join(SMOOTHINGS)}."
            )
