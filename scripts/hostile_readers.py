"""Every reader and loader with samples to damage, and what a result must still be able to do."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import itemwise as iw

TESTS = Path(__file__).parents[1] / "tests"
Use = Callable[[Path], Any]


@dataclass(frozen=True)
class Reader:
    """A reader: `make` writes a sample and returns the file to damage and the path to read."""

    make: Callable[[Path], tuple[Path, Path]]
    use: Use
    sign: Callable[[Path], None] | None = None  # renew the checksums, as one would who knows how


def _responses(path: Path) -> None:
    found = iw.read_responses(path, progress=False)
    again = iw.read_responses(found.save(path.parent / "again.parquet"), progress=False)
    assert again.respondents == found.respondents  # noqa: S101
    if path.suffix == ".parquet":
        iw.scan_responses(path)


def _table(path: Path) -> None:
    from itemwise.tables.table_files import read_table

    read_table(path).to_csv()


def _logs(path: Path) -> None:
    found = iw.read_logs(path, progress=False)
    found.save(path.parent / "again.parquet")


def _bank(path: Path) -> None:
    bank = iw.load(path)
    bank.to_frame()
    bank.information([0.0, 1.0])
    bank.score(np.zeros((1, len(bank.item_names))))
    iw.load(bank.save(path.parent / "again.json"))


def _gate(path: Path) -> None:
    gate = iw.load(path)
    gate.decide(pd.DataFrame({name: [0.5] for name in gate.kinds_}))


def _regressor(path: Path) -> None:
    iw.load(path).predict(pd.DataFrame({"a": [0.1, 0.2], "b": [1.0, 2.0]}))


def _short(path: Path) -> None:
    short = iw.load(path)
    short.predict(np.ones((1, len(short.items))))


def _adaptive(path: Path) -> None:
    session = iw.load(path).start()
    session.next_item()


def _journal(path: Path) -> None:
    from itemwise.studies.evaluation.journal import ResponseJournal

    with ResponseJournal(path, {"seed": 0}) as journal:
        journal.add("new", 1.0)


def _aslib(path: Path) -> None:
    iw.read_aslib(path)


def _runs(path: Path) -> None:
    iw.read_runs(path)


def _sign_bank(path: Path) -> None:
    from itemwise.calibration.bank_writing import SUM, sum_of

    document = json.loads(path.read_bytes())
    document[SUM] = sum_of(document)
    path.write_text(json.dumps(document))


def _sign_gate(path: Path) -> None:
    from itemwise.capability.gate_files import KEYS, SUM

    document = json.loads(path.read_bytes())
    model = path.with_suffix(".skops").read_bytes()
    document["model"]["sha256"] = hashlib.sha256(model).hexdigest()
    part = json.dumps([document[key] for key in KEYS])
    document[SUM] = hashlib.sha256(part.encode()).hexdigest()
    path.write_text(json.dumps(document))


def _simulated() -> Any:
    return iw.simulate("2pl", 60, 5, random_state=0).responses


def _beside(path: Path) -> tuple[Path, Path]:
    return path, path


def _csv(folder: Path) -> tuple[Path, Path]:
    path = folder / "scores.csv"
    _simulated().to_frame().head(8).rename_axis("model").to_csv(path)
    return _beside(path)


def _tsv(folder: Path) -> tuple[Path, Path]:
    path = folder / "scores.tsv"
    _simulated().to_frame().head(8).rename_axis("model").to_csv(path, sep="\t")
    return _beside(path)


def _jsonl(folder: Path) -> tuple[Path, Path]:
    path = folder / "scores.jsonl"
    rows = [{"subject_id": f"m{k}", "responses": {"a": k % 2, "b": 1}} for k in range(6)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return _beside(path)


def _parquet(folder: Path) -> tuple[Path, Path]:
    return _beside(_simulated().save(folder / "scores.parquet"))


def _long_parquet(folder: Path) -> tuple[Path, Path]:
    path = folder / "long.parquet"
    rows = {"respondent": list("aabb"), "item": list("xyxy"), "response": [1, 0, 0, 1]}
    pd.DataFrame({**rows, "task": list("mnmn")}).to_parquet(path)
    return _beside(path)


def _arff(folder: Path) -> tuple[Path, Path]:
    path = folder / "table.arff"
    head = "@relation r\n@attribute a numeric\n@attribute b {x,'y z'}\n@attribute c string\n@data\n"
    path.write_text(head + "1,x,'q'\n?,'y z',r\n{0 3, 2 w}\n")
    return _beside(path)


def _bank_file(ending: str) -> Callable[[Path], tuple[Path, Path]]:
    def make(folder: Path) -> tuple[Path, Path]:
        return _beside(iw.calibrate(_simulated()).save(folder / f"bank{ending}"))

    return make


def _gate_file(damaged: str) -> Callable[[Path], tuple[Path, Path]]:
    def make(folder: Path) -> tuple[Path, Path]:
        from sklearn.tree import DecisionTreeClassifier

        random = np.random.default_rng(0)
        X = pd.DataFrame(random.normal(size=(80, 2)), columns=["a", "b"])
        gate = iw.CapabilityGate(DecisionTreeClassifier(max_depth=2, random_state=0))
        path = Path(gate.fit(X, X["a"] > 0).save(folder / "gate.json"))
        return path.with_suffix(damaged), path

    return make


def _regressor_file(folder: Path) -> tuple[Path, Path]:
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(40, 2)), columns=["a", "b"])
    made = iw.DifficultyRegressor("elastic-net", cv=2).fit(X, X["a"].to_numpy())
    return _beside(Path(made.save(folder / "regressor.skops")))


def _short_file(folder: Path) -> tuple[Path, Path]:
    drawn = iw.simulate("2pl", 60, 12, random_state=0).responses
    found = iw.shorten(drawn, 4, progress=False)
    return _beside(Path(found.save(folder / "short.json")))


def _adaptive_file(folder: Path) -> tuple[Path, Path]:
    test = iw.AdaptiveTest(iw.calibrate(_simulated()))
    return _beside(Path(test.save(folder / "test.json")))


def _journal_file(folder: Path) -> tuple[Path, Path]:
    from itemwise.studies.evaluation.journal import ResponseJournal

    path = folder / "journal.jsonl"
    with ResponseJournal(path, {"seed": 0}) as journal:
        for k in range(5):
            journal.add(f"item_{k}", k % 2)
    return _beside(path)


def _of_tests(name: str) -> Any:
    """A module of the tests, for the samples in it."""
    path = TESTS / name
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None  # noqa: S101
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _log(name: str, damaged: str | None = None) -> Reader:
    def make(folder: Path) -> tuple[Path, Path]:
        told = _of_tests("responses/logs/test_log_contract.py")
        run = told.Asked({"1": "two", "2": "three"}, {"1": 1.0, "2": 0.0})
        path = told.WRITERS[name](folder / "logs" / "0", run)
        target = path if damaged is None else next(path.parent.glob(damaged))
        return target, folder / "logs"

    return Reader(make, _logs)


def _eval_archive(folder: Path) -> tuple[Path, Path]:
    told = _of_tests("responses/logs/test_inspect_ai.py")
    path = folder / "log.eval"
    samples = {
        f"samples/{k}_epoch_1.json": json.dumps(told.sample(k, 1.0)).encode() for k in (1, 2)
    }
    head = json.dumps({"version": 2, "status": "success", "eval": told.EVAL}).encode()
    told.zipped(path, {"header.json": head, **samples})
    return _beside(path)


def _scenario(damaged: str) -> Callable[[Path], tuple[Path, Path]]:
    def make(folder: Path) -> tuple[Path, Path]:
        told = _of_tests("datasets/test_aslib.py")
        home = folder / "scenario"
        home.mkdir()
        for name, text in told.WHOLE.items():
            (home / name).write_text(text, encoding="utf-8")
        return home / damaged, home

    return make


def _runs_file(folder: Path) -> tuple[Path, Path]:
    path = folder / "runs.csv"
    path.write_text(
        "problem,solver,runtime,status\np1,a,1,ok\np1,b,9,timeout\np2,a,2,ok\np2,b,3,ok\n"
    )
    return _beside(path)


READERS: dict[str, Reader] = {
    "CSV": Reader(_csv, _responses),
    "TSV": Reader(_tsv, _responses),
    "JSON Lines": Reader(_jsonl, _responses),
    "Parquet, wide": Reader(_parquet, _responses),
    "Parquet, long": Reader(_long_parquet, _responses),
    "ARFF": Reader(_arff, _table),
    "ASlib, description": Reader(_scenario("description.txt"), _aslib),
    "ASlib, runs": Reader(_scenario("algorithm_runs.arff"), _aslib),
    "runs": Reader(_runs_file, _runs),
    "lm-eval, samples": _log("lm-eval"),
    "lm-eval, results": _log("lm-eval", "results_*.json"),
    "Inspect, .json": _log("inspect"),
    "Inspect, .eval": Reader(_eval_archive, _logs),
    "HELM, statistics": _log("helm"),
    "HELM, specification": _log("helm", "run_spec.json"),
    "Every Eval Ever": _log("every-eval-ever"),
    "OpenML, predictions": _log("openml"),
    "bank, .json": Reader(_bank_file(".json"), _bank, _sign_bank),
    "bank, .parquet": Reader(_bank_file(".parquet"), _bank),
    "short benchmark": Reader(_short_file, _short),
    "adaptive test": Reader(_adaptive_file, _adaptive),
    "gate, .json": Reader(_gate_file(".json"), _gate, _sign_gate),
    "gate, .skops": Reader(_gate_file(".skops"), _gate, _sign_gate),
    "regressor": Reader(_regressor_file, _regressor),
    "journal": Reader(_journal_file, _journal),
}


def fresh(folder: Path) -> Path:
    """An empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
