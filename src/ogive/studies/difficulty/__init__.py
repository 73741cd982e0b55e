"""Difficulty of items: estimated, predicted from features, explained and monitored."""
