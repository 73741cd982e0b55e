"""The server of `ogive view`: what it answers, and whom it refuses."""

import asyncio
import errno
import re
import subprocess
import sys
from pathlib import Path
from signal import SIGINT

import pytest

import ogive as og
from ogive.cli.application import app as commands
from ogive.errors import MissingExtraError
from ogive.reporting import app_server as view_application
from ogive.reporting import app_server as viewer
from ogive.reporting.app_server import make_view_app
from ogive.reporting.session import ViewSession

TOKEN = "the token"  # noqa: S105
BATCH = "00000000-0000-0000-0000-000000000001"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    drawn = og.simulate("2pl", 20, 6, random_state=2).responses
    return drawn.save(tmp_path_factory.mktemp("view") / "scores.parquet")


@pytest.fixture
def client(path):
    testing = pytest.importorskip("starlette.testclient")
    session = ViewSession([path])
    session.look()
    app = make_view_app(session, TOKEN, "<b>scores</b>")
    made = testing.TestClient(  # without `with`: no thread changes what a test sees
        app, base_url="http://127.0.0.1:4321", headers={"X-Ogive-Token": TOKEN}
    )
    made.session = session
    yield made
    session.close()


def asked(client, path, **query):
    return client.get(
        path, params={"version": client.session.snapshot.version, "scale": 0, **query}
    )


def test_the_page_holds_no_data_and_may_ask_only_its_own_server(client):
    answer = client.get("/", headers={"X-Ogive-Token": ""})
    assert answer.status_code == 200
    assert "&lt;b&gt;scores&lt;/b&gt;" in answer.text
    assert "item_1" not in answer.text
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "connect-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert not re.search(r"(?:src|href)=.?https?:", answer.text)
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_data_items_respondents_and_words_are_answered(client):
    assert client.get("/state").json()["respondents"] == 20
    assert client.get("/data").json()["scales"][0]["groups"] == []
    assert len(asked(client, "/item", row=2).json()["answers"]) == 20
    assert len(asked(client, "/respondent", place=19).json()["responses"]) == 6
    assert asked(client, "/search", words="item_3").json() == {"rows": [2]}


@pytest.mark.parametrize("token", ["", "wrong", TOKEN + "x"])
def test_nothing_is_said_without_the_token(client, token):
    for place in ("/state", "/data", "/item", "/respondent", "/search", "/nowhere"):
        answer = client.get(place, headers={"X-Ogive-Token": token})
        assert answer.status_code == 401
        assert answer.json() == {"detail": "The token is missing or wrong."}


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:4321", ""])
def test_another_host_is_refused_even_with_the_token(client, host):
    for place in ("/", "/state"):
        assert client.get(place, headers={"Host": host}).status_code == 403


def test_a_foreign_page_is_refused_even_with_the_token(client):
    answer = client.post("/drop", headers={"Origin": "http://evil.example"})
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers
    assert client.get("/state", headers={"Origin": "http://127.0.0.1:4321"}).status_code == 200


def test_wrong_numbers_and_old_versions_are_refused(client):
    for query in ({"row": 6}, {"row": "-1"}, {"row": "1e3"}, {"row": "9" * 30}, {}):
        assert asked(client, "/item", **query).status_code == 422
    assert asked(client, "/item", row=1, version=99).status_code == 409
    assert asked(client, "/item", row=1, scale=5).status_code == 409


def drop(client, path, content, batch=BATCH):
    answer = client.post("/drop", params={"batch": batch, "path": path}, content=content)
    if answer.status_code != 200:
        return answer
    return client.post("/open", params={"batch": batch})


def test_a_dropped_file_is_added(client):
    header = ",".join(["model", *(f"item_{k}" for k in range(1, 7))])
    answer = drop(client, "more.csv", f"{header}\nnew,1,0,1,1,0,1\n")
    assert answer.json() == {"said": "Added 1 model; its 6 items were there already."}
    assert client.get("/state").json()["respondents"] == 21


def test_a_damaged_file_is_one_sentence_and_the_server_goes_on(client):
    answer = drop(client, "model/samples.jsonl", b"\x00\xff{broken")
    assert answer.status_code == 422
    assert "samples.jsonl" in answer.json()["detail"]
    assert "ogive-view-" not in answer.json()["detail"]
    assert client.get("/state").json()["respondents"] == 20


@pytest.mark.parametrize("name", ["", "..", "../../etc/passwd", "/etc/passwd", ". /x", "a/" * 20])
def test_a_dropped_file_stays_in_its_folder(client, name):
    answer = drop(client, name, b"model,q1\n")
    assert answer.status_code == 422
    assert answer.json() == {"detail": "The name of the file cannot be used."}


def test_a_file_that_is_too_large_is_refused_and_removed(client, monkeypatch):
    monkeypatch.setattr(view_application, "MAX_DROPPED_BYTES", 10)
    answer = drop(client, "large.csv", b"x" * 11)
    assert answer.status_code == 413
    assert "larger than" in answer.json()["detail"]
    assert client.post("/open", params={"batch": BATCH}).status_code == 422


def test_a_batch_is_no_path(client):
    assert drop(client, "a.csv", b"x", batch="../../../../../../../../../tmp/xx").status_code == 422


def test_a_missing_package_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setattr(viewer, "find_spec", lambda _name: None)
    with pytest.raises(MissingExtraError, match=r"pip install '\S*\[serve\]'"):
        viewer.check_installed()


def run(*words):
    from typer.testing import CliRunner

    return CliRunner().invoke(commands, ["view", *map(str, words), "--no-browser"])


def test_what_is_missing_and_a_port_in_use_are_said_in_a_sentence(path, tmp_path):
    import socket

    answer = run(tmp_path / "nowhere.csv")
    assert answer.exit_code == 3
    assert "does not exist" in answer.output
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        answer = run(path, "--port", taken.getsockname()[1])
    assert answer.exit_code == 3
    assert "cannot be used" in answer.output


@pytest.mark.slow
def test_ctrl_c_ends_the_command_with_one_line(path):
    words = [sys.executable, "-c", "from ogive.cli import main; main()"]
    process = subprocess.Popen(
        [*words, "view", str(path), "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        assert re.search(r"20 models, 6 items: http://127\.0\.0\.1:\d+/#token=[\w-]{43}$", line)
        process.send_signal(SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert said.splitlines()[-1] == "Interrupted."
    assert "Traceback" not in said


def test_a_browser_that_goes_away_while_it_drops_a_file_leaves_neither_it_nor_a_traceback(client):
    put = client.session.dropped_path(BATCH, Path("gone.csv"))

    async def ask():
        async def receive():
            return {"type": "http.disconnect"}

        async def send(_message):
            raise AssertionError("nobody is there")

        headers = [(b"host", b"127.0.0.1:4321"), (b"x-ogive-token", TOKEN.encode())]
        scope = {"type": "http", "method": "POST", "path": "/drop", "headers": headers}
        scope |= {"query_string": f"batch={BATCH}&path=gone.csv".encode(), "http_version": "1.1"}
        await client.app(scope, receive, send)

    asyncio.run(ask())
    assert not put.exists()


def test_a_file_that_the_disk_does_not_take_is_refused_in_a_sentence(client, monkeypatch):
    def full(_batch, _inside):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(client.session, "dropped_path", full)
    refused = client.post("/drop", params={"batch": BATCH, "path": "a.csv"}, content=b"x")
    assert refused.status_code == 507
    assert "cannot be kept: No space left" in refused.json()["detail"]
