"""Sections of results: findings, tables as columns, SVG.

Figures inside a page: displays as SVG, several of which can share one document.

Sections of a page: what each result says, its settings and figures, its tables as columns.
"""

from __future__ import annotations

import base64
import io
import json
import math
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np

from ogive._progress import at_stage
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.irt.item_curves import said_of_items, said_of_negative, significantly_negative
from ogive.results.base import Draw, Part, Result, fields_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from ogive.data.responses import Responses
    from ogive.results.plots.figure import Display


MOST_MARKS = 1500  # of one artist; beyond, it is drawn as pixels inside the figure
MOST_BYTES = 300_000  # beyond, the whole figure is pixels
UNMARKED = ("", " ", "None", None, "|")  # lines without dots
ROW = 0.9  # of the distance between two named rows
DOTS = 144  # per inch, of what is drawn as pixels

# The elements that matplotlib draws with; all others are removed.
_ELEMENTS = {
    *("svg", "g", "path", "text", "tspan", "use", "defs", "clipPath", "rect", "image", "circle"),
    *("line", "ellipse", "polygon", "polyline", "linearGradient", "radialGradient", "stop"),
    "title",
}
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_FONTS = re.compile(r"font-family:[^;]*;?\s*")  # the style of the page names them once


def picture_of(display: Display, caption: str, prefix: str) -> str:
    """Return the figure as markup; `prefix` makes its ids unique on the page."""
    if not hasattr(display, "figure_"):
        display.plot()
    figure = display.figure_
    _rasterise(figure)
    _name_dots(figure)
    drawn = _saved(figure, "svg")
    if len(drawn) > MOST_BYTES:
        return image_of(_saved(figure, "png"), caption)
    try:
        root = ET.fromstring(drawn)  # noqa: S314 (matplotlib wrote it a moment ago)
    except ET.ParseError:  # a name holds a character that XML forbids
        return image_of(_saved(figure, "png"), caption)
    _say_on_hover(root, figure)
    return _inline(root, caption, prefix)


def _say_on_hover(root: ET.Element, figure: Figure) -> None:
    """Give each dot the text that its display has for it."""
    texts = {a.get_gid(): a.hover_texts for a in figure.findobj() if hasattr(a, "hover_texts")}
    for group in root.iter():
        dots = [one for one in group.iter() if _local(one.tag) == "use"]
        said = texts.get(group.attrib.get("id", ""), ())
        for dot, text in zip(dots, said if len(said) == len(dots) else (), strict=False):
            ET.SubElement(dot, "title").text = "".join(c for c in text if c.isprintable())


def _name_dots(figure: Figure) -> None:
    """Let dots without a text of their own say their row, if it has a name, and their numbers."""
    for place, ax in enumerate(figure.axes):
        marked = [line for line in ax.lines if line.get_marker() not in UNMARKED]
        drawn: list[Any] = [*ax.collections, *marked]
        spots = [[] if hasattr(one, "hover_texts") else _spots(one) for one in drawn]
        if not any(spots):
            continue
        across = _namer(ax.xaxis, figure.get_supxlabel())
        up = _namer(ax.yaxis, figure.get_supylabel())
        for k, (artist, points) in enumerate(zip(drawn, spots, strict=True)):
            if 0 < len(points) <= MOST_MARKS:
                series = str(artist.get_label() or "_")
                own = "" if series.startswith("_") else f"{series}, "
                artist.hover_texts = tuple(f"{own}{up(y)}, {across(x)}" for x, y in points)
                artist.set_gid(f"dots-{place}-{k}")


def _spots(artist: Any) -> list[tuple[float, float]]:
    """Return where the dots of an artist are, in the units of its axes."""
    if hasattr(artist, "get_xydata"):
        spots = artist.get_xydata()
    else:
        dotted = hasattr(artist, "get_sizes") and len(artist.get_sizes())
        spots = artist.get_offsets() if dotted else []
    return [(float(x), float(y)) for x, y in spots]


