"""Figures inside a page: displays as SVG, several of which can share one document."""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Callable, Iterator
from html import escape
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ogive.displays import Display

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
