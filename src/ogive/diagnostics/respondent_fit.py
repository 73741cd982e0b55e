"""Respondent fit: whether the responses of each respondent go together.

Known as person fit in the literature: the standardised log-likelihood of Drasgow, Levine and
Williams (1985) for ordered categories, and the infit and outfit of Wright and Masters (1982).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibration import Calibration
from ogive.diagnostics.diagnosis import Diagnosis, Fit, left_out, material_of, noise_p
from ogive.errors import InputError
from ogive.numerics.arrays import Floats
from ogive.numerics.multiplicity import benjamini_hochberg
from ogive.words import counted, said_p

if TYPE_CHECKING:
    import pandas as pd

    from ogive.displays import Display
    from ogive.responses import Table

ALPHA = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class RespondentFit(Diagnosis):
    """How likely the responses of each respondent are.

    `zh` is far below 0 for a respondent who fails easy items and solves hard ones; `p` is the
    chance of a value that low. Abilities are estimated from the same responses, so that `zh`
    varies less than a standard normal and `p` is on the safe side. `infit` and `outfit` are 1
    where responses vary as expected. For scores, `zh` is that of residuals as if they were
    normal. All are NaN where nothing was asked and where no finite ability exists.
    """

    respondents: tuple[str, ...]
    ability: Floats  # (n_respondents,), as all that follow
    se: Floats
    zh: Floats
    p: Floats
    infit: Floats
    infit_z: Floats
    outfit: Floats
    outfit_z: Floats
    n: Floats  # items that the respondent was asked
    notes: tuple[str, ...] = ()

    @property
    def unlikely(self) -> tuple[str, ...]:
        """Respondents whose `p` is below 0.05, the least likely first."""
        order = np.argsort(self.p, kind="stable")
        return tuple(self.respondents[k] for k in order if self.p[k] < ALPHA)

    @property
    def found_nothing(self) -> bool:
        """Whether no respondent answered in an unlikely way."""
        return bool(np.isfinite(self.p).any()) and not self.unlikely

    @property
    def meaning(self) -> str:
        """One sentence for readers who are not psychometricians."""
        seen = int(np.isfinite(self.p).sum())
        if not seen:
            return self._said_of_squares()
        bad = self.unlikely
        share = f"{len(bad) / seen:.1%}"
        text = (
            f"{len(bad):,} of {counted(seen, 'respondent')} ({share}) answered in a way that is "
            f"unlikely at their ability (p below {ALPHA:g}; chance alone gives up to {ALPHA:.0%})"
        )
        if not bad:
            return f"{text}."
        k = self.respondents.index(bad[0])
        return f"{text}; the least likely is {bad[0]} (zh = {self.zh[k]:.2f}, {said_p(self.p[k])})."

    def _said_of_squares(self) -> str:
        seen = np.isfinite(self.outfit)
        if not seen.any():
            return "Nothing can be said of any respondent: none has responses and an ability."
        noisy = int((benjamini_hochberg(noise_p(self.infit_z, self.outfit_z)) < ALPHA).sum())
        return (
            f"{noisy:,} of {counted(int(seen.sum()), 'respondent')} answered more erratically "
            "than chance makes them (infit or outfit, after correction for multiple tests)."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per respondent."""
        import pandas as pd

        names = ("ability", "se", "zh", "p", "infit", "infit_z", "outfit", "outfit_z", "n")
        columns = {name: getattr(self, name) for name in names}
        return pd.DataFrame(columns, index=pd.Index(self.respondents, name="respondent"))

    def plot(self, **kw: Any) -> Display:
        """Ability against `zh`; the least likely respondents are named."""
        from ogive.displays import DISPLAYS

        if not np.isfinite(self.zh).any():
            raise InputError("No respondent has a zh, so that there is nothing to draw.")
        return DISPLAYS["respondent_fit"](self.to_frame()).plot(**kw)


def respondent_fit(
    calibration: Calibration, responses: Table | None = None, method: str = "eap"
) -> RespondentFit:
    """Judge the responses of each respondent at the ability estimated by `method`.

    The responses are those of the calibration unless others are given; each respondent is
    judged by the items it was asked, but for those to which all responses are the same.

    The frame has one row per respondent: ability, se, zh and its p (Drasgow et al., 1985), infit
    and outfit with their z (Wright and Masters, 1982) and n.

    >>> import ogive as og
    >>> found = og.calibrate(og.simulate("2pl", 200, 10, random_state=0).responses, "2pl")
    >>> og.respondent_fit(found).to_frame().shape
    (200, 9)
    """
    material, table, se, at_bound = material_of(
        calibration, responses, "respondent_fit", method, items_known=False
    )
    fit = material.by_respondent()
    judged = Fit(np.where(at_bound, np.nan, fit.sums))
    zh = judged.zh
    return RespondentFit(
        respondents=table.respondents,
        ability=material.ability,
        se=se,
        zh=zh,
        p=_lower_tail(zh),
        infit=judged.infit,
        infit_z=judged.infit_z,
        outfit=judged.outfit,
        outfit_z=judged.outfit_z,
        n=material.asked.sum(axis=1).astype(float),
        notes=left_out(calibration, material.told),
    )


def _lower_tail(zh: Floats) -> Floats:
    from scipy.special import ndtr

    p: Floats = ndtr(zh)
    return p
