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
                "expected": 1 / (1 + np.exp(-sign * (GRID - difficulty))),
                "discrimination": sign,
            }
        )
        for name, sign, difficulty in zip(
            names, signs, np.linspace(-2.0, 2.0, len(names)), strict=True
        )
    ]
    return pd.concat(parts)


def grades_frame(names):
    parts = [
        pd.DataFrame(
            {
                "item": names[0],
                "grade": float(grade),
                "ability": GRID,
                "probability": np.exp(-((GRID - grade) ** 2)) / 2,
                "probability_se": 0.05,
            }
        )
        for grade in range(len(names))
    ]
    return pd.concat(parts, ignore_index=True)


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


def item_fit_frame(names):
    count = len(names)
    square = np.linspace(0.6, 1.6, count)
    columns = {"infit": square, "outfit": square[::-1], "s_x2_p_adjusted": np.linspace(0, 1, count)}
    return pd.DataFrame(columns, index=list(names))


def respondent_fit_frame(names):
    count = len(names)
    columns = {"ability": np.linspace(-2, 2, count), "se": 0.3, "zh": np.linspace(-4, 2, count)}
    return pd.DataFrame(columns, index=list(names))


def model_fit_frame(names):
    value = np.linspace(0.02, 0.1, len(names))
    columns = {"rmsea": value, "rmsea_low": 0.8 * value, "rmsea_high": 1.2 * value}
    return pd.DataFrame(columns, index=list(names))


def model_comparison_frame(names):
    aic = np.linspace(1000.0, 1010.0, len(names))
    weight = np.exp(-(aic - aic.min()) / 2)
    columns = {"aic": aic, "bic": aic + 1.0, "weight": weight / weight.sum()}
    return pd.DataFrame(columns, index=list(names))


def reliability_frame(names):
    information = np.linspace(1.0, len(names), GRID.size)
    columns = {"ability": GRID, "information": information, "se": information**-0.5}
    return pd.DataFrame({**columns, "reliability": information / (information + 1)})


def scree_frame(names):
    place = np.arange(1, len(names) + 1)
    return pd.DataFrame({"dimension": place, "eigenvalue": 5.0 / place**2, "to_exceed": 1.1})


def pairs_frame(names):
    names = [*names, "another"]
    left, right = np.triu_indices(len(names), 1)
    columns = {
        "item": [names[k] for k in left],
        "other": [names[k] for k in right],
        "q3_adjusted": np.linspace(-0.2, 0.6, left.size),
        "dependent": np.linspace(-0.2, 0.6, left.size) > 0.5,
    }
    return pd.DataFrame(columns)


def suspects_frame(names):
    evidence = np.linspace(0.99, 0.0, len(names))
    columns = {
        "evidence": evidence,
        "share_right_strong": 0.9 - 0.8 * evidence,
        "share_right_weak": 0.4,
        "suspect": evidence > 0.7,
    }
    return pd.DataFrame(columns, index=list(names))


def bump_frame(names):
    parts = [
        pd.DataFrame(
            {
                "period": period,
                "item": f"set {period}",
                "respondent": list(names),
                "rank": np.roll(np.arange(1.0, len(names) + 1), period),
            }
        )
        for period in (1, 2, 3)
    ]
    return pd.concat(parts, ignore_index=True)


def ratings_frame(names):
    rating = np.linspace(1700.0, 1300.0, len(names))
    columns = {"rating": rating, "low": rating - 80, "high": rating + 80}
    return pd.DataFrame(columns, index=list(names))


def critical_difference_frame(names):
    columns = {"mean_rank": np.arange(1.0, len(names) + 1), "critical_difference": 1.7}
    return pd.DataFrame(columns, index=list(names))


def datasets_frame(names):
    count = len(names)
    columns = {
        "difficulty_mean": np.linspace(1.5, -2.5, count),
        "difficulty_mean_se": 0.1,
        "difficulty_sd": 0.8,
        "discrimination_mean": np.linspace(-1.0, 4.0, count),
        "discrimination_mean_se": 0.2,
        "discrimination_sd": 1.5,
    }
    return pd.DataFrame(columns, index=list(names))


