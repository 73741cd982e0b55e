"""The plane of problems: both panels show every problem."""

import numpy as np

from ogive.results.plots import DISPLAYS


def drawn(panel):
    return np.concatenate([each.get_offsets() for each in panel.collections])


def test_both_panels_show_every_problem_and_leaders_are_counted(frames):
    frame = frames["instance_space"](["one", "two", "three"])
    display = DISPLAYS["instance_space"](frame).plot()
    hard, who = [ax for ax in display.figure_.axes if ax.get_title()]
    for panel in (hard, who):
        found = drawn(panel)
        assert sorted(map(tuple, found)) == sorted(map(tuple, frame[["x", "y"]].to_numpy()))
    assert [text.get_text() for text in who.get_legend().get_texts()] == [
        "one (7)",
        "two (7)",
        "three (7)",
    ]


def test_beyond_seven_leaders_the_rest_are_one_group(frames):
    frame = frames["instance_space"]([f"solver {k}" for k in range(12)])
    display = DISPLAYS["instance_space"](frame).plot()
    legends = [ax.get_legend() for ax in display.figure_.axes if ax.get_legend()]
    (legend,) = legends
    assert legend.get_texts()[-1].get_text().startswith("5 others")


def test_problems_that_are_all_equally_hard_are_drawn(frames):
    frame = frames["instance_space"](["one"]).assign(difficulty=0.0)
    assert DISPLAYS["instance_space"](frame).plot().figure_.axes
