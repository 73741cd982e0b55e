"""`calibrate`: responses in, items on a scale out; and which model and engine do it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ogive._progress import Progress, telling
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.irt.encoded_responses import effective_tries
from ogive.irt.estimation.alternative_engines import Joint, Shojima
from ogive.irt.estimation.cluster import check_client, on_cluster, scanned_array
from ogive.irt.estimation.em_engine import EM
from ogive.irt.estimation.engine import Engine, Fit
from ogive.irt.estimation.identifiability import flag_notes, item_flags, table_notes
from ogive.irt.estimation.latent_scale import check_engine, held_note, items_held
from ogive.irt.linkage import HELD
from ogive.irt.local_dependence import NEGLIGIBLE, dependence, said_of_dependence
from ogive.irt.models import AUTO, find_model, with_priors
from ogive.irt.models.base import MeasurementModel, Prior
from ogive.irt.models.continuous import Continuous
from ogive.irt.part_scales import at_own_origins
from ogive.irt.response_matrix import as_responses, is_responses, is_scanned
from ogive.stats.array_backend import Floats

if TYPE_CHECKING:
    from ogive.data.responses import Responses, Table
    from ogive.data.scan import ScannedResponses

PICKS = {
    "binary": ("2pl", "responses are right or wrong; where guessing matters, ask for '3pl'"),
    "graded": ("graded", "responses are grades; the other model of grades is 'gpcm'"),
    "nominal": ("nominal", "responses are choices among options"),
    "continuous": (
        "continuous",
        "responses are scores in an interval; for probabilities there is also 'beta'",
    ),
}
FEW = 100  # number of respondents below which "auto" gives all items one discrimination
OF_FEW = (
    "1pl",
    (
        f"responses are right or wrong, and fewer than {FEW} respondents say little about the "
        "discrimination of single items; '2pl' estimates it nevertheless"
    ),
)
HANDFUL = 30  # number of respondents below which one discrimination predicts scores better
LEAST_WEIGHT, MOST_WEIGHT = 1e-6, 1e15  # bounds of the sum of weights
INSTEAD = {  # functions for arguments that `calibrate` does not have
    "groups": "group_scale(responses, groups) gives each group a population of its own.",
    "dimensions": "dimension_scale(responses, dimensions) fits several abilities.",
}


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

ENGINES: dict[str, type[EM] | type[Joint] | type[Shojima]] = {
    engine.name: engine for engine in (EM, Joint, Shojima)
}


def calibrate(
    responses: Table | ScannedResponses,
    model: str | MeasurementModel = AUTO,
    *,
    preset: str | None = None,
    engine: str | Engine = "em",
    priors: Literal["default"] | Mapping[str, Prior | None] | None = "default",
    weights: Any = None,
    fixed: Calibration | None = None,
    progress: Progress | bool = True,
    **settings: Any,
) -> Calibration:
    """Put items and respondents on one scale.

    `items` of the calibration has one row per item: the model's parameters, <name>_se of each, and
    flag; `abilities()` has one row per respondent: ability, se, at_bound. The default is marginal
    maximum likelihood (Bock and Aitkin, 1981).

    Parameters
    ----------
    responses
        Respondents × items: `Responses`, or a frame or array that makes them; or what
        `scan_responses` found in files that are larger than memory.
    model
        "auto" picks one by the kind of responses and says which; for right or wrong it is "1pl"
        below 100 respondents, who say little about the discrimination of single items, else "2pl".
        Right or wrong: "1pl", "2pl", "3pl", "4pl". Grades: "graded", "gpcm". Choices among options:
        "nominal". Scores in an interval: "continuous", "beta". Or a model with its options, such
        as `OnePL(discrimination=1)` or `Continuous(bounds=(0, 100))`.
    preset
        A model and an engine that reproduce published work: "airt" for the continuous model of
        the AIRT paper. It takes the place of `model` and `engine`.
    engine
        "em" for marginal maximum likelihood, "joint" for Birnbaum's alternation, "shojima" for
        the published EM of the continuous model, or an engine with its settings, such as
        `EM(tolerance=1e-8)`. `settings` go to an engine named here: population="auto" for abilities
        that may not be normal, se="robust" for standard errors that do not take the model as true.
    priors
        "default" keeps every item finite: discrimination ~ N(0, 3), intercept ~ N(0, 5), both
        too wide to matter for an ordinary item; guessing ~ Beta(5, 17), slip ~ Beta(2, 20), each
        worth 20 responses, because few responses determine them. The continuous model has
        discrimination ~ N(0, 1), which keeps noise in every item.
        None gives plain maximum likelihood. A mapping replaces single ones, as in
        {"guessing": Beta(2, 5)}.
    weights
        How many respondents each row stands for; not negative.
    fixed
        An item bank. Its items, matched by name, keep their parameters and define the scale; the
        other items are estimated, and so are the mean and standard deviation of these respondents
        on that scale. The model is the bank's.
    progress
        True shows a bar in a terminal or a notebook, False nothing; a callable is called with
        (done, total, message) after each iteration.

    Examples
    --------
    >>> import ogive as og
    >>> drawn = og.simulate("2pl", 500, 20, random_state=0)
    >>> found = og.calibrate(drawn.responses, "2pl")
    >>> found.items.shape, found.abilities().shape
    ((20, 9), (500, 3))
    >>> bool(found.items["difficulty"].corr(drawn.truth.items["difficulty"]) > 0.95)
    True
    """
    table = _given_responses(responses, engine, settings)
    if preset is not None:
        if not isinstance(preset, str) or preset.lower() not in PRESETS:
            raise InputError(f"There is no preset {preset!r}. Presets are: {', '.join(PRESETS)}.")
        if model != AUTO or engine != "em":
            raise InputError(
                f"preset={preset!r} has a model and an engine of its own; give no other."
            )
        of_preset = PRESETS[preset.lower()]()
        model = of_preset.model
        engine = of_preset.engine.name if settings else of_preset.engine
    runner = find_engine(engine, settings)
    held = None
    if fixed is None:
        counts = checked_weights(weights, table)
        chosen, notes = _pick_model(model, table, counts, sharing=not isinstance(runner, Joint))
        table = table.of_kind(chosen.kind)
    else:
        check_engine(runner)
        table = table.of_kind(fixed.model.kind)
        chosen, held = items_held(fixed, seen_of(table), model)
        counts = checked_weights(weights, table)
    if priors != "default":
        chosen = with_priors(chosen, priors)
    given = () if held is None else (held,)
    with telling(progress, "Calibrating") as report:

        def fit(**repeats: Any) -> Fit:
            cells = _rows_of(table, runner)
            return runner.fit(cells, chosen, counts, report, *given, **repeats)

        fitted, correlation = _fitted(fit, table, chosen, counts)
    if held is not None:
        notes = [held_note(held, fitted.population.mean, fitted.population.sd)]
    mask = None if held is None else held.mask
    found = _calibration(table, chosen, fitted, counts, runner, notes, correlation, mask)
    return at_own_origins(found) if held is None else found


def _given_responses(
    responses: Table | ScannedResponses, engine: str | Engine, settings: Mapping[str, Any]
) -> Responses | ScannedResponses:
    """Return responses as they are, or where the workers of a cluster have them."""
    client = settings.get("client", getattr(engine, "client", None))
    if hasattr(responses, "to_delayed") and hasattr(responses, "chunks"):  # a dask array
        if client is None:
            raise InputError(
                "A dask array is calibrated on a cluster: give engine=EM(client=client), or "
                "array.compute()."
            )
        responses = scanned_array(responses)
    if not is_scanned(responses):
        return responses if is_responses(responses) else as_responses(responses)
    if client is None:
        return responses
    check_client(client)
    return on_cluster(client, responses)


def _rows_of(table: Responses | ScannedResponses, engine: Engine) -> Any:
    """Return the cells for an engine, or rows that stay where they are."""
    if not is_scanned(table):
        return table.cells
    if not isinstance(engine, EM):
        raise InputError(
            f"The {engine.name} engine needs all responses at once, but scanned ones are read in "
            "blocks. Use the em engine, or read them all with read_responses."
        )
    return table.opened


def seen_of(table: Responses | ScannedResponses) -> Responses:
    """Return a table in which a model sees the same grades and bounds: itself, or a few rows."""
    return table.digest if is_scanned(table) else table


def model_for(
    model: str | MeasurementModel,
    responses: Responses | ScannedResponses,
    weights: Floats | None = None,
    *,
    sharing: bool = True,
) -> tuple[str | MeasurementModel, list[str]]:
    """Return the model that "auto" means for a table, and a note; or the model that was given.

    For parts of a table, call this with the whole table, so that parts have one model. Without
    `sharing`, items never share a parameter, which not every engine can fit.
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
    """Return a model with a discrimination of each item, by which items are "judged" or "chosen".

    With 40 to 80 respondents, items chosen by discrimination predict accuracy better; with fewer
    than a `HANDFUL` (`least`), a common discrimination halves the error.
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


def model_of_choices(
    model: str | MeasurementModel, table: Responses
) -> tuple[str | MeasurementModel, list[str]]:
    """Return the model of banks of items with options, "3pl" with many respondents; and why.

    Few respondents cannot determine guessing, and the search takes long.
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
    """Return True if the model is left to be picked."""
    return isinstance(model, str) and model.lower() == AUTO


