"""Banks come back as they were saved, and damaged ones are refused."""

import json
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ogive as og
from ogive import Beta, Normal, OnePL, Responses, TwoPL, calibrate, load, simulate
from ogive._load import load_only
from ogive.errors import FileError, InputError
from ogive.irt.bank_writing import HEAD_KEY, SUM, sum_of
from ogive.irt.banks import known_items
from ogive.irt.models import MODELS
from ogive.irt.models.beta import BetaResponse
from ogive.irt.models.continuous import Continuous
from ogive.irt.models.graded import Graded
from ogive.irt.models.nominal import PartialCredit
from ogive.irt.quadrature import HistogramPopulation

plt.switch_backend("Agg")
SUFFIXES = [".json", ".parquet"]
SAME = [
    "log_likelihood", "n_respondents", "n_parameters", "aic", "bic",
    "iterations", "converged", "engine", "notes", "flags",
]  # fmt: skip


@pytest.fixture(scope="module")
def cal():
    values = simulate("3pl", 200, 5, random_state=1).responses.values
    values[:, 2] = 1.0
    return calibrate(values, "3pl")


@pytest.fixture
def written(cal, tmp_path):
    """A function that writes a JSON bank with a change to its content."""
    path = cal.save(tmp_path / "bank.json")
    intact = path.read_text(encoding="utf-8")

    def change(edit):
        document = json.loads(intact)
        edit(document)
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    return change


def as_columns(population):
    """Everything that a population is made of; a histogram compares no arrays by itself."""
    return type(population), {
        key: np.asarray(getattr(population, key)).tolist()
        for key in ("mean", "sd", "points", "mass")
        if hasattr(population, key)
    }


def assert_same(found, cal):
    assert found.model == cal.model
    assert found.item_names == cal.item_names
    np.testing.assert_array_equal(found.coords, cal.coords)
    np.testing.assert_array_equal(found.uncertainty.covariances, cal.uncertainty.covariances)
    assert as_columns(found.population) == as_columns(cal.population)
    assert found.items.equals(cal.items)
    for name in SAME:
        assert getattr(found, name) == getattr(cal, name)
    assert found.responses is None


def test_what_was_saved_comes_back(tmp_path, subtests):
    fits = {
        model: calibrate(simulate(model, 80, 5, random_state=2).responses, model)
        for model in MODELS
    }
    for suffix, (model, fitted) in product(SUFFIXES, fits.items()):
        with subtests.test(suffix=suffix, model=model):
            path = fitted.save(tmp_path / f"bank{suffix}")
            assert path == tmp_path / f"bank{suffix}"
            found = load(path)
            assert_same(found, fitted)
            for method in ("eap", "map", "ml", "wle"):
                assert found.score(fitted.responses, method).equals(fitted.abilities(method))
            assert found.total_scores(fitted.responses).equals(fitted.total_scores())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_options_priors_population_notes_and_flags_come_back(tmp_path, cal, suffix):
    responses = simulate("1pl", 60, 4, random_state=2).responses
    rasch = calibrate(responses, OnePL(discrimination=1), priors={"intercept": Normal(1, 2)})
    assert_same(load(rasch.save(tmp_path / f"rasch{suffix}")), rasch)
    beta = calibrate(responses, "3pl", priors={"guessing": Beta(2, 5), "intercept": None})
    assert_same(load(beta.save(tmp_path / f"beta{suffix}")), beta)
    assert cal.flags[2] == ("solved by all",)
    assert_same(load(cal.save(tmp_path / f"flags{suffix}")), cal)


GRADES = simulate("graded", 80, 4, random_state=2).responses
SCORES = simulate("continuous", 80, 4, random_state=2).responses
CHANCES = simulate("beta", 80, 4, random_state=2).responses


@pytest.mark.slow
def test_options_of_grades_and_scores_come_back(tmp_path, subtests):
    for suffix, (case, (responses, model, priors)) in product(
        SUFFIXES,
        {
            "categories": (GRADES, Graded(categories=(5, 6, 7, 5)), "default"),
            "lowest": (Responses(GRADES.values + 1, kind="graded"), PartialCredit(), None),
            "graded priors": (GRADES, Graded(), {"gap_3": Normal(0, 0.5), "gap_2": None}),
            "bounds": (SCORES, Continuous(bounds=(-1, 2)), "default"),
            "bounds of items": (SCORES, Continuous(bounds="items"), "default"),
            "at bounds": (SCORES, Continuous(bounds="table", at_bounds=0.01), "default"),
            "continuous priors": (SCORES, Continuous(), {"discrimination": Normal(0, 2)}),
            "beta priors": (CHANCES, BetaResponse(), {"difficulty": None}),
        }.items(),
    ):
        with subtests.test(case, suffix=suffix):
            fitted = calibrate(responses, model, priors=priors)
            found = load(fitted.save(tmp_path / f"bank{suffix}"))
            assert_same(found, fitted)
            assert found.score(responses, "wle").equals(fitted.abilities("wle"))
            assert found.true_scores(responses).equals(fitted.true_scores())


