"""Algorithms as items, problems as respondents (AIRT), and the choice among algorithms."""
