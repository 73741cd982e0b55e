"""Evaluating a model item by item, and what that would have saved."""
