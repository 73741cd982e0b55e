"""Sections of a page: sentences, settings, figures as SVG, and tables as columns."""

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
import pandas as pd
from pandas.api import types

from ogive._progress import at_stage
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.irt.item_curves import said_of_items, said_of_negative, significantly_negative
from ogive.results.base import Draw, Part, Result, fields_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ogive.data.responses import Responses
    from ogive.results.plots.figure import Display


MOST_MARKS = 1500  # of one artist; beyond, it is drawn as pixels inside the figure
MOST_BYTES = 300_000  # of a figure; beyond, all of it is pixels
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
# Fields that say how a result was made, not what was found.
SETTINGS = {
    *("method", "random_state", "n_resamples", "tolerance", "tau", "confidence", "alpha"),
    *("epsilon", "passes", "positive", "limit", "treatment", "engine", "iterations", "converged"),
    *("sure", "keep", "asked", "score", "budget", "metadatum", "source", "preprocessing"),
    "dataset",
}
# Names of figures that are short as names of files, but no words.
SPELLED = {"mae": "mean absolute error", "bump": "ranks along the periods"}
DIGITS, FEW_DIGITS = 6, 4  # significant; fewer if rows are many
MANY_ROWS = 5000
MOST_ROWS = 50_000  # of a table; a page with more of them would not open
LONGEST_TEXT = 4000
# What would end a script, begin a comment or break a line inside one.
_UNSAFE = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})


def picture_of(display: Display, caption: str, prefix: str) -> str:
    """Return the figure as markup; `prefix` makes its ids unique on the page."""
    if not hasattr(display, "figure_"):
        display.plot()
    figure = display.figure_
    for artist in figure.findobj():
        if _n_marks(artist) > MOST_MARKS:
            artist.set_rasterized(True)
    _describe_dots(figure)
    drawn = _saved(figure, "svg")
    if len(drawn) > MOST_BYTES:
        return image_of(_saved(figure, "png"), caption)
    try:
        root = ET.fromstring(drawn)  # noqa: S314 (matplotlib wrote it a moment ago)
    except ET.ParseError:  # a name holds a character that XML forbids
        return image_of(_saved(figure, "png"), caption)
    texts = {a.get_gid(): a.hover_texts for a in figure.findobj() if hasattr(a, "hover_texts")}
    for group in root.iter():  # each dot gets the text that its display has for it
        dots = [one for one in group.iter() if _local(one.tag) == "use"]
        hover = texts.get(group.attrib.get("id", ""), ())
        for dot, text in zip(dots, hover if len(hover) == len(dots) else (), strict=False):
            ET.SubElement(dot, "title").text = "".join(c for c in text if c.isprintable())
    return _inline(root, caption, prefix)


def _n_marks(artist: Any) -> int:
    """Return how many marks an artist draws, as far as it is known."""
    if hasattr(artist, "get_offsets"):
        return max(len(artist.get_offsets()), len(artist.get_paths()))
    return len(artist.get_xdata()) if hasattr(artist, "get_xdata") else 0


def _describe_dots(figure: Figure) -> None:
    """Let dots without a text of their own say their row, if it has a name, and their numbers."""
    for k, ax in enumerate(figure.axes):
        marked = [line for line in ax.lines if line.get_marker() not in UNMARKED]
        drawn: list[Any] = [*ax.collections, *marked]
        spots = [[] if hasattr(one, "hover_texts") else _spots(one) for one in drawn]
        if not any(spots):
            continue
        across = _namer(ax.xaxis, figure.get_supxlabel())
        up = _namer(ax.yaxis, figure.get_supylabel())
        for j, (artist, points) in enumerate(zip(drawn, spots, strict=True)):
            if 0 < len(points) <= MOST_MARKS:
                series = str(artist.get_label() or "_")
                own = "" if series.startswith("_") else f"{series}, "
                artist.hover_texts = tuple(f"{own}{up(y)}, {across(x)}" for x, y in points)
                artist.set_gid(f"dots-{k}-{j}")


def _spots(artist: Any) -> list[tuple[float, float]]:
    """Return where the dots of an artist are, in the units of its axes."""
    if hasattr(artist, "get_xydata"):
        spots = artist.get_xydata()
    else:
        dotted = hasattr(artist, "get_sizes") and len(artist.get_sizes())
        spots = artist.get_offsets() if dotted else []
    return [(float(x), float(y)) for x, y in spots]


def _namer(axis: Any, above: str) -> Callable[[float], str]:
    """Return a function that names a value along an axis: its row, or label and number."""
    words = [text.get_text().replace("\n", " ") for text in axis.get_ticklabels()]
    named = [
        (float(tick), name)
        for tick, name in zip(axis.get_ticklocs(), words, strict=False)
        if name and not re.fullmatch(r"[-\N{MINUS SIGN}]?[\d.,]+%?", name)
    ]
    label = axis.get_label_text() or above
    short = label.partition(" (")[0].replace("\n", " ")

    def name_of(value: float) -> str:
        near = min(named, key=lambda each: abs(each[0] - value), default=(np.inf, ""))
        return near[1] if abs(near[0] - value) <= ROW / 2 else f"{short} {value:.3g}".strip()

    return name_of


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


