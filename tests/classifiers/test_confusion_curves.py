from copy import copy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau
from sklearn import metrics

from ogive import ThreePL, calibrate, enrich_confusion, simulate
from ogive.classifiers.confusion_curves import ConfusionCurves
from ogive.classifiers.predictions import MEASURES, ranks
from ogive.errors import InputError
from ogive.results.plots.figure import Display

N_ITEMS = 40


@pytest.fixture(scope="module")
def calibration():
    items = {
        "discrimination": np.where(np.arange(N_ITEMS) % 8 == 7, -1.5, 2.0),
        "difficulty": np.linspace(-2, 2, N_ITEMS),
        "guessing": np.full(N_ITEMS, 0.1),
    }
    return calibrate(simulate("3pl", 300, items=items, random_state=0).responses, "3pl")


@pytest.fixture(scope="module")
def truth():
    return np.random.default_rng(1).integers(2, size=N_ITEMS)


@pytest.fixture(scope="module")
def guesses(truth):
    random = np.random.default_rng(2)
    return {
        name: np.where(random.random(N_ITEMS) < share, truth, 1 - truth)
        for name, share in {"good": 0.9, "fair": 0.7, "poor": 0.5}.items()
    }


@pytest.fixture(scope="module")
def curves(calibration, truth, guesses):
    return enrich_confusion(calibration, truth, guesses, n_resamples=200)


def test_the_positive_class_is_kept_by_its_name_as_settings_show_it(calibration, truth, guesses):
    """The settings of a page said 1, its place, beside cells of a class of another name."""
    named = np.array(["benign", "malignant"])
    models = {name: named[guess] for name, guess in guesses.items()}
    for label in named:
        found = enrich_confusion(calibration, named[truth], models, positive=label, n_resamples=2)
        assert found.positive == label
        cells = found.cells.set_index("name").loc["TP"]
        assert set(cells["true"]) == {label}


def test_every_item_lies_in_one_cell_of_each_model(curves, truth, guesses):
    assert isinstance(curves, ConfusionCurves)
    for model, predicted in guesses.items():
        cells = curves.cells[curves.cells["model"] == model].set_index("name")
        expected = metrics.confusion_matrix(truth, predicted)
        found = [[cells.loc["TN", "count"], cells.loc["FP", "count"]]]
        found += [[cells.loc["FN", "count"], cells.loc["TP", "count"]]]
        np.testing.assert_array_equal(found, expected)
        named = [item for names in cells["items"] for item in names]
        assert sorted(named) == sorted(curves.calibration.item_names)


def test_of_ten_equal_models_none_is_called_lower(calibration, truth):
    """By ranges of ranks over resamples, one of them was in half of the tables."""
    random, claims = np.random.default_rng(5), 0
    for _ in range(12):
        right = random.random((10, N_ITEMS)) < 0.75
        equal = {f"m{k}": np.where(row, truth, 1 - truth) for k, row in enumerate(right)}
        found = enrich_confusion(calibration, truth, equal, n_resamples=100)
        claims += (found.measures["accuracy_rank_low"] > 1).any()
    assert claims <= 2


def test_ranges_of_ranks_never_contradict_each_other_or_the_verdict(calibration, truth):
    """Over resamples, one model had ranks 1 to 1 while the range of another one included 1."""
    random = np.random.default_rng(7)
    right = random.random((8, N_ITEMS)) < np.linspace(0.5, 0.9, 8)[:, None]
    guesses = {f"m{k}": np.where(row, truth, 1 - truth) for k, row in enumerate(right)}
    found = enrich_confusion(calibration, truth, guesses, n_resamples=200)
    for name in MEASURES:
        rank, low, high = (found.measures[f"{name}_{x}"] for x in ("rank", "rank_low", "rank_high"))
        assert ((low <= rank) & (rank <= high)).all()
        for place in range(1, 9):  # as many may hold a place as there are places to be held
            assert (high <= place).sum() <= place <= (low <= place).sum()
    may = int(
        ((found.measures["accuracy_rank_low"] == 1)[found.measures["accuracy_rank"] != 1]).sum()
    )
    assert f"; {may} others may be as good" in found.meaning.partition("; by total")[0]


