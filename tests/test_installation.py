"""What to type for an extra depends on how this package was installed."""

import json

import pytest

from ogive import _installation
from ogive._installation import install_command

WHEEL = {"url": "file:///a/ogive-0.1.0-py3-none-any.whl", "archive_info": {}}
FOLDER = {"url": "file:///home/me/ogive", "dir_info": {"editable": True}}
GIT = {"url": "https://example.org/ogive", "vcs_info": {"vcs": "git", "commit_id": "0" * 40}}


class Installed:
    """A distribution with a note of where it came from."""

    def __init__(self, text):
        self.text = text

    def read_text(self, name):
        """Return the note."""
        assert name == "direct_url.json"
        return self.text


@pytest.mark.parametrize(
    ("noted", "command"),
    [
        (json.dumps(WHEEL), "pip install 'ogive-0.1.0-py3-none-any.whl[torch]'"),
        (json.dumps(FOLDER), "pip install '.[torch]'"),
        (json.dumps(GIT), "pip install 'ogive[torch] @ git+https://example.org/ogive'"),
        (None, "pip install 'ogive[torch]'"),
        ("{broken", "pip install 'ogive[torch]'"),
        ('["a list"]', "pip install 'ogive[torch]'"),
        ('{"archive_info": {}}', "pip install 'ogive[torch]'"),
    ],
)
def test_extras_come_from_where_the_package_came_from(noted, command, monkeypatch):
    monkeypatch.setattr(_installation, "repository", lambda: None)
    monkeypatch.setattr(_installation, "distribution", lambda name: Installed(noted))
    assert install_command("torch") == command


def test_a_checkout_that_was_never_installed_is_installed_from_its_folder(monkeypatch, tmp_path):
    def missing(name):
        raise _installation.PackageNotFoundError(name)

    monkeypatch.setattr(_installation, "distribution", missing)
    monkeypatch.setattr(_installation, "repository", lambda: tmp_path)
    assert install_command("torch") == "pip install '.[torch]'"
