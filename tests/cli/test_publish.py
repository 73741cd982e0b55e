import json

import pytest

SUITE = ("publish", "openml-task:31", "openml-task:59", "--name", "Half", "--description", "Why")


def test_without_send_the_suite_is_shown(run, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "openml", None)  # so that nothing can be sent
    done = run(*SUITE, "--alias", "half")
    assert done.exit_code == 0
    for text in ("Name: Half", "Alias: half", "Description: Why", "31", "59", "nothing was sent"):
        assert text in done.stdout
    assert "--send" in done.stdout


def test_json_is_one_document(run):
    document = json.loads(run(*SUITE, "--json").stdout)
    assert (document["name"], document["tasks"], document["suite"]) == ("Half", [31, 59], None)


def test_quiet_prints_nothing(run):
    assert run(*SUITE, "--quiet").output == ""


def test_send_asks_the_package_to_send(run, monkeypatch):
    asked = {}

    def publish(datasets, **kw):
        from ogive.data.datasets.publishing import Publication

        asked.update(kw)
        return Publication("Half", "Why", None, ("a",), (31,), None, 7, "https://there/s/7")

    monkeypatch.setattr("ogive.data.datasets.publishing.publish_suite", publish)
    done = run(*SUITE, "--send", "--server", "https://there/api")
    assert "https://there/s/7" in done.stdout
    assert "--send" not in done.stdout
    assert (asked["dry_run"], asked["server"]) == (False, "https://there/api")


@pytest.mark.parametrize("source", ["openml:61", "iris.csv"])
def test_a_data_set_without_task_is_bad_input(run, source):
    done = run("publish", source, "--name", "Half", "--description", "Why")
    assert done.exit_code == 3
    assert "without an OpenML task" in done.stderr
