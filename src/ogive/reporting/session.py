"""What is open in the browser: read again when files change, and calibrated in the background."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ogive._files import file_name_of, most_bytes
from ogive._progress import told_of_stages
from ogive.checks.mislabelled_items import LabelTrouble, label_trouble
from ogive.data.response_files import holds_logs
from ogive.errors import InputError, OgiveError
from ogive.evaluation.leaderboards import Leaderboard, leaderboard
from ogive.irt.calibrating import calibrate
from ogive.irt.part_scales import scales_of_parts
from ogive.irt.predicted_accuracy import LEAST
from ogive.reporting.app_scales import ShownScale
from ogive.reporting.sections import as_json, columns_of
from ogive.reporting.sources import MAX_BYTES, Kept, Opened, read_paths, signature_of
from ogive.results.numbers import counted
from ogive.results.wording import words_of_page

if TYPE_CHECKING:
    import pandas as pd

    from ogive.data.responses import Responses
    from ogive.irt.calibration import Calibration


SECONDS_BETWEEN_LOOKS = 1.0
MOST_DROPPED = 50  # files
KEPT = 3  # snapshots: a page may still ask about the one before
CLOSED = 0.2  # seconds in which a worker hears that it should end


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The scales of one moment; `document` is what a page needs to draw them, as JSON."""

    version: int
    scales: tuple[ShownScale, ...]
    document: bytes


@dataclass(frozen=True, eq=False)
class Fitted:
    """A table, its calibration, and the scale of each part that no item links to the others."""

    table: Responses
    whole: Calibration
    parts: list[Calibration]

    @cached_property
    def board(self) -> Leaderboard:
        """Everybody on boards of one table, as a report has them."""
        return leaderboard(self.table, calibration=self.whole)


@dataclass(frozen=True)
class Stage:
    """What the session does now: a sentence while it works, and the last failure."""

    doing: str = ""
    failure: str = ""


