"""`itemwise view` on a large board: time to the first picture, and of a click, in Chromium."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

import itemwise as iw
from common import machine, print_table

SIZES = ((200, 2_000), (2_211, 12_032))  # the second is that of a public board of language models
CLICKS = 30
MOST_MS = 300_000  # for a calibration on a busy machine
TIMED = """(id) => new Promise((done) => {
  const begin = performance.now();
  const seen = new MutationObserver(() => {
    seen.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - begin)));
  });
  seen.observe(document.getElementById(id.place), { childList: true, subtree: true });
  id.act === "click" ? document.getElementById(id.on).click() : (
    document.getElementById(id.on).value = id.value,
    document.getElementById(id.on).dispatchEvent(new Event(id.act)));
})"""


def board(n_respondents: int, n_items: int, folder: Path) -> Path:
    """Write simulated responses with tasks and texts."""
    drawn = iw.simulate("2pl", n_respondents, n_items, random_state=1).responses
    tasks = [f"task {k % 14}" for k in range(n_items)]
    texts = [f"Question {k}. " + "It is as long as questions are. " * 8 for k in range(n_items)]
    return drawn.described(items={"task": tasks, "text": texts}).save(folder / "board.parquet")


def timed(page: object, **what: object) -> float:
    found: float = page.evaluate(TIMED, what)  # type: ignore[attr-defined]
    return found


def clicks(page: object) -> str:
    """Milliseconds from a click on the next item until it is drawn: median and slowest."""
    step = {"act": "click", "on": "explorer-next", "place": "explorer-item"}
    times = [timed(page, **step) for _ in range(CLICKS)]
    return f"{np.median(times):.0f} ({max(times):.0f})"


def viewed(path: Path, browser: object) -> tuple[object, ...]:
    code = "from itemwise.cli import main; main()"
    words = [sys.executable, "-c", code, "view", str(path), "--no-browser", "--quiet", "--json"]
    begin = perf_counter()
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            said = "".join(iter(process.stdout.readline, "}\n"))  # type: ignore[union-attr]
            ready = perf_counter() - begin
            page = browser.new_page(viewport={"width": 1440, "height": 900})  # type: ignore[attr-defined]
            page.goto(re.search(r"http://[^\"]+", said)[0])  # type: ignore[index]
            page.wait_for_selector("html[data-ready=yes]", timeout=MOST_MS)
            mark = "performance.getEntriesByName('itemwise-ready')[0].startTime"
            first = page.evaluate(mark)
            while_busy = clicks(page)
            page.wait_for_selector("#explorer-suspect", timeout=MOST_MS)
            scale = perf_counter() - begin - ready
            page.wait_for_selector("#live-doing:empty", state="attached", timeout=MOST_MS)
            after = clicks(page)
            other = {"on": "compare-other", "act": "change", "value": "7", "place": "compare-table"}
            pair = timed(page, **other)
            search = {"on": "explorer-search", "act": "input", "value": "question 77."}
            words_ms = timed(page, place="explorer-table", **search)
            page.close()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)
    numbers = (f"{value:.0f}" for value in (first, pair, words_ms))
    shown, compared, found = numbers
    return f"{ready:.1f}", shown, while_busy, after, compared, found, f"{scale:.0f}"


def main() -> None:
    print(f"\n## The app\n\n{machine()}. Milliseconds in Chromium; median (slowest) of {CLICKS}.")
    chromium = shutil.which("chromium")
    if chromium is None:
        print("There is no browser here.")
        return
    from playwright.sync_api import sync_playwright

    rows = []
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for size in SIZES:
            path = board(*size, Path(folder))
            rows.append((f"{size[0]:,} × {size[1]:,}", *viewed(path, browser)))
        browser.close()
    heads = (
        "responses",
        "ready after, s",
        "first picture",
        "click while calibrating",
        "click after",
        "two models",
        "search",
        "calibrated after, s",
    )
    print_table("`itemwise view`", heads, rows)


if __name__ == "__main__":
    main()
