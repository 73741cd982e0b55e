"""Every model of the registry: as it is made, and in the shape of the items that it samples."""

import numpy as np
import pytest

from ogive.irt.models import MODELS

N_ITEMS = 5


@pytest.fixture(params=MODELS.values(), ids=MODELS.keys())
def bare(request):
    """A model that has seen no items."""
    return request.param()


@pytest.fixture
def model(bare):
    """A model in the shape of five items that it samples."""
    return with_items(bare)


@pytest.fixture
def bares():
    """Every model, having seen no items."""
    return [model() for model in MODELS.values()]


@pytest.fixture
def models(bares):
    """Every model in the shape of five items that it samples."""
    return [with_items(bare) for bare in bares]


def with_items(bare):
    return bare.shaped(bare.sample(N_ITEMS, np.random.default_rng(0)))
