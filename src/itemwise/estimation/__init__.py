"""How items are found."""
