"""A few respondents and many times as many items."""

import numpy as np

from ogive import EM, calibrate, simulate
from ogive.irt.models import MODELS
from ogive.stats.special_functions import sigmoid_pair


def drawn(n_respondents, n_items, seed=0):
    random = np.random.default_rng(seed)
    ability = np.linspace(-1.2, 1.2, n_respondents)
    chance = sigmoid_pair(ability[:, None] - random.normal(size=n_items))[0]
    return (random.random(chance.shape) < chance).astype(float), ability


def test_the_climb_ends_and_respondents_keep_their_order(subtests):
    # Such fits went round in circles for all of their 200 iterations: 65 s for 3 x 4,000.
    for n_respondents, n_items, model in ((3, 400, "2pl"), (2, 300, "3pl"), (6, 400, "2pl")):
        with subtests.test(f"{n_respondents} x {n_items}, {model}"):
            cells, ability = drawn(n_respondents, n_items)
            found = calibrate(cells, model)
            place = found.abilities()["ability"].to_numpy()
            assert found.converged
            assert found.iterations < 100
            assert np.corrcoef(place, ability)[0, 1] > 0.8
            assert abs(place.mean()) < 0.1
            assert abs(place.std() - 1) < 0.1
            assert any("too few to tell how abilities are spread" in note for note in found.notes)


def test_items_with_the_same_responses_get_the_same_curve():
    cells, _ = drawn(3, 400)
    items = calibrate(cells, "2pl").items
    pattern = cells.T @ [1, 2, 4]
    spread = items.groupby(pattern)[["discrimination", "difficulty"]].agg(np.ptp)
    assert (spread.to_numpy() < 1e-6 * (1 + items["difficulty"].abs().max())).all()


def test_the_fit_is_a_maximum_of_likelihood_and_priors():
    """Moving any item a little, on the scale on which it was found, gains nothing."""
    cells, _ = drawn(3, 160)
    found = calibrate(cells, "2pl", engine=EM(tolerance=1e-9))
    unit, shift = 1 / found.population.sd, -found.population.mean / found.population.sd
    items = found.items.iloc[:3]
    slope = items["discrimination"].to_numpy() / unit
    place = items["difficulty"].to_numpy() * unit + shift
    rest = found.items.iloc[3:]
    theta = np.linspace(-9, 9, 1201)

    def height(slope, place):
        a = np.concatenate([slope, rest["discrimination"] / unit])
        b = np.concatenate([place, rest["difficulty"] * unit + shift])
        z = a[:, None] * (theta - b[:, None])
        log_chances = cells @ -np.logaddexp(0, -z) + (1 - cells) @ -np.logaddexp(0, z)
        joint = log_chances - 0.5 * theta**2
        top = joint.max(axis=1, keepdims=True)
        likelihood = (top[:, 0] + np.log(np.exp(joint - top).sum(axis=1))).sum()
        return likelihood - 0.5 * (slope**2 / 9 + (slope * place) ** 2 / 25).sum()

    best = height(slope, place)
    for k in range(3):
        for step in (-0.02, 0.02):
            aside = np.eye(3)[k] * step
            assert height(slope + aside, place * slope / (slope + aside)) < best
            assert height(slope, place + aside) < best


def test_ordinary_tables_are_not_concerned():
    model = MODELS["2pl"]()
    for shape in ((30, 100), (40, 2_100)):
        answers = simulate(model, *shape, random_state=0).responses
        notes = calibrate(answers, "2pl", engine=EM(max_iterations=3)).notes
        assert not any("how abilities are spread" in note for note in notes)


def test_scores_of_a_few_do_not_climb_for_long_and_the_note_says_why():
    scores = simulate("beta", 3, 40, random_state=3).responses  # took 200 iterations and 2.5 s
    cal = calibrate(scores, "beta")
    assert cal.iterations <= 41
    (said,) = (note for note in cal.notes if "Not converged" in note)
    assert "fewer than 10 respondents" in said
    assert "max_iterations" not in said
    assert calibrate(scores, "beta", max_iterations=3).iterations == 3


def test_scores_of_five_still_converge():
    assert calibrate(simulate("beta", 5, 40, random_state=3).responses, "beta").converged
