"""How far several runs of pools are, told as if they were one."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from itemwise.pools.running import Progress


@dataclass
class Clock:
    """Tells how many of all members are done, what runs, and the time left for all of them."""

    total: int  # members of all runs
    progress: Progress | None
    done: int = 0  # members of the runs before
    made: int = 0  # of them those that were made now; stored ones cost nothing
    begin: float = field(default_factory=time.monotonic)

    def of(self, name: str, members: int) -> Progress | None:
        """What `run_pool` calls for one of the runs."""
        if self.progress is None:
            return None
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