def test_two_items_separate_nobody(bank):
    cal = bank(discrimination=[1.0, 1.0], difficulty=[-1.0, 1.0])
    found = enrich_confusion(cal, [1, 0], {"all": [1, 0], "none": [0, 1]}, n_resamples=50)
    assert (found.measures["accuracy_rank_high"] == 2).all()


def test_figures_of_a_cell_are_those_of_its_items(curves):
    row = curves.cells.set_index(["model", "name"]).loc[("fair", "TP")]
    items = curves.items.loc[row["items"]]
    ability = curves.measures.loc["fair", "ability"]
    for name in ("discrimination", "difficulty", "guessing"):
        assert row[name] == pytest.approx(items[name].mean())
        assert row[f"{name}_se"] == pytest.approx(items[name].sem())
    assert row["share_negative"] == (items["discrimination"] < 0).mean()
    information = curves.calibration.information([ability])[row["items"]]
    assert row["information"] == pytest.approx(information.to_numpy().mean())


def test_total_scores_of_cells_sum_to_that_of_the_model(curves):
    sums = curves.cells.groupby("model")["total_score"].sum()
    np.testing.assert_allclose(sums[list(curves.models)], curves.measures["total_score_sum"])


def test_scores_follow_their_definition(curves, truth, guesses):
    """Σ P over all items; Σ P over hits less Σ (1 - P) over misses."""
    for model, predicted in guesses.items():
        row = curves.measures.loc[model]
        chance = curves.calibration.probability([row["ability"]]).to_numpy()[0]
        right = predicted == truth
        assert row["true_score_sum"] == pytest.approx(chance.sum())
        assert row["true_score"] == pytest.approx(chance.mean())
        total = chance[right].sum() - (1 - chance[~right]).sum()
        assert row["total_score_sum"] == pytest.approx(total)
        assert row["total_score"] == pytest.approx(total / N_ITEMS)


def test_a_total_score_by_hand(bank):
    """Two items of discrimination 1 at ±ln 3, one hit and one miss: by symmetry, ability 0.

    P is 3/4 on the easy item, which is a hit, and 1/4 on the hard one, a miss: the total score
    is 3/4 - (1 - 1/4) = 0, the true score 1.
    """
    cal = bank(discrimination=[1.0, 1.0], difficulty=[-np.log(3), np.log(3)])
    found = enrich_confusion(cal, [1, 0], {"m": [1, 1]}, n_resamples=1)
    assert found.ability[0] == pytest.approx(0, abs=1e-9)
    assert found.true_score[0] == pytest.approx(1)
    assert found.total_score[0] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("model", ["good", "fair", "poor"])
def test_classic_metrics_are_those_of_scikit_learn(curves, truth, guesses, model):
    row, predicted = curves.measures.loc[model], guesses[model]
    assert row["accuracy"] == pytest.approx(metrics.accuracy_score(truth, predicted))
    assert row["f1"] == pytest.approx(metrics.f1_score(truth, predicted))
    assert row["precision"] == pytest.approx(metrics.precision_score(truth, predicted))
    assert row["recall"] == pytest.approx(metrics.recall_score(truth, predicted))
    assert row["auc"] == pytest.approx(metrics.roc_auc_score(truth, predicted))
    assert row["specificity"] == pytest.approx(metrics.recall_score(truth, predicted, pos_label=0))


def test_scores_of_the_positive_class_give_the_area_under_the_curve(calibration, truth, guesses):
    random = np.random.default_rng(3)
    sure = {name: labels + random.normal(size=N_ITEMS) for name, labels in guesses.items()}
    found = enrich_confusion(calibration, truth, guesses, scores=sure, n_resamples=50)
    for name, values in sure.items():
        expected = metrics.roc_auc_score(truth, values)
        assert found.measures.loc[name, "auc"] == pytest.approx(expected)


def test_ranges_hold_the_value_and_ranks_their_range(curves):
    frame = curves.measures
    for name in MEASURES:
        assert (frame[f"{name}_low"] <= frame[name] + 1e-9).all()
        assert (frame[name] <= frame[f"{name}_high"] + 1e-9).all()
        assert frame[f"{name}_rank"].between(1, 3).all()
        assert (frame[f"{name}_rank_low"] <= frame[f"{name}_rank_high"]).all()


