"""Respondents on the scale of a calibration: abilities, scores and differences, with their errors.

Errors count the items: they were estimated, too, and so were the origin and the unit of their
scale. With few respondents that is the larger part of the uncertainty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ogive._validation import CONFIDENCE, whole_number
from ogive.errors import InputError
from ogive.irt.abilities import Abilities, score_abilities
from ogive.irt.ability_covariance import (
    AbilityComparison,
    AbilityCovariance,
    ability_covariance,
    compare_abilities,
)
from ogive.irt.encoded_responses import Encoded, effective_tries, encode
from ogive.irt.expected_scores import (
    Respondents,
    ScoreSums,
    completed_errors,
    completed_means,
    expected_sums,
    sum_errors,
    total_scores,
    true_scores,
)
from ogive.irt.item_covariances import Uncertainty, known, pooled_items
from ogive.irt.linkage import HELD, parts_of
from ogive.irt.models.base import MeasurementModel
from ogive.irt.quadrature import Population
from ogive.irt.repeated_responses import tries_in_words
from ogive.irt.response_codes import as_floats
from ogive.irt.response_matrix import as_responses, from_data, is_scanned
from ogive.irt.score_errors import ItemErrors, averages
from ogive.results.base import table
from ogive.stats.array_backend import Floats
from ogive.stats.linked_parts import Parts
from ogive.stats.multiplicity import Correction

if TYPE_CHECKING:
    import pandas as pd

    from ogive._files import PathLike
    from ogive.data.responses import Responses, Table
    from ogive.data.scan import ScannedResponses
    from ogive.irt.models.categorical import Categorical

MOST_KEPT = 1 << 28  # bytes of the largest table whose encoding is kept


class ScoredRespondents:
    """Abilities and scores that a calibration gives its own respondents, or new ones."""

    model: MeasurementModel
    item_names: tuple[str, ...]
    coords: Floats
    uncertainty: Uncertainty
    population: Population
    flags: tuple[tuple[str, ...], ...]
    responses: Responses | None
    scanned: ScannedResponses | None  # in their place, if they are read in blocks
    encoded: Encoded | None  # its own responses on the engine's device, if it has one
    fitted_by: Any
    dependence: float

    def abilities(self, method: str = "eap", *, items_known: bool = False) -> pd.DataFrame:
        """Return ability of each respondent of the calibration, with its standard error.

        `method` is "eap", "map", "ml" or "wle". `at_bound` marks respondents for whom no finite
        estimate exists (all right, all wrong, nothing asked): they stand at the end of the scale,
        or at the mean where they have no responses.

        Origin and unit of the scale are the mean and the standard deviation of the population
        that the respondents were drawn from. The standard error says how far an ability may lie
        from the truth on that scale: it counts the responses, the estimated items, and that a few
        respondents fix neither origin nor unit. With `items_known=True` it counts the responses
        alone, as is usual where items come from a large bank. `attrs["scale"]` of the frame says
        which of the two it is. Parts of the table that no item links have each a scale of their
        own, and a column `part` says which. To compare respondents, use `compare`: they share the
        items.

        >>> import ogive as og
        >>> cal = og.calibrate(og.simulate("2pl", 40, 100, random_state=0).responses, "2pl")
        >>> known = cal.abilities(items_known=True)["se"]
        >>> bool((cal.abilities()["se"] > known).all())
        True
        """
        own = self.scanned if self.scanned is not None else self._own_responses()
        return self.score(own, method, items_known=items_known)

    def write_abilities(
        self,
        path: PathLike,
        responses: Table | ScannedResponses | None = None,
        method: str = "eap",
        *,
        items_known: bool = False,
    ) -> Path:
        """Write abilities to a Parquet file, respondents of scanned responses as they are read.

        Without `responses`, those of the calibration. Columns are respondent and those of
        `abilities`. The file is whole or not there. After a calibration on a cluster, a `path`
        without an ending is a folder, to which workers write one file for each file they read.
        """
        given = self.scanned if responses is None and self.scanned is not None else responses
        scanned = is_scanned(given)
        client = getattr(self.fitted_by, "client", None)
        if client is not None and scanned and not Path(path).suffix:
            # Workers need the bank alone, without what it was fitted to.
            left = dict.fromkeys(("responses", "scanned", "encoded", "weights", "fitted_by"))
            bank = replace(cast("Any", self), uncertainty=known(self.uncertainty), **left)
            write = from_data("ability_files", "write_partitions")
            folder: Path = write(path, given, client, bank, method, items_known=items_known)
            return folder
        written: Path = from_data("ability_files", "write_scores")(
            path,
            given if scanned else self._table(cast("Table | None", given)),
            lambda block: self.score(block, method, items_known=items_known),
        )
        return written

    def score(
        self, responses: Table | ScannedResponses, method: str = "eap", *, items_known: bool = False
    ) -> pd.DataFrame:
        """Return ability of respondents who answered some items of this bank, known by item name.

        Columns and errors as in `abilities`.
        """
        if is_scanned(responses):
            frame: pd.DataFrame = from_data("ability_files", "scored_frame")(
                responses.of_kind(self.model.kind),
                lambda block: self.score(block, method, items_known=items_known),
            )
            return frame
        observed = as_responses(responses, self.model.kind)
        found = self._scored(observed, method)
        se = found.se if items_known else self._covariance(observed, method).se
        columns = {"ability": found.ability.copy(), "se": se.copy(), "at_bound": found.at_bound}
        if (part := self.part_of(observed)).any():
            columns["part"] = part + 1
        return self._on_scale(columns, observed.respondent_index, items_known=items_known)

    def ability_covariance(
        self,
        responses: Table | None = None,
        method: str = "eap",
        *,
        items_known: bool = False,
    ) -> AbilityCovariance:
        """Return the joint covariance of abilities, of which differences and ranks are made.

        It is kept as a diagonal and a few shared directions, so that it also serves many
        thousands of respondents; `difference_se` gives the errors of any pairs by position.

        >>> import ogive as og
        >>> cal = og.calibrate(og.simulate("2pl", 40, 100, random_state=0).responses, "2pl")
        >>> cal.ability_covariance().dense().shape
        (40, 40)
        """
        observed = self._table(responses)
        found = self._covariance(observed, method, items_known=items_known)
        return replace(found, respondents=observed.respondents)

    def compare(
        self,
        a: str | Sequence[str] | None = None,
        b: str | Sequence[str] | None = None,
        responses: Table | None = None,
        method: str = "eap",
        *,
        confidence: float = CONFIDENCE,
        correction: Correction = "holm",
        items_known: bool = False,
    ) -> AbilityComparison:
        """Return differences of abilities: `a` minus `b`, two names of respondents or several.

        Without `b`, each of `a` is compared with all others; without both, all with all. The
        error is that of the difference itself: both respondents rest on the same items and the
        same scale, whose errors cancel in part. Of two whom no item
        links, nothing is known (NaN). `p` tests each pair alone, `p_adjusted` counts
        all of them by `correction`, and `p_above` is the probability that `a` stands above `b`.

        >>> import ogive as og
        >>> cal = og.calibrate(og.simulate("2pl", 40, 100, random_state=0).responses, "2pl")
        >>> cal.compare("respondent_1", "respondent_2").difference.shape
        (1,)
        """
        covariance = self.ability_covariance(responses, method, items_known=items_known)
        scale = self._errors_sentence(items_known=items_known)
        part = self.part_of(self._table(responses))
        return compare_abilities(covariance, a, b, confidence, correction, scale, part)

    def draw_abilities(
        self,
        n_resamples: int = 1_000,
        responses: Table | None = None,
        *,
        items_known: bool = False,
        random_state: int = 0,
    ) -> pd.DataFrame:
        """Return plausible values: draws of all abilities together, respondents × draws.

        Whatever is computed of each column, a rank or a correlation, spreads over the columns as
        far as it is unknown. Errors as in `abilities`.

        >>> import ogive as og
        >>> cal = og.calibrate(og.simulate("2pl", 40, 100, random_state=0).responses, "2pl")
        >>> cal.draw_abilities(200).rank().std(axis=1).round(1).max()
        np.float64(5.3)
        """
        n = whole_number(n_resamples, "n_resamples", least=1)
        observed = self._table(responses)
        covariance = self._covariance(observed, "eap", items_known=items_known)
        drawn = covariance.draw(n, np.random.default_rng(random_state))
        return self._on_scale(drawn, observed.respondent_index, items_known=items_known)

    def true_scores(
        self,
        responses: Table | None = None,
        method: str = "eap",
        *,
        keep_negative: bool = True,
        items_known: bool = False,
    ) -> pd.DataFrame:
        """Return expected sum of responses to all items (binary: number right, Σ P), and its mean.

        With `keep_negative=False`, items of negative discrimination are left out of the sum.
        Errors count the items, unless `items_known`; the scale cancels from a sum.
        """
        observed, keep = self._table(responses), self._kept(keep_negative=keep_negative)
        if self._averages_errors(observed):
            many = self._respondents(observed, method, items_known=items_known)
            return _sums_frame("true_score", many.true_scores(keep), observed)
        found = self._scored(observed, method)
        sums = true_scores(self.model.of_items(keep), self.coords[keep], found.ability, found.se)
        counted = np.zeros(len(self.item_names))
        counted[keep] = 1.0
        sums = sums if items_known else self._with_item_errors(sums, observed, method, counted)
        return _sums_frame("true_score", sums, observed)

    def total_scores(
        self,
        responses: Table | None = None,
        method: str = "eap",
        *,
        keep_negative: bool = True,
        items_known: bool = False,
    ) -> pd.DataFrame:
        """Return Σ P over right responses minus Σ (1 - P) over wrong ones, and its mean over items.

        Responses other than right and wrong count with their place between worst and best. With
        `keep_negative=False`, items of negative discrimination are left out of the sum. Errors
        count the items, unless `items_known`.
        """
        observed, keep = self._table(responses), self._kept(keep_negative=keep_negative)
        if self._averages_errors(observed):
            many = self._respondents(observed, method, items_known=items_known)
            return _sums_frame("total_score", many.total_scores(keep), observed)
        found = self._scored(observed, method)
        placed, model = self.placed(observed), self.model.of_items(keep)
        sums = total_scores(placed[:, keep], model, self.coords[keep], found.ability, found.se)
        if not items_known:
            low, high = (np.asarray(end, dtype=float) for end in self.model.extent())
            counted = ~np.isnan(as_floats(placed)) / (high - low)
            counted[:, np.setdiff1d(np.arange(len(self.item_names)), keep)] = 0.0
            sums = self._with_item_errors(sums, observed, method, counted)
        return _sums_frame("total_score", sums, observed)

    def completed_scores(
        self, responses: Table | None = None, *, items_known: bool = False
    ) -> pd.DataFrame:
        """Return mean response over all items (binary: accuracy), if some were not asked.

        Responses count as they are, items that were not asked with what the ability makes them
        expect. `score_se` holds what is not known of both, and of the items unless `items_known`;
        `asked` counts the items.
        """
        observed = self._table(responses)
        if self._averages_errors(observed):
            found = self._respondents(observed, "eap", items_known=items_known).completed()
        else:
            data, placed = self._encode(observed), self.placed(observed)
            found = completed_means(data, placed, self.model, self.coords, self.population)
            errors = None if items_known else self._item_errors
            if errors is not None:
                given = data, placed, self.model, self.population, found.mean, errors
                found = replace(found, se=completed_errors(*given))
        asked = found.asked.astype(int)
        columns = {"score": found.mean, "score_se": found.se, "asked": asked}
        return table(columns, observed.respondent_index)

    def cells(self, responses: Table | None = None) -> np.ndarray:
        """Return responses, these or its own, as engines read them, items in the bank's order."""
        observed = self._table(responses)
        if observed.tries is not None and self.model.kind == "binary":
            raise InputError(
                "This needs one answer per cell, but the responses have "
                f"{tries_in_words(observed.tries)}. Give single answers: a table with one for each "
                "respondent and item, or logs that were read with epochs='first'."
            )
        return np.asarray(self._encode(observed).cells)

    def placed(self, responses: Responses) -> np.ndarray:
        """Return cells in the order of this bank; items that were not asked stay empty."""
        never = np.nan if responses.cells.dtype.kind == "f" else -1
        return self._in_order(responses.cells, responses, never)

    def placed_tries(self, responses: Responses) -> np.ndarray | None:
        """Return the tries behind `placed`; None if there is one everywhere."""
        tries = responses.tries
        return None if tries is None else self._in_order(tries, responses, 0)

    @cached_property
    def parts(self) -> tuple[Parts, Parts]:
        """The linked part of each own respondent and of each item; 0 where the table is linked."""
        if self.responses is None:
            return np.zeros(0, dtype=np.intp), np.zeros(len(self.item_names), dtype=np.intp)
        return parts_of(self.responses, np.array([HELD in words for words in self.flags]))

    def part_of(self, responses: Responses) -> Parts:
        """Return the part of each respondent: that of the items it was asked."""
        own, items = self.parts
        if responses is self.responses:
            return own
        if not items.any():
            return np.zeros(responses.n_respondents, dtype=np.intp)
        place = {name: k for k, name in enumerate(self.item_names)}
        first = np.argmax(responses.observed, axis=1)
        return items[[place[responses.items[k]] for k in first]]

    @cached_property
    def own_eap(self) -> Abilities:
        """EAP of the own respondents; frames that are handed out hold copies of it."""
        data = self._to_score(self._own_responses())
        return score_abilities(data, self.model, self.coords, self.population, "eap")

    def _table(self, responses: Table | None) -> Responses:
        """Return the responses, these or the calibration's own."""
        given = self._own_responses() if responses is None else responses
        return as_responses(given, self.model.kind)

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

    def _in_order(self, cells: np.ndarray, responses: Responses, never: float) -> np.ndarray:
        """Return columns for the items of `responses` in the order of this bank."""
        if responses.items == self.item_names:
            return cells
        place = {name: k for k, name in enumerate(self.item_names)}
        unknown = [name for name in responses.items if name not in place]
        if unknown:
            raise InputError(
                f"{len(unknown)} of {responses.n_items} items are not in this calibration, "
                f"for example {unknown[0]!r}. Leave them out with responses.select(items=[...]); "
                "items are known by name."
            )
        shape = responses.n_respondents, len(self.item_names)
        ordered = np.full(shape, never, dtype=cells.dtype)
        ordered[:, [place[name] for name in responses.items]] = cells
        return ordered

    def _encode(self, responses: Responses, device: str | None = None) -> Encoded:
        """Encode responses on the CPU or a device; the own ones once, unless they are huge."""
        own = device is None and responses is self.responses
        if own and responses.cells.nbytes <= MOST_KEPT:
            return self._own_encoding
        return self._encoded(responses, device)

    @cached_property
    def _own_encoding(self) -> Encoded:
        found = self._encoded(self._own_responses())
        found.cells.setflags(write=False)  # all callers share it
        return found

    def _encoded(self, responses: Responses, device: str | None = None) -> Encoded:
        cells = self.placed(responses)
        self.model.check(cells, self.item_names)
        tries = self.placed_tries(responses)
        if tries is not None:
            tries = effective_tries(tries, self.dependence)
        return encode(cells, self.model, device=device, collapsing=False, tries=tries)

    def _to_score(self, responses: Responses) -> Encoded:
        """Encode responses where abilities are computed: many of them on the engine's device."""
        device = getattr(self.fitted_by, "device", None)
        if device is None or not self._averages_errors(responses):
            return self._encode(responses)
        if responses is self.responses and self.encoded is not None:
            return self.encoded
        return self._encode(responses, device)

    def _averages_errors(self, responses: Responses) -> bool:
        """Return True if errors of items are averaged over the answers of many respondents."""
        return averages(self.model, responses.n_respondents, responses.tries)

    def _respondents(self, responses: Responses, method: str, *, items_known: bool) -> Respondents:
        return Respondents(
            self._to_score(responses),
            self.placed(responses),
            cast("Categorical", self.model),  # see `averages`
            self.coords,
            self.population,
            method,
            self._scored(responses, method),
            None if items_known else self._item_errors,
        )

    def _scored(self, responses: Responses, method: str) -> Abilities:
        if responses is self.responses and method == "eap":
            return self.own_eap
        data = self._to_score(responses)
        return score_abilities(data, self.model, self.coords, self.population, method)

    @cached_property
    def _item_errors(self) -> ItemErrors | None:
        """Errors of the items; None if they are known exactly."""
        items = pooled_items(self.uncertainty, self.coords)
        if not items.covariances.any():
            return None
        return ItemErrors.of(items.coords, items.covariances, items.shared)

    def _on_scale(self, columns: Any, names: pd.Index, *, items_known: bool) -> pd.DataFrame:
        """Return a frame with one row per respondent, which says on which scale it is."""
        frame = table(columns, names)
        frame.attrs["scale"] = self._errors_sentence(items_known=items_known)
        return frame

    def _errors_sentence(self, *, items_known: bool) -> str:
        """Say which scale abilities stand on, and what their standard errors count."""
        if items_known:
            return "Standard errors take the items and their scale as known."
        if not len(self.uncertainty.shared):
            return (
                "Standard errors count the items. The scale itself is taken as known: it is that "
                "of the items as they were given or fitted."
            )
        return (
            "Standard errors count the items and the scale: its origin and unit are the mean and "
            "the standard deviation of the population that the calibrated respondents come from."
        )

    def _covariance(
        self, responses: Responses, method: str, *, items_known: bool = False
    ) -> AbilityCovariance:
        """Return the joint covariance of abilities, without names; of own ones it is kept."""
        if responses is self.responses and method == "eap" and not items_known:
            return self._own_covariance
        errors = None if items_known else self._item_errors
        return self._covariance_with(errors, responses, method)

    @cached_property
    def _own_covariance(self) -> AbilityCovariance:
        return self._covariance_with(self._item_errors, self._own_responses(), "eap")

    def _covariance_with(
        self, errors: ItemErrors | None, responses: Responses, method: str
    ) -> AbilityCovariance:
        return ability_covariance(
            self._to_score(responses),
            self.model,
            self.coords,
            self.population,
            method,
            self._scored(responses, method),
            errors,
        )

    def _with_item_errors(
        self, sums: ScoreSums, responses: Responses, method: str, counted: Floats
    ) -> ScoreSums:
        """Return sums of `counted` items, with errors that count the items."""
        errors = self._item_errors
        if errors is None:
            return sums
        at = expected_sums(self.model, self.coords, self._scored(responses, method), counted)
        data = self._encode(responses)
        se = sum_errors(data, self.model, self.population, method, at, errors, counted)
        return ScoreSums(sums.total, se, sums.n_items)

    def _kept(self, *, keep_negative: bool) -> np.ndarray:
        """Return positions of the items that count; negative ones only if they are wanted."""
        slope = self.model.parameters(self.coords)["discrimination"]
        keep = np.arange(slope.size) if keep_negative else np.flatnonzero(slope >= 0)
        if keep.size == 0:
            raise InputError(
                "All items discriminate negatively, so none is left to score. "
                "Use keep_negative=True."
            )
        return keep


def _sums_frame(name: str, sums: ScoreSums, responses: Responses) -> pd.DataFrame:
    """Return a score, its mean over items, and the standard errors of both."""
    per_item = np.where(sums.n_items > 0, sums.n_items, 1.0)
    columns = {
        name: sums.total,
        f"{name}_se": sums.se,
        f"{name}_mean": sums.total / per_item,
        f"{name}_mean_se": sums.se / per_item,
    }
    return table(columns, responses.respondent_index)