def _namer(axis: Any, above: str) -> Callable[[float], str]:
    """Return what says a value along an axis: the name of the row there, or label and number."""
    words = [text.get_text().replace("\n", " ") for text in axis.get_ticklabels()]
    named = [
        (float(tick), name)
        for tick, name in zip(axis.get_ticklocs(), words, strict=False)
        if name and not _is_number(name)
    ]
    label = axis.get_label_text() or above
    short = label.partition(" (")[0].replace("\n", " ")

    def say(value: float) -> str:
        near = min(named, key=lambda each: abs(each[0] - value), default=(np.inf, ""))
        return near[1] if abs(near[0] - value) <= ROW / 2 else f"{short} {value:.3g}".strip()

    return say


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-\N{MINUS SIGN}]?[\d.,]+%?", text) is not None


def image_of(png: bytes, caption: str) -> str:
    """Return a PNG image as markup."""
    data = base64.b64encode(png).decode("ascii")
    return f'<img alt="{escape(caption)}" src="data:image/png;base64,{data}">'


def _saved(figure: Figure, form: str) -> bytes:
    import matplotlib as mpl

    buffer = io.BytesIO()
    settings: dict[Any, Any] = {"svg.hashsalt": "ogive", "svg.fonttype": "none"}
    metadata: dict[str, Any] = {"Date": None} if form == "svg" else {}
    with mpl.rc_context(settings), warnings.catch_warnings():
        # A character that the font lacks is drawn as a box; a warning would not help anyone.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        figure.savefig(buffer, format=form, dpi=DOTS, metadata=metadata)
    return buffer.getvalue()


def _rasterise(figure: Figure) -> None:
    for artist in figure.findobj():
        if _marks(artist) > MOST_MARKS:
            artist.set_rasterized(True)


def _marks(artist: Any) -> int:
    """Return how many marks an artist draws, as far as it is known."""
    if hasattr(artist, "get_offsets"):
        return max(len(artist.get_offsets()), len(artist.get_paths()))
    if hasattr(artist, "get_xdata"):
        return len(artist.get_xdata())
    return 0


def _inline(root: ET.Element, caption: str, prefix: str) -> str:
    _clean(root)
    used = set(_referenced(root))
    for element in root.iter():
        _rename(element, used, prefix)
    width, height = root.attrib["viewBox"].split()[2:]
    root.attrib = {
        "viewBox": root.attrib["viewBox"],
        "width": f"{float(width) * 4 / 3:.0f}",
        "height": f"{float(height) * 4 / 3:.0f}",
        "role": "img",
        "aria-label": caption,
    }
    return ET.tostring(root, encoding="unicode")


def _clean(element: ET.Element) -> None:
    """Strip namespaces, and remove metadata and styles, which would affect the whole page."""
    element.tag = _local(element.tag)
    for child in list(element):
        if _local(child.tag) in _ELEMENTS:
            _clean(child)
        else:
            element.remove(child)
    attributes = {_local(name): value for name, value in element.attrib.items()}
    element.attrib = {
        name: _FONTS.sub("", value) if name == "style" else " ".join(value.split())
        for name, value in attributes.items()
        if not name.lower().startswith("on")
    }
    if element.tag not in ("text", "tspan", "title"):
        element.text = None
    element.tail = None


def _local(name: Any) -> str:
    return str(name).rpartition("}")[2]


def _referenced(root: ET.Element) -> Iterator[str]:
    for element in root.iter():
        for name, value in element.attrib.items():
            if name == "href" and value.startswith("#"):
                yield value[1:]
            yield from _REFERENCE.findall(value)


def _rename(element: ET.Element, used: set[str], prefix: str) -> None:
    """Keep only ids that something refers to, each with the prefix of this figure."""
    if (own := element.attrib.pop("id", None)) in used:
        element.attrib["id"] = f"{prefix}-{own}"
    for name, value in element.attrib.items():
        if name == "href":
            inside = value.startswith("#")
            element.attrib[name] = f"#{prefix}-{value[1:]}" if inside else _only_pixels(value)
        elif "url(#" in value:
            element.attrib[name] = _REFERENCE.sub(rf"url(#{prefix}-\1)", value)


