"""Run several checks: all diagnoses of a calibration, and the health of the items of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from ogive._progress import at_stage
from ogive._validation import one_of
from ogive.checks.dimensionality import dimensionality
from ogive.checks.item_analysis import (
    described_items,
    few_answers_notes,
    judged_keys,
    judged_residuals,
    negative_notes,
    problems_said,
    said_of_none,
    solved_words,
)
from ogive.checks.item_fit import item_fit
from ogive.checks.local_dependence import local_dependence
from ogive.checks.mislabelled_items import label_trouble
from ogive.checks.model_fit import model_fit
from ogive.checks.reliability import reliability
from ogive.checks.residuals import (
    Diagnosis,
    checked_calibration,
    judged_together,
    own_or_given,
    unjudged_notes,
)
from ogive.checks.respondent_fit import (
    group_frame,
    judged_by_hard_items,
    respondent_fit,
    respondent_frame,
    said_of_hints,
)
from ogive.checks.saturation import information_along, said_of_saturation, saturation_frame
from ogive.data.responses import Responses, Table, as_responses
from ogive.errors import InputError
from ogive.irt.calibrating import calibrate, model_with_slopes
from ogive.irt.calibration import Calibration
from ogive.irt.estimation.identifiability import common_factor
from ogive.irt.item_curves import told_parameters
from ogive.irt.linkage import HELD, note_on_parts, parts_of
from ogive.irt.models import AUTO
from ogive.results.base import ROWS_IN_COMMAND, Draw, Part, Result, gathered
from ogive.results.numbers import counted, joined
from ogive.stats.array_backend import Floats
from ogive.stats.linked_parts import linked_parts
from ogive.stats.metrics import rank_agreement

if TYPE_CHECKING:
    from ogive.results.plots.figure import Display

__all__ = ["ItemHealth", "item_health"]

# Checks of a calibration and its responses.
DIAGNOSTICS: dict[str, Callable[..., Diagnosis]] = {
    "reliability": reliability,
    "model_fit": model_fit,
    "item_fit": item_fit,
    "respondent_fit": respondent_fit,
    "local_dependence": local_dependence,
    "label_trouble": label_trouble,
}
OF_ONE_ABILITY = ("dimensionality", "reliability")  # checks that assume one ability for all
OF_ABILITIES = ("item_fit", "respondent_fit", "local_dependence")  # checks at estimated abilities


@dataclass(frozen=True, eq=False, repr=False)
class Diagnoses(Result):
    """All diagnoses of one calibration.

    `found` holds them by name, `missing` the reasons why others are not available. The frame has
    one row per diagnosis: whether it is `available`, its `meaning`, or the reason why there is
    none, and its `notes`.
    """

    found: dict[str, Diagnosis]
    missing: dict[str, str]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per diagnosis: available, meaning, notes."""
        rows = {
            name: (True, each.meaning, " ".join(each.notes)) for name, each in self.found.items()
        }
        rows |= {name: (False, reason, "") for name, reason in self.missing.items()}
        names = pd.Index(list(rows), name="diagnosis")
        return pd.DataFrame(list(rows.values()), names, ["available", "meaning", "notes"])

    def plot(self, **kw: Any) -> Display:
        """Draw the first diagnosis that is available; `figures` draws each."""
        for each in self.found.values():
            return each.plot(**kw)
        raise InputError(f"There is no diagnosis to draw. {' '.join(set(self.missing.values()))}")

    def sentences(self) -> list[str]:
        """Return what each diagnosis says, and why others are missing, by name."""
        texts = [
            f"{name}: {text}" for name, each in self.found.items() for text in each.sentences()
        ]
        return [*texts, *(f"{name}: none. {reason}" for name, reason in self.missing.items())]

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the table of all diagnoses, then that of each."""
        return super().tables() | {name: each.to_frame() for name, each in self.found.items()}

    def figures(self) -> dict[str, Draw]:
        """Return a function that draws each diagnosis."""
        return {name: each.plot for name, each in self.found.items()}


def diagnose(calibration: Calibration, responses: Table | None = None) -> Diagnoses:
    """Run every diagnosis of a `calibration`: fit, reliability, dependence, dimensions, labels.

    `responses` are those of the calibration unless others are given. `found` holds the diagnoses by
    name, `missing` the reasons why some are not available; `to_frame()` has one row per diagnosis.

    >>> import ogive as og
    >>> found = og.calibrate(og.simulate("2pl", 200, 10, random_state=0).responses, "2pl")
    >>> sorted(og.diagnose(found).found)[:3]
    ['dimensionality', 'item_fit', 'label_trouble']
    """
    table, weights = own_or_given(calibration, responses, "diagnose")
    works: dict[str, Callable[[], Diagnosis]] = {
        "dimensionality": partial(dimensionality, table),
        **{name: partial(work, calibration, responses) for name, work in DIAGNOSTICS.items()},
    }
    parted = _unlinked(calibration, table)
    reason = "" if parted else _no_ability(calibration, table, weights)
    if parted or reason:
        works |= {name: partial(_refuse, parted or reason) for name in OF_ONE_ABILITY}
    if reason:  # unlinked parts have abilities of their own
        works |= {name: partial(_refuse, reason) for name in OF_ABILITIES}
    return Diagnoses(*gathered(works))


def _unlinked(calibration: Calibration, table: Responses) -> str:
    """Return the reason why there are several abilities, if no item links parts of the table."""
    fixed = np.array([HELD in flags for flags in calibration.flags])
    same = table.items == calibration.item_names
    rows, _ = parts_of(table, fixed if same else None)
    if not rows.any():
        return ""
    return (
        f"No item links {counted(int(rows.max()) + 1, 'part')} of this table, so that it "
        "measures no one ability. Diagnose each part by itself."
    )


def _no_ability(calibration: Calibration, table: Responses, weights: Floats) -> str:
    """Return the reason why scores do not identify an ability, if there is one."""
    if calibration.model.kind != "continuous":
        return ""
    whole = table is calibration.responses and calibration.weights is None
    return common_factor(table, calibration.model, None if whole else weights).note


def _refuse(reason: str) -> Diagnosis:
    raise InputError(reason)


COUNTED_TWICE = (
    "Near-duplicates count the same information twice: with them, standard errors of abilities are "
    "too small and discriminations are biased. Keep one of each pair."
)
FEW_RESPONDENTS = 30
LEAST_AGREEMENT = 0.3  # rank correlation of abilities and mean results
FIGURES = ("items", "saturation", "respondents")
CURVE_POINTS = 161
SHOWN_OF_SATURATION = (
    *("state", "n_items", "first", "top_asked", "top_observed", "top_share", "top_low", "top_high"),
    *("top_of_reached", "second", "lead", "lead_low", "lead_high", "lead_p", "lead_p_adjusted"),
    *("best", "separate_best", "share_answered", "separate_share", "separate_low", "separate_high"),
)


@dataclass(frozen=True, eq=False, repr=False)
class ItemHealth(Result):
    """Which items need a look, how saturated the benchmark is, and who is right unexpectedly often.

    `items` has one row per item, `duplicates` one per pair of items answered alike, `saturation`
    one for all items and one per group, `respondents` one per respondent. `groups`, empty without
    `by`, has one per respondent and group: its result there, given its ability on other items.
    """

    page_part: ClassVar[Part] = "items"

    items: pd.DataFrame
    duplicates: pd.DataFrame
    saturation: pd.DataFrame
    respondents: pd.DataFrame
    groups: pd.DataFrame
    calibration: Calibration
    responses: Responses
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Return one row per item."""
        return self.items.copy()

    @property
    def troubled(self) -> tuple[str, ...]:
        """Items with a problem, in table order."""
        return tuple(self.items.index[self.items["problems"] != ""])

    @property
    def hints(self) -> tuple[str, ...]:
        """Respondents with more right responses than their ability predicts, clearest first."""
        frame = self.respondents
        if "hint" not in frame:
            return ()
        hints = frame[frame["hint"] | (frame["too_good_on"] != "")]
        return tuple(hints.sort_values("excess_p", kind="stable").index)

    @property
    def meaning(self) -> str:
        """How many items need a look, and why."""
        items = self.items
        words_by_kind = solved_words(self.responses.kind)
        counts = {
            **{words: (items["solved_by"] == who).sum() for who, words in words_by_kind.items()},
            "with significantly negative discrimination": items["significantly_negative"].sum(),
            "with a suspect key": items["suspect_key"].sum(),
            "answered like another": (items["duplicate_of"] != "").sum(),
            "never asked": (items["n_respondents"] == 0).sum(),
        }
        n_troubled = len(self.troubled)
        if not n_troubled:
            return said_of_none(items)
        reasons = joined([f"{int(count):,} {words}" for words, count in counts.items() if count])
        twice = " (an item may count more than once)" if sum(counts.values()) > n_troubled else ""
        return (
            f"{n_troubled:,} of {counted(len(items), 'item')} "
            f"{'needs' if n_troubled == 1 else 'need'} a look: {reasons}{twice}."
        )

    @property
    def said_of_saturation(self) -> str:
        """Whether the benchmark still separates the best respondents."""
        parts = int(linked_parts(self.responses.observed)[0].max()) + 1
        return said_of_saturation(self.saturation, parts)

    @property
    def said_of_respondents(self) -> str:
        """Respondents that are right more often than their ability predicts."""
        known = "hint" in self.respondents
        return said_of_hints(self.respondents, self.hints) if known else ""

    def sentences(self) -> list[str]:
        """Return all sentences shown below the table."""
        texts = [self.meaning, self.said_of_saturation, self.said_of_respondents, *self.notes]
        return [text for text in texts if text]

    @property
    def information(self) -> pd.DataFrame:
        """Information along the scale, and standard errors; NaN where there is no information."""
        ability = self.respondents["ability"].to_numpy()
        width = max(float(np.ptp(ability)), self.calibration.population.sd)
        low, high = float(ability.min()) - 0.25 * width, float(ability.max()) + 0.25 * width
        grid = np.linspace(low, high, CURVE_POINTS)
        information = information_along(self.calibration, grid)
        se = np.divide(
            1, np.sqrt(information), out=np.full(len(grid), np.nan), where=information > 0
        )
        return pd.DataFrame({"ability": grid, "information": information, "se": se})

    @property
    def _placed(self) -> pd.DataFrame:
        """Respondents with the column names that displays use."""
        return self.respondents.rename(columns={"ability_se": "se"})

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return items, near-duplicates, saturation, respondents and groups."""
        tables = {
            "items": self.items,
            "duplicates": self.duplicates,
            "saturation": self.saturation,
            "respondents": self.respondents,
        }
        return tables | ({"groups": self.groups} if len(self.groups) else {})

    def page_tables(self) -> dict[str, pd.DataFrame]:
        """Return all tables, of saturation only the columns that its sentence mentions."""
        shown = [name for name in SHOWN_OF_SATURATION if name in self.saturation]
        return self.tables() | {"saturation": self.saturation[shown]}

    def figures(self) -> dict[str, Draw]:
        """Return one figure per kind, of respondents if any of them is judged."""
        kinds = FIGURES if self._judged else FIGURES[:2]
        return {kind: partial(self.plot, kind) for kind in kinds}

    @property
    def _judged(self) -> str:
        """Column by which respondents are drawn: hard items, fit, or none."""
        known = self.respondents.notna().any()
        return next((name for name in ("excess_z", "zh") if known.get(name, False)), "")

    def banks(self) -> dict[str, Calibration]:
        """Return the item bank."""
        return {"items": self.calibration}

    def preview(self) -> pd.DataFrame:
        """Return the first items that need a look."""
        names = ["difficulty", "discrimination", "discrimination_se", "share_reached", "problems"]
        return self.items.loc[self.items["problems"] != "", names].head(ROWS_IN_COMMAND)

    def plot(self, kind: str = "items", **kw: Any) -> Display:
        """Draw "items", "saturation" or "respondents"."""
        from ogive.results.plots import DISPLAYS

        if one_of(kind, "kind", FIGURES) == "items":
            # Items that all solve are drawn at the easy end, those that none solve at the hard one.
            difficulty = told_parameters(self.calibration.items)["difficulty"]
            share = self.items["share_reached"]
            difficulty = difficulty.mask(share == 1, -np.inf).mask(share == 0, np.inf)
            return DISPLAYS["item_health"](self.items.assign(difficulty=difficulty)).plot(**kw)
        if kind == "saturation":
            row = self.saturation.iloc[0]
            people = self._placed[["ability", "se"]].rename_axis("respondent").reset_index()
            places = ("ability_top", "ability_middle", "best")
            shares = {k: row.get(k) for k in ("information_left", "information_median", *places)}
            people = people.assign(**shares)
            frame = pd.concat([self.information, people], ignore_index=True)
            return DISPLAYS["saturation"](frame).plot(**kw)
        if self._judged == "zh":
            return DISPLAYS["respondent_fit"](self._placed).plot(**kw)
        return DISPLAYS["excess"](self.respondents).plot(**kw)


def item_health(
    responses: Table, calibration: Calibration | None = None, *, by: object = None
) -> ItemHealth:
    """Find items that need a look, saturation, and respondents who are right unexpectedly often.

    The frame, also `items`, has one row per item: share_reached, parameters, solved_by,
    significantly_negative (whether its discrimination is surely below 0), suspect_key,
    duplicate_of, group, problems. Where all or none solve an item, discrimination and difficulty
    are missing; where discrimination is within ±0.1, difficulty is, since it is not determined
    there. Below 0, a difficulty has the opposite sense.

    Parameters
    ----------
    responses
        Respondents × items. For grades and scores, keys and hard items are not judged.
    calibration
        A calibration of these items; calibrated from `responses` if omitted.
    by
        Groups of items, such as tasks: the name of a fact of the items, a mapping or a list.

    Notes
    -----
    Reported are items that nobody or everybody solves (of grades and scores: on which all have the
    same one), that discriminate significantly negatively (5 % false discoveries; of grades and
    scores, by their correlation with the other items), whose key is suspect (`label_trouble`;
    `contradiction` is its evidence from responses alone), or that are answered like another item,
    more so than abilities explain.
    With fewer than 100 respondents, each is judged on hard items by what the others answered.
    `benchmarks/health.py` prints how often each is found.

    Examples
    --------
    >>> import ogive as og
    >>> responses = og.simulate("2pl", 100, 20, random_state=0).responses
    >>> health = og.item_health(responses)
    >>> health.items.shape
    (20, 18)
    """
    table = as_responses(responses)
    if not table.observed.any():
        raise InputError("No response was observed. Give a table with at least one response.")
    groups = None if by is None else table.item_groups(by)
    model_notes: list[str] = []
    if calibration is None:
        at_stage("calibrating")
        model, model_notes = model_with_slopes(AUTO, table, "judged")
        calibration = calibrate(table, model)
    checked_calibration(calibration, "item_health")
    table = table.of_kind(calibration.model.kind)
    if calibration.item_names != table.items:
        calibration = calibration.of_items(table.items)
    # A calibration scores its own table once, however many ask.
    own = calibration.responses is table
    known = calibration if own else replace(calibration, responses=table, weights=None)
    at_stage("respondents")
    people = respondent_frame(known, table)
    ability = people["ability"].to_numpy()
    at_stage("items")
    items = described_items(known, table, groups)
    at_stage("keys and near-duplicates")
    binary = table.kind == "binary"
    if binary:
        duplicates, notes = judged_keys(known, table, ability, items)
    else:
        duplicates, notes = judged_residuals(known, table, items)
    items["problems"] = problems_said(items, table.kind)
    at_stage("groups of items")
    parts = list(judged_together(known, table, ability)) if binary else []
    of_groups = group_frame(known, table, groups or (), parts)
    if binary:
        people = people.assign(**judged_by_hard_items(parts, len(people)))
        better: dict[str, list[str]] = {}
        hints = of_groups[of_groups["hint"].astype(bool)]
        for name, group in zip(hints["respondent"], hints["group"], strict=True):
            better.setdefault(name, []).append(group)
        people["too_good_on"] = [", ".join(better.get(name, [])) for name in table.respondents]
        notes += unjudged_notes(known, table)
    return ItemHealth(
        items=items,
        duplicates=duplicates,
        saturation=saturation_frame(known, table, groups),
        respondents=people,
        groups=of_groups,
        calibration=calibration,
        responses=table,
        notes=(
            *model_notes,
            *note_on_parts(table),
            *_agreement_notes(people),
            *negative_notes(items, table.n_respondents),
            *few_answers_notes(items),
            *notes,
            *([COUNTED_TWICE] if len(duplicates) else []),
            *([BY_RESPONSES] if items["suspect_key"].any() else []),
            *_few_respondents_notes(table),
        ),
    )


BY_RESPONSES = (
    "A suspect key is one that the responses contradict with a probability above 0.5 (column "
    "contradiction), by right and wrong alone; the key may be right. Where probabilities of "
    "classes are known, label_trouble(scores=...) says how likely each label is wrong, and may "
    "name fewer or others."
)


def _agreement_notes(people: pd.DataFrame) -> list[str]:
    """Return a note if the scale of ability does not run from low results to high ones."""
    known = people[["ability", "share_reached"]].dropna()
    agreement = float(rank_agreement(*known.to_numpy().T)["spearman"]) if len(known) > 2 else 1.0
    if not agreement < LEAST_AGREEMENT:  # also if all are equal
        return []
    note = (
        f"Abilities hardly follow the mean result (rank correlation {agreement:.2f}): many items "
        "discriminate negatively, or responses are mostly chance. Which end of this scale is the "
        "stronger one is not sure; read abilities and discriminations with the mean results."
    )
    return [note]


def _few_respondents_notes(table: Responses) -> list[str]:
    if table.n_respondents >= FEW_RESPONDENTS:
        return []
    who = counted(table.n_respondents, "respondent")
    return [f"With only {who}, standard errors are large and many problems stay undetected."]
