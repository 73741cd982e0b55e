"""Training and test cases that are equally hard: split within bins of difficulty."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from itemwise.arguments import as_number, checked_share
from itemwise.errors import InputError

Positions = NDArray[np.intp]


def split_by_difficulty(
    cdi: Any,
    *,
    labels: Any = None,
    test_size: float = 0.3,
    width: float = 0.25,
    random_state: Any = 0,
) -> tuple[Positions, Positions]:
    """Positions of training and test cases, both ascending, split in each bin of `cdi`.

    `cdi` is (n_cases,). Bins are `width` wide, in deviations, and one is centred at zero. In each,
    the share `test_size` goes to the test, rounded, but at least one case stays on either side; of
    two cases each side gets one; a case alone in its bin is for training. With `labels`, cases of
    each class have bins of their own.

    >>> from itemwise.capability import split_by_difficulty
    >>> train, test = split_by_difficulty([0.0, 0.1, 2.0, -0.1, 0.05, 0.02])
    >>> len(train), len(test)
    (4, 2)
    """
    from sklearn.utils import check_random_state

    values = np.asarray(cdi, dtype=np.float64)
    share = checked_share(test_size, "test_size", 0.3)
    if not 0 < as_number(width) < np.inf:
        raise InputError(f"width is {width!r}, but it must be a number above 0, such as 0.25.")
    if values.ndim != 1 or not np.isfinite(values).all():
        raise InputError(
            f"cdi has shape {values.shape} and {int((~np.isfinite(values)).sum())} values that "
            "are not finite. Give one finite index a case, such as one column of transform(X)."
        )
    draw = check_random_state(random_state)
    groups = _groups(np.floor(values / width + 0.5), labels)
    chosen: list[Positions] = []
    for group in range(groups.max(initial=-1) + 1):
        members = np.flatnonzero(groups == group)
        n_test = round(share * len(members)) if len(members) > 2 else len(members) // 2
        n_test = min(max(n_test, 1), len(members) - 1)
        chosen.append(draw.permutation(members)[:n_test])
    test = np.sort(np.concatenate([np.empty(0, dtype=np.intp), *chosen]))
    return np.setdiff1d(np.arange(len(values)), test), test


def _groups(bins: NDArray[np.float64], labels: Any) -> Positions:
    """A number for each bin, and within it for each class."""
    _, found = np.unique(bins, return_inverse=True)
    if labels is None:
        return found
    named = np.asarray(labels)
    if named.shape != bins.shape:
        raise InputError(
            f"labels has shape {named.shape}, but there are {len(bins):,} cases. Give one a case."
        )
    names, codes = np.unique(named, return_inverse=True)
    return np.asarray(np.unique(found * len(names) + codes, return_inverse=True)[1])
