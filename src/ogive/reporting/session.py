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
from ogive.reporting.sources import MAX_BYTES, Opened, ReadCache, read_paths, signature_of
from ogive.results.numbers import counted
from ogive.results.wording import words_of_page

if TYPE_CHECKING:
    import pandas as pd

    from ogive.data.responses import Responses
    from ogive.irt.calibration import Calibration


SECONDS_BETWEEN_READS = 1.0
MOST_DROPPED = 50  # files
KEPT = 3  # snapshots: a page may still ask about the one before
CLOSED = 0.2  # seconds in which a worker notices that it should end


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
        """All respondents on boards of one table, as a report has them."""
        return leaderboard(self.table, calibration=self.whole)


@dataclass(frozen=True)
class Stage:
    """What the session does now: a sentence while it works, and the last failure."""

    doing: str = ""
    failure: str = ""


class DroppedFiles:
    """Files that a browser sent, in a temporary folder; those of one batch are opened together."""

    def __init__(self) -> None:
        self.paths: list[Path] = []  # what was opened
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._loose: dict[str, Path] = {}  # folders of files that came without one, by batch

    def path_for(self, batch: str, inside: Path) -> Path:
        """Return where a file goes, and make its folder.

        Some harnesses name models after folders. So files of a batch that come without one are of
        one model, whose folder is named after the first of them; two of the same name are of two.
        """
        if len(self.paths) >= MOST_DROPPED:
            raise InputError(
                f"{MOST_DROPPED} logs were added already. Put them into a folder, and open it."
            )
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="ogive-view-")
        home = self._home(batch)
        path = home / inside
        if len(inside.parts) == 1:
            folder, k = self._loose.setdefault(batch, home / inside.stem), 2
            while (path := folder / inside).exists():
                folder, k = home / f"{inside.stem} {k}", k + 1
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def batch(self, batch: str) -> list[Path]:
        """Return the file or the tables of a batch, or the folders of several logs."""
        home = self._home(batch)
        files = [path for path in home.rglob("*") if path.is_file()]
        if not files:
            raise InputError("Nothing was dropped. Drop a log, or a folder of logs.")
        tables = [path for path in files if not holds_logs(path, most_bytes(None, MAX_BYTES))]
        alone = len(files) == 1 or len(tables) == len(files)
        return files if alone else sorted(home.iterdir())  # so that scales are named after them

    def without_folder(self, message: str, batch: str) -> str:
        """Return a message without the folder that nobody chose."""
        home = self._home(batch)
        for path in home.rglob("*"):
            message = message.replace(str(path), path.name if path.is_file() else str(path))
        return message.replace(f"{home}/", "").replace(str(home), "what was dropped")

    def remove(self) -> None:
        """Remove the temporary folder."""
        if self._folder is not None:
            self._folder.cleanup()

    def _home(self, batch: str) -> Path:
        return Path("nowhere" if self._folder is None else self._folder.name) / batch


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
        self._reading = threading.Lock()
        self._cache = ReadCache()
        self._dropped = DroppedFiles()
        self._signature = signature_of(self.paths)
        self._waiting: Opened | None = None  # what was read and is not calibrated yet
        self._past: list[Snapshot] = []
        self._scales: dict[str, ShownScale] = {}  # the last scale of each table
        self._remarks: dict[str, tuple[str, ...]] = {}  # on the scale of each table
        self._fitted: Fitted | None = None  # the last one

    def look(self) -> None:
        """Read all paths, and show what can be shown at once."""
        self._signature = signature_of(self._all_paths)
        self._accept(self._read(self._all_paths))

    def start(self) -> None:
        """Calibrate, and watch the files, until `close`."""
        for work in (self._calibrate_all, self._watch):
            threading.Thread(target=work, daemon=True, name=f"view{work.__name__}").start()

    def close(self) -> None:
        """End the threads as soon as they can, and remove what was dropped."""
        self._over.set()
        with self._changed:
            self._changed.notify_all()
        self._dropped.remove()

    def dropped_path(self, batch: str, inside: Path) -> Path:
        """Return where a dropped file goes; the files of one `batch` are opened together."""
        with self._lock:
            return self._dropped.path_for(batch, inside)

    def add(self, batch: str) -> str:
        """Open what was dropped beside the rest; what cannot be read changes nothing."""
        given = self._dropped.batch(batch)
        alone = read_paths(given)
        together = self._read([*self._all_paths, *given])
        before = self.opened
        apart = len(together.tables) > len(before.tables) and bool(alone.tables)
        with self._lock:
            self._dropped.paths += given
            self._signature = signature_of(self._all_paths)
        self._accept(together)
        message = f"{_describe_added(alone, before)}."
        if apart and len(together.tables) + len(together.banks) > 1:
            message += " They share no item with what was open, so they have a scale of their own."
        return message

    def in_own_words(self, message: str, batch: str) -> str:
        """Return a message about a batch without the folder that nobody chose."""
        return self._dropped.without_folder(message, batch)

    def state(self) -> dict[str, Any]:
        """Return the state that a page asks for every second."""
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

    @property
    def _all_paths(self) -> list[Path]:
        return [*self.paths, *self._dropped.paths]

    def _read(self, paths: Sequence[Path]) -> Opened:
        """Read what is at the paths; of what was read before, only what changed."""
        with self._reading:
            return read_paths(paths, self._cache)

    def _accept(self, opened: Opened) -> None:
        """Show what was read: with its last scale if there is one, or else as counts."""
        scales = [ShownScale.calibrated(name, bank) for name, bank in opened.banks.items()]
        scales += [
            self._scales.get(name) or ShownScale.counted(name, table)
            for name, table in opened.tables.items()
        ]
        with self._changed:
            self.opened, self.read_at = opened, time.time()
            self._scales = {k: v for k, v in self._scales.items() if k in opened.tables}
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
        """Show the scale of a table, then its suspect labels, then the models compared in pairs."""
        whole, part = self.opened.whole.get(name, (table, 0))
        if whole.n_respondents < LEAST:
            self._remark(name, f"a scale needs {LEAST} models, so that only shares are shown.")
            return
        if table.n_respondents < 2:
            self._remark(name, "shares no item with others, so that only shares are shown.")
            return
        try:
            with told_of_stages(self._doing):
                fitted = self._fit(whole)
                calibration = fitted.parts[part]
                self._doing("placing respondents")
                self._show(name, calibration, None)
                self._remark(name, *calibration.fit_notes)
                if table.kind == "binary":
                    self._doing("looking for suspect labels")
                    self._show(name, calibration, label_trouble(calibration))
                self._compare(name, fitted, calibration)
        except OgiveError as error:
            self._remark(name, f"there is no scale. {error}")
        except Exception as error:  # the page goes on, and says what happened
            self._remark(name, f"it failed ({type(error).__name__}: {error}).")
        finally:
            self._doing("")

    def _fit(self, table: Responses) -> Fitted:
        """Return the scales of a table, fitted once for all its parts, as in a report."""
        if self._fitted is None or self._fitted.table is not table:
            self._doing(f"calibrating {table.n_respondents:,} × {table.n_items:,} responses")
            calibration = calibrate(table, self.model, progress=self._iteration)
            self._fitted = Fitted(table, calibration, scales_of_parts(calibration))
        return self._fitted

    def _remark(self, name: str, *remarks: str) -> None:
        with self._lock:
            self._remarks[name] = tuple(f"{name}: {each}" for each in remarks)

    def _show(self, name: str, calibration: Calibration, trouble: LabelTrouble | None) -> None:
        """Show the scale of a table, unless the table was closed in the meantime."""
        scale = ShownScale.calibrated(name, calibration, trouble)
        with self._lock:
            if name in self.opened.tables:
                self._scales[name] = scale
                self._publish(self._scales_with(scale))

    def _scales_with(self, scale: ShownScale) -> list[ShownScale]:
        """Return the scales that are shown, with a new one in its place."""
        name = scale.scale.name
        return [scale if one.scale.name == name else one for one in self.snapshot.scales]

    def _compare(self, name: str, fitted: Fitted, calibration: Calibration) -> None:
        """Add verdicts on pairs of models to the scale that is shown, which stays the same."""
        self._doing("comparing all pairs of models")
        try:
            board = fitted.board
        except OgiveError as error:
            reason = f"models were not compared in pairs. {error}"
            self._remark(name, *calibration.fit_notes, reason)
            return
        with self._lock:
            if name in self._scales:
                self._scales[name] = scale = replace(self._scales[name], board=board)
                self.snapshot = replace(self.snapshot, scales=tuple(self._scales_with(scale)))
                self._past[-1:] = [self.snapshot]

    def _watch(self) -> None:
        """Read again when a file has changed; what cannot be read now may be readable soon."""
        while not self._over.wait(SECONDS_BETWEEN_READS):
            paths = self._all_paths
            now = signature_of(paths)
            if now == self._signature:
                continue
            try:
                opened = self._read(paths)
            except (OgiveError, OSError) as error:
                self._signature = now
                self._set_stage(failure=f"What changed cannot be read yet: {error}")
                continue
            self._signature = now
            self._set_stage(failure="")
            self._accept(opened)

    def _iteration(self, done: int, total: int | None, message: str) -> None:
        del total
        if done % 5 == 0:
            self._doing(f"calibrating, iteration {done:,} {message}".strip())

    def _doing(self, what: str) -> None:
        self._set_stage(doing=what)

    def _set_stage(self, **changes: str) -> None:
        with self._lock:
            self.stage = replace(self.stage, **changes)


def _describe_added(added: Opened, before: Opened) -> str:
    """Return the numbers of models and items that were added, and of items known already."""
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
    contents: list[dict[str, Any]] = []
    for k, shown in enumerate(scales):
        caption = f"Items of {shown.scale.name}" if len(scales) > 1 else "Items"
        tables[f"items{k}"] = _table(caption, shown.scale.items)
        contents.append({**shown.scale.content, "table": f"items{k}", "remote": k})
    sections = [
        {
            "title": section.title,
            "sentences": [*section.sentences, *section.notes],
            "tables": [_table(caption, frame) for caption, frame in section.tables if len(frame)],
        }
        for section in opened.sections
    ]
    return {
        "version": version,
        "tables": tables,
        "scales": contents,
        "sections": sections,
        "words": words_of_page(),
    }


def _table(caption: str, frame: pd.DataFrame) -> dict[str, Any]:
    file = f"{file_name_of(caption.lower())}.csv"
    return {"caption": caption, "file": file, "columns": columns_of(frame)}
