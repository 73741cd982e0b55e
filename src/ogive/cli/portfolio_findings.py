"""What `ogive portfolio` finds: the portfolio, whom to keep, what that costs, and the plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ogive.errors import InputError
from ogive.portfolios.portfolio_choice import METHODS
from ogive.results.base import stacked

if TYPE_CHECKING:
    import pandas as pd

    from ogive.cli.output import Console
    from ogive.data.datasets.aslib import AslibScenario
    from ogive.portfolios.airt import ChosenPortfolio, Portfolio
    from ogive.portfolios.instance_space import InstanceSpace
    from ogive.portfolios.portfolio_gaps import PortfolioComparison
    from ogive.reporting.exports import Contents
    from ogive.results.base import Result


class Told(NamedTuple):
    """The results of the command."""

    found: Portfolio
    chosen: ChosenPortfolio
    compared: PortfolioComparison | None
    missing: list[str]  # why there is no comparison
    epsilons: list[float]
    random_state: int
    space: InstanceSpace | None  # where problems have features

    @property
    def findings(self) -> list[Result]:
        """All results, in the order in which they are reported."""
        every = (self.found, self.chosen, self.compared, self.space)
        return [each for each in every if each is not None]

    @property
    def notes(self) -> list[str]:
        """The notes of all results, each once."""
        every = [note for each in self.findings for note in getattr(each, "notes", ())]
        return list(dict.fromkeys([*every, *self.missing]))

    def occupancy(self, epsilon: float) -> pd.DataFrame:
        """Share of the problems at which each algorithm is within `epsilon` of the best curve."""
        return self.found.occupancy(epsilon, random_state=self.random_state)

    def contents(self, size: int | None) -> Contents:
        """Return everything that is written; portfolios are chosen by each method."""
        from ogive.reporting.exports import Contents

        found, compared = self.found, self.compared
        chosen = {
            name: found.select(self.chosen.epsilon, size=size, method=name) for name in METHODS
        }
        tables = found.tables(self.epsilons, self.random_state)
        tables["chosen"] = stacked("method", {name: one.frame for name, one in chosen.items()})
        figures = found.figures(self.epsilons)
        said = {"portfolio": found.sentences()}
        if compared is not None:
            tables["gaps"], figures["gaps"] = compared.to_frame(), compared.plot
            new = [note for note in compared.notes if note not in found.notes]
            said["gaps"] = [compared.meaning, *new]
        elif self.missing:
            said["gaps"] = list(self.missing)
        if self.space is not None:
            tables |= self.space.tables()
            figures["instance_space"] = self.space.plot
            said["instance space"] = [self.space.meaning]
        said |= {f"chosen by {name}": one.sentences() for name, one in chosen.items()}
        return Contents(tables, figures, found.banks(), said, found.meaning, found.notes)

    def document(self) -> dict[str, Any]:
        """Return the values for --json."""
        return {
            "meaning": [each.meaning for each in self.findings],
            "notes": self.notes,
            "algorithms": self.found.algorithms,
            "epsilon": self.chosen.epsilon,
            "occupancy": self.occupancy(self.chosen.epsilon),
            "chosen": self.chosen.to_frame(),
            "gaps": None if self.compared is None else self.compared.to_frame(),
        }


def found_in(
    console: Console,
    table: pd.DataFrame | AslibScenario,
    settings: dict[str, Any],
    epsilons: list[float],
    size: int | None,
    cv: int | None,
    random_state: int,
) -> Told:
    """Fit, choose by the largest epsilon, and compare."""
    from ogive.portfolios.airt import portfolio as study

    largest = max(epsilons)
    with console.progress("Fitting"):
        found = study(table, **settings)
        chosen = found.select(largest, size=size)
    with console.progress("Comparing portfolios"):
        compared, missing = _compared(found, table, cv, epsilons, random_state)
    space = _space(found, table)
    return Told(found, chosen, compared, missing, epsilons, random_state, space)


def _space(found: Portfolio, table: pd.DataFrame | AslibScenario) -> InstanceSpace | None:
    """Return the plane of problems, if they have features that vary."""
    from ogive.portfolios.instance_space import instance_space

    features = getattr(table, "features", None)
    try:
        return None if features is None else instance_space(found, features)
    except InputError:
        return None


def _compared(
    found: Portfolio,
    table: pd.DataFrame | AslibScenario,
    cv: int | None,
    epsilons: list[float],
    random_state: int,
) -> tuple[PortfolioComparison | None, list[str]]:
    """Compare portfolios by size; None if there are too few problems and no folds were given."""
    from ogive.portfolios.portfolio_gaps import compare_portfolios

    parts = cv or getattr(table, "folds", None)
    asked: dict[str, Any] = {} if parts is None else {"cv": parts}
    try:
        return compare_portfolios(found, epsilon=epsilons, random_state=random_state, **asked), []
    except InputError as reason:
        if cv is not None:
            raise
        return None, [f"Portfolios are not compared. {reason}"]
