"""How the code speaks: docstrings begin with a verb, sentences stand alone."""

import ast
import re
from pathlib import Path

import pytest

import ogive

SOURCE = Path(ogive.__file__).parent
VERBS = set(Path(__file__).with_name("verbs.txt").read_text("utf-8").split())
NO_FUNCTION = ("property", "cached_property", "setter")  # an attribute is a noun

# What an expression can find, and how often it may stand: candidates, not always faults.
RULES = {
    "question as docstring": (r'"""(What|Where|Who|Whose|How|Which|Why|When)\b', 168),
    "predicate without True": (r'"""Whether ', 17),
    "the same, of what is told elsewhere": (r'"""The same\b|# [Tt]he same\b', 14),
    "so many": (r"\bso (many|few|much)\b", 34),
    "comment that continues a name": (
        r"^[A-Z_, ]+ = .*# (of|for|by|from|with|as|to|at|on|in|beyond|below|above|that|than|and) ",
        92,
    ),
    "who as subject": (r'(^ *|[.:;] |"""|# )[Ww]ho(ever)? [a-z]+', 29),
    "what as subject": (r"\b[Ww]hat (is|are|was|were|it|they|the|a|no|all|any)\b", 380),
    "state before requirement": (r"\b(is|are|has) \{[^}]*\}(;|, but) ", 106),
}


def functions():
    """Return the functions of the package that have a docstring, by where they stand."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names = [ast.unparse(each).rpartition(".")[2] for each in node.decorator_list]
                text = ast.get_docstring(node)
                if text and not set(names) & set(NO_FUNCTION):
                    yield f"{path.relative_to(SOURCE)}:{node.lineno}", text


def test_docstrings_of_functions_begin_with_a_verb():
    others = [f"{where} {text.split()[0]}" for where, text in functions()
              if text.split()[0].strip(".,:;") not in VERBS]  # fmt: skip
    assert others == []


@pytest.mark.parametrize("rule", RULES)
def test_sentences_stand_alone(rule):
    pattern, most = RULES[rule]
    lines = [
        f"{path.relative_to(SOURCE)}:{number}: {line.strip()}"
        for path in sorted(SOURCE.rglob("*.py"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if re.search(pattern, line)
    ]
    assert len(lines) <= most, "\n".join(lines[:20])
