"""Items that are known already."""

import numpy as np

from ogive import TwoPL, load
from ogive.irt.banks import known_items


def test_a_bank_of_known_items_is_saved_and_loaded(tmp_path):
    bank = known_items(TwoPL(), np.array([[1.0, 0.5], [2.0, -1.0]]))
    bank.save(tmp_path / "bank.json")
    again = load(tmp_path / "bank.json")
    np.testing.assert_array_equal(again.coords, bank.coords)
    assert list(again.items["flag"]) == ["", ""]
