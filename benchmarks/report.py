"""The report page: time to write, size, and time until it is interactive."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

import ogive as og
from common import machine, print_table
from ogive.reporting.chapters import read_benchmark
from ogive.reporting.demo import demonstrate

N_RESPONDENTS, SIZES = 200, (500, 20_000)
SHARE_TURNED = 0.02  # share of items with reversed labels, so that there are suspects
OPENINGS = 5


def questions(n_items: int) -> tuple[og.Calibration, list[object]]:
    """Return a calibration of simulated items, some with reversed labels, and its diagnostics."""
    drawn = og.simulate("2pl", N_RESPONDENTS, n_items, random_state=1).responses
    values = drawn.values.copy()
    turned = np.random.default_rng(1).choice(n_items, int(SHARE_TURNED * n_items), replace=False)
    values[:, turned] = 1 - values[:, turned]
    names = [f"task {k % 8}, question {k}" for k in range(n_items)]
    tasks = {"task": [f"task {k % 8}" for k in range(n_items)]}
    found = og.calibrate(og.Responses(values, items=names).described(items=tasks), "2pl")
    return found, [found, og.label_trouble(found)]


def interactive(path: Path) -> str:
    """Return the milliseconds from opening the file until it is interactive: median and slowest."""
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        return "no browser here"
    times = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(OPENINGS):
            page = browser.new_page()
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready]")
            entry = "performance.getEntriesByName('ogive-ready')[0].startTime"
            times.append(page.evaluate(entry))
            page.close()
        browser.close()
    return f"{np.median(times):.0f} (slowest {max(times):.0f})"


def written(name: str, results: object, folder: Path, **more: object) -> tuple[object, ...]:
    begin = perf_counter()
    path = og.write_report(folder / "report.html", results, **more)
    seconds = perf_counter() - begin
    return name, f"{seconds:.1f}", f"{path.stat().st_size / 1e6:.2f}", interactive(path)


def main() -> None:
    print(f"\n## Report\n\n{machine()}. Interactive: the median of {OPENINGS} openings.")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        og.write_report(folder / "first.html", questions(20)[0])  # imports are not timed
        rows = [
            written(f"{n:,} items × {N_RESPONDENTS} respondents", questions(n)[1], folder)
            for n in SIZES
        ]
        shown = demonstrate(folder / "answers")
        chapters = read_benchmark(shown.decoding)
        results = [chapters, shown.tour()]
        rows.append(written("the demonstration", results, folder, instances=shown.datasets))
    heads = ("report of", "written in, s", "size, MB", "interactive after, ms")
    print_table("One HTML page", heads, rows)


if __name__ == "__main__":
    main()
