"""What a result leaves behind: a folder of tables, figures and item banks, or a model card."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import ogive
from ogive._files import PathLike, file_name_of, make_folder, read_json, write_bytes, write_json
from ogive._progress import at_stage
from ogive.errors import FileError, InputError
from ogive.results.base import Draw, Result
from ogive.results.csv_text import csv_text
from ogive.results.numbers import counted, joined, shown

SUMMARY = "summary.json"
KIND, FORMAT = "report", 1
BANKS, FIGURES = "banks", "figures"
FOLDERS = ((), (BANKS,), (FIGURES,))  # those of the files of a report
FAILURES = ("failures", "pool_failures")  # attributes that say who failed, and why
NAMES = ("respondent", "model", "classifier", "algorithm")  # columns that name who was measured
CLASSIFICATION = "tabular-classification"
Z = 1.959963984540054  # standard errors from an estimate to the end of a 95 % interval


@dataclass(frozen=True)
class Contents:
    """What a folder holds: that of one result, or of several that belong together.

    `sentences` are a list, or one list for each part by name.
    """

    tables: Mapping[str, pd.DataFrame]
    figures: Mapping[str, Draw]
    banks: Mapping[str, Result]
    sentences: list[str] | dict[str, list[str]]
    meaning: str = ""
    notes: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    failures: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, result: Result, beside: Sequence[Result] = ()) -> Contents:
        """Return the contents that a result has by itself, and of others `beside` it."""
        tables, figures, banks = dict(result.tables()), dict(result.figures()), dict(result.banks())
        for each in beside:
            tables |= _prefixed(each, each.tables())
            figures |= _prefixed(each, each.figures())
            banks |= _prefixed(each, each.banks())
        return cls(
            tables=tables,
            figures=figures,
            banks=banks,
            sentences=[text for each in (result, *beside) for text in each.sentences()],
            meaning=result.meaning,
            notes=(*result.notes, *(note for each in beside for note in each.notes)),
            failures={name: dict(getattr(result, name, {})) for name in FAILURES},
        )


def _prefixed(result: Result, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return tables or figures of a result under names that begin with its own."""
    own = result.name()
    return {name if name == own else f"{own}_{name}": each for name, each in named.items()}


def write_folder(found: Result | Contents, folder: PathLike) -> list[Path]:
    """Write tables as CSV, figures as PNG, item banks as JSON, and a summary; return the paths.

    Files of an earlier report in the folder that this one does not replace are removed at the end,
    unless they were changed since; all others are left alone.
    """
    contents = Contents.of(found) if isinstance(found, Result) else found
    home = make_folder(folder)
    earlier: dict[str, str] = {}  # files of an earlier report, and what they held
    with suppress(FileError):
        sums = read_json(home / SUMMARY, KIND, FORMAT).get("sha256")
        known = sums.items() if isinstance(sums, dict) else ()
        earlier = {name: digest for name, digest in known if isinstance(digest, str)}
    files = []
    for folder_name in (BANKS, FIGURES):
        make_folder(home / folder_name)
    for name, bank in contents.banks.items():
        at_stage(f"item bank {name}")
        files.append(bank.save(home / BANKS / f"{file_name_of(name)}.json"))
    names: set[str] = set()
    for name, frame in contents.tables.items():
        at_stage(f"table {name}")
        files.append(_write_table(home / f"{file_of(name, names)}.csv", frame))
    missing, names = dict(contents.missing), set()
    for name, draw in contents.figures.items():
        at_stage(f"figure {name}")
        try:
            display = draw()
            if display.instead:
                missing[name] = display.instead
                continue
            files.append(display.save(home / FIGURES / f"{file_of(name, names)}.png"))
        except InputError as reason:
            missing[name] = str(reason)
    sums = {path.relative_to(home).as_posix(): _digest(path) for path in files}
    summary: dict[str, Any] = {
        "meaning": contents.meaning,
        "notes": list(contents.notes),
        "sentences": contents.sentences,
        **contents.failures,
        "missing": missing,
        "files": list(sums),
        "sha256": sums,
    }
    if earlier.keys() - sums.keys():
        # As long as they are named, the next run removes what a kill leaves of them.
        write_json(home / SUMMARY, KIND, FORMAT, {**summary, "sha256": earlier | sums})
        _forget(home, earlier, set(files))
    write_json(home / SUMMARY, KIND, FORMAT, summary)
    return [*files, home / SUMMARY]


