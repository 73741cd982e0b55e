"""EM for marginal maximum likelihood (Bock and Aitkin, 1981), accelerated.

Maximized is the penalized marginal log-likelihood of the items (see `objective`),

    Σ_i w_i log ∫ Π_j f(x_ij | θ, x_j) p(θ) dθ + Σ_j log prior(x_j).

One iteration is an E-step (`e_step`), an M-step of every item (`m_step`) and an exact Newton step
along origin and unit of the latent scale (`latent_scale`); Anderson acceleration combines the
iterations (`acceleration`). The objective never falls by more than rounding errors, because a step
that loses is taken back. After many iterations, Newton's method on all items together takes over
(`trust_region`).
"""

from __future__ import annotations

from math import inf

from ogive.irt.estimation.acceleration import NEAR, NewtonStep, StepController, propose
from ogive.irt.estimation.multistart import has_local_maxima, restart_items
from ogive.irt.estimation.objective import Problem, Solution
from ogive.irt.estimation.trust_region import maximize_by_trust_region
from ogive.irt.quadrature import Nodes
from ogive.stats.array_backend import Array

CHECK_EVERY = 8  # iterations between looks at the nodes and at other maxima of items
# Switch to double precision once the Newton decrement falls to about this value (nats).
NEARLY_CONVERGED = 1e-2
PATIENCE = 40  # iterations of EM before the trust region takes over
PATIENCE_NEARBY = 8  # the same limit for a start close to an earlier solution


def maximize(
    problem: Problem,
    start: Array,
    *,
    tolerance: float,
    max_iter: int,
    near: Nodes | None = None,
) -> Solution:
    """Iterate from `start` until the Newton decrement, in nats, is at most `tolerance`.

    `near` are the nodes of an earlier solution close by.
    """
    model, coords = problem.model, start
    controller = StepController(model, problem.fixed_items)
    # A run begins in single precision, on nodes that are planned again once the end is near.
    nodes_are_provisional = near is None
    data, nodes = problem.first_nodes(start) if near is None else (problem.data, near)
    patience = PATIENCE if near is None else PATIENCE_NEARBY
    step: NewtonStep | None = None
    last_decrement = inf

    for iteration in range(1, max_iter + 1):
        # 1. E-step: the objective and its gradient at `coords`.
        iterate = problem.evaluate(data, coords, nodes)

        # 2. Take back a step that loses. If even short steps lose, rounding errors are all that
        #    is left: continue in double precision, or with the trust region.
        if step is not None and step.iterate.gain(iterate) < -step.iterate.rounding(data):
            problem.report(iteration, step.iterate, step.decrement)
            shorter = controller.backtrack(step)
            if shorter is not None:
                coords = shorter
            elif data is not problem.data:
                data, coords, step = problem.data, step.coords, None
            else:
                return maximize_by_trust_region(
                    problem, step.iterate, nodes, iteration, tolerance=tolerance, max_iter=max_iter
                )
            continue

        # 3. M-step of every item, and a Newton step along the scale.
        step = propose(problem, data, iterate)
        problem.report(iteration, iterate, step.decrement)
        growing = step.decrement > last_decrement

        # 4. Stop if the gain that the step promises is below the tolerance, on suitable nodes
        #    and in double precision.
        converged = step.decrement <= tolerance and data is problem.data
        too_coarse = (
            iteration % CHECK_EVERY == 0
            and step.decrement > NEAR
            and problem.nodes_too_coarse(coords, nodes)
        )
        near_the_end = nodes_are_provisional and (growing or _is_near(step, NEAR))
        if converged or too_coarse or near_the_end:
            nodes_are_provisional = False
            replanned = problem.replan_nodes(iterate, nodes)
            if replanned is not nodes:  # values on the old nodes do not compare
                nodes, coords = replanned, controller.plain_step(step)
                step, last_decrement = None, inf
                controller.reset()
                continue
            if converged:
                return problem.solution(iterate, nodes, iteration, step.decrement, converged=True)

        # 5. Hand over to the trust region if EM is slow.
        if iteration >= patience and problem.fixed_items is None:
            return maximize_by_trust_region(
                problem, iterate, nodes, iteration, tolerance=tolerance, max_iter=max_iter
            )

        # 6. Restart items that have a higher maximum elsewhere; else accelerate (Anderson).
        tables = iterate.expectation.tables
        if iteration % CHECK_EVERY == 0 and tables is not None and has_local_maxima(model):
            correction = iterate.prior_grad_correction
            coords, _ = restart_items(model, coords, tables, correction, problem.run)
            controller.reset()
        else:
            coords = controller.advance(step)
        if data is not problem.data and (growing or _is_near(step, NEARLY_CONVERGED)):
            data, last_decrement, step = problem.data, step.decrement, None
        else:
            last_decrement = step.decrement

    # The iteration limit is reached: report the decrement in double precision.
    if step is None or data is not problem.data:
        coords = coords if step is None else step.coords
        step = propose(problem, problem.data, problem.evaluate(problem.data, coords, nodes))
    return problem.solution(step.iterate, nodes, max_iter, step.decrement, converged=False)


def _is_near(step: NewtonStep, gain: float) -> bool:
    """Return True if little more than `gain` is left, in proportion to the number of parameters."""
    n_items, width = step.coords.shape
    return step.decrement < gain * (1 + 1e-3 * int(n_items * width))