@dataclass
class ViewSession:
    """Paths, what was read from them, and the threads that keep it up to date.

    `look` reads, and makes the first snapshot without a calibration; `start` begins to calibrate
    and to watch the files.
    """

    paths: Sequence[Path]
    model: str = "auto"
    snapshot: Snapshot = field(default_factory=lambda: Snapshot(0, (), b"{}"))
    stage: Stage = field(default_factory=Stage)
    opened: Opened = field(default_factory=Opened)
    read_at: float = 0.0

    def __post_init__(self) -> None:
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._over = threading.Event()
        self._dropped: list[Path] = []
        self._loose: dict[str, Path] = {}  # folders of files that came without one, by batch
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._signature = signature_of(self.paths)
        self._waiting: Opened | None = None
        self._reading = threading.Lock()
        self._kept = Kept()
        self._past: list[Snapshot] = []
        self._threads: list[threading.Thread] = []
        self._known: dict[str, ShownScale] = {}  # the last scale of each table
        self._remarks: dict[str, tuple[str, ...]] = {}  # on the scale of each table
        self._last: Fitted | None = None

    def look(self) -> None:
        """Read all paths, and show what can be shown at once."""
        self._signature = signature_of([*self.paths, *self._dropped])
        self._take(self._read([*self.paths, *self._dropped]))

    def start(self) -> None:
        """Calibrate, and watch the files, until `close`."""
        for work in (self._calibrate_all, self._watch):
            thread = threading.Thread(target=work, daemon=True, name=f"view{work.__name__}")
            self._threads.append(thread)
            thread.start()

    def close(self) -> None:
        """End the threads as soon as they can, and remove what was dropped."""
        self._over.set()
        with self._changed:
            self._changed.notify_all()
        if self._folder is not None:
            self._folder.cleanup()

    def dropped_path(self, batch: str, inside: Path) -> Path:
        """Return where a dropped file goes; the files of one `batch` are opened together."""
        with self._lock:
            if len(self._dropped) >= MOST_DROPPED:
                raise InputError(
                    f"{MOST_DROPPED} logs were added already. Put them into a folder, and open it."
                )
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="ogive-view-")
        path = self._home(batch) / inside
        if len(inside.parts) == 1:
            path = self._among_loose(batch, inside)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _among_loose(self, batch: str, file: Path) -> Path:
        """Return where a file without a folder goes: some harnesses name models after folders.

        Files that come together are of one model, whose folder is named after the first of them,
        so that what tells of its logs lies beside them; two of the same name are of two models.
        """
        folder = self._loose.setdefault(batch, self._home(batch) / file.stem)
        k = 2
        while (path := folder / file).exists():
            folder, k = self._home(batch) / f"{file.stem} {k}", k + 1
        return path

    def add(self, batch: str) -> str:
        """Open what was dropped beside the rest; what cannot be read changes nothing."""
        given = self._batch(batch)
        alone = read_paths(given)
        together = self._read([*self.paths, *self._dropped, *given])
        before = self.opened
        apart = len(together.tables) > len(before.tables) and bool(alone.tables)
        with self._lock:
            self._dropped += given
            self._signature = signature_of([*self.paths, *self._dropped])
        self._take(together)
        said = f"{_said_of_added(alone, before)}."
        if apart and len(together.tables) + len(together.banks) > 1:
            said += " They share no item with what was open, so they have a scale of their own."
        return said

    def in_own_words(self, message: str, batch: str) -> str:
        """Return a message without the folder that nobody chose."""
        home = self._home(batch)
        for path in home.rglob("*"):
            message = message.replace(str(path), path.name if path.is_file() else str(path))
        return message.replace(f"{home}/", "").replace(str(home), "what was dropped")

    def _home(self, batch: str) -> Path:
        return Path("nowhere" if self._folder is None else self._folder.name) / batch

    def _batch(self, batch: str) -> list[Path]:
        """Return the file or the tables that were dropped, or the folders of several logs."""
        home = self._home(batch)
        files = [path for path in home.rglob("*") if path.is_file()]
        if not files:
            raise InputError("Nothing was dropped. Drop a log, or a folder of logs.")
        tables = [path for path in files if not holds_logs(path, most_bytes(None, MAX_BYTES))]
        alone = len(files) == 1 or len(tables) == len(files)
        return files if alone else sorted(home.iterdir())  # so that scales are named after them

    def state(self) -> dict[str, Any]:
        """Return what a page asks for every second."""
        with self._lock:
            rows, items = self.opened.shape
            return {
                "version": self.snapshot.version,
                "doing": self.stage.doing,
                "failure": self.stage.failure,
                "respondents": rows,
                "items": items,
                "responses": self.opened.n_responses,
                "read": time.strftime("%H:%M:%S", time.localtime(self.read_at)),
                "compared": sum(one.board is not None for one in self.snapshot.scales),
                "notes": [*self.opened.notes, *chain(*self._remarks.values())],
            }

    def scale(self, version: int, number: int) -> ShownScale | None:
        """Return one scale of the snapshot that a page shows; None if it is long past."""
        known = next((each for each in self._past if each.version == version), None)
        if known is None or not 0 <= number < len(known.scales):
            return None
        return known.scales[number]

    def _read(self, paths: Sequence[Path]) -> Opened:
        """Read what is at the paths; of what was read before, only what changed."""
        with self._reading:
            return read_paths(paths, self._kept)

    def _take(self, opened: Opened) -> None:
        """Show what was read: with its last scale where there is one, or else as counts."""
        scales = [ShownScale.calibrated(name, bank) for name, bank in opened.banks.items()]
        scales += [
            self._known.get(name) or ShownScale.counted(name, table)
            for name, table in opened.tables.items()
        ]
        with self._changed:
            self.opened, self.read_at = opened, time.time()
            self._known = {k: v for k, v in self._known.items() if k in opened.tables}
            self._remarks = {k: v for k, v in self._remarks.items() if k in opened.tables}
            self._publish(scales)
            self._waiting = opened
            self._changed.notify_all()

    def _publish(self, scales: Sequence[ShownScale]) -> None:
        with self._lock:
            version = self.snapshot.version + 1
            document = as_json(_document(version, scales, self.opened)).encode()
            self.snapshot = Snapshot(version, tuple(scales), document)
            self._past = [*self._past[1 - KEPT :], self.snapshot]

    def _calibrate_all(self) -> None:
        """Calibrate what is newest, again and again."""
        while not self._over.is_set():
            with self._changed:
                while self._waiting is None and not self._over.is_set():
                    self._changed.wait(CLOSED)
                opened, self._waiting = self._waiting, None
            if opened is None:
                return
            for name, table in opened.tables.items():
                self._calibrate(name, table)
                if self._waiting is not None or self._over.is_set():
                    break

    def _calibrate(self, name: str, table: Responses) -> None:
        whole, part = self.opened.whole.get(name, (table, 0))
        if whole.n_respondents < LEAST:
            self._remark(name, f"a scale needs {LEAST} models, so that only shares are shown.")
            return
        if table.n_respondents < 2:
            self._remark(name, "shares no item with others, so that only shares are shown.")
            return
        try:
            with told_of_stages(self._doing):
                fitted = self._fitted(whole)
                found = fitted.parts[part]
                self._doing("placing respondents")
                self._keep(name, found, None)
                self._remark(name, *found.fit_notes)
                if table.kind == "binary":
                    self._doing("looking for suspect labels")
                    self._keep(name, found, label_trouble(found))
                self._compare(name, fitted, found)
        except OgiveError as error:
            self._remark(name, f"there is no scale. {error}")
        except Exception as error:  # the page goes on, and says what happened
            self._remark(name, f"it failed ({type(error).__name__}: {error}).")
        finally:
            self._doing("")

    def _fitted(self, table: Responses) -> Fitted:
        """Return the scales of a table, fitted once for all its parts, as in a report."""
        if self._last is None or self._last.table is not table:
            self._doing(f"calibrating {table.n_respondents:,} × {table.n_items:,} responses")
            found = calibrate(table, self.model, progress=self._iteration)
            self._last = Fitted(table, found, scales_of_parts(found))
        return self._last

    def _remark(self, name: str, *said: str) -> None:
        with self._lock:
            self._remarks[name] = tuple(f"{name}: {each}" for each in said)

    def _keep(self, name: str, found: Calibration, trouble: LabelTrouble | None) -> None:
        """Show the scale of a table, unless the table was closed in the meantime."""
        scale = ShownScale.calibrated(name, found, trouble)
        with self._lock:
            if name in self.opened.tables:
                self._known[name] = scale
                before = self.snapshot.scales
                self._publish([scale if one.scale.name == name else one for one in before])

    def _compare(self, name: str, fitted: Fitted, found: Calibration) -> None:
        """Add whom models beat to the scale that is shown, which stays the same otherwise."""
        self._doing("comparing all pairs of models")
        try:
            board = fitted.board
        except OgiveError as error:
            self._remark(name, *found.fit_notes, f"models were not compared in pairs. {error}")
            return
        with self._lock:
            if name in self._known:
                self._known[name] = scale = replace(self._known[name], board=board)
                before = self.snapshot.scales
                self.snapshot = replace(
                    self.snapshot,
                    scales=tuple(scale if one.scale.name == name else one for one in before),
                )
                self._past[-1:] = [self.snapshot]

    def _watch(self) -> None:
        """Read again when a file has changed; what cannot be read now may be readable soon."""
        while not self._over.wait(SECONDS_BETWEEN_LOOKS):
            paths = [*self.paths, *self._dropped]
            now = signature_of(paths)
            if now == self._signature:
                continue
            try:
                opened = self._read(paths)
            except (OgiveError, OSError) as error:
                self._signature = now
                self._say(failure=f"What changed cannot be read yet: {error}")
                continue
            self._signature = now
            self._say(failure="")
            self._take(opened)

    def _iteration(self, done: int, total: int | None, message: str) -> None:
        del total
        if done % 5 == 0:
            self._doing(f"calibrating, iteration {done:,} {message}".strip())

    def _doing(self, what: str) -> None:
        self._say(doing=what)

    def _say(self, *, doing: str | None = None, failure: str | None = None) -> None:
        with self._lock:
            self.stage = Stage(
                self.stage.doing if doing is None else doing,
                self.stage.failure if failure is None else failure,
            )


