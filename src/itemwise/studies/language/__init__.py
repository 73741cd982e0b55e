"""Language models: leaderboards, items, short and adaptive benchmarks, scales that last."""
