import json

import pytest

from ogive.errors import FileError


class Saved:
    kinds_ = {"age": "number"}  # noqa: RUF012


@pytest.fixture
def served(monkeypatch, tmp_path):
    """What the command hands on, in place of a service that never ends."""
    seen = {}
    (tmp_path / "gate.json").touch()

    def serve(gate, *, ready, **settings):
        seen.update(settings, gate=gate)
        ready("http://127.0.0.1:8000")

    monkeypatch.setattr("ogive.capability.http_service.serve", serve)
    monkeypatch.setattr("ogive._load.load_only", lambda kind, path: Saved())
    monkeypatch.delenv("OGIVE_API_KEY", raising=False)
    return seen


def test_it_says_where_it_serves(run, served):
    done = run("serve", "gate.json")
    assert done.exit_code == 0
    assert "http://127.0.0.1:8000/openapi.json" in done.stdout
    assert (served["host"], served["port"], served["api_key"]) == ("127.0.0.1", 8000, None)


def test_limits_and_address_are_handed_on(run, served):
    run("serve", "gate.json", "--port", 0, "--host", "::1", "--max-rows", 7, "--max-bytes", 99)
    assert (served["host"], served["port"]) == ("::1", 0)
    assert (served["limits"].rows, served["limits"].body_bytes) == (7, 99)


def test_the_key_comes_from_the_environment_and_is_not_shown(run, served, monkeypatch):
    monkeypatch.setenv("OGIVE_API_KEY", "open sesame")
    done = run("serve", "gate.json", "--host", "0.0.0.0")  # noqa: S104
    assert served["api_key"] == "open sesame"
    assert "sesame" not in done.output
    assert "OGIVE_API_KEY" not in done.stderr


def test_an_open_door_is_remarked(run, served):
    assert "OGIVE_API_KEY" in run("serve", "gate.json", "--host", "0.0.0.0").stderr  # noqa: S104


def test_json_is_one_document(run, served):
    document = json.loads(run("serve", "gate.json", "--json").stdout)
    assert document["features"] == {"age": "number"}
    assert (document["address"], document["key"]) == ("http://127.0.0.1:8000", False)


def test_a_gate_that_cannot_be_read_is_bad_input(run, served, monkeypatch):
    def broken(kind, path):
        raise FileError(f"There is no file '{path}'.")

    monkeypatch.setattr("ogive._load.load_only", broken)
    done = run("serve", "gate.json")
    assert done.exit_code == 3
    assert "gate.json" in done.stderr
