"""Every model of the registry, and tables that everything is tried on."""

import pytest

from itemwise import simulate
from itemwise.models import MODELS


@pytest.fixture(params=MODELS, ids=MODELS)
def model_name(request):
    return request.param


@pytest.fixture(scope="session")
def small():
    """300 × 8 responses to 2PL items."""
    return simulate("2pl", 300, 8, random_state=11).responses


@pytest.fixture(scope="session")
def turned():
    """1000 × 30 responses; the odd items are reversed."""
    values = simulate("2pl", 1000, 30, random_state=5).responses.values
    values[:, 1::2] = 1 - values[:, 1::2]
    return values


@pytest.fixture(scope="session")
def gappy():
    """800 × 12 responses to 2PL items, three in ten never asked."""
    return simulate("2pl", 800, 12, missing=0.3, random_state=2).responses