def test_ranges_of_accuracy_are_those_of_the_binomial(calibration):
    """Draws with replacement: the range is about 1.96 binomial standard errors each way."""
    truth = np.zeros(N_ITEMS, dtype=int)
    truth[::2] = 1
    predicted = np.where(np.arange(N_ITEMS) % 4 == 0, 1 - truth, truth)
    found = enrich_confusion(calibration, truth, {"m": predicted}, n_resamples=4000)
    row = found.measures.loc["m"]
    reach = 1.96 * np.sqrt(0.75 * 0.25 / N_ITEMS)
    assert row["accuracy_low"] == pytest.approx(0.75 - reach, abs=0.03)
    assert row["accuracy_high"] == pytest.approx(0.75 + reach, abs=0.03)


def test_ranges_are_those_of_a_plain_loop_over_drawn_tests(calibration, truth, guesses):
    """Each drawn test scored by itself: ability on a fine grid, then the sums."""
    random = np.random.default_rng(9)
    grid = np.linspace(-6, 6, 1201)
    chance = calibration.probability(grid).to_numpy()
    right = guesses["fair"] == truth
    prior = -0.5 * ((grid - calibration.population.mean) / calibration.population.sd) ** 2
    totals = []
    for _ in range(1500):
        drawn = random.integers(N_ITEMS, size=N_ITEMS)
        part = np.where(right[drawn], chance[:, drawn], 1 - chance[:, drawn])
        log_posterior = np.log(part).sum(axis=1) + prior
        weight = np.exp(log_posterior - log_posterior.max())
        ability = (weight @ grid) / weight.sum()
        p = calibration.probability([ability]).to_numpy()[0][drawn]
        totals.append((p[right[drawn]].sum() - (1 - p[~right[drawn]]).sum()) / N_ITEMS)
    found = enrich_confusion(calibration, truth, guesses, n_resamples=4000).measures.loc["fair"]
    low, high = np.quantile(totals, [0.025, 0.975])
    # A quantile of 1,500 draws is itself off by about a tenth of their deviation.
    assert found["total_score_low"] == pytest.approx(low, abs=0.25 * np.std(totals))
    assert found["total_score_high"] == pytest.approx(high, abs=0.25 * np.std(totals))


def test_draws_without_a_class_do_not_count_against_a_perfect_model(calibration):
    truth = np.zeros(N_ITEMS, dtype=int)
    truth[:2] = 1  # one draw in eight holds none of them
    row = enrich_confusion(calibration, truth, {"m": truth}).measures.loc["m"]
    assert row[["recall_low", "f1_low", "auc_low", "precision_low"]].tolist() == [1, 1, 1, 1]


def test_a_class_that_the_filter_removes_has_no_metrics_and_a_note(calibration):
    negative = (calibration.items["discrimination"] < 0).to_numpy()
    truth = negative.astype(int)
    filtered = enrich_confusion(calibration, truth, {"m": truth}).without_negative()
    row = filtered.measures.loc["m"]
    assert np.isnan(row[["recall", "f1", "auc"]].to_numpy(float)).all()
    assert row["accuracy"] == 1
    assert any(note.startswith("No item belongs to class 1") for note in filtered.notes)


def test_measures_that_rank_alike_agree(curves):
    frame = curves.agreement().set_index(["measure", "other"])
    assert len(frame) == 28
    row = frame.loc[("accuracy", "total_score")]
    assert row["low"] <= row["kendall"] <= row["high"]
    values = curves.measures[["accuracy", "recall"]]
    expected = kendalltau(values["accuracy"], values["recall"]).statistic
    assert frame.loc[("accuracy", "recall"), "kendall"] == pytest.approx(expected)


def test_two_rankings_of_two_models_say_nothing_about_agreement(calibration, truth, guesses):
    two = dict(list(guesses.items())[:2])
    found = enrich_confusion(calibration, truth, two, n_resamples=10)
    assert "agreement" not in found.tables()
    assert "agreement" not in found.page_tables()


