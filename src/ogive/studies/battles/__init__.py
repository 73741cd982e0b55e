"""Which of two is preferred: strengths from comparisons in pairs, on a board."""
