import numpy as np
import pandas as pd
import pytest

from ogive.capability.cases import case_table
from ogive.capability.classifier import CLASSIFIERS, UNSAVED, named_classifier
from ogive.data.saved_estimators import packed
from ogive.errors import InputError


@pytest.fixture(scope="module")
def cases():
    """Numbers with a gap, and a category of three."""
    random = np.random.default_rng(0)
    health = random.normal(size=120)
    frame = pd.DataFrame(health[:, None] + 0.5 * random.normal(size=(120, 2)), columns=["a", "b"])
    frame["c"] = np.array(["low", "mid", "high"])[np.digitize(health, [-0.5, 0.5])]
    frame.loc[3, ["a", "c"]] = np.nan
    return case_table(frame), np.where(health > 0, "ill", "well")


@pytest.mark.slow
def test_every_one_learns_from_gaps_and_categories_and_most_can_be_saved(subtests, cases):
    for name in CLASSIFIERS:
        with subtests.test(name=name):
            table, labels = cases
            model = named_classifier(name, table.plan).fit(table.features, labels)
            assert model.score(table.features, labels) > 0.8
            if name in UNSAVED:
                with pytest.raises(InputError, match="cannot be saved"):
                    packed(model, "model")
            else:
                assert packed(model, "model")


def test_the_same_seed_makes_the_same_classifier(cases):
    table, labels = cases
    one, same, other = (
        named_classifier("bagging", table.plan, seed).fit(table.features, labels)
        for seed in (1, 1, 2)
    )
    chances = [model.predict_proba(table.features)[:, 0] for model in (one, same, other)]
    assert (chances[0] == chances[1]).all()
    assert (chances[0] != chances[2]).any()


def test_an_unknown_name_is_refused_with_the_nearest(cases):
    with pytest.raises(InputError, match="Did you mean 'random-forest'"):
        named_classifier("randomforest", cases[0].plan)