@pytest.mark.slow
def test_a_population_of_any_shape_comes_back(tmp_path, subtests):
    for model in MODELS:
        responses = simulate(model, 60, 4, random_state=2).responses
        fitted = calibrate(responses, model, population="histogram", tolerance=0.1)
        for suffix in SUFFIXES:
            with subtests.test(suffix=suffix, model=model):
                assert isinstance(fitted.population, HistogramPopulation)
                found = load(fitted.save(tmp_path / f"bank{suffix}"))
                assert_same(found, fitted)
                assert found.score(responses, "map").equals(fitted.abilities("map"))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_grade_that_an_item_lacks_stays_absent(tmp_path, suffix):
    values = GRADES.values
    values[:, 0] = np.minimum(values[:, 0], 1)
    fitted = calibrate(values, "graded")
    found = load(fitted.save(tmp_path / f"bank{suffix}"))
    assert_same(found, fitted)
    assert found.items["difficulty_2"].isna().tolist() == [True, False, False, False]


def test_the_population_is_named_in_the_file(cal, tmp_path):
    document = json.loads(cal.save(tmp_path / "bank.json").read_text(encoding="utf-8"))
    assert document["version"] == 4
    assert document["population"] == {"normal": {"mean": 0.0, "sd": 1.0}}


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    names=st.lists(
        st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).map(str.strip),
        min_size=4, max_size=4, unique=True,
    ).filter(all),
    numbers=st.lists(st.floats(-19, 19), min_size=8, max_size=8),
    suffix=st.sampled_from(SUFFIXES),
)  # fmt: skip
def test_any_names_and_numbers_come_back(tmp_path, cal, names, numbers, suffix):
    from dataclasses import replace

    from ogive.irt.item_covariances import KnownCovariances

    bank = replace(
        cal,
        model=MODELS["2pl"](),
        item_names=tuple(names),
        coords=np.reshape(numbers, (4, 2)),
        uncertainty=KnownCovariances(np.tile([[2.0, 0.5], [0.5, 1.0]], (4, 1, 1))),
        flags=((), (names[0],), (), tuple(names)),
    )
    found = load(bank.save(tmp_path / f"bank{suffix}"))
    assert found.item_names == bank.item_names
    assert found.flags == bank.flags
    np.testing.assert_array_equal(found.coords, bank.coords)


def test_a_suffix_decides_whatever_its_case(cal, tmp_path):
    assert_same(load(cal.save(str(tmp_path / "BANK.JSON"))), cal)


def test_another_ending_is_refused(cal, tmp_path, subtests):
    for name in ["bank.csv", "bank", "bank.pkl", "bank.json.gz"]:
        with subtests.test(name):
            with pytest.raises(
                InputError, match=r"Cannot save a calibration as .*\.json.*\.parquet"
            ):
                cal.save(tmp_path / name)
            assert not list(tmp_path.iterdir())


def test_a_loaded_bank_has_no_respondents_and_says_what_to_do(cal, tmp_path):
    found = load(cal.save(tmp_path / "bank.json"))
    for ask in (found.abilities, found.true_scores, found.total_scores):
        with pytest.raises(InputError, match=r"loaded from a file.*cal\.score\(responses\)"):
            ask()
    drawn = found.plot().figure_
    assert drawn.axes
    plt.close(drawn)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileError, match=r"no file 'bank\.json'"):
        load(tmp_path / "bank.json")


def test_a_directory_is_no_bank(tmp_path):
    with pytest.raises(FileError, match="is a folder"):
        load(tmp_path)


def test_another_kind_of_file_is_refused(tmp_path, subtests):
    for content, message in [
        (b"", "is empty"),
        (b"\x89PNG\r\n", "neither JSON with a schema, Parquet nor"),
        (b"item,a,b\n1,2,3\n", "not a file that Ogive saved.*read_responses"),
        (b"[1, 2]", "not a file that Ogive saved"),
        (b'{"schema": "other/calibration", "version": 1}', "not a file that Ogive wrote"),
        (b"PAR1 and then nonsense", "is not an intact Parquet file"),
    ]:
        with subtests.test(message):
            path = tmp_path / "bank.json"
            path.write_bytes(content)
            with pytest.raises(FileError, match=message):
                load(path)


