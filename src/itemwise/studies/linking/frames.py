"""What a linking shows: anchors on both scales, and where the respondents stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from itemwise.calibration import Calibration
from itemwise.numerics.arrays import Floats
from itemwise.studies.linking.drift import Comparison
from itemwise.studies.linking.lines import Anchors, Line

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.models import MeasurementModel

NAMES = ("difficulty", "discrimination")


def anchor_frame(
    anchors: Anchors, names: Sequence[str], found: Comparison, drifted: np.ndarray, line: Line
) -> pd.DataFrame:
    """One row an anchor: parameters on the old scale by both banks, differences, and the test."""
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


def population_frame(
    old: Calibration, linked: Calibration, new: Calibration, line: Line
) -> pd.DataFrame:
    """Mean and deviation of the respondents on the old scale; new ones with what the line adds."""
    import pandas as pd

    way = np.array([new.population.mean, 1.0])
    mean_se = float(np.sqrt(way @ line.covariance @ way))
    sd_se = float(np.sqrt(line.covariance[0, 0])) * new.population.sd
    rows = [
        (old.population.mean, 0.0, old.population.sd, 0.0),
        (linked.population.mean, mean_se, linked.population.sd, sd_se),
    ]
    index = pd.Index(["old", "new"], name="respondents")
    return pd.DataFrame(rows, index=index, columns=["mean", "mean_se", "sd", "sd_se"])


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
