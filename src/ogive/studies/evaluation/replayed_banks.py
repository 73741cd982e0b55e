"""Banks that know how well evaluations with them predict, by the replay they carry or one now."""

from __future__ import annotations

from dataclasses import replace

from ogive.adaptive import Selector
from ogive.calibration import Calibration
from ogive.errors import InputError
from ogive.studies.evaluation.adaptive_replay import replay_adaptively


def replayed_bank(
    bank: Calibration,
    budget: int,
    *,
    selector: Selector | str,
    batch_size: int,
    confidence: float,
    random_state: int,
) -> Calibration:
    """The bank, with the error of a replay of the models that it was calibrated on.

    A bank from a file has no responses, and a few models cannot be replayed: it stays as it is.
    """
    if bank.replayed is not None or bank.responses is None or budget >= len(bank.item_names):
        return bank
    try:
        found = replay_adaptively(
            bank.responses,
            sizes=[budget],
            selector=selector,
            model=bank.model,
            batch_size=batch_size,
            confidence=confidence,
            random_state=random_state,
            progress=False,
        )
    except InputError:
        return bank
    return replace(bank, replayed=found.real_error)