def _said_of_added(added: Opened, before: Opened) -> str:
    """Return how many models and items were added, and how many items were there already."""
    rows, n_items = added.shape
    known = len(added.item_names() & before.item_names())
    models = f"Added {counted(rows, 'model')}"
    if not known:
        return f"{models} and {counted(n_items, 'item')}"
    if known == n_items:
        verb = "was" if n_items == 1 else "were"
        return f"{models}; its {counted(n_items, 'item')} {verb} there already"
    return f"{models} and {counted(n_items - known, 'new item')}; {known:,} were there already"


def _document(version: int, scales: Sequence[ShownScale], opened: Opened) -> dict[str, Any]:
    """Return the tables and scales of a page; responses are asked for later."""
    tables: dict[str, Any] = {}
    made: list[dict[str, Any]] = []
    for k, shown in enumerate(scales):
        key = f"items{k}"
        name = shown.scale.name
        caption = f"Items of {name}" if len(scales) > 1 else "Items"
        tables[key] = _table(caption, shown.scale.items)
        made.append({**shown.scale.content, "table": key, "remote": k})
    sections = [
        {
            "title": section.title,
            "sentences": [*section.sentences, *section.notes],
            "tables": [_table(caption, frame) for caption, frame in section.tables if len(frame)],
        }
        for section in opened.sections
    ]
    found = {"version": version, "tables": tables, "scales": made, "sections": sections}
    return {**found, "words": words_of_page()}


def _table(caption: str, frame: pd.DataFrame) -> dict[str, Any]:
    file = f"{file_name_of(caption.lower())}.csv"
    return {"caption": caption, "file": file, "columns": columns_of(frame)}
