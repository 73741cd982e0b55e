"""What a calibration shows: curves of items, respondents in frames, a sentence on the scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.data.foreign_frames import with_row_names
from ogive.data.study_tables import are_marks
from ogive.errors import InputError
from ogive.irt.ability_covariance import level_with_strongest, tied_with
from ogive.irt.models.categorical import Categorical
from ogive.results.base import Result
from ogive.results.numbers import counted, who_has, with_interval
from ogive.stats.array_backend import Floats
from ogive.stats.multiplicity import benjamini_hochberg

if TYPE_CHECKING:
    import pandas as pd

    from ogive.data.responses import Responses
    from ogive.irt.ability_covariance import AbilityCovariance
    from ogive.irt.calibration import Calibration
    from ogive.irt.expected_scores import ScoreSums
    from ogive.irt.scored_respondents import ScoredRespondents
    from ogive.results.plots.figure import Display


ALPHA = 0.05  # share of false discoveries among the items called negative
FARTHEST = 1e6  # an ability beyond is none

# What flags say of an item
NEVER_ASKED, SOLVED_BY_ALL, SOLVED_BY_NONE = "never asked", "solved by all", "solved by none"
CONSTANT = "constant"  # a grade or score that all got
NOMINAL = (NEVER_ASKED, SOLVED_BY_ALL, SOLVED_BY_NONE, CONSTANT)  # parameters that say nothing
TOLD = ("difficulty", "discrimination", "guessing", "slip")  # if responses to an item differ
SAME, SURELY_SAME = 0.95, 0.9  # correlation of two abilities that are one, its interval's low end
NEGATIVE, FLAT = "negative discrimination", "no discrimination"
NOT_IDENTIFIED = "Ability is not identified"  # how the note begins; then nobody is strongest


@dataclass(frozen=True, eq=False, repr=False)
class Curves(Result):
    """Item characteristic curves: the expected response along the scale, right as 1."""

    items: tuple[str, ...]
    abilities: Floats  # (n_abilities,)
    expected: Floats  # (n_items, n_abilities)
    expected_se: Floats  # (n_items, n_abilities)
    information: Floats  # (n_items, n_abilities)
    discrimination: Floats  # (n_items,)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per item and ability."""
        import pandas as pd

        n_items, n_abilities = self.expected.shape
        return pd.DataFrame(
            {
                "item": np.repeat(np.array(self.items, dtype=object), n_abilities),
                "ability": np.tile(self.abilities, n_items),
                "expected": self.expected.reshape(-1),
                "expected_se": self.expected_se.reshape(-1),
                "information": self.information.reshape(-1),
                "discrimination": np.repeat(self.discrimination, n_abilities),
            }
        )

    def plot(self, **kw: Any) -> Display:
        """Return the curves in one figure."""
        from ogive.results.plots import DISPLAYS

        return DISPLAYS["curves"](self.to_frame()).plot(**kw)


@dataclass(frozen=True, eq=False, repr=False)
class CategoryCurves(Result):
    """How likely each grade of an item is along the scale."""

    item: str
    grades: tuple[int, ...]
    abilities: Floats  # (n_abilities,)
    probability: Floats  # (n_grades, n_abilities)
    probability_se: Floats  # (n_grades, n_abilities)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per grade and ability."""
        import pandas as pd

        n_grades, n_abilities = self.probability.shape
        return pd.DataFrame(
            {
                "item": self.item,
                "grade": np.repeat(self.grades, n_abilities),
                "ability": np.tile(self.abilities, n_grades),
                "probability": self.probability.reshape(-1),
                "probability_se": self.probability_se.reshape(-1),
            }
        )

    def plot(self, **kw: Any) -> Display:
        """Return a curve for each grade, with a band of two standard errors each way."""
        from ogive.results.plots import DISPLAYS

        return DISPLAYS["grades"](self.to_frame()).plot(**kw)


