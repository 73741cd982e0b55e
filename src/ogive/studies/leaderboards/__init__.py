"""Rankings with intervals, and which differences are significant."""
