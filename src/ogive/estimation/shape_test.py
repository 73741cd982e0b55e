"""Whether abilities are normal: a score test on the fitted normal shape.

Under a normal population the third and fourth Hermite polynomials of ability have mean zero, given
the responses, too, however unevenly the items tell; a skewed or heavy-tailed pool moves them. The
posterior masses of the last E-step hold both sums, so that the test costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

import numpy as np

from ogive.estimation.fits import Expectation
from ogive.scoring.posterior import Nodes

LEVEL = 0.01  # how often many normal pools would be called something else
# Where items are many and respondents few, discriminations follow chance and put single respondents
# far out, which makes the statistic larger: at 100 respondents the limit is twice as high, at 50
# five times. Few respondents would gain nothing from a shape anyway (benchmarks/populations.py).
FEW = 100.0
ENOUGH = 200.0  # respondents from which a shape brings discriminations nearer to the truth
OTHERWISE = "A model that misses something, such as guessing, may look like this, too."


@dataclass(frozen=True)
class ShapeTest:
    """What the posterior says against a normal shape."""

    skewness: float  # in the units of a perfectly known pool; 0 where it is normal
    kurtosis: float  # beyond that of the normal
    statistic: float  # of two degrees of freedom where respondents are many
    n_respondents: float

    @classmethod
    def of(cls, nodes: Nodes, found: Expectation) -> ShapeTest:
        """The test at the end of a fit with a standard normal population.

        What responses leave unknown of ability shrinks a polynomial of degree k by the k-th power
        of the square root of the reliability.
        """
        assert found.mass is not None  # noqa: S101 - only the normal way has none
        n, x = float(found.mass.sum()), nodes.fine
        reliability = float(np.clip(found.scale[0, 0] / n, 1e-3, 1.0))
        third = float(found.mass @ (x**3 - 3 * x)) / n
        fourth = float(found.mass @ (x**4 - 6 * x**2 + 3)) / n
        statistic = n * third**2 / (6 * reliability**3) + n * fourth**2 / (24 * reliability**4)
        return cls(third / reliability**3, fourth / reliability**4, statistic, n)

    @property
    def worth(self) -> float:
        """The statistic, less what few respondents add to it."""
        return self.statistic / (1 + (FEW / self.n_respondents) ** 2)

    @property
    def p_value(self) -> float:
        """How often a normal pool would look as far from normal."""
        return exp(-0.5 * self.worth)

    @property
    def refutes(self) -> bool:
        """Whether the pool is not normal."""
        return self.p_value < LEVEL

    @property
    def said(self) -> str:
        """Why a shape was fitted."""
        return (
            f"A normal distribution of abilities does not fit these respondents {self._figures}, "
            f"so its shape was fitted with the items, as population='auto' asks. {OTHERWISE}"
        )

    @property
    def advice(self) -> str:
        """What to do after a normal fit; empty where a shape would not bring items nearer."""
        if not self.refutes or self.n_respondents < ENOUGH:
            return ""
        return (
            f"A normal distribution of abilities does not fit these respondents {self._figures}, "
            "and discriminations suffer from it: population='auto' fits the shape with the items. "
            f"{OTHERWISE}"
        )

    @property
    def _figures(self) -> str:
        p = "p < 0.001" if self.p_value < 1e-3 else f"p = {self.p_value:.3f}"
        return f"(skewness {self.skewness:.1f}, excess kurtosis {self.kurtosis:.1f}; {p})"
