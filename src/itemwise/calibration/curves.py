"""What items do along the scale: characteristic curves and information."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.numerics.arrays import Floats
from itemwise.results import Result

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.displays import Display


@dataclass(frozen=True, eq=False, repr=False)
class Curves(Result):
    """Item characteristic curves: the expected response along the scale, right as 1."""

    items: tuple[str, ...]
    abilities: Floats  # (n_abilities,)
    expected: Floats  # (n_items, n_abilities)
    expected_se: Floats  # (n_items, n_abilities)
    information: Floats  # (n_items, n_abilities)
    discrimination: Floats  # (n_items,)

    def to_frame(self) -> pd.DataFrame:
        """One row per item and ability."""
        import pandas as pd

        n_items, n_abilities = self.expected.shape
        return pd.DataFrame(
            {
                "item": np.repeat(np.array(self.items, dtype=object), n_abilities),
                "ability": np.tile(self.abilities, n_items),
                "expected": self.expected.reshape(-1),
                "expected_se": self.expected_se.reshape(-1),
                "information": self.information.reshape(-1),
                "discrimination": np.repeat(self.discrimination, n_abilities),
            }
        )

    def plot(self, **kw: Any) -> Display:
        """The curves in one figure."""
        from itemwise.displays import DISPLAYS

        return DISPLAYS["curves"](self.to_frame()).plot(**kw)


@dataclass(frozen=True, eq=False, repr=False)
class CategoryCurves(Result):
    """How likely each grade of an item is along the scale."""

    item: str
    grades: tuple[int, ...]
    abilities: Floats  # (n_abilities,)
    probability: Floats  # (n_grades, n_abilities)
    probability_se: Floats  # (n_grades, n_abilities)

    def to_frame(self) -> pd.DataFrame:
        """One row per grade and ability."""
        import pandas as pd

        n_grades, n_abilities = self.probability.shape
        return pd.DataFrame(
            {
                "item": self.item,
                "grade": np.repeat(self.grades, n_abilities),
                "ability": np.tile(self.abilities, n_grades),
                "probability": self.probability.reshape(-1),
                "probability_se": self.probability_se.reshape(-1),
            }
        )

    def plot(self, **kw: Any) -> Display:
        """A curve for each grade, with a band of two standard errors each way."""
        from itemwise.displays import DISPLAYS

        return DISPLAYS["grades"](self.to_frame()).plot(**kw)


@dataclass(frozen=True, eq=False, repr=False)
class TestInformation(Result):
    """Test information, and the standard error of ability that follows from it."""

    __test__ = False  # not a test case, whatever pytest thinks of the name

    abilities: Floats  # (n_abilities,)
    information: Floats  # (n_abilities,)

    @property
    def se(self) -> Floats:
        """Standard error of a maximum-likelihood ability."""
        found: Floats = 1 / np.sqrt(np.maximum(self.information, 1e-12))
        return found

    def to_frame(self) -> pd.DataFrame:
        """One row per ability."""
        import pandas as pd

        columns = {"ability": self.abilities, "information": self.information, "se": self.se}
        return pd.DataFrame(columns)

    def plot(self, **kw: Any) -> Display:
        """Information and standard error along the scale."""
        from itemwise.displays import DISPLAYS

        return DISPLAYS["information"](self.to_frame()).plot(**kw)