def _only_pixels(address: str) -> str:
    return address if address.startswith("data:image/png;base64,") else ""


# Fields that say how a result was made, not what was found.
SETTINGS = {
    *("method", "random_state", "n_resamples", "tolerance", "tau", "confidence", "alpha"),
    *("epsilon", "passes", "positive", "limit", "treatment", "engine", "iterations", "converged"),
    *("sure", "keep", "asked", "score", "budget", "metadatum", "source", "preprocessing"),
    "dataset",
}
DIGITS, FEW_DIGITS = 6, 4  # significant; fewer where rows are many
MANY_ROWS = 5000
MOST_ROWS = 50_000  # of a table; a page with more of them would not open
LONGEST_TEXT = 4000
# What would end a script, begin a comment or break a line inside one.
_UNSAFE = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})


@dataclass(frozen=True)
class Section:
    """A part of the page, ready to be written; pictures are markup, all else is text."""

    title: str
    about: str = ""
    sentences: tuple[str, ...] = ()  # the first is the headline
    notes: tuple[str, ...] = ()
    tables: tuple[tuple[str, pd.DataFrame], ...] = ()
    pictures: tuple[tuple[str, str], ...] = ()  # caption, markup
    settings: tuple[tuple[str, str], ...] = ()
    part: Part = "finding"
    ranks: bool = False  # whether it says who is better
    headline: str = ""  # what the page may say first
    items: frozenset[str] = frozenset()  # those of its scale, which verdicts on pairs are about
    answered: Responses | None = None  # the answers to these
    scale: str | None = None  # which its tables are about, if its title does not say it


def sections_of(
    results: Mapping[str, Result],
    numbered: Callable[[], str],
    brief: Collection[str] = (),
) -> list[Section]:
    """Return one section per result, and one for results that are compared.

    `numbered` gives a new prefix for the ids of each figure; results with a title among `brief`
    get one figure each.
    """
    found = [
        section_of(title, result, numbered, most=1 if title in brief else None)
        for title, result in results.items()
    ]
    boards = [result for result in results.values() if result.name() == "leaderboard"]
    scales = [getattr(board, "calibration", None) for board in boards]
    for k, result in enumerate(results.values()):
        if boards and isinstance(result, Calibration):
            ranked = any(result is scale for scale in scales)
            found[k] = _beside_board(found[k], result, ranked=ranked)
    return [*_together(results, numbered), *found]


def _beside_board(section: Section, calibration: Calibration, *, ranked: bool) -> Section:
    """Return the section of a scale on a page that says who is better: the items.

    If its abilities are those that are `ranked`, they are not shown twice. Keys of grades and
    scores are not judged elsewhere, so that the page may say first which run against the others.
    """
    items, judged = calibration.items, calibration.model.kind in ("binary", "nominal")
    turned = not judged and significantly_negative(items).any()
    said = (said_of_items(calibration), *section.sentences[1:])
    left_out = "respondents" if ranked else None
    tables = tuple((name, frame) for name, frame in section.tables if name != left_out)
    headline = said_of_negative(items) if turned else ""
    return replace(section, part="items", headline=headline, sentences=said, tables=tables)


def section_of(
    title: str, result: Result, numbered: Callable[[], str], most: int | None = None
) -> Section:
    """Return the section of a result, with at most so many figures."""
    at_stage(f"section {title}")
    most = 0 if result.found_nothing else most
    pictures, lacking = _drawn(islice(result.page_figures().items(), most), title, numbered)
    tables, cut = _within_limits(result.page_tables())
    scale = _own_scale(result)
    return Section(
        title=title,
        about=_about(result),
        sentences=tuple(text for text in result.sentences() if text not in result.notes),
        notes=(*result.notes, *lacking, *cut),
        tables=tuple(table for k, table in enumerate(tables) if k == 0 or len(table[1])),
        pictures=tuple(pictures),
        settings=tuple(_settings(result)),
        part=result.page_part,
        ranks=result.name() == "leaderboard",
        headline=result.meaning,
        items=frozenset(() if scale is None else scale.item_names),
        answered=None if scale is None else scale.responses,
    )


