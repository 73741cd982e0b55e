"""What makes items hard: facts of items, by latent regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ogive.arguments import checked_share
from ogive.calibration import Calibration
from ogive.estimation import calibrate
from ogive.estimation.chosen_models import model_for
from ogive.estimation.explained_items import ExplainedItems, explain_items_of, usable_items
from ogive.models import AUTO, MeasurementModel
from ogive.numerics.arrays import Floats
from ogive.progress import Progress, telling
from ogive.responses import Table, as_responses
from ogive.studies.groups.fact_columns import Columns, fact_columns
from ogive.studies.groups.fact_regression import FactRegression, coefficient_frame
from ogive.studies.groups.shared_ability import check_shared_ability
from ogive.words import listed

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ItemExplanation", "explain_items"]


@dataclass(frozen=True, eq=False, repr=False)
class ItemExplanation(FactRegression):
    """How the difficulty of items depends on facts about them.

    `coefficients` has one row per fact: how much difficulty, in standard deviations of these
    respondents' ability, rises with one unit of it while the others stay. `r2` is the share of the
    variance of true difficulty that the facts explain. `items` has one row per item.
    """

    made_by: ClassVar[str] = "explain_items"
    kind_of_rows: ClassVar[str] = "items"
    outcome: ClassVar[str] = "difficulty"
    never: ClassVar[str] = "an item that was never asked"

    items: pd.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def measured(self) -> pd.DataFrame:
        """The items."""
        return self.items


def explain_items(
    responses: Table,
    facts: Sequence[str] | pd.DataFrame | None = None,
    *,
    model: str | MeasurementModel = AUTO,
    confidence: float = 0.95,
    progress: Progress | bool = True,
) -> ItemExplanation:
    """Explain the difficulty of items by facts about them: length, subject, source.

    Latent regression, seen from the items: true difficulty has a mean that depends on the facts
    and a scatter of its own, and coefficients are those of true difficulty, not of an estimate.
    Their errors count how uncertain every difficulty is. The frame has one row per fact:
    coefficient, se, low, high, p. To predict difficulty by many features and any regressor, see
    `DifficultyRegressor` and `explain_difficulty`.

    Parameters
    ----------
    responses
        Respondents × items.
    facts
        Names of facts of the items; or a frame with one row per item. Numbers are used as they are
        (take logarithms yourself), dates as years, and words as groups compared with the most
        frequent one. Left out: all facts that are numbers.
    model
        Measurement model of the items.
    confidence
        Level of intervals and bands.
    progress
        True shows a bar in a terminal or a notebook, False nothing; a callable is called with
        (done, total, message).

    Notes
    -----
    The likelihood of every item along its difficulty is integrated as it is (De Boeck and Wilson,
    2004, chapter 6, call the model an LLTM with error); the scatter is found by restricted maximum
    likelihood. Items that better respondents answer worse, and items about whose difficulty
    nothing is known, are left out.

    Examples
    --------
    >>> import ogive as og
    >>> import numpy as np
    >>> random = np.random.default_rng(1)
    >>> length = random.uniform(2, 6, 60)
    >>> hard = 0.5 * (length - 4) + random.normal(0, 0.5, 60)
    >>> items = {"difficulty": hard, "discrimination": np.ones(60)}
    >>> drawn = og.simulate("2pl", 200, items=items, random_state=1).responses
    >>> found = og.explain_items(drawn.described(items={"length": length}), ["length"])
    >>> bool(found.coefficients.loc["length", "low"] > 0.2)
    True
    """
    table = as_responses(responses)
    checked_share(confidence, "confidence", 0.95)
    fact_columns(table, facts, "item")  # bad facts are refused before the work
    chosen, picked = model_for(model, table)
    with telling(progress, "Explaining difficulty"):
        bank = calibrate(table, chosen, progress=False)
        check_shared_ability(bank, table)
        used = usable_items(bank)
        columns = fact_columns(table, facts, "item", used)
        found = explain_items_of(bank, table, columns.matrix, used)
    return _explained(found, bank, columns, confidence, picked)


def _explained(
    found: ExplainedItems,
    bank: Calibration,
    columns: Columns,
    confidence: float,
    picked: Sequence[str],
) -> ItemExplanation:
    """Coefficients, and R² by the delta method."""
    import pandas as pd

    used = [name for name, kept in zip(bank.item_names, found.used, strict=True) if kept]
    errors = np.sqrt(np.maximum(np.diag(found.covariance), 0.0))
    r2, r2_se = _share(found, columns.matrix)
    items = pd.DataFrame(
        {"difficulty": found.difficulty, "se": found.difficulty_se, "expected": found.means},
        index=pd.Index(used, name="item"),
    )
    out = [name for name, kept in zip(bank.item_names, found.used, strict=True) if not kept]
    why = "better respondents answer worse, or nothing is known of the difficulty"
    said = [f"{listed(out, 'item')} left out: {why}."] if out else []
    return ItemExplanation(
        coefficients=coefficient_frame(found.coefficients, errors, confidence, columns),
        r2=r2,
        r2_se=r2_se,
        residual_sd=found.sd,
        confidence=confidence,
        columns=columns,
        covariance=found.covariance,
        calibration=bank,
        items=items,
        notes=(*picked, *columns.notes, *said),
    )


def _share(found: ExplainedItems, matrix: Floats) -> tuple[float, float]:
    """R² of true difficulty, and its error."""
    centered = matrix - matrix.mean(axis=0)
    explained, left = float((centered @ found.coefficients).var()), found.sd**2
    share = explained / (explained + left)
    slope = 2 * centered.T @ (centered @ found.coefficients) / len(matrix)
    of_explained = float(slope @ found.covariance @ slope) / explained**2
    relative = of_explained + (2 * found.log_sd_error) ** 2
    return share, share * (1 - share) * float(np.sqrt(relative))
