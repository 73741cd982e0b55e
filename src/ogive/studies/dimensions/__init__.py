"""Several dimensions: abilities of more than one kind behind one table."""
