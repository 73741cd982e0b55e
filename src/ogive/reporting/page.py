"""One self-contained HTML page from any results: it opens offline and never runs text as code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import pandas as pd

from ogive._files import PathLike, check_writable, write_bytes
from ogive._progress import at_stage
from ogive.reporting.explorer import Scale, scales_of
from ogive.reporting.page_assets import asset, filled, policy_of, script_of, text
from ogive.reporting.provenance import install_lines, versions
from ogive.reporting.sections import (
    Gathered,
    Section,
    as_json,
    capitalized,
    columns_of,
    gather,
    sections_of,
    unused,
)
from ogive.results.base import Result
from ogive.results.numbers import clean, counted
from ogive.results.wording import words_of_page

TITLE = "Ogive report"
MOST_SENTENCES = 5
WHO, FOUND = "Who is better", "What was found"
TITLES = {"items": "Which items to look at", "check": "Whether to believe it"}
PARTS = ("finding", *TITLES)
_END = re.compile(r"(?<=[.!?])\s+")
_SHORTENED = re.compile(r"(?:^|[\s(])(?:e\.g|i\.e|vs|cf|al|approx)\.$")
_NUMBERED = re.compile(r"(?:^|[\s(])(?:pp?|no|No|Fig|Eq)\.\s\d")
# Calls that make results of functions that take more than one kind of input.
_MAKERS = {
    "BenchmarkDecoding": "decode_benchmark(datasets)",
    "Calibration": "calibrate(responses, {model!r})",
    "Capability": "measure_capability(model, X, y)",
    "ChosenPortfolio": "portfolio(runs).select()",
    "Portfolio": "portfolio(runs)",
}


def sentences_in(text: str) -> list[str]:
    """Split a text where a sentence ends; nothing inside brackets ends one.

    A sentence may begin with a name in small letters, and end with a name of one letter. Names may
    hold a bracket alone, so that brackets which the text never closes are not waited for.

    >>> sentences_in("A leads (p. 5. It says so). gpt-4 is next. Three of 6 pairs differ.")
    ['A leads (p. 5. It says so).', 'gpt-4 is next.', 'Three of 6 pairs differ.']
    """
    sentences, parts = [""], _END.split(text)
    for k, part in enumerate(parts):
        last = sentences[-1]
        open_ = last.count("(") > last.count(")")
        closed = any(each.count(")") > each.count("(") for each in parts[k:])
        word = last[last.rfind(" ") + 1 :]
        shortened = _SHORTENED.search(word) or _NUMBERED.match(f"{word} {part}")
        if not (open_ and closed) and not shortened:
            sentences.append(part)
        else:
            sentences[-1] = f"{last} {part}"
    return [sentence for sentence in sentences if sentence]


def in_parts(sections: Sequence[Section]) -> Iterator[tuple[str, list[Section]]]:
    """Yield the title of each part of the page that has sections, and these."""
    for part in PARTS:
        own = [section for section in sections if section.part == part]
        if own:
            yield TITLES.get(part) or (WHO if own[0].ranks else FOUND), own


def in_short(sections: Sequence[Section]) -> list[tuple[Section, str]]:
    """Return at most five sentences, each with its section: findings, items, checks.

    Of each part at least one is kept. What is left goes to the second sentence of the first
    section, then to the first sentences of the others.
    """
    split = [
        (section, sentences_in(section.headline))
        for _, own in in_parts(sections)
        for section in own
        if section.headline
    ]
    firsts = [(section, sentences[0]) for section, sentences in split]
    chosen = list({section.part: (section, first) for section, first in reversed(firsts)}.values())
    more = [(section, second) for section, texts in split[:1] for second in texts[1:2]]
    chosen += [each for each in [*more, *firsts] if each not in chosen]
    order = [(section, sentence) for section, sentences in split for sentence in sentences]
    return sorted(chosen[:MOST_SENTENCES], key=order.index)


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
    kind = type(result).__name__
    if kind in _MAKERS:
        model = getattr(getattr(result, "model", None), "name", "")
        return f"og.{_MAKERS[kind].format(model=model)}"
    from ogive._studies import STUDIES

    own = result.name()  # label_trouble makes a LabelTrouble
    function = next((name for name, study in STUDIES.items() if kind in study.names), own)
    public = getattr(import_module("ogive"), "__all__", ())
    return f"og.{function}(...)" if function in public else None


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
    at_stage("item explorer")
    moment = datetime.now(UTC) if date is None else date
    page = Page(
        title or TITLE,
        moment if isinstance(moment, str) else moment.strftime("%Y-%m-%d %H:%M UTC"),
    )
    scales = scales_of({**given.results, **given.explored}, instances)
    page.add_results([*given.sections, *sections], scales)
    page.add_notes(given)
    # Settings as (result, setting, value): those given first, then those of the results.
    rows = [("", str(name), str(value)) for name, value in (settings or {}).items()]
    rows += [(each.title, name, value) for each in sections for name, value in each.settings]
    page.add_run(rows, recipe(given.results, command, code))
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
        anchors = {}
        order = list(TITLES.values())  # findings come before them
        for k, title in enumerate(
            sorted(parts, key=lambda t: 1 + order.index(t) if t in order else 0)
        ):
            self.parts.append(self._part_title(title))
            if scales and title == TITLES["items"]:
                self.parts += [*self._fix_list(scales), self._explorer(scales)]
            for section in parts[title]:
                anchors[section.title] = self._anchor(section.title)
                self.parts.append(self._section(section, anchors[section.title]))
            if k == 0:
                self.parts += self._models(scales)
        self.parts.insert(0, self._in_short(sections, anchors, named))

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
        facts = [("date", self.date), *versions()]
        pairs = "".join(f"<div><dt>{text(a)}</dt><dd>{text(b)}</dd></div>" for a, b in facts)
        body = f'<dl class="facts">{pairs}</dl>'
        if settings:
            rows = [[*map(clean, row)] for row in settings]  # names of files may be no text
            frame = pd.DataFrame(rows, columns=["result", "setting", "value"])
            body += self._table("settings", frame, "what was run")
        self.parts.append(self._part("What was run", body))
        code = f'<pre class="code" tabindex="0"><code>{text(lines)}</code></pre>'
        self.parts.append(self._part("How to reproduce it", code))

    def document(self) -> str:
        """Return the whole page."""
        script = script_of()
        data = {"tables": self.tables, "scales": self.scales, "words": words_of_page()}
        values = {
            "policy": policy_of(script),
            "title": text(self.title),
            "date": text(self.date),
            "style": asset("page.css"),
            "contents": "".join(
                f'<li class="{"part" if anchor in self.leading else ""}">'
                f'<a href="#{anchor}">{text(capitalized(name))}</a></li>'
                for anchor, name in self.anchors.items()
            ),
            "body": "\n".join(self.parts),
            "data": as_json(data),
            "script": script,
        }
        return filled(asset("page.html"), values)

    def _in_short(
        self, sections: Sequence[Section], anchors: Mapping[str, str], named: set[str]
    ) -> str:
        """Return the headline box; a sentence is named if there are others of its kind."""
        rows = ""
        for section, sentence in in_short(sections):
            several = section.title in named or ": " in section.title
            full = f"{section.title}: {sentence}" if several else sentence
            more = f'aria-label="More: {text(section.title)}">more</a>'
            rows += f'<li>{text(full)} <a href="#{anchors[section.title]}" {more}</li>'
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
        body += "".join(f"<p>{text(sentence)}</p>" for sentence in section.sentences)
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
            body += self._table(caption.replace("_", " "), frame, section.title, section)
        gist = section.sentences[0] if section.sentences else ""
        return self._folded(anchor, section.title, body, gist)

    def _explorer(self, scales: Sequence[Scale]) -> str:
        for scale in scales:
            caption = f"items of {scale.name}" if len(scales) > 1 else "items"
            key = self._add_table(caption, scale.items)
            self.scales.append({**scale.content, "table": key})
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
        some = {name: n for name, n in counts.items() if n}
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
        span = f'<span class="gist">{text(gist)}</span>' if gist else ""
        return (
            f'<section id="{anchor}" aria-labelledby="{anchor}-title">'
            f"<details{' open' if self.folded == 1 else ''}>\n<summary>"
            f'<h3 id="{anchor}-title">{text(capitalized(title))}</h3>{span}</summary>\n'
            f'<div class="body">{body}</div>\n</details></section>'
        )

    def _table(
        self, caption: str, frame: pd.DataFrame, owner: str, section: Section | None = None
    ) -> str:
        if not len(frame):
            return f'<p class="about">{text(capitalized(caption))}: none.</p>'
        key = self._add_table(caption, frame, owner)
        if section is not None:
            table, same = self.tables[key], self._scales_with(section)
            names = (section.scale, section.title, section.title.rpartition(": ")[2])
            about = [scale.name for scale in self.shown if scale.name in names] or same
            if len(about) == 1:  # the title names the scale, or it has the items of the section
                table["scale"] = about[0]
            if section.ranks and section.items:  # pairs are of these alone
                table["scales"] = same
                confidence = dict(section.settings).get("confidence")
                if confidence is not None:
                    table["confidence"] = float(confidence)
        return f'<div class="table" data-table="{key}"></div>'

    def _scales_with(self, section: Section) -> list[str]:
        about = section.items, section.answered
        return [scale.name for scale in self.shown if scale.is_of(*about)]

    def _add_table(self, caption: str, frame: pd.DataFrame, owner: str = "") -> str:
        """Add a table to the data of the page, and return its key."""
        key = f"table{len(self.tables) + 1}"
        name = _slug(f"{owner} {caption}" if owner and owner != caption else caption)
        self.tables[key] = {
            "caption": capitalized(caption),
            "file": f"{name or 'table'}.csv",
            "columns": columns_of(frame),
        }
        return key

    def _anchor(self, title: str) -> str:
        taken = {*self.anchors, "top", "data", "content", "in-short"}
        anchor = unused(_slug(title) or "section", taken, "{}-{}")
        self.anchors[anchor] = title
        return anchor


def _slug(words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:60]
