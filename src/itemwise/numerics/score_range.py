"""Respondents beyond the range of scores from which a prediction was learned.

Who is stronger than everybody seen so far cannot be predicted by a regression on those: it pulls
towards them. The curve of an item over the score on all items can be extended, though. With all
points reached, every response is the best possible, and curves average to the score itself, at
the edge and at the end; so straight lines from the edge to the end do so in between. Choosing
respondents by their score leaves these curves as they are, but not a regression of the score.
The curves of a measurement model are another way to go on: hard items stay hard for longer. Which
of both is right differs between benchmarks, so the responses of each respondent decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from itemwise.numerics.arrays import Floats

POINTS = 201  # of the score, from the worst to the best
NEAR = 0.005  # of the worst and the best response: nothing is impossible
RARE = 500  # respondents of which one may lie beyond the edge
LEAST_EDGE = 1e-3  # between an edge and the end
LEAST_WIDTH = 0.01  # of the kernel
MOST_ODDS = np.array([0.02, 0.1])  # below and above, against the range: most are stronger
LEAST_SPREAD, MOST_SPREAD = 0.05, 5.0  # of responses around curves, relative to right and wrong

GRID: Floats = np.linspace(0.0, 1.0, POINTS)


@dataclass(frozen=True, eq=False)
class Placed:
    """Where respondents stand relative to the range, (n_respondents,) each.

    `above` and `below` are chances to lie beyond the range, where new respondents are as rare there
    as the edge suggests; `maybe_above` and `maybe_below` where each side is half as likely as the
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
        """The expected score, from that of a respondent inside the range."""
        rest = 1.0 - self.above - self.below
        found: Floats = rest * inside + self.above * self.if_above + self.below * self.if_below
        return found

    def rows(self, rows: np.ndarray) -> Placed:
        """Return some of the respondents."""
        return Placed(*(each[rows] for each in _columns(self)))

    def scaled(self, low: float, high: float) -> Placed:
        """Return scores between `low` and `high` instead of shares."""
        chances, scores = _columns(self)[:4], _columns(self)[4:]
        return Placed(*chances, *(low + each * (high - low) for each in scores))

    @classmethod
    def joined(cls, parts: Sequence[Placed]) -> Placed:
        """Put respondents one after the other."""
        columns = zip(*(_columns(part) for part in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))


def _columns(placed: Placed) -> list[Floats]:
    return [getattr(placed, each.name) for each in fields(placed)]


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

    @classmethod
    def learned(cls, responses: Floats, score: Floats, modelled: Floats) -> ScoreRange:
        """Learn from respondents with known scores.

        `responses` are (n_respondents, n_items); `modelled` (POINTS, n_items) are the responses
        that the measurement model expects at each score on all items.
        """
        edges, width = score_edges(score), _width(score)
        near = np.exp(-0.5 * ((GRID[:, None] - score) / width) ** 2).sum(axis=1)
        near *= (edges[0] - 1 / POINTS <= GRID) & (edges[1] + 1 / POINTS >= GRID)
        curves = item_curves(responses, score, GRID)
        seen = curves[np.rint(score * (POINTS - 1)).astype(int)]
        noise = ((responses - seen) ** 2).sum() / (seen * (1 - seen)).sum()
        # The density goes on beyond the edge as it ends there, and falls to none at the end.
        at_edge = np.array(
            [(score < edges[0] + 2 * width).mean(), (score > edges[1] - 2 * width).mean()]
        ) / (2 * width)
        room = np.array([edges[0], 1 - edges[1]])
        seen_there = ((edges[0] <= GRID) & (edges[1] >= GRID))[:, None]
        return cls(
            curves,
            np.where(seen_there, curves, np.clip(modelled, NEAR, 1 - NEAR)),
            near / near.sum(),
            edges,
            np.minimum(at_edge * room / 2, MOST_ODDS),
            float(np.clip(noise, LEAST_SPREAD, MOST_SPREAD)),
        )

    @classmethod
    def from_numbers(cls, numbers: Mapping[str, Floats]) -> ScoreRange:
        """Restore what `numbers` returned."""
        return cls(
            numbers["curves"],
            numbers["modelled"],
            numbers["inside"],
            numbers["edges"],
            numbers["odds"],
            float(numbers["spread"][0]),
        )

    def numbers(self) -> dict[str, Floats]:
        """What was learned, as arrays."""
        return {
            "curves": self.curves,
            "modelled": self.modelled,
            "inside": self.inside,
            "edges": self.edges,
            "odds": self.odds,
            "spread": np.array([self.spread]),
        }

    @cached_property
    def _sides(self) -> tuple[Floats, Floats]:
        """Densities below and above the range; they fall in a line to none at the end."""
        below = np.where(self.edges[0] > GRID, GRID, 0.0)
        above = np.where(self.edges[1] < GRID, 1 - GRID, 0.0)
        return below / max(below.sum(), 1e-300), above / max(above.sum(), 1e-300)

    def place(self, responses: Floats, confidence: float) -> Placed:
        """Where respondents stand; NaN for items that were not asked."""
        likely = self._likelihood(responses)
        sides = [_Part.of(likely * density) for density in self._sides]
        within = (likely * self.inside).sum(axis=1)
        chances = []
        for odds in (self.odds, np.full(2, 0.5)):
            mass = [odd * side.mass for odd, side in zip(odds, sides, strict=True)]
            whole = within + mass[0] + mass[1]
            chances.append([part / whole for part in mass])
        (below, above), (maybe_below, maybe_above) = chances
        tail = (1 - confidence) / 2
        return Placed(
            above=above,
            below=below,
            maybe_above=maybe_above,
            maybe_below=maybe_below,
            if_above=sides[1].mean,
            if_below=sides[0].mean,
            top=sides[1].beyond(maybe_above, 1 - tail / np.maximum(maybe_above, tail)),
            bottom=sides[0].beyond(maybe_below, tail / np.maximum(maybe_below, tail)),
        )

    def _likelihood(self, responses: Floats) -> Floats:
        """Of each score, (n_respondents, POINTS), up to a factor per respondent."""
        asked = ~np.isnan(responses)
        given = np.where(asked, responses, 0.0)
        missed = np.where(asked, 1 - responses, 0.0)
        ways = np.stack(
            [
                given @ np.log(curves).T + missed @ np.log1p(-curves).T
                for curves in (self.curves, self.modelled)
            ]
        )
        ways /= self.spread
        found: Floats = np.exp(ways - ways.max(axis=(0, 2), keepdims=True)).mean(axis=0)
        return found


