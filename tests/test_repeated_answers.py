"""Every study takes repeated answers, or says that it needs single ones."""

import numpy as np
import pytest
from scipy.special import expit

import ogive as og
from ogive.errors import InputError


@pytest.fixture(scope="module")
def repeated():
    random = np.random.default_rng(0)
    chance = expit(random.standard_normal((40, 1)) - random.standard_normal(24))
    table = og.Responses(random.binomial(4, chance) / 4, tries=4)
    facts = {"task": ["a"] * 12 + ["b"] * 12}
    return table.described(items=facts, respondents={"kind": ["x", "y"] * 20})


TAKE = {
    "leaderboard": og.leaderboard,
    "item_health": og.item_health,
    "task_scales": og.task_scales,
    "differential": lambda table: og.differential(table, "kind"),
    "link": lambda table: og.link(og.calibrate(table, "2pl"), table),
    "local_dependence": lambda table: og.local_dependence(og.calibrate(table)),
    "reliability": lambda table: og.reliability(og.calibrate(table)),
    "resample": lambda table: og.resample(
        og.calibrate(table), lambda each: each.coords[:, 0], n_resamples=10, progress=False
    ),
}
NEED_SINGLE = {
    "item_fit": lambda table: og.item_fit(og.calibrate(table)),
    "respondent_fit": lambda table: og.respondent_fit(og.calibrate(table)),
    "model_fit": lambda table: og.model_fit(og.calibrate(table)),
}


def test_studies_take_repeated_answers(repeated, subtests):
    for name, study in TAKE.items():
        with subtests.test(name):
            assert study(repeated).meaning


def test_studies_of_single_answers_say_so(repeated, subtests):
    for name, study in NEED_SINGLE.items():
        with subtests.test(name), pytest.raises(InputError, match="needs one answer per cell"):
            study(repeated)


def test_a_short_form_scores_repeated_answers_to_some_of_its_items(repeated):
    short = og.shorten(repeated, 6, cv=2, progress=False)
    some = repeated.select(items=list(short.items[:4]))
    assert short.predict(some)["n_items"].tolist() == [4] * 40
