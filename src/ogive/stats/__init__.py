"""Statistics that are not Item Response Theory: intervals, tests, ratings, on arrays."""
