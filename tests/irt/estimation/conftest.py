"""Every model of the registry, tables that everything is tried on, and what each model says."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from scipy.special import betainc, expit, log_softmax, logit, logsumexp

from ogive import simulate
from ogive.irt.models import MODELS

BINARY = [name for name, model in MODELS.items() if model.kind == "binary"]


# The beta model takes a third of the time of all; its own tests and the contract ask most of it.
EACH = [m if m != "beta" else pytest.param(m, marks=pytest.mark.slow) for m in MODELS]


@pytest.fixture(params=EACH, ids=MODELS)
def model_name(request):
    return request.param


@pytest.fixture(params=BINARY, ids=BINARY)
def binary_name(request):
    return request.param


@pytest.fixture
def model_names():
    return list(MODELS)


@pytest.fixture
def binary_names():
    return BINARY


@pytest.fixture
def hold(subtests):
    """Make every check of every fit, so that one that fails does not hide the others.

    All checks of a fit belong to one test: a fit takes longer than they do.
    """

    def run(fits, *checks):
        for name, cal in fits:
            for check in checks:
                with subtests.test(f"{name}: {check.__name__}"):
                    check(cal)

    return run


@pytest.fixture(scope="session")
def small():
    """300 × 8 responses to 2PL items."""
    return simulate("2pl", 300, 8, random_state=11).responses


@pytest.fixture(scope="session")
def turned():
    """1000 × 30 responses; the odd items are reversed."""
    values = simulate("2pl", 1000, 30, random_state=5).responses.values
    values[:, 1::2] = 1 - values[:, 1::2]
    return values


@pytest.fixture(scope="session")
def gappy():
    """800 × 12 responses to 2PL items, three in ten never asked."""
    return simulate("2pl", 800, 12, missing=0.3, random_state=2).responses


@pytest.fixture(scope="session")
def definition():
    """The formulas of the documentation, in public parameters, and their integral on a fine grid.

    Items are a frame as `cal.items`; responses have NaN where never asked.
    """
    return SimpleNamespace(
        log_density=log_density, marginal=marginal, standard_normal=stats.norm.logpdf
    )


def log_density(model, items, values, abilities):
    """Log-density of each response at each ability, (n_respondents, n_items, n_abilities)."""
    with np.errstate(all="ignore"):  # what was never asked is taken out below
        found = DENSITIES[model.kind if model.kind == "binary" else model.name](
            model, items, np.asarray(values, dtype=float)[:, :, None], abilities
        )
    return np.where(np.isnan(values)[:, :, None], 0.0, found)


def marginal(cal, values, log_prior=stats.norm.logpdf, weights=None, nodes=1601, reach=8.0):
    """Marginal log-likelihood by the trapezoid rule."""
    grid, values = np.linspace(-reach, reach, nodes), np.asarray(values, dtype=float)
    parts = np.array_split(values, 1 + values.size * nodes // 1_000_000)
    joint = np.concatenate(
        [log_density(cal.model, cal.items, part, grid).sum(axis=1) for part in parts]
    )
    each = logsumexp(joint + log_prior(grid) + np.log(grid[1] - grid[0]), axis=1)
    return float(each.sum() if weights is None else weights @ each)


def _columns(items, *names):
    return [items[name].to_numpy()[:, None] for name in names]


def _binary(model, items, x, ability):
    a, b, low, slip = _columns(items, "discrimination", "difficulty", "guessing", "slip")
    chance = low + (1 - slip - low) * expit(a * (ability - b))
    return np.log(np.where(x == 1, chance, 1 - chance))


def _steps(items, ability):
    """a(θ - b_k) of each step, (n_steps, n_items, n_abilities); NaN where an item has none."""
    (a,) = _columns(items, "discrimination")
    names = [name for name in items if name.startswith("difficulty_") and name[-1].isdigit()]
    return np.stack([a * (ability - b) for b in _columns(items, *names)])


def _graded(model, items, x, ability):
    z = _steps(items, ability)
    reach = np.where(np.isnan(z), 0.0, expit(z))
    reach = np.concatenate([np.ones_like(reach[:1]), reach, np.zeros_like(reach[:1])])
    return _of_grade(np.log(reach[:-1] - reach[1:]), x - model.lowest)


def _partial_credit(model, items, x, ability):
    z = _steps(items, ability)
    odds = np.concatenate([np.zeros_like(z[:1]), np.cumsum(z, axis=0)])
    return _of_grade(log_softmax(np.where(np.isnan(odds), -np.inf, odds), axis=0), x - model.lowest)


def _of_grade(table, grades):
    """The log-probability of each response's own grade."""
    return sum(np.where(grades == k, table[k], 0.0) for k in range(len(table)))


def _place(model, x):
    """Where a score lies between the bounds, and the range of the bounds."""
    low, high = (np.reshape(bound, (1, -1, 1)) for bound in model.extent())
    return (x - low) / (high - low), high - low


def _continuous(model, items, x, ability):
    alpha, beta, gamma = _columns(items, "discrimination", "difficulty", "scaling")
    place, width = _place(model, x)
    z = logit(place)
    normal = stats.norm.logpdf(z, (ability - beta) / gamma, 1 / (alpha * gamma))
    return normal - np.log(place * (1 - place) * width)


def _nominal(model, items, x, ability):
    wrong = range(1, model.n_categories)
    odds = [np.zeros((len(items), np.size(ability)))]
    for k in wrong:
        slope, intercept = _columns(items, f"slope_{k}", f"intercept_{k}")
        odds.append(np.where(np.isnan(slope), -np.inf, slope * ability + intercept))
    return _of_grade(log_softmax(np.stack(odds), axis=0), x)


def _censored(model, items, x, ability):
    """A score at or beyond a limit has the chance to lie there."""
    alpha, beta, gamma = _columns(items, "discrimination", "difficulty", "scaling")
    mean, sd = (ability - beta) / gamma, 1 / (alpha * gamma)
    low, high = (_place(model, limit)[0] for limit in model.inside)
    at_low = stats.norm.logcdf(logit(low), mean, sd)
    at_high = stats.norm.logsf(logit(high), mean, sd)
    place = _place(model, x)[0]
    inner = _continuous(model, items, x, ability)
    return np.where(place <= low, at_low, np.where(place >= high, at_high, inner))


def _beta(model, items, x, ability):
    """A score at a bound, or nearer to it than `inside`, has the chance to lie there."""
    a, difficulty = _columns(items, "discrimination", "difficulty")
    log = stats.norm.logcdf
    up = np.exp(a * (log(ability) - log(difficulty)))
    down = np.exp(a * (log(-ability) - log(-difficulty)))
    low, high = model.inside
    inner = stats.beta.logpdf(x, up, down)
    at_low, at_high = np.log(betainc(up, down, low)), np.log(betainc(down, up, 1 - high))
    return np.where(x <= low, at_low, np.where(x >= high, at_high, inner))


DENSITIES = {
    "binary": _binary,
    "graded": _graded,
    "gpcm": _partial_credit,
    "nominal": _nominal,
    "continuous": _continuous,
    "censored": _censored,
    "beta": _beta,
}
