"""Print the test files next to what changed since a branch, main by default, one per line.

The tests of a module are the file that mirrors it, and files of the same folder that import it. A
changed test file stands for itself. Other changes (pages, settings) have none.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE, TESTS = Path("src/ogive"), Path("tests")


def main() -> int:
    """Print the files."""
    base = sys.argv[1] if len(sys.argv) > 1 else "main"
    print(*sorted({str(test) for path in changed(base) for test in tests_of(path)}), sep="\n")
    return 0


def changed(base: str) -> list[Path]:
    """Return files that differ from where this branch left `base`, committed or not."""
    since = git("merge-base", base, "HEAD") or ["HEAD"]
    named = [
        *git("diff", "--name-only", since[0]),
        *git("ls-files", "--others", "--exclude-standard"),
    ]
    return [Path(name) for name in named if (ROOT / name).is_file()]


def tests_of(path: Path) -> list[Path]:
    """Return the test files of one changed file."""
    if path.parts[0] == "tests" and path.name.startswith("test_"):
        return [path]
    if path.suffix != ".py" or not path.is_relative_to(SOURCE):
        return []
    room = TESTS / path.relative_to(SOURCE).parent
    mirror = room / f"test_{path.stem}.py"
    module = ".".join(path.relative_to("src").with_suffix("").parts).removesuffix(".__init__")
    naming = re.compile(rf"\b{re.escape(module)}\b")
    others = sorted(room.glob("test_*.py")) if (ROOT / room).is_dir() else []
    return [test for test in others if test == mirror or naming.search((ROOT / test).read_text())]


def git(*words: str) -> list[str]:
    """Return the lines that git prints; none where it fails."""
    command = ["git", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.split() if done.returncode == 0 else []


if __name__ == "__main__":
    raise SystemExit(main())