def _inline(root: ET.Element, caption: str, prefix: str) -> str:
    """Return the SVG as markup for a page: clean, and with ids of its own."""
    _clean(root)
    used: set[str] = set()  # ids that something refers to
    for element in root.iter():
        for name, value in element.attrib.items():
            used |= {value[1:]} if name == "href" and value.startswith("#") else set()
            used.update(_REFERENCE.findall(value))
    for element in root.iter():
        if (own := element.attrib.pop("id", None)) in used:
            element.attrib["id"] = f"{prefix}-{own}"
        for name, value in element.attrib.items():
            if name == "href" and value.startswith("#"):
                element.attrib[name] = f"#{prefix}-{value[1:]}"
            elif name == "href" and not value.startswith("data:image/png;base64,"):
                element.attrib[name] = ""
            elif name != "href" and "url(#" in value:
                element.attrib[name] = _REFERENCE.sub(rf"url(#{prefix}-\1)", value)
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
    """Return one section per result, and one for capabilities of several models on the same cases.

    `numbered` gives a new prefix for the ids of each figure; results with a title among `brief`
    get one figure each.
    """
    sections = [
        section_of(title, result, numbered, most=1 if title in brief else None)
        for title, result in results.items()
    ]
    boards = [result for result in results.values() if result.name() == "leaderboard"]
    scales = [getattr(board, "calibration", None) for board in boards]
    for k, result in enumerate(results.values()):
        if boards and isinstance(result, Calibration):
            ranked = any(result is scale for scale in scales)
            sections[k] = _beside_board(sections[k], result, ranked=ranked)
    models: dict[str, Any] = {k: one for k, one in results.items() if one.name() == "capability"}
    if len(models) > 1:
        from ogive.capability.capability_result import CapabilityComparison

        compared = section_of("Models compared", CapabilityComparison(models), numbered)
        sections.insert(0, compared)
    return sections


def _beside_board(section: Section, calibration: Calibration, *, ranked: bool) -> Section:
    """Return the section of a scale on a page that says who is better: the items.

    If its abilities are those that are `ranked`, they are not shown twice. Keys of grades and
    scores are not judged elsewhere, so that the page may say first which run against the others.
    """
    items, judged = calibration.items, calibration.model.kind in ("binary", "nominal")
    turned = not judged and significantly_negative(items).any()
    sentences = (said_of_items(calibration), *section.sentences[1:])
    left_out = "respondents" if ranked else None
    tables = tuple((name, frame) for name, frame in section.tables if name != left_out)
    headline = said_of_negative(items) if turned else ""
    return replace(section, part="items", headline=headline, sentences=sentences, tables=tables)


def section_of(
    title: str, result: Result, numbered: Callable[[], str], most: int | None = None
) -> Section:
    """Return the section of a result, with at most so many figures."""
    at_stage(f"section {title}")
    most = 0 if result.found_nothing else most
    pictures, lacking = _drawn(islice(result.page_figures().items(), most), title, numbered)
    tables = result.page_tables()
    cut = [
        f"Table {_words(name)!r} shows the first {MOST_ROWS:,} of {len(frame):,} rows: a page with "
        "all of them would not open. The result itself, and the folder of a command, hold all."
        for name, frame in tables.items()
        if len(frame) > MOST_ROWS
    ]
    first = next(iter(tables), None)
    scale = result if isinstance(result, Calibration) else getattr(result, "calibration", None)
    scale = scale if isinstance(scale, Calibration) else None
    return Section(
        title=title,
        about=(type(result).__doc__ or "").strip().partition("\n")[0],
        sentences=tuple(text for text in result.sentences() if text not in result.notes),
        notes=(*result.notes, *lacking, *cut),
        tables=tuple(
            (name, frame.head(MOST_ROWS))
            for name, frame in tables.items()
            if name == first or len(frame)
        ),
        pictures=tuple(pictures),
        settings=tuple(_settings(result)),
        part=result.page_part,
        ranks=result.name() == "leaderboard",
        headline=result.meaning,
        items=frozenset(() if scale is None else scale.item_names),
        answered=None if scale is None else scale.responses,
    )


