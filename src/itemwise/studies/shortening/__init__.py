"""Few items that predict the score on all of them."""
