"""Draw the picture of the README: handwritten digits, some with a wrong label, and who is found.

The digits are those of scikit-learn; the labels are changed as in `ogive demo`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

import ogive as og
from ogive.reporting.demo import MISLABELLED, POOL, mislabelled
from ogive.results.plots.theme import STYLE, Style, apply, grid, styled

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images"
DARK = {"ink": "#E6E6E6", "faint": "#333A42", "paper": "#0D1117", "positive": "#56B4E9"}
STYLES = {"light": STYLE, "dark": styled(DARK)}
ROWS, COLUMNS = 3, 4
FARTHEST = 6.0  # difficulty beyond says "nearly nobody" or "nearly everybody", and no more


def main() -> None:
    """Decode the digits, and draw them for light and for dark pages."""
    data, changed = mislabelled(og.load_dataset(f"sklearn:{MISLABELLED}"), 0)
    decoding = og.decode_benchmark({MISLABELLED: data}, POOL, cv=0, n_jobs=-1, random_state=0)
    calibration = decoding.calibrations[MISLABELLED]
    doubts = og.label_trouble(calibration).to_frame()  # by right and wrong alone
    suspects = doubts[doubts["suspect"]]
    found = sum(name in suspects.index for name in changed)
    headline = (
        f"{len(changed)} of {len(calibration.item_names)} labels were changed on purpose; "
        f"{found} of them are among the {len(suspects)} suspects"
    )
    print(f"{calibration.responses.n_respondents} classifiers. {headline}.")
    FOLDER.mkdir(exist_ok=True)
    for name, style in STYLES.items():
        figure = Figure(figsize=(9.6, 4.4), layout="constrained", facecolor=style.paper)
        FigureCanvasAgg(figure)
        figure.suptitle(headline, color=style.ink, fontsize=12)
        left, right = figure.subfigures(1, 2, width_ratios=(1.25, 1.0))
        draw_items(left.subplots(), calibration.items, suspects.index, changed, style)
        draw_suspects(right, suspects, data, changed, style)
        figure.savefig(FOLDER / f"digits-{name}.png", dpi=110)


def draw_items(ax: Any, items: Any, suspects: Any, changed: Any, style: Style) -> None:
    """Every test digit by difficulty and discrimination."""
    apply(style, ax)
    grid(style, ax)
    ax.set_facecolor(style.paper)
    x = items["difficulty"].clip(-FARTHEST, FARTHEST)
    y = items["discrimination"]
    kinds = {
        "test digit": (~items.index.isin(suspects), style.positive, "o", 14),
        "suspect": (items.index.isin(suspects), style.negative, "o", 34),
        "label changed on purpose": (items.index.isin(changed), style.ink, "x", 46),
    }
    for name, (chosen, colour, marker, size) in kinds.items():
        lines = {"linewidth": 1.2} if marker == "x" else {"linewidth": 0, "alpha": 0.75}
        ax.scatter(x[chosen], y[chosen], s=size, c=colour, marker=marker, label=name, **lines)
    ax.axhline(0, color=style.neutral, linewidth=0.8)
    ax.set_xlabel("difficulty: how good a classifier must be")
    ax.set_ylabel("discrimination: below 0, the better ones fail")
    ax.legend(loc="upper right", frameon=False, labelcolor=style.ink, fontsize=style.font_size)


def draw_suspects(part: Any, suspects: Any, data: Any, changed: Any, style: Style) -> None:
    """Draw the strongest suspects as they look, with the label that they bear."""
    part.suptitle("The strongest suspects, and their labels", color=style.ink, fontsize=10)
    shades = LinearSegmentedColormap.from_list("ink", [style.paper, style.ink])
    axes = part.subplots(ROWS, COLUMNS).ravel()
    for ax in axes:
        ax.axis("off")
    for ax, name in zip(axes, suspects.index, strict=False):
        row = int(name.removeprefix("row_"))
        ax.imshow(np.asarray(data.features.iloc[row], float).reshape(8, 8), cmap=shades)
        colour = style.negative if name in changed else style.ink
        ax.set_title(f"“{data.target.iloc[row]}”", color=colour, fontsize=11, pad=2)


if __name__ == "__main__":
    main()
