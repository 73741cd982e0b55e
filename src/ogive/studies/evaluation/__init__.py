"""Adaptive evaluation of a model, and replays that measure its error."""
