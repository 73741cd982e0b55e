import json
import logging
import re
from itertools import product

import pytest

from ogive.capability import http_service
from ogive.capability.classifier import ModelError
from ogive.capability.http_requests import RequestLimits
from ogive.capability.http_service import Keys, make_app
from ogive.capability.model_process import REQUESTS, JsonLines
from ogive.errors import FileError, InputError, MissingExtraError

ANN, BOB = {"age": 30, "sex": "f"}, {"age": 70.5, "sex": "m"}


def test_each_row_is_decided_in_its_order(service):
    answer = service.decide([ANN, BOB]).json()
    first, second = answer["decisions"]
    assert first == {
        "prediction": "ill",
        "decision": "model",
        "cdi": -3.0,
        "difficulty": 3.0,
        "limit": 6.0,
        "reason": "as it is",
    }
    assert (second["prediction"], second["decision"]) == ("well", "person")
    assert answer["counts"] == {"model": 1, "person": 1}


def test_what_is_not_finite_is_null(service):
    assert service.decide([BOB]).json()["decisions"][0]["limit"] is None


def test_fields_may_come_in_any_order(service):
    assert service.decide([dict(reversed(ANN.items()))]).status_code == 200


def test_null_is_a_missing_value_where_the_model_takes_it(service, gate):
    assert service.decide([{"age": None, "sex": None}]).status_code == 200
    assert gate.calls[-1].isna().all(axis=None)


def test_null_is_refused_where_the_model_takes_none(make_service, stubborn, problems):
    found = problems(make_service(stubborn).decide([ANN, {**BOB, "age": None}]))
    assert found == {
        ("rows", 1, "age"): "rows[1].age is null, but the model does not accept missing values."
    }


def test_an_error_in_the_model_harms_only_the_request_that_made_it(service, caplog):
    bad = {"age": 13, "sex": "f"}
    asked = [("POST", "/decide", {"json": {"rows": [row]}}) for row in (ANN, bad, BOB)]
    fine, failed, fine_too = service.together(*asked)
    assert (fine.status_code, failed.status_code, fine_too.status_code) == (200, 500, 200)
    assert "failed on these rows" in failed.json()["detail"]
    assert "secret" not in failed.text
    assert "secret" in caplog.text
    assert service.decide([ANN]).status_code == 200


def test_what_the_gate_cannot_use_is_told_in_its_own_words(service, problems):
    found = problems(service.decide([{"age": 14, "sex": "x"}]))
    assert "never seen" in found[("rows",)]


@pytest.mark.parametrize("answer", [lambda X: X.iloc[:0], lambda X: None, lambda X: X])
def test_a_gate_that_answers_nonsense_is_an_error_inside(make_service, gate, answer):
    gate.decide = answer
    response = make_service(gate).decide([ANN])
    assert response.status_code == 500
    assert "Traceback" not in response.text


def test_capability_has_a_record_a_class(service):
    assert service.ask("GET", "/capability").json() == {
        "classes": [
            {"class": "ill", "mlc": 6.0, "mlc_se": 0.1},
            {"class": "well", "mlc": None, "mlc_se": None},
        ]
    }


def test_unknown_paths_and_methods_are_told_in_a_sentence(subtests, service):
    for method, path, status in [
        ("GET", "/decide", 405),
        ("POST", "/health", 405),
        ("GET", "/x", 404),
        ("GET", "/%2e", 404),
    ]:
        with subtests.test(method=method, path=path, status=status):
            answer = service.ask(method, path)
            assert answer.status_code == status
            assert "/openapi.json" in answer.json()["detail"]


def test_the_documentation_names_the_features_in_the_order_of_the_gate(service):
    document = service.ask("GET", "/openapi.json").json()
    row = document["components"]["schemas"]["Row"]
    assert list(row["properties"]) == ["age", "sex"]
    assert row["properties"]["age"]["type"] == ["number", "null"]
    assert row["properties"]["sex"]["type"] == ["string", "null"]
    assert row["additionalProperties"] is False
    decision = document["components"]["schemas"]["Decision"]
    assert decision["properties"]["prediction"]["enum"] == ["ill", "well"]
    assert set(document["paths"]) == {"/decide", "/capability", "/health", "/ready", "/metrics"}


def test_every_reference_in_the_documentation_leads_somewhere(make_service, gate):
    document = make_service(gate, api_key="k").ask("GET", "/openapi.json").json()
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert named == set(document["components"]["schemas"])


def test_the_documentation_says_null_only_where_it_is_taken(make_service, stubborn):
    document = make_service(stubborn).ask("GET", "/openapi.json").json()
    assert document["components"]["schemas"]["Row"]["properties"]["age"]["type"] == "number"


def test_requests_and_decisions_are_counted(service):
    service.decide([ANN, BOB])
    service.decide([{}])
    service.ask("GET", "/a/path/of/their/own")
    text = service.ask("GET", "/metrics").text
    assert 'ogive_requests_total{path="/decide",status="200"} 1' in text
    assert 'ogive_requests_total{path="/decide",status="422"} 1' in text
    assert 'ogive_requests_total{path="other",status="404"} 1' in text
    assert 'ogive_decisions_total{decision="person"} 1' in text
    assert "their/own" not in text


