"""Print the lowest versions that pyproject.toml allows, as constraints for pip."""

from __future__ import annotations

import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
# Younger ones warn of what the lowest typer and matplotlib call.
COMPANIONS = ["click<8.3", "pyparsing<3.3"]


def main() -> None:
    """One line a dependency: `numpy>=2.0` allows `numpy==2.0` at the lowest."""
    needs = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["dependencies"]
    print("\n".join([*(need.replace(">=", "==") for need in needs), *COMPANIONS]))


if __name__ == "__main__":
    main()
