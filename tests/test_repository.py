"""The top of the repository: workflows, templates and prose fit the Makefile."""

import re
import subprocess
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
YAML = sorted([*(ROOT / ".github").rglob("*.yml"), ROOT / ".pre-commit-config.yaml"])
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
PROSE = [ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "README.md")]


def named(path):
    return path.relative_to(ROOT).as_posix()


def steps(workflow):
    jobs = yaml.safe_load(workflow.read_text())["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


def made(text):
    """The targets that a text asks make for."""
    return re.findall(r"\bmake ([a-z][a-z-]*)", text)


def test_yaml_files_parse_and_say_something(subtests):
    for path in YAML:
        with subtests.test(path=path):
            assert yaml.safe_load(path.read_text())


@pytest.mark.parametrize("path", WORKFLOWS, ids=named)
def test_workflows_run_make_targets_that_exist_and_nothing_else(path):
    run = [step["run"] for step in steps(path) if "run" in step]
    assert run
    for command in run:
        assert command.startswith("make ")
        assert set(made(command)) <= TARGETS


def test_every_kind_of_test_runs_somewhere():
    asked = {
        name for path in WORKFLOWS for step in steps(path) for name in made(step.get("run", ""))
    }
    assert asked >= {"test", "test-all", "test-versions", "test-wheel", "docs"}
    assert asked >= {"audit", "reproducible", "sbom"}


def test_every_supported_python_is_tested():
    tests = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())["jobs"]["test"]
    stated = re.findall(r'Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())
    assert tests["strategy"]["matrix"]["python"] == stated


def test_make_targets_named_in_prose_exist(subtests):
    for path in [*PROSE, *sorted((ROOT / ".github").rglob("*.md"))]:
        with subtests.test(path=path):
            code = re.findall(r"`(make [^`]+)`|^(make .*)$", path.read_text(), re.MULTILINE)
            assert {name for pair in code for text in pair for name in made(text)} <= TARGETS


@pytest.mark.parametrize("path", PROSE, ids=named)
def test_links_lead_to_files(path):
    for target in re.findall(r"\]\(([^)#]+)", path.read_text()):
        assert target.startswith("http") or (ROOT / target).is_file(), target


def test_no_page_holds_a_path_of_a_machine():
    pages = [*(ROOT / "docs").rglob("*.md"), *PROSE, ROOT / "CHANGELOG.md"]
    machine = re.compile(r"(?<![\w.:/])/(work|root|home|Users|tmp|mnt|opt/[a-z]+)/[\w.-]+")
    found = [
        f"{named(path)}:{number}: {line.strip()[:80]}"
        for path in pages
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if machine.search(line)
    ]
    assert found == []


def test_the_old_name_stands_in_one_line_of_the_changelog():
    old = "item" + "wise"
    listed = subprocess.run(
        ["git", "grep", "-ciI", old], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode > 1:
        pytest.skip("not a git checkout, so which files belong to the project is unknown")
    assert listed.stdout.split() == ["CHANGELOG.md:1"]