def test_whoever_may_rank_first_may_be_as_good(curves):
    for name in ("accuracy", "total_score"):
        ranks = curves.measures[[f"{name}_rank", f"{name}_rank_low"]].to_numpy()
        may = int(((ranks[:, 0] != 1) & (ranks[:, 1] == 1)).sum())
        said = curves._leaders(name)
        told = int(said.split("; ")[1].split(" other")[0]) if "; " in said else 0
        assert told == may


def test_constant_items_have_no_colour_and_no_share(truth):
    cells = simulate("2pl", 100, N_ITEMS, random_state=0).responses.to_frame().to_numpy(copy=True)
    cells[:, :10] = 1
    found = enrich_confusion(calibrate(cells, "2pl"), truth, {"m": truth}, n_resamples=10)
    frame = found.curves_of()
    assert frame[frame["item"] == "item_3"]["discrimination"].isna().all()
    assert found.cells["informative"].sum() == N_ITEMS - 10
    assert found.cells["count"].sum() == N_ITEMS


def test_same_seed_same_ranges(calibration, truth, guesses, curves):
    again = enrich_confusion(calibration, truth, guesses, n_resamples=200)
    pd.testing.assert_frame_equal(again.measures, curves.measures)
    other = enrich_confusion(calibration, truth, guesses, n_resamples=200, random_state=1)
    assert (other.measures["accuracy"] == curves.measures["accuracy"]).all()
    assert not other.measures["total_score_low"].equals(curves.measures["total_score_low"])


def test_without_negative_items_they_are_gone_from_every_part(curves):
    filtered = curves.without_negative()
    negative = curves.items.index[curves.items["discrimination"] < 0]
    assert len(negative) >= 3
    assert list(filtered.items.index) == [n for n in curves.items.index if n not in set(negative)]
    assert (filtered.cells["share_negative"].dropna() == 0).all()
    kept = ~curves.items.index.isin(list(negative))
    right = curves.predictions.right[:, kept]
    np.testing.assert_allclose(filtered.measures["accuracy"], right.mean(axis=1))


def test_items_chosen_by_responses_separate_no_equal_models():
    """Ten equal models of the pool: four were called lower than the first on the items left."""
    random = np.random.default_rng(12)
    truth = random.integers(0, 2, 150)
    right = random.random((40, 150)) < random.beta(4, 1.5, 150)
    bank = calibrate(right.astype(float), "2pl")
    equal = {f"m{k}": np.where(right[k], truth, 1 - truth) for k in range(10)}
    filtered = enrich_confusion(bank, truth, equal, n_resamples=50).without_negative()
    for found in (filtered, filtered.one_vs_rest(1)):
        assert " leads " not in found.meaning
        assert "significantly" not in found.meaning
        assert "not tested here, for the items were chosen by who got them wrong" in found.meaning


def test_errors_that_all_lie_on_negative_items_leave_a_perfect_model(calibration, truth):
    """As in table 3 of the paper: such a model reaches 1 in every classic metric."""
    negative = (calibration.items["discrimination"] < 0).to_numpy()
    predicted = np.where(negative, 1 - truth, truth)
    found = enrich_confusion(calibration, truth, {"m": predicted}, n_resamples=20)
    assert found.measures.loc["m", "accuracy"] < 1
    row = found.without_negative().measures.loc["m"]
    assert (row[["accuracy", "f1", "precision", "recall", "auc", "specificity"]] == 1).all()


@pytest.fixture(scope="module")
def three(calibration):
    random = np.random.default_rng(5)
    truth = np.array(["ant", "bee", "cat"])[random.integers(3, size=N_ITEMS)]
    predicted = np.where(random.random(N_ITEMS) < 0.7, truth, "bee")
    return enrich_confusion(calibration, truth, {"m": predicted}, n_resamples=50), truth, predicted


def test_three_classes_have_nine_cells_and_macro_metrics(three):
    found, truth, predicted = three
    assert len(found.cells) == 9
    assert set(found.cells["name"]) == {"right", "wrong"}
    row = found.measures.loc["m"]
    for name, score in {"f1": metrics.f1_score, "recall": metrics.recall_score}.items():
        assert row[name] == pytest.approx(score(truth, predicted, average="macro"))


