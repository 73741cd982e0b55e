"""Small whole files and folders of every kind that Ogive reads, to be damaged."""

from __future__ import annotations

import ast
import functools
import gzip
import importlib.util
import json
import shutil
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import ogive as og

TESTS = Path(__file__).parents[1] / "tests"


class Sample(NamedTuple):
    """What is read, and the files of it that can be damaged."""

    path: Path
    targets: tuple[Path, ...]


Make = Callable[[Path], Sample]


class Prepared(NamedTuple):
    """Samples in a folder, and what is in their files."""

    home: Path
    samples: tuple[Sample, ...]
    contents: tuple[tuple[bytes, ...], ...]

    def copied(self, home: Path) -> Prepared:
        """Return the same in another folder."""
        shutil.copytree(self.home, home)
        moved = []
        for sample in self.samples:
            ends = (sample.path, *sample.targets)
            path, *targets = (home / each.relative_to(self.home) for each in ends)
            moved.append(Sample(path, tuple(targets)))
        return Prepared(home, tuple(moved), self.contents)

    def restore(self, number: int) -> dict[Path, bytes]:
        """Write the files of a sample as they were; return them."""
        files = dict(zip(self.samples[number].targets, self.contents[number], strict=True))
        for path, content in files.items():
            path.write_bytes(content)
        return files


def prepared(makes: Sequence[Make], use: Callable[[Path], Any], home: Path) -> Prepared:
    """Make samples and use each once, so that whatever is needed is imported."""
    samples = []
    for number, make in enumerate(makes):
        (home / str(number)).mkdir(parents=True)
        samples.append(make(home / str(number)))
    contents = tuple(tuple(path.read_bytes() for path in one.targets) for one in samples)
    found = Prepared(home, tuple(samples), contents)
    for number, sample in enumerate(samples):
        use(sample.path)
        found.restore(number)
    return found


def alone(path: Any) -> Sample:
    """Return a sample that is one file."""
    return Sample(Path(path), (Path(path),))


def _folder(path: Path) -> Sample:
    return Sample(path, tuple(sorted(each for each in path.rglob("*") if each.is_file())))


def text(name: str, content: str) -> Make:
    """Return a text file of this name; with .gz, packed."""

    def make(folder: Path) -> Sample:
        path = folder / name
        raw = content.encode()
        path.write_bytes(gzip.compress(raw, mtime=0) if name.endswith(".gz") else raw)
        return alone(path)

    return make


def _of_tests(name: str) -> Any:
    """Return a module of the tests, for the samples in it."""
    path = TESTS / name
    if path.stem not in sys.modules:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None  # noqa: S101
        assert spec.loader is not None  # noqa: S101
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
    return sys.modules[path.stem]


def _texts_of_tests(name: str) -> dict[str, str]:
    """Return the texts that a module of the tests gives names to; it is not run."""
    return {
        part.targets[0].id: part.value.value
        for part in ast.parse((TESTS / name).read_text(encoding="utf-8")).body
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Constant)
        if isinstance(part.targets[0], ast.Name)
    }


@functools.cache
def simulated(items: int = 5) -> Any:
    """Return a few models and items."""
    return og.simulate("2pl", 60, items, random_state=0).responses


def _wide() -> pd.DataFrame:
    return simulated().to_frame().head(6).rename_axis("model")


def csv(folder: Path) -> Sample:
    """Return one row per model."""
    _wide().to_csv(folder / "scores.csv")
    return alone(folder / "scores.csv")


def tsv(folder: Path) -> Sample:
    """Return one row per model, with tabs."""
    _wide().to_csv(folder / "scores.tsv", sep="\t")
    return alone(folder / "scores.tsv")


