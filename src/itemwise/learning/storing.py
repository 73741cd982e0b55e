"""Regressors in files, without pickle: what is read is data, and only of known types."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from itemwise.errors import FileError, InputError, MissingExtraError
from itemwise.files import PathLike, readable_file, size_for_people, write_bytes
from itemwise.words import listed

if TYPE_CHECKING:
    from itemwise.learning.regressor import DifficultyRegressor

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


def save_regressor(regressor: DifficultyRegressor, path: PathLike) -> Path:
    """Write a fitted DifficultyRegressor, whole or not at all; `load_regressor` reads it.

    The file is that of skops, usually called .skops. A regressor with parts that are neither
    scikit-learn's nor ours could not be read back safely, and is refused.

    What is returned is `path`.

    >>> import itemwise as iw
    >>> import numpy as np
    >>> features = np.arange(20.0)[:, None]
    >>> fitted = iw.DifficultyRegressor("stepwise").fit(features, features[:, 0])
    >>> iw.save_regressor(fitted, "difficulty.skops").name
    'difficulty.skops'
    """
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    _refuse_other(regressor)
    skops_io()
    try:
        check_is_fitted(regressor)
    except NotFittedError as error:
        raise InputError("The regressor is not fitted yet. Call fit first.") from error
    target = Path(path)
    write_bytes(target, packed(regressor, "regressor"))
    return target


def load_regressor(path: PathLike, *, max_bytes: int = MAX_BYTES) -> DifficultyRegressor:
    """Read the `DifficultyRegressor` that `save_regressor` wrote to `path`.

    Nothing in the file is executed. Types that are neither scikit-learn's, NumPy's, SciPy's nor
    ours are refused by name, and so is a file that is larger, or unpacks to more, than `max_bytes`.

    >>> import itemwise as iw
    >>> import numpy as np
    >>> features = np.arange(20.0)[:, None]
    >>> fitted = iw.DifficultyRegressor("stepwise").fit(features, features[:, 0])
    >>> path = iw.save_regressor(fitted, "difficulty.skops")
    >>> iw.load_regressor(path).predict([[7.0]]).round(2).tolist()
    [7.0]
    """
    from itemwise.learning.regressor import DifficultyRegressor

    if Path(path).is_dir():
        raise FileError(
            f"'{path}' is a folder, but a file that save_regressor wrote is needed. A folder that "
            "a deep regressor wrote is read by DeepDifficultyRegressor.load."
        )
    skops_io()
    content = readable_file(path, max_bytes).read_bytes()

    def check(found: Any) -> None:
        if not isinstance(found, DifficultyRegressor):
            raise InputError(f"it holds a {type(found).__name__}, not a DifficultyRegressor")
        _refuse_incomplete(found)

    found: DifficultyRegressor = unpacked(
        path, content, check, "regressor", "save_regressor", max_bytes
    )
    return found


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


def _refuse_other(regressor: object) -> None:
    from itemwise.learning.deep import DeepDifficultyRegressor
    from itemwise.learning.regressor import DifficultyRegressor

    if isinstance(regressor, DifficultyRegressor):
        return
    deep = isinstance(regressor, DeepDifficultyRegressor)
    advice = "Use its own: regressor.save(folder)" if deep else "Wrap it: DifficultyRegressor(...)"
    raise InputError(
        f"save_regressor needs a DifficultyRegressor, but was given {type(regressor).__name__}. "
        f"{advice}."
    )


def _refuse_foreign(types: Sequence[str]) -> None:
    foreign = sorted(set(types) - set(OWN_TYPES))
    if foreign:
        raise InputError(
            f"it holds {listed(foreign, 'type')} that is neither scikit-learn's nor Itemwise's own"
        )


def _refuse_unsound(regressor: Any) -> None:
    from itemwise.learning.soundness import check_trees

    check_trees(regressor)


def _refuse_incomplete(regressor: Any) -> None:
    """Refuse what could not predict: parts that are missing, or do not belong together."""
    import numpy as np

    folds, errors = regressor.fold_regressors_, regressor.residuals_
    whole = [regressor.regressor_, *folds]
    sound = len(folds) == len(errors) > 0 and all(hasattr(one, "predict") for one in whole)
    for error in errors:
        sound = sound and bool(np.isfinite(error).all() and (np.diff(error) >= 0).all())
    if not sound:
        raise InputError("its parts are damaged or do not belong together")


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
