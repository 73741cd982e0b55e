"""Responses as a calibration reads them: its own or new ones, in the order of its items."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ogive.errors import InputError
from ogive.models import MeasurementModel
from ogive.responses import Responses, Table, as_responses
from ogive.responses.encoding import Encoded, effective_tries, encode
from ogive.responses.repeated_answers import tries_in_words
from ogive.responses.scanned_responses import ScannedResponses
from ogive.scoring.averaged_errors import averages

# Bytes. The encoding of a table is no larger than the table itself, and that of categories is the
# same memory; the encoding of a larger table is not kept.
MOST_KEPT = 1 << 28


class EncodedResponses:
    """Where a calibration finds responses, and how it reads them."""

    model: MeasurementModel
    item_names: tuple[str, ...]
    responses: Responses | None
    scanned: ScannedResponses | None  # in their place, if they are read in blocks
    encoded: Encoded | None  # its own responses where the engine has them, if that is a device
    fitted_by: Any
    dependence: float

    def _table(self, responses: Table | None) -> Responses:
        """The responses, these or the calibration's own."""
        table = self._own_responses() if responses is None else responses
        return as_responses(table, self.model.kind)

    def _own_responses(self) -> Responses:
        if self.scanned is not None:
            raise InputError(
                "This needs all responses at once, but scanned ones are read in blocks. Give a "
                "part of them, as in cal.true_scores(scanned.sample(10_000))."
            )
        if self.responses is None:
            raise InputError(
                "This calibration holds items, not responses: it was loaded from a file. "
                "Give the responses, as in cal.score(responses)."
            )
        return self.responses

    def _encode(self, responses: Responses) -> Encoded:
        """Responses as engines read them; the own ones are encoded once, unless they are huge."""
        kept = responses is self.responses and responses.cells.nbytes <= MOST_KEPT
        return self._own_encoding if kept else self._encoded(responses)

    @cached_property
    def _own_encoding(self) -> Encoded:
        found = self._encoded(self._own_responses())
        found.cells.setflags(write=False)  # it is shared by all who ask
        return found

    def _to_score(self, responses: Responses) -> Encoded:
        """The same where abilities are computed: many respondents on the engine's device."""
        device = getattr(self.fitted_by, "device", None)
        if device is None or not averages(self.model, responses.n_respondents, responses.tries):
            return self._encode(responses)
        if responses is self.responses and self.encoded is not None:
            return self.encoded
        return self._encoded(responses, device)

    def _encoded(self, responses: Responses, device: str | None = None) -> Encoded:
        cells = self.placed(responses)
        self.model.check(cells, self.item_names)
        tries = self.placed_tries(responses)
        if tries is not None:
            tries = effective_tries(tries, self.dependence)
        return encode(cells, self.model, device=device, collapsing=False, tries=tries)

    def cells(self, responses: Table | None = None) -> np.ndarray:
        """Responses, these or its own, as engines read them: items in the order of this bank."""
        table = self._table(responses)
        if table.tries is not None and self.model.kind == "binary":
            raise InputError(
                "This needs one answer per cell, but the responses have "
                f"{tries_in_words(table.tries)}. Give single answers: a table with one for each "
                "respondent and item, or logs that were read with epochs='first'."
            )
        return np.asarray(self._encode(table).cells)

    def placed(self, responses: Responses) -> np.ndarray:
        """Responses in the order of this bank; items that were not asked stay empty."""
        never = np.nan if responses.cells.dtype.kind == "f" else -1
        return self._in_order(responses.cells, responses, never)

    def placed_tries(self, responses: Responses) -> np.ndarray | None:
        """The tries behind `placed`; None if there is one everywhere."""
        tries = responses.tries
        return None if tries is None else self._in_order(tries, responses, 0)

    def _in_order(self, table: np.ndarray, responses: Responses, never: float) -> np.ndarray:
        """A table beside the items of `responses`, in the order of this bank."""
        if responses.items == self.item_names:
            return table
        place = {name: k for k, name in enumerate(self.item_names)}
        unknown = [name for name in responses.items if name not in place]
        if unknown:
            raise InputError(
                f"{len(unknown)} of {responses.n_items} items are not in this calibration, "
                f"for example {unknown[0]!r}. Leave them out with responses.select(items=[...]); "
                "items are known by name."
            )
        shape = responses.n_respondents, len(self.item_names)
        cells = np.full(shape, never, dtype=table.dtype)
        cells[:, [place[name] for name in responses.items]] = table
        return cells
