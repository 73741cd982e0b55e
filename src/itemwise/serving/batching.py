"""One call of the gate for all requests that wait at the same time.

A call costs nearly the same for ten rows as for a hundred, so a busy service decides more rows in
the same time, and an idle one loses nothing.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.capability.classifying import ModelError
from itemwise.errors import InputError
from itemwise.serving.contract import Problem, RefusalError
from itemwise.words import shown

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.serving.contract import Gate, RequestLimits
    from itemwise.serving.request_rows import Columns

Decisions = list[dict[str, Any]]
MAX_ROWS = 1_000  # in one call, unless a single request has more
MAX_GATHERING_SECONDS = 0.01

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Waiting:
    columns: Columns
    n_rows: int
    decided: asyncio.Future[Decisions]


class Decider:
    """Calls the gate in its own thread, so that the service can answer other requests."""

    def __init__(self, gate: Gate, limits: RequestLimits) -> None:
        self._gate = gate
        self._max_waiting = max(limits.waiting_rows, limits.rows)  # a single request always fits
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gate")
        self._waiting: list[_Waiting] = []
        self._work: asyncio.Task[None] | None = None

    async def decide(self, columns: Columns) -> Decisions:
        """Return the decisions of the gate on these rows, in their order."""
        n_rows = len(next(iter(columns.values())))
        if self._waiting_rows() + n_rows > self._max_waiting:
            raise RefusalError(
                503, "Too many rows are waiting. Try again in a second.", {"Retry-After": "1"}
            )
        waiting = _Waiting(columns, n_rows, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._decide_all())
        return await waiting.decided

    def close(self) -> None:
        """Let the thread end when it has finished."""
        self._thread.shutdown(wait=False)

    async def _decide_all(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch, begin = self._next_batch(), perf_counter()
            outcomes = await loop.run_in_executor(self._thread, decide_batch, self._gate, batch)
            for one, outcome in zip(batch, outcomes, strict=True):
                if one.decided.done():  # the client disconnected
                    continue
                if isinstance(outcome, RefusalError):
                    one.decided.set_exception(outcome)
                else:
                    one.decided.set_result(outcome)
            if len(batch) > 1 and self._waiting_rows() < MAX_ROWS:
                # Under load, wait for more requests while others are received and answered.
                await asyncio.sleep(min(perf_counter() - begin, MAX_GATHERING_SECONDS))

    def _waiting_rows(self) -> int:
        return sum(one.n_rows for one in self._waiting)

    def _next_batch(self) -> list[_Waiting]:
        total, n = 0, 0
        for one in self._waiting:
            total += one.n_rows
            if n and total > MAX_ROWS:
                break
            n += 1
        batch, self._waiting = self._waiting[:n], self._waiting[n:]
        return batch


def decide_batch(gate: Gate, batch: Sequence[_Waiting]) -> list[Decisions | RefusalError]:
    """Decide all requests in one call; if that fails, each on its own."""
    together = _attempt(gate, [one.columns for one in batch])
    if isinstance(together, RefusalError):
        if len(batch) == 1:
            return [together]
        return [_attempt(gate, [one.columns]) for one in batch]
    ends = np.cumsum([one.n_rows for one in batch])
    return [together[end - one.n_rows : end] for one, end in zip(batch, ends, strict=True)]


def _attempt(gate: Gate, parts: Sequence[Columns]) -> Decisions | RefusalError:
    import pandas as pd

    try:
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        frame = pd.DataFrame(columns)
        decisions = to_records(gate.decide(frame))
        if len(decisions) != len(frame):
            raise RuntimeError(f"{len(frame)} rows gave {len(decisions)} decisions")
    except ModelError as error:
        logger.warning("The model refused rows of %d requests: %s", len(parts), shown(str(error)))
        return RefusalError(422, [Problem(("rows",), "cannot be decided: the model refused them.")])
    except InputError as error:
        return RefusalError(422, [Problem(("rows",), f"cannot be decided: {error}")])
    except (Exception, SystemExit):  # a model that ends the program must not end the service
        logger.exception("The gate failed on rows of %d requests", len(parts))
        return RefusalError(500, "The gate failed on these rows. The log of the service says why.")
    return decisions


def to_records(frame: pd.DataFrame) -> Decisions:
    """Return the rows of a frame as JSON values; what is not finite becomes null."""
    names = [str(name) for name in frame.columns]
    columns = [[_plain(value) for value in frame[name].tolist()] for name in frame.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)
