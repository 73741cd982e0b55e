"""Prediction errors of a replay, and respondents beyond the range of scores seen.

A regression cannot predict respondents that are stronger than all it was learned from: it pulls
towards them. The curve of an item over the score on all items can be extended, though. With all
points reached, every response is the best possible, and curves average to the score itself, at the
edge and at the end; so straight lines from the edge to the end do so in between. The curves of a
measurement model are another extension: hard items stay hard for longer. Which of both is right
differs between benchmarks, so the responses of each respondent decide.

`RealError` says how far predictions of a bank were off when recorded evaluations were replayed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from ogive._files import written_number, written_text
from ogive.errors import InputError
from ogive.results.numbers import counted
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import conformal_quantile

POINTS = 201  # number of scores on the grid, from the worst to the best
THIN = 5  # every how many points curves of all items are written
DIGITS = 4  # number of digits with which they are written
NEAR = 0.005  # least distance of curves from the worst and the best response
RARE = 500  # number of respondents of which one may lie beyond the edge
LEAST_EDGE = 1e-3  # least distance between an edge and the end
LEAST_WIDTH = 0.01  # least width of the kernel
LEAST_SPREAD, MOST_SPREAD = 0.05, 5.0  # bounds of the variance around curves, relative to binary

GRID: Floats = np.linspace(0.0, 1.0, POINTS)
CURVES = ("curves", "modelled")
LENGTHS = {"inside": POINTS, "edges": 2, "odds": 2, "spread": 1, "weight": 1}
LARGEST = 1e12
ADAPTIVE, FORM = "adaptive", "short form"  # ways to ask
PARTS = ("misses", "weakest", "strongest")


@dataclass(frozen=True, eq=False)
class Placed:
    """Positions of respondents relative to the range, (n_respondents,) each.

    `above` and `below` are chances to lie beyond the range, if new respondents are as rare there
    as the edge suggests; `maybe_above` and `maybe_below` if each side is half as likely as the
    range. Beyond it, scores are expected at `if_above` and `if_below`. `top` and `bottom` are
    scores that are exceeded with the rest of the confidence, NaN if the side need not be feared.
    """

    above: Floats
    below: Floats
    maybe_above: Floats
    maybe_below: Floats
    if_above: Floats
    if_below: Floats
    top: Floats
    bottom: Floats

    def mixed(self, inside: Floats) -> Floats:
        """Return the expected score, from that of a respondent inside the range."""
        rest = 1.0 - self.above - self.below
        return np.asarray(rest * inside + self.above * self.if_above + self.below * self.if_below)

    def raised(self, inside: Floats) -> Floats:
        """Return the expected score if no respondent lies below the range."""
        return np.asarray((1.0 - self.above) * inside + self.above * self.if_above)

    def rows(self, rows: np.ndarray) -> Placed:
        """Return some of the respondents."""
        return Placed(*(each[rows] for each in self.columns()))

    def scaled(self, low: float, high: float) -> Placed:
        """Return scores between `low` and `high` instead of shares."""
        columns = self.columns()
        return Placed(*columns[:4], *(low + each * (high - low) for each in columns[4:]))

    @classmethod
    def joined(cls, parts: Sequence[Placed]) -> Placed:
        """Put respondents one after the other."""
        columns = zip(*(part.columns() for part in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    def columns(self) -> list[Floats]:
        """Return all arrays in the order of the fields."""
        return [getattr(self, each.name) for each in fields(self)]


@dataclass(frozen=True, eq=False)
class ScoreRange:
    """Curves of items over the score on all items, and where respondents were seen.

    Scores and responses are shares: 0 is the worst possible, 1 the best.
    """

    curves: Floats  # (POINTS, n_items), in straight lines beyond the range
    modelled: Floats  # (POINTS, n_items), by the measurement model beyond the range
    inside: Floats  # (POINTS,), density of the respondents seen; sums to one
    edges: Floats  # (2,), the lowest and the highest score seen
    odds: Floats  # (2,), below and above, relative to one for the range
    spread: float  # variance of responses around the curves, relative to right and wrong
    weight: float  # of one item in the score: one by the number of all items

    @classmethod
    def learned(
        cls, responses: Floats, score: Floats, modelled: Floats, n_items: int
    ) -> ScoreRange:
        """Learn from respondents with known scores on `n_items`, some of which were asked.

        `responses` are (n_respondents, n_asked); `modelled` (POINTS, n_asked) are the responses
        that the measurement model expects at each score on all items.
        """
        edges, width = score_edges(score), _kernel_width(score)
        density = np.exp(-0.5 * ((GRID[:, None] - score) / width) ** 2).sum(axis=1)
        density *= (edges[0] - 1 / POINTS <= GRID) & (edges[1] + 1 / POINTS >= GRID)
        curves = item_curves(responses, score, GRID)
        expected = curves[np.rint(score * (POINTS - 1)).astype(int)]
        noise = ((responses - expected) ** 2).sum() / (expected * (1 - expected)).sum()
        in_range = ((edges[0] <= GRID) & (edges[1] >= GRID))[:, None]
        return cls(
            curves,
            np.where(in_range, curves, np.clip(modelled, NEAR, 1 - NEAR)),
            density / density.sum(),
            edges,
            odds_beyond(score),
            float(np.clip(noise, LEAST_SPREAD, MOST_SPREAD)),
            1.0 / n_items,
        )

    @classmethod
    def from_numbers(cls, numbers: Mapping[str, Floats]) -> ScoreRange:
        """Restore what `numbers` returned; curves are straight between points left out."""
        curves = []
        for name in CURVES:
            points = numbers[name]
            if len(points) != POINTS:
                at = np.linspace(0.0, 1.0, len(points))
                points = np.stack([np.interp(GRID, at, curve) for curve in points.T], axis=1)
            curves.append(points)
        inside, edges, odds, spread, weight = (numbers[name] for name in LENGTHS)
        straight, modelled = curves
        return cls(straight, modelled, inside, edges, odds, float(spread[0]), float(weight[0]))

    def numbers(self) -> dict[str, Floats]:
        """Return all fields as arrays."""
        return {each.name: np.atleast_1d(getattr(self, each.name)) for each in fields(self)}

    def thinned(self) -> dict[str, Floats]:
        """Return few points and digits of each curve, for banks of thousands of items."""
        numbers = self.numbers()
        return {**numbers, **{name: numbers[name][::THIN].round(DIGITS) for name in CURVES}}

    def part(self, places: np.ndarray) -> ScoreRange:
        """Return some of the items; the score stays that on all of them."""
        return replace(self, curves=self.curves[:, places], modelled=self.modelled[:, places])

    @cached_property
    def _sides(self) -> tuple[Floats, Floats]:
        """Densities below and above the range; they fall in a line to none at the end."""
        below = np.where(self.edges[0] > GRID, GRID, 0.0)
        above = np.where(self.edges[1] < GRID, 1 - GRID, 0.0)
        return below / max(below.sum(), 1e-300), above / max(above.sum(), 1e-300)

    def place(self, responses: Floats, confidence: float) -> Placed:
        """Place respondents relative to the range; NaN for items that were not asked."""
        likely, scores, possible = self._likelihood(responses)
        below, above = (_Side.of(likely * density, scores, possible) for density in self._sides)
        within = (likely * self.inside).sum(axis=(0, 2))
        chances = []
        for odds_below, odds_above in (self.odds, np.full(2, 0.5)):
            mass_below, mass_above = odds_below * below.mass, odds_above * above.mass
            whole = within + mass_below + mass_above
            chances.append((mass_below / whole, mass_above / whole))
        (is_below, is_above), (maybe_below, maybe_above) = chances
        tail = (1 - confidence) / 2
        return Placed(
            above=is_above,
            below=is_below,
            maybe_above=maybe_above,
            maybe_below=maybe_below,
            if_above=above.mean,
            if_below=below.mean,
            top=np.fmax(*above.beyond(maybe_above, 1 - tail / np.maximum(maybe_above, tail))),
            bottom=np.fmin(*below.beyond(maybe_below, tail / np.maximum(maybe_below, tail))),
        )

    def _likelihood(self, responses: Floats) -> tuple[Floats, Floats, tuple[Floats, Floats]]:
        """Return likelihoods of points by either curves, and the score there, (2, n, POINTS) each.

        The third are the lowest and the highest score that is possible, (n,) each.

        Likelihoods are up to a factor per respondent. The score at a point is what was observed
        plus what the curves expect of all other items: since curves of all items average to the
        point itself, that is the point, moved by how far the observed responses are off.
        """
        asked = ~np.isnan(responses)
        given = np.where(asked, responses, 0.0)
        missed = np.where(asked, 1 - responses, 0.0)
        both = (self.curves, self.modelled)
        log_likely = np.stack([given @ np.log(c).T + missed @ np.log1p(-c).T for c in both])
        log_likely /= self.spread
        likely: Floats = np.exp(log_likely - log_likely.max(axis=(0, 2), keepdims=True))
        reached = given.sum(axis=1)
        least = self.weight * reached
        most = least + 1 - self.weight * asked.sum(axis=1)
        moved = np.stack([GRID + self.weight * (reached[:, None] - asked @ c.T) for c in both])
        return likely, np.clip(moved, least[:, None], most[:, None]), (least, most)


@dataclass(frozen=True, eq=False)
class _Side:
    """One side of the range, for each respondent."""

    mass: Floats  # (n_respondents,)
    mean: Floats
    scores: Floats  # (n_respondents, POINTS)
    share: Floats  # (n_respondents, POINTS), cumulated
    possible: tuple[Floats, Floats]  # (n_respondents,) each: scores that responses leave possible

    @classmethod
    def of(cls, weight: Floats, scores: Floats, possible: tuple[Floats, Floats]) -> _Side:
        """Average both curves; `weight` and `scores` are (2, n_respondents, POINTS)."""
        at_points = weight.sum(axis=0)
        mass = at_points.sum(axis=1)
        safe = np.maximum(mass, 1e-300)
        summed = (weight * scores).sum(axis=0)
        plain = scores.mean(axis=0)
        at = np.where(at_points > 1e-300, summed / np.maximum(at_points, 1e-300), plain)
        share = np.cumsum(at_points, axis=1) / safe[:, None]
        return cls(mass, summed.sum(axis=1) / safe, at, share, possible)

    def beyond(self, chance: Floats, level: Floats) -> tuple[Floats, Floats]:
        """Return the point up to which the share `level` lies, and the score there.

        NaN if the chance is no larger than that. If curves are a little off, so is the score; the
        point as far as it is possible is the other estimate of the same.
        """
        place = np.minimum((self.share < level[:, None] - 1e-12).sum(axis=1), POINTS - 1)
        feared = (level > 0) & (level < 1) & (self.mass > 0) & (chance > 0)
        score = np.where(feared, self.scores[np.arange(len(place)), place], np.nan)
        return np.where(feared, np.clip(GRID[place], *self.possible), np.nan), score


def score_edges(score: Floats) -> Floats:
    """Return the lowest and the highest score seen, (2,); one in five hundred may lie beyond."""
    ordered, rare = np.sort(score), len(score) // RARE
    low, high = ordered[rare], ordered[len(score) - 1 - rare]
    return np.array([max(low, LEAST_EDGE), min(high, 1 - LEAST_EDGE)])


def odds_beyond(score: Floats) -> Floats:
    """Return share of new respondents below the lowest score seen, and above the highest, (2,).

    The density of scores goes on beyond an edge in the line in which it ends there, and falls to
    none at the latest at the end. If it thins out towards the edge, as in a sample, hardly
    any lie beyond; if scores break off, many do.
    """
    edges, width = score_edges(score), 2 * _kernel_width(score)
    odds = []
    for within, room in ((score - edges[0], edges[0]), (edges[1] - score, 1 - edges[1])):
        last = ((within >= 0) & (within <= width)).mean()
        before = ((within > width) & (within <= 2 * width)).mean()
        height = max(1.5 * last - 0.5 * before, 0.0) / width
        fall = (before - last) / width**2
        odds.append(height * (min(room, height / fall) if fall > 0 else room) / 2)
    return np.array(odds)


def item_curves(responses: Floats, score: Floats, points: Floats) -> Floats:
    """Return expected response to each item at some scores, (n_points, n_items), by local lines.

    Beyond the scores seen, curves go straight to the worst and the best response at the ends.
    """
    low, high = score_edges(score)
    at, width = np.clip(points, low, high), _kernel_width(score)
    distance = score - at[:, None]
    weight = np.exp(-0.5 * (distance / width) ** 2) + 1e-12
    total, first = weight.sum(axis=1), (weight * distance).sum(axis=1)
    second = (weight * distance**2).sum(axis=1) + 0.1 * width**2 * total
    level, lean = weight @ responses, (weight * distance) @ responses
    slope = (total[:, None] * lean - first[:, None] * level) / (total * second - first**2)[:, None]
    curves = np.clip((level - slope * first[:, None]) / total[:, None], 0.0, 1.0)
    up = np.maximum(points - high, 0.0)[:, None] / (1 - high)
    down = np.maximum(low - points, 0.0)[:, None] / low
    curves = curves + up * (1 - curves)
    curves = curves * (1 - down)
    return np.asarray(np.clip(curves, NEAR, 1 - NEAR))


def _kernel_width(score: Floats) -> float:
    """Return the width of the kernel over scores by Silverman's rule."""
    return float(max(1.06 * score.std() * len(score) ** -0.2, LEAST_WIDTH))


