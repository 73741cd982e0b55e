"""Which model "auto" means for a table, and why."""

from __future__ import annotations

from ogive.errors import InputError
from ogive.estimation.given_responses import seen_of
from ogive.models import AUTO, MeasurementModel, find_model
from ogive.numerics.arrays import Floats
from ogive.responses import Responses
from ogive.responses.scanned_responses import ScannedResponses

PICKS = {
    "binary": ("2pl", "responses are right or wrong; where guessing matters, ask for '3pl'"),
    "graded": ("graded", "responses are grades; the other model of grades is 'gpcm'"),
    "nominal": ("nominal", "responses are choices among options"),
    "continuous": (
        "continuous",
        "responses are scores in an interval; for probabilities there is also 'beta'",
    ),
}
FEW = 100  # respondents, below which "auto" gives all items one discrimination in common
OF_FEW = (
    "1pl",
    (
        f"responses are right or wrong, and fewer than {FEW} respondents say little about the "
        "discrimination of single items; '2pl' estimates it nevertheless"
    ),
)
HANDFUL = 30  # respondents, below which held-out scores are predicted better with one in common


def model_for(
    model: str | MeasurementModel,
    responses: Responses | ScannedResponses,
    weights: Floats | None = None,
    *,
    sharing: bool = True,
) -> tuple[str | MeasurementModel, list[str]]:
    """What "auto" means for a table, and why; a model that was asked for is returned as it is.

    Whoever calibrates parts of a table asks this of the whole, so that parts have one model. Not
    every engine can fit items that are `sharing` a parameter.
    """
    if not is_auto(model):
        return model, []
    kind = seen_of(responses).kind
    total = responses.n_respondents if weights is None else float(weights.sum())
    few = sharing and kind == "binary" and total < FEW
    name, reason = OF_FEW if few else PICKS[kind]
    return name, [f"Model '{name}', chosen because {reason}."]


def model_with_slopes(
    model: str | MeasurementModel, table: Responses, verb: str, least: int = 0
) -> tuple[str | MeasurementModel, list[str]]:
    """The same for what needs a discrimination of each item: to be "judged" by it, or "chosen".

    With 40 to 80 respondents, items chosen by it predict accuracy better than without; with fewer
    than a `HANDFUL`, which is then `least`, the error is about half without.
    """
    usual, picked = model_for(model, table)
    if not (picked and usual == OF_FEW[0]) or table.n_respondents < least:
        return usual, picked
    own = PICKS[table.kind][0]
    note = (
        f"Model '{own}', because items are {verb} by a discrimination of their own. With fewer "
        f"than {FEW} respondents it is uncertain, and leaderboards use the '{usual}' model, so "
        "that abilities here differ from theirs, as does what is predicted for missing responses."
    )
    return own, [note]


def pick_model(
    model: str | MeasurementModel,
    responses: Responses | ScannedResponses,
    weights: Floats | None = None,
    *,
    sharing: bool = True,
) -> tuple[MeasurementModel, list[str]]:
    """The model asked for, fitted to the shape of the table, and a note if "auto" picked it."""
    table = seen_of(responses)
    model, note = model_for(model, responses, weights, sharing=sharing)
    chosen = find_model(model)
    if table.n_missing == table.cells.size:  # nothing was observed: it is of any kind
        table = table.of_kind(chosen.kind)
    if table.kind != chosen.kind:
        raise InputError(
            f"The responses are {table.kind}, but the {chosen.name} model explains {chosen.kind} "
            f"ones: {_advice(table.kind, chosen.kind)}"
        )
    return chosen.fitted_to(table.cells, table.items), note


def model_of_choices(
    model: str | MeasurementModel, table: Responses
) -> tuple[str | MeasurementModel, list[str]]:
    """What "auto" means for banks of items with options: with many respondents, "3pl"; and why.

    Few cannot determine guessing, and the search takes long.
    """
    chosen, picked = model_with_slopes(model, table, "chosen", HANDFUL)
    if not picked or table.kind != "binary" or table.n_respondents < FEW:
        return chosen, picked
    note = (
        "The bank uses the 3pl model, because items of benchmarks can be guessed; elsewhere, as in "
        "short forms, 'auto' is 2pl."
    )
    return "3pl", [note]


def is_auto(model: object) -> bool:
    """Whether the model is left to be picked."""
    return isinstance(model, str) and model.lower() == AUTO


def _advice(found: str, wanted: str) -> str:
    """How a table of one kind may become one of another."""
    suits = f"use model='{PICKS[found][0]}' or 'auto'"
    if wanted == "nominal":
        return f"{suits}, or say which option was chosen: Responses.from_choices(choices, key)."
    if wanted == "binary":
        rule = "responses.values >= 2" if found == "graded" else "responses.values > 0.5"
        return f"{suits}, or give 0 and 1 only, for example with {rule}."
    if wanted == "graded":
        return f"{suits}, or say that they are grades: Responses(values, kind='graded')."
    return f"{suits}, or say that they are scores: Responses(values, kind='continuous')."
