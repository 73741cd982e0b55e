"""Other maxima of single items, by the sums of one E-step."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit

from ogive.irt.estimation.em import EM
from ogive.irt.estimation.m_step import item_values
from ogive.irt.estimation.multistart import is_loose, look_around
from ogive.irt.models import with_priors
from ogive.irt.models.logistic import ThreePL, TwoPL

BARE = with_priors(ThreePL(), None)
ABILITIES = np.linspace(-3, 3, 25)
TRUTH = np.array([[1.5, 0.3, 0.2], [-0.8, 0.5, 0.1], [2.5, -1.0, 0.25]])


def sums(coords):
    """Right responses and totals at each ability, as the curves have them without any noise."""
    totals = np.full((len(coords), ABILITIES.size), 40.0)
    rise = expit(coords[:, :1] * ABILITIES + coords[:, 1:2])
    return ABILITIES, (totals * (coords[:, 2:] + (1 - coords[:, 2:]) * rise))[None], totals


def test_an_item_at_its_highest_maximum_stays():
    given, tilt = sums(TRUTH), np.zeros((3, 3))
    found, gained = look_around(BARE, TRUTH, given, tilt)
    np.testing.assert_allclose(found, TRUTH, atol=1e-3)
    assert 0 <= gained < 1e-4


def test_items_that_lean_the_wrong_way_are_turned_and_what_they_gain_is_said():
    given, tilt = sums(TRUTH), np.zeros((3, 3))
    wrong = TRUTH * [-1.0, 1.0, 1.0]
    found, gained = look_around(BARE, wrong, given, tilt)
    before, after = (item_values(BARE, each, given, tilt) for each in (wrong, found))
    assert (after > before + 10).all()
    assert gained == pytest.approx((after - before).sum())
    assert (np.sign(found[:, 0]) == np.sign(TRUTH[:, 0])).all()


def test_only_asymptotes_without_priors_are_looked_at_again():
    assert is_loose(BARE)
    assert not is_loose(ThreePL())
    assert not is_loose(with_priors(TwoPL(), None))


def test_looking_goes_on_until_nothing_is_gained(monkeypatch):
    gains = [3.0, 0.5, 0.0]
    task = SimpleNamespace(
        held=None, by_chance=False, second_look=lambda found: (found.iterations, gains.pop(0))
    )
    begun = []

    def ascend(_, __, begin, before, near):
        begun.append((begin, before))
        return SimpleNamespace(iterations=before + 4, nodes=near)

    monkeypatch.setattr(EM, "_ascend", ascend)
    found = EM()._look_again(task, SimpleNamespace(iterations=10, nodes=None))
    assert begun == [(10, 10), (14, 14)]
    assert found.iterations == 18
    assert not gains
