"""Atomic writing, bounded reading, JSON of a stated kind.

Files that are being written, beside where they will be; what killed writers left is removed.

A writer locks its part before it writes, and until it is renamed. So an unlocked part has no writer
any more, whatever the clock says, and the next writer in that folder removes it.

How many bytes a file may have or need: as a caller says, else as the environment does.

A file of unknown origin may be small and need more memory than there is. Every reader has a limit
of its own, which the argument `max_bytes` replaces, or else the environment variable.

Files: written as a whole or not at all, stating what they hold; errors explain themselves.

Every file is treated as hostile: it is bounded before it is read, and nothing in it is executed.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from numbers import Real
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from ogive._processes import raise_swallowed
from ogive.errors import FileError, InputError, OgiveError

PATTERN = ".ogive-*.part"
SECONDS_UNLOCKED = 86_400  # before a part counts as left behind, where files cannot be locked
_swept: set[Path] = set()


@contextmanager
def part_beside(target: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """Open a new file that is to be renamed to `target`; it is removed if it was not.

    Parts that were left there are removed first.
    """
    _sweep(target.parent)
    file, path = _created(target)
    try:
        with file:
            yield file, path
    finally:
        remove(path)


def remove(path: Path) -> None:
    """Remove a part, if it is still there and may be removed."""
    with suppress(OSError):  # a read-only file system refuses what is not there as well
        path.unlink(missing_ok=True)


def lock(descriptor: int) -> bool | None:
    """Lock an open file; False if somebody else has, None where there are no locks."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def _created(target: Path) -> tuple[BinaryIO, Path]:
    """Create and lock a part; again, if somebody swept it before it was locked."""
    # Opened by hand, so that the umask decides the permissions; tempfile would always use 0600.
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        path = target.with_name(f".ogive-{secrets.token_hex(6)}.part")
        file = os.fdopen(os.open(path, flags, 0o666), "w+b")
        locked = lock(file.fileno())
        if locked is None or (locked and os.fstat(file.fileno()).st_nlink):
            return file, path
        file.close()


def _sweep(folder: Path) -> None:
    """Remove parts whose writers are gone, once per folder and process."""
    if folder in _swept:
        return
    _swept.add(folder)
    with suppress(OSError):
        for path in folder.glob(PATTERN):
            with suppress(OSError):
                _remove_if_left(path)


def _remove_if_left(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        locked = lock(descriptor)
        if locked is None:
            # A part from the future was left before the clock was set back.
            locked = abs(time.time() - os.fstat(descriptor).st_mtime) > SECONDS_UNLOCKED
        if locked:
            remove(path)  # while it is locked, so that its writer sees that it is gone
    finally:
        os.close(descriptor)


VARIABLE = "OGIVE_MAX_BYTES"
TO_RAISE = f"If you trust the file, pass a larger max_bytes, or set {VARIABLE}."
LONGEST = 18  # digits; no machine has more bytes


def most_bytes(given: float | None, usual: int) -> int:
    """Return the limit that is given, else that of the environment, else the usual one."""
    if given is None:
        told = os.environ.get(VARIABLE, "").strip()
        return _of_environment(told) if told else usual
    if not (isinstance(given, Real) and given is not True and given >= 1):
        raise InputError(f"`max_bytes` must be a number above 0, got {given!r:.60}.")
    return int(min(given, 10**LONGEST))


def _of_environment(told: str) -> int:
    number = int(told) if told.isascii() and told.isdigit() and len(told) <= LONGEST else 0
    if number < 1:
        raise InputError(
            f"The environment variable {VARIABLE} is {told!r:.60}, but it should be a whole number "
            "of bytes above 0, such as 17179869184 (16 GiB). Correct it, or unset it."
        )
    return number


JSON_MAX_BYTES = 1024**3
JSON_MAX_MEMORY = 4 * 1024**3
JSON_PARTS = {b",": 40, b"[": 64, b"{": 200}  # bytes of memory that each may stand for
# A whole surrogate pair, half of one, or any other escape.
JSON_ESCAPE = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)|\\.", re.DOTALL)
# Errors raised by the parts of a document that was cut short or edited.
DAMAGED = (OgiveError, AttributeError, KeyError, TypeError, ValueError, OverflowError)
GIT_LFS_POINTER = b"version https://git-lfs.github.com/spec/"

PathLike = str | os.PathLike[str]


