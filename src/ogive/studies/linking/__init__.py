"""Linking the scales of two calibrations."""
