"""Explain why items are hard: which features predict difficulty, and which predict the class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._validation import checked_share, is_number, one_of, whole_number
from ogive.data.feature_columns import Plan, Rows, coder_of, is_frame, owners_of
from ogive.data.names import place_of
from ogive.data.table_files import as_name
from ogive.difficulty.item_values import feature_rows, labels_of_items, values_of_items
from ogive.difficulty.regressor import TREES, pipeline_of, unwrapped
from ogive.difficulty.targets import equally_hard
from ogive.errors import InputError
from ogive.results.base import Draw, Result
from ogive.results.numbers import counted
from ogive.results.plots import DISPLAYS
from ogive.results.plots.figure import Display
from ogive.stats.array_backend import Floats
from ogive.stats.metrics import spearman

__all__ = ["DifficultyExplanation", "explain_difficulty"]

FEWEST = 20  # items
LEAST = 1e-9  # importance; less is rounding error
FEWEST_TO_RANK = 3  # features; with fewer, rankings agree by chance
KINDS = ("permutation", "impurity")  # of importance


@dataclass(frozen=True, eq=False, repr=False)
class DifficultyExplanation(Result):
    """Which features predict how hard an item is, and which predict its class.

    `permutation` is the loss of score on held-out items when a feature is shuffled among them: R²
    of difficulty, accuracy of the class; mean and standard deviation over shuffles. A feature that
    is redundant with another may show none. `impurity` is the importance of a feature in the splits
    of tree models (Breiman, 2001); it favours features with many values.
    """

    features: tuple[str, ...]
    permutation: Floats  # (n_features,), as all that follow; of the difficulty model
    permutation_sd: Floats
    impurity: Floats  # NaN if the model has none
    task_permutation: Floats  # of the classifier; NaN without labels
    task_permutation_sd: Floats
    task_impurity: Floats
    score: float  # R² of the difficulty model on held-out items
    task_score: float  # accuracy of the classifier on them
    held_out: NDArray[np.intp]  # positions of the held-out items
    model: Any  # the fitted difficulty model
    rows: Any  # the features of all items
    notes: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """The most important feature for difficulty, and for the class."""
        top = int(np.argmax(self.permutation))
        if not self.score > 0:
            return (
                "The features do not predict how hard items are: on "
                f"{counted(len(self.held_out), 'held-out item')}, R² is {self.score:.2f}."
            )
        text = (
            f"The most important feature for difficulty is {self.features[top]}: shuffling it "
            f"lowers R² from {self.score:.2f} by {self.permutation[top]:.2f} (standard deviation "
            f"over shuffles {self.permutation_sd[top]:.2f})"
        )
        if np.isnan(self.task_score):
            return f"{text}."
        first = int(np.argmax(self.task_permutation))
        accuracy = f"accuracy {self.task_score:.2f}"
        if not self.task_permutation[first] > LEAST:
            return f"{text}; for the class, shuffling any one feature does not lower {accuracy}."
        same = "the same feature" if first == top else self.features[first]
        text += f"; for the class it is {same} ({accuracy})"
        if len(self.features) < FEWEST_TO_RANK:
            return f"{text}."
        agree = float(spearman(self.permutation, self.task_permutation))
        return (
            f"{text}, and the two rankings of {counted(len(self.features), 'feature')} agree "
            f"with a Spearman correlation of {agree:.2f}."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per feature, the most important for difficulty first."""
        names = ("permutation", "permutation_sd", "impurity")
        columns = {name: getattr(self, name) for name in names}
        if not np.isnan(self.task_score):
            columns |= {f"task_{name}": getattr(self, f"task_{name}") for name in names}
        frame = pd.DataFrame(columns, index=pd.Index(self.features, name="feature"))
        return frame.sort_values("permutation", ascending=False, kind="stable")

    def of_item(self, item: Any) -> pd.DataFrame:
        """Return what makes one item hard: how far the value of each feature pushes the prediction.

        `push` is the predicted difficulty minus the prediction with the `usual` value of that
        feature (its median or most frequent category) and all others unchanged: above 0, it makes
        the item harder. Pushes need not add up, since features interact. `item` is a position, or a
        name in the index of the features; numbered rows are called row_0, row_1, ...
        """
        rows = self.rows if is_frame(self.rows) else pd.DataFrame(self.rows)
        position = place_of(item, rows.index)
        if position is None and is_number(item) and item in range(len(rows)):
            position = int(item)
        if position is None:
            raise InputError(
                f"There is no item {item!r:.40}. Give a position from 0 to {len(rows) - 1:,}, "
                "or a name in the index of the features."
            )
        rows = rows.set_axis(list(self.features), axis=1)
        usual = [_usual(rows[name]) for name in self.features]
        changed = pd.concat([rows.iloc[[position]]] * (len(usual) + 1), ignore_index=True)
        for k, (name, value) in enumerate(zip(self.features, usual, strict=True), start=1):
            changed.loc[k, name] = value
        cells = changed if is_frame(self.rows) else changed.to_numpy()
        predicted = np.asarray(self.model.predict(cells), dtype=float)
        value = [changed.loc[0, name] for name in self.features]
        columns = {"value": value, "usual": usual, "push": predicted[0] - predicted[1:]}
        frame = pd.DataFrame(columns, index=pd.Index(self.features, name="feature"))
        return frame.sort_values("push", key=np.abs, ascending=False, kind="stable")

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the importance of each feature."""
        return {"features": self.to_frame()}

    def figures(self) -> dict[str, Draw]:
        """Return the importance by permutation and by impurity."""
        return {kind: partial(self.plot, kind) for kind in KINDS}

    def plot(self, kind: str = "permutation", **kw: Any) -> Display:
        """Draw importance for difficulty and for the class, by "permutation" or "impurity".

        Bars are shares of the sum over features, so that both models can be compared.
        """
        one_of(kind, "kind", KINDS)
        columns: dict[str, Floats] = {}
        for name, prefix in (("difficulty", ""), ("task", "task_")):
            value = getattr(self, f"{prefix}{kind}")
            error = getattr(self, f"{prefix}permutation_sd") if kind == "permutation" else 0 * value
            total = np.maximum(value, 0.0).sum()
            if np.isfinite(total):
                columns |= {name: value / (total or 1.0), f"{name}_sd": error / (total or 1.0)}
        if "difficulty" not in columns:
            raise InputError("This model has no trees, and so no importance by impurity.")
        frame = pd.DataFrame(columns, index=list(self.features))
        return DISPLAYS["importance"](frame).plot(**kw)


def explain_difficulty(
    regressor: Any,
    X: Any,
    difficulty: Any,
    labels: Any = None,
    *,
    test_size: float = 0.3,
    n_resamples: int = 10,
    random_state: int = 0,
) -> DifficultyExplanation:
    """Find the features that predict how hard items are, and those that predict their class.

    `regressor` is a preset ("rf") or a scikit-learn regressor, which is cloned. `X` has one row per
    item, `difficulty` one number per item, and `labels`, if given, the class of each item, which is
    learnt by a random forest from the items that have one. `difficulty` may be the result of
    `difficulty_targets`, of which the first method is used. A share `test_size` of the items is
    held out, and each feature is shuffled `n_resamples` times among them. Items without a finite
    difficulty are left out.

    The frame has one row per feature: permutation, permutation_sd, impurity; with `labels`, also
    task_... for the class. After Martínez-Plumed et al. (2022). The same `random_state` gives the
    same result.

    >>> import ogive as og
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> found = og.explain_difficulty("stepwise", X, X[:, 1], n_resamples=2)
    >>> (found.permutation > 0.1).tolist()
    [False, True]
    """
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline

    checked_share(test_size, "test_size", 0.3)
    whole_number(n_resamples, "n_resamples", 2)
    whole_number(random_state, "random_state", 0)
    rows, plan, names = feature_rows(X)
    value = values_of_items(difficulty, rows, "difficulty")
    train, test = _split(value, test_size, random_state)
    model = pipeline_of(unwrapped(regressor), plan, value[train], random_state)
    settings = (plan, names, n_resamples, random_state)
    own, score = _importance(model, value, "r2", rows, train, test, *settings)
    classes, remarks = _classes(labels, rows, train, test)
    task, task_score = np.full((3, len(names)), np.nan), np.nan
    if classes is not None:
        learnt, held = (part[pd.notna(classes[part])] for part in (train, test))
        forest = make_pipeline(
            coder_of(plan), RandomForestClassifier(TREES, random_state=random_state)
        )
        task, task_score = _importance(forest, classes, "accuracy", rows, learnt, held, *settings)
    notes = []
    if lost := int(np.isnan(value).sum()):
        notes.append(f"Left out (no finite difficulty): {counted(lost, 'item')}.")
    if plan is not None and plan.left_out:
        notes.append(f"Features: {plan.losses}.")
    if np.isnan(own[2]).all():
        notes.append("The difficulty model has no trees, and so no importance by impurity.")
    return DifficultyExplanation(
        features=names,
        permutation=own[0],
        permutation_sd=own[1],
        impurity=own[2],
        task_permutation=task[0],
        task_permutation_sd=task[1],
        task_impurity=task[2],
        score=score,
        task_score=task_score,
        held_out=test,
        model=model,
        rows=rows,
        notes=(*notes, *remarks),
    )


def _split(
    value: Floats, test_size: float, random_state: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return positions of training and held-out items, among those of known difficulty."""
    known = np.flatnonzero(np.isfinite(value))
    if len(known) < FEWEST:
        raise InputError(
            f"The difficulty of {counted(len(known), 'item')} is known, but training and testing "
            f"need at least {FEWEST}."
        )
    if alike := equally_hard(value):
        raise InputError(f"{alike[0].upper()}{alike[1:]}: there is nothing to explain.")
    order = np.random.default_rng(random_state).permutation(known)
    n_held_out = min(max(round(test_size * len(known)), 2), len(known) - 2)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