def test_a_parquet_file_of_responses_is_no_bank(cal, tmp_path):
    cal.responses.save(tmp_path / "responses.parquet")
    with pytest.raises(FileError, match=r"holds responses.*but a calibration.*is needed"):
        load_only("calibration", tmp_path / "responses.parquet")


def test_a_truncated_file_is_refused(cal, tmp_path, subtests):
    for suffix, share in product(SUFFIXES, [0.02, 0.3, 0.7, 0.95, 0.999]):
        with subtests.test(suffix=suffix, share=share):
            path = cal.save(tmp_path / f"bank{suffix}")
            content = path.read_bytes()
            path.write_bytes(content[: int(share * len(content)) - 1])
            with pytest.raises(FileError, match=str(path)):
                load(path)


def test_a_file_from_the_future_asks_for_an_upgrade(written):
    with pytest.raises(FileError, match=r"newer Ogive.*Update Ogive"):
        load(written(lambda document: document.update(version=99)))


def test_a_parquet_file_from_the_future_asks_for_an_upgrade(cal, tmp_path):
    path = cal.save(tmp_path / "bank.parquet")
    table = pq.read_table(path)
    head = json.loads(table.schema.metadata[HEAD_KEY])
    head["version"] = 99
    pq.write_table(table.replace_schema_metadata({HEAD_KEY: json.dumps(head)}), path)
    with pytest.raises(FileError, match="newer Ogive"):
        load(path)


def test_a_document_of_another_kind_is_named(written):
    with pytest.raises(FileError, match=r"'ogive/report', which load cannot read"):
        load(written(lambda document: document.update(schema="ogive/report")))


def test_a_part_that_is_missing_is_named(written, subtests):
    for key in [
        "model",
        "population",
        "log_likelihood",
        "n_respondents",
        "iterations",
        "converged",
        "engine",
        "notes",
        "items",
    ]:
        with subtests.test(key), pytest.raises(FileError, match=rf'lacks "{key}"'):
            load(written(lambda document, key=key: document.pop(key)))


def shorter(column):
    return lambda document: document["items"][column].pop()


def in_items(**columns):
    return lambda document: document["items"].update(columns)


def in_model(**parts):
    return lambda document: document["model"].update(parts)


def histogram(points=tuple(range(8)), mass=(0.125,) * 8):
    parts = {"points": points, "mass": mass}
    return lambda document: document.update(population={"histogram": parts})


