"""What every engine promises, over the registries of engines and models."""

import numpy as np
import pytest

from ogive import EM, Joint, Responses, calibrate, load, simulate
from ogive.errors import InputError
from ogive.irt.calibrating import ENGINES
from ogive.irt.estimation.alternative_engines import Shojima
from ogive.irt.models import MODELS
from ogive.irt.quadrature import HistogramPopulation

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
    "nominal": {
        "ordinary": simulate("nominal", 120, 6, missing=0.1, random_state=1).responses,
        "Guttman": Responses(3 - STAIRS, kind="nominal"),
        "half right": Responses(np.array([[0.0, 0.0, 2.0], [0.0, 1.0, 2.0]] * 5), kind="nominal"),
        "more items than respondents": simulate("nominal", 15, 30, random_state=1).responses,
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
    "joint": Joint(max_iterations=30),  # a table without a maximum would take all that it may
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


def suits(engine, responses):
    """The histogram needs as many respondents as items to be done in a moment."""
    if engine == "shojima":
        return as_published(responses)
    return engine != "histogram" or responses.n_respondents >= responses.n_items


# The names of the tables that an engine fits by a model.
PAIRS = {
    (engine, model): [
        table for table, responses in TABLES[MODELS[model].kind].items() if suits(engine, responses)
    ]
    for engine in SETTINGS
    for model in MODELS
    if takes(engine, model)
}


QUICK = [("joint", "2pl"), ("histogram", "2pl"), ("shojima", "continuous")]  # one of each engine


def test_every_engine_is_tried_on_some_table_by_every_model_that_it_takes():
    assert {setting.name for setting in SETTINGS.values()} == ENGINES.keys()
    assert all(PAIRS.values())


def lies_inside_the_bounds_of_its_model(cal):
    np.testing.assert_array_equal(cal.model.bounded(cal.coords), cal.coords)


def converges_or_says_that_it_did_not(cal):
    assert cal.converged != any("Not converged after" in note for note in cal.notes)


def counts_its_respondents_and_flags_every_item(cal):
    assert cal.n_respondents == cal.responses.n_respondents
    assert len(cal.flags) == cal.responses.n_items


def is_finite_and_has_a_standard_error_of_what_it_estimated(cal):
    """An absent grade has neither; a parameter at its bound, or that of a flat item, no error."""
    names = list(cal.model.parameters(cal.coords))
    absent = cal.items[names].isna().to_numpy()
    assert absent.any() <= (cal.model.kind in ("graded", "nominal"))
    assert not np.isinf(cal.items.drop(columns="flag")).any(axis=None)
    assert cal.items[["discrimination", "difficulty"]].notna().all(axis=None)
    errors = cal.items[[f"{name}_se" for name in names]].to_numpy()
    free = ~cal.model.at_bound(cal.coords).any(axis=1)
    assert np.isfinite(errors[free][~absent[free]]).all()
    assert np.isfinite(cal.log_likelihood)


def scores_its_respondents(cal):
    for method in ("eap", "map", "ml", "wle"):
        assert np.isfinite(cal.abilities(method)[["ability", "se"]]).all(axis=None)


def has_a_population_with_mean_zero_and_sd_one_where_the_model_leaves_them_free(cal):
    shaped = isinstance(cal.population, HistogramPopulation)
    if cal.model.affine or not shaped:
        assert cal.population.mean == pytest.approx(0, abs=1e-3 * shaped)
        assert cal.population.sd == pytest.approx(1, abs=1e-3 * shaped)


@pytest.mark.parametrize(
    ("engine", "model"),
    [
        pair
        if pair in QUICK or (pair[0] == "em" and pair[1] != "beta")
        else pytest.param(*pair, marks=pytest.mark.slow)
        for pair in PAIRS
    ],
)
def test_every_fit_keeps_every_promise(engine, model, hold, tmp_path):
    def survives_save_and_load(cal):
        for suffix in (".json", ".parquet"):
            found = load(cal.save(tmp_path / f"bank{suffix}"))
            np.testing.assert_array_equal(found.coords, cal.coords)
            assert found.model == cal.model
            assert found.items.equals(cal.items)
            assert found.score(cal.responses).equals(cal.abilities())
            assert (found.engine, found.flags, found.notes) == (cal.engine, cal.flags, cal.notes)

    tables = TABLES[MODELS[model].kind]
    hold(
        (
            (table, calibrate(tables[table], model, engine=SETTINGS[engine]))
            for table in PAIRS[engine, model]
        ),
        survives_save_and_load,
        lies_inside_the_bounds_of_its_model,
        converges_or_says_that_it_did_not,
        counts_its_respondents_and_flags_every_item,
        is_finite_and_has_a_standard_error_of_what_it_estimated,
        scores_its_respondents,
        has_a_population_with_mean_zero_and_sd_one_where_the_model_leaves_them_free,
    )


REFUSED = [(e, m) for e in ENGINES for m in MODELS if not takes(e, m)]


def test_an_engine_refuses_a_model_that_it_cannot_fit_and_names_one_that_can(subtests):
    for engine, model in REFUSED:
        with subtests.test(engine=engine, model=model):
            table = simulate(model, 30, 4, random_state=1).responses
            with pytest.raises(
                InputError, match=rf"{engine} engine fits.*{model} model.*engine='em'"
            ):
                calibrate(table, model, engine=engine)
