"""Facts of respondents that explain ability, and facts of items that explain difficulty."""

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.errors import InputError
from ogive.irt import latent_regression as explained_items
from ogive.irt.covariates import p_of_equal
from ogive.irt.latent_regression import explain_items_of, usable_items


def models(n=120, n_items=30, seed=0):
    random = np.random.default_rng(seed)
    compute = random.uniform(20, 26, n)
    family = random.choice(["a", "a", "b"], n)
    ability = 0.4 * (compute - 23) + 0.5 * (family == "b") + random.normal(0, 0.5, n)
    table = og.simulate("2pl", abilities=ability, n_items=n_items, random_state=seed).responses
    years = 2020 + (compute - 20)
    dates = [f"{int(y)}-{1 + int(12 * (y % 1)):02d}-01" for y in years]
    facts = {"compute": compute, "family": list(family), "date": dates, "same": [1.0] * n}
    return table.described(respondents=facts)


@pytest.fixture(scope="module")
def found():
    return og.explain_ability(models(), ["compute", "family"], progress=False)


def test_coefficients_lie_near_the_truth_in_units_of_the_respondents(found):
    frame = found.coefficients
    unit = np.sqrt(0.16 * 3 + 0.25 * 2 / 9 + 0.25)
    for name, truth in {"compute": 0.4, "family: b": 0.5}.items():
        row = frame.loc[name]
        assert abs(row["coefficient"] - truth / unit) < 3.5 * row["se"] + 0.02
        assert row["low"] < row["coefficient"] < row["high"]
    assert 0.5 < found.r2 < 0.9
    assert found.r2_interval[0] < found.r2 < found.r2_interval[1]
    total = found.abilities["expected"].var(ddof=0) + found.residual_sd**2
    assert total == pytest.approx(1.0, abs=0.02)


def test_the_sentence_names_the_clearest_fact_and_claims_no_cause(found):
    assert found.meaning.startswith("With one unit more of compute, ability is ")
    assert "association, not cause" in found.meaning
    assert "family is compared with a, its most frequent value." in found.notes


def test_a_respondent_that_was_never_run_is_predicted_with_a_band(found):
    new = pd.DataFrame({"compute": [23.0, 30.0], "family": ["a", "b"]}, index=["near", "far"])
    band = found.predict(new)
    assert band.index.tolist() == ["near", "far"]
    width = band["high"] - band["low"]
    assert width["far"] > width["near"] > 2 * 1.9 * found.residual_sd
    with pytest.raises(InputError, match="facts lacks family"):
        found.predict(new[["compute"]])
    with pytest.raises(InputError, match="must be one of a and b, got 'z'"):
        found.predict(new.assign(family="z"))


def test_the_unit_of_a_fact_changes_its_coefficient_and_nothing_else(found):
    table = models()
    scaled = table.respondent_facts.assign(compute=lambda f: 10 * f["compute"])
    other = og.explain_ability(table, scaled[["compute", "family"]], progress=False)
    assert 10 * other.coefficients.loc["compute", "coefficient"] == pytest.approx(
        found.coefficients.loc["compute", "coefficient"], rel=1e-3
    )
    assert other.r2 == pytest.approx(found.r2, rel=1e-3)


def test_dates_are_years():
    found = og.explain_ability(models(), ["date"], progress=False)
    assert found.coefficients.loc["date", "coefficient"] > 0.2


def test_it_draws_the_line_with_its_band(found):
    assert found.plot() is not None
    with pytest.raises(InputError, match="must be one of compute"):
        found.plot("family")


BAD = {
    "unknown": (["size"], "no fact 'size' of the respondents; known facts: compute"),
    "constant": (["compute", "same"], "same is 1 for all respondents"),
    "collinear": (["compute", "twice"], "compute and twice tell the same"),
    "missing": (["hole"], "hole is not known of 1 respondent"),
    "too many words": (["name"], "must have at most 12 different values"),
}


