"""Compare classifiers on one test set: which are better, and which rows are hard.

Run with: python examples/compare_classifiers.py
"""

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import ogive as og

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=200, random_state=0)

# Each classifier is trained on few to many rows: a scale needs weak and strong respondents.
families = {
    "tree": DecisionTreeClassifier(random_state=0),
    "neighbours": KNeighborsClassifier(3),
    "naive Bayes": GaussianNB(var_smoothing=1e-3),
    "logistic": LogisticRegression(max_iter=1000),
    "support vectors": SVC(),
}
predictions = {
    f"{name}, {rows} rows": model.fit(X_train[:rows], y_train[:rows]).predict(X_test)
    for rows in (30, 50, 80, 130, 200, 350, 600, 1500)
    for name, model in families.items()
}

responses = og.Responses.from_predictions(y_test, predictions)
cal = og.calibrate(responses, model="2pl")
print(cal)

ranking = cal.abilities().sort_values("ability", ascending=False)
print("\nBest classifiers:")
print(ranking[["ability", "se"]].head(5).round(2))

hardest = cal.items.query("flag == ''").sort_values("difficulty", ascending=False)
print("\nHardest digits:")
print(hardest[["difficulty", "difficulty_se", "discrimination"]].head(5).round(2))
