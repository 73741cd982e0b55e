"""Decode a benchmark: data sets, their order, the part of them that would do."""
