"""Facts of respondents that explain ability."""

import numpy as np
import pandas as pd
import pytest

import itemwise as iw
from itemwise.errors import InputError


def models(n=120, n_items=30, seed=0):
    random = np.random.default_rng(seed)
    compute = random.uniform(20, 26, n)
    family = random.choice(["a", "a", "b"], n)
    ability = 0.4 * (compute - 23) + 0.5 * (family == "b") + random.normal(0, 0.5, n)
    table = iw.simulate("2pl", abilities=ability, n_items=n_items, random_state=seed).responses
    years = 2020 + (compute - 20)
    dates = [f"{int(y)}-{1 + int(12 * (y % 1)):02d}-01" for y in years]
    facts = {"compute": compute, "family": list(family), "date": dates, "same": [1.0] * n}
    return table.described(respondents=facts)


@pytest.fixture(scope="module")
def found():
    return iw.explain_ability(models(), ["compute", "family"], progress=False)


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
    with pytest.raises(InputError, match="family is 'z'"):
        found.predict(new.assign(family="z"))


def test_the_unit_of_a_fact_changes_its_coefficient_and_nothing_else(found):
    table = models()
    scaled = table.respondent_facts.assign(compute=lambda f: 10 * f["compute"])
    other = iw.explain_ability(table, scaled[["compute", "family"]], progress=False)
    assert 10 * other.coefficients.loc["compute", "coefficient"] == pytest.approx(
        found.coefficients.loc["compute", "coefficient"], rel=1e-3
    )
    assert other.r2 == pytest.approx(found.r2, rel=1e-3)


def test_dates_are_years():
    found = iw.explain_ability(models(), ["date"], progress=False)
    assert found.coefficients.loc["date", "coefficient"] > 0.2


def test_it_draws_the_line_with_its_band(found):
    assert found.plot() is not None
    with pytest.raises(InputError, match="the facts are: compute"):
        found.plot("family")


BAD = {
    "unknown": (["size"], "no fact 'size' of the respondents; known facts: compute"),
    "constant": (["compute", "same"], "same is 1 for all respondents"),
    "collinear": (["compute", "twice"], "compute and twice tell the same"),
    "missing": (["hole"], "hole is not known of 1 respondent"),
    "too many words": (["name"], "different values, but groups are at most 12"),
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
            iw.explain_ability(table, facts, progress=False)
    with pytest.raises(InputError, match="take 10 or more"):
        iw.explain_ability(table.select(range(9)), ["compute"], progress=False)
    with pytest.raises(InputError, match="No fact of the respondents is a number"):
        iw.explain_ability(iw.simulate("2pl", 30, 5).responses, progress=False)


@pytest.mark.slow
def test_intervals_of_the_slope_cover_the_truth():
    inside = []
    for seed in range(60):
        random = np.random.default_rng(seed)
        x = random.normal(0, 1, 150)
        ability = 0.6 * x + random.normal(0, 0.8, 150)
        table = iw.simulate("2pl", abilities=ability, n_items=25, random_state=seed).responses
        found = iw.explain_ability(table, pd.DataFrame({"x": x}), progress=False)
        row, unit = found.coefficients.loc["x"], np.sqrt(0.36 * x.var() + 0.64)
        inside.append(row["low"] < 0.6 / unit < row["high"])
    assert 0.88 < np.mean(inside) <= 1.0
