"""Where classifiers stand on the instances of one data set, and reasons to doubt it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibration import Calibration
from ogive.diagnostics.diagnosis import informative, upright_items
from ogive.estimation.fits import FEW_RESPONDENTS
from ogive.estimation.rightness import MOST_NEGATIVE, said_of_direction
from ogive.numerics.intervals import wilson
from ogive.responses import Responses
from ogive.responses.artificial_respondents import OPTIMAL, PESSIMAL
from ogive.responses.encoding import encode
from ogive.scoring import Abilities, score_abilities, staged_abilities
from ogive.scoring.expected_scores import true_scores
from ogive.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from ogive.numerics.arrays import Array, Floats

STAGED = "staged"
ROUNDING = 1e-9  # of abilities


def judge(calibration: Calibration, responses: Responses, method: str = "eap") -> pd.DataFrame:
    """Ability, true score and accuracy of each respondent on the items of one calibration.

    Columns ending in `_positive` leave out items of negative discrimination, from the ability and
    from the sum. Respondents without a response have NaN.
    """
    import pandas as pd

    cells = calibration.placed(responses)
    asked = (cells >= 0).sum(axis=1)
    right = (cells == 1).sum(axis=1)
    low, high = wilson(right, asked, 0.95)
    columns: dict[str, Any] = {
        **_standing(calibration, cells, np.ones(cells.shape[1], dtype=bool), method, ""),
        **_standing(calibration, cells, upright_items(calibration), method, "_positive"),
        "accuracy": right / np.maximum(asked, 1),
        "accuracy_low": low,
        "accuracy_high": high,
    }
    frame = pd.DataFrame(columns, index=pd.Index(responses.respondents, name="respondent"))
    frame.loc[asked == 0] = np.nan
    return frame


def _standing(
    calibration: Calibration, cells: Array, kept: NDArray[np.bool_], method: str, ending: str
) -> dict[str, Any]:
    """Ability and true score by the kept items; NaN if none is informative.

    Items that all of the pool got right, or all got wrong, count in the sum, but say nothing about
    ability: the sign of their slope is due to rounding.
    """
    names = [f"ability{ending}", f"true_score{ending}", f"true_score{ending}_mean"]
    told = np.flatnonzero(kept & informative(calibration))
    if not told.size:
        return {f"{name}{se}": np.full(len(cells), np.nan) for name in names for se in ("", "_se")}
    found = _placed(calibration, cells, told, method)
    summed = np.flatnonzero(kept)
    model, coords = calibration.model.of_items(summed), calibration.coords[summed]
    sums = true_scores(model, coords, found.ability, found.se)
    se, sum_se = found.se, sums.se
    if method != STAGED:
        se, sum_se = _errors(calibration, cells, told, method)
    values = (
        (found.ability, se),
        (sums.total, sum_se),
        (sums.total / summed.size, sum_se / summed.size),
    )
    return {
        f"{name}{se}": value
        for name, pair in zip(names, values, strict=True)
        for se, value in zip(("", "_se"), pair, strict=True)
    }


def _errors(
    calibration: Calibration, cells: Array, items: NDArray[np.intp], method: str
) -> tuple[Floats, Floats]:
    """Standard errors of abilities and of true scores, which count the errors of the items."""
    part = calibration.of_items([calibration.item_names[k] for k in items])
    codes = np.ascontiguousarray(cells[:, items])
    table = Responses.from_codes(codes, None, part.item_names, part.model.kind)
    se, sum_se = part.score(table, method)["se"], part.true_scores(table, method)["true_score_se"]
    return se.to_numpy(), sum_se.to_numpy()


def _placed(
    calibration: Calibration, cells: Array, items: NDArray[np.intp], method: str
) -> Abilities:
    part, coords = cells[:, items], calibration.coords[items]
    model = calibration.model.of_items(items)
    if method == STAGED:
        return staged_abilities(part, model, coords)
    data = encode(part, model, collapsing=False)
    return score_abilities(data, model, coords, calibration.population, method)


def doubts(calibration: Calibration, found: pd.DataFrame) -> Iterator[str]:
    """Reasons to doubt a data set."""
    yield from said_of_direction(calibration)
    if not calibration.converged:
        yield "the calibration did not converge"
    if calibration.n_respondents < FEW_RESPONDENTS:
        yield (
            f"only {counted(round(calibration.n_respondents), 'classifier')} "
            f"{'calibrates' if round(calibration.n_respondents) == 1 else 'calibrate'} it, so item "
            "parameters rest mostly on their priors"
        )
    turned, telling = int((~upright_items(calibration)).sum()), int(informative(calibration).sum())
    negative = (
        f"{turned:,} of {counted(telling, 'instance')} on which classifiers differ discriminate "
        "negatively"
    )
    if turned > MOST_NEGATIVE * telling:
        yield f"{negative}, so its scale hardly reflects who is right more often"
    yield from _overtaken(found, turned)
    score = found["true_score"].to_dict()
    if not {OPTIMAL, PESSIMAL} <= score.keys() or score[PESSIMAL] < score[OPTIMAL]:
        return
    yield (
        f"over all instances, the pessimal classifier has a true score of {score[PESSIMAL]:.1f} "
        f"and the optimal one {score[OPTIMAL]:.1f}, so do not compare classifiers by it"
        + (f"; {negative}, which true_score_positive leaves out" if turned else "")
    )


def _overtaken(found: pd.DataFrame, turned: int) -> Iterator[str]:
    """Say why a respondent that has all right is not the first by ability."""
    all_right = found[found["accuracy"] == 1]
    if not turned or all_right.empty:
        return
    first = str(all_right["ability"].idxmin())
    own: Any = found.loc[first]
    above = found[(found["accuracy"] < 1) & (found["ability"] > own["ability"] + ROUNDING)]
    # Only those that are not above it without the items of negative discrimination.
    above = above[above["ability_positive"] <= own["ability_positive"] + ROUNDING]
    if above.empty:
        return
    yield (
        f"{first} has all right but a lower ability than {listed(list(above.index), 'other')}, "
        f"because right answers to the {counted(turned, 'instance')} of negative discrimination "
        "lower ability; ability_positive leaves them out"
    )
