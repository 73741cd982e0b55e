"""Abilities that a caller gives, and scores as a caller sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.numerics.arrays import Floats
    from itemwise.responses import Responses
    from itemwise.scoring.expected_scores import ScoreSums

FARTHEST = 1e6  # an ability beyond is none


def as_abilities(abilities: Any) -> tuple[Floats, Any]:
    """Abilities as an array, and the names to show beside them."""
    import pandas as pd

    if isinstance(abilities, pd.DataFrame):
        if "ability" not in abilities:
            raise InputError(
                f"The frame of abilities has columns {', '.join(map(str, abilities.columns))}; "
                "it needs one called 'ability', as cal.abilities() gives."
            )
        abilities = abilities["ability"]
    index = abilities.index if isinstance(abilities, pd.Series) else None
    try:
        ability = np.atleast_1d(np.asarray(abilities, dtype=float))
    except (TypeError, ValueError) as error:
        raise InputError(f"Abilities must be numbers: {error}.") from error
    if np.abs(ability[np.isfinite(ability)]).max(initial=0.0) > FARTHEST:
        raise InputError(f"Abilities must lie within ±{FARTHEST:,.0f}; nobody is farther out.")
    if ability.ndim != 1 or not np.isfinite(ability).all():
        raise InputError(
            "Abilities must be one list of finite numbers; "
            f"got an array of shape {ability.shape}"
            + ("." if np.isfinite(ability).all() else " with infinite or missing values.")
        )
    return ability, pd.Index(ability, name="ability") if index is None else index


def sums_frame(name: str, sums: ScoreSums, responses: Responses) -> pd.DataFrame:
    """A score, its mean over items, and the standard errors of both."""
    import pandas as pd

    per_item = np.where(sums.n_items > 0, sums.n_items, 1.0)
    columns = {
        name: sums.total,
        f"{name}_se": sums.se,
        f"{name}_mean": sums.total / per_item,
        f"{name}_mean_se": sums.se / per_item,
    }
    return pd.DataFrame(columns, index=pd.Index(responses.respondents, name="respondent"))
