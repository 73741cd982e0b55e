"""Item fit: whether respondents answer each item as its curve says.

S-X² (Orlando and Thissen, 2000; Kang and Chen, 2008) compares observed and expected responses
in groups of equal summed score; infit and outfit (Wright and Masters, 1982) weigh surprises at
the abilities found. Adjusted p-values: Benjamini and Hochberg (1995).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibration import Calibration
from ogive.diagnostics.diagnosis import Diagnosis, left_out, material_of, observed
from ogive.diagnostics.summed_score_fit import s_x2
from ogive.models.categorical import Categorical
from ogive.numerics.arrays import Floats
from ogive.numerics.multiplicity import benjamini_hochberg
from ogive.words import counted, listed, said_p

if TYPE_CHECKING:
    import pandas as pd

    from ogive.displays import Display
    from ogive.responses import Table

ALPHA = 0.05
MOST_SCORES = 4_000  # summed scores of graded items, of which S-X² needs all distributions
TOO_MANY_SCORES = (
    f"S-X² of graded items is left out above {MOST_SCORES:,} possible summed scores: what it costs "
    "grows with their square. Ask for some of the items, with responses.select(items=[...])."
)


@dataclass(frozen=True, eq=False, repr=False)
class ItemFit(Diagnosis):
    """How well each item follows its curve.

    `s_x2` is a chi-square statistic with `s_x2_df` degrees of freedom; a small p-value says that
    the curve has the wrong form. `infit` and `outfit` are 1 where responses vary as expected,
    above 1 where they surprise; `infit_se` and `outfit_se` say how far chance takes them from 1
    with so many responses, and `noise_p` how likely chance makes an item as noisy, by the larger
    of the two. `zh` is low where responses are unlikely. All are computed at EAP abilities, which
    follow the responses: on short tests they lie below 1 and their z is too small. A figure that
    does not exist is NaN; `notes` say why.
    """

    items: tuple[str, ...]
    s_x2: Floats  # (n_items,), as all that follow
    s_x2_df: Floats
    s_x2_p: Floats
    s_x2_p_adjusted: Floats
    s_x2_rmsea: Floats
    infit: Floats
    infit_se: Floats
    infit_z: Floats
    outfit: Floats
    outfit_se: Floats
    outfit_z: Floats
    noise_p: Floats
    noise_p_adjusted: Floats
    zh: Floats
    n: Floats  # respondents who were asked the item
    n_complete: float  # respondents behind S-X²
    notes: tuple[str, ...] = ()

    @property
    def misfitting(self) -> tuple[str, ...]:
        """Items whose adjusted p-value of S-X² is below 0.05, the worst first."""
        order = np.argsort(self.s_x2_p, kind="stable")
        return tuple(self.items[k] for k in order if self.s_x2_p_adjusted[k] < ALPHA)

    @property
    def noisy(self) -> tuple[str, ...]:
        """Items that are noisier than chance makes them (adjusted p below 0.05), worst first."""
        order = np.argsort(self.noise_p, kind="stable")
        return tuple(self.items[k] for k in order if self.noise_p_adjusted[k] < ALPHA)

    @property
    def meaning(self) -> str:
        """One sentence for readers who are not psychometricians."""
        return f"{self._said_of_form()} {self._said_of_noise()}"

    def _said_of_form(self) -> str:
        tested = int(np.isfinite(self.s_x2_p).sum())
        if not tested:
            return "The form of the curves could not be tested."
        bad = self.misfitting
        if not bad:
            return (
                f"None of the {counted(tested, 'tested item')} departs from its curve by more "
                f"than chance (smallest adjusted {said_p(np.nanmin(self.s_x2_p_adjusted))})."
            )
        worst = self.s_x2_p_adjusted[self.items.index(bad[0])]
        return (
            f"Of {counted(tested, 'tested item')}, {listed(bad, 'item')} "
            f"{'departs from its curve' if len(bad) == 1 else 'depart from their curves'} by more "
            f"than chance (adjusted p of the worst = {worst:.2g})."
        )

    def _said_of_noise(self) -> str:
        tested, noisy = int(np.isfinite(self.noise_p).sum()), self.noisy
        if not tested:
            return "How noisy items are could not be tested."
        if not noisy:
            return (
                f"None of {counted(tested, 'item')} is noisier than chance makes it (infit and "
                f"outfit; smallest adjusted {said_p(np.nanmin(self.noise_p_adjusted))})."
                f"{self._untested()}"
            )
        verb = "is" if len(noisy) == 1 else "are"
        return (
            f"{listed(noisy, 'item')} {verb} noisier than expected (infit or outfit, after "
            f"correction for {counted(tested, 'test')}).{self._untested()}"
        )

    def _untested(self) -> str:
        """Why some items with differing responses were not tested for noise."""
        n_others = int((np.isfinite(self.infit) & np.isnan(self.noise_p)).sum())
        if not n_others:
            return ""
        return (
            f" {counted(n_others, 'other item')} could not be tested: responses vary, but a single "
            "one decides infit and outfit there (standard errors above 1)."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per item."""
        import pandas as pd

        names = (
            *("s_x2", "s_x2_df", "s_x2_p", "s_x2_p_adjusted", "s_x2_rmsea"),
            *("infit", "infit_se", "infit_z", "outfit", "outfit_se", "outfit_z"),
            *("noise_p", "noise_p_adjusted", "zh", "n"),
        )
        columns = {name: getattr(self, name) for name in names}
        return pd.DataFrame(columns, index=pd.Index(self.items, name="item"))

    def plot(self, **kw: Any) -> Display:
        """Infit against outfit; items noisier than chance, or off their curve, are named."""
        from ogive.displays import DISPLAYS

        return DISPLAYS["item_fit"](self.to_frame()).plot(**kw)


