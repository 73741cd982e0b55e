"""Item banks from files, in which every value is checked; and banks made of known items."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from ogive._files import (
    DAMAGED,
    check_version,
    checked_document,
    most_bytes,
    readable_file,
    require_keys,
    why_damaged,
    written_number,
    written_text,
    written_texts,
)
from ogive.errors import FileError, InputError
from ogive.irt.bank_writing import HEAD_KEY, KIND, PRIORS, SUM, VERSION, sum_of
from ogive.irt.calibration import Calibration
from ogive.irt.item_covariances import (
    KnownCovariances,
    PooledItems,
    errors_of_items,
    pooled_items,
)
from ogive.irt.models import MODELS, with_priors
from ogive.irt.models.base import MeasurementModel, Prior
from ogive.irt.quadrature import STANDARD, HistogramPopulation, NormalPopulation, Population
from ogive.irt.replay_error import real_error_from
from ogive.irt.response_matrix import from_data
from ogive.stats.array_backend import Floats

MOST_BYTES = 4 * 1024**3
PYTHON_PER_ARROW = 16  # largest memory of lists for one byte of the table
SUMMED = 4  # first format with a checksum
MOST_SHARED = 64  # largest number of shared directions of errors; one fit has two
ROUNDING = 1e-6  # error of an eigenvalue of a covariance, relative to the largest
LARGEST_FLOAT = float(np.finfo(np.float64).max)
LARGEST = 1e60  # its square, and the sum of many, are still numbers
FARTHEST = 1e6  # largest coordinate or ability of a bank
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


def load_bank(
    file: Path, document: Mapping[str, Any] | None, max_bytes: int = MOST_BYTES
) -> Calibration:
    """Restore the calibration of a JSON document, or without one, of a Parquet file."""
    if document is None:
        document = _read_parquet(file, max_bytes)
    check_version(file, document, VERSION)
    require_keys(file, document, (*HEAD, "items"))
    try:
        bank = _calibration(document)
    except DAMAGED as error:
        raise FileError(
            f"'{file}' is not a calibration that this Ogive can use: {why_damaged(error)} "
            "If it was edited, restore a copy or save it again."
        ) from error
    # Checked last, so that errors in an edited bank are reported first.
    if document["version"] >= SUMMED and document.get(SUM) != sum_of(document):
        raise FileError(
            f"'{file}' was edited or damaged: its SHA-256 differs from that of the bank that was "
            "saved. Restore a copy, or save the bank again."
        )
    return bank


def is_bank(path: str | os.PathLike[str]) -> bool:
    """Return True for a JSON file, and for a Parquet file whose metadata hold the key of a bank."""
    suffix = Path(path).suffix.lower()
    if suffix != ".parquet":
        return suffix == ".json"
    try:
        file = readable_file(path, most_bytes(None, MOST_BYTES))
        schema = from_data("parquet_files", "read_schema")(file)
    except FileError:
        return False
    return HEAD_KEY in (schema.metadata or {})


def calibration_from(document: Mapping[str, Any]) -> Calibration:
    """Return the bank that `document_of` gave; raise InputError if it is none."""
    try:
        return _calibration(document)
    except DAMAGED as error:
        raise InputError(f"This is not a calibration: {why_damaged(error)}") from error


def _calibration(document: Mapping[str, Any]) -> Calibration:
    items = document["items"]
    names = written_texts(items["item"], "items' names")
    if len(set(names)) != len(names) or not names:
        raise ValueError("item names must be there, and unique.")
    model = _model(document["model"])
    model.check(np.zeros((0, len(names))), names)
    coords = np.stack([_numbers(items[c.name], c.name, len(names)) for c in model.coordinates], 1)
    for c, column in zip(model.coordinates, coords.T, strict=True):
        low, high = max(c.low, -FARTHEST), min(c.high, FARTHEST)
        if not ((column >= low) & (column <= high)).all():
            raise ValueError(f"{c.name} lies outside [{low:g}, {high:g}].")
    flags = tuple(written_texts(words, "flags") for words in items["flags"])
    if len(flags) != len(names):
        raise ValueError("the columns of items have different lengths.")
    log_likelihood, replayed = document["log_likelihood"], document.get("replayed")
    if not isinstance(document["converged"], bool):
        raise ValueError(f"converged is {document['converged']!r:.40}, neither true nor false.")
    pooled = None
    if (rows := items.get("pooled")) is not None:
        if not isinstance(rows, list) or len(rows) != len(names):
            raise ValueError("the columns of items have different lengths.")
        pooled_coords = np.array([_numbers(row, "pooled", coords.shape[1]) for row in rows])
        if np.abs(pooled_coords).max(initial=0.0) > FARTHEST:
            raise ValueError("pooled items lie too far out.")
        pooled = PooledItems(
            pooled_coords,
            _covariances(items["pooled_covariance"], *coords.shape),
            _shared(items["pooled_shared"], *coords.shape),
        )
    return Calibration(
        model=model,
        item_names=names,
        coords=coords,
        uncertainty=KnownCovariances(
            _covariances(items["covariance"], *coords.shape),
            _shared(items.get("shared"), *coords.shape),
            pooled,
        ),
        population=_population(document["population"]),
        log_likelihood=math.nan
        if log_likelihood is None
        else written_number(log_likelihood, "log_likelihood"),
        n_respondents=written_number(document["n_respondents"], "n_respondents", low=0),
        dependence=written_number(document.get("dependence", 0.0), "dependence", low=0, high=1),
        iterations=int(written_number(document["iterations"], "iterations", low=0)),
        converged=document["converged"],
        engine=written_text(document["engine"], "engine"),
        fit_notes=written_texts(document["notes"], "notes"),
        flags=flags,
        replayed=None if replayed is None else real_error_from(replayed, names),
    )


def _covariances(rows: Any, n_items: int, width: int) -> Floats:
    flat = [_numbers(row, "covariance", width**2, LARGEST) for row in rows]
    if len(flat) != n_items:
        raise ValueError("the columns of items have different lengths.")
    found = np.array(flat).reshape(n_items, width, width)
    symmetric = np.allclose(found, np.swapaxes(found, 1, 2), rtol=1e-6, atol=1e-12)
    if not symmetric or (np.einsum("nii->ni", found) < 0).any():
        raise ValueError("a covariance is not symmetric, or a variance is negative.")
    lowest, highest = np.linalg.eigvalsh(found)[:, [0, -1]].T
    if (lowest < -ROUNDING * highest).any():
        raise ValueError("a covariance is not positive semi-definite.")
    return found


def _shared(rows: Any, n_items: int, width: int) -> Floats:
    """Return directions in which all items err together; banks of earlier formats have none."""
    if rows is None:
        return np.zeros((0, n_items, width))
    if not isinstance(rows, list) or len(rows) != n_items or not isinstance(rows[0], list):
        raise ValueError("the columns of items have different lengths.")
    if len(rows[0]) % width or len(rows[0]) > MOST_SHARED * width:
        raise ValueError(f"shared has {len(rows[0])} numbers for an item of {width}.")
    flat = np.array([_numbers(row, "shared", len(rows[0]), LARGEST) for row in rows])
    return np.moveaxis(flat.reshape(n_items, -1, width), 1, 0)


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


def _numbers(values: Any, name: str, n: int, most: float = LARGEST_FLOAT) -> Floats:
    if not isinstance(values, list) or len(values) != n:
        raise ValueError(f"{name} is not a list of {n} numbers.")
    found = np.array([written_number(value, name) for value in values])
    if not (np.abs(found) <= most).all():
        raise ValueError(f"{name} has values that are not finite numbers up to {most:g}.")
    return found


def _model(written: Mapping[str, Any]) -> MeasurementModel:
    name = written_text(written["name"], "the model's name")
    if name not in MODELS:
        raise ValueError(f"there is no model {name!r:.40} here.")
    model = MODELS[name]()
    known = {field.name for field in fields(model)} - {"coordinates"}  # type: ignore[arg-type]
    if set(written["options"]) - known:
        raise ValueError(f"the {model.name} model has no option {written['options']!r:.60}.")
    options = {key: _frozen(value) for key, value in written["options"].items()}
    if not type(model).coordinates:  # the options decide the coordinates
        options["coordinates"] = ()
    model = replace(model, **options)  # type: ignore[type-var]
    priors: dict[str, Prior | None] = {}
    for coordinate, prior in written["priors"].items():
        priors[coordinate] = None
        if prior is not None:
            ((family, numbers),) = prior.items()
            priors[coordinate] = PRIORS[family](**numbers)
    return with_priors(model, priors)


def _frozen(value: Any) -> Any:
    """Turn lists, in which JSON keeps tuples, into tuples again."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _read_parquet(file: Path, max_bytes: int) -> dict[str, Any]:
    schema = from_data("parquet_files", "read_schema")(file)
    head = (schema.metadata or {}).get(HEAD_KEY)
    if head is None:
        raise FileError(f"'{file}' is a Parquet file, but not a calibration that Ogive saved.")
    read_columns = from_data("parquet_files", "read_columns")
    table = read_columns(file, list(schema), max_bytes // PYTHON_PER_ARROW, nested=True)
    with from_data("parquet_files", "parquet_errors")(file):
        items = table.to_pydict()
    return {**checked_document(file, head, KIND, VERSION), "items": items}


def known_items(
    model: MeasurementModel, coords: Floats, items: Sequence[str] | None = None, **settings: Any
) -> Calibration:
    """Return items known exactly at `coords`, with a standard normal population.

    `settings` replace other fields of the calibration, such as `population` and `responses`.
    """
    n_items, width = coords.shape
    names = [f"item_{k + 1}" for k in range(n_items)] if items is None else items
    return Calibration(
        **{
            "model": model,
            "item_names": tuple(names),
            "coords": coords,
            "uncertainty": KnownCovariances(np.zeros((n_items, width, width))),
            "population": STANDARD,
            "log_likelihood": np.nan,  # nothing was fitted
            "n_respondents": 0.0,
            "iterations": 0,
            "converged": True,
            "engine": "em",
            **settings,
        }
    )


def join_banks(first: Calibration, second: Calibration) -> Calibration:
    """Return the items of `first`, then new ones of `second`; population and fit of `first`.

    Both must stand on one scale already. The bank keeps no responses and has no likelihood.
    """
    known = set(first.item_names)
    added = [k for k, name in enumerate(second.item_names) if name not in known]
    bank = replace(first, log_likelihood=np.nan, responses=None, encoded=None, weights=None)
    if not added:
        return bank
    shape = second.model.of_items(added)
    model = first.model.joined(len(first.item_names), shape, len(added))
    coords = [first.coords, second.coords[added]]
    errors = [first.uncertainty, errors_of_items(second.uncertainty, added)]
    covariances = [model.widened_covariances(part.covariances) for part in errors]
    pooled = None
    if any(part.pooled is not None for part in errors):
        parts = [pooled_items(part, own) for part, own in zip(errors, coords, strict=True)]
        pooled = PooledItems(
            np.concatenate([model.widened(part.coords) for part in parts]),
            np.concatenate([model.widened_covariances(part.covariances) for part in parts]),
            _block_diagonal(*(model.widened_shared(part.shared) for part in parts)),
        )
    return replace(
        bank,
        model=model,
        item_names=(*first.item_names, *(second.item_names[k] for k in added)),
        coords=np.concatenate([model.widened(part) for part in coords]),
        uncertainty=KnownCovariances(
            np.concatenate(covariances),
            _block_diagonal(*(model.widened_shared(part.shared) for part in errors)),
            pooled,
        ),
        converged=first.converged and second.converged,
        flags=(*first.flags, *(second.flags[k] for k in added)),
    )


def _block_diagonal(first: Floats, second: Floats) -> Floats:
    """Join directions of two banks; each direction leaves the items of the other bank alone."""
    return np.concatenate(
        [
            np.pad(first, ((0, 0), (0, second.shape[1]), (0, 0))),
            np.pad(second, ((0, 0), (first.shape[1], 0), (0, 0))),
        ]
    )
