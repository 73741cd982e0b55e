"""One self-contained HTML page from any results: it opens offline and never runs text as code."""

from __future__ import annotations

import base64
import hashlib
import platform
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from itemwise import __version__
from itemwise.files import PathLike, check_writable, write_bytes
from itemwise.progress import at_stage
from itemwise.report.explorer import Scale, scales_of
from itemwise.report.sections import Gathered, Section, as_json, columns_of, gather, sections_of
from itemwise.results import Result

if TYPE_CHECKING:
    import pandas as pd

PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "matplotlib")
_MAKERS = {
    "BenchmarkDecoding": "decode_benchmark(datasets)",
    "Calibration": "calibrate(responses, {model!r})",
    "Capability": "measure_capability(model, X, y)",
    "ChosenPortfolio": "portfolio(runs).select()",
    "Portfolio": "portfolio(runs)",
}


def when(date: datetime | str | None) -> str:
    """Return the date of the report as text; now, unless given."""
    moment = datetime.now(UTC) if date is None else date
    return moment if isinstance(moment, str) else moment.strftime("%Y-%m-%d %H:%M UTC")


def versions() -> list[tuple[str, str]]:
    """Return the versions of Itemwise, Python and the numerical packages."""
    found = [("itemwise", __version__), ("Python", platform.python_version())]
    for name in PACKAGES:
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:  # pragma: no cover (all are requirements)
            continue
    return found


def settings_of(
    sections: Iterable[Section], given: Mapping[str, Any] | None
) -> list[tuple[str, str, str]]:
    """Return rows of (result, setting, value): those given first, then those of the results."""
    rows = [("", str(name), str(value)) for name, value in (given or {}).items()]
    rows += [
        (section.title, name, value) for section in sections for name, value in section.settings
    ]
    return rows


def recipe(
    results: Mapping[str, Result], command: str | Sequence[str] | None, code: str | None
) -> str:
    """Return the lines that reproduce the results, as given or as far as they are known."""
    lines = [f'pip install "itemwise=={__version__}"'] if command else []
    if command:
        lines += [command] if isinstance(command, str) else list(command)
    if code:
        lines.append(code.strip())
    if not lines:
        calls = (line for line in map(_call, results.values()) if line)
        lines = ["import itemwise as iw", "", *dict.fromkeys(calls)]
    return "\n".join(lines)


def _call(result: Result) -> str | None:
    """Return a call of the function that makes such a result, found in the registry."""
    kind, module = type(result).__name__, type(result).__module__
    if kind in _MAKERS:
        model = getattr(getattr(result, "model", None), "name", "")
        return f"iw.{_MAKERS[kind].format(model=model)}"
    from itemwise.studies import STUDIES

    last = module.rpartition(".")[2]
    found = next((name for name, study in STUDIES.items() if kind in study.names), last)
    public = getattr(import_module("itemwise"), "__all__", ())
    return f"iw.{found}(...)" if found in public else None


SCRIPTS = ("data.js", "tables.js", "curves.js", "chart.js", "explorer.js", "page.js")
TITLE = "Itemwise report"


def write_report(
    path: PathLike,
    results: Any,
    *,
    title: str | None = None,
    instances: Any = None,
    settings: Mapping[str, Any] | None = None,
    command: str | Sequence[str] | None = None,
    code: str | None = None,
    date: datetime | str | None = None,
) -> Path:
    """Write one HTML file that shows results to a colleague: headline, tables, figures, explorer.

    `results` is one result, a list, or a mapping from title to result; what `diagnose` and
    `read_benchmark` give counts as several. Items of every calibration among them can be explored:
    `instances` shows what is behind an item, from a frame of feature rows (its index names items),
    a Dataset, or a mapping from item to text, picture (bytes) or pixels (array); for several
    calibrations, a mapping from the title of each to such. `title` heads the page; `settings`,
    `command` and `code` say how the results were made; `date` is now, unless given. The `path` is
    returned.

    >>> import itemwise as iw, tempfile, pathlib
    >>> cal = iw.calibrate(iw.simulate("2pl", 50, 10, random_state=0).responses)
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> iw.write_report(folder / "report.html", [cal, iw.label_trouble(cal)]).name
    'report.html'
    """
    check_writable(path)
    given = gather(results)
    numbers = count(1)
    sections = sections_of(given.results, lambda: f"figure{next(numbers)}", given.brief)
    known = {**given.results, **given.explored}
    at_stage("item explorer")
    page = Page(title or TITLE, when(date))
    page.add_results([*given.sections, *sections], scales_of(known, instances))
    page.add_notes(given)
    page.add_run(settings_of(sections, settings), recipe(given.results, command, code))
    write_bytes(path, page.document().encode("utf-8", errors="backslashreplace"))
    return Path(path)


