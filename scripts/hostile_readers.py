"""Every reader and loader with samples to damage, and what a result must still be able to do."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hostile_samples as samples
import numpy as np
import pandas as pd
from hostile_samples import Make, text

import ogive as og
from ogive.data.table_files import read_table


@dataclass(frozen=True)
class Reader:
    """Samples to damage, how a result is used, and the modules whose lines are the reader's."""

    samples: tuple[Make, ...]
    use: Callable[[Path], Any]
    modules: tuple[str, ...]
    sign: Callable[[Path], None] | None = None  # renew the checksums, as one would who knows how


def _saved(found: Any, path: Path) -> None:
    """Check that what was read is the same once saved and read again."""
    again = og.load(found.save(path.parent / "again.parquet"))
    assert again.respondents == found.respondents  # noqa: S101
    assert again.items == found.items  # noqa: S101
    assert np.array_equal(again.values, found.values, equal_nan=True)  # noqa: S101


def _responses(path: Path) -> None:
    found = og.read_responses(path, progress=False)
    _saved(found, path)
    found.to_frame()
    repr(found)


def _items_in_rows(path: Path) -> None:
    _saved(og.read_responses(path, layout="items", progress=False), path)


def _scanned(path: Path) -> None:
    found = og.scan_responses(path, cache=path.parent)
    repr(found)
    found.sample(3)


def _table(path: Path) -> None:
    read_table(path).to_csv()


def _dataset(path: Path) -> None:
    found = og.load_dataset(path)
    repr(found)
    og.split_dataset(found)


def _logs(path: Path) -> None:
    found = og.read_logs(path, keep_text=True, keep_choices=True, progress=False)
    _saved(found.responses, path)
    repr(found)
    if found.choices is not None:
        _saved(found.choices, path)


def _bank(path: Path) -> None:
    bank = og.load(path)
    bank.to_frame()
    bank.information([0.0, 1.0])
    bank.score(np.zeros((1, len(bank.item_names))))
    og.load(bank.save(path.parent / "again.json"))


def _gate(path: Path) -> None:
    gate = og.load(path)
    gate.decide(pd.DataFrame({name: [0.5] for name in gate.kinds_}))


def _regressor(path: Path) -> None:
    og.load(path).predict(pd.DataFrame({"a": [0.1, 0.2], "b": [1.0, 2.0]}))


def _short(path: Path) -> None:
    short = og.load(path)
    short.predict(np.ones((1, len(short.items))))


def _adaptive(path: Path) -> None:
    session = og.load(path).start()
    session.next_item()


def _journal(path: Path) -> None:
    from ogive.evaluation.adaptive_evaluation import ResponseJournal

    with ResponseJournal(path, {"seed": 0}) as journal:
        journal.add("new", 1.0)
    with ResponseJournal(path, {"seed": 0}):
        pass


def _aslib(path: Path) -> None:
    found = og.read_aslib(path)
    repr(found)
    found.performance.to_csv()


def _runs(path: Path) -> None:
    repr(og.read_runs(path))


def _mlflow(path: Path) -> None:
    repr(og.read_runs(path, metric="acc" if path.suffix == ".db" else "accuracy"))


def _battles(path: Path) -> None:
    from ogive.evaluation.battles import read_battles

    frame = read_table(path)
    read_battles(frame, None, None, None)
    if _is_chosen(path):
        repr(og.preferences(frame))


def _ratings(path: Path) -> None:
    from ogive.evaluation.facet_estimates import read_ratings

    frame = read_table(path)
    read_ratings(frame, dict.fromkeys(("respondent", "item", "judge", "score")))
    if _is_chosen(path):
        repr(og.facets(frame))


def _is_chosen(path: Path) -> bool:
    """Return one in sixteen: whole studies would take most of the campaign's time."""
    return zlib.crc32(path.read_bytes()) % 16 == 0


