import pytest

import itemwise as iw
from itemwise.errors import InputError

TABLE = iw.simulate("2pl", 200, 15, random_state=1).responses


def test_items_are_different_items_of_the_bank():
    bank = iw.calibrate(TABLE)
    found = iw.first_items(bank, 6)
    assert len(set(found)) == 6
    assert set(found) <= set(bank.item_names)
    assert found == iw.first_items(bank, 6)


def test_responses_serve_as_well_as_the_bank_made_of_them():
    assert iw.first_items(TABLE, 4, model="2pl") == iw.first_items(iw.calibrate(TABLE, "2pl"), 4)


def test_chance_is_that_of_the_seed():
    bank = iw.calibrate(TABLE)
    drawn = [iw.first_items(bank, 5, selector="random", random_state=seed) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize("size", [0, 2.5, "all"])
def test_a_size_that_is_no_number_of_items_is_refused(size):
    with pytest.raises(InputError, match="size"):
        iw.first_items(TABLE, size)
