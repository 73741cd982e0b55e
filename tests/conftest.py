"""What several tests share: the folder of shared data, and the likelihood in plain NumPy."""

import gc
import json
import os
import re
import runpy
import subprocess
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings
from scipy.special import expit

from ogive import OnePL, Responses, ThreePL, TwoPL, calibrate
from ogive.irt.banks import known_items
from ogive.irt.quadrature import NormalPopulation

# A busy machine is no failure.
settings.register_profile("ogive", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ogive")

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("OGIVE_SHARED", ROOT.parent / "shared"))

# Threads would only wait for each other on data this small; read when scikit-learn is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")


# What only the shared folder has, and why, by the test file that needs it.
MISSING = {
    **dict.fromkeys(
        ["test_mirt.py", "test_r_mirt.py", "test_science.py", "test_model_fit.py"],
        "SAT12 and Science, tables of R mirt (GPL), and its figures of them",
    ),
    **dict.fromkeys(
        [
            *("test_airt.py", "test_airt_portfolio.py", "test_aslib.py", "test_portfolio.py"),
            *("test_algorithm_selection.py", "test_measure_comparison.py"),
        ],
        "scenarios of ASlib (GPL) and R airt's figures of them",
    ),
    **dict.fromkeys(
        ["test_decodirt.py", "test_dataset_choice.py", "test_glicko_tournament.py"],
        "response tables and results of decodIRT (GPL)",
    ),
    **dict.fromkeys(
        [
            *("test_metabench.py", "test_short_form.py", "test_adaptive_replay.py"),
            *("test_check.py", "test_differential.py", "test_linking.py"),
        ],
        "answers of language models in metabench (CC BY-NC-SA)",
    ),
    "test_ranked_board.py": "answers of language models in HELM Lite (no licence stated)",
    "test_board_repeats.py": "answers to GPQA Diamond of two models, five epochs each",
    **dict.fromkeys(
        [
            *("test_confusion_matrix.py", "test_dataset.py", "test_table_files.py"),
            *("test_mislabelled_items.py", "test_decoder.py"),
        ],
        "heart-statlog and other tables of features (copies without a licence)",
    ),
    "test_rest.py": "tables of decodIRT (GPL), answers of language models in metabench",
    **dict.fromkeys(
        ["test_log_reading.py", "test_formats.py"],
        "logs of three evaluation harnesses (of mixed origin)",
    ),
}


@pytest.fixture(scope="module")
def shared(request):
    """The folder of shared data: reference figures and response tables."""
    missing = MISSING[request.path.name]  # add what the file needs, here and in CONTRIBUTING.md
    if not SHARED.is_dir():
        pytest.skip(
            f"not part of the repository: {missing}. There is no folder {SHARED}; "
            "set OGIVE_SHARED to the one that has it"
        )
    return SHARED


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Nothing that is collected is garbage: to search it took a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """No two tests draw from one generator: the second would depend on the first."""
    made = yield
    parts = made if isinstance(made, tuple) else (made,)
    if fixturedef.scope != "function" and any(isinstance(p, np.random.Generator) for p in parts):
        pytest.fail(f"The fixture {fixturedef.argname} hands one random generator to several tests")
    return made


@pytest.fixture(autouse=True)
def same_environment():
    """A test leaves the variables as they were: a command sets some for its own children."""
    before = dict(os.environ)
    yield
    if os.environ != before:
        os.environ.clear()
        os.environ.update(before)


_begin_process = subprocess.Popen.__init__
_begun = []  # processes that the test started


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    """Note the processes that a test starts; those of fixtures that it shares are not its own."""

    def noted(process, *args, **settings):
        _begin_process(process, *args, **settings)
        _begun.append(process)

    subprocess.Popen.__init__ = noted
    try:
        return (yield)
    finally:
        subprocess.Popen.__init__ = _begin_process


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown():
    """A test leaves no process, and no pipe of one: the next would meet a ResourceWarning."""
    done = yield
    workers = sys.modules.get("ogive.data.pools.member_runs")  # idle ones are kept for the next run
    kept = [worker.process for worker in workers._idle] if workers else []
    left = [process for process in _begun if process not in kept and is_left(process)]
    _begun.clear()
    for process in left:
        process.kill()
        process.communicate()
    if left:
        pytest.fail(f"left running, unasked for its status or with open pipes: {left}")
    return done


def is_left(process):
    """Whether nobody waited for the end of a process, or closed its pipes."""
    pipes = (process.stdin, process.stdout, process.stderr)
    return process.returncode is None or any(pipe and not pipe.closed for pipe in pipes)


