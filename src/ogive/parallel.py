"""Work on the workers of joblib, which whoever stops early leaves to nobody."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Sequence
from typing import Any, Literal

from ogive.interrupts import unheard_by_workers


def one_by_one(
    calls: Sequence[Any],
    n_jobs: int | None,
    *,
    ordered: bool = True,
    batch_size: int | Literal["auto"] = "auto",
) -> Generator[Any, None, None]:
    """Results of delayed calls as they come, or in their order. Close it to stop the others.

    A backend that cannot return one result at a time, such as ray's, works in rounds.
    """
    from joblib import Parallel, effective_n_jobs

    kind = "generator" if ordered else "generator_unordered"
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as=kind, batch_size=batch_size)
    except ValueError:
        size = effective_n_jobs(n_jobs)
        for start in range(0, len(calls), size):
            yield from Parallel(n_jobs=n_jobs, batch_size=1)(calls[start : start + size])
        return
    with unheard_by_workers():
        results = parallel(calls)
    try:
        for result in results:  # noqa: UP028 - `yield from` would close them loudly
            yield result
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # calls were stopped on purpose
            results.close()
