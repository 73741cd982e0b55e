"""The scripts, styles and templates of a page, and the policy under which its script runs."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from html import escape
from importlib.resources import files

# What every page with an explorer runs, in this order; the last one starts it.
SCRIPTS = (
    *("data.js", "numbers.js", "words.js", "tables.js", "curves.js", "chart.js", "explorer.js"),
    *("compare.js", "residuals.js", "models.js", "folds.js", "page.js"),
)


def asset(name: str) -> str:
    """Return a file of the folder `assets`."""
    return files("ogive.reporting").joinpath("assets", name).read_text("utf-8").strip()


def script_of(names: Iterable[str] = SCRIPTS) -> str:
    """Return scripts as one, in a scope of its own."""
    return "\n".join(["'use strict';", "(() => {", *map(asset, names), "})();"])


def policy_of(script: str, *more: str) -> str:
    """Return a policy under which nothing is fetched and only this script runs."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    rules = (
        "default-src 'none'",
        f"script-src 'sha256-{digest}'",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        *more,
    )
    return "; ".join(rules)


def text(value: object) -> str:
    """Return text escaped for HTML; control characters are made visible."""
    seen = "".join(
        sign if sign.isprintable() or sign in "\n\t" else "\ufffd" for sign in str(value)
    )
    return escape(seen)


def filled(template: str, values: Mapping[str, str]) -> str:
    """Return the template with every {{name}} replaced in one pass: values are not searched."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], template)
