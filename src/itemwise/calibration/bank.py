"""The item bank as a file: JSON to read, Parquet for many items; never a pickle.

Both hold the same: a head (model, priors, population, how the fit went) and a table of items
with their coordinates, covariances and flags.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from itemwise.errors import FileError, InputError, ItemwiseError
from itemwise.files import (
    checked_document,
    read_json,
    readable_file,
    require_keys,
    write_atomically,
    write_json,
)
from itemwise.models import MODELS, with_priors
from itemwise.models.priors import Beta, Normal, Prior
from itemwise.scoring import Population

if TYPE_CHECKING:
    from itemwise.calibration.calibration import Calibration
    from itemwise.models.base import MeasurementModel

KIND = "calibration"
VERSION = 1
MOST_BYTES = 4 * 1024**3
PRIORS: dict[str, type[Normal] | type[Beta]] = {"normal": Normal, "beta": Beta}
HEAD_KEY = b"itemwise.calibration"
HEAD = (
    "model",
    "population",
    "log_likelihood",
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


def load(path: str | os.PathLike[str]) -> Calibration:
    """Read a bank that `Calibration.save` wrote."""
    file = readable_file(path, MOST_BYTES)
    with file.open("rb") as stream:
        parquet = stream.read(4) == b"PAR1"
    document = (
        _read_parquet(file) if parquet else read_json(file, KIND, VERSION, max_bytes=MOST_BYTES)
    )
    require_keys(file, document, (*HEAD, "items"))
    try:
        return _calibration(document)
    except (ItemwiseError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise FileError(
            f"'{file}' is not a valid calibration: {_reason(error)} It was changed after it was "
            "written; save it anew."
        ) from error


def _head(calibration: Calibration) -> dict[str, Any]:
    model = calibration.model
    options = {
        field.name: getattr(model, field.name)
        for field in fields(model)  # type: ignore[arg-type]
        if field.name != "coordinates"
    }
    priors = {c.name: _named_prior(c.prior) for c in model.coordinates}
    return {
        "model": {"name": model.name, "options": options, "priors": priors},
        "population": asdict(calibration.population),
        "log_likelihood": calibration.log_likelihood,
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
    columns["flag"] = list(calibration.flags or [""] * len(calibration.item_names))
    return columns


def _calibration(document: Mapping[str, Any]) -> Calibration:
    from itemwise.calibration.calibration import Calibration, KnownCovariances

    model, items = _model(document["model"]), document["items"]
    names = [str(name) for name in items["item"]]
    if len(set(names)) != len(names) or not names:
        raise ValueError("item names must be there, and unique.")
    width = model.width
    coords = np.array([items[c.name] for c in model.coordinates], dtype=float).T
    covariances = np.array(items["covariance"], dtype=float)
    if coords.shape != (len(names), width) or covariances.shape != (len(names), width**2):
        raise ValueError("the columns of items have different lengths.")
    if not (np.isfinite(coords).all() and np.isfinite(covariances).all()):
        raise ValueError("items have values that are not finite numbers.")
    for k, c in enumerate(model.coordinates):
        if not ((coords[:, k] >= c.low) & (coords[:, k] <= c.high)).all():
            raise ValueError(f"{c.name} lies outside [{c.low:g}, {c.high:g}].")
    flags = tuple(str(flag) for flag in items["flag"])
    if len(flags) != len(names):
        raise ValueError("the columns of items have different lengths.")
    return Calibration(
        model=model,
        item_names=tuple(names),
        coords=coords,
        uncertainty=KnownCovariances(covariances.reshape(-1, width, width)),
        population=Population(**document["population"]),
        log_likelihood=float(document["log_likelihood"]),
        iterations=int(document["iterations"]),
        converged=bool(document["converged"]),
        engine=str(document["engine"]),
        notes=tuple(str(note) for note in document["notes"]),
        flags=flags,
    )


def _model(written: Mapping[str, Any]) -> MeasurementModel:
    if written["name"] not in MODELS:
        raise ValueError(f"there is no model {written['name']!r} here.")
    model = MODELS[written["name"]]()
    known = {field.name for field in fields(model)} - {"coordinates"}  # type: ignore[arg-type]
    if set(written["options"]) - known:
        raise ValueError(f"the {model.name} model has no option {written['options']!r}.")
    model = replace(model, **written["options"])  # type: ignore[type-var]
    priors = {name: _prior(prior) for name, prior in written["priors"].items()}
    return with_priors(model, priors)


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
        raise FileError(f"'{file}' cannot be read as Parquet: {error}. Save it anew.") from error
    if head is None:
        raise FileError(f"'{file}' is a Parquet file, but not a calibration that Itemwise saved.")
    document = checked_document(file, head, KIND, VERSION)
    return {**document, "items": table.to_pydict()}


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing."
    text = str(error)
    return text if text.endswith(".") else f"{text}."