def write_atomically(path: PathLike, write: Callable[[BinaryIO], None]) -> None:
    """Let `write` fill a file beside `path`, then rename it: `path` is never half written.

    A file that is replaced keeps its permissions, and a symbolic link keeps pointing where it does.
    """
    raise_swallowed()  # nothing is kept of work that was to end
    target = _writable(path)
    try:
        with part_beside(target) as (file, beside):
            write(file)
            file.flush()
            os.fsync(file.fileno())
            if target.exists():
                beside.chmod(stat.S_IMODE(target.stat().st_mode))
            if os.name == "nt":  # which renames no open file
                file.close()
            beside.replace(target)
    except FileError:
        raise
    except OSError as error:
        raise FileError(_why_not_written(path, error)) from error
    _sync_directory(target.parent)


def check_writable(path: PathLike) -> None:
    """Refuse a path that cannot be written, before the work for it.

    A file beside it is made and removed, since permissions alone do not say so (read-only or
    virtual file systems).
    """
    target = _writable(path)
    try:
        with part_beside(target):
            pass
    except OSError as error:
        raise FileError(_why_not_written(path, error)) from error


def write_bytes(path: PathLike, content: bytes) -> None:
    """Write `content` as a whole file, atomically."""
    write_atomically(path, lambda file: _write_all(file, content))


def file_name_of(text: str) -> str:
    """Return a short name that every file system accepts, unique to the text."""
    slug = re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")[:40]
    plain = slug == text == text.lower()  # some file systems do not distinguish A from a
    return slug if plain else f"{slug}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def make_folder(path: PathLike) -> Path:
    """Return the directory, created if it is missing."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise FileError(
            f"'{folder}' is a file, but a directory is needed. Name another."
        ) from error
    except OSError as error:
        raise FileError(
            f"The directory '{folder}' cannot be made: {error.strerror}. Name another."
        ) from error
    return folder


@contextmanager
def tidy_folder(path: PathLike) -> Iterator[Path]:
    """Make a directory to write to; what was made for it and is still empty is removed at the end.

    So an error leaves no empty directory behind.
    """
    wanted = Path(path)
    missing = [each for each in (wanted, *wanted.parents) if not each.exists()]
    folder = make_folder(path)
    try:
        yield folder
    finally:
        for each in missing:
            with suppress(OSError):  # it holds something
                each.rmdir()


def write_json(path: PathLike, kind: str, version: int, payload: Mapping[str, Any]) -> None:
    """Write `payload` as a document that names its schema, `ogive/<kind>`, and version.

    JSON has no NaN or infinity: use None where a number is missing.
    """
    reserved = {"schema", "version"} & payload.keys()
    if reserved:
        raise InputError(
            f"The payload has the keys {_listed(sorted(reserved))}, which the document itself "
            "uses. Rename them."
        )
    document = {"schema": f"ogive/{kind}", "version": version, **payload}
    try:
        text = json.dumps(document, allow_nan=False, ensure_ascii=False, indent=1)
        content = text.encode("utf-8") + b"\n"
    except (TypeError, ValueError) as error:
        raise InputError(
            f"This {kind} cannot be written to '{path}' as JSON: {error}. "
            "Use finite numbers, text, lists and objects, and None for what is missing."
        ) from error
    write_bytes(path, content)


def read_json(
    path: PathLike, kind: str, version: int, *, max_bytes: int | None = None
) -> dict[str, Any]:
    """Read a document of this `kind`, in any format up to `version`; its own is under "version"."""
    content = readable_file(path, most_bytes(max_bytes, JSON_MAX_BYTES)).read_bytes()
    return checked_document(path, content, kind, version)


def checked_document(path: PathLike, content: bytes, kind: str, version: int) -> dict[str, Any]:
    """Parse the content of a document, and refuse another kind or a newer version."""
    document = parsed_json(path, content)
    found = kind_of(document)
    if found is None:
        raise FileError(
            f"'{path}' is JSON, but not a file that Ogive wrote: it has no "
            f'"schema": "ogive/{kind}". Give a file saved by Ogive.'
        )
    if found != kind:
        raise FileError(
            f"'{path}' holds 'ogive/{found:.60}', but 'ogive/{kind}' is needed here. "
            f"Give a file that holds a {kind}."
        )
    check_version(path, document, version)
    return dict(document)


def kind_of(document: Any) -> str | None:
    """Return what a document says it is; None if Ogive did not write it."""
    schema = document.get("schema") if isinstance(document, dict) else None
    if not isinstance(schema, str) or not schema.startswith("ogive/"):
        return None
    return schema.removeprefix("ogive/")


def check_version(path: PathLike, document: Mapping[str, Any], version: int) -> None:
    """Refuse a document whose format is newer than `version`, or that does not state it."""
    found = document.get("version")
    if type(found) is not int or found < 1:
        raise FileError(
            f"'{path}' has no usable format version: \"version\" is {found!r:.40}, but it should "
            "be a whole number of at least 1. Save the file again."
        )
    if found > version:
        raise FileError(
            f"'{path}' was written by a newer Ogive (format {found}; this one reads up to "
            f"{version}). Update Ogive, or save the file with the version that is installed here."
        )


def require_keys(path: PathLike, document: Mapping[str, Any], keys: Iterable[str]) -> None:
    """Refuse a document in which one of `keys` is missing, naming all that are."""
    missing = [key for key in keys if key not in document]
    if missing:
        raise FileError(
            f"'{path}' is incomplete: it lacks {_listed(missing)}. "
            "It was cut short or edited; save it again or restore a copy."
        )


def written_number(value: Any, name: str, low: float = -math.inf, high: float = math.inf) -> float:
    """Return a number as a document holds it, inside its bounds; true and false are refused."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise InputError(f"{name} is {value!r:.40}, not a number in the allowed range.")
    return float(value)


