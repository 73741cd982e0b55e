"""The JSON file of a short benchmark, from which new respondents can be scored."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.arguments import checked_share
from ogive.calibration.bank_reading import calibration_from
from ogive.calibration.bank_writing import document_of
from ogive.errors import FileError, InputError
from ogive.files import (
    DAMAGED,
    PathLike,
    check_version,
    require_keys,
    why_damaged,
    write_json,
    written_number,
    written_texts,
)
from ogive.numerics.arrays import Floats
from ogive.numerics.prediction_error import COLUMNS
from ogive.numerics.score_range import POINTS, ScoreRange
from ogive.responses.repeated_answers import MOST_TRIES, Tries
from ogive.shortening.choosers import CHOOSERS
from ogive.shortening.folds import BASELINE
from ogive.shortening.forecasts import Margin
from ogive.shortening.predictors import PREDICTORS

if TYPE_CHECKING:
    from ogive.shortening.short_benchmark import ShortBenchmark

KIND, VERSION = "short-benchmark", 3
TEXTS = ("method", "predictor", "role")
HELD_OUT = ("accuracy", "predicted", "low", "high")
KEYS = (
    "items",
    "weights",
    "groups",
    "method",
    "predictor",
    "numbers",
    "within",
    "calibration",
    "margin",
    "confidence",
    "errors",
    "held_out",
    "form",
    "notes",
)
FIGURES = (*COLUMNS, "gain", "gain_se", "mae_low", "mae_high")
LARGEST = 1e12


def save_short_benchmark(short: ShortBenchmark, path: PathLike) -> Path:
    """Write the short form, with the bank of all items whose score it predicts."""
    write_json(path, KIND, VERSION, short_document(short))
    return Path(path)


def short_document(short: ShortBenchmark) -> dict[str, Any]:
    """What is written of a short form."""
    factor = short.margin.factor
    held = {name: getattr(short, name).tolist() for name in HELD_OUT}
    return {
        "items": list(short.items),
        "weights": short.weights.tolist(),
        "groups": None if short.groups is None else list(short.groups),
        "method": short.method,
        "predictor": short.predictor,
        "numbers": {name: values.tolist() for name, values in short.numbers.items()},
        "within": {name: values.tolist() for name, values in short.within.numbers().items()},
        "calibration": document_of(short.calibration),
        "margin": {
            "factor": None if math.isinf(factor) else factor,
            "floor": short.margin.floor,
            "above": short.margin.above,
            "below": short.margin.below,
        },
        "confidence": short.confidence,
        "errors": {name: [_told(cell) for cell in column] for name, column in short.errors.items()},
        "held_out": {"respondent": list(short.respondents), **held},
        "form": [[_told(cell) for cell in row] for row in short.form.tolist()],
        **({} if short.tries is None else {"tries": short.tries.tolist()}),
        "notes": list(short.notes),
    }


def read_short_benchmark(file: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the `ShortBenchmark` that `save_short_benchmark` wrote."""
    check_version(file, document, VERSION)
    require_keys(file, document, KEYS)
    try:
        return restored(document)
    except DAMAGED as error:
        raise FileError(
            f"'{file}' is not a short benchmark that this Ogive can use: {why_damaged(error)} "
            "If it was edited, restore a copy or save it again."
        ) from error


