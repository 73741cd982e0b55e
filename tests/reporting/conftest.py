"""Reports that several tests read, and a browser to open them.

Without Chromium or Playwright, tests in a browser are skipped and say how to get them.
"""

import importlib.util
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import ogive as og
from ogive.reporting.sources import analysed

HOW = "apt-get install chromium && pip install playwright axe-playwright-python"
ATTACKS = (
    "</script><script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    "javascript:window.pwned=1",
    "{{script}} <!-- <script>",
    '"><svg onload=window.pwned=1>',
    "'onfocus=window.pwned=1 autofocus='",
    "line\u2028break\u2029 \x00\x1b[31m",
    '=HYPERLINK("http://example.org")',
)


@pytest.fixture(scope="session")
def responses():
    """30 items of three tasks, two of them with turned labels, and 60 respondents."""
    drawn = og.simulate("2pl", 60, 30, random_state=1).responses.values.copy()
    drawn[:, [10, 15]] = 1 - drawn[:, [10, 15]]
    table = og.Responses(
        drawn,
        respondents=[f"model {k}" for k in range(60)],
        items=[f"question {k}" for k in range(30)],
    )
    texts = [
        f"What is {k} and {k}? It is a longer question than would fit a cell." for k in range(30)
    ]
    return table.described(items={"task": ["sums", "words", "maps"] * 10, "text": texts})


@pytest.fixture(scope="session")
def calibration(responses):
    return og.calibrate(responses, "2pl")


@pytest.fixture(scope="session")
def report(calibration, tmp_path_factory):
    """A report of a calibration, its suspects and its respondents."""
    results = [calibration, og.label_trouble(calibration), og.respondent_fit(calibration)]
    path = tmp_path_factory.mktemp("report") / "report.html"
    return og.write_report(path, results, title="A report", date="2026-01-01", settings={"seed": 1})


@pytest.fixture(scope="session")
def answers(responses, tmp_path_factory):
    """The page that `ogive report` makes of a table of responses."""
    path = tmp_path_factory.mktemp("answers") / "report.html"
    return og.write_report(path, analysed(responses), title="scores.csv", date="2026-01-01")


@pytest.fixture(scope="session")
def hostile(calibration, tmp_path_factory):
    """A report in which every name, text and fact is an attack."""
    rng = np.random.default_rng(0)
    values = (rng.random((24, 16)) < 0.6).astype(float)
    evil = [f"{ATTACKS[k % len(ATTACKS)]} {k}" for k in range(24)]
    table = og.Responses(values, respondents=evil, items=evil[:16])
    table = table.described(items={"task": evil[:8] * 2, ATTACKS[0]: evil[:16]})
    found = og.calibrate(table, "2pl")
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    return og.write_report(
        path,
        {ATTACKS[0]: found, ATTACKS[1]: og.label_trouble(found)},
        title=ATTACKS[0],
        instances=dict(zip(evil[:16], evil[:16], strict=True)),
        settings={ATTACKS[1]: ATTACKS[0]},
        command=ATTACKS[0],
        code=ATTACKS[1],
        date=ATTACKS[1],
    )


@pytest.fixture(scope="module")  # while Playwright runs, so does an event loop: others need theirs
def chromium():
    """Debian's browser, or that which OGIVE_CHROMIUM names."""
    names = ("chromium", "chromium-browser", "google-chrome")
    path = os.environ.get("OGIVE_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip(f"needs Chromium: {HOW}")
    browsers = pytest.importorskip("playwright.sync_api", reason=f"needs Playwright: {HOW}")
    with browsers.sync_playwright() as playwright:
        # The sandbox of Chromium needs rights that containers do not give; pages here are our own.
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """A page that was opened, and everything it complained about or asked for."""

    def __init__(self, chromium, path, *, folded=False, at="", **settings):
        wide = {"viewport": {"width": 1300, "height": 900}}
        self.context = chromium.new_context(**wide | settings)
        self.context.set_default_timeout(5000)
        self.page, self.trouble, self.requests = self.context.new_page(), [], []
        self.page.on("console", lambda message: self.trouble.append(message.text))
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("dialog", lambda dialog: self.trouble.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        address = path.as_uri() if isinstance(path, Path) else path
        self.home = address.partition("#")[0]
        self.page.goto(f"{address}{at}")
        self.page.wait_for_selector("html[data-ready]")
        if not folded:
            self.page.evaluate("document.querySelectorAll('details').forEach((d) => d.open = true)")

    def outside(self):
        """Requests for anything but the file itself, or the server that it came from."""
        known = ("data:", "blob:", self.home)
        return [url for url in self.requests[1:] if not url.startswith(known)]


@pytest.fixture
def visit(chromium):
    visits = []

    def open_page(path, **settings):
        visits.append(Visit(chromium, path, **settings))
        return visits[-1]

    yield open_page
    for each in visits:
        each.context.close()


TURNED = """() => {
  const paper = matchMedia("print");
  window.turned = new Promise((done) => paper.addEventListener("change", done, { once: true }));
  return paper.matches ? "print" : "screen";
}"""


@pytest.fixture(scope="session")
def shown_on():
    """Shows a page on "print" or "screen", and waits until the browser has told the page so."""

    def show(page, medium):
        before = page.evaluate(TURNED)
        page.emulate_media(media=medium)
        if medium != before:
            page.evaluate("window.turned.then(() => new Promise((next) => setTimeout(next)))")

    return show


@pytest.fixture(scope="session")
def axe():
    """What axe-core finds on a page that keeps people out: rules, with where they are broken."""
    spec = importlib.util.find_spec("axe_playwright_python")
    if spec is None:
        pytest.skip(f"needs axe-core: {HOW}")
    (source,) = Path(spec.origin).parent.glob("**/axe.min.js")

    def look(page):
        page.evaluate(source.read_text("utf-8"))
        found = page.evaluate("axe.run().then((found) => found.violations)")
        return [(each["id"], [node["html"][:120] for node in each["nodes"][:3]]) for each in found]

    return look
