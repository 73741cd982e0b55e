"""What every engine promises, over the registries of engines and models."""

import numpy as np
import pytest

from itemwise import EM, Joint, Responses, calibrate, load, simulate
from itemwise.errors import InputError
from itemwise.estimation import ENGINES
from itemwise.estimation.shojima import Shojima
from itemwise.models import MODELS
from itemwise.scoring import HistogramPopulation

STAIRS = np.clip(np.arange(9)[:, None] - np.arange(8) + 1, 0, 3).astype(float)
TABLES = {
    "binary": {
        "ordinary": simulate("3pl", 120, 6, missing=0.1, random_state=1).responses,
        "Guttman": Responses(np.tril(np.ones((9, 8)))),
        "half right": Responses(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]] * 5)),
        "more items than respondents": simulate("2pl", 15, 110, random_state=1).responses,
    },
    "graded": {
        "ordinary": simulate("graded", 120, 6, missing=0.1, random_state=1).responses,
        "Guttman": Responses(STAIRS),
        "half right": Responses(np.array([[2.0, 2.0, 0.0], [2.0, 1.0, 0.0]] * 5)),
        "more items than respondents": simulate("gpcm", 15, 110, random_state=1).responses,
    },
    "continuous": {
        "ordinary": simulate("beta", 120, 6, missing=0.1, random_state=1).responses,
        "complete": simulate("continuous", 60, 5, random_state=1).responses,
        "Guttman": Responses((STAIRS + 1) / 5),
        "half right": Responses(np.array([[0.9, 0.9, 0.1], [0.9, 0.5, 0.1]] * 5)),
        "more items than respondents": simulate("continuous", 15, 40, random_state=1).responses,
    },
}
SETTINGS = {
    "em": EM(),
    "histogram": EM(population="histogram", tolerance=1e-2),
    "joint": Joint(),
    "shojima": Shojima(),
}


def takes(engine, model):
    """The joint engine fits every item by itself; Shojima's steps are those of normal log-odds."""
    if engine == "joint":
        return not MODELS[model]().shared.any()
    return engine != "shojima" or MODELS[model].normal


def as_published(table):
    """Shojima's steps need every cell, and no column that is the same for all."""
    return table.complete and (np.ptp(table.values, axis=0) > 0).all()


TRIPLES = [
    (engine, model, table)
    for engine in SETTINGS
    for model in MODELS
    if takes(engine, model)
    for table, responses in TABLES[MODELS[model].kind].items()
    if engine != "shojima" or as_published(responses)
    if engine != "histogram" or responses.n_respondents >= responses.n_items
]


@pytest.fixture(scope="module", params=SETTINGS)
def fits(request):
    """Every fit of one engine, by model and table."""
    return {
        f"{model}-{table}": calibrate(
            TABLES[MODELS[model].kind][table], model, engine=SETTINGS[engine]
        )
        for engine, model, table in TRIPLES
        if engine == request.param
    }


@pytest.fixture
def each_fit(fits, subtests):
    """Run a check on every fit, so that one that fails does not hide the others."""

    def run(check):
        for name, cal in fits.items():
            with subtests.test(name):
                check(cal)

    return run


def test_every_engine_is_tried():
    assert {setting.name for setting in SETTINGS.values()} == ENGINES.keys()


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_every_fit_survives_save_and_load(each_fit, tmp_path, suffix):
    @each_fit
    def check(cal):
        found = load(cal.save(tmp_path / f"bank{suffix}"))
        np.testing.assert_array_equal(found.coords, cal.coords)
        assert found.model == cal.model
        assert found.items.equals(cal.items)
        assert found.score(cal.responses).equals(cal.abilities())
        assert (found.engine, found.flags, found.notes) == (cal.engine, cal.flags, cal.notes)


def test_every_fit_lies_inside_the_bounds_of_its_model(each_fit):
    @each_fit
    def check(cal):
        np.testing.assert_array_equal(cal.model.bounded(cal.coords), cal.coords)


def test_every_fit_converges_or_says_that_it_did_not(each_fit):
    @each_fit
    def check(cal):
        assert cal.converged != any("Not converged after" in note for note in cal.notes)


def test_every_fit_counts_its_respondents_and_flags_every_item(each_fit):
    @each_fit
    def check(cal):
        assert cal.n_respondents == cal.responses.n_respondents
        assert len(cal.flags) == cal.responses.n_items


def test_every_fit_is_finite_and_has_a_standard_error_of_what_it_estimated(each_fit):
    """An absent grade has neither; a parameter at its bound, or that of a flat item, no error."""

    @each_fit
    def check(cal):
        names = list(cal.model.parameters(cal.coords))
        absent = cal.items[names].isna().to_numpy()
        assert absent.any() <= (cal.model.kind == "graded")
        assert not np.isinf(cal.items.drop(columns="flag")).any(axis=None)
        assert cal.items[["discrimination", "difficulty"]].notna().all(axis=None)
        errors = cal.items[[f"{name}_se" for name in names]].to_numpy()
        free = ~cal.model.at_bound(cal.coords).any(axis=1)
        assert np.isfinite(errors[free][~absent[free]]).all()
        assert np.isfinite(cal.log_likelihood)


def test_every_fit_scores_its_respondents(each_fit):
    @each_fit
    def check(cal):
        for method in ("eap", "map", "ml", "wle"):
            assert np.isfinite(cal.abilities(method)[["ability", "se"]]).all(axis=None)


def test_the_population_has_mean_zero_and_sd_one_where_the_model_leaves_them_free(
    each_fit,
):
    @each_fit
    def check(cal):
        shaped = isinstance(cal.population, HistogramPopulation)
        if cal.model.affine or not shaped:
            assert cal.population.mean == pytest.approx(0, abs=1e-3 * shaped)
            assert cal.population.sd == pytest.approx(1, abs=1e-3 * shaped)


REFUSED = [(e, m) for e in ENGINES for m in MODELS if not takes(e, m)]


@pytest.mark.parametrize(("engine", "model"), REFUSED)
def test_an_engine_refuses_a_model_that_it_cannot_fit_and_names_one_that_can(engine, model):
    table = simulate(model, 30, 4, random_state=1).responses
    with pytest.raises(InputError, match=rf"{engine} engine fits.*{model} model.*engine='em'"):
        calibrate(table, model, engine=engine)
