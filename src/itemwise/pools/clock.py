"""Progress of several runs of pools, reported as one."""

from __future__ import annotations

from dataclasses import dataclass

from itemwise.progress import Progress


@dataclass
class Clock:
    """Counts the members of all runs that are done."""

    total: int  # members of all runs
    progress: Progress
    done: int = 0  # members of the runs before

    def of(self, name: str, members: int) -> Progress:
        """Return what `run_pool` calls for one of the runs."""
        before = self.done
        self.done += members

        def report(done: int, _total: int | None, running: str) -> None:
            self.progress(before + done, self.total, f"{name}: {running}" if running else name)

        return report
