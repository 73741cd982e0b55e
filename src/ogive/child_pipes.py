"""Child processes of this program, and the messages to and from them.

What travels through the pipes comes from this program and goes to its own child; none of it is ever
stored.
"""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import BinaryIO

from ogive.interrupts import unheard_by_children

SECONDS_BETWEEN_CHECKS = 1.0


class Child:
    """A Python process that runs `code`, and imports nothing from the working directory."""

    def __init__(self, code: str) -> None:
        with unheard_by_children():
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        assert self.process.stdin is not None  # noqa: S101 - opened above
        assert self.process.stdout is not None  # noqa: S101
        self.input: BinaryIO = self.process.stdin  # type: ignore[assignment]
        self.output: BinaryIO = self.process.stdout  # type: ignore[assignment]

    def alive(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    def send(self, content: bytes) -> None:
        """Send a message to the child."""
        send(self.input, content)

    def receive(self) -> bytes:
        """Wait for a message of the child; EOFError once it has ended."""
        return receive(self.output)

    def kill(self) -> None:
        """End it at once; whoever waits for its message gets an EOFError."""
        self.process.kill()

    def end(self) -> int:
        """Kill it, if it is still alive, close its pipes, and return its status."""
        self.process.kill()
        status = self.process.wait()
        for pipe in (self.input, self.output):
            with suppress(OSError):  # unwritten data has no reader any more
                pipe.close()
        return status


def as_child() -> tuple[BinaryIO, BinaryIO]:
    """In a child: where messages come from and go to. It ends with its parent, and not before.

    Ctrl-C and SIGTERM are for the parent, which ends its children itself. What is printed goes to
    standard error, so that it does not mix with messages.
    """
    tasks, results = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.dup2(2, 1)
    threading.Thread(target=_end_with_parent, args=[os.getppid()], daemon=True).start()
    return tasks, results


def send(pipe: BinaryIO, content: bytes) -> None:
    """Write one message."""
    pipe.write(struct.pack(">Q", len(content)) + content)
    pipe.flush()


def receive(pipe: BinaryIO) -> bytes:
    """Read one message; EOFError if the other side has ended."""
    (size,) = struct.unpack(">Q", _exactly(pipe, 8))
    return _exactly(pipe, size)


def _exactly(pipe: BinaryIO, size: int) -> bytes:
    content = pipe.read(size)
    if len(content) < size:
        raise EOFError
    return content


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_CHECKS)
    os._exit(1)
