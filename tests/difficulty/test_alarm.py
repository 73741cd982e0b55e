from itertools import product
from pathlib import Path
from runpy import run_path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import ogive as og
from ogive import performance_alarm
from ogive.errors import InputError

PERTURBATIONS = run_path(Path(__file__).parents[2] / "benchmarks/perturbations.py")
adversarial, blur, watermark = (
    PERTURBATIONS[name] for name in ("adversarial", "blur", "watermark")
)


def drawn(n=400, mean=-1.0, ability=1.0, seed=0, slope=1.0):
    random = np.random.default_rng(seed)
    difficulty = random.normal(mean, 1.0, n)
    right = random.random(n) < 1 / (1 + np.exp(slope * (difficulty - ability)))
    return pd.DataFrame({"difficulty": difficulty, "right": right})


REFERENCE = drawn(seed=1)


def test_each_situation_is_recognised(subtests):
    cases = [
        (drawn(), False, "same", "nothing changed"),
        (drawn(mean=0.3), False, "harder", "harder items, as well as expected"),
        (drawn(mean=-2.5), False, "easier", "easier items, as well as expected"),
        (drawn(ability=-2), True, "same", "adversarial: difficulty unchanged, performance drops"),
        (drawn(ability=6), True, "same", "Clever Hans: difficulty unchanged, performance too good"),
        (drawn(mean=0.3, ability=-2), True, "harder", "harder and worse than expected"),
        (drawn(mean=0.3, ability=6), True, "harder", "harder, yet better than expected"),
        (drawn(mean=-2.5, ability=-2), True, "easier", "easier, yet worse than expected"),
    ]
    for method, (new, fired, shift, situation) in product(["curve", "paper"], cases):
        with subtests.test(method=method, new=new, fired=fired, shift=shift, situation=situation):
            found = performance_alarm(REFERENCE, new, method=method)
            assert (found.fired, found.shift, found.situation) == (fired, shift, situation)
            assert found.shifted == (shift != "same")
            assert situation in found.meaning
            assert found.meaning.startswith("Alarm" if fired else "No alarm")


def test_a_shift_too_small_to_explain_a_collapse_counts_as_none():
    reference, new = drawn(30_000, seed=1), drawn(30_000, mean=-0.9, ability=-2)
    found = performance_alarm(reference, new)
    assert found.shift == "harder"
    assert abs(found.effect) < 0.2
    assert found.situation == "adversarial: difficulty hardly changed, performance drops"
    clever = performance_alarm(reference, drawn(30_000, mean=-0.9, ability=6))
    assert clever.situation == "Clever Hans: difficulty hardly changed, performance too good"


def test_another_spread_is_seen_though_the_mean_stays():
    wide = drawn(1000)
    wide["difficulty"] = 3 * (wide["difficulty"] - wide["difficulty"].mean()) - 1
    found = performance_alarm(drawn(1000, seed=1), wide[["difficulty"]])
    assert found.shift == "other"
    assert found.situation == "other items, performance unknown"


@pytest.mark.slow
@pytest.mark.parametrize(("method", "most"), [("curve", 0.05), ("paper", 0.05)])
@pytest.mark.parametrize(("sizes", "ability"), [((200, 100), 0.0), ((60, 300), 3.0)])
def test_unchanged_samples_are_met_with_silence(method, most, sizes, ability):
    spoken, runs = 0, 300
    for seed in range(runs):
        old, new = (
            drawn(n, ability=ability, seed=2 * seed + k, slope=1.5) for k, n in enumerate(sizes)
        )
        found = performance_alarm(old, new, method=method)
        spoken += found.fired or found.shifted
    assert spoken / runs <= most + 2 * np.sqrt(most * (1 - most) / runs)


def test_a_lower_rate_widens_what_is_expected():
    strict, loose = (
        performance_alarm(REFERENCE, drawn(), alpha=rate).performance for rate in (0.001, 0.2)
    )
    assert strict.low < loose.low < loose.high < strict.high
    assert strict.p == loose.p