def file_of(name: str, taken: set[str]) -> str:
    """Return a name of a table or figure that every file system accepts, and add it to `taken`.

    Some file systems do not distinguish A from a, so a second such name gets a digest.
    """
    parts = name.split("_")
    safe = "_".join(
        part if re.fullmatch(r"[A-Za-z0-9-]*", part) else file_name_of(part) for part in parts
    )
    if safe.lower() in taken:
        safe = file_name_of(name)
    taken.add(safe.lower())
    return safe


def _write_table(path: Path, frame: pd.DataFrame) -> Path:
    """Write a frame as CSV; an index without a name is left out."""
    named = any(name is not None for name in frame.index.names)
    write_bytes(path, csv_text(frame, index=named).encode())
    return path


def _forget(home: Path, earlier: Mapping[str, str], kept: set[Path]) -> None:
    """Remove files of an earlier report: only in its own places, and only as it wrote them.

    A summary may come from anybody, and must not be able to name a file of yours.
    """
    for name, digest in earlier.items():
        *folders, last = Path(name).parts or ("",)
        path = home / name
        if tuple(folders) not in FOLDERS or last in ("", "..") or path in kept:
            continue
        with suppress(OSError):  # gone meanwhile, or may not be removed
            if path.is_file() and not path.is_symlink() and _digest(path) == digest:
                path.unlink()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Measured(NamedTuple):
    """One figure of a model, with its uncertainty."""

    dataset: str
    name: str
    value: float
    low: float
    high: float


def model_card(
    results: Any,
    respondent: str,
    *,
    title: str | None = None,
    task: str = CLASSIFICATION,
    metadata: Mapping[str, Any] | None = None,
    path: PathLike | None = None,
) -> str:
    """Write what results say of one model as a model card (README.md) for Hugging Face.

    The card begins with metadata in YAML: `model-index` lists every figure that has an uncertainty
    in the results (accuracy, ability, true score, rating ...). Sections follow: a table with 95 %
    intervals, what the results mean, their limits, and how they were measured. Figures are those
    in the results; nothing is computed again.

    Parameters
    ----------
    results
        A result, several in a list, or a mapping from names of data sets to results.
    respondent
        The model, as the results call it.
    title
        Its name in the card; by default as in the results.
    task
        What it is for, as Hugging Face calls it: "tabular-classification", "text-generation" ...
    metadata
        More entries for the metadata, such as {"license": "mit", "tags": ["tabular"]}.
    path
        Where to write the card, for example README.md; by default it is only returned.

    Examples
    --------
    >>> import ogive as og
    >>> responses = og.simulate("2pl", 30, 40, random_state=1).responses
    >>> board = og.leaderboard(responses)
    >>> card = og.model_card({"sums": board}, board.to_frame().index[0], task="text-generation")
    >>> print(card[:17])
    ---
    model-index:
    """
    named = _named(results)
    figures = [figure for name, one in named.items() for figure in _figures(one, respondent, name)]
    if not figures:
        raise InputError(_nobody(named, respondent))
    called = title or respondent
    text = "".join(
        [
            _header(figures, called, task, metadata or {}),
            f"\n# {called}\n\n## Evaluation\n\n",
            *_table(figures),
            "\nIntervals are 95 % intervals.\n",
            *_meaning(named),
        ]
    )
    if path is not None:
        write_bytes(path, text.encode())
    return text


def _named(results: Any) -> dict[str, Result]:
    """Return results by name: of the data set, or of the study."""
    if isinstance(results, Result):
        results = [results]
    if isinstance(results, Mapping):
        pairs = [(str(name), one) for name, one in results.items()]
    elif isinstance(results, Sequence) and not isinstance(results, str):
        pairs = [(getattr(one, "dataset", None) or _study(one), one) for one in results]
    else:
        pairs = [("", results)]
    for _, one in pairs:
        if not isinstance(one, Result):
            raise InputError(
                f"results holds a {type(one).__name__}, but a card is made from results, such as "
                "those of leaderboard, decode_benchmark or compare_classifiers."
            )
    if not pairs:
        raise InputError("results is empty. Give at least one result.")
    if len(dict(pairs)) < len(pairs):
        raise InputError(
            "Two results have the same name. Give a mapping with a name of its own for each."
        )
    return dict(pairs)


def _study(result: Any) -> str:
    return result.name().replace("_", " ") if isinstance(result, Result) else ""


