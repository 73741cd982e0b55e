"""What classifiers predict where they are wrong, and how ability grows with training rows.

Run with: python examples/predicted_classes.py
"""

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import ogive as og

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=120, random_state=0)
families = {
    "tree": DecisionTreeClassifier(random_state=0),
    "neighbours": KNeighborsClassifier(1),
    "naive Bayes": GaussianNB(var_smoothing=1e-3),
    "logistic": LogisticRegression(max_iter=500),
}
random, predicted, facts = np.random.default_rng(0), {}, []
for family, model in families.items():
    for k in range(30):  # from a few rows to many
        rows = random.choice(len(X_train), int(15 * 1.15**k), replace=False)
        predicted[f"{family} {k}"] = model.fit(X_train[rows], y_train[rows]).predict(X_test)
        facts.append({"log10 rows": np.log10(len(rows)), "family": family})

items = [f"row {k}" for k in range(len(y_test))]
chosen = pd.DataFrame.from_dict(predicted, orient="index", columns=items)
key = pd.Series(y_test, items)
key["row 0"] = (key["row 0"] + 1) % 10  # one label is wrong

found = og.distractors(chosen, key)
print(found.meaning)
found.plot().save("options.png")

right = og.Responses.from_choices(chosen, key)
explained = og.explain_ability(right, pd.DataFrame(facts, index=list(chosen.index)))
print(explained.meaning)
print(explained.to_frame())
explained.plot().save("ability_by_rows.png")
