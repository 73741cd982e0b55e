"""What items share, against whole matrices."""

import numpy as np

from ogive.irt.estimation import latent_scale as shared_errors
from ogive.irt.estimation.latent_scale import directions_of, priors_once


def blocks(n, width):
    root = np.random.default_rng(10).normal(size=(n, width, width + 1))
    return root @ root.swapaxes(1, 2)


def test_priors_along_the_scale_count_as_one_and_as_many_across_it():
    """P' S P, where P takes 1 - 1/√n of the part along the scale out, in the metric given."""
    n, width = 5, 2
    information, stiffness = blocks(n, width), np.random.default_rng(11).uniform(0.5, 2, (n, width))
    ways = np.random.default_rng(12).normal(size=(2, n, width))
    flat = ways.reshape(2, -1).T
    whole = np.zeros((10, 10))
    for k in range(n):
        whole[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = information[k]
    along = flat @ np.linalg.solve(flat.T @ whole @ flat, flat.T @ whole)
    left = np.eye(10) - (1 - n**-0.5) * along
    wanted = left.T @ np.diag(stiffness.reshape(-1)) @ left
    none = np.zeros(2, dtype=bool)
    np.testing.assert_allclose(priors_once(ways, information, stiffness, none), wanted, rtol=1e-6)
    # Along the scale, n items tell what one would.
    np.testing.assert_allclose(
        flat.T @ wanted @ flat, flat.T @ np.diag(stiffness.reshape(-1)) @ flat / n
    )
    shared = np.array([True, False])
    own = np.where(shared, 0.0, stiffness).reshape(-1)
    rest = np.diag(stiffness.reshape(-1) - own)
    np.testing.assert_allclose(
        priors_once(ways, information, stiffness, shared),
        left.T @ np.diag(own) @ left + rest,
        rtol=1e-6,
        atol=1e-9,
    )
    silent = priors_once(ways, 1e-12 * information, stiffness, none)
    np.testing.assert_array_equal(silent, np.diag(stiffness.reshape(-1)))


def test_a_direction_in_which_all_items_err_is_found_and_a_weak_one_is_not(monkeypatch):
    n, width = 6, 2
    own = blocks(n, width)
    way = np.random.default_rng(13).normal(size=(n, width))

    def cube(strength):
        found = strength**2 * np.einsum("ia,jb->iajb", way, way)
        for k in range(n):
            found[k, :, k, :] = own[k] + strength**2 * np.outer(way[k], way[k])
        return found

    strong = directions_of(cube(30.0))
    assert strong.shape[0] == 1
    # Measured in its own errors, an item has variance 1; what is beyond that is shared.
    ahead = np.abs(np.corrcoef(strong[0].reshape(-1), way.reshape(-1))[0, 1])
    assert ahead > 0.99
    assert directions_of(cube(0.0)).shape == (0, n, width)
    both = np.random.default_rng(14).normal(size=(n, width))
    two = cube(30.0) + 900 * np.einsum("ia,jb->iajb", both, both)
    assert directions_of(two).shape[0] == 2
    monkeypatch.setattr(shared_errors, "MOST_DIRECTIONS", 1)
    assert directions_of(two).shape[0] == 1
