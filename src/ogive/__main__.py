"""`python -m ogive` is the command line, where the command itself is not on the path."""

from __future__ import annotations

from ogive.cli import main

if __name__ == "__main__":
    main()
