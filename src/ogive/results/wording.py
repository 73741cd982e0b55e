"""What the columns of tables mean, in one sentence each; a page shows it beside their headings.

Words of the glossary have its first sentence. A column of the same name can mean something else in
another table; such tables have words of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

# Endings that say the same of every column.
ENDINGS = {
    "_se": "Standard error of {}.",
    "_low": "Lower end of the interval of {}.",
    "_high": "Upper end of the interval of {}.",
    "_rank": "Place by {}; 1 is the best.",
    "_median": "Median of {} over the items.",
    "_sd": "Standard deviation of {}.",
    "_p_adjusted": "p value of {}, corrected for multiple tests.",
    "_p": "p value of {}.",
    "_z": "{} in standard errors.",
}

WORDS = {
    # Items and respondents on a scale.
    "ability": "Where a respondent stands on the scale of a calibration.",
    "difficulty": "Where an item stands on the scale of ability: at this ability, a respondent is "
    "right half of the time (or half way between guessing and the best chance).",
    "discrimination": "How steeply the chance of a right response rises with ability around the "
    "item's difficulty.",
    "guessing": "The chance that a respondent of very low ability is right: about 1/4 for four "
    "choices.",
    "slip": "The chance that a respondent of very high ability is wrong.",
    "information": "How much an item, or a test, says about an ability.",
    "flag": "What is unusual about it, such as responses that are all the same.",
    "accuracy": "Share of the responses that are right, or mean score.",
    "accuracy_observed": "Mean over the items that were answered; others may be harder.",
    "mean_response": "Mean of all responses: of right and wrong ones, the share that is right.",
    "responses": "How many responses there are.",
    "n_responses": "How many responses there are, every try counted.",
    "expected": "What the scale expects at this ability: the mean chance of being right.",
    "share_right": "Share of the respondents that are right.",
    "share_reached": "Mean share of the highest grade or score; of right and wrong responses, the "
    "share that is right.",
    "share_right_strong": "Share right among the strongest third of the respondents.",
    "share_right_weak": "Share right among the weakest third of the respondents.",
    "item_rest": "Correlation of the responses to the item with the share right on all others; "
    "below 0, good respondents do worse on it.",
    "outfit": "Mean squared standardised residual: 1 is expected, far above 1 means surprises.",
    "true_score": "Expected number of right responses at this ability.",
    "true_score_mean": "Expected share of right responses at this ability.",
    "true_score_positive": "True score without the items of negative discrimination.",
    "true_score_positive_mean": "True score without items of negative discrimination, as a share.",
    "ability_positive": "Ability without the items of negative discrimination.",
    "cv_accuracy": "Accuracy by cross-validation on the training part.",
    "log_likelihood": "Logarithm of the probability of the responses under the model; higher fits "
    "better.",
    "converged": "Whether the calibration reached its end.",
    # Suspect labels.
    "suspect": "Whether its label should be checked: by class probabilities where these are known, "
    "otherwise by right and wrong answers alone.",
    "evidence": "Probability that the label is wrong; with responses alone, that the item "
    "contradicts good respondents.",
    "changed": "Whether its label was changed on purpose.",
    "label": "The label that was given.",
    "likely": "The class that the models think most likely.",
    "self_confidence": "Mean probability that the models give to the label.",
    "normalized_margin": "Mean probability of the label less that of the best other class, moved "
    "to 0 to 1; below 0.5, another class is likelier.",
    "contradiction": "Probability that the item contradicts good respondents, by responses alone.",
    "probability_negative": "Probability that the discrimination is below zero.",
    "given_label": "The label that was given.",
    "models_say": "The class that the models think most likely.",
    "strongest_third_right": "How many of the strongest third of the models were right.",
    # Leaderboards and tests of pairs.
    "rank": "Place, the best first; ties share the better one.",
    "tied_with": "Those that do not differ significantly from it.",
    "group": "Those that share a letter cannot be distinguished.",
    "difference": "The first less the second.",
    "p": "p value: how often chance alone gives a difference at least as large.",
    "p_adjusted": "p value, corrected for multiple tests.",
    "verdict": "Whether the difference is significant after correction for multiple tests.",
    "mean_rank": "Mean of the ranks over all items or data sets; 1 is the best.",
    "critical_difference": "Mean ranks that differ by more are significantly different.",
    "differ": "Whether the two differ significantly.",
    # Tournaments.
    "rating": "Strength after all games (Glicko-2); everybody begins at 1500.",
    "deviation": "Uncertainty of the rating; the range is two of them each way.",
    "volatility": "How much the strength seems to change from period to period.",
    "won": "Games won.",
    "drawn": "Games drawn.",
    "lost": "Games lost.",
    "level": "Whether it cannot be distinguished from the leader; marks on the scale are not "
    "tested, and have no.",
    "artificial": "Whether it is a mark made for comparison, such as random answers.",
    "period": "The number of the data set in the order of play.",
    "score": "The score on the data set of the period, which decides its games.",
    "kendall": "Agreement of two rankings (Kendall's tau): 1 is the same order, 0 is chance.",
    "spearman": "Rank correlation: 1 is the same order, 0 is none.",
    "significant_share": "Share of the pairs that differ significantly.",
    "share_apart": "Share of the pairs whose 95 % ranges of rating do not overlap.",
    "artificial_in_place": "Whether the artificial respondents are where they belong.",
    "misplaced": "Artificial respondents that are not where they belong.",
    "sorted_by": "The parameter by which data sets are ordered.",
    "share of points": "Reference: points in all games on all data sets, the order of which does "
    "not matter.",
    "by difficulty": "Data sets in the order of chance at average ability, the easiest first.",
    "by discrimination": "Data sets in the order of mean discrimination, the lowest first.",
    "even difficulty": "Only data sets whose items are about equally hard.",
    "mixed difficulty": "Only data sets with easy and hard items.",
    "even discrimination": "Only data sets whose items discriminate about equally.",
    "mixed discrimination": "Only data sets whose items discriminate very differently.",
    # Choice of data sets.
    "enough": "Whether so few data sets rank about as well as all of them.",
    "held_out": "Agreement of the chosen data sets with the other half of the benchmark, for "
    "respondents that were not used to choose.",
    "ceiling": "The same agreement for all data sets of the first half: the most to hope for.",
    "random": "The same agreement for as many data sets chosen at random.",
    "known": "The same agreement for respondents whose scores were used to choose: too good.",
    "known_ceiling": "The ceiling for respondents whose scores were used to choose.",
    "gain": "Agreement of the chosen data sets less that of data sets chosen at random.",
    # Data sets and metadata.
    "chance": "Chance of a right response for a respondent of average ability.",
    "share_solved": "Share of the items that everybody solves.",
    "share_unsolved": "Share of the items that nobody solves.",
    "share_hard": "Share of the items above the limit of difficulty, or that nobody solves.",
    "share_discriminating": "Share of the items above the limit of discrimination; those that all "
    "or none solve are below.",
    "share_guessable": "Share of the items above the limit of guessing; those that all or none "
    "solve are below.",
    "share_negative": "Share of the items with negative discrimination.",
    "difficulty_mean": "Mean difficulty of the items, of which those beyond ±6 count as ±6, and "
    "those that all got right or all wrong do not count.",
    "difficulty_sd": "Standard deviation of the same difficulties.",
    "difficulty_median": "Median of the same difficulties.",
    "discrimination_mean": "Mean discrimination of the items.",
    "guessing_mean": "Mean guessing of the items.",
    "metadatum": "A fact about data sets, such as their number of classes.",
    "correlation": "Rank correlation over data sets, with its interval.",
    # Metadata of data sets, by the names of OpenML.
    "NumberOfFeatures": "How many features there are with the target, which OpenML counts as one.",
    # Health of items.
    "solved_by": "All or none, if all or none solve it; alike, if all answered the same.",
    "significantly_negative": "Whether the discrimination is below zero after correction for "
    "multiple tests; a negative estimate alone is not.",
    "negative_p": "p value of a discrimination that is not below zero.",
    "negative_p_adjusted": "The same after correction for multiple tests.",
    "suspect_key": "Whether the item contradicts good respondents by right and wrong answers "
    "alone; class probabilities, where known, may name others.",
    "duplicate_of": "An item that is answered alike.",
    "problems": "What to look at.",
    "best": "How many of the best respondents are looked at.",
    "solved_by_best": "Items that all of the best solve.",
    "solved_share": "Share that all of the best solve, of the items that two of them answered.",
    "separate_two": "Items on which the best two differ.",
    "separate_best": "Items on which any of the best differ.",
    "share_answered": "Share of the items that at least two of the best answered.",
    "ability_top": "Mean ability of the best.",
    "ability_middle": "Ability in the middle of all respondents.",
    "information_top": "Information of all items at the ability of the best.",
    "information_middle": "Information of all items in the middle.",
    "information_left": "Information at the top, as a share of the highest.",
    "se_top": "Standard error of an ability at the top.",
    "se_middle": "Standard error of an ability in the middle.",
    "first": "The best respondent.",
    "second": "The second best respondent.",
    "first_tied": "How many others have the mean response of the first.",
    "second_tied": "How many others have the mean response of the second.",
    "cut_tied": "How many others, not among the best, have the mean response of the last of these.",
    "lead": "Accuracy of the best less that of the second.",
    "lead_p": "p value of the lead.",
    "state": "Open, nearly saturated, or saturated: whether the best can still be separated.",
    "zh": "Likelihood of the pattern of responses, standardised: far below 0, easy items are "
    "failed and hard ones solved.",
    "fit_p": "Chance of a zh that low.",
    "hard": "Items that are hard for this respondent.",
    "right_on_hard": "Right responses to items that are hard for it.",
    "expected_on_hard": "Right responses to these that its ability predicts.",
    "excess_z": "The normal deviate of their p value: counts are skewed, so that it is not quite "
    "right less expected, in standard errors.",
    "excess_p": "p value of so many right responses to hard items.",
    "hint": "Whether it is right significantly more often than its ability predicts.",
    "too_good_on": "Groups of items on which it is right more often than predicted.",
    "excess_p_adjusted": "The same, corrected for multiple tests.",
    "solved_low": "Lower end of the interval of the solved share.",
    "solved_high": "Upper end of the interval of the solved share.",
    # Whether to believe a scale.
    "dimension": "One of several abilities behind a table, such as mathematics and code.",
    "eigenvalue": "How much of the variation of responses the dimension explains, in items.",
    "share": "The same as a share of the whole.",
    "to_exceed": "What chance gives in tables without this dimension, which it has to exceed.",
    "by_chance": "The mean eigenvalue of tables without this dimension: the excess is no chance.",
    "shuffled": "The eigenvalue of shuffled tables, which hold no ability at all.",
    "noise_p": "How likely chance makes an item as noisy, by the larger of infit and outfit, each "
    "only where its standard error is 1 at most.",
    "infit_z": "The infit as a normal deviate, by its cube root: mean squares are skewed, so that "
    "it is not quite infit less 1, in standard errors.",
    "outfit_z": "The outfit as a normal deviate, by its cube root: mean squares are skewed, so "
    "that it is not quite outfit less 1, in standard errors.",
    "noise_p_adjusted": "The same, corrected for multiple tests.",
    "suggested": "Whether the dimension is more than chance.",
    "reliability": "The share of the variance of estimated abilities that is not error.",
    "statistic": "The test statistic, chi-square where the model fits.",
    "df": "Degrees of freedom.",
    "rmsea": "Misfit per degree of freedom, whatever the sample size; below 0.05 is close.",
    "srmsr": "Mean size of residual correlations between items; below 0.05 is close.",
    "tli": "Fit compared with independent items (Tucker and Lewis); 1 is perfect.",
    "cfi": "Fit compared with independent items (Bentler); 1 is perfect.",
    "s_x2": "Chi-square statistic of the curve of the item (Orlando and Thissen).",
    "s_x2_df": "Its degrees of freedom.",
    "s_x2_p": "p value: a small one says that the curve has the wrong form.",
    "s_x2_p_adjusted": "The same, corrected for multiple tests.",
    "s_x2_rmsea": "Misfit of the curve per degree of freedom, whatever the sample size.",
    "infit": "Mean squared residual, weighted by information: 1 is expected, more is a surprise.",
    "q3": "Correlation of the residuals of two items, once the ability is accounted for.",
    "q3_adjusted": "The q3 less its mean over all pairs.",
    "z": "In standard errors.",
    "dependent": "Whether the items depend on each other beyond the ability.",
    # Short forms and adaptive tests.
    "weight": "How much the item counts in the prediction of the whole accuracy.",
    "n_items": "Number of items.",
    "mae": "Mean absolute error.",
    "mae_low": "Lower end of the interval of the mean absolute error: Student's t over folds, for "
    "models of one fold share what was learned.",
    "mae_high": "Upper end of the interval of the mean absolute error, likewise.",
    "rmse": "Root of the mean squared error.",
    "bias": "Mean of prediction less truth.",
    "coverage": "Share of the model's 95 % intervals that hold the truth.",
    "coverage_observed": "The same for intervals that are widened by the error in other folds.",
    "width": "Mean width of the intervals.",
    "truth": "Accuracy on all items.",
    "method": "How the accuracy on all items is predicted.",
    # Portfolios of algorithms.
    "scaling": "Change on the scale of problems per unit of performance, as the model transforms "
    "it; below 0, the algorithm does better on harder problems.",
    "anomalous": "Whether the algorithm does better on harder problems.",
    "anomalous_chance": "Probability that it does better on harder problems.",
    "consistency": "1 / |discrimination| of the model: high where performance hardly depends on "
    "difficulty. Curves of the figure are smoothed, and may differ.",
    "difficulty_limit": "Where the model expects performance half way between the bounds. Curves "
    "of the figure are smoothed, and may differ.",
    "mean_performance": "Mean performance over all problems.",
    "best_algorithm": "The algorithm with the best performance; several if they are equal.",
    "shared_by": "How many algorithms reach the best performance.",
    "best_performance": "The best performance on the problem.",
    "runs": "How many algorithms ran on it.",
    "occupancy": "Share of the problems at whose difficulty the algorithm's curve is the best, or "
    "as near to it as epsilon allows (0 unless set).",
    "occupancy_low": "Lower end of the interval of that share, for problems like these.",
    "occupancy_high": "Upper end of the interval of that share, for problems like these.",
    "gap": "What the portfolio loses against all algorithms, on problems that did not choose it.",
    "closed_gap": "Share of the gap from the single best algorithm to a perfect choice that is "
    "closed.",
    "mse": "Mean squared difference of actual and predicted performance.",
    "aucdf": "Area under the distribution of absolute residuals; 1 is a perfect fit.",
    "auaec": "Area under the actual effectiveness curve: mean performance, if 1 is the best.",
    "aupec": "Area under the effectiveness curve that the model predicts.",
    "start": "Difficulty at which the range begins.",
    "end": "Difficulty at which the range ends.",
    # Predicted difficulty.
    "target": "What is predicted.",
    "training": "Which items the regressor learned from.",
    "nrmse": "Root mean squared error over the standard deviation of the target: 1 is no better "
    "than the mean.",
    "nrmse_sd": "Standard deviation of the nrmse over folds.",
    "nrmse_low": "Lower end of the interval of the nrmse, which counts that folds share items.",
    "nrmse_high": "Upper end of the interval of the nrmse, which counts that folds share items.",
    "repeat": "How often the folds were drawn before.",
    "fold": "The number of the fold.",
    # Confusion matrices.
    "true": "The true class.",
    "predicted": "The class that was predicted.",
    "name": "True or false, positive or negative.",
    "informative": "Items whose parameters mean something: not all responses are the same.",
    "total_score": "Chance of being right, summed over right responses, less the chance of being "
    "wrong, summed over wrong ones.",
    "total_score_mean": "Mean of the total score per item.",
    "total_score_sum": "Sum of the total score over the items.",
    "true_score_sum": "Sum of the true score over the items.",
    "auc": "Area under the ROC curve: the chance that a positive case gets a higher score.",
    "precision": "Share right among those predicted to be positive.",
    "recall": "Share found among the positive cases.",
    "specificity": "Share found among the negative cases.",
    "f1": "Harmonic mean of precision and recall.",
    "size": "Whether its class is the largest.",
    # Capability.
    "mlc": "Capability: the case difficulty at which cases are as often right as wrong.",
    "cdi": "Case difficulty index: how much a case looks like its class, by its features; 0 is "
    "the mean of the training cases, 1 their standard deviation.",
    "rule": "The rule by which the adaptive test chooses cases and ends.",
    "between_tests": "Standard deviation of the capability between repeated tests.",
    "cases_used": "Cases that a test takes on average.",
    "easiest": "Difficulty of the easiest test case.",
    "hardest": "Difficulty of the hardest test case.",
    "limit_is": "What the test cases show of the limit: seen on both sides, extrapolated beyond "
    "them, none right in the class, or not supported by the accuracy up to it.",
    "cases_below": "Test cases up to the capability.",
    "cases_above": "Test cases beyond the capability.",
    "accuracy_below": "Share right among the cases up to the capability.",
    "accuracy_above": "Share right among the cases beyond the capability.",
}

# Words of single tables, by caption, where a column means something else there.
OF_TABLES: dict[str, dict[str, str]] = {
    "models": {
        "true_score": "Expected share of right responses at this ability.",
        "total_score": "Total score per item: chances of being right over right responses, less "
        "those of being wrong over wrong ones, by their number.",
    },
    "choice": {
        "size": "How many data sets are chosen.",
        "share": "The same as a share of all data sets.",
        "difference": "Agreement of the chosen data sets less the ceiling.",
        "kendall": "Agreement with the ranking by the whole benchmark (Kendall's tau).",
        "tested": "Which part of a half of the data sets stood for this size.",
    },
    "subsets": {
        "part": "Whether all data sets are played, or half of them.",
        "order": "The order in which data sets are played.",
        "kendall": "Agreement with the share of points on all data sets (Kendall's tau).",
        "datasets": "How many data sets are played.",
    },
    "classes": {
        "share": "Cases used as a share of the whole data set, with what the model learned from.",
        "cases": "Test cases of the class.",
    },
    "strengths": {
        "share": "Share of the problems within this range of difficulty.",
        "problems": "How many problems lie within this range of difficulty.",
    },
    "cells": {
        "chance": "The model's mean probability of being right over the items of the cell.",
        "count": "How many items are in the cell.",
    },
    "goodness": {"difference": "|auaec − aupec|: 0 if the model predicts as it is."},
    "regressors": {
        "best": "Whether its error is the lowest.",
        "p": "p value of the comparison with the best regressor.",
    },
    "saturation": {
        "group": "All items, or one group of them.",
        "compared": "How many respondents are linked by items, and compared.",
        "top_asked": "Items that the first respondent answered.",
        "top_observed": "What it reaches of all that these items allow.",
        "top_share": "What the first respondent reaches of all that the items allow.",
        "top_of_reached": "The same of what anybody reached on each item.",
        "top_low": "Lower end of the interval of that share.",
        "top_high": "Upper end of the interval of that share.",
        "separate_share": "Share on which any of the best differ, of the items that two answered.",
        "separate_low": "Lower end of the interval of that share.",
        "separate_high": "Upper end of the interval of that share.",
    },
    "items": {"group": "The group of items that it belongs to."},
    "metrics": {"value": "Value over all test cases.", "se": "Standard error of the value."},
    "unexpected rights": {"chance": "Chance of being right at this ability."},
    "unexpected wrongs": {"chance": "Chance of being wrong at this ability."},
    "where it fails": {
        "group": "The items that have this in common.",
        "difference": "Mean response less what is expected at this ability.",
    },
    "two models": {"difference": "Mean of the first less that of the second."},
}

# Names that say what they are.
SELF_EXPLAINING = frozenset(
    {
        *("item", "items", "respondent", "respondents", "other", "model", "algorithm", "regressor"),
        *("dataset", "datasets", "class", "task", "case", "cases", "count", "n", "n_respondents"),
        *("problem", "result", "setting", "value", "metric", "parameter", "order", "part", "right"),
        *("prediction", "response", "content", "low", "high", "se"),
    }
)


def meaning_of(column: str, caption: str = "") -> str:
    """Return the meaning of a column of the table with this caption; "" if it is not known."""
    own = OF_TABLES.get(caption.lower(), {}).get(column) or WORDS.get(column, "")
    if own:
        return own
    for ending, said in ENDINGS.items():
        owner = column.removesuffix(ending)
        if owner != column and is_known(owner, caption):
            return said.format(owner.replace("_", " "))
    return ""


def is_known(column: str, caption: str = "") -> bool:
    """Return True if a column has a meaning here, or a name that says it."""
    return column in SELF_EXPLAINING or bool(meaning_of(column, caption))


def words_of_page(columns: Collection[str] | None = None) -> dict[str, Mapping[str, object]]:
    """Return the words for a page: of these columns or of all, of single tables, and endings."""
    if columns is None:
        return {"columns": WORDS, "tables": OF_TABLES, "endings": ENDINGS}
    some = {name: said for name, said in WORDS.items() if name in columns}
    return {"columns": some, "tables": {}, "endings": ENDINGS}