def test_facts_that_explain_nothing_are_refused_in_a_sentence(subtests):
    table = models(40, 10)
    compute = table.respondent_facts["compute"].to_numpy()
    table = table.described(
        respondents={
            "twice": 2 * compute + 1,
            "hole": [None, *compute[1:]],
            "name": [f"m{k}" for k in range(40)],
        }
    )
    for name, (facts, sentence) in BAD.items():
        with subtests.test(name), pytest.raises(InputError, match=sentence):
            og.explain_ability(table, facts, progress=False)
    with pytest.raises(InputError, match="take 10 or more"):
        og.explain_ability(table.select(range(9)), ["compute"], progress=False)
    with pytest.raises(InputError, match="No fact of the respondents is a number"):
        og.explain_ability(og.simulate("2pl", 30, 5).responses, progress=False)


@pytest.mark.slow
def test_intervals_of_the_slope_cover_the_truth():
    inside = []
    for seed in range(60):
        random = np.random.default_rng(seed)
        x = random.normal(0, 1, 150)
        ability = 0.6 * x + random.normal(0, 0.8, 150)
        table = og.simulate("2pl", abilities=ability, n_items=25, random_state=seed).responses
        found = og.explain_ability(table, pd.DataFrame({"x": x}), progress=False)
        row, unit = found.coefficients.loc["x"], np.sqrt(0.36 * x.var() + 0.64)
        inside.append(row["low"] < 0.6 / unit < row["high"])
    assert 0.88 < np.mean(inside) <= 1.0