def histogram_frame(names):
    return pd.DataFrame({"difficulty": np.linspace(-2.0, 2.0, len(names))}, index=list(names))


def distributions_frame(names):
    parts = [
        pd.DataFrame({"dataset": name, "difficulty": np.linspace(-2.0, 9.0, 12) - k / len(names)})
        for k, name in enumerate(names)
    ]
    return pd.concat(parts, ignore_index=True)


def characteristic_frame(names):
    difficulty = np.linspace(-2.0, 2.0, 6)
    parts = []
    for name, ability in zip(names, np.linspace(2.0, -2.0, len(names)), strict=True):
        share = 1 / (1 + np.exp(difficulty - ability))
        columns = {"difficulty": difficulty, "share": share, "low": share / 2}
        parts.append(
            pd.DataFrame(
                {"respondent": name, **columns, "high": (1 + share) / 2, "expected": share}
            )
        )
    return pd.concat(parts, ignore_index=True)


def scores_frame(names):
    score = np.linspace(90.0, 10.0, len(names))
    columns = {"true_score": score, "true_score_se": 3.0}
    positive = {"true_score_positive": 0.8 * score, "true_score_positive_se": 2.0}
    return pd.DataFrame({**columns, **positive}, index=list(names))


def importance_frame(names):
    share = np.linspace(0.3, 0.0, len(names))
    columns = {"difficulty": share, "difficulty_sd": 0.02, "task": share[::-1], "task_sd": 0.01}
    return pd.DataFrame(columns, index=list(names))


def heat_map_frame(names):
    columns = list(dict.fromkeys(names[:12]))
    values = np.linspace(-1.0, 1.0, len(names) * len(columns)).reshape(len(names), -1)
    return pd.DataFrame(values, index=list(names), columns=columns)


def agreement_frame(names):
    size = np.arange(2, len(names) + 2)
    frame = pd.DataFrame({"size": size})
    for place, name in enumerate(("random", "ceiling", "held_out")):
        value = 0.8 - (0.2 + 0.2 * place) / size
        frame = frame.assign(
            **{name: value, f"{name}_low": value - 0.1, f"{name}_high": value + 0.1}
        )
    return frame


def cell_curves_frame(names):
    classes = list(dict.fromkeys(names))[:6]
    place = {
        name: (classes[k % len(classes)], classes[k % 7 % len(classes)])
        for k, name in enumerate(names)
    }
    frame = curves_frame(names)
    cells = pd.DataFrame([place[name] for name in frame["item"]], columns=["true", "predicted"])
    return pd.concat([cells, frame.reset_index(drop=True)], axis=1)


def item_space_frame(names):
    count = len(names)
    columns = {
        "difficulty": np.linspace(-2.0, 2.0, count),
        "discrimination": np.linspace(3.0, -1.0, count),
        "guessing": np.linspace(0.0, 0.4, count),
    }
    return pd.DataFrame(columns, index=list(names))


def alarm_frame(names):
    names = ["expected", *names]
    difficulty = np.linspace(-2.0, 2.0, 6)
    share = 1 / (1 + np.exp(difficulty))
    parts = [
        pd.DataFrame(
            {
                "sample": name,
                "difficulty": difficulty,
                "share": share,
                "low": share / 2,
                "high": (1 + share) / 2,
            }
        )
        for name in names
    ]
    return pd.concat(parts, ignore_index=True)


def crossed(**levels):
    """One row for each combination of the levels; the last changes fastest."""
    places = np.meshgrid(*(np.arange(len(level)) for level in levels.values()), indexing="ij")
    return pd.DataFrame(
        {
            name: pd.Series(list(level)).take(place.ravel()).to_numpy()
            for (name, level), place in zip(levels.items(), places, strict=True)
        }
    )


