"""Counts and times of requests, in the text format that Prometheus reads."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """What the service has done since it started; touched by one thread only."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._decisions: Counter[str] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}

    def count_request(self, path: str, status: int, seconds: float) -> None:
        """One request to `path`, answered with `status` after `seconds`."""
        self._requests[path, status] += 1
        buckets = self._buckets.setdefault(path, [0] * (len(BUCKETS) + 1))
        buckets[bisect_left(BUCKETS, seconds)] += 1
        self._seconds[path] = self._seconds.get(path, 0.0) + seconds

    def count_decisions(self, decisions: Iterable[object]) -> None:
        """Who decides rows: the model or a person."""
        self._decisions.update(str(decision) for decision in decisions)

    def text(self) -> str:
        """All of it."""
        return "\n".join([*self._counts(), *self._histogram(), ""])

    def _counts(self) -> Iterable[str]:
        yield "# HELP itemwise_requests_total Requests by path and status."
        yield "# TYPE itemwise_requests_total counter"
        for (path, status), count in sorted(self._requests.items()):
            yield f'itemwise_requests_total{{path="{path}",status="{status}"}} {count}'
        yield "# HELP itemwise_decisions_total Rows by who decides them."
        yield "# TYPE itemwise_decisions_total counter"
        for decision, count in sorted(self._decisions.items()):
            yield f'itemwise_decisions_total{{decision="{_escaped(decision)}"}} {count}'

    def _histogram(self) -> Iterable[str]:
        name = "itemwise_request_seconds"
        yield f"# HELP {name} Time from the head of a request to the end of its answer."
        yield f"# TYPE {name} histogram"
        for path, buckets in sorted(self._buckets.items()):
            *sums, total = accumulate(buckets)
            for limit, count in zip(BUCKETS, sums, strict=True):
                yield f'{name}_bucket{{path="{path}",le="{limit:g}"}} {count}'
            yield f'{name}_bucket{{path="{path}",le="+Inf"}} {total}'
            yield f'{name}_sum{{path="{path}"}} {self._seconds[path]:.6f}'
            yield f'{name}_count{{path="{path}"}} {total}'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
