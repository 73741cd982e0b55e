"""A population of any shape: what the responses say of it, and what it does to the items."""

from itertools import product

import numpy as np
import pytest
from scipy.signal import find_peaks
from scipy.special import logsumexp
from scipy.stats import chi2, norm

from ogive import EM, calibrate, load, simulate
from ogive.errors import InputError
from ogive.irt.encoded_responses import encode
from ogive.irt.estimation.e_step import expect
from ogive.irt.estimation.empirical_bayes import Density, ShapeTest, covariance_of_moments
from ogive.irt.models import MODELS
from ogive.irt.quadrature import HistogramPopulation, NormalPopulation, Posterior, plan_nodes

GRID = np.linspace(-6, 6, 601)
SHAPED = ["2pl", "3pl", "graded", "gpcm", "continuous"]  # of which mean and deviation are free


def skewed(n_respondents, n_items, seed, shape="skewed"):
    """Responses of the 2PL, and the discriminations behind them."""
    random = np.random.default_rng(seed)
    ability = (random.gamma(1.5, size=n_respondents) - 1.5) / np.sqrt(1.5)
    if shape == "normal":
        ability = random.normal(size=n_respondents)
    slope = np.exp(random.normal(0, 0.3, n_items))
    chance = 1 / (1 + np.exp(-slope * (ability[:, None] - random.normal(size=n_items))))
    return (random.random(chance.shape) < chance).astype(float), slope


def respondents(model, shape):
    """1,000 responses to 15 items of a population with mean 0 and deviation 1."""
    random = np.random.default_rng(1)
    ability = random.normal(size=1000)
    if shape == "bimodal":
        ability = np.where(random.random(1000) < 0.5, -1.3, 1.3) + 0.4 * ability
    ability = (ability - ability.mean()) / ability.std()
    items = simulate(model, 1, 15, random_state=3).truth.items
    return simulate(model, abilities=ability, items=items, random_state=2)


@pytest.fixture(scope="module")
def fits():
    """Normal and histogram fit of each model to each shape, and the truth; made once."""
    seen = {}

    def get(model, shape):
        if (model, shape) not in seen:
            responses, truth = respondents(model, shape)
            plain = calibrate(responses, truth.model)
            shaped = calibrate(responses, truth.model, population="histogram")
            seen[model, shape] = plain, shaped, truth
        return seen[model, shape]

    return get


@pytest.mark.slow
@pytest.mark.parametrize("model", SHAPED)
def test_a_histogram_has_mean_zero_and_deviation_one(fits, model, subtests):
    for shape in ["normal", "bimodal"]:
        with subtests.test(shape):
            _, shaped, _ = fits(model, shape)
            population = shaped.population
            assert shaped.converged
            assert isinstance(population, HistogramPopulation)
            assert population.mean == pytest.approx(0, abs=1e-3)
            assert population.sd == pytest.approx(1, abs=1e-3)
            assert population.mass.sum() == pytest.approx(1)
            density = np.exp(population.log_density(GRID))
            assert density.sum() * (GRID[1] - GRID[0]) == pytest.approx(1, abs=1e-3)


@pytest.mark.slow
def test_two_groups_are_seen_as_two(fits, subtests):
    """Peaks twice as prominent as the dents that noise may leave in a normal shape."""
    for model in SHAPED:
        with subtests.test(model=model):
            plain, shaped, _ = fits(model, "bimodal")
            density = np.exp(shaped.population.log_density(GRID))
            peaks, _ = find_peaks(density, prominence=0.2 * density.max())
            assert len(peaks) == 2
            np.testing.assert_allclose(GRID[peaks], [-0.95, 0.95], atol=0.25)
            assert shaped.log_likelihood > plain.log_likelihood + 10


