"""What a calibration shows: respondents in frames, and a sentence on the scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.calibration.calibration import Calibration
    from itemwise.responses import Responses
    from itemwise.scoring.expected_scores import ScoreSums


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


def ranked_abilities(calibration: Calibration) -> pd.DataFrame:
    """Return the respondents with their facts, the strongest first."""
    abilities = calibration.abilities()
    if calibration.responses is not None:
        facts = calibration.responses.respondent_facts
        abilities = abilities.join(facts.drop(columns=abilities.columns, errors="ignore"))
    return abilities.sort_values("ability", ascending=False, kind="stable")


def said_of_scale(calibration: Calibration) -> str:
    """Say who is strongest, what stands on the scale, and how many items are negative."""
    items = calibration.items
    negative = int((items["discrimination"] < 0).sum())
    respondents = counted(round(calibration.n_respondents), "respondent")
    said = (
        f"{counted(len(items), 'item')} and {respondents} stand on one scale "
        f"({calibration.model.name})."
    )
    if negative:
        one = negative == 1
        said += (
            f" {counted(negative, 'item')} discriminate{'s' if one else ''} negatively: strong "
            f"respondents fail {'it' if one else 'them'} more often than weak ones."
        )
    if calibration.responses is None or len(calibration.responses.respondents) < 2:
        return said
    return f"{_strongest(calibration.abilities())} {said}"


def _strongest(abilities: pd.DataFrame) -> str:
    """Say who has the highest ability, and how many cannot be distinguished from it."""
    first = abilities.sort_values("ability", ascending=False, kind="stable").iloc[0]
    others = abilities.drop(index=str(first.name))
    noise = (others["se"] ** 2 + first["se"] ** 2) ** 0.5
    near = int((first["ability"] - others["ability"] <= 1.96 * noise).sum())
    reach = 1.96 * float(first["se"])
    where = f"{first.name} is strongest (ability {float(first['ability']):.2f} ± {reach:.2f})"
    if not near:
        return f"{where}."
    return f"{where}; {counted(near, 'other')} cannot be distinguished from it."


def rows_on_scale(calibration: Calibration) -> pd.DataFrame:
    """Return items and respondents with their positions, as the item map draws them."""
    import pandas as pd

    items = calibration.items
    rows = [_rows("item", items, items["difficulty"], items["difficulty_se"])]
    if calibration.responses is not None:
        scored = calibration.abilities()
        rows.append(_rows("respondent", scored, scored["ability"], scored["se"]))
    return pd.concat(rows, ignore_index=True)


def _rows(kind: str, frame: pd.DataFrame, position: pd.Series, se: pd.Series) -> pd.DataFrame:
    import pandas as pd

    columns = {"kind": kind, "name": list(frame.index)}
    return pd.DataFrame(columns).assign(position=position.to_numpy(), se=se.to_numpy())