LONG = "model,item,task,response\na,x,m,1\na,y,n,0\nb,x,m,0\nb,y,n,1\nb,y,n,0\n"
TRIED = "model,item,response,tries,spread\na,x,0.5,4,0.6\na,y,1,2,0\nb,x,0.25,4,.5\nb,y,0,1,\n"
WIDE_LINES = "".join(
    json.dumps({"subject_id": f"m{k}", "responses": {"a": k % 2, "b": 1}}) + "\n" for k in range(4)
)
LONG_LINES = "".join(
    json.dumps({"respondent": who, "item": what, "response": k % 2, "task": "t"}) + "\n"
    for k, (who, what) in enumerate(("ax", "ay", "bx", "by"))
)
TURNED = "item,small,large\nq1,1,0\nq2,0,1\nq3,1,1\n"
GRADES = "model;q1;q2;q3\na;0;2;1\nb;1;0;2\nc;2;1;0\nd;0;1;\n"
ARFF = (
    "% a table\n@relation r\n@attribute a numeric\n@attribute b {x,'y z'}\n@attribute c string\n"
    "@data\n1,x,'q'\n?,'y z',r\n{0 3, 2 w}\n"
)
DATASET_ARFF = ARFF.replace(" b ", " class ") + "2,'y z',q\n5,x,r\n"
DATASET = "size,kind,class\n1,a,yes\n2,b,no\n3,a,yes\n4,?,no\n5,b,yes\n6,a,no\n"
RUNS = "problem,solver,runtime,status\np1,a,1,ok\np1,b,9,timeout\np2,a,2,ok\np2,b,3,ok\n"
TABLE_OF_RUNS = "problem,a,b\np1,1.5,2\np2,3,\np3,0.5,4\n"
AMLB = "id,task,framework,fold,result,metric\n1,iris,rf,0,.9,acc\n1,iris,gb,0,.8,acc\n2,wine,rf,0,.7,acc\n2,wine,gb,0,.6,acc\n"  # noqa: E501
BATTLES = "model_a,model_b,winner,prompt\na,b,model_a,1\nb,c,tie,1\nc,a,model_b,2\na,b,b,3\nb,c,model_a,2\n"  # noqa: E501
RATINGS = "model,item,judge,score\n" + "".join(
    f"{who},{item},{judge},{(k + j + ord(item)) % 3}\n"
    for k, who in enumerate("abc")
    for item in "vwxyz"
    for j, judge in enumerate("jk")
)
CHOICES = "model,q1,q2,q3\nkey,A,B,1\na,A,B,1\nb,C,B,2\nc,B,,1\nd,A,C,3\n"
CODING = "feature,coding\nage,<= 65 = 0; > 65 = 1\nsodium,135-145 = 0\nkind,x = 1; else = 0\n"
RANGES = "feature,normal range,risk state\nwbc,4-10,high\ncrp,<= 1.5,\nstain,Absent,Present\n"
ORDER = "item,value\nx,1\ny,2.5\nz,-1\n"
KEYS = "first-key\nsecond-key\n\n"
FACTS = "item,task,tokens\nitem_1,t,10\nitem_2,t,20\nitem_3,u,5\nitem_4,u,\nitem_5,u,7\n"
LABELS = "model,item_1,item_2,item_3,item_4,item_5\n" + "".join(
    f"respondent_{k},{k % 2},1,,0,{(k + 1) % 2}\n" for k in range(1, 9)
)
CASES = "a,b\n0.5,0.1\n-1,2\n,3\n"


def parquet(folder: Path) -> Sample:
    """Return responses as Ogive saves them."""
    return alone(simulated().select(respondents=np.arange(60) < 8).save(folder / "scores.parquet"))


def long_parquet(folder: Path) -> Sample:
    """Return one row per response."""
    rows = {"respondent": list("aabb"), "item": list("xyxy"), "response": [1, 0, 0, 1]}
    pd.DataFrame({**rows, "task": list("mnmn")}).to_parquet(folder / "long.parquet")
    return alone(folder / "long.parquet")


def chosen_parquet(folder: Path) -> Sample:
    """Return which options were chosen, as Ogive saves them."""
    frame = pd.DataFrame({"q1": list("ABAC"), "q2": list("BBDA")}, index=list("abcd"))
    return alone(og.Responses.from_choices(frame, ["A", "B"]).save(folder / "chosen.parquet"))


