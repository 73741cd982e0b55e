"""Curves of items, flags of items, and the sentences and tables on a whole scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ogive._validation import HALF_WIDTH
from ogive.errors import InputError
from ogive.irt.ability_covariance import level_with_strongest, tied_with
from ogive.irt.models.categorical import Categorical
from ogive.irt.response_matrix import from_data
from ogive.results.base import Result, table
from ogive.results.numbers import counted, who_has, with_interval
from ogive.stats.array_backend import Floats
from ogive.stats.multiplicity import benjamini_hochberg

if TYPE_CHECKING:
    import pandas as pd

    from ogive.data.responses import Responses
    from ogive.irt.calibration import Calibration
    from ogive.results.plots.figure import Display

ALPHA = 0.05  # share of false discoveries among the items called negative
FARTHEST = 1e6  # largest ability that is accepted

# Flags of items
NEVER_ASKED, SOLVED_BY_ALL, SOLVED_BY_NONE = "never asked", "solved by all", "solved by none"
CONSTANT = "constant"  # all got the same grade or score
NOMINAL = (NEVER_ASKED, SOLVED_BY_ALL, SOLVED_BY_NONE, CONSTANT)  # parameters without information
TOLD = ("difficulty", "discrimination", "guessing", "slip")  # parameters hidden for NOMINAL items
SAME, SURELY_SAME = 0.95, 0.9  # correlation of two abilities that are one, its interval's low end
NEGATIVE, FLAT = "negative discrimination", "no discrimination"
NOT_IDENTIFIED = "Ability is not identified"  # beginning of a note; then no respondent is strongest


class _Curve(Result):
    """A result whose frame is drawn by one display."""

    figure: ClassVar[str]

    def plot(self, **kw: Any) -> Display:
        """Draw the frame along the scale."""
        from ogive.results.plots import DISPLAYS

        return DISPLAYS[self.figure](self.to_frame()).plot(**kw)


@dataclass(frozen=True, eq=False, repr=False)
class Curves(_Curve):
    """Item characteristic curves: the expected response along the scale, right as 1."""

    figure: ClassVar[str] = "curves"

    items: tuple[str, ...]
    abilities: Floats  # (n_abilities,)
    expected: Floats  # (n_items, n_abilities)
    expected_se: Floats  # (n_items, n_abilities)
    information: Floats  # (n_items, n_abilities)
    discrimination: Floats  # (n_items,)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per item and ability."""
        n_items, n_abilities = self.expected.shape
        columns = {
            "item": np.repeat(np.array(self.items, dtype=object), n_abilities),
            "ability": np.tile(self.abilities, n_items),
            "expected": self.expected.reshape(-1),
            "expected_se": self.expected_se.reshape(-1),
            "information": self.information.reshape(-1),
            "discrimination": np.repeat(self.discrimination, n_abilities),
        }
        return table(columns)


@dataclass(frozen=True, eq=False, repr=False)
class CategoryCurves(_Curve):
    """How likely each grade of an item is along the scale."""

    figure: ClassVar[str] = "grades"

    item: str
    grades: tuple[int, ...]
    abilities: Floats  # (n_abilities,)
    probability: Floats  # (n_grades, n_abilities)
    probability_se: Floats  # (n_grades, n_abilities)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per grade and ability."""
        n_grades, n_abilities = self.probability.shape
        columns = {
            "item": self.item,
            "grade": np.repeat(self.grades, n_abilities),
            "ability": np.tile(self.abilities, n_grades),
            "probability": self.probability.reshape(-1),
            "probability_se": self.probability_se.reshape(-1),
        }
        return table(columns)


