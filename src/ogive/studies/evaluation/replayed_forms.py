"""Fixed short forms beside adaptive tests: which of both predicts better on a benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibration.replayed_error import ADAPTIVE, FORM
from ogive.errors import InputError
from ogive.numerics.intervals import normal_reach
from ogive.numerics.prediction_error import COLUMNS
from ogive.progress import Progress
from ogive.responses import Responses
from ogive.shortening.short_benchmark import OWN, STRONGER, ShortBenchmark
from ogive.shortening.short_benchmark_file import short_document
from ogive.shortening.short_form import shorten

if TYPE_CHECKING:
    import pandas as pd

Errors = tuple[tuple[float, float], ...]  # by size: of random folds, and of the strongest tenth


def short_forms(
    table: Responses,
    sizes: tuple[int, ...],
    cv: int,
    confidence: float,
    seed: int,
    report: Progress,
) -> dict[int, ShortBenchmark]:
    """A short form of each size, judged on the folds of the replay; empty if there can be none."""
    found = {}
    for k, size in enumerate(sizes):
        report(k, len(sizes), f"short form of {size}")
        try:
            found[size] = shorten(
                table, size, cv=cv, confidence=confidence, random_state=seed, progress=False
            )
        except InputError:  # such as too few different respondents
            return {}
    return found


def form_errors(forms: Mapping[int, ShortBenchmark]) -> Errors:
    """Mean absolute errors of short forms, held out as the adaptive test is."""
    return tuple((_of(short, OWN)["mae"], _of(short, STRONGER)["mae"]) for short in forms.values())


def adaptive_errors(
    errors: pd.DataFrame, strongest: pd.DataFrame | None, sizes: tuple[int, ...]
) -> Errors:
    """Mean absolute errors of the adaptive test: of all replayed, and of the strongest tenth."""
    found = []
    for size in sizes:
        own = errors[(errors["method"] == ADAPTIVE) & (errors["n_items"] == size)]
        best = float("nan")
        if strongest is not None:
            mine = strongest[(strongest["method"] == ADAPTIVE) & (strongest["n_items"] == size)]
            best = float((mine["accuracy"] - mine["truth"]).abs().mean())
        found.append((float(own["mae"].iloc[0]), best))
    return tuple(found)


def better_forms(
    forms: Mapping[int, ShortBenchmark], own: Errors, others: Errors
) -> dict[int, dict[str, Any]]:
    """Short forms that beat the adaptive test, as their files have them.

    A new model is as likely like those seen as stronger, so both errors count the same, where both
    ways have been tried on stronger ones; otherwise the first decides.
    """
    # A difference is unknown where either error is.
    more = np.nanmean(np.subtract(own, others), axis=1)
    return {
        size: short_document(short)
        for (size, short), gain in zip(forms.items(), more, strict=True)
        if gain > 0
    }


def form_predictions(forms: Mapping[int, ShortBenchmark], confidence: float) -> pd.DataFrame:
    """One row per size and respondent, as for the other methods."""
    import pandas as pd

    parts = [
        pd.DataFrame(
            {
                "method": FORM,
                "n_items": size,
                "respondent": short.respondents,
                "truth": short.accuracy,
                "accuracy": short.predicted,
                "accuracy_se": (short.high - short.low) / (2 * normal_reach(confidence)),
            }
        )
        for size, short in forms.items()
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def form_rows(forms: Mapping[int, ShortBenchmark]) -> pd.DataFrame:
    """One row of errors per size; coverage is that of the short form's own intervals."""
    import pandas as pd

    rows = []
    for size, short in forms.items():
        own = _of(short, OWN)
        figures = {name: own[name] for name in (*COLUMNS, "mae_low", "mae_high")}
        rows.append({"method": FORM, "n_items": size, **figures, "coverage_observed": np.nan})
    return pd.DataFrame(rows)


def _of(short: ShortBenchmark, role: str) -> dict[str, Any]:
    """The figures of a short form in one role; NaN if it was not tried."""
    roles = short.errors["role"]
    if role not in roles:
        return dict.fromkeys(short.errors, float("nan"))
    return {name: column[roles.index(role)] for name, column in short.errors.items()}
