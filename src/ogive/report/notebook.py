"""The item explorer of a report inside a notebook, in a frame of its own."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ogive.report.column_words import words_of_page
from ogive.report.explorer import scale_of
from ogive.report.page_assets import asset, filled, policy_of, script_of
from ogive.report.sections import as_json, columns_of

if TYPE_CHECKING:
    from ogive.calibration import Calibration

MOST_ITEMS = 5_000  # a notebook keeps what it shows, so that it grows with every display
MOST_CELLS = 5_000_000
MOST_BYTES = 400_000  # of responses; beyond, only some respondents are kept
HEIGHT = 880  # pixels


def explorer_html(calibration: Calibration) -> str:
    """Return a frame that shows the items of a calibration, or a sentence if they are too many.

    The frame holds everything that it needs: it fetches nothing, and cannot reach the notebook.
    """
    responses = calibration.responses
    n_items = len(calibration.item_names)
    if n_items > MOST_ITEMS or (responses is not None and responses.cells.size > MOST_CELLS):
        return (
            f"<p>{n_items:,} items are too many to be explored here: <code>write_report</code> "
            "makes a page of them, <code>ogive view</code> an app.</p>"
        )
    scale = scale_of("items", calibration, responses, most_bytes=MOST_BYTES)
    table = {"caption": "Items", "file": "items.csv", "columns": columns_of(scale.items)}
    script = script_of()
    values = {
        "policy": policy_of(script),
        "style": f"{asset('page.css')}\n{asset('view.css')}",
        "explorer": asset("explorer.html") + asset("compare.html"),
        "data": as_json(
            {
                "tables": {"items": table},
                "scales": [{**scale.content, "table": "items"}],
                "words": words_of_page(scale.items.columns),
            }
        ),
        "script": script,
    }
    document = escape(filled(asset("notebook.html"), values))
    return (
        '<iframe title="Item explorer" sandbox="allow-scripts allow-downloads" '
        f'height="{HEIGHT}" style="width:100%;border:1px solid #8884" srcdoc="{document}"></iframe>'
    )