def _classes(
    labels: Any, rows: Rows, train: NDArray[np.intp], test: NDArray[np.intp]
) -> tuple[NDArray[Any] | None, list[str]]:
    """Return the class of each item as text, None if missing; no classes if not learnable."""
    if labels is None:
        return None, []
    if isinstance(labels, list | tuple):
        labels = np.array(labels, dtype=object)  # keeps NaN among strings
    given = labels_of_items(labels, rows, "labels")
    known = np.asarray(pd.notna(given), dtype=bool)
    classes = np.array([as_name(label) for label in given], dtype=object)
    classes[~known] = None
    n_without = int((~known[train]).sum() + (~known[test]).sum())
    remarks = []
    if n_without:
        remarks.append(f"Left out for the class (no label): {counted(n_without, 'item')}.")
    if len(set(classes[train][known[train]])) < 2 or not known[test].any():
        return None, [*remarks, "The class is not explained: at least two classes are needed."]
    return classes, remarks


def _importance(
    model: Any,
    target: Any,
    scoring: str,
    rows: Rows,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    plan: Plan | None,
    names: tuple[str, ...],
    n_resamples: int,
    random_state: int,
) -> tuple[Floats, float]:
    """Fit a model, and return its importances and its score on held-out items.

    The importances are by permutation, its standard deviation, and by impurity, (3, n_features).
    """
    from sklearn.inspection import permutation_importance
    from sklearn.metrics import get_scorer
    from sklearn.utils import _safe_indexing

    model.fit(_safe_indexing(rows, train), target[train])
    held = _safe_indexing(rows, test)
    shuffled = permutation_importance(
        model, held, target[test], scoring=scoring, n_repeats=n_resamples, random_state=random_state
    )
    impurity = np.full(len(names), np.nan)
    coder, last = model[0], model[-1]
    if hasattr(last, "feature_importances_"):  # sum over the encoded columns of each feature
        owners = list(names) if plan is None else owners_of(coder, plan)
        impurity_of = dict.fromkeys(names, 0.0)
        for owner, part in zip(owners, last.feature_importances_, strict=True):
            impurity_of[owner] += float(part)
        impurity = np.array(list(impurity_of.values()))
    sd = shuffled.importances.std(axis=1, ddof=1)
    score = float(get_scorer(scoring)(model, held, target[test]))
    return np.array([shuffled.importances_mean, sd, impurity]), score


def _usual(column: pd.Series) -> Any:
    """Return the median of numbers, or the most frequent category."""
    if column.dtype == np.float64:
        return float(column.median())
    modes = column.mode()
    return modes.iloc[0] if len(modes) else np.nan