@dataclass(frozen=True, eq=False, repr=False)
class TestInformation(Result):
    """Test information, and the standard error of ability that follows from it."""

    __test__ = False  # not a test case, whatever pytest thinks of the name

    abilities: Floats  # (n_abilities,)
    information: Floats  # (n_abilities,)

    @property
    def se(self) -> Floats:
        """Standard error of a maximum-likelihood ability."""
        return 1 / np.sqrt(np.maximum(self.information, 1e-12))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per ability."""
        import pandas as pd

        columns = {"ability": self.abilities, "information": self.information, "se": self.se}
        return pd.DataFrame(columns)

    def plot(self, **kw: Any) -> Display:
        """Return information and standard error along the scale."""
        from ogive.results.plots import DISPLAYS

        return DISPLAYS["information"](self.to_frame()).plot(**kw)


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

    abilities = with_row_names(abilities)
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
    if np.abs(ability[np.isfinite(ability)]).max(initial=0.0) > FARTHEST:
        raise InputError(f"Abilities must lie within ±{FARTHEST:,.0f}; nobody is farther out.")
    if ability.ndim != 1 or not np.isfinite(ability).all():
        raise InputError(
            "Abilities must be one list of finite numbers; "
            f"got an array of shape {ability.shape}"
            + ("." if np.isfinite(ability).all() else " with infinite or missing values.")
        )
    return ability, pd.Index(ability, name="ability") if index is None else index


def sums_frame(name: str, sums: ScoreSums, responses: Responses) -> pd.DataFrame:
    """Return a score, its mean over items, and the standard errors of both."""
    import pandas as pd

    per_item = np.where(sums.n_items > 0, sums.n_items, 1.0)
    columns = {
        name: sums.total,
        f"{name}_se": sums.se,
        f"{name}_mean": sums.total / per_item,
        f"{name}_mean_se": sums.se / per_item,
    }
    return pd.DataFrame(columns, index=responses.respondent_index)


def said_of_errors(calibration: ScoredRespondents, *, items_known: bool) -> str:
    """Say which scale abilities stand on, and what their standard errors count."""
    if items_known:
        return "Standard errors take the items and their scale as known."
    if not len(calibration.uncertainty.shared):
        return (
            "Standard errors count the items. The scale itself is taken as known: it is that of "
            "the items as they were given or fitted."
        )
    return (
        "Standard errors count the items and the scale: its origin and unit are the mean and the "
        "standard deviation of the population that the calibrated respondents come from."
    )


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
    """Items whose discrimination is below zero, with 5 % false discoveries; see `item_health`."""
    from scipy.special import ndtr

    se = items["discrimination_se"].to_numpy(float)
    known = ~nominal_items(items) & (se > 0)
    slope = items["discrimination"].to_numpy(float)
    p = ndtr(np.divide(slope, se, out=np.full(len(slope), np.nan), where=known))
    return benjamini_hochberg(p) < ALPHA


def nominal_items(items: pd.DataFrame) -> np.ndarray:
    """Items to which all gave one response, or nobody any: the sign of a slope says nothing."""
    return items["flag"].str.contains("|".join(NOMINAL)).to_numpy(bool)


def told_parameters(items: pd.DataFrame) -> pd.DataFrame:
    """Return items without the parameters that no response tells, for showing them.

    What all solved is infinitely easy, and what none solved infinitely hard, whichever way a prior
    has turned the curve. Their discriminations are missing, as are all parameters of an item that
    nobody was asked or to which all gave the same grade.
    """
    nominal = nominal_items(items)
    told = [name for name in items if str(name).removesuffix("_se") in TOLD]
    found = items.assign(**{str(name): items[name].mask(nominal) for name in told})
    for word, side in ((SOLVED_BY_ALL, -np.inf), (SOLVED_BY_NONE, np.inf)):
        there = items["flag"].str.contains(word)
        found["difficulty"] = found["difficulty"].mask(there, side)
    return found


def below_zero(items: pd.DataFrame) -> np.ndarray:
    """Return items of negative discrimination; of constant ones, the sign says nothing."""
    found: np.ndarray = (items["discrimination"] < 0).to_numpy(bool) & ~nominal_items(items)
    return found


def _strongest(calibration: Calibration, table: Responses) -> str:
    """Say who has the highest ability, and how many cannot be distinguished from it.

    Of parts that no item links, it says so of the largest. Nobody is strongest who has a rival
    with the same responses in sum: the model then chooses by how it weighs the items.
    """
    part = calibration.parts[0]
    rows = np.flatnonzero((part == 0) & ~are_marks(table.respondents))
    found = calibration.ability_covariance().of(rows)
    where = f"In the largest of {part.max() + 1} parts that no item links, " if part.any() else ""
    if rows.size == 1:
        return f"{where}{found.respondents[0]} stands alone: nobody else can be compared with it."
    best, level = level_with_strongest(found)
    first = tied_with(best, level, found.ability, table.select(respondents=rows))
    names = [found.respondents[k] for k in first]
    near = int(level.sum()) - len(first) + 1
    text = f"{where}{names[0]} is strongest by ability, {_placed(found, best)}"
    if len(first) > 1:
        which = "each" if len(first) > 2 else "both"
        text = (
            f"{where}{who_has(names)} the first place: {which} got the same in sum, and their "
            "abilities cannot be distinguished"
        )
    if not near:
        return f"{text}."
    return (
        f"{text}; {counted(near, 'other')} cannot be distinguished from "
        f"{'it' if len(first) == 1 else 'them'}."
    )


def _placed(found: AbilityCovariance, k: int) -> str:
    return with_interval(float(found.ability[k]), 1.96 * float(found.se[k]))


def rows_on_scale(calibration: Calibration) -> pd.DataFrame:
    """Return items and respondents with their positions, as the item map draws them.

    What all or none got right lies beyond the scale, whatever its nominal difficulty; items on
    which the better do worse have no position: their difficulty says neither easy nor hard.
    Of parts that no item links, it is the largest: the others are not on its scale.
    """
    import pandas as pd

    respondents, there = calibration.parts
    items = calibration.items[there == 0]
    position = told_parameters(items)["difficulty"].mask(below_zero(items))
    rows = [_rows("item", items, position, items["difficulty_se"])]
    if calibration.responses is not None:
        scored = calibration.abilities()[respondents == 0]
        rows.append(_rows("respondent", scored, scored["ability"], scored["se"]))
    return pd.concat(rows, ignore_index=True)


def _rows(kind: str, frame: pd.DataFrame, position: pd.Series, se: pd.Series) -> pd.DataFrame:
    import pandas as pd

    columns = {"kind": kind, "name": list(frame.index)}
    return pd.DataFrame(columns).assign(position=position.to_numpy(), se=se.to_numpy())
