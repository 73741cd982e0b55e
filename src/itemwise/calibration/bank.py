"""The item bank as a file: JSON to read, Parquet for many items; never a pickle.

Both hold the same: a head (model, priors, population, how the fit went) and a table of items
with their coordinates, covariances and flags.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from itemwise.errors import FileError, InputError
from itemwise.files import (
    DAMAGED,
    check_version,
    checked_document,
    readable_file,
    require_keys,
    why_damaged,
    write_atomically,
    write_json,
    written_number,
    written_text,
    written_texts,
)
from itemwise.models import MODELS, with_priors
from itemwise.models.priors import Beta, Normal, Prior
from itemwise.numerics.arrays import Floats
from itemwise.scoring import HistogramPopulation, NormalPopulation, Population

if TYPE_CHECKING:
    from itemwise.calibration.calibration import Calibration
    from itemwise.models.base import MeasurementModel

KIND = "calibration"
VERSION = 2
MOST_BYTES = 4 * 1024**3
FARTHEST = 1e6  # nothing on a scale that anybody uses lies farther out
PRIORS: dict[str, type[Normal] | type[Beta]] = {"normal": Normal, "beta": Beta}
HEAD_KEY = b"itemwise.calibration"
HEAD = (
    "model",
    "population",
    "log_likelihood",
    "n_respondents",
    "iterations",
    "converged",
    "engine",
    "notes",
)


def save(calibration: Calibration, path: str | os.PathLike[str]) -> Path:
    """Write the bank as .json or .parquet."""
    target = Path(path)
    head, items = _head(calibration), _columns(calibration)
    if target.suffix.lower() == ".json":
        write_json(target, KIND, VERSION, {**head, "items": items})
    elif target.suffix.lower() == ".parquet":
        document = {"schema": f"itemwise/{KIND}", "version": VERSION, **head}
        write_atomically(target, lambda file: _write_parquet(file, document, items))
    else:
        raise InputError(
            f"Cannot save a calibration as '{target.name}': its ending is '{target.suffix}'. "
            "Use .json, or .parquet for many items."
        )
    return target


def load_bank(file: Path, document: Mapping[str, Any] | None) -> Calibration:
    """Restore the calibration of a JSON document, or without one, of a Parquet file."""
    if document is None:
        document = _read_parquet(file)
    check_version(file, document, VERSION)
    require_keys(file, document, (*HEAD, "items"))
    try:
        return _calibration(document)
    except DAMAGED as error:
        raise FileError(
            f"'{file}' is not a calibration that this Itemwise can use: {why_damaged(error)} "
            "If it was edited, restore a copy or save it again."
        ) from error


def is_bank(path: str | os.PathLike[str]) -> bool:
    """Whether a file is meant as a bank: JSON always is, Parquet where its head says so."""
    suffix = Path(path).suffix.lower()
    if suffix != ".parquet":
        return suffix == ".json"
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(readable_file(path, MOST_BYTES))
    except (FileError, pa.ArrowException, OSError, ValueError):
        return False
    return HEAD_KEY in (schema.metadata or {})


def document_of(calibration: Calibration) -> dict[str, Any]:
    """The bank as a part of another document: what JSON can hold."""
    return {**_head(calibration), "items": _columns(calibration)}


def calibration_from(document: Mapping[str, Any]) -> Calibration:
    """The bank that `document_of` gave; InputError where it is none."""
    try:
        return _calibration(document)
    except DAMAGED as error:
        raise InputError(f"This is not a calibration: {why_damaged(error)}") from error


def _head(calibration: Calibration) -> dict[str, Any]:
    model, likelihood = calibration.model, calibration.log_likelihood
    options = {
        field.name: getattr(model, field.name)
        for field in fields(model)  # type: ignore[arg-type]
        if field.name != "coordinates"
    }
    priors = {c.name: _named_prior(c.prior) for c in model.coordinates}
    return {
        "model": {"name": model.name, "options": options, "priors": priors},
        "population": _named_population(calibration.population),
        "log_likelihood": None if math.isnan(likelihood) else likelihood,  # a part has none
        "n_respondents": calibration.n_respondents,
        "iterations": calibration.iterations,
        "converged": calibration.converged,
        "engine": calibration.engine,
        "notes": list(calibration.notes),
    }


def _columns(calibration: Calibration) -> dict[str, list[Any]]:
    """The table of items, a list a column."""
    columns: dict[str, list[Any]] = {"item": list(calibration.item_names)}
    for k, coordinate in enumerate(calibration.model.coordinates):
        columns[coordinate.name] = calibration.coords[:, k].tolist()
    covariances = calibration.uncertainty.covariances
    columns["covariance"] = covariances.reshape(len(covariances), -1).tolist()
    columns["flags"] = [list(words) for words in calibration.flags]
    return columns


def _calibration(document: Mapping[str, Any]) -> Calibration:
    from itemwise.calibration.calibration import Calibration
    from itemwise.calibration.uncertainty import KnownCovariances

    items = document["items"]
    names = written_texts(items["item"], "items' names")
    model = _model(document["model"])
    model.check(np.zeros((0, len(names))), names)
    if len(set(names)) != len(names) or not names:
        raise ValueError("item names must be there, and unique.")
    coords = np.stack([_numbers(items[c.name], c.name, len(names)) for c in model.coordinates], 1)
    for c, column in zip(model.coordinates, coords.T, strict=True):
        low, high = max(c.low, -FARTHEST), min(c.high, FARTHEST)
        if not ((column >= low) & (column <= high)).all():
            raise ValueError(f"{c.name} lies outside [{low:g}, {high:g}].")
    flags = tuple(written_texts(words, "flags") for words in items["flags"])
    if len(flags) != len(names):
        raise ValueError("the columns of items have different lengths.")
    told = document["log_likelihood"]
    return Calibration(
        model=model,
        item_names=names,
        coords=coords,
        uncertainty=KnownCovariances(_covariances(items["covariance"], *coords.shape)),
        population=_population(document["population"]),
        log_likelihood=math.nan if told is None else written_number(told, "log_likelihood"),
        n_respondents=written_number(document["n_respondents"], "n_respondents", low=0),
        iterations=int(written_number(document["iterations"], "iterations", low=0)),
        converged=_truth(document["converged"], "converged"),
        engine=written_text(document["engine"], "engine"),
        notes=written_texts(document["notes"], "notes"),
        flags=flags,
    )


def _covariances(rows: Any, n_items: int, width: int) -> Floats:
    flat = [_numbers(row, "covariance", width**2) for row in rows]
    if len(flat) != n_items:
        raise ValueError("the columns of items have different lengths.")
    found = np.array(flat).reshape(n_items, width, width)
    symmetric = np.allclose(found, np.swapaxes(found, 1, 2), rtol=1e-6, atol=1e-12)
    if not symmetric or (np.einsum("nii->ni", found) < 0).any():
        raise ValueError("a covariance is not symmetric, or a variance is negative.")
    return found


def _named_population(population: Population) -> dict[str, Any]:
    if isinstance(population, HistogramPopulation):
        columns = {"points": population.points.tolist(), "mass": population.mass.tolist()}
        return {"histogram": columns}
    return {"normal": {"mean": population.mean, "sd": population.sd}}


def _population(written: Mapping[str, Any]) -> Population:
    ((name, numbers),) = written.items()
    if name == "histogram":
        n = len(numbers["points"])
        points = _numbers(numbers["points"], "the population's points", n)
        if np.abs(points).max(initial=0.0) > FARTHEST:
            raise ValueError("the population's points lie too far out.")
        return HistogramPopulation(points, _numbers(numbers["mass"], "the population's mass", n))
    if name != "normal":
        raise ValueError(f"there is no population {name!r:.40} here.")
    mean = written_number(numbers["mean"], "the population's mean", -FARTHEST, FARTHEST)
    sd = written_number(numbers["sd"], "the population's sd", 1 / FARTHEST, FARTHEST)
    return NormalPopulation(mean, sd)


def _numbers(values: Any, name: str, n: int) -> Floats:
    if not isinstance(values, list) or len(values) != n:
        raise ValueError(f"{name} is not a list of {n} numbers.")
    found = np.array([written_number(value, name) for value in values])
    if not np.isfinite(found).all():
        raise ValueError(f"{name} has values that are not finite numbers.")
    return found


def _truth(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name} is {value!r:.40}, neither true nor false.")
    return value


def _model(written: Mapping[str, Any]) -> MeasurementModel:
    name = written_text(written["name"], "the model's name")
    if name not in MODELS:
        raise ValueError(f"there is no model {name!r:.40} here.")
    model = MODELS[name]()
    known = {field.name for field in fields(model)} - {"coordinates"}  # type: ignore[arg-type]
    if set(written["options"]) - known:
        raise ValueError(f"the {model.name} model has no option {written['options']!r:.60}.")
    options = {key: _frozen(value) for key, value in written["options"].items()}
    model = replace(model, **options, **_unshaped(model))  # type: ignore[type-var]
    priors = {name: _prior(prior) for name, prior in written["priors"].items()}
    return with_priors(model, priors)


def _frozen(value: Any) -> Any:
    """Lists, in which JSON keeps tuples, as tuples again."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _unshaped(model: MeasurementModel) -> dict[str, Any]:
    """What makes a model choose its coordinates anew, if its options decide them."""
    return {} if type(model).coordinates else {"coordinates": ()}


def _named_prior(prior: Prior | None) -> dict[str, Any] | None:
    if prior is None:
        return None
    for name, family in PRIORS.items():
        if isinstance(prior, family):
            return {name: asdict(prior)}
    raise InputError(
        f"A prior of type {type(prior).__name__} cannot be saved. Use {', '.join(PRIORS)}."
    )


def _prior(written: Mapping[str, Any] | None) -> Prior | None:
    if written is None:
        return None
    ((name, numbers),) = written.items()
    return PRIORS[name](**numbers)


def _write_parquet(file: BinaryIO, document: dict[str, Any], items: dict[str, list[Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    head = json.dumps(document, allow_nan=False).encode()
    pq.write_table(pa.table(items).replace_schema_metadata({HEAD_KEY: head}), file)


def _read_parquet(file: Path) -> dict[str, Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(file)
        head = (table.schema.metadata or {}).get(HEAD_KEY)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FileError(f"'{file}' cannot be read as Parquet: {error}. Save it again.") from error
    if head is None:
        raise FileError(f"'{file}' is a Parquet file, but not a calibration that Itemwise saved.")
    return {**checked_document(file, head, KIND, VERSION), "items": table.to_pydict()}