@pytest.mark.slow
def test_a_normal_population_stays_nearly_normal_and_items_where_they_were(fits, subtests):
    """A few nats, and dents of a tenth, are what noise in 1,000 abilities is worth."""
    for model in SHAPED:
        with subtests.test(model=model):
            plain, shaped, _ = fits(model, "normal")
            density = np.exp(shaped.population.log_density(GRID))
            peaks, _ = find_peaks(density, prominence=0.1 * density.max())
            assert len(peaks) == 1
            np.testing.assert_allclose(density, norm.pdf(GRID), atol=0.08)
            assert -1e-3 < shaped.log_likelihood - plain.log_likelihood < 8
            apart = shaped.items["difficulty"] - plain.items["difficulty"]
            assert (apart.abs() < plain.items["difficulty_se"]).all()


def test_items_of_two_groups_are_no_farther_from_the_truth_than_with_a_normal_shape(fits, subtests):
    for model in SHAPED:
        with subtests.test(model):
            *found, truth = fits(model, "bimodal")
            plain, shaped = (
                np.sqrt(np.mean((cal.items["difficulty"] - truth.items["difficulty"]) ** 2))
                for cal in found
            )
            assert shaped < plain + 0.02


@pytest.mark.parametrize("model", ["2pl", "graded", "beta"])
def test_the_ends_of_a_histogram_fall(model):
    """Where nobody stands, the density has no reason to rise."""
    responses = simulate(model, 120, 6, missing=0.1, random_state=1).responses
    found = [
        calibrate(responses, name, population="histogram").population.mass
        for name in MODELS
        if MODELS[name].kind == MODELS[model].kind
    ]
    for mass in found:
        assert (np.diff(mass[:6]) >= 0).all()
        assert (np.diff(mass[-6:]) <= 0).all()


@pytest.mark.slow
def test_skewed_pools_of_few_respondents_come_to_rest(subtests):
    """Seeds with which shape and items chased each other, or a tail ran away with a respondent."""
    for n_respondents, seed in [(50, 2), (50, 7), (200, 6)]:
        with subtests.test(n_respondents=n_respondents, seed=seed):
            found = calibrate(skewed(n_respondents, 500, seed)[0], "2pl", population="histogram")
            assert found.converged
            assert found.iterations < 100
            assert found.population.mean == pytest.approx(0, abs=1e-6)
            assert found.population.sd == pytest.approx(1, abs=1e-6)
            assert found.abilities()["ability"].std() < 1.3


def test_items_and_shape_have_nothing_left_to_gain_together(fits):
    """The penalised height falls whichever way a shape of mean 0 and deviation 1 is bent."""
    _, shaped, _ = fits("2pl", "bimodal")
    data, best = encode(shaped.responses.cells, shaped.model), shaped.population

    def height(density):
        nodes = plan_nodes(shaped.model, shaped.coords, density.population)
        found = expect(data, shaped.model, shaped.coords, nodes, population=density.population)
        return found.log_likelihood - density.roughness

    top = height(Density(best, standard=True))
    for bend in (np.sin(best.points), np.exp(-(best.points**2)), np.tanh(best.points - 1)):
        for size in (-0.1, 0.1):
            log_mass = np.log(best.mass) + size * bend
            for _ in range(30):  # tilted to mean 0 and deviation 1, as the shape itself is
                mass = np.exp(log_mass - logsumexp(log_mass))
                off = np.array([mass @ best.points, (mass @ best.points**2 - 1) / 2])
                log_mass = log_mass - off[0] * best.points - off[1] * best.points**2
            bent = Density(HistogramPopulation(best.points, mass), standard=True)
            assert bent.population.sd == pytest.approx(1, abs=1e-6)
            assert height(bent) < top + 1e-3


def test_a_skewed_pool_is_seen_and_said():
    responses, _ = skewed(500, 30, 1)
    found, shaped = (calibrate(responses, "2pl", population=p) for p in ("auto", "histogram"))
    assert isinstance(found.population, HistogramPopulation)
    assert found.coords.tobytes() == shaped.coords.tobytes()
    assert any("does not fit these respondents (skewness" in note for note in found.notes)
    assert found.population.mass @ found.population.points**3 > 0.5