def _choices(path: Path) -> None:
    frame = read_table(path)
    found = og.Responses.from_choices(frame.set_index(frame.columns[0]).iloc[1:], _key(frame))
    _saved(found, path)
    _saved(found.of_kind("binary"), path)


def _key(frame: pd.DataFrame) -> list[Any]:
    return list(frame.iloc[0, 1:])


def _labels(path: Path) -> None:
    repr(og.correct_judge(samples.simulated(), og.read_responses(path, progress=False)))


def _facts(path: Path) -> None:
    from ogive.cli.sources import with_facts

    _saved(with_facts(samples.simulated(), path), path)


def _coding(path: Path) -> None:
    from ogive.capability.coding_rules import read_coding

    for item in read_coding(path).items:
        str(item.rule)


def _order(path: Path) -> None:
    from ogive.cli.sources import read_order

    read_order(path)


def _keys(path: Path) -> None:
    from ogive.capability.http_service import Keys

    Keys(None, path).holder(b"first-key")


def _results(path: Path) -> None:
    from ogive.reporting.sources import read_folder

    for each in read_folder(path):
        repr(each)


def _cached(path: Path) -> None:
    class Offline:
        def __getattr__(self, name: str) -> Any:
            raise og.OgiveError("OpenML could not be reached.")

    for each in og.load_datasets(["openml-suite:toys"], cache=path, server=Offline()):
        repr(each)


def _sign_bank(path: Path) -> None:
    from ogive.irt.bank_writing import SUM, sum_of

    document = json.loads(path.read_bytes())
    document[SUM] = sum_of(document)
    path.write_text(json.dumps(document))


def _sign_gate(path: Path) -> None:
    from ogive.capability.gate_files import KEYS, SUM

    document = json.loads(path.read_bytes())
    model = path.with_suffix(".skops").read_bytes()
    document["model"]["sha256"] = hashlib.sha256(model).hexdigest()
    part = json.dumps([document[key] for key in KEYS])
    document[SUM] = hashlib.sha256(part.encode()).hexdigest()
    path.write_text(json.dumps(document))


def _sign_cache(path: Path) -> None:
    home = path / "openml"
    for described in home.glob("dataset-*.json"):
        document = json.loads(described.read_bytes())
        content = described.with_suffix(".arff").read_bytes()
        document["sha256"] = hashlib.sha256(content).hexdigest()
        described.write_text(json.dumps(document))


TEXT = (
    "data.text_files",
    "data.response_files",
    "data.column_roles",
    "data.long_tables",
)
PARQUET = ("data.parquet_files",)
LOGS = ("data.logs.read_logs", "data.logs.merge_runs")
SKOPS = ("_load", "data.saved_estimators")
IN_LOGS = "data.logs."


def _two(name: str) -> tuple[Make, Make]:
    return samples.log(name), samples.log(name, 2)


