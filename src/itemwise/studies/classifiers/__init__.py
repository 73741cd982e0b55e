"""Classifiers on one data set: the confusion matrix opened, rankings by every measure."""
