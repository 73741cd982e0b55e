"""A package, so that workers import what tests define from here, whatever else is installed."""
