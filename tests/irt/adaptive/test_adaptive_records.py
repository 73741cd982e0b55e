"""What is returned stays as it is."""

from ogive.irt import adaptive


def test_records_are_frozen_and_those_of_arrays_are_equal_to_themselves_alone(records):
    records(adaptive)
