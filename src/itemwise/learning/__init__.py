"""What learns from items and predicts for new ones.

Names are imported when they are used: scikit-learn and torch are heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from itemwise.learning.deep import DeepDifficultyRegressor as DeepDifficultyRegressor
    from itemwise.learning.regressor import DifficultyRegressor as DifficultyRegressor
    from itemwise.learning.stepwise import StepwiseRegressor as StepwiseRegressor
    from itemwise.learning.storing import load_regressor as load_regressor
    from itemwise.learning.storing import save_regressor as save_regressor

_HOMES = {
    "DeepDifficultyRegressor": "deep",
    "DifficultyRegressor": "regressor",
    "StepwiseRegressor": "stepwise",
    "load_regressor": "storing",
    "save_regressor": "storing",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'itemwise.learning' has no attribute {name!r}")
    value = getattr(import_module(f"itemwise.learning.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
