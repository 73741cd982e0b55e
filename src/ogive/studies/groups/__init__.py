"""Differential item functioning: items that behave differently in groups of respondents."""