def test_a_bank_broken_by_hand_is_refused(written, subtests):
    for case, (edit, message) in {
        "fewer names": (shorter("item"), "discrimination is not a list of 4 numbers"),
        "fewer slopes": (shorter("discrimination"), "discrimination is not a list of 5 numbers"),
        "fewer covariances": (shorter("covariance"), "different lengths"),
        "fewer flags": (shorter("flags"), "different lengths"),
        "duplicate names": (in_items(item=["a", "b", "c", "d", "a"]), "unique"),
        "no names": (in_items(item=[]), "item names must be there"),
        "guessing above one": (
            in_items(guessing=[0.1, 0.2, 1.5, 0.2, 0.2]),
            "guessing lies outside",
        ),
        "guessing below zero": (
            in_items(guessing=[0.1, 0.2, -0.1, 0.2, 0.2]),
            "guessing lies outside",
        ),
        "slope out of reach": (
            in_items(discrimination=[1, 2, 3, 4, 99]),
            "discrimination lies outside",
        ),
        "intercept missing": (
            in_items(intercept=[1, 2, None, 4, 5]),
            "intercept is None, not a number",
        ),
        "intercept text": (in_items(intercept=["a"] * 5), "intercept is 'a', not a number"),
        "intercept one number": (in_items(intercept=3.0), "intercept is not a list of 5 numbers"),
        "covariance narrow": (
            in_items(covariance=[[1.0]] * 5),
            "covariance is not a list of 9 numbers",
        ),
        "no guessing": (
            lambda document: document["items"].pop("guessing"),
            "'guessing' is missing",
        ),
        "items a list": (lambda document: document.update(items=[1, 2]), "."),
        "items none": (lambda document: document.update(items=None), "."),
        "unknown model": (in_model(name="5pl"), "no model '5pl'"),
        "model name a list": (in_model(name=["3pl"]), "."),
        "extra option": (in_model(options={"power": 3}), "no option .*power"),
        "options none": (in_model(options=None), "."),
        "prior on luck": (in_model(priors={"luck": None}), "'luck'"),
        "prior unknown": (in_model(priors={"guessing": {"cauchy": {"scale": 1}}}), "'cauchy'"),
        "prior improper": (in_model(priors={"guessing": {"beta": {"a": 0, "b": 1}}}), "at least 1"),
        "prior misnamed": (in_model(priors={"guessing": {"beta": {"mean": 1}}}), "mean"),
        "prior a number": (in_model(priors={"guessing": 3}), "."),
        "priors a number": (in_model(priors=3), "."),
        "model as text": (lambda document: document.update(model="3pl"), "."),
        "population negative": (
            lambda document: document.update(population={"normal": {"mean": 0, "sd": -1}}),
            "population's sd is -1",
        ),
        "population misnamed": (
            lambda document: document.update(population={"normal": {"middle": 0}}),
            "'mean' is missing",
        ),
        "population unknown": (
            lambda document: document.update(population={"gamma": {"mean": 0}}),
            "no population 'gamma",
        ),
        "population of version 1": (
            lambda document: document.update(population={"mean": 0, "sd": 1}),
            ".",
        ),
        "histogram of one point": (histogram(points=[0.0] * 8), "ascending, equally spaced"),
        "histogram of too much": (histogram(mass=[0.5] * 8), "they sum to 1"),
        "histogram shorter": (histogram(mass=[1.0]), "mass is not a list of 8 numbers"),
        "histogram text": (histogram(mass=["a"] * 8), "mass is 'a', not a number"),
        "histogram a number": (histogram(points=3), "."),
        "population none": (lambda document: document.update(population=None), "."),
        "log-likelihood text": (lambda document: document.update(log_likelihood="high"), "high"),
        "iterations none": (lambda document: document.update(iterations=None), "."),
        "notes a number": (
            lambda document: document.update(notes=3),
            "notes is 3, not a list of texts",
        ),
        "notes numbers": (lambda document: document.update(notes=[3]), "notes is 3, not text"),
        "respondents text": (
            lambda document: document.update(n_respondents="many"),
            "n_respondents is 'many'",
        ),
        "respondents negative": (
            lambda document: document.update(n_respondents=-1),
            "n_respondents is -1",
        ),
        "converged text": (lambda document: document.update(converged="yes"), "converged is 'yes'"),
        "engine a number": (lambda document: document.update(engine=1), "engine is 1, not text"),
        "flags text": (
            in_items(flags=["solved by all"] * 5),
            "flags is 'solved by all', not a list of texts",
        ),
        "flags numbers": (in_items(flags=[[1]] * 5), "flags is 1, not text"),
        "names numbers": (in_items(item=[1, 2, 3, 4, 5]), "names is 1, not text"),
        "intercept out of reach": (
            in_items(intercept=[1, 2, 3, 4, 1e300]),
            "intercept lies outside",
        ),
        "variance negative": (
            in_items(covariance=[[-1.0, 0, 0, 0, 1, 0, 0, 0, 1]] * 5),
            "variance is negative",
        ),
        "covariance asymmetric": (
            in_items(covariance=[[1.0, 1, 0, 0, 1, 0, 0, 0, 1]] * 5),
            "not symmetric",
        ),
    }.items():
        with subtests.test(case):
            path = written(edit)
            with pytest.raises(
                FileError,
                match=rf"(?s){path.name}.*not a calibration that this Ogive can use.*{message}",
            ):
                load(path)


def test_numbers_that_json_does_not_know_are_refused(cal, tmp_path, subtests):
    for number in ["NaN", "Infinity", "1e999"]:
        with subtests.test(number):
            path = cal.save(tmp_path / "bank.json")
            text = path.read_text(encoding="utf-8")
            value = json.loads(text)["items"]["discrimination"][0]
            path.write_text(text.replace(repr(value), number, 1), encoding="utf-8")
            with pytest.raises(FileError, match="not strict JSON"):
                load(path)


def test_a_discrimination_that_is_no_number_is_refused(tmp_path):
    rasch = calibrate(simulate("1pl", 60, 4, random_state=2).responses, OnePL(discrimination=1))
    path = rasch.save(tmp_path / "bank.json")
    document = json.loads(path.read_text(encoding="utf-8"))
    document["model"]["options"]["discrimination"] = "steep"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(FileError, match=r"`discrimination` must be .*got 'steep'"):
        load(path)


