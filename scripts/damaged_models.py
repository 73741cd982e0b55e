"""Damage saved models at random, and use what still loads: no file may end the process.

    python scripts/damaged_models.py --each 50

Every type of estimator that may be saved is fitted, saved, changed in one to three places (numbers
of the description, single values, shapes, types and order of arrays), read and used in child
processes. It must be refused with an error of the package, or predict, or raise an exception.
"""

# ruff: noqa: E402 - variables are set before NumPy is loaded
from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import io
import re
import resource
import signal
import sys
import warnings
import zipfile
from collections import Counter
from contextlib import suppress
from typing import Any

import numpy as np

from ogive.data.saved_estimators import packed, unpacked
from ogive.errors import FileError, InputError

SECONDS, MEMORY = 60, 4 << 30
NUMBER = re.compile(rb'"content": "(-?\d+(?:\.\d+)?|true|false|null|NaN)"')
NUMBERS = (b"-1", b"0", b"1", b"2", b"7", b"65", b"1000000", b"1099511627776", b"0.5", b"NaN")
NUMBERS = (*NUMBERS, b"true", b"null", b"[1]", b"-1000000")
VALUES = (-1, 0, 1, 2, 3, 63, 64, 10**6, 2**31 - 1, -(2**31), 2**40, np.nan, np.inf, -1e308)
FAILED = ("ended", "leaks")
USES = ("predict", "predict_proba", "decision_function", "transform", "apply", "decision_path")


