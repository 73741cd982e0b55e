"""What linking shows: anchors on both scales, and who answered on either side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ogive.calibration import Calibration
from ogive.estimation.fit_task import FEW
from ogive.models import MeasurementModel
from ogive.numerics.arrays import Floats
from ogive.studies.linking.linking_anchors import Comparison
from ogive.studies.linking.linking_lines import Anchors, Line

if TYPE_CHECKING:
    import pandas as pd

NAMES = ("difficulty", "discrimination")


def anchor_table(
    anchors: Anchors, names: Sequence[str], found: Comparison, drifted: np.ndarray, line: Line
) -> pd.DataFrame:
    """One row per anchor: its parameters on the old scale by both banks, and the test."""
    import pandas as pd

    linked = line.moved(anchors.model, anchors.new)
    added = line.covariances(anchors.model, anchors.new, anchors.new_covariances)
    old, old_error = _parameters(anchors.model, anchors.old, anchors.old_covariances)
    new, new_error = _parameters(anchors.model, linked, added)
    columns: dict[str, Floats | np.ndarray] = {}
    for name in NAMES:
        columns[f"{name}_old"], columns[f"{name}_new"] = old[name], new[name]
        columns[f"{name}_difference"] = new[name] - old[name]
        columns[f"{name}_difference_se"] = np.hypot(old_error[name], new_error[name])
        if name == NAMES[0]:
            columns |= {"p_adjusted": found.p_adjusted, "drifted": drifted}
    columns |= {"distance": found.distance, "statistic": found.statistic, "p": found.p}
    for name in NAMES:
        columns[f"{name}_old_se"], columns[f"{name}_new_se"] = old_error[name], new_error[name]
    return pd.DataFrame(columns, index=pd.Index(names, name="item"))


def population_table(
    old: Calibration, linked: Calibration, new: Calibration, line: Line
) -> pd.DataFrame:
    """Mean and standard deviation of old and new respondents; errors are those of the line."""
    import pandas as pd

    (mean, sd), (old_mean, old_sd) = _respondents(new), _respondents(old)
    way = np.array([mean, 1.0])
    mean_se = float(np.sqrt(way @ line.covariance @ way))
    sd_se = float(np.sqrt(line.covariance[0, 0])) * sd
    there, spread = _respondents(linked)
    rows = [(old_mean, 0.0, old_sd, 0.0), (there, mean_se, spread, sd_se)]
    index = pd.Index(["old", "new"], name="respondents")
    return pd.DataFrame(rows, index=index, columns=["mean", "mean_se", "sd", "sd_se"])


def _respondents(calibration: Calibration) -> tuple[float, float]:
    """Mean and standard deviation of the respondents, on the scale of a calibration.

    They are the population's, except where a few respondents faced so many items that the scale
    was moved to them, and their prior with it (`estimation/few_respondents.py`).
    """
    population, table = calibration.population, calibration.responses
    if table is None or table.n_respondents >= FEW:
        return population.mean, population.sd
    scored = calibration.abilities(items_known=True)
    ability, se = scored["ability"].to_numpy(), scored["se"].to_numpy()
    return float(ability.mean()), float(np.sqrt(ability.var() + (se**2).mean()))


def _parameters(
    model: MeasurementModel, coords: Floats, covariances: Floats
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Difficulty and discrimination with their standard errors."""
    found, jacobian = model.parameters(coords), model.parameter_jacobian(coords)
    variances = {
        name: np.einsum("ni,nij,nj->n", jacobian[name], covariances, jacobian[name])
        for name in NAMES
    }
    errors = {name: np.sqrt(np.maximum(variances[name], 0.0)) for name in NAMES}
    return {name: found[name] for name in NAMES}, errors
