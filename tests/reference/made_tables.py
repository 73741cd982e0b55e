"""Response tables that are the same on every machine and under every version of NumPy.

Only whole numbers decide a cell: no library's stream of random numbers and no rounding takes part.
`ask_other_programs.py` gave these tables to other programs; what they found is in
`made_tables.json`, with their names and versions.
"""

import numpy as np


def draws(seed, count):
    """Whole numbers below 10,000 of a linear congruential generator.

    x -> 1664525 x + 1013904223 modulo 2**32 (Press et al., Numerical Recipes in C, 1992, p. 284);
    the upper half of x makes the number, because the low bits of such a generator are poor.
    """
    found, x = [], seed
    for _ in range(count):
        x = (1664525 * x + 1013904223) % 2**32
        found.append((x >> 16) * 10_000 >> 16)
    return np.array(found)


def abilities(seed, n_respondents):
    """In hundredths, nearly standard normal: twelve uniform numbers less six."""
    twelve = draws(seed, 12 * n_respondents).reshape(n_respondents, 12).sum(axis=1)
    return (twelve - 60_000) // 100


def rise(ability, slope, place):
    """A share in 10,000ths that rises with ability, as the logistic curve does: half at `place`."""
    steep = slope * (ability[:, None] - place)
    return 5000 + 5000 * steep // (6000 + np.abs(steep))


def binary(seed=1, n_respondents=600):
    """Eight items; the last two are solved by chance now and then."""
    slope = np.array([60, 80, 100, 120, 150, 200, 120, 180])
    place = np.array([-100, -60, -30, 0, 20, 50, 80, 110])
    chance = rise(abilities(seed, n_respondents), slope, place)
    chance[:, 6:] += (10_000 - chance[:, 6:]) // 5
    drawn = draws(seed + 1, chance.size).reshape(chance.shape)
    return (drawn < chance).astype(int)


def grades(seed=3, n_respondents=600):
    """Five items with the grades 0 to 3."""
    slope = np.array([70, 90, 120, 150, 200])
    ability = abilities(seed, n_respondents)
    drawn = draws(seed + 1, n_respondents * 5).reshape(-1, 5)
    steps = [np.array([-110, -90, -60, -80, -70]) + 90 * k for k in range(3)]
    return sum((drawn < rise(ability, slope, step)).astype(int) for step in steps)


def shares(seed=5, n_respondents=250):
    """Six scores between 0 and 1, in 10,000ths; the last falls as the others rise."""
    ability = abilities(seed, n_respondents)
    slope, place = np.array([40, 60, 80, 100, 50, -60]), np.array([-50, 0, 30, 60, -20, 10])
    noise = np.stack([abilities(seed + k, n_respondents) for k in range(1, 7)], axis=1)
    steep = slope * (ability[:, None] - place) + 50 * noise
    return (5000 + 4900 * steep // (15_000 + np.abs(steep))) / 10_000
