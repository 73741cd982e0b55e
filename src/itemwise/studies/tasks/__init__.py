"""Many tasks at once: a scale each, and what they share."""
