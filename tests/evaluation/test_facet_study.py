import json

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.errors import InputError
from ogive.evaluation.facets import Facets

ABILITY = np.array([1.0, 0.3, -0.3, -1.0])


def ratings_of(
    n_items=50,
    seed=0,
    severity=(0.7, 0.0, -0.7),
    consistency=(1.0, 1.0, 1.0),
    n_grades=4,
    keep=None,
):
    """A long table; `keep` takes respondent, item and judge and says which ratings there are."""
    random = np.random.default_rng(seed)
    n_judges = len(severity)
    quality = ABILITY[:, None] - random.normal(size=n_items) + random.normal(size=(4, n_items))
    respondent, item, judge = np.indices((4, n_items, n_judges)).reshape(3, -1)
    steps = np.r_[0, np.cumsum(np.linspace(-1, 1, n_grades - 1) if n_grades > 2 else [0.0])]
    away = np.arange(n_grades) * (quality[respondent, item] - np.array(severity)[judge])[:, None]
    chance = np.exp(np.array(consistency)[judge][:, None] * (away - steps))
    chance /= chance.sum(axis=1, keepdims=True)
    grade = (random.random(len(chance))[:, None] > chance.cumsum(axis=1)).sum(axis=1)
    there = np.ones(judge.size, dtype=bool) if keep is None else keep(respondent, item, judge)
    columns = {
        "model": [f"m{k}" for k in respondent],
        "item": [f"q{k}" for k in item],
        "judge": [f"j{k}" for k in judge],
        "score": np.minimum(grade, n_grades - 1) + 1,
    }
    return pd.DataFrame(columns)[there]


@pytest.fixture(scope="module")
def table():
    return ratings_of()


@pytest.fixture(scope="module")
def found(table):
    return og.facets(table)


def test_respondents_and_judges_have_estimates_with_intervals(found):
    frame, judges = found.to_frame(), found.judges
    assert isinstance(found, Facets)
    assert frame.index.tolist() == ["m0", "m1", "m2", "m3"]
    assert frame["rank"].tolist() == [1, 2, 3, 4]
    for table, name in (
        (frame, "ability"),
        (frame, "score"),
        (judges, "severity"),
        (judges, "consistency"),
        (judges, "agreement"),
    ):
        assert (table[f"{name}_low"] < table[name]).all()
        assert (table[name] < table[f"{name}_high"]).all()
    assert (np.abs(judges["severity"] - [0.7, 0, -0.7]) < 4 * judges["severity_se"]).all()
    assert judges["verdict"].str.contains("severe").tolist() == [True, False, False]
    assert judges["verdict"].str.contains("lenient").tolist() == [False, False, True]
    assert "Of the judges, j0 is the most severe, with a severity of +0." in found.meaning
    assert found.converged


@pytest.mark.slow
def test_who_was_judged_by_the_severe_is_not_punished():
    """m0 is judged by the severe ones, m3 by the lenient ones, the rest by all."""

    def keep(respondent, item, judge):
        del item
        return ~((respondent == 0) & (judge == 2)) & ~((respondent == 3) & (judge == 0))

    table = ratings_of(n_items=100, seed=1, severity=(2.0, 0.0, -2.0), keep=keep)
    frame = og.facets(table).to_frame()
    assert frame.index[0] == "m0"
    observed = frame["score_observed"]
    assert observed["m0"] < observed["m1"]  # what the plain means say
    assert (np.abs(frame["ability"] - ABILITY) < 4 * frame["ability_se"]).all()
    whole = og.facets(ratings_of(n_items=100, seed=1, severity=(2.0, 0.0, -2.0))).to_frame()
    assert frame["score"].tolist() == pytest.approx(whole["score"].tolist(), abs=0.15)


def test_a_judge_that_contradicts_the_others_is_named():
    found = og.facets(ratings_of(severity=(0.0, 0.0, 0.0, 0.0), consistency=(1.2, 1.0, 1.0, -0.8)))
    assert found.contradicting == ("j3",)
    assert found.judges.loc["j3", "agreement_high"] < 0
    assert "j3 contradicts the other judges." in found.meaning
    assert any("1 judge (j3) scores high what the others score low" in x for x in found.notes)
    assert found.respondents[0] == "m0"


def test_a_judge_that_guesses_is_less_consistent():
    found = og.facets(ratings_of(consistency=(1.2, 1.2, 0.05)))
    assert "less consistent" in found.judges.loc["j2", "verdict"]
    assert not found.contradicting


@pytest.mark.slow
def test_ratings_of_one_response_do_not_count_as_independent_responses():
    """Nine judges make scores of responses surer, not responses more."""
    errors = [
        og.facets(ratings_of(severity=(0.0,) * n, consistency=(1.0,) * n)).difference_se.mean()
        for n in (3, 9)
    ]
    assert 0.78 < errors[1] / errors[0] < 1  # not the 0.58 of three times as many


@pytest.mark.slow
def test_sources_of_variance_are_found():
    found = og.facets(ratings_of(n_items=300))
    parts = found.components
    assert parts.index.tolist() == ["respondents", "items", "responses", "judges", "ratings"]
    for source, truth in (("items", 1.0), ("responses", 1.0), ("judges", 0.49)):
        assert parts.loc[source, "variance_low"] < truth < parts.loc[source, "variance_high"]
    assert parts["share"].sum() == pytest.approx(1)
    more = found.more_judges
    assert more["difference_se"].is_monotonic_decreasing
    assert more["reliability"].is_monotonic_increasing
    assert more.loc[3, "difference_se"] == pytest.approx(found.difference_se.mean(), rel=0.15)
    middle, low, high = found.enough_judges
    assert low <= middle <= high


