"""The tour: every question that Itemwise answers, asked of one data set of the demonstration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from itemwise.capability import measure_capability
from itemwise.datasets import Dataset, split_dataset
from itemwise.results import Result, gathered
from itemwise.studies import (
    enrich_confusion,
    evaluate_difficulty,
    item_health,
    leaderboard,
    portfolio,
    replay_adaptively,
    shorten,
)

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.calibration import Calibration
    from itemwise.responses import Responses

SHORT = 25  # items of the short form, and of the adaptive one
COMPARED = ("random forest", "naive Bayes")
CASES = 30  # resamples that are enough for a tour


@dataclass(frozen=True, eq=False)
class Stop:
    """A data set of the demonstration, and what its decoding says of the test instances."""

    dataset: Dataset
    calibration: Calibration
    responses: Responses  # of the classifiers that were evaluated
    random_state: int = 0

    @property
    def answered(self) -> Responses:
        """What the pool answered, from which the items were calibrated."""
        found = self.calibration.responses
        assert found is not None  # noqa: S101 - it was made here, not loaded
        return found

    @cached_property
    def split(self) -> Any:
        """Training and test part, as the pool had them."""
        return split_dataset(self.dataset, random_state=self.random_state)

    @cached_property
    def fitted(self) -> dict[str, Any]:
        """A few classifiers of different kinds, fitted."""
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.naive_bayes import GaussianNB
        from sklearn.neighbors import KNeighborsClassifier
        from sklearn.tree import DecisionTreeClassifier

        made = {
            "random forest": RandomForestClassifier(random_state=self.random_state),
            "nearest neighbours": KNeighborsClassifier(),
            "naive Bayes": GaussianNB(),
            "decision tree": DecisionTreeClassifier(random_state=self.random_state),
            "logistic regression": LogisticRegression(max_iter=2000),
        }
        return {name: one.fit(self.split.X_train, self.split.y_train) for name, one in made.items()}

    def confusion(self) -> Result:
        """The confusion matrix opened."""
        said = {name: self.fitted[name].predict(self.split.X_test) for name in COMPARED}
        return enrich_confusion(
            self.calibration, self.split.y_test, said, n_resamples=CASES, random_state=0
        )

    def algorithms(self) -> Result:
        """Classifiers as algorithms, instances as problems, by the chance given to the truth."""
        import pandas as pd

        rows = np.arange(len(self.split.y_test))
        chances: pd.DataFrame = pd.DataFrame(
            {
                name: one.predict_proba(self.split.X_test)[rows, self.split.y_test]
                for name, one in self.fitted.items()
            },
            index=list(self.calibration.item_names),
        )
        return portfolio(chances, better="higher", bounds=(0.0, 1.0))

    def difficulty(self) -> Result:
        """Difficulty predicted from features."""
        features = self.dataset.features.iloc[self.split.test]
        return evaluate_difficulty(
            features.set_axis(list(self.calibration.item_names)),
            self.calibration.items[["difficulty"]],
            regressors=["knn", "rf"],
            cv=3,
            n_resamples=1,
            random_state=self.random_state,
        )

    def capability(self) -> Result:
        """Up to what difficulty a classifier can be trusted."""
        from sklearn.naive_bayes import GaussianNB

        return measure_capability(
            GaussianNB(),
            self.dataset.features,
            self.dataset.target,
            n_resamples=CASES,
            random_state=self.random_state,
        )


class Tour(NamedTuple):
    """What each study found, by title, and why one is missing."""

    found: dict[str, Result]
    missing: dict[str, str]

    @property
    def brief(self) -> bool:
        """A page shows one figure of each: the page of a study shows all of them."""
        return True


def tour(many: Stop, two: Stop) -> Tour:
    """Ask every question: `many` is a data set of several classes, `two` one of two classes."""
    whole = many.answered
    works: dict[str, Callable[[], Result]] = {
        "Leaderboard": lambda: leaderboard(many.responses),
        "Item health": lambda: item_health(whole, many.calibration),
        "Short benchmark": lambda: shorten(whole, SHORT, model="2pl", cv=3),
        "Adaptive evaluation": lambda: replay_adaptively(whole, sizes=(SHORT,), cv=2),
        "Confusion matrix": two.confusion,
        "Portfolio": many.algorithms,
        "Predicted difficulty": many.difficulty,
        "Capability": two.capability,
    }
    return Tour(*gathered(works))