def test_a_larger_reference_narrows_what_is_expected():
    small, large = (
        performance_alarm(drawn(n, seed=1), drawn(2000)).performance for n in (50, 5000)
    )
    assert large.high - large.low < 0.6 * (small.high - small.low)


def test_ability_is_where_the_curve_is_halfway():
    found = performance_alarm(drawn(3000, ability=0.5, slope=2.0), drawn())
    assert found.ability_low < 0.5 < found.ability_high
    assert found.ability == pytest.approx(0.5, abs=0.15)
    by_means = performance_alarm(drawn(3000, ability=0.5), drawn(), method="paper")
    difficulty, right = drawn(3000, ability=0.5).mean()
    assert by_means.ability == pytest.approx(difficulty + np.log(right / (1 - right)), abs=0.01)


def test_a_steep_curve_expects_what_the_means_miss():
    reference = drawn(3000, mean=0.0, ability=0.0, slope=4.0, seed=1)
    new = drawn(1000, mean=1.0, ability=0.0, slope=4.0, seed=3)
    assert not performance_alarm(reference, new).fired
    assert performance_alarm(reference, new, method="paper").fired


def test_a_floor_of_guessing_is_expected_at_hard_items():
    random = np.random.default_rng(0)
    parts = []
    for mean in (0.0, 3.0):
        difficulty = random.normal(mean, 1.0, 2000)
        chance = 0.25 + 0.75 / (1 + np.exp(2 * difficulty))
        parts.append((difficulty, random.random(2000) < chance))
    assert not performance_alarm(*parts, guessing=0.25).fired
    assert performance_alarm(*parts).situation == "harder, yet better than expected"


def test_without_responses_a_shift_of_difficulty_is_the_alarm():
    bare = drawn(mean=1.0)["difficulty"]
    found = performance_alarm(REFERENCE, bare)
    assert found.performance is None
    assert found.fired
    assert found.situation == "harder items, performance unknown"
    assert list(found.to_frame().index) == ["difficulty", "ability"]
    assert found.rate == 0.05
    assert not performance_alarm(REFERENCE, drawn()["difficulty"].to_numpy()).fired


def test_frames_mappings_and_pairs_say_the_same():
    new = drawn()
    frame = performance_alarm(REFERENCE, new).to_frame()
    pair = tuple(new[name].to_numpy() for name in ("difficulty", "right"))
    for other in (pair, list(pair), dict(new)):
        pd.testing.assert_frame_equal(performance_alarm(REFERENCE, other).to_frame(), frame)
    alone = performance_alarm(REFERENCE, (pair[0], None))
    assert alone.performance is None


def test_the_frame_has_a_row_a_statement():
    found = performance_alarm(REFERENCE, drawn())
    frame = found.to_frame()
    assert list(frame.columns) == ["reference", "new", "expected", "low", "high", "p"]
    row = frame.loc["performance"]
    assert row["reference"] == REFERENCE["right"].mean()
    assert row["new"] == drawn()["right"].mean()
    assert row["low"] < row["expected"] < row["high"]
    shift = frame.loc["difficulty"]
    assert shift["new"] - shift["reference"] == pytest.approx(found.difference)
    assert shift["high"] - shift["reference"] == pytest.approx(
        found.difference_high - found.difference
    )


def test_the_figure_shows_both_samples_and_the_curve(tmp_path):
    display = performance_alarm(REFERENCE, drawn(mean=1.0)).plot()
    assert set(display.frame["sample"]) == {"expected", "reference", "new"}
    assert display.frame.groupby("sample")["n"].sum()["new"] == 400
    assert display.save(tmp_path / "alarm.png").stat().st_size > 5000
    bare = performance_alarm(REFERENCE, drawn()["difficulty"]).plot().frame
    assert bare.loc[bare["sample"] == "new", "share"].isna().all()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"right": 1}, "all responses to it are right"),
        ({"right": 0}, "all responses to it are wrong"),
        ({"difficulty": 0.1}, "all its items have the same difficulty"),
    ],
)
def test_a_reference_without_a_slope_is_taken_at_slope_one(change, reason):
    found = performance_alarm(REFERENCE.assign(**change), drawn().assign(**change))
    assert not found.fired
    assert found.method == "paper"
    assert reason in found.notes[0]
    assert np.isfinite(found.to_frame().loc["performance"]).all()
    found.plot()