def main() -> int:
    """Return damage all; say what became of them."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--each", type=int, default=50, help="damaged files of each model")
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--models", nargs="*", default=[], help="words in their names; all if none")
    given = words.parse_args()
    warnings.simplefilter("ignore")
    total: Counter[str] = Counter()
    for name, content, rows in models(given.models):
        found = outcomes(content, rows, range(given.seed, given.seed + given.each))
        crashed = [f"{seed}: {what}" for seed, what in found.items() if what.startswith(FAILED)]
        total.update(what.split(",")[0] for what in found.values())
        told = Counter(what.split(",")[0] for what in found.values())
        print(name, dict(told), *crashed, sep="  ", flush=True)
    print("all", dict(total), sep="  ")
    return 1 if any(what.startswith(FAILED) for what in total) else 0


def models(wanted: list[str]) -> list[tuple[str, bytes, Any]]:
    """Return name, saved content and rows to predict, of every type that may be saved."""
    made = []
    for name, model, rows, target in fitted(wanted):
        with suppress(InputError):
            made.append((name, packed(model.fit(rows, target), "model"), rows[:20]))
    return made


def fitted(wanted: list[str]) -> list[tuple[str, Any, Any, Any]]:
    """Return unfitted models with rows and targets that they can learn."""
    from sklearn.base import is_classifier
    from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.tree import DecisionTreeRegressor
    from sklearn.utils import all_estimators

    from ogive.data.saved_estimators import CHECKED, PLAIN
    from ogive.difficulty.regressor import StepwiseRegressor

    random = np.random.default_rng(0)
    rows = np.abs(random.normal(size=(120, 4)))
    level = rows[:, 0] + random.normal(0, 0.1, 120) + 1
    classes = np.digitize(level, [1.5, 2.2])
    texts = [" ".join(random.choice(["a1", "b2", "c3", "d4", "e5"], 6)) for _ in range(120)]
    letters = random.choice(np.array(["x", "y", "z", "w"], dtype=object), (120, 2))
    twice = ColumnTransformer([("a", StandardScaler(), [0, 1]), ("b", OneHotEncoder(), [2])])
    coded = (rows * 2).astype(int)
    cases: list[tuple[str, Any, Any, Any]] = [
        ("Stepwise", StepwiseRegressor(), rows, level),
        ("texts", make_pipeline(TfidfVectorizer(), LogisticRegression()), texts, classes),
        (
            "text boosting",
            make_pipeline(TfidfVectorizer(), GradientBoostingClassifier(n_estimators=4)),
            texts,
            classes,
        ),
        (
            "letters",
            make_pipeline(OneHotEncoder(max_categories=3), LogisticRegression()),
            letters,
            classes,
        ),
        ("columns", make_pipeline(twice, Ridge()), coded, level),
        ("neighbours in a tree", KNeighborsClassifier(algorithm="kd_tree"), rows, classes),
        ("neighbours in balls", KNeighborsClassifier(algorithm="ball_tree"), rows, classes),
        ("target", TransformedTargetRegressor(DecisionTreeRegressor()), rows, level),
    ]
    for name, kind in all_estimators():
        short = name.removesuffix("Classifier").removesuffix("Regressor")
        if not {name, short} & (PLAIN | CHECKED.keys()) or "Vectorizer" in name:
            continue
        try:
            model = kind()
        except TypeError:
            part = LogisticRegression() if "Classif" in name or "RF" in name else Ridge()
            with suppress(TypeError):
                model = kind(part)
        for setting in ("n_estimators", "max_iter"):
            if "Boost" in name or "Forest" in name or "Trees" in name or "Bagging" in name:
                with suppress(ValueError):
                    model.set_params(**{setting: 3})
        target: Any = classes if is_classifier(model) else level
        if (name.startswith("Multi") and name != "MultinomialNB") or "Chain" in name:
            target = np.column_stack([classes > 0, level > 2]).astype(int)
        cases.append(
            (name, model, coded if name in ("CategoricalNB", "OneHotEncoder") else rows, target)
        )
    known = []
    for case in cases:
        if not wanted or any(word in case[0] for word in wanted):
            try:
                case[1].fit(case[2], case[3])
            except Exception as error:
                print(f"{case[0]} is left out: {error!s:.80}", file=sys.stderr)
                continue
            known.append(case)
    return known


def outcomes(content: bytes, rows: Any, seeds: range) -> dict[int, str]:
    """Return what became of each damaged file; a child that ends is followed by another."""
    found: dict[int, str] = {}
    while len(found) < len(seeds):
        left = [seed for seed in seeds if seed not in found]
        out, into = os.pipe()
        child = os.fork()
        if not child:
            os.close(out)
            _limited()
            for seed in left:
                signal.alarm(SECONDS)
                os.write(into, f"{seed} {outcome(damaged(content, seed), rows)}\n".encode())
            os._exit(0)
        os.close(into)
        with os.fdopen(out) as told:
            for line in told:
                seed, what = line.rstrip("\n").split(" ", 1)
                found[int(seed)] = what
        _, status = os.waitpid(child, 0)
        if status:
            at = next(seed for seed in left if seed not in found)
            code = os.waitstatus_to_exitcode(status)
            found[at] = (
                f"ended by {signal.Signals(-code).name if code < 0 else f'exit code {code}'}"
            )
    return found


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def outcome(content: bytes, rows: Any) -> str:
    """Read and use one model."""
    try:
        model = unpacked("damaged.skops", content, lambda _: None, "model", "save")
    except FileError:
        return "refused"
    except Exception as error:  # another error than the package's own
        return f"leaks, {type(error).__name__}"
    done = "predicts"
    for use in USES:
        try:
            if hasattr(model, use):
                getattr(model, use)(rows)
        except Exception as error:
            done = f"raises, {type(error).__name__}"
    return done


def damaged(content: bytes, seed: int) -> bytes:
    """Return a file changed in one to three places."""
    random = np.random.default_rng(seed)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    arrays = [name for name in files if name.endswith(".npy")]
    for _ in range(random.integers(1, 4)):
        places = list(NUMBER.finditer(files["schema.json"]))
        if places and (not arrays or random.random() < 0.5):
            at, instead = places[random.integers(len(places))], random.choice(list(NUMBERS))
            old = files["schema.json"]
            files["schema.json"] = old[: at.start(1)] + bytes(instead) + old[at.end(1) :]
        elif arrays:
            name = arrays[random.integers(len(arrays))]
            other = arrays[random.integers(len(arrays))]
            files[name] = _bent(files[name], files[other], random)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


def _bent(own: bytes, other: bytes, random: np.random.Generator) -> bytes:
    kind = random.integers(8)
    if kind == 0:
        return other
    if kind == 1 and len(own) > 128:
        data = bytearray(own)
        data[random.integers(len(own))] = random.integers(256)
        return bytes(data)
    try:
        array = np.load(io.BytesIO(own), allow_pickle=False).copy()
    except Exception:  # it was damaged before
        return own
    with suppress(ValueError, TypeError, OverflowError, IndexError):
        if kind == 2:
            array = np.concatenate([array, array])
        elif kind == 3:
            array = array[: random.integers(len(array) + 1)]
        elif kind == 4:
            array = array.T if array.ndim > 1 else array[None]
        elif kind == 5:
            array = array.astype(random.choice(["f4", "i8", "i4", "u1", "f8"]))
        else:
            names = array.dtype.names
            part = array[names[random.integers(len(names))]] if names else array
            part.flat[random.integers(part.size)] = VALUES[random.integers(len(VALUES))]
    made = io.BytesIO()
    np.save(made, array, allow_pickle=False)
    return made.getvalue()


if __name__ == "__main__":
    sys.exit(main())
