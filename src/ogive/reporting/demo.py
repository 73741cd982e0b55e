"""The demonstration: the data sets of scikit-learn decoded, and a tour of all studies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive.benchmarking.decoder import BenchmarkDecoding, decode_benchmark
from ogive.benchmarking.decoding import FARTHEST
from ogive.capability.measurement import measure_capability
from ogive.checks.check import item_health
from ogive.checks.mislabelled_items import label_trouble
from ogive.checks.residuals import informative, upright_items
from ogive.classifiers.confusion_curves import enrich_confusion
from ogive.data.datasets.dataset import Dataset, split_dataset
from ogive.data.datasets.load import load_datasets
from ogive.data.names import row_name
from ogive.data.study_tables import are_marks
from ogive.difficulty.regressor_evaluation import evaluate_difficulty
from ogive.evaluation.adaptive_replay import replay_adaptively
from ogive.evaluation.leaderboards import leaderboard
from ogive.evaluation.shortening import shorten
from ogive.portfolios.airt import portfolio
from ogive.reporting.sections import Section
from ogive.results.base import Result, gathered
from ogive.results.numbers import counted

if TYPE_CHECKING:
    import pandas as pd

    from ogive._files import PathLike
    from ogive._progress import Progress
    from ogive.data.responses import Responses
    from ogive.irt.calibration import Calibration


SHORT = 25  # items of the short form, and of the adaptive one
BUDGETS = (5, 10, 15, SHORT)  # items of adaptive tests
COMPARED = ("random forest", "naive Bayes")
FOLDS = 3  # of respondents, the same for short and adaptive tests
SAME_FORM = (
    f"The short form of {SHORT} items is that of the section on a short benchmark, held out in the "
    "same folds. The error of items at random is that of one draw here, and a mean over several in "
    "that section."
)
CASES = 30  # resamples that are enough for a tour
ANEW = "The classifiers of this section were trained anew; they are no respondents of the scale."
AS_ALGORITHMS = (
    "Performance is the probability that a classifier gives to the true class of an instance, and "
    "the difficulty of an instance comes from these probabilities."
)
BY_FEATURES = (
    "The classifier is a logistic regression on standardised features, trained anew and tested on "
    "its own part of the data set, which is not the test part of the other sections. "
    "The difficulty of a case comes from its features, not from responses of the pool, so it is "
    "not that of the item explorer."
)


@dataclass(frozen=True, eq=False)
class Stop:
    """A data set of the demonstration, and what its decoding says about the test instances."""

    dataset: Dataset
    calibration: Calibration
    responses: Responses  # of the classifiers that were evaluated
    random_state: int = 0

    @property
    def answered(self) -> Responses:
        """What the pool answered, from which the items were calibrated."""
        responses = self.calibration.responses
        assert responses is not None  # noqa: S101 - it was made here, not loaded
        return responses

    @property
    def members(self) -> str:
        """Which respondents the scale of the items has."""
        return said_of_pool(self.answered, self.responses)

    @cached_property
    def split(self) -> Any:
        """Training and test part, as the pool saw them."""
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
        """Return the items behind the confusion matrix."""
        names = np.array(self.split.classes, dtype=object)
        fitted, rows = {name: self.fitted[name] for name in COMPARED}, self.split.X_test
        positive = names.tolist().index(max(names))  # of two, the last in alphabetical order
        return enrich_confusion(
            self.calibration,
            names[self.split.y_test],
            {name: names[one.predict(rows)] for name, one in fitted.items()},
            scores={name: one.predict_proba(rows)[:, positive] for name, one in fitted.items()},
            positive=names[positive],
            random_state=self.random_state,
        )

    def algorithms(self) -> Result:
        """Return classifiers as algorithms on instances, by the probability of the true class."""
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
        """Return difficulty predicted from features."""
        features = self.dataset.features.iloc[self.split.test]
        known = informative(self.calibration) & upright_items(self.calibration)
        difficulty = self.calibration.items["difficulty"].clip(-FARTHEST, FARTHEST)
        return evaluate_difficulty(
            features.set_axis(list(self.calibration.item_names)).loc[known],
            difficulty.loc[known].to_frame(),
            regressors=["knn", "rf"],
            cv=3,
            n_resamples=1,
            random_state=self.random_state,
        )

    @property
    def left_out(self) -> str:
        """Which items have no difficulty to predict."""
        out = (~(informative(self.calibration) & upright_items(self.calibration))).sum()
        if not out:
            return ""
        return (
            f" Left out: {counted(int(out), 'item')} that all or none got right, or of negative "
            "discrimination, for which difficulty means the opposite."
        )

    def capability(self) -> Result:
        """Return up to what difficulty a classifier can be trusted."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        return measure_capability(
            make_pipeline(StandardScaler(), LogisticRegression()),
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
        """A page shows one figure of each study; the page of a single study shows all."""
        return True


