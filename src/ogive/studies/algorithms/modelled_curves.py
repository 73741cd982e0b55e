"""Expected performance along difficulty as the fitted model has it, and as it may be.

Splines do not know the model; its expected performance is a second opinion on who is best where.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ogive.calibration import Calibration
from ogive.calibration.calibration import UNKNOWN
from ogive.models import Censored
from ogive.numerics.arrays import Floats
from ogive.numerics.special import log_normal_cdf, sigmoid_pair
from ogive.numerics.splines import Splines
from ogive.studies.algorithms.performances import Performances

PLACES = 201  # of the abilities of problems, equally many between two
NODES = 24  # of the normal noise
FAR_OUT = 6.0  # standard deviations; there is no noise beyond
SPREAD = (np.arange(11) + 0.5) / 11  # quantiles of what is not known of each ability


@dataclass(frozen=True, eq=False)
class ModelledCurves:
    """The continuous model of a portfolio as curves of performance."""

    calibration: Calibration
    performances: Performances
    splines: Splines  # of algorithms that the model leaves out

    def drawn(self, draws: int, random: np.random.Generator) -> Floats:
        """Curves as the parameters may be, (draws, n_places, n_algorithms).

        Places are quantiles of the abilities of the problems, which are known with an error.
        """
        places = self._places()
        import pandas as pd

        named = pd.Index(list(self.calibration.item_names))
        known = self.performances.algorithms.get_indexer(named)
        curves = np.repeat(self.splines.at(-places)[None], draws, axis=0)
        for k, coords in enumerate(drawn_coords(self.calibration, draws, random)):
            curves[k][:, known] = self._expected(coords, places)
        return curves

    def _places(self) -> Floats:
        from scipy.special import ndtri

        scored = self.calibration.abilities("eap", items_known=True)
        ability, se = (scored[name].to_numpy(dtype=float) for name in ("ability", "se"))
        likely = ability[:, None] + se[:, None] * ndtri(SPREAD)
        found: Floats = np.quantile(likely, (np.arange(PLACES) + 0.5) / PLACES)
        return found

    def _late(self) -> float:
        """What a run that did not end counts as; all of them may be on problems left out."""
        table = self.performances
        assert table.unsolved is not None  # noqa: S101 - a censored model has such runs
        assert table.cut is not None  # noqa: S101 - it is where the model is censored
        cells = table.cells[table.unsolved.to_numpy()]
        return float(np.nanmean(cells)) if len(cells) else max(table.cut.limit, table.bounds[0])

    def _expected(self, coords: Floats, abilities: Floats) -> Floats:
        """Expected performance, (n_abilities, n_items), with runs that did not end."""
        table, model = self.performances, self.calibration.model
        low, high = (np.asarray(end)[..., None] for end in model.extent())
        noise = np.exp(coords[:, 2:3])
        mean = model.loadings(coords)[:, None] * abilities + coords[:, 1:2]
        start, late = np.full(mean.shape, -FAR_OUT), 0.0
        if isinstance(model, Censored):
            late = self._late()
            limit = model.ends(coords)[0][:, None]
            start = np.clip((limit - mean) / noise, -FAR_OUT, FAR_OUT)
        total = late * np.exp(log_normal_cdf(start))
        half = (FAR_OUT - start) / 2
        for point, weight in zip(*np.polynomial.legendre.leggauss(NODES), strict=True):
            x = start + half * (1 + point)
            value = low + (high - low) * sigmoid_pair(mean + noise * x)[0]
            dense = half * weight * np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi)
            total = total + dense * np.clip(value, *table.bounds)
        found: Floats = total.T
        return found


def drawn_coords(calibration: Calibration, draws: int, random: np.random.Generator) -> Floats:
    """Coordinates of the items as they may be, (draws, n_items, width).

    Items err each by itself, and all together where origin and unit of the scale are not known.
    """
    coords, errors = calibration.coords, calibration.uncertainty
    shared = np.nan_to_num(errors.shared)
    own = np.nan_to_num(errors.covariances) - np.einsum("sij,sik->ijk", shared, shared)
    sizes, directions = np.linalg.eigh((own + own.transpose(0, 2, 1)) / 2)
    # A direction of which nothing is known would put curves anywhere.
    kept = np.where(sizes < UNKNOWN, np.clip(sizes, 0.0, None), 0.0)
    root = directions * np.sqrt(kept)[:, None, :]
    moved = np.einsum("ijk,bik->bij", root, random.standard_normal((draws, *coords.shape)))
    together = np.einsum("bs,sij->bij", random.standard_normal((draws, len(shared))), shared)
    return np.stack([calibration.model.bounded(each) for each in coords + moved + together])
