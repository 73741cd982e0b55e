"""`ogive view` on a large board: time to the first picture, and of every kind of click."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import ogive as og
from common import machine, print_table

SIZES = ((200, 2_000), (2_211, 12_032))  # the second is that of a public board of language models
CLICKS = 12
MOST_MS = 600_000  # for a calibration on a busy machine
FIRST, CLICK = 2_000, 200  # milliseconds: aims

# From the event until what it changes is painted: two frames after the change.
TIMED = """({ on, act, value, place }) => new Promise((done) => {
  const target = document.querySelector(on);
  if (!target || target.disabled) return done(null); // such as the ninth row of eight
  const box = target.getBoundingClientRect();
  const at = { clientX: box.left + value[0] * box.width, clientY: box.top + value[1] * box.height };
  if (target.matches(".chart")) {
    target.dispatchEvent(new MouseEvent("mousemove", { ...at, bubbles: true }));
    if (target.style.cursor !== "pointer") return done(null); // beside all dots
  }
  const seen = new MutationObserver(() => {
    seen.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - begin)));
  });
  const all = { childList: true, subtree: true, characterData: true };
  seen.observe(document.querySelector(place), all);
  if (act !== "click") target.value = value;
  setTimeout(() => done(null), 10000);
  const begin = performance.now();
  const made = act === "click" ? new MouseEvent(act, { ...at, bubbles: true }) : new Event(act);
  target.dispatchEvent(made);
})"""

ITEM, ITEMS, MODEL = "#explorer-item", "#explorer-table tbody", "#models-one"
TASK = "#explorer-groups select"
# What is clicked: the element, the event, its values in turn, and what it changes.
ACTIONS: dict[str, tuple[str, str, list[Any], str]] = {
    "next item": ("#explorer-next", "click", [], ITEM),
    "a dot of the map": ("#explorer-chart", "click", [], ITEM),
    "an item of the table": (f"{ITEMS} tr:nth-child({{}}) button", "click", [3, 5, 7, 9], ITEM),
    "a task": (TASK, "input", ["task 3", "task 4", "", "task 5"], ITEMS),
    "a word": ("#explorer-search", "input", ["question 77.", "question 8", ""], ITEMS),
    "sort the table": ("#explorer-table th:nth-child({}) button", "click", [2, 3, 2, 3], ITEMS),
    "next rows": ("#explorer-table .pager button:last-child", "click", [], ITEMS),
    "next suspect": ("#explorer-suspect", "click", [], ITEM),
    "suspects only": ("#explorer-suspects", "input", [], "#explorer-status"),
    "another pair": ("#compare-other", "change", ["7", "900", "3", "44"], "#compare-table"),
    "items of one of the pair": ("#compare-which", "change", ["one", "other", "all"], ITEMS),
    "another model": ("#models-model", "change", ["5", "70", "1", "150"], MODEL),
}


def board(n_respondents: int, n_items: int, folder: Path) -> Path:
    """Write simulated responses with tasks and texts; 1 % of the labels are wrong."""
    drawn = og.simulate("2pl", n_respondents, n_items, random_state=1).responses
    values = np.array(drawn.values)
    values[:, ::100] = 1 - values[:, ::100]
    tasks = [f"task {k % 14}" for k in range(n_items)]
    texts = [f"Question {k}. " + "It is as long as questions are. " * 8 for k in range(n_items)]
    table = og.Responses(values, drawn.respondents, drawn.items, kind="binary")
    return table.described(items={"task": tasks, "text": texts}).save(folder / "board.parquet")


class Clicker:
    """Clicks on a page, timed by its own clock; and the processor time of its main thread."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.devtools = page.context.new_cdp_session(page)
        self.devtools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy(self) -> float:
        """Return milliseconds of processor time of the page so far."""
        found = self.devtools.send("Performance.getMetrics")["metrics"]
        return 1e3 * next(one["value"] for one in found if one["name"] == "TaskDuration")

    def click(self, name: str, k: int) -> tuple[float, float]:
        """Return milliseconds until the k-th click of a kind is seen, and of processor time."""
        on, act, values, place = ACTIONS[name]
        value = values[k % len(values)] if values else [0.3 + 0.02 * k, 0.4 + 0.01 * k]
        words = {"on": on.format(value), "act": act, "value": value, "place": place}
        if "{}" in on:
            words["value"] = [0.5, 0.5]
        if name == "suspects only":
            words["act"] = "click"
        before = self.busy()
        taken = self.page.evaluate(TIMED, words)
        return np.nan if taken is None else taken, self.busy() - before

    def all_kinds(self, names: list[str]) -> dict[str, np.ndarray]:
        """Return wall-clock and processor milliseconds of each kind of click."""
        found = {}
        for name in names:
            found[name] = np.array([self.click(name, k) for k in range(CLICKS)])
            self.page.evaluate("document.querySelector('#explorer-clear').click()")
        return found