def test_a_constant_difficulty_that_moves_is_a_shift():
    reference = REFERENCE.assign(difficulty=0.0)
    found = performance_alarm(reference, drawn().assign(difficulty=1.0))
    assert found.shift == "harder"
    assert found.effect == np.inf


def test_items_beyond_the_reference_are_noted():
    assert (
        "400 new items of 400 lie outside" in performance_alarm(REFERENCE, drawn(mean=9)).notes[0]
    )
    assert performance_alarm(REFERENCE, drawn()).notes == ()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(10, 80), st.integers(10, 80), st.integers(-5, 4))
def test_the_range_holds_what_is_not_rare(seed, n, m, power):
    random = np.random.default_rng(seed)
    scale, bias = 10.0**power, random.random(2)
    old, new = (
        (scale * random.normal(size=k), random.random(k) < share)
        for k, share in zip((n, m), bias, strict=True)
    )
    found = performance_alarm(old, new)
    row = found.performance
    assert 0 <= row.low <= row.high <= 1
    assert (row.low <= row.new <= row.high) == (row.p > 0.025) == (not found.fired)


def test_bad_samples_are_refused(subtests):
    cases = [
        (REFERENCE[["right"]], REFERENCE, "reference needs the columns 'difficulty' and 'right'"),
        (REFERENCE[["difficulty"]], REFERENCE, "does not say where the model was right"),
        (REFERENCE, REFERENCE[:0], "new has 0 items"),
        (REFERENCE[:9], REFERENCE, "reference has 9 items, but an alarm needs at least 10"),
        (REFERENCE, REFERENCE.assign(difficulty=np.nan), "new: difficulty is nan at position 0"),
        (REFERENCE, REFERENCE.assign(difficulty=np.inf), "new: difficulty is inf"),
        (REFERENCE.assign(right=0.5), REFERENCE, "reference: right is 0.5 at position 0"),
        (REFERENCE.assign(right=np.nan), REFERENCE, "reference: right is nan"),
        (REFERENCE, ([1.0] * 10, [1] * 9), "new has 10 items, but right has 9"),
        (REFERENCE, REFERENCE.assign(difficulty="hard"), "should be numbers"),
        (REFERENCE, np.zeros((20, 3)), r"shape \(20, 3\)"),
    ]
    for reference, new, message in cases:
        with (
            subtests.test(reference=reference, new=new, message=message),
            pytest.raises(InputError, match=message),
        ):
            performance_alarm(reference, new)


def test_bad_arguments_are_refused(subtests):
    cases = [
        ({"alpha": 1.5}, "between 0 and 1"),
        ({"method": "magic"}, "one of: curve, paper"),
        ({"guessing": -0.1}, "from 0 to below 1"),
        ({"guessing": 0.2, "method": "paper"}, "has no floor"),
    ]
    for wrong, message in cases:
        with subtests.test(wrong=wrong, message=message), pytest.raises(InputError, match=message):
            performance_alarm(REFERENCE, drawn(), **wrong)


def rows(images):
    return images.reshape(len(images), -1)


@pytest.fixture(scope="module")
def digits():
    """Images to teach with, to calibrate on and to test on, in random order."""
    found = load_digits()
    order = np.random.default_rng(0).permutation(len(found.target))
    parts = np.split(order, [500, 1000])
    return [(found.images[part] / 16, found.target[part]) for part in parts]


