import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.errors import InputError
from ogive.evaluation.preferences import Preferences

TRUTH = np.linspace(1.0, -1.0, 5)


def battles_of(n=600, tie=0.5, seed=0, sd=0.0, n_prompts=60, advantage=0.0):
    """A table of battles; respondents differ between prompts by `sd`."""
    random = np.random.default_rng(seed)
    first = random.integers(0, 5, n)
    second = (first + random.integers(1, 5, n)) % 5
    prompt = np.arange(n) % n_prompts
    strength = TRUTH + sd * random.normal(size=(n_prompts, 5))
    apart = strength[prompt, first] - strength[prompt, second] + advantage
    weight = np.stack([np.exp(apart / 2), np.full(n, tie), np.exp(-apart / 2)])
    ends = np.cumsum(weight / weight.sum(axis=0), axis=0)
    won = np.array(["model_a", "tie", "model_b"])[(random.random(n) > ends[:2]).sum(axis=0)]
    names = np.array([f"m{k}" for k in range(5)])
    columns = {"model_a": names[first], "model_b": names[second], "winner": won, "prompt": prompt}
    return pd.DataFrame(columns)


@pytest.fixture(scope="module")
def table():
    return battles_of()


@pytest.fixture(scope="module")
def found(table):
    return og.preferences(table)


def strengths(found):
    return found.to_frame()["strength"].sort_index().to_numpy()


def test_the_best_is_first_and_every_estimate_has_its_interval(found):
    frame = found.to_frame()
    assert isinstance(found, Preferences)
    assert frame.index[0] == "m0"
    assert frame["rank"].tolist() == [1, 2, 3, 4, 5]
    for name in ("rank", "strength", "win_rate"):
        assert (frame[f"{name}_low"] <= frame[name]).all()
        assert (frame[name] <= frame[f"{name}_high"]).all()
    assert frame["win_rate"].is_monotonic_decreasing
    assert (frame["won"] + frame["tied"] + frame["lost"] == frame["n_battles"]).all()
    assert frame["n_battles"].sum() == 2 * 600
    assert "m0 is preferred most: it would win" in found.meaning
    assert (np.abs(frame["strength"] - TRUTH) < 4 * frame["strength_se"]).all()


def test_without_ties_strengths_are_those_of_choix():
    choix = pytest.importorskip("choix", reason="choix is not installed")
    table = battles_of(tie=0.0)
    table = table.assign(winner=np.where(table["winner"] == "tie", "model_a", table["winner"]))
    won = table["winner"] == "model_a"
    winner, loser = (
        np.where(won, table[one], table[two])
        for one, two in (("model_a", "model_b"), ("model_b", "model_a"))
    )
    pairs = [(int(a[1]), int(b[1])) for a, b in zip(winner, loser, strict=True)]
    for theirs in (
        choix.ilsr_pairwise(5, pairs, max_iter=500, tol=1e-12),
        choix.opt_pairwise(5, pairs, alpha=0.0, tol=1e-12),
    ):
        assert strengths(og.preferences(table)) == pytest.approx(theirs - theirs.mean(), abs=1e-6)


def test_ties_as_half_a_win_give_the_logistic_regression_of_arenas(table):
    """Every battle counts twice, a tie once for each side; no penalty."""
    from sklearn.linear_model import LogisticRegression

    twice = pd.concat([table, table], ignore_index=True)
    again = np.arange(len(twice)) >= len(table)
    target = np.where(twice["winner"] == "tie", again, twice["winner"] == "model_a")
    names = sorted({*table["model_a"]})
    design = np.stack(
        [(twice["model_a"] == x).astype(float) - (twice["model_b"] == x) for x in names], axis=1
    )
    fitted = LogisticRegression(
        C=np.inf, fit_intercept=False, solver="newton-cg", tol=1e-12, max_iter=1000
    ).fit(design, target)
    theirs = fitted.coef_[0]
    ours = og.preferences(table, ties="half")
    assert strengths(ours) == pytest.approx(theirs - theirs.mean(), abs=1e-6)
    assert ours.tie == 0
    assert np.ptp(strengths(og.preferences(table))) > np.ptp(theirs)  # a tie is not half a win