@contextmanager
def served(path: Path) -> Iterator[str]:
    """Yield the address of `ogive view`, in a process of its own."""
    code = "from ogive.cli import main; main()"
    words = [sys.executable, "-c", code, "view", str(path), "--no-browser", "--quiet", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            said = "".join(iter(process.stdout.readline, "}\n"))  # type: ignore[union-attr]
            yield re.search(r"http://[^\"]+", said)[0]  # type: ignore[index]
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


def viewed(path: Path, browser: Any, size: str, *, wait: bool) -> None:
    """Print when what is known, and how long clicks take before and after."""
    begin = perf_counter()
    with served(path) as address:
        ready = perf_counter() - begin
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(MOST_MS)
        page.goto(address)
        page.wait_for_selector("html[data-ready=yes]")
        mark = "performance.getEntriesByName('ogive-ready')[0].startTime"
        first = page.evaluate(mark)
        print(
            f"\n{size}: read after {ready:.1f} s, first picture {first:.0f} ms after the page was"
        )
        print(f"opened (aim: {FIRST:,}).", flush=True)
        clicker = Clicker(page)
        plain = [name for name in ACTIONS if "suspect" not in name]
        told(f"Clicks while it calibrates, {size}", clicker.all_kinds(plain))
        if wait:
            page.wait_for_selector("#explorer-table th:has-text('suspect')")
            page.wait_for_selector("#live-doing:empty", state="attached")
            print(f"\nAll is known {perf_counter() - begin:.0f} s after the command.", flush=True)
            page.wait_for_timeout(2_000)
            told(f"Clicks afterwards, {size}", clicker.all_kinds(list(ACTIONS)))
        page.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="Only the smaller board.")
    parser.add_argument("--large", action="store_true", help="Only the larger board.")
    parser.add_argument("--early", action="store_true", help="Do not wait for the calibration.")
    given = parser.parse_args()
    print(f"\n## The app\n\n{machine()}; load {os.getloadavg()[0]:.1f}. Milliseconds in Chromium,")
    print(f"of {CLICKS} clicks: median, slowest, and median processor time of the page.")
    chromium = shutil.which("chromium")
    if chromium is None:
        print("There is no browser here.")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for n_respondents, n_items in SIZES[given.large : 1 if given.small else None]:
            path = board(n_respondents, n_items, Path(folder))
            viewed(path, browser, f"{n_respondents:,} × {n_items:,}", wait=not given.early)
        browser.close()


def told(title: str, clicks: dict[str, np.ndarray]) -> None:
    """Print the times of clicks, and the slowest of all."""
    rows, slowest = [], 0.0
    for name, times in clicks.items():
        wall, busy = times[np.isfinite(times[:, 0])].T
        if len(wall):
            numbers = (np.median(wall), wall.max(), np.median(busy))
            rows.append((name, *(f"{value:.0f}" for value in numbers)))
            slowest = max(slowest, wall.max())
        else:  # no click of this kind changed the page, so there was nothing to wait for
            rows.append((name, *3 * ("not timed",)))
    print_table(title, ("click", "median", "slowest", "processor"), rows)
    print(f"\nThe slowest click takes {slowest:.0f} ms (aim: {CLICK}).", flush=True)


if __name__ == "__main__":
    main()