def restored(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the `ShortBenchmark` that `short_document` described."""
    calibration = calibration_from(document["calibration"])
    items = written_texts(document["items"], "items")
    size = len(items)
    if not items or len(set(items)) < size or not set(items) <= set(calibration.item_names):
        raise InputError("its items are not different items of its calibration")
    groups = document["groups"]
    held = document["held_out"]
    respondents = written_texts(held["respondent"], "respondents")
    predictor = _one_of(document["predictor"], PREDICTORS, "predictor")
    return dict(
        items=items,
        weights=_array(document["weights"], "weights", (size,)),
        groups=None if groups is None else written_texts(groups, "groups", size),
        method=_one_of(document["method"], CHOOSERS, "method"),
        predictor=predictor,
        numbers=_numbers(predictor, document["numbers"], size),
        within=_within(document["within"], size),
        calibration=calibration,
        margin=_margin(document["margin"]),
        confidence=checked_share(document["confidence"], "confidence", 0.95),
        errors=_errors(document["errors"]),
        respondents=respondents,
        **{name: _array(held[name], name, (len(respondents),)) for name in HELD_OUT},
        form=_form(document["form"], (len(respondents), size)),
        tries=_tries(document.get("tries"), (len(respondents), size)),
        notes=written_texts(document["notes"], "notes"),
    )


def _numbers(predictor: str, written: Mapping[str, Any], size: int) -> dict[str, Floats]:
    """The numbers that the predictor has learned, in the shapes it needs."""
    found = {str(name): _array(values, str(name)) for name, values in written.items()}
    shapes = PREDICTORS[predictor].shapes(size, found)
    if {name: values.shape for name, values in found.items()} != shapes:
        raise InputError(f"the numbers of the predictor {predictor!r} do not fit its items")
    if "spread" in found and not (found["spread"] > 0).all():
        raise InputError("the spread is not above 0")
    return found


def _form(written: Any, shape: tuple[int, int]) -> Floats:
    """Responses to the short form; null means not asked."""
    if not isinstance(written, list) or not all(isinstance(row, list) for row in written):
        raise InputError("form is not a table of responses")
    rows = [[math.nan if c is None else _number(c, "form") for c in row] for row in written]
    if len(rows) != shape[0] or any(len(row) != shape[1] for row in rows):
        raise InputError(f"form should have {shape[0]} rows of {shape[1]} responses")
    return np.array(rows)


def _tries(written: Any, shape: tuple[int, int]) -> Tries | None:
    """The answers behind each response, if some were repeated; whole numbers from 0."""
    if written is None:
        return None
    found = _array(written, "tries", shape)
    if not ((found >= 0) & (found <= MOST_TRIES) & (found == np.floor(found))).all():
        raise InputError("its tries are not whole numbers from 0")
    return found.astype(np.int32)


def _margin(written: Mapping[str, Any]) -> Margin:
    factor = math.inf if written["factor"] is None else _number(written["factor"], "factor")
    floor, above, below = (_number(written[name], name) for name in ("floor", "above", "below"))
    if not (factor >= 0 and floor > 0 and above >= 0 and below >= 0):
        raise InputError("its margin is negative")
    return Margin(factor, floor, above, below)


def _within(written: Mapping[str, Any], size: int) -> ScoreRange:
    """The range of scores learned from: shares between 0 and 1, and densities."""
    shapes = {
        "curves": (POINTS, size),
        "modelled": (POINTS, size),
        "inside": (POINTS,),
        "edges": (2,),
        "odds": (2,),
        "spread": (1,),
        "weight": (1,),
    }
    found = {name: _array(written[name], name, shape) for name, shape in shapes.items()}
    curves, spread = np.stack([found["curves"], found["modelled"]]), found["spread"]
    if not (curves.min() > 0 and curves.max() < 1 and min(spread[0], found["weight"][0]) > 0):
        raise InputError("its curves are not between 0 and 1")
    if not (found["inside"].min() >= 0 and found["inside"].sum() > 0 and found["odds"].min() >= 0):
        raise InputError("the densities of its range are not positive")
    return ScoreRange.from_numbers(found)


def _errors(written: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    names = [written_texts(written[name], name) for name in TEXTS]
    rows = len(names[0])
    found: dict[str, tuple[Any, ...]] = dict(zip(TEXTS, names, strict=True))
    for name in FIGURES:
        cells = written[name]
        if not isinstance(cells, list):
            raise InputError(f"{name} is not a list")
        found[name] = tuple(math.nan if c is None else _number(c, name) for c in cells)
    if any(len(column) != rows for column in found.values()):
        raise InputError("the columns of errors have different lengths")
    if BASELINE not in zip(found["method"], found["predictor"], strict=True):
        raise InputError("the errors lack the comparison with random items")
    return found


def _told(cell: Any) -> Any:
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def _number(value: Any, name: str) -> float:
    return written_number(value, name, -LARGEST, LARGEST)


def _array(values: Any, name: str, shape: tuple[int, ...] | None = None) -> Floats:
    """A list of numbers, or a list of such lists, as an array."""
    if not isinstance(values, list) or not values:
        raise InputError(f"{name} is not a list of numbers")
    rows = [_array(row, name) for row in values] if isinstance(values[0], list) else None
    found = np.array([_number(v, name) for v in values]) if rows is None else np.stack(rows)
    if shape is not None and found.shape != shape:
        raise InputError(f"{name} has shape {found.shape}, but should have {shape}")
    return found


def _one_of(value: Any, known: Mapping[str, Any], name: str) -> str:
    if not isinstance(value, str) or value not in known:
        raise InputError(f"its {name} is {value!r:.40}, which is unknown here")
    return value
