"""Make the report of the first page of the documentation, and a picture of its top.

Forty classifiers read 200 handwritten digits. Needs playwright, and a Chromium that it finds or
that the environment variable CHROMIUM names.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import ogive as og
from ogive.cli.application import app

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "images"
COLOURS = 64  # of the picture, which is small that way
SIZE = {"width": 1100, "height": 900}
FAMILIES = {
    "tree": DecisionTreeClassifier(random_state=0),
    "neighbours": KNeighborsClassifier(3),
    "naive Bayes": GaussianNB(var_smoothing=1e-3),
    "logistic": LogisticRegression(max_iter=1000),
    "support vectors": SVC(),
}


def responses() -> og.Responses:
    """Return what forty classifiers got right."""
    X, y = load_digits(return_X_y=True)
    known, new, known_y, new_y = train_test_split(X / 16, y, test_size=200, random_state=0)
    return og.Responses.from_predictions(
        new_y,
        {
            f"{name} {rows}": model.fit(known[:rows], known_y[:rows]).predict(new)
            for rows in (30, 50, 80, 130, 200, 350, 600, 1500)
            for name, model in FAMILIES.items()
        },
    )


def main() -> None:
    """Write the report as the command line does, and photograph it in light and dark."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        scores, page = Path(folder) / "digits.csv", Path(folder) / "report.html"
        responses().save(scores)
        app(["report", str(scores), "--out", str(page), "--quiet"], standalone_mode=False)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            tab = browser.new_page(viewport=SIZE, color_scheme=scheme)
            tab.goto(page.as_uri())
            tab.wait_for_timeout(1500)
            shot = Image.open(BytesIO(tab.screenshot()))
            shot.quantize(COLOURS).save(PICTURES / f"report-{scheme}.png", optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
