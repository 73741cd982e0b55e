"""Against the figures that paper 000 prints of OpenML-CC18.

Its table 4 has the mean parameters of 60 data sets, its figure 11 their correlations. Only that of
difficulty with discrimination follows from the table: with guessing, figure 11 has -0.32 and
-0.07 where the table gives -0.37 and -0.03, more than its rounding allows.
"""

import pandas as pd
import pytest

from ogive.benchmarking.metadata import probability_by_metadata, relate_metadata

# Table 4, from the hardest data set (mfeat-morphological) to the easiest (PhishingWebsites).
DIFFICULTY_MEAN = """
1.83 1.14 0.76 0.66 0.61 0.47 0.4 0.23 0.22 0.034 -0.16 -0.22 -0.25 -0.27 -0.36 -0.37 -0.38
-0.40 -0.41 -0.43 -0.46 -0.46 -0.56 -0.57 -0.59 -0.64 -0.79 -0.99 -0.99 -1.1 -1.11 -1.27
-1.28 -1.3 -1.3 -1.32 -1.36 -1.45 -1.46 -1.49 -1.5 -1.54 -1.57 -1.58 -1.61 -1.63 -1.64 -1.69
-1.69 -1.7 -1.7 -1.73 -1.75 -1.77 -1.91 -1.94 -2.07 -2.14 -2.21 -2.70
"""
DISCRIMINATION_MEAN = """
0.967 2.24 5.44 -18.5 5.20 -1.02 -1.81 6.73 -2.27 -3.32 0.24 1.42 1.57 1.16 0.89 2.28 1.13
1.19 0.37 9.05 1.27 15.2 1.13 1.62 0.40 0.93 0.49 21.6 8.87 6.01 3.61 5.34 10.0 16.5 4.3
3.77 11.9 5.61 4.74 7.23 5.88 4.38 4.65 23.5 3.57 5.23 1.17 2.38 3.74 3.59 5.92 11.5 42.7
7.44 3.31 2.94 11.0 37.0 2.99 3.30
"""
FIGURE_11 = -0.42  # of mean difficulty and mean discrimination


@pytest.fixture(scope="module")
def printed():
    columns = {"difficulty_mean": DIFFICULTY_MEAN, "discrimination_mean": DISCRIMINATION_MEAN}
    frame = pd.DataFrame({name: map(float, text.split()) for name, text in columns.items()})
    return frame.set_axis([f"dataset {k}" for k in range(1, 61)]).rename_axis("dataset")


def test_difficulty_and_discrimination_correlate_as_in_figure_11(printed):
    found = relate_metadata(
        printed[["difficulty_mean"]], printed[["discrimination_mean"]], method="pearson"
    )
    assert found.n.item() == 60
    assert found.correlation.item() == pytest.approx(FIGURE_11, abs=0.005)  # printed to two digits


def test_bins_of_the_hardest_and_the_easiest_have_the_printed_difficulty(printed):
    """The paper's section 5.1; its mean discriminations do not follow from its table."""
    rows = pd.DataFrame({"dataset": printed.index, "respondent": "any", "true_score": 1.0})
    found = probability_by_metadata(
        printed.assign(items=1), rows, printed[["difficulty_mean"]], "difficulty_mean"
    )
    difficulty = found.summary["difficulty_mean"]
    assert found.summary["datasets"].tolist() == [10] * 6
    assert difficulty.iloc[-1] == pytest.approx(0.63, abs=0.01)  # truncated to two digits
    assert difficulty.iloc[0] == pytest.approx(-1.99, abs=0.005)
