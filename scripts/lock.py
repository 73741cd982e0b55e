"""Write the versions of this environment to constraints.txt, with which `make` installs.

They are those with which the tests passed: install the newest (make clean, make test LOCK=), and
when all is well, `make lock`. Exact versions, not hashes: one file then serves every system and
Python, and a wheel of one of them is not refused by another.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from dependencies import NAME, closure

LOCK = Path(__file__).resolve().parents[1] / "constraints.txt"
HEAD = "# Made by `make lock`; the versions with which the tests passed.\n"


def main() -> None:
    """One line per package, in the order of their names."""
    names = sorted(set(closure()) - {NAME})
    LOCK.write_text(HEAD + "".join(f"{name}=={version(name)}\n" for name in names))
    print(f"{len(names)} versions in {LOCK.name}")


if __name__ == "__main__":
    main()
