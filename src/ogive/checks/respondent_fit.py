"""Person fit, and respondents who are right more often than their ability predicts.

`respondent_fit` is the standardised log-likelihood of Drasgow, Levine and Williams (1985) with the
infit and outfit of Wright and Masters (1982). Two further statistics, each a standard normal
deviate, are hints of contamination, never proofs: right responses to items that are hard for the
respondent, and its result on a group of items, given its ability on all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import gammainc, gammaincc, ndtr, ndtri, stdtr

from ogive.checks.residuals import (
    Diagnosis,
    JudgedPart,
    item_responses,
    items_are_known,
    left_out,
    noise_p,
    observed,
)
from ogive.checks.saturation import score_ends
from ogive.data.responses import Responses, Table
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.irt.response_codes import as_floats
from ogive.results.numbers import counted, joined, said_p
from ogive.stats.array_backend import Floats, row_blocks
from ogive.stats.intervals import normal_reach, t_reach
from ogive.stats.multiplicity import benjamini_hochberg

if TYPE_CHECKING:
    from ogive.results.plots.figure import Display

ALPHA = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class RespondentFit(Diagnosis):
    """How likely the responses of each respondent are.

    `zh` is far below 0 for a respondent who fails easy items and solves hard ones; `p` is the
    chance of a value that low. Abilities are estimated from the same responses, so that `zh`
    varies less than a standard normal and `p` is on the safe side. `infit` and `outfit` are 1
    where responses vary as expected. For scores, `zh` is that of residuals as if they were
    normal. All are NaN where nothing was asked and where no finite ability exists.
    """

    display = "respondent_fit"

    respondents: tuple[str, ...]
    ability: Floats  # (n_respondents,), as all that follow
    se: Floats
    zh: Floats
    p: Floats
    infit: Floats
    infit_z: Floats
    outfit: Floats
    outfit_z: Floats
    n: Floats  # items that the respondent was asked
    notes: tuple[str, ...] = ()

    @property
    def unlikely(self) -> tuple[str, ...]:
        """Respondents whose `p` is below 0.05, the least likely first."""
        order = np.argsort(self.p, kind="stable")
        return tuple(self.respondents[k] for k in order if self.p[k] < ALPHA)

    @property
    def found_nothing(self) -> bool:
        """True if no respondent answered in an unlikely way."""
        return bool(np.isfinite(self.p).any()) and not self.unlikely

    @property
    def meaning(self) -> str:
        """One sentence for readers who are not psychometricians."""
        n_tested = int(np.isfinite(self.p).sum())
        if not n_tested:
            return self._of_mean_squares()
        unlikely = self.unlikely
        share = f"{len(unlikely) / n_tested:.1%}"
        text = (
            f"{len(unlikely):,} of {counted(n_tested, 'respondent')} ({share}) answered in a way "
            f"that is unlikely at their ability (p below {ALPHA:g}; chance alone gives up to "
            f"{ALPHA:.0%})"
        )
        if not unlikely:
            return f"{text}."
        k = self.respondents.index(unlikely[0])
        worst = f"{unlikely[0]} (zh = {self.zh[k]:.2f}, {said_p(self.p[k])})"
        return f"{text}; the least likely is {worst}."

    def _of_mean_squares(self) -> str:
        tested = np.isfinite(self.outfit)
        if not tested.any():
            return "Nothing can be said of any respondent: none has responses and an ability."
        noisy = int((benjamini_hochberg(noise_p(self.infit_z, self.outfit_z)) < ALPHA).sum())
        return (
            f"{noisy:,} of {counted(int(tested.sum()), 'respondent')} answered more erratically "
            "than chance makes them (infit or outfit, after correction for multiple tests)."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per respondent."""
        names = ("ability", "se", "zh", "p", "infit", "infit_z", "outfit", "outfit_z", "n")
        index = pd.Index(self.respondents, name="respondent")
        return pd.DataFrame(self._columns(names), index=index)

    def plot(self, **kw: Any) -> Display:
        """Draw ability against `zh`; the least likely respondents are named."""
        if not np.isfinite(self.zh).any():
            raise InputError("No respondent has a zh, so that there is nothing to draw.")
        return super().plot(**kw)


