"""The process of a model: what hangs or ends it, what waits behind; and lines of its log."""

import asyncio
import json
import logging
import os
import sys
import time

import cloudpickle
import numpy as np
import pandas as pd
import pytest

from ogive.capability.http_requests import RefusalError, RequestLimits
from ogive.capability.model_process import JsonLines, ModelProcess

HOSTILE = 'x\r\n{"level": "info"}\u2028\x1b[2J\x00\x7f"\\ \udc80'
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # no child can import a test


class Troubled:
    """Age 99 makes it hang, 97 ends its process, and 13 makes it fail."""

    def decide(self, X):
        age = X["age"].iloc[0]
        if age == 99:
            time.sleep(60)
        if age == 97:
            os._exit(1)
        if age == 13:
            raise RuntimeError("no luck in /home/someone/secret.py")
        return pd.DataFrame({"decision": "model", "age": X["age"]})


@pytest.fixture
def model():
    made = ModelProcess(Troubled(), RequestLimits(answer_seconds=1, waiting_rows=4, rows=3))
    made.wait()
    yield made
    made.close()


def ask(model, *requests):
    """Outcomes of several requests at the same time: ages, or the status of a refusal."""

    async def one(ages):
        try:
            return [row["age"] for row in await model.decide({"age": np.array(ages, dtype=float)})]
        except RefusalError as refusal:
            return refusal.status

    async def every():
        return await asyncio.gather(*map(one, requests))

    return asyncio.run(every())


def test_what_hangs_ends_or_fails_costs_only_its_own_request(model):
    assert ask(model, [1, 2], [3]) == [[1, 2], [3]]
    assert ask(model, [99], [20], [97]) == [503, [20], 500]
    assert ask(model, [13], [21]) == [500, [21]]
    assert model.ready


def test_too_many_waiting_rows_are_refused_but_a_single_request_has_room(model):
    assert ask(model, [1, 2, 3], [4, 5]) == [[1, 2, 3], 503]
    assert ask(model, [1, 2, 3]) == [[1, 2, 3]]


def test_nobody_waits_forever(model, monkeypatch):
    monkeypatch.setattr(model, "_patience", 0.2)
    assert ask(model, [99], [20]) == [503, 503]
    monkeypatch.undo()
    assert ask(model, [20]) == [[20]]


def test_closing_ends_the_process():
    other = ModelProcess(Troubled(), RequestLimits())
    other.close()  # while it starts; whether a process is left, conftest asks
    other.close()
    assert not other.ready


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