def test_a_normal_fit_of_a_skewed_pool_says_what_would_fit():
    """From 200 respondents on: fewer do not bring discriminations nearer to the truth."""
    many, few = (calibrate(skewed(n, 30, 1)[0], "2pl") for n in (500, 150))
    assert many.population == few.population == NormalPopulation()
    assert any("population='auto' fits the shape" in note for note in many.notes)
    assert not any("normal distribution" in note for note in few.notes)


@pytest.mark.parametrize("model", ["1pl", "2pl", "graded", "continuous"])
def test_a_normal_pool_is_left_as_it_is(model):
    responses = simulate(model, 300, 20, missing=0.1, random_state=4).responses
    found, plain = (calibrate(responses, model, population=p) for p in ("auto", "normal"))
    assert found.population == plain.population
    assert found.coords.tobytes() == plain.coords.tobytes()
    assert found.notes == plain.notes
    assert found.items.equals(plain.items)


def test_auto_is_the_histogram_for_scores_too():
    """Their normal fit needs no posterior; the shape and its standard errors do."""
    items = simulate("continuous", 1, 12, random_state=3).truth.items
    ability = np.random.default_rng(0).exponential(size=300) - 1
    drawn = simulate("continuous", abilities=ability, items=items, random_state=2)
    found, shaped = (
        calibrate(drawn.responses, drawn.truth.model, population=p) for p in ("auto", "histogram")
    )
    np.testing.assert_allclose(found.population.mass, shaped.population.mass, atol=1e-3)
    np.testing.assert_allclose(
        found.items.filter(like="_se"), shaped.items.filter(like="_se"), rtol=0.02
    )


def test_the_test_of_shape_is_the_mean_of_hermite_polynomials(definition):
    """Third and fourth, averaged over the posterior of each respondent."""
    responses, _ = skewed(60, 12, 3)
    found = calibrate(responses, "2pl")
    joint = definition.log_density(found.model, found.items, responses, GRID).sum(axis=1)
    joint = joint + norm.logpdf(GRID)
    posterior = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    mean = posterior @ GRID
    reliability = 1 - np.mean(posterior @ GRID**2 - mean**2)
    third = np.mean(posterior @ (GRID**3 - 3 * GRID))
    fourth = np.mean(posterior @ (GRID**4 - 6 * GRID**2 + 3))
    nodes = plan_nodes(found.model, found.coords)
    seen = expect(encode(found.responses.cells, found.model), found.model, found.coords, nodes)
    test = ShapeTest.of(nodes, seen)
    assert test.skewness == pytest.approx(third / reliability**3, rel=1e-2)
    assert test.kurtosis == pytest.approx(fourth / reliability**4, rel=1e-2)
    chi = 60 * (third**2 / (6 * reliability**3) + fourth**2 / (24 * reliability**4))
    assert test.statistic == pytest.approx(chi, rel=1e-2)
    assert test.p_value == pytest.approx(
        chi2.sf(test.statistic / (1 + (100 / test.n_respondents) ** 2), 2)
    )


def test_origin_and_unit_of_a_shape_are_as_sure_as_mean_and_deviation_of_a_sample():
    """With abilities that are nearly known: variances 1/n and (kurtosis - 1)/4n."""
    random = np.random.default_rng(5)
    ability = random.exponential(size=400)
    ability = (ability - ability.mean()) / ability.std()
    model = MODELS["2pl"]()
    slope, place = np.full(600, 2.0), np.linspace(-2, 5, 600)
    coords = np.stack([slope, -slope * place], axis=1)
    chance = 1 / (1 + np.exp(-slope * (ability[:, None] - place)))
    data = encode((random.random(chance.shape) < chance).astype(np.int8), model)
    nodes = plan_nodes(model, coords)
    posterior_of = Posterior(model.log_terms(coords, nodes.coarse), nodes)
    found = covariance_of_moments(data, lambda part: posterior_of, nodes)
    skewness, kurtosis = np.mean(ability**3), np.mean(ability**4)
    sample = np.array([[1, skewness / 2], [skewness / 2, (kurtosis - 1) / 4]]) / 400
    np.testing.assert_allclose(found, sample, rtol=0.15)


