"""RealError: how far predictions of a bank were off when recorded evaluations were replayed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ogive.errors import InputError
from ogive.files import written_number, written_text
from ogive.numerics.arrays import Floats
from ogive.numerics.intervals import conformal_quantile
from ogive.numerics.score_range import CURVES, POINTS, THIN, ScoreRange
from ogive.words import counted

LARGEST = 1e12
ADAPTIVE, FORM = "adaptive", "short form"  # ways to ask


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
        """Half the width of an interval after `asked` items, in standard errors plus floor.

        It is interpolated between the sizes replayed, and infinite if too few models were replayed.
        """
        reaches = [conformal_quantile(missed, confidence) for missed in self.misses]
        if not np.isfinite(reaches).all():  # each size has the same number of misses
            return float("inf")
        return float(np.interp(asked, self.sizes, reaches))

    def reaches(
        self, asked: int, accuracy: float, se: float, confidence: float
    ) -> tuple[float, float]:
        """How far down and up the interval of a predicted accuracy reaches."""
        unit = se + float(np.interp(asked, self.sizes, self.floors))
        plain = self.reach(asked, confidence) * unit
        weak, strong = (
            max(plain, self._of_extreme(misses, asked, confidence) * unit)
            for misses in (self.weakest, self.strongest)
        )
        low, high = self.edges
        down = max(weak if accuracy - weak <= low else plain, strong if accuracy >= high else plain)
        up = max(strong if accuracy + strong >= high else plain, weak if accuracy <= low else plain)
        return down, up

    def _of_extreme(self, misses: tuple[Floats, ...], asked: int, confidence: float) -> float:
        """The reach that an extreme needed; 0 if it was not replayed."""
        if not misses:
            return 0.0
        wide = [float(np.quantile(missed, confidence, method="higher")) for missed in misses]
        return float(np.interp(asked, self.sizes, wide))

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
        """The accuracies seen, with the curves of some items."""
        if self.within is None:
            return None
        place = {name: k for k, name in enumerate(self.items)}
        return self.within.part(np.array([place[name] for name in items], dtype=np.intp))

    def said_of(self, size: int) -> str:
        """Which way to ask so many items was better in the replay; empty if none was compared."""
        if size not in self.sizes or FORM not in self.compared:
            return ""
        own, form = (self.compared[way][self.sizes.index(size)] for way in (ADAPTIVE, FORM))
        ways = "a fixed short form", "an adaptive test"
        chosen = size in self.forms
        better, other = ways if chosen else ways[::-1]
        first, second = (form, own) if chosen else (own, form)
        told = _compared_errors(first[0], second[0], "models like those seen")
        decides = ""
        if first[1] == first[1] and second[1] == second[1]:
            told += f" and {_compared_errors(first[1], second[1], 'stronger ones')}"
            mean, of_other = (first[0] + first[1]) / 2, (second[0] + second[1]) / 2
            decides = f"; the mean of both decides, {mean:.4f} against {of_other:.4f}"
        return (
            f"With {counted(size, 'item')}, {better} is asked rather than {other}: in a replay of "
            f"this benchmark, its mean absolute error was {told}{decides}. This is a choice, not a "
            "claim that they differ significantly."
        )

    def document(self) -> dict[str, Any]:
        """What a bank writes of it; the items are those of the bank."""
        return {
            "selector": self.selector,
            "sizes": list(self.sizes),
            "floors": list(self.floors),
            "edges": list(self.edges),
            **{name: [m.tolist() for m in getattr(self, name)] for name in PARTS},
            "within": None if self.within is None else _lists(self.within.thinned()),
            "compared": {
                way: [[None if np.isnan(each) else each for each in pair] for pair in pairs]
                for way, pairs in self.compared.items()
            },
            "forms": {str(size): form for size, form in self.forms.items()},
        }


def _compared_errors(mine: float, theirs: float, whom: str) -> str:
    """Which of two errors is smaller, and both."""
    side = "smaller" if mine < theirs else "larger" if mine > theirs else "equal"
    return f"{side} for {whom} ({mine:.4f} against {theirs:.4f})"


PARTS = ("misses", "weakest", "strongest")


def real_error_from(document: Mapping[str, Any], items: Sequence[str]) -> RealError:
    """Restore what `RealError.document` returned."""
    sizes = tuple(int(written_number(size, "sizes", low=1)) for size in document["sizes"])
    floors = _numbers(document["floors"], "floors")
    edges = _numbers(document["edges"], "edges")
    parts = {
        name: tuple(np.array(_numbers(row, name, low=0.0)) for row in document[name])
        for name in PARTS
    }
    if not len(sizes) == len(floors) == len(parts["misses"]) or not sizes or len(edges) != 2:
        raise ValueError("the replayed errors do not fit their sizes.")
    if any(len(rows) not in (0, len(sizes)) for rows in parts.values()):
        raise ValueError("the replayed errors do not fit their sizes.")
    if any(not row.size for rows in parts.values() for row in rows):
        raise ValueError("the replayed errors are empty.")
    return RealError(
        items=tuple(items),
        selector=written_text(document["selector"], "selector"),
        sizes=sizes,
        floors=tuple(floors),
        edges=(edges[0], edges[1]),
        **parts,
        within=_within(document["within"], len(items)),
        compared=_compared(document["compared"], len(sizes)),
        forms={int(size): dict(form) for size, form in document["forms"].items()},
    )


def _lists(numbers: Mapping[str, Floats]) -> dict[str, Any]:
    return {name: values.tolist() for name, values in numbers.items()}


def _within(written: Any, n_items: int) -> ScoreRange | None:
    """The accuracies that a bank has seen; curves lie between 0 and 1."""
    if written is None:
        return None
    tall = POINTS // THIN + 1
    found = {name: np.array([_numbers(row, name) for row in written[name]]) for name in CURVES}
    for name, count in {"inside": POINTS, "edges": 2, "odds": 2, "spread": 1, "weight": 1}.items():
        found[name] = np.array(_numbers(written[name], name, low=0.0))
        if found[name].shape != (count,):
            raise ValueError(f"{name} has the wrong length.")
    for name in CURVES:
        curves = found[name]
        if curves.shape != (tall, n_items) or not (curves.min() > 0 and curves.max() < 1):
            raise ValueError(f"the {name} of the accuracies seen do not fit the items.")
    if not (found["spread"][0] > 0 and found["weight"][0] > 0 and found["inside"].sum() > 0):
        raise ValueError("the accuracies seen are damaged.")
    return ScoreRange.from_numbers(found)


def _compared(written: Any, n_sizes: int) -> dict[str, tuple[tuple[float, float], ...]]:
    """Errors of each way to ask by size; null where the strongest were not replayed."""
    found = {}
    for way, pairs in written.items():
        rows = [[float("nan") if each is None else each for each in pair] for pair in pairs]
        if len(rows) != n_sizes or any(len(row) != 2 for row in rows):
            raise ValueError("the errors compared do not fit their sizes.")
        found[str(way)] = tuple((float(row[0]), float(row[1])) for row in rows)
    return found


def _numbers(rows: Any, name: str, low: float = -LARGEST) -> list[float]:
    if not isinstance(rows, list):
        raise ValueError(f"{name} is not a list.")
    return [written_number(value, name, low, LARGEST) for value in rows]
