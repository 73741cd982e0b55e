"""Open the confusion matrix: ten classifiers on patients of a simulated heart clinic.

270 patients, 13 measurements and findings, two classes, and one label in twenty changed at random.
Run with: python examples/confusion_matrix.py
"""

import pandas as pd
from sklearn.datasets import make_classification

import ogive as og

COLUMNS = [
    *("age", "sex", "chest_pain", "blood_pressure", "cholesterol", "blood_sugar", "ecg"),
    *("heart_rate", "angina", "oldpeak", "slope", "vessels", "thal"),
]

X, ill = make_classification(
    270, 13, n_informative=5, n_redundant=3, weights=[0.55], class_sep=0.7, flip_y=0.1,
    random_state=0,
)  # fmt: skip
clinic = pd.DataFrame(X, columns=COLUMNS).assign(
    disease=pd.Series(ill).map({0: "absent", 1: "present"})
)

comparison = og.compare_classifiers(clinic, target="disease", n_jobs=-1)
columns = ["accuracy", "recall", "total_score", "total_score_rank_low", "total_score_rank_high"]
print(comparison.to_frame()[[*columns, "accuracy_filtered"]].round(3).to_string())
for sentence in comparison.sentences()[:2]:
    print(f"\n{sentence}")

best = comparison.to_frame().index[0]
cells = comparison.curves.cells
shown = ["name", "count", "discrimination", "share_negative", "chance", "total_score"]
print(f"\nThe cells of {best}:")
print(cells.loc[cells["model"] == best, shown].round(2).to_string(index=False))
comparison.plot("cells", best).save("cells.png")
