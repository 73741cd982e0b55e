"""How this Ogive was installed, and so what to type for an extra."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

NAME = "ogive"


def install_command(extra: str) -> str:
    """Return the shell line that adds an extra to this installation.

    A copy of the repository is installed again from its folder and a wheel from its file; only
    what came from a package index is asked of an index.
    """
    origin = direct_url()
    if "archive_info" in origin:
        file = Path(unquote(urlsplit(origin["url"]).path)).name
        return f"pip install '{file}[{extra}]'"
    if "dir_info" in origin or repository() is not None:
        return f"pip install '.[{extra}]'"
    if "vcs_info" in origin:
        return f"pip install '{NAME}[{extra}] @ {origin['vcs_info'].get('vcs')}+{origin['url']}'"
    return f"pip install '{NAME}[{extra}]'"


def direct_url() -> dict[str, Any]:
    """Return what pip noted of a folder, file or repository as the source; else nothing."""
    try:
        noted = json.loads(distribution(NAME).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) and isinstance(noted.get("url"), str) else {}


def repository() -> Path | None:
    """Return the root of the repository that the running code lies in, if any."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / ".git").exists() and (root / "pyproject.toml").exists() else None