class Witness:
    """R mirt's figures of one fit, and ours, made once."""

    def __init__(self, tag, fit, responses, frame):
        self.tag, self.fit, self.responses, self.frame = tag, fit, responses, frame
        self.data, self.model = tag.rsplit("_", 1)
        self._ours = {}

    @classmethod
    def in_folder(cls, folder, tag):
        """From the folder of shared data."""

        def frame(ending):
            (path,) = folder.glob(f"mirt_{tag}_{ending}.csv*")
            return pd.read_csv(path)

        fits = pd.read_csv(folder / "mirt_fits.csv")
        fit = fits[(fits["tag"] == tag) & (fits["TOL"] == "tight")].iloc[0]
        table = pd.read_csv(folder / "data" / f"{tag.rsplit('_', 1)[0]}.csv")
        return cls(tag, fit, Responses(table.to_numpy(), items=list(table.columns)), frame)

    @classmethod
    def in_repository(cls, lsat, tag):
        """From `tests/reference/lsat.json`, which counts response patterns."""
        patterns, figures = lsat["tables"][tag.split("_")[0]], lsat["fits"][tag]
        rows = np.array([[int(digit) for digit in pattern] for pattern in patterns])
        times = list(patterns.values())

        def frame(ending):
            found = pd.DataFrame(figures[ending])  # "inf" becomes a number below
            words = found.columns.intersection(["item"])
            found = found.astype(dict.fromkeys(found.columns.difference(words), float))
            if ending in ("abilities", "personfit"):  # of a pattern, thus of all that gave it
                found = found.loc[np.repeat(found.index, times)].reset_index(drop=True)
            return found

        items = lsat["fits"][f"{tag.split('_')[0]}_2PL"]["items_tight"]["item"]
        responses = Responses(np.repeat(rows, times, axis=0), items=items)
        return cls(tag, pd.Series(figures["fit"]), responses, frame)

    @property
    def items(self):
        return self.frame("items_tight").set_index("item")

    def ours(self, model=None, **settings):
        """Our maximum-likelihood fit of the same responses."""
        key = str((model, settings))
        if key not in self._ours:
            chosen = model or {"Rasch": "1pl"}.get(self.model, self.model.lower())
            self._ours[key] = calibrate(self.responses, chosen, priors=None, **settings)
        return self._ours[key]

    def as_bank(self):
        """mirt's own binary items, so that only what is made of them is compared."""
        model = {"Rasch": OnePL, "2PL": TwoPL, "3PL": ThreePL}[self.model]()
        names = ["slopeint_a1", "slopeint_d", "slopeint_g"][: model.width]
        coords = self.items[names].to_numpy(float)
        return known_items(
            model,
            coords,
            self.items.index,
            population=NormalPopulation(0.0, float(np.sqrt(self.fit["latent_var"]))),
            log_likelihood=float(self.fit["loglik"]),
            n_respondents=float(self.responses.n_respondents),
            responses=self.responses,
        )


class Witnesses:
    """R mirt's figures by the tag of a fit, such as "LSAT7_2PL".

    Those of LSAT6 and LSAT7 are part of the repository; the others lie in the shared folder.
    """

    def __init__(self, lsat, folder):
        self._lsat, self._folder, self._seen = lsat, folder, {}

    def __call__(self, tag):
        if tag not in self._seen:
            if tag in self._lsat["fits"]:
                self._seen[tag] = Witness.in_repository(self._lsat, tag)
            else:
                self._seen[tag] = Witness.in_folder(self._folder / "reference", tag)
        return self._seen[tag]

    def at_hand(self, tags):
        """Those of `tags` that can be asked here; without the shared folder, those of LSAT."""
        found = [tag for tag in tags if tag in self._lsat["fits"] or self._folder.is_dir()]
        assert found, f"none of {tags} is in the repository: ask for the fixture `shared`"
        return [self(tag) for tag in found]


@pytest.fixture(scope="session")
def witness():
    lsat = json.loads((ROOT / "tests" / "reference" / "lsat.json").read_text())
    return Witnesses(lsat, SHARED)


@pytest.fixture(scope="session")
def plain():
    """The logistic family and its marginal likelihood on a fixed fine grid: slow, easy to believe.

    Items are rows (slope, intercept[, guessing[, slip]]); responses have NaN where never asked.
    """
    return SimpleNamespace(
        curves=curves, marginal=marginal, posterior=posterior, log_joint=log_joint
    )


