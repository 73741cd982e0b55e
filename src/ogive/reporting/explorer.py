"""What the item explorer shows of each scale: items, curves, responses and instances."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ogive.checks.mislabelled_items import LabelTrouble
from ogive.data.datasets.dataset import Dataset
from ogive.data.names import is_numbered, row_name
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.irt.constrained_scales import said_of_direction
from ogive.irt.item_curves import below_zero, nominal_items, significantly_negative, told_parameters
from ogive.irt.models.logistic import Logistic
from ogive.irt.response_codes import as_floats
from ogive.reporting.explorer_responses import answers_of, counted_items, packed
from ogive.reporting.page_assets import asset, filled, policy_of, script_of
from ogive.reporting.sections import as_json, columns_of, rounded, text_of, unused
from ogive.results.base import Result
from ogive.results.numbers import counted
from ogive.results.wording import words_of_page

if TYPE_CHECKING:
    from ogive.data.responses import Responses


MOST_COLUMNS = 100  # of a feature row
MOST_CHARACTERS = 2_000_000  # of all texts and pictures of one scale; the rest is left out
MOST_BYTES = 12_000_000  # of the responses of one scale; beyond, only some respondents are kept
CURVE_POINTS = 41
CURVE_REACH = 3.5  # population standard deviations
MOST_LEVELS = 60  # of a fact by which one can filter
LEVELS = 255  # of a sampled curve
REST = "item_rest"  # what the map shows if discriminations are equal
MOST_ITEMS = 5_000  # in a notebook, which keeps what it shows
MOST_CELLS = 5_000_000
MOST_BYTES_IN_NOTEBOOK = 400_000  # of responses; beyond, only some respondents are kept
HEIGHT = 880  # pixels of the frame in a notebook
_PICTURES = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif", b"RIFF": "webp"}


def instances_of(given: Any, items: Sequence[str], first: Iterable[str] = ()) -> dict[str, Any]:
    """Return what a page shows of each item: {"rows": columns, "texts": [...], "pictures": [...]}.

    `given` is a frame of feature rows, a Dataset, or a mapping from item to a text, to the bytes of
    a picture, or to an array of pixels. Rows that are only numbered are row_0, row_1, ..., as pools
    name them. If there is too much of it, the items `first` are kept before the others.
    """
    if isinstance(given, Dataset):
        return _of_dataset(given, items, first)
    if isinstance(given, pd.DataFrame):
        return {"rows": columns_of(_rows(given.iloc[:, :MOST_COLUMNS], items))}
    if not isinstance(given, Mapping | pd.Series):
        raise InputError(
            "`instances` must be a frame of feature rows, a Dataset, or a mapping from item to "
            f"text, picture or pixels, got {type(given).__name__}."
        )
    known = {str(name): value for name, value in given.items()}
    _check_known(list(known), items)
    texts = all(isinstance(value, str | int | float) or value is None for value in known.values())
    kind, show = ("texts", text_of) if texts else ("pictures", picture_address)
    return {kind: _within_limits({k: show(v) for k, v in known.items()}, items, first)}


def picture_address(value: Any) -> str:
    """Return a picture as a data URL: from the bytes of a file, or from an array of pixels."""
    if isinstance(value, bytes | bytearray):
        content = bytes(value)
        kind = next((k for start, k in _PICTURES.items() if content.startswith(start)), None)
        if kind is None:
            raise InputError("A picture is neither PNG, JPEG, GIF nor WebP. Give one of these.")
    else:
        content, kind = _png(np.asarray(value)), "png"
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"


def _of_dataset(dataset: Dataset, items: Sequence[str], first: Iterable[str]) -> dict[str, Any]:
    features = dataset.features
    label = str(dataset.target.name or "label")
    while label in features:
        label += "_"
    side = math.isqrt(features.shape[1])
    named = all(str(name).lower().startswith("pixel") for name in features)
    numbers = all(dtype.kind in "iuf" for dtype in features.dtypes)
    if not (named and numbers and side * side == features.shape[1]):  # no square picture
        shown = features.iloc[:, :MOST_COLUMNS].assign(**{label: dataset.target})
        return {"rows": columns_of(_rows(shown, items))}
    labels = _rows(dataset.target.to_frame(label), items)
    pixels = features.to_numpy(dtype=float).reshape(len(dataset), side, side)
    index = {row_name(k): k for k in range(len(dataset))}
    drawn = {name: picture_address(pixels[index[name]]) for name in items if name in index}
    return {"rows": columns_of(labels), "pictures": _within_limits(drawn, items, first)}


def _rows(frame: pd.DataFrame, items: Sequence[str]) -> pd.DataFrame:
    """Return the rows in the order of the items, empty if there is none."""
    name_of = row_name if is_numbered(frame.index) else str
    named = frame.set_axis([name_of(k) for k in frame.index], axis=0)
    if not named.index.is_unique:
        twice = named.index[named.index.duplicated()][0]
        raise InputError(f"instances has two rows for the item {twice!r}. Keep one.")
    _check_known(list(named.index), items)
    return named.reindex(list(items)).reset_index(drop=True)


def _check_known(names: Sequence[str], items: Sequence[str]) -> None:
    if not set(names) & set(items):
        first = names[0] if len(names) else "none"
        raise InputError(
            f"instances describes {first!r}, ..., but the items are {items[0]!r}, ... Name each "
            "instance as its item: the index of a frame, the keys of a mapping."
        )


def _within_limits(
    values: Mapping[str, str], items: Sequence[str], first: Iterable[str]
) -> list[str | None]:
    """Return one entry per item; None if there is none, or no space is left."""
    kept: dict[str, str] = {}
    room = MOST_CHARACTERS
    for name in dict.fromkeys([*first, *items]):
        if name in values and len(values[name]) <= room:
            kept[name] = values[name]
            room -= len(values[name])
    return [kept.get(name) for name in items]


def _png(pixels: np.ndarray) -> bytes:
    from matplotlib.image import imsave

    if pixels.ndim not in (2, 3) or pixels.size == 0 or pixels.dtype.kind not in "biuf":
        raise InputError(
            f"A picture has the shape {pixels.shape}, but pixels are (height, width) or "
            "(height, width, 3), as numbers."
        )
    if pixels.ndim == 3 and pixels.dtype != np.uint8:
        pixels = np.clip(pixels, 0.0, 1.0)
    buffer = io.BytesIO()
    imsave(buffer, pixels, cmap="gray", format="png")
    return buffer.getvalue()


@dataclass(frozen=True)
class Scale:
    """Items on one scale: their table, and what else the explorer needs."""

    name: str
    items: pd.DataFrame
    content: dict[str, Any]
    answered: Responses | None = None  # from which the items were calibrated

    def is_of(self, items: Set[str], answered: Responses | None) -> bool:
        """Return True if these are its items and answers: names alone may be of another table."""
        return set(self.items.index) == items and not _contradict(self.answered, answered)


def scales_of(results: Mapping[str, Result], instances: Any) -> list[Scale]:
    """Return every calibration among the results once; `instances` may be by scale."""
    troubles = [each for each in results.values() if isinstance(each, LabelTrouble)]
    scales: dict[str, tuple[Calibration, Responses | None, LabelTrouble | None]] = {}
    own_first = sorted(results.items(), key=lambda each: not isinstance(each[1], Calibration))
    for title, result in own_first:
        for name, calibration, responses, trouble in _calibrations(title, result):
            known = [each for each, *_ in scales.values()]
            if any(calibration is each for each in known):
                continue
            # The scale behind another result is shown unless its items can be explored already.
            behind = not isinstance(result, Calibration) and not hasattr(result, "calibrations")
            if behind and any(_same_answers(each, calibration) for each in known):
                continue
            suspects = trouble or _matching(calibration, troubles)
            scales[unused(name, scales)] = (calibration, responses, suspects)
    linked = {name: parts for name, parts in scales.items() if not parts[0].parts[1].any()}
    scales = linked or scales  # a scale of parts that nothing links is shown if there is no other
    by_scale: dict[str, Any] = {}
    if instances is not None and scales:
        by_scale = {next(iter(scales)): instances}
        if isinstance(instances, Mapping) and set(map(str, instances)) <= set(scales):
            by_scale = {str(name): value for name, value in instances.items()}
    return [scale_of(name, *parts, by_scale.get(name)) for name, parts in scales.items()]


def _calibrations(
    title: str, result: Result
) -> Iterator[tuple[str, Calibration, Responses | None, LabelTrouble | None]]:
    """Yield the calibrations of a result, with the evaluated responses and suspect labels."""
    if not result.explored:
        return
    if isinstance(result, Calibration):
        yield title, result, result.responses, None
    several = getattr(result, "calibrations", None)
    troubles = getattr(result, "label_troubles", {})
    for name, calibration in (several if isinstance(several, Mapping) else {}).items():
        evaluated = getattr(result, "responses", {}).get(name, calibration.responses)
        yield str(name), calibration, evaluated, troubles.get(name)
    for holder in (result, getattr(result, "curves", None)):
        one = getattr(holder, "calibration", None)
        if isinstance(one, Calibration):
            yield title, one, one.responses, None


def _same_answers(one: Calibration, other: Calibration) -> bool:
    same_items = set(one.item_names) == set(other.item_names)
    return same_items and not _contradict(one.responses, other.responses)


def _contradict(one: Responses | None, other: Responses | None) -> bool:
    """Return True if the same respondents answered differently: then they are two tables."""
    if one is None or other is None or one is other:
        return False
    both, rows, other_rows = np.intersect1d(one.respondents, other.respondents, return_indices=True)
    if not both.size:
        return False
    index = {item: k for k, item in enumerate(other.items)}
    known = [k for k, item in enumerate(one.items) if item in index]
    same = [index[one.items[k]] for k in known]
    first, second = (
        as_floats(one.cells[rows][:, known]),
        as_floats(other.cells[other_rows][:, same]),
    )
    return bool((np.isfinite(first) & np.isfinite(second) & (first != second)).any())


def _matching(calibration: Calibration, troubles: list[LabelTrouble]) -> LabelTrouble | None:
    """Return the suspects of these items and answers, not of others of equal names."""
    answered = calibration.responses
    for trouble in troubles:
        if set(trouble.items) != set(calibration.item_names):
            continue
        if trouble.share_right is None or answered is None:
            return trouble
        known = dict(zip(trouble.items, trouble.share_right, strict=True))
        asked = np.maximum(answered.tally.asked, 1)
        means = np.nansum(answered.values, axis=0) / asked
        shares = np.array([known.get(item, np.nan) for item in answered.items])
        if np.allclose(shares[asked > 0], means[asked > 0], atol=1e-6, equal_nan=True):
            return trouble
    return None


def scale_of(
    name: str,
    calibration: Calibration,
    responses: Responses | None,
    trouble: LabelTrouble | None = None,
    instances: Any = None,
    most_bytes: int = MOST_BYTES,
) -> Scale:
    """Return the items of a calibration with their curves, responses, facts and instances."""
    plain = _items(calibration, trouble)
    items = _labelled(plain, instances)
    suspects = list(items.index[items["suspect"]]) if "suspect" in items else []
    own = calibration.responses
    given = set() if own is None else set(own.item_facts)
    content: dict[str, Any] = {"name": name, "model": calibration.model.name}
    if _are_parallel(calibration):  # then the map needs another axis than discrimination
        content["upward"] = REST
    content["cautions"] = _cautions(calibration)
    content["curve"] = _curves(calibration)
    content["groups"] = [str(c) for c in items if c in given or c not in plain]
    content["answers"] = (
        None if responses is None else answers_of(calibration, responses, most_bytes)
    )
    content["facts"] = [] if own is None else columns_of(long_facts(own))
    if instances is not None:
        content["instances"] = instances_of(instances, calibration.item_names, suspects)
    return Scale(name, items, content, own)


def _items(calibration: Calibration, trouble: LabelTrouble | None) -> pd.DataFrame:
    """Return one row per item: parameters with standard errors, flags, and short facts."""
    frame, responses = told_parameters(calibration.items), calibration.responses
    idle = [name for name in ("guessing", "slip") if name in frame and not frame[name].any()]
    frame = frame.drop(columns=[*idle, *(f"{name}_se" for name in idle)])
    if not frame["flag"].any():
        frame = frame.drop(columns="flag")
    if responses is not None:
        cells = as_floats(calibration.placed(responses))
        asked = np.maximum(np.isfinite(cells).sum(axis=0), 1)
        frame["mean_response"] = np.nansum(cells, axis=0) / asked
        if _are_parallel(calibration):
            frame = frame.join(counted_items(responses)[[REST, f"{REST}_low", f"{REST}_high"]])
        frame = frame.join(short_facts(responses, frame))
    if trouble is not None:
        every = trouble.to_frame()
        labels = [name for name in ("label", "likely") if name in every and name not in frame]
        doubts = every[["evidence", "suspect", *labels]].astype(dict.fromkeys(labels, str))
        frame = frame.join(doubts).assign(suspect=lambda f: f["suspect"].fillna(False).astype(bool))
    return frame


def _cautions(calibration: Calibration) -> list[str]:
    """Return why places by ability may differ from those by right answers; see `said_of_items`."""
    items = calibration.items
    below = int(below_zero(items).sum()) if "discrimination" in items else 0
    cautions = list(said_of_direction(calibration))
    if below:
        surely = int(significantly_negative(items).sum())
        cautions.append(
            f"{counted(below, 'item')} {'has' if below == 1 else 'have'} an estimated "
            f"discrimination below zero, {surely:,} of them significantly so after correction for "
            "multiple tests. Right answers to these lower ability, so compare means of responses, "
            "too."
        )
    return cautions


def _are_parallel(calibration: Calibration) -> bool:
    """Return True if all items have the same discrimination, and responses are known."""
    slopes = calibration.items.get("discrimination")
    if slopes is None or len(slopes) < 2 or calibration.responses is None:
        return False
    return float(np.ptp(slopes.to_numpy())) == 0.0


def _labelled(items: pd.DataFrame, instances: Any) -> pd.DataFrame:
    """Return the items with the classes of their instances, for filtering."""
    names = list(items.index)
    if isinstance(instances, Dataset):
        labels = _rows(instances.target.astype(str).to_frame("class"), names)
    elif isinstance(instances, pd.DataFrame):
        labels = _rows(instances.select_dtypes(exclude=["number", "datetime"]), names)
    else:
        return items
    return items.join(_short_texts(labels, items).set_axis(items.index))


def _few(values: pd.Series[Any]) -> bool:
    """Return True if a fact has few enough values to filter by."""
    return 1 < values.nunique() <= min(MOST_LEVELS, max(2, len(values) // 2))


def _short_texts(facts: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """Return facts to filter by that the items do not have yet, as texts."""
    short = [c for c in facts if _few(facts[c]) and c not in items]
    return facts[short].astype(str).where(facts[short].notna(), "")


def short_facts(responses: Responses, items: pd.DataFrame) -> pd.DataFrame:
    """Return facts to filter by, such as the task, that the items do not have yet."""
    return _short_texts(responses.item_facts, items)


def long_facts(responses: Responses) -> pd.DataFrame:
    """Return facts that are too long to filter by, such as the text of a question."""
    facts = responses.item_facts
    return facts[[c for c in facts if not _few(facts[c])]].reset_index(drop=True)


def _curves(calibration: Calibration) -> dict[str, Any]:
    """Return the range of the scale, and curves that a page cannot compute itself."""
    low, high = calibration.population.reach(CURVE_REACH)
    content: dict[str, Any] = {"from": round(float(low), 3), "to": round(float(high), 3)}
    bottom, top = (float(np.min(end)) for end in calibration.model.extent())
    bottom, top = (end if np.isfinite(end) else 0.0 for end in (bottom, top))
    if isinstance(calibration.model, Logistic):
        # What the prior says of items that all answered alike: only sums of chances use it.
        curve = ["discrimination", "difficulty", "guessing", "slip"]
        items = calibration.items.reindex(columns=curve, fill_value=0.0).to_numpy()
        rows = np.flatnonzero(nominal_items(calibration.items))
        nominal = {int(row): rounded(items[row]) for row in rows}
        return content | {"kind": "logistic", "low": 0.0, "high": 1.0, "nominal": nominal}
    grid = np.linspace(low, high, CURVE_POINTS)
    expected = calibration.model.expected(calibration.coords, grid)
    bottom, top = min(bottom, float(expected.min())), max(top, float(expected.max()))
    coded = np.rint((expected - bottom) / max(top - bottom, 1e-12) * LEVELS).astype(np.uint8)
    content |= {"kind": "sampled", "points": CURVE_POINTS, "values": packed(coded)}
    return content | {"low": bottom, "high": top}


def explorer_html(calibration: Calibration) -> str:
    """Return a frame that shows the items of a calibration, or a sentence if they are too many.

    The frame holds everything that it needs: it fetches nothing, and cannot reach the notebook.
    """
    responses = calibration.responses
    n_items = len(calibration.item_names)
    if n_items > MOST_ITEMS or (responses is not None and responses.cells.size > MOST_CELLS):
        return (
            f"<p>{n_items:,} items are too many to be explored here: <code>write_report</code> "
            "makes a page of them, <code>ogive view</code> an app.</p>"
        )
    scale = scale_of("items", calibration, responses, most_bytes=MOST_BYTES_IN_NOTEBOOK)
    table = {"caption": "Items", "file": "items.csv", "columns": columns_of(scale.items)}
    data = {
        "tables": {"items": table},
        "scales": [{**scale.content, "table": "items"}],
        "words": words_of_page(scale.items.columns),
    }
    script = script_of()
    values = {
        "policy": policy_of(script),
        "style": f"{asset('page.css')}\n{asset('view.css')}",
        "explorer": asset("explorer.html") + asset("compare.html"),
        "data": as_json(data),
        "script": script,
    }
    document = escape(filled(asset("notebook.html"), values))
    return (
        '<iframe title="Item explorer" sandbox="allow-scripts allow-downloads" '
        f'height="{HEIGHT}" style="width:100%;border:1px solid #8884" srcdoc="{document}"></iframe>'
    )
