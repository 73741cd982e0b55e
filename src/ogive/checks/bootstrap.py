"""A parametric bootstrap of anything that follows from a calibration (Efron and Tibshirani, 1993).

A calibration says how responses come about. So it can draw others, be calibrated on them again,
and show by how much a result differs from one table to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ogive._processes import one_by_one
from ogive._progress import Wanted, telling
from ogive._validation import checked_share, whole_number
from ogive.checks.residuals import Diagnosis, checked_calibration
from ogive.errors import InputError
from ogive.irt.calibrating import calibrate_again
from ogive.irt.calibration import Calibration
from ogive.irt.simulation import simulate_again
from ogive.results.numbers import counted
from ogive.stats.array_backend import Floats

if TYPE_CHECKING:
    from ogive.results.plots.figure import Display

Statistic = Callable[[Calibration], Any]

LEAST_FITS = 10  # resamples that a standard deviation needs at least


@dataclass(frozen=True, eq=False, repr=False)
class Resampling(Diagnosis):
    """How much a result differs between tables that the calibration could have seen.

    `resamples` has one row per resample and one column per number of the statistic, NaN if there is
    none. `n_failed` fits ended with an error, the first of them for the reason `why_failed`, and
    `n_unconverged` did not converge; both are left out.
    """

    estimate: Floats  # (n_numbers,)
    resamples: Floats  # (n_resamples, n_numbers)
    names: pd.Index  # of the numbers
    confidence: float
    n_failed: int
    n_unconverged: int
    why_failed: str
    notes: tuple[str, ...] = ()

    @property
    def failed(self) -> np.ndarray:
        """Number of resamples without a result, for each number of the statistic."""
        return np.asarray((~np.isfinite(self.resamples)).sum(axis=0))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per number: estimate, bias, standard error and interval, and `failed`."""
        finite = np.isfinite(self.resamples)
        enough = len(self.resamples) - self.failed >= LEAST_FITS
        kept = np.where(enough, self.resamples, np.nan)
        n = np.where(enough, finite.sum(axis=0), np.nan)
        mean = np.where(finite & enough, kept, 0.0).sum(axis=0) / n
        squares = np.where(finite & enough, kept - mean, 0.0) ** 2
        low, high = _basic_intervals(kept, self.estimate, self.confidence)
        columns = {
            "estimate": self.estimate,
            "bias": mean - self.estimate,
            "se": np.sqrt(squares.sum(axis=0) / (n - 1)),
            "low": low,
            "high": high,
            "failed": self.failed,
        }
        return pd.DataFrame(columns, index=self.names)

    def plot(self, **kw: Any) -> Display:
        """Draw estimates with their standard errors."""
        from ogive.results.plots import DISPLAYS

        frame = self.to_frame()
        frame.index = [" ".join(map(str, np.atleast_1d(name))) for name in frame.index]
        ranking: Any = DISPLAYS["ranking"]
        display: Display = ranking(frame, estimate="estimate")
        return display.plot(**kw)

    @property
    def meaning(self) -> str:
        """The number and its interval, or of how many there is one; and how many fits failed."""
        frame, tables = self.to_frame(), counted(len(self.resamples), "simulated table")
        if len(frame) == 1:
            row = frame.iloc[0]
            text = (
                f"{row['estimate']:.3g} has standard error {row['se']:.2g} over {tables} "
                f"({self.confidence:.0%} interval {row['low']:.3g} to {row['high']:.3g})"
            )
        else:
            known = int(np.isfinite(frame["se"]).sum())
            text = f"{known} of {len(frame)} numbers have a standard error over {tables}"
        reasons = []
        if self.n_failed:
            reasons.append(f"{self.n_failed} failed, the first because: {self.why_failed}")
        if self.n_unconverged:
            reasons.append(f"{self.n_unconverged} did not converge")
        if not reasons:
            return f"{text}; all fits converged."
        return f"{text}; {self.n_failed + self.n_unconverged} left out: {'; '.join(reasons)}."


