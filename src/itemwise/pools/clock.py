"""How far several runs of pools are, told as if they were one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from itemwise.progress import Report, hushed, time_left, watched

# Members done, members in all, what runs, and the seconds left (None before the first is done).
Progress = Callable[[int, int, str, float | None], None]
Wanted = Progress | bool  # one's own; a bar where a person watches; nothing


@contextmanager
def telling(progress: Wanted) -> Iterator[Progress | None]:
    """What to call, if anything."""
    if callable(progress) or not progress:
        with hushed():
            yield progress if callable(progress) else None
    else:
        with watched("Running classifiers") as report:
            yield on_one_line(report)


def on_one_line(report: Report) -> Progress:
    """Members that run, and how long the rest takes, as one word of a bar."""

    def tell(done: int, total: int, running: str, left: float | None) -> None:
        report(done, "; ".join(filter(None, (running, time_left(left)))), total)

    return tell


@dataclass
class Clock:
    """Tells how many of all members are done, what runs, and the time left for all of them."""

    total: int  # members of all runs
    progress: Progress | None
    done: int = 0  # members of the runs before
    made: int = 0  # of them those that were made now; stored ones cost nothing
    begin: float = field(default_factory=time.monotonic)

    def of(self, name: str, members: int) -> Progress | bool:
        """What `run_pool` calls for one of the runs."""
        if self.progress is None:
            return False
        tell, before, made_before = self.progress, self.done, self.made
        stored: list[int] = []
        self.done += members

        def report(done: int, _total: int, running: str, _left: float | None) -> None:
            if not stored:
                stored.append(done)
            self.made = made_before + done - stored[0]
            left = self.total - before - done
            gone = time.monotonic() - self.begin
            seconds = gone / self.made * left if self.made else None
            tell(before + done, self.total, f"{name}: {running}" if running else name, seconds)

        return report
