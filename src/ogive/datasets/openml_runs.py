"""Performance of flows on tasks of OpenML, as problems × algorithms."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, get_args

from ogive.datasets.openml_datasets import suite_tasks
from ogive.datasets.openml_server import OpenMLServer, Server, number_of
from ogive.errors import FileError, InputError
from ogive.files import PathLike
from ogive.words import counted, listed, repeated, shown

if TYPE_CHECKING:
    import pandas as pd

Repeated = Literal["mean", "best", "latest"]

_COLUMNS = ("run_id", "task_id", "flow_id", "flow_name", "value")
_MEASURE = re.compile(r"[A-Za-z0-9_]{1,64}")  # it becomes a part of an address
_LOWER_IS_BETTER = re.compile(r"error|time|cost|memory|hours")


def openml_performance(
    tasks: Any,
    measure: str = "predictive_accuracy",
    flows: Iterable[int] | None = None,
    *,
    repeated: Repeated = "mean",
    max_runs: int = 100_000,
    cache: PathLike | None = None,
    server: Server | None = None,
) -> pd.DataFrame:
    """Ask OpenML for the performance of flows on tasks: a frame of tasks × flows.

    `tasks` is a suite like "openml-suite:99", or numbers of tasks: [31, 37] or "openml-task:31".
    `measure` is one that OpenML computes. `flows` are numbers of flows; by default, all flows that
    were run are included, which are very many for well-known tasks. If a flow was run on a task
    several times, `repeated` selects the mean, the best or the latest value. Cells without a run
    are NaN.

    `frame.attrs` holds the `measure`, which direction is `better`, and `notes`. Runs are added
    every day, and nothing is cached: save the frame to reproduce a result. For example:

        openml_performance("openml-suite:99", flows=[60, 65, 66, 75])
    """
    if repeated not in get_args(Repeated):
        raise InputError(
            f"repeated is {shown(repeated)}, but it should be 'mean', 'best' or 'latest'."
        )
    if not isinstance(measure, str) or not _MEASURE.fullmatch(measure):
        raise InputError(
            f"measure is {shown(measure)}, but it should be the name of a measure of OpenML, "
            "like 'predictive_accuracy'."
        )
    if max_runs < 1:
        raise InputError(f"max_runs is {shown(max_runs)}, but it should be at least 1.")
    numbers = _tasks(tasks, cache, server)
    chosen = None if flows is None else _numbers(flows, "flow")
    runs = (server or OpenMLServer()).evaluations(numbers, measure, chosen, max_runs + 1)
    _check_runs(runs, measure, max_runs)
    return _table(runs, numbers, measure, repeated)


def _tasks(tasks: Any, cache: PathLike | None, server: Server | None) -> list[int]:
    """The numbers of the tasks, given or from a suite."""
    if isinstance(tasks, str) and tasks.startswith("openml-suite:"):
        name = tasks.removeprefix("openml-suite:")
        return list(suite_tasks(name, cache=cache, server=server))
    return _numbers(tasks, "task")


def _numbers(given: Any, noun: str) -> list[int]:
    """The distinct numbers, in the order given."""
    several = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    texts = [str(one).removeprefix(f"openml-{noun}:") for one in several]
    if not texts:
        raise InputError(f"There is no {noun} to ask for. Give at least one number.")
    return list(dict.fromkeys(number_of(text, noun) for text in texts))


def _check_runs(runs: pd.DataFrame, measure: str, max_runs: int) -> None:
    """Refuse an empty list, too many runs, and lists of another form."""
    if not len(runs) or ("value" in runs.columns and runs["value"].isna().all()):
        raise InputError(
            f"OpenML knows no run of these tasks with the measure {shown(measure)}. "
            "Check the numbers of tasks and flows, and the name of the measure, at "
            "https://www.openml.org."
        )
    lacking = [name for name in _COLUMNS if name not in runs.columns]
    if lacking:
        raise FileError(
            f"OpenML's list of runs lacks {listed(lacking, 'column')}. The package openml may be "
            "too new: install another version of it."
        )
    if len(runs) > max_runs:
        raise InputError(
            f"There are more than {max_runs:,} runs of these tasks. Name flows or fewer tasks, or "
            "pass a larger max_runs."
        )


def _table(runs: pd.DataFrame, tasks: list[int], measure: str, repeated: Repeated) -> pd.DataFrame:
    """One row per task in the order requested, one column per flow in the order of numbers."""
    better = "lower" if _LOWER_IS_BETTER.search(measure) else "higher"
    valued = runs[runs["value"].notna()].sort_values("run_id")
    ways: dict[Repeated, Literal["mean", "min", "max", "last"]] = {
        "mean": "mean",
        "best": "min" if better == "lower" else "max",
        "latest": "last",
    }
    wide = valued.pivot_table(
        index="task_id",
        columns="flow_id",
        values="value",
        aggfunc=ways[repeated],
    )
    wide = wide.reindex([task for task in tasks if task in wide.index])
    names = valued.drop_duplicates("flow_id", keep="last").set_index("flow_id")["flow_name"]
    table = wide.astype(float).set_axis(_flow_names(wide.columns, names), axis=1)
    table = table.set_axis([str(task) for task in table.index], axis=0)
    table = table.rename_axis(index="problem", columns="algorithm")
    table.attrs = {
        "measure": measure,
        "better": better,
        "notes": _notes(runs, valued, tasks, table, repeated),
    }
    return table


def _flow_names(flows: pd.Index, names: pd.Series) -> list[str]:
    """The name of each flow, with its number if two flows have the same name."""
    texts = [str(names[flow]) for flow in flows]
    shared = set(repeated(texts))
    return [
        f"{text} [{flow}]" if text in shared else text
        for text, flow in zip(texts, flows, strict=True)
    ]


def _notes(
    runs: pd.DataFrame,
    valued: pd.DataFrame,
    tasks: list[int],
    table: pd.DataFrame,
    repeated: Repeated,
) -> list[str]:
    notes = []
    sizes = valued.groupby(["task_id", "flow_id"]).size()
    several = int((sizes > 1).sum())
    if several:
        notes.append(
            f"{counted(several, 'pair')} of task and flow with several runs, {int(sizes.max()):,} "
            f"at most: the {repeated} value is used."
        )
    absent = [str(task) for task in tasks if str(task) not in table.index]
    if absent:
        notes.append(f"{listed(absent, 'task')} without a run: left out.")
    n_missing = int(table.isna().sum().sum())
    if n_missing:
        notes.append(f"No run: {n_missing:,} of {counted(table.size, 'pair')}.")
    n_without = len(runs) - len(valued)
    if n_without:
        notes.append(f"{counted(n_without, 'run')} without a value: left out.")
    return notes
