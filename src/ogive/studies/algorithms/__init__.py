"""Algorithms on problems: portfolios, and which algorithm to run on a problem."""
