"""Facts of items that explain difficulty."""

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.errors import InputError
from ogive.irt import latent_regression as explained_items
from ogive.irt.latent_regression import explain_items_of, usable_items


def drawn(n=200, n_items=60, seed=0, model="1pl", missing=0.0):
    """Difficulty is 0.5 a unit of length and 0.4 more if law, with a scatter of 0.6."""
    random = np.random.default_rng(seed)
    length = random.exponential(1.0, n_items)
    subject = random.choice(["sums", "sums", "law"], n_items)
    hard = 0.5 * (length - 1) + 0.4 * (subject == "law") + random.normal(0, 0.6, n_items)
    slope = np.exp(random.normal(0, 0.3, n_items)) if model == "2pl" else np.full(n_items, 1.3)
    items = {"difficulty": hard, "discrimination": slope}
    ability = random.normal(0, 1, n)
    table = og.simulate(
        model, abilities=ability, items=items, missing=missing, random_state=seed
    ).responses
    facts = {"length": length, "subject": list(subject), "same": [1.0] * n_items}
    return table.described(items=facts), ability.std()


@pytest.fixture(scope="module")
def found():
    return og.explain_items(drawn()[0], ["length", "subject"], progress=False)


def test_coefficients_lie_near_the_truth_in_units_of_the_respondents(found):
    unit = drawn()[1]
    for name, truth in {"length": 0.5, "subject: law": 0.4}.items():
        row = found.coefficients.loc[name]
        assert abs(row["coefficient"] - truth / unit) < 3 * row["se"]
        assert row["low"] < row["coefficient"] < row["high"]
    assert found.residual_sd == pytest.approx(0.6 / unit, abs=0.15)
    assert found.r2_interval[0] < found.r2 < found.r2_interval[1]
    assert found.meaning.startswith("With one unit more of length, difficulty is ")


def test_with_normal_likelihoods_it_is_generalised_least_squares(monkeypatch):
    """By hand: weights 1 / (τ² + se²), and τ² at the top of the restricted likelihood."""
    table, _ = drawn(400, 30)
    monkeypatch.setattr(explained_items, "MANY", 0)
    monkeypatch.setattr(explained_items, "CERTAIN", np.inf)
    bank = og.calibrate(table, "1pl", progress=False)
    matrix = np.stack([np.ones(30), table.item_facts["length"]], axis=1)
    used = usable_items(bank)
    got = explain_items_of(bank, table, matrix, used)
    y, error, _ = explained_items._difficulties(bank, np.arange(30))

    def least_squares(tau):
        weights = 1 / (tau**2 + error**2)
        information = matrix.T @ (weights[:, None] * matrix)
        beta = np.linalg.solve(information, matrix.T @ (weights * y))
        left = weights * (y - matrix @ beta) ** 2
        loss = left.sum() - np.log(weights).sum() + np.linalg.slogdet(information)[1]
        return loss, beta, information

    taus = np.linspace(0.3, 1.2, 901)
    tau = taus[int(np.argmin([least_squares(each)[0] for each in taus]))]
    assert got.sd == pytest.approx(tau, abs=2e-3)
    _, beta, information = least_squares(got.sd)
    np.testing.assert_allclose(got.coefficients, beta, atol=1e-4)
    of_items = np.sqrt(np.diag(np.linalg.inv(information)))
    assert (np.sqrt(np.diag(got.covariance)) >= of_items * (1 - 1e-4)).all()


def test_an_item_that_was_never_asked_is_predicted_with_a_band(found):
    new = pd.DataFrame({"length": [1.0, 9.0], "subject": ["sums", "law"]}, index=["near", "far"])
    band = found.predict(new)
    width = band["high"] - band["low"]
    assert width["far"] > width["near"] > 2 * 1.9 * found.residual_sd
    with pytest.raises(InputError, match="facts lacks subject"):
        found.predict(new[["length"]])


def test_it_draws_the_line_with_its_band(found):
    texts = [
        text.get_text() for text in found.plot().figure_.findobj(lambda o: hasattr(o, "get_text"))
    ]
    assert any("where an item that was never asked is expected" in text for text in texts)


def test_few_respondents_do_not_shrink_the_slope():
    """Fifteen respondents: items that all solve say only that they are easy."""
    ratios = []
    for seed in range(8):
        table, unit = drawn(15, 80, seed)
        found = og.explain_items(table, ["length", "subject"], progress=False)
        ratios.append(found.coefficients.loc["length", "coefficient"] * unit / 0.5)
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.15)


BAD = {
    "unknown": (["size"], "no fact 'size' of the items; known facts: length"),
    "constant": (["length", "same"], "same is 1 for all items"),
    "collinear": (["length", "twice"], "length and twice tell the same"),
    "missing": (["hole"], "hole is not known of 1 item"),
}


def test_facts_that_explain_nothing_are_refused_in_a_sentence(subtests):
    table, _ = drawn(40, 20)
    length = table.item_facts["length"].to_numpy()
    table = table.described(items={"twice": 2 * length + 1, "hole": [None, *length[1:]]})
    for name, (facts, sentence) in BAD.items():
        with subtests.test(name), pytest.raises(InputError, match=sentence):
            og.explain_items(table, facts, progress=False)
    with pytest.raises(InputError, match="9 items, but 1 columns of facts take 10 or more"):
        og.explain_items(table.select(items=range(9)), ["length"], progress=False)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "n_items", "model"), [(15, 60, "1pl"), (150, 20, "2pl")])
def test_intervals_of_the_slope_cover_the_truth(n, n_items, model):
    inside = []
    for seed in range(60):
        table, unit = drawn(n, n_items, seed, model, missing=0.2)
        row = og.explain_items(table, ["length"], progress=False).coefficients.loc["length"]
        inside.append(row["low"] < 0.5 / unit < row["high"])
    assert 0.88 < np.mean(inside) <= 1.0
