"""One self-contained HTML page from any results: it opens offline and never runs text as code."""

from __future__ import annotations

import platform
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ogive import __version__
from ogive.files import PathLike, check_writable, write_bytes
from ogive.progress import at_stage
from ogive.report.column_words import words_of_page
from ogive.report.explorer import Scale, scales_of
from ogive.report.headlines import TITLES, in_parts, in_short
from ogive.report.page_assets import asset, filled, policy_of, script_of, text
from ogive.report.provenance import commit, install_lines, requirements
from ogive.report.sections import Gathered, Section, as_json, columns_of, gather, sections_of
from ogive.results import Result
from ogive.words import clean, counted

if TYPE_CHECKING:
    import pandas as pd

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
    """Return the versions of Ogive, of Python and of the packages that it needs."""
    made = f"{__version__}, commit {known[:12]}" if (known := commit()) else __version__
    return [("ogive", made), ("Python", platform.python_version()), *requirements()]


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
    lines = install_lines() if command else []
    if command:
        lines += [command] if isinstance(command, str) else list(command)
    if code:
        lines.append(code.strip())
    if not lines:
        calls = (line for line in map(_call, results.values()) if line)
        lines = ["import ogive as og", "", *dict.fromkeys(calls)]
    return "\n".join(lines)


def _call(result: Result) -> str | None:
    """Return a call of the function that makes such a result, found in the registry."""
    kind, module = type(result).__name__, type(result).__module__
    if kind in _MAKERS:
        model = getattr(getattr(result, "model", None), "name", "")
        return f"og.{_MAKERS[kind].format(model=model)}"
    from ogive.studies import STUDIES

    last = module.rpartition(".")[2]
    found = next((name for name, study in STUDIES.items() if kind in study.names), last)
    public = getattr(import_module("ogive"), "__all__", ())
    return f"og.{found}(...)" if found in public else None


