"""The models that are compared, as a caller gives them: to fit, fitted, or by their labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ogive.datasets import Dataset, Split
from ogive.errors import InputError
from ogive.pools import Answers, Member, Pool, find_pool
from ogive.responses.names_and_facts import row_name
from ogive.tables.foreign_frames import with_row_names
from ogive.words import repeated

TUNED = "tuned"


def sorted_models(
    models: Any, dataset: Dataset, split: Split
) -> tuple[Pool | None, dict[str, Any]]:
    """Classifiers to fit, as a pool; and the labels of all other models by name."""
    if models is None:
        return find_pool(TUNED), {}
    if isinstance(models, str | Pool):
        return find_pool(models), {}
    models = with_row_names(models)
    if hasattr(models, "columns"):
        frame = _by_place(models, split)
        return None, {str(name): frame.iloc[:, k] for k, name in enumerate(frame.columns)}
    given = _named(models)
    fitted = {name: one for name, one in given.items() if _is_fitted(one)}
    unfitted = {
        name: one
        for name, one in given.items()
        if name not in fitted and (hasattr(one, "predict") or isinstance(one, Member))
    }
    labels = {name: one for name, one in given.items() if name not in (*fitted, *unfitted)}
    asked = {name: _predicted(name, one, dataset, split) for name, one in fitted.items()}
    pool = find_pool(list(unfitted.items())) if unfitted else None
    return pool, {**asked, **labels}


def _by_place(frame: Any, split: Split) -> Any:
    """Rename rows that are numbered by their place in the data set to the names of items."""
    numbers = set(frame.index)
    if numbers == set(split.test.tolist()) and numbers != set(range(len(frame))):
        return frame.rename(index=row_name)
    return frame


def _named(models: Any) -> dict[str, Any]:
    """Classifiers or lists of labels by unique name."""
    if isinstance(models, Mapping):
        pairs = [(str(name), one) for name, one in models.items()]
    elif hasattr(models, "predict"):
        pairs = [(type(models).__name__, models)]
    elif isinstance(models, list | tuple) and any(map(_is_model, models)):
        pairs = [one if isinstance(one, tuple) else (_text(one), one) for one in models]
    else:
        pairs = [("model", models)]  # the labels of one model
    named = dict(pairs)
    if not named:
        raise InputError("models is empty. Give at least one classifier, or None for tuned ones.")
    if len(named) < len(pairs):
        names = [name for name, _ in pairs]
        twice = repeated(names)[0]
        raise InputError(
            f"Two models are called '{twice:.60}'. Give a mapping with a different name for each."
        )
    return named


def _is_model(entry: Any) -> bool:
    return hasattr(entry, "predict") or isinstance(entry, Member | tuple)


def _text(model: Any) -> str:
    return model.name if isinstance(model, Member) else " ".join(repr(model).split())


def _is_fitted(model: Any) -> bool:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if not hasattr(model, "predict"):
        return False
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True


def _predicted(name: str, model: Any, dataset: Dataset, split: Split) -> Any:
    """Predictions of a fitted classifier for the test part."""
    try:
        return model.predict(dataset.features.iloc[split.test])
    except Exception as error:  # whatever a foreign classifier raises
        raise InputError(
            f"{name!r:.60} is already fitted, but cannot predict from the columns of "
            f"'{dataset.name}': {type(error).__name__}, {str(error).splitlines()[0]:.200}. "
            "Give a pipeline that takes them as they are, or an unfitted classifier."
        ) from error


def predicted_labels(
    answers: Answers | None, split: Split, elsewhere: Mapping[str, Any]
) -> dict[str, Any]:
    """Predicted classes of the models that did not fail, and those made elsewhere."""
    if answers is None:
        return dict(elsewhere)
    classes = np.array(split.classes, dtype=object)
    labels = {
        name: classes[predicted]
        for name, predicted in zip(answers.members, answers.predictions, strict=True)
        if name not in answers.failures
    }
    if not labels and not elsewhere:
        name, reason = next(iter(answers.failures.items()))
        raise InputError(f"All models failed, so there is nothing to compare. '{name}': {reason}")
    return {**labels, **elsewhere}
