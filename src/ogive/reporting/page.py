"""Write_report: one HTML file, provenance, policy, assets.

What a page says first: its sections in the order of a reader's questions, five sentences.

Which Ogive made a page, and how somebody else gets the same one.

A version alone does not say it: it may be on no index, and between releases it names many states
of the code. So a recipe names the commit where there is one, else the file that was installed, and
the versions of all requirements.

One self-contained HTML page from any results: it opens offline and never runs text as code.
"""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution, version
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ogive
from ogive import __version__
from ogive._files import PathLike, check_writable, write_bytes
from ogive._progress import at_stage
from ogive.reporting.explorer import Scale, scales_of
from ogive.reporting.page_assets import asset, filled, policy_of, script_of, text
from ogive.reporting.sections import Gathered, Section, as_json, columns_of, gather, sections_of
from ogive.results.base import Result
from ogive.results.numbers import clean, counted
from ogive.results.wording import words_of_page

if TYPE_CHECKING:
    import pandas as pd


MOST_SENTENCES = 5
WHO, FOUND = "Who is better", "What was found"
TITLES = {"items": "Which items to look at", "check": "Whether to believe it"}
PARTS = ("finding", *TITLES)
_END = re.compile(r"(?<=[.!?])\s+")
_SHORTENED = re.compile(r"(?:^|[\s(])(?:e\.g|i\.e|vs|cf|al|approx)\.$")
_NUMBERED = re.compile(r"(?:^|[\s(])(?:pp?|no|No|Fig|Eq)\.\s\d")


def sentences_in(text: str) -> list[str]:
    """Split a text where a sentence ends; nothing inside brackets ends one.

    A sentence may begin with a name in small letters, and end with a name of one letter. Names may
    hold a bracket alone, so that brackets which the text never closes are not waited for.

    >>> sentences_in("A leads (p. 5. It says so). gpt-4 is next. Three of 6 pairs differ.")
    ['A leads (p. 5. It says so).', 'gpt-4 is next.', 'Three of 6 pairs differ.']
    """
    found, parts = [""], _END.split(text)
    for k, part in enumerate(parts):
        open_ = found[-1].count("(") > found[-1].count(")")
        closed = any(each.count(")") > each.count("(") for each in parts[k:])
        word = found[-1][found[-1].rfind(" ") + 1 :]
        shortened = _SHORTENED.search(word) or _NUMBERED.match(f"{word} {part}")
        ends = not (open_ and closed) and not shortened
        found = [*found, part] if ends else [*found[:-1], f"{found[-1]} {part}"]
    return [part for part in found if part]


def in_parts(sections: Sequence[Section]) -> Iterator[tuple[str, list[Section]]]:
    """Yield the title of each part of the page that has sections, and these."""
    for part in PARTS:
        mine = [section for section in sections if section.part == part]
        if mine:
            yield TITLES.get(part) or (WHO if mine[0].ranks else FOUND), mine


def in_short(sections: Sequence[Section]) -> list[tuple[Section, str]]:
    """Return at most five sentences, each with its section: findings, items, checks.

    Of each part at least one is kept. What is left goes to the second sentence of the first
    section, then to the first sentences of the others.
    """
    said = [(section, sentences_in(section.headline)) for _, mine in in_parts(sections)
            for section in mine if section.headline]  # fmt: skip
    firsts = [(section, texts[0]) for section, texts in said]
    chosen = list({section.part: (section, text) for section, text in reversed(firsts)}.values())
    more = [(section, text) for section, texts in said[:1] for text in texts[1:2]]
    chosen += [each for each in [*more, *firsts] if each not in chosen]
    order = [(section, text) for section, texts in said for text in texts]
    return sorted(chosen[:MOST_SENTENCES], key=order.index)


NAME = "ogive"
SECONDS = 5  # that git may take
_COMMIT = re.compile(r"[0-9a-f]{40,64}")


def install_lines() -> list[str]:
    """Return shell lines that install this Ogive, with the requirements it has now.

    They need a copy of the repository where the code was taken from one.
    """
    pins = " ".join(f'"{name}=={number}"' for name, number in requirements())
    before, what = _source()
    return [f"# Python {platform.python_version()}", *before, f"pip install {what} {pins}".strip()]


def requirements() -> list[tuple[str, str]]:
    """Return the packages that Ogive needs, without extras, and their versions here."""
    try:
        needed = distribution(NAME).requires or []
    except PackageNotFoundError:
        return []
    found = []
    for line in needed:
        name = re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0]
        if "extra ==" in line:
            continue
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:  # a requirement of another platform
            continue
    return found


def commit() -> str:
    """Return the commit of the running code, empty where it is not known."""
    root = _repository()
    return _git(root, "rev-parse", "HEAD") if root is not None else _of_url().get("commit_id", "")


def _source() -> tuple[list[str], str]:
    """Return lines to run before, and what pip installs."""
    root = _repository()
    if root is not None and _COMMIT.fullmatch(known := commit()):
        changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", "src")
        more = "; its code was changed after that commit" if changed else ""
        return [f"git checkout {known}  # in a copy of Ogive's repository{more}"], "."
    origin = _direct_url()
    if _COMMIT.fullmatch(known := _of_url().get("commit_id", "")):
        return [], f'"{NAME} @ git+{origin["url"]}@{known}"'
    if "archive_info" in origin:
        return [], f'"{Path(origin["url"]).name}"'
    if "dir_info" in origin:
        return [f"# in a copy of Ogive's repository, version {ogive.__version__}"], "."
    return [], f'"{NAME}=={ogive.__version__}"'


def _repository() -> Path | None:
    """Return the root of the repository that the running code lies in, if any."""
    root = Path(ogive.__file__).resolve().parents[2]
    return root if (root / ".git").exists() and (root / "pyproject.toml").exists() else None


def _of_url() -> dict[str, Any]:
    found = _direct_url().get("vcs_info")
    return found if isinstance(found, dict) else {}


def _direct_url() -> dict[str, Any]:
    """Return what pip noted of where the package came from; empty for one from an index."""
    try:
        noted = distribution(NAME).read_text("direct_url.json")
        found = json.loads(noted) if noted else {}
    except (PackageNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("url"), str) else {}


def _git(root: Path, *words: str) -> str:
    """Return what git says, empty where there is no git or no answer."""
    program = shutil.which("git")
    if program is None:
        return ""
    try:
        done = subprocess.run(
            [program, "-C", str(root), *words],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


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
    kind = type(result).__name__
    if kind in _MAKERS:
        model = getattr(getattr(result, "model", None), "name", "")
        return f"og.{_MAKERS[kind].format(model=model)}"
    from ogive._studies import STUDIES

    snake = re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower()
    found = next((name for name, study in STUDIES.items() if kind in study.names), snake)
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
