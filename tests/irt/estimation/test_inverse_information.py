"""Inverses in blocks and whole, against dense algebra."""

import numpy as np

from ogive.irt.estimation.standard_errors import WholeInverse, alone, along, beside, structured
from ogive.irt.models.logistic import OnePL, TwoPL

RANDOM = np.random.default_rng(3)
N, WIDTH = 4, 2


def positive(*shape):
    root = np.random.default_rng(10).normal(size=(*shape, shape[-1] + 2))
    return root @ root.swapaxes(-1, -2)


OWN = np.stack([positive(WIDTH) for _ in range(N)])
WAYS = RANDOM.normal(size=(2, N, WIDTH))
FREE = np.ones((N, WIDTH), dtype=bool)
FREE[1, 0] = False


def test_items_alone_have_their_own_inverse_of_what_is_free():
    errors = alone(TwoPL(), OWN, FREE).errors()
    np.testing.assert_allclose(errors.covariances[0], np.linalg.inv(OWN[0]))
    np.testing.assert_allclose(errors.covariances[1], np.diag([0.0, 1 / OWN[1, 1, 1]]))
    assert errors.shared.shape == (0, N, WIDTH)
    shared = alone(OnePL(), OWN, FREE).errors().covariances
    np.testing.assert_allclose(shared[:, 0], 0.0)


def test_with_a_scale_it_is_the_inverse_of_all_where_items_share_nothing_else():
    """Woodbury: blocks whose information along the scale is that of the population."""
    free = np.ones((N, WIDTH), dtype=bool)
    population = positive(2)
    found = structured(TwoPL(), OWN, WAYS, population, free)
    flat = WAYS.reshape(2, -1)
    whole = np.zeros((8, 8))
    for k in range(N):
        whole[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = np.linalg.inv(OWN[k])
    known = np.einsum("kni,nij,lnj->kl", WAYS, OWN, WAYS)
    whole += flat.T @ (np.linalg.inv(population) - np.linalg.inv(known)) @ flat
    errors = found.errors()
    for k in range(N):
        own = slice(2 * k, 2 * k + 2)
        np.testing.assert_allclose(errors.covariances[k], whole[own, own], atol=1e-9)
    scores = np.random.default_rng(11).normal(size=(3, N, WIDTH))
    items, scale = found.moves(scores)
    np.testing.assert_allclose(items.reshape(3, -1), scores.reshape(3, -1) @ whole, atol=1e-9)
    np.testing.assert_allclose(scale, scores.reshape(3, -1) @ flat.T @ found.scale)
    variances = np.random.default_rng(12).uniform(0.5, 2.0, (N, WIDTH))
    inverse = np.linalg.inv(OWN)
    wanted = np.einsum("nij,nj,njk->nik", inverse, variances, inverse)
    np.testing.assert_allclose(found.moved_by(variances), wanted)


def test_beside_held_items_found_ones_move_against_the_population():
    held = np.array([True, True, False, False])
    found = np.repeat(~held[:, None], WIDTH, axis=1)
    free = np.ones((N, WIDTH), dtype=bool)
    errors = beside(OWN, WAYS, free, found, held).errors()
    known = np.einsum("kni,nij,lnj->kl", WAYS[:, held], OWN[held], WAYS[:, held])
    for k in (2, 3):
        wanted = np.linalg.inv(OWN[k]) + WAYS[:, k].T @ np.linalg.inv(known) @ WAYS[:, k]
        np.testing.assert_allclose(errors.covariances[k], wanted)
    assert not errors.covariances[:2].any()
    scores = np.zeros((1, N, WIDTH))
    scores[0, 0] = [1.0, 2.0]  # of a held item: it speaks of the population
    items, scale = beside(OWN, WAYS, free, found, held).moves(scores)
    np.testing.assert_allclose(scale[0], -np.linalg.inv(known) @ (WAYS[:, 0] @ [1.0, 2.0]))
    np.testing.assert_allclose(items[0, 2], scale[0] @ WAYS[:, 2])


def test_the_whole_inverse_moves_items_as_a_matrix_does():
    matrix, spread = positive(6), np.random.default_rng(13).normal(size=(8, 6))
    shown = spread.copy()
    shown[:2] = 0.0
    scale = positive(2)
    found = WholeInverse(matrix, spread, shown, WAYS, scale)
    errors = found.errors()
    whole = shown @ matrix @ shown.T
    for k in range(N):
        own = slice(2 * k, 2 * k + 2)
        np.testing.assert_allclose(errors.covariances[k], whole[own, own])
    scores = np.random.default_rng(14).normal(size=(3, N, WIDTH))
    items, moved = found.moves(scores)
    flat = scores.reshape(3, -1)
    np.testing.assert_allclose(items.reshape(3, -1), flat @ spread @ matrix @ shown.T)
    np.testing.assert_allclose(moved, flat @ WAYS.reshape(2, -1).T @ scale)
    variances = np.random.default_rng(15).uniform(0.5, 2.0, (N, WIDTH))
    through = spread @ matrix @ shown.T
    dense = through.T @ np.diag(variances.reshape(-1)) @ through
    for k in range(N):
        own = slice(2 * k, 2 * k + 2)
        np.testing.assert_allclose(found.moved_by(variances)[k], dense[own, own])
    roots = along(scale, WAYS)
    np.testing.assert_allclose(
        np.einsum("kni,kmj->nimj", roots, roots),
        np.einsum("kni,kl,lmj->nimj", WAYS, scale, WAYS),
        atol=1e-9,
    )
