"""Pools of classifiers that answer items, and the runner that resumes."""