def resample(
    calibration: Calibration,
    statistic: Statistic,
    *,
    n_resamples: int = 200,
    confidence: float = 0.95,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Wanted = True,
) -> Resampling:
    """Find the error of any result of a calibration by simulating and calibrating again.

    Each resample has the shape of the calibration's responses, with the same missing cells and
    weights; abilities are drawn from the population. It is calibrated with the same model,
    priors and engine, and `statistic` is applied to what comes out. The frame has one row per
    number of the statistic: estimate, bias, se, low, high, failed.

    Parameters
    ----------
    calibration
        A calibration with its responses, by any model and engine.
    statistic
        A function that takes a calibration and returns a number, an array, a Series or a
        DataFrame, always of one shape and with the same names. It is sent to the workers.
    n_resamples
        200 give a standard error to about 5 %; ends of an interval want more.
    confidence
        Level of the intervals.
    random_state
        Seed; the result does not depend on `n_jobs`.
    n_jobs
        Processes, as in joblib.
    progress
        True shows a bar, False nothing; a callable is called with (done, total, message).

    Notes
    -----
    The respondents of a resample are others than those of the table, so that a statistic of a
    single respondent says nothing about it; `Calibration.abilities` and `Calibration.compare` have
    the errors of abilities. Nothing is aligned: each resample has the origin and the unit of its
    own population. Intervals are basic ones (Davison and Hinkley, 1997). Fits
    that fail or do not converge are left out and counted.

    Examples
    --------
    >>> import ogive as og
    >>> found = og.calibrate(og.simulate("2pl", 300, 8, random_state=0).responses, "2pl")
    >>> spread = lambda cal: cal.items["difficulty"].std()
    >>> og.resample(found, spread, n_resamples=20).to_frame()["failed"].tolist()
    [0]
    """
    from joblib import delayed

    checked_calibration(calibration, "resample")
    if calibration.responses is None:
        raise InputError(
            "resample needs to know who was asked what, and a calibration loaded from a file has "
            "no responses. Calibrate the responses again."
        )
    if np.isnan(calibration.log_likelihood) or calibration.fitted_by is None:
        raise InputError(
            "This calibration is a part of another, or was put together from known items: it "
            "cannot be fitted again in the same way. Give the whole, and pick in the statistic."
        )
    n = whole_number(n_resamples, "n_resamples", LEAST_FITS)
    checked_share(confidence, "confidence", 0.95)
    whole_number(random_state, "random_state", 0)
    first = _numbers(statistic, calibration, "the calibration itself", "the calibration")
    fits: list[_Fit] = []
    work = partial(_fit_resample, calibration, statistic, first)
    # Each resample has a seed of its own, so that the workers do not matter.
    seeds = np.random.SeedSequence(random_state).spawn(n)
    calls = [delayed(work)(seed, k) for k, seed in enumerate(seeds, start=1)]
    with telling(progress, "Resampling") as report, closing(one_by_one(calls, n_jobs)) as done:
        for fit in done:
            fits.append(fit)
            report(len(fits), n, counted(len(fits), "table"))
    table = np.stack([np.full(first.row.size, np.nan) if f.row is None else f.row for f in fits])
    failed = [fit.failure for fit in fits if fit.failure]
    unconverged = sum(fit.row is None and not fit.failure for fit in fits)
    if n - len(failed) - unconverged < LEAST_FITS:
        raise InputError(
            f"Of {n} simulated tables, {unconverged} could not be fitted to convergence and "
            f"{len(failed)} not at all{f' ({failed[0]})' if failed else ''}, so that there is "
            "nothing to compare. Use a simpler model, priors, or more iterations."
        )
    notes, weights = [], calibration.weights
    if not calibration.converged:
        notes.append("The calibration itself did not converge, so that its bias means little.")
    if weights is not None and not (weights == np.round(weights)).all():
        notes.append(
            "Weights are not whole numbers: each row was drawn as one respondent that counts as "
            "often as its weight says."
        )
    return Resampling(
        estimate=first.row,
        resamples=table,
        names=first.names,
        confidence=float(confidence),
        n_failed=len(failed),
        n_unconverged=unconverged,
        why_failed=failed[0] if failed else "",
        notes=tuple(notes),
    )


