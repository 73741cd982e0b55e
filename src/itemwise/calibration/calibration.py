"""The Calibration itself: what was found about the items, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from itemwise.calibration.bank_writing import save_bank
from itemwise.calibration.shown_scale import (
    CategoryCurves,
    Curves,
    TestInformation,
    as_abilities,
    category_curves_of,
    curves_of,
    ranked_abilities,
    rows_on_scale,
    said_of_scale,
    sums_frame,
)
from itemwise.calibration.uncertainty import KnownCovariances, Uncertainty
from itemwise.errors import InputError
from itemwise.models import MeasurementModel
from itemwise.numerics.arrays import Floats
from itemwise.responses import Responses, Table, as_responses
from itemwise.responses.encoding import Encoded, encode
from itemwise.results import Draw, Result, picked
from itemwise.scoring import Abilities, Population, score_abilities
from itemwise.scoring.expected_scores import (
    completed_means,
    total_scores,
    true_scores,
)
from itemwise.words import counted

if TYPE_CHECKING:
    import os
    from pathlib import Path

    import pandas as pd

    from itemwise.displays import Display

CURVE_POINTS = 161
UNKNOWN = 1e6  # a standard error beyond says that nothing is known
CURVE_REACH = 4.0
HELD = "held"  # flag of an item that kept the parameters of a bank
# Bytes. The encoding of a table is no larger than the table itself, and that of categories is the
# same memory; the encoding of a larger table is not kept.
MOST_KEPT = 1 << 28

T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Result):
    """Items on a scale.

    `coords` are the numbers that engines move, `items` shows them as discrimination, difficulty
    and so on. Saved, a calibration is an item bank: it keeps the items, not the responses.

    >>> import itemwise as iw
    >>> bank = iw.calibrate(iw.simulate("2pl", 300, 4, random_state=0).responses, "2pl")
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
    notes: tuple[str, ...] = ()
    flags: tuple[tuple[str, ...], ...] = ()  # of each item; empty where there is nothing to say
    responses: Responses | None = None
    weights: Floats | None = None  # how many respondents each row of `responses` stands for
    fitted_by: Any = None  # the engine with its settings; None for a bank from a file

    def __post_init__(self) -> None:
        self.coords.setflags(write=False)
        if not self.flags:
            object.__setattr__(self, "flags", ((),) * len(self.item_names))

    @property
    def items(self) -> pd.DataFrame:
        """One row per item: the model's parameters, <name>_se of each, and `flag`."""
        return self._items.copy()

    @cached_property
    def _items(self) -> pd.DataFrame:
        import pandas as pd

        parameters = self.model.parameters(self.coords)
        errors = self._standard_errors()
        columns: dict[str, Any] = dict(parameters)
        columns.update({f"{name}_se": errors[name] for name in parameters})
        columns["flag"] = ["; ".join(words) for words in self.flags]
        return pd.DataFrame(columns, index=pd.Index(self.item_names, name="item"))

    def of_items(self, items: Sequence[str]) -> Calibration:
        """The same scale with some of the items only; their parameters stay as they are.

        The log-likelihood was that of all items, so that a part has none.
        """
        places = self._positions(items)
        return replace(
            self,
            model=self.model.of_items(places),
            item_names=tuple(self.item_names[k] for k in places),
            coords=self.coords[places],
            uncertainty=KnownCovariances(self.uncertainty.covariances[places]),
            log_likelihood=np.nan,
            flags=tuple(self.flags[k] for k in places),
            responses=None if self.responses is None else self.responses.select(items=items),
        )

    @property
    def n_parameters(self) -> int:
        """Numbers that were estimated: a shared one counts once, one at its bound not at all."""
        free = ~self.model.at_bound(self.coords)
        shared = self.model.shared
        held = np.array([HELD in words for words in self.flags])
        if held.any():  # the population's mean and standard deviation were found in their place
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

    def abilities(self, method: str = "eap") -> pd.DataFrame:
        """Ability of each respondent of the calibration, with its standard error.

        `method` is "eap", "map", "ml" or "wle". `at_bound` marks respondents for whom no finite
        estimate exists (all right, all wrong, nothing asked): they stand at the end of the scale,
        or at the mean where they have no responses.
        """
        return self.score(self._own_responses(), method)

    def score(self, responses: Table, method: str = "eap") -> pd.DataFrame:
        """Ability of respondents who answered some items of this bank, known by item name."""
        import pandas as pd

        table = as_responses(responses, self.model.kind)
        own = table is self.responses and method == "eap"
        found = self._own_eap if own else self._scored(table, method)
        columns = {"ability": found.ability, "se": found.se, "at_bound": found.at_bound}
        return pd.DataFrame(columns, index=pd.Index(table.respondents, name="respondent"))

    def true_scores(
        self,
        responses: Table | None = None,
        method: str = "eap",
        *,
        keep_negative: bool = True,
    ) -> pd.DataFrame:
        """Expected sum of responses to all items (binary: number right, Σ P), and its mean.

        With `keep_negative=False`, items of negative discrimination are left out of the sum.
        """
        table, ability, se = self._standing(responses, method)
        keep = self._kept(keep_negative=keep_negative)
        sums = true_scores(self.model.of_items(keep), self.coords[keep], ability, se)
        return sums_frame("true_score", sums, table)

    def total_scores(
        self,
        responses: Table | None = None,
        method: str = "eap",
        *,
        keep_negative: bool = True,
    ) -> pd.DataFrame:
        """Σ P over right responses minus Σ (1 - P) over wrong ones, and its mean over items.

        Responses other than right and wrong count with their place between worst and best. With
        `keep_negative=False`, items of negative discrimination are left out of the sum.
        """
        table, ability, se = self._standing(responses, method)
        keep = self._kept(keep_negative=keep_negative)
        cells, model = self.placed(table)[:, keep], self.model.of_items(keep)
        sums = total_scores(cells, model, self.coords[keep], ability, se)
        return sums_frame("total_score", sums, table)

    def completed_scores(self, responses: Table | None = None) -> pd.DataFrame:
        """Mean response over all items (binary: accuracy) of respondents who were asked some.

        Responses count as they are, items that were not asked with what the ability makes them
        expect. `score_se` holds what is not known of both; `asked` counts the items.
        """
        import pandas as pd

        table = self._own_responses() if responses is None else responses
        table = as_responses(table, self.model.kind)
        found = completed_means(
            self._encode(table), self.placed(table), self.model, self.coords, self.population
        )
        columns = {"score": found.mean, "score_se": found.se, "asked": found.asked.astype(int)}
        return pd.DataFrame(columns, index=pd.Index(table.respondents, name="respondent"))

    def probability(self, abilities: Any) -> pd.DataFrame:
        """Expected response, for a binary model the chance to be right: abilities × items."""
        import pandas as pd

        ability, index = as_abilities(abilities)
        found = self.model.expected(self.coords, ability)
        return pd.DataFrame(found.T, index=index, columns=pd.Index(self.item_names, name="item"))

    def information(self, abilities: Any) -> pd.DataFrame:
        """Fisher information of each item on ability: abilities × items."""
        import pandas as pd

        ability, index = as_abilities(abilities)
        found = self.model.information(self.coords, ability)
        return pd.DataFrame(found.T, index=index, columns=pd.Index(self.item_names, name="item"))

    def curves(self, items: str | Sequence[str] | None = None, abilities: Any = None) -> Curves:
        """Item characteristic curves with pointwise standard errors, ready to plot."""
        return curves_of(self, self._positions(items), self._axis(abilities))

    def category_curves(self, item: str, abilities: Any = None) -> CategoryCurves:
        """How likely each grade of one item is along the scale, ready to plot."""
        return category_curves_of(self, self._positions([item])[0], self._axis(abilities))

    def test_information(self, abilities: Any = None) -> TestInformation:
        """Information of all items together along the scale, ready to plot."""
        ability = self._axis(abilities)
        return TestInformation(ability, self.model.information(self.coords, ability).sum(axis=0))

    def to_frame(self) -> pd.DataFrame:
        """The items."""
        return self.items

    @property
    def meaning(self) -> str:
        """Who is strongest, what stands on the scale, and how many items are negative."""
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
        """Respondents and items on one scale."""
        from itemwise.displays import DISPLAYS

        return DISPLAYS["item_map"](rows_on_scale(self)).plot(**kw)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the item bank: .json, or .parquet for many items; `itemwise.load` reads both."""
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

    def _standard_errors(self) -> dict[str, Floats]:
        """By the delta method; NaN for a parameter at its bound, or of which nothing is known."""
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

    def _standing(self, responses: Table | None, method: str) -> tuple[Responses, Floats, Floats]:
        """The responses, these or the calibration's own, and where their respondents stand."""
        table = self._own_responses() if responses is None else responses
        table = as_responses(table, self.model.kind)
        scored = self.score(table, method)
        return table, scored["ability"].to_numpy(), scored["se"].to_numpy()

    def _own_responses(self) -> Responses:
        if self.responses is None:
            raise InputError(
                "This calibration holds items, not responses: it was loaded from a file. "
                "Give the responses, as in cal.score(responses)."
            )
        return self.responses

    def _scored(self, table: Responses, method: str) -> Abilities:
        data = self._encode(table)
        return score_abilities(data, self.model, self.coords, self.population, method)

    @cached_property
    def _own_eap(self) -> Abilities:
        """EAP of the own respondents; frames that are handed out hold copies of it."""
        return self._scored(self._own_responses(), "eap")

    def _encode(self, responses: Responses) -> Encoded:
        """Responses as engines read them; the own ones are encoded once, unless they are huge."""
        kept = responses is self.responses and responses.cells.nbytes <= MOST_KEPT
        return self._own_encoding if kept else self._encoded(responses)

    @cached_property
    def _own_encoding(self) -> Encoded:
        found = self._encoded(self._own_responses())
        found.cells.setflags(write=False)  # it is shared by all who ask
        return found

    def _encoded(self, responses: Responses) -> Encoded:
        cells = self.placed(responses)
        self.model.check(cells, self.item_names)
        return encode(cells, self.model, collapsing=False)

    def cells(self, responses: Table | None = None) -> np.ndarray:
        """Responses, these or its own, as engines read them: items in the order of this bank."""
        table = self._own_responses() if responses is None else responses
        table = as_responses(table, self.model.kind)
        return np.asarray(self._encode(table).cells)

    def placed(self, responses: Responses) -> np.ndarray:
        """Responses in the order of this bank; items that were not asked stay empty."""
        if responses.items == self.item_names:
            return responses.cells
        place = {name: k for k, name in enumerate(self.item_names)}
        unknown = [name for name in responses.items if name not in place]
        if unknown:
            raise InputError(
                f"{len(unknown)} of {responses.n_items} items are not in this calibration, "
                f"for example {unknown[0]!r}. Leave them out with responses.select(items=[...]); "
                "items are known by name."
            )
        shape = responses.n_respondents, len(self.item_names)
        never = np.nan if responses.kind == "continuous" else -1
        cells = np.full(shape, never, dtype=responses.cells.dtype)
        cells[:, [place[name] for name in responses.items]] = responses.cells
        return cells

    def _kept(self, *, keep_negative: bool) -> np.ndarray:
        """Positions of the items that count; negative ones only where they are wanted."""
        slope = self.model.parameters(self.coords)["discrimination"]
        keep = np.arange(slope.size) if keep_negative else np.flatnonzero(slope >= 0)
        if keep.size == 0:
            raise InputError(
                "All items discriminate negatively, so none is left to score. "
                "Use keep_negative=True."
            )
        return keep

    def _positions(self, items: str | Sequence[str] | None) -> np.ndarray:
        if items is None:
            return np.arange(len(self.item_names))
        place = {name: k for k, name in enumerate(self.item_names)}
        if not isinstance(items, Iterable):
            raise InputError(f"items is {items!r}; give names of items, such as 'item_1'.")
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
        """Points along the scale: those given, or four population sds each way."""
        if abilities is None:
            return np.linspace(*self.population.reach(CURVE_REACH), CURVE_POINTS)
        return as_abilities(abilities)[0]


def once(calibration: Calibration, name: str, compute: Callable[[], T]) -> T:
    """What `compute` gives, computed when first asked for under this `name`.

    For what follows from a calibration alone: it is frozen, so that an answer stays true, and it
    keeps the answer as long as it lives.
    """
    kept: dict[str, T] = calibration.__dict__.setdefault("_kept_by_others", {})
    if name not in kept:
        kept[name] = compute()
    return kept[name]
