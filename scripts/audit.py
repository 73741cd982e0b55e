"""Say which locked versions have known vulnerabilities (pip-audit), where the index knows any."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).resolve().parents[1] / "constraints.txt"


def main() -> None:
    """Fail where one is known; an index without advisories is said to be one."""
    words = [sys.executable, "-m", "pip_audit", "--requirement", str(LOCK), "--format", "json"]
    words += ["--no-deps", "--disable-pip", "--progress-spinner", "off"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if not done.stdout.strip():
        raise SystemExit(f"pip-audit failed:\n{done.stderr}")
    found = json.loads(done.stdout)["dependencies"]
    known = [one for one in found if "vulns" in one]
    for one in known:
        for vuln in one["vulns"]:
            fixed = ", ".join(vuln["fix_versions"]) or "no version yet"
            print(f"{one['name']} {one['version']}: {vuln['id']}, mended in {fixed}")
    if not known:
        print(f"The index here has no advisories: none of {len(found)} versions was checked.")
        return
    bad = sum(bool(one["vulns"]) for one in known)
    print(f"{len(known)} of {len(found)} versions checked; {bad} have known vulnerabilities.")
    if bad:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