class Page:
    """A page as it grows: parts of its body, their anchors, and the data that its script reads."""

    def __init__(self, title: str, date: str) -> None:
        self.title, self.date = title, date
        self.tables: dict[str, dict[str, Any]] = {}
        self.scales: list[dict[str, Any]] = []
        self.parts: list[str] = []
        self.anchors: dict[str, str] = {}
        self.headlines: list[tuple[str, str, bool]] = []  # anchor, sentence, of first rank

    def add_results(self, sections: Sequence[Section], scales: Sequence[Scale]) -> None:
        """Add the headline, one part per section, and the explorer after the first of them."""
        kinds = Counter(section.about for section in sections)
        for k, section in enumerate(sections):
            self.parts.append(
                self._section(section, alone=not section.about or kinds[section.about] == 1)
            )
            if k == 0 and scales:
                self.parts.append(self._explorer(scales))
        self.parts.insert(0, self._headline())

    def add_notes(self, given: Gathered) -> None:
        """Add what is missing, and why."""
        if given.missing:
            rows = "".join(
                f"<li><strong>{text(name)}</strong>: {text(reason)}</li>"
                for name, reason in given.missing.items()
            )
            body = f'<ul class="notes">{rows}</ul>'
            self.parts.append(self._part("What is missing, and why", body))

    def add_run(self, settings: Sequence[tuple[str, str, str]], lines: str) -> None:
        """Add versions, settings, and how to reproduce the results."""
        rows = [("date", self.date), *versions()]
        body = _definitions(rows)
        if settings:
            body += self._table("settings", _settings_frame(settings), "what was run")
        self.parts.append(self._part("What was run", body))
        code = f'<pre class="code" tabindex="0"><code>{text(lines)}</code></pre>'
        self.parts.append(self._part("How to reproduce it", code))

    def document(self) -> str:
        """Return the whole page."""
        script = "\n".join(["'use strict';", "(() => {", *map(_asset, SCRIPTS), "})();"])
        values = {
            "policy": _policy(script),
            "title": text(self.title),
            "date": text(self.date),
            "style": _asset("page.css"),
            "contents": "".join(
                f'<li><a href="#{anchor}">{text(_sentence(name))}</a></li>'
                for anchor, name in self.anchors.items()
            ),
            "body": "\n".join(self.parts),
            "data": as_json({"tables": self.tables, "scales": self.scales}),
            "script": script,
        }
        return filled(_asset("page.html"), values)

    def _headline(self) -> str:
        """Return the meaning of each result with a link to its section, checks last."""
        parts = []
        for first, look in ((True, "headline"), (False, "headline lesser")):
            rows = "".join(
                f'<li>{text(said)} <a href="#{anchor}" '
                f'aria-label="More: {text(self.anchors[anchor])}">more</a></li>'
                for anchor, said, rank in self.headlines
                if rank == first
            )
            parts.append(f'<ul class="{look}">{rows}</ul>' if rows else "")
        return "".join(parts)

    def _section(self, section: Section, *, alone: bool) -> str:
        """Return a section; its headline is named where there are others of its kind."""
        anchor = self._anchor(section.title)
        if section.sentences:
            said = section.sentences[0] if alone else f"{section.title}: {section.sentences[0]}"
            self.headlines.append((anchor, said, section.leads))
        body = f'<p class="about">{text(section.about)}</p>' if section.about else ""
        body += "".join(f"<p>{text(said)}</p>" for said in section.sentences)
        if section.notes:
            notes = "".join(f"<li>{text(note)}</li>" for note in section.notes)
            body += f'<ul class="notes" aria-label="Notes">{notes}</ul>'
        figures = "".join(
            f"<figure>{picture}<figcaption>{text(caption)}</figcaption></figure>"
            for caption, picture in section.pictures
        )
        body += f'<div class="figures">{figures}</div>' if figures else ""
        for caption, frame in section.tables:
            body += self._table(caption.replace("_", " "), frame, section.title)
        return _wrapped(anchor, section.title, body)

    def _explorer(self, scales: Sequence[Scale]) -> str:
        for scale in scales:
            caption = f"items of {scale.name}" if len(scales) > 1 else "items"
            known = self._known(caption, scale.items)
            self.scales.append({**scale.content, "table": known})
        return self._part("Item explorer", _asset("explorer.html"))

    def _part(self, title: str, body: str) -> str:
        return _wrapped(self._anchor(title), title, body)

    def _table(self, caption: str, frame: pd.DataFrame, owner: str) -> str:
        if not len(frame):
            return f'<p class="about">{text(_sentence(caption))}: none.</p>'
        known = self._known(caption, frame, owner)
        return f'<div class="table" data-table="{known}"></div>'

    def _known(self, caption: str, frame: pd.DataFrame, owner: str = "") -> str:
        """Add a table to the data of the page, and return its key."""
        key = f"table{len(self.tables) + 1}"
        name = _slug(f"{owner} {caption}" if owner and owner != caption else caption)
        self.tables[key] = {
            "caption": _sentence(caption),
            "file": f"{name or 'table'}.csv",
            "columns": columns_of(frame),
        }
        return key

    def _anchor(self, title: str) -> str:
        slug = _slug(title) or "section"
        anchor, k = slug, 2
        while anchor in self.anchors or anchor in ("top", "data", "content"):
            anchor, k = f"{slug}-{k}", k + 1
        self.anchors[anchor] = title
        return anchor


def text(value: object) -> str:
    """Return text escaped for HTML; control characters are made visible."""
    seen = "".join(
        sign if sign.isprintable() or sign in "\n\t" else "\ufffd" for sign in str(value)
    )
    return escape(seen)


def filled(template: str, values: Mapping[str, str]) -> str:
    """Return the template with every {{name}} replaced in one pass: values are not searched."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], template)


def _wrapped(anchor: str, title: str, body: str) -> str:
    heading = f'<h2 id="{anchor}-title">{text(_sentence(title))}</h2>'
    return (
        f'<section id="{anchor}" aria-labelledby="{anchor}-title">\n{heading}\n{body}\n</section>'
    )


def _definitions(rows: Sequence[tuple[str, str]]) -> str:
    pairs = "".join(f"<div><dt>{text(a)}</dt><dd>{text(b)}</dd></div>" for a, b in rows)
    return f'<dl class="facts">{pairs}</dl>'


def _settings_frame(settings: Sequence[tuple[str, str, str]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(list(settings), columns=["result", "setting", "value"])


def _policy(script: str) -> str:
    """Return a policy under which nothing is fetched and only this script runs."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _asset(name: str) -> str:
    return files("itemwise.report").joinpath("assets", name).read_text("utf-8").strip()


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _slug(words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:60]
