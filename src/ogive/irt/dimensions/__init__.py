"""Several abilities behind one table."""