@dataclass(frozen=True, eq=False, repr=False)
class TestInformation(_Curve):
    """Test information, and the standard error of ability that follows from it."""

    __test__ = False  # not a test case for pytest
    figure: ClassVar[str] = "information"

    abilities: Floats  # (n_abilities,)
    information: Floats  # (n_abilities,)

    @property
    def se(self) -> Floats:
        """Standard error of a maximum-likelihood ability."""
        return np.asarray(1 / np.sqrt(np.maximum(self.information, 1e-12)))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per ability."""
        return table({"ability": self.abilities, "information": self.information, "se": self.se})


def curves_of(calibration: Calibration, chosen: np.ndarray, ability: Floats) -> Curves:
    """Return curves of the items at positions `chosen`."""
    coords, model = calibration.coords[chosen], calibration.model.of_items(chosen)
    slopes, covariance = model.expected_slopes(coords, ability), calibration.uncertainty.covariances
    variance = np.einsum("wji,jwv,vji->ji", slopes, covariance[chosen], slopes)
    return Curves(
        items=tuple(calibration.item_names[k] for k in chosen),
        abilities=ability,
        expected=model.expected(coords, ability),
        expected_se=np.sqrt(np.maximum(variance, 0.0)),
        information=model.information(coords, ability),
        discrimination=model.parameters(coords)["discrimination"],
    )


def category_curves_of(calibration: Calibration, item: int, ability: Floats) -> CategoryCurves:
    """Return curves of the grades of the item at position `item`."""
    model, name = calibration.model, calibration.item_names[item]
    if not isinstance(model, Categorical):
        raise InputError(
            f"The {model.name} model has scores, not grades. "
            f"Use curves({name!r}) for the expected score."
        )
    coords = calibration.coords[[item]]
    prob = model.category_probabilities(coords, ability)
    slopes, covariance = prob * model.slopes(coords, ability), calibration.uncertainty.covariances
    variance = np.einsum("wkji,jwv,vkji->kji", slopes, covariance[[item]], slopes)
    lowest = model.lowest or 0
    grades = range(lowest, lowest + int(model.counts(len(calibration.coords))[item]))
    return CategoryCurves(
        item=name,
        grades=tuple(grades),
        abilities=ability,
        probability=prob[: len(grades), 0],
        probability_se=np.sqrt(np.maximum(variance[: len(grades), 0], 0.0)),
    )


def as_abilities(abilities: Any) -> tuple[Floats, Any]:
    """Return abilities as an array, and the names to show beside them."""
    import pandas as pd

    abilities = from_data("foreign_frames", "with_row_names")(abilities)
    if isinstance(abilities, pd.DataFrame):
        if "ability" not in abilities:
            raise InputError(
                f"The frame of abilities has columns {', '.join(map(str, abilities.columns))}; "
                "it needs one called 'ability', as cal.abilities() gives."
            )
        abilities = abilities["ability"]
    index = abilities.index if isinstance(abilities, pd.Series) else None
    try:
        ability = np.atleast_1d(np.asarray(abilities, dtype=float))
    except (TypeError, ValueError) as error:
        raise InputError(f"Abilities must be numbers: {error}.") from error
    finite = np.isfinite(ability)
    if np.abs(ability[finite]).max(initial=0.0) > FARTHEST:
        raise InputError(f"Abilities must lie within ±{FARTHEST:,.0f}; nobody is farther out.")
    if ability.ndim != 1 or not finite.all():
        raise InputError(
            "Abilities must be one list of finite numbers; "
            f"got an array of shape {ability.shape}"
            + ("." if finite.all() else " with infinite or missing values.")
        )
    return ability, pd.Index(ability, name="ability") if index is None else index


def ranked_abilities(calibration: Calibration) -> pd.DataFrame:
    """Return the respondents with their facts, the strongest first."""
    abilities = calibration.abilities()
    if calibration.responses is not None:
        facts = calibration.responses.respondent_facts
        abilities = abilities.join(facts.drop(columns=abilities.columns, errors="ignore"))
    order = ["part", "ability"] if "part" in abilities else ["ability"]
    upwards = [name == "part" for name in order]
    return abilities.sort_values(order, ascending=upwards, kind="stable")


def said_of_scale(calibration: Calibration) -> str:
    """Say who is strongest, what stands on the scale, and how many items are negative."""
    said = said_of_items(calibration)
    if calibration.responses is None or calibration.responses.n_respondents < 2:
        return said
    if any(note.startswith(NOT_IDENTIFIED) for note in calibration.fit_notes):
        return said
    return f"{_strongest(calibration, calibration.responses)} {said}"


def said_of_items(calibration: Calibration) -> str:
    """Say what stands on the scale, and how many items are negative."""
    items = calibration.items
    respondents = counted(round(calibration.n_respondents), "respondent")
    part = calibration.parts[1]
    scale = f"{part.max() + 1} scales, one for each part" if part.any() else "one scale"
    said = (
        f"{counted(len(items), 'item')} and {respondents} stand on {scale} "
        f"({calibration.model.name})."
    )
    return f"{said} {said_of_negative(items)}".rstrip()


def said_of_negative(items: pd.DataFrame) -> str:
    """Say how many discriminations are below zero, and what that may be; empty if none is."""
    negative, surely = int(below_zero(items).sum()), int(significantly_negative(items).sum())
    if not negative:
        return ""
    said = (
        f"{counted(negative, 'item')} {'has' if negative == 1 else 'have'} an estimated "
        f"discrimination below zero, {surely or 'none'} significantly so after correction for "
        "multiple tests"
    )
    if not surely:
        return f"{said}: chance may explain {'it' if negative == 1 else 'them'}."
    those = "it" if surely == 1 else "these"
    return f"{said}: strong respondents fail {those} more often than weak ones."


def significantly_negative(items: pd.DataFrame) -> np.ndarray:
    """Return items whose discrimination is below zero, with 5 % false discoveries."""
    from scipy.special import ndtr

    se = items["discrimination_se"].to_numpy(float)
    known = ~nominal_items(items) & (se > 0)
    slope = items["discrimination"].to_numpy(float)
    p = ndtr(np.divide(slope, se, out=np.full(len(slope), np.nan), where=known))
    return benjamini_hochberg(p) < ALPHA


def nominal_items(items: pd.DataFrame) -> np.ndarray:
    """Return items without different responses: the sign of their slope has no meaning."""
    return items["flag"].str.contains("|".join(NOMINAL)).to_numpy(bool)


def told_parameters(items: pd.DataFrame) -> pd.DataFrame:
    """Return items without the parameters that no response tells, for showing them.

    What all solved is infinitely easy, and what none solved infinitely hard, whichever way a prior
    has turned the curve. Their discriminations are missing, as are all parameters of an item that
    nobody was asked or to which all gave the same grade.
    """
    nominal = nominal_items(items)
    hidden = [name for name in items if str(name).removesuffix("_se") in TOLD]
    found = items.assign(**{str(name): items[name].mask(nominal) for name in hidden})
    for word, side in ((SOLVED_BY_ALL, -np.inf), (SOLVED_BY_NONE, np.inf)):
        found["difficulty"] = found["difficulty"].mask(items["flag"].str.contains(word), side)
    return found


def below_zero(items: pd.DataFrame) -> np.ndarray:
    """Return items of negative discrimination; of constant ones, the sign has no meaning."""
    return np.asarray((items["discrimination"] < 0).to_numpy(bool) & ~nominal_items(items))


def _strongest(calibration: Calibration, responses: Responses) -> str:
    """Say who has the highest ability, and how many cannot be distinguished from it.

    Of parts that no item links, it says so of the largest. Nobody is strongest who has a rival
    with the same responses in sum: the model then chooses by how it weighs the items.
    """
    part = calibration.parts[0]
    are_marks = from_data("study_tables", "are_marks")
    rows = np.flatnonzero((part == 0) & ~are_marks(responses.respondents))
    found = calibration.ability_covariance().of(rows)
    where = f"In the largest of {part.max() + 1} parts that no item links, " if part.any() else ""
    if rows.size == 1:
        return f"{where}{found.respondents[0]} stands alone: nobody else can be compared with it."
    best, level = level_with_strongest(found)
    first = tied_with(best, level, found.ability, responses.select(respondents=rows))
    names = [found.respondents[k] for k in first]
    near = int(level.sum()) - len(first) + 1
    if len(first) > 1:
        which = "each" if len(first) > 2 else "both"
        text = (
            f"{where}{who_has(names)} the first place: {which} got the same in sum, and their "
            "abilities cannot be distinguished"
        )
    else:
        ability = with_interval(float(found.ability[best]), HALF_WIDTH * float(found.se[best]))
        text = f"{where}{names[0]} is strongest by ability, {ability}"
    if not near:
        return f"{text}."
    return (
        f"{text}; {counted(near, 'other')} cannot be distinguished from "
        f"{'it' if len(first) == 1 else 'them'}."
    )


def rows_on_scale(calibration: Calibration) -> pd.DataFrame:
    """Return items and respondents with their positions, as the item map draws them.

    What all or none got right lies beyond the scale, whatever its nominal difficulty; items on
    which the better do worse have no position: their difficulty says neither easy nor hard.
    Of parts that no item links, it is the largest: the others are not on its scale.
    """
    import pandas as pd

    respondent_part, item_part = calibration.parts
    items = calibration.items[item_part == 0]
    position = told_parameters(items)["difficulty"].mask(below_zero(items))
    rows = [("item", items, position, items["difficulty_se"])]
    if calibration.responses is not None:
        scored = calibration.abilities()[respondent_part == 0]
        rows.append(("respondent", scored, scored["ability"], scored["se"]))
    frames = [
        table({"kind": kind, "name": list(frame.index)}).assign(
            position=position.to_numpy(), se=se.to_numpy()
        )
        for kind, frame, position, se in rows
    ]
    return pd.concat(frames, ignore_index=True)