def densities_frame(names):
    frame = crossed(algorithm=names, performance=np.linspace(0.0, 1.0, 6), ability=GRID[::4])
    density = np.exp(-((4 * frame["performance"] - frame["ability"]) ** 2))
    return frame.assign(density=density)


def traces_frame(names):
    return densities_frame(names).rename(columns={"performance": "grade"})


def performance_curves_frame(names):
    frame = crossed(algorithm=names, difficulty=np.linspace(-2.0, 2.0, 9))
    limit = np.repeat(np.linspace(2.0, -2.0, len(names)), 9)
    middle = 1 / (1 + np.exp(frame["difficulty"] - limit))
    return frame.assign(performance=middle, low=middle - 0.05, high=middle + 0.05)


def strengths_frame(names):
    frame = crossed(kind=["strengths", "weaknesses"], epsilon=[0.0, 0.01], algorithm=names)
    start = np.tile(np.linspace(-2.0, 1.0, len(names)), 4)
    start = np.where(frame["kind"] == "strengths", start, -start)
    return frame.assign(start=start, end=start + 0.5 + frame["epsilon"])


def goodness_frame(names):
    curves = ["residuals", "actual", "predicted"]
    frame = crossed(algorithm=names, curve=curves, tolerance=np.linspace(0.0, 1.0, 6))
    slow = frame["curve"].map({"residuals": 0.3, "actual": 0.6, "predicted": 0.8})
    rank = np.repeat(np.linspace(0.0, 1.0, len(names)), 18)
    return frame.assign(share=frame["tolerance"] ** (0.2 + slow * rank))


def anchors_frame(names):
    old = np.linspace(-2.0, 2.0, len(names))
    frame = pd.DataFrame({"difficulty_old": old, "difficulty_new": 1.1 * old}, index=list(names))
    drifted = np.arange(len(names)) % 4 == 3
    return frame.assign(difficulty_difference_se=0.15, drifted=drifted)


def effectiveness_frame(names):
    actual = np.linspace(0.4, 0.9, len(names))
    return pd.DataFrame({"auaec": actual, "aupec": 1.2 * actual - 0.2}, index=list(names))


def portfolio_gap_frame(names):
    frame = crossed(definition=["best member", "mean member"], method=names, size=range(1, 6))
    scale = frame["definition"].map({"best member": 0.02, "mean member": 0.2})
    gap = scale / frame["size"]
    return frame.assign(gap=gap, gap_low=gap - 0.2 * scale, gap_high=gap + 0.2 * scale)


def runs_frame(names):
    frame = performance_curves_frame(names)[["algorithm", "difficulty", "performance"]]
    late = frame["performance"] < 0.1
    return frame.assign(curve=frame["performance"], late=late)


def trade_off_frame(names):
    first = np.linspace(0.0, 1.0, len(names))
    columns = {"first": first, "second": 1 - first**2, "first_se": 0.02, "pareto": first > 0.3}
    return pd.DataFrame(columns, index=list(names))


def instance_space_frame(names):
    frame = crossed(leader=names, x=np.linspace(-2.0, 2.0, 7))
    return frame.assign(y=frame["x"] ** 2, difficulty=-frame["x"])


def case_difficulty_frame(names):
    frame = crossed(**{"class": names, "cdi": np.linspace(-2.0, 2.0, 12)})
    return frame.assign(cdi=frame["cdi"] + np.repeat(np.linspace(-1.0, 1.0, len(names)), 12))


def difficulty_density_frame(names):
    return case_difficulty_frame(names).rename(columns={"cdi": "difficulty"})


def case_accuracy_frame(names):
    return characteristic_frame(names).rename(columns={"respondent": "class"})


def capability_trace_frame(names):
    frame = crossed(**{"class": names, "step": range(1, 9)})
    step = frame["step"]
    right = step % 2 == 1
    columns = {"right": right, "estimate": 0.5 - 1 / step, "se": 1 / step}
    return frame.assign(difficulty=0.4 + np.where(right, 0.8, -0.8) / step, **columns)