READERS: dict[str, Reader] = {
    "CSV": Reader(
        (
            samples.csv,
            *(text("a.csv", each) for each in (samples.LONG, samples.GRADES, samples.TRIED)),
        ),
        _responses,
        TEXT,
    ),
    "CSV, items in rows": Reader((text("t.csv", samples.TURNED),), _items_in_rows, TEXT),
    "CSV, gzip": Reader((text("a.csv.gz", samples.LONG),), _responses, TEXT),
    "TSV": Reader((samples.tsv,), _responses, TEXT),
    "JSON Lines": Reader(
        (text("a.jsonl", samples.WIDE_LINES), text("b.jsonl", samples.LONG_LINES)),
        _responses,
        ("data.response_files", "data.long_tables"),
    ),
    "Parquet": Reader(
        (samples.parquet, samples.long_parquet, samples.chosen_parquet), _responses, PARQUET
    ),
    "scanned folder": Reader(
        (samples.scanned, samples.scanned_long),
        _scanned,
        ("data.scan", "data.scanned_files"),
    ),
    "ARFF": Reader((text("t.arff", samples.ARFF),), _table, ("data.arff",)),
    "data set": Reader(
        (text("d.csv", samples.DATASET), text("d.arff", samples.DATASET_ARFF)),
        _dataset,
        ("data.datasets.load", "data.datasets.dataset"),
    ),
    "ASlib folder": Reader(
        (samples.scenario,),
        _aslib,
        ("data.datasets.aslib", "data.datasets.aslib_description"),
    ),
    "runs": Reader(
        tuple(text("r.csv", each) for each in (samples.RUNS, samples.TABLE_OF_RUNS, samples.AMLB)),
        _runs,
        ("data.datasets.runs", "data.datasets.run_formats"),
    ),
    "MLflow": Reader(
        (samples.mlflow_folder, samples.mlflow_database), _mlflow, ("data.datasets.run_formats",)
    ),
    "lm-eval": Reader(
        _two("lm-eval"),
        _logs,
        (IN_LOGS + "lm_eval",),
    ),
    "Inspect, .json": Reader(_two("inspect"), _logs, (IN_LOGS + "inspect_ai",)),
    "Inspect, .eval": Reader(
        (samples.eval_archive("deflate"), samples.eval_archive("zstd")),
        _logs,
        (IN_LOGS + "inspect_ai", IN_LOGS + "json_documents"),
    ),
    "HELM": Reader(_two("helm"), _logs, (IN_LOGS + "helm", *LOGS)),
    "Every Eval Ever": Reader(_two("every-eval-ever"), _logs, (IN_LOGS + "every_eval_ever",)),
    "OpenML, predictions": Reader(_two("openml"), _logs, (IN_LOGS + "openml_predictions",)),
    "OpenML, kept": Reader(
        (samples.openml_cache,), _cached, ("data.datasets.openml",), _sign_cache
    ),
    "choices": Reader((text("c.csv", samples.CHOICES),), _choices, ("data.frames",)),
    "battles": Reader((text("b.csv", samples.BATTLES),), _battles, ("evaluation.battles",)),
    "ratings of judges": Reader(
        (text("r.csv", samples.RATINGS),), _ratings, ("evaluation.facet_estimates",)
    ),
    "human labels": Reader(
        (text("h.csv", samples.LABELS),), _labels, ("evaluation.judge_correction",)
    ),
    "facts of items": Reader((text("f.csv", samples.FACTS),), _facts, ("data.names",)),
    "coding": Reader(
        (text("c.csv", samples.CODING), text("r.csv", samples.RANGES)),
        _coding,
        ("capability.coding_rules",),
    ),
    "order of items": Reader((text("o.csv", samples.ORDER),), _order, ("cli.sources",)),
    "API keys": Reader((text("keys.txt", samples.KEYS),), _keys, ("capability.http_service",)),
    "results folder": Reader((samples.results,), _results, ("reporting.sources",)),
    "bank, .json": Reader(
        tuple(samples.bank(".json", model) for model in ("2pl", "graded", "continuous")),
        _bank,
        ("irt.banks",),
        _sign_bank,
    ),
    "bank, .parquet": Reader(
        (samples.bank(".parquet"), samples.bank(".parquet", "graded")),
        _bank,
        ("irt.banks", "data.parquet_files"),
    ),
    "short benchmark": Reader((samples.short,), _short, ("evaluation.short_benchmark",)),
    "adaptive test": Reader((samples.adaptive,), _adaptive, ("irt.adaptive.adaptive_test",)),
    "gate": Reader(
        (samples.gate(), samples.gate(target_accuracy=0.8)),
        _gate,
        ("capability.gate_files", "capability.coding"),
        _sign_gate,
    ),
    "regressor": Reader((samples.regressor,), _regressor, SKOPS),
    "algorithm selector": Reader((samples.selector,), _regressor, SKOPS),
    "journal": Reader((samples.journal,), _journal, ("evaluation.adaptive_evaluation",)),
}