def _own_scale(result: Result) -> Calibration | None:
    scale = result if isinstance(result, Calibration) else getattr(result, "calibration", None)
    return scale if isinstance(scale, Calibration) else None


def _within_limits(
    given: Mapping[str, pd.DataFrame],
) -> tuple[list[tuple[str, pd.DataFrame]], list[str]]:
    """Return the tables with as many rows as a page can hold, and notes on those that have more."""
    notes = [
        f"Table {_words(name)!r} shows the first {MOST_ROWS:,} of {len(frame):,} rows: a page with "
        "all of them would not open. The result itself, and the folder of a command, hold all."
        for name, frame in given.items()
        if len(frame) > MOST_ROWS
    ]
    return [(name, frame.head(MOST_ROWS)) for name, frame in given.items()], notes


def title_of(result: Result) -> str:
    """Return the name of its class as words: LabelTrouble -> Label trouble."""
    return _sentence(_words(result.name()))


def _about(result: Result) -> str:
    return (type(result).__doc__ or "").strip().partition("\n")[0]


def _drawn(
    figures: Iterable[tuple[str, Draw]], title: str, numbered: Callable[[], str]
) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the figures as markup, and why some cannot be drawn."""
    pictures, lacking = [], []
    for name, draw in figures:
        try:
            display = draw()
        except InputError as reason:
            lacking.append(f"There is no figure {_words(name)!r}: {reason}")
            continue
        if display.instead:
            lacking.append(f"Figure {_words(name)!r} is not drawn: {display.instead}")
            continue
        about = (type(display).__doc__ or "").strip().partition("\n")[0]
        words = _words(name)
        named = title if words == title.lower() else _sentence(words)
        pictures.append((f"{named}. {about}", picture_of(display, named, numbered())))
    return pictures, lacking


# Names of figures that are short as names of files, but no words.
SPELLED = {"mae": "mean absolute error", "bump": "ranks along the periods"}


def _words(name: str) -> str:
    return SPELLED.get(name, name.replace("_", " ").replace("cells ", "cells of "))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _settings(result: Result) -> Iterator[tuple[str, str]]:
    model = getattr(result, "model", None)
    if hasattr(model, "coordinates"):
        yield "model", str(getattr(model, "name", model))
    for each in fields_of(result):
        value = getattr(result, each.name)
        if each.name in ("settings", "limits") and is_dataclass(value):
            for name, part in asdict(value).items():  # type: ignore[arg-type]
                yield f"{each.name}: {name.replace('_', ' ')}", _shown(part)
        elif each.name in SETTINGS and isinstance(value, str | int | float | bool):
            yield each.name.replace("_", " "), _shown(value)


def _shown(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _together(results: Mapping[str, Result], numbered: Callable[[], str]) -> list[Section]:
    """Compare the capabilities of several models, measured on the same cases."""
    models: dict[str, Any] = {
        name: each for name, each in results.items() if each.name() == "capability"
    }
    if len(models) < 2:
        return []
    from ogive.capability.capability_result import CapabilityComparison

    return [section_of("Models compared", CapabilityComparison(models), numbered)]


@dataclass(frozen=True)
class Banks:
    """Item banks by name that are shown in the item explorer, without sections of their own."""

    calibrations: Mapping[str, Calibration]


@dataclass
class Gathered:
    """Results by title, sections that are already made, and why others do not exist.

    `explored` are calibrations for the item explorer alone, `brief` titles with one figure each.
    """

    results: dict[str, Result] = field(default_factory=dict)
    sections: list[Section] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    explored: dict[str, Result] = field(default_factory=dict)
    brief: set[str] = field(default_factory=set)


def gather(given: Any) -> Gathered:
    """Gather results: one, several, by title or not, or those of `diagnose` or `read_benchmark`."""
    found = Gathered()
    _add(found, given, None)
    if not found.results and not found.sections:
        raise InputError("There is nothing to report. Give at least one result.")
    return found


def _add(found: Gathered, given: Any, title: str | None) -> None:
    if hasattr(given, "found") and hasattr(given, "missing"):
        _add_chapters(found, given)
    elif isinstance(given, Result):
        found.results[_free(title or title_of(given), found.results)] = given
    elif isinstance(given, Section):
        found.sections.append(given)
    elif isinstance(given, Banks):
        found.explored |= given.calibrations
    elif isinstance(given, Mapping):
        for name, each in given.items():
            _add(found, each, str(name))
    elif isinstance(given, Iterable) and not isinstance(given, str | bytes):
        for each in given:
            _add(found, each, title)
    else:
        raise InputError(
            f"results holds {type(given).__name__}, but a page shows results: what calibrate, "
            "diagnose or a study returns, one, in a list, or by title."
        )


def _add_chapters(found: Gathered, given: Any) -> None:
    """Add the main result, then the others, and the reasons for those that are missing."""
    main = getattr(given, "decoding", None)
    if main is not None:
        _add(found, main, None)
    before = set(found.results)
    for name, each in given.found.items():
        _add(found, each, str(name).replace("_", " ").capitalize())
    if getattr(given, "brief", False):
        found.brief |= set(found.results) - before
    for name, reason in given.missing.items():
        found.missing[str(name).replace("_", " ")] = reason


def _free(title: str, taken: Mapping[str, Any]) -> str:
    wanted, k = title, 2
    while wanted in taken:
        wanted, k = f"{title} ({k})", k + 1
    return wanted


def as_json(value: Any) -> str:
    """Return JSON that is safe inside a script element, whatever texts it holds."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_UNSAFE)


