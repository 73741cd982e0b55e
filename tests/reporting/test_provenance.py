"""How to reproduce a page: lines that work."""

import json
import re
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

import ogive as og
from ogive import _installation
from ogive.reporting import provenance

ROOT = Path(og.__file__).resolve().parents[2]
URL = "https://git.example.org/ogive"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def installed(monkeypatch):
    """As if pip had installed the package from somewhere."""

    def install(noted):
        class Installed:
            requires = (
                "numpy>=2.0",
                "torch>=2; extra == 'torch'",
                'nowhere-to-be-found; sys_platform == "x"',
            )

            @staticmethod
            def read_text(name):
                assert name == "direct_url.json"
                return noted if isinstance(noted, str | None) else json.dumps(noted)

        for module in (provenance, _installation):
            monkeypatch.setattr(module, "distribution", lambda name: Installed)
        monkeypatch.setattr(provenance, "repository", lambda: None)
        return provenance.install_lines()[1:]

    return install


def test_the_commit_of_a_repository_exists_in_it():
    if not (ROOT / ".git").exists():
        pytest.skip("the tests run outside a repository")
    first, pip = provenance.install_lines()[1:]
    found = re.fullmatch(r"git checkout ([0-9a-f]{40})  # in a copy of .*", first)[1]
    check = ["git", "-C", str(ROOT), "cat-file", "-t", found]
    assert subprocess.run(check, capture_output=True, text=True).stdout == "commit\n"
    assert pip.startswith('pip install . "')


def test_requirements_have_the_versions_that_are_here():
    found = dict(provenance.requirements())
    assert {"numpy", "scipy", "pandas", "scikit-learn"} <= set(found)
    assert all(version(name) == number for name, number in found.items())
    assert "torch" not in found
    for name, number in found.items():
        assert f'"{name}=={number}"' in provenance.install_lines()[-1]


def test_each_way_of_installing_has_a_line_that_repeats_it(installed, subtests):
    numpy = f'"numpy=={version("numpy")}"'
    wheel = "ogive-0.1.0-py3-none-any.whl"
    for noted, lines in (
        (None, [f'pip install "ogive=={og.__version__}" {numpy}']),
        (
            {"url": URL, "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
            [f'pip install "ogive @ git+{URL}@{COMMIT}" {numpy}'],
        ),
        (
            {"url": f"file:///tmp/{wheel}", "archive_info": {"hash": "sha256=0"}},
            [f'pip install "{wheel}" {numpy}'],
        ),
        (
            {"url": "file:///home/me/ogive", "dir_info": {}},
            [
                f"# in a copy of Ogive's repository, version {og.__version__}",
                f"pip install . {numpy}",
            ],
        ),
        ("{broken", [f'pip install "ogive=={og.__version__}" {numpy}']),
        ('["a list"]', [f'pip install "ogive=={og.__version__}" {numpy}']),
    ):
        with subtests.test(noted=noted):
            assert installed(noted) == lines


def test_a_commit_that_is_none_is_not_repeated(installed):
    noted = {"url": URL, "vcs_info": {"commit_id": '"; rm -rf /'}}
    assert installed(noted) == [
        f'pip install "ogive=={og.__version__}" "numpy=={version("numpy")}"'
    ]


def test_without_git_the_version_is_all_that_is_known(monkeypatch):
    monkeypatch.setattr(provenance.shutil, "which", lambda name: None)
    assert provenance._git(ROOT, "rev-parse", "HEAD") == ""


def test_a_page_shows_the_lines(calibration, tmp_path):
    page = og.write_report(
        tmp_path / "page.html", og.item_fit(calibration), command="ogive report scores.csv"
    ).read_text("utf-8")
    shown = page.split('class="code"')[1].split("</pre>")[0]
    assert "# Python 3." in shown
    assert "pip install" in shown
    assert shown.rstrip().endswith("ogive report scores.csv</code>")
