"""Which items of a table a bank knows, and the model that explains these and the new ones."""

from __future__ import annotations

import numpy as np

from itemwise.calibration import Calibration
from itemwise.errors import InputError
from itemwise.estimation.engine import Engine
from itemwise.estimation.held import Held
from itemwise.models import MeasurementModel, find_model
from itemwise.responses import Responses
from itemwise.words import counted, listed

LEAST_HELD = 2  # one item alone would decide on a whole scale


def items_held(
    bank: Calibration, table: Responses, model: str | MeasurementModel
) -> tuple[MeasurementModel, Held]:
    """The model of all items of the table, and how the bank knows some of them."""
    _check_model(bank, model)
    place = {name: k for k, name in enumerate(bank.item_names)}
    mask = np.array([name in place for name in table.items])
    if mask.sum() < LEAST_HELD:
        raise InputError(
            f"{counted(int(mask.sum()), 'item')} of the table is in the bank; at least "
            f"{LEAST_HELD} are needed to hold its scale. The table has "
            f"{listed(table.items, 'item')}, the bank {listed(bank.item_names, 'item')}; items "
            "are known by name."
        )
    positions = [place[name] for name in table.items if name in place]
    order = np.argsort(np.concatenate([np.flatnonzero(mask), np.flatnonzero(~mask)]))
    chosen = bank.model.of_items(positions)
    if not mask.all():
        names = [name for name, known in zip(table.items, mask, strict=True) if not known]
        rest = bank.model.unfitted().fitted_to(table.cells[:, ~mask], names)
        chosen = chosen.joined(len(positions), rest, len(names)).of_items(order)
    chosen.check(table.cells, table.items)
    coords = np.zeros((table.n_items, chosen.width))
    coords[mask] = chosen.widened(bank.coords[positions])
    covariances = np.zeros((table.n_items, chosen.width, chosen.width))
    covariances[mask] = chosen.widened_covariances(bank.uncertainty.covariances[positions])
    return chosen, Held(mask, coords, covariances)


def _check_model(bank: Calibration, model: str | MeasurementModel) -> None:
    if model != "auto" and not find_model(model).name == bank.model.name:
        raise InputError(
            f"The bank holds items of the {bank.model.name} model, but model is "
            f"{find_model(model).name!r}. Leave model out, and the bank's own is used."
        )
    if not bank.model.affine:
        raise InputError(
            f"Items of the {bank.model.name} model cannot be held: its curves change their form "
            "when the scale moves, so that the new respondents' mean and deviation cannot be "
            "found beside them."
        )


def check_engine(engine: Engine) -> None:
    """Refuse engines and settings that cannot hold items."""
    if engine.name != "em" or getattr(engine, "population", "normal") != "normal":
        raise InputError(
            "Items are held by the em engine with a normal population only. Leave engine and "
            "population out."
        )


def held_note(held: Held, mean: float, sd: float) -> str:
    """What was held, and where it puts the respondents."""
    known = int(held.mask.sum())
    return (
        f"{counted(known, 'item')} held as the bank has {'it' if known == 1 else 'them'}, "
        f"{counted(int(held.mask.size - known), 'item')} found beside them; on the bank's scale "
        f"the respondents have mean {mean:.2f} and deviation {sd:.2f}."
    )
