"""Tasks of a benchmark: one scale per task, and how they correlate."""
