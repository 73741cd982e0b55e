"""Person fit; success on hard items, on groups.

Respondent fit: whether the responses of each respondent go together.

Known as person fit in the literature: the standardised log-likelihood of Drasgow, Levine and
Williams (1985) for ordered categories, and the infit and outfit of Wright and Masters (1982).

Deviates among those of all others: where respondents vary more than the model allows.

One ability seldom explains all answers of real models, so their deviates scatter more than a
standard normal. Each is then judged by the scatter observed: of many respondents by the median and
its spread, of few by the root mean square of the others, with Student's t.

Right responses to hard items, compared with how many are expected.

Right responses to items that are hard for a respondent are counted. Its ability was estimated from
the same responses, so the effect of that estimate is removed (as Snijders, 2001, does for person
fit), and the skewness of the count is allowed for.

Chances are corrected by how often cells of such a chance were in fact right, so that guessing
beyond what the model includes raises no alarm.

Respondents who are right more often than their ability predicts: a hint, never a proof.

There are two statistics, each a standard normal deviate. `hard_items` counts right responses to
items that are hard for the respondent. `group_hints` compares each group of items with the ability
on all others.

Groups of items on which a respondent does better than its other responses predict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive.checks.residuals import (
    Diagnosis,
    Fit,
    Judged,
    items_are_known,
    left_out,
    material_of,
    noise_p,
)
from ogive.checks.saturation import score_ends
from ogive.data.responses import Responses
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.irt.response_codes import as_floats
from ogive.results.numbers import counted, joined, said_p
from ogive.stats.array_backend import Floats, row_blocks
from ogive.stats.intervals import normal_reach, t_reach
from ogive.stats.multiplicity import benjamini_hochberg

if TYPE_CHECKING:
    import pandas as pd

    from ogive.data.responses import Table
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
        """Whether no respondent answered in an unlikely way."""
        return bool(np.isfinite(self.p).any()) and not self.unlikely

    @property
    def meaning(self) -> str:
        """One sentence for readers who are not psychometricians."""
        seen = int(np.isfinite(self.p).sum())
        if not seen:
            return self._said_of_squares()
        bad = self.unlikely
        share = f"{len(bad) / seen:.1%}"
        text = (
            f"{len(bad):,} of {counted(seen, 'respondent')} ({share}) answered in a way that is "
            f"unlikely at their ability (p below {ALPHA:g}; chance alone gives up to {ALPHA:.0%})"
        )
        if not bad:
            return f"{text}."
        k = self.respondents.index(bad[0])
        return f"{text}; the least likely is {bad[0]} (zh = {self.zh[k]:.2f}, {said_p(self.p[k])})."

    def _said_of_squares(self) -> str:
        seen = np.isfinite(self.outfit)
        if not seen.any():
            return "Nothing can be said of any respondent: none has responses and an ability."
        noisy = int((benjamini_hochberg(noise_p(self.infit_z, self.outfit_z)) < ALPHA).sum())
        return (
            f"{noisy:,} of {counted(int(seen.sum()), 'respondent')} answered more erratically "
            "than chance makes them (infit or outfit, after correction for multiple tests)."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per respondent."""
        import pandas as pd

        names = ("ability", "se", "zh", "p", "infit", "infit_z", "outfit", "outfit_z", "n")
        columns = {name: getattr(self, name) for name in names}
        return pd.DataFrame(columns, index=pd.Index(self.respondents, name="respondent"))

    def plot(self, **kw: Any) -> Display:
        """Return ability against `zh`; the least likely respondents are named."""
        from ogive.results.plots import DISPLAYS

        if not np.isfinite(self.zh).any():
            raise InputError("No respondent has a zh, so that there is nothing to draw.")
        return DISPLAYS["respondent_fit"](self.to_frame()).plot(**kw)


def respondent_fit(
    calibration: Calibration, responses: Table | None = None, method: str = "eap"
) -> RespondentFit:
    """Return judge the responses of each respondent at the ability estimated by `method`.

    The responses are those of the calibration unless others are given; each respondent is
    judged by the items it was asked, but for those to which all responses are the same.

    The frame has one row per respondent: ability, se, zh and its p (Drasgow et al., 1985), infit
    and outfit with their z (Wright and Masters, 1982) and n.

    >>> import ogive as og
    >>> found = og.calibrate(og.simulate("2pl", 200, 10, random_state=0).responses, "2pl")
    >>> og.respondent_fit(found).to_frame().shape
    (200, 9)
    """
    material, table, se, at_bound = material_of(
        calibration, responses, "respondent_fit", method, items_known=False
    )
    fit = material.by_respondent()
    judged = Fit(np.where(at_bound, np.nan, fit.sums))
    zh = judged.zh
    return RespondentFit(
        respondents=table.respondents,
        ability=material.ability,
        se=se,
        zh=zh,
        p=_lower_tail(zh),
        infit=judged.infit,
        infit_z=judged.infit_z,
        outfit=judged.outfit,
        outfit_z=judged.outfit_z,
        n=material.asked.sum(axis=1).astype(float),
        notes=left_out(calibration, material.told),
    )