class TestKey:
    @pytest.fixture
    def closed(self, make_service, gate):
        return make_service(gate, api_key="open sesame ä")

    def test_without_it_nothing_is_told(self, subtests, closed):
        for path, headers in product(
            ["/decide", "/capability", "/metrics", "/nowhere"],
            [{}, {"X-API-Key": "wrong"}, {"X-API-Key": ""}],
        ):
            with subtests.test(path=path, headers=headers):
                answer = closed.ask("POST" if path == "/decide" else "GET", path, headers=headers)
                assert answer.status_code == 401
                assert "X-API-Key" in answer.json()["detail"]

    def test_with_it_all_is_as_without_a_key(self, closed):
        key = {"X-API-Key": "open sesame ä".encode()}
        assert closed.decide([ANN], headers=key).status_code == 200
        assert closed.ask("GET", "/capability", headers=key).status_code == 200

    def test_twice_is_refused(self, closed):
        twice = [("X-API-Key", "open sesame ä".encode()), ("X-API-Key", b"x")]
        assert closed.ask("GET", "/capability", headers=twice).status_code == 401

    @pytest.mark.parametrize("path", ["/health", "/ready", "/openapi.json"])
    def test_health_and_documentation_need_none(self, closed, path):
        assert closed.ask("GET", path).status_code == 200

    def test_the_documentation_asks_for_it(self, closed):
        document = closed.ask("GET", "/openapi.json").json()
        assert document["paths"]["/decide"]["post"]["security"] == [{"key": []}]

    @pytest.mark.parametrize("key", ["", "  "])
    def test_an_empty_one_is_refused_at_the_start(self, gate, key):
        with pytest.raises(InputError, match="API key is empty"):
            make_app(gate, api_key=key)


def test_without_starlette_the_extra_is_named(gate, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "starlette.applications", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[serve\]"):
        make_app(gate)


@pytest.mark.parametrize("wrong", [{"rows": 0}, {"body_bytes": 1.5}, {"seconds": float("nan")}])
def test_limits_that_are_none_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        RequestLimits(**wrong)


def test_a_model_that_ends_the_program_does_not_end_the_service(make_service, gate, caplog):
    def leave(_):
        raise SystemExit(3)

    service = make_service(gate)
    gate.decide = leave
    assert service.decide([ANN]).status_code == 500


def test_what_a_model_raises_is_not_sent_to_clients(make_service, gate, problems, caplog):
    def refuse(_):
        raise ModelError("LogisticRegression failed to predict: FileNotFoundError: /etc/secret")

    service = make_service(gate)
    gate.decide = refuse
    assert "secret" not in str(problems(service.decide([ANN])))
    assert "secret" in caplog.text


class TestKeysInAFile:
    def test_they_change_while_the_service_runs(self, make_service, gate, tmp_path, monkeypatch):
        monkeypatch.setattr(http_service, "SECONDS_BETWEEN_CHECKS", 0.0)
        path = tmp_path / "keys"
        path.write_text("old\n")
        service = make_service(gate, key_file=path)

        def status(key):
            return service.decide([ANN], headers={"X-API-Key": key}).status_code

        assert (status("old"), status("new")) == (200, 401)
        path.write_text("old\nnew \n\n")
        assert (status("old"), status("new"), status("")) == (200, 200, 401)
        path.write_text("new\n")
        assert (status("old"), status("new")) == (401, 200)
        path.unlink()  # an editor may replace it
        assert status("new") == 200

    def test_all_are_compared_whichever_it_is(self, tmp_path, monkeypatch):
        (tmp_path / "keys").write_text("first\nsecond\nthird\n")
        keys = Keys(file=tmp_path / "keys")
        compared = []
        monkeypatch.setattr(
            "hmac.compare_digest", lambda a, b: compared.append((len(a), len(b))) or a == b
        )
        for given in (b"first", b"third", b"f", b"none of them"):
            keys.holder(given)
        assert compared == 12 * [(32, 32)]

    def test_one_without_keys_is_refused(self, make_service, gate, tmp_path):
        (tmp_path / "keys").write_text("\n")
        with pytest.raises(FileError, match="holds no API key"):
            make_service(gate, key_file=tmp_path / "keys")


@pytest.fixture
def logged(caplog):
    caplog.set_level(logging.INFO, REQUESTS.name)
    return lambda: [json.loads(JsonLines().format(record)) for record in caplog.records]


def test_a_line_per_request_says_who_asked_but_neither_the_key_nor_the_case(
    make_service, gate, logged
):
    service = make_service(gate, api_key="a secret")
    service.decide([ANN], headers={"X-API-Key": "a secret"})
    service.ask("GET", "/a%0d%0ab", headers={"X-API-Key": "wrong"})
    good, bad = logged()
    assert (good["method"], good["path"], good["status"]) == ("POST", "/decide", 200)
    assert len(good["key"]) == 8
    assert (bad["path"], bad["status"]) == ("/a\r\nb", 401)
    assert "key" not in bad
    assert "secret" not in f"{good}{bad}"


def test_requests_are_not_logged_unless_asked_for(make_service, gate, caplog):
    make_service(gate).decide([ANN])
    assert not caplog.records
