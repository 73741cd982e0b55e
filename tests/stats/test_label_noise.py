"""The probability of a wrong label: by definition, by planted truth, and where classes overlap."""

from importlib import import_module

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.stats import norm

from ogive.stats.label_noise import label_noise

module = import_module("ogive.stats.label_noise")  # its function has the same name


def overlapping(n=1500, distance=2.0, noise=0.05, seed=0):
    """Two normal classes with their true probabilities, labels as given, and which are wrong."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, 2, n)
    x = random.normal(distance * truth, 1.0)
    first, second = norm.pdf(x, 0.0), norm.pdf(x, distance)
    wrong = random.random(n) < noise
    scores = np.stack([first, second], axis=1) / (first + second)[:, None]
    return scores[None], np.where(wrong, 1 - truth, truth), wrong


def three_classes(n=900, seed=0):
    random = np.random.default_rng(seed)
    truth = random.integers(0, 3, n)
    logits = random.normal(size=(n, 3)) + 4.0 * np.eye(3)[truth]
    scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return scores, truth, random


def test_evidence_is_bayes_rule_on_a_case_by_hand():
    """Chance 0.9 and 0.1 of two classes, 10 % and 20 % of whose labels are changed."""
    joint = module._joint(
        np.array([[0.9, 0.1]]), np.array([1]), np.array([0.1, 0.2]), 1 - np.eye(2)
    )
    odd = module.ODD
    by_hand = (1 - odd) * 0.9 * 0.1, (1 - odd) * 0.1 * 0.8 + odd / 2
    np.testing.assert_allclose(joint[0], by_hand)


def test_probabilities_of_labels_sum_to_one():
    """Over all labels that an item might have been given."""
    chance = np.random.default_rng(0).dirichlet(np.ones(4), 5)
    rates = np.array([0.1, 0.02, 0.3, 0.0])
    shares = np.random.default_rng(1).random((4, 4)) * (1 - np.eye(4))
    shares /= shares.sum(axis=1, keepdims=True)
    total = sum(
        module._joint(chance, np.full(5, label), rates, shares).sum(axis=1) for label in range(4)
    )
    np.testing.assert_allclose(total, 1.0)


def test_derivatives_are_those_of_the_posterior():
    random = np.random.default_rng(1)
    scores = random.dirichlet(np.ones(3), (2, 30))
    shares = np.array([[0.0, 0.9, 0.1], [0.5, 0.0, 0.5], [0.3, 0.7, 0.0]])
    loss, labels = np.array([0.5, 0.7]), random.integers(0, 3, 30)
    task = module._LogPosterior(module._logs(scores), labels, loss, 0.8, shares)
    for _ in range(3):
        point = random.normal(scale=0.5, size=2 + 3 + 3)
        far = check_grad(lambda p: task.negative(p)[0], lambda p: task.negative(p)[1], point)
        assert far < 1e-4 * np.abs(task.negative(point)[1]).max()


def test_evidence_is_the_share_of_wrong_labels_where_classes_overlap():
    """Sixteen in a hundred items lie on the wrong side; among the evident, labels are wrong."""
    found, wrong = [], []
    for seed in range(12):
        scores, labels, bad = overlapping(distance=2.0 + seed % 3, seed=seed)
        twice = np.repeat(scores, 2, axis=0)  # one model alone is doubted
        found.append(label_noise(twice, labels).wrong)
        wrong.append(bad)
    evidence, bad = np.concatenate(found), np.concatenate(wrong)
    for low, high in ((0.05, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 0.9)):
        chosen = (evidence >= low) & (evidence < high)
        assert chosen.sum() > 50
        assert low - 0.05 < bad[chosen].mean() < high + 0.08


def test_right_labels_of_overlapping_classes_are_no_suspects():
    for seed in range(5):
        scores, labels, _ = overlapping(n=400, distance=1.0, noise=0.0, seed=seed)
        assert (scores[0].argmax(axis=1) != labels).sum() > 80
        evidence = label_noise(scores, labels).wrong
        assert (evidence > 0.5).sum() <= 8
        assert not (evidence > 0.9).any()


def test_noise_rates_of_classes_are_found():
    scores, truth, random = three_classes(n=3000)
    rates = np.array([0.15, 0.02, 0.05])
    wrong = random.random(3000) < rates[truth]
    labels = np.where(wrong, (truth + random.integers(1, 3, 3000)) % 3, truth)
    found = label_noise(scores[None], labels)
    np.testing.assert_allclose(found.rates, rates, atol=0.035)
    assert np.argmax(found.rates) == 0
    assert (found.likely[wrong] == truth[wrong]).mean() > 0.7


def test_a_model_that_is_too_sure_is_believed_less():
    """Squared probabilities give the same evidence: the weight halves."""
    scores, labels, _ = overlapping(distance=3.0)
    sharp = scores**2 / (scores**2).sum(axis=2, keepdims=True)
    plain, cooled = label_noise(scores, labels), label_noise(sharp, labels)
    assert cooled.weights[0] < 0.75 * plain.weights[0]
    assert np.corrcoef(plain.wrong, cooled.wrong)[0, 1] > 0.95


def test_a_model_that_is_always_sure_and_often_wrong_makes_no_suspects():
    """Probabilities of 0 and 1, as of one nearest neighbour, say nothing of noise."""
    scores, labels, _ = overlapping(distance=2.0, noise=0.0)
    votes = np.eye(2)[scores[0].argmax(axis=1)]
    found = label_noise(votes[None], labels)
    assert (votes[np.arange(len(labels)), labels] == 0).sum() > 150
    assert found.wrong.max() < 0.5
    assert found.weights[0] < 0.5


def test_a_useless_model_hardly_counts():
    scores, truth, random = three_classes()
    useless = random.dirichlet(np.ones(3), len(truth))
    alone = label_noise(scores[None], truth)
    together = label_noise(np.stack([useless, scores]), truth)
    assert together.members[0] == 1
    assert together.weights[list(together.members).index(0)] < 0.1 * together.weights[0]
    assert np.abs(alone.wrong - together.wrong).max() < 0.2


def test_many_members_and_many_items_are_the_best_ones_and_some_of_them(monkeypatch):
    scores, truth, random = three_classes()
    members = np.stack([scores] * 3 + [random.dirichlet(np.ones(3), len(truth))] * 20)
    found = label_noise(members, truth)
    assert len(found.members) == module.MOST_MEMBERS
    assert set(found.members[:3]) == {0, 1, 2}
    monkeypatch.setattr(module, "MOST_LEARNED_FROM", 300)
    fewer = label_noise(members, truth)
    assert np.corrcoef(found.wrong, fewer.wrong)[0, 1] > 0.9


@pytest.mark.parametrize("n", [1, 2, 5])
def test_hardly_any_items_give_evidence_and_no_crash(n):
    scores = np.random.default_rng(0).dirichlet(np.ones(2), n)
    found = label_noise(scores[None], np.zeros(n, dtype=np.int64))
    assert np.isfinite(found.wrong).all()
    assert (found.wrong < 0.8).all()


def test_probabilities_of_zero_and_one_are_finite():
    scores = np.eye(2)[np.arange(60) % 2]
    labels = np.arange(60) % 2
    labels[0] = 1
    found = label_noise(scores[None], labels)
    assert np.argmax(found.wrong) == 0
    assert found.wrong[0] > 0.5
    assert np.isfinite(found.wrong).all()


def of_one_class(n_classes, n_wrong, sharpness, seed):
    """500 items, two models that are right about most; wrong labels are all of the first class."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, n_classes, 500)
    seen = random.normal(size=(500, n_classes)) + sharpness * np.eye(n_classes)[truth]
    exponent = sharpness * (seen + 0.6 * random.normal(size=(2, 500, n_classes)))
    scores = np.exp(exponent - exponent.max(axis=2, keepdims=True))
    changed = random.choice(np.flatnonzero(truth == 0), n_wrong, replace=False)
    labels = truth.copy()
    labels[changed] = 1
    return scores / scores.sum(axis=2, keepdims=True), labels, labels != truth


