"""Every model of the registry, with items of its own."""

import pytest

from itemwise.models import MODELS


@pytest.fixture(params=MODELS.values(), ids=MODELS.keys())
def model(request):
    return request.param()
