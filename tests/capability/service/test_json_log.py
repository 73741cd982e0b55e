"""The log of the service: one JSON object per line, whatever it is told."""

import json
import logging
import sys

import pytest

from ogive.capability.model_process import REQUESTS, JsonLines

ANN = {"age": 30, "sex": "f"}
HOSTILE = 'x\r\n{"level": "info"}\u2028\x1b[2J\x00\x7f"\\ \udc80'


def line_of(message, *arguments, exc_info=None, **more):
    record = logging.LogRecord("gate", logging.ERROR, "", 0, message, arguments, exc_info)
    record.__dict__ |= more
    return JsonLines().format(record)


def test_text_of_requests_stays_inside_of_its_field():
    line = line_of("refused %s", HOSTILE, facts={"path": HOSTILE})
    assert line.isascii()
    assert len(line.splitlines()) == 1
    assert not any(sign < " " for sign in line)
    read = json.loads(line)
    assert read["message"] == f"refused {HOSTILE}"
    assert read["path"] == HOSTILE
    assert read["level"] == "error"


def test_a_traceback_is_a_field_of_its_line():
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        line = line_of("failed", exc_info=sys.exc_info())
    assert len(line.splitlines()) == 1
    assert "ValueError" in json.loads(line)["traceback"]


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
