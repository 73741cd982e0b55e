"""`load`: one way to read every file that Ogive saves, by what the file says it is."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ogive._files import (
    PathLike,
    is_folder,
    is_plain,
    kind_of,
    most_bytes,
    parsed_json,
    readable_file,
)
from ogive.errors import FileError, InputError

if TYPE_CHECKING:
    from ogive.capability.gate import CapabilityGate
    from ogive.data.responses import Responses
    from ogive.difficulty.deep_regressor import DeepDifficultyRegressor
    from ogive.difficulty.regressor import DifficultyRegressor
    from ogive.evaluation.shortening import ShortBenchmark
    from ogive.irt.adaptive.adaptive_test import AdaptiveTest
    from ogive.irt.calibration import Calibration
    from ogive.portfolios.selector_evaluation import AlgorithmSelector


MAX_BYTES = 4 * 1024**3
# Bytes of a gate: scripts/file_sizes.py prints what it takes for each case, class and feature.
GATE_JSON = 1 << 28
GATE_MEMORY = 8 * GATE_JSON
OTHER_JSON, OTHER_MEMORY = 1 << 24, 1 << 28  # of a document that does not begin as ours do
BEGINNING = 256  # bytes in which a document that Ogive wrote says what it is
STATED = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"schema"\s*:\s*"ogive/([a-z-]+)"')
MOST_SCHEMA = 1 << 24  # bytes of an archive's description in which its class is looked for
# What zipfile raises for damaged archives, and for methods and passwords that it does not know.
NOT_WHOLE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError)
SETTINGS = "settings.json"  # what the folder of a deep regressor holds
BANK_KEY, RESPONSES_KEY = b"ogive.calibration", b"ogive.kind"  # Parquet metadata


@dataclass(frozen=True)
class Found:
    """A file, the document in it if it is JSON, and what `load` was told."""

    path: Path
    document: dict[str, Any] | None
    max_bytes: int
    encoder: Any = None
    device: str | None = None


class Kind(NamedTuple):
    """What a kind of file is called, how it is read, what its JSON may usually have and need."""

    noun: str
    read: Callable[[Found], Any]
    most: int = MAX_BYTES
    memory: int = MAX_BYTES


def load(
    path: PathLike,
    *,
    max_bytes: int | None = None,
    encoder: Any = None,
    device: str | None = None,
) -> Any:
    """Read what Ogive saved at `path`: the object whose `save` wrote it.

    The file says what it is: a `Calibration` (item bank, without its responses), a
    `CapabilityGate`, a `DifficultyRegressor` or `DeepDifficultyRegressor`, an
    `AlgorithmSelector`, a `ShortBenchmark`, an `AdaptiveTest`, or `Responses` in Parquet.

    Nothing in a file is executed. Damaged or edited files are refused, as are files in a newer
    format, estimators with parts that are neither scikit-learn's nor Ogive's, and files larger
    than `max_bytes`, also once unpacked. A gate is also refused where another release of
    scikit-learn is installed than the one that saved it.

    `encoder` and `device` are for deep regressors: `device` is "cpu", "cuda", or None for CUDA
    where available; `encoder` is needed if the regressor was made with a torch module of your
    own, and should be a module of the same architecture, whose weights are replaced in a copy.

    >>> import ogive as og
    >>> bank = og.calibrate(og.simulate("2pl", 300, 4, random_state=0).responses)
    >>> og.load(bank.save("bank.json")).item_names
    ('item_1', 'item_2', 'item_3', 'item_4')
    """
    most = most_bytes(max_bytes, MAX_BYTES)
    name, document = _identified(path, max_bytes)
    return _read(Found(Path(path), document, most, encoder, device), name)


def load_only(name: str, path: PathLike) -> Any:
    """Read a file that must hold one kind of thing, such as "calibration"."""
    found, document = _identified(path, None)
    if found != name:
        raise FileError(
            f"'{path}' holds {KINDS[found].noun}, but {KINDS[name].noun} is needed here."
        )
    return _read(Found(Path(path), document, most_bytes(None, MAX_BYTES)), name)


def _read(found: Found, name: str) -> Any:
    if name != DEEP and (found.encoder is not None or found.device is not None):
        raise InputError(
            f"encoder and device are for deep difficulty regressors, but '{found.path}' holds "
            f"{KINDS[name].noun}. Leave them out."
        )
    return KINDS[name].read(found)


def _identified(path: PathLike, max_bytes: int | None) -> tuple[str, dict[str, Any] | None]:
    """Return what a file says it is, and the document in it if it is JSON."""
    if isinstance(path, str | Path) and is_folder(Path(path)):
        if not is_plain(Path(path) / SETTINGS):
            raise FileError(
                f"'{path}' is a folder, but not one that DeepDifficultyRegressor.save wrote: it "
                f"has no '{SETTINGS}'. {_readable()}"
            )
        return DEEP, None
    file = readable_file(path, most_bytes(max_bytes, MAX_BYTES))
    with file.open("rb") as stream:
        beginning = stream.read(BEGINNING)
    if beginning.startswith(b"PAR1"):
        return _kind_of_parquet(file), None
    if beginning.startswith(b"PK"):
        return _kind_of_archive(file), None
    if not beginning.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        raise FileError(
            f"'{file}' is not a file that Ogive saved: it is neither JSON with a schema, "
            f"Parquet nor a skops archive. {_readable()} Tables of responses are read by "
            "read_responses."
        )
    stated = STATED.match(beginning)
    kind = KINDS.get(stated[1].decode()) if stated else None
    most, memory = (kind.most, kind.memory) if kind else (OTHER_JSON, OTHER_MEMORY)
    readable_file(file, most_bytes(max_bytes, most))
    document = parsed_json(file, file.read_bytes(), most_bytes(max_bytes, memory))
    return _kind_of_json(file, document), document


def _kind_of_json(file: Path, document: dict[str, Any]) -> str:
    found = kind_of(document)
    if found is None:
        raise FileError(
            f"'{file}' is JSON, but not a file that Ogive wrote: it has no \"schema\" of "
            f"Ogive. {_readable()}"
        )
    if found == DEEP:
        raise FileError(
            f"'{file}' is part of a saved deep difficulty regressor. Load its folder, "
            f"'{file.parent}'."
        )
    if found not in KINDS:
        raise FileError(
            f"'{file}' holds 'ogive/{found:.60}', which load cannot read. {_readable()}"
        )
    return found


def _kind_of_parquet(file: Path) -> str:
    from ogive.data.parquet_files import read_schema

    metadata = read_schema(file).metadata or {}
    for key, name in ((BANK_KEY, "calibration"), (RESPONSES_KEY, "responses")):
        if key in metadata:
            return name
    raise FileError(
        f"'{file}' is a Parquet table that Ogive did not save. {_readable()} A table of "
        "responses is read by read_responses."
    )


def _kind_of_archive(file: Path) -> str:
    try:
        with zipfile.ZipFile(file) as archive:
            names = set(archive.namelist())
            about = b""
            if "schema.json" in names:
                with archive.open("schema.json") as part:
                    about = part.read(MOST_SCHEMA)
    except NOT_WHOLE as error:
        raise FileError(
            f"'{file}' is not a whole archive: {error}. It was cut short or damaged; save it "
            "again or restore a copy."
        ) from error
    if "schema.json" not in names:
        raise FileError(f"'{file}' is a zip archive, but not one of skops. {_readable()}")
    return SELECTOR if b'"AlgorithmSelector"' in about else "difficulty-regressor"


def _readable() -> str:
    nouns = [kind.noun for kind in KINDS.values()]
    return f"load reads {', '.join(nouns[:-1])} and {nouns[-1]}."


def _calibration(found: Found) -> Calibration:
    from ogive.irt.banks import load_bank

    return load_bank(found.path, found.document, found.max_bytes)


def _responses(found: Found) -> Responses:
    from ogive.data.response_files import read_responses

    return read_responses(found.path, max_bytes=found.max_bytes)


def _adaptive_test(found: Found) -> AdaptiveTest:
    from ogive.irt.adaptive.adaptive_test import load_test

    return load_test(found.path, found.document or {})


def _short_benchmark(found: Found) -> ShortBenchmark:
    from ogive.evaluation.short_benchmark import load_short_benchmark

    return load_short_benchmark(found.path, found.document or {})


def _gate(found: Found) -> CapabilityGate:
    from ogive.capability.gate import load_gate

    return load_gate(found.path, found.document or {}, found.max_bytes)


def _regressor(found: Found) -> DifficultyRegressor:
    from ogive.difficulty.regressor import load_regressor

    return load_regressor(found.path, found.max_bytes)


def _selector(found: Found) -> AlgorithmSelector:
    from ogive.portfolios.selector import load_selector

    return load_selector(found.path, found.max_bytes)


def _deep_regressor(found: Found) -> DeepDifficultyRegressor:
    from ogive.difficulty.deep_regressor import load_deep_regressor

    return load_deep_regressor(found.path, found.encoder, found.device)


DEEP, SELECTOR = "deep-difficulty-regressor", "algorithm-selector"
KINDS = {
    "calibration": Kind("a calibration (item bank)", _calibration),
    "gate": Kind("a capability gate", _gate, GATE_JSON, GATE_MEMORY),
    "difficulty-regressor": Kind("a difficulty regressor", _regressor),
    SELECTOR: Kind("an algorithm selector", _selector),
    DEEP: Kind("a deep difficulty regressor (a folder)", _deep_regressor),
    "short-benchmark": Kind("a short benchmark", _short_benchmark),
    "adaptive-test": Kind("an adaptive test", _adaptive_test),
    "responses": Kind("responses saved as Parquet", _responses),
}