def test_win_rates_are_means_of_davidsons_probabilities(found):
    frame = found.to_frame()
    factor = 2 * found.tie / (1 - found.tie)
    apart = frame["strength"].to_numpy()[:, None] - frame["strength"].to_numpy()
    chance = (np.exp(apart / 2) + factor / 2) / (np.exp(apart / 2) + np.exp(-apart / 2) + factor)
    expected = (chance.sum(axis=1) - 0.5) / 4
    assert frame["win_rate"].to_numpy() == pytest.approx(expected)
    pair = found.pairs.iloc[0]
    assert pair["win_rate"] == pytest.approx(chance[0, 1])
    assert pair["win_rate_low"] < pair["win_rate"] < pair["win_rate_high"]
    low, high = found.tie_interval
    assert abs(found.tie - 0.2) < high - low  # 0.5 : 1 : 1 among equals; four standard errors


def test_pairs_are_tested_by_their_joint_error_and_corrected_for_all(found):
    pairs = found.pairs
    assert len(pairs) == 10
    assert (pairs["p_adjusted"] >= pairs["p"]).all()
    assert pairs["n_battles"].sum() == 600
    sure = pairs["verdict"] == "better"
    assert (sure == (pairs["p_adjusted"] <= 0.05)).all()
    assert sure.any()
    first = pairs[(pairs["respondent"] == "m0") & (pairs["other"] == "m4")].iloc[0]
    assert abs(first["difference"] - 2.0) < 4 * first["se"]


@pytest.mark.slow
def test_intervals_hold_where_battles_of_a_prompt_are_alike():
    """Truth: what 40,000 prompts of the same kind give."""
    truth = strengths(og.preferences(battles_of(400_000, sd=1.0, seed=99, n_prompts=40_000)))
    held, naive = [], []
    for seed in range(60):
        table = battles_of(n=400, sd=1.0, seed=seed, n_prompts=20)
        for settings, where in (({}, held), ({"cluster": None}, naive)):
            frame = og.preferences(table, **settings).to_frame().sort_index()
            where.append((frame["strength_low"] < truth) & (truth < frame["strength_high"]))
    # Five strengths that sum to zero, sixty times: three standard errors are 0.042.
    assert 0.908 < np.mean(held) < 0.992
    assert np.mean(naive) < 0.9


def test_battles_of_one_prompt_count_less_than_independent_ones():
    table = battles_of(n=800, sd=1.5, n_prompts=20)
    together, alone = og.preferences(table), og.preferences(table, cluster=None)
    assert strengths(together) == pytest.approx(strengths(alone), abs=1e-9)
    wider = together.to_frame()["strength_se"] / alone.to_frame()["strength_se"]
    assert wider.mean() > 1.2
    assert any("20 in prompt" in note for note in together.notes)


def test_a_respondent_that_wins_all_is_held_by_a_prior_and_said_to_be_open(table):
    more = [("star", f"m{k % 5}", "star", 1000 + k) for k in range(10)]
    whole = pd.concat([table, pd.DataFrame(more, columns=table.columns)])
    found = og.preferences(whole)
    frame = found.to_frame()
    assert frame.index[0] == "star"
    assert frame.loc["star", "open"]
    assert not frame.drop("star")["open"].any()
    told = frame.loc["star", ["strength", "strength_high", "win_rate_high"]]
    assert np.isfinite(told.to_numpy(float)).all()
    assert frame.loc["star", "strength_se"] > 0.8
    rest = frame.drop("star")["strength"].sort_index()
    plain = og.preferences(table).to_frame()["strength"].sort_index()
    assert (rest - rest.mean()).to_numpy() == pytest.approx(plain.to_numpy(), abs=0.03)
    assert any("1 respondent (star) won, or lost, every battle" in note for note in found.notes)


def test_a_strict_order_is_finite_and_symmetric():
    found = og.preferences([("a", "b", "a"), ("b", "c", "b")] * 10).to_frame()
    assert found["strength"].tolist() == pytest.approx(
        [found["strength"]["a"], 0, -found["strength"]["a"]], abs=1e-6
    )
    assert found["open"].all()
    assert (found["strength_se"] > 0.5).all()  # not the nearly 0 of outcomes that never vary


