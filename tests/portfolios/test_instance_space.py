"""The plane of features: planted directions are found, and noise is not taken for structure."""

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.errors import InputError


def planted(strength=1.0, seed=0, count=150):
    """Two hidden directions among six features: one makes problems hard, one says who leads."""
    random = np.random.default_rng(seed)
    features = random.normal(size=(count, 6))
    hard, kind = strength * features[:, 0], strength * features[:, 3]
    odds = np.stack([1 - hard + kind, 1 - hard - kind, 0.5 - hard], axis=1)
    odds += 0.3 * random.normal(size=odds.shape)
    names = [f"p{k}" for k in range(count)]
    table = pd.DataFrame(1 / (1 + np.exp(-odds)), index=names, columns=["left", "right", "other"])
    return table, pd.DataFrame(np.exp(features), index=names, columns=list("abcdef"))


@pytest.fixture(scope="module")
def found():
    return og.instance_space(*planted())


def test_planted_directions_are_found(found):
    frame, loadings = found.to_frame(), found.loadings.abs()
    assert set(loadings.max(axis=1).nlargest(2).index) == {"a", "d"}
    places = np.column_stack([frame[["x", "y"]], np.ones(len(frame))])
    said = places @ np.linalg.lstsq(places, frame["difficulty"], rcond=None)[0]
    assert np.corrcoef(said, frame["difficulty"])[0, 1] > 0.9
    sides = places @ np.linalg.lstsq(places, frame["leader"] == "left", rcond=None)[0]
    assert sides[frame["leader"] == "left"].mean() - sides[frame["leader"] == "right"].mean() > 0.4


def test_the_share_is_that_of_problems_left_out(found):
    assert found.explained > 0.7
    assert "of the variation of performance on problems that were left out" in found.meaning
    noise = og.instance_space(*planted(strength=0.0))
    assert noise.explained < 0.05
    assert "do not surely predict performance" in noise.meaning


def test_features_are_found_by_name_in_any_order_with_gaps_and_text(found):
    table, features = planted()
    mixed = features.sample(frac=1, random_state=1).assign(text="x", same=1.0)
    again = og.instance_space(table, mixed)
    pd.testing.assert_frame_equal(again.loadings, found.loadings)
    mixed.iloc[::7, 1] = np.nan
    mixed.iloc[0, 2] = np.inf
    assert np.isfinite(
        og.instance_space(og.portfolio(table), mixed).frame[["x", "y"]].to_numpy()
    ).all()


def test_the_plane_is_drawn_and_saved(found, tmp_path):
    assert len([ax for ax in found.plot().figure_.axes if ax.get_title()]) == 2
    assert list(found.tables()) == ["instance_space", "feature_loadings"]
    assert found.save(tmp_path / "space.html").exists()


def test_what_cannot_be_placed_is_refused(subtests):
    table, features = planted(count=40)
    cases = [
        (lambda: og.instance_space(table), "There are no features"),
        (lambda: og.instance_space(table, features[["a"]]), "1 feature of numbers that vary"),
        (lambda: og.instance_space(table, features.iloc[1:]), "There are no features for"),
        (lambda: og.instance_space(og.portfolio(table), features, cutoff=3), "its own settings"),
    ]
    for call, said in cases:
        with subtests.test(said=said), pytest.raises(InputError, match=said):
            call()