def tour(many: Stop, two: Stop) -> Tour:
    """Ask every question: `many` is a data set of several classes, `two` one of two classes."""
    whole = many.answered
    alone = f"Respondents: {_evaluated(many.responses)}, on a scale of their own."
    pool = f"Respondents: {many.members}."
    scale = "The scale of the items, also that of the item explorer, has"
    of_many: dict[str, tuple[Callable[[], Result], str]] = {
        "Leaderboard": (lambda: leaderboard(many.responses), alone),
        "Item health": (lambda: item_health(whole, many.calibration), pool),
        "Short benchmark": (lambda: shorten(whole, SHORT, cv=FOLDS), pool),
        "Adaptive evaluation": (
            lambda: replay_adaptively(whole, sizes=BUDGETS, cv=FOLDS),
            f"{pool} {SAME_FORM}",
        ),
        "Portfolio": (many.algorithms, f"{ANEW} {AS_ALGORITHMS}"),
        "Predicted difficulty": (
            many.difficulty,
            f"{scale} {many.members} as respondents.{many.left_out}",
        ),
    }
    of_two: dict[str, tuple[Callable[[], Result], str]] = {
        "Confusion matrix": (two.confusion, f"{scale} {two.members} as respondents. {ANEW}"),
        "Capability": (two.capability, BY_FEATURES),
    }
    return Tour(
        *gathered(
            {
                f"{title}: {stop.dataset.name}": partial(_with_note, work, note)
                for stop, works in ((many, of_many), (two, of_two))
                for title, (work, note) in works.items()
            }
        )
    )


def said_of_pool(answered: Responses, evaluated: Responses) -> str:
    """Return the respondents of the scale: the evaluated classifiers, and perceptrons."""
    n_more = len(set(answered.respondents) - set(evaluated.respondents))
    more = f" and {counted(n_more, 'MLP')} trained for 1 to 121 iterations" if n_more else ""
    return f"{_evaluated(evaluated)}{more}"


def _evaluated(evaluated: Responses) -> str:
    return counted(int((~are_marks(evaluated.respondents)).sum()), "classifier")


def _with_note(work: Callable[[], Result], note: str) -> Result:
    """Return the result with a note on its respondents before its own notes."""
    result: Any = work()
    with_note: Result = replace(result, notes=(note, *result.notes))
    return with_note


NAMES = ("iris", "wine", "breast_cancer", "digits", "moons", "circles", "blobs")
MISLABELLED, N_MISLABELLED = "digits", 12
TWO_CLASSES = "breast_cancer"
POOL = "paper"


@dataclass(frozen=True, eq=False)
class Demonstration:
    """A decoded benchmark, and the instances whose labels were changed beforehand."""

    decoding: BenchmarkDecoding
    changed: tuple[str, ...]
    datasets: Mapping[str, Dataset]

    @property
    def suspects(self) -> pd.DataFrame:
        """Suspects of the data set with changed labels; `changed` says which those are."""
        every = self.decoding.suspects
        own = every[every["dataset"] == MISLABELLED].set_index("item")
        columns = ["evidence", "share_right_strong", "share_right_weak"]
        return own[columns].assign(changed=own.index.isin(list(self.changed)))

    def tour(self) -> Tour:
        """Run every other study on the data set with changed labels or one of two classes."""
        return tour(self._stop(MISLABELLED), self._stop(TWO_CLASSES))

    def _stop(self, name: str) -> Stop:
        decoding = self.decoding
        return Stop(self.datasets[name], decoding.calibrations[name], decoding.responses[name])

    @property
    def meaning(self) -> str:
        """How many of the changed labels were found."""
        changed = self.suspects["changed"]
        keys = label_trouble(self.decoding.calibrations[MISLABELLED]).to_frame()["suspect"]
        by_answers = keys.index[keys].isin(list(self.changed))
        return (
            f"{len(self.changed)} labels of {MISLABELLED} were changed on purpose; "
            f"{changed.sum()} of them are among its {len(changed)} suspects by class "
            "probabilities, "
            f"and {by_answers.sum()} among its {by_answers.size} suspect keys "
            "by right and wrong answers alone, as in item health."
        )

    def section(self) -> Section:
        """Return the labels that were changed: a reader of the page should know the answer."""
        return Section(
            title="Labels changed on purpose",
            about="Which of the suspects have a label that was changed beforehand.",
            sentences=(self.meaning,),
            tables=(("suspects", self.suspects),),
            part="items",
            headline=self.meaning,
            scale=MISLABELLED,
        )


def demonstrate(
    folder: PathLike | None = None,
    *,
    n_jobs: int = -1,
    random_state: int = 0,
    progress: Progress | bool = True,
) -> Demonstration:
    """Decode the data sets, after some labels were changed."""
    datasets = {one.name: one for one in load_datasets([f"sklearn:{name}" for name in NAMES])}
    datasets[MISLABELLED], changed = mislabelled(datasets[MISLABELLED], random_state)
    decoding = decode_benchmark(
        datasets,
        POOL,
        cv=0,  # cross-validation would take ten times as long
        folder=folder,
        n_jobs=n_jobs,
        random_state=random_state,
        progress=progress,
    )
    one = next(iter(decoding.calibrations))
    whole = decoding.calibrations[one].responses
    assert whole is not None  # noqa: S101 - it was made here, not loaded
    members = said_of_pool(whole, decoding.responses[one])
    note = (
        f"The scale of each data set, also in the item explorer, has {members} as respondents; "
        "the classifiers and the artificial respondents are evaluated on it."
    )
    return Demonstration(replace(decoding, notes=(note, *decoding.notes)), changed, datasets)


def mislabelled(dataset: Dataset, random_state: int) -> tuple[Dataset, tuple[str, ...]]:
    """Return the data set with some labels of its test part changed, and these instances."""
    random = np.random.default_rng(random_state)
    test = split_dataset(dataset, random_state=random_state).test
    rows = np.sort(random.choice(test, N_MISLABELLED, replace=False))
    target = dataset.target.copy()
    for row in rows:
        others = target.unique()[target.unique() != target.iloc[row]]
        target.iloc[row] = others[random.integers(len(others))]
    words = f"{dataset.source}; {N_MISLABELLED} labels changed"
    changed = replace(dataset, target=target, test=test, source=words)
    return changed, tuple(row_name(row) for row in rows)
