"""Estimators that learn from items and predict for new ones.

Names are imported when they are used: scikit-learn and torch are heavy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ogive.lazily import lazily

if TYPE_CHECKING:
    from ogive.learning.deep import DeepDifficultyRegressor as DeepDifficultyRegressor
    from ogive.learning.regressor import DifficultyRegressor as DifficultyRegressor
    from ogive.learning.stepwise import StepwiseRegressor as StepwiseRegressor
    from ogive.learning.table_preparation import TablePreparation as TablePreparation

_HOMES = {
    "DeepDifficultyRegressor": "deep",
    "DifficultyRegressor": "regressor",
    "StepwiseRegressor": "stepwise",
    "TablePreparation": "table_preparation",
}

__all__ = [*_HOMES]


__getattr__ = lazily(__name__, _HOMES)