def by_chance(n=30, n_items=40, seed=0):
    random = np.random.default_rng(seed)
    answers = (random.random((n, n_items)) < random.uniform(0.2, 0.8, n_items)).astype(int)
    facts = {"group": ["a", "b"] * (n // 2), "noise": random.normal(size=n)}
    return og.Responses(answers).described(
        respondents=facts, items={"length": random.normal(size=n_items)}
    )


@pytest.mark.parametrize(
    "study",
    [
        lambda table: og.explain_ability(table, ["noise"], progress=False),
        lambda table: og.group_scale(table, "group", progress=False),
        lambda table: og.explain_items(table, ["length"], progress=False),
    ],
    ids=["explain_ability", "group_scale", "explain_items"],
)
def test_chance_answers_show_no_ability_to_explain_or_to_compare(study):
    """Their unit of ability is all but 0, so that differences were hundreds of them."""
    with pytest.raises(InputError, match="show no ability, and no unit"):
        study(by_chance())


def test_signs_that_chance_gave_slopes_do_not_make_respondents_differ():
    """From 100 respondents on, items have slopes of their own, half of them below zero."""
    with pytest.raises(InputError, match="show no ability"):
        og.explain_ability(by_chance(150, 40), ["noise"], model="2pl", progress=False)


def test_what_explains_chance_answers_is_rarely_called_significant():
    claims = 0
    for seed in range(20):
        try:
            found = og.explain_ability(by_chance(seed=seed), ["noise"], progress=False)
        except InputError:
            continue
        claims += found.coefficients.loc["noise", "p"] < 0.05
    assert claims <= 3


def test_the_test_of_equal_respondents_holds_its_level_also_with_missing_cells(subtests):
    random = np.random.default_rng(3)
    for missing in (0.0, 0.3):
        drawn = random.random((400, 12, 30)) < random.uniform(0.2, 0.8, 30)
        hidden = random.random(drawn.shape) < missing
        p = np.array([p_of_equal(table) for table in np.where(hidden, np.nan, drawn)])
        with subtests.test(missing=missing):
            assert abs((p < 0.05).mean() - 0.05) < 3 * np.sqrt(0.05 * 0.95 / 400)
    assert p_of_equal(np.ones((5, 4))) == 1.0
    assert np.isnan(p_of_equal(np.ones((1, 4))))
    assert p_of_equal(np.repeat([[0.0], [1.0]], 8, axis=1)) < 1e-6


def test_the_test_of_equal_respondents_does_not_depend_on_units():
    """One noisy item of 0 to 1000 hid nine that agree, and small units hid everything."""
    random = np.random.default_rng(0)
    scores = random.normal(size=(30, 1)) + 0.3 * random.normal(size=(30, 10))
    units = np.array([1.0] * 9 + [1e3])
    p = [p_of_equal(table) for table in (scores, scores * units + 5, scores * 1e-7)]
    assert p[0] < 1e-20
    np.testing.assert_allclose(np.log(p[1:]), np.log(p[0]), rtol=1e-6)
    wide = scores.copy()
    wide[:, 9] = 1e3 * random.normal(size=30)
    assert p_of_equal(wide) < 1e-20


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
def explained():
    return og.explain_items(drawn()[0], ["length", "subject"], progress=False)


def test_coefficients_lie_near_the_truth_in_units_of_the_respondents_item(explained):
    unit = drawn()[1]
    for name, truth in {"length": 0.5, "subject: law": 0.4}.items():
        row = explained.coefficients.loc[name]
        assert abs(row["coefficient"] - truth / unit) < 3 * row["se"]
        assert row["low"] < row["coefficient"] < row["high"]
    assert explained.residual_sd == pytest.approx(0.6 / unit, abs=0.15)
    assert explained.r2_interval[0] < explained.r2 < explained.r2_interval[1]
    assert explained.meaning.startswith("With one unit more of length, difficulty is ")


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


def test_an_item_that_was_never_asked_is_predicted_with_a_band(explained):
    new = pd.DataFrame({"length": [1.0, 9.0], "subject": ["sums", "law"]}, index=["near", "far"])
    band = explained.predict(new)
    width = band["high"] - band["low"]
    assert width["far"] > width["near"] > 2 * 1.9 * explained.residual_sd
    with pytest.raises(InputError, match="facts lacks subject"):
        explained.predict(new[["length"]])


def test_it_draws_the_line_with_its_band_item(explained):
    texts = [
        text.get_text()
        for text in explained.plot().figure_.findobj(lambda o: hasattr(o, "get_text"))
    ]
    assert any("where an item that was never asked is expected" in text for text in texts)


def test_few_respondents_do_not_shrink_the_slope():
    """Fifteen respondents: items that all solve say only that they are easy."""
    ratios = []
    for seed in range(8):
        table, unit = drawn(15, 80, seed)
        explained = og.explain_items(table, ["length", "subject"], progress=False)
        ratios.append(explained.coefficients.loc["length", "coefficient"] * unit / 0.5)
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.15)


ITEM_BAD = {
    "unknown": (["size"], "no fact 'size' of the items; known facts: length"),
    "constant": (["length", "same"], "same is 1 for all items"),
    "collinear": (["length", "twice"], "length and twice tell the same"),
    "missing": (["hole"], "hole is not known of 1 item"),
}


def test_facts_that_explain_nothing_are_refused_in_a_sentence_item(subtests):
    table, _ = drawn(40, 20)
    length = table.item_facts["length"].to_numpy()
    table = table.described(items={"twice": 2 * length + 1, "hole": [None, *length[1:]]})
    for name, (facts, sentence) in ITEM_BAD.items():
        with subtests.test(name), pytest.raises(InputError, match=sentence):
            og.explain_items(table, facts, progress=False)
    with pytest.raises(InputError, match="9 items, but 1 columns of facts take 10 or more"):
        og.explain_items(table.select(items=range(9)), ["length"], progress=False)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "n_items", "model"), [(15, 60, "1pl"), (150, 20, "2pl")])
def test_intervals_of_the_slope_cover_the_truth_item(n, n_items, model):
    inside = []
    for seed in range(60):
        table, unit = drawn(n, n_items, seed, model, missing=0.2)
        row = og.explain_items(table, ["length"], progress=False).coefficients.loc["length"]
        inside.append(row["low"] < 0.5 / unit < row["high"])
    assert 0.88 < np.mean(inside) <= 1.0
