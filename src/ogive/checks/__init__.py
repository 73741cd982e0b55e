"""Checks of items, respondents and calibrations: what to doubt, and what to mend."""