@pytest.mark.slow
def test_right_and_wrong_and_scores_of_many_values_are_read():
    binary = og.facets(ratings_of(n_grades=2))
    assert binary.respondents[0] == "m0"
    assert binary.to_frame()["score_high"].max() <= 2
    table = ratings_of(n_grades=4)
    random = np.random.default_rng(1)
    scores = table["score"] + random.uniform(-0.4, 0.4, len(table))
    fine = og.facets(table.assign(score=scores))
    assert any("grouped into 7 ordered categories" in note for note in fine.notes)
    assert fine.to_frame()["score"].to_numpy() == pytest.approx(
        og.facets(table).to_frame()["score"].to_numpy(), abs=0.1
    )


def test_tables_of_responses_by_judge_are_read(table, found):
    wide = {
        name: og.Responses.from_frame(
            part.pivot_table(index="model", columns="item", values="score")
        )
        for name, part in table.groupby("judge")
    }
    again = og.facets(wide)
    assert again.to_frame()["ability"].tolist() == pytest.approx(
        found.to_frame()["ability"].tolist(), abs=1e-4
    )


@pytest.mark.slow
def test_several_columns_may_be_what_scores_depend_on(table):
    rubric = table.assign(rubric=np.where(np.arange(len(table)) % 2, "style", "facts"))
    found = og.facets(rubric, judge=["judge", "rubric"])
    assert set(found.judges.index) == {f"j{k}/{x}" for k in range(3) for x in ("style", "facts")}
    renamed = table.rename(columns={"model": "who", "item": "what", "judge": "by", "score": "got"})
    same = og.facets(renamed, respondent="who", item="what", judge="by", score="got")
    assert same.judges.shape[0] == 3


def test_the_order_of_rows_and_gaps_do_not_matter(table, found):
    again = og.facets(table.sample(frac=1.0, random_state=1))
    assert again.board["ability"].tolist() == pytest.approx(
        found.board["ability"].tolist(), abs=1e-5
    )
    gaps = pd.concat([table, table.iloc[:3].assign(score=np.nan)])
    less = og.facets(gaps)
    assert any("3 ratings without a name or a score" in note for note in less.notes)


def test_a_respondent_with_the_best_score_everywhere_stays_finite(table):
    best = table.assign(score=table["score"].where(table["model"] != "m0", 4))
    frame = og.facets(best).to_frame()
    assert frame.index[0] == "m0"
    assert np.isfinite(frame.drop(columns="tied_with").to_numpy(dtype=float)).all()
    assert frame.loc["m0", "score_high"] <= 4


def test_what_cannot_be_separated_is_refused(table, subtests):
    apart = ratings_of(keep=lambda r, i, j: (r < 2) == (j == 0))
    for told, given, settings in (
        ("facets needs 2 judges or more", table[table["judge"] == "j0"], {}),
        ("facets needs 2 respondents or more", table[table["model"] == "m0"], {}),
        ("facets needs 5 items or more", table[table["item"].isin(["q1", "q2"])], {}),
        ("No judge scores both m0 and", apart, {}),
        ("none of them is judge", table.drop(columns="judge"), {}),
        ("judge is 'grader', but the ratings have the columns", table, {"judge": "grader"}),
        ("is not a number: 1 word", table.assign(score="good"), {}),
        ("Every score is 3", table.assign(score=3), {}),
        ("has no rows", table.iloc[:0], {}),
        (r"`ratings` must be .*got 3", 3, {}),
        ("No rating has a respondent", table.assign(score=np.nan), {}),
        (r"`alpha` must be .*got 5", table, {"alpha": 5}),
    ):
        with subtests.test(told), pytest.raises(InputError, match=told):
            og.facets(given, **settings)


def test_responses_with_one_judge_each_are_noted():
    found = og.facets(ratings_of(keep=lambda r, i, j: (r + i) % 3 == j))
    assert any(note.startswith("No response has two judges") for note in found.notes)


@pytest.mark.slow
def test_a_judge_that_always_gives_the_same_score_is_noted(table):
    flat = table.assign(score=table["score"].where(table["judge"] != "j1", 2))
    found = og.facets(flat)
    assert any("1 judge (j1) always gives the same score." in note for note in found.notes)
    assert np.isnan(found.judges.loc["j1", "agreement"])
    assert np.isfinite(found.judges["severity"]).all()


def test_tables_figures_and_text_come_with_it(found, tmp_path):
    assert set(found.tables()) == {"facets", "judges", "pairs", "components", "more_judges"}
    for kind, draw in found.figures().items():
        draw().save(tmp_path / f"{kind}.png")
    assert found.key_facts()["leaders"] == found.leaders
    assert len(found.pairs) == 6
    assert (found.pairs["p_adjusted"] >= found.pairs["p"]).all()
    assert "m0" in repr(found)


def test_scorers_of_an_inspect_log_are_judges(tmp_path):
    random = np.random.default_rng(0)
    for name, level in (("lab/one", 0.8), ("lab/two", 0.3)):
        samples = [
            {
                "id": k,
                "epoch": 1,
                "input": f"why {k}",
                "target": "x",
                "scores": {
                    scorer: {"value": float(random.random() < level - strict)}
                    for scorer, strict in (("kind", 0.0), ("strict", 0.2))
                },
            }
            for k in range(40)
        ]
        log = {
            "version": 2,
            "status": "success",
            "eval": {"model": name, "task": "riddles", "created": "2025-01-02T03:04:05+00:00"},
            "samples": samples,
        }
        (tmp_path / f"{name[4:]}.json").write_text(json.dumps(log))
    tables = {name: og.read_logs(tmp_path, metric=name).responses for name in ("kind", "strict")}
    found = og.facets(tables)
    assert found.respondents[0].endswith("one")
    assert found.judges["severity"].idxmax() == "strict"
