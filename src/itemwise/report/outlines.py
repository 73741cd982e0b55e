"""Which tables and figures of each result a page shows; the registry of sections.

A result that is not named here shows its frame, the frames among its fields, and its figure: a new
study has a section without a line of code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from itemwise.results import Result, fields_of
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.displays import Display

MOST_FIGURES = 3  # of one kind: of data sets, of classifiers

Draw = Callable[[], "Display"]
Tables = Callable[[Any], Iterator[tuple[str, "pd.DataFrame"]]]
Figures = Callable[[Any], Iterator[tuple[str, Draw]]]
Sentences = Callable[[Any], list[str]]


def frames_of(result: Result) -> Iterator[tuple[str, pd.DataFrame]]:
    """The frame of a result, and others among its fields."""
    import pandas as pd

    first = result.to_frame()
    yield "", first
    for each in fields_of(result):
        value = getattr(result, each.name)
        if isinstance(value, pd.DataFrame) and len(value) and not value.equals(first):
            yield each.name, value


def figure_of(result: Result) -> Iterator[tuple[str, Draw]]:
    """The figure of a result."""
    yield "", result.plot


def said_by(result: Any) -> list[str]:
    """What it means; nothing where it does not say."""
    return list(result.sentences()) if hasattr(result, "sentences") else []


@dataclass(frozen=True)
class Outline:
    """What one kind of result shows.

    `explored` says whether its items go into the item explorer, `leads` whether what it says is a
    finding; a check of other findings stands below them.
    """

    tables: Tables = frames_of
    figures: Figures = figure_of
    sentences: Sentences = said_by
    explored: bool = True
    leads: bool = True


def outline_of(result: Any) -> Outline:
    """That of its class, or of the nearest class above that has one."""
    names = (each.__name__ for each in type(result).__mro__)
    return next((OUTLINES[name] for name in names if name in OUTLINES), Outline())


def named_tables(**places: str) -> Tables:
    """Tables by caption, each an attribute or a method without arguments; empty ones left out."""

    def tables(result: Any) -> Iterator[tuple[str, pd.DataFrame]]:
        for caption, place in places.items():
            value = getattr(result, place)
            frame = value() if callable(value) else value
            if len(frame):
                yield caption.replace("_", " ").strip(), frame

    return tables


def named_figures(**arguments: Mapping[str, Any]) -> Figures:
    """Figures by caption, each by the arguments of `plot`."""

    def figures(result: Any) -> Iterator[tuple[str, Draw]]:
        for caption, given in arguments.items():
            yield caption.replace("_", " ").strip(), partial(result.plot, **given)

    return figures


def _calibration_tables(calibration: Any) -> Iterator[tuple[str, pd.DataFrame]]:
    """Respondents, the strongest first; the items stand in the explorer."""
    if calibration.responses is not None:
        abilities = calibration.abilities()
        facts = calibration.responses.respondent_facts
        whole = abilities.join(facts.drop(columns=abilities.columns, errors="ignore"))
        yield "respondents", whole.sort_values("ability", ascending=False, kind="stable")


def _calibration_figures(calibration: Any) -> Iterator[tuple[str, Draw]]:
    yield "items and respondents on one scale", calibration.plot
    yield "information", lambda: calibration.test_information().plot()


def _said_of_calibration(calibration: Any) -> list[str]:
    items = calibration.items
    negative = int((items["discrimination"] < 0).sum())
    respondents = counted(round(calibration.n_respondents), "respondent")
    said = (
        f"{counted(len(items), 'item')} and {respondents} stand on one scale "
        f"({calibration.model.name})."
    )
    if negative:
        one = negative == 1
        said += (
            f" {counted(negative, 'item')} discriminate{'s' if one else ''} negatively: strong "
            f"respondents fail {'it' if one else 'them'} more often than weak ones."
        )
    if calibration.responses is not None and len(calibration.responses.respondents) > 1:
        said = f"{_strongest(calibration.abilities())} {said}"
    read = () if calibration.responses is None else calibration.responses.notes
    return [said, *read, *calibration.notes]


def _strongest(abilities: pd.DataFrame) -> str:
    """Who leads, and how many might as well."""
    first = abilities.sort_values("ability", ascending=False, kind="stable").iloc[0]
    others = abilities.drop(index=str(first.name))
    noise = (others["se"] ** 2 + first["se"] ** 2) ** 0.5
    near = int((first["ability"] - others["ability"] <= 1.96 * noise).sum())
    reach = 1.96 * float(first["se"])
    where = f"{first.name} is strongest (ability {float(first['ability']):.2f} ± {reach:.2f})"
    return (
        f"{where}; {counted(near, 'other')} cannot be told apart from it." if near else f"{where}."
    )


def _decoding_figures(decoding: Any) -> Iterator[tuple[str, Draw]]:
    yield "data sets", decoding.plot
    for value in ("difficulty", "discrimination"):
        yield f"{value} of all instances", partial(decoding.plot, "histogram", value=value)
    doubtful = list(dict.fromkeys(decoding.suspects["dataset"]))
    for name in doubtful[:MOST_FIGURES]:
        yield f"suspect labels of {name}", partial(decoding.plot, "suspects", name)
    for name in list(decoding.to_frame().index)[:1]:  # the hardest
        yield f"true scores on {name}", partial(decoding.plot, "scores", name)


def _comparison_figures(comparison: Any) -> Iterator[tuple[str, Draw]]:
    yield "total scores", partial(comparison.plot, "scores")
    for name in list(comparison.to_frame().index)[:MOST_FIGURES]:
        yield f"cells of {name}", partial(comparison.plot, "cells", str(name))
    yield "difficulty by class", partial(comparison.plot, "histogram")
    if getattr(comparison, "ranks", None) is not None:
        yield "measures", partial(comparison.plot, "measures")


def _comparison_tables(comparison: Any) -> Iterator[tuple[str, pd.DataFrame]]:
    yield "classifiers", comparison.to_frame()
    curves = getattr(comparison, "curves", comparison)
    yield "cells of the confusion matrices", curves.cells.drop(columns="items")
    if len(curves.models) > 1:
        yield "agreement of measures", curves.agreement()
    yield "items", curves.items


def _portfolio_figures(portfolio: Any) -> Iterator[tuple[str, Draw]]:
    kinds = ["curves", "strengths", "goodness", "effectiveness"]
    kinds.append("densities" if portfolio.settings.model == "continuous" else "traces")
    for kind in kinds:
        yield kind, partial(portfolio.plot, kind)


def _capability_figures(capability: Any) -> Iterator[tuple[str, Draw]]:
    rules = [str(rule) for rule in capability.classes["rule"].unique()]
    for rule in rules:
        ending = f" by {rule}" if len(rules) > 1 else ""
        yield f"trace of a test{ending}", partial(capability.plot, "trace", rule=rule)
    yield "accuracy along difficulty", partial(capability.plot, "accuracy")
    yield "difficulty of cases", partial(capability.plot, "density")


def _board_figures(board: Any) -> Iterator[tuple[str, Draw]]:
    from itemwise.studies.leaderboards.leaderboard import FIGURES

    return ((kind, partial(board.plot, kind)) for kind in FIGURES)


def _health_figures(health: Any) -> Iterator[tuple[str, Draw]]:
    from itemwise.studies.health.item_health import FIGURES

    return ((kind, partial(health.plot, kind)) for kind in FIGURES)


OUTLINES: dict[str, Outline] = {
    "Diagnosis": Outline(leads=False),
    "LabelTrouble": Outline(),
    "Calibration": Outline(_calibration_tables, _calibration_figures, _said_of_calibration),
    "BenchmarkDecoding": Outline(
        named_tables(data_sets="to_frame", suspect_labels="suspects", classifiers="classifiers"),
        _decoding_figures,
    ),
    "Tournament": Outline(
        named_tables(ratings="to_frame", periods="history"),
        named_figures(ratings={}, ranks_over_periods={"kind": "ranks"}),
    ),
    "RankComparison": Outline(named_tables(mean_ranks="to_frame", pairs="pairs")),
    "SubsetComparison": Outline(named_tables(orders="to_frame", ratings="ratings", ranks="ranks")),
    "ClassifierComparison": Outline(_comparison_tables, _comparison_figures),
    "ConfusionCurves": Outline(_comparison_tables, _comparison_figures),
    "Portfolio": Outline(
        named_tables(
            algorithms="to_frame",
            problems="problems",
            strengths="strengths",
            occupancy="occupancy",
            goodness="goodness",
        ),
        _portfolio_figures,
        explored=False,  # its items are algorithms, which have figures of their own
    ),
    "Capability": Outline(
        named_tables(
            classes="classes",
            metrics="metrics",
            accuracy_along_difficulty="accuracy_by_difficulty",
            cases="cases",
        ),
        _capability_figures,
    ),
    "AdaptiveSimulation": Outline(
        named_tables(respondents="to_frame", items="items"),
        named_figures(error={}, exposure_of_items={"what": "exposure"}),
    ),
    "DifficultyEvaluation": Outline(
        named_tables(regressors="to_frame", folds="folds"),
        named_figures(rank_correlation={}, errors={"kind": "nrmse"}),
    ),
    "DifficultyExplanation": Outline(
        named_tables(features="to_frame"),
        named_figures(permutation={}, impurity={"kind": "impurity"}),
    ),
    "Leaderboard": Outline(
        named_tables(respondents="to_frame", pairs="pairs", tasks="tasks"), _board_figures
    ),
    "ItemHealth": Outline(
        named_tables(
            items="items",
            near_duplicates="duplicates",
            saturation="saturation",
            respondents="respondents",
            groups="groups",
        ),
        _health_figures,
    ),
    "MetadataRelations": Outline(named_tables(pairs="to_frame", matrix="matrix")),
}