def scanned(folder: Path) -> Sample:
    """Return a folder of Parquet files."""
    home = folder / "scanned"
    home.mkdir()
    frame = simulated().to_frame()
    frame.head(4).rename_axis("model").to_parquet(home / "a.parquet")
    frame.tail(4).rename_axis("model").to_parquet(home / "b.parquet")
    return _folder(home)


def scanned_long(folder: Path) -> Sample:
    """Return a folder of Parquet files with one row per response."""
    home = folder / "scanned"
    home.mkdir()
    for name, items in (("a", "xy"), ("b", "zw")):
        rows = [(one, item, k % 2) for k, one in enumerate("pqr") for item in items]
        frame = pd.DataFrame(rows, columns=["respondent", "item", "response"])
        frame.to_parquet(home / f"{name}.parquet")
    return _folder(home)


def bank(ending: str, model: str = "2pl") -> Make:
    """Return an item bank."""

    def make(folder: Path) -> Sample:
        return alone(_calibrated(model).save(folder / f"bank{ending}"))

    return make


@functools.cache
def _calibrated(model: str) -> Any:
    drawn = og.simulate(model, 60, 4, random_state=0).responses
    return og.calibrate(drawn, model, progress=False)


def gate(**words: Any) -> Make:
    """Return a gate: a document, and the model beside it."""

    def make(folder: Path) -> Sample:
        from sklearn.tree import DecisionTreeClassifier

        random = np.random.default_rng(0)
        X = pd.DataFrame(random.normal(size=(80, 2)), columns=["a", "b"])
        made = og.CapabilityGate(DecisionTreeClassifier(max_depth=2, random_state=0), **words)
        path = Path(made.fit(X, X["a"] > 0).save(folder / "gate.json"))
        return Sample(path, (path, path.with_suffix(".skops")))

    return make


def regressor(folder: Path) -> Sample:
    """Return a difficulty regressor."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(40, 2)), columns=["a", "b"])
    made = og.DifficultyRegressor("elastic-net", cv=2).fit(X, X["a"].to_numpy())
    return alone(made.save(folder / "regressor.skops"))


def selector(folder: Path) -> Sample:
    """Return an algorithm selector."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(20, 2)), columns=["a", "b"])
    runs = pd.DataFrame(random.uniform(1, 9, size=(20, 2)), columns=["p", "q"])
    made = og.AlgorithmSelector("performance", better="lower", regressor="elastic-net")
    return alone(made.fit(X, runs).save(folder / "selector.skops"))


def short(folder: Path) -> Sample:
    """Return a short benchmark."""
    found = og.shorten(simulated(12).select(respondents=np.arange(60) < 25), 4, progress=False)
    return alone(found.save(folder / "short.json"))


def adaptive(folder: Path) -> Sample:
    """Return the settings of an adaptive test."""
    return alone(og.AdaptiveTest(_calibrated("2pl")).save(folder / "test.json"))


def journal(folder: Path) -> Sample:
    """Return the answers of an adaptive evaluation so far."""
    from ogive.evaluation.adaptive_evaluation import ResponseJournal

    path = folder / "journal.jsonl"
    with ResponseJournal(path, {"seed": 0}) as made:
        for k in range(5):
            made.add(f"item_{k}", k % 2)
    return alone(path)


def log(name: str, models: int = 1) -> Make:
    """Return logs of models as one of the harnesses writes them."""

    def make(folder: Path) -> Sample:
        told = _of_tests("data/logs/test_log_contract.py")
        home = folder / "logs"
        for k, model in enumerate(("lab/one", "lab/two")[:models]):
            run = told.Asked({"1": "two", "2": "three"}, {"1": 1.0, "2": float(k)}, model=model)
            told.WRITERS[name](home / str(k), run)
        return _folder(home)

    return make


