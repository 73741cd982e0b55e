"""The gate over HTTP: which rows the model may decide, and which go to a person."""

from __future__ import annotations

from itemwise.serving.application import make_app
from itemwise.serving.contract import Gate, RequestLimits
from itemwise.serving.server import serve

__all__ = ["Gate", "RequestLimits", "make_app", "serve"]