def test_one_class_against_the_rest_is_a_matrix_of_two(three):
    found, truth, predicted = three
    bees = found.one_vs_rest("bee")
    cells = bees.cells.set_index("name")["count"]
    assert cells["TP"] == ((truth == "bee") & (predicted == "bee")).sum()
    assert cells["FP"] == ((truth != "bee") & (predicted == "bee")).sum()
    recall = metrics.recall_score(truth == "bee", predicted == "bee")
    assert bees.measures.loc["m", "recall"] == pytest.approx(recall)
    # Being right is still about all classes, so that ability and scores are the same.
    assert bees.ability[0] == found.ability[0]
    assert bees.cells["total_score"].sum() == pytest.approx(found.total_score[0])


def test_the_filter_and_one_class_may_come_in_any_order(three):
    found, _, _ = three
    one = found.one_vs_rest("bee").without_negative()
    other = found.without_negative().one_vs_rest("bee")
    pd.testing.assert_frame_equal(one.measures, other.measures)


def test_one_class_takes_scores_of_its_own(three):
    found, truth, predicted = three
    sure = (predicted == "bee") + np.linspace(0, 0.5, N_ITEMS)
    bees = found.one_vs_rest("bee", scores={"m": sure})
    expected = metrics.roc_auc_score(truth == "bee", sure)
    assert bees.measures.loc["m", "auc"] == pytest.approx(expected)


def test_labels_may_be_named_by_item_in_any_order(calibration, truth, guesses, curves):
    names = list(calibration.item_names)
    shuffled = pd.Series(truth, index=names).sample(frac=1, random_state=0)
    frame = pd.DataFrame(guesses, index=names).sample(frac=1, random_state=1)
    found = enrich_confusion(calibration, shuffled, frame, n_resamples=200)
    pd.testing.assert_frame_equal(found.measures, curves.measures)


def test_a_reversed_series_is_read_by_its_index(calibration, truth, guesses):
    table = calibration.responses.to_frame().set_axis([str(k) for k in range(N_ITEMS)], axis=1)
    backwards = pd.Series(guesses["fair"])[::-1]
    found = enrich_confusion(calibrate(table, "2pl"), truth, {"m": backwards}, n_resamples=5)
    assert found.measures.loc["m", "accuracy"] == np.mean(guesses["fair"] == truth)


def test_all_who_share_the_lead_are_counted(calibration, truth):
    found = enrich_confusion(calibration, truth, {f"m{k}": truth for k in range(5)}, n_resamples=5)
    assert "5 models (m0, m1, m2, ...) lead (1.000)" in found.meaning


def test_the_positive_class_may_be_chosen(calibration, truth, guesses, curves):
    other = enrich_confusion(calibration, truth, guesses, positive=0, n_resamples=20)
    np.testing.assert_allclose(other.measures["recall"], curves.measures["specificity"])
    np.testing.assert_allclose(other.measures["total_score"], curves.measures["total_score"])


def test_a_model_of_one_answer_is_noted(calibration, truth):
    found = enrich_confusion(calibration, truth, {"lazy": np.ones(N_ITEMS)}, n_resamples=10)
    note, labels = found.notes
    assert "balanced accuracy" in labels
    assert note.startswith("lazy predicts '1' for every item")
    assert found.measures.loc["lazy", "specificity"] == 0


def test_every_kind_of_figure_is_drawn(subtests, curves):
    for kind in ["cells", "scores", "histogram", "items"]:
        with subtests.test(kind=kind):
            assert isinstance(curves.plot(kind, "good"), Display)


def test_curves_of_the_figure_have_the_positive_class_first(curves):
    frame = curves.curves_of("good")
    assert list(frame["true"].cat.categories) == ["1", "0"]
    first = frame[frame["item"] == "item_1"]
    expected = curves.calibration.probability(first["ability"].to_numpy())["item_1"]
    np.testing.assert_allclose(first["expected"], expected)


