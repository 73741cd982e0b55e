"""Marginal maximum likelihood: the EM loop, its steps, its errors."""
