"""Evaluation logs of language models and of OpenML runs: one module per format."""
