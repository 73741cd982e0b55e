"""Up to which difficulty a model may diagnose tumours, and which cases a person should see.

Run with: python examples/capability.py
"""

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import itemwise as iw

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})
model = make_pipeline(StandardScaler(), LogisticRegression())

scale = iw.CaseDifficulty().fit(X, y)
print(scale.directions_[["rule", "direction_malignant"]].head(3).to_string())

found = iw.measure_capability(model, X, y, rule=["information", "steps"])
columns = ["rule", "mlc", "mlc_se", "cases_used", "accuracy_below", "accuracy_above"]
print("\n", found.classes[columns].round(2).to_string(), sep="")
for sentence in found.sentences():
    print(sentence)

print("\nA gate that promises 95 %, judged by cases that it has not seen:")
known, new, known_y, new_y = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
gate = iw.CapabilityGate(model, target_accuracy=0.95, holdout=0.5).fit(known, known_y)
compared = gate.compare(new, new_y)
print(compared.frame.drop(columns=["cases", "p"]).round(3).to_string(index=False))
print(compared.meaning)

decided = gate.decide(new)
for_people = new[decided["decision"] == "person"]
why = gate.explain(for_people)
print(f"\n{len(for_people)} of {len(new)} cases go to a person. {why.meaning}")
gate.save("gate.json")  # for `itemwise gate decide` and `itemwise serve`

for figure in ("cases", "density", "accuracy", "trace"):
    found.plot(figure).save(f"{figure}.png")
compared.plot().save("risk_coverage.png")
why.plot().save("decision.png")