def _pick_model(
    model: str | MeasurementModel,
    responses: Responses | ScannedResponses,
    weights: Floats | None,
    *,
    sharing: bool,
) -> tuple[MeasurementModel, list[str]]:
    """Return the model fitted to the shape of the table, and a note if "auto" picked it."""
    table = seen_of(responses)
    model, note = model_for(model, responses, weights, sharing=sharing)
    chosen = find_model(model)
    if table.n_missing == table.cells.size:  # nothing was observed: it is of any kind
        table = table.of_kind(chosen.kind)
    if table.kind != chosen.kind:
        binary = "responses.values >= 2" if table.kind == "graded" else "responses.values > 0.5"
        advice = {
            "nominal": "say which option was chosen: Responses.from_choices(choices, key)",
            "binary": f"give 0 and 1 only, for example with {binary}",
            "graded": "say that they are grades: Responses(values, kind='graded')",
            "continuous": "say that they are scores: Responses(values, kind='continuous')",
        }
        raise InputError(
            f"The responses are {table.kind}, but the {chosen.name} model explains {chosen.kind} "
            f"ones: use model='{PICKS[table.kind][0]}' or 'auto', or {advice[chosen.kind]}."
        )
    return chosen.fitted_to(table.cells, table.items), note


def _fitted(
    fit: Callable[..., Fit],
    table: Responses | ScannedResponses,
    model: MeasurementModel,
    counts: Floats | None,
) -> tuple[Fit, float]:
    """Return a fit, and the correlation of repeated answers, with which they are fitted again."""
    if is_scanned(table) or table.tries is None or model.kind != "binary":
        return fit(), 0.0
    first = fit(tries=table.tries)
    correlation = dependence(
        table.cells, table.tries, model, first.coords, first.population, counts
    )
    if correlation < NEGLIGIBLE:
        return first, 0.0
    return fit(tries=effective_tries(table.tries, correlation)), correlation


