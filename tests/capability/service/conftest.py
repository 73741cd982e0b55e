import asyncio
import json

import httpx
import numpy as np
import pandas as pd
import pytest

from ogive.capability import http_service
from ogive.capability.model_process import decide_rows
from ogive.errors import InputError


class StandIn:
    """The shape of a gate: old people are hard cases; ages 13 and 14 make it fail."""

    classes_ = np.array(["ill", "well"])
    feature_names_in_ = np.array(["age", "sex"], dtype=object)
    kinds_ = {"sex": "text", "age": "number"}  # noqa: RUF012
    capability_ = pd.DataFrame({"mlc": [6.0, np.inf], "mlc_se": [0.1, np.nan]}, ["ill", "well"])

    def __init__(self, missing=True):
        self.missing, self.calls = missing, []

    def decide(self, X):
        self.calls.append(X)
        assert list(X.columns) == ["age", "sex"]
        if not self.missing and X.isna().any(axis=None):
            raise ValueError("Input X contains NaN.")
        if (X["age"] == 13).any():
            raise RuntimeError("no luck in /home/someone/secret.py")
        if (X["age"] == 14).any():
            raise InputError("sex is 'x', which the gate has never seen.")
        difficulty = X["age"] / 10
        return pd.DataFrame(
            {
                "prediction": np.where(X["sex"] == "f", "ill", "well"),
                "decision": np.where(difficulty > 6, "person", "model"),
                "cdi": -difficulty,
                "difficulty": difficulty,
                "limit": np.where(X["sex"] == "f", 6.0, np.inf),
                "reason": "as it is",
            },
            index=X.index,
        )


@pytest.fixture
def gate():
    return StandIn()


@pytest.fixture
def stubborn():
    """A gate whose model takes no missing values."""
    return StandIn(missing=False)


class Service:
    """An application, asked without a network."""

    def __init__(self, app):
        self.app = app

    def ask(self, method, path, **settings):
        return self.together((method, path, settings))[0]

    def together(self, *requests):
        """Several requests at the same time."""

        async def send():
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://gate") as client:
                asked = [client.request(method, path, **more) for method, path, more in requests]
                return await asyncio.gather(*asked)

        return asyncio.run(send())

    def decide(self, rows, **settings):
        return self.ask("POST", "/decide", json={"rows": rows}, **settings)

    def post(self, body, **headers):
        sent = {"Content-Type": "application/json", **headers}
        return self.ask("POST", "/decide", content=body, headers=sent)


class ModelHere:
    """In place of the process of a model: decides in this one."""

    ready = True

    def __init__(self, gate, limits):
        self.gate, self.limits = gate, limits

    async def decide(self, columns):
        await asyncio.sleep(0)
        return decide_rows(self.gate, columns)

    def wait(self):
        pass

    close = wait


@pytest.fixture
def make_service(monkeypatch):
    monkeypatch.setattr(http_service, "ModelProcess", ModelHere)
    return lambda gate, **settings: Service(http_service.make_app(gate, **settings))


@pytest.fixture
def service(make_service, gate):
    return make_service(gate)


@pytest.fixture
def problems():
    """Where a refused request is wrong, and why."""

    def read(response):
        assert response.status_code == 422, response.text
        return {tuple(one["loc"][1:]): one["msg"] for one in json.loads(response.text)["detail"]}

    return read
