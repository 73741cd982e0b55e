"""A portfolio of algorithms laid out in a folder: tables, the item bank, all figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from itemwise.files import PathLike
from itemwise.report.folder import ReportFolder
from itemwise.studies import ChosenPortfolio, Portfolio, PortfolioComparison
from itemwise.studies.algorithms.portfolio_choice import METHODS
from itemwise.studies.algorithms.portfolio_figures import EPSILONS, FIGURES

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.displays import Display


def write_portfolio(
    portfolio: Portfolio,
    comparison: PortfolioComparison | None,
    folder: PathLike,
    *,
    epsilons: Sequence[float] = EPSILONS,
    size: int | None = None,
    random_state: int = 0,
    notes: Sequence[str] = (),
) -> list[Path]:
    """Write tables, item bank and figures; the paths of all files.

    Strengths, weaknesses and occupancy are told for each of `epsilons`, and portfolios of `size`
    algorithms are chosen by the largest; without a size, as many as are strong somewhere. `notes`
    say why there is no comparison.
    """
    report = ReportFolder.at(folder)
    chosen = {name: portfolio.select(max(epsilons), size=size, method=name) for name in METHODS}
    report.bank("algorithms", portfolio.calibration)
    for name, frame in _tables(portfolio, epsilons, random_state):
        report.table(name, frame)
    report.table("chosen", _by("method", {name: each.frame for name, each in chosen.items()}))
    for name, draw in _figures(portfolio, epsilons):
        report.figure(name, draw)
    if comparison is not None:
        report.table("gaps", comparison.to_frame())
        report.figure("gaps", comparison.plot)
    return report.finish({"sentences": _sentences(portfolio, comparison, chosen, notes)})


def _tables(
    portfolio: Portfolio, epsilons: Sequence[float], random_state: int
) -> Iterator[tuple[str, pd.DataFrame]]:
    yield "algorithms", portfolio.algorithms
    yield "problems", portfolio.problems
    yield "curves", portfolio.curves
    yield "strengths", _by("epsilon", {each: portfolio.strengths(each) for each in epsilons})
    yield "weaknesses", _by("epsilon", {each: portfolio.weaknesses(each) for each in epsilons})
    shares = {each: portfolio.occupancy(each, random_state=random_state) for each in epsilons}
    yield "occupancy", _by("epsilon", shares)
    yield "goodness", portfolio.goodness
    yield "goodness_curves", portfolio.goodness_curves


def _by(column: str, frames: dict[float, pd.DataFrame] | dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Frames of one form below each other, told apart by a first column."""
    import pandas as pd

    parts = []
    for value, frame in frames.items():
        flat = frame.reset_index() if frame.index.name else frame
        parts.append(flat.assign(**{column: value})[[column, *flat.columns]])
    return pd.concat(parts, ignore_index=True)


def _figures(
    portfolio: Portfolio, epsilons: Sequence[float]
) -> Iterator[tuple[str, Callable[[], Display]]]:
    for kind in FIGURES:
        if kind == "strengths":
            yield kind, partial(portfolio.plot, kind, epsilons=epsilons)
        elif kind != "densities" or portfolio.settings.model == "continuous":
            yield kind, partial(portfolio.plot, kind)  # grades have traces in place of densities


def _sentences(
    portfolio: Portfolio,
    comparison: PortfolioComparison | None,
    chosen: dict[str, ChosenPortfolio],
    notes: Sequence[str],
) -> dict[str, list[str]]:
    said = {"portfolio": portfolio.sentences()}
    if comparison is not None:
        more = [note for note in comparison.notes if note not in portfolio.notes]
        said["gaps"] = [comparison.meaning, *more]
    elif notes:
        said["gaps"] = list(notes)
    return said | {f"chosen by {name}": each.sentences() for name, each in chosen.items()}
