"""Several judges score the same responses: severity, consistency, and adjusted abilities."""
