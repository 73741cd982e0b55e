"""The demonstration: sixty classifiers read handwritten digits, some of them wrongly labelled.

An item with a wrong label is one that good classifiers miss more often than bad ones, or that all
of them miss. The demonstration changes a few labels on purpose and sees whether it finds them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.calibration import Calibration
from itemwise.estimation import calibrate
from itemwise.files import write_bytes
from itemwise.responses import Responses

if TYPE_CHECKING:
    import pandas as pd

N_ITEMS = 300
N_MISLABELLED = 12
N_CURVES = 6
SUSPICIOUS = ("negative discrimination", "all wrong")
# Few rows make weak classifiers: a scale needs both ends.
TRAINING_ROWS = (20, 40, 80, 160, 400, 1400)
N_FAMILIES = 10
N_CLASSIFIERS = N_FAMILIES * len(TRAINING_ROWS)

Report = Callable[[int, str], None]


@dataclass(frozen=True)
class Digits:
    """Which classifier read which digit rightly, and which labels were changed beforehand."""

    responses: Responses
    mislabelled: tuple[str, ...]


def classify_digits(report: Report = lambda _done, _name: None, random_state: int = 0) -> Digits:
    """Train every family on every number of rows, and let each read the same digits."""
    from sklearn.datasets import load_digits

    random = np.random.default_rng(random_state)
    pictures, labels = load_digits(return_X_y=True)
    pictures = pictures / 16
    order = random.permutation(len(labels))
    asked, rest = order[:N_ITEMS], order[N_ITEMS:]
    predictions = {}
    for n_rows in TRAINING_ROWS:
        for name, classifier in _families().items():
            rows = random.choice(rest, n_rows, replace=False)
            classifier.fit(pictures[rows], labels[rows])
            predictions[f"{name} ({n_rows})"] = classifier.predict(pictures[asked])
            report(len(predictions), name)

    truth, changed = labels[asked], random.choice(N_ITEMS, N_MISLABELLED, replace=False)
    truth[changed] = (truth[changed] + random.integers(1, 10, N_MISLABELLED)) % 10
    # The name says which picture of the collection it is, and the label it was given.
    names = [f"digit_{picture}_as_{label}" for picture, label in zip(asked, truth, strict=True)]
    return Digits(
        Responses.from_predictions(truth, predictions, items=names),
        tuple(names[k] for k in sorted(changed)),
    )


@dataclass(frozen=True, eq=False)
class Reading:
    """What the calibration says of the digits and of those who read them."""

    digits: Digits
    calibration: Calibration

    @cached_property
    def hardest(self) -> pd.DataFrame:
        """Items without a flag, beginning with those that the average classifier misses."""
        items = self.calibration.items
        average = [self.calibration.population.mean]
        shown = items.assign(chance=self.calibration.probability(average).iloc[0])
        columns = ["chance", "difficulty", "difficulty_se", "discrimination", "discrimination_se"]
        return shown.loc[items["flag"] == "", columns].sort_values("chance")

    @cached_property
    def suspects(self) -> pd.DataFrame:
        """Items of negative discrimination, or that nobody got right; steepest first.

        `changed` says whether the label was changed on purpose.
        """
        items = self.calibration.items
        doubtful = items["flag"].str.contains("|".join(SUSPICIOUS))
        columns = ["discrimination", "discrimination_se", "flag", "changed"]
        shown = items.assign(changed=items.index.isin(list(self.digits.mislabelled)))
        return shown.loc[doubtful, columns].sort_values("discrimination", kind="stable")

    def count(self, flag: str) -> tuple[int, int]:
        """How many suspects have this flag, and how many of their labels were changed."""
        rows = self.suspects[self.suspects["flag"].str.contains(flag)]
        return len(rows), int(rows["changed"].sum())

    @cached_property
    def ranking(self) -> pd.DataFrame:
        """Classifiers, best first, with their share of right responses and a 95% interval."""
        scored = self.calibration.abilities()
        reach = 1.96 * scored["se"]
        frame = scored[["ability", "se"]].assign(
            low=scored["ability"] - reach,
            high=scored["ability"] + reach,
            accuracy=np.nanmean(self.digits.responses.values, axis=1),
        )
        return frame.sort_values("ability", ascending=False, kind="stable")

    def write(self, folder: Path) -> list[Path]:
        """Item bank, tables and figures; the paths of all files."""
        from itemwise.displays import DISPLAYS

        steep = self.suspects.index[: N_CURVES // 2]
        curves = self.calibration.curves([*self.hardest.index[: N_CURVES - len(steep)], *steep])
        tables = {
            "responses.csv": self.digits.responses.to_frame().astype(int),
            "items.csv": self.calibration.items,
            "abilities.csv": self.ranking,
        }
        figures = {
            "item_map.png": self.calibration.plot(),
            "curves.png": curves.plot(),
            "information.png": self.calibration.test_information().plot(),
            "ranking.png": DISPLAYS["ranking"](self.ranking).plot(),
        }
        bank = self.calibration.save(folder / "bank.json")
        for name, frame in tables.items():
            write_bytes(folder / name, frame.to_csv(lineterminator="\n").encode())
        for name, figure in figures.items():
            figure.save(folder / name)
        return [bank, *(folder / name for name in (*tables, *figures))]


def calibrate_digits(digits: Digits, model: str = "2pl") -> Reading:
    """Put digits and classifiers on one scale."""
    return Reading(digits, calibrate(digits.responses, model))


def _families() -> dict[str, Any]:
    """Untrained classifiers of many kinds, by name."""
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression, RidgeClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    return {
        "short tree": DecisionTreeClassifier(max_depth=3, random_state=0),
        "tree": DecisionTreeClassifier(random_state=0),
        "forest": RandomForestClassifier(60, random_state=0),
        "extra trees": ExtraTreesClassifier(60, random_state=0),
        "1 neighbour": KNeighborsClassifier(1),
        "7 neighbours": KNeighborsClassifier(7),
        "normal Bayes": GaussianNB(var_smoothing=1e-3),
        "logistic": LogisticRegression(max_iter=2000),
        "ridge": RidgeClassifier(),
        "support vectors": SVC(),
    }