def capability_plane_frame(names):
    limit = np.linspace(1.0, -1.0, len(names))
    columns = {"first": limit, "first_se": 0.1, "second": limit**2, "second_se": 0.2}
    return pd.DataFrame(columns, index=list(names))


def decision_frame(names):
    columns = {
        "feature": list(names),
        "contribution": np.linspace(0.5, -0.2, len(names)),
        "contribution_se": 0.05,
        "difficulty": 0.8,
        "difficulty_se": 0.3,
        "limit": 0.43,
        "limit_se": 0.1,
        "prediction": names[0],
        "decision": "person",
    }
    return pd.DataFrame(columns)


def risk_coverage_frame(names):
    frame = crossed(method=names, coverage=np.linspace(0.1, 1.0, 10))
    better = np.repeat(np.linspace(0.1, 0.0, len(names)), 10)
    middle = 0.9 + better * (1.0 - frame["coverage"])
    return frame.assign(accuracy=middle, low=middle - 0.02, high=middle + 0.01)


def bands_frame(names):
    frame = crossed(panel=("error", "coverage"), series=names, x=np.array([5.0, 10.0, 25.0, 50.0]))
    worse = np.tile(np.repeat(np.linspace(0.0, 0.3, len(names)), 4), 2)
    middle = (0.3 + worse) / np.sqrt(frame["x"])
    return frame.assign(estimate=middle, low=middle - 0.02, high=middle + 0.02)


def leaderboard_frame(names):
    accuracy = np.linspace(0.9, 0.4, len(names))
    columns = {"accuracy": accuracy, "accuracy_low": accuracy - 0.05}
    rank = np.arange(1.0, len(names) + 1)
    ranks = {"rank": rank, "rank_low": np.maximum(rank - 2, 1), "rank_high": rank + 2}
    frame = pd.DataFrame({**columns, **ranks, "leading": rank < 4}, index=list(names))
    return frame.assign(accuracy_high=accuracy + 0.05)


def differences_frame(names):
    names = [*names, "another"]
    first, second = np.triu_indices(len(names), 1)
    columns = {
        "respondent": [names[k] for k in first],
        "other": [names[k] for k in second],
        "significant": second - first > 2,
        "difference": (second - first) / len(names),
    }
    return pd.DataFrame(columns)


def prediction_frame(names):
    score = np.linspace(0.2, 0.9, len(names))
    predicted = score + 0.05 * np.cos(np.arange(len(names)))
    columns = {"accuracy": score, "predicted": predicted, "low": predicted - 0.04}
    return pd.DataFrame({**columns, "high": predicted + 0.04}, index=list(names))


def item_health_frame(names):
    kinds = [
        "",
        "suspect key: contradicts good respondents",
        "",
        "significantly negative discrimination",
        "near-duplicate of x",
    ]
    kinds += ["solved by all", "solved by none"]
    return pd.DataFrame(
        {
            "problems": [kinds[k % len(kinds)] for k in range(len(names))],
            "difficulty": np.linspace(-2.0, 2.0, len(names)),
            "discrimination_se": 0.2,
            "discrimination": np.cos(np.arange(len(names), dtype=float)),
        },
        index=list(names),
    )


def saturation_frame(names):
    information = 4 * np.exp(-(GRID**2) / 4)
    curve = pd.DataFrame({"respondent": None, "ability": GRID, "information": information})
    people = ranking_frame(names).rename_axis("respondent").reset_index()
    return pd.concat([curve.astype({"respondent": object}), people], ignore_index=True)


def excess_frame(names):
    z = np.linspace(-2.0, 4.0, len(names))
    ability = np.linspace(1.0, -1.0, len(names))
    return pd.DataFrame({"ability": ability, "excess_z": z, "hint": z > 3}, index=list(names))


