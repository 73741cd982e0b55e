"""Which Ogive made a page, and how somebody else installs the same one.

A version alone does not say it: it may be on no index, and between releases it names many states
of the code. So a recipe names the commit if there is one, else the file that was installed, and
the versions of all requirements.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any

import ogive
from ogive._installation import direct_url, repository

NAME = "ogive"
SECONDS = 5  # that git may take
_COMMIT = re.compile(r"[0-9a-f]{40,64}")


def install_lines() -> list[str]:
    """Return shell lines that install this Ogive, with the requirements it has now.

    They need a copy of the repository if the code was taken from one.
    """
    pins = " ".join(f'"{name}=={number}"' for name, number in requirements())
    before, what = _source()
    return [f"# Python {platform.python_version()}", *before, f"pip install {what} {pins}".strip()]


def versions() -> list[tuple[str, str]]:
    """Return the versions of Ogive, of Python and of the packages that it needs."""
    number, known = ogive.__version__, commit()
    made = f"{number}, commit {known[:12]}" if known else number
    return [("ogive", made), ("Python", platform.python_version()), *requirements()]


def requirements() -> list[tuple[str, str]]:
    """Return the packages that Ogive needs, without extras, and their versions here."""
    try:
        needed = distribution(NAME).requires or []
    except PackageNotFoundError:
        return []
    installed = []
    for line in needed:
        if "extra ==" in line:
            continue
        name = re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0]
        try:
            installed.append((name, version(name)))
        except PackageNotFoundError:  # a requirement of another platform
            continue
    return installed


def commit() -> str:
    """Return the commit of the running code, empty if it is not known."""
    root = repository()
    return _git(root, "rev-parse", "HEAD") if root is not None else _installed_commit(direct_url())


def _source() -> tuple[list[str], str]:
    """Return lines to run before, and what pip installs."""
    root, known = repository(), commit()
    if root is not None and _COMMIT.fullmatch(known):
        changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", "src")
        more = "; its code was changed after that commit" if changed else ""
        return [f"git checkout {known}  # in a copy of Ogive's repository{more}"], "."
    origin = direct_url()
    if _COMMIT.fullmatch(known := _installed_commit(origin)):
        return [], f'"{NAME} @ git+{origin["url"]}@{known}"'
    if "archive_info" in origin:
        return [], f'"{Path(origin["url"]).name}"'
    if "dir_info" in origin:
        return [f"# in a copy of Ogive's repository, version {ogive.__version__}"], "."
    return [], f'"{NAME}=={ogive.__version__}"'


def _installed_commit(origin: dict[str, Any]) -> str:
    vcs = origin.get("vcs_info")
    return vcs.get("commit_id", "") if isinstance(vcs, dict) else ""


def _git(root: Path, *words: str) -> str:
    """Return the output of git, empty if there is no git or no answer."""
    program = shutil.which("git")
    if program is None:
        return ""
    command = [program, "-C", str(root), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