def columns_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one entry per column, the index first if it has a name: name, kind and values.

    Kinds are "number", "flag" and "text". Texts that repeat are kept once, in `levels`.
    """
    flat = _flat(frame)
    digits = FEW_DIGITS if len(flat) > MANY_ROWS else DIGITS
    return [_column(str(name), flat.iloc[:, k], digits) for k, name in enumerate(flat.columns)]


def rounded(values: Any, digits: int = FEW_DIGITS) -> list[Any]:
    """Return rounded numbers; None for NaN and a text for infinity, which JSON lacks."""
    return [_number(value, digits) for value in np.asarray(values, dtype=float).tolist()]


def _flat(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with its index as columns, and one level of names."""
    import pandas as pd

    if isinstance(frame.columns, pd.MultiIndex):
        frame = frame.set_axis([" ".join(map(str, name)) for name in frame.columns], axis=1)
    if isinstance(frame.index, pd.RangeIndex) and frame.index.name is None:
        return frame
    names = [_free_column(name, frame) for name in frame.index.names]
    return frame.rename_axis(names).reset_index()


def _free_column(name: Any, frame: pd.DataFrame) -> str:
    wanted = "name" if name is None else str(name)
    while wanted in frame.columns:
        wanted += "_"
    return wanted


def _column(name: str, values: pd.Series[Any], digits: int) -> dict[str, Any]:
    from pandas.api import types

    if types.is_bool_dtype(values.dtype):
        known = values.astype(object).where(values.notna(), None)
        flags = [None if value is None else bool(value) for value in known]
        return {"name": name, "kind": "flag", "values": flags}
    if types.is_integer_dtype(values.dtype) and not values.isna().any():
        return {"name": name, "kind": "number", "values": [int(value) for value in values]}
    if types.is_numeric_dtype(values.dtype):
        numbers = values.to_numpy(dtype=float, na_value=np.nan)
        return {"name": name, "kind": "number", "values": rounded(numbers, digits)}
    texts = [text_of(value) for value in values.tolist()]
    levels = list(dict.fromkeys(texts))
    if len(levels) > max(1, len(texts) // 3):
        return {"name": name, "kind": "text", "values": texts}
    place = {text: k for k, text in enumerate(levels)}
    codes = [place[text] for text in texts]
    return {"name": name, "kind": "text", "levels": levels, "values": codes}


def text_of(value: Any) -> str:
    """Return a value as text, truncated if it is very long."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"


def _number(value: float, digits: int) -> Any:
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