def differential_frame(names):
    count = len(names)
    columns = {
        "share_reached": np.linspace(0.1, 0.9, count),
        "difference": 0.02,
        "difference_se": 0.03,
    }
    frame = pd.DataFrame(columns, index=list(names)).assign(group="tuned")
    frame.iloc[-1, frame.columns.get_loc("difference")] = 0.3
    return frame.assign(differs=frame["difference"] > 0.1)


def group_curves_frame(names):
    frame = crossed(item=names, group=["base", "tuned"], ability=GRID)
    shift = frame["group"].map({"base": 0.5, "tuned": -0.5})
    expected = 1 / (1 + np.exp(-(frame["ability"] - shift)))
    return frame.assign(expected=expected, low=0.9 * expected, high=0.1 + 0.9 * expected)


def profiles_frame(names):
    abilities = np.linspace(-2.0, 2.0, 2 * len(names))
    columns = {"ability": abilities, "se": 0.3, "dimension": ["math", "code"] * len(names)}
    return pd.DataFrame({"respondent": np.repeat(list(names), 2), **columns})


def scaling_frame(names):
    axis = np.linspace(20.0, 26.0, 13)
    line = pd.DataFrame({"fact": axis, "outcome": 0.4 * (axis - 23)})
    line = line.assign(low=line["outcome"] - 1, high=line["outcome"] + 1, outcome_se=np.nan)
    place = np.linspace(20.5, 25.5, len(names))
    points = pd.DataFrame({"fact": place, "outcome": 0.4 * (place - 23), "outcome_se": 0.2})
    return pd.concat([line, points.assign(low=np.nan, high=np.nan)], ignore_index=True)


FRAMES = {
    "differential": differential_frame,
    "group_curves": group_curves_frame,
    "option_curves": group_curves_frame,
    "scaling": scaling_frame,
    "profiles": profiles_frame,
    "item_health": item_health_frame,
    "saturation": saturation_frame,
    "excess": excess_frame,
    "ranking": ranking_frame,
    "curves": curves_frame,
    "information": information_frame,
    "item_map": item_map_frame,
    "grades": grades_frame,
    "item_fit": item_fit_frame,
    "respondent_fit": respondent_fit_frame,
    "model_fit": model_fit_frame,
    "model_comparison": model_comparison_frame,
    "reliability": reliability_frame,
    "scree": scree_frame,
    "pairs": pairs_frame,
    "suspects": suspects_frame,
    "ratings": ratings_frame,
    "bump": bump_frame,
    "critical_difference": critical_difference_frame,
    "datasets": datasets_frame,
    "distributions": distributions_frame,
    "histogram": histogram_frame,
    "characteristic": characteristic_frame,
    "case_accuracy": case_accuracy_frame,
    "scores": scores_frame,
    "heat_map": heat_map_frame,
    "agreement": agreement_frame,
    "cell_curves": cell_curves_frame,
    "item_space": item_space_frame,
    "alarm": alarm_frame,
    "bands": bands_frame,
    "importance": importance_frame,
    "densities": densities_frame,
    "traces": traces_frame,
    "performance_curves": performance_curves_frame,
    "strengths": strengths_frame,
    "goodness": goodness_frame,
    "effectiveness": effectiveness_frame,
    "anchors": anchors_frame,
    "portfolio_gap": portfolio_gap_frame,
    "runs": runs_frame,
    "run_histograms": runs_frame,
    "trade_off": trade_off_frame,
    "instance_space": instance_space_frame,
    "case_difficulty": case_difficulty_frame,
    "difficulty_density": difficulty_density_frame,
    "capability_trace": capability_trace_frame,
    "capability_plane": capability_plane_frame,
    "decision": decision_frame,
    "risk_coverage": risk_coverage_frame,
    "leaderboard": leaderboard_frame,
    "differences": differences_frame,
    "prediction": prediction_frame,
}


@pytest.fixture
def frames():
    """By registry name: a function from names to a frame that the display accepts."""
    return FRAMES
