"""Item Response Theory for machine-learning models, algorithm portfolios and language models."""

from __future__ import annotations

__version__ = "0.1.0"