def _drawn(
    figures: Iterable[tuple[str, Draw]], title: str, numbered: Callable[[], str]
) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the figures as markup, and why some cannot be drawn."""
    pictures, lacking = [], []
    for name, draw in figures:
        words = _words(name)
        try:
            display = draw()
        except InputError as reason:
            lacking.append(f"There is no figure {words!r}: {reason}")
            continue
        if display.instead:
            lacking.append(f"Figure {words!r} is not drawn: {display.instead}")
            continue
        about = (type(display).__doc__ or "").strip().partition("\n")[0]
        caption = title if words == title.lower() else capitalized(words)
        pictures.append((f"{caption}. {about}", picture_of(display, caption, numbered())))
    return pictures, lacking


def _words(name: str) -> str:
    return SPELLED.get(name, name.replace("_", " ").replace("cells ", "cells of "))


def capitalized(text: str) -> str:
    """Return the text with a capital at its beginning, and all else as it is."""
    return text[:1].upper() + text[1:]


def unused(name: str, taken: Collection[str], form: str = "{} ({})") -> str:
    """Return the name, or with a number if it is taken: "name (2)", in that `form`."""
    free, k = name, 2
    while free in taken:
        free, k = form.format(name, k), k + 1
    return free


def _settings(result: Result) -> Iterator[tuple[str, str]]:
    def shown(value: object) -> str:
        return f"{value:.6g}" if isinstance(value, float) else str(value)

    model = getattr(result, "model", None)
    if hasattr(model, "coordinates"):
        yield "model", str(getattr(model, "name", model))
    for each in fields_of(result):
        value = getattr(result, each.name)
        if each.name in ("settings", "limits") and is_dataclass(value):
            for name, part in asdict(value).items():  # type: ignore[arg-type]
                yield f"{each.name}: {name.replace('_', ' ')}", shown(part)
        elif each.name in SETTINGS and isinstance(value, str | int | float | bool):
            yield each.name.replace("_", " "), shown(value)


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

    def add(self, given: Any, title: str | None = None) -> None:
        """Add a result, a section, banks, or several of these."""
        if hasattr(given, "found") and hasattr(given, "missing"):
            self._add_chapters(given)
        elif isinstance(given, Result):
            named = title or capitalized(_words(given.name()))
            self.results[unused(named, self.results)] = given
        elif isinstance(given, Section):
            self.sections.append(given)
        elif isinstance(given, Banks):
            self.explored |= given.calibrations
        elif isinstance(given, Mapping):
            for name, each in given.items():
                self.add(each, str(name))
        elif isinstance(given, Iterable) and not isinstance(given, str | bytes):
            for each in given:
                self.add(each, title)
        else:
            raise InputError(
                f"results holds {type(given).__name__}, but a page shows results: what calibrate, "
                "diagnose or a study returns, one, in a list, or by title."
            )

    def _add_chapters(self, given: Any) -> None:
        """Add the main result, then the others, and the reasons for those that are missing."""
        main = getattr(given, "decoding", None)
        if main is not None:
            self.add(main)
        before = set(self.results)
        for name, each in given.found.items():
            self.add(each, str(name).replace("_", " ").capitalize())
        if getattr(given, "brief", False):
            self.brief |= set(self.results) - before
        for name, reason in given.missing.items():
            self.missing[str(name).replace("_", " ")] = reason


def gather(given: Any) -> Gathered:
    """Gather results: one, several, by title or not, or those of `diagnose` or `read_benchmark`."""
    gathered = Gathered()
    gathered.add(given)
    if not gathered.results and not gathered.sections:
        raise InputError("There is nothing to report. Give at least one result.")
    return gathered


def as_json(value: Any) -> str:
    """Return JSON that is safe inside a script element, whatever texts it holds."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_UNSAFE)


def columns_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one entry per column, the index first if it has a name: name, kind and values.

    Kinds are "number", "flag" and "text". Texts that repeat are kept once, in `levels`.
    """
    if isinstance(frame.columns, pd.MultiIndex):
        frame = frame.set_axis([" ".join(map(str, name)) for name in frame.columns], axis=1)
    if not isinstance(frame.index, pd.RangeIndex) or frame.index.name is not None:
        names = []
        for name in frame.index.names:
            wanted = "name" if name is None else str(name)
            while wanted in frame.columns:
                wanted += "_"
            names.append(wanted)
        frame = frame.rename_axis(names).reset_index()
    digits = FEW_DIGITS if len(frame) > MANY_ROWS else DIGITS
    return [
        {"name": str(name), **_column(frame.iloc[:, k], digits)}
        for k, name in enumerate(frame.columns)
    ]


def _column(values: pd.Series[Any], digits: int) -> dict[str, Any]:
    if types.is_bool_dtype(values.dtype):
        known = values.astype(object).where(values.notna(), None)
        return {"kind": "flag", "values": [None if v is None else bool(v) for v in known]}
    if types.is_integer_dtype(values.dtype) and not values.isna().any():
        return {"kind": "number", "values": [int(value) for value in values]}
    if types.is_numeric_dtype(values.dtype):
        numbers = values.to_numpy(dtype=float, na_value=np.nan)
        return {"kind": "number", "values": rounded(numbers, digits)}
    texts = [text_of(value) for value in values.tolist()]
    levels = list(dict.fromkeys(texts))
    if len(levels) > max(1, len(texts) // 3):
        return {"kind": "text", "values": texts}
    index = {text: k for k, text in enumerate(levels)}
    return {"kind": "text", "levels": levels, "values": [index[text] for text in texts]}


def text_of(value: Any) -> str:
    """Return a value as text, truncated if it is very long."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"


def rounded(values: Any, digits: int = FEW_DIGITS) -> list[Any]:
    """Return rounded numbers; None for NaN and a text for infinity, which JSON lacks."""

    def short(value: float) -> Any:
        if math.isnan(value):
            return None
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        number = float(f"{value:.{digits}g}")
        return int(number) if number.is_integer() and abs(number) < 1e15 else number

    return [short(value) for value in np.asarray(values, dtype=float).tolist()]
