"""Predict the difficulty of items, and what follows from it."""