def test_wins_and_ties_without_a_loss_leave_strengths_open():
    """Without a cycle of wins, strengths and ties would grow together without end."""
    for rows in ([("a", "b", "tie")] * 3 + [("a", "b", "a")], [("a", "b", "a"), ("b", "a", "tie")]):
        found = og.preferences(rows)
        frame = found.to_frame()
        assert frame["open"].all()
        assert frame["strength"].abs().max() < 3
        assert (frame["rank_high"] == 2).all()
    closed = og.preferences([("a", "b", "a"), ("b", "c", "b"), ("a", "c", "tie")] * 5)
    assert "open" not in closed.to_frame()
    assert np.abs(strengths(closed)).max() < 3
    alone = og.preferences([("a", "b", "a")])
    assert "nan" not in alone.meaning


def test_boards_that_no_battle_links_are_apart():
    more = battles_of(seed=1).replace({f"m{k}": f"n{k}" for k in range(5)})
    found = og.preferences(pd.concat([battles_of(), more.iloc[:300]]))
    frame = found.to_frame()
    assert frame["board"].tolist() == [1] * 5 + [2] * 5
    assert frame["rank_high"].max() <= 5
    apart = found.pairs[found.pairs["verdict"] == "not linked"]
    assert len(apart) == 25
    assert apart["difference"].isna().all()
    assert any("2 separate boards" in note for note in found.notes)
    assert frame.groupby("board")["strength"].mean().to_numpy() == pytest.approx([0, 0])


def test_an_advantage_of_the_first_is_noted_and_allowed_for():
    table = battles_of(n=2000, advantage=1.0)
    warned = og.preferences(table)
    assert any("position=True" in note for note in warned.notes)
    assert not any("position=True" in note for note in og.preferences(battles_of()).notes)
    found = og.preferences(table, position=True)
    share, low, high = found.advantage
    assert abs(share - 1 / (1 + np.exp(-1.0))) < high - low
    assert np.abs(strengths(found) - TRUTH).max() < 0.25
    first = [("a", "b", "a"), ("b", "a", "b"), ("b", "c", "b"), ("c", "a", "c")] * 5
    with pytest.raises(InputError, match="cannot be separated from the strengths"):
        og.preferences(first, position=True)


def test_groups_of_battles_have_discriminations():
    clear, vague = battles_of(n=1500, seed=1), battles_of(n=1500, seed=2)
    random = np.random.default_rng(0)
    winner = vague["winner"].where(random.random(1500) < 0.2, random.permutation(vague["winner"]))
    parts = [clear.assign(kind="clear"), vague.assign(kind="vague", winner=winner)]
    found = og.preferences(pd.concat(parts), by="kind")
    assert found.groups.index.tolist() == ["clear", "vague"]
    assert (
        found.groups["discrimination_low"]["clear"] > found.groups["discrimination_high"]["vague"]
    )
    assert set(found.figures()) == {"ranks", "pairs", "groups"}
    assert any(note.startswith("Discriminations by kind differ") for note in found.notes)
    found.plot("groups")


def test_winners_are_read_as_tables_of_the_field_write_them(table, subtests):
    expected = strengths(og.preferences(table))
    side = table["winner"] == "model_a"
    tie = table["winner"] == "tie"
    names = table["model_a"].where(side, table["model_b"])
    for told, winner in {
        "names": names.where(~tie, "tie"),
        "letters": table["winner"].map({"model_a": "A", "model_b": "B", "tie": "tie (bothbad)"}),
        "numbers": table["winner"].map({"model_a": 1, "model_b": 0, "tie": 0.5}),
        "left and right": table["winner"].map(
            {"model_a": "left", "model_b": "right", "tie": "Tie"}
        ),
    }.items():
        with subtests.test(told):
            assert strengths(og.preferences(table.assign(winner=winner))) == pytest.approx(expected)
    renamed = table.rename(columns={"model_a": "x", "model_b": "y", "winner": "won"})
    renamed["won"] = renamed["won"].replace({"model_a": "x", "model_b": "y"})
    found = og.preferences(renamed, respondent="x", other="y", winner="won")
    assert strengths(found) == pytest.approx(expected)


