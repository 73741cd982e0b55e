import numpy as np
import pandas as pd

from ogive.results.text_table import FEW_MORE, MOST_ROWS, places_of, short, terminal_table, wrapped


def board(rows=40):
    accuracy = np.linspace(0.95, 0.3, rows)
    return pd.DataFrame(
        {
            "rank": np.arange(1, rows + 1),
            "rank_low": 1,
            "rank_high": rows,
            "accuracy": accuracy,
            "accuracy_low": accuracy - 0.041,
            "accuracy_high": accuracy + 0.041,
            "ability": np.linspace(2, -2, rows),
            "ability_se": 0.123,
            "empty": np.nan,
            "tied_with": ["a long list of names, " * 9] * rows,
        },
        index=pd.Index([f"model-{k}" for k in range(rows)], name="respondent"),
    )


def test_text_that_is_cut_ends_with_a_whole_word():
    text = "for comparison: stronger than all others"
    assert short(text, 32, words=True) == "for comparison: stronger than …"
    assert short("x" * 40, 32, words=True) == "x" * 31 + "…"
    assert short(f"a {'x' * 40}", 32, words=True) == f"a {'x' * 29}…"  # little would be left


def test_a_table_fits_every_width_and_says_what_it_leaves_out(subtests):
    frame = board()
    for width in (40, 80, 120, 200):
        with subtests.test(width=width):
            lines, missing = terminal_table(frame, width)
            assert max(map(places_of, lines)) <= width
            assert sum("model-" in line for line in lines) == MOST_ROWS
            assert missing[0] == "25 more rows"
    assert missing == ["25 more rows"]  # at 200 all columns fit; an empty one is no loss
    assert "tied_with" in terminal_table(frame, 56)[1][1]


def test_estimates_are_as_precise_as_they_are_sure():
    text = "\n".join(terminal_table(board(), 120)[0])
    assert "2.00 ± 0.12" in text
    assert "1 (1 to 40)" in text
    assert "0.950 (0.909 to 0.991)" in text
    assert "accuracy_low" not in text


def test_numbers_without_an_uncertainty_show_neither_powers_nor_noise():
    frame = pd.DataFrame({"p": [2.8e-17, 0.04], "n": [1346, 2], "share": [0.5, -1e-9]})
    text = "\n".join(terminal_table(frame, 80)[0])
    assert "<0.001" in text
    assert ">-0.001" in text
    assert "1,346" in text
    assert "e-" not in text


def test_gaps_flags_and_exact_values_have_their_own_signs():
    frame = pd.DataFrame(
        {
            "n": pd.array([1, None], dtype="Int64"),
            "guessing": [0.0, 0.25],
            "guessing_se": [0.0, np.nan],
            "sure": [True, False],
            "names": [["a", "b"], None],
        },
        index=["x", "y"],
    )
    lines, _ = terminal_table(frame, 80)
    assert lines[-2].split() == ["x", "1", "0", "yes", "a,", "b"]
    assert lines[-1].split() == ["y", "–", "0.25", "no", "–"]


def test_a_few_columns_borrow_the_standard_errors_of_the_whole_table():
    whole = board()
    lines, missing = terminal_table(whole[["ability"]].head(3), 80, whole)
    assert "2.00 ± 0.12" in lines[-3]
    assert missing[0] == "37 more rows"
    assert "ability" not in missing[1]


def test_a_few_columns_borrow_the_intervals_of_the_whole_table():
    whole = pd.DataFrame({"accuracy": [0.9], "accuracy_low": [0.8], "accuracy_high": [0.96]})
    lines, missing = terminal_table(whole[["accuracy"]], 80, whole)
    assert lines[-1].strip() == "0.900 (0.800 to 0.960)"
    assert missing == []


def test_names_of_several_levels_are_joined():
    columns = pd.MultiIndex.from_tuples([("training", ""), ("forest", "NRMSE")])
    frame = pd.DataFrame([["all items", 0.4]], index=["difficulty"], columns=columns)
    lines, _ = terminal_table(frame, 80)
    assert " ".join(" ".join(lines).split()) == "forest training NRMSE difficulty all items 0.400"


def test_wide_signs_take_two_places():
    frame = pd.DataFrame({"a": [1, 2]}, index=["模型", "model"])
    first, second = terminal_table(frame, 80)[0][1:]
    assert places_of(first) == places_of(second)
    assert short("模型模型模型", 6) == "模型…"


def test_no_rows_are_a_heading():
    lines, missing = terminal_table(board().iloc[:0], 80)
    assert "accuracy" in " ".join(lines)
    assert missing == [] or "columns" in missing[0]


def test_long_sentences_break_between_words_and_paths_stay_whole():
    path = "/a/very/long/path/" + "x" * 60
    text = wrapped(f"  - Tables: {path} and " + "some words " * 9, 60)
    assert path in text
    assert all(len(line) <= 60 or path in line for line in text.split("\n"))
    assert all(line.startswith("    ") for line in text.split("\n")[1:])


def test_errors_and_ends_without_a_name_belong_to_the_estimate_that_they_surround():
    frame = pd.DataFrame({"coefficient": [0.5], "se": [0.1], "low": [0.3], "high": [0.7]})
    assert terminal_table(frame, 80)[0][-1].strip() == "0.50 (0.30 to 0.70)"
    rating = {"rating": [2110.0], "volatility": [0.06], "low": [1996.0], "high": [2227.0]}
    lines = terminal_table(pd.DataFrame(rating), 80)[0]
    assert " ".join(lines[-1].split()) == "2,110 0.060 1,996 2,227"
    error = pd.DataFrame({"mean": [0.512], "se": [0.021]})
    assert terminal_table(error, 80)[0][-1].strip() == "0.512 ± 0.021"


def test_means_of_grades_are_headed_as_such_and_columns_keep_their_names():
    lines, missing = terminal_table(board(3), 60, accuracy="mean score")
    assert "mean" in " ".join(lines[:3])
    assert "accuracy" not in " ".join(lines)
    assert not any("mean score" in each for each in missing)


def test_a_few_more_rows_are_shown_rather_than_counted():
    for rows in (MOST_ROWS, MOST_ROWS + 1, MOST_ROWS + FEW_MORE):
        lines, missing = terminal_table(board(rows), 200)
        assert sum("model-" in line for line in lines) == rows
        assert not [each for each in missing if "row" in each]


def test_difficulties_beyond_the_scale_are_not_given_exactly_and_say_why():
    items = pd.DataFrame(
        {
            "discrimination": [0.01, 0.01, -0.02, 1.2],
            "discrimination_se": [0.1] * 4,
            "difficulty": [-485.0, 90.0, 626.0, 0.5],
            "difficulty_se": [207.0, 40.0, 186.0, 0.21],
        }
    )
    lines, _ = terminal_table(items, 80)
    text = "\n".join(lines)
    assert "485" not in text
    assert "207" not in text
    assert "< -6" in text
    assert "> 6" in text
    assert "0.50 ± 0.21" in text
    assert " ".join(text.split()).endswith("has a flat curve.")
    assert max(map(places_of, lines)) <= 80
    first = terminal_table(items.sort_values("difficulty").tail(2), 80, items)[0]
    assert "626" not in "".join(first)  # also where hardly a row shown is within the scale
    other = items.assign(difficulty=[480.0, 510, 626, 500])  # a scale of another unit
    assert "480 ± 207" in "\n".join(terminal_table(other, 80)[0])
