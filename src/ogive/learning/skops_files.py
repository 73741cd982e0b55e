"""Estimators in files of skops, without pickle: only data of known types is read, and checked."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from ogive.errors import FileError, InputError, MissingExtraError
from ogive.files import PathLike
from ogive.learning.saved_trees import with_saved_trees
from ogive.learning.saved_types import ELSE, OWN_TYPES, check_parts, parts_of
from ogive.learning.skops_archives import MAX_BYTES, canonical, check_members
from ogive.words import listed


def packed(estimator: Any, noun: str) -> bytes:
    """Return an estimator as the content of a file, if `unpacked` could read it back."""
    skops = skops_io()
    try:
        made = with_saved_trees(estimator, parts_of(estimator))
        content = canonical(skops.dumps(made))
        foreign = skops.get_untrusted_types(data=content)
        if set(foreign) - set(OWN_TYPES):
            check_parts(copy.deepcopy(estimator))  # says what to use instead of an estimator
        _refuse_foreign(foreign)
        check_parts(skops.loads(content, trusted=list(OWN_TYPES)))
    except Exception as error:
        raise InputError(f"This {noun} cannot be saved: {str(error).rstrip('.')}.") from error
    return content


def unpacked(
    path: PathLike,
    content: bytes,
    check: Callable[[Any], None],
    noun: str,
    writer: str,
    max_bytes: int = MAX_BYTES,
) -> Any:
    """Return the estimator in the content of a file; refuse unknown types and damaged parts."""
    skops = skops_io()
    check_members(path, content, max_bytes, noun, writer)
    try:
        _refuse_foreign(skops.get_untrusted_types(data=content))
        found = skops.loads(content, trusted=list(OWN_TYPES))
        check_parts(found)
        check(found)
    # Whatever skops or scikit-learn raises, the file is to blame.
    except Exception as error:
        raise FileError(
            f"'{path}' cannot be read as a {noun}: {error}. Give a file that {writer} wrote."
        ) from error
    return found


def skops_io() -> Any:
    """Return skops.io, or say how to install it."""
    try:
        import skops.io
    except ModuleNotFoundError as error:
        raise MissingExtraError("skops", "learning") from error
    return skops.io


def _refuse_foreign(types: Sequence[str]) -> None:
    foreign = sorted(set(types) - set(OWN_TYPES))
    if foreign:
        raise InputError(
            f"it holds {listed(foreign, 'type')}, which cannot be verified; use {ELSE}"
        )
