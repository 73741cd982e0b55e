"""Frames, predictions and chosen options as tables of responses, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ogive.data.column_roles import (
    SEPARATOR,
    fact_columns_note,
    item_rows_note,
    names_items,
    without_facts,
)
from ogive.data.foreign_frames import as_pandas
from ogive.data.long_tables import (
    SPREAD,
    TRIES,
    Codes,
    IdentifiedTable,
    LongTable,
    facts_of_columns,
    identify,
    may_identify,
)
from ogive.errors import InputError
from ogive.irt.response_codes import (
    NEVER_ASKED,
    NOMINAL,
    Where,
    as_numbers,
    cell_finder,
    compact,
    pair_in_words,
    stacked,
)
from ogive.results.numbers import listed, meant, shown

if TYPE_CHECKING:
    from ogive.data.responses import Responses

KEY = "key"  # the fact that holds the right option of an item
OPTION = "option_"  # the facts that hold its other options, numbered from 1
MOST_OPTIONS = 500


class Wide(NamedTuple):
    """A table and its names; if `compact`, -1 in `values` means never asked."""

    values: NDArray[Any]
    respondents: list[str]
    items: list[str]
    compact: bool
    facts: dict[str, list[Any]]  # of items: the levels above their names
    respondent_facts: Mapping[str, list[Any]] = {}
    notes: tuple[str, ...] = ()


def from_wide(frame: pd.DataFrame, *, facts: bool = False) -> Wide:
    """Return the cells of a frame, without a copy if its columns share one numeric type.

    With `facts`, names may say that rows are items, or that columns tell of respondents.
    """
    _check_frame(frame)
    if not facts:
        return _wide_cells(frame)
    notes: tuple[str, ...] = ()
    heading = frame.index.name
    if names_items(heading) and not names_items(frame.columns.name):
        frame, notes = frame.T, (item_rows_note(heading),)
    frame, respondent_facts = without_facts(frame)
    if respondent_facts:
        notes = (*notes, fact_columns_note(list(respondent_facts)))
    return _wide_cells(frame)._replace(respondent_facts=respondent_facts, notes=notes)


def _wide_cells(frame: pd.DataFrame) -> Wide:
    respondents, (items, facts) = [str(name) for name in frame.index], _items(frame.columns)
    kinds = set(frame.dtypes)
    if not frame.size or (len(kinds) == 1 and _is_plain(kinds.pop())):
        return Wide(frame.to_numpy(), respondents, items, compact=False, facts=facts)
    blocks = []
    for column, item in enumerate(items):
        try:
            numbers = _numbers(frame.iloc[:, column], cell_finder(respondents, [item]))
        except InputError as error:
            if column > 0:
                raise
            raise InputError(
                f"{error} If the first column names the respondents, make it the index: "
                f"frame.set_index({shown(frame.columns[0])})"
            ) from None
        blocks.append(compact(numbers.astype(np.float64, copy=False)[None, :]))
    values = stacked(blocks, columns=True)
    return Wide(values, respondents, items, compact=values.dtype == np.int8, facts=facts)


def _items(columns: pd.Index[Any]) -> tuple[list[str], dict[str, list[Any]]]:
    """Return names of items, and the named levels above them; all levels joined if names repeat."""
    if columns.nlevels == 1:
        return [str(name) for name in columns], {}
    names = [str(name) for name in columns.get_level_values(-1)]
    if len(set(names)) < len(names):
        names = [SEPARATOR.join(map(str, parts)) for parts in columns]
    above = [(level, name) for level, name in enumerate(columns.names[:-1]) if name is not None]
    return names, {str(name): columns.get_level_values(level).tolist() for level, name in above}


def from_long(
    frame: pd.DataFrame, respondent: str, item: str, response: str, *, facts: bool
) -> IdentifiedTable:
    """Return one response per row of the frame, and the facts in its other columns."""
    _check_frame(frame)
    for column in (respondent, item, response):
        if column not in frame.columns:
            known = ", ".join(shown(name) for name in frame.columns[:10])
            raise InputError(
                f"The frame has no column {shown(column)}; it has {known or 'none'}. "
                "Name the columns: from_long(frame, respondent=..., item=..., response=...)."
                f"{meant(str(column), frame.columns)}"
            )
    rows, respondents = _codes(frame[respondent], respondent)
    columns, items = _codes(frame[item], item)

    def where(position: int) -> str:
        return pair_in_words(respondents[rows[position]], items[columns[position]])

    taken: tuple[str, ...] = (respondent, item, response)
    tries, spread = (
        _numbers(frame[name], where) if name in frame.columns and name not in taken else None
        for name in (TRIES, SPREAD)
    )
    spread = None if spread is None or tries is None else spread.astype(np.float64)
    responses = _numbers(frame[response], where)
    table = LongTable(respondents, items, rows, columns, responses, tries, spread)
    if not facts:
        return IdentifiedTable(table)
    coded: dict[str, Codes] = {}
    for name in dict.fromkeys(frame.columns):
        if name in (*taken, *table.mean_columns) or frame[name].ndim != 1:  # a repeated heading
            continue
        try:
            codes, values = pd.factorize(frame[name])
        except TypeError:  # lists and the like
            continue
        coded[str(name)] = Codes(codes, list(values))
    identified = identify(table, {name: coded[name] for name in coded if may_identify(name)})
    item_facts, respondent_facts = facts_of_columns(coded.items(), identified.table)
    return replace(
        identified,
        item_facts={**item_facts, **identified.item_facts},
        respondent_facts={**respondent_facts, **identified.respondent_facts},
    )


def from_predictions(
    y_true: ArrayLike, predictions: Mapping[str, ArrayLike] | pd.DataFrame
) -> tuple[NDArray[np.int8], list[str]]:
    """Compare predictions with true labels: right, wrong or missing, one row per model."""
    truth, predictions = _labels(y_true, "y_true"), as_pandas(predictions)
    if pd.isna(truth).any():
        raise InputError(
            f"y_true has no label at position {int(np.argmax(pd.isna(truth))):,} (counted from 0). "
            "Leave out the items whose true label is unknown."
        )
    if not hasattr(predictions, "items"):
        raise InputError(
            f"predictions is of type {type(predictions).__name__}, but it should map names to "
            "labels. Give {'model': y_pred} or a DataFrame with one column per model."
        )
    known, any_known = _distinct(truth, "y_true"), False
    pairs = list(predictions.items())  # the length of a frame is that of its columns
    cells = np.empty((len(pairs), truth.size), dtype=np.int8)
    names = []
    for row, (name, given) in enumerate(pairs):
        labels = _labels(given, f"the prediction of {shown(name)}")
        if labels.size != truth.size:
            raise InputError(
                f"{shown(name)} has {labels.size:,} predictions, but there are {truth.size:,} true "
                "labels. Give one prediction per item, None where there is none."
            )
        made = np.asarray(pd.notna(labels))
        predicted = _distinct(labels[made], f"the prediction of {shown(name)}")
        if predicted and not predicted & known and _is_text(predicted) != _is_text(known):
            _refuse_unknown_labels(shown(name), predicted, known)
        any_known = any_known or bool(predicted & known) or not predicted
        cells[row] = NEVER_ASKED
        right, given_labels = truth[made], labels[made]
        if not (right.dtype.kind in "biuf" and given_labels.dtype.kind in "biuf"):
            right, given_labels = right.astype(object), given_labels.astype(object)
        cells[row, made] = np.asarray(right == given_labels, dtype=np.bool_)
        names.append(str(name))
    if names and truth.size and not any_known:
        _refuse_unknown_labels("Every model", predicted, known)
    return cells, names


def wide_frame(
    values: NDArray[np.float64], respondents: Sequence[str], items: Sequence[str]
) -> pd.DataFrame:
    """Return a frame with the names as index and columns."""
    index, columns = pd.Index(respondents, name="respondent"), pd.Index(items, name="item")
    return pd.DataFrame(values, index=index, columns=columns, copy=False)


def long_frame(
    cells: NDArray[Any],
    observed: NDArray[np.bool_],
    respondents: Sequence[str],
    items: Sequence[str],
) -> pd.DataFrame:
    """Return a frame with one row per observed cell."""
    rows, columns = np.nonzero(observed)
    return pd.DataFrame(
        {
            "respondent": pd.Categorical.from_codes(rows, categories=pd.Index(respondents)),
            "item": pd.Categorical.from_codes(columns, categories=pd.Index(items)),
            "response": cells[observed],
        }
    )


def _check_frame(frame: object) -> None:
    if not isinstance(frame, pd.DataFrame):
        raise InputError(
            f"frame is of type {type(frame).__name__}, but it should be a pandas DataFrame. "
            "Give an array to Responses(values) instead."
        )


def _is_plain(dtype: object) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf"


def _numbers(column: pd.Series[Any], where: Where) -> NDArray[Any]:
    """Return one column as a numeric array, however pandas stores it."""
    if _is_plain(column.dtype):
        return column.to_numpy()
    if pd.api.types.is_bool_dtype(column.dtype) or (
        pd.api.types.is_numeric_dtype(column.dtype)
        and not pd.api.types.is_complex_dtype(column.dtype)
    ):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if isinstance(column.dtype, pd.CategoricalDtype):  # each text is read once
        codes = column.cat.codes.to_numpy()

        def first(category: int) -> str:
            return where(int(np.argmax(codes == category)))

        known = _numbers(pd.Series(column.cat.categories), first)
        return np.append(known.astype(np.float64), np.nan)[codes]
    # NaN in columns of text has several forms, all of which pandas recognises.
    return as_numbers(column.astype(object).where(column.notna(), None).to_numpy(), where)


def _codes(column: pd.Series[Any], name: str) -> tuple[NDArray[np.integer[Any]], list[str]]:
    codes, uniques = pd.factorize(column)
    if (codes < 0).any():
        raise InputError(
            f"Row {int(np.argmax(codes < 0)):,} (counted from 0) has nothing in column "
            f"{shown(name)}. Every response needs a respondent and an item."
        )
    return codes, [str(unique) for unique in uniques]


def _labels(labels: ArrayLike, what: str) -> NDArray[Any]:
    # Lists go through objects: NumPy would turn a NaN among texts into the text "nan".
    array = labels if hasattr(labels, "dtype") else np.asarray(labels, dtype=object)
    array = np.asarray(array)
    if array.ndim != 1:
        raise InputError(
            f"{what} has {array.ndim} dimensions, but there should be one label per item. "
            "Give a flat list."
        )
    return array


def _distinct(labels: NDArray[Any], what: str) -> set[Any]:
    try:
        return set(pd.unique(labels).tolist())
    except TypeError as error:
        raise InputError(
            f"{what} holds labels that cannot be compared: {error}. Give numbers or text."
        ) from error


def _is_text(labels: set[Any]) -> bool:
    return all(isinstance(label, str) for label in labels)


def _refuse_unknown_labels(who: str, predicted: set[Any], known: set[Any]) -> None:
    examples, true = (
        ", ".join(shown(label) for label in list(labels)[:3]) for labels in (predicted, known)
    )
    raise InputError(
        f"{who} predicts no label that occurs in y_true: predictions are like "
        f"{examples}; true labels are like {true}. Use the same labels and types for both."
    )


class Choices(NamedTuple):
    """Codes of what was chosen, and the options of each item, the right one first."""

    codes: NDArray[np.int16]
    respondents: list[str]
    items: list[str]
    facts: dict[str, list[Any]]
    notes: tuple[str, ...]


def coded_choices(choices: pd.DataFrame, key: Any, options: Any = None) -> Choices:
    """Return the options of each item as numbers from the right one on."""
    if not hasattr(choices, "columns"):
        raise InputError(
            f"choices is of type {type(choices).__name__}; give a frame with one row per "
            "respondent and one column per item, which holds the option that was chosen."
        )
    items = [str(name) for name in choices.columns]
    right = _keys(key, items)
    known = _known_options(options, items)
    codes = np.full(choices.shape, NEVER_ASKED, dtype=np.int16)
    facts: dict[str, list[Any]] = {KEY: [right[name] for name in items]}
    for column, name in enumerate(items):
        chosen = [as_option(value) for value in choices.iloc[:, column]]
        distinct = {label for label in chosen if label is not None}
        others = _wrong_options(known.get(name), distinct, right[name], name)
        place = {label: k for k, label in enumerate([right[name], *others])}
        codes[:, column] = [NEVER_ASKED if label is None else place[label] for label in chosen]
        for k, label in enumerate(others, start=1):
            facts.setdefault(f"{OPTION}{k}", [None] * len(items))[column] = label
    never = (codes >= 0).any(axis=0) & ~(codes == 0).any(axis=0)
    wrong = [name for name, missed in zip(items, never, strict=True) if missed]
    note = f"Nobody chose the right option of {listed(wrong, 'item')}: check the key."
    names = [str(name) for name in choices.index]
    return Choices(codes, names, items, facts, (note,) if wrong else ())


def option_names(facts: Mapping[str, Sequence[Any]], item: int, count: int) -> list[str]:
    """Return the options of an item, the right one first; numbers if they have no names."""
    columns = [facts.get(KEY), *(facts.get(f"{OPTION}{k}") for k in range(1, count))]
    labels = [None if column is None else column[item] for column in columns]
    return [f"option {k}" if label is None else str(label) for k, label in enumerate(labels)]


def option_frame(choices: Responses) -> pd.DataFrame:
    """Return choices as text, one row per respondent, after a row with the key."""
    facts = {str(name): list(column) for name, column in choices.item_facts.items()}
    columns = {}
    for place, item in enumerate(choices.items):
        codes = choices.cells[:, place]
        labels = option_names(facts, place, int(codes.max(initial=0)) + 1)
        columns[item] = [labels[0], *(None if code < 0 else labels[code] for code in codes)]
    return pd.DataFrame(columns, index=pd.Index([KEY, *choices.respondents], name="respondent"))


def as_option(value: Any) -> str | None:
    """Return an option as text; None if nothing was chosen. Whole floats are whole numbers."""
    if value is None or value != value or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    return str(value).strip() or None


def as_right_or_wrong(values: NDArray[np.float64], kind: str, wanted: str) -> NDArray[np.float64]:
    """Return choices as right and wrong; nothing else can become choices, or be made of them."""
    if kind == NOMINAL and wanted == "binary":
        return np.where(np.isnan(values), np.nan, (values == 0) * 1.0)
    if np.isnan(values).all():
        return values
    raise InputError(
        f"The responses are {kind} and cannot become {wanted}: options have no order. Choices are "
        "made with Responses.from_choices, and become right or wrong with of_kind('binary')."
    )


def _keys(key: Any, items: Sequence[str]) -> dict[str, str]:
    """Return the right option of each item."""
    if hasattr(key, "items"):
        given = {str(name): as_option(value) for name, value in key.items()}
    elif isinstance(key, Iterable) and not isinstance(key, str):
        options = [as_option(value) for value in key]
        if len(options) != len(items):
            raise InputError(
                f"key has {len(options):,} entries, but there are {len(items):,} items. Give the "
                "right option of each."
            )
        given = dict(zip(items, options, strict=True))
    else:
        raise InputError(
            "`key` must be the right option of each item, as a list or a mapping, got "
            f"{shown(key)}."
        )
    keys = {name: label for name in items if (label := given.get(name)) is not None}
    if lacking := [name for name in items if name not in keys]:
        raise InputError(
            f"key has no right option for {listed(lacking, 'item')}. Add it, or leave them out."
        )
    return keys


def _known_options(options: Any, items: Sequence[str]) -> dict[str, list[str]]:
    """Return options that are given: the same for all items, or by item."""
    if options is None:
        return {}
    if isinstance(options, Mapping):
        each = {str(name): list(values) for name, values in options.items()}
    elif isinstance(options, Iterable) and not isinstance(options, str):
        each = {name: list(options) for name in items}
    else:
        raise InputError(
            "`options` must be a list such as ['A', 'B', 'C'], or one for each item, as a mapping, "
            f"got {shown(options)}."
        )
    return {
        name: [label for label in map(as_option, values) if label is not None]
        for name, values in each.items()
    }


def _wrong_options(given: list[str] | None, chosen: set[str], right: str, item: str) -> list[str]:
    """Return the wrong options of an item: as given, or those that were chosen, in order."""
    if given is not None:
        if unknown := sorted((chosen | {right}) - set(given)):
            raise InputError(
                f"Item {shown(item)} has the option {shown(unknown[0])}, which is not among its "
                f"options: {', '.join(given[:8])}. Correct it, or add it to options."
            )
        return [label for label in dict.fromkeys(given) if label != right]
    others = chosen - {right}
    if len(others) >= MOST_OPTIONS:
        raise InputError(
            f"Item {shown(item)} has {len(others) + 1:,} different answers, but options are at "
            f"most {MOST_OPTIONS}. Free text is no choice among options."
        )
    numbers = all(label.isdigit() for label in others)
    return sorted(others, key=lambda label: (len(label) if numbers else 0, label))