def test_what_a_hurried_person_gets_wrong_is_explained(subtests, calibration, truth, guesses):
    cases = [
        ({"y_true": [0, 1]}, "y_true holds 2 labels, but there are 40 items"),
        ({"y_true": np.zeros(N_ITEMS)}, "y_true holds only the class '0'"),
        ({"y_true": [None] * N_ITEMS}, "y_true has no label for 'item_1'"),
        ({"predictions": {}}, "predictions is empty"),
        ({"predictions": {"m": [0, 1]}}, r"prediction of 'm' holds 2 labels"),
        ({"predictions": {"m": [2] * N_ITEMS}}, r"'m' for 'item_1' is '2', which is none of the c"),
        ({"predictions": {"m": [0.3] * N_ITEMS}}, r"'m' for 'item_1' is 0.3, which looks like a p"),
        ({"predictions": {"m": np.full((N_ITEMS, 2), 0.5)}}, r"'m' has the shape \(40, 2\), but"),
        ({"predictions": {"m": [np.nan] * N_ITEMS}}, "'m' has no label for 'item_1'"),
        ({"positive": "yes"}, "There is no class 'yes'. Choose one of: 0, 1"),
        ({"n_resamples": 0}, r"`n_resamples` must be .*got 0"),
        ({"scores": {"other": [0] * N_ITEMS}}, r"scores lacks 3 models \(good"),
        ({"scores": {"good": ["x"] * N_ITEMS}}, r"scores lacks 2 models"),
        ({"y_true": np.linspace(0.1, 0.9, N_ITEMS)}, "y_true for 'item_1' is 0.1, which looks"),
        ({"n_resamples": 10.5}, r"`n_resamples` must be .*got 10.5"),
        ({"predictions": {1: [0] * N_ITEMS, "1": [1] * N_ITEMS}}, "same name as text"),
    ]
    for change, told in cases:
        with subtests.test(change=change, told=told):
            given = {"y_true": truth, "predictions": guesses, **change}
            with pytest.raises(InputError, match=told):
                enrich_confusion(calibration, **given)


def test_names_that_are_not_those_of_the_calibration_are_refused(calibration, truth):
    labels = pd.Series(truth, index=[f"row_{k}" for k in range(N_ITEMS)])
    with pytest.raises(
        InputError, match=r"label for 40 items \(item_1, .*first name of its index is 'row_0'"
    ):
        enrich_confusion(calibration, labels, {"m": truth})


def test_grades_have_no_confusion_matrix(truth):
    grades = calibrate(simulate("graded", 100, 8, random_state=0).responses)
    with pytest.raises(InputError, match="needs right and wrong"):
        enrich_confusion(grades, truth[:8], {"m": truth[:8]})


def test_ranks_share_the_best_place():
    np.testing.assert_array_equal(ranks(np.array([0.5, 0.9, 0.5, 0.1])), [2, 1, 2, 4])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.1, 0.9))
def test_scores_stay_within_their_bounds(seed, share):
    """True score in [0, 1]; total score in [-1, 1] and below accuracy's room for hits."""
    random = np.random.default_rng(seed)
    items = {"discrimination": random.normal(1, 1, 15), "difficulty": random.normal(size=15)}
    model = ThreePL()
    responses = simulate(
        model, 40, items={**items, "guessing": random.uniform(0, 0.3, 15)}, random_state=seed
    ).responses
    truth = random.integers(2, size=15)
    truth[:2] = 0, 1
    predicted = np.where(random.random(15) < share, truth, 1 - truth)
    found = enrich_confusion(
        calibrate(responses, "2pl"), truth, {"m": predicted}, n_resamples=20
    ).measures.loc["m"]
    assert 0 <= found["true_score"] <= 1
    assert -1 <= found["total_score"] <= found["accuracy"]
    # One identity ties the three: total = accuracy + true score - 1.
    assert found["total_score"] == pytest.approx(found["accuracy"] + found["true_score"] - 1)


def test_items_that_all_or_none_solve_have_no_parameters_on_a_page(curves):
    """They were 0.0 ± 1.7 in the table, and 'discrimination unknown' in the figure above it."""
    flags = ["solved by all", *curves.items["flag"].iloc[1:]]
    other = copy(curves)
    vars(other)["items"] = curves.items.assign(flag=flags)
    shown = other.page_tables()["items"]
    assert np.isnan(shown["discrimination"].iloc[0])
    assert shown["difficulty"].iloc[0] == -np.inf
    assert shown["discrimination"].iloc[1:].notna().any()
