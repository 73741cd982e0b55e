"""New items and new versions on an old scale."""
