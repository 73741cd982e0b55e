"""Item Response Theory on arrays: models, estimation, scoring, banks, linking, adaptive tests."""
