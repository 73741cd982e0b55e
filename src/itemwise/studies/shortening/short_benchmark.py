"""ShortBenchmark: some items that stand for all, and what they say of a respondent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.arguments import checked_share, one_of
from itemwise.calibration import Calibration
from itemwise.errors import InputError
from itemwise.numerics.arrays import Floats
from itemwise.numerics.reach import normal_reach
from itemwise.responses import Responses, Table, as_responses
from itemwise.results import Result
from itemwise.studies.shortening.folds import BASELINE, Margin, bounds, known_of
from itemwise.studies.shortening.incomplete import reach_of
from itemwise.studies.shortening.predictors import PREDICTORS
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.displays import Display

FIGURES = ("prediction", "items")


@dataclass(frozen=True, eq=False, repr=False)
class ShortBenchmark(Result):
    """Items that stand for a whole benchmark.

    `error` has a row for each way to predict the accuracy on all items: the first is what this
    short form does, its error that of respondents held out, with items chosen and all else
    learned without them. `held_out` has their accuracy, true and predicted. Of grades and scores,
    accuracy is the mean response.
    """

    items: tuple[str, ...]  # in the order of choice
    weights: Floats  # (size,); the share of the benchmark that each item stands for
    groups: tuple[str, ...] | None  # of the chosen items
    method: str
    predictor: str
    numbers: Mapping[str, Floats]  # what the predictor has learned
    calibration: Calibration  # of all items
    margin: Margin
    confidence: float  # of intervals
    errors: Mapping[str, tuple[Any, ...]]  # the columns of `error`
    respondents: tuple[str, ...]
    accuracy: Floats  # (n_respondents,), as the next three: on all items
    predicted: Floats  # by those who never saw the respondent
    low: Floats
    high: Floats
    form: Floats  # (n_respondents, size); what they were asked of the short form, NaN if nothing
    notes: tuple[str, ...] = ()

    @cached_property
    def bank(self) -> Calibration:
        """The chosen items, on the scale of all."""
        return self.calibration.of_items(self.items)

    @property
    def error(self) -> pd.DataFrame:
        """One row a way: mean absolute error with its standard error, bias, ranks, coverage."""
        import pandas as pd

        return pd.DataFrame({name: list(column) for name, column in self.errors.items()})

    @property
    def held_out(self) -> pd.DataFrame:
        """One row a respondent: accuracy on all items, prediction without it, and its interval."""
        import pandas as pd

        columns = {
            "accuracy": self.accuracy,
            "predicted": self.predicted,
            "low": self.low,
            "high": self.high,
        }
        return pd.DataFrame(columns, index=pd.Index(self.respondents, name="respondent"))

    def predict(self, responses: Table) -> pd.DataFrame:
        """What the accuracy on all items would be, of respondents who were asked the short form.

        `responses` may hold other items as well; they are left out, and items that were not
        asked are expected from those that were. The interval from `accuracy_low` to
        `accuracy_high` holds for the share `confidence` of respondents like those of the
        benchmark; with fewer items it is as wide as masking those respondents alike shows that it
        must be. `ability` and `ability_se` are on the scale of all items; `n_items` counts
        those asked.
        """
        import pandas as pd

        short = self._asked(as_responses(responses, self.calibration.model.kind))
        known, unsure = known_of(self.calibration, short, self.weights)
        predictor, ends = PREDICTORS[self.predictor], bounds(self.calibration)
        value = np.clip(predictor.predict(self.numbers, known), *ends)
        reach = reach_of(self, np.asarray(short.observed), unsure)
        scored = self.bank.score(short)
        columns = {
            "accuracy": value,
            "accuracy_low": np.clip(value - reach, *ends),
            "accuracy_high": np.clip(value + reach, *ends),
            "ability": scored["ability"].to_numpy(),
            "ability_se": scored["se"].to_numpy(),
            "n_items": short.observed.sum(axis=1),
        }
        return pd.DataFrame(columns, index=pd.Index(short.respondents, name="respondent"))

    def _asked(self, table: Responses) -> Responses:
        """The items of the short form, in their order; a column of gaps where one is missing."""
        there = set(table.items)
        if not there & set(self.items):
            raise InputError(
                f"None of the {counted(len(self.items), 'item')} of the short form are in these "
                f"responses, which have {', '.join(table.items[:3])}, ... Items are known by "
                f"name: {', '.join(self.items[:3])}, ..."
            )
        part = table.select(items=[name for name in self.items if name in there])
        if part.items == self.items:
            return part
        cells = self.bank.placed(part)
        return (
            Responses(cells, part.respondents, self.items, "continuous")
            if part.kind == "continuous"
            else Responses.from_codes(cells, part.respondents, self.items, part.kind)
        )

    @property
    def meaning(self) -> str:
        """How far off the short form is, beside items drawn by lot."""
        own, lot = (self._row(name) for name in ((self.method, self.predictor), BASELINE))
        whole = counted(len(self.calibration.item_names), "item")
        return (
            f"{len(self.items):,} of {whole} predict the accuracy on all of them with a mean "
            f"error of {own['mae']:.3f} (± {normal_reach(self.confidence) * own['mae_se']:.3f}) "
            f"for respondents that had no say, where as many items drawn by lot are off by "
            f"{lot['mae']:.3f}{self._said_of_lots(own)}; {own['coverage']:.0%} of the "
            f"{self.confidence:.0%} intervals hold."
        )

    def _said_of_lots(self, own: dict[str, Any]) -> str:
        """Whether that is more than chance, where it is not."""
        gain, se = own["gain"], own["gain_se"]
        return "" if gain > normal_reach(0.95) * se else " (no better than drawing lots here)"

    def _row(self, way: tuple[str, str]) -> dict[str, Any]:
        """The figures of a way; the first row is that of the short form itself."""
        pairs = list(zip(self.errors["method"], self.errors["predictor"], strict=True))
        place = 0 if way != BASELINE else pairs.index(BASELINE)
        return {name: column[place] for name, column in self.errors.items()}

    def to_frame(self) -> pd.DataFrame:
        """One row a chosen item: weight, parameters with standard errors, and group."""
        frame = self.bank.items
        frame.insert(0, "weight", self.weights)
        if self.groups is not None:
            frame.insert(1, "group", list(self.groups))
        return frame

    def plot(self, kind: str = "prediction", **kw: Any) -> Display:
        """Accuracy of respondents held out, true and predicted; or the "items" by difficulty."""
        from itemwise.displays import DISPLAYS

        if one_of(kind, "kind", FIGURES) == "prediction":
            return DISPLAYS["prediction"](self.held_out).plot(**kw)
        make: Any = DISPLAYS["ranking"]
        shown: Display = make(self.to_frame(), estimate="difficulty", se="difficulty_se")
        shown.plot(**kw).ax_.set_xlabel("difficulty (bar: ±1.96 standard errors)")
        return shown

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the short form as .json, which `itemwise.load` reads.

        As .csv, .parquet or .html, the frame of its items is written.
        """
        from itemwise.studies.shortening.saving import save_short_benchmark

        if Path(path).suffix.lower() == ".json":
            return save_short_benchmark(self, path)
        return super().save(path)


def checked_confidence(value: object) -> float:
    """The share of respondents whose accuracy intervals are to hold."""
    return checked_share(value, "confidence", 0.95)


def load_short_benchmark(file: Path, document: Mapping[str, Any]) -> ShortBenchmark:
    """Restore the short benchmark that `ShortBenchmark.save` wrote; it predicts as before."""
    from itemwise.studies.shortening.saving import read_short_benchmark

    return ShortBenchmark(**read_short_benchmark(file, document))
