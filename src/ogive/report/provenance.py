"""Which Ogive made a page, and how somebody else gets the same one.

A version alone does not say it: it may be on no index, and between releases it names many states
of the code. So a recipe names the commit where there is one, else the file that was installed, and
the versions of all requirements.
"""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any

import ogive

NAME = "ogive"
SECONDS = 5  # that git may take
_COMMIT = re.compile(r"[0-9a-f]{40,64}")


def install_lines() -> list[str]:
    """Return shell lines that install this Ogive, with the requirements it has now.

    They need a copy of the repository where the code was taken from one.
    """
    pins = " ".join(f'"{name}=={number}"' for name, number in requirements())
    before, what = _source()
    return [f"# Python {platform.python_version()}", *before, f"pip install {what} {pins}".strip()]


def requirements() -> list[tuple[str, str]]:
    """Return the packages that Ogive needs, without extras, and their versions here."""
    try:
        needed = distribution(NAME).requires or []
    except PackageNotFoundError:
        return []
    found = []
    for line in needed:
        name = re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0]
        if "extra ==" in line:
            continue
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:  # a requirement of another platform
            continue
    return found


def commit() -> str:
    """Return the commit of the running code, empty where it is not known."""
    root = _repository()
    return _git(root, "rev-parse", "HEAD") if root is not None else _of_url().get("commit_id", "")


def _source() -> tuple[list[str], str]:
    """Return lines to run before, and what pip installs."""
    root = _repository()
    if root is not None and _COMMIT.fullmatch(known := commit()):
        changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", "src")
        more = "; its code was changed after that commit" if changed else ""
        return [f"git checkout {known}  # in a copy of Ogive's repository{more}"], "."
    origin = _direct_url()
    if _COMMIT.fullmatch(known := _of_url().get("commit_id", "")):
        return [], f'"{NAME} @ git+{origin["url"]}@{known}"'
    if "archive_info" in origin:
        return [], f'"{Path(origin["url"]).name}"'
    if "dir_info" in origin:
        return [f"# in a copy of Ogive's repository, version {ogive.__version__}"], "."
    return [], f'"{NAME}=={ogive.__version__}"'


def _repository() -> Path | None:
    """Return the root of the repository that the running code lies in, if any."""
    root = Path(ogive.__file__).resolve().parents[2]
    return root if (root / ".git").exists() and (root / "pyproject.toml").exists() else None


def _of_url() -> dict[str, Any]:
    found = _direct_url().get("vcs_info")
    return found if isinstance(found, dict) else {}


def _direct_url() -> dict[str, Any]:
    """Return what pip noted of where the package came from; empty for one from an index."""
    try:
        noted = distribution(NAME).read_text("direct_url.json")
        found = json.loads(noted) if noted else {}
    except (PackageNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("url"), str) else {}


def _git(root: Path, *words: str) -> str:
    """Return what git says, empty where there is no git or no answer."""
    program = shutil.which("git")
    if program is None:
        return ""
    try:
        done = subprocess.run(
            [program, "-C", str(root), *words],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
