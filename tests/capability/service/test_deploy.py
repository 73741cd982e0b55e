"""How the service is run elsewhere: as a user without rights, ended by SIGTERM."""

import configparser
import json
import re
import shlex
from pathlib import Path

import pytest
import typer

from ogive.cli import programs as gate_commands

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
pytestmark = pytest.mark.skipif(
    not (ROOT / ".dockerignore").exists(), reason="only in the repository"
)


def options():
    alone = typer.Typer(add_completion=False)
    alone.command()(gate_commands.serve.callback())
    return {name for each in typer.main.get_command(alone).params for name in each.opts}


def test_the_image_runs_as_a_user_without_rights_with_options_that_exist():
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    words = [line.partition(" ")[::2] for line in lines if re.match(r"[A-Z]+ ", line)]
    orders = [word for word, _ in words]
    assert orders[0] == "FROM"
    assert orders.index("USER") < orders.index("ENTRYPOINT")
    assert int(dict(words)["USER"].partition(":")[0]) >= 1_000  # a number can be checked by hosts
    program = json.loads(dict(words)["ENTRYPOINT"])
    assert program[:2] == ["ogive", "serve"]
    assert {word for word in program if word.startswith("--")} <= options()


def test_the_image_gets_what_it_needs_and_nothing_else():
    allowed = {
        line[1:] for line in (ROOT / ".dockerignore").read_text().split() if line.startswith("!")
    }
    assert allowed == {"src", "constraints.txt", "pyproject.toml", "README.md", "LICENSE"}
    assert all((ROOT / name).exists() for name in allowed)


def test_the_unit_runs_as_a_user_without_rights_with_options_that_exist():
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str
    unit.read(DEPLOY / "ogive-gate.service")
    service = unit["Service"]
    assert service["DynamicUser"] == service["NoNewPrivileges"] == "yes"
    assert service["KillMode"] == "mixed"  # SIGTERM goes to the service, not to its model
    program = shlex.split(service["ExecStart"])
    assert {word for word in program if word.startswith("--")} <= options()


def test_the_proxy_does_what_the_service_leaves_to_it():
    conf = (DEPLOY / "nginx.conf").read_text()
    assert "proxy_pass http://127.0.0.1:8000;" in conf
    for word in (
        "ssl_certificate",
        "client_header_timeout",
        "send_timeout",
        "limit_conn",
        "limit_req",
    ):
        assert re.search(rf"^    {word}\b", conf, re.MULTILINE)
        assert f"`{word}`" in (ROOT / "docs" / "serving.md").read_text()
