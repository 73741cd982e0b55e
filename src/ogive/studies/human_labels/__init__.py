"""A small set of human labels corrects the scores of a judge."""