@dataclass(frozen=True, eq=False, repr=False)
class RealError:
    """Errors of predicted accuracies, relative to their standard errors, by number of items asked.

    A standard error of the model assumes that one ability explains all items. If not, predictions
    miss by more. Intervals by these errors have the right coverage for models like those replayed
    (conformal prediction with normalised errors). A model that may belong to the strongest tenth
    may be better than all of them: its interval also reaches as far up as that tenth needed,
    predicted by a bank from the rest; and likewise down for the weakest.

    `within` are the accuracies that the bank has seen, from which models beyond them are told.
    `compared` has the mean absolute error of each way to ask by size: of models held out at random,
    and of the strongest tenth (NaN if it was not replayed). `forms` are the short forms, as their
    files have them, of sizes at which they are better than the adaptive test.
    """

    items: tuple[str, ...]  # in the order of the curves of `within`
    selector: str
    sizes: tuple[int, ...]
    floors: tuple[float, ...]  # mean standard error at each size, added to that of each model
    misses: tuple[Floats, ...]  # |predicted - true| / (standard error + floor), for each size
    edges: tuple[float, float]  # accuracies beyond which a tenth lies
    weakest: tuple[Floats, ...] = ()  # misses of the weakest tenth; empty if it was not replayed
    strongest: tuple[Floats, ...] = ()
    within: ScoreRange | None = None
    compared: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)
    forms: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)

    def __repr__(self) -> str:
        n = self.misses[0].size if self.misses else 0
        sizes = ", ".join(map(str, self.sizes))
        return (
            f"RealError({counted(n, 'respondent')}, {counted(len(self.items), 'item')}, "
            f"sizes {sizes}, selector {self.selector})"
        )

    def reach(self, asked: int, confidence: float) -> float:
        """Return half the width of an interval after `asked` items, in standard errors plus floor.

        It is interpolated between the sizes replayed, and infinite if too few models were replayed.
        """
        reaches = [conformal_quantile(missed, confidence) for missed in self.misses]
        if not np.isfinite(reaches).all():  # each size has the same number of misses
            return float("inf")
        return float(np.interp(asked, self.sizes, reaches))

    def reaches(
        self, asked: int, accuracy: float, se: float, confidence: float
    ) -> tuple[float, float]:
        """Return the lengths of the interval of a predicted accuracy, down and up."""
        unit = se + float(np.interp(asked, self.sizes, self.floors))
        plain = self.reach(asked, confidence) * unit
        extremes = []
        for misses in (self.weakest, self.strongest):
            wide = [float(np.quantile(missed, confidence, method="higher")) for missed in misses]
            needed = float(np.interp(asked, self.sizes, wide)) if wide else 0.0
            extremes.append(max(plain, needed * unit))
        weak, strong = extremes
        low, high = self.edges
        down = max(weak if accuracy - weak <= low else plain, strong if accuracy >= high else plain)
        up = max(strong if accuracy + strong >= high else plain, weak if accuracy <= low else plain)
        return down, up

    def refuse_unless_for(self, items: tuple[str, ...], selector: str) -> None:
        """Refuse the error of another bank or selector, which does not apply."""
        if set(self.items) != set(items):
            raise InputError(
                f"error comes from a replay with {len(self.items):,} items that are not the "
                f"{len(items):,} of this bank. Replay responses to the same items."
            )
        if self.selector != selector:
            raise InputError(
                f"error comes from a replay with the selector {self.selector}, but here it is "
                f"{selector}. Replay with the same selector."
            )

    def range_of(self, items: Sequence[str]) -> ScoreRange | None:
        """Return the accuracies seen, with the curves of some items."""
        if self.within is None:
            return None
        place = {name: k for k, name in enumerate(self.items)}
        return self.within.part(np.array([place[name] for name in items], dtype=np.intp))

    def said_of(self, size: int) -> str:
        """Say which way to ask so many items was better; empty if none was compared."""
        if size not in self.sizes or FORM not in self.compared:
            return ""
        own, form = (self.compared[way][self.sizes.index(size)] for way in (ADAPTIVE, FORM))
        names = "a fixed short form", "an adaptive test"
        chosen = size in self.forms
        better, other = names if chosen else names[::-1]
        first, second = (form, own) if chosen else (own, form)
        errors = _compared_errors(first[0], second[0], "models like those seen")
        decides = ""
        if not np.isnan([first[1], second[1]]).any():
            errors += f" and {_compared_errors(first[1], second[1], 'stronger ones')}"
            mean, of_other = (first[0] + first[1]) / 2, (second[0] + second[1]) / 2
            decides = f"; the mean of both decides, {mean:.4f} against {of_other:.4f}"
        return (
            f"With {counted(size, 'item')}, {better} is asked rather than {other}: in a replay of "
            f"this benchmark, its mean absolute error was {errors}{decides}. This is a choice, not "
            "a claim that they differ significantly."
        )

    def document(self) -> dict[str, Any]:
        """Return a JSON document for a bank; the items are those of the bank."""
        within = None
        if self.within is not None:
            within = {name: values.tolist() for name, values in self.within.thinned().items()}
        return {
            "selector": self.selector,
            "sizes": list(self.sizes),
            "floors": list(self.floors),
            "edges": list(self.edges),
            **{name: [m.tolist() for m in getattr(self, name)] for name in PARTS},
            "within": within,
            "compared": {
                way: [[None if np.isnan(each) else each for each in pair] for pair in pairs]
                for way, pairs in self.compared.items()
            },
            "forms": {str(size): form for size, form in self.forms.items()},
        }