def _lower_tail(zh: Floats) -> Floats:
    from scipy.special import ndtr

    p: Floats = ndtr(zh)
    return p


ENOUGH_TO_SCATTER = 20  # respondents whose median and spread are used
NORMAL_MAD = 1.4826
SMALLEST = 1e-300  # probability, so that a deviate is finite
CONFIDENCE = 0.95


class Among(NamedTuple):
    """Deviates as they are judged, and the middle and spread by which; one each."""

    z: Floats
    middle: Floats
    scatter: Floats


def among_others(z: Floats) -> Among:
    """Return deviates by the scatter of all, if it exceeds the model's; NaN stays."""
    seen = z[np.isfinite(z)]
    if len(seen) < ENOUGH_TO_SCATTER:
        return _of_few(z)
    middle = float(np.median(seen))
    scatter = max(NORMAL_MAD * float(np.median(np.abs(seen - middle))), 1.0)
    return Among((z - middle) / scatter, np.full_like(z, middle), np.full_like(z, scatter))


def _of_few(z: Floats) -> Among:
    """Return by the model or by the spread of the others around 0, whichever is less surprised."""
    from scipy.special import ndtri, stdtr

    finite = np.isfinite(z)
    others = int(finite.sum()) - 1
    if others < 1:
        return Among(z, np.zeros_like(z), np.ones_like(z))
    squares = np.where(finite, z, 0.0) ** 2
    spread = np.sqrt((squares.sum() - squares) / others)
    with np.errstate(divide="ignore", invalid="ignore"):
        below = stdtr(others, -np.abs(z) / spread)
    far = -ndtri(np.clip(below, SMALLEST, 0.5))
    judged = np.sign(z) * np.minimum(np.abs(z), far)
    longer = float(t_reach(np.array(float(others)), CONFIDENCE)) / normal_reach(CONFIDENCE)
    return Among(judged, np.zeros_like(z), np.maximum(spread * longer, 1.0))


HARD = 0.3  # chance below which an item is hard for a respondent
LEAST_HARD = 5  # hard items needed for a test
BINS, LEAST_CELLS = 20, 200  # for the correction of chances
FINE = 400
NUDGE = 1e-4
LEAST_SKEW = 1e-3  # less is ignored
LEAST = 1e-3  # smallest chance of a response
CELLS = 1 << 21


def judged_by_hard_items(parts: list[Judged], n_respondents: int) -> dict[str, Any]:
    """Columns of all respondents: right on hard items, how many are expected, and the test."""
    from scipy.special import ndtr

    sums = np.full((6, n_respondents), np.nan)
    for part in parts:
        sums[:, part.rows] = _sums(part)
    n, right, mean, excess, variance, third = sums
    enough = (n >= LEAST_HARD) & (variance > 0)
    deviation = np.sqrt(np.where(enough, variance, np.nan))
    found = among_others(as_normal(excess / deviation, third / deviation**3))
    p = ndtr(-found.z)
    p_adjusted = benjamini_hochberg(p)
    return {
        "hard": _whole(n),
        "right_on_hard": _whole(right),
        "expected_on_hard": mean + found.middle * deviation,
        "expected_on_hard_se": found.scatter * deviation,
        "excess_z": found.z,
        "excess_p": p,
        "excess_p_adjusted": p_adjusted,
        "hint": p_adjusted < ALPHA,
    }


def _whole(counts: Floats) -> np.ndarray:
    """Return counts as whole numbers if they are; shares of repeated answers are not."""
    whole = np.isfinite(counts).all() and (counts == np.floor(counts)).all()
    return counts.astype(int) if whole else counts


