"""The house has no import cycles, no room is called like a public function, and words are plain."""

import ast
import re
import subprocess
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

import ogive


def test_no_modules_import_each_other():
    """Imports inside functions count; those for type checkers only do not."""
    graph = grimp.build_graph("ogive", exclude_type_checking_imports=True, cache_dir=None)
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def test_no_room_has_the_name_of_a_public_function():
    """Importing such a room would put a module in the place of the function."""
    rooms = {path.name for path in Path(ogive.__file__).parent.iterdir()}
    rooms = {name.removesuffix(".py") for name in rooms}
    assert not rooms & set(ogive.__all__)


ROOT = Path(__file__).resolve().parents[1]
PROSE = ("src", "docs", "benchmarks", "examples", "README.md", "CHANGELOG.md", "CONTRIBUTING.md")
OLD_WORDS = {  # what reads as translated, and what is written instead
    r"\b(an?|one) (row|column|line|file|figure|scale|page|module|entry|dot|curve) an? \w": "per",
    r"\b(told|tells?|telling)( \w+){0,4} apart\b": "differ significantly",
    r"\blets? (us )?expect\b": "predicts",
    r"\b(by lot|draws? lots)\b": "at random",
    r"\bforet(ell|old)": "predict",
    r"\bhad no say\b": "held out",
    r"\bfrom every side\b": "what was looked at",
    r"(?<![Ss]tandard )(?<!absolute )(?<!rating )\bdeviations? (of|between|in)\b": "standard",
    r"\b(test_share|most_test|false_alarm_rate|least_items|person_fit|told_apart)\b": "new names",
}


def test_prose_has_no_word_that_was_given_up():
    try:
        listed = subprocess.run(
            ["git", "ls-files", *PROSE], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout, so which files belong to the project is unknown")
    paths = [ROOT / name for name in listed.stdout.split("\n") if name.endswith((".py", ".md"))]
    found = [
        f"{path.relative_to(ROOT)}: '{match[0]}', write instead: {instead}"
        for path in paths
        for old, instead in OLD_WORDS.items()
        for match in [re.search(old, " ".join(path.read_text(encoding="utf-8").split()))]
        if match
    ]
    assert found == []


def test_no_two_tests_of_a_file_draw_from_one_random_generator():
    """What the second one draws would depend on whether the first has run."""
    found = []
    for path in (ROOT / "tests").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        made = set(re.findall(r"^(\w+) = np\.random\.default_rng\(\d*\)$", text, re.MULTILINE))
        functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
        used = {n.id for one in functions for n in ast.walk(one) if isinstance(n, ast.Name)}
        found += [f"{path.relative_to(ROOT)}: {name}" for name in made & used]
    assert found == []