def respondent_fit(
    calibration: Calibration, responses: Table | None = None, method: str = "eap"
) -> RespondentFit:
    """Judge the responses of each respondent at the ability estimated by `method`.

    The responses are those of the calibration unless others are given; each respondent is
    judged by the items it was asked, but for those to which all responses are the same.

    The frame has one row per respondent: ability, se, zh and its p (Drasgow et al., 1985), infit
    and outfit with their z (Wright and Masters, 1982) and n.

    >>> import ogive as og
    >>> found = og.calibrate(og.simulate("2pl", 200, 10, random_state=0).responses, "2pl")
    >>> og.respondent_fit(found).to_frame().shape
    (200, 9)
    """
    part, table, scored = item_responses(
        calibration, responses, "respondent_fit", method, items_known=False
    )
    fit, at_bound = part.by_respondent(), scored["at_bound"].to_numpy()
    figures = {
        name: np.where(at_bound, np.nan, getattr(fit, name))
        for name in ("zh", "infit", "infit_z", "outfit", "outfit_z")
    }
    return RespondentFit(
        respondents=table.respondents,
        ability=part.ability,
        se=scored["se"].to_numpy(),
        p=ndtr(figures["zh"]),
        n=observed(part.cells).sum(axis=1).astype(float),
        notes=left_out(calibration, part.judged),
        **figures,
    )


# One ability seldom explains all answers of real models, so that deviates scatter more than a
# standard normal. Each is judged by the scatter observed.

ENOUGH_FOR_MAD = 20  # respondents from which on the scatter is estimated by median and MAD
NORMAL_MAD = 1.4826  # standard deviation of a normal distribution over its MAD
SMALLEST = 1e-300  # least probability, so that its deviate is finite
CONFIDENCE = 0.95


class RobustZ(NamedTuple):
    """Deviates judged by the scatter of all, and the middle and scatter by which; one each."""

    z: Floats
    middle: Floats
    scatter: Floats


def among_others(z: Floats) -> RobustZ:
    """Return deviates by the scatter of all, if it exceeds the model's; NaN stays.

    Few deviates are judged by the model or by Student's t with the root mean square of the others
    around 0, whichever is less surprised.
    """
    finite = np.isfinite(z)
    others = int(finite.sum()) - 1
    if others + 1 >= ENOUGH_FOR_MAD:
        middle = float(np.median(z[finite]))
        scatter = max(NORMAL_MAD * float(np.median(np.abs(z[finite] - middle))), 1.0)
        return RobustZ((z - middle) / scatter, np.full_like(z, middle), np.full_like(z, scatter))
    if others < 1:
        return RobustZ(z, np.zeros_like(z), np.ones_like(z))
    squares = np.where(finite, z, 0.0) ** 2
    rms = np.sqrt((squares.sum() - squares) / others)
    with np.errstate(divide="ignore", invalid="ignore"):
        below = stdtr(others, -np.abs(z) / rms)
    t_as_normal = -ndtri(np.clip(below, SMALLEST, 0.5))
    judged = np.sign(z) * np.minimum(np.abs(z), t_as_normal)
    longer = float(t_reach(np.array(float(others)), CONFIDENCE)) / normal_reach(CONFIDENCE)
    return RobustZ(judged, np.zeros_like(z), np.maximum(rms * longer, 1.0))


# Right responses to hard items. The ability was estimated from the same responses, so the effect
# of that estimate is removed (as Snijders, 2001, does for person fit), and the skewness of the
# count is allowed for. Probabilities are corrected by how often cells of such a probability were
# right, so that guessing beyond what the model includes raises no alarm.

HARD = 0.3  # probability below which an item is hard for a respondent
LEAST_HARD = 5  # hard items needed for a test
BINS, LEAST_CELLS = 20, 200  # for the correction of probabilities
FINE_BINS = 400
STEP = 1e-4  # step of numerical derivatives in ability
LEAST_SKEW = 1e-3  # smaller skewness is ignored
LEAST_PROBABILITY = 1e-3  # of a response
CELLS = 1 << 21