def _sums(part: Judged) -> Floats:
    corrected = _Corrected(part)
    size = max(16, CELLS // len(part.items))
    blocks = row_blocks(len(part.rows), size)
    return np.concatenate([corrected.sums(rows) for rows in blocks], axis=1)


def as_normal(z: Floats, skew: Floats) -> Floats:
    """Return normal deviates of a skewed sum, by a gamma distribution with its skewness."""
    from scipy.special import gammainc, gammaincc, ndtri

    found = z.copy()
    rows = np.isfinite(z) & (np.abs(skew) > LEAST_SKEW)
    shape = 4 / skew[rows] ** 2
    right = skew[rows] > 0
    at = np.maximum(shape + np.where(right, z[rows], -z[rows]) * np.sqrt(shape), 0.0)
    above = np.where(right, gammaincc(shape, at), gammainc(shape, at))
    found[rows] = -ndtri(np.clip(above, 1e-300, 1 - 1e-16))
    return found


class _Corrected:
    """Chances of cells, corrected by how often cells of such a chance were right."""

    def __init__(self, part: Judged) -> None:
        self._part = part
        self._at, self._shift = self._curve()

    def sums(self, rows: slice) -> Floats:
        """Return the sums that make up the statistic of each respondent, (6, n_rows)."""
        shares, worth = self._part.shares[rows], self._part.worth[rows]
        asked = worth > 0
        raw, rise = self._part.chances.at(rows)
        chance = self._corrected(raw)
        above, below = (self._corrected(raw + way * NUDGE * rise) for way in (1, -1))
        rise = (above - below) / (2 * NUDGE)
        spread = chance * (1 - chance)
        noise = np.divide(spread, worth, out=np.zeros_like(spread), where=asked)
        hard = (asked & (chance < HARD)).astype(float)
        tells = worth * rise / np.maximum(spread, 1e-9)
        # Remove the part of the count that the estimate of ability has already used.
        information = (tells * rise).sum(axis=1)
        used = (hard * rise).sum(axis=1) / np.where(information > 0, information, np.inf)
        weight = hard - used[:, None] * tells
        away = np.where(asked, shares - chance, 0.0)
        skew = np.divide(noise * (1 - 2 * chance), worth, out=np.zeros_like(noise), where=asked)
        return np.stack(
            [
                hard.sum(axis=1),
                (hard * np.where(asked, shares, 0.0)).sum(axis=1),
                (hard * chance).sum(axis=1),
                (weight * away).sum(axis=1),
                (weight**2 * noise).sum(axis=1),
                (weight**3 * skew).sum(axis=1),
            ]
        )

    def _corrected(self, raw: Floats) -> Floats:
        return np.clip(raw + np.interp(raw, self._at, self._shift), LEAST, 1 - LEAST)

    def _curve(self) -> tuple[Floats, Floats]:
        """Return how much more often cells were right than predicted, by their chance."""
        n, right, chance = np.zeros((3, FINE))
        part = self._part
        for rows in row_blocks(len(part.rows), max(16, CELLS // len(part.items))):
            asked = part.worth[rows] > 0
            raw = part.chances.at(rows)[0][asked]
            places = np.minimum((raw * FINE).astype(int), FINE - 1)
            n += np.bincount(places, minlength=FINE)
            right += np.bincount(places, part.shares[rows][asked], minlength=FINE)
            chance += np.bincount(places, raw, minlength=FINE)
        # Neighbouring bins are merged until each holds enough cells.
        bins = (np.cumsum(n) - n) // max(LEAST_CELLS, n.sum() / BINS)
        _, place = np.unique(bins[n > 0], return_inverse=True)
        pooled = [np.bincount(place, each[n > 0]) for each in (n, right, chance)]
        return pooled[2] / pooled[0], (pooled[1] - pooled[2]) / pooled[0]


SURE = 1.96  # standard errors that an interval in a sentence reaches both ways
CAUSES = (
    "A hint is no proof of contamination: guessing, related training data, another prompt or "
    "answer format, keys that are wrong in the same way, and items seen in training can all cause "
    "it. Inspect these responses."
)


def respondent_frame(calibration: Calibration, table: Responses) -> pd.DataFrame:
    """Return one row per respondent: ability, fit, and how much of the highest grades it reached.

    Of repeated answers, the fit is unknown: its test needs one answer per cell.
    """
    frame = _placed(calibration, table)
    frame["n_items"] = frame["n_items"].astype(int)
    low, high = score_ends(calibration)
    places = (as_floats(table.cells) - low) / (high - low)
    asked = np.maximum(frame["n_items"].to_numpy(), 1)
    shares = np.where(frame["n_items"] > 0, np.nansum(places, axis=1) / asked, np.nan)
    frame.insert(2, "share_reached", shares)
    return frame


def _placed(calibration: Calibration, table: Responses) -> pd.DataFrame:
    """Return ability, its standard error, fit and number of items of each respondent."""
    if table.tries is not None and calibration.model.kind == "binary":
        scored = calibration.score(table)[["ability", "se"]].rename(columns={"se": "ability_se"})
        scored.index.name = "respondent"
        return scored.assign(zh=np.nan, fit_p=np.nan, n_items=table.observed.sum(axis=1))
    names = {"se": "ability_se", "p": "fit_p", "n": "n_items"}
    fit = respondent_fit(calibration, table).to_frame()
    return fit[["ability", "se", "zh", "p", "n"]].rename(columns=names)


def with_hard_items(frame: pd.DataFrame, parts: list[Judged]) -> pd.DataFrame:
    """Return the same with right responses to hard items, of those who can be judged."""
    return frame.assign(**judged_by_hard_items(parts, len(frame)))


def said_of_hints(frame: pd.DataFrame, hints: tuple[str, ...]) -> str:
    """Return who is right more often than its ability predicts, and what may cause it."""
    judged = int(np.isfinite(frame["excess_z"]).sum())
    total, verb = counted(len(frame), "respondent"), "does" if len(hints) == 1 else "do"
    if not hints:
        looked_at = bool(np.isfinite(frame["hard"].to_numpy(float)).any())
        return _said_of_none(judged, len(frame)) if looked_at else ""
    first = _hint_said(hints[0], frame.loc[[hints[0]]].iloc[0])
    names = ", ".join(hints[:3]) + (", ..." if len(hints) > 3 else "")
    who = f"{len(hints):,} of {total}" + (f" ({names})" if len(hints) > 1 else "")
    clearest = "the clearest: " if len(hints) > 1 else ""
    return f"{who} {verb} significantly better than expected; {clearest}{first}. {CAUSES}"


def _said_of_none(judged: int, total: int) -> str:
    """Return that nobody stands out, and how many could not be judged."""
    if not judged:
        return (
            f"Right answers to hard items are not judged: nobody was asked {LEAST_HARD} or more "
            f"that it solves with a chance below {HARD:.0%}."
        )
    rest = total - judged
    few = f"; {rest:,} could not be judged, such as for fewer than {LEAST_HARD} hard items"
    return (
        f"None of {counted(judged, 'respondent')} is right on hard items significantly more often "
        f"than expected{few if rest else ''}."
    )


def _hint_said(name: str, row: pd.Series[Any]) -> str:
    """Say what is unexpected about one respondent, a row of the frame of respondents."""
    said = []
    if row["hint"]:
        mean, reach = row["expected_on_hard"], SURE * row["expected_on_hard_se"]
        low, high = max(mean - reach, 0.0), min(mean + reach, row["hard"])
        right = float(row["right_on_hard"])
        count = f"{right:,.0f}" if right.is_integer() else f"{right:,.1f}"
        said.append(
            f"right on {count} of {counted(int(row['hard']), 'hard item')}, where "
            f"{mean:.1f} ({low:.1f} to {high:.1f}) are expected"
        )
    if row["too_good_on"]:
        said.append(f"better on {row['too_good_on']} than its other responses predict")
    return f"{name} is {joined(said)}"


LEAST_OUTSIDE = 5  # items outside a group needed to estimate the ability
FARTHEST = 1.0  # standard deviations that the ability elsewhere may lie from that on all items

_COLUMNS = (
    *("respondent", "group", "n_items", "share_reached", "expected", "expected_se"),
    *("z", "p", "p_adjusted", "hint"),
)
Sums = tuple[Floats, Floats, Floats, Floats, np.ndarray]  # n, seen, mean, error, who is judged


def group_frame(
    calibration: Calibration, table: Responses, groups: Sequence[str], parts: list[Judged]
) -> pd.DataFrame:
    """One row per respondent and group: its result there, and what its ability elsewhere predicts.

    Groups are judged if at least five items lie outside; `p` is the probability of such a result.
    `parts` are those who are judged together, by right and wrong.
    """
    import pandas as pd
    from scipy.special import ndtr

    names = list(dict.fromkeys(groups))
    rows = []
    for name in names:
        inside = np.array([group == name for group in groups])
        if np.count_nonzero(~inside) < LEAST_OUTSIDE:
            continue
        by_others = calibration.model.kind == "binary" and not items_are_known(calibration)
        sums = (
            _by_others(parts, table, inside)
            if by_others
            else _by_calibration(calibration, table, inside)
        )
        rows.append(_described(table, *sums).assign(group=name))
    if not rows:
        return pd.DataFrame(columns=[*_COLUMNS])
    frame = pd.concat(rows, ignore_index=True)
    frame["p"] = ndtr(-frame["z"].to_numpy())
    frame["p_adjusted"] = benjamini_hochberg(frame["p"].to_numpy())
    frame["hint"] = frame["p_adjusted"] < ALPHA
    return frame[[*_COLUMNS]]


def _described(
    table: Responses, n: Floats, seen: Floats, mean: Floats, error: Floats, sure: np.ndarray
) -> pd.DataFrame:
    import pandas as pd

    z = np.divide(seen - mean, error, out=np.full(len(n), np.nan), where=sure & (error > 0))
    count = np.where(n > 0, n, np.nan)
    return pd.DataFrame(
        {
            "respondent": list(table.respondents),
            "n_items": n.astype(int),
            "share_reached": seen / count,
            "expected": mean / count,
            "expected_se": error / count,
            "z": among_others(z).z,
        }
    )


def _by_calibration(calibration: Calibration, table: Responses, inside: np.ndarray) -> Sums:
    """Return sums over a group at the ability on the other items, by the parameters of all items.

    Where few respondents stand behind these, all are judged by their variation, which takes enough
    of them.
    """
    there, others = np.flatnonzero(inside), np.flatnonzero(~inside)
    elsewhere = calibration.of_items([table.items[k] for k in others])
    scored = elsewhere.score(table.select(items=others), items_known=True)
    ability, se = scored["ability"].to_numpy(), scored["se"].to_numpy()
    model, coords = calibration.model.of_items(there), calibration.coords[there]
    low, high = (end[there] for end in score_ends(calibration))
    values = (as_floats(table.cells[:, there]) - low) / (high - low)
    asked = ~np.isnan(values)
    unit = (high - low)[:, None]
    expected = ((model.expected(coords, ability) - low[:, None]) / unit).T
    variance = (model.variance(coords, ability) / unit**2).T
    rise = (
        (model.expected(coords, ability + NUDGE) - model.expected(coords, ability - NUDGE)) / unit
    ).T / (2 * NUDGE)
    n = asked.sum(axis=1)
    seen, mean, noise, pull = (
        np.where(asked, part, 0.0).sum(axis=1) for part in (values, expected, variance, rise)
    )
    error = np.sqrt(noise + (pull * se) ** 2)
    enough = items_are_known(calibration) or table.n_respondents >= ENOUGH_TO_SCATTER
    outside = table.observed[:, others].sum(axis=1)
    return n, seen, mean, error, enough & (n > 0) & (outside >= LEAST_OUTSIDE)


def _by_others(parts: list[Judged], table: Responses, inside: np.ndarray) -> Sums:
    """Return sums over a group, by what other respondents answered to its items and to all else.

    The ability elsewhere is one step of scoring from that on all items.
    """
    found = np.zeros((4, table.n_respondents))
    observed = table.observed[:, inside]
    found[0] = observed.sum(axis=1)
    found[1] = np.where(observed, as_floats(table.cells[:, inside]), 0.0).sum(axis=1)
    found[2:] = np.nan
    sure = np.zeros(table.n_respondents, dtype=bool)
    for part in parts:
        asked, there = part.worth > 0, inside[part.items]
        chance, rise = part.chances.at(slice(None))
        away = np.where(asked, part.shares - chance, 0.0)
        spread = chance * (1 - chance)
        tells = part.worth * rise / spread
        information = (tells * rise)[:, ~there].sum(axis=1)
        told = information > 0
        safe = np.where(told, information, 1.0)
        shift = np.clip((tells * away)[:, ~there].sum(axis=1) / safe, -FARTHEST, FARTHEST)
        mean, pull = (np.where(asked, x, 0.0)[:, there].sum(axis=1) for x in (chance, rise))
        noise = np.divide(spread, part.worth, out=np.zeros_like(spread), where=asked)
        found[2, part.rows] = np.clip(mean + pull * shift, 0.0, found[0, part.rows])
        found[3, part.rows] = np.sqrt(noise[:, there].sum(axis=1) + pull**2 / safe)
        outside = asked[:, ~there].sum(axis=1)
        sure[part.rows] = told & (found[0, part.rows] > 0) & (outside >= LEAST_OUTSIDE)
    return found[0], found[1], found[2], found[3], sure