def _compared_errors(mine: float, theirs: float, whom: str) -> str:
    """Return which of two errors is smaller, and both."""
    side = "smaller" if mine < theirs else "larger" if mine > theirs else "equal"
    return f"{side} for {whom} ({mine:.4f} against {theirs:.4f})"


def real_error_from(document: Mapping[str, Any], items: Sequence[str]) -> RealError:
    """Restore what `RealError.document` returned."""
    sizes = tuple(int(written_number(size, "sizes", low=1)) for size in document["sizes"])
    floors = _numbers(document["floors"], "floors")
    edges = _numbers(document["edges"], "edges")
    parts = {
        name: tuple(np.array(_numbers(row, name, low=0.0)) for row in document[name])
        for name in PARTS
    }
    counts_fit = all(len(rows) in (0, len(sizes)) for rows in parts.values())
    fit = len(sizes) == len(floors) == len(parts["misses"]) and len(edges) == 2 and counts_fit
    if not fit or not sizes:
        raise ValueError("the replayed errors do not fit their sizes.")
    if any(not row.size for rows in parts.values() for row in rows):
        raise ValueError("the replayed errors are empty.")
    compared = {}
    for way, pairs in document["compared"].items():  # null if the strongest were not replayed
        rows = [[float("nan") if each is None else each for each in pair] for pair in pairs]
        if len(rows) != len(sizes) or any(len(row) != 2 for row in rows):
            raise ValueError("the errors compared do not fit their sizes.")
        compared[str(way)] = tuple((float(row[0]), float(row[1])) for row in rows)
    return RealError(
        items=tuple(items),
        selector=written_text(document["selector"], "selector"),
        sizes=sizes,
        floors=tuple(floors),
        edges=(edges[0], edges[1]),
        **parts,
        within=_range_from(document["within"], len(items)),
        compared=compared,
        forms={int(size): dict(form) for size, form in document["forms"].items()},
    )


def _range_from(written: Any, n_items: int) -> ScoreRange | None:
    """Return the accuracies that a bank has seen; curves lie between 0 and 1."""
    if written is None:
        return None
    found = {name: np.array([_numbers(row, name) for row in written[name]]) for name in CURVES}
    for name, count in LENGTHS.items():
        found[name] = np.array(_numbers(written[name], name, low=0.0))
        if found[name].shape != (count,):
            raise ValueError(f"{name} has the wrong length.")
    for name in CURVES:
        curves = found[name]
        fits = curves.shape == (POINTS // THIN + 1, n_items)
        if not fits or not (curves.min() > 0 and curves.max() < 1):
            raise ValueError(f"the {name} of the accuracies seen do not fit the items.")
    if not (found["spread"][0] > 0 and found["weight"][0] > 0 and found["inside"].sum() > 0):
        raise ValueError("the accuracies seen are damaged.")
    return ScoreRange.from_numbers(found)


def _numbers(rows: Any, name: str, low: float = -LARGEST) -> list[float]:
    if not isinstance(rows, list):
        raise ValueError(f"{name} is not a list.")
    return [written_number(value, name, low, LARGEST) for value in rows]
