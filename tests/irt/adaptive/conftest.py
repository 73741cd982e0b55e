import numpy as np
import pytest

from ogive import OnePL, ThreePL
from ogive.irt.banks import known_items


@pytest.fixture(scope="session")
def large():
    """A 3PL bank of 200 items that are known exactly."""
    model = ThreePL()
    items = model.sample(200, np.random.default_rng(3))
    return known_items(model, model.from_parameters(items), flags=((),) * 200)


@pytest.fixture(scope="session")
def ladder():
    """A Rasch bank of 41 items, with difficulties from -2 to 2 in steps of a tenth."""
    difficulty = np.linspace(-2.0, 2.0, 41)
    return known_items(OnePL(), np.column_stack([np.ones(41), -difficulty]))


@pytest.fixture(scope="session")
def take():
    """Answers a session with what a function of the item says, to its end."""

    def go(session, respond):
        while (item := session.next_item()) is not None:
            session.answer(item, respond(item))
        return session

    return go
