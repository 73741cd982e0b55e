"""Print modules and lines by room, and fail above the budget in pyproject.toml.

Counted are physical lines of .py, .js, .ts, .css and .html files.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENDINGS = {".py", ".js", ".ts", ".css", ".html"}


def main() -> int:
    """Compare the tree with its budget."""
    budget = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["ogive"]["size"]
    source = ROOT / "src" / "ogive"
    modules, lines = Counter[str](), Counter[str]()
    for path in files(source):
        inside = path.relative_to(source).parts
        room = inside[0] if len(inside) > 1 else "(top level)"
        modules[room] += path.suffix == ".py"
        lines[room] += count_lines(path)
    for room in sorted(lines):
        print(f"{room:14}{modules[room]:6,}{lines[room]:9,}")
    sizes = {
        "modules": modules.total(),
        "lines": lines.total(),
        "test_lines": sum(map(count_lines, files(ROOT / "tests"))),
    }
    print()
    for name, size in sizes.items():
        print(
            f"{name:14}{size:9,} of {budget[name]:,}{'' if size <= budget[name] else '  TOO MUCH'}"
        )
    return int(any(size > budget[name] for name, size in sizes.items()))


def files(folder: Path) -> list[Path]:
    """Return the files that count, wherever they lie in a folder."""
    return [path for path in sorted(folder.rglob("*")) if path.suffix in ENDINGS]


def count_lines(path: Path) -> int:
    """Return the number of physical lines."""
    return len(path.read_text("utf-8").splitlines())


if __name__ == "__main__":
    raise SystemExit(main())