def curves(items, abilities):
    """Probability to be right and to be wrong, (n_items, n_abilities) each."""
    rise, fall, low, slip = _parts(items, abilities)
    return low + (1 - slip - low) * rise, slip + (1 - slip - low) * fall


def log_joint(items, values, abilities):
    """Log-likelihood of each row at each ability, (n_respondents, n_abilities)."""
    right, wrong = curves(items, abilities)
    with np.errstate(divide="ignore"):  # an impossible response has log-probability -inf
        return np.array(
            [
                np.log(np.where((row == 1)[:, None], right, wrong))[~np.isnan(row)].sum(axis=0)
                for row in np.asarray(values, dtype=float)
            ]
        ).reshape(len(values), len(abilities))


def posterior(items, values, mean=0.0, sd=1.0, nodes=4001, reach=12.0):
    """Mean, deviation and log-probability of each row by brute force."""
    grid = mean + sd * np.linspace(-reach, reach, nodes)
    log_density = -0.5 * ((grid - mean) / sd) ** 2 - np.log(np.sqrt(2 * np.pi) * sd)
    joint = log_joint(items, values, grid) + log_density + np.log(grid[1] - grid[0])
    top = joint.max(axis=1, keepdims=True)
    weights = np.exp(joint - top)
    total = weights.sum(axis=1)
    found = (weights @ grid) / total
    spread = np.array(
        [w @ (grid - m) ** 2 / t for w, m, t in zip(weights, found, total, strict=True)]
    )
    return found, np.sqrt(spread), top[:, 0] + np.log(total)


def marginal(items, values, weights=None, nodes=401, reach=8.0):
    """Marginal log-likelihood of standard normal abilities, and its gradient in `items`."""
    values = np.asarray(values, dtype=float)
    weights = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=float)
    coded = np.where(np.isnan(values), -1, values)
    patterns, place = np.unique(coded, axis=0, return_inverse=True)
    weights = np.bincount(place.reshape(-1), weights)
    is_right, is_wrong = (patterns == 1).astype(float), (patterns == 0).astype(float)
    grid = np.linspace(-reach, reach, nodes)
    right, wrong = curves(items, grid)
    joint = is_right @ np.log(right) + is_wrong @ np.log(wrong)
    joint += -0.5 * grid**2 - 0.5 * np.log(2 * np.pi) + np.log(grid[1] - grid[0])
    top = joint.max(axis=1, keepdims=True)
    density = np.exp(joint - top)
    total = density.sum(axis=1, keepdims=True)
    value = weights @ (top + np.log(total))[:, 0]
    mass = weights[:, None] * density / total
    pull = (is_right.T @ mass) / right - (is_wrong.T @ mass) / wrong
    rise, fall, low, slip = _parts(items, grid)
    bell = (1 - slip - low) * rise * fall
    slopes = [bell * grid, bell, fall, -rise][: items.shape[1]]
    return value, np.stack([(pull * slope).sum(axis=1) for slope in slopes], axis=1)


def _parts(items, abilities):
    z = items[:, :1] * abilities + items[:, 1:2]
    width = items.shape[1]
    low = items[:, 2:3] if width > 2 else np.zeros((len(items), 1))
    slip = items[:, 3:4] if width > 3 else np.zeros((len(items), 1))
    return expit(z), expit(-z), low, slip


@pytest.fixture(scope="session")
def bank():
    """Makes a 2PL calibration of items that are known exactly."""

    def make(**parameters):
        model = TwoPL()
        coords = model.from_parameters({k: np.asarray(v, float) for k, v in parameters.items()})
        return known_items(model, coords)

    return make


@pytest.fixture
def records():
    """Checks the dataclasses of a package: nobody changes them, and arrays are not compared.

    Files are run anew, so that their definitions count as run by the test that asks.
    """

    def check(package, *changing):
        for file in sorted(Path(package.__file__).parent.glob("*.py")):
            made = [x for x in runpy.run_path(str(file)).values() if isinstance(x, type)]
            for record in made:
                if not is_dataclass(record) or record.__module__ != "<run_path>":
                    continue
                settings = record.__dataclass_params__
                assert settings.frozen == (record.__name__ not in changing), record
                kinds = " ".join(str(field.type) for field in fields(record))
                if re.search(r"Floats|NDArray|ndarray|DataFrame", kinds):
                    assert not settings.eq, f"{record}: arrays have no single answer to =="

    return check
