"""Language models: leaderboards, plans, battles, judges, short and adaptive benchmarks."""
