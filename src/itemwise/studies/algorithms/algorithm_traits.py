"""What the calibration says of each algorithm, and what to beware of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from itemwise.calibration import Calibration
from itemwise.estimation.remarks import AT_BOUND, FEW_RESPONDENTS, UNSEEN
from itemwise.numerics.columns import means
from itemwise.numerics.special import log_normal_cdf
from itemwise.numerics.splines import FEWEST_VALUES, too_few
from itemwise.studies.algorithms.performances import Performances
from itemwise.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

CONSTANT, FEW_RUNS = "constant", "few runs"
# Flags of items in the words of algorithms; what a negative discrimination means is a column.
FLAGS = {
    f"noise {AT_BOUND}": (
        "sets the line",
        "explained without rest: difficulty is what such a one says, and hardly the others.",
    ),
    UNSEEN: (
        "grade never reached",
        "with a grade in between that was never reached: its place rests on a prior.",
    ),
    AT_BOUND: (
        "at bound",
        "with a parameter at its bound: the estimate went as far as it may; read it with care.",
    ),
}


def traits_of_algorithms(calibration: Calibration, performances: Performances) -> pd.DataFrame:
    """A row an algorithm: discrimination, consistency, difficulty limit, whether anomalous."""
    import pandas as pd

    items = calibration.items
    slope, limit = items["discrimination"], _limit_name(items)
    # In the continuous model slope = loading / noise, whose error explodes where there is hardly
    # any noise; scaling = 1 / loading has the same sign, and the same ratio to its error.
    signed = "scaling" if "scaling" in items else "discrimination"
    ratio = (items[signed] / items[f"{signed}_se"]).to_numpy()
    frame = pd.DataFrame(
        {
            "discrimination": slope,
            "discrimination_se": items["discrimination_se"],
            "anomalous": slope < 0,
            "anomalous_chance": np.exp(log_normal_cdf(-ratio)),
            "consistency": 1 / slope.abs(),
            "consistency_se": items["discrimination_se"] / slope**2,
            "difficulty_limit": -items[limit],
            "difficulty_limit_se": items[f"{limit}_se"],
        }
    )
    if "scaling" in items:
        frame.insert(2, "scaling", items["scaling"])
        frame.insert(3, "scaling_se", items["scaling_se"])
    frame = frame.reindex(performances.algorithms)
    few = too_few(performances.cells)
    alike = ~frame.index.isin(items.index) & ~few
    frame["anomalous"] = frame["anomalous"].eq(True)
    frame.loc[alike, "consistency"] = np.inf  # the limit of 1 / |discrimination| at 0
    frame["mean_performance"] = means(performances.given.to_numpy())
    flags = pd.Series(_flags(calibration), dtype=object).reindex(frame.index, fill_value="")
    frame["flag"] = np.select([few, alike], [FEW_RUNS, CONSTANT], flags)
    return frame


def notes_on_left_out(few: Sequence[str], alike: Sequence[str]) -> list[str]:
    """Who is not calibrated: who hardly ran, and who performs alike everywhere."""
    notes = []
    if few:
        notes.append(
            f"{listed(few, 'algorithm')} with fewer than {FEWEST_VALUES} runs: no "
            "estimates and no curve, and so never strong."
        )
    if alike:
        notes.append(
            f"{listed(alike, 'algorithm')} with the same performance on every problem: "
            "perfectly consistent, without a difficulty limit."
        )
    return notes


def notes_on_calibration(calibration: Calibration) -> list[str]:
    """What a reader should know of the fit, a sentence each."""
    notes = []
    items, flags = calibration.items, _flags(calibration)
    if calibration.n_respondents < FEW_RESPONDENTS:
        notes.append(
            f"Only {counted(int(calibration.n_respondents), 'problem')}: figures of algorithms are "
            "poorly determined. Read them with their standard errors."
        )
    for word, meaning in FLAGS.values():
        names = [name for name, said in flags.items() if word in said.split(", ")]
        if names:
            notes.append(f"{listed(names, 'algorithm')} {meaning}")
    short = list(items.index[items[_limit_name(items)].isna()])
    if short:
        notes.append(
            f"{listed(short, 'algorithm')} without a run of the highest grade: without a "
            "difficulty limit, which is that of this grade."
        )
    return notes


def _flags(calibration: Calibration) -> dict[str, str]:
    """What is to be said of each calibrated algorithm; of most, nothing."""
    found = {}
    for name, flags in zip(calibration.item_names, calibration.flags, strict=True):
        keys = [next((key for key in FLAGS if flag.endswith(key)), None) for flag in flags]
        words = [FLAGS[key][0] for key in keys if key is not None]
        found[name] = ", ".join(dict.fromkeys(words))
    return found


def _limit_name(items: pd.DataFrame) -> str:
    """The column of item difficulty; of grades, that of the highest one."""
    steps = [name for name in map(str, items) if re.fullmatch(r"difficulty_\d+", name)]
    return steps[-1] if steps else "difficulty"
