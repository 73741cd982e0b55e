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


def two_abilities(seed, n_respondents):
    """In hundredths, about correlated by a half: each has a part in common and one of its own."""
    common, *own = (abilities(seed + k, n_respondents) for k in range(3))
    return [(71 * common + 71 * each) // 100 for each in own]


def two_dimensions(seed=11, n_respondents=500):
    """Ten right and wrong answers; five items for each of two abilities."""
    slope = np.array([80, 100, 120, 150, 200])
    place = np.array([-90, -40, 0, 40, 80])
    parts = [rise(ability, slope, place) for ability in two_abilities(seed, n_respondents)]
    chance = np.concatenate(parts, axis=1)
    return (draws(seed + 3, chance.size).reshape(chance.shape) < chance).astype(int)


def grades_of_two_dimensions(seed=21, n_respondents=400):
    """Eight items with the grades 0 to 2; four for each of two abilities."""
    slope = np.array([90, 120, 150, 200])
    place = np.array([-60, -20, 20, 60])
    drawn = draws(seed + 3, 8 * n_respondents).reshape(-1, 8)
    steps = []
    for step in (-60, 60):
        parts = [rise(each, slope, place + step) for each in two_abilities(seed, n_respondents)]
        steps.append(drawn < np.concatenate(parts, axis=1))
    return sum(each.astype(int) for each in steps)


def options(seed=31, n_respondents=700):
    """Six items with four options; 0 is right, and 3 is what respondents in the middle choose."""
    ability = abilities(seed, n_respondents)
    slope, place = np.array([80, 100, 120, 140, 160, 200]), np.array([-60, -30, 0, 20, 40, 60])
    right = rise(ability, slope, place)
    middle = (10_000 - right) * (3000 + 4000 * right // 10_000) // 10_000
    first = (10_000 - right - middle) * 6 // 10
    drawn = draws(seed + 1, right.size).reshape(right.shape)
    found = np.full(right.shape, 2)
    found[drawn < right + middle + first] = 1
    found[drawn < right + middle] = 3
    found[drawn < right] = 0
    return found


def grouped(seed=41, n_respondents=600):
    """Eight right and wrong answers; the second half of the respondents is better by a half."""
    ability = abilities(seed, n_respondents)
    second = (np.arange(n_respondents) >= n_respondents // 2).astype(int)
    slope = np.array([70, 80, 100, 110, 120, 150, 160, 180])
    place = np.array([-100, -60, -20, 0, 20, 40, 80, 120])
    chance = rise(ability + 50 * second, slope, place)
    return (draws(seed + 1, chance.size).reshape(chance.shape) < chance).astype(int), second


def explained(seed=51, n_respondents=400):
    """Ten right and wrong answers, and a fact on which ability depends: 0 to 9."""
    fact = draws(seed + 2, n_respondents) // 1000
    ability = 20 * fact - 90 + 80 * abilities(seed, n_respondents) // 100
    place = np.array([-120, -80, -50, -20, 0, 10, 40, 60, 90, 130])
    chance = rise(ability, np.full(10, 110), place)
    return (draws(seed + 1, chance.size).reshape(chance.shape) < chance).astype(int), fact
