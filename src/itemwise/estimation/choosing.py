"""Which model suits which responses, and presets that reproduce published work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from itemwise.errors import InputError
from itemwise.estimation.engine import Engine
from itemwise.estimation.shojima import Shojima
from itemwise.models import AUTO, Continuous, MeasurementModel, find_model
from itemwise.responses import Responses

PICKS = {
    "binary": ("2pl", "responses are right or wrong; where guessing matters, ask for '3pl'"),
    "graded": ("graded", "responses are grades; the other model of grades is 'gpcm'"),
    "continuous": (
        "continuous",
        "responses are scores in an interval; for probabilities there is also 'beta'",
    ),
}
FEW = 100  # respondents, below which items of a leaderboard have one discrimination in common


@dataclass(frozen=True)
class Preset:
    """A model and an engine that belong together."""

    model: MeasurementModel
    engine: Engine


PRESETS: dict[str, Callable[[], Preset]] = {
    # The continuous model as the airt package for R fits it: bounds from the table, responses at
    # a bound moved inside by 0.01, and an EM that stops early.
    "airt": lambda: Preset(Continuous(bounds="table", at_bounds=0.01), Shojima()),
}


def pick_model(model: str | MeasurementModel, table: Responses) -> tuple[MeasurementModel, str]:
    """The model asked for, fitted to the shape of the table, and a note if "auto" picked it."""
    note = ""
    if is_auto(model):
        model, reason = PICKS[table.kind]
        note = f"Model '{model}', picked because {reason}."
    chosen = find_model(model)
    if table.n_missing == table.cells.size:  # nothing was observed: it is of any kind
        table = table.of_kind(chosen.kind)
    if table.kind != chosen.kind:
        raise InputError(
            f"The responses are {table.kind}, but the {chosen.name} model explains {chosen.kind} "
            f"ones: {_advice(table.kind, chosen.kind)}"
        )
    return chosen.fitted_to(table.cells, table.items), note


def model_of_few(
    model: str | MeasurementModel, table: Responses
) -> tuple[str | MeasurementModel, list[str]]:
    """What "auto" means for few respondents: "1pl" for right and wrong, and why."""
    if not (is_auto(model) and table.kind == "binary" and table.n_respondents < FEW):
        return model, []
    reason = f"fewer than {FEW} respondents say little about the discrimination of an item"
    return "1pl", [f"Abilities come from the 1pl model, because {reason}."]


def model_of_choices(
    model: str | MeasurementModel, table: Responses
) -> tuple[str | MeasurementModel, list[str]]:
    """What "auto" means for items with options: "3pl" for right and wrong, and why.

    With few respondents it is "2pl": they cannot determine guessing, and the search takes long.
    """
    if not (is_auto(model) and table.kind == "binary"):
        return model, []
    if table.n_respondents < FEW:
        reason = f"fewer than {FEW} respondents say too little about guessing"
        return "2pl", [f"The bank uses the 2pl model, because {reason}."]
    return "3pl", ["The bank uses the 3pl model, because items of benchmarks can be guessed."]


def is_auto(model: object) -> bool:
    """Whether the model is left to be picked."""
    return isinstance(model, str) and model.lower() == AUTO


def find_preset(name: str) -> Preset:
    """The preset of that name."""
    if not isinstance(name, str) or name.lower() not in PRESETS:
        raise InputError(f"There is no preset {name!r}. Presets are: {', '.join(PRESETS)}.")
    return PRESETS[name.lower()]()


def _advice(found: str, wanted: str) -> str:
    """How a table of one kind may become one of another."""
    suits = f"use model='{PICKS[found][0]}' or 'auto'"
    if wanted == "binary":
        rule = "responses.values >= 2" if found == "graded" else "responses.values > 0.5"
        return f"{suits}, or give 0 and 1 only, for example with {rule}."
    if wanted == "graded":
        return f"{suits}, or say that they are grades: Responses(values, kind='graded')."
    return f"{suits}, or say that they are scores: Responses(values, kind='continuous')."