def eval_archive(method: str) -> Make:
    """Return a log of Inspect as an archive, packed in one of two ways."""
    return functools.partial(_eval_archive, method)


def _eval_archive(method: str, folder: Path) -> Sample:
    told = _of_tests("data/logs/test_inspect_ai.py")
    samples = {f"samples/{k}_epoch_1.json": json.dumps(told.sample(k, 1.0)) for k in (1, 2)}
    head = json.dumps({"version": 2, "status": "success", "eval": told.EVAL})
    files = {"header.json": head, **samples}
    packed = {name: part.encode() for name, part in files.items()}
    told.zipped(folder / "log.eval", packed, method)
    return alone(folder / "log.eval")


def scenario(folder: Path) -> Sample:
    """Return a scenario of ASlib."""
    told = _texts_of_tests("data/datasets/test_aslib.py")
    files = {
        "description.txt": told["DESCRIPTION"],
        "algorithm_runs.arff": told["RUNS"],
        "feature_values.arff": told["FEATURES"],
        "cv.arff": told["FOLDS"],
    }
    home = folder / "scenario"
    home.mkdir()
    head = "@RELATION x\n@ATTRIBUTE instance_id STRING\n@ATTRIBUTE repetition NUMERIC\n"
    costs = head + "@ATTRIBUTE size NUMERIC\n@DATA\nfirst,1,0.1\n'second, one',1,0.2\n"
    for name, content in (files | {"feature_costs.arff": costs}).items():
        (home / name).write_text(content, encoding="utf-8")
    return _folder(home)


def mlflow_folder(folder: Path) -> Sample:
    """Return runs that MLflow keeps in a folder."""
    told = _of_tests("data/datasets/test_run_formats.py")
    return _folder(told.by_hand(folder / "mlruns", dataset="{0}"))


def mlflow_database(folder: Path) -> Sample:
    """Return runs that MLflow keeps in SQLite."""
    path = folder / "mlflow.db"
    with closing(sqlite3.connect(path)) as made:
        made.executescript(
            "PRAGMA page_size=512;"
            "CREATE TABLE experiments (experiment_id INT, name TEXT, lifecycle_stage TEXT);"
            "CREATE TABLE runs (run_uuid TEXT, name TEXT, status TEXT, experiment_id INT,"
            " lifecycle_stage TEXT, start_time INT);"
            "CREATE TABLE latest_metrics (key TEXT, value REAL, is_nan INT, run_uuid TEXT);"
            "CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);"
            "CREATE TABLE tags (key TEXT, value TEXT, run_uuid TEXT);"
            "INSERT INTO experiments VALUES (1, 'iris', 'active'), (2, 'wine', 'active');"
        )
        for k in range(4):
            run = (f"r{k}", "ab"[k % 2], "FINISHED", 1 + k // 2, "active", k)
            made.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)", run)
            made.execute("INSERT INTO latest_metrics VALUES ('acc', ?, 0, ?)", (k / 4, f"r{k}"))
        made.commit()
    return alone(path)


def results(folder: Path) -> Sample:
    """Return what a command wrote: a summary, tables and a bank."""
    from ogive._files import write_json
    from ogive.reporting.exports import FORMAT, KIND, SUMMARY

    home = folder / "results"
    (home / "banks").mkdir(parents=True)
    (home / "items.csv").write_text("item,difficulty\na,0.5\nb,'-1\n")
    _calibrated("2pl").save(home / "banks" / "a.json")
    told = {
        "files": ["items.csv", "banks/a.json"],
        "sentences": {"findings": ["One leads.", "Two follows."]},
        "missing": {"x": "too few"},
    }
    write_json(home / SUMMARY, KIND, FORMAT, told)
    return _folder(home)


def openml_cache(folder: Path) -> Sample:
    """Return a data set of OpenML, its task and its suite as they are kept."""
    told = _of_tests("data/datasets/test_openml_datasets.py")
    cache = folder / "cache"
    og.load_datasets(["openml-suite:toys"], cache=cache, server=told.StandIn())
    return _folder(cache)