@dataclass(frozen=True, eq=False)
class _Part:
    """One side of the range, for each respondent."""

    mass: Floats  # (n_respondents,)
    mean: Floats
    share: Floats  # (n_respondents, POINTS), cumulated

    @classmethod
    def of(cls, weight: Floats) -> _Part:
        mass = weight.sum(axis=1)
        safe = np.maximum(mass, 1e-300)
        return cls(mass, (weight @ GRID) / safe, np.cumsum(weight, axis=1) / safe[:, None])

    def beyond(self, chance: Floats, level: Floats) -> Floats:
        """The score up to which the share `level` lies; NaN if the chance is no larger than it."""
        place = np.minimum((self.share < level[:, None] - 1e-12).sum(axis=1), POINTS - 1)
        feared = (level > 0) & (level < 1) & (self.mass > 0) & (chance > 0)
        return np.where(feared, GRID[place], np.nan)


def score_edges(score: Floats) -> Floats:
    """The lowest and the highest score seen, (2,); one in five hundred may lie beyond."""
    ordered, rare = np.sort(score), len(score) // RARE
    low, high = ordered[rare], ordered[len(score) - 1 - rare]
    return np.array([max(low, LEAST_EDGE), min(high, 1 - LEAST_EDGE)])


def item_curves(responses: Floats, score: Floats, points: Floats) -> Floats:
    """Expected response to each item at some scores, (n_points, n_items), by local lines.

    Beyond the scores seen, curves go straight to the worst and the best response at the ends.
    """
    low, high = score_edges(score)
    at, width = np.clip(points, low, high), _width(score)
    apart = score - at[:, None]
    weight = np.exp(-0.5 * (apart / width) ** 2) + 1e-12
    total, first = weight.sum(axis=1), (weight * apart).sum(axis=1)
    second = (weight * apart**2).sum(axis=1) + 0.1 * width**2 * total
    level, lean = weight @ responses, (weight * apart) @ responses
    slope = (total[:, None] * lean - first[:, None] * level) / (total * second - first**2)[:, None]
    found = np.clip((level - slope * first[:, None]) / total[:, None], 0.0, 1.0)
    up = np.maximum(points - high, 0.0)[:, None] / (1 - high)
    down = np.maximum(low - points, 0.0)[:, None] / low
    found = found + up * (1 - found)
    found = found * (1 - down)
    shares: Floats = np.clip(found, NEAR, 1 - NEAR)
    return shares


def _width(score: Floats) -> float:
    """Width of the kernel over scores (Silverman's rule)."""
    return float(max(1.06 * score.std() * len(score) ** -0.2, LEAST_WIDTH))
