"""Short benchmarks: a few items that predict the score on all of them."""
