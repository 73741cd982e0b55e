"""Classifiers on one data set: the items behind confusion matrices, and all measures."""
