"""Published response tables of decodIRT (2020): 132 classifiers × up to 500 test instances.

Items there were found by R ltm, abilities by catsim. Several of the published scales are upside
down as a whole.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from ogive import Responses, ThreePL, calibrate, decode_responses
from ogive.irt.abilities import score_abilities
from ogive.irt.encoded_responses import encode
from ogive.irt.estimation.alternative_engines import staged_abilities
from ogive.irt.expected_scores import true_scores
from ogive.irt.quadrature import NormalPopulation, Posterior, plan_nodes

NAMES = [
    *("Bioresponse", "MiceProtein", "analcatdata_dmft", "blood-transfusion-service-center"),
    *("churn", "cnae-9", "cylinder-bands", "dresses-sales", "ilpd", "jm1", "kr-vs-kp"),
    *("mfeat-factors", "mfeat-morphological", "optdigits", "pc3", "qsar-biodeg", "semeion"),
    *("splice", "tic-tac-toe", "wall-robot-navigation"),
]
ENGLISH = {"otimo": "optimal", "pessimo": "pessimal"}
# Maximum likelihood takes seconds a table; the quick ones stand for all, `make test-all` asks all.
QUICK = ("analcatdata_dmft",)
PARAMETERS = ["discrimination", "difficulty", "guessing"]


@pytest.fixture
def folder(shared):
    return lambda name: shared / "data" / "decodirt" / "benchmarking" / name


def table_of(folder, ending):
    frame = pd.read_csv(next(folder.glob(f"{folder.name}{ending}.csv*")))
    return frame[[name for name in frame if name.startswith("V")]]


def judged(folder):
    frame = table_of(folder, "")
    names = pd.read_csv(folder / "theta_list.csv")["Clf"]
    return frame.set_axis([ENGLISH.get(name, name) for name in names])


def published_items(folder):
    items = pd.read_csv(next(folder.glob("irt_item_param.csv*")), index_col=0)
    return items.set_axis(PARAMETERS, axis=1)


def coords_of(items):
    return ThreePL().from_parameters({name: items[name].to_numpy() for name in PARAMETERS})


def marginal_log_likelihood(items, responses):
    """Under a standard normal population, whoever found the items."""
    model, coords = ThreePL(), coords_of(items)
    nodes = plan_nodes(model, coords)
    data = encode(responses.cells, model)
    _, value = Posterior(model.log_terms(coords, nodes.coarse), nodes)(data.block(slice(None)))
    return float(data.weights @ value)


PARTS = pytest.mark.parametrize(
    "names",
    [QUICK, pytest.param(sorted(set(NAMES) - set(QUICK)), marks=pytest.mark.slow)],
    ids=["quick", "slow"],
)


@PARTS
def test_every_table_converges_with_the_optimal_classifier_above_the_pessimal(
    folder, names, subtests
):
    for name in names:
        with subtests.test(name):
            decoding = decode_responses(
                {name: table_of(folder(name), "_irt")}, {name: judged(folder(name))}
            )
            assert decoding.datasets["converged"].all()
            score = decoding.classifiers.set_index("respondent")["true_score_positive"]
            assert score["optimal"] > score["pessimal"]


@PARTS
def test_maximum_likelihood_explains_every_table_at_least_as_well_as_the_published_items(
    folder, names, subtests
):
    for name in names:
        with subtests.test(name):
            table, published = table_of(folder(name), "_irt"), published_items(folder(name))
            known = [item for item in table if item in published.index]
            assert len(known) >= 150
            part = Responses.from_frame(table[known])
            # On the way is far enough.
            ours = calibrate(part, "3pl", priors=None, max_iterations=60)
            theirs = marginal_log_likelihood(published.loc[known], part)
            assert marginal_log_likelihood(ours.items, part) >= theirs


def true_scores_follow(folder, kept, least):
    items = published_items(folder)
    items = items[items["discrimination"] > least]
    ability = pd.read_csv(folder / "theta_list.csv", index_col=0)["Theta"]
    printed = pd.read_csv(folder / f"{kept}.csv", index_col=0)["Score"]
    theta = np.nan_to_num(ability.reindex(printed.index).to_numpy(), neginf=-1e6)
    found = true_scores(ThreePL(), coords_of(items), theta, np.zeros(theta.size))
    np.testing.assert_allclose(found.total, printed, atol=1e-4)


@pytest.mark.slow
def test_published_true_scores_and_half_of_the_abilities_follow(folder, subtests):
    """Half: the other abilities hang on where the published search began or ended, because their
    likelihood has no single maximum in the last group of items."""
    for name in NAMES:
        for kept, least in [("score_total", -np.inf), ("score_disPositivo", 0.0)]:
            with subtests.test(name, kept=kept):
                true_scores_follow(folder(name), kept, least)
    same = total = 0
    for name in NAMES:
        items, responses = published_items(folder(name)), judged(folder(name))
        cells = responses[list(items.index)].to_numpy(np.int8)
        found = staged_abilities(cells, ThreePL(), coords_of(items)).ability
        printed = pd.read_csv(folder(name) / "theta_list.csv")["Theta"].to_numpy()
        same += int((np.abs(found - printed) < 0.02 * (1 + np.abs(found))).sum())
        total += found.size
    assert total == 380
    assert same >= 185


def test_the_worked_example_of_the_paper():
    """Tables 1 to 3 of the paper: true scores at the maximum of the likelihood."""
    cells = np.array(
        [[1, 0, 0, 1, 1], [0, 0, 1, 1, 0], [1, 1, 0, 1, 0], [0, 0, 1, 1, 1], [1, 0, 1, 0, 0]],
        dtype=np.int8,
    )
    items = pd.DataFrame(
        {
            "discrimination": [1.199, 1.319, 0.760, 1.462, 1.552],
            "difficulty": [-0.899, 0.255, -1.054, -0.809, -0.156],
            "guessing": [0.242, 0.262, 0.241, 0.274, 0.275],
        }
    )
    printed = [3.457, 2.214, 3.169, 3.063, 2.206]
    model, coords = ThreePL(), coords_of(items)
    data = encode(cells, model, collapsing=False)
    found = score_abilities(data, model, coords, NormalPopulation(), "ml")
    scores = true_scores(model, coords, found.ability, found.se).total
    np.testing.assert_allclose(scores[:4], printed[:4], atol=1e-3)
    # Individual 5 is printed with 2.206; the maximum of its likelihood lies a little lower.
    assert scores[4] == pytest.approx(2.180, abs=5e-4)
    grid = np.linspace(-3, 1, 4001)
    chance = items["guessing"].to_numpy()[:, None] + (1 - items["guessing"].to_numpy()[:, None]) * (
        expit(
            items["discrimination"].to_numpy()[:, None] * (grid - items[["difficulty"]].to_numpy())
        )
    )
    likelihood = np.where(cells[4][:, None] == 1, np.log(chance), np.log(1 - chance)).sum(axis=0)
    assert grid[likelihood.argmax()] == pytest.approx(found.ability[4], abs=1e-3)
    assert scores.argmax() == 0
