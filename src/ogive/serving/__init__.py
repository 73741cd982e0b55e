"""The gate over HTTP: which rows the model may decide, and which go to a person."""

from __future__ import annotations

from ogive.serving.application import make_app
from ogive.serving.contract import Gate, RequestLimits
from ogive.serving.server import serve

__all__ = ["Gate", "RequestLimits", "make_app", "serve"]
