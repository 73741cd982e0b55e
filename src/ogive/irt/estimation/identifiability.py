"""What a table cannot support: no common factor, flags of single items, notes on the whole.

Parallel analysis (Horn, 1965) by permutation: if items have nothing in common, each column may
be shuffled by itself. The largest eigenvalue of the correlations is compared with that of shuffled
tables, so that the test keeps its level with any number of respondents and items, any
distribution of scores, and any pattern of missing cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ogive.irt.estimation.engine import Fit
from ogive.irt.item_curves import (
    CONSTANT,
    FLAT,
    NEGATIVE,
    NEVER_ASKED,
    NOT_IDENTIFIED,
    SOLVED_BY_ALL,
    SOLVED_BY_NONE,
)
from ogive.irt.linkage import note_on_parts
from ogive.irt.models.base import MeasurementModel
from ogive.irt.models.categorical import Categorical
from ogive.irt.response_codes import Tally
from ogive.irt.response_matrix import is_scanned
from ogive.results.numbers import counted, listed
from ogive.stats.array_backend import Floats

if TYPE_CHECKING:
    from ogive.data.responses import Responses
    from ogive.data.scan import ScannedResponses

LEAST_RESPONDENTS = 10  # fewest respondents whose scores can show a common factor
ALPHA = 0.05
N_SHUFFLES = 199
MAX_EXCEEDANCES = 10  # shuffled tables with a larger eigenvalue after which shuffling stops
MAX_ROWS_READ = 2_000  # rows of a table that are looked at
MAX_ROWS, MAX_COLUMNS = 500, 300  # size of a table that is shuffled
POWER_ITERATIONS = 15
CLEARLY_COMMON = 2.0  # multiple of the largest eigenvalue of noise that needs no shuffling
FEW_RESPONDENTS = 30  # respondents below which a note warns of imprecise item parameters

Flags = tuple[tuple[str, ...], ...]  # of each item; most have none

UNSEEN = "grade never seen"
AT_BOUND = "at bound"
NO_NOISE = f"noise {AT_BOUND}"
UNDETERMINED = "undetermined"
MEANINGS = {
    NEVER_ASKED: (
        "never asked",
        "without responses, the position means nothing.",
    ),
    SOLVED_BY_ALL: (
        "solved by all",
        "easier than the table can show, so the difficulty is nominal.",
    ),
    SOLVED_BY_NONE: (
        "solved by none",
        "harder than the table can show, so the difficulty is nominal.",
    ),
    CONSTANT: (
        "with the same response from all",
        "no information on ability, so the parameters are nominal.",
    ),
    UNSEEN: (
        "with a grade that nobody got",
        "its probability is small and depends on the prior, or lies at a bound.",
    ),
    NEGATIVE: (
        "with negative discrimination",
        (
            "better respondents did worse; chance may explain those that item_health() does not "
            "call significant."
        ),
    ),
    FLAT: (
        "without discrimination",
        "responses ignore ability; shown with the least slope, so the difficulty is nominal.",
    ),
    NO_NOISE: (
        "without noise, a Heywood case",
        "ability follows this alone, and its errors mean nothing; default priors prevent that.",
    ),
    UNDETERMINED: (
        "of which the responses leave a parameter undetermined",
        "quite different values fit as well; use priors or a model with fewer parameters.",
    ),
    AT_BOUND: (
        "with a parameter at its bound",
        "the estimate stopped there; it has no standard error.",
    ),
}


@dataclass(frozen=True)
class CommonFactor:
    """Whether scores share a factor, and the sentence that says so if they do not."""

    found: bool
    note: str = ""


def common_factor(
    table: Responses, model: MeasurementModel, weights: Floats | None = None
) -> CommonFactor:
    """Test whether the scores of a table, as `model` reads them, identify an ability."""
    total = table.n_respondents if weights is None else float(weights.sum())
    if total < LEAST_RESPONDENTS:
        return CommonFactor(
            found=False,
            note=f"{NOT_IDENTIFIED}: fewer than {LEAST_RESPONDENTS} respondents cannot "
            "tell what scores have in common from chance. Rely on the scores themselves.",
        )
    cells = table.cells if weights is None else table.cells[weights > 0]
    cells = cells[:: -(-len(cells) // MAX_ROWS_READ)]
    z, asked = _standardized(np.asarray(model.read(cells), dtype=float))
    if z.shape[1] < 2:
        return CommonFactor(found=True)  # another note covers tables of one item
    p_value = parallel_analysis(z, asked)
    if p_value <= ALPHA:
        return CommonFactor(found=True)
    return CommonFactor(
        found=False,
        note=f"{NOT_IDENTIFIED}: the items have no more in common than chance would give "
        f"(p = {p_value:.2g}, by shuffling each item). Rely on the scores themselves.",
    )


def parallel_analysis(z: Floats, asked: np.ndarray) -> float:
    """Return how often shuffled columns have a largest eigenvalue as large as that of `z`.

    Columns are standardized, and 0 where a cell is missing.
    """
    n, m = z.shape
    if _largest_eigenvalue(z) > CLEARLY_COMMON * (1 + np.sqrt(m / n)) ** 2:
        return 0.0
    z = z[:: -(-n // MAX_ROWS), :: -(-m // MAX_COLUMNS)]
    asked = asked[:: -(-n // MAX_ROWS), :: -(-m // MAX_COLUMNS)]
    observed, random = _largest_eigenvalue(z), np.random.default_rng(0)
    exceeding = 0
    for count in range(1, N_SHUFFLES + 1):
        exceeding += _largest_eigenvalue(_shuffled(z, asked, random)) >= observed
        if exceeding >= MAX_EXCEEDANCES:
            return (1 + exceeding) / (1 + count)
    return (1 + exceeding) / (1 + N_SHUFFLES)


def _standardized(z: Floats) -> tuple[Floats, np.ndarray]:
    """Return columns with mean 0 and sd 1 over observed cells, without constant columns."""
    asked = ~np.isnan(z)
    count = np.maximum(asked.sum(axis=0), 1)
    centred = np.where(asked, z - np.where(asked, z, 0.0).sum(axis=0) / count, 0.0)
    sd = np.sqrt((centred**2).sum(axis=0) / count)
    varied = sd > 1e-9 * (1 + np.abs(np.where(asked, z, 0.0)).max(axis=0, initial=0.0))
    return centred[:, varied] / sd[varied], asked[:, varied]


def _largest_eigenvalue(z: Floats) -> float:
    """Return the largest eigenvalue of the correlations, by power iteration."""
    direction: Floats = np.random.default_rng(0).standard_normal((z.shape[1],))
    size = 0.0
    for _ in range(POWER_ITERATIONS):
        component = z @ (direction / max(float(np.linalg.norm(direction)), 1e-300))
        size = float(component @ component)
        direction = component @ z
    return size / len(z)


def _shuffled(z: Floats, asked: np.ndarray, random: np.random.Generator) -> Floats:
    """Return `z` with each column permuted over its observed cells."""
    if asked.all():
        return random.permuted(z, axis=0)
    shuffled = np.zeros_like(z)
    for k in range(z.shape[1]):
        rows = asked[:, k]
        shuffled[rows, k] = random.permutation(z[rows, k])
    return shuffled


def item_flags(
    table: Responses, model: MeasurementModel, fit: Fit, weights: Floats | None
) -> Flags:
    """Return what a reader should know of single items, in words."""
    all_count = weights is None or (weights > 0).all()
    tally = table.tally if weights is None or all_count else Tally.of(table.cells[weights > 0])
    never = tally.asked == 0
    if table.kind == "binary":  # cells of repeated answers are shares
        masks = {
            NEVER_ASKED: never,
            SOLVED_BY_ALL: (tally.lowest >= 1) & ~never,
            SOLVED_BY_NONE: (tally.highest <= 0) & ~never,
        }
    else:
        masks = {NEVER_ASKED: never, CONSTANT: tally.lowest == tally.highest}
    varied = ~np.logical_or.reduce(list(masks.values()))
    if isinstance(model, Categorical) and model.n_categories > 2:
        assert tally.counts is not None  # noqa: S101 - grades are codes
        n_seen = (tally.counts > 0).sum(axis=1)
        masks[UNSEEN] = varied & (n_seen < model.counts(len(tally.counts)))
    masks[NEGATIVE] = varied & (model.parameters(fit.coords)["discrimination"] < 0)
    masks[FLAT] = varied & model.flat(fit.coords)
    if fit.undetermined is not None:
        masks[UNDETERMINED] = varied & fit.undetermined
    at_bound = model.at_bound(fit.coords) & ~model.absent(fit.coords)
    # A constant score has no noise, which is no news.
    at_bound = at_bound & (varied | (table.kind != "continuous"))[:, None]
    for coordinate, column in zip(model.coordinates, at_bound.T, strict=True):
        masks[f"{coordinate.name} {AT_BOUND}"] = column & (not coordinate.shared)
    return tuple(
        tuple(name for name, mask in masks.items() if mask[k]) for k in range(table.n_items)
    )


def flag_notes(table: Responses, flags: Flags) -> list[str]:
    """Return one sentence for each kind of flag."""
    notes = []
    for kind, (words, meaning) in MEANINGS.items():
        names = [
            item
            for item, names in zip(table.items, flags, strict=True)
            if any(_is_kind(name, kind) for name in names)
        ]
        if names:
            notes.append(f"{listed(names, 'item')} {words}: {meaning}")
    return notes


def _is_kind(flag: str, kind: str) -> bool:
    """Return True if a flag is of a kind; flags at a bound share one unless they have their own."""
    return flag == kind or (kind == AT_BOUND and flag.endswith(kind) and flag not in MEANINGS)


def table_notes(
    table: Responses | ScannedResponses,
    model: MeasurementModel,
    weights: Floats | None,
    held: np.ndarray | None = None,
) -> list[str]:
    """Return what the table as a whole cannot support; `held` are items on the scale of a bank."""
    scanned = is_scanned(table)
    sample = table.sample(MAX_ROWS_READ) if is_scanned(table) else table
    notes = [] if scanned else model.remarks(sample.cells)
    if model.kind == "continuous":
        note = common_factor(sample, model, None if scanned else weights).note
        notes = [*notes, note] if note else notes
    total = table.n_respondents if weights is None else float(weights.sum())
    if total < FEW_RESPONDENTS:
        respondents = counted(table.n_respondents, "respondent")
        worth = "" if weights is None else f", by their weights worth {total:g}"
        has_priors = any(c.prior is not None for c in model.coordinates)
        rest = "depend mostly on their priors" if has_priors else "are poorly determined"
        notes.append(
            f"Only {respondents}{worth}: item parameters {rest}. Read them with their standard "
            "errors."
        )
    if table.n_items == 1:
        notes.append(
            "Only one item: its discrimination cannot be distinguished from its difficulty."
        )
    if is_scanned(table):
        n_empty = table.opened.seen.n_empty
        empty = counted(n_empty, "respondent")
        return [*notes, f"{empty} without any response: placed at the mean."] if n_empty else notes
    if table.tally.unasked.size:
        names = [table.respondents[k] for k in table.tally.unasked]
        notes.append(f"{listed(names, 'respondent')} without any response: placed at the mean.")
    return [*notes, *note_on_parts(table, held)]