def item_fit(calibration: Calibration, responses: Table | None = None) -> ItemFit:
    """Compare the responses to each item with its curve.

    The responses are those of the calibration unless others are given. Infit, outfit and zh use
    all that were observed. S-X² needs respondents who were asked all items that anybody was
    asked, and a model of ordered categories; with more than two categories it takes about
    n_items² × nodes steps: seconds for 500 items, a minute for 2,000. With two it takes seconds for
    20,000 items. Items to which all responses are the same have no infit, outfit and zh, nor have
    scores of which fewer than five differ from the others.

    The frame has one row per item: s_x2, s_x2_df, s_x2_p, s_x2_p_adjusted, s_x2_rmsea (Orlando and
    Thissen, 2000), infit and outfit with se and z (Wright and Masters, 1982), noise_p,
    noise_p_adjusted, zh (Drasgow et al., 1985) and n.

    >>> import ogive as og
    >>> found = og.calibrate(og.simulate("2pl", 200, 10, random_state=0).responses, "2pl")
    >>> round(float(og.item_fit(found).to_frame()["infit"].mean()), 1)
    0.9
    """
    material, _, _, _ = material_of(calibration, responses, "item_fit")
    fit = material.by_item()
    found, freedom, n_complete, notes = _form(calibration, material.cells, material.weights)
    p = _upper_tail(found, freedom)
    return ItemFit(
        items=calibration.item_names,
        s_x2=found,
        s_x2_df=freedom,
        s_x2_p=p,
        s_x2_p_adjusted=benjamini_hochberg(p),
        s_x2_rmsea=_rmsea(found, freedom, n_complete),
        infit=fit.infit,
        infit_se=fit.infit_se,
        infit_z=fit.infit_z,
        outfit=fit.outfit,
        outfit_se=fit.outfit_se,
        outfit_z=fit.outfit_z,
        noise_p=fit.noise_p,
        noise_p_adjusted=benjamini_hochberg(fit.noise_p),
        zh=fit.zh,
        n=material.weights @ material.asked,
        n_complete=n_complete,
        notes=(*notes, *left_out(calibration, material.told)),
    )


def _form(
    calibration: Calibration, cells: np.ndarray, weights: Floats
) -> tuple[Floats, Floats, float, tuple[str, ...]]:
    """S-X², its degrees of freedom, the number of respondents behind it, and notes."""
    nothing = np.full(cells.shape[1], np.nan)
    model = calibration.model
    if not isinstance(model, Categorical):
        return nothing, nothing, 0.0, (f"S-X² does not apply to the {model.name} model.",)
    asked = observed(cells)
    items = np.flatnonzero(asked.any(axis=0))
    rows: np.ndarray = np.asarray(asked[:, items].all(axis=1))
    n_complete = float(weights[rows].sum())
    notes = _said_of_rows(rows, n_complete)
    if model.n_categories > 2 and items.size * (model.n_categories - 1) > MOST_SCORES:
        return nothing, nothing, n_complete, (*notes, TOO_MANY_SCORES)
    statistic, freedom = nothing.copy(), nothing.copy()
    if items.size and rows.any():
        part = cells[np.ix_(rows, items)]
        statistic[items], freedom[items] = s_x2(
            model, calibration.coords[items], calibration.population, part, weights[rows]
        )
    if rows.any() and np.isnan(statistic).all():
        few = "S-X² is missing: too few respondents or items for a degree of freedom."
        notes = (*notes, few)
    return statistic, freedom, n_complete, notes


def _said_of_rows(rows: np.ndarray, n_complete: float) -> tuple[str, ...]:
    if rows.all():
        return ()
    if not rows.any():
        return ("S-X² is missing: no respondent was asked every item.",)
    count = round(n_complete)
    who = f"{counted(count, 'respondent')} ({rows.mean():.0%})"
    return (f"S-X² uses the {who} who {'was' if count == 1 else 'were'} asked every item.",)


def _upper_tail(statistic: Floats, freedom: Floats) -> Floats:
    from scipy.special import chdtrc

    p: Floats = chdtrc(freedom, statistic)
    return p


def _rmsea(statistic: Floats, freedom: Floats, n: float) -> Floats:
    """Misfit per degree of freedom, independent of sample size (Steiger and Lind, 1980)."""
    if n <= 1:
        return np.full(statistic.shape, np.nan)
    return np.sqrt(np.maximum(statistic - freedom, 0.0) / (freedom * (n - 1)))