def test_a_name_that_reads_like_a_side_is_a_name():
    rows = [("b", "a", "a")] * 3 + [("b", "a", "b")]
    assert og.preferences(rows).respondents == ("a", "b")


def test_rows_that_say_nothing_are_left_out_with_a_note(table):
    more = [("m0", "m0", "m0", 1), ("m0", None, "m0", 1), ("m0", "m1", None, 1)]
    found = og.preferences(pd.concat([table, pd.DataFrame(more, columns=table.columns)]))
    assert strengths(found) == pytest.approx(strengths(og.preferences(table)))
    said = " ".join(found.notes)
    assert "1 battle without two names" in said
    assert "1 battle without a winner" in said
    assert "1 battle of a respondent with itself" in said


def test_bad_input_is_one_clear_sentence(table, subtests):
    for told, (given, settings) in {
        r"neither of the two nor a tie: 1 word \(maybe\)": (table.assign(winner="maybe"), {}),
        r"The winner is the number 2 in 600 battles": (table.assign(winner=2), {}),
        r"none of them is winner": (table.drop(columns="winner"), {}),
        r"other is 'rival', but the battles have the columns model_a": (table, {"other": "rival"}),
        r"cluster is 'page', but": (table, {"cluster": "page"}),
        r"by is 'page', but": (table, {"by": "page"}),
        r"cluster names 3 columns": (table, {"cluster": ["prompt"] * 3}),
        r"Every battle is a tie": (table.assign(winner="tie"), {}),
        r"has no rows": (table.iloc[:0], {}),
        r"No battle of two respondents has a winner": (table.assign(winner=None), {}),
        r"`ties` must be": (table, {"ties": "ignore"}),
        r"`battles` must be .*got 3": (3, {}),
        r"`confidence` must be .*got 2": (table, {"confidence": 2}),
    }.items():
        with subtests.test(told), pytest.raises(InputError, match=told):
            og.preferences(given, **settings)


def test_ties_may_be_left_out(table):
    found = og.preferences(table, ties="drop")
    assert found.tie == 0
    ties = int((table["winner"] == "tie").sum())
    assert found.n_battles == 600 - ties
    assert any(f"Ties left out: {ties} battles." in note for note in found.notes)


def test_judges_may_cluster_the_battles_too(table):
    judged = table.assign(judge=np.arange(600) % 7)
    said = " ".join(og.preferences(judged).notes)
    assert "intervals hold for these judges" in said
    both = og.preferences(judged, cluster=["prompt", "judge"])
    assert "60 in prompt and 7 in judge" in " ".join(both.notes)
    assert not any("these judges" in note for note in both.notes)


def test_one_cluster_says_nothing_of_errors(table):
    found = og.preferences(table.assign(prompt=1))
    frame = found.to_frame()
    assert frame["strength_se"].isna().all()
    assert (frame["rank_high"] == 5).all()
    assert "no pair can be tested" in found.meaning
    assert any("one cluster only" in note for note in found.notes)


def test_tables_figures_and_text_come_with_it(found, tmp_path):
    assert set(found.tables()) == {"preferences", "pairs"}
    for kind in ("ranks", "pairs"):
        found.plot(kind).save(tmp_path / f"{kind}.png")
    with pytest.raises(InputError, match="no groups of battles"):
        found.plot("groups")
    assert found.save(tmp_path / "board.csv").exists()
    assert found.key_facts()["leaders"] == found.leaders
    assert "m0" in repr(found)


def test_frames_of_other_libraries_are_read(table):
    pyarrow = pytest.importorskip("pyarrow")
    found = og.preferences(pyarrow.Table.from_pandas(table))
    assert strengths(found) == pytest.approx(strengths(og.preferences(table)))
    rows = table.to_dict("records")
    assert strengths(og.preferences(rows)) == pytest.approx(strengths(found))


def test_the_order_of_rows_does_not_matter(table):
    shuffled = og.preferences(table.sample(frac=1.0, random_state=1))
    pd.testing.assert_frame_equal(shuffled.board, og.preferences(table).board, atol=1e-8)