@pytest.mark.slow
def test_normal_pools_are_seldom_called_anything_else(subtests):
    """At most 5 % is the promise; of 40 pools that would be 2, give or take."""
    for size in [(20, 200), (50, 500), (1000, 50)]:
        with subtests.test(size=size):
            fired = 0
            for seed in range(40):
                found = calibrate(skewed(*size, 300 + seed, "normal")[0], "2pl", population="auto")
                fired += isinstance(found.population, HistogramPopulation)
            assert fired <= 3


@pytest.mark.slow
def test_discriminations_are_covered_in_a_skewed_pool():
    hits = {"normal": [], "auto": []}
    for seed in range(12):
        responses, slope = skewed(1000, 50, seed)
        for population, kept in hits.items():
            items = calibrate(responses, "2pl", population=population).items
            off = (items["discrimination"] - slope).abs()
            kept.append((off < 1.96 * items["discrimination_se"]).mean())
    assert np.mean(hits["normal"]) < 0.88
    assert np.mean(hits["auto"]) > 0.92


def test_a_histogram_is_said(fits):
    plain, shaped, _ = fits("2pl", "normal")
    assert any("shape of the population was fitted" in note for note in shaped.notes)
    assert not any("shape of the population" in note for note in plain.notes)
    assert plain.population == NormalPopulation()


@pytest.mark.parametrize("model", ["2pl", "continuous"])
def test_abilities_are_those_of_the_population_that_was_found(definition, fits, model):
    _, shaped, _ = fits(model, "bimodal")
    some = shaped.responses.select(range(20))
    joint = definition.log_density(shaped.model, shaped.items, some.values, GRID).sum(axis=1)
    joint = joint + shaped.population.log_density(GRID)
    weights = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    mean = weights @ GRID
    sd = np.sqrt(weights @ GRID**2 - mean**2)
    scored = shaped.score(some, items_known=True)
    np.testing.assert_allclose(scored["ability"], mean, atol=1e-3)
    np.testing.assert_allclose(scored["se"], sd, atol=1e-3)
    highest = GRID[np.argmax(joint, axis=1)]
    step = GRID[1] - GRID[0]
    np.testing.assert_allclose(shaped.score(some, "map")["ability"], highest, atol=0.51 * step)


def test_an_empty_respondent_stands_at_the_mean_of_the_histogram(fits):
    _, shaped, _ = fits("2pl", "bimodal")
    nothing = np.full((1, 15), np.nan)
    row = shaped.score(nothing, items_known=True).iloc[0]
    assert row["ability"] == pytest.approx(0, abs=1e-3)
    assert row["se"] == pytest.approx(1, abs=1e-3)


@pytest.mark.slow
def test_a_histogram_survives_save_and_load(fits, tmp_path, subtests):
    for model, suffix in product(SHAPED, [".json", ".parquet"]):
        with subtests.test(f"{model} {suffix}"):
            _, shaped, _ = fits(model, "bimodal")
            found = load(shaped.save(tmp_path / f"{model}{suffix}"))
            np.testing.assert_array_equal(found.population.points, shaped.population.points)
            np.testing.assert_array_equal(found.population.mass, shaped.population.mass)
            for method in ("eap", "map"):
                assert found.score(shaped.responses, method).equals(shaped.abilities(method))


@pytest.mark.parametrize("model", ["2pl", "graded", "continuous"])
def test_a_histogram_does_not_depend_on_the_number_of_workers(model):
    responses, truth = respondents(model, "bimodal")
    one, two = (calibrate(responses, truth.model, population="histogram", n_jobs=n) for n in (1, 2))
    assert one.coords.tobytes() == two.coords.tobytes()
    assert one.population.mass.tobytes() == two.population.mass.tobytes()


def test_weights_stand_for_rows_in_a_histogram():
    responses = simulate("2pl", 200, 8, random_state=3).responses
    weights = np.where(np.arange(200) < 80, 2.0, 1.0)
    twice = np.vstack([responses.values, responses.values[:80]])
    weighted = calibrate(responses, "2pl", population="histogram", weights=weights)
    other = calibrate(twice, "2pl", population="histogram")
    assert weighted.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-3)
    np.testing.assert_allclose(weighted.population.mass, other.population.mass, atol=1e-3)