TITLE = "Ogive report"


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

    >>> import ogive as og, tempfile, pathlib
    >>> cal = og.calibrate(og.simulate("2pl", 50, 10, random_state=0).responses)
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> og.write_report(folder / "report.html", [cal, og.label_trouble(cal)]).name
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
        self.shown: Sequence[Scale] = ()
        self.scales: list[dict[str, Any]] = []
        self.parts: list[str] = []
        self.anchors: dict[str, str] = {}
        self.leading: set[str] = set()  # anchors of parts
        self.folded = 0  # sections so far

    def add_results(self, sections: Sequence[Section], scales: Sequence[Scale]) -> None:
        """Add five sentences, then who is better, which items to look at, whether to believe it.

        The first section is open, the others open when they are asked for.
        """
        self.shown = scales
        kinds = Counter(section.about for section in sections)
        named = {s.title for s in sections if s.about and kinds[s.about] > 1}
        parts = dict(in_parts(sections))
        if scales:
            parts.setdefault(TITLES["items"], [])
        at = {}
        for title in sorted(parts, key=_place_of_part):
            self.parts.append(self._part_title(title))
            if scales and title == TITLES["items"]:
                self.parts += [*self._fix_list(scales), self._explorer(scales)]
            for section in parts[title]:
                at[section.title] = self._anchor(section.title)
                self.parts.append(self._section(section, at[section.title]))
            if title == next(iter(sorted(parts, key=_place_of_part))):
                self.parts += self._models(scales)
        self.parts.insert(0, self._in_short(sections, at, named))

    def add_notes(self, given: Gathered) -> None:
        """Add what is missing, and why, to how it was made."""
        self.parts.append(self._part_title("How it was made"))
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
        script = script_of()
        values = {
            "policy": policy_of(script),
            "title": text(self.title),
            "date": text(self.date),
            "style": asset("page.css"),
            "contents": "".join(
                f'<li class="{"part" if anchor in self.leading else ""}">'
                f'<a href="#{anchor}">{text(_sentence(name))}</a></li>'
                for anchor, name in self.anchors.items()
            ),
            "body": "\n".join(self.parts),
            "data": as_json(
                {"tables": self.tables, "scales": self.scales, "words": words_of_page()}
            ),
            "script": script,
        }
        return filled(asset("page.html"), values)

    def _in_short(self, sections: Sequence[Section], at: Mapping[str, str], named: set[str]) -> str:
        """Return the headline box; a sentence is named where there are others of its kind."""
        rows = ""
        for section, sentence in in_short(sections):
            several = section.title in named or ": " in section.title
            said = f"{section.title}: {sentence}" if several else sentence
            more = f'aria-label="More: {text(section.title)}">more</a>'
            rows += f'<li>{text(said)} <a href="#{at[section.title]}" {more}</li>'
        if not rows:
            return ""
        return (
            '<section class="headline" aria-labelledby="in-short"><h2 id="in-short">In short</h2>'
            f"<ul>{rows}</ul></section>"
        )

    def _part_title(self, title: str) -> str:
        """Return the heading of a part of the page, and list it in the contents."""
        anchor = self._anchor(title)
        self.leading.add(anchor)
        return f'<h2 class="part" id="{anchor}">{text(title)}</h2>'

    def _section(self, section: Section, anchor: str) -> str:
        body = f'<p class="about">{text(section.about)}</p>' if section.about else ""
        body += "".join(f"<p>{text(said)}</p>" for said in section.sentences)
        if section.notes:
            notes = "".join(f"<li>{text(note)}</li>" for note in section.notes)
            body += f'<ul class="notes" aria-label="Notes">{notes}</ul>'
        figures = "".join(
            f'<figure><div class="pane" data-name="Figure: {text(caption)}">{picture}</div>'
            f"<figcaption>{text(caption)}</figcaption></figure>"
            for caption, picture in section.pictures
        )
        body += f'<div class="figures">{figures}</div>' if figures else ""
        for caption, frame in section.tables:
            level = (
                dict(section.settings).get("confidence")
                if section.ranks and section.items
                else None
            )
            words = caption.replace("_", " ")
            body += self._table(words, frame, section.title, section, level)
        gist = section.sentences[0] if section.sentences else ""
        return self._folded(anchor, section.title, body, gist)

    def _explorer(self, scales: Sequence[Scale]) -> str:
        for scale in scales:
            caption = f"items of {scale.name}" if len(scales) > 1 else "items"
            known = self._known(caption, scale.items)
            self.scales.append({**scale.content, "table": known})
        items = counted(sum(len(scale.items) for scale in scales), "item")
        gist = f"{items}: the curve of each, who got it right, and what is behind it."
        return self._part("Item explorer", asset("explorer.html") + asset("compare.html"), gist)

    def _models(self, scales: Sequence[Scale]) -> list[str]:
        """Return the page of each model, if responses are known."""
        known = [
            scale.content["answers"]["respondents"] for scale in scales if scale.content["answers"]
        ]
        if not known:
            return []
        models = counted(len({name for names in known for name in names}), "model")
        gist = f"{models}: where each fails, whom it beats, and which responses surprise."
        return [self._part("One model", asset("models.html"), gist)]

    def _fix_list(self, scales: Sequence[Scale]) -> list[str]:
        """Return the list of items to mend, if there are suspects."""
        counts = {s.name: int(s.items["suspect"].sum()) for s in scales if "suspect" in s.items}
        some = {name: count for name, count in counts.items() if count}
        if not some:
            return []
        body = "".join(f'<div class="table" data-fixes="{text(name)}"></div>' for name in some)
        gist = f"{counted(sum(some.values()), 'item')} to check: content, given label, what strong"
        return [self._part("Fix list", body, f"{gist} models said. Save it as CSV.")]

    def _part(self, title: str, body: str, gist: str = "") -> str:
        return self._folded(self._anchor(title), title, body, gist)

    def _folded(self, anchor: str, title: str, body: str, gist: str = "") -> str:
        """Return a section that opens when it is asked for; the first is open."""
        self.folded += 1
        said = f'<span class="gist">{text(gist)}</span>' if gist else ""
        return (
            f'<section id="{anchor}" aria-labelledby="{anchor}-title">'
            f"<details{' open' if self.folded == 1 else ''}>\n<summary>"
            f'<h3 id="{anchor}-title">{text(_sentence(title))}</h3>{said}</summary>\n'
            f'<div class="body">{body}</div>\n</details></section>'
        )

    def _table(
        self,
        caption: str,
        frame: pd.DataFrame,
        owner: str,
        section: Section | None = None,
        confidence: str | None = None,
    ) -> str:
        if not len(frame):
            return f'<p class="about">{text(_sentence(caption))}: none.</p>'
        known = self._known(caption, frame, owner)
        if section is not None and (about := self._scale_of(section)):
            self.tables[known]["scale"] = about
        if section is not None and section.ranks and section.items:  # pairs are of these alone
            self.tables[known]["scales"] = self._scales_with(section)
        if confidence is not None:
            self.tables[known]["confidence"] = float(confidence)
        return f'<div class="table" data-table="{known}"></div>'

    def _scale_of(self, section: Section) -> str | None:
        """Return the scale that a section is about: its title names it, or it has its items."""
        names = (section.scale, section.title, section.title.rpartition(": ")[2])
        named = [scale.name for scale in self.shown if scale.name in names]
        found = named or self._scales_with(section)
        return found[0] if len(found) == 1 else None

    def _scales_with(self, section: Section) -> list[str]:
        about = section.items, section.answered
        return [scale.name for scale in self.shown if scale.is_of(*about)]

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
        while anchor in self.anchors or anchor in ("top", "data", "content", "in-short"):
            anchor, k = f"{slug}-{k}", k + 1
        self.anchors[anchor] = title
        return anchor


def _place_of_part(title: str) -> int:
    """Return where a part stands on the page: findings, items, checks."""
    return 1 + list(TITLES.values()).index(title) if title in TITLES.values() else 0


def _definitions(rows: Sequence[tuple[str, str]]) -> str:
    pairs = "".join(f"<div><dt>{text(a)}</dt><dd>{text(b)}</dd></div>" for a, b in rows)
    return f'<dl class="facts">{pairs}</dl>'


def _settings_frame(settings: Sequence[tuple[str, str, str]]) -> pd.DataFrame:
    import pandas as pd

    rows = [[*map(clean, row)] for row in settings]  # names of files may be no text
    return pd.DataFrame(rows, columns=["result", "setting", "value"])


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _slug(words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:60]
