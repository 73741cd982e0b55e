"""How large the files are that Ogive writes, and how much of them it reads back by default.

    python scripts/file_sizes.py

Two files of each kind are written that differ only in how much they hold. The difference gives the
bytes and the memory for each thing more, and with them how many fit into the usual limit.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn.naive_bayes import GaussianNB

import ogive as og
from ogive._files import json_need
from ogive._load import KINDS

Write = Callable[[int, Path], Path]


def main() -> None:
    """Print one row per kind of file and thing in it."""
    warnings.simplefilter("ignore")
    print(f"{'file':6}{'holds more':36}{'bytes each':>11}{'memory each':>12}{'read back':>13}")
    with tempfile.TemporaryDirectory() as folder:
        for kind, what, few, many, write in _cases():
            paths = [write(n, Path(folder) / f"{n}.json") for n in (few, many)]
            sizes = np.array([path.stat().st_size for path in paths])
            needs = np.array([json_need(path.read_bytes()) for path in paths])
            size, need = np.diff(sizes)[0] / (many - few), np.diff(needs)[0] / (many - few)
            fit = min(KINDS[kind].most / size, KINDS[kind].memory / need)
            name = "bank" if kind == "calibration" else kind
            print(f"{name:6}{what:36}{size:11,.0f}{need:12,.0f}{fit:13,.0f}")


def _cases() -> Iterator[tuple[str, str, int, int, Write]]:
    for model in ("1pl", "2pl", "4pl", "graded", "continuous"):
        yield "calibration", f"items, {model}", 20, 120, lambda n, path, m=model: _bank(m, n, path)
    yield "gate", "features x classes, 4 classes", 12, 72, lambda n, path: _gate(path, n // 4)
    yield "gate", "classes, 1 feature", 4, 12, lambda n, path: _gate(path, 1, n_classes=n)
    yield (
        "gate",
        "cases, half of them predicted wrongly",
        2_000,
        6_000,
        lambda n, path: _gate(path, 3, n, blur=2.0),
    )


def _bank(model: str, n_items: int, path: Path) -> Path:
    drawn = og.simulate(model, 60, n_items, random_state=0).responses
    return Path(og.calibrate(drawn, model, progress=False).save(path))


def _gate(
    path: Path, n_features: int, n_cases: int = 1_000, n_classes: int = 4, blur: float = 1.0
) -> Path:
    random = np.random.default_rng(0)
    true = np.arange(n_cases) % n_classes
    cases = true[:, None] + blur * random.normal(size=(n_cases, n_features))
    gate = og.CapabilityGate(GaussianNB(), target_accuracy=0.8, random_state=0)
    return Path(gate.fit(cases, true).save(path))


if __name__ == "__main__":
    main()
