"""An item bank as a file: JSON to read, Parquet for many items; never a pickle.

Both hold the same: a head (model, priors, population, how the fit went) and a table of items
with their coordinates, covariances and flags. `banks` reads what is written here.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ogive._files import write_atomically, write_json
from ogive.errors import InputError
from ogive.irt.models.base import Beta, Normal, Prior
from ogive.irt.quadrature import HistogramPopulation
from ogive.stats.array_backend import Floats

if TYPE_CHECKING:
    from ogive.irt.calibration import Calibration

KIND = "calibration"
VERSION = 4
SUM = "sha256"  # key of the checksum of all else, which detects edits
PRIORS: dict[str, type[Normal] | type[Beta]] = {"normal": Normal, "beta": Beta}
HEAD_KEY = b"ogive.calibration"
BANK_ENDINGS = (".json", ".parquet")


def save_bank(calibration: Calibration, path: str | os.PathLike[str]) -> Path:
    """Write the bank as .json or .parquet."""
    target = Path(path)
    head, items = _head(calibration), _columns(calibration)
    head[SUM] = sum_of({**head, "items": items})
    if target.suffix.lower() == ".json":
        write_json(target, KIND, VERSION, {**head, "items": items})
    elif target.suffix.lower() == ".parquet":
        document = {"schema": f"ogive/{KIND}", "version": VERSION, **head}

        def write(file: BinaryIO) -> None:
            import pyarrow as pa
            import pyarrow.parquet as pq

            metadata = {HEAD_KEY: json.dumps(document, allow_nan=False).encode()}
            pq.write_table(pa.table(items).replace_schema_metadata(metadata), file)

        write_atomically(target, write)
    else:
        raise InputError(
            f"Cannot save a calibration as '{target.name}': its ending is '{target.suffix}'. "
            "Use .json, or .parquet for many items."
        )
    return target


def sum_of(document: Mapping[str, Any]) -> str:
    """Return the checksum of a bank's head and items, whichever file they are in."""
    rest = {key: value for key, value in document.items() if key not in ("schema", "version", SUM)}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def document_of(calibration: Calibration) -> dict[str, Any]:
    """Return the bank as a part of another document: what JSON can hold."""
    return {**_head(calibration), "items": _columns(calibration)}


def _head(calibration: Calibration) -> dict[str, Any]:
    model, likelihood = calibration.model, calibration.log_likelihood
    options = {
        field.name: getattr(model, field.name)
        for field in fields(model)  # type: ignore[arg-type]
        if field.name != "coordinates"
    }
    priors = {c.name: _named_prior(c.prior) for c in model.coordinates}
    population = calibration.population
    if isinstance(population, HistogramPopulation):
        columns = {"points": population.points.tolist(), "mass": population.mass.tolist()}
        named_population: dict[str, Any] = {"histogram": columns}
    else:
        named_population = {"normal": {"mean": population.mean, "sd": population.sd}}
    return {
        "model": {"name": model.name, "options": options, "priors": priors},
        "population": named_population,
        "log_likelihood": None if math.isnan(likelihood) else likelihood,  # a part has none
        "n_respondents": calibration.n_respondents,
        "iterations": calibration.iterations,
        "converged": calibration.converged,
        "engine": calibration.engine,
        "dependence": calibration.dependence,
        "replayed": None if calibration.replayed is None else calibration.replayed.document(),
        "notes": list(calibration.notes),
    }


def _columns(calibration: Calibration) -> dict[str, list[Any]]:
    """Return the table of items, one list per column."""
    columns: dict[str, list[Any]] = {"item": list(calibration.item_names)}
    for k, coordinate in enumerate(calibration.model.coordinates):
        columns[coordinate.name] = calibration.coords[:, k].tolist()
    known = calibration.uncertainty
    columns["covariance"] = _by_item(known.covariances)
    columns["shared"] = _by_item(np.moveaxis(known.shared, 0, 1))
    if known.pooled is not None:
        columns["pooled"] = _by_item(known.pooled.coords)
        columns["pooled_covariance"] = _by_item(known.pooled.covariances)
        columns["pooled_shared"] = _by_item(np.moveaxis(known.pooled.shared, 0, 1))
    columns["flags"] = [list(words) for words in calibration.flags]
    return columns


def _by_item(values: Floats) -> list[Any]:
    """Return one list of numbers for each item, which comes first in `values`."""
    return values.reshape(len(values), values[0].size).tolist()


def _named_prior(prior: Prior | None) -> dict[str, Any] | None:
    if prior is None:
        return None
    for name, family in PRIORS.items():
        if isinstance(prior, family):
            return {name: asdict(prior)}
    raise InputError(
        f"A prior of type {type(prior).__name__} cannot be saved. Use {', '.join(PRIORS)}."
    )
