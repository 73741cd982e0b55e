"""What a file can be instead of itself: a pipe, a bomb, a hundred thousand columns, and worse."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SMALL = {"many columns": 300, "one line": 10**5, "deep": 20_000, "bomb": 10**6, "NUL": 100}
LARGE = {"many columns": 10**5, "one line": 10**8, "deep": 10**6, "bomb": 10**9, "NUL": 10**7}


@dataclass(frozen=True)
class Attack:
    """`make` writes something at a path, given what was there and a size; False if it cannot."""

    make: Callable[[Path, bytes, int], bool]
    size: str = ""  # which of the sizes


def _pipe(path: Path, _: bytes, __: int) -> bool:
    path.unlink()
    os.mkfifo(path)
    return True


def _device(path: Path, _: bytes, __: int) -> bool:
    path.unlink()
    path.symlink_to("/dev/zero")
    return True


def _loop(path: Path, _: bytes, __: int) -> bool:
    path.unlink()
    path.symlink_to(path.name)
    return True


def _folder(path: Path, _: bytes, __: int) -> bool:
    path.unlink()
    path.mkdir()
    return True


def _empty(path: Path, _: bytes, __: int) -> bool:
    path.write_bytes(b"")
    return True


def _unreadable(path: Path, _: bytes, __: int) -> bool:
    path.chmod(0)
    if not os.geteuid():  # who may read everything becomes a user who may not
        os.seteuid(65534)
    return True


def _utf16(path: Path, good: bytes, _: int) -> bool:
    try:
        path.write_bytes(good.decode().encode("utf-16"))
    except UnicodeDecodeError:
        return False
    return True


def _nul(path: Path, good: bytes, size: int) -> bool:
    path.write_bytes(good[: len(good) // 2] + b"\0" * size + good[len(good) // 2 :])
    return True


def _deep(path: Path, _: bytes, size: int) -> bool:
    path.write_bytes(b'[{"a":' * size)
    return True


def _deep_inside(path: Path, good: bytes, size: int) -> bool:
    if b":" not in good or not good.lstrip().startswith(b"{"):
        return False
    head, _, tail = good.partition(b":")
    path.write_bytes(head + b":" + b"[" * size + b"]" * size + b"," + tail)
    return True


def _columns(path: Path, good: bytes, size: int) -> bool:
    names = [f"c{k}" for k in range(size)]
    ending = path.name.lower()
    if ending.endswith(".arff"):
        head = "".join(f"@attribute {name} numeric\n" for name in names)
        content = f"@relation r\n{head}@data\n{','.join(['1'] * size)}\n".encode()
    elif ending.endswith((".json", ".jsonl")):
        content = json.dumps(dict.fromkeys(names, 1)).encode() + b"\n" + good
        if ending.endswith(".json"):
            content = b"{" + content[1 : content.index(b"}")] + b"," + good.lstrip()[1:]
    elif ending.endswith(".parquet"):
        import pyarrow as pa
        from pyarrow import parquet as pq

        fewer = names[: max(len(names) // 10, 1)]  # PyArrow itself takes minutes to write more
        pq.write_table(pa.table({name: [1, 0] for name in fewer}), path)
        return True
    else:
        rows = [",".join(["model", *names]), *(",".join([who, *["1"] * size]) for who in "abc")]
        content = "\n".join(rows).encode()
        content = gzip.compress(content, 1) if ending.endswith(".gz") else content
    path.write_bytes(content)
    return True


def _line(path: Path, _: bytes, size: int) -> bool:
    content = b'{"a": "' + b"a" * size + b'"}'
    path.write_bytes(gzip.compress(content, 1) if path.name.endswith(".gz") else content)
    return True


def _bomb(path: Path, good: bytes, size: int) -> bool:
    """Return little that unpacks to much."""
    if path.name.endswith(".gz"):
        with gzip.open(path, "wb", compresslevel=1) as file:
            for _ in range(max(size // 10**6, 1)):
                file.write(b"a,x,m,1\n" * (10**6 // 8))
    elif good.startswith(b"PK"):
        _archive(path, good, size)
    elif good.startswith(b"PAR1"):
        import pyarrow as pa
        from pyarrow import parquet as pq

        n_rows = size // 40
        column = pa.DictionaryArray.from_arrays(pa.array([0] * 1).take(_zeros(n_rows)), ["x" * 50])
        table = pq.read_table(io.BytesIO(good))
        made = pa.table(dict.fromkeys(table.column_names, column))
        pq.write_table(made.replace_schema_metadata(table.schema.metadata), path)
    else:
        return False
    return True


def _zeros(n: int) -> object:
    import numpy as np

    return np.zeros(n, dtype=np.int32)


def _archive(path: Path, good: bytes, size: int) -> None:
    with zipfile.ZipFile(io.BytesIO(good)) as old:
        names = old.namelist()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made:
        for name in names:
            with made.open(name, "w", force_zip64=True) as part:
                for _ in range(max(size // 10**6, 1)):
                    part.write(b"[" + b" " * (10**6 - 1))


def _upwards(path: Path, good: bytes, _: int) -> bool:
    """Return names that lead out of the folder."""
    if good.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(good)) as old, zipfile.ZipFile(path, "w") as made:
            for name in old.namelist():
                made.writestr(f"../../{name}", b"{}")
        return True
    if good.startswith((b"PAR1", b"\x1f\x8b", b"SQLite")):
        return False
    changed = re.sub(rb'(\n|: ?"|\[")[A-Za-z]\w*', rb"\1../../../x", good)
    path.write_bytes(changed)
    return True


ATTACKS: dict[str, Attack] = {
    "a pipe": Attack(_pipe),
    "a device": Attack(_device),
    "a link to itself": Attack(_loop),
    "a folder": Attack(_folder),
    "nothing": Attack(_empty),
    "unreadable": Attack(_unreadable),
    "UTF-16": Attack(_utf16),
    "NUL bytes": Attack(_nul, "NUL"),
    "deep nesting": Attack(_deep, "deep"),
    "deep nesting inside": Attack(_deep_inside, "deep"),
    "many columns": Attack(_columns, "many columns"),
    "one long line": Attack(_line, "one line"),
    "a bomb": Attack(_bomb, "bomb"),
    "names with ..": Attack(_upwards),
}
