"""What to ask first of a model of which nothing is known."""

from __future__ import annotations

from itemwise.adaptive import AdaptiveTest, Selector
from itemwise.arguments import whole_number
from itemwise.calibration import Calibration
from itemwise.estimation.choosing import AUTO
from itemwise.models import MeasurementModel
from itemwise.responses import Table, as_responses
from itemwise.studies.evaluation.replay import bank_from


def first_items(
    source: Calibration | Table,
    size: int,
    *,
    selector: Selector | str = "score",
    model: str | MeasurementModel = AUTO,
    random_state: int = 0,
) -> list[str]:
    """Choose `size` items to ask at once of a model of which nothing is known.

    `source` is a bank, or responses from which one is calibrated (`model`, as in
    `replay_adaptively`); `selector` and `random_state` are those of `AdaptiveTest`. The names of
    the items are returned, the most telling first. `lm_eval_samples` and `inspect_sample_ids`
    write them for the tools that ask them.

    >>> import itemwise as iw
    >>> table = iw.simulate("2pl", 300, 20, random_state=0).responses
    >>> len(iw.first_items(table, 5))
    5
    """
    whole_number(size, "size", 1)
    whole_number(random_state, "random_state", 0)
    bank = source if isinstance(source, Calibration) else bank_from(as_responses(source), model)
    test = AdaptiveTest(bank, selector=selector, random_state=random_state)
    return list(test.start().next_items(size))
