"""An unfitted regressor with the coding of columns before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from itemwise.learning.presets import regressor_of
from itemwise.learning.rows import coder_of
from itemwise.learning.targets import equally_hard
from itemwise.numerics.arrays import Floats

if TYPE_CHECKING:
    from itemwise.learning.columns import Plan


def pipeline_of(regressor: Any, plan: Plan | None, target: Floats, seed: int) -> Any:
    """Codes columns as planned (an array without a plan), then predicts; made for `target`."""
    from sklearn.pipeline import make_pipeline

    return make_pipeline(coder_of(plan), bare_regressor(regressor, target, seed))


def bare_regressor(regressor: Any, target: Floats, seed: int) -> Any:
    """A preset or a copy of a regressor; where the target is constant, one that says so."""
    from sklearn.dummy import DummyRegressor

    made = regressor_of(regressor, len(target), seed)
    return DummyRegressor() if equally_hard(target) else made  # some divide by the spread