def _calibration(
    table: Responses | ScannedResponses,
    model: MeasurementModel,
    fit: Fit,
    counts: Floats | None,
    engine: Engine,
    notes: list[str],
    correlation: float,
    held: np.ndarray | None,
) -> Calibration:
    """Return the result of an engine, with all notes; the given ones come first."""
    scanned, seen = is_scanned(table), seen_of(table)
    flags = item_flags(seen, model, fit, None if scanned else counts)
    repeats = []
    if not is_scanned(table) and table.tries is not None:
        if model.kind != "binary":
            repeats = [
                f"The {model.name} model takes the mean of repeated answers as one response."
            ]
        elif correlation:
            repeats = [said_of_dependence(correlation, table.tries)]
    fit_notes = (
        *notes,
        *fit.notes,
        *repeats,
        *table_notes(table, model, counts, held),
        *flag_notes(seen, flags),
    )
    if held is not None:
        flags = tuple(
            (*words, HELD) if known else words for words, known in zip(flags, held, strict=True)
        )
    return Calibration(
        model=model,
        item_names=table.items,
        coords=fit.coords,
        uncertainty=fit.uncertainty,
        population=fit.population,
        log_likelihood=fit.log_likelihood,
        n_respondents=float(table.n_respondents if counts is None else counts.sum()),
        iterations=fit.iterations,
        converged=fit.converged,
        engine=engine.name,
        fit_notes=fit_notes,
        flags=flags,
        responses=None if is_scanned(table) else table,
        scanned=table if is_scanned(table) else None,
        encoded=fit.encoded,
        weights=counts,
        fitted_by=engine,
        dependence=correlation,
    )


