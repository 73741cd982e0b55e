"""Requests that cannot be used: each is refused, and the answer says which field of which row."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ogive.capability.http_requests import (
    LARGEST,
    Fields,
    RefusalError,
    RequestLimits,
    read_rows,
    refuse_many_values,
)

FIELDS = Fields({"age": "number", "sex": "text"}, missing=True)
ANN = {"age": 30, "sex": "f"}

plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
values = plain | st.lists(plain, max_size=1)


def test_a_wrong_value_is_named_by_row_and_field(subtests, service, problems):
    cases = [
        ("age", "30", "text, but should be a number"),
        ("age", True, "true or false, but should be a number"),
        ("age", [30], "a list, but should be a number"),
        ("age", {"a": 1}, "an object, but should be a number"),
        ("age", 10**400, "magnitude above 1e+30"),
        ("age", -1e31, "magnitude above 1e+30"),
        ("sex", 1, "a number, but should be text"),
        ("sex", "f" * 10_001, "10,001 characters"),
        ("sex", "\ud800", "surrogate"),
    ]
    for field, value, why in cases:
        with subtests.test(field=field, value=value, why=why):
            found = problems(service.post(json.dumps({"rows": [ANN, {**ANN, field: value}]})))
            assert list(found) == [("rows", 1, field)]
            assert found["rows", 1, field].startswith(f"rows[1].{field} ")
            assert why in found["rows", 1, field]


def test_missing_and_unknown_fields_are_named(service, problems):
    found = problems(service.decide([{"age": 1, "sexx": "f"}]))
    assert found == {
        ("rows", 0, "sex"): "rows[0].sex is missing.",
        ("rows", 0, "sexx"): "rows[0].sexx is unknown to the gate.",
    }


def test_an_endless_list_of_problems_is_cut(service, problems):
    assert len(problems(service.decide([{}] * 500))) == 20


def test_a_body_of_another_form_is_refused(subtests, service, problems):
    cases = [
        ([], ()),
        (1, ()),
        ({}, ("rows",)),
        ({"rows": []}, ("rows",)),
        ({"rows": {"age": 1}}, ("rows",)),
        ({"rows": None}, ("rows",)),
        ({"rows": [1]}, ("rows", 0)),
        ({"rows": [ANN], "more": 1}, ("more",)),
        ({"rows": [ANN] * 1_001}, ("rows",)),
    ]
    for document, place in cases:
        with subtests.test(document=document, place=place):
            assert list(problems(service.post(json.dumps(document)))) == [place]


def test_a_body_that_is_no_json_is_refused(subtests, service):
    cases = [
        (b"", "not valid JSON"),
        (b'{"rows": [', "line 1, column 11"),
        (b'{"rows": [{"age": NaN}]}', "NaN"),
        (b'{"rows": [{"age": -Infinity}]}', "-Infinity"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"rows":' * 100_000, "nested too deeply"),
        (b"1" * 5_000, "too many digits"),
        (b'{"rows": [{"age": 1, "sex": "f", "sex": "m"}]}', "field 'sex' twice"),
        (b'{"rows": [], "rows": [{"age": 1, "sex": "f"}]}', "field 'rows' twice"),
    ]
    for body, why in cases:
        with subtests.test(body=body, why=why):
            answer = service.post(body)
            assert answer.status_code == 400
            assert why in answer.json()["detail"]


def test_infinity_by_size_is_refused(service, problems):
    assert ("rows", 0, "age") in problems(service.post(b'{"rows": [{"age": 1e999, "sex": "f"}]}'))


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Encoding": "gzip"},
    ],
)
def test_what_is_not_sent_as_json_is_refused(service, headers):
    answer = service.post(json.dumps({"rows": [ANN]}), **headers)
    assert answer.status_code == 415


class TestSize:
    @pytest.fixture
    def small(self, make_service, gate):
        return make_service(gate, limits=RequestLimits(body_bytes=100, rows=2))

    def test_as_announced(self, small):
        answer = small.post(b"{}", **{"Content-Length": "99999999999999999999999"})
        assert answer.status_code == 413
        assert "100 bytes" in answer.json()["detail"]

    def test_as_it_comes(self, small):
        seen = []

        async def parts():
            for place in range(1_000):
                seen.append(place)
                yield b" " * 10

        assert small.post(parts()).status_code == 413
        assert len(seen) < 20

    def test_of_as_many_bytes_as_allowed_is_fine(self, small):
        body = json.dumps({"rows": [ANN]}).encode()
        assert small.post(body + b" " * (100 - len(body))).status_code == 200

    def test_in_rows(self, small, problems):
        assert "1 to 2" in problems(small.post(b'{"rows":[1,2,3]}'))[("rows",)]


def test_many_more_values_than_rows_may_have_are_refused_before_they_are_parsed():
    """Nobody else is answered while 300,000 lists are parsed."""
    numbers, limits = Fields({"a, b": "number", "c": "number"}, missing=True), RequestLimits(rows=3)
    lists = b'{"rows": [' + b"[]," * 300_000 + b"[]]}"
    with pytest.raises(RefusalError, match="at most 3 rows of 2 fields") as refused:
        refuse_many_values(lists, numbers, limits)
    assert refused.value.status == 422
    full = json.dumps({"rows": [{"a, b": 1.5, "c": None}] * 3}).encode()
    refuse_many_values(full, numbers, limits)
    refuse_many_values(lists, FIELDS, limits)  # text may hold any sign


@settings(max_examples=30, deadline=None)
@given(st.lists(st.fixed_dictionaries({"age": values, "sex": values}), max_size=2))
def test_rows_are_read_or_refused_and_nothing_else(rows):
    columns, refused = {}, None
    try:
        columns = read_rows({"rows": rows}, FIELDS, RequestLimits())
    except RefusalError as refusal:
        refused = refusal
    if refused:
        assert refused.status == 422
        json.dumps(refused.detail, allow_nan=False)
    else:
        assert all(len(column) == len(rows) > 0 for column in columns.values())
        assert columns["age"].dtype == float
        assert not (abs(columns["age"]) > LARGEST).any()