def test_saving_twice_gives_the_same_bytes(cal, tmp_path):
    one, two = cal.save(tmp_path / "one.json"), cal.save(tmp_path / "two.json")
    assert one.read_bytes() == two.read_bytes()


def test_a_prior_of_ones_own_cannot_be_saved_and_that_is_said(cal, tmp_path):
    class Flat:
        keeps_off = False

        def log_density(self, x):
            return 0 * x

        slope = curvature = log_density

    responses = simulate("2pl", 60, 4, random_state=2).responses
    own = calibrate(responses, priors={"intercept": Flat()})
    with pytest.raises(InputError, match=r"prior of type Flat cannot be saved.*normal, beta"):
        own.save(tmp_path / "bank.json")


def test_a_changed_number_that_fits_is_found_by_the_checksum(cal, tmp_path, subtests):
    for suffix in SUFFIXES:
        with subtests.test(suffix):
            path = cal.save(tmp_path / f"bank{suffix}")
            path.write_bytes(path.read_bytes().replace(b"item_1", b"Item_1"))
            with pytest.raises(FileError, match="SHA-256 differs"):
                load(path)


def test_a_covariance_must_be_one(written):
    def turn(document):
        first = document["items"]["covariance"][0]
        width = int(len(first) ** 0.5)
        first[1] = first[width] = 2 * (first[0] * first[width + 1]) ** 0.5

    with pytest.raises(FileError, match="not positive semi-definite"):
        load(written(turn))


def test_damaged_text_in_a_parquet_bank_is_said_with_the_file(cal, tmp_path):
    path = cal.save(tmp_path / "bank.parquet")
    path.write_bytes(path.read_bytes().replace(b"item_1", b"\xfftem_1"))
    with pytest.raises(FileError, match=r"bank\.parquet' is not an intact"):
        load(path)


def test_a_small_parquet_bank_of_millions_of_items_is_refused_unread(cal, tmp_path):
    path = cal.save(tmp_path / "bank.parquet")
    head = pq.read_schema(path).metadata
    many = pa.array(np.zeros(2_000_000))
    columns = dict.fromkeys(pq.read_schema(path).names, many)
    pq.write_table(pa.table(columns).replace_schema_metadata(head), path)
    before = pa.total_allocated_bytes()
    with pytest.raises(InputError, match=r"2,000,000 rows.*pass a larger max_bytes"):
        load(path, max_bytes=2**30)
    assert pa.total_allocated_bytes() <= before


def test_numbers_whose_squares_are_none_are_refused(written, subtests):
    for column in ("covariance", "shared"):
        with subtests.test(column):

            def bend(document, column=column):
                document["items"][column][0][0] = 1e308
                document[SUM] = sum_of(document)

            with pytest.raises(FileError, match=rf"{column} has values that are not finite"):
                load(written(bend))


def test_a_bank_of_known_items_is_saved_and_loaded(tmp_path):
    bank = known_items(TwoPL(), np.array([[1.0, 0.5], [2.0, -1.0]]))
    bank.save(tmp_path / "bank.json")
    again = load(tmp_path / "bank.json")
    np.testing.assert_array_equal(again.coords, bank.coords)
    assert list(again.items["flag"]) == ["", ""]


CASES = [
    ("graded", "categories", [2147483648] * 3),
    ("graded", "categories", [2, 2]),
    ("graded", "categories", "many"),
    ("graded", "lowest", "x"),
    ("graded", "lowest", 10**400),
    ("gpcm", "lowest", [None] * 3),
    ("continuous", "inside", [[0, 1], [0, 1]]),
    ("continuous", "bounds", [[0, 1], [0, 1]]),
    ("continuous", "bounds", [1, 0]),
    ("beta", "inside", [-1, 0.5]),
    ("beta", "inside", [0.5, 2.5]),
    ("beta", "bounds", [0, 10]),
]


def test_an_option_that_cannot_be_is_refused_on_loading(tmp_path, subtests):
    for model, option, value in CASES:
        with subtests.test(model=model, option=option, value=value):
            responses = og.simulate(model, 40, 3, random_state=1).responses
            path = og.calibrate(responses, model).save(tmp_path / "bank.json")
            document = json.loads(path.read_text())
            document["model"]["options"][option] = value
            path.write_text(json.dumps(document))
            with pytest.raises(FileError, match="is not a calibration that this Ogive can use"):
                og.load(path)
