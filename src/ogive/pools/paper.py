"""The three sets of classifiers of decodIRT: perceptrons that calibrate, real, and artificial ones.

The real classifiers have scikit-learn's defaults where their name contains no number. The paper
describes its perceptrons as ever deeper, but its authors' program trains the default perceptron
ever longer, and the published responses show just that: after one pass they are near chance, and
from then on they rise. So `perceptrons` are trained longer, in the steps of that program, and
`deep_perceptrons` are what the text says: 1, 2, ... 120 hidden layers, which hardly learn.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ogive.errors import InputError
from ogive.pools.members import Member, Part, member_of
from ogive.responses.artificial_respondents import OPTIMAL, PESSIMAL, is_artificial
from ogive.words import counted

if TYPE_CHECKING:
    from ogive.numerics.arrays import Floats

N_PERCEPTRONS = 120
STEP = 10  # perceptrons per length of training, and additional passes of the next ones
UNITS = 100  # per hidden layer, as in scikit-learn's default perceptron
N_RANDOM = 3

Codes = NDArray[np.int64]


def perceptrons(count: int = N_PERCEPTRONS) -> tuple[Member, ...]:
    """Multilayer perceptrons, each trained from its own start: 1 pass, then 11, 21, ... 121."""
    makers = {place: Perceptron(1 + STEP * (place // STEP)) for place in range(1, count + 1)}
    return tuple(
        Member(
            f"MLP {place} ({counted(maker.passes, 'iteration')})", maker, repr(maker), prepared=True
        )
        for place, maker in makers.items()
    )


@dataclass(frozen=True)
class Perceptron:
    """Makes scikit-learn's default perceptron, trained for a number of passes."""

    passes: int

    def __call__(self, _split: Part, seed: int) -> Unfinished:
        """A perceptron that is not trained yet."""
        from sklearn.neural_network import MLPClassifier

        return Unfinished(MLPClassifier(max_iter=self.passes, random_state=seed))


@dataclass(frozen=True, eq=False)
class Unfinished:
    """A classifier whose training ends early on purpose, and which does not warn about it."""

    classifier: Any

    def fit(self, X: Any, y: Any) -> Unfinished:
        """Train it for its number of passes."""
        from sklearn.exceptions import ConvergenceWarning

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.classifier.fit(X, y)
        return self

    def predict(self, X: Any) -> Codes:
        """Predict with what it has learned so far."""
        codes: Codes = self.classifier.predict(X)
        return codes


def deep_perceptrons(deepest: int = N_PERCEPTRONS) -> tuple[Member, ...]:
    """Multilayer perceptrons of 1, 2, ... `deepest` hidden layers of the default width."""
    from sklearn.neural_network import MLPClassifier

    return tuple(
        member_of(
            f"MLP ({counted(depth, 'layer')})", MLPClassifier((UNITS,) * depth), prepared=True
        )
        for depth in range(1, deepest + 1)
    )


def real_classifiers() -> tuple[Member, ...]:
    """Twelve classifiers of six families."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.naive_bayes import BernoulliNB, GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    classifiers: dict[str, Any] = {
        "Gaussian naive Bayes": GaussianNB(),
        "Bernoulli naive Bayes": BernoulliNB(),
        **{f"{k} nearest neighbours": KNeighborsClassifier(k) for k in (2, 3, 5, 8)},
        "decision tree": DecisionTreeClassifier(),
        **{f"random forest ({n} trees)": RandomForestClassifier(n) for n in (3, 5)},
        "random forest": RandomForestClassifier(),
        "SVM": SVC(),
        "MLP": MLPClassifier(),
    }
    return tuple(
        member_of(name, classifier, prepared=True) for name, classifier in classifiers.items()
    )


def artificial_classifiers() -> tuple[Member, ...]:
    """The two ends of the scale, and guessing; none of them learns."""
    rules: dict[str, Callable[[Part, int], Codes]] = {
        OPTIMAL: _optimal,
        PESSIMAL: _pessimal,
        "majority": _majority,
        "minority": _minority,
        **{f"random {n}": _random for n in range(1, N_RANDOM + 1)},
    }
    return tuple(Member(name, Artificial(rule), rule.__name__) for name, rule in rules.items())


@dataclass(frozen=True)
class Artificial:
    """Makes a predictor whose answers are fixed in advance."""

    rule: Callable[[Part, int], Codes]

    def __call__(self, split: Part, seed: int) -> Prepared:
        """Apply the rule to the test part of the split."""
        return Prepared(self.rule(split, seed))


@dataclass(frozen=True, eq=False)
class Prepared:
    """Answers fixed in advance."""

    answers: Codes

    def fit(self, X: Any, y: Any) -> Prepared:  # noqa: ARG002
        """Learn nothing."""
        return self

    def predict(self, X: Any) -> Codes:  # noqa: ARG002
        """Return the fixed answers."""
        return self.answers


def _optimal(split: Part, _seed: int) -> Codes:
    return np.array(split.y_test, dtype=np.int64)


def _pessimal(split: Part, _seed: int) -> Codes:
    if len(split.classes) < 2:
        raise InputError("There is only one class, so no answer can be wrong.")
    return (_optimal(split, 0) + 1) % len(split.classes)


def _majority(split: Part, _seed: int) -> Codes:
    return np.full(len(split.y_test), np.bincount(split.y_train).argmax())


def _minority(split: Part, _seed: int) -> Codes:
    codes, counts = np.unique(split.y_train, return_counts=True)
    return np.full(len(split.y_test), codes[counts.argmin()])


def _random(split: Part, seed: int) -> Codes:
    return np.random.default_rng(seed).integers(len(split.classes), size=len(split.y_test))


def misplaced(names: Sequence[str], strength: Floats) -> tuple[str, ...] | None:
    """Artificial respondents that are not where they should be; None if there are none at all.

    No respondent should rank above "optimal" or below "pessimal", and every real respondent should
    rank above those that guess: majority, minority and the random ones.
    """
    artificial = is_artificial(names)
    if not artificial.any():
        return None
    weakest = strength[~artificial].min(initial=np.inf)
    wrong = {
        OPTIMAL: strength < strength.max(),
        PESSIMAL: strength > strength.min(),
    }
    return tuple(
        name
        for k, name in enumerate(names)
        if artificial[k] and (wrong[name][k] if name in wrong else strength[k] >= weakest)
    )