def judged_by_hard_items(parts: list[JudgedPart], n_respondents: int) -> dict[str, Any]:
    """Return columns of all respondents: right on hard items, expected number, and the test."""
    sums = np.full((6, n_respondents), np.nan)
    for part in parts:
        curve = _correction_curve(part)
        blocks = row_blocks(len(part.rows), max(16, CELLS // len(part.items)))
        of_blocks = [_hard_item_sums(part, curve, rows) for rows in blocks]
        sums[:, part.rows] = np.concatenate(of_blocks, axis=1)
    n, right, mean, excess, variance, third = sums
    enough = (n >= LEAST_HARD) & (variance > 0)
    sd = np.sqrt(np.where(enough, variance, np.nan))
    judged = among_others(as_normal(excess / sd, third / sd**3))
    p = ndtr(-judged.z)
    p_adjusted = benjamini_hochberg(p)
    return {
        "hard": _integers_if_whole(n),
        "right_on_hard": _integers_if_whole(right),
        "expected_on_hard": mean + judged.middle * sd,
        "expected_on_hard_se": judged.scatter * sd,
        "excess_z": judged.z,
        "excess_p": p,
        "excess_p_adjusted": p_adjusted,
        "hint": p_adjusted < ALPHA,
    }


def _integers_if_whole(counts: Floats) -> np.ndarray:
    """Return counts as integers; the shares of repeated answers stay floats."""
    whole = np.isfinite(counts).all() and (counts == np.floor(counts)).all()
    return counts.astype(int) if whole else counts


def as_normal(z: Floats, skew: Floats) -> Floats:
    """Return normal deviates of a skewed sum, by a gamma distribution with its skewness."""
    deviates = z.copy()
    rows = np.isfinite(z) & (np.abs(skew) > LEAST_SKEW)
    shape = 4 / skew[rows] ** 2
    right = skew[rows] > 0
    at = np.maximum(shape + np.where(right, z[rows], -z[rows]) * np.sqrt(shape), 0.0)
    above = np.where(right, gammaincc(shape, at), gammainc(shape, at))
    deviates[rows] = -ndtri(np.clip(above, 1e-300, 1 - 1e-16))
    return deviates


def _correction_curve(part: JudgedPart) -> tuple[Floats, Floats]:
    """Return by how much cells were right more often than predicted, along the prediction."""
    n, right, predicted = np.zeros((3, FINE_BINS))
    for rows in row_blocks(len(part.rows), max(16, CELLS // len(part.items))):
        asked = part.n_effective[rows] > 0
        raw = part.probabilities(rows)[0][asked]
        bins = np.minimum((raw * FINE_BINS).astype(int), FINE_BINS - 1)
        n += np.bincount(bins, minlength=FINE_BINS)
        right += np.bincount(bins, part.shares[rows][asked], minlength=FINE_BINS)
        predicted += np.bincount(bins, raw, minlength=FINE_BINS)
    # Neighbouring bins are merged until each holds enough cells.
    merged = (np.cumsum(n) - n) // max(LEAST_CELLS, n.sum() / BINS)
    _, bins = np.unique(merged[n > 0], return_inverse=True)
    merged_n, merged_right, merged_predicted = (
        np.bincount(bins, each[n > 0]) for each in (n, right, predicted)
    )
    return merged_predicted / merged_n, (merged_right - merged_predicted) / merged_n


def _hard_item_sums(part: JudgedPart, curve: tuple[Floats, Floats], rows: slice) -> Floats:
    """Return the sums that make up the statistic of each respondent, (6, n_rows)."""

    def corrected(raw: Floats) -> Floats:
        p = raw + np.interp(raw, *curve)
        return np.clip(p, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)

    shares, n_effective = part.shares[rows], part.n_effective[rows]
    asked = n_effective > 0
    raw, raw_slope = part.probabilities(rows)
    p = corrected(raw)
    slope = (corrected(raw + STEP * raw_slope) - corrected(raw - STEP * raw_slope)) / (2 * STEP)
    variance = p * (1 - p)
    error = np.divide(variance, n_effective, out=np.zeros_like(variance), where=asked)
    hard = (asked & (p < HARD)).astype(float)
    score_weight = n_effective * slope / np.maximum(variance, 1e-9)
    # Remove the part of the count that the estimate of ability has already used.
    information = (score_weight * slope).sum(axis=1)
    used = (hard * slope).sum(axis=1) / np.where(information > 0, information, np.inf)
    weight = hard - used[:, None] * score_weight
    residual = np.where(asked, shares - p, 0.0)
    skew = np.divide(error * (1 - 2 * p), n_effective, out=np.zeros_like(error), where=asked)
    return np.stack(
        [
            hard.sum(axis=1),
            (hard * np.where(asked, shares, 0.0)).sum(axis=1),
            (hard * p).sum(axis=1),
            (weight * residual).sum(axis=1),
            (weight**2 * error).sum(axis=1),
            (weight**3 * skew).sum(axis=1),
        ]
    )


SENTENCE_SE = 1.96  # standard errors each way of an interval in a sentence
CAUSES = (
    "A hint is no proof of contamination: guessing, related training data, another prompt or "
    "answer format, keys that are wrong in the same way, and items seen in training can all cause "
    "it. Inspect these responses."
)


def respondent_frame(calibration: Calibration, table: Responses) -> pd.DataFrame:
    """Return one row per respondent: ability, fit, and its share of the highest grades.

    The fit of repeated answers is NaN: its test needs one answer per cell.
    """
    if table.tries is not None and calibration.model.kind == "binary":
        frame = calibration.score(table)[["ability", "se"]].rename(columns={"se": "ability_se"})
        frame.index.name = "respondent"
        frame = frame.assign(zh=np.nan, fit_p=np.nan, n_items=table.observed.sum(axis=1))
    else:
        fit = respondent_fit(calibration, table).to_frame()[["ability", "se", "zh", "p", "n"]]
        frame = fit.rename(columns={"se": "ability_se", "p": "fit_p", "n": "n_items"})
    frame["n_items"] = frame["n_items"].astype(int)
    low, high = score_ends(calibration)
    shares = (as_floats(table.cells) - low) / (high - low)
    asked = np.maximum(frame["n_items"].to_numpy(), 1)
    reached = np.where(frame["n_items"] > 0, np.nansum(shares, axis=1) / asked, np.nan)
    frame.insert(2, "share_reached", reached)
    return frame


def said_of_hints(frame: pd.DataFrame, hints: tuple[str, ...]) -> str:
    """Return who is right more often than its ability predicts, and what may cause it."""
    if not hints:
        looked_at = bool(np.isfinite(frame["hard"].to_numpy(float)).any())
        return _said_of_none(frame) if looked_at else ""
    verb = "does" if len(hints) == 1 else "do"
    first = _hint_said(hints[0], frame.loc[[hints[0]]].iloc[0])
    names = ", ".join(hints[:3]) + (", ..." if len(hints) > 3 else "")
    who = f"{len(hints):,} of {counted(len(frame), 'respondent')}"
    who += f" ({names})" if len(hints) > 1 else ""
    clearest = "the clearest: " if len(hints) > 1 else ""
    return f"{who} {verb} significantly better than expected; {clearest}{first}. {CAUSES}"


def _said_of_none(frame: pd.DataFrame) -> str:
    """Return that no respondent stands out, and how many could not be judged."""
    n_judged = int(np.isfinite(frame["excess_z"]).sum())
    if not n_judged:
        return (
            f"Right answers to hard items are not judged: nobody was asked {LEAST_HARD} or more "
            f"that it solves with a chance below {HARD:.0%}."
        )
    rest = len(frame) - n_judged
    few = f"; {rest:,} could not be judged, such as for fewer than {LEAST_HARD} hard items"
    return (
        f"None of {counted(n_judged, 'respondent')} is right on hard items significantly more "
        f"often than expected{few if rest else ''}."
    )


def _hint_said(name: str, row: pd.Series[Any]) -> str:
    """Return what is unexpected about one respondent, a row of the frame of respondents."""
    texts = []
    if row["hint"]:
        mean, reach = row["expected_on_hard"], SENTENCE_SE * row["expected_on_hard_se"]
        low, high = max(mean - reach, 0.0), min(mean + reach, row["hard"])
        right = float(row["right_on_hard"])
        count = f"{right:,.0f}" if right.is_integer() else f"{right:,.1f}"
        texts.append(
            f"right on {count} of {counted(int(row['hard']), 'hard item')}, where "
            f"{mean:.1f} ({low:.1f} to {high:.1f}) are expected"
        )
    if row["too_good_on"]:
        texts.append(f"better on {row['too_good_on']} than its other responses predict")
    return f"{name} is {joined(texts)}"


LEAST_OUTSIDE = 5  # items outside a group needed to estimate the ability
FARTHEST = 1.0  # standard deviations that the ability elsewhere may lie from that on all items
GROUP_COLUMNS = [
    *("respondent", "group", "n_items", "share_reached", "expected", "expected_se"),
    *("z", "p", "p_adjusted", "hint"),
]


class GroupSums(NamedTuple):
    """Sums of each respondent over the items of a group, (n_respondents,) each."""

    n: Floats
    observed: Floats
    expected: Floats
    se: Floats
    judged: np.ndarray


def group_frame(
    calibration: Calibration, table: Responses, groups: Sequence[str], parts: list[JudgedPart]
) -> pd.DataFrame:
    """Return one row per respondent and group: its result, and what its ability elsewhere predicts.

    Groups are judged if at least five items lie outside; `p` is the probability of such a result.
    `parts` are those of right and wrong responses that are judged together.
    """
    by_others = calibration.model.kind == "binary" and not items_are_known(calibration)
    frames = []
    for name in dict.fromkeys(groups):
        inside = np.array([group == name for group in groups])
        if np.count_nonzero(~inside) < LEAST_OUTSIDE:
            continue
        if by_others:
            sums = _group_sums_by_others(parts, table, inside)
        else:
            sums = _group_sums_by_bank(calibration, table, inside)
        z = np.full(len(sums.n), np.nan)
        np.divide(sums.observed - sums.expected, sums.se, out=z, where=sums.judged & (sums.se > 0))
        count = np.where(sums.n > 0, sums.n, np.nan)
        columns = {
            "respondent": list(table.respondents),
            "n_items": sums.n.astype(int),
            "share_reached": sums.observed / count,
            "expected": sums.expected / count,
            "expected_se": sums.se / count,
            "z": among_others(z).z,
            "group": name,
        }
        frames.append(pd.DataFrame(columns))
    if not frames:
        return pd.DataFrame(columns=GROUP_COLUMNS)
    frame = pd.concat(frames, ignore_index=True)
    frame["p"] = ndtr(-frame["z"].to_numpy())
    frame["p_adjusted"] = benjamini_hochberg(frame["p"].to_numpy())
    frame["hint"] = frame["p_adjusted"] < ALPHA
    return frame[GROUP_COLUMNS]


def _group_sums_by_bank(
    calibration: Calibration, table: Responses, inside: np.ndarray
) -> GroupSums:
    """Return sums over a group at the ability on the other items, by the parameters of all items.

    If few respondents stand behind the parameters, respondents are judged by their scatter, which
    takes enough of them.
    """
    within, others = np.flatnonzero(inside), np.flatnonzero(~inside)
    elsewhere = calibration.of_items([table.items[k] for k in others])
    scored = elsewhere.score(table.select(items=others), items_known=True)
    ability, se = scored["ability"].to_numpy(), scored["se"].to_numpy()
    model, coords = calibration.model.of_items(within), calibration.coords[within]
    low, high = (end[within] for end in score_ends(calibration))
    values = (as_floats(table.cells[:, within]) - low) / (high - low)
    asked = ~np.isnan(values)
    unit = (high - low)[:, None]
    expected = ((model.expected(coords, ability) - low[:, None]) / unit).T
    variance = (model.variance(coords, ability) / unit**2).T
    rise = model.expected(coords, ability + STEP) - model.expected(coords, ability - STEP)
    slope = (rise / unit).T / (2 * STEP)
    n = asked.sum(axis=1)
    right, mean, noise, total_slope = (
        np.where(asked, part, 0.0).sum(axis=1) for part in (values, expected, variance, slope)
    )
    enough = items_are_known(calibration) or table.n_respondents >= ENOUGH_FOR_MAD
    outside = table.observed[:, others].sum(axis=1)
    judged = enough & (n > 0) & (outside >= LEAST_OUTSIDE)
    return GroupSums(n, right, mean, np.sqrt(noise + (total_slope * se) ** 2), judged)


def _group_sums_by_others(
    parts: list[JudgedPart], table: Responses, inside: np.ndarray
) -> GroupSums:
    """Return sums over a group, by what other respondents answered to its items and to all else.

    The ability elsewhere is one step of scoring from that on all items.
    """
    answered = table.observed[:, inside]
    n = answered.sum(axis=1).astype(float)
    right = np.where(answered, as_floats(table.cells[:, inside]), 0.0).sum(axis=1)
    expected, se = np.full((2, table.n_respondents), np.nan)
    judged = np.zeros(table.n_respondents, dtype=bool)
    for part in parts:
        asked, within = part.n_effective > 0, inside[part.items]
        p, slope = part.probabilities(slice(None))
        residual = np.where(asked, part.shares - p, 0.0)
        variance = p * (1 - p)
        score_weight = part.n_effective * slope / variance
        information = (score_weight * slope)[:, ~within].sum(axis=1)
        safe = np.where(information > 0, information, 1.0)
        shift = (score_weight * residual)[:, ~within].sum(axis=1) / safe
        shift = np.clip(shift, -FARTHEST, FARTHEST)
        mean, total_slope = (np.where(asked, x, 0.0)[:, within].sum(axis=1) for x in (p, slope))
        error = np.divide(variance, part.n_effective, out=np.zeros_like(variance), where=asked)
        expected[part.rows] = np.clip(mean + total_slope * shift, 0.0, n[part.rows])
        se[part.rows] = np.sqrt(error[:, within].sum(axis=1) + total_slope**2 / safe)
        outside = asked[:, ~within].sum(axis=1)
        judged[part.rows] = (information > 0) & (n[part.rows] > 0) & (outside >= LEAST_OUTSIDE)
    return GroupSums(n, right, expected, se, judged)