@pytest.fixture(scope="module")
def estimate(digits):
    """Predicts difficulty from images; learnt from what a pool got right, blurred images too."""
    (taught, labels), (asked, truth), _ = digits
    pool = [
        *(KNeighborsClassifier(k) for k in (1, 5, 25, 100)),
        *(LogisticRegression(C=c, max_iter=1000) for c in (0.01, 1.0)),
        *(DecisionTreeClassifier(max_depth=d, random_state=0) for d in (4, 8)),
        GaussianNB(var_smoothing=0.1),
    ]
    parts = [asked, *(blur(asked[:200], strength) for strength in ("low", "medium", "high"))]
    items = np.concatenate(parts)
    right = np.concatenate([truth, *[truth[:200]] * 3])
    answers = [model.fit(rows(taught), labels).predict(rows(items)) == right for model in pool]
    difficulty = og.calibrate(np.array(answers, float), "1pl").items["difficulty"]
    forest = RandomForestRegressor(60, min_samples_leaf=3, max_features=0.3, random_state=0)
    forest.fit(plain(items), difficulty)
    return lambda images: forest.predict(plain(images))


def plain(images):
    return rows(np.where(images < 0.25, 0.0, images))


@pytest.fixture(scope="module")
def watched(digits):
    images, labels = digits[0]
    return LogisticRegression(max_iter=1000).fit(rows(images), labels)


@pytest.fixture(scope="module")
def held(digits, estimate):
    """An alarm for a model: half of the test images as they are, the rest changed."""
    images, labels = digits[2]

    def hold(model, change):
        old, new = slice(0, 400), slice(400, None)
        changed = change(images[new], labels[new])
        parts = [(images[old], labels[old]), (changed, labels[new])]
        return performance_alarm(
            *((estimate(seen), model.predict(rows(seen)) == truth) for seen, truth in parts)
        )

    return hold


def test_unchanged_digits_are_met_with_silence(held, watched):
    found = held(watched, lambda images, labels: images)
    assert found.situation == "nothing changed"


def test_more_blur_makes_digits_harder(held, watched):
    means = [
        held(watched, lambda images, labels, s=strength: blur(images, s)).difficulty
        for strength in ("low", "medium", "high")
    ]
    assert [row.reference for row in means] == [means[0].reference] * 3
    assert means[0].reference < means[0].new < means[1].new < means[2].new
    assert max(row.p for row in means) < 0.001


def test_adversarial_noise_fires(held, watched):
    found = held(watched, lambda images, labels: adversarial(images, labels, watched, size=0.13))
    assert found.fired
    assert found.performance.new < 0.6 < found.performance.low
    assert found.situation.startswith("adversarial")


def test_a_clever_hans_fires(held, digits):
    images, labels = digits[0]
    marked = watermark(images, labels, bright=1.0)
    marked[::2] = images[::2]
    hans = LogisticRegression(max_iter=1000).fit(rows(marked), labels)
    found = held(hans, lambda images, labels: watermark(images, labels, bright=1.0))
    assert found.fired
    assert found.situation.startswith("Clever Hans")


def test_right_and_difficulty_are_matched_by_name():
    random = np.random.default_rng(0)
    difficulty = pd.Series(random.normal(size=400), index=[f"item_{k}" for k in range(400)])
    right = (random.random(400) < 1 / (1 + np.exp(2 * difficulty))).astype(float)
    same = performance_alarm((difficulty, right), (difficulty, right))
    shuffled = right.sample(frac=1, random_state=1)
    found = performance_alarm((difficulty, shuffled), (difficulty, shuffled))
    pd.testing.assert_frame_equal(found.to_frame(), same.to_frame())


def test_a_wider_spread_of_difficulty_is_not_called_unchanged():
    random = np.random.default_rng(0)
    old, new = random.normal(size=1500), 3 * random.normal(size=1500)
    right_old = random.random(1500) < 1 / (1 + np.exp(old - 1))
    right_new = random.random(1500) < 0.2
    found = performance_alarm((old, right_old.astype(int)), (new, right_new.astype(int)))
    assert found.fired
    assert "difficulty unchanged" not in found.situation
    assert "its distribution changed" in found.meaning