def test_too_few_iterations_for_a_shape_are_said():
    responses = simulate("2pl", 200, 8, random_state=3).responses
    cal = calibrate(responses, "2pl", population="histogram", max_iterations=2)
    assert not cal.converged
    assert any("Not converged" in note for note in cal.notes)


def test_a_shape_takes_no_more_iterations_than_allowed(subtests):
    responses = simulate("3pl", 200, 8, random_state=3).responses
    for most in [5, 20, 60]:
        with subtests.test(most=most):
            steps = []
            cal = calibrate(
                responses,
                "3pl",
                population="histogram",
                max_iterations=most,
                progress=lambda step, *_, steps=steps: steps.append(step),
            )
            assert cal.iterations <= most
            assert steps == list(range(1, cal.iterations + 1))


def test_a_population_that_is_not_known_is_refused(subtests):
    for population in ["gamma", None, 3, "Normal "]:
        with (
            subtests.test(population=population),
            pytest.raises(InputError, match=r"`population` must be 'normal'"),
        ):
            EM(population=population)


def histogram(n=49, reach=6.0):
    points = np.linspace(-reach, reach, n)
    mass = norm.pdf(points)
    return points, mass / mass.sum()


def test_a_histogram_of_a_normal_density_is_that_density():
    population, exact = HistogramPopulation(*histogram()), NormalPopulation()
    inner = np.linspace(-5.5, 5.5, 45)
    assert population.mean == pytest.approx(0, abs=1e-9)
    assert population.sd == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(population.log_density(inner), exact.log_density(inner), atol=0.02)
    np.testing.assert_allclose(population.slope(inner[5:-5]), -inner[5:-5], atol=0.02)
    np.testing.assert_allclose(population.curvature(inner[8:-8]), 1.0, atol=0.05)


def test_a_histogram_falls_beyond_its_ends_without_a_step():
    population = HistogramPopulation(*histogram())
    for end, way in ((-6.0, -1), (6.0, 1)):
        at, past = population.log_density(np.array([end, end + way * 1e-6]))
        assert at == pytest.approx(past, abs=1e-4)
        far = population.log_density(end + way * np.arange(5.0))
        assert (np.diff(far) < 0).all()


def test_a_histogram_moves_with_the_scale():
    random = np.random.default_rng(0)
    points, mass = histogram()
    mass = mass * random.uniform(0.5, 1.5, mass.size)
    population = HistogramPopulation(points, mass / mass.sum())
    for scale in (2.0, -0.5):
        moved = population.moved(0.3, scale)
        assert moved.mean == pytest.approx((population.mean - 0.3) / scale)
        assert moved.sd == pytest.approx(population.sd / abs(scale))
        x = np.linspace(-2, 2, 9)
        expected = population.log_density(x) + np.log(abs(scale))
        np.testing.assert_allclose(moved.log_density((x - 0.3) / scale), expected, atol=1e-9)


def test_a_histogram_that_cannot_be_is_refused(subtests):
    for case, (points, mass, message) in {
        "few": (np.arange(5.0), np.full(5, 0.2), "at least 8 ascending"),
        "turned": (np.arange(10.0)[::-1], np.full(10, 0.1), "ascending"),
        "uneven": (np.arange(10.0) ** 2, np.full(10, 0.1), "equally spaced"),
        "infinite": (np.r_[np.arange(9.0), np.inf], np.full(10, 0.1), "ascending"),
        "shorter": (np.arange(10.0), np.full(9, 1 / 9), "positive mass at each point"),
        "zero": (np.arange(10.0), np.r_[0.0, np.full(9, 1 / 9)], "positive mass"),
        "too much": (np.arange(10.0), np.full(10, 0.2), "sum to 1"),
        "missing": (np.arange(10.0), np.full(10, np.nan), "positive mass"),
    }.items():
        with (
            subtests.test(case),
            pytest.raises(InputError, match=message),
        ):
            HistogramPopulation(points, mass)