def calibrate_again(
    calibration: Calibration, responses: Responses, weights: Floats | None = None
) -> Calibration:
    """Fit other responses to the same items as `calibration` was: model, priors, engine, bank."""
    held = [
        name
        for name, words in zip(calibration.item_names, calibration.flags, strict=True)
        if HELD in words
    ]
    return calibrate(
        responses,
        AUTO if held else calibration.model,
        engine=calibration.fitted_by,
        weights=weights,
        fixed=calibration.of_items(held) if held else None,
        progress=False,
    )


def find_engine(engine: str | Engine, settings: Mapping[str, Any]) -> Engine:
    """Return the engine of that name with `settings`, or the engine itself."""
    if isinstance(engine, type) or not (isinstance(engine, str) or hasattr(engine, "fit")):
        raise InputError(
            f"`engine` must be a name ({', '.join(ENGINES)}) or an engine such as EM(), got "
            f"{engine!r}."
        )
    if not isinstance(engine, str):
        if settings:
            raise InputError(
                f"{', '.join(settings)}: give settings inside the engine, as in "
                f"{type(engine).__name__}({next(iter(settings))}=...), or name the engine as text."
            )
        return engine
    if engine.lower() not in ENGINES:
        raise InputError(f"There is no engine {engine!r}. Engines are: {', '.join(ENGINES)}.")
    family = ENGINES[engine.lower()]
    known = [field.name for field in fields(family)]
    unknown = [name for name in settings if name not in known]
    if unknown:
        instead = INSTEAD.get(unknown[0], f"Its settings are: {', '.join(known)}.")
        raise InputError(
            f"calibrate has no argument {unknown[0]!r}, and neither has the {engine} engine. "
            f"{instead}"
        )
    return family(**settings)


def checked_weights(weights: Any, table: Responses | ScannedResponses) -> Floats | None:
    """Return weights as numbers, one per respondent."""
    if weights is None:
        return None
    index = getattr(weights, "index", None)
    named = hasattr(index, "dtype") and type(index).__name__ != "RangeIndex"
    if named and [str(name) for name in index] != list(table.respondents):  # type: ignore[union-attr]
        raise InputError(
            "weights has an index that differs from the respondents. Bring it into their order, "
            "weights.reindex(responses.respondents), or give plain numbers."
        )
    try:
        found = np.asarray(weights, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"weights must be numbers: {error}.") from error
    if found.shape != (table.n_respondents,):
        raise InputError(
            f"weights has shape {found.shape}, but there are {table.n_respondents} respondents. "
            "Give one weight per respondent."
        )
    if not (np.isfinite(found).all() and (found >= 0).all() and found.sum() > 0):
        raise InputError("weights must be finite, not negative, and not all zero.")
    if not LEAST_WEIGHT < found.sum() < MOST_WEIGHT:
        raise InputError(
            f"weights sum to {found.sum():.3g}; they say how many respondents each row stands for. "
            "Scale them to a plausible number."
        )
    return found
