"""A gate that was fitted, saved and loaded, behind the service."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import ogive as og


@pytest.fixture(scope="module")
def cases():
    random = np.random.default_rng(0)
    outcome = random.integers(2, size=300)
    frame = pd.DataFrame(
        {
            "pulse": 70 + 8 * outcome + random.normal(scale=6, size=300),
            "sodium": 140 - 3 * outcome + random.normal(scale=3, size=300),
            "cough": np.where(random.random(300) < 0.2 + 0.5 * outcome, "yes", "no"),
        }
    )
    return frame, np.where(outcome, "ill", "well")


@pytest.fixture(scope="module")
def saved(cases, tmp_path_factory):
    features = make_column_transformer(
        (StandardScaler(), ["pulse", "sodium"]),
        (OneHotEncoder(handle_unknown="ignore"), ["cough"]),
    )
    gate = og.CapabilityGate(make_pipeline(features, LogisticRegression())).fit(*cases)
    path = tmp_path_factory.mktemp("gate") / "gate.json"
    gate.save(path)
    return path


@pytest.fixture
def loaded(saved):
    return og.load(saved)


def test_the_service_says_what_the_gate_says(make_service, loaded, cases):
    rows = cases[0][:40]
    answer = make_service(loaded).decide(rows.to_dict("records"))
    assert answer.status_code == 200, answer.text
    found, wanted = pd.DataFrame(answer.json()["decisions"]), loaded.decide(rows)
    assert list(found["prediction"]) == list(wanted["prediction"])
    assert list(found["decision"]) == list(wanted["decision"])
    assert list(found["reason"]) == list(wanted["reason"])
    np.testing.assert_allclose(found["difficulty"].to_numpy(float), wanted["difficulty"])


def test_its_features_are_the_fields(make_service, loaded, problems):
    service = make_service(loaded)
    row = service.ask("GET", "/openapi.json").json()["components"]["schemas"]["Row"]
    assert list(row["properties"]) == ["pulse", "sodium", "cough"]
    found = problems(service.decide([{"pulse": "70", "sodium": None, "cough": 1}]))
    assert {place[-1] for place in found} == {"pulse", "sodium", "cough"}


def test_odd_rows_within_the_schema_are_decided(make_service, loaded):
    odd = [
        {"pulse": size, "sodium": -size, "cough": word}
        for size in (0, 1e30, -1e30, 1e-300)
        for word in ("", "never seen", "\x00", "🙂")
    ]
    assert make_service(loaded).decide(odd).status_code == 200


def test_its_capability_has_a_record_a_class(make_service, loaded):
    classes = make_service(loaded).ask("GET", "/capability").json()["classes"]
    assert [one["class"] for one in classes] == ["ill", "well"]


@pytest.fixture(scope="module")
def grouped(cases):
    frame, y = cases
    numbers = frame[["pulse", "sodium"]]
    made = og.CapabilityGate(LogisticRegression(), target_accuracy=0.6, alpha=0.3)
    return made.fit(numbers, y, groups=pd.Series(np.resize(["a", "b"], 300), name="site"))


def test_a_gate_that_groups_cases_needs_the_group_in_each_row(make_service, grouped, problems):
    service = make_service(grouped)
    row = service.ask("GET", "/openapi.json").json()["components"]["schemas"]["Row"]
    assert list(row["properties"]) == ["pulse", "sodium", "site"]
    rows = [{"pulse": 70.0, "sodium": 140.0, "site": site} for site in ("a", "b", "c")]
    decisions = service.decide(rows).json()["decisions"]
    assert decisions[2]["decision"] == "person"
    assert decisions[2]["reason"].startswith("Its site 'c' was not among those")
    assert {"trust", "least_trust"} <= set(decisions[0])
    found = problems(service.decide([{"pulse": 70.0, "sodium": 140.0}]))
    assert {place[-1] for place in found} == {"site"}


def test_its_capability_says_what_is_accepted_of_each_part(make_service, grouped):
    parts = make_service(grouped).ask("GET", "/capability").json()["parts"]
    assert {one["part"] for one in parts if one["by"] == "group"} == {"a", "b"}
    assert {"share", "share_low", "share_high", "accuracy"} <= set(parts[0])
