"""One small frame for each display."""

import numpy as np
import pandas as pd
import pytest

GRID = np.linspace(-4.0, 4.0, 41)


def ranking_frame(names):
    return pd.DataFrame(
        {"ability": np.linspace(-2.0, 2.0, len(names)), "se": 0.3}, index=list(names)
    )


def curves_frame(names):
    signs = np.where(np.arange(len(names)) % 4 == 3, -1.0, 1.0)
    parts = [
        pd.DataFrame(
            {
                "item": name,
                "ability": GRID,
                "probability": 1 / (1 + np.exp(-sign * (GRID - difficulty))),
                "discrimination": sign,
            }
        )
        for name, sign, difficulty in zip(
            names, signs, np.linspace(-2.0, 2.0, len(names)), strict=True
        )
    ]
    return pd.concat(parts)


def information_frame(names):
    information = 4 * np.exp(-(GRID**2) / 4)
    test = pd.DataFrame(
        {"item": None, "ability": GRID, "information": information, "se": information**-0.5}
    )
    items = [
        pd.DataFrame({"item": name, "ability": GRID, "information": information / len(names)})
        for name in names
    ]
    return pd.concat([test, *items])


def item_map_frame(names):
    count = len(names)
    return pd.DataFrame(
        {
            "kind": ["respondent"] * count + ["item"] * count,
            "name": [*names, *names],
            "position": np.r_[np.linspace(-1, 2, count), np.linspace(-3, 3, count)],
            "se": 0.25,
        }
    )


FRAMES = {
    "ranking": ranking_frame,
    "curves": curves_frame,
    "information": information_frame,
    "item_map": item_map_frame,
}


@pytest.fixture
def frames():
    """By registry name: a function from names to a frame that the display accepts."""
    return FRAMES
