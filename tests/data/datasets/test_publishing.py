"""Suites sent by the package openml to a server on this machine: no test leaves it."""

import re
import threading
import traceback
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pandas as pd
import pytest

from ogive.data.datasets.dataset import Dataset
from ogive.data.datasets.load import load_dataset
from ogive.data.datasets.openml import RemoteDataset, RemoteTask
from ogive.data.datasets.publishing import publish_suite
from ogive.errors import FileError, InputError, MissingExtraError

KEY = "0123456789abcdef0123456789abcdef"
SPACE = 'xmlns:oml="http://openml.org/openml"'
WHAT = {"name": "Half of it", "description": "Chosen by difficulty & discrimination"}


def failure(code, message):
    return 412, (
        f"<oml:error {SPACE}><oml:code>{code}</oml:code><oml:message>{message}</oml:message>"
        "</oml:error>"
    )


class Handler(BaseHTTPRequestHandler):
    """Takes suites of tasks below 1,000 from who has the key."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        parts = BytesParser(policy=HTTP).parsebytes(head + body).iter_parts()
        fields = {part.get_param("name", header="Content-Disposition"): part for part in parts}
        sent = {name: part.get_content().strip() for name, part in fields.items()}
        sent = {n: v.decode() if isinstance(v, bytes) else v for n, v in sent.items()}
        self.server.posts.append((self.path, sent))
        status, text = self.server.answer or self.usual(sent)
        if status is None:
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def usual(self, sent):
        if sent["api_key"] != KEY:
            return failure(103, f"Authentication failed for {sent['api_key']}")
        if any(int(task) >= 1000 for task in tasks_in(sent)):
            return failure(1039, "Dataset insertion problem")
        return 200, f"<oml:study_upload {SPACE}><oml:id>4328</oml:id></oml:study_upload>"

    def log_message(self, *_):
        pass


def tasks_in(sent):
    return re.findall(r"<oml:task_id>(\d+)</oml:task_id>", sent["description"])


@pytest.fixture
def web(tmp_path, monkeypatch):
    """A server on this machine, for which the package openml is configured, without a key."""
    for name in ("OPENML_CACHE_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "openml-package"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENML_APIKEY", raising=False)
    openml = pytest.importorskip("openml")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.posts, server.answer = [], None
    server.address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(openml.config, "server", f"{server.address}/api/v1/xml")
    monkeypatch.setattr(openml.config, "apikey", "")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def dataset(name="toy", task=None):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0]})
    return Dataset(name, frame, pd.Series(list("abab")), "a frame", task=task)


def send(datasets=("openml-task:31", "openml-task:59"), **kw):
    return publish_suite(datasets, **(WHAT | {"api_key": KEY} | kw), dry_run=False)


def refusal(kind, **kw):
    """The message of a failure; the key is in none of what Python would print."""
    with pytest.raises(kind) as caught:
        send(**kw)
    printed = "".join(traceback.format_exception(caught.value, chain=True))
    assert kw.get("api_key", KEY) not in printed
    return str(caught.value)


def test_nothing_is_sent_unless_asked(web):
    shown = publish_suite(["openml-task:31", "openml-task:59"], **WHAT, api_key=KEY)
    assert web.posts == []
    assert (shown.tasks, shown.suite, shown.address) == ((31, 59), None, None)
    assert "nothing was sent" in shown.meaning
    assert KEY not in repr(shown) + str(vars(shown))


def test_a_dry_run_needs_no_package(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "openml", None)
    assert publish_suite("openml-task:31", **WHAT).tasks == (31,)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[openml\]"):
        send()


def test_a_suite_is_posted_once_and_answers_with_its_address(web):
    done = send(alias="half")
    assert (done.suite, done.address) == (4328, f"{web.address}/s/4328")
    assert "openml-suite:4328" in done.meaning
    assert KEY not in repr(done) + str(vars(done))
    [(path, sent)] = web.posts
    assert path == "/api/v1/xml/study/"
    assert (tasks_in(sent), sent["api_key"]) == (["31", "59"], KEY)
    for tag, text in {
        "name": "Half of it",
        "description": "Chosen by difficulty &amp; discrimination",
        "alias": "half",
        "main_entity_type": "task",
    }.items():
        assert f"<oml:{tag}>{text}</oml:{tag}>" in sent["description"]


def test_the_settings_of_the_package_are_as_before(web):
    import openml

    before = openml.config.get_config_as_dict()
    send()
    refusal(InputError, api_key="wrong-key")
    assert openml.config.get_config_as_dict() == before


def test_the_key_may_come_from_the_environment_or_the_package(web, monkeypatch):
    import openml

    monkeypatch.setattr(openml.config, "apikey", KEY)
    assert send(api_key=None).suite == 4328
    monkeypatch.setattr(openml.config, "apikey", "old")
    monkeypatch.setenv("OPENML_APIKEY", KEY)
    assert send(api_key=None).suite == 4328


def test_without_a_key_nothing_is_sent(web):
    with pytest.raises(InputError, match="OPENML_APIKEY"):
        send(api_key=None)
    assert web.posts == []


def test_a_configured_key_goes_to_no_other_server(web, monkeypatch):
    import openml

    monkeypatch.setattr(openml.config, "apikey", KEY)
    with pytest.raises(InputError, match="key of this OpenML server"):
        send(api_key=None, server=f"{web.address}/another")
    assert web.posts == []
    assert send(server=f"{web.address}/another").suite == 4328
    assert web.posts[0][0] == "/another/study/"


def test_a_key_does_not_travel_in_the_open(subtests, web):
    for server in ["http://www.openml.org/api", "ftp://x", "openml", "", 5]:
        with subtests.test(server=server):
            assert "https://" in refusal(InputError, server=server)
            assert web.posts == []


def test_a_refused_key_is_not_repeated(web):
    message = refusal(InputError, api_key="wrong-key")
    assert "refused the API key" in message
    assert len(web.posts) == 1


def test_a_missing_permission_is_a_refused_key(web):
    web.answer = failure(102, "No API key")
    assert "refused the API key" in refusal(InputError)


def test_an_unknown_task_says_what_to_check(web):
    message = refusal(InputError, datasets=["openml-task:31", "openml-task:123456"])
    assert "Dataset insertion problem (code 1039). Nothing was published." in message
    assert "each task exists" in message


def test_an_answer_that_repeats_the_key_is_cleaned(web):
    web.answer = failure(1039, f"bad request with {KEY}")
    assert "bad request with (API key)" in refusal(InputError)


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer",
    [
        (None, ""),
        (500, "<html>Internal error"),
        (200, "<oml:study_upl"),
        (200, "<oml:other/>"),
        (200, f"<html>{KEY}"),
    ],
    ids=["connection lost", "internal error", "cut short", "another document", "key in a page"],
)
def test_a_failure_half_way_is_tried_once_and_says_what_may_have_happened(web, answer):
    web.answer = answer
    assert f"look for it at {web.address} before" in refusal(FileError)
    assert len(web.posts) == 1


def test_data_sets_know_their_tasks(tmp_path):
    class StandIn:
        def dataset(self, number):
            content = b"@relation r\n@attribute x numeric\n@attribute c {a,b}\n@data\n1,a\n2,b\n"
            return RemoteDataset("toy", "c", (), content)

        def task(self, number):
            return RemoteTask(61, "c")

    def load(source, target=None, **kw):
        return load_dataset(source, target, cache=tmp_path, server=StandIn(), **kw)

    assert load("openml-task:31").task == 31
    assert load("openml-task:31", "c", name="mine").task == 31
    assert load("openml-task:31", "x").task is None
    assert load("openml:61").task is None
    found = publish_suite([load("openml-task:31", name="mine")], **WHAT)
    assert found.to_frame()["task"].to_dict() == {"mine": 31}


def test_a_mapping_gives_names_and_tasks():
    found = publish_suite({"iris": 59, "credit": "openml-task:31", "toy": dataset(task=7)}, **WHAT)
    assert found.to_frame()["task"].to_dict() == {"iris": 59, "credit": 31, "toy": 7}


def test_what_cannot_be_published_is_refused(subtests):
    cases = [
        ([], "no data set to publish"),
        ([dataset()], r"1 data set \('toy'\) without an OpenML task"),
        (["openml:61", "sklearn:iris", "openml-task:3"], r"2 data sets .*'openml-task:31'"),
        ("openml-suite:99", "is a suite already"),
        ("openml-task:x", "Give a whole number"),
        ({"a": -1}, "Give a whole number"),
        ({"a": True}, "without an OpenML task"),
        (["openml-task:3", "openml-task:3"], "more than once"),
        ([dataset(task=3), dataset(task=4)], r"1 data set \('toy'\) given more than once"),
        ({"a": 3, "b": 3}, r"1 task \(3\) given more than once"),
    ]
    for datasets, message in cases:
        with (
            subtests.test(datasets=datasets, message=message),
            pytest.raises(InputError, match=message),
        ):
            publish_suite(datasets, **WHAT)


def test_a_suite_has_a_name_and_a_description(subtests):
    cases = [
        ({"name": " "}, "name of a suite"),
        ({"description": None}, "description of a suite"),
        ({"name": "a\x00b"}, "control characters"),
        ({"alias": "a b"}, "alias is 'a b'"),
        ({"alias": "99"}, "no plain number"),
    ]
    for given, message in cases:
        with subtests.test(given=given, message=message), pytest.raises(InputError, match=message):
            publish_suite("openml-task:31", **(WHAT | given))
