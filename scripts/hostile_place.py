"""How far a child of the campaign has come. Nothing of the package is imported here."""

from __future__ import annotations

import json
import mmap
import struct
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

READ, REFUSED, FAILED = range(3)


@dataclass
class Lane:
    """How far a lane has come: inputs that reached new lines are what it goes on from."""

    done: int = 0
    met: list[int] = field(default_factory=lambda: [0, 0, 0])
    slowest: float = 0.0
    memory: int = 0
    seconds: float = 0.0  # of processor time, in all
    last_failure: int = -1  # number of the input
    corpus: list[list[Any]] = field(default_factory=list)  # sample, target, content
    lines: list[list[Any]] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Lane:
        """Return where the lane stopped, or its beginning."""
        return cls(**json.loads(path.read_bytes())) if path.exists() else cls()

    def write(self, path: Path) -> None:
        """Keep it, as a whole or not at all."""
        beside = path.with_suffix(".part")
        beside.write_text(json.dumps(asdict(self)))
        beside.replace(path)


class Place:
    """Shared with the parent, which looks where a child ended or hangs."""

    SHAPE = "qqqqd"

    def __init__(self) -> None:
        self._bytes = mmap.mmap(-1, 64)

    def tell(self, lane: Lane) -> None:
        """Return what has been met before the input that is read now."""
        self._bytes[:40] = struct.pack(self.SHAPE, lane.done, *lane.met, lane.slowest)

    @property
    def told(self) -> tuple[int, int, int, int, float]:
        """Inputs, of these read, refused and failed, and the seconds of the slowest."""
        done, read, refused, failed, slowest = struct.unpack(self.SHAPE, self._bytes[:40])
        return done, read, refused, failed, slowest

    def into(self, lane: Lane) -> Lane:
        """Return the lane, as far as the child had told."""
        lane.done, *lane.met, lane.slowest = self.told
        return lane

    @property
    def done(self) -> int:
        """The number of the input that is read now."""
        return self.told[0]