def test_wrong_labels_of_one_class_are_found(subtests):
    """With rates that had to be alike, most of these tables had no suspect at all."""
    for n_classes, n_wrong, sharpness, seed in (
        (2, 29, 2.5, 0),
        (3, 29, 4.0, 1),
        (5, 29, 3.0, 0),
        (10, 12, 3.5, 1),
    ):
        with subtests.test(n_classes=n_classes):
            scores, labels, wrong = of_one_class(n_classes, n_wrong, sharpness, seed)
            found = label_noise(scores, labels)
            sure = found.wrong > 0.5
            assert sure[wrong].mean() > 0.5
            assert wrong[sure].mean() > 0.7
            changed = n_wrong / (n_wrong + (labels == 0).sum())
            assert found.rates[0] == pytest.approx(changed, abs=0.06)
            assert (found.rates[1:] < 0.02).all()
            assert (found.likely[sure] == 0).all()


def test_right_labels_of_the_same_tables_stay_right(subtests):
    for n_classes, sharpness in ((2, 2.5), (5, 3.0), (10, 3.5)):
        with subtests.test(n_classes=n_classes):
            scores, labels, wrong = of_one_class(n_classes, 12, sharpness, 0)
            truth = np.where(wrong, 0, labels)
            assert (label_noise(scores, truth).wrong < 0.8).all()


def test_shares_are_those_of_bayes_rule_by_hand():
    """Four labels of one of three classes went to the second: by chance, or because they do."""
    changed = np.zeros((3, 3))
    changed[0, 1] = 4.0
    shares = module._shares(changed)
    rising = np.prod([(0.5 + k) / (1 + k) for k in range(4)])  # Dirichlet(1/2, 1/2)
    odds = module.SELECTIVE / (1 - module.SELECTIVE) * rising / 0.5**4
    selective = odds / (1 + odds)
    wanted = selective * 4.5 / 5 + (1 - selective) * 0.5
    np.testing.assert_allclose(shares[0], [0, wanted, 1 - wanted])
    np.testing.assert_allclose(shares[1:], [[0.5, 0, 0.5], [0.5, 0.5, 0]])


def test_one_model_alone_is_doubted_and_ranks_alike():
    scores, labels, _ = overlapping(distance=4.0)
    alone, twice = label_noise(scores, labels), label_noise(np.repeat(scores, 2, axis=0), labels)
    assert alone.wrong.max() < twice.wrong.max()
    np.testing.assert_allclose(
        module._discounted(np.array([0.2, 0.5, 0.9])), [0.2, 0.5, 9**0.6 / (1 + 9**0.6)]
    )
