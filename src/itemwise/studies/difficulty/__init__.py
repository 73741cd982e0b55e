"""Difficulty of items: learnt from features, explained, watched over."""
