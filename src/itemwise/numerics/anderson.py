"""Anderson acceleration of a fixed-point iteration (Anderson, 1965; Walker and Ni, 2011)."""

from __future__ import annotations

from itemwise.numerics.arrays import Array, array_namespace


class Anderson:
    """Remembers a few steps and combines them into a longer one.

    `advance(x, step, metric)` returns the next point. Differences between steps are measured
    with the diagonal `metric`, so that parameters of different units weigh alike.
    """

    def __init__(self, memory: int = 6) -> None:
        self.memory = memory
        self._points: list[Array] = []
        self._steps: list[Array] = []

    def forget(self) -> None:
        """Start again: the map has changed, or the last step was a bad one."""
        self._points.clear()
        self._steps.clear()

    def advance(self, x: Array, step: Array, metric: Array) -> Array:
        """The next point from `x`, given the plain `step` of the map there."""
        self._points = [*self._points, x][-self.memory - 1 :]
        self._steps = [*self._steps, step][-self.memory - 1 :]
        if len(self._points) == 1:
            return x + step
        xp = array_namespace(x)
        n = len(self._points) - 1
        moves = xp.stack([xp.reshape(point - x, (-1,)) for point in self._points[:-1]])
        turns = xp.stack([xp.reshape(other - step, (-1,)) for other in self._steps[:-1]])
        scaled = turns * xp.reshape(metric, (-1,))
        gram = scaled @ turns.T
        # A ridge of rounding size keeps nearly parallel memories from cancelling violently.
        size = 1e-10 * xp.linalg.trace(gram) + 1e-300
        ridge = size * xp.eye(n, dtype=gram.dtype, device=gram.device)
        against = -(scaled @ xp.reshape(step, (-1,)))
        mix = xp.linalg.solve(gram + ridge, against[:, None])[:, 0]
        return x + step + xp.reshape(mix @ (moves + turns), x.shape)
