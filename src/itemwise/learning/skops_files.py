"""Estimators in files of skops, without pickle: only data is read, and only of known types."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

from itemwise.errors import FileError, InputError, MissingExtraError
from itemwise.files import PathLike, size_for_people
from itemwise.words import listed

MAX_BYTES = 4 * 1024**3
# Beside what skops trusts by itself: scikit-learn's estimators, and arrays of NumPy and SciPy.
# Trees are looked through after reading, since scikit-learn follows their indices blindly.
OWN_TYPES = (
    "itemwise.learning.regressor.DifficultyRegressor",
    "itemwise.learning.stepwise.StepwiseRegressor",
    "numpy.dtype",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
)


def packed(estimator: Any, noun: str) -> bytes:
    """An estimator as the content of a file, if `unpacked` could read it back."""
    skops = skops_io()
    try:
        content: bytes = skops.dumps(estimator, compression=zipfile.ZIP_DEFLATED)
        _refuse_foreign(skops.get_untrusted_types(data=content))
        _refuse_unsound(estimator)
    except Exception as error:
        raise InputError(
            f"This {noun} cannot be saved: {error}. Save one made of scikit-learn's own parts."
        ) from error
    return content


def unpacked(
    path: PathLike,
    content: bytes,
    check: Callable[[Any], None],
    noun: str,
    writer: str,
    max_bytes: int = MAX_BYTES,
) -> Any:
    """The estimator in the content of a file, of known types and sound, and after `check`."""
    skops = skops_io()
    _check_size(path, content, max_bytes, noun, writer)
    try:
        _refuse_foreign(skops.get_untrusted_types(data=content))
        found = skops.loads(content, trusted=list(OWN_TYPES))
        check(found)
        _refuse_unsound(found)
    # Whatever a bent file makes skops or scikit-learn stumble over, the file is to blame.
    except Exception as error:
        raise FileError(
            f"'{path}' cannot be read as a {noun}: {error}. Give a file that {writer} wrote."
        ) from error
    return found


def skops_io() -> Any:
    """The package that writes and reads, or how to install it."""
    try:
        import skops.io
    except ModuleNotFoundError as error:
        raise MissingExtraError("skops", "learning") from error
    return skops.io


def _refuse_foreign(types: Sequence[str]) -> None:
    foreign = sorted(set(types) - set(OWN_TYPES))
    if foreign:
        raise InputError(
            f"it holds {listed(foreign, 'type')} that is neither scikit-learn's nor Itemwise's own"
        )


def _refuse_unsound(regressor: Any) -> None:
    from itemwise.learning.soundness import check_trees

    check_trees(regressor)


def _check_size(path: PathLike, content: bytes, max_bytes: int, noun: str, writer: str) -> None:
    """Refuse an archive that unpacks to more than it should, before it is unpacked."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            total = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise FileError(
            f"'{path}' is not a file of a {noun}, or was cut short: {error}. "
            f"Give a file that {writer} wrote."
        ) from error
    if total > max_bytes:
        raise FileError(
            f"'{path}' unpacks to {size_for_people(total)}, and the limit is "
            f"{size_for_people(max_bytes)}. If you trust the file, pass a larger max_bytes."
        )