def written_text(value: Any, name: str) -> str:
    """Return a text as a document holds it."""
    if not isinstance(value, str):
        raise InputError(f"{name} is {value!r:.40}, not text.")
    return value


def written_texts(values: Any, name: str, n: int | None = None) -> tuple[str, ...]:
    """Return a list of texts, as many as there should be."""
    if not isinstance(values, list):
        raise InputError(f"{name} is {values!r:.40}, not a list of texts.")
    if n is not None and len(values) != n:
        raise InputError(f"{name} has {len(values)} entries, but should have {n}.")
    return tuple(written_text(value, name) for value in values)


def why_damaged(error: Exception) -> str:
    """Return what is wrong with a document whose parts could not be put together, as a sentence."""
    text = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
    return text if text.endswith(".") else f"{text}."


def readable_file(path: PathLike, max_bytes: float) -> Path:
    """Return the path, once it is known to be a regular file with content, and not too large."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"path is {path!r:.60}, but the path of a file is needed.")
    file = Path(path)
    try:
        status = file.stat()
        if stat.S_ISDIR(status.st_mode):
            raise FileError(
                f"'{path}' is a directory, but a file is needed. Name a file inside it."
            )
        if not stat.S_ISREG(status.st_mode):
            raise FileError(f"'{path}' is a device or a pipe. Save its content to a file first.")
        with file.open("rb") as stream:
            beginning = stream.read(len(GIT_LFS_POINTER))
    except FileError:
        raise
    except (OSError, ValueError) as error:
        raise FileError(_why_not_read(file, error)) from error
    if not beginning:
        raise FileError(f"'{path}' is empty (0 bytes). Check how it was made.")
    if status.st_size > max_bytes:
        raise FileError(
            f"'{path}' has {size_for_people(status.st_size)}, and the limit is "
            f"{size_for_people(max_bytes)}. {TO_RAISE}"
        )
    if beginning == GIT_LFS_POINTER:
        raise FileError(
            f"'{path}' is a Git LFS pointer, not the file itself. Fetch the content: git lfs pull"
        )
    return file


def real_path(path: PathLike) -> Path:
    """Follow links; a link to itself stays, although `resolve` would fail."""
    return Path(os.path.realpath(path))


def is_folder(path: PathLike) -> bool:
    """Return True if it is a folder; where access is denied, Path.is_dir would raise an error."""
    return os.path.isdir(path)  # noqa: PTH112


def is_plain(path: PathLike) -> bool:
    """Return True if it is a file that is no pipe, folder or device, as far as one may look."""
    return os.path.isfile(path)  # noqa: PTH113


def is_there(path: PathLike) -> bool:
    """Return True if there is anything, as far as one may look."""
    return os.path.exists(path)  # noqa: PTH110


def check_present(path: PathLike) -> None:
    """Refuse a path where there is no file, saying why."""
    try:
        Path(path).stat()
    except (OSError, ValueError) as error:
        raise FileError(_why_not_read(Path(path), error)) from error


def size_for_people(n_bytes: float) -> str:
    """Return 1536 -> '1.5 KiB'."""
    if n_bytes < 1024:
        return f"{n_bytes:.0f} bytes"
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        n_bytes /= 1024
        if n_bytes < 1024 or unit == "TiB":
            break
    return f"{n_bytes:,.1f} {unit}"


def _writable(path: PathLike) -> Path:
    """Return where a write to `path` ends up, links followed, if anything can be written there."""
    try:
        target = real_path(path)
        if target.is_symlink():
            raise FileError(
                f"'{path}' is a link that leads back to itself. Remove it, or name another file."
            )
        if target.is_dir():
            raise FileError(f"'{path}' is a directory, but a file is needed. Add a file name.")
        if target.exists() and not target.is_file():
            raise FileError(f"'{path}' is a device or a pipe. Give the path of a plain file.")
        if not target.parent.is_dir():
            raise FileError(
                f"'{path}' cannot be written: there is no directory '{target.parent}'. "
                "Create it first, or correct the path."
            )
        # A rename would replace a write-protected file without asking.
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except FileError:
        raise
    except (OSError, RuntimeError, ValueError) as error:
        raise FileError(_why_not_written(path, error)) from error
    return target


def _write_all(file: BinaryIO, content: bytes) -> None:
    file.write(content)


def _sync_directory(directory: Path) -> None:
    """Make the rename itself durable, where the system allows it."""
    try:
        descriptor = os.open(directory, os.O_RDONLY)
    except OSError:  # Windows opens no directories
        return
    try:
        os.fsync(descriptor)
    except OSError:  # some network file systems refuse
        pass
    finally:
        os.close(descriptor)


def parsed_json(path: PathLike, content: bytes, max_bytes: int | None = None) -> Any:
    """Parse strict JSON: no NaN, no infinity by name or by size, no more than `max_bytes` of it."""
    most = most_bytes(max_bytes, JSON_MAX_MEMORY)
    n_bytes = json_need(content)
    if n_bytes > most:
        raise FileError(
            f"'{path}' has {size_for_people(len(content))}, which may need "
            f"{size_for_people(n_bytes)} in memory; the limit is {size_for_people(most)}. "
            f"{TO_RAISE}"
        )
    try:
        text = content.decode("utf-8-sig")
        if half := lone_surrogate(text):
            _refuse(f"{half}, which is half a character")
        return json.loads(text, parse_constant=_refuse, parse_float=_finite_float)
    except UnicodeDecodeError as error:
        raise FileError(
            f"'{path}' is not UTF-8 text: byte {error.start + 1:,} is "
            f"0x{content[error.start]:02x}. It is damaged, or not a JSON file. "
            "Give a file saved by Ogive."
        ) from error
    except json.JSONDecodeError as error:
        raise FileError(
            f"'{path}' is not valid JSON: {error.msg} at line {error.lineno:,}, "
            f"column {error.colno:,}. It was cut short or edited; save it again or restore a copy."
        ) from error
    except RecursionError as error:
        raise FileError(f"'{path}' is nested too deeply to be a file of Ogive.") from error
    except ValueError as error:
        raise FileError(
            f"'{path}' is not strict JSON: {error}. Numbers must be finite, and characters whole; "
            "null means missing."
        ) from error


def json_need(content: bytes) -> int:
    """Return the memory that a JSON document may need, by the number of its parts."""
    return sum(n * content.count(sign) for sign, n in JSON_PARTS.items()) + 2 * len(content)


def lone_surrogate(text: str) -> str | None:
    """Return the first escape in JSON that is half of a surrogate pair, which no file can hold."""
    if "\\ud" not in text and "\\uD" not in text:
        return None
    return next((match[1] for match in JSON_ESCAPE.finditer(text) if match[1]), None)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"it holds {name}")


def _finite_float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        _refuse(f"{text:.40}, which is too large for a number")
    return number


def _why_not_read(file: Path, error: Exception) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        parent = file.absolute().parent
        if not parent.is_dir():
            return f"There is no file '{file}': the directory '{parent}' does not exist."
        return f"There is no file '{file.name}' in '{parent}'. Check the spelling of the path."
    if isinstance(error, PermissionError):
        return f"'{file}' may not be read by this user. Change its permissions or copy it."
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return f"'{file}' is a link that leads back to itself. Remove it, or name the file."
    return f"'{file}' cannot be read: {error}. Check the path."


def _why_not_written(path: PathLike, error: Exception) -> str:
    code = error.errno if isinstance(error, OSError) else None
    if code in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"There is no space left on the disk for '{path}'; this file is as it was. "
            "Free some space or write elsewhere."
        )
    if code in (errno.EACCES, errno.EPERM, errno.EROFS):
        return (
            f"'{path}' may not be written by this user; it is as it was. "
            "Change the permissions of the file or its directory, or write elsewhere."
        )
    return f"'{path}' cannot be written: {error}. Check the path, or write elsewhere."


def _listed(keys: Iterable[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)
