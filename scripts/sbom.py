"""Print a bill of materials (CycloneDX 1.6) of what ogive needs, as installed here.

The same environment gives the same bytes: the number of the document follows from its content, and
its time from SOURCE_DATE_EPOCH, if that is set.
"""

from __future__ import annotations

import argparse
import json
import os
from datetime import UTC, datetime
from importlib.metadata import distribution
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from dependencies import NAME, closure, licence


def component(name: str, kind: str) -> dict[str, Any]:
    """Describe an installed package."""
    found = distribution(name)
    place = f"pkg:pypi/{name}@{found.version}"
    told: dict[str, Any] = {
        "type": kind,
        "bom-ref": place,
        "name": name,
        "version": found.version,
        "purl": place,
    }
    if stated := licence(found):
        told["licenses"] = [{"license": {"name": stated}}]
    return told


def bill(extras: tuple[str, ...]) -> dict[str, Any]:
    """Return the document: ogive, what it needs, and who needs what."""
    needs = closure(extras)
    parts = {name: component(name, "library") for name in sorted(needs)}
    refs = {name: part["bom-ref"] for name, part in parts.items()}
    document: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": parts.pop(NAME)},
        "components": list(parts.values()),
        "dependencies": [
            {"ref": refs[name], "dependsOn": sorted(refs[one] for one in needs[name])}
            for name in sorted(needs)
        ],
    }
    document["serialNumber"] = uuid5(NAMESPACE_URL, json.dumps(document)).urn
    if moment := os.environ.get("SOURCE_DATE_EPOCH"):
        document["metadata"]["timestamp"] = datetime.fromtimestamp(int(moment), UTC).isoformat()
    return document


def main() -> None:
    """Print the document; extras are those of ogive that are delivered with it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extras", default="", help="such as serve,learning")
    wanted = parser.parse_args().extras
    print(json.dumps(bill(tuple(filter(None, wanted.split(",")))), indent=2))


if __name__ == "__main__":
    main()
