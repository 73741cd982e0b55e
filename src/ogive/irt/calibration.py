"""The Calibration itself: what was found about the items, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ogive.errors import InputError
from ogive.irt.bank_writing import save_bank
from ogive.irt.encoded_responses import Encoded
from ogive.irt.item_covariances import Uncertainty, errors_of_items
from ogive.irt.item_curves import (
    FLAT,
    NEGATIVE,
    CategoryCurves,
    Curves,
    TestInformation,
    as_abilities,
    category_curves_of,
    curves_of,
    ranked_abilities,
    rows_on_scale,
    said_of_scale,
)
from ogive.irt.linkage import HELD
from ogive.irt.local_dependence import dependence_note
from ogive.irt.models.base import MeasurementModel
from ogive.irt.quadrature import Population
from ogive.irt.replay_error import RealError
from ogive.irt.scored_respondents import ScoredRespondents
from ogive.results.base import Draw, Result, picked, table
from ogive.results.numbers import counted
from ogive.stats.array_backend import Floats

if TYPE_CHECKING:
    import os
    from pathlib import Path

    import pandas as pd

    from ogive.data.responses import Responses
    from ogive.data.scan import ScannedResponses
    from ogive.results.plots.figure import Display

CURVE_POINTS = 161
CURVE_REACH = 4.0  # range of curves, in standard deviations of the population
UNKNOWN = 1e6  # standard error above which a parameter counts as unknown
NO_ERROR = "no standard error"  # flag: the responses leave a parameter open
FEWER = "fewer grades"  # flag: fewer grades than other items, so that some thresholds are missing

T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(ScoredRespondents, Result):
    """Items on a scale.

    `coords` are the numbers that engines move, `items` shows them as discrimination, difficulty
    and so on. Saved, a calibration is an item bank: it keeps the items, not the responses.

    >>> import ogive as og
    >>> bank = og.calibrate(og.simulate("2pl", 300, 4, random_state=0).responses, "2pl")
    >>> bank.score([[1, 1, 0, 1], [0, 0, 0, 0]])["ability"].round(1).tolist()
    [0.6, -1.0]
    """

    model: MeasurementModel
    item_names: tuple[str, ...]
    coords: Floats  # (n_items, width)
    uncertainty: Uncertainty
    population: Population
    log_likelihood: float
    n_respondents: float  # the sum of their weights
    iterations: int
    converged: bool
    engine: str
    fit_notes: tuple[str, ...] = ()  # what is said of the fit; `notes` adds what responses show
    flags: tuple[tuple[str, ...], ...] = ()  # of each item; empty where there is nothing to say
    responses: Responses | None = None
    scanned: ScannedResponses | None = None  # in their place, if they are read in blocks
    weights: Floats | None = None  # how many respondents each row of `responses` stands for
    encoded: Encoded | None = None  # `responses` on the engine's device, if it has one
    fitted_by: Any = None  # the engine with its settings; None for a bank from a file
    dependence: float = 0.0  # correlation of repeated answers of a respondent to an item
    replayed: RealError | None = None  # of adaptive evaluations, if a replay has measured it

    def __post_init__(self) -> None:
        self.coords.setflags(write=False)
        if not self.flags:
            object.__setattr__(self, "flags", ((),) * len(self.item_names))

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the fit, and on items that depend on each other (Q3)."""
        return (*self.fit_notes, *self._doubts)

    @cached_property
    def _doubts(self) -> tuple[str, ...]:
        """The note on dependent items, made when first asked for: it can take longer than a fit."""
        note = dependence_note(self)
        return () if note is None or note in self.fit_notes else (note,)

    @property
    def items(self) -> pd.DataFrame:
        """One row per item: the model's parameters, <name>_se of each, and `flag`."""
        return self._items.copy()

    @cached_property
    def _items(self) -> pd.DataFrame:
        parameters = self.model.parameters(self.coords)
        errors = self._standard_errors()
        columns: dict[str, Any] = dict(parameters)
        columns.update({f"{name}_se": errors[name] for name in parameters})
        if (part := self.parts[1]).any():
            columns["part"] = part + 1
        # A number that is not finite needs a flag that says why, unless another flag does.
        known = np.isfinite(np.stack([*parameters.values()], axis=1))
        sure = np.isfinite(np.stack([errors[name] for name in parameters], axis=1)) | ~known
        flags = []
        for words, all_known, all_sure in zip(
            self.flags, map(all, known), map(all, sure), strict=True
        ):
            explained = any(word not in (NEGATIVE, FLAT) for word in words)
            unsure = [] if all_sure or explained else [NO_ERROR]
            fewer = [] if all_known or explained else [FEWER]
            flags.append("; ".join([*words, *unsure, *fewer]))
        columns["flag"] = flags
        return table(columns, self.item_names, "item")

    def of_items(self, items: Sequence[str]) -> Calibration:
        """Select some of the items; their parameters stay as they are.

        A part has no log-likelihood.
        """
        places = self._positions(items)
        return replace(
            self,
            model=self.model.of_items(places),
            item_names=tuple(self.item_names[k] for k in places),
            coords=self.coords[places],
            uncertainty=errors_of_items(self.uncertainty, places),
            log_likelihood=np.nan,
            flags=tuple(self.flags[k] for k in places),
            responses=None if self.responses is None else self.responses.select(items=items),
            encoded=None,
            replayed=None,
        )

    @property
    def n_parameters(self) -> int:
        """Number of estimated numbers: a shared one counts once, one at its bound not at all."""
        free = ~self.model.at_bound(self.coords)
        shared = self.model.shared
        held = np.array([HELD in words for words in self.flags])
        if held.any():  # mean and standard deviation of the population were estimated instead
            return 2 + int(free[~held][:, ~shared].sum())
        return sum(1 if common else int(free[:, k].sum()) for k, common in enumerate(shared))

    @property
    def aic(self) -> float:
        """Akaike's information criterion; the log-likelihood without priors."""
        return 2 * self.n_parameters - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz' information criterion; the log-likelihood without priors."""
        return float(np.log(self.n_respondents)) * self.n_parameters - 2 * self.log_likelihood

    def probability(self, abilities: Any) -> pd.DataFrame:
        """Return the expected response, if binary the chance to be right: abilities × items."""
        import pandas as pd

        ability, index = as_abilities(abilities)
        found = self.model.expected(self.coords, ability)
        return pd.DataFrame(found.T, index=index, columns=pd.Index(self.item_names, name="item"))

    def information(self, abilities: Any) -> pd.DataFrame:
        """Return Fisher information of each item on ability: abilities × items."""
        import pandas as pd

        ability, index = as_abilities(abilities)
        found = self.model.information(self.coords, ability)
        return pd.DataFrame(found.T, index=index, columns=pd.Index(self.item_names, name="item"))

    def curves(self, items: str | Sequence[str] | None = None, abilities: Any = None) -> Curves:
        """Return item characteristic curves with pointwise standard errors, ready to plot."""
        return curves_of(self, self._positions(items), self._axis(abilities))

    def category_curves(self, item: str, abilities: Any = None) -> CategoryCurves:
        """Return the probability of each grade of one item along the scale, ready to plot."""
        return category_curves_of(self, self._positions([item])[0], self._axis(abilities))

    def test_information(self, abilities: Any = None) -> TestInformation:
        """Return information of all items together along the scale, ready to plot."""
        ability = self._axis(abilities)
        return TestInformation(ability, self.model.information(self.coords, ability).sum(axis=0))

    def to_frame(self) -> pd.DataFrame:
        """Return the items."""
        return self.items

    @property
    def meaning(self) -> str:
        """The strongest respondent, the size of the scale, and the number of negative items."""
        return said_of_scale(self)

    def sentences(self) -> list[str]:
        """Return the meaning, the notes on how responses were read, and the notes."""
        read = () if self.responses is None else self.responses.notes
        return [self.meaning, *read, *self.notes]

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the items, and the respondents where they are known."""
        found = {"items": self.items}
        return found if self.responses is None else found | {"respondents": ranked_abilities(self)}

    def page_tables(self) -> dict[str, pd.DataFrame]:
        """Return the respondents; the items are shown in the explorer."""
        return picked(self.tables(), "respondents")

    def figures(self) -> dict[str, Draw]:
        """Return items and respondents on one scale, and the test information."""
        information: Draw = lambda: self.test_information().plot()  # noqa: E731
        return {"items_and_respondents_on_one_scale": self.plot, "information": information}

    def banks(self) -> dict[str, Calibration]:
        """Return the calibration itself."""
        return {"items": self}

    def plot(self, **kw: Any) -> Display:
        """Return respondents and items on one scale."""
        from ogive.results.plots import DISPLAYS

        return DISPLAYS["item_map"](rows_on_scale(self)).plot(**kw)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the item bank: .json, or .parquet for many items; `ogive.load` reads both."""
        return save_bank(self, path)

    def _lines(self) -> list[str]:
        """Return the model and how its fit went, then the notes."""
        value = f"log-likelihood {self.log_likelihood:,.2f}"
        heading = (
            f"Calibration: {self.model.name}, {counted(len(self.item_names), 'item')}, "
            f"{'part of a calibration' if np.isnan(self.log_likelihood) else value}, "
            f"{'' if self.converged else 'NOT '}converged after "
            f"{counted(self.iterations, 'iteration')}"
        )
        return [heading, *self.notes]

    def __repr__(self) -> str:
        return "\n  - ".join(self._lines())

    def _explorer_html(self) -> str:
        """Return the item explorer of a report; it stands above, so that it is asked by name."""
        return import_module("ogive.reporting.explorer").explorer_html(self)  # type: ignore[no-any-return]

    def _standard_errors(self) -> dict[str, Floats]:
        """Apply the delta method; NaN for a parameter at its bound or without information."""
        covariances = self.uncertainty.covariances
        jacobian = self.model.parameter_jacobian(self.coords)
        errors = {}
        for name, slope in jacobian.items():
            variance = np.einsum("ni,nij,nj->n", slope, covariances, slope)
            error = np.sqrt(np.maximum(variance, 0.0))
            errors[name] = np.where(error > UNKNOWN, np.nan, error)
        held = self.model.at_bound(self.coords)
        for k, coordinate in enumerate(self.model.coordinates):
            if coordinate.name in errors and not coordinate.shared:
                errors[coordinate.name] = np.where(held[:, k], np.nan, errors[coordinate.name])
        return errors

    def _positions(self, items: str | Sequence[str] | None) -> np.ndarray:
        if items is None:
            return np.arange(len(self.item_names))
        place = {name: k for k, name in enumerate(self.item_names)}
        if not isinstance(items, Iterable):
            raise InputError(f"`items` must be names of items, such as 'item_1', got {items!r}.")
        wanted = [items] if isinstance(items, str) else list(items)
        if not wanted:
            raise InputError("items is empty; name at least one, or leave it out for all.")
        unknown = [name for name in wanted if name not in place]
        if unknown:
            raise InputError(
                f"There is no item {unknown[0]!r} in this calibration. "
                f"Its items are {', '.join(self.item_names[:5])}, ..."
            )
        return np.array([place[name] for name in wanted], dtype=int)

    def _axis(self, abilities: Any) -> Floats:
        """Return points along the scale: those given, or four population sds each way."""
        if abilities is None:
            return np.linspace(*self.population.reach(CURVE_REACH), CURVE_POINTS)
        return as_abilities(abilities)[0]


def once(calibration: Calibration, name: str, compute: Callable[[], T]) -> T:
    """Return the value of `compute`, kept with the calibration under this `name`.

    A calibration is frozen, so that values that follow from it alone can be kept with it.
    """
    kept: dict[str, T] = calibration.__dict__.setdefault("_kept_by_others", {})
    if name not in kept:
        kept[name] = compute()
    return kept[name]
