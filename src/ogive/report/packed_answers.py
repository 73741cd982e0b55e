"""Responses as a page holds them: the strongest respondent first, item by item, packed."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.diagnostics.reached_accuracy import LEAST
from ogive.report.sections import DIGITS, rounded
from ogive.responses.artificial_respondents import without_marks

if TYPE_CHECKING:
    from ogive.calibration import Calibration
    from ogive.responses import Responses


def answers_of(calibration: Calibration, responses: Responses, most_bytes: int) -> dict[str, Any]:
    """Return the respondents, the strongest first, and their responses item by item."""
    given, (responses, _) = responses, without_marks(responses)
    abilities = calibration.score(responses)
    order = np.argsort(-abilities["ability"].to_numpy(), kind="stable")
    cells = calibration.placed(responses)
    single = responses.kind == "binary" and cells.dtype.kind == "i"  # not the share of many tries
    levels = None if single else np.unique(cells[_asked(cells)])
    most = max(2, most_bytes // max(1, cells.shape[1] * _code_of(levels).itemsize))
    if len(order) > most:
        order = order[np.linspace(0, len(order) - 1, most).round().astype(int)]
    ranked = abilities.iloc[order]
    content: dict[str, Any] = {
        "respondents": [str(name) for name in ranked.index],
        "ability": rounded(ranked["ability"], DIGITS),  # rounded once more where it is shown
        "se": rounded(ranked["se"], DIGITS),
        "left_out": len(abilities) - len(order),
        "placed": calibration.responses is not given or len(abilities) >= LEAST,
    }
    by_item = cells[order].T  # one item is read at a time
    return content | (_bits(by_item) if levels is None else _values(by_item, levels))


def _asked(cells: np.ndarray) -> np.ndarray:
    return np.isfinite(cells) if cells.dtype.kind == "f" else cells >= 0


def _bits(cells: np.ndarray) -> dict[str, Any]:
    never = cells < 0
    return {
        "kind": "bits",
        "right": packed(np.packbits(cells == 1, axis=1)),
        "never": packed(np.packbits(never, axis=1)) if never.any() else None,
    }


def _code_of(levels: np.ndarray | None) -> np.dtype[Any]:
    """The smallest type that names every distinct response and "never asked", or floats."""
    n_codes = 2 if levels is None else len(levels) + 1
    small = next((kind for kind in ("<u1", "<u2") if n_codes - 1 <= np.iinfo(kind).max), "<f4")
    return np.dtype(small)


def _values(cells: np.ndarray, levels: np.ndarray) -> dict[str, Any]:
    """Return grades and scores as they were given: the place of each among the distinct ones.

    Where these are too many to number, responses are floats of single precision. The highest code,
    or NaN, is "never asked".
    """
    code, asked = _code_of(levels), _asked(cells)
    if code.kind == "f":
        return {"kind": "floats", "values": packed(np.where(asked, cells, np.nan).astype(code))}
    places = np.where(asked, np.searchsorted(levels, cells), np.iinfo(code).max)
    found = {"kind": "levels", "values": packed(places.astype(code)), "bytes": code.itemsize}
    return found | {"levels": levels.tolist()}


def packed(array: np.ndarray) -> str:
    """Return the bytes of an array as text."""
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
