"""What is returned stays as it is."""

from ogive import stats


def test_records_are_frozen_and_those_of_arrays_are_equal_to_themselves_alone(records):
    records(stats)