def _figures(result: Result, respondent: str, name: str) -> Iterator[Measured]:
    """Yield every figure with an uncertainty in the rows of a model, of the first such table."""
    for frame in result.tables().values():
        rows = frame[[str(label) == respondent for label in _names_in(frame)]]
        figures = [
            Measured(str(row.get("dataset", name)), *figure)
            for _, row in rows.iterrows()
            for figure in _with_uncertainty(row)
        ]
        if figures:
            yield from figures
            return


def _names_in(frame: pd.DataFrame) -> list[Any]:
    """Return the respondent of each row: a column of names, or the index."""
    column = next((name for name in NAMES if name in frame.columns), None)
    return list(frame.index if column is None else frame[column])


def _with_uncertainty(row: pd.Series[Any]) -> Iterator[tuple[str, float, float, float]]:
    """Yield name, value and 95 % interval of each figure that has a standard error or an interval.

    Ranks are left out: they depend on who else was compared.
    """
    for name in map(str, row.index):
        if name.endswith("rank"):
            continue
        value = _number(row[name])
        low, high = (_number(row.get(f"{name}_{end}")) for end in ("low", "high"))
        if not np.isfinite([low, high]).all():
            error = _number(row.get(f"{name}_se", row.get("se") if name == "ability" else None))
            low, high = value - Z * error, value + Z * error
        if np.isfinite([value, low, high]).all():
            yield name, value, low, high


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


def _header(figures: list[Measured], title: str, task: str, metadata: Mapping[str, Any]) -> str:
    """Return the metadata between two lines of dashes; JSON's texts and numbers are YAML's, too."""
    if taken := {"model-index"} & set(metadata):
        raise InputError(f"metadata holds {', '.join(taken)}, which the card writes itself.")
    lines = ["---", "model-index:", f"- name: {_yaml(title)}", "  results:"]
    for dataset in dict.fromkeys(figure.dataset for figure in figures):
        lines += [
            f"  - task: {{type: {_yaml(task)}}}",
            f"    dataset: {{name: {_yaml(dataset)}, type: {_yaml(_slug(dataset))}}}",
            "    metrics:",
        ]
        for one in figures:
            if one.dataset == dataset:
                words = one.name.replace("_", " ")
                metric = f"{words} (95 % interval {one.low:.4g} to {one.high:.4g})"
                lines += [
                    f"    - type: {_yaml(one.name)}",
                    f"      value: {_yaml(float(f'{one.value:.6g}'))}",
                    f"      name: {_yaml(metric)}",
                ]
    lines += [f"{name}: {_yaml(value)}" for name, value in metadata.items()]
    return "\n".join([*lines, "---", ""])


def _yaml(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"metadata holds {value!r:.60}, which cannot be written: {error}. Give texts, numbers, "
            "lists and mappings."
        ) from error


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unknown"


def _table(figures: list[Measured]) -> Iterator[str]:
    yield "| data set | measure | value | 95 % interval |\n|---|---|---|---|\n"
    for one in figures:
        interval = f"{one.low:.4g} to {one.high:.4g}"
        dataset, name = (text.replace("|", "\\|") for text in (one.dataset, one.name))
        yield f"| {dataset} | {name.replace('_', ' ')} | {one.value:.4g} | {interval} |\n"


def _meaning(results: Mapping[str, Result]) -> Iterator[str]:
    meanings = {name: one.meaning for name, one in results.items() if one.meaning}
    if meanings:
        yield "\n## What it means\n\n"
        yield from (f"- {name}: {text}\n" for name, text in meanings.items())
    limits = {name: one.notes for name, one in results.items() if one.notes}
    if limits:
        yield "\n## Limits\n\n"
        yield from (f"- {name}: {note}\n" for name, notes in limits.items() for note in notes)

    studies = joined(sorted({_study(one) for one in results.values()}))
    yield (
        "\n## How it was measured\n\n"
        f"Item Response Theory with ogive {ogive.__version__}: {studies}. "
        "Ability is on the scale of the items of that data set, and is not comparable between data "
        "sets. A standard error holds for these items only.\n"
    )


def _nobody(results: Mapping[str, Result], respondent: str) -> str:
    known: dict[str, None] = {}
    for one in results.values():
        first = next(iter(one.tables().values()), pd.DataFrame())
        known |= dict.fromkeys(map(str, _names_in(first)[:12]))
    names = ", ".join(list(known)[:12])
    return (
        f"The results hold no figure with an uncertainty for {shown(respondent)} in "
        f"{counted(len(results), 'result')}. They name: {names}."
    )