class _Numbers(NamedTuple):
    """Result of a statistic: its form, its numbers in a row, and their names."""

    form: str
    row: Floats
    names: pd.Index


class _Fit(NamedTuple):
    """Statistic of one resample; None if its fit failed or did not converge."""

    row: Floats | None
    failure: str = ""


def _fit_resample(
    calibration: Calibration,
    statistic: Statistic,
    first: _Numbers,
    seed: np.random.SeedSequence,
    number: int,
) -> _Fit:
    table, weights = simulate_again(calibration, np.random.default_rng(seed))
    try:
        fit = calibrate_again(calibration, table, weights)
    except (InputError, ArithmeticError, np.linalg.LinAlgError) as error:
        return _Fit(None, str(error) or type(error).__name__)
    if not fit.converged:
        return _Fit(None)
    where = f"resample {number}"
    numbers = _numbers(statistic, fit, where, where)
    if numbers.form != first.form or not numbers.names.equals(first.names):
        own, others = (
            f"{counted(each.row.size, 'number')} ({', '.join(map(str, each.names[:3]))}, ...)"
            for each in (numbers, first)
        )
        raise InputError(
            f"statistic gives {numbers.form} for {where}, but {first.form} for the calibration, or "
            f"other names: {own} instead of {others}. It must give the same "
            "numbers in the same order each time; the respondents of a resample are not those of "
            "the table."
        )
    return _Fit(numbers.row)


def _numbers(statistic: Statistic, calibration: Calibration, where: str, what: str) -> _Numbers:
    """Return the statistic of a calibration as a row of numbers with names."""
    if not callable(statistic):
        raise InputError(
            "`statistic` must be a function of a calibration, such as lambda cal: "
            f"cal.items['difficulty'], got {statistic!r:.60}."
        )
    try:
        value = statistic(calibration)
    except Exception as error:
        raise InputError(f"statistic fails for {where}: {type(error).__name__}: {error}") from error
    names: pd.Index[Any]
    if isinstance(value, pd.DataFrame):
        form = f"a frame of {value.shape[0]} × {value.shape[1]}"
        names = pd.MultiIndex.from_product(
            [value.index.tolist(), value.columns.tolist()], names=["row", "column"]
        )
    elif isinstance(value, pd.Series):
        form, names = f"a series of {value.size}", value.index
    else:
        shape = np.shape(value)
        form = f"an array of {' × '.join(map(str, shape))}" if shape else "a number"
        indices = [", ".join(map(str, index)) for index in np.ndindex(*shape)]
        names = pd.Index(indices if shape else ["statistic"])
    try:
        row = np.asarray(value, dtype=float).reshape(-1)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"statistic gives {type(value).__name__} for {what}, which does not hold numbers "
            f"only: {error}. Return a number, an array, a Series or a DataFrame of numbers."
        ) from error
    if not row.size:
        raise InputError(f"statistic gives nothing for {what}: {form}.")
    return _Numbers(form, row, names)


def _basic_intervals(
    resamples: Floats, estimate: Floats, confidence: float
) -> tuple[Floats, Floats]:
    """Return basic intervals: the truth is as far from the estimate as that from the resamples.

    Percentiles corrected for bias covered 0.915 of 200 truths of which these covered 0.955. Of few
    resamples, the outer quantiles are those that one more would exceed as often as it should.
    """
    ends = np.full((2, estimate.size), np.nan)
    tails = [0.5 + confidence / 2, 0.5 - confidence / 2]
    for k, (column, middle) in enumerate(zip(resamples.T, estimate, strict=True)):
        finite = column[np.isfinite(column)]
        if finite.size and np.isfinite(middle):
            ends[:, k] = 2 * middle - np.quantile(finite, tails, method="weibull")
    return ends[0], ends[1]
